# Forked from one zygote, and yet different: no two warm runs share a random number, and
# none finds anything of the zygote in itself.
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes
import sealed
import warm

RUNS = int(os.environ.get("GBX_RESEED_RUNS", "1000"))
DATA_RUNS = int(os.environ.get("GBX_RESEED_DATA_RUNS", "100"))
AHEAD = 8  # sandboxes that are on their way while one runs

SOURCES = """
import json, os, random, secrets, ssl, tempfile, uuid
values = {
    "random": random.random(),
    "getrandbits": random.getrandbits(64),
    "uuid1": str(uuid.uuid1()),
    "uuid1 node": uuid.getnode(),
    "uuid4": str(uuid.uuid4()),
    "urandom": os.urandom(8).hex(),
    "secrets": secrets.token_hex(),
    "ssl": ssl.RAND_bytes(8).hex(),
    "mktemp": tempfile.mktemp(),
    "mkdtemp": tempfile.mkdtemp(),
}
"""
AUTHKEY = """
import multiprocessing
values["authkey"] = multiprocessing.current_process().authkey.hex()
"""
DATA = """
import numpy
values["numpy"] = numpy.random.rand()
values["numpy ints"] = int(numpy.random.randint(0, 2**63 - 1))
values["numpy default_rng"] = numpy.random.default_rng().random()
"""
# A module loaded ahead is worse than one that a run imports itself, and one that was used is worse
# still. Taken when the zygote was made: what forget_random_state() and reseeds() have to undo.
SPOIL = """
import multiprocessing, random, secrets, ssl, tempfile, uuid
random.seed(1), random.random(), ssl.RAND_bytes(16), tempfile.mktemp(), uuid.uuid1(), uuid.getnode()
tempfile.gettempdir(), next(tempfile._get_candidate_names()), multiprocessing.current_process().authkey
"""

HOOKED = """
import logging, os
calls = []
os.register_at_fork(before=lambda: calls.append("before"), after_in_child=lambda: calls.append("child"),
                    after_in_parent=lambda: calls.append("parent"))
"""


class Reseed(warm.TestCase):
    def write_templates(self):
        if warm.can_add_modules():
            warm.add_template(self.templates_place, "spoilt", SPOIL)
            warm.add_template(self.templates_place, "hooked", HOOKED)

    def run_many(self, template, count, code):
        """`count` runs, several sandboxes ahead of the one that is used; what each printed."""
        ahead, printed = [], []
        asked = 0
        while len(printed) < count:
            while asked < count and len(ahead) < AHEAD:
                ahead.append(self.client.begin(template))
                asked += 1
            try:
                sandbox = ahead.pop(0).sandbox()
            except warm.Refused as refused:  # its zygote is being renewed
                self.assertEqual(refused.code, warm.UNAVAILABLE, refused)
                self.client.pump(0.05)
                asked -= 1
                continue
            outcome = sandbox.run(code)
            self.assertEqual((outcome.code, outcome.signal), (0, 0), outcome)
            printed.append(json.loads(outcome.out))
            sandbox.destroy()
        return printed

    def assert_all_different(self, printed):
        for name in printed[0]:
            values = [one[name] for one in printed]
            self.assertEqual(len(set(values)), len(values), f"{name} repeats: {sorted(values)[:20]}")

    def test_the_standard_library(self):
        self.assertEqual(self.client.prepare("python").state, warm.READY)
        # uuid.getnode() has no network card to ask and takes a random number, once per process.
        self.assert_all_different(self.run_many("python", RUNS, SOURCES + "print(json.dumps(values))"))

    def test_the_data_stack(self):
        if self.client.prepare("python-data").state != warm.READY:
            self.skipTest("the host has no numpy, pandas, matplotlib")
        self.assert_all_different(self.run_many("python-data", DATA_RUNS, SOURCES + DATA + "print(json.dumps(values))"))

    def test_modules_that_were_used_before_the_fork(self):
        if not warm.can_add_modules():
            self.skipTest("this host's Python has no place for a module of a layer's")
        status = self.client.prepare("spoilt")
        self.assertEqual(status.state, warm.READY, status)
        self.assert_all_different(self.run_many("spoilt", min(RUNS, 100), SOURCES + AUTHKEY + "print(json.dumps(values))"))

    def test_a_hook_of_a_module_is_run_at_the_zygotes_forks(self):
        if not warm.can_add_modules():
            self.skipTest("this host's Python has no place for a module of a layer's")
        self.assertEqual(self.client.prepare("hooked").state, warm.READY)
        for forks in range(3):
            outcome = self.client.run("import preload_hooked as m; print(m.calls)", "hooked")
            self.assertEqual(outcome.out.decode().strip(), str(["before", "parent"] * forks + ["before", "child"]), outcome)

    def test_the_check_can_fail(self):
        with self.assertRaises(AssertionError):
            self.assert_all_different([{"a": 1}, {"a": 2}, {"a": 1}])


