# `glovebox run` as a user types it: exit statuses, streams, JSON, units, files, signals.
import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
from sealed import glovebox, run_json, start


class ExitStatus(sealed.TestCase):
    def test_is_the_programs_own(self):
        for code in (0, 1, 3, 42, 255):
            ran = glovebox("run", "-c", f"import sys; sys.exit({code})")
            self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (code, b"", b""))

    def test_is_124_when_wall_time_runs_out(self):
        ran = glovebox("run", "--timeout", "300ms", "--exec", "/bin/sleep", "--", "1000")
        self.assertEqual(ran.returncode, 124)
        self.assertEqual(ran.stderr, b"glovebox: the time limit was reached\n")

    def test_is_124_when_cpu_time_runs_out(self):
        ran = glovebox("run", "--cpu-time", "300ms", "-c", "while True: pass")
        self.assertEqual((ran.returncode, ran.stderr), (124, b"glovebox: the CPU time limit was reached\n"))

    def test_is_137_when_memory_runs_out(self):
        ran = glovebox("run", "--memory", "32M", "--disk", "8M", "--exec", "/bin/dd", "--",
                       *sealed.EAT_MEMORY)
        self.assertEqual((ran.returncode, ran.stdout), (137, b""))
        self.assertEqual(ran.stderr, b"glovebox: the memory limit was reached\n")

    def test_is_137_when_the_program_is_killed(self):
        ran = glovebox("run", "-c", "import os; os.kill(os.getpid(), 9)")
        self.assertEqual(ran.returncode, 137)

    def test_is_128_and_the_signal_when_the_program_crashes(self):
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM):
            ran = glovebox("run", "-c", f"import os; os.kill(os.getpid(), {int(number)})")
            self.assertEqual(ran.returncode, 128 + number)

    def test_is_127_when_there_is_no_such_program_and_126_when_it_is_not_executable(self):
        for program, status in (("/no/such/program", 127), ("nosuch", 127), ("/etc/hostname", 126), ("/etc", 126)):
            with self.subTest(program=program):
                ran = glovebox("run", "--exec", program)
                self.assertEqual((ran.returncode, ran.stdout), (status, b""))
                self.assert_one_line(ran.stderr)
                self.assertIn(program.encode(), ran.stderr)
                answer = json.loads(glovebox("run", "--exec", program, "--json").stdout)
                self.assertEqual(answer["exit_code"], status)
                self.assertEqual(answer["error"]["code"],
                                 "program_not_found" if status == 127 else "program_not_executable")

    def test_is_125_when_glovebox_cannot_do_its_part(self):
        ran = glovebox("run", "--cwd", "/no/such/place", "--exec", "/bin/true")
        self.assertEqual((ran.returncode, ran.stdout), (125, b""))
        self.assert_one_line(ran.stderr)

    def test_a_missing_module_gets_a_hint(self):
        ran = glovebox("run", "-c", "import no_such_module.x")
        self.assertEqual(ran.returncode, 1)
        last = ran.stderr.decode().splitlines()[-1]
        self.assertTrue(last.startswith("glovebox: the sandbox has no module 'no_such_module': --with no_such_module "), last)
        for words in (["-c", "try:\n  import no_such_module\nexcept ImportError as e: print(e)"],
                      ["--engine", "process", "-c", "import no_such_module"],
                      ["--json", "-c", "import no_such_module"]):
            self.assertNotIn(b"--with", glovebox("run", *words).stderr)

    def test_is_125_when_no_launcher_answers(self):
        ran = glovebox("run", "-c", "1", env={"GLOVEBOX_LAUNCHER": "/no/such/socket"})
        self.assertEqual(ran.returncode, 125)
        self.assert_one_line(ran.stderr)
        self.assertIn(b"/no/such/socket", ran.stderr)

    def test_is_125_when_the_grade_is_too_low(self):
        ran = glovebox("run", "--min-grade", "vm", "-c", "print('ran')")
        self.assertEqual((ran.returncode, ran.stdout), (125, b""))
        self.assert_one_line(ran.stderr)

    def test_is_130_after_an_interrupt_and_nothing_is_left(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = start("run", "-c", "import time; print('ready', flush=True); time.sleep(1000)")
            self.assertEqual(sealed.read_line(process.stdout), b"ready\n")
            process.send_signal(number)
            self.finish(process)
            self.assertEqual(process.returncode, 130)
            self.assert_nothing_left()

    def test_help_and_version_are_0(self):
        for words in (["--help"], ["help"], ["run", "--help"], ["version"], ["--version"]):
            ran = glovebox(*words)
            self.assertEqual((ran.returncode, ran.stderr), (0, b""), words)
            self.assertTrue(ran.stdout, words)


class Code(sealed.TestCase):
    def test_comes_from_a_file_by_extension(self):
        place = self.directory()
        for name, text in (("a.py", "import sys; print('python', sys.argv[1:])"),
                           ("b.sh", "echo bash \"$@\"")):
            with open(os.path.join(place, name), "w") as file:
                file.write(text)
        ran = glovebox("run", os.path.join(place, "a.py"), "--", "x", "--json", "--")
        self.assertEqual(ran.stdout, b"python ['x', '--json', '--']\n")
        ran = glovebox("run", os.path.join(place, "b.sh"), "--", "1", "2 3")
        self.assertEqual(ran.stdout, b"bash 1 2 3\n")

    def test_comes_from_standard_input(self):
        ran = glovebox("run", "-", stdin=b"print(6 * 7)\n")
        self.assertEqual((ran.returncode, ran.stdout), (0, b"42\n"))
        ran = glovebox("run", "--lang", "bash", "-", stdin=b"echo $((6 * 7))\n")
        self.assertEqual((ran.returncode, ran.stdout), (0, b"42\n"))

    def test_language_can_be_named(self):
        ran = glovebox("run", "--lang", "bash", "-c", "echo $BASH_VERSION")
        self.assertEqual(ran.returncode, 0)
        self.assertRegex(ran.stdout, rb"^5\.")

    def test_any_executable_can_be_run(self):
        ran = glovebox("run", "--exec", "/bin/echo", "--", "-n", "a b", "")
        self.assertEqual((ran.returncode, ran.stdout), (0, b"a b "))
        ran = glovebox("run", "--exec", "echo", "--", "found on the path")
        self.assertEqual(ran.stdout, b"found on the path\n")


class Streams(sealed.TestCase):
    def test_a_hundred_megabytes_go_through_unchanged(self):
        block = bytes(range(256)) * 4096
        process = start("run", "--timeout", "60s", "--exec", "/bin/cat", stdin=subprocess.PIPE)
        sent = hashlib.sha256()

        def feed():
            for turn in range(100):
                piece = bytes([turn]) + block[1:]
                sent.update(piece)
                process.stdin.write(piece)
            process.stdin.close()

        feeder = threading.Thread(target=feed)
        feeder.start()
        got = hashlib.sha256()
        size = 0
        while piece := process.stdout.read1(1 << 20):
            got.update(piece)
            size += len(piece)
        feeder.join()
        self.assertEqual(process.wait(timeout=30), 0, process.stderr.read())
        process.stdout.close()
        process.stderr.close()
        self.assertEqual(size, 100 << 20)
        self.assertEqual(got.hexdigest(), sent.hexdigest())

    def test_output_comes_while_the_program_runs(self):
        process = start("run", "--exec", "/bin/cat", stdin=subprocess.PIPE)
        for word in (b"one\n", b"two\n"):
            process.stdin.write(word)
            process.stdin.flush()
            self.assertEqual(sealed.read_line(process.stdout), word)
        process.stdin.close()
        self.assertEqual(process.wait(timeout=20), 0)
        process.stdout.close()
        process.stderr.close()

    def test_a_reader_that_leaves_ends_the_run(self):
        process = start("run", "-c", "while True: print('line')")
        self.assertEqual(sealed.read_line(process.stdout), b"line\n")
        process.stdout.close()
        process.wait(timeout=20)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn(b"BrokenPipeError", process.stderr.read())
        process.stderr.close()

    def test_closed_standard_streams_do_no_harm(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            ran = subprocess.run(
                ["/bin/sh", "-c", f'exec "$0" run -c "print(1)" {closed}', sealed.GLOVEBOX],
                stdin=subprocess.DEVNULL, capture_output=True, timeout=30,
                env=sealed.environment())
            self.assertEqual(ran.stdout, b"" if ">&-" in closed.replace("2>&-", "") else b"1\n",
                             (closed, ran.returncode, ran.stderr))
            self.assert_nothing_left()

    def test_the_guest_holds_three_pipes_that_nobody_outside_has(self):
        code = ("import os\n"
                "for fd in sorted(int(n) for n in os.listdir('/proc/self/fd')):\n"
                "    try: print(fd, os.readlink(f'/proc/self/fd/{fd}'))\n"
                "    except FileNotFoundError: pass\n")  # the one that listdir itself used
        secret = os.open("/etc/hostname", os.O_RDONLY)
        process = start("run", "-c", code, stdin=subprocess.PIPE, pass_fds=[secret])
        os.close(secret)
        ours = {os.fstat(pipe.fileno()).st_ino
                for pipe in (process.stdin, process.stdout, process.stderr)}
        out, _ = self.finish(process)
        lines = [line.split() for line in out.decode().splitlines()]
        self.assertEqual([line[0] for line in lines], ["0", "1", "2"], out)
        for _, target in lines:
            self.assertRegex(target, r"^pipe:\[\d+\]$")
            self.assertNotIn(int(target[6:-1]), ours)

    def test_nothing_of_the_callers_environment_goes_in(self):
        ran = glovebox("run", "--exec", "/usr/bin/env", "--env", "MINE=1", env={"GBX_SECRET": "no"})
        names = {line.split("=")[0] for line in ran.stdout.decode().splitlines()}
        self.assertEqual(names, {"MINE", "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TMPDIR",
                                 "PYTHONDONTWRITEBYTECODE", "GLOVEBOX"})


    def test_with_all_three_closed_the_guest_cannot_speak_to_its_agent(self):
        # Once, standard error was closed, its number went to the agent's socket, and what the guest
        # printed there were commands. Exit 7: a file that only the agent could have made is there.
        code = (
            "import os, struct, time\n"
            "text = lambda t: struct.pack('<I', len(t)) + t\n"
            "os.write(2, b'\\1\\1' + text(b'/home/user/planted') + struct.pack('<I', 0o644))\n"
            "os.write(2, b'\\1\\4')\n"
            "end = time.monotonic() + 1\n"
            "while time.monotonic() < end:\n"
            "    if os.path.exists('/home/user/planted'): os._exit(7)\n"
            "    time.sleep(0.01)\n")
        closed = "exec \"$@\" <&- >&- 2>&-"
        ran = subprocess.run(["/bin/sh", "-c", closed, "sh", sealed.GLOVEBOX, "run", "-c", code],
                             env=sealed.environment(), timeout=60, check=False)
        self.assertEqual(ran.returncode, 0)


class Json(sealed.TestCase):
    FIELDS = {"exit_code": int, "stdout": str, "stderr": str, "timed_out": bool,
              "oom_killed": bool, "truncated": bool, "metrics": dict, "isolation": dict}
    METRICS = {"wall_ms", "setup_ms", "cpu_ms", "peak_memory_bytes", "processes_peak", "network",
               "output_bytes"}

    def check_shape(self, answer):
        self.assertEqual(set(answer) - {"signal", "killed_by", "stdout_base64", "stderr_base64"},
                         set(self.FIELDS) | {"result", "error"})
        for name, kind in self.FIELDS.items():
            self.assertIs(type(answer[name]), kind, name)
        self.assertEqual(set(answer["metrics"]), self.METRICS)
        for name, value in answer["metrics"].items():
            if name == "network":
                self.assertIsNone(value)  # it has none
                continue
            if name == "processes_peak" and value is None:
                continue  # kernels before 6.11 do not count it, and nothing is guessed
            self.assertIn(type(value), (int, float), name)
            self.assertGreaterEqual(value, 0, name)
        self.assertEqual(set(answer["isolation"]), {"engine", "grade", "walls", "missing"})
        self.assertIs(type(answer["isolation"]["walls"]), list)
        self.assertIs(type(answer["isolation"]["missing"]), list)
        for wall in answer["isolation"]["walls"]:
            self.assertRegex(wall, r"^[a-z-]+$")

    def test_has_the_agreed_shape(self):
        ran, answer = run_json(
            "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
        self.check_shape(answer)
        self.assertEqual((ran.returncode, ran.stderr), (3, b""))
        self.assertEqual(ran.stdout.count(b"\n"), 1)
        self.assertEqual((answer["exit_code"], answer["stdout"], answer["stderr"]),
                         (3, "out\n", "err\n"))
        self.assertEqual((answer["result"], answer["error"]), (None, None))
        self.assertEqual((answer["timed_out"], answer["oom_killed"], answer["truncated"]),
                         (False, False, False))
        self.assertEqual(answer["isolation"]["engine"], "jail")
        self.assertIn(answer["isolation"]["grade"], ("jail", "jail-partial"))
        self.assertEqual(answer["metrics"]["output_bytes"], 8)
        self.assertGreater(answer["metrics"]["wall_ms"], 0)
        self.assertGreater(answer["metrics"]["setup_ms"], 0)
        self.assertGreater(answer["metrics"]["peak_memory_bytes"], 1 << 20)

    def test_tells_a_timeout(self):
        ran, answer = run_json("--timeout", "500ms", "-c", "print(1, flush=True)\nwhile True: pass")
        self.check_shape(answer)
        self.assertEqual((ran.returncode, answer["exit_code"]), (124, 124))
        self.assertEqual((answer["timed_out"], answer["oom_killed"]), (True, False))
        self.assertEqual(answer["error"]["code"], "timed_out")
        self.assertEqual(answer["stdout"], "1\n")
        self.assertLess(answer["metrics"]["wall_ms"], 5000)
        self.assertGreater(answer["metrics"]["wall_ms"], 300)

    def test_tells_an_oom_kill(self):
        ran, answer = run_json("--memory", "32M", "--disk", "8M", "--exec", "/bin/dd", "--",
                               *sealed.EAT_MEMORY)
        self.check_shape(answer)
        self.assertEqual((ran.returncode, answer["exit_code"]), (137, 137))
        self.assertEqual((answer["timed_out"], answer["oom_killed"]), (False, True))
        self.assertEqual(answer["error"]["code"], "oom_killed")
        self.assertGreater(answer["metrics"]["peak_memory_bytes"], 24 << 20)

    def test_tells_truncation(self):
        _, answer = run_json("--output-limit", "1K", "-c", "print('x' * 5000)")
        self.check_shape(answer)
        self.assertTrue(answer["truncated"])
        self.assertEqual(answer["stdout"], "x" * 1024)
        self.assertEqual(answer["metrics"]["output_bytes"], 5001)

    def test_keeps_output_that_is_not_text(self):
        _, answer = run_json("-c", "import sys; sys.stdout.buffer.write(b'a\\xff\\x00b')")
        self.check_shape(answer)
        self.assertEqual(base64.b64decode(answer["stdout_base64"]), b"a\xff\x00b")
        self.assertEqual(answer["stdout"], "a\ufffd\x00b")

    def test_has_the_same_fields_when_glovebox_fails(self):
        ran, answer = run_json("--min-grade", "vm", "--exec", "/bin/true")
        self.assertEqual(ran.returncode, 125)
        self.assert_one_line(ran.stderr)
        self.assertEqual(set(answer) - {"signal", "killed_by"}, set(self.FIELDS) | {"result", "error"})
        self.assertEqual(set(answer["error"]), {"code", "message"})
        self.assertIn("below the required 'vm'", answer["error"]["message"])
        self.assertEqual(answer["exit_code"], 125)

    def test_counts_processes(self):
        _, answer = run_json("--lang", "bash", "-c", "for i in 1 2 3 4 5; do sleep 0.3 & done; wait")
        if answer["metrics"]["processes_peak"] is None:
            self.skipTest("this kernel does not count the peak of processes")
        self.assertGreaterEqual(answer["metrics"]["processes_peak"], 6)
        self.assertLess(answer["metrics"]["processes_peak"], 20)


class Units(sealed.TestCase):
    def test_that_people_type_work(self):
        for words in (["--timeout", "10"], ["--timeout", "10s"], ["--timeout", "0.5m"],
                      ["--timeout", "9500ms"], ["--cpu-time", "5s"], ["--memory", "128M"],
                      ["--memory", "0.5G"], ["--memory", "134217728"], ["--memory", "128MiB"],
                      ["--disk", "16m"], ["--output-limit", "1K"], ["--pids", "32"],
                      ["--cpus", "0.5"], ["--cpus", "2"], ["--net", "none"]):
            ran = glovebox("run", *words, "--exec", "/bin/echo", "--", "ok")
            self.assertEqual((ran.returncode, ran.stdout), (0, b"ok\n"), (words, ran.stderr))

    def test_mean_what_they_say(self):
        began = time.monotonic()
        ran = glovebox("run", "--timeout", "700ms", "--exec", "/bin/sleep", "--", "1000")
        took = time.monotonic() - began
        self.assertEqual(ran.returncode, 124)
        self.assertGreater(took, 0.6)
        self.assertLess(took, 8)
        ran = glovebox("run", "--disk", "4M", "--lang", "bash", "-c",
                       "head -c 8M /dev/zero > x 2>/dev/null; stat -c %s x")
        self.assertGreater(int(ran.stdout), 2 << 20)
        self.assertLessEqual(int(ran.stdout), 4 << 20)


class Files(sealed.TestCase):
    def test_are_copied_in_and_out(self):
        place = self.directory()
        tool = os.path.join(place, "tool")
        with open(tool, "w") as file:
            file.write("#!/bin/sh\ntr a-z A-Z < data/in > result\n")
        os.chmod(tool, 0o755)
        with open(os.path.join(place, "in"), "w") as file:
            file.write("hello")
        result = os.path.join(place, "result")
        ran = glovebox("run", "--file", f"{tool}:bin/tool", "--file", f"{place}/in:data/in",
                       "--out", f"result:{result}", "--exec", "/home/user/bin/tool")
        self.assertEqual((ran.returncode, ran.stderr), (0, b""))
        with open(result) as file:
            self.assertEqual(file.read(), "HELLO")
        self.assertEqual(sorted(os.listdir(place)), ["in", "result", "tool"])

    def test_that_do_not_come_out_leave_no_trace(self):
        place = self.directory()
        ran = glovebox("run", "--out", f"missing:{place}/result", "-c", "print('ran')")
        self.assertEqual((ran.returncode, ran.stdout), (125, b"ran\n"))
        self.assert_one_line(ran.stderr)
        self.assertEqual(os.listdir(place), [])

    def test_come_out_of_a_program_that_failed(self):
        place = self.directory()
        ran = glovebox("run", "--out", f"log:{place}/log",
                       "-c", "open('log', 'w').write('why'); raise SystemExit(4)")
        self.assertEqual(ran.returncode, 4, ran.stderr)
        with open(os.path.join(place, "log")) as file:
            self.assertEqual(file.read(), "why")

    def test_working_directory_can_be_chosen(self):
        ran = glovebox("run", "--workdir", "/tmp", "-c", "import os; print(os.getcwd())")
        self.assertEqual(ran.stdout, b"/tmp\n")
        ran = glovebox("run", "--workdir", "/not/there", "-c", "print('ran')")
        self.assertEqual((ran.returncode, ran.stdout), (125, b""))
        self.assert_one_line(ran.stderr)
        self.assertIn(b"/not/there", ran.stderr)


class Attacks(sealed.TestCase):
    """`glovebox attack` works in a directory of /var/tmp, here one of the test's own."""

    def setUp(self):
        super().setUp()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "none", "/var/tmp"], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", "/var/tmp"], check=True)

    def test_leave_nothing_when_the_reader_has_gone(self):
        names = [line.split()[0] for line in glovebox("attack", "--list").stdout.decode().splitlines()]
        for words in (["--list"], ["--only", names[0], "--only", names[1]]):
            with self.subTest(words=words):
                gone, pipe = os.pipe()
                os.close(gone)
                with os.fdopen(pipe, "wb") as closed:
                    subprocess.run([sealed.GLOVEBOX, "attack", *words], stdout=closed, stderr=subprocess.PIPE, timeout=60)
                self.assertEqual(os.listdir("/var/tmp"), [])


if __name__ == "__main__":
    sealed.main()
