# The API as a stranger meets it: runs with everything that can be asked for, keys and projects,
# refusals, records. Against a real server with real sandboxes.
import base64
import json
import os
import signal
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
from sealed import wait_until

SSE = {"Accept": "text/event-stream"}
NDJSON = {"Accept": "application/x-ndjson"}


def server_sent(text):
    """[(event, data)] of a stream of server-sent events."""
    events = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            events.append((fields["event"], json.loads(fields["data"])))
    return events


def in_background(function, *args, **more):
    """Starts a thread; calling what is returned waits for it and gives its value."""
    values = []
    thread = threading.Thread(target=lambda: values.append(function(*args, **more)), daemon=True)
    thread.start()

    def result():
        thread.join(server.PATIENCE)
        if not values:
            raise AssertionError("no answer")
        return values[0]
    return result


class Results(server.Served):
    def test_the_value_of_the_last_expression(self):
        answer = self.client.python("print('hello')\n6 * 7")
        self.assertEqual((answer["stdout"], answer["stderr"], answer["exit_code"]), ("hello\n", "", 0))
        self.assertEqual(answer["result"], {"text/plain": "42", "application/json": 42})
        self.assertIsNone(answer["error"])
        self.assertFalse(answer["timed_out"] or answer["oom_killed"] or answer["truncated"])
        self.assertEqual(answer["isolation"]["engine"], "jail")
        self.assertRegex(answer["profile"], "^[0-9a-f]{64}$")
        self.assertGreater(answer["metrics"]["wall_ms"], 0)

    def test_data_frames_and_figures(self):
        frame = self.client.run(template="python-data", code="import pandas as pd\npd.DataFrame({'a': [1, 2]})")
        self.assertIn("<table", frame["result"]["text/html"])
        self.assertIn("a", frame["result"]["text/plain"])
        drawn = self.client.run(template="python-data", code=(
            "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.gcf()"))
        images = [one["image/png"] for one in [drawn["result"], *drawn["results"]] if one and "image/png" in one]
        self.assertTrue(images, drawn)
        self.assertTrue(base64.b64decode(images[0]).startswith(b"\x89PNG\r\n\x1a\n"))

    def test_exceptions_have_the_callers_lines(self):
        answer = self.client.python("def f(x):\n    return 1 / x\n\nf(1)\nf(0)\n")
        self.assertEqual(answer["exit_code"], 1)
        error = answer["error"]
        self.assertEqual((error["code"], error["name"], error["message"], error["line"]),
                         ("exception", "ZeroDivisionError", "division by zero", 2))
        self.assertIn('File "main.py", line 5', "\n".join(error["traceback"]))
        self.assertNotIn("/opt/glovebox", "\n".join(error["traceback"]))
        syntax = self.client.python("x = 1\nif x\n")
        self.assertEqual((syntax["error"]["name"], syntax["error"]["line"]), ("SyntaxError", 2))
        self.assertEqual(self.client.python("import sys; sys.exit(7)")["exit_code"], 7)

    def test_other_languages(self):
        answer = self.client.run(language="javascript", code="console.log('js'); [1, 2].map(x => x * 2)")
        self.assertEqual((answer["stdout"], answer["result"]["application/json"]), ("js\n", [2, 4]))
        failed = self.client.run(language="js", code="\nthrow new TypeError('no')")
        self.assertEqual((failed["error"]["name"], failed["error"]["message"], failed["error"]["line"]),
                         ("TypeError", "no", 2))
        shell = self.client.run(language="shell", code='echo "$1"; exit 3', args=["first"])
        self.assertEqual((shell["stdout"], shell["exit_code"]), ("first\n", 3))
        command = self.client.run(command=["/bin/echo", "a b", "c"])
        self.assertEqual(command["stdout"], "a b c\n")
        self.assertEqual(self.client.run(command="echo $((1+1)) | cat")["stdout"], "2\n")
        killed = self.client.run(command="kill -9 $$")
        self.assertEqual((killed["signal"], killed["exit_code"], killed["error"]["code"]), (9, 137, "killed"))

    def test_stdin_args_env_files(self):
        answer = self.client.python(
            "import os, sys\n"
            "print(sys.stdin.read(), sys.argv[1:], os.environ['MINE'], open('in/a.txt').read())\n"
            "os.makedirs('out'); open('out/r.txt', 'w').write('text'); open('out/b.bin', 'wb').write(b'\\xff\\0')",
            stdin="typed", args=["x", "y z"], env={"MINE": "yes"},
            files=[{"path": "in/a.txt", "content": "A"}, {"path": "b", "content_base64": "//4="}],
            return_files=["out/*", "b", "none"])
        self.assertEqual(answer["stdout"], "typed ['x', 'y z'] yes A\n", answer)
        files = {file["path"]: file for file in answer["files"]}
        home = "/home/user/"
        self.assertEqual(set(files), {home + "out/r.txt", home + "out/b.bin", home + "b"})
        self.assertEqual(files[home + "out/r.txt"], {"path": home + "out/r.txt", "content": "text", "size": 4})
        self.assertEqual(base64.b64decode(files[home + "out/b.bin"]["content_base64"]), b"\xff\0")
        self.assertEqual(base64.b64decode(files[home + "b"]["content_base64"]), b"\xff\xfe")
        raw = self.client.run(command=["/bin/cat"], stdin_base64=base64.b64encode(b"\xff\xfe\0").decode())
        self.assertEqual(base64.b64decode(raw["stdout_base64"]), b"\xff\xfe\0")

    def test_live_events(self):
        code = "import sys\nprint('a', flush=True)\nprint('b', file=sys.stderr, flush=True)\n[1]"
        events = server_sent(self.client.post_run(language="python", code=code, headers=SSE).text)
        self.assertEqual(events[-1][0], "exit")
        self.assertEqual("".join(data["text"] for event, data in events if event == "stdout"), "a\n")
        self.assertEqual("".join(data["text"] for event, data in events if event == "stderr"), "b\n")
        [result] = [data for event, data in events if event == "result"]
        self.assertEqual((result["mime"]["application/json"], result["main"]), ([1], True))
        self.assertEqual((events[-1][1]["exit_code"], "stdout" in events[-1][1]), (0, False))

        answer = self.client.post_run(language="python", code="print(1)\n1/0", headers=NDJSON)
        self.assertEqual(answer.headers.get_content_type(), "application/x-ndjson")
        lines = [json.loads(line) for line in answer.text.splitlines()]
        self.assertEqual([line["event"] for line in lines if line["event"] in ("error", "exit")], ["error", "exit"])
        self.assertEqual(lines[-1]["exit_code"], 1)

    def test_events_come_while_it_runs(self):
        response = self.client.send("POST", "/v1/run", {
            "language": "python", "code": "print('first', flush=True)\nimport time\nwhile True: time.sleep(1)"}, NDJSON)
        self.assertEqual(json.loads(response.readline())["text"], "first\n")
        self.assertTrue(wait_until(lambda: self.active() == 1))
        self.client.close()
        response.close()
        self.assertTrue(wait_until(lambda: self.active() == 0))

    def active(self):
        with server.Client(self.server.url) as client:
            return server.metric(client.get("/metrics").text, "glovebox_runs_active")


