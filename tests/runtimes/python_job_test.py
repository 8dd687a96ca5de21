"""take_job() of the native part: the same job as runner.py's parser reads, whatever the bytes are."""
import ctypes.util
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

MODULE = os.environ.get("GBX_ZYGOTE_MODULE", "")
# Takes jobs of a size and their bytes from stdin, one process for each, and says what became of it.
TAKER = """
import fcntl, importlib.util, json, os, sys, time
spec = importlib.util.spec_from_file_location("_glovebox_zygote", sys.argv[1])
native = importlib.util.module_from_spec(spec); spec.loader.exec_module(native)
source = sys.stdin.buffer
while size := source.readline():
    data = source.read(int(size))
    read_end, low = os.pipe()
    write_end = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 50); os.close(low)
    if os.fork() == 0:
        memory = os.memfd_create("job"); os.write(memory, data); os.dup2(memory, 4)
        os.environ.clear()
        try:
            taken = native.take_job(os.environb._data, time.tzset)
            workdir, name, code, entered, process = taken
            closed = not os.path.exists("/proc/self/fd/4")
            answer = {"env": {os.fsdecode(k): os.fsdecode(v) for k, v in os.environb.items()}, "real_env": os.popen("/usr/bin/env -0").read(),
                      "argv": sys.argv, "orig": sys.orig_argv[1:], "name": name, "workdir": os.fsdecode(workdir), "path": sys.path[0],
                      "code": code if type(code) is str else "bytes:" + code.decode("latin-1"), "entered": entered,
                      "own": process == os.getpid(), "closed": closed, "cwd": os.getcwd(), "zone": time.tzname[0]}
        except (OSError, ValueError) as error:
            answer = {"refused": str(error)}
        os.write(write_end, json.dumps(answer).encode()); os._exit(0)
    os.close(write_end); os.wait()
    print(os.read(read_end, 1 << 16).decode(), flush=True); os.close(read_end)
"""


