"""Python contexts, cold and from a zygote: what lasts between cells, errors, stdin, interrupts, ends."""
import os
import pathlib
import signal
import socket
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import harness
import processes
from context_harness import Context, encode_cell
from zygote_test import Zygote


class ColdContexts(unittest.TestCase):
    def open(self, **options):
        context = Context("python", **options)
        self.addCleanup(context.close)
        return context

    def setUp(self):
        self.context = self.open()

    def result(self, code, **cell):
        outcome = self.context.run(code, **cell)
        self.assertEqual((outcome.status, outcome.err), (0, ""))
        return outcome.result["text/plain"]

    def test_state_lasts(self):
        for code in ("x = 20", "import math as m", "def f(y):\n    return x + y", "file = open('/dev/zero', 'rb')"):
            outcome = self.context.run(code)
            self.assertEqual((outcome.status, outcome.err, outcome.result), (0, "", None))
        self.assertEqual(self.result("f(m.floor(1.5))"), "21")
        self.assertEqual(self.result("len(file.read(5)), __name__, sorted(n for n in globals() if n[0] != '_')"), "(5, '__main__', ['f', 'file', 'm', 'x'])")
        self.context.run("import os; os.chdir('/usr'); os.environ['A'] = 'b'")
        self.assertEqual(self.result("os.getcwd() + os.environ['A']"), "'/usrb'")

    def test_threads_go_on_between_cells(self):
        self.context.run("import threading\ngate, done = threading.Event(), threading.Event()\nthreading.Thread(target=lambda: (gate.wait(), done.set()), daemon=True).start()")
        self.assertEqual(self.result("gate.set(); done.wait(30)"), "True")

    def test_output_comes_before_the_end_and_values_are_rich(self):
        outcome = self.context.run("import sys\nsys.stdout.write('no newline')\nprint('err', file=sys.stderr)\n{'a': [1]}")
        self.assertEqual((outcome.out, outcome.err, outcome.result["application/json"]), ("no newline", "err\n", {"a": [1]}))
        self.assertEqual(outcome.lines[-1], {"type": "end", "cell": 1, "exit_code": 0})

    def test_tracebacks_name_cells_and_show_their_lines(self):
        self.context.run("def f():\n    # a comment\n    return 1 / 0")
        outcome = self.context.run("x = 1\nf()")
        self.assertEqual(outcome.status, 1)
        self.assertEqual((outcome.error["name"], outcome.error["message"], outcome.error["line"]), ("ZeroDivisionError", "division by zero", 2))
        self.assertTrue(outcome.err.startswith('Traceback (most recent call last):\n  File "<cell 2>", line 2, in <module>\n    f()\n  File "<cell 1>", line 3, in f\n    return 1 / 0\n'), outcome.err)
        self.assertEqual("\n".join(outcome.error["traceback"]) + "\n", outcome.err)
        self.context.run("def g(): raise ValueError('é')", name="notebook.py")
        outcome = self.context.run("try: g()\nexcept ValueError: import traceback; traceback.print_exc()")
        self.assertIn('File "notebook.py", line 1, in g\n    def g(): raise', outcome.err)
        self.assertEqual(self.result("import inspect; inspect.getsource(f)"), repr("def f():\n    # a comment\n    return 1 / 0\n"))

    def test_an_error_keeps_the_state(self):
        self.assertEqual(self.context.run("a = 1\nb = = 2").error["name"], "SyntaxError")
        self.assertEqual(self.context.run("a").error["name"], "NameError")
        self.assertEqual(self.context.run("a = 1\nraise KeyError('k')").status, 1)
        self.assertEqual(self.result("a"), "1")

    def test_sources_of_old_cells_are_forgotten(self):
        self.context.run("def f():\n    1 / 0")
        for _ in range(200):
            self.context.run("1")
        outcome = self.context.run("f()")
        self.assertIn('File "<cell 1>", line 2, in f\nZeroDivisionError', outcome.err)
        self.assertEqual(self.result("import linecache; sum(n.startswith('<cell') for n in linecache.cache)"), "200")
        for _ in range(5):
            self.context.run("#" + "x" * 3_000_000)
        self.assertLess(int(self.result("sum(len(''.join(e[2])) for e in linecache.cache.values())")), 9_000_000)

    def test_exit_ends_the_cell_alone(self):
        for code, status, message in (("import sys; sys.exit(3)", 3, "3"), ("exit()", 0, "None"), ("raise SystemExit('why')", 1, "why"), ("quit(300)", 44, "300")):
            outcome = self.context.run("n = 1\n" + code)
            self.assertEqual((outcome.status, outcome.error["name"], outcome.error["message"], outcome.error["line"]), (status, "SystemExit", message, 2), code)
        self.assertEqual(self.result("n"), "1")
        self.assertEqual(self.result("input()", stdin="after exit() closed it"), "'after exit() closed it'")

    def test_a_crash_ends_the_context(self):
        outcome = self.context.run("import os; os._exit(9)")
        self.assertEqual((outcome.lines, self.context.process.wait(harness.DEADLINE)), ([], 9))

    def test_input_is_an_error_or_what_was_given(self):
        for code in ("input()", "import sys; sys.stdin.read()", "import sys\nfor line in sys.stdin: pass", "import sys; sys.stdin.buffer.read()"):
            outcome = self.context.run(code)
            self.assertEqual((outcome.error["name"], outcome.error["message"]), ("EOFError", "input() needs stdin: give it with the request"), code)
            self.assertNotIn("cells.py", outcome.err)
        self.assertEqual(self.result("input('? ') + input()", stdin="é\nb\n"), "'éb'")
        self.assertEqual(self.result("import sys; sys.stdin.buffer.read()", stdin=b"\xff\0"), "b'\\xff\\x00'")
        self.assertEqual(self.context.run("input()", stdin="").error["message"], "EOF when reading a line")
        self.assertEqual(self.context.run("import subprocess; subprocess.run('cat')", stdin="to a child").out, "to a child")
        self.assertEqual(self.result("subprocess.run('cat', capture_output=True).stdout"), "b''")

    def test_await(self):
        self.context.run("import asyncio\nasync def f(x):\n    await asyncio.sleep(0.001)\n    return x")
        self.assertEqual(self.result("await f(5)"), "5")
        self.context.run("y = await f(6)\nlater = asyncio.create_task(f(7))")
        self.assertEqual(self.result("y, await later"), "(6, 7)")
        self.assertEqual(self.result("asyncio.run(f(8))"), "8")
        self.assertEqual(self.result("[x async for x in (await f(i) for i in [1])]"), "[1]")
        outcome = self.context.run("await f(1)\nraise ValueError('x')")
        self.assertEqual((outcome.error["line"], outcome.err.count("File")), (2, 1), outcome.err)

    def test_futures_last(self):
        self.context.run("from __future__ import annotations")
        self.assertEqual(self.result("def f(x: nowhere): pass\nf.__annotations__"), "{'x': 'nowhere'}")

    def test_interrupt_keeps_the_state(self):
        self.context.run("x = 1; import time, threading, asyncio, subprocess, sys")
        for code in ("time.sleep(1000)", "while True: pass", "threading.Event().wait()", "await asyncio.sleep(1000)", "async def f():\n    while True: pass\nawait f()",
                     "l = threading.Lock(); l.acquire(); l.acquire()", "subprocess.run(['/bin/sleep', '1000'])",
                     "class A:\n    def __repr__(self):\n        time.sleep(1000)\ntime.sleep(1000)"):
            outcome = self.context.interrupted("x += 1\nprint('go')\n" + code)
            self.assertEqual((outcome.status, outcome.error["name"]), (130, "KeyboardInterrupt"), code)
            # It may also come before the last line has begun, while its event loop is made.
            self.assertTrue('File "<cell ' in outcome.err or outcome.err == "KeyboardInterrupt\n", outcome.err)
            self.assertNotIn("cells.py", outcome.err)
        self.assertEqual(self.result("x"), "9")

    def test_what_was_awaited_is_over_when_interrupted(self):
        self.context.run("import asyncio\nlog = []")
        self.context.interrupted("import threading\nthreading.Timer(0.05, print, ['go']).start()\ntry:\n    await asyncio.sleep(1000)\nfinally:\n    log.append('cleaned')\nlog.append('no')")
        self.assertEqual(self.result("await asyncio.sleep(0.01); log"), "['cleaned']")

    def test_an_interrupt_between_cells_is_nobodys(self):
        for _ in range(20):
            self.context.interrupt()
            self.assertEqual(self.result("1"), "1")
        self.context.run("import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)")
        self.context.interrupt()
        self.assertEqual(self.result("2"), "2")

    def test_descriptors_are_the_codes_own(self):
        self.assertEqual(self.result("f = open('/dev/null'); g = open('/dev/null'); f.fileno(), g.fileno()"), "(3, 4)")
        self.assertEqual(self.result("import subprocess; subprocess.run('ls /proc/self/fd', shell=True, close_fds=False, capture_output=True).stdout.split()"), "[b'0', b'1', b'2', b'3']")
        self.assertEqual(self.result("import os; os.closerange(3, 90); os.path.exists('/proc/self/fd/3')"), "False")

    def test_a_fork_does_not_serve_cells(self):
        outcome = self.context.run("import os\npid = os.fork()\nif pid == 0: print('child')\nelse: print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))")
        self.assertEqual((sorted(outcome.out.split()), outcome.status), (["0", "child"], 0))
        self.assertEqual(len(outcome.lines), 1)
        self.assertEqual(self.result("1"), "1")
        outcome = self.context.run("import multiprocessing\nwith multiprocessing.get_context('fork').Pool(2) as p: r = p.map(abs, [-1, -2])\nr")
        self.assertEqual(outcome.result["text/plain"], "[1, 2]")

    def test_figures_are_shown_once_and_closed(self):
        context = self.open(env=["PATH=/usr/bin:/bin", "MPLCONFIGDIR=" + harness.mpl_directory()])
        if context.run("import matplotlib.pyplot as plt").status != 0:
            self.skipTest("no matplotlib")
        outcome = context.run("plt.plot([1, 2]); plt.figure(); None")
        self.assertEqual([sorted(line["mime"]) for line in outcome.results], [["image/png", "text/plain"]] * 2)
        self.assertEqual(context.run("plt.get_fignums()").result["text/plain"], "[]")
        self.assertEqual(len(context.run("fig, ax = plt.subplots(); fig").results), 1)
        self.assertIn("image/png", context.run("fig").result)
        self.assertEqual(len(context.run("plt.plot([1]); plt.show()").results), 1)
        self.assertEqual(context.run("1/0").results, [])
        self.assertEqual(context.run("import sys; len(sys.modules['_glovebox_display']._sent)").result["text/plain"], "0")

    def test_several_cells_may_wait(self):
        self.context.write(b"".join(encode_cell(n, "print(%d)" % n) for n in range(1, 6)))
        self.context.number = 5
        outcome = self.context.finish()
        self.assertEqual((outcome.out, [line["cell"] for line in outcome.lines]), ("1\n2\n3\n4\n5\n", [1, 2, 3, 4, 5]))

    def test_odd_cells(self):
        self.assertEqual(self.context.run("").status, 0)
        self.assertEqual(self.context.run("\ufeffx = 1\r\nx").result["text/plain"], "1")
        self.assertEqual(self.context.run(b"'\xff'").error["name"], "SyntaxError")
        self.assertEqual(self.context.run("a = 'b\0c'").error["name"], "SyntaxError")
        self.assertEqual(self.context.run("#" + "y" * 10_000_000 + "\n7").result["text/plain"], "7")
        self.assertEqual(self.context.run("def f(): f()\nf()").error["name"], "RecursionError")
        self.context.write(b"\x02\0\0\0ab")  # not a cell: an error, and the next is served
        self.assertEqual(self.context.run("8").result["text/plain"], "8")

    def test_it_ends_with_its_cells(self):
        with tempfile.TemporaryDirectory() as directory:
            self.context.run("import atexit; f = open(%r, 'w'); f.write('kept'); atexit.register(print, 'bye')" % (directory + "/f"))
            os.close(self.context.pipes[4][1])
            outcome = self.context.finish()
            self.assertEqual((outcome.out, self.context.process.wait(harness.DEADLINE)), ("bye\n", 0))
            self.assertEqual(pathlib.Path(directory, "f").read_text(), "kept")

    def test_environment(self):
        context = self.open(env=["PATH=/usr/bin:/bin", "A=ü=1"], workdir="/usr", args=["x"])
        self.assertEqual(context.run("import os, sys; os.environ['A'], os.getcwd(), sys.argv, sys.path[0]").result["text/plain"], "('ü=1', '/usr', ['', 'x'], '')")

    def test_a_directory_that_is_not_there(self):
        context = self.open(ready=False, workdir="/nowhere")
        outcome = context.finish()
        self.assertEqual([line["type"] for line in outcome.lines], ["error", "exit"])
        self.assertIn("cannot enter the working directory", outcome.error["message"])