class Limits(server.Served):
    def test_time(self):
        began = time.monotonic()
        answer = self.client.python("print('x', flush=True)\nwhile True: pass", profile={"timeout_ms": 500})
        self.assertLess(time.monotonic() - began, 15)
        self.assertEqual((answer["exit_code"], answer["timed_out"], answer["error"]["code"], answer["stdout"]),
                         (124, True, "timed_out", "x\n"))
        spent = self.client.python("while True: pass", profile={"cpu_ms": 300, "timeout_ms": 30000})
        self.assertEqual((spent["exit_code"], spent["timed_out"], spent["error"]["code"]), (124, True, "cpu_exceeded"))
        self.assertLess(spent["metrics"]["cpu_ms"], 5000)

    def test_memory(self):
        answer = self.client.run(command=["/bin/dd", *sealed.EAT_MEMORY], profile={"memory_mb": 64})
        self.assertTrue(answer["oom_killed"], answer)
        self.assertEqual(answer["error"]["code"], "oom_killed")
        # What it writes to its disk is memory too, so the wall stands at both together.
        warm = self.client.python("x = b'a' * (200 << 20)", profile={"memory_mb": 64, "disk_mb": 16})
        self.assertTrue(warm["oom_killed"] or (warm["error"] or {}).get("name") == "MemoryError", warm)

    def test_output(self):
        answer = self.client.python("print('x' * 1000000)", profile={"output_kb": 16})
        self.assertEqual((answer["truncated"], len(answer["stdout"])), (True, 16 * 1024))

    def test_processes(self):
        answer = self.client.python(
            "import os\npids = []\ntry:\n"
            "  while True:\n    pid = os.fork()\n    if pid == 0:\n      import time; time.sleep(60); os._exit(0)\n"
            "    pids.append(pid)\nexcept OSError as e: print('stopped', len(pids) < 20)\n"
            "for pid in pids: os.kill(pid, 9)", profile={"pids": 16})
        self.assertEqual(answer["stdout"], "stopped True\n", answer)

    def test_disk(self):
        answer = self.client.python("open('big', 'wb').write(b'x' * (8 << 20))", profile={"disk_mb": 2})
        self.assertEqual((answer["error"]["name"], "No space" in answer["error"]["message"]), ("OSError", True), answer)

    def test_personal_settings_stay_warm(self):
        self.server.wait_warm()
        for more in ({}, {"env": {"A": "1"}}, {"files": [{"path": "a", "content": "x"}]}, {"stdin": "x"},
                     {"profile": {"timeout_ms": 4321}}, {"profile": {"memory_mb": 99, "pids": 17, "output_kb": 5}},
                     {"profile": {"cpus": 0.5, "disk_mb": 11, "cpu_ms": 2000}}, {"args": ["1"]},
                     {"min_grade": "jail-partial"}, {"workdir": "/tmp"}):
            warm = wait_until(lambda: self.client.python("1", **more)["warm"], 20)
            self.assertTrue(warm, more)

    def test_cold(self):
        self.server.wait_warm()
        code = "import sys\n'datetime' in sys.modules"
        self.assertEqual(self.client.python(code)["result"]["text/plain"], "True")
        cold = self.client.python(code, cold=True)
        self.assertEqual((cold["warm"], cold["result"]["text/plain"]), (False, "False"))

    def test_grades(self):
        self.assertEqual(self.client.python("1", min_grade="jail-partial")["exit_code"], 0)
        answer = self.client.post_run(language="python", code="1", min_grade="vm")
        self.assertIn(answer.status, (403, 422), answer)
        self.assert_refused(answer, answer.status, answer.code)

    def test_one_profile_has_one_hash(self):
        spellings = [{"timeout_ms": 5000, "cpus": 0.5}, {"cpus": 0.50, "timeout_ms": 5000, "net": "none"},
                     {"timeout_ms": 5000, "cpus": 0.5, "mounts": []}]
        self.assertEqual(len({self.client.python("1", profile=one)["profile"] for one in spellings}), 1)
        self.assertNotEqual(self.client.python("1", profile={"cpus": 0.25})["profile"],
                            self.client.python("1", profile=spellings[0])["profile"])


