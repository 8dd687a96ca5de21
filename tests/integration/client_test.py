# The commands that talk to a server, against a real one: keys, templates, gc, runs, the benchmark.
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
from sealed import glovebox, read_line, start, wait_until


class Served(unittest.TestCase):
    """One server for all tests of a class; at the end, nothing of it is left."""
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.before = sealed.Nothing()
        cls.data = tempfile.mkdtemp(prefix="gbx-test-")
        os.chmod(cls.data, 0o755)
        cls.log = open(os.path.join(cls.data, "serve.log"), "wb")
        cls.server = start("serve", "--data-dir", cls.data, "--listen", "127.0.0.1:0",
                           stdout=cls.log, stderr=cls.log)
        cls.env = {"GLOVEBOX_DATA_DIR": cls.data}
        ready = wait_until(lambda: cls.server.poll() is not None or cls.answers(), 60)
        if not ready or cls.server.poll() is not None:
            cls.stop()
            raise AssertionError("the server does not answer")

    @classmethod
    def answers(cls):
        return glovebox("run", "--server", "--exec", "/bin/true", env=cls.env).returncode == 0

    @classmethod
    def tearDownClass(cls):
        status = cls.stop()
        left = cls.before.still_there()
        if status != 0 or left:
            raise AssertionError((status, left))

    @classmethod
    def stop(cls):
        cls.server.terminate()
        try:
            status = cls.server.wait(timeout=60)
        finally:
            cls.log.close()
            shutil.rmtree(cls.data, ignore_errors=True)
        return status

    def ask(self, *words, status=0, env=None, **more):
        ran = glovebox(*words, env={**self.env, **(env or {})}, **more)
        self.assertEqual(ran.returncode, status, (words, ran.stdout, ran.stderr))
        return ran

    def ask_json(self, *words, **more):
        return json.loads(self.ask(*words, "--json", **more).stdout)

    def assert_one_line(self, text):
        self.assertTrue(text.startswith(b"glovebox: "), text)
        self.assertEqual(text.count(b"\n"), 1, text)

    def url(self):
        with open(os.path.join(self.data, "serve.json")) as file:
            return json.load(file)["url"]

    def directory(self):
        made = tempfile.TemporaryDirectory(prefix="gbx-test-")
        self.addCleanup(made.cleanup)
        return made.name


