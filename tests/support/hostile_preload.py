# Code that a hostile dependency would run inside a zygote, as text: it becomes the preload module
# of a template. PRELUDE is what all of them use; PROBES try one wall each, where they stand, and can
# be run on the host as well, where they must succeed.
PRELUDE = '''
import array, ctypes, errno, json, os, select, signal, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
NAMESPACES = (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x4000000, 0x2000000)
PLACES = 6

def call(function, *arguments):
    ctypes.set_errno(0)
    if getattr(libc, function)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), function)

def launcher():
    return socket.socket(fileno=os.dup(3))

def receive(one):
    """A message with its descriptors."""
    data, ancillary, _, _ = one.recvmsg(9000, socket.CMSG_SPACE(4 * 40))
    fds = array.array("i")
    for _, _, rights in ancillary:
        fds.frombytes(rights)
    return data, list(fds)

def close(fds):
    for fd in fds:
        os.close(fd)

def say_ready_alone(one):
    """A runtime that is not alone when it says so is refused; what comes next shows that it was believed."""
    one.send(b"R")
    select.select([one], [], [])

def between(on_join):
    """Stands between the launcher and the real serve(): sees every sandbox's descriptors first."""
    native = sys.modules["_glovebox_zygote"]
    real = native.serve
    def serve(fd, *calls):
        inner, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        outer = launcher()
        say_ready_alone(outer)
        if libc.fork() == 0:
            theirs.close()
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            while True:
                for one in select.select([outer, inner], [], [])[0]:
                    data, fds = receive(one)
                    if not data:
                        os._exit(0)
                    if one is inner and data == b"R":
                        continue  # it was said
                    if one is outer:
                        on_join(data, fds)
                    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
                    (inner if one is outer else outer).sendmsg([data], rights)
                    close(fds)
        inner.close()
        outer.close()
        os.close(3)
        real(theirs.fileno(), *calls)
    native.serve = serve

def enter(data, fds):
    for fd in fds[7:7 + data[1]]:
        os.write(fd, b"0")
    for fd, kind in zip(fds, NAMESPACES):
        call("setns", fd, kind)

def allow_everything():
    """A filter that counts as one and filters nothing."""
    code = ctypes.create_string_buffer(struct.pack("<HBBI", 6, 0, 0, 0x7fff0000))
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", 1, ctypes.addressof(code)))
    call("syscall", 317, 1, 0, ctypes.byref(program))

def join_by_hand(data, fds, skip=()):
    """What the native part does, in Python, and less of it: `skip` names what is left out."""
    if libc.fork() != 0:
        return
    enter(data, fds)
    if "shim" in skip or libc.fork() == 0:
        if libc.fork() != 0:
            if "shim" in skip:
                time.sleep(1000)
            os._exit(0)
        places = fds[7 + data[1]:]
        high = [os.dup2(fd, 80 + at) for at, fd in enumerate(places)]
        for at, fd in enumerate(high):
            os.dup2(fd, at)
        os.closerange(len(places), 4096)
        while os.getppid() != 1 and "shim" not in skip:
            time.sleep(0.001)
        os.setsid()
        os.chdir("/")
        if "user" not in skip:
            os.setgroups([] if "groups" not in skip else [27])
            os.setresgid(*[0 if "group" in skip else 1000] * 3)
            libc.prctl(8, 1, 0, 0, 0)  # keep capabilities over the change of user
            os.setresuid(1000, 1000, 1000)
        kept = 0 if "capabilities" not in skip else 0xffffffff
        held = 0 if "permitted" not in skip else 1
        # effective, permitted, inheritable; twice
        header = struct.pack("<Ii", 0x20080522, 0)
        sets = struct.pack("<6I", kept, kept | held, 0, kept & 0x1ff, kept & 0x1ff, 0)
        call("capset", header, sets)
        if "privileges" not in skip:
            call("prctl", 38, 1, 0, 0, 0)
        if "filters" not in skip:
            allow_everything()
            allow_everything()
        if "alone" in skip and libc.fork() == 0:
            time.sleep(1000)
        if "traced" in skip:
            libc.ptrace(0, 0, 0, 0)
        libc.prctl(4, 1, 0, 0, 0)
        os.write(5, b"r")
        os.read(5, 1)
        os.write(1, b"by hand\\n")
        os._exit(0)
    os._exit(0)

def serve_by_hand(skip=()):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    one = socket.socket(fileno=3)
    one.send(b"R")
    while True:
        data, fds = receive(one)
        if not data:
            os._exit(0)
        join_by_hand(data, fds, skip)
        close(fds)
'''

