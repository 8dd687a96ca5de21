# `sandbox-run`: AWS Lambda handlers from the command line, here and on a server. The same tests for
# both: results, logs, errors, each exit status, and what a hostile handler comes to.
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server

SANDBOX_RUN = os.path.join(sealed.BIN, "sandbox-run")
NODE = "/usr/bin/node"
HAS_NODE = os.path.exists(NODE)

ECHO = """import os, sys
print("at import")
def handler(event, context):
    print("a log", file=sys.stderr)
    return {"event": event, "name": context.function_name, "left": context.get_remaining_time_in_millis(),
            "memory": context.memory_limit_in_mb, "A": os.environ.get("A"), "HOME": os.environ.get("HOME"),
            "SECRET": os.environ.get("SECRET"), "big": 2 ** 70, "half": 1.5}
def raises(event, context):
    raise ValueError("no " + "\\x1b[2J")
def waits(event, context):
    print("waiting", flush=True)
    while True: pass
def exits(event, context): os._exit(7)
def eats(event, context): return len(bytearray(400 << 20))
number = 5
"""
NODE_ECHO = """exports.handler = async (event, context) => { console.log('a log'); return { event, name: context.functionName, half: 1.5 } };
exports.raises = async () => { throw new TypeError('no') };
exports.waits = () => { for (;;); };
exports.exits = () => process.exit(7);
exports.number = 5;
"""