class Keys(Served):
    def test_the_admin_key_is_its_owners_alone(self):
        info = os.stat(os.path.join(self.data, "admin.key"))
        self.assertEqual((info.st_uid, stat.S_IMODE(info.st_mode)), (0, 0o600))

    def test_create_use_revoke(self):
        made = self.ask("key", "create", "--project", "ci", "--name", "nightly",
                        "--max-in-flight", "2")
        secret = made.stdout.decode().strip()
        self.assertRegex(secret, r"^gbx_[0-9a-f]{40}$")
        [key] = [key for key in self.ask_json("key", "list")["keys"] if key["name"] == "nightly"]
        self.assertEqual((key["project"], key["role"], key["limits"]["max_in_flight"]),
                         ("ci", "user", 2))
        self.assertNotIn(secret, self.ask("key", "list", "--json").stdout.decode())
        mine = {"GLOVEBOX_API_KEY": secret}
        self.assertEqual(self.ask("run", "--server", "-c", "print(1)", env=mine).stdout, b"1\n")
        # It runs things; it does not manage keys.
        self.assert_one_line(self.ask("key", "list", env=mine, status=1).stderr)
        self.ask("key", "revoke", key["id"])
        refused = self.ask("run", "--server", "-c", "print(1)", env=mine, status=125)
        self.assertIn(b"GLOVEBOX_API_KEY", refused.stderr)

    def test_a_key_in_e2bs_form_is_the_same_key(self):
        made = self.ask("key", "create", "--project", "e2b", "--name", "client", "--e2b").stdout.decode().strip()
        self.assertRegex(made, r"^e2b_[0-9a-f]{40}$")
        for key in (made, made.replace("e2b_", "gbx_")):
            out = self.ask("run", "--server", "-c", "print(1)", env={"GLOVEBOX_API_KEY": key}).stdout
            self.assertEqual(out, b"1\n")
        self.assertRegex(self.ask_json("key", "create", "--name", "x", "--e2b")["key"], r"^e2b_[0-9a-f]{40}$")

    def test_show_prints_the_admin_key_in_either_form(self):
        with open(os.path.join(self.data, "admin.key")) as file:
            key = file.read().strip()
        self.assertEqual(self.ask("key", "show").stdout.decode(), key + "\n")
        self.assertEqual(self.ask("key", "show", "--e2b").stdout.decode(), key.replace("gbx_", "e2b_") + "\n")
        none = self.ask("key", "show", env={"GLOVEBOX_DATA_DIR": self.directory()}, status=125)
        self.assert_one_line(none.stderr)

    def test_serve_says_where_a_client_of_e2b_goes_and_not_the_key(self):
        with open(os.path.join(self.data, "serve.log")) as file:
            said = file.read()
        for line in (f"export E2B_API_KEY=$(GLOVEBOX_DATA_DIR={self.data} glovebox key show --e2b)",
                     f"export E2B_API_URL={self.url()}", f"export E2B_SANDBOX_URL={self.url()}"):
            self.assertIn(f"  {line}\n", said)
        self.assertNotRegex(said, r"(gbx|e2b)_[0-9a-f]{40}")

    def test_list_of_one_project(self):
        self.ask("key", "create", "--project", "other", "--name", "x")
        projects = {key["project"] for key in self.ask_json("key", "list", "--project",
                                                            "other")["keys"]}
        self.assertEqual(projects, {"other"})

    def test_mistakes(self):
        self.assert_one_line(self.ask("key", "revoke", "nope", status=1).stderr)
        for words in (["key"], ["key", "make"], ["key", "revoke"], ["key", "create", "--nmae", "x"],
                      ["key", "create", "--max-memory", "lots"], ["key", "list", "--admin"],
                      ["key", "list", "--e2b"], ["key", "show", "x"], ["key", "show", "--name", "x"]):
            self.assert_one_line(self.ask(*words, status=2).stderr)

    def test_without_a_server_it_says_what_to_type(self):
        nowhere = {"GLOVEBOX_DATA_DIR": self.directory()}
        self.assertIn(b"`glovebox serve`", self.ask("key", "list", env=nowhere, status=125).stderr)
        gone = self.ask("gc", "--url", "http://127.0.0.1:1", status=125)
        self.assertIn(b"no server responds at http://127.0.0.1:1", gone.stderr)
        self.assert_one_line(gone.stderr)

    def test_a_wrong_key_and_none(self):
        wrong = self.ask("key", "list", "--key", "gbx_" + "0" * 40, status=1)
        self.assertIn(b"rejected the key from --key", wrong.stderr)
        none = self.ask("key", "list", "--url", self.url(), status=1,
                        env={"GLOVEBOX_DATA_DIR": self.directory()})
        self.assertIn(b"requires a key", none.stderr)