class NeverReused(server.Served):
    def test_nothing_of_a_run_is_seen_by_another(self):
        code = (
            "import os, sys, builtins, tempfile\n"
            "places = ['/home/user/mark', '/tmp/mark', '/dev/shm/mark', '/var/tmp/mark']\n"
            "seen = [p for p in places if os.path.exists(p)] + [n for n in ('mark',) if hasattr(builtins, n)]\n"
            "for p in places:\n"
            "  try: open(p, 'w').write('x')\n"
            "  except OSError: pass\n"
            "builtins.mark = 1\n"
            "print(os.readlink('/proc/self/ns/mnt'), os.getpid(), seen, os.path.exists(places[0]))")
        inside, ids = set(), set()
        for _ in range(200):
            answer = self.client.python(code)
            namespace, _, seen, written = answer["stdout"].split()
            self.assertEqual((seen, written), ("[]", "True"), answer)
            inside.add(namespace)
            ids.add(answer["id"])
        self.assertEqual(len(ids), 200)
        # The kernel gives a number out again when its namespace is gone; one sandbox would have one.
        self.assertGreater(len(inside), 10)


class Mounts(server.Served):
    @classmethod
    def prepare(cls):
        cls.shared = tempfile.mkdtemp(prefix="gbx-test-")
        os.chmod(cls.shared, 0o755)
        os.chown(cls.shared, 1000, 1000)
        with open(os.path.join(cls.shared, "a"), "w") as file:
            file.write("shared")
        cls.roots = tempfile.mkdtemp(prefix="gbx-test-")
        cls.etc = server.EtcGlovebox()
        cls.link = cls.shared + "-link"
        os.symlink("/etc", cls.link)
        cls.etc.write("policy.toml", f'[mounts.data]\npath = "{cls.shared}"\n[mounts.linked]\npath = "{cls.link}"\n'
                                     f'[mounts.gone]\npath = "{cls.shared}-gone"\n'
                                     f'[mounts.roots]\npath = "{cls.roots}"\nmode = "rw"\n'
                                     f'[mounts.work]\npath = "{cls.shared}"\nmode = "rw"\nprojects = ["default"]\n')

    @classmethod
    def tidy(cls):
        cls.etc.remove()
        os.unlink(cls.link)
        os.unlink(os.path.join(cls.shared, "a"))
        os.rmdir(cls.shared)
        os.rmdir(cls.roots)

    def test_by_name_and_only_by_name(self):
        read = {"mounts": [{"name": "data", "path": "/data"}]}
        self.assertEqual(self.client.run(command="cat /data/a", profile=read)["stdout"], "shared")
        self.assertNotEqual(self.client.run(command="touch /data/b", profile=read)["exit_code"], 0)
        self.assertEqual(self.client.python("open('/data/a').read()", profile=read)["result"]["text/plain"], "'shared'")
        written = self.client.run(command="echo new > /w/b && cat /w/b && rm /w/b",
                                  profile={"mounts": [{"name": "work", "path": "/w", "mode": "rw"}]})
        self.assertEqual(written["stdout"], "new\n", written)
        for mount in ({"name": "data", "path": "/data", "mode": "rw"}, {"name": "nope", "path": "/data"},
                      {"name": "/etc", "path": "/data"}):
            answer = self.client.post_run(command="true", profile={"mounts": [mount]})
            self.assertIn(answer.status, (400, 403), (mount, answer))
            self.assert_refused(answer, answer.status, answer.code)

    def test_no_link_in_a_listed_path_is_followed(self):
        """A guest with a writable mount above it could have made it."""
        answer = self.client.post_run(command="true", profile={"mounts": [{"name": "linked", "path": "/data"}]})
        self.assert_refused(answer, 403, "policy")

    def test_a_listed_directory_that_is_not_there(self):
        answer = self.client.post_run(command="true", profile={"mounts": [{"name": "gone", "path": "/data"}]})
        self.assert_refused(answer, 403, "policy")
        self.assertIn("No such file", answer.json["error"]["message"])

    def test_a_refusal_does_not_tell_what_is_behind_a_name(self):
        answer = self.client.post_run(command="true",
                                      profile={"mounts": [{"name": "roots", "path": "/w", "mode": "rw"}]})
        self.assert_refused(answer, 403, "policy")
        message = answer.json["error"]["message"]
        self.assertIn("mount 'roots' belongs to the system", message)
        self.assertNotIn(self.roots, message)
        self.assertNotRegex(message, r"\d")  # no uid, no mode

    def test_a_mount_of_one_project_is_not_anothers(self):
        secret, _ = self.server.new_key(project="other")
        answer = self.server.client(secret).post_run(
            command="true", profile={"mounts": [{"name": "work", "path": "/w"}]})
        self.assert_refused(answer, 403, "policy")


