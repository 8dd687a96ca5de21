# `"reuse": "sandbox"`: what one run leaves, another in the same sandbox must not find. Each attack has
# a control: two processes of one session, or two cells of one interpreter, where nothing is cleaned in
# between and the second does find it.
import concurrent.futures
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
from session import Session

REUSE = {"reuse": "sandbox"}
# Each sandbox has one of its own, which is the same for all runs in it.
WHICH = "print('sandbox', open('/proc/sys/kernel/random/boot_id').read().strip())\n"
# A run comes back to a sandbox soon, or never if that was thrown away. More at once than there are
# sandboxes that wait, because the one that was used last is taken first.
TRIES, AT_ONCE = 5, 8
HOLD = "\n__import__('time').sleep(0.05)\n"  # so that the runs of a try are in it at once

PLACES = """
import os
places = ["/home/user", "/home", "/tmp", "/var/tmp", "/dev/shm", "/", "/var", "/run", "/var/lib", "/var/cache",
          "/var/log", "/etc", "/usr", "/dev", "/dev/pts", "/opt", "/mnt", "/srv", "/run/user", "/usr/local"]
"""
LIBC = """
import ctypes, os
libc = ctypes.CDLL("libc.so.6", use_errno=True)
def ok(value):
    if value < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value
"""

# name: what the first leaves, how the second looks for it (it prints "found"). Both in Python.
LEFT_BEHIND = {
    "a file in every place that can be written": (
        PLACES + """
count = 0
for place in places:
    for name in ("left", ".left"):
        try: open(f"{place}/{name}", "w").write("x"); count += 1
        except OSError: pass
assert count >= 8, count
""", PLACES + """
for place in places:
    for name in ("left", ".left"):
        if os.path.lexists(f"{place}/{name}"): print("found", place)
"""),
    "links, pipes and sockets": (
        """
import os, socket
os.symlink("/etc/passwd", "/tmp/link"); os.mkfifo("/tmp/fifo"); os.makedirs("/tmp/a/b")
one = socket.socket(socket.AF_UNIX); one.bind("/tmp/socket"); one.listen()
""", "import os\nif os.listdir('/tmp'): print('found', os.listdir('/tmp'))\n"),
    "the mode of its home": (
        "import os\nos.chmod('/home/user', 0o711); os.utime('/home/user', (5, 5))\n",
        "import os\nfacts = os.stat('/home/user')\n"
        "if facts.st_mode & 0o7777 != 0o755 or facts.st_mtime == 5: print('found')\n"),
    "an attribute of its home": (
        "import os\nos.setxattr('/home/user', 'user.left', b'x')\n",
        "import os\nif os.listxattr('/home/user'): print('found')\n"),
    "a module for the next program": (
        "import os\nos.makedirs('/home/user/.local/lib/python3.11/site-packages', exist_ok=True)\n"
        "for path in ('/home/user/sitecustomize.py', '/home/user/json.py', '/home/user/planted.py'):\n"
        "    open(path, 'w').write('print(\"found\")')\n",
        "import sys\nsys.path.insert(0, '/home/user')\ntry:\n    import planted\nexcept ImportError: pass\n"),
    "System V shared memory": (
        LIBC + "ok(libc.shmget(0x4711, 4096, 0o1666))\nfor i in range(20): ok(libc.shmget(0, 4096, 0o1666))\n",
        LIBC + "if libc.shmget(0x4711, 4096, 0) >= 0: print('found')\n"),
    "System V semaphores": (
        LIBC + "ok(libc.semget(0x4712, 3, 0o1666))\n",
        LIBC + "if libc.semget(0x4712, 3, 0) >= 0: print('found')\n"),
    "a System V message queue": (
        LIBC + "queue = ok(libc.msgget(0x4713, 0o1666))\nok(libc.msgsnd(queue, b'\\1\\0\\0\\0\\0\\0\\0\\0left', 4, 0))\n",
        LIBC + "if libc.msgget(0x4713, 0) >= 0: print('found')\n"),
    "a POSIX message queue": (
        # Landlock refuses it in a run; in the session of the control there is none.
        LIBC + "libc.mq_open(b'/left', os.O_CREAT | os.O_RDWR, 0o666, (ctypes.c_long * 8)(0, 4, 64))\n",
        LIBC + "if libc.mq_open(b'/left', os.O_RDWR) >= 0: print('found')\n"),
    "POSIX shared memory": (
        "fd = __import__('os').open('/dev/shm/left', 0o102, 0o666)\n",
        "import os\nif os.listdir('/dev/shm'): print('found')\n"),
    "a port in TIME_WAIT": (
        """
import socket
listening = socket.socket(); listening.bind(("127.0.0.1", 45671)); listening.listen()
one = socket.create_connection(("127.0.0.1", 45671)); other = listening.accept()[0]
other.close(); one.recv(1); one.close(); listening.close()
""", """
import socket
try: socket.socket().bind(("127.0.0.1", 45671))
except OSError: print("found")
"""),
    "a full disk": (
        """
try:
    with open("/tmp/big", "wb", 0) as file:
        while True: file.write(bytes(1 << 20))
except OSError: pass
""", """
import os
facts = os.statvfs("/tmp")
if facts.f_bavail < facts.f_blocks * 0.9: print("found", facts)
"""),
}