class Templates(Served):
    def test_list_and_show(self):
        names = {one["name"] for one in self.ask_json("template", "list")["templates"]}
        self.assertLessEqual({"base", "python", "python-data", "node"}, names)
        self.assertIn(b"python-data", self.ask("template", "list").stdout)
        self.assertEqual(self.ask_json("template", "show", "python")["language"], "python")
        self.assertIn(b"json, re", self.ask("template", "show", "python").stdout)
        self.assert_one_line(self.ask("template", "show", "nope", status=1).stderr)

    def test_one_of_the_projects_own(self):
        made = self.ask("template", "create", "mine", "--from", "python", "--preload", "json.tool,wave", "--env",
                        "A=b=c", "--memory", "200M", "--timeout", "5s", "--cpus", "0.5", "--description", "for tests", "--session-pool", "0-2")
        self.assertEqual(made.stdout, b"mine\n")
        shown = self.ask_json("template", "show", "mine")
        self.assertEqual((shown["from"], shown["env"], shown["description"]), ("python", {"A": "b=c"}, "for tests"))
        self.assertEqual(shown["preload"][-2:], ["json.tool", "wave"])
        self.assertEqual([shown["profile"][name] for name in ("memory_mb", "timeout_ms", "cpu_thousandths")],
                         [200, 5000, 500])
        self.assertIn(b"for tests", self.ask("template", "list").stdout)
        self.assertRegex(self.ask("template", "list").stdout.decode(), r"(?m)^NAME .*  SESSION POOL  ")
        self.assertRegex(self.ask("template", "list").stdout.decode(), r"(?m)^mine .*  0-2  ")
        self.assertRegex(self.ask("template", "show", "mine").stdout.decode(), r"(?m)^session_pool +0-2$")
        self.assert_one_line(self.ask("template", "create", "mine", "--from", "python", status=1).stderr)
        for words in (["create", "x"], ["create", "--from", "python"], ["create", "x", "--from", "python", "--env", "A"],
                      ["create", "x", "--from", "python", "--preload", "a,,b"], ["list", "--from", "python"], ["delete"]):
            self.assert_one_line(self.ask("template", *words, status=2).stderr)
        self.assertEqual(self.ask("template", "delete", "mine").stdout, b"deleted mine\n")
        self.assert_one_line(self.ask("template", "delete", "mine", status=1).stderr)
        self.assert_one_line(self.ask("template", "delete", "python", status=1).stderr)

    def test_check_needs_no_server(self):
        nowhere = {"GLOVEBOX_DATA_DIR": self.directory()}
        path = os.path.join(self.directory(), "mine.toml")
        with open(path, "w") as file:
            file.write('description = "mine"\nruntime = "python"\n')
        self.assertIn(b"is valid", self.ask("template", "check", path, env=nowhere).stdout)
        with open(path, "a") as file:
            file.write('preloda = ["x"]\n')
        wrong = self.ask("template", "check", path, env=nowhere, status=1)
        self.assertIn(b"mine.toml:3", wrong.stderr)
        self.assertIn(b"preloda", wrong.stderr)
        self.assertFalse(json.loads(self.ask("template", "check", path, "--json", env=nowhere,
                                             status=1).stdout)["ok"])
        self.ask("template", "check", path + ".not-there", env=nowhere, status=1)

    def test_gc(self):
        self.ask("run", "--server", "-c", "print(1)")
        self.assertIn("runs_removed", self.ask_json("gc"))
        self.assertIn(b"removed 0 runs", self.ask("gc").stdout)


def sandbox_run(*words):
    return subprocess.run([os.path.join(sealed.BIN, "sandbox-run"), *words], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=60, env=sealed.environment())


