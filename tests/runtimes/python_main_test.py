"""What a Python program sees of its environment: as if it were a file of its own."""
import os
import tempfile
import unittest

from harness import PYTHON, encode_job, python, run


class Environment(unittest.TestCase):
    def test_arguments_environment_and_directory(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(directory + "/helper.py", "w") as file:
                file.write("VALUE = 5\n")
            answer = python("import os, sys, helper\nprint(sys.argv, sorted(os.environ.items()), os.getcwd(), sys.path[0], helper.VALUE)\n"
                            "import subprocess; print(subprocess.run(['/usr/bin/env'], capture_output=True, text=True).stdout)",
                            args=["a b", "ü", "-x"], env=["B=2=3", "A=é", "EMPTY="], workdir=directory)
        self.assertEqual(answer.out, "['main.py', 'a b', 'ü', '-x'] [('A', 'é'), ('B', '2=3'), ('EMPTY', '')] %s %s 5\nB=2=3\nA=é\nEMPTY=\n\n" % (directory, directory))

    def test_the_time_zone(self):
        self.assertEqual(python("import time; print(time.tzname[0])", env=["TZ=Asia/Tokyo"]).out, "JST\n")

    def test_a_directory_that_is_not_there(self):
        answer = python("print(1)", workdir="/nonexistent")
        self.assertEqual((answer.status, answer.out), (1, ""))
        self.assertIn("/nonexistent", answer.err)

    def test_a_job_that_is_none(self):
        for job in (b"", b"GBXJOB1\n", b"GBXJOB2\n" + b"\0" * 20, encode_job("1")[:-1], encode_job("1") + b"x", b"GBXJOB1\n\xff\xff\xff\xff"):
            self.assertEqual(run(PYTHON, job).status, 125)

    def test_standard_input_belongs_to_the_program(self):
        self.assertEqual(python("name = input('? ')\nimport sys\nprint(name, sys.stdin.read())", stdin="zoë\nrest\udcff".encode("utf-8", "surrogateescape")).out, "? zoë rest\udcff\n")
        self.assertEqual(python("import sys; print(len(sys.stdin.buffer.read()))", stdin=b"\0\xff" * 500_000).out, "1000000\n")
        self.assertEqual(python("input()").error["name"], "EOFError")

    def test_output_of_bytes_and_of_characters(self):
        self.assertEqual(python("import sys\nsys.stdout.buffer.write(bytes(range(256)))").out_bytes, bytes(range(256)))
        self.assertEqual(python("print('ü€\U0001f600', flush=True)").out, "ü€\U0001f600\n")
        self.assertEqual(len(python("for i in range(20000): print('x' * 100)").out), 20000 * 101)

    def test_no_descriptor_but_the_streams_and_ours_out_of_the_way(self):
        answer = python("import os\nprint(open('/dev/null').fileno())\nfds = sorted(map(int, os.listdir('/proc/self/fd')))\nprint(fds)\n"
                        "import subprocess\nprint(subprocess.run(['/bin/ls', '/proc/self/fd'], close_fds=False, capture_output=True, text=True).stdout.split())")
        first, fds, inherited = answer.out.splitlines()
        self.assertEqual(first, "3")
        self.assertEqual(fds, "[0, 1, 2, 3, 100]")
        self.assertEqual(inherited, "['0', '1', '2', '3']")


class Main(unittest.TestCase):
    def test_names_are_those_of_a_script(self):
        answer = python("print(sorted(n for n in globals()), __name__, __file__, __spec__, __doc__)", name="prog.py")
        self.assertEqual(answer.out, "['__builtins__', '__cached__', '__doc__', '__file__', '__loader__', '__name__', '__package__', '__spec__'] __main__ prog.py None None\n")
        self.assertEqual(python("if __name__ == '__main__': print('main')").out, "main\n")
        self.assertEqual(python("'''about'''\nprint(__doc__)").out, "about\n")

    def test_what_needs_a_real_main_module(self):
        answer = python(
            "import pickle, sys, dataclasses, typing, enum, collections\n"
            "class P:\n    x = 1\n"
            "@dataclasses.dataclass\nclass D:\n    a: int\n    b: typing.List['P'] = None\n"
            "class E(enum.Enum):\n    A = 1\n"
            "T = collections.namedtuple('T', 'a')\n"
            "print(pickle.loads(pickle.dumps([P, D(1), E.A, T(2)])), typing.get_type_hints(D)['b'], sys.modules['__main__'].P is P)")
        self.assertEqual(answer.out, "[<class '__main__.P'>, D(a=1, b=None), <E.A: 1>, T(a=2)] typing.List[__main__.P] True\n", answer.err)

    def test_worker_processes(self):
        answer = python("import multiprocessing as m\ndef double(x): return 2 * x\nif __name__ == '__main__':\n"
                        "    with m.get_context('fork').Pool(2) as pool: print(pool.map(double, range(4)))\n"
                        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as e: print(list(e.map(double, [5])))")
        self.assertEqual((answer.out, answer.status), ("[0, 2, 4, 6]\n[10]\n", 0), answer.err)

    def test_source_is_there_for_whoever_looks(self):
        self.assertEqual(python("import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f), end='')").out, "def f():\n    return 1\n")
        self.assertIn("    warn_here()", python("import traceback\ndef warn_here(): traceback.print_stack()\nwarn_here()").err)

    def test_names_of_functions_see_each_other_and_late_definitions(self):
        self.assertEqual(python("def f(): return g()\ndef g(): return [h for h in (lambda: x)()]\nx = 'ab'\nf()").result["application/json"], ["a", "b"])

    def test_asyncio(self):
        self.assertEqual(python("import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 3\nasyncio.run(f())").result["text/plain"], "3")

    def test_each_run_has_randomness_of_its_own(self):
        code = "import random, uuid, tempfile\nprint(random.random(), uuid.uuid4(), tempfile.mktemp())"
        self.assertNotEqual(python(code).out, python(code).out)

    def test_the_program_may_be_called_as_a_file_that_is_there(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "main.py"), "w") as file:
                file.write("something = 'else'\n")
            self.assertIn("    boom()\n", python("def boom(): 1/0\nboom()", workdir=directory).err)


if __name__ == "__main__":
    unittest.main()
