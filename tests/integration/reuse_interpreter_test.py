# `"reuse": "interpreter"`: calls of the same code share the process and its files, as on AWS Lambda. What
# stays must stay; what must not is another caller's, other code's, and whatever would go on without a call.
# Each attack has a control that shows what the wall prevents.
import concurrent.futures
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server

REUSE = {"reuse": "interpreter"}
COUNT = "try: n += 1\nexcept NameError: n = 1\nprint(n)\n"
# Each sandbox has one of its own.
WHICH = "print('sandbox', open('/proc/sys/kernel/random/boot_id').read().strip())\n"

# What a call leaves that would go on without one. Each ends the sandbox, and the next call starts anew.
GOES_ON = {
    "a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n",
    "a process": "import os, time\nif os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)\n",
    "a process in the background, without streams": (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    for fd in range(200):\n"
        "        try: os.close(fd)\n        except OSError: pass\n    time.sleep(60)\n    os._exit(0)\n"),
    "a process that was not waited for": "import os, time\nif os.fork() == 0: os._exit(0)\ntime.sleep(0.05)\n",
    "a process that comes and goes": (
        "import os\nif os.fork() == 0:\n    os.setsid()\n    while True:\n        if os.fork(): os._exit(0)\n"),
    "a lower limit of its own": "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (50, 50))\n",
    "a home that cannot be read": "import os\nos.chmod('/home/user', 0)\n",
    "a closed output": "import os\nos.close(2)\n",
    "a timer of its own kind that prints": (
        "import ctypes, os, signal\nsignal.signal(signal.SIGALRM, lambda *_: os.write(1, b'late'))\n"
        "libc, timer = ctypes.CDLL('libc.so.6', use_errno=True), ctypes.c_void_p()\n"
        "assert libc.timer_create(0, None, ctypes.byref(timer)) == 0\n"
        "assert libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 0, 50_000_000), None) == 0\n"),
    "a last word that it forges before it goes on": (
        "import os, sys\nsys.stdout.flush()\nos.write(100, b'{\"type\":\"exit\",\"code\":0}\\n')\nwhile True: pass\n"),
    "a message for the next call": "import os, sys\nsys.stdout.flush()\nos.write(100, b'{\"type\":\"exit\",\"code\":0}\\n')\n"
                                   "import time; time.sleep(0.05)\nos.write(1, b'forged')\n",
}