class Runs(Served):
    def run_here_and_there(self, *words, stdin=b"", status=None):
        here = glovebox("run", "--local", *words, stdin=stdin)
        there = glovebox("run", "--server", *words, stdin=stdin, env=self.env)
        self.assertEqual((there.returncode, there.stdout), (here.returncode, here.stdout),
                         (words, here.stderr, there.stderr))
        if status is not None:
            self.assertEqual(there.returncode, status, there.stderr)
        return here, there

    def test_the_same_words_give_the_same_output_and_status(self):
        for words in (["-c", "print(1+1)"],
                      ["-c", "import sys; print(sys.argv[1:])", "--", "-x", "--json"],
                      ["-c", "import sys; sys.exit(3)"],
                      ["-c", "1/0"],
                      ["-c", "import os; print(os.environ['A'], os.getcwd())", "--env", "A=b c",
                       "--workdir", "/tmp"],
                      ["-c", "echo $0 $1; exit 7", "--lang", "bash", "--", "a b"],
                      ["-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"],
                      ["-c", "import sys; sys.stdout.buffer.write(bytes(range(256)) * 100)"],
                      ["--exec", "sh", "--", "-c", "env | sort"],
                      ["--exec", "printf", "--", "%s", "x"],
                      ["--exec", "/nonexistent"], ["--exec", "/etc/hostname"]):
            self.run_here_and_there(*words)

    def test_a_program_that_cannot_be_executed_and_a_module_that_is_missing(self):
        here, there = self.run_here_and_there("--exec", "/nonexistent", status=127)
        self.assertEqual(there.stderr, here.stderr)
        self.run_here_and_there("--exec", "/etc/hostname", status=126)
        for program, status in (("nosuch", 127), ("/etc", 126)):
            answer = json.loads(glovebox("run", "--server", "--json", "--exec", program, env=self.env).stdout)
            self.assertEqual(answer["exit_code"], status)
        here, there = self.run_here_and_there("-c", "import yaml_is_missing", status=1)
        self.assertEqual(there.stderr.splitlines()[-1], here.stderr.splitlines()[-1])
        self.assertIn(b"--with yaml_is_missing installs it", there.stderr.splitlines()[-1])

    def test_the_environment_variable_is_enough(self):
        ran = glovebox("run", "-c", "print(1)", "--json",
                       env={**self.env, "GLOVEBOX_URL": self.url()})
        self.assertEqual(json.loads(ran.stdout)["template"], "python")
        ran = glovebox("run", "--local", "-c", "print(1)", "--json",
                       env={**self.env, "GLOVEBOX_URL": self.url()})
        self.assertNotIn("template", json.loads(ran.stdout))

    def test_which_server_and_which_key(self):
        handler = os.path.join(self.directory(), "handler.py")
        with open(handler, "w") as file:
            file.write("def handler(event, context): return 1\n")
        run, invoke = ("run", "--server", "-c", "print(1)"), ("--server", handler, "--event", "{}")
        for program, words, failed in ((glovebox, run, 125), (sandbox_run, invoke, 5)):
            done = program(*words, "--data-dir", self.data)
            self.assertEqual((done.returncode, done.stdout), (0, b"1\n"), done.stderr)
            done = program(*words, "--data-dir", self.data, "--key", "gbx_" + "0" * 40)
            self.assertEqual(done.returncode, failed)
            self.assertIn(b"rejected the key from --key", done.stderr)
            done = program(*(word for word in words if word != "--server"), "--data-dir", self.data)
            self.assertIn(b"--data-dir is only for runs on a server; use --server", done.stderr)

    def test_standard_input_and_code_from_it(self):
        text = "import sys; print(len(sys.stdin.buffer.read()))"
        self.run_here_and_there("-c", text, stdin=bytes(range(256)) * 1000, status=0)
        self.run_here_and_there("-", stdin=b"print('from stdin')", status=0)

    def test_a_file_is_run(self):
        directory = self.directory()
        script = os.path.join(directory, "script.py")
        with open(script, "w") as file:
            file.write("import sys; print('hello', sys.argv[1:])\n")
        self.run_here_and_there(script, "--", "x", status=0)

    def test_files_go_in_and_come_out(self):
        directory = self.directory()
        source, text, data = (os.path.join(directory, name) for name in ("in", "text", "data"))
        with open(source, "wb") as file:
            file.write(bytes(range(256)))
        code = ("import os; b = open('/home/user/in', 'rb').read(); open('/tmp/data', 'wb').write(b);"
                "open('text', 'w').write(str(len(b)) + str(os.access('in', os.X_OK)))")
        os.chmod(source, 0o755)
        self.ask("run", "--server", "-c", code, "--file", source + ":in", "--out", "text:" + text,
                 "--out", "/tmp/data:" + data)
        with open(text) as file:
            self.assertEqual(file.read(), "256True")
        with open(data, "rb") as file:
            self.assertEqual(file.read(), bytes(range(256)))
        missing = self.ask("run", "--server", "-c", "print(1)", "--out", "/tmp/no:" + text,
                           status=125)
        self.assertIn(b"copy out /tmp/no", missing.stderr)
        with open(text) as file:
            self.assertEqual(file.read(), "256True")

    def test_json_has_the_shape_of_a_local_run(self):
        here = json.loads(glovebox("run", "--local", "--json", "-c", "print('x')").stdout)
        there = self.ask_json("run", "--server", "-c", "print('x')")
        self.assertLessEqual(set(here), set(there))
        self.assertLessEqual(set(here["metrics"]), set(there["metrics"]))
        for name in ("exit_code", "stdout", "stderr", "error", "signal", "timed_out", "oom_killed",
                     "truncated"):
            self.assertEqual(here[name], there[name], name)
        self.assertNotIn("files", there)

    def test_a_refusal_is_an_object_too(self):
        ran = self.ask("run", "--server", "-c", "1", "--json", "--min-grade", "vm", status=125)
        answer = json.loads(ran.stdout)
        self.assertEqual(answer["exit_code"], 125)
        self.assertTrue(answer["error"]["message"])

    def test_time_and_memory_run_out_as_they_do_here(self):
        for words, status in ((["-c", "while True: pass", "--timeout", "500ms"], 124),
                              (["--exec", "dd", "--memory", "32M", "--", *sealed.EAT_MEMORY], 137)):
            here, there = self.run_here_and_there(*words, status=status)
            self.assertEqual(here.stderr.splitlines()[-1:], there.stderr.splitlines()[-1:])

    def test_output_past_the_limit_is_dropped_and_said(self):
        ran = self.ask("run", "--server", "-c", "print('x' * 100000)", "--output-limit", "10K")
        self.assertEqual(len(ran.stdout), 10 * 1024)
        self.assertIn(b"was dropped", ran.stderr)

    def test_output_is_live(self):
        process = start("run", "--server", "-c",
                        "import time; print('first', flush=True); time.sleep(600)", env=self.env)
        try:
            self.assertEqual(read_line(process.stdout), b"first\n")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=20), 130)
        finally:
            process.kill()
            process.communicate()
        # Closing the connection ended the run.
        self.assertTrue(wait_until(lambda: self.active_runs() == 0), "the run goes on")

    def active_runs(self):
        with open(os.path.join(self.data, "admin.key")) as file:
            key = file.read().strip()
        text = subprocess.run(
            [sys.executable, "-c", "import sys, urllib.request as u; print(u.urlopen(u.Request("
             "sys.argv[1], headers={'X-API-Key': sys.argv[2]})).read().decode())",
             self.url() + "/metrics", key], capture_output=True, check=True, timeout=20).stdout
        [line] = [one for one in text.decode().splitlines()
                  if one.startswith("glovebox_runs_active ")]
        return float(line.split()[1])

    def test_a_reader_that_is_gone_ends_it(self):
        process = start("run", "--server", "-c", "while True: print('y' * 1000)", env=self.env)
        try:
            self.assertTrue(read_line(process.stdout))
            process.stdout.close()
            self.assertEqual(process.wait(timeout=20), 128 + signal.SIGPIPE)
        finally:
            process.kill()
            process.wait()
            process.stderr.close()

    def test_what_a_server_cannot_do_is_refused(self):
        for words, said in ((["--mount", "ro:/usr"], b"`mounts`"), (["--tty"], b"--tty"),
                            (["--engine", "process"], b"--engine process"),
                            (["--local"], b"--local")):
            ran = self.ask("run", "--server", "-c", "1", *words, status=2)
            self.assertIn(said, ran.stderr)
            self.assert_one_line(ran.stderr)
        ran = self.ask("run", "--server=127.0.0.1:1", "-c", "1", status=2)
        self.assertIn(b"http://", ran.stderr)

    def test_bench_prints_what_is_promised(self):
        ran = self.ask("bench", "--quick", "--json", "--data-dir", self.data, timeout=170)
        rows = {row["name"]: row for row in json.loads(ran.stdout)}
        for row in rows.values():
            self.assertEqual(list(row), ["name", "n", "errors", "p50_ms", "p99_ms", "per_second",
                                         "baseline", "ratio"])
            self.assertEqual(row["errors"], 0, row)
            self.assertGreater(row["n"], 0, row)
            self.assertGreaterEqual(row["p99_ms"], row["p50_ms"], row)
        self.assertLessEqual({"python-paced", "python-back-to-back", "python-16-clients",
                              "python-burst-100", "python-cold", "shell-paced", "floor-fork"},
                             set(rows))
        self.assertEqual(rows["python-burst-100"]["n"], 100)


class OwnServer(sealed.TestCase):
    def test_bench_starts_a_server_and_leaves_nothing(self):
        before = set(os.listdir("/tmp"))
        process = start("bench", "--quick")
        try:
            self.assertTrue(wait_until(lambda: [name for name in set(os.listdir("/tmp")) - before
                                                if name.startswith("gbx-bench-")]))
            served = wait_until(lambda: [name for name in set(os.listdir("/tmp")) - before
                                         if os.path.exists(f"/tmp/{name}/serve.json")], 60)
            self.assertTrue(served)
            process.send_signal(signal.SIGINT)
            self.finish(process, 60)
            self.assertEqual(process.returncode, 130)
        finally:
            if process.poll() is None:
                process.kill()
        self.assertEqual([name for name in set(os.listdir("/tmp")) - before
                          if name.startswith("gbx-bench-")], [])


if __name__ == "__main__":
    sealed.main()