# Each: a function that returns what it got, or raises.
PROBES = '''
def others():
    return [pid for pid in range(1, 400) if pid != os.getpid()]

def first_of(attempt, candidates):
    """What the first candidate gives that gives anything."""
    last = None
    for one in candidates:
        try:
            return attempt(one)
        except OSError as error:
            last = error
    raise last or OSError(errno.ESRCH, "nobody")

def read_a_host_file():
    return open(AIMS["canary"]).read()

def reach_a_host_file_through_a_process():
    return first_of(lambda pid: open("/proc/%d/root%s" % (pid, AIMS["canary"])).read(), others())

def see_other_processes():
    seen = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    if not seen: raise OSError(errno.ENOENT, "nobody")
    return seen

def signal_somebody():
    return first_of(lambda pid: os.kill(pid, 0) or pid, others())

def signal_by_handle():
    def attempt(pid):
        handle = os.pidfd_open(pid)
        try: signal.pidfd_send_signal(handle, 0)
        finally: os.close(handle)
        return pid
    return first_of(attempt, others())

def trace_somebody():
    def attempt(pid):
        call("ptrace", 0x4206, pid, 0, 0)
        return pid
    return first_of(attempt, others())

def read_somebodys_memory():
    def attempt(pid):
        os.close(os.open("/proc/%d/mem" % pid, os.O_RDONLY))
        return pid
    return first_of(attempt, others())

def read_somebodys_descriptors():
    return first_of(lambda pid: os.listdir("/proc/%d/fd" % pid), others())

def read_somebodys_environment():
    def attempt(pid):
        os.close(os.open("/proc/%d/environ" % pid, os.O_RDONLY))
        return pid
    return first_of(attempt, others())

def enter_somebodys_namespaces():
    def attempt(pid):
        fd = os.open("/proc/%d/ns/mnt" % pid, os.O_RDONLY)
        try: call("setns", fd, 0x20000)
        finally: os.close(fd)
        return pid
    return in_a_child(lambda: first_of(attempt, others()))

def in_a_child(what):
    """What would change us: whether it works, from a child's exit status."""
    child = os.fork()
    if child == 0:
        try:
            what()
            os._exit(42)
        except OSError as error:
            os._exit(error.errno % 40)
        except BaseException:
            os._exit(41)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 42: raise OSError(status, "in a child")
    return "in a child"

def make_a_user_namespace():
    return in_a_child(lambda: call("unshare", 0x10000000))

def make_a_mount_namespace():
    return in_a_child(lambda: call("unshare", 0x20000))

def make_a_network_namespace():
    return in_a_child(lambda: call("unshare", 0x40000000))

def clone_into_new_namespaces():
    def attempt():
        flags = 0x10000000 | 0x20000000 | 17
        pid = libc.syscall(56, flags, 0, 0, 0, 0)
        if pid == 0: os._exit(0)
        if pid < 0: raise OSError(ctypes.get_errno(), "clone")
    return in_a_child(attempt)

def mount_something():
    def attempt():
        if AIMS["outside"]: call("unshare", 0x20000)
        call("mount", b"none", b"/tmp", b"tmpfs", 0, None)
    return in_a_child(attempt)

def change_the_root():
    return in_a_child(lambda: os.chroot("/tmp"))

def become_root():
    if os.getuid() == 0: return "root"
    return in_a_child(lambda: os.setresuid(0, 0, 0))

def hold_a_capability():
    for line in open("/proc/self/status"):
        if line.startswith(("CapEff", "CapPrm", "CapBnd")) and int(line.split()[1], 16): return line
    raise OSError(errno.EPERM, "none")

def connect_to_the_hosts_loopback():
    with socket.create_connection(("127.0.0.1", AIMS["port"]), 2): return "connected"

def connect_to_an_abstract_name():
    with socket.socket(socket.AF_UNIX) as one:
        one.connect("\\0" + AIMS["abstract"])
        return "connected"

def connect_to_the_launcher():
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
        one.connect(AIMS["launcher"])
        return "connected"

def write_where_others_read():
    def attempt(path):
        with open(path, "r+b") as file: file.write(b"#")
        return path
    return first_of(attempt, AIMS["read_only"])

def add_where_others_read():
    def attempt(path):
        with open(path + "/added", "w") as file: file.write("#")
        return path
    return first_of(attempt, AIMS["read_only_places"])

def see_cgroups():
    return first_of(lambda path: os.listdir(path), ["/sys/fs/cgroup/memory", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup"])

def change_a_kernel_setting():
    path = "/proc/sys/kernel/core_pattern"
    with open(path, "r+") as file: file.write(open(path).read())
    return path

def raise_its_priority():
    return in_a_child(lambda: os.nice(-5))

def hold_a_child_at_its_exit():
    # A tracee that stops at its exit does not die until its tracer lets it: two that trace each
    # other never would. One is enough to see, and it is let go.
    libc.prctl(4, 1, 0, 0, 0)  # dumpable, which a zygote is not, but may become
    child = os.fork()
    if child == 0:
        time.sleep(1000)
    try:
        call("ptrace", 0x4206, child, 0, 0x40)  # PTRACE_SEIZE with PTRACE_O_TRACEEXIT
        return child
    finally:
        os.kill(child, signal.SIGKILL)
        while not os.WIFSIGNALED(os.waitpid(child, 0x40000000)[1]):
            libc.ptrace(7, child, 0, 0)  # go on

def all_probes():
    names = [name for name, value in list(globals().items())
             if callable(value) and getattr(value, "__module__", None) == __name__ and name not in HELPERS]
    found = {}
    for name in names:
        try: found[name] = [True, repr(globals()[name]())[:60]]
        except OSError as error: found[name] = [False, str(error)[:60]]
    return found
'''