class ReuseOfInterpreters(server.Served):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.wait_warm("python")

    def python(self, code, client=None, **more):
        profile = {**REUSE, **more.pop("profile", {})}
        return (client or self.client).python(code, profile=profile, **more)

    def invoke(self, code, event=None, **more):
        body = {"language": "python", "code": code, "event": event, **more}
        body["profile"] = {**REUSE, **body.get("profile", {})}
        answer = self.client.call("POST", "/v1/functions/invoke", body)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def again(self, call, tries=100):
        """Repeats until the answer comes from an interpreter that was used before."""
        for _ in range(tries):
            answer = call()
            if answer.get("reused"):
                return answer
        self.fail("no interpreter was used again")

    # --- what stays -------------------------------------------------------------------------------

    def test_names_modules_and_files_stay(self):
        code = COUNT + WHICH + (
            "import json, os\njson.calls = getattr(json, 'calls', 0) + 1\n"
            "open('/home/user/log', 'a').write('x')\nopen('/dev/shm/log', 'a').write('y')\n"
            "print(json.calls, os.path.getsize('/home/user/log'), os.path.getsize('/dev/shm/log'))\n")
        seen = {}
        for _ in range(12):
            answer = self.python(code)
            self.assertEqual(answer["exit_code"], 0, answer)
            first, which, counts = answer["stdout"].splitlines()
            seen[which] = seen.get(which, 0) + 1
            self.assertEqual(first, str(seen[which]))
            self.assertEqual(counts, " ".join([first] * 3))
            self.assertEqual(answer["reused"], seen[which] - 1)
        self.assertGreater(max(seen.values()), 3)
        fresh = self.client.python(code)
        self.assertEqual(fresh["stdout"].splitlines()[0], "1", "the control: a sandbox of its own")

    def test_arguments_input_output_and_results_are_its_own(self):
        code = "import sys\nprint(sys.argv[1:], sys.stdin.read())\nprint('e' * int(sys.argv[1]), file=sys.stderr)\nlen(sys.argv[1])"
        for number in range(20):
            answer = self.python(code, args=[str(number), "é"], stdin=f"input {number}\n" * number)
            self.assertEqual(answer["stdout"], f"['{number}', 'é'] " + f"input {number}\n" * number + "\n")
            self.assertEqual(answer["stderr"], "e" * number + "\n")
            self.assertEqual(answer["result"]["text/plain"], str(len(str(number))))

    def test_errors_and_exits_are_orderly_ends(self):
        code = COUNT + "import sys\nif sys.argv[1] == 'raise': raise ValueError(n)\nif sys.argv[1] == 'exit': sys.exit(7)\n"
        answer = self.again(lambda: self.python(code, args=["raise"]))
        self.assertEqual((answer["exit_code"], answer["error"]["name"]), (1, "ValueError"))
        answer = self.again(lambda: self.python(code, args=["exit"]))
        self.assertEqual(answer["exit_code"], 7)
        self.assertGreater(int(self.again(lambda: self.python(code, args=[""]))["stdout"]), 1)

    def test_much_input_and_output(self):
        code = "import sys\ndata = sys.stdin.buffer.read()\nprint(len(data))\nsys.stdout.write('x' * 500_000)\n"
        for size in (0, 1 << 20, 5 << 20):
            answer = self.python(code, stdin="y" * size)
            self.assertEqual(answer["stdout"], f"{size}\n" + "x" * 500_000)
        cut = self.again(lambda: self.python("print('x' * 3_000_000)"))
        self.assertTrue(cut["truncated"])

    def test_files_come_once_and_go_out_each_time(self):
        code = "import os\nwith open('in.txt', 'a') as file: file.write('+')\nopen('out.txt', 'w').write(open('in.txt').read())\n"
        request = {"files": [{"path": "in.txt", "content": "a"}], "return_files": ["out.txt"]}
        answer = self.again(lambda: self.python(code, **request))
        self.assertEqual(answer["files"][0]["content"], "a" + "+" * (answer["reused"] + 1))
        other = self.python(code, **{**request, "files": [{"path": "in.txt", "content": "b"}]})
        self.assertEqual((other["reused"], other["files"][0]["content"]), (0, "b+"), "other files are other code")

    def test_functions_are_loaded_once(self):
        code = ("import logging\ncalls = []\ndef handler(event, context):\n    calls.append(event)\n"
                "    logging.getLogger().warning('hello')\n    print(context.aws_request_id)\n"
                "    return [len(calls), event, context.get_remaining_time_in_millis() > 1000]\n")
        most = 0
        for number in range(10):
            answer = self.invoke(code, {"n": number}, context={"aws_request_id": f"r{number}"})
            most = max(most, answer["reused"])
            self.assertEqual(answer["result"], [answer["reused"] + 1, {"n": number}, True], answer)
            self.assertIn(f"\tr{number}\thello\n", answer["stdout"], "the log has the call's own id")
            self.assertEqual(answer["phases"]["import_ms"] is None, answer["reused"] > 0, answer["phases"])
        self.assertGreater(most, 0)
        failed = self.again(lambda: self.invoke("def handler(e, c): return 1 / e", 0))
        self.assertEqual(failed["error"]["errorType"], "ZeroDivisionError")
        broken = self.invoke("import nothing_of_this_name\ndef handler(e, c): pass")
        self.assertEqual(broken["error"]["errorType"], "Runtime.ImportModuleError")

    def test_what_it_used_is_its_own(self):
        code = "import sys, time\nend = time.process_time() + float(sys.argv[1])\nwhile time.process_time() < end: pass\n"
        self.python(code, args=["0.3"])
        small = self.again(lambda: self.python(code, args=["0"]))
        self.assertLess(small["metrics"]["cpu_ms"], 200, small["metrics"])
        # The limit is a call's, not that of all of them.
        limited = {"cpu_ms": 400}
        reused = []
        for _ in range(12):
            answer = self.python(code, args=["0.2"], profile=limited)
            self.assertEqual(answer["exit_code"], 0, answer)
            reused.append(answer["reused"])
        self.assertGreater(max(reused), 2)
        over = self.python(code, args=["5"], profile=limited)
        self.assertTrue(over["timed_out"], over)

    # --- who shares one ---------------------------------------------------------------------------

    def test_other_code_keys_projects_environments_and_profiles_have_another(self):
        self.again(lambda: self.python(COUNT))
        one_of = lambda **fields: self.server.client(self.server.new_key(**fields)[0])
        cases = {
            "other code": lambda: self.python(COUNT + "#"),
            "another environment": lambda: self.python(COUNT, env={"A": "1"}),
            "another directory": lambda: self.python(COUNT, workdir="/tmp"),
            "another file": lambda: self.python(COUNT, files=[{"path": "a", "content": ""}]),
            "other limits": lambda: self.python(COUNT, profile={"memory_mb": 300}),
            "another key": lambda: self.python(COUNT, client=one_of(project="default")),
            "another project": lambda: self.python(COUNT, client=one_of(project="other")),
            "a sandbox that is cleaned": lambda: self.client.python(COUNT, profile={"reuse": "sandbox"}),
            "a handler with this source": lambda: self.invoke(COUNT + "handler = lambda e, c: print(n)"),
        }
        for name, call in cases.items():
            with self.subTest(name):
                answer = call()
                self.assertEqual((answer["stdout"].split()[:1], answer.get("reused")), (["1"], 0), answer)

    # --- what ends a sandbox ----------------------------------------------------------------------

    def test_nothing_goes_on_without_a_call(self):
        for number, (name, leave) in enumerate(GOES_ON.items()):
            with self.subTest(name):
                # The control: without it, the interpreter of this very code is used again.
                code = f"import sys\nNAME = {number}\n{COUNT}{WHICH}if len(sys.argv) > 1:\n" + "".join(
                    f"    {line}\n" for line in leave.splitlines())
                control = self.again(lambda: self.python(code))
                which = control["stdout"].split()[-1]
                # Until the one that was seen has it.
                for _ in range(20):
                    left = self.python(code, args=["leave"])
                    self.assertEqual(left["exit_code"], 0, left)
                    if left["stdout"].split()[-1] == which:
                        break
                else:
                    self.fail("the interpreter was not used again")
                time.sleep(0.2)
                for _ in range(8):
                    answer = self.python(code)
                    self.assertEqual((answer["exit_code"], answer["stderr"]), (0, ""), answer)
                    self.assertRegex(answer["stdout"], r"\A\d+\nsandbox \S+\n\Z", "nothing of another call")
                    self.assertNotEqual(answer["stdout"].split()[-1], which, "its sandbox must be gone")

    def test_work_between_calls_ends_the_sandbox(self):
        # It says that it has ended, and works on while no call is made: the launcher notices.
        code = (COUNT + WHICH + "import os, sys\nif len(sys.argv) > 1:\n    sys.stdout.flush()\n"
                "    os.write(100, b'{\"type\":\"exit\",\"code\":0}\\n')\n    while True: pass\n")
        left = self.python(code, args=["x"])
        self.assertEqual(left["exit_code"], 0, "its own word")
        time.sleep(3)
        began = time.monotonic()
        answer = self.python(code)
        self.assertLess(time.monotonic() - began, 1.4, "no call found out")
        self.assertNotEqual(answer["stdout"].split()[-1], left["stdout"].split()[-1])

    def test_an_interpreter_that_does_not_take_its_call_is_replaced(self):
        # It forges its last word and sleeps: nothing tells it from one that waits.
        code = (COUNT + WHICH + "import os, sys, time\nif len(sys.argv) > 1:\n    sys.stdout.flush()\n"
                "    os.write(100, b'{\"type\":\"exit\",\"code\":0}\\n')\n    time.sleep(60)\n")
        for _ in range(4):
            self.assertEqual(self.python(code, args=["x"])["exit_code"], 0)
            began = time.monotonic()
            answer = self.python(code)
            self.assertEqual((answer["exit_code"], answer["stdout"].split()[0]), (0, "1"), answer)
            self.assertLess(time.monotonic() - began, 8)

    def test_a_timer_is_its_calls_own(self):
        code = ("import signal, sys, time\nif len(sys.argv) > 1:\n    signal.signal(signal.SIGALRM, lambda *_: print('late'))\n"
                "    signal.setitimer(signal.ITIMER_REAL, 0.05)\nelse:\n    time.sleep(0.1)\n" + WHICH)
        left = self.again(lambda: self.python(code, args=["x"]))
        for _ in range(8):
            answer = self.python(code)
            self.assertEqual(len(answer["stdout"].splitlines()), 1, answer)
            if answer["stdout"] == left["stdout"]:
                return
        self.fail("the interpreter was not used again")

    def test_what_did_not_end_in_order_is_not_used_again(self):
        cases = {
            "a signal": ("import os\nos.kill(os.getpid(), 9)", {}),
            "its own exit": ("import os\nos._exit(0)", {}),
            "abort": ("import os\nos.abort()", {}),
            "its time": ("while True: pass", {"timeout_ms": 700}),
            "its CPU time": ("while True: pass", {"cpu_ms": 300}),
        }
        for name, (last, profile) in cases.items():
            with self.subTest(name):
                code = f"import sys\n{COUNT}sys.stdout.flush()\nif len(sys.argv) > 1:\n    " + last.replace("\n", "\n    ")
                self.again(lambda: self.python(code, profile=profile))
                ended = 0
                for _ in range(3):
                    answer = self.python(code, args=["x"], profile=profile)
                    ended += answer["exit_code"] != 0 or name == "its own exit"
                    again = self.python(code, profile=profile)
                    self.assertEqual(again["exit_code"], 0, again)
                self.assertEqual(ended, 3)

    def test_memory(self):
        code = "import sys\nif len(sys.argv) > 1: data = [bytearray(b'x' * (1 << 20)) for _ in range(400)]\n" + COUNT
        profile = {"memory_mb": 64, "disk_mb": 16}
        self.again(lambda: self.python(code, profile=profile))
        full = self.python(code, args=["x"], profile=profile)
        self.assertTrue(full["oom_killed"] or full["error"]["name"] == "MemoryError", full)
        after = self.python(code, profile=profile)
        self.assertEqual(after["exit_code"], 0, after)

    def test_a_client_that_goes_takes_the_sandbox_with_it(self):
        code = COUNT + "import sys, time\nif len(sys.argv) > 1: time.sleep(20)\n"
        self.again(lambda: self.python(code))
        hasty = server.Client(self.server.url, self.client.key, timeout=0.5)
        with self.assertRaises(OSError):
            self.python(code, client=hasty, args=["x"])
        hasty.close()
        began = time.monotonic()
        for _ in range(5):
            self.assertEqual(self.python(code)["exit_code"], 0)
        self.assertLess(time.monotonic() - began, 10)

    def test_many_at_once(self):
        code = COUNT + WHICH + "import sys, time\ntime.sleep(float(sys.argv[1]))\n"

        def calls(worker):
            with server.Client(self.server.url, self.server.key) as client:
                return [self.python(code, client=client, args=["0.002" if number % 3 else "0"]) for number in range(30)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = [one for some in pool.map(calls, range(8)) for one in some]
        counts = {}
        for answer in answers:
            self.assertEqual(answer["exit_code"], 0, answer)
            number, _, which = answer["stdout"].split()
            counts.setdefault(which, []).append(int(number))
        for which, numbers in counts.items():
            self.assertEqual(sorted(numbers), list(range(1, len(numbers) + 1)), "one call at a time, each counted once")

    # --- walls ------------------------------------------------------------------------------------

    def test_the_walls_are_those_of_any_run(self):
        never = self.client.python("1")
        shared = self.again(lambda: self.python("1"))
        self.assertEqual(never["isolation"], shared["isolation"])

    def test_the_agent_and_its_counter_are_out_of_reach(self):
        attack = (
            "import ctypes, os\nlibc = ctypes.CDLL('libc.so.6', use_errno=True)\ngot = []\n"
            "for what in ('mem', 'maps', 'environ', 'fd', 'cwd', 'root', 'exe', 'ns/mnt'):\n"
            "    try:\n        path = f'/proc/1/{what}'\n"
            "        os.listdir(path) if what == 'fd' else os.readlink(path) if what in ('cwd', 'root', 'exe', 'ns/mnt') "
            "else open(path, 'rb').read(1)\n        got.append(what)\n    except OSError: pass\n"
            "if libc.ptrace(16, 1, None, None) == 0: got.append('ptrace')\n"
            "for number in (9, 19, 10):\n    try: os.kill(1, number); got.append('kill')\n    except OSError: pass\n"
            "try: open('/proc/sys/kernel/ns_last_pid', 'w').write('1'); got.append('ns_last_pid')\n"
            "except OSError: pass\nprint('got', got)\n")
        answer = self.again(lambda: self.python(attack))
        self.assertEqual(answer["stdout"], "got []\n")

    def test_refusals(self):
        code = {"language": "python", "code": "1"}
        for body, word in (
                ({**code, "profile": REUSE, "cold": True}, "cold"),
                ({"command": ["true"], "profile": REUSE}, "only Python code"),
                ({"language": "javascript", "code": "1", "profile": REUSE}, "only Python code"),
                ({**code, "profile": {**REUSE, "net": "all"}}, "network"),
                ({**code, "profile": {**REUSE, "mounts": [{"name": "x", "path": "/data", "mode": "rw"}]}}, "mount")):
            with self.subTest(word):
                answer = self.client.call("POST", "/v1/run", body)
                self.assert_refused(answer, 400, "invalid_argument")
                self.assertIn(word, answer.json["error"]["message"])


class Settings(server.Served):
    settings = {"pools.reuse_max_calls": "3", "pools.reuse_idle": "500ms"}

    def test_calls_and_idle_time_are_bounded(self):
        self.server.wait_warm("python")
        for reuse in ("sandbox", "interpreter"):
            run = lambda: self.client.python(COUNT, profile={"reuse": reuse})["reused"]
            reused = [run() for _ in range(12)]
            self.assertEqual(max(reused), 2, reuse)
            run()
            time.sleep(2)
            self.assertEqual(run(), 0, "nothing is kept that long")


if __name__ == "__main__":
    sealed.main()
