"""How Python programs end: exceptions, exits, signals, and what is still done at the end."""
import pathlib
import subprocess
import tempfile
import unittest

from harness import PYTHON, python


class Exceptions(unittest.TestCase):
    def test_reads_like_pythons_own(self):
        for code in ("def f(n):\n    return 1 / n\n\n\nprint('before')\nf(0)\n", "1/0", "x = {'a': 1}\nx['a']['b']['c']", "x = (1,\n  2", "raise ValueError"):
            with self.subTest(code):
                self.assertEqual(python(code).err, self.real(code))

    def real(self, code):
        with tempfile.TemporaryDirectory() as directory:
            with open(directory + "/main.py", "w") as file:
                file.write(code)
            real = subprocess.run([PYTHON[0], "main.py"], cwd=directory, capture_output=True, text=True)
        return real.stderr.replace(directory + "/", "")

    def test_says_what_where_and_how_it_got_there(self):
        answer = python("def f(n):\n    return 1 / n\n\n\nprint('before')\nf(0)\n")
        self.assertEqual((answer.status, answer.out), (1, "before\n"))
        error = answer.error
        self.assertEqual((error["name"], error["message"], error["line"]), ("ZeroDivisionError", "division by zero", 2))
        self.assertEqual(error["traceback"], answer.err.splitlines())

    def test_no_frame_of_ours(self):
        for code in ("1/0", "x = 1\nint('x')", "exec('1/0')", "import json\njson.loads('{')", "def f(): f()\nf()"):
            answer = python(code)
            self.assertEqual(answer.status, 1)
            self.assertNotIn("guest/python", answer.err)
            self.assertIsNotNone(answer.error["line"])

    def test_the_line_is_the_last_of_the_callers_not_the_librarys(self):
        answer = python("import json\n\ndef load():\n    json.loads('{')\n\nload()\n")
        self.assertEqual(answer.error["line"], 4)
        self.assertEqual(answer.error["name"], "json.decoder.JSONDecodeError")

    def test_a_syntax_error_has_its_line_and_nothing_runs(self):
        for code, line in {
            "print('x')\nx = (1,\n": 2,
            "print('x')\ndef f(:\n    pass\nf()": 2,
            "print('x')\nif True:\npass\nx": 3,
            "print('x')\nx = 1 +\n5": 2,
            "print('x')\nreturn 5": 2,
            "print('x')\n'abc\n5": 2,
            "print('x')\n\x00": None,
            "from math import *\nprint('x')\nfrom __future__ import annotations\n1": 3,
        }.items():
            with self.subTest(code):
                answer = python(code)
                self.assertEqual((answer.status, answer.out), (1, ""))
                self.assertIn(answer.error["name"], ("SyntaxError", "IndentationError"))
                self.assertEqual(answer.error["line"], line)
                self.assertNotIn("Traceback", answer.err)

    def test_code_that_is_no_text(self):
        answer = python(b"x = '\xff'\nx")
        self.assertEqual((answer.status, answer.error["name"]), (1, "SyntaxError"))
        self.assertEqual(python(b"# -*- coding: latin-1 -*-\nx = '\xff'\nx").result["text/plain"], "'ÿ'")

    def test_causes_and_groups_are_told(self):
        answer = python("try:\n    {}['k']\nexcept KeyError as e:\n    raise ValueError('outer') from e")
        self.assertIn("direct cause", answer.err)
        self.assertIn("KeyError: 'k'", "\n".join(answer.error["traceback"]))
        self.assertEqual(answer.error["line"], 4)

    def test_own_exception_classes_and_messages_that_fail(self):
        answer = python("class Oops(Exception):\n    def __str__(self): raise RuntimeError\nraise Oops()")
        self.assertEqual((answer.error["name"], answer.status), ("Oops", 1))
        answer = python("raise ValueError('a\\ud800b')")
        self.assertEqual(answer.error["message"], "a\ufffdb")

    def test_a_recursion_and_a_lowered_limit_are_reported(self):
        self.assertEqual(python("def f(): f()\nf()").error["name"], "RecursionError")
        self.assertEqual(python("import sys\nsys.setrecursionlimit(40)\ndef f(): f()\nf()").error["name"], "RecursionError")

    def test_no_memory_is_reported(self):
        answer = python("import resource\nresource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))\nkeep = []\nwhile True: keep.append(bytearray(1 << 20))")
        self.assertEqual((answer.error["name"], answer.error["line"], answer.status), ("MemoryError", 4, 1))

    def test_huge_messages_are_bounded(self):
        answer = python("raise ValueError('x' * 10_000_000)")
        self.assertLess(len(answer.raw_lines[0]), 1 << 20)

    def test_the_programs_own_hook_is_asked(self):
        answer = python("import sys\nsys.excepthook = lambda t, v, tb: print('hook', t.__name__)\n1/0")
        self.assertEqual((answer.out, answer.err, answer.status), ("hook ZeroDivisionError\n", "", 1))
        self.assertEqual(answer.error["name"], "ZeroDivisionError")

    def test_an_interrupt_ends_with_the_signal(self):
        answer = python("raise KeyboardInterrupt")
        self.assertEqual((answer.status, answer.error["name"]), (-2, "KeyboardInterrupt"))