class NothingOfTheZygote(warm.TestCase):
    templates = ("python",)

    def ask(self, code, **more):
        outcome = self.client.run("import json, os, sys\n" + code, **more)
        self.assertEqual((outcome.code, outcome.signal, outcome.err), (0, 0, b""), outcome)
        return json.loads(outcome.out)

    def test_descriptors(self):
        # What listdir opens is gone again when its entry is looked at.
        found = self.ask("print(json.dumps({fd: os.readlink('/proc/self/fd/' + fd) for fd in os.listdir('/proc/self/fd')"
                         " if os.path.lexists('/proc/self/fd/' + fd)}))")
        self.assertEqual(sorted(found, key=int), ["0", "1", "2", "100"], found)
        self.assertTrue(all(target.startswith("pipe:") for target in found.values()), found)
        self.assertEqual(len(set(found.values())), 4, found)
        # The results' pipe is the runtime's own and not for the programs it starts.
        self.assertEqual(self.ask("import subprocess; print(json.dumps(subprocess.check_output("
                                  "['ls', '/proc/self/fd'], close_fds=False, text=True).split()))"), ["0", "1", "2", "3"])

    def test_threads_and_locks(self):
        found = self.ask("import threading, _thread, signal; print(json.dumps([threading.active_count(),"
                         " os.listdir('/proc/self/task'), os.getpid(), threading.main_thread().native_id,"
                         " threading.current_thread() is threading.main_thread(), _thread._count()]))")
        self.assertEqual(found, [1, [str(found[2])], found[2], found[2], True, 0])
        # Every lock of the interpreter's own can be taken: imports, threads, buffers, logging.
        self.assertEqual(self.ask("import logging, threading, wave, concurrent.futures as f\n"
                                  "with f.ThreadPoolExecutor(4) as pool: print(list(pool.map(len, ['a', 'bc'])))"), [1, 2])

    def test_a_fork_of_the_guests_runs_every_hook(self):
        # Those that the zygote's own forks leave out, those that the guest registers, and in Python's order.
        found = self.ask("""
import logging, random
calls = []
os.register_at_fork(before=lambda: calls.append("before"), after_in_child=lambda: calls.append("child"))
state = random.getstate()
read_end, write_end = os.pipe()
if os.fork() == 0:
    os.write(write_end, json.dumps([calls, random.getstate() == state, logging._lock.acquire(blocking=False)]).encode())
    os._exit(0)
os.wait()
print(json.dumps([json.loads(os.read(read_end, 1000)), calls, type(os.register_at_fork).__name__, random.getstate() == state]))
""")
        self.assertEqual(found, [[["before", "child"], False, True], ["before"], "builtin_function_or_method", True])

    def test_environment_and_arguments(self):
        env = ["ONE=1", "TZ=Asia/Tokyo", "EMPTY=", "PATH=/bin"]
        found = self.ask("import subprocess, time; print(json.dumps([dict(os.environ), sys.argv, time.tzname[0],"
                         " subprocess.check_output(['/usr/bin/env'], text=True).split()]))", env=env, args=["a", "b c"])
        self.assertEqual(found[0], dict(entry.split("=", 1) for entry in env))
        self.assertEqual(found[1], ["main.py", "a", "b c"])
        self.assertEqual(found[2], "JST")
        self.assertEqual(sorted(found[3]), sorted(env))

    def test_what_proc_says_of_arguments_and_environment(self):
        found = self.ask("print(json.dumps([open('/proc/self/' + name, 'rb').read().decode() for name in"
                         " ('cmdline', 'environ')]))")
        # Whatever it says, it says nothing of the zygote: not its program, its modules, its variables.
        for word in ("zygote", "glovebox", "secrets", "decimal", "HOME=/tmp", "MPL"):
            self.assertNotIn(word, "".join(found), found)

    def test_names_of_ours(self):
        found = self.ask("print(json.dumps(sorted(name for name in sys.modules if 'glovebox' in name or 'zygote' in name)))")
        self.assertTrue(all(name.startswith("_glovebox_") for name in found), found)
        self.assertNotIn("_glovebox_zygote", found)
        found = self.ask("print(json.dumps([sorted(set(globals()) - {'json', 'os', 'sys'}), sys.path, __name__]))")
        self.assertEqual([name for name in found[0] if not name.startswith("__")], [])
        self.assertNotIn("/opt/glovebox/python", found[1])
        self.assertEqual((found[1][0], found[2]), ("/home/user", "__main__"))

    def test_the_native_part_cannot_be_had_again(self):
        # It may be loaded by its path; what it does then needs what a guest has not: a launcher, setns.
        outcome = self.client.run("""
import glob, importlib.util, os, socket, array
path = glob.glob('/opt/glovebox/python/_glovebox_zygote*.so')
if path:
    spec = importlib.util.spec_from_file_location('_glovebox_zygote', path[0])
    module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    spaces = [os.open('/proc/self/ns/' + kind, os.O_RDONLY) for kind in ('user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup')]
    places = [os.open('/dev/null', os.O_RDWR) for _ in range(6)]
    ours.sendmsg([bytes([ord('J'), 0, 1, 0])], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', spaces + places))])
    ours.shutdown(socket.SHUT_WR)
    if os.fork() == 0:
        module.serve(theirs.fileno(), lambda: None, lambda: None)
    os.wait()
    print(ours.recv(100), ours.recv(100))
""")
        self.assertIn(outcome.out, (b"b'R' b'Ejoin: errno 1'\n", b""), outcome)

    def test_place_and_habits(self):
        found = self.ask("""
import signal, resource, gc
mask = os.umask(0); os.umask(mask)
signals = {str(int(one)): str(signal.getsignal(one)) for one in signal.valid_signals()
           if signal.getsignal(one) not in (signal.SIG_DFL, None)}
print(json.dumps({"cwd": os.getcwd(), "umask": mask, "signals": signals, "blocked": list(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
  "pid": os.getpid(), "parent": os.getppid(), "sid": os.getsid(0), "pgid": os.getpgid(0), "uids": os.getresuid(),
  "gids": os.getresgid(), "groups": os.getgroups(), "nice": os.nice(0), "gc": gc.isenabled(), "root": os.listdir("/proc/1/") != [],
  "status": open("/proc/self/status").read(), "core": resource.getrlimit(resource.RLIMIT_CORE)}))
""")
        self.assertEqual((found["cwd"], found["umask"], found["blocked"]), ("/home/user", 0o022, []))
        # As every Python: SIGINT raises, SIGPIPE and SIGXFSZ are errors.
        self.assertEqual(sorted(found["signals"], key=int), [str(int(one)) for one in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ)])
        self.assertNotEqual(found["pid"], 1)
        self.assertEqual((found["parent"], found["sid"], found["pgid"]), (1, found["pid"], found["pid"]))
        self.assertEqual((found["uids"], found["gids"], found["groups"]), ([1000] * 3, [1000] * 3, []))
        self.assertEqual((found["nice"], found["gc"], found["core"]), (0, True, [0, 0]))
        status = dict(line.split(":\t", 1) for line in found["status"].splitlines())
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(status[name], 16), 0, name)
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))

    def test_the_zygote_has_another_pid(self):
        # ssl and tempfile notice a fork by that alone.
        child = self.ask("print(os.getpid())")
        self.assertNotEqual(child, processes.living(self.zygote()).own_pid)

    def test_a_run_sees_itself_and_its_agent_alone(self):
        found = self.ask("print(json.dumps([sorted(int(name) for name in os.listdir('/proc') if name.isdigit()), os.getpid()]))")
        self.assertEqual(found[0], [1, found[1]])

    def test_ends_like_any_program(self):
        ends = {
            "import os; os.abort()": (0, signal.SIGABRT),
            "import os, signal; os.kill(os.getpid(), signal.SIGTERM); signal.pause()": (0, signal.SIGTERM),
            "import os, signal; os.kill(0, signal.SIGKILL)": (0, signal.SIGKILL),
            "import os, signal; os.killpg(os.getpgid(0), signal.SIGUSR1)": (0, signal.SIGUSR1),
            "import signal; signal.alarm(1); signal.pause()": (0, signal.SIGALRM),
            "import signal; signal.raise_signal(signal.SIGINT)": (0, signal.SIGINT),
            "import ctypes; ctypes.string_at(0)": (0, signal.SIGSEGV),
            "import os; os._exit(77)": (77, 0),
            "raise SystemExit(300)": (300 & 0xFF, 0),
            "raise SystemExit('why')": (1, 0),
            "1/0": (1, 0),
            "": (0, 0),
        }
        for code, (status, number) in ends.items():
            with self.subTest(code=code):
                outcome = self.client.run(code)
                self.assertEqual((outcome.signal, outcome.code if not number else None),
                                 (number, status if not number else None), outcome)

    def test_orphans_and_children_are_reaped(self):
        found = self.ask("""
import subprocess, time
subprocess.run(["/bin/sh", "-c", "(sleep 0.05; exit 3) & exit 0"])
deadline = time.monotonic() + 10
while len([n for n in os.listdir('/proc') if n.isdigit()]) > 2 and time.monotonic() < deadline: time.sleep(0.01)
print(json.dumps([len([n for n in os.listdir('/proc') if n.isdigit()]), subprocess.call(["/bin/sh", "-c", "exit 9"])]))
""")
        self.assertEqual(found, [2, 9])


if __name__ == "__main__":
    sealed.main()