# Left with a process that goes on: the sandbox is thrown away with it. The second half is for the
# control, in which the process of the first is still there.
GOES_ON = """
import os, signal, sys, time
if os.fork():
    os._exit(0) if SESSION else sys.exit(0)
os.setsid()
for fd in range(0, 200):
    try: os.close(fd)
    except OSError: pass
"""
PROCESSES = {
    "a process": (GOES_ON + "time.sleep(60)\n", """
import os
me = {os.getpid(), os.getppid(), 1}
others = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) not in me]
if any(open(f"/proc/{pid}/comm").read().startswith("python3") for pid in others): print("found")
"""),
    "a process that listens": (GOES_ON + """
import socket
one = socket.socket(socket.AF_UNIX); one.bind("\\0left"); one.listen()
time.sleep(60)
""", """
import socket, time
for _ in range(100):
    try: socket.socket(socket.AF_UNIX).connect("\\0left"); print("found"); break
    except OSError: time.sleep(0.02)
"""),
    "a process that signals whoever comes": (GOES_ON + """
end = time.monotonic() + 60
while time.monotonic() < end:
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in (1, os.getpid()):
            try: os.kill(int(name), signal.SIGWINCH)
            except OSError: pass
    time.sleep(0.005)
""", """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])  # ignored otherwise
if signal.sigtimedwait([signal.SIGWINCH], 2): print("found")
"""),
    "a process that reads the memory of whoever comes": (GOES_ON + """
end = time.monotonic() + 60
while time.monotonic() < end:
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in (1, os.getpid()):
            try:
                maps = open(f"/proc/{name}/maps").read()
                if "python" in maps: open("/tmp/maps-of-another", "w").write(maps)
            except OSError: pass
    time.sleep(0.005)
""", """
import os, time
for _ in range(100):
    if os.path.exists("/tmp/maps-of-another"): print("found"); break
    time.sleep(0.02)
"""),
}

# Descriptors that are only in queues of each other, until the kernel collects them.
SOCKETS_IN_FLIGHT = """
import array, socket
for number in range(50):
    port = socket.socket(); port.bind(("127.0.0.1", 30000 + number)); port.listen()
    name = socket.socket(socket.AF_UNIX); name.bind(f"\\0left{number}"); name.listen()
    one, other = socket.socketpair()
    fds = [sent.detach() for sent in (port, name, other)] + [one.fileno()]
    one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
"""
FIND_SOCKETS = """
if ":7530 " in open("/proc/net/tcp").read() or "@left" in open("/proc/net/unix").read(): print("found")
"""