@unittest.skipIf(not MODULE, "GBX_ZYGOTE_MODULE does not say where the native part is")
@unittest.skipUnless(shutil.which("readelf"), "binutils is not installed")
class NativePart(unittest.TestCase):
    def test_it_needs_no_library_and_of_the_interpreters_only_what_every_one_has(self):
        needed = subprocess.run(["readelf", "-W", "--dynamic", MODULE], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("NEEDED", needed)
        listed = subprocess.run(["readelf", "-W", "--dyn-syms", MODULE], capture_output=True, text=True, check=True).stdout
        rows = [line.split() for line in listed.splitlines() if re.match(r" +\d+:", line)]
        names = {row[7] for row in rows if len(row) > 7 and row[6] == "UND"}
        others = {name for name in names if not re.match(r"_?Py", name)}
        # No versions ("fork@GLIBC_2.2.5"): of any C library.
        self.assertEqual(others, {"fork", "vfork", "setenv"})
        self.assertIn("PyErr_SetObject", names, "the control: names are read")
        return names - others

    @unittest.skipUnless(shutil.which("musl-gcc"), "musl-tools is not installed")
    def test_a_program_that_is_linked_to_musl_loads_it(self):
        names = self.test_it_needs_no_library_and_of_the_interpreters_only_what_every_one_has()
        # In the interpreter's place: everything of it, and all of it does nothing.
        is_data = re.compile(r"PyExc_|_Py_.*Struct$|Py.*_Type$")
        made = ["void* %s[64];" % name if is_data.match(name) else "void* %s(void) { return 0; }" % name
                for name in sorted(names - {"PyModule_Create2"})]
        program = "\n".join(["#include <dlfcn.h>", "#include <stdio.h>", "#include <sys/prctl.h>", *made]) + """
void* PyModule_Create2(void) { return (void*)42; }
int main(int count, char** words) {
  void* module = dlopen(words[1], RTLD_NOW);
  void* (*init)(void) = module ? (void* (*)(void))dlsym(module, "PyInit__glovebox_zygote") : 0;
  if (init == 0) return puts(dlerror()), 1;
  long made = (long)init();
  printf("%ld %d\\n", made, prctl(PR_GET_DUMPABLE));
  return 0;
}
"""
        with tempfile.TemporaryDirectory(prefix="gbx-test-") as place:
            path = os.path.join(place, "program")
            subprocess.run(["musl-gcc", "-fno-builtin", "-w", "-rdynamic", "-x", "c", "-", "-o", path], input=program, text=True, check=True)
            for module, status in ((MODULE, 0), (ctypes.util.find_library("z"), 1)):
                done = subprocess.run([path, module], capture_output=True, text=True, env={})
                # The control: a library that is linked to glibc does not load. Ours begins with being unreadable.
                self.assertEqual(done.returncode, status, done)
                if status == 0:
                    self.assertEqual(done.stdout, "42 0\n")


@unittest.skipIf(not MODULE, "GBX_ZYGOTE_MODULE does not say where the native part is")
class TakeJob(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(harness.ROOT / "src/guest/python"))
        sys.dont_write_bytecode = True
        import runner

        cls.runner = runner

    def setUp(self):
        self.taker = subprocess.Popen(["/usr/bin/python3", "-I", "-c", TAKER, MODULE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.close)

    def close(self):
        self.taker.stdin.close()
        self.taker.stdout.close()
        self.taker.wait(timeout=harness.DEADLINE)

    def take(self, data):
        self.taker.stdin.write(b"%d\n" % len(data) + data)
        self.taker.stdin.flush()
        return json.loads(self.taker.stdout.readline())

    def test_a_job_is_entered(self):
        taken = self.take(harness.encode_job("print(1)", env=["A=b=c", "TZ=Asia/Tokyo", "=x", "none", "EMPTY=", "A=last"], args=["x", "\udcff"], workdir="/usr", name="n.py"))
        variables = {"A": "last", "TZ": "Asia/Tokyo", "EMPTY": ""}
        self.assertEqual(taken["env"], variables)
        shown = dict(entry.split("=", 1) for entry in taken["real_env"].split("\0")[:-1])
        self.assertEqual({name: shown.get(name) for name in variables}, variables)
        self.assertEqual((taken["argv"], taken["orig"]), (["n.py", "x", "\udcff"], ["n.py", "x", "\udcff"]))
        self.assertEqual((taken["cwd"], taken["path"], taken["workdir"], taken["entered"]), ("/usr", "/usr", "/usr", True))
        self.assertEqual((taken["name"], taken["code"], taken["own"], taken["closed"], taken["zone"]), ("n.py", "print(1)", True, True, "JST"))

    def test_a_directory_that_cannot_be_entered(self):
        taken = self.take(harness.encode_job("1", workdir="/no/such"))
        self.assertEqual((taken["entered"], taken["cwd"] == "/no/such", taken["path"] == "/no/such"), (False, False, False))
        self.assertFalse(self.take(harness.encode_job("1", workdir=b"/usr\0/bin"))["entered"])

    def test_code_that_needs_a_second_look_stays_bytes(self):
        for code in (b"\xef\xbb\xbf1", b"1\r\n2", b"# coding: latin-1\n'\xe4'"):
            self.assertEqual(self.take(harness.encode_job(code))["code"], "bytes:" + code.decode("latin-1"))
        self.assertEqual(self.take(harness.encode_job("'ä'"))["code"], "'ä'")

    def test_an_empty_name_is_the_usual_one(self):
        self.assertEqual(self.take(harness.encode_job("1", name=""))["name"], "main.py")

    def test_a_null_byte_in_the_environment_is_refused(self):
        self.assertEqual(self.take(harness.encode_job("1", env=["A=b\0c"])), {"refused": "embedded null byte"})

    def test_every_job_that_ends_too_early_is_refused(self):
        whole = harness.encode_job("1", env=["A=b"], args=["x"])
        for size in range(len(whole)):
            self.assertIn("refused", self.take(whole[:size]), size)
        self.assertIn("refused", self.take(whole + b"\0"))

    def test_both_parsers_read_the_same(self):
        chance = random.Random(19)
        seeds = [harness.encode_job("1", env=["A=b", "C=d"], args=["x", "y"], workdir="/tmp", name="m.py"), harness.encode_job("")]
        agreed = 0
        for _ in range(400):
            data = bytearray(chance.choice(seeds))
            for _ in range(chance.randrange(3)):
                at = chance.randrange(8, len(data))
                data[at] = chance.choice((0, 1, 2, 3, 255, chance.randrange(256)))
            data = bytes(data)
            taken = self.take(data)
            try:
                job = self.runner.parse_job(data)
            except ValueError:
                self.assertIn("refused", taken, data)
                continue
            if any(b"\0" in entry.partition(b"=")[0] + entry.partition(b"=")[2] for entry in job.env if b"=" in entry[1:]):
                self.assertIn("refused", taken, data)
                continue
            agreed += 1
            self.assertEqual((taken["name"], taken["argv"][1:], taken["workdir"]), (job.name, job.args, os.fsdecode(job.workdir)), data)
        self.assertGreater(agreed, 100)


if __name__ == "__main__":
    unittest.main()
