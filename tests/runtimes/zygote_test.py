"""A Python zygote and what is forked from it. The sandbox around it is missing here; see _glovebox_zygote.py."""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

import harness

ENV = ["OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1", "MPLBACKEND=Agg", "SECRET_OF_THE_ZYGOTE=x"]


class Zygote:
    def __init__(self, *modules, env=ENV, extra=""):
        self.directory = tempfile.TemporaryDirectory(prefix="gbx-zygote-")
        for file in (harness.ROOT / "src/guest/python").glob("*.py"):
            shutil.copy(file, self.directory.name)
        shutil.copy(pathlib.Path(__file__).with_name("_glovebox_zygote.py"), self.directory.name)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.launcher = ours
        self.launcher.settimeout(harness.DEADLINE)
        null = os.open("/dev/null", os.O_RDWR)
        program = [self.directory.name + "/zygote.py", *modules]
        if extra:  # a module of the test's own, which -I would not find
            site = self.directory.name + "/site"
            os.mkdir(site)
            pathlib.Path(site, "extra.py").write_text(extra)
            program = ["-c", "import sys; sys.path.insert(0, %r); sys.argv = sys.argv[1:]; __file__ = sys.argv[0]; __name__ = '__main__'; exec(compile(open(__file__).read(), __file__, 'exec'))" % site, *program]
        command = ["/usr/bin/env", "-i", *env, "MPLCONFIGDIR=" + harness.mpl_directory(), "/usr/bin/python3", "-I", *program]
        self.process = harness.spawn(command, {0: null, 1: null, 2: 2, 3: theirs.fileno()})
        theirs.close()
        os.close(null)
        self.said = self.launcher.recv(65536)

    def close(self):
        self.launcher.close()
        self.process.wait(timeout=harness.DEADLINE)
        self.directory.cleanup()

    def prepare(self):
        """A waiting child: what to call with the code, for its answer."""
        pipes = [os.pipe() for _ in range(4)]
        memory = os.memfd_create("job")
        ours, theirs = socket.socketpair()
        ours.settimeout(harness.DEADLINE)
        given = [pipes[0][0], pipes[1][1], pipes[2][1], pipes[3][1], memory, theirs.fileno()]
        socket.send_fds(self.launcher, [b"J"], given)
        for fd in given[:4] + [pipes[0][1]]:
            os.close(fd)
        theirs.close()
        assert ours.recv(1) == b"r"

        def run(code, env=("PATH=/usr/bin:/bin",), **job):
            harness._write_all(memory, harness.encode_job(code, env=env, **job))
            started = time.perf_counter()
            ours.send(b"g")
            out, err, results = (read_all(pipes[place][0]) for place in (1, 2, 3))
            answer = harness.Answer(None, out, err, results.split(b"\n")[:-1])
            answer.seconds = time.perf_counter() - started
            answer.status = next((line["code"] for line in answer.lines if line["type"] == "exit"), None)
            os.close(memory)
            ours.close()
            return answer

        return run

    def run(self, code, **job):
        return self.prepare()(code, **job)


def read_all(fd):
    parts = []
    while part := os.read(fd, 1 << 16):
        parts.append(part)
    os.close(fd)
    return b"".join(parts)