# State of an interpreter. The control is a context, whose cells share one.
INTERPRETER = {
    "environment": ("import os\nos.environ['LEFT'] = '1'\n",
                    "import os\nif 'LEFT' in os.environ: print('found')\n"),
    "a variable": ("left = 1\n", "if 'left' in globals(): print('found')\n"),
    "a changed module": ("import json, builtins\njson.left = builtins.left = 1\njson.dumps = lambda *_: 'found'\n",
                         "import json, builtins\nif hasattr(builtins, 'left') or json.dumps(1) != '1': print('found')\n"),
    "the path of modules": ("import sys\nsys.path.insert(0, '/left')\n",
                            "import sys\nif '/left' in sys.path: print('found')\n"),
    "a timer": ("import signal\nsignal.signal(signal.SIGALRM, lambda *_: print('found'))\n"
                "signal.setitimer(signal.ITIMER_REAL, 0.2)\n",
                "import time\ntime.sleep(0.6)\n"),
    "a handler of signals": ("import signal\nsignal.signal(signal.SIGUSR2, lambda *_: None)\n",
                             "import signal\nif signal.getsignal(signal.SIGUSR2) is not signal.SIG_DFL: print('found')\n"),
    "limits": ("import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (50, 50))\n",
               "import resource\nif resource.getrlimit(resource.RLIMIT_NOFILE)[1] == 50: print('found')\n"),
    "a descriptor": ("import os\nos.dup2(os.open('/etc/passwd', 0), 77)\n",
                     "import os\ntry: os.fstat(77); print('found')\nexcept OSError: pass\n"),
    "the directory and the umask": ("import os\nos.chdir('/tmp'); os.umask(0o77)\n",
                                    "import os\nif os.getcwd() == '/tmp' or os.umask(0o22) == 0o77: print('found')\n"),
}


def sandbox_of(answer):
    words = [line.split() for line in answer["stdout"].splitlines() if line.startswith("sandbox ")]
    return words[0][1]