class Anywhere:
    """What holds wherever it runs; `env` says where."""
    maxDiff = None
    env = {}

    def setUp(self):
        super().setUp()
        self.place = tempfile.mkdtemp(prefix="gbx-test-")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.echo = self.write("my_app.py", ECHO)

    def write(self, name, text):
        path = os.path.join(self.place, name)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def call(self, *words, stdin=b"", env=None, timeout=60):
        return subprocess.run([SANDBOX_RUN, *words], input=stdin, capture_output=True, timeout=timeout,
                              env=sealed.environment({**self.env, "SECRET": "x", **(env or {})}))

    def status(self, status, *words, **more):
        ran = self.call(*words, **more)
        self.assertEqual(ran.returncode, status, (words, ran.stdout[-2000:], ran.stderr[-2000:]))
        return ran

    def result(self, *words, **more):
        return json.loads(self.status(0, *words, **more).stdout)

    def error(self, status, *words, **more):
        ran = self.status(status, *words, **more)
        return json.loads(ran.stdout)

    # --- what it gives --------------------------------------------------------------------------

    def test_result_on_stdout_and_logs_on_stderr(self):
        ran = self.status(0, self.echo, "--event", '{"k": [1, "ü"]}')
        self.assertEqual(ran.stdout.count(b"\n"), 1, ran)
        result = json.loads(ran.stdout)
        self.assertEqual((result["event"], result["name"], result["memory"], result["HOME"], result["SECRET"], result["big"]),
                         ({"k": [1, "ü"]}, "my_app", 512, "/home/user", None, 2 ** 70))
        self.assertTrue(290_000 < result["left"] <= 300_000, result)
        self.assertIn(b'"big": 1180591620717411303424, "half": 1.5}', ran.stdout)  # as it was written
        self.assertEqual(sorted(ran.stderr.splitlines()), [b"a log", b"at import"])

    def test_the_event_from_a_file_and_from_stdin(self):
        event = self.write("event.json", '{"from": "file"}\n')
        self.assertEqual(self.result(self.echo, "--event-file", event)["event"], {"from": "file"})
        self.assertEqual(self.result(self.echo, stdin=b'{"from": "stdin"}')["event"], {"from": "stdin"})
        self.assertEqual(self.result(self.echo, "--event-file", "-", stdin=b"[1]")["event"], [1])
        self.assertEqual(self.result(self.echo)["event"], {})
        self.assertEqual(self.result(self.echo, "--event", "null")["event"], None)

    def test_the_event_from_a_pipe(self):
        # As of a shell's --event-file <(...).
        reading, writing = os.pipe()
        os.write(writing, b'{"from": "pipe"}')
        os.close(writing)
        ran = subprocess.run([SANDBOX_RUN, self.echo, "--event-file", f"/dev/fd/{reading}"], stdin=subprocess.DEVNULL, capture_output=True,
                             timeout=60, pass_fds=[reading], env=sealed.environment(self.env))
        os.close(reading)
        self.assertEqual(ran.returncode, 0, ran)
        self.assertEqual(json.loads(ran.stdout)["event"], {"from": "pipe"})

    def test_a_pipe_that_nobody_writes_to_is_waited_for_until_interrupted(self):
        fifo = os.path.join(self.place, "fifo")
        os.mkfifo(fifo)
        process = subprocess.Popen([SANDBOX_RUN, self.echo, "--event-file", fifo], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=sealed.environment(self.env))
        try:
            writing = os.open(fifo, os.O_WRONLY)  # comes back when it reads there
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=60), -signal.SIGINT)  # to a shell that is 130
            os.close(writing)
        finally:
            process.kill()
            process.wait()

    def test_handlers_context_env_and_memory(self):
        app = self.write("x.py", "def lambda_handler(event, context):\n return [__name__, context.function_name, context.aws_request_id, context.stage]")
        self.assertEqual(self.result(app, "--handler", "lambda_function.lambda_handler", "--context",
                                     '{"function_name": "f", "awsRequestId": "r-1", "stage": "test"}'),
                         ["lambda_function", "f", "r-1", "test"])
        result = self.result(self.echo, "--env", "A=b=c", "--env", "HOME=/tmp", "--memory", "96")
        self.assertEqual((result["A"], result["HOME"], result["memory"]), ("b=c", "/tmp", 96))

    def test_timeout_in_the_event_is_taken_out(self):
        result = self.result(self.echo, "--event", '{"a": 1, "__timeout": 20}')
        self.assertEqual(result["event"], {"a": 1})
        self.assertTrue(10_000 < result["left"] <= 20_000, result)
        self.assertTrue(self.result(self.echo, "--event", '{"__timeout": 20}', "--timeout", "9")["left"] <= 9000)
        self.assertTrue(self.result(self.echo, "--event", '{"__timeout": 9}', "--timeout", "20")["left"] <= 9000)

    def test_the_whole_answer(self):
        answer = json.loads(self.status(0, self.echo, "--json", "--event", "{}").stdout)
        self.assertEqual((answer["error"], answer["result"]["half"], answer["stdout"], answer["stderr"], answer["exit_code"]),
                         (None, 1.5, "at import\n", "a log\n", 0))
        self.assertEqual(answer["isolation"]["engine"], "jail")
        self.assertGreater(answer["metrics"]["wall_ms"], 0)
        self.assertGreaterEqual(answer["phases"]["handler_ms"], 0)
        answer = json.loads(self.status(1, self.echo, "--json", "--handler", "raises").stdout)
        self.assertEqual((answer["result"], answer["error"]["errorType"]), (None, "ValueError"))
        self.assertIn("[ERROR] ValueError", answer["stderr"])

    def test_the_profile(self):
        ran = self.status(0, self.echo, "--profile")
        json.loads(ran.stdout)
        text = ran.stderr.decode()
        for word in ("profile:\n", "  start ", "  import ", "  handler ", "  total ", "  cpu ", "  memory ", "  walls ", "MB", "seccomp"):
            self.assertIn(word, text)
        self.assertRegex(text, r"(warm|cold) sandbox")

    # --- each exit status -----------------------------------------------------------------------

    def test_1_the_handler_raised(self):
        ran = self.status(1, self.echo, "--handler", "raises")
        error = json.loads(ran.stdout)
        self.assertEqual((error["errorType"], error["errorMessage"]), ("ValueError", "no \x1b[2J"))
        self.assertRegex(error["stackTrace"][0], r'File "/home/user/my_app.py", line \d+, in raises')
        last = ran.stderr.splitlines()[-1]
        self.assertTrue(last.startswith(b"sandbox-run: ValueError: no "), ran.stderr)
        self.assertNotIn(b"\x1b", last)

    def test_1_it_ended_or_gave_no_json(self):
        self.assertEqual(self.error(1, self.echo, "--handler", "exits")["errorType"], "Runtime.ExitError")
        self.assertEqual(self.error(1, self.write("s.py", "def handler(e, c): return {1}"))["errorType"], "Runtime.MarshalError")
        self.assertEqual(self.error(1, self.write("i.py", "import no_such_thing"))["errorType"], "Runtime.ImportModuleError")
        self.assertEqual(self.error(1, self.echo, "--handler", "eats", "--memory", "64")["errorType"], "Runtime.OutOfMemory")

    def test_1_bad_words(self):
        for words, said in (([], "FILE"), ([self.echo, "--bogus"], "--bogus"), ([self.echo, "--event", "{"], "--event"),
                            ([self.echo, "--event", '{"a":1,"a":2}'], "--event"), ([self.echo, "--event", '{"__timeout": "1"}'], "__timeout"),
                            ([self.echo, "--event", '{"__timeout": 3601}'], "3600"), ([self.echo, "--timeout", "0"], "--timeout"),
                            ([self.echo, "--timeout", "2h"], "3600"), ([self.echo, "--memory", "lots"], "--memory"),
                            ([self.echo, "--context", "5"], "--context"), ([self.echo, "--env", "x"], "--env"),
                            ([self.echo, "--handler", "../x"], "--handler"), ([self.echo, "--engine", "none"], "none"),
                            ([self.write("a.txt", "1")], ".py"), ([self.echo, "more", "words"], "more")):
            with self.subTest(words):
                ran = self.status(1, *words)
                self.assertEqual((ran.stdout, ran.stderr.count(b"\n")), (b"", 1), ran)
                self.assertTrue(ran.stderr.startswith(b"sandbox-run: "), ran)
                self.assertIn(said.encode(), ran.stderr)
        self.assertIn(b"standard input", self.status(1, self.echo, stdin=b"not json").stderr)

    def test_2_a_file_that_is_not_there_or_cannot_be_read(self):
        for words in (["/no/such/file.py"], [self.place], [self.echo, "--event-file", "/no/such/event.json"], [self.write("l.py", b"# \xe4\n")],
                      [self.write("z.py", b"a\0b")], [self.echo, "--event-file", self.write("l.json", b'"\xe4"')],
                      [self.echo, "--event-file", self.place], [self.echo, "--event-file", "/dev/zero"]):
            ran = self.status(2, *words)
            self.assertEqual((ran.stdout, ran.stderr.count(b"\n")), (b"", 1), ran)

    def test_3_a_syntax_error_or_no_such_handler(self):
        error = self.error(3, self.write("bad.py", "def handler(event, context)\n  pass\n"))
        self.assertEqual(error["errorType"], "Runtime.UserCodeSyntaxError")
        self.assertIn("line 1", error["errorMessage"])
        self.assertEqual(self.error(3, self.echo, "--handler", "nobody")["errorType"], "Runtime.HandlerNotFound")
        self.assertEqual(self.error(3, self.echo, "--handler", "number")["errorType"], "Runtime.HandlerNotFound")

    def test_4_time_ran_out(self):
        ran = self.status(4, self.echo, "--handler", "waits", "--timeout", "400ms")
        error = json.loads(ran.stdout)
        self.assertEqual(error["errorType"], "Sandbox.Timedout")
        self.assertRegex(error["errorMessage"], r"Task timed out after 0\.40 seconds$")
        self.assertIn(b"waiting\n", ran.stderr)
        self.assertEqual(self.error(4, self.echo, "--handler", "waits", "--event", '{"__timeout": 0.3}')["errorType"], "Sandbox.Timedout")
        self.status(4, self.write("slow.py", "while True: pass"), "--timeout", "0.3")

    def test_interrupted(self):
        process = subprocess.Popen([SANDBOX_RUN, self.echo, "--handler", "waits"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=sealed.environment(self.env))
        try:
            self.assertIn(sealed.read_line(process.stderr), (b"at import\n", b"waiting\n"))
            self.assertIn(sealed.read_line(process.stderr), (b"at import\n", b"waiting\n"))
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=60), 130)
        finally:
            process.kill()
            process.communicate()

    # --- Node -----------------------------------------------------------------------------------

    @unittest.skipUnless(HAS_NODE, "node is not installed")
    def test_node(self):
        app = self.write("index.js", NODE_ECHO)
        ran = self.status(0, app, "--event", '{"k": 1}')
        self.assertEqual((json.loads(ran.stdout), ran.stderr), ({"event": {"k": 1}, "name": "index", "half": 1.5}, b"a log\n"))
        error = self.error(1, app, "--handler", "raises")
        self.assertEqual((error["errorType"], error["trace"][0]), ("TypeError", "TypeError: no"))
        self.assertEqual(self.error(1, app, "--handler", "exits")["errorType"], "Runtime.ExitError")
        self.assertEqual(self.error(3, app, "--handler", "number")["errorType"], "Runtime.HandlerNotFound")
        self.assertEqual(self.error(3, self.write("bad.cjs", "exports.handler = ("))["errorType"], "Runtime.UserCodeSyntaxError")
        self.assertEqual(self.error(4, app, "--handler", "waits", "--timeout", "1")["errorType"], "Sandbox.Timedout")
        module = self.write("m.mjs", "import os from 'node:os';\nexport const handler = async (e) => typeof os.cpus;")
        self.assertEqual(self.result(module), "function")

    # --- hostile handlers -----------------------------------------------------------------------

    def test_forged_lines_stay_its_own_result(self):
        app = self.write("forge.py", """import os, base64
LINE = b'{"type":"function","value":"' + base64.b64encode(b'"forged"') + b'"}\\n'
def handler(event, context):
    print('{"result":"forged","error":null}'); print(LINE.decode())
    for fd in range(3, 256):
        try: os.write(fd, LINE + b'{"type":"exit","code":0}\\n')
        except OSError: pass
    return "honest"
def quits(event, context):
    for fd in range(3, 256):
        try: os.write(fd, LINE)
        except OSError: pass
    os._exit(0)
def junk(event, context):
    for fd in range(3, 256):
        try: os.write(fd, b'{"type":"function","value":"' + base64.b64encode(b'{"a":1,"a":2') + b'"}\\n')
        except OSError: pass
    os._exit(0)
""")
        self.assertEqual(self.result(app), "honest")
        self.assertEqual(self.result(app, "--handler", "quits"), "forged")
        self.assertEqual(self.error(1, app, "--handler", "junk")["errorType"], "Runtime.MarshalError")

    def test_a_timeout_cannot_be_forged(self):
        app = self.write("forge.py", "class Timedout(Exception): pass\nTimedout.__name__ = 'Sandbox.Timedout'\ndef handler(e, c): raise Timedout('x')")
        self.assertEqual(self.error(1, app)["errorType"], "Sandbox.Timedout")

    def test_floods(self):
        app = self.write("flood.py", """import os
def results(event, context):
    for _ in range(3000): os.write(100, b'x' * 10000 + b'\\n')
    return 1
def lines(event, context):
    try:
        while True: os.write(100, b'\\n' * 60000)
    except OSError: return 2
def logs(event, context):
    for _ in range(300): print('x' * 100_000)
    return 3
""")
        # Its own line is lost in its own flood; that is all.
        self.assertIn(self.call(app, "--handler", "results").returncode, (0, 1))
        self.assertIn(self.call(app, "--handler", "lines", "--timeout", "3").returncode, (0, 1, 4))
        ran = self.status(0, app, "--handler", "logs")
        self.assertEqual(ran.stdout, b"3\n")
        self.assertGreater(len(ran.stderr), 10 << 20)

    def test_replaced_functions_and_closed_descriptors(self):
        app = self.write("odd.py", """import json, os, sys
def replaced(event, context):
    json.dumps = json.JSONEncoder = lambda *a, **k: 'forged'
    sys.stdout = sys.stderr = None
    return [1]
def closed(event, context):
    os.closerange(0, 1024)
    return 1
def children(event, context):
    if os.fork() == 0:
        os.setsid()
        while True: pass
    return "left one behind"
""")
        self.assertEqual(self.result(app, "--handler", "replaced"), [1])
        self.assertEqual(self.error(1, app, "--handler", "closed")["errorType"], "Runtime.ExitError")
        self.assertEqual(self.result(app, "--handler", "children"), "left one behind")

    def test_a_result_of_the_largest_size(self):
        app = self.write("large.py", "def handler(e, c): return 'x' * e\ndef many(e, c): return list(range(e))\ndef deep(e, c):\n v = 1\n for _ in range(e): v = [v]\n return v")
        self.assertEqual(len(self.status(0, app, "--event", "5999998").stdout), 6_000_001)
        self.assertEqual(self.error(1, app, "--event", "5999999")["errorType"], "Function.ResponseSizeTooLarge")
        self.assertEqual(len(self.result(app, "--handler", "many", "--event", "200000")), 200_000)
        self.assertEqual(self.status(0, app, "--handler", "deep", "--event", "60").stdout, b"[" * 60 + b"1" + b"]" * 60 + b"\n")
        self.assertEqual(self.error(1, app, "--handler", "deep", "--event", "300")["errorType"], "Runtime.MarshalError")