class Children(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.zygote = Zygote("json", "random", "tempfile", "uuid", "secrets", "ssl", "multiprocessing", "numpy", "pandas", "matplotlib.pyplot")

    @classmethod
    def tearDownClass(cls):
        cls.zygote.close()

    def test_it_is_ready(self):
        self.assertEqual(self.zygote.said, b"R")

    def test_runs_code_and_ends_as_a_cold_run_does(self):
        answer = self.zygote.run("print('out')\n1 + 1")
        self.assertEqual((answer.out, answer.err, answer.result["text/plain"], answer.status), ("out\n", "", "2", 0))
        answer = self.zygote.run("def f():\n    1/0\nf()")
        self.assertEqual((answer.error["line"], answer.status), (2, 1))
        self.assertNotIn("zygote", answer.err)
        self.assertEqual(self.zygote.run("import sys; sys.exit(3)").status, 3)

    def test_every_source_of_randomness_differs(self):
        code = ("import random, uuid, os, tempfile, ssl, secrets, numpy, multiprocessing\n"
                "for x in (random.random(), numpy.random.rand(), numpy.random.default_rng().random(), uuid.uuid1(), uuid.uuid4(), os.urandom(8), secrets.token_hex(8),\n"
                "          ssl.RAND_bytes(8), tempfile.mktemp(), multiprocessing.current_process().authkey.hex(), random.SystemRandom().random()): print(bytes(x) if type(x) is multiprocessing.process.AuthenticationString else x)")
        seen = set()
        count = 60
        for _ in range(count):
            lines = self.zygote.run(code).out.splitlines()
            self.assertEqual(len(lines), 11)
            seen.update(enumerate(lines))
        self.assertEqual(len(seen), 11 * count)

    def test_nothing_of_the_zygote_is_visible(self):
        answer = self.zygote.run(
            "import os, sys, threading, builtins\n"
            "print(sys.argv, dict(os.environ), os.environb.get(b'SECRET_OF_THE_ZYGOTE'), sorted(map(int, os.listdir('/proc/self/fd')))[:4])\n"
            "print(sorted(globals()))\n"
            "print([m for m in sys.modules if 'zygote' in m], [d for d in dir(builtins) if 'glove' in d.lower()], sys.path[0])\n"
            "print(threading.active_count(), threading.main_thread() is threading.current_thread(), threading.main_thread().ident == threading.get_ident(), threading.get_native_id() == os.getpid() == threading.main_thread().native_id)\n"
            "import subprocess; print('SECRET' in subprocess.run(['/usr/bin/env'], capture_output=True, text=True).stdout)", args=["x"], workdir="/tmp")
        lines = answer.out.splitlines()
        self.assertEqual(lines[0], "['main.py', 'x'] {'PATH': '/usr/bin:/bin'} None [0, 1, 2, 3]", answer.err)
        self.assertEqual(lines[1], "['__builtins__', '__cached__', '__doc__', '__file__', '__loader__', '__name__', '__package__', '__spec__', 'builtins', 'os', 'sys', 'threading']")
        self.assertEqual(lines[2], "[] [] /tmp")
        self.assertEqual(lines[3], "1 True True True")
        self.assertEqual(lines[4], "False")

    def test_streams_are_as_on_pipes(self):
        answer = self.zygote.run("import sys\nprint(sys.stdin.seekable(), sys.stdout.seekable(), sys.stdout.isatty(), sys.stdin.name, sys.stdout.encoding, sys.stderr.errors, sys.stdout is sys.__stdout__, sys.stdin.read() == '')\nsys.stdout.buffer.write(b'\\xff')")
        self.assertEqual(answer.out, "False False False <stdin> utf-8 backslashreplace True True\n\udcff", answer.err)

    def test_one_child_leaves_no_trace_in_the_next(self):
        self.zygote.run("import sys, builtins, json\nbuiltins.leak = 1; sys.leak = 2; json.leak = 3; open('/tmp/gbx-none', 'w').close()")
        self.assertEqual(self.zygote.run("import sys, builtins, json\n[hasattr(m, 'leak') for m in (sys, builtins, json)]").result["application/json"], [False] * 3)
        os.unlink("/tmp/gbx-none")

    def test_figures_and_tables(self):
        answer = self.zygote.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nimport pandas as pd\npd.DataFrame({'a': [1]})")
        self.assertEqual(answer.err, "")
        self.assertEqual([line["main"] for line in answer.results], [False, True])
        self.assertIn("<table", answer.result["text/html"])

    def test_the_environment_and_zone_are_the_jobs(self):
        answer = self.zygote.run("import os, time\nprint(time.tzname[0], os.environ['A'])", env=["TZ=Asia/Tokyo", "A=b"])
        self.assertEqual(answer.out, "JST b\n")

    def test_the_zygotes_zone_is_not_the_jobs(self):
        zygote = Zygote("time", env=["TZ=Asia/Tokyo"])
        self.addCleanup(zygote.close)
        self.assertEqual(zygote.run("import time\nprint(time.tzname[0])").out, self.zygote.run("import time\nprint(time.tzname[0])").out)

    def test_children_wait_side_by_side(self):
        waiting = [self.zygote.prepare() for _ in range(8)]
        self.assertEqual([run("print(%d)" % index).out for index, run in enumerate(waiting)], ["%d\n" % index for index in range(8)])

    def test_a_small_run_takes_little(self):
        # The bar is far above what is measured (0.6 ms) and far below what importing anything takes.
        times = sorted(self.zygote.run("print(1 + 1)").seconds for _ in range(50))
        self.assertLess(times[10], 0.02, times)


# Process 1 of one pid namespace makes process 1 of others: what notices a fork by its pid does not.
SAME_PID = """
import ctypes, os, sys, ssl, random, tempfile
sys.path.insert(0, sys.argv[1])
import runner, zygote
sys.modules["_glovebox_runner"] = runner
ssl.RAND_bytes(1), tempfile.mktemp()
reseeds = ()
if sys.argv[2] == "prepared":
    zygote.forget_random_state()
    reseeds = zygote.reseeds()
for _ in range(3):
    between = os.fork()
    if between == 0:
        ctypes.CDLL(None).unshare(0x20000000)
        child = os.fork()
        if child == 0:
            for reseed in reseeds: reseed()
            print(os.getpid(), ssl.RAND_bytes(8).hex(), tempfile.mktemp(), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        os._exit(0)
    os.waitpid(between, 0)
"""


@unittest.skipIf(os.geteuid() != 0, "pid namespaces need root")
class SamePid(unittest.TestCase):
    def lines(self, how):
        command = ["/usr/bin/unshare", "--pid", "--fork", "/usr/bin/python3", "-B", "-c", SAME_PID, str(harness.ROOT / "src/guest/python"), how]
        done = subprocess.run(command, capture_output=True, text=True, timeout=harness.DEADLINE, stdin=subprocess.DEVNULL)
        if done.returncode != 0 and not done.stdout:
            self.skipTest("no pid namespace: " + done.stderr)
        lines = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual([line[0] for line in lines], ["1", "1", "1"], done.stderr)
        return lines

    def test_a_pid_that_does_not_change_does_not_repeat_random_numbers(self):
        # The control: without us they are the same.
        self.assertEqual(len({line[1] for line in self.lines("bare")}), 1)
        self.assertEqual(len({line[2] for line in self.lines("bare")}), 1)
        prepared = self.lines("prepared")
        self.assertEqual(len({line[1] for line in prepared}), 3)
        self.assertEqual(len({line[2] for line in prepared}), 3)


class Refusals(unittest.TestCase):
    def said(self, *modules, **options):
        zygote = Zygote(*modules, **options)
        self.addCleanup(zygote.close)
        return zygote.said.decode()

    def test_a_module_that_is_not_there(self):
        said = self.said("json", "no_such_module")
        self.assertTrue(said.startswith("Fcannot import no_such_module:\nTraceback"), said)
        self.assertIn("ModuleNotFoundError", said)

    def test_a_module_that_raises_or_exits(self):
        self.assertIn("boom", self.said("extra", extra="raise ValueError('boom')"))
        self.assertIn("SystemExit", self.said("extra", extra="raise SystemExit(0)"))

    def test_a_module_that_starts_a_thread(self):
        said = self.said("extra", extra="import threading, time\nthreading.Thread(target=time.sleep, args=(99,), daemon=True, name='mine').start()")
        self.assertIn("Frefused: its modules started a thread: mine", said)

    def test_a_module_that_keeps_a_descriptor(self):
        self.assertIn("Frefused: its modules left descriptor", self.said("extra", extra="keep = open('/dev/zero')"))

    def test_a_module_that_shares_memory(self):
        self.assertIn("Frefused: its modules made a shared writable mapping", self.said("extra", extra="import mmap\nkeep = mmap.mmap(-1, 4096)"))

    def test_threads_of_numpys_are_noticed(self):
        said = self.said("numpy", env=["OPENBLAS_NUM_THREADS=2"])
        if said == "R":
            self.skipTest("this numpy starts no threads")
        self.assertIn("refused: its modules started", said)


if __name__ == "__main__":
    unittest.main()