class Reuse(server.Served):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.wait_warm("python")

    def python(self, code, client=None, **more):
        profile = {**REUSE, **more.pop("profile", {})}
        return (client or self.client).python(WHICH + code, profile=profile, **more)

    def comes_back(self, sandbox, code="", client=None, profile=None):
        """Runs `code` until it ran in that sandbox; its answer, or nothing: no run came there."""
        for _ in range(TRIES):
            with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
                answers = list(pool.map(lambda _: self.look(code, client, profile or {}), range(AT_ONCE)))
            for answer in answers:
                self.assertEqual(answer["exit_code"], 0, answer)
                self.assertNotIn("found", answer["stdout"])
            for answer in answers:
                if sandbox_of(answer) == sandbox:
                    return answer
        return None

    def look(self, code, client, profile):
        with server.Client(self.server.url, (client or self.client).key) as mine:
            return self.python(code + HOLD, client=mine, profile=profile)

    def assert_thrown_away(self, first, find=""):
        self.assertIsNone(self.comes_back(sandbox_of(first), find), "a run came to a sandbox that must be gone")

    # --- what is used again -----------------------------------------------------------------------

    def test_a_sandbox_is_used_again_and_says_so(self):
        first = self.python("")
        again = self.comes_back(sandbox_of(first))
        self.assertGreaterEqual(again["reused"], 1)
        self.assertTrue(again["warm"])
        self.assertEqual(again["isolation"]["grade"], first["isolation"]["grade"])
        self.assertEqual(again["isolation"]["walls"], first["isolation"]["walls"])
        never = self.client.python(WHICH)
        self.assertNotIn("reused", never)
        self.assertNotEqual(sandbox_of(never), sandbox_of(first))
        # The walls of a run that is not in a shared sandbox.
        self.assertEqual(never["isolation"]["walls"], again["isolation"]["walls"])
        self.assertNotEqual(never["profile"], again["profile"])

    def test_runs_of_another_key_project_or_profile_have_another(self):
        first = self.python("")
        mine = sandbox_of(first)
        for fields in ({"project": "default"}, {"project": "other"}):
            client = self.server.client(self.server.new_key(**fields)[0])
            self.addCleanup(client.close)
            self.assertIsNone(self.comes_back(mine, client=client), fields)
        self.assertIsNone(self.comes_back(mine, profile={"memory_mb": 300}))
        self.assertIsNotNone(self.comes_back(mine))

    def test_what_it_used_is_its_own(self):
        big = self.python("data = bytearray(100 << 20)\nfor at in range(0, len(data), 4096): data[at] = 1\n"
                          "end = __import__('time').process_time() + 0.3\n"
                          "while __import__('time').process_time() < end: pass\n")
        self.assertGreater(big["metrics"]["cpu_ms"], 250)
        small = self.comes_back(sandbox_of(big))
        self.assertLess(small["metrics"]["cpu_ms"], 200, small["metrics"])
        peak = small["metrics"]["peak_memory_bytes"]
        self.assertTrue(peak is None or peak < 90 << 20, small["metrics"])

    def test_files_in_and_out_arguments_and_errors(self):
        for number in range(6):
            answer = self.python(
                "import os, sys\nprint(sys.argv[1:], os.environ['N'], open('in.txt').read(), sys.stdin.read())\n"
                "open('out.txt', 'w').write(os.environ['N'])\nos.getpid()", args=[str(number)], env={"N": str(number)},
                files=[{"path": "in.txt", "content": f"file {number}"}], stdin=f"input {number}", return_files=["*.txt"])
            self.assertIn(f"['{number}'] {number} file {number} input {number}", answer["stdout"])
            self.assertEqual({file["path"]: file["content"] for file in answer["files"]},
                             {"/home/user/in.txt": f"file {number}", "/home/user/out.txt": str(number)})
            self.assertEqual(answer["result"]["text/plain"], "3", "the number of the process says nothing of others")
        failed = self.python("1 / 0")
        self.assertEqual((failed["exit_code"], failed["error"]["name"]), (1, "ZeroDivisionError"))
        self.assertIsNotNone(self.comes_back(sandbox_of(failed)), "an exception is an orderly end")

    def test_functions(self):
        body = {"language": "python", "profile": REUSE, "event": {"a": 1},
                "code": "calls = 0\ndef handler(event, context):\n    global calls\n    calls += 1\n    return calls, event"}
        reused = []
        for _ in range(8):
            answer = self.client.call("POST", "/v1/functions/invoke", body).json
            self.assertEqual(answer["result"], [1, {"a": 1}], answer)
            reused.append(answer["reused"])
        self.assertGreater(max(reused), 0)

    def test_many_at_once(self):
        wrong = []

        def runs():
            with server.Client(self.server.url, self.server.key) as client:
                for number in range(25):
                    answer = self.python(f"open('/tmp/n', 'x').write('{number}'); print(open('/tmp/n').read())", client=client)
                    if answer["exit_code"] != 0 or f"\n{number}\n" not in answer["stdout"]:
                        wrong.append(answer)
        threads = [threading.Thread(target=runs) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    # --- what is left behind ----------------------------------------------------------------------

    def test_nothing_that_was_left_is_found(self):
        session = Session(self.client, template="python")
        self.addCleanup(session.kill)
        for name, (leave, find) in LEFT_BEHIND.items():
            with self.subTest(name):
                done = session.exec("python3", "-c", leave, timeout_ms=60_000)
                self.assertEqual(done["exit_code"], 0, done)
                looked = session.exec("python3", "-c", find)
                self.assertIn("found", looked["stdout"], "the control: between two processes of one session")
                session.shell("rm -rf /tmp/* /tmp/.left /dev/shm/* /home/user/*.py")
                first = self.python(leave)
                self.assertEqual(first["exit_code"], 0, first)
                self.assertIsNotNone(self.comes_back(sandbox_of(first), find), "no run came back to look")

    def test_a_process_that_goes_on_takes_the_sandbox_with_it(self):
        session = Session(self.client, template="python")
        self.addCleanup(session.kill)
        for name, (leave, find) in PROCESSES.items():
            with self.subTest(name):
                done = session.exec("python3", "-c", "SESSION = True\n" + leave)
                self.assertEqual(done["exit_code"], 0, done)
                looked = session.exec("python3", "-c", find, timeout_ms=30_000)
                self.assertIn("found", looked["stdout"], ("the control: between two processes of one session", looked))
                session.exec("pkill", "-9", "python3")
                first = self.python("SESSION = False\n" + leave)
                self.assert_thrown_away(first, "" if "time.sleep" in find or "timedwait" in find else find)

    def test_no_state_of_an_interpreter_is_found(self):
        session = Session(self.client, template="python")
        self.addCleanup(session.kill)
        for name, (leave, find) in INTERPRETER.items():
            with self.subTest(name):
                context = session.post("/contexts", status=201, language="python")["id"]
                self.assertIsNone(session.code(leave, context=context)["error"])
                looked = session.code(find, context=context)
                self.assertIn("found", looked["stdout"], ("the control: between two cells of one context", looked))
                first = self.python(leave)
                self.assertEqual(first["exit_code"], 0, first)
                again = self.comes_back(sandbox_of(first), find)
                self.assertIsNotNone(again, "no run came back to look")

    def test_descriptors_and_processes_are_those_of_a_fresh_run(self):
        look = ("import os\nprint(sorted((fd, os.readlink('/proc/self/fd/' + fd).split(':')[0]) for fd in os.listdir('/proc/self/fd')\n"
                "      if os.path.lexists('/proc/self/fd/' + fd)), sorted(filter(str.isdigit, os.listdir('/proc'))))\n"
                "print(sorted(line.split(' - ')[0].split()[3:6] for line in open('/proc/self/mountinfo') if '/proc' in line))\n")
        fresh = self.client.python(look)["stdout"]
        first = self.python(look)
        again = self.comes_back(sandbox_of(first), look)
        self.assertEqual(again["stdout"].split("\n", 1)[1], fresh)

    # --- what ends a sandbox ----------------------------------------------------------------------

    def test_what_did_not_end_in_order_is_not_used_again(self):
        cases = {
            "a signal": ("import os\nos.kill(os.getpid(), 9)", {}),
            "abort": ("import os\nos.abort()", {}),
            "its time": ("while True: pass", {"timeout_ms": 700}),
            "its CPU time": ("while True: pass", {"cpu_ms": 300}),
        }
        for name, (code, profile) in cases.items():
            with self.subTest(name):
                first = self.python(f"import sys; sys.stdout.flush()\n{code}", profile=profile)
                self.assertNotEqual(first["exit_code"], 0)
                self.assertIsNone(self.comes_back(sandbox_of(first), profile=profile))

    def test_memory(self):
        profile = {"memory_mb": 64, "disk_mb": 16}
        first = self.python("import sys; sys.stdout.flush()\ndata = [bytearray(b'x' * (1 << 20)) for _ in range(400)]",
                            profile=profile)
        if first["oom_killed"]:
            self.assertIsNone(self.comes_back(sandbox_of(first), profile=profile))
        else:
            self.assertEqual(first["error"]["name"], "MemoryError", first)

    def test_a_run_that_only_says_that_it_has_ended(self):
        # The runtime's last line, forged; then all its pipes closed; and then it goes on.
        first = self.python("import os, sys, time\nsys.stdout.flush()\n"
                            "os.write(100, b'{\"type\":\"exit\",\"code\":0}\\n')\n"
                            "for fd in (0, 1, 2, 100): os.close(fd)\nwhile True: time.sleep(1)")
        self.assertEqual(first["exit_code"], 0, "its own word")
        self.assert_thrown_away(first)

    def test_sockets_in_flight_take_the_sandbox_with_them(self):
        session = Session(self.client, template="python")
        self.addCleanup(session.kill)
        one_after_the_other = ("import os\nfor _ in range(20):\n    if os.fork() == 0:\n        exec(LEAVE)\n        os._exit(0)\n"
                               "    os.wait()\n    exec(FIND)\n")
        looked = session.exec("python3", "-c", f"LEAVE = {SOCKETS_IN_FLIGHT!r}\nFIND = {FIND_SOCKETS!r}\n" + one_after_the_other)
        self.assertIn("found", looked["stdout"], ("the control: two processes, one after the other", looked))
        first = self.python(SOCKETS_IN_FLIGHT)
        self.assertEqual(first["exit_code"], 0, first)
        self.comes_back(sandbox_of(first), FIND_SOCKETS)

    def test_sockets_in_order_cost_no_sandbox(self):
        first = self.python("import socket\nserver = socket.create_server(('127.0.0.1', 4711))\n"
                            "client = socket.create_connection(('127.0.0.1', 4711)); peer = server.accept()[0]\n"
                            "client.sendall(b'x' * 100_000); assert peer.recv(1) == b'x'\n"
                            "one, other = socket.socketpair(); one.send(b'x')\n")
        self.assertEqual(first["exit_code"], 0, first)
        self.assertIsNotNone(self.comes_back(sandbox_of(first)))

    def test_the_times_of_terminals(self):
        first = self.python("import os\nos.openpty(); os.utime('/dev/pts/ptmx')")
        self.assertEqual(first["exit_code"], 0, first)
        times = "import os\nprint('times', os.stat('/dev/pts/ptmx').st_mtime, os.stat('/dev/pts').st_mtime)"
        self.assertIn("times 0.0 0.0\n", self.comes_back(sandbox_of(first), times)["stdout"])

    def test_descriptors_in_flight(self):
        # A socket that is only in its own queue, with a file of the scratch: nothing can reach it.
        first = self.python("import array, os, socket\nfile = os.open('/tmp/kept', os.O_CREAT | os.O_RDWR)\n"
                            "a, b = socket.socketpair()\n"
                            "a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [file, a.fileno(), b.fileno()]))])\n")
        self.assertEqual(first["exit_code"], 0, first)
        # Cleaned or thrown away; comes_back() fails if anything is found.
        self.comes_back(sandbox_of(first), "import os\nif os.listdir('/tmp'): print('found')\n")

    def test_the_agent_is_out_of_reach(self):
        attack = """
import ctypes, os
libc = ctypes.CDLL("libc.so.6", use_errno=True)
got = []
for what in ("mem", "maps", "environ", "fd", "cwd", "root", "exe", "ns/mnt"):
    try:
        path = f"/proc/1/{what}"
        os.listdir(path) if what == "fd" else os.readlink(path) if what in ("cwd", "root", "exe", "ns/mnt") else open(path, "rb").read(1)
        got.append(what)
    except OSError: pass
if libc.ptrace(16, 1, None, None) == 0: got.append("ptrace")
for call in (lambda: os.kill(1, 9), lambda: os.kill(1, 19), lambda: os.kill(1, 10)):
    try: call(); got.append("kill")
    except OSError: pass
try: open("/proc/sys/kernel/ns_last_pid", "w").write("100"); got.append("ns_last_pid")
except OSError: pass
for place in ("/tmp", "/home", "/dev/shm", "/var/tmp"):
    if libc.umount2(place.encode(), 2) == 0: got.append("umount")
    if libc.mount(b"/etc", place.encode(), None, 4096, None) == 0: got.append("mount")
print("got", got)
"""
        first = self.python(attack)
        self.assertIn("got []", first["stdout"], first)
        again = self.comes_back(sandbox_of(first), attack)
        self.assertIn("got []", again["stdout"])

    # --- what is refused --------------------------------------------------------------------------

    def test_refusals(self):
        code = {"language": "python", "code": "1"}
        cases = [
            ({**code, "profile": {"reuse": "always"}}, "must be never, sandbox or interpreter"),
            ({**code, "profile": REUSE, "cold": True}, "cold"),
            ({"command": ["true"], "profile": REUSE}, "only Python code"),
            ({"language": "shell", "code": "true", "profile": REUSE}, "only Python code"),
            ({**code, "profile": {**REUSE, "net": "all"}}, "network"),
            ({**code, "profile": {**REUSE, "mounts": [{"name": "x", "path": "/data", "mode": "rw"}]}}, "mount"),
            ({**code, "profile": {**REUSE, "mounts": [{"name": "x", "path": "/tmp/x"}]}}, "/tmp/x"),
        ]
        for body, word in cases:
            with self.subTest(word):
                answer = self.client.call("POST", "/v1/run", body)
                self.assert_refused(answer, 400, "invalid_argument")
                self.assertIn("profile.reuse", answer.json["error"]["message"])
                self.assertIn(word, answer.json["error"]["message"])
        answer = self.client.call("POST", "/v1/sandboxes", {"profile": REUSE})
        self.assertEqual(answer.status, 400, answer)
        self.assertIn("profile.reuse", answer.json["error"]["message"])
        self.assertEqual(self.client.python("1", profile={"reuse": "never"})["exit_code"], 0)


if __name__ == "__main__":
    sealed.main()