# What a probe is not.
HELPERS = 'HELPERS = set(globals()) | {"others", "first_of", "in_a_child", "all_probes", "HELPERS"}\n'


def probes(aims, at_end):
    return PRELUDE + f"AIMS = {aims!r}\n" + HELPERS + PROBES + at_end


AFTER = {  # what a zygote that its preload took over does once it is ready
    "garbage": "one = launcher(); one.send(b'R'); one.send(bytes(range(256))); time.sleep(1000)",
    "huge": "one = launcher(); one.send(b'R'); one.send(b'E' * 100_000); time.sleep(1000)",
    "empty": "one = launcher(); one.send(b'R'); one.send(b''); time.sleep(1000)",
    "ready-twice": "one = launcher(); one.send(b'R'); one.send(b'R'); time.sleep(1000)",
    "plan": "one = launcher(); one.send(b'R'); one.send(bytes([2, 5]) + bytes(60)); time.sleep(1000)",
    "gifts": "one = launcher(); one.send(b'R')\nwhile True:\n  one.sendmsg([b'E'], [(socket.SOL_SOCKET,"
             " socket.SCM_RIGHTS, array.array('i', [0, 1, 2]))])\n  time.sleep(.01)",
    "flood": "one = launcher(); one.send(b'R'); libc.fork(); libc.fork()\nwhile True: one.send(b'Eeeeeeeeeeeee')",
    "mute": "one = launcher(); one.send(b'R'); time.sleep(1000)",
    "dies-at-once": "one = launcher(); one.send(b'R'); os._exit(0)",
    "dies-at-join": "one = socket.socket(fileno=3); one.send(b'R'); receive(one); os._exit(0)",
    "ends-in-cgroup": "one = socket.socket(fileno=3); one.send(b'R'); data, fds = receive(one)\n"
                      "[os.write(fd, b'0') for fd in fds[7:7 + data[1]]]; os._exit(0)",
    "ends-inside": "one = socket.socket(fileno=3); one.send(b'R'); data, fds = receive(one); enter(data, fds); os._exit(0)",
    "child-ends": "one = socket.socket(fileno=3); one.send(b'R')\nwhile True:\n  data, fds = receive(one)\n"
                  "  if libc.fork() == 0:\n    enter(data, fds)\n    if libc.fork() == 0: os._exit(0)\n    os._exit(0)\n  close(fds)",
    "never": "time.sleep(1000)",
    "says-failed": "one = launcher(); one.send(b'F' + b'\\x1b[2J\\xff\\n' * 100); time.sleep(1000)",
}