class WarmContexts(ColdContexts):
    @classmethod
    def setUpClass(cls):
        cls.zygote = Zygote("json", "random", "matplotlib.pyplot")

    @classmethod
    def tearDownClass(cls):
        cls.zygote.close()

    def start(self, command, given):
        ours, theirs = socket.socketpair()
        ours.settimeout(harness.DEADLINE)
        before = processes.children(self.zygote.process.pid)
        socket.send_fds(self.zygote.launcher, [b"J"], [given[place] for place in range(5)] + [theirs.fileno()])
        theirs.close()
        self.assertEqual(ours.recv(1), b"r")
        # The new one, and not the one with the highest number: those start from below again.
        (pid,) = set(processes.children(self.zygote.process.pid)) - set(before)
        ours.send(b"c")
        ours.close()
        return Child(pid), pid

    def open(self, **options):
        context = Context("python", start=self.start, **options)
        self.addCleanup(context.close)
        return context

    def test_a_crash_ends_the_context(self):
        self.assertEqual(self.context.run("import os; os._exit(9)").lines, [])

    def test_the_first_cell_is_soon(self):
        def best_of(count, open_one, code):
            times = []
            for _ in range(count):
                started = time.perf_counter()
                self.assertEqual(open_one().run(code).out, "1\n")
                times.append(time.perf_counter() - started)
            return min(times)

        # Beside a cold one that imports what the zygote has, because a busy machine slows both.
        warm = best_of(20, self.open, "print(1)")
        cold = best_of(3, lambda: ColdContexts.open(self), "import json, random, matplotlib.pyplot; print(1)")
        self.assertLess(warm, cold / 4)


class Child:
    """A process that the zygote made: its end is seen by its descriptor."""

    def __init__(self, pid):
        self.pidfd = os.pidfd_open(pid)

    def wait(self, timeout=None):
        import select

        if not select.select([self.pidfd], [], [], timeout)[0]:
            raise TimeoutError
        return 0

    def kill(self):
        signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