class Here(Anywhere, unittest.TestCase):
    def setUp(self):
        self.before = sealed.Nothing()
        super().setUp()

    def tearDown(self):
        self.assertFalse(self.before.still_there())

    def test_5_the_sandbox_could_not_start(self):
        ran = self.status(5, self.echo, env={"GLOVEBOX_LAUNCHER": os.path.join(self.place, "nobody.sock")})
        self.assertEqual((ran.stdout, ran.stderr.count(b"\n")), (b"", 1), ran)
        ran = self.status(5, self.echo, "--json", env={"GLOVEBOX_LAUNCHER": os.path.join(self.place, "nobody.sock")})
        self.assertTrue(json.loads(ran.stdout)["error"]["message"])

    @unittest.skipUnless(HAS_NODE, "node is not installed")
    def test_5_without_node(self):
        # This test has a mount namespace of its own.
        node = os.path.realpath(NODE)
        subprocess.run(["mount", "--bind", "/dev/null", node], check=True)
        try:
            ran = self.status(5, self.write("index.js", NODE_ECHO))
            self.assertIn(b"Node is not installed", ran.stderr)
        finally:
            subprocess.run(["umount", node], check=True)

    def test_the_process_engine(self):
        app = self.write("p.py", "import math\ndef handler(e, c): return math.floor(e)\ndef refused(e, c):\n import subprocess")
        self.assertEqual(self.result(app, "--event", "1.5", "--engine", "process"), 1)
        error = self.error(1, app, "--handler", "refused", "--engine", "process")
        self.assertEqual(error["errorType"], "ImportError")
        answer = json.loads(self.status(0, app, "--event", "1", "--engine", "process", "--json").stdout)
        self.assertEqual(answer["isolation"]["grade"], "process")
        if HAS_NODE:
            self.assertEqual(self.result(self.write("index.js", NODE_ECHO), "--engine", "process")["name"], "index")

    def test_help_and_version(self):
        for words in (["--help"], ["-h"]):
            self.assertIn(b"Exit status", self.status(0, *words).stdout)
        self.assertRegex(self.status(0, "--version").stdout, rb"^sandbox-run \d+\.\d+\.\d+\n$")

    def test_a_server_that_is_not_there_is_never_replaced(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = "http://127.0.0.1:%d" % free.getsockname()[1]
            for words in ([self.echo, "--server", url], [self.echo, "--server=" + url]):
                ran = self.status(5, *words)
                self.assertEqual((ran.stdout, ran.stderr.count(b"\n")), (b"", 1), ran)
            self.status(5, self.echo, env={"GLOVEBOX_URL": url})
            self.status(0, self.echo, "--local", env={"GLOVEBOX_URL": url})


class There(Anywhere, server.Served):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.env = {"GLOVEBOX_URL": cls.server.url, "GLOVEBOX_API_KEY": cls.server.key}
        cls.server.wait_warm("python")

    def test_it_is_warm(self):
        answer = json.loads(self.status(0, self.echo, "--json").stdout)
        self.assertTrue(answer["warm"], answer)
        self.assertTrue(answer["id"].startswith("rn"), answer)

    def test_5_the_sandbox_could_not_start(self):
        ran = self.status(5, self.echo, env={"GLOVEBOX_API_KEY": "gbx_" + "0" * 40})
        self.assertEqual((ran.stdout, ran.stderr.count(b"\n")), (b"", 1), ran)
        secret, _ = self.server.new_key(limits={"runs_per_minute": 1})
        self.status(0, self.echo, env={"GLOVEBOX_API_KEY": secret})
        self.status(5, self.echo, env={"GLOVEBOX_API_KEY": secret})

    def test_the_server_of_the_data_directory(self):
        env = {"GLOVEBOX_URL": "", "GLOVEBOX_API_KEY": "", "GLOVEBOX_DATA_DIR": self.server.data}
        answer = json.loads(self.status(0, self.echo, "--json", "--server", env=env).stdout)
        self.assertIn("id", answer)
        answer = json.loads(self.status(0, self.echo, "--json", env=env).stdout)  # not without being asked
        self.assertNotIn("id", answer)


if __name__ == "__main__":
    sealed.main()