STOPS_INIT = '''
one = launcher(); one.send(b"R")
me = os.getpid()
while True:
    for pid in range(me + 1, me + 30): libc.kill(pid, %d)
'''
# The process that makes a sandbox's first process must never be traced: reports if it was.
TRACES_INIT = '''
one = launcher(); one.send(b"R")
me = os.getpid()
while True:
    for pid in range(me + 1, me + 12):
        if libc.ptrace(0x4206, pid, 0, 0) == 0:
            one.send(b"FTRACED " + open("/proc/%d/status" % pid, "rb").read()[:7000])
            time.sleep(1000)
'''
LOOKS_INTO_INIT = '''
one = launcher(); one.send(b"R")
me = os.getpid()
while True:
    for pid in range(me + 1, me + 12):
        for name in ("mem", "fd/0", "root/proc", "environ", "ns/mnt"):
            try: fd = os.open("/proc/%d/%s" % (pid, name), os.O_RDONLY)
            except OSError: continue
            one.send(b"FLOOKED " + name.encode())
            time.sleep(1000)
'''
STAYS_IN_CGROUP = '''
def on_join(data, fds):
    if libc.fork() == 0:
        for fd in fds[7:7 + data[1]]: os.write(fd, b"0")
        close(fds)
        time.sleep(1000)
between(on_join)
'''
STAYS_IN_NAMESPACES = '''
def on_join(data, fds):
    if libc.fork() == 0:
        enter(data, fds)
        close(fds)
        time.sleep(1000)
between(on_join)
'''
MOVES_THE_BROKER = '''
def on_join(data, fds):
    for fd in fds[7:7 + data[1]]:
        for pid in (b"1", b"2"):
            try: os.write(fd, pid)
            except OSError: pass
between(on_join)
'''
LEAVES_CHILDREN = '''
for _ in range(5):
    if libc.fork() == 0:
        os.close(3)
        time.sleep(1000)
'''
LEAVES_CHILDREN_LATER = "say_ready_alone(launcher())" + LEAVES_CHILDREN + "time.sleep(1000)\n"
# A helper that traces the guests, so that they stop when they are killed.
HOLDS_GUESTS = '''
first = os.getpid()
def on_join(data, fds):
    if libc.fork() == 0:
        os.close(3)
        close(fds)
        me, held = os.getpid(), set()
        while True:
            for pid in range(first + 1, me + 40):
                if pid not in held and pid != me and libc.ptrace(0x4206, pid, 0, 0x40) == 0: held.add(pid)
            time.sleep(0.001)
between(on_join)
'''
HOLDS_ITSELF = '''
one, me = launcher(), os.getpid()
libc.prctl(4, 1, 0, 0, 0)
say_ready_alone(one)
if libc.fork() == 0:
    libc.ptrace(0x4206, me, 0, 0x40)
time.sleep(1000)
'''
