# `glovebox run --engine process`: what it promises without namespaces, and that it promises no more.
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes
import sealed
from sealed import glovebox


class ProcessEngine(sealed.TestCase):
    def run_in(self, *words, **more):
        return glovebox("run", "--engine", "process", *words, **more)

    def python(self, code, *words):
        return self.run_in(*words, "-c", code)

    def test_is_never_chosen_by_itself_and_has_the_lowest_grade(self):
        _, answer = sealed.run_json("--exec", "/bin/true")
        self.assertEqual(answer["isolation"]["engine"], "jail")
        _, answer = sealed.run_json("--engine", "process", "--exec", "/bin/true")
        self.assertEqual((answer["isolation"]["engine"], answer["isolation"]["grade"]), ("process", "process"))
        walls = set(answer["isolation"]["walls"])
        self.assertFalse({wall for wall in walls if wall.endswith("-namespace")}, walls)
        self.assertLessEqual({"landlock", "seccomp", "no-new-privileges", "no-capabilities"}, walls)
        ran = self.run_in("--min-grade", "jail-partial", "-c", "print('ran')")
        self.assertEqual((ran.returncode, ran.stdout), (125, b""))

    def test_python_runs_with_its_own_words(self):
        ran = self.python("import sys, json, math; print(json.dumps([math.pi > 3, sys.argv[1:]]))")
        self.assertEqual((ran.returncode, ran.stdout), (0, b"[true, []]\n"), ran.stderr)
        ran = self.run_in("-c", "import sys; print(sys.argv[1:], sys.stdin.read())", "--", "a", "--b", stdin=b"in")
        self.assertEqual((ran.returncode, ran.stdout), (0, b"['a', '--b'] in\n"), ran.stderr)

    def test_imports_on_the_deny_list_fail_as_imports_do(self):
        for module in ("os", "subprocess", "socket", "ctypes", "posix", "multiprocessing"):
            ran = self.python(f"try:\n    import {module}\nexcept ImportError as e: print('denied', e)")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertTrue(ran.stdout.startswith(b"denied"), (module, ran.stdout))

    def test_the_deny_list_can_grow_and_an_allow_list_can_replace_it(self):
        ran = self.python("import json", "--deny-import", "json")
        self.assertEqual(ran.returncode, 1)
        self.assertIn(b"ImportError", ran.stderr)
        ran = self.python("import math; print(math.sqrt(4))", "--allow-import", "math")
        self.assertEqual((ran.returncode, ran.stdout), (0, b"2.0\n"), ran.stderr)
        ran = self.python("import json", "--allow-import", "math")
        self.assertEqual(ran.returncode, 1)

    def test_a_refused_import_is_reported_as_what_it_is(self):
        for module in ("subprocess", "ctypes", "multiprocessing.pool"):
            ran = self.python(f"import {module}")
            self.assertEqual((ran.returncode, ran.stdout), (1, b""))
            refused = f"import of '{module.partition('.')[0]}' is refused by the import policy of the process engine"
            self.assertEqual(ran.stderr.decode().splitlines(), [
                "Traceback (most recent call last):", '  File "/home/user/main.py", line 1, in <module>',
                f"    import {module}", f"ImportError: {refused}"])

    def beside(self, main, **modules):
        """Options that put these modules beside a program, and the program's path."""
        place = self.directory()
        words = []
        for name, text in modules.items():
            with open(os.path.join(place, name + ".py"), "w") as file:
                file.write(text)
            words += ["--file", f"{place}/{name}.py:{name}.py"]
        path = os.path.join(place, "program.py")
        with open(path, "w") as file:
            file.write(main)
        return [*words, path]

    def test_an_allow_list_lets_the_program_import_what_lies_beside_it(self):
        words = self.beside("import helper; print(helper.root(16))",
                            helper="import math\ndef root(x): return math.sqrt(x)\n")
        ran = self.run_in("--allow-import", "math", *words)
        self.assertEqual((ran.returncode, ran.stdout), (0, b"4.0\n"), ran.stderr)
        # What lies beside the program is judged as the program is.
        ran = self.run_in("--allow-import", "json", *words)
        self.assertEqual(ran.returncode, 1)
        self.assertIn(b"import of 'math' is refused", ran.stderr)

    def test_what_an_allowed_module_imports_itself_is_not_judged(self):
        ran = self.python("import datetime; print(datetime.datetime.strptime('2026', '%Y').year)",
                          "--allow-import", "datetime")
        self.assertEqual((ran.returncode, ran.stdout), (0, b"2026\n"), ran.stderr)

    def test_tracebacks_show_no_path_of_the_host(self):
        words = self.beside("import helper, traceback\ntry:\n    helper.fail()\nexcept ValueError:\n"
                            "    traceback.print_exc()\nhelper.fail()\n",
                            helper="def fail():\n    raise ValueError('broken')\n")
        ran = self.run_in(*words)
        self.assertEqual(ran.returncode, 1)
        text = ran.stderr.decode()
        self.assertEqual(text.count('File "/home/user/helper.py", line 2, in fail\n    raise ValueError'), 2, text)
        self.assertEqual(text.count('File "/home/user/program.py", line'), 2, text)
        self.assertEqual({line.strip().split('"')[1] for line in text.splitlines() if " File " in line},
                         {"/home/user/program.py", "/home/user/helper.py"})
        ran = self.python("x = 1 +")
        self.assertEqual(ran.stderr.splitlines()[0], b'  File "/home/user/main.py", line 1')

    def test_an_import_policy_goes_with_this_engine_only(self):
        ran = glovebox("run", "--deny-import", "json", "-c", "print('ran')")
        self.assertEqual((ran.returncode, ran.stdout), (2, b""))
        self.assert_one_line(ran.stderr)

    def test_files_of_the_host_that_were_not_given_cannot_be_read_or_written(self):
        place = self.directory()
        secret = os.path.join(place, "secret")
        with open(secret, "w") as file:
            file.write("canary")
        os.chmod(secret, 0o666)
        os.chmod(place, 0o777)
        ran = self.run_in("--lang", "bash", "-c",
                          f"cat {secret}; echo x > {secret}; echo x > {place}/new; ls {place} /root /home /proc/1;"
                          f"cat /etc/passwd /etc/shadow /proc/{os.getpid()}/environ; echo x > /tmp/gbx-left; :")
        self.assertEqual((ran.returncode, ran.stdout), (0, b""), ran.stderr)
        with open(secret) as file:
            self.assertEqual(file.read(), "canary")
        self.assertEqual(os.listdir(place), ["secret"])
        self.assertFalse(os.path.exists("/tmp/gbx-left"))

    def test_there_is_no_network(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(1)
            listener.setblocking(False)
            port = listener.getsockname()[1]
            ran = self.run_in("--lang", "bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached")
            self.assertEqual(ran.stdout, b"")
            with self.assertRaises(BlockingIOError):
                listener.accept()

    def test_it_runs_as_a_user_that_nobody_else_is(self):
        seen = set()
        for _ in range(2):
            ran = self.run_in("--exec", "/usr/bin/id", "--", "-u")
            uid = int(ran.stdout)
            self.assertGreaterEqual(uid, 1879048192)
            seen.add(uid)
        self.assertEqual(len(seen), 2)

    def test_other_processes_cannot_be_signalled_and_live_on(self):
        bystander = subprocess.Popen(["sleep", "1000"])
        try:
            ran = self.run_in("--lang", "bash", "-c",
                              f"kill -9 {bystander.pid}; kill -9 -1; kill -9 {os.getpid()}; kill -9 1; :")
            # Killing every process it may reach is killing itself.
            self.assertIn(ran.returncode, (0, 137), ran.stderr)
            self.assertIsNone(bystander.poll())
        finally:
            bystander.kill()
            bystander.wait()

    def test_nothing_of_a_run_stays_in_the_next(self):
        ran = self.run_in("--lang", "bash", "-c", "pwd; echo secret > file; ls -A")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        first = ran.stdout.split()[0].decode()
        self.assertTrue(sealed.wait_until(lambda: not os.path.exists(first)), first)
        ran = self.run_in("--lang", "bash", "-c", "cat file 2>/dev/null; ls -A")
        self.assertEqual(ran.stdout, b"main.sh\n")

    def test_daemons_end_with_the_run(self):
        ran = self.run_in("--exec", "/usr/bin/perl", "--", "-MPOSIX", "-e",
                          "$SIG{$_} = 'IGNORE' for qw(HUP TERM INT); exit 3 if fork; POSIX::setsid(); exit if fork;"
                          "close $_ for (*STDIN, *STDOUT, *STDERR); sleep 1000 while 1")
        self.assertEqual(ran.returncode, 3, ran.stderr)
        self.assert_nothing_left()

    def test_an_interrupt_ends_it(self):
        process = sealed.start("run", "--engine", "process", "--lang", "bash", "-c", "echo ready; exec sleep 1000")
        self.assertEqual(sealed.read_line(process.stdout), b"ready\n")
        process.send_signal(signal.SIGINT)
        self.finish(process)
        self.assertEqual(process.returncode, 130)

    def test_a_killed_client_leaves_nothing(self):
        process = sealed.start("run", "--engine", "process", "--lang", "bash", "-c", "echo ready; exec sleep 1000")
        self.assertEqual(sealed.read_line(process.stdout), b"ready\n")
        process.kill()
        self.finish(process)
        self.assert_nothing_left()

    def test_a_killed_launcher_leaves_nothing_past_the_next_start(self):
        process = sealed.start("run", "--engine", "process", "--lang", "bash", "-c", "echo ready; exec sleep 1000")
        self.assertEqual(sealed.read_line(process.stdout), b"ready\n")
        sealed.end(processes.named("glovebox-launch"))
        self.finish(process)
        self.assertEqual(process.returncode, 125)
        self.assertEqual(glovebox("run", "--exec", "/bin/true").returncode, 0)
        self.assert_nothing_left()

    def test_what_it_has_not_is_refused(self):
        place = self.directory()
        ran = self.run_in("--mount", f"ro:{place}:/mnt", "-c", "print('ran')")
        self.assertIn(ran.returncode, (2, 125))
        self.assertEqual(ran.stdout, b"")
        self.assert_one_line(ran.stderr)


if __name__ == "__main__":
    sealed.main()
