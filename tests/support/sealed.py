# What the integration tests have in common. A test module's last line calls main() here, which
# first moves the whole test into namespaces of its own (pid, mount, with an empty /run/glovebox),
# so that "nothing is left" can be counted exactly, whatever else the host is doing.
import fcntl
import glob
import json
import os
import re
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import processes

BIN = os.environ.get("GLOVEBOX_BIN_DIR", "")
GLOVEBOX = os.path.join(BIN, "glovebox")
LAUNCHER = os.path.join(BIN, "glovebox-launcher")
STATE = "/run/glovebox"
# Files of a launcher's directory that stay on purpose.
KEPT = {"slices", "layers", "scratch"}
# For dd: touches 500 MB in a single call into the kernel. A program that runs code of its own
# between its pages can make the kernel read that code again and again, for seconds, before it
# gives up and kills; this cannot.
EAT_MEMORY = ["if=/dev/zero", "of=/dev/null", "bs=500M", "count=1"]
# Where tests that run at the same time keep what stands for their /run/glovebox, each in a
# directory of its own that it holds a lock on.
TESTS = "/run/glovebox-tests"
_outside_state = None
# Launchers whose cgroups were there before us: a test that was killed may have left them.
_earlier_launchers = set()
_own_state = ""


def main(network=False):
    """Runs the tests of the calling module in namespaces of their own; with `network` in a network
    namespace too, where only what test_internet.py makes can be reached."""
    if not BIN:
        sys.exit("GLOVEBOX_BIN_DIR must say where glovebox and glovebox-launcher are")
    if os.geteuid() != 0:
        print("skipped: the integration tests make namespaces and need root")
        sys.exit(77)
    if os.environ.get("GBX_SEALED") is None:
        clean = environment({"GLOVEBOX_BIN_DIR": BIN, "GBX_SEALED": claim_state(),
                             "GBX_OUTER_NET": os.readlink("/proc/self/ns/net")})
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                   *(["--net"] if network else []), sys.executable, "-B"] + sys.argv
        os.execvpe(command[0], command, clean)
    global _outside_state, _own_state, _earlier_launchers
    open_to_others()
    _own_state = os.environ["GBX_SEALED"]
    _earlier_launchers = set(cgroups_by_path().values())
    os.makedirs(STATE, mode=0o700, exist_ok=True)
    _outside_state = os.open(STATE, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    subprocess.run(["mount", "--bind", _own_state, STATE], check=True)
    # Launchers outside lease uid slices too, and cannot see ours: start somewhere else.
    with open(os.path.join(STATE, "slices"), "wb") as slices:
        slices.seek(1 << 20)
        slices.write(struct.pack("<I", 64 + os.stat("/proc/self/ns/pid").st_ino % 1400))
    # This process is PID 1 here and only reaps; the tests run in its child.
    tests = os.fork()
    if tests != 0:
        while True:
            pid, status = os.wait()
            if pid == tests:
                close_to_others()
                sweep_state(_own_state)
                os._exit(os.waitstatus_to_exitcode(status) & 0xff)
    unittest.main(module="__main__")


def open_to_others():
    """Shows the programs where every user can reach them, for tests that run them as one: a clone may
    be in a directory that only its owner may enter, like /root."""
    global BIN, GLOVEBOX, LAUNCHER
    parents = [BIN]
    while parents[-1] != "/":
        parents.append(os.path.dirname(parents[-1]))
    if all(os.stat(path).st_mode & stat.S_IXOTH for path in parents):
        return
    # Not in /tmp: an ordinary user's sandbox cannot have a directory with mounts below it.
    shown = tempfile.mkdtemp(prefix="gbx-test-bin-", dir="/run")
    os.chmod(shown, 0o755)
    subprocess.run(["mount", "--bind", BIN, shown], check=True)
    BIN = shown
    GLOVEBOX, LAUNCHER = os.path.join(BIN, "glovebox"), os.path.join(BIN, "glovebox-launcher")


def close_to_others():
    if BIN != os.environ["GLOVEBOX_BIN_DIR"]:
        subprocess.run(["umount", "--lazy", BIN], check=True)
        os.rmdir(BIN)


def claim_state():
    """A directory for this test, locked as long as it runs. Cleans up after tests that were killed."""
    os.makedirs(TESTS, mode=0o700, exist_ok=True)
    # One at a time, or another test could take a directory that is made and not locked yet for one
    # that was left behind.
    turn = os.open(TESTS, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(turn, fcntl.LOCK_EX)
    for name in os.listdir(TESTS):
        path = os.path.join(TESTS, name)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            sweep_state(path)
        except BlockingIOError:
            pass
        finally:
            os.close(fd)
    made = tempfile.mkdtemp(dir=TESTS)
    lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.set_inheritable(lock, True)
    os.close(turn)
    return made


def sweep_state(path):
    for name in os.listdir(path):
        if name.startswith("ln"):
            for group in glob.glob(f"/sys/fs/cgroup/*/glovebox-{name}-*") + glob.glob(
                    f"/sys/fs/cgroup/glovebox-{name}-*"):
                for below, _, _ in os.walk(group, topdown=False):
                    try:
                        if os.path.exists(below + "/memory.force_empty"):
                            with open(below + "/memory.force_empty", "w") as file:
                                file.write("0")
                        os.rmdir(below)
                    except OSError:
                        pass
    shutil.rmtree(path, ignore_errors=True)


def wait_until(condition, seconds=20):
    """The first true value of condition(), polled; None if the time runs out."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            return None
        time.sleep(0.005)  # between two looks at the same thing, not in place of an event


# --- running glovebox ---------------------------------------------------------------------------

def environment(more=None):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GLOVEBOX")}
    clean.update(more or {})
    return clean


def glovebox(*args, stdin=b"", env=None, timeout=60, **more):
    """`glovebox ARGS`, to its end; output as bytes."""
    return subprocess.run([GLOVEBOX, *args], input=stdin, capture_output=True, timeout=timeout,
                          env=environment(env), **more)


def start(*args, env=None, **more):
    more.setdefault("stdin", subprocess.DEVNULL)
    more.setdefault("stdout", subprocess.PIPE)
    more.setdefault("stderr", subprocess.PIPE)
    return subprocess.Popen([GLOVEBOX, *args], env=environment(env), **more)


def run_json(*args, **more):
    ran = glovebox("run", "--json", *args, **more)
    return ran, json.loads(ran.stdout)


def read_line(pipe, seconds=20):
    """One line of a pipe, or what came of it until the deadline."""
    line = b""
    deadline = time.monotonic() + seconds
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([pipe], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return line
        byte = os.read(pipe.fileno(), 1)
        if not byte:
            return line
        line += byte
    return line


# --- what is on the host ------------------------------------------------------------------------

def other_processes():
    """{pid: Process} in the test's own pid namespace besides PID 1 and this one, zombies too."""
    return {pid: process for pid, process in processes.everyone().items() if pid not in (1, os.getpid())}


def end(pids):
    """Kills them, and waits until they have let go of everything: a launcher's directory is locked,
    and so is left alone by a sweep, until the last moment of its process."""
    pids = list(pids)
    processes.kill(pids)
    if not wait_until(lambda: not any(processes.is_alive(pid) for pid in pids)):
        raise AssertionError(f"they do not end: {pids}")


def mounts():
    with open("/proc/self/mountinfo") as file:
        return sorted(line.split()[4] + " " + line.split(" - ", 1)[1].strip() for line in file)


def hierarchies():
    with open("/proc/self/mountinfo") as file:
        lines = [line.split() for line in file]
    return sorted({words[4] for words in lines
                   if words[words.index("-") + 1] in ("cgroup", "cgroup2")})


def foreign_launchers():
    """Ids of launchers that are not this test's, but may run beside it."""
    found = set(os.listdir(_outside_state))
    for name in os.listdir(TESTS):
        path = os.path.join(TESTS, name)
        if path != _own_state:
            try:
                found |= set(os.listdir(path))
            except FileNotFoundError:
                pass
    return found


def directories(path):
    """Names of the cgroups below one; none of one that goes away meanwhile."""
    try:
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []


def cgroups_by_path():
    """Every launcher's cgroups, in every hierarchy, and whose they are: its sandboxes', and those
    above them (of all, of a tenant)."""
    found = {}
    left = hierarchies()
    while left:
        above = left.pop()
        for name in directories(above):
            match = re.fullmatch(r"glovebox-(ln[a-z0-9]{20})-.*", name)
            if match:
                found[os.path.join(above, name)] = match.group(1)
                left.append(os.path.join(above, name))
    return found


def cgroups():
    """Cgroups of this test's launchers, in every hierarchy. What is above the sandboxes of a
    launcher stays as long as the launcher, and counts only when that has gone."""
    found = cgroups_by_path()
    # Asked for afterwards, because a launcher's directory is there before its cgroups and after.
    foreign = foreign_launchers() | _earlier_launchers
    living = files()
    return {path for path, launcher in found.items() if launcher not in foreign and not (
        launcher in living and re.search(r"-(all|family|t[0-9a-f]+)$", path))}


def sandboxes():
    """Ids of this test's sandboxes, by their cgroups."""
    return {match.group(1) for path in cgroups() if (match := re.search(r"-(sb[a-z0-9]{20})$", path))}


def kernel_cgroups():
    """How many cgroups the kernel keeps besides the sandboxes' that can be seen, by controller."""
    paths = list(cgroups_by_path())
    seen = {root: sum(path.startswith(root + "/") for path in paths) for root in hierarchies()}
    unified = [root for root in seen if os.path.exists(os.path.join(root, "cgroup.controllers"))]
    counts = {}
    with open("/proc/cgroups") as file:
        for line in file:
            if not line.startswith("#"):
                name, _, count, _ = line.split()
                places = [root for root in seen if name in os.path.basename(root).split(",")]
                counts[name] = int(count) - sum(seen[root] for root in (places or unified)[:1])
    return counts


def namespaces():
    """Every namespace that a process of the test's own is in or holds open."""
    found = set()
    for process in processes.everyone().values():
        found.update(process.namespaces().values())
        found.update(target for target in process.files().values()
                     if re.fullmatch(r"(user|pid|mnt|net|ipc|uts|cgroup|time):\[\d+\]", target))
    return found


def files():
    """What launchers left in their directory."""
    return {name for name in os.listdir(STATE) if name not in KEPT}


def open_files(pid=None):
    """How many descriptors a process has open, this one if no other is named."""
    return len(processes.living(os.getpid() if pid is None else pid).files())


class Nothing:
    """What was there before; still_there() says what has come since and has not gone again."""

    def __init__(self):
        self.processes = set(other_processes())
        self.mounts = mounts()
        self.cgroups = cgroups()
        self.namespaces = namespaces()
        self.files = files()
        self.open_files = open_files()

    def still_there(self, seconds=20):
        left = []

        def all_gone():
            left.clear()
            left.extend(f"process {pid} ({process.name})" for pid, process in other_processes().items()
                        if pid not in self.processes)
            left.extend(f"mount {line}" for line in set(mounts()) - set(self.mounts))
            left.extend(f"cgroup {path}" for path in cgroups() - self.cgroups)
            left.extend(f"namespace {name}" for name in namespaces() - self.namespaces)
            left.extend(f"file {name}" for name in files() - self.files)
            if open_files() > self.open_files:
                left.append("descriptors of the test's own")
            return not left

        wait_until(all_gone, seconds)
        return sorted(left)


class TestCase(unittest.TestCase):
    """Checks after every test that nothing of a sandbox is left."""
    maxDiff = None

    def setUp(self):
        self.before = Nothing()
        self.addCleanup(self.assert_nothing_left)

    def assert_nothing_left(self, seconds=20):
        self.assertEqual(self.before.still_there(seconds), [])

    def directory(self, owner=0):
        made = tempfile.TemporaryDirectory(prefix="gbx-test-")
        self.addCleanup(made.cleanup)
        os.chmod(made.name, 0o755)
        os.chown(made.name, owner, owner)
        return made.name

    def assert_one_line(self, text, about=""):
        self.assertTrue(text.startswith(b"glovebox: "), (about, text))
        self.assertEqual(text.count(b"\n"), 1, (about, text))
        self.assertTrue(text.endswith(b"\n"), (about, text))

    def finish(self, process, seconds=30):
        """Waits for a started glovebox; its output as (stdout, stderr)."""
        try:
            return process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise


def listens(path):
    """Whether a launcher takes connections there. That the socket is there does not say so yet."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        return client.connect_ex(path) == 0


# --- a launcher of the test's own ---------------------------------------------------------------

class SharedLauncher:
    """`glovebox-launcher --listen` in a directory of its own; ended with stop()."""

    def __init__(self, directory, policy=None):
        self.path = os.path.join(directory, "launcher.sock")
        command = [LAUNCHER, "--listen", self.path]
        if policy is not None:
            policy_path = os.path.join(directory, "policy.toml")
            with open(policy_path, "w") as file:
                file.write(policy)
            command += ["--policy", policy_path]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env=environment())
        if not wait_until(lambda: self.answers() or self.process.poll() is not None):
            raise AssertionError("the launcher does not listen")
        if self.process.poll() is not None:
            raise AssertionError("the launcher ended by itself")

    def answers(self):
        return listens(self.path)

    @property
    def pid(self):
        return self.process.pid

    def environment(self):
        return {"GLOVEBOX_LAUNCHER": self.path}

    def connect(self):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.settimeout(20)
        try:
            client.connect(self.path)
        except OSError:
            client.close()
            raise
        return client

    def settled_descriptors(self):
        """How many it has open when no client uses it: no sandbox but the one it keeps ready."""
        seen = []

        def quiet():
            seen.append(open_files(self.pid) if len(sandboxes()) <= 1 else None)
            return seen[-1] is not None and len(seen) >= 10 and len(set(seen[-10:])) == 1

        return seen[-1] if wait_until(quiet) else None

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(timeout=20)