class Exits(unittest.TestCase):
    def test_status_as_python_has_it(self):
        for code, status, err in (
            ("import sys; sys.exit()", 0, ""), ("import sys; sys.exit(3)", 3, ""), ("raise SystemExit('bye')", 1, "bye\n"),
            ("exit(256 + 7)", 7, ""), ("import sys; sys.exit(-1)", 255, ""), ("import sys; sys.exit(True)", 1, ""),
            ("import sys; sys.exit([1])", 1, "[1]\n"), ("import sys; sys.exit(10**30)", 255, ""), ("import os; os._exit(9)", 9, ""), ("quit()", 0, ""),
        ):
            with self.subTest(code):
                answer = python(code)
                self.assertEqual((answer.status, answer.err), (status, err))
                self.assertIsNone(answer.error)

    def test_the_last_line_is_the_status_unless_it_died(self):
        self.assertEqual(python("import sys; sys.exit(3)").lines, [{"type": "exit", "code": 3}])
        self.assertEqual(python("import os; os._exit(3)").lines, [])
        self.assertEqual(python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)").status, -9)

    def test_exit_functions_and_threads_and_finalizers_have_their_turn(self):
        answer = python(
            "import atexit, threading, sys\n"
            "atexit.register(print, 'atexit')\n"
            "class A:\n    def __del__(self): print('del')\n"
            "a = A()\n"
            "go = threading.Event()\n"
            "threading.Thread(target=lambda: (go.wait(), print('thread'))).start()\n"
            "print('main')\n"
            "go.set()\n"
            "sys.exit(4)")
        self.assertEqual((answer.out, answer.status), ("main\nthread\natexit\ndel\n", 4))

    def test_an_exit_function_that_raises_is_told_of(self):
        answer = python("import atexit\natexit.register(lambda: 1/0)\nprint('x')")
        self.assertEqual((answer.out, answer.status), ("x\n", 0))
        self.assertIn("ZeroDivisionError", answer.err)

    def test_daemon_threads_do_not_hold_it_or_complain(self):
        answer = python("import threading, time\ndef spin():\n    while True: time.sleep(0.0001)\nfor _ in range(4): threading.Thread(target=spin, daemon=True).start()\nprint('end')")
        self.assertEqual((answer.out, answer.err, answer.status), ("end\n", "", 0))

    def test_files_left_open_are_written(self):
        with tempfile.TemporaryDirectory() as directory:
            python("f = open('a', 'w'); f.write('1')\nclass B:\n    def __init__(self): self.me = self; self.f = open('b', 'w'); self.f.write('2')\n"
                   "b = B()\nimport json\njson.kept = open('c', 'wb'); json.kept.write(b'3');", workdir=directory)
            self.assertEqual([pathlib.Path(directory, name).read_text() for name in "abc"], ["1", "2", "3"])

    def test_an_error_in_a_thread_is_the_threads(self):
        answer = python("import threading\nt = threading.Thread(target=lambda: 1/0); t.start(); t.join()\n'fine'")
        self.assertEqual((answer.status, answer.error, answer.result["text/plain"]), (0, None, "'fine'"))
        self.assertIn("ZeroDivisionError", answer.err)

    def test_a_closed_stdout_is_no_error_of_ours(self):
        answer = python("import sys, time\nsys.stdin.read()\ntry:\n    print('x' * 100)\n    sys.stdout.flush()\nexcept BrokenPipeError:\n    sys.exit(5)", close_out=True)
        self.assertEqual(answer.status, 5)
        self.assertEqual(python("import os\nos.close(1)\n5").result["text/plain"], "5")
        self.assertEqual(python("import sys\nsys.stdout.close()").status, 0)
        self.assertEqual(python("import sys\nsys.stdout = None\n1").status, 0)

    def test_processes_it_forked_say_nothing_in_its_name(self):
        answer = python("import os, sys\npid = os.fork()\nif pid == 0:\n    sys.exit(7)\nstatus = os.waitpid(pid, 0)[1]\nos.waitstatus_to_exitcode(status)")
        self.assertEqual([line["type"] for line in answer.lines], ["result", "exit"])
        self.assertEqual(answer.result["text/plain"], "7")
        answer = python("import os\npid = os.fork()\nif pid == 0:\n    1/0\nos.waitpid(pid, 0)\n1")
        self.assertEqual((answer.error, answer.status), (None, 0))
        self.assertIn("ZeroDivisionError", answer.err)


if __name__ == "__main__":
    unittest.main()