class GracefulStop(sealed.TestCase):
    def test_what_runs_is_finished_and_the_new_refused(self):
        served = server.Server()
        try:
            client = served.client()
            response = client.send("POST", "/v1/run", {"language": "python", "code": (
                "import sys, time\nprint('on', flush=True)\ntime.sleep(2)\nprint('off')")}, NDJSON)
            self.assertEqual(json.loads(response.readline())["text"], "on\n")
            served.supervisor.send_signal(signal.SIGTERM)
            lines = [json.loads(line) for line in response.read().splitlines()]
            self.assertEqual((lines[-1]["event"], lines[-1]["exit_code"]), ("exit", 0), lines)
            self.assertIn("off\n", [line.get("text") for line in lines])
            self.assertEqual(served.supervisor.wait(timeout=server.PATIENCE), 0)
        finally:
            served.stop()

    def test_a_run_that_does_not_end_is_ended_at_the_limit(self):
        served = server.Server(settings={"server.stop_timeout": "1s"})
        try:
            answer = in_background(served.client().post_run, language="python", code="while True: pass",
                                   profile={"timeout_ms": 120000})
            metrics = served.client()
            self.assertTrue(wait_until(
                lambda: server.metric(metrics.get("/metrics").text, "glovebox_runs_active") == 1))
            served.supervisor.send_signal(signal.SIGTERM)
            self.assertEqual((answer().status, answer().code), (503, "server_stopping"))
            self.assertEqual(served.supervisor.wait(timeout=server.PATIENCE), 0)
        finally:
            served.stop()


if __name__ == "__main__":
    sealed.main()
