# The attack table inside sessions, for servers of root and of ordinary users: a mix-in for test cases
# that have `client`, one of the server's clients. A session's walls differ from a run's in what `sudo`
# and package managers need, and only in that: the rows that are about it are named here with the
# reason, everything else must hold as in a run.
import os

from attack_rows import ATTACKS, DENIED, KILLED_BY_FILTER, AttackTargets, kernel_lacks, rows
from session import Session


OWN = "its own upper half of the overlay: the host's file below is as it was"
ROOT = "root inside may, over its own sandbox"
SUDO = "sudo could not work otherwise"
# What a session gives on purpose, and why that is no way out.
GIVEN = {
    "user": {"privilege_kept_capabilities": "the bounding set: " + SUDO, "privilege_new_on_exec": SUDO,
             "privilege_setuid_program": SUDO},
    "root": {"privilege_kept_capabilities": ROOT, "privilege_new_on_exec": SUDO, "privilege_setuid_root": ROOT,
             "privilege_setgid_root": ROOT, "privilege_setgroups": ROOT, "file_chown_to_root": ROOT,
             "file_capabilities": ROOT, "file_proc_self_fd_reopen": OWN, "file_usr_exe_overwrite": OWN,
             "file_write_usr": OWN, "file_write_passwd": OWN, "file_create_in_etc": OWN,
             "namespace_override_landlock": OWN,
             # Signals that PID 1 of a pid namespace has no handler for do not reach it from inside.
             "agent_kill": "it may ask; see test_nobody_reaches_the_agent",
             "agent_pidfd_signal": "it may ask; see test_nobody_reaches_the_agent"},
}


def profile_of(flags):
    """A profile for flags of `glovebox run`."""
    words = dict(zip(flags[::2], flags[1::2]))
    units = {"K": 1 / 1024, "M": 1, "G": 1024}
    size = lambda text: int(int(text[:-1]) * units[text[-1]])  # noqa: E731
    known = {"--memory": ("memory_mb", size), "--disk": ("disk_mb", size), "--pids": ("pids", int),
             "--cpus": ("cpus", float)}
    profile = {known[flag][0]: known[flag][1](value) for flag, value in words.items() if flag in known}
    # Memory and disk are bounded together: a small disk, so that the row meets its bound on memory.
    return {"disk_mb": 16, **profile}


class SessionAttacks:
    given = GIVEN

    def setUp(self):
        super().setUp()
        self.targets = AttackTargets(self)
        with open(ATTACKS, "rb") as file:
            self.program = file.read()

    def session(self, **fields):
        made = Session(self.client, **fields)
        self.addCleanup(made.kill)
        made.put("/tmp/a", self.program, mode="0755")
        return made

    def attack(self, session, row, user, *more):
        done = session.exec("/tmp/a", row["name"], *more, *self.targets.arguments(row), user=user, timeout_ms=30000)
        self.assertNotIn(self.targets.canary, done["stdout"] + done["stderr"], "it printed what lies outside")
        return done

    def probes_hold_for(self, user):
        session = self.session()
        held = 0
        for row in rows():
            if row["kind"] != "probe" or row["name"] in self.given[user]:
                continue
            with self.subTest(row=row["name"], user=user):
                if kernel_lacks(self.targets, row):
                    continue
                done = self.attack(session, row, user)
                if done["exit_code"] not in (DENIED, 128 + KILLED_BY_FILTER) and session.state != "running":
                    session = self.session()
                self.assertIn(done["exit_code"], (DENIED, 128 + KILLED_BY_FILTER), done)
                held += 1
        self.assertGreater(held, 140)

    def test_probes_as_user(self):
        self.probes_hold_for("user")

    def test_probes_as_root(self):
        self.probes_hold_for("root")

    def test_what_is_given_is_given_and_the_host_is_as_it_was(self):
        session = self.session()
        named = {row["name"]: row for row in rows()}
        kept = {path: self.stat(path) for path in ("/usr/lib/os-release", "/etc/passwd", "/usr/bin/cat")}
        for user, given in self.given.items():
            for name in given:
                with self.subTest(row=name, user=user):
                    done = self.attack(session, named[name], user)
                    self.assertNotEqual(done["exit_code"], DENIED, "no longer an exception: take it off the list")
        session.shell("echo changed > /usr/lib/os-release; echo changed > /etc/passwd; rm -f /usr/bin/cat", user="root")
        self.assertEqual(kept, {path: self.stat(path) for path in kept})

    @staticmethod
    def stat(path):
        found = os.stat(path)
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode, found.st_uid

    def test_nobody_reaches_the_agent(self):
        session = self.session()
        for user in ("user", "root"):
            for line in ("cat /proc/1/environ", "cat /proc/1/maps", "cat /proc/1/mem", "ls -l /proc/1/fd/",
                         "ls /proc/1/root/", "ls /proc/1/cwd/", "readlink /proc/1/exe", "cat /proc/1/stack",
                         "echo 1000 > /proc/1/oom_score_adj", "cat /proc/1/syscall"):
                with self.subTest(user=user, line=line):
                    done = session.shell(line, user=user)
                    self.assertNotEqual(done["exit_code"], 0, done)
            done = session.exec("/usr/bin/python3", "-c", AGENT_ATTACKS, user=user)
            self.assertEqual(done["stdout"].split(), ["denied"] * 5, done)
            self.assertEqual(session.shell("kill -9 1; kill -STOP 1; kill -TERM 1; echo $?", user=user)["exit_code"], 0)
            self.assertEqual(session.shell("echo here", user=user)["stdout"], "here\n")


class SessionBombs(SessionAttacks):
    """With cgroups around every session."""

    def test_bombs_end_in_their_session(self):
        tried = 0
        for row in rows():
            # Of a session there is no time limit to be ended by.
            if row["kind"] != "bomb" or set(row["outcome"]) <= {"timed_out", "truncated"}:
                continue
            with self.subTest(row=row["name"]), Session(self.client, profile=profile_of(row["limits"])) as session:
                session.put("/tmp/a", self.program, mode="0755")
                done = session.exec("/tmp/a", row["name"], *self.targets.arguments(row), timeout_ms=20000)
                # Some count what all their children got, one after the other: those were killed for it.
                if done["exit_code"] == 42 and "oom_killed" in row["outcome"]:
                    self.assertGreater(session.get("/metrics")["now"]["oom_kills"], 0, done)
                else:
                    self.assertNotEqual(done["exit_code"], 42, done)
                # Whatever it did, its agent lives and takes the next command, and so do others.
                after = session.shell("echo alive")
                self.assertEqual(after["stdout"], "alive\n", after)
                tried += 1
        self.assertGreater(tried, 8)


AGENT_ATTACKS = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def attempt(call):
    print("denied" if call() < 0 else "SUCCEEDED")
buffer = ctypes.create_string_buffer(16)
class Vec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
local, remote = Vec(ctypes.addressof(buffer), 16), Vec(0x400000, 16)
attempt(lambda: libc.ptrace(16, 1, 0, 0))                                    # PTRACE_ATTACH
attempt(lambda: libc.ptrace(0x4206, 1, 0, 0))                                # PTRACE_SEIZE
attempt(lambda: libc.process_vm_readv(1, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0))
pidfd = libc.syscall(434, 1, 0)
attempt(lambda: libc.syscall(438, pidfd, 3, 0))                              # pidfd_getfd
limit = (ctypes.c_ulong * 2)(1, 1)
attempt(lambda: libc.prlimit(1, 7, ctypes.byref(limit), None))               # its descriptors
"""
