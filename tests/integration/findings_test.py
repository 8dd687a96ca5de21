# What a review by fresh eyes found and was mended: each would be there again without its mend.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
from sealed import glovebox
from session import Session


class CopyingOut(sealed.TestCase):
    def test_a_sparse_file_larger_than_the_disk_is_refused_and_nothing_is_left(self):
        place = self.directory()
        ran = glovebox("run", "--disk", "1M", "--out", f"/home/user/f:{place}/big",
                       "-c", "open('f', 'w').truncate(3 << 30)")
        self.assertEqual(ran.returncode, 125)
        self.assertIn(b"larger than the sandbox's disk", ran.stderr)
        self.assertEqual(os.listdir(place), [])

    def test_a_missing_file_does_not_hide_the_programs_own_status(self):
        place = self.directory()
        ran = glovebox("run", "--out", f"/home/user/f:{place}/f", "-c", "import sys; sys.exit(3)")
        self.assertEqual(ran.returncode, 3)
        self.assertIn(b"copy out", ran.stderr)


class WhatTheHostShares(sealed.TestCase):
    def guest_says(self, code, *flags):
        ran = glovebox("run", *flags, "-c", code)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout.decode().split()

    def test_no_netlink_no_odd_protocols_and_pairs_of_unix_sockets_only(self):
        said = self.guest_says(
            "import errno, socket\n"
            "def tried(make):\n"
            "    try: make()\n"
            "    except OSError as e: return errno.errorcode[e.errno]\n"
            "    return 'made'\n"
            "print(tried(lambda: socket.socket(16, socket.SOCK_RAW, 0)))\n"
            "print(tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)))\n"
            "print(tried(lambda: socket.socketpair(socket.AF_PACKET, socket.SOCK_RAW)))\n"
            "print(tried(lambda: socket.socketpair()))\n"
            "print(tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)))\n")
        self.assertEqual(said, ["EAFNOSUPPORT", "EPROTONOSUPPORT", "EAFNOSUPPORT", "made", "made"])

    def test_a_process_has_a_thousand_descriptors_and_no_way_to_more(self):
        said = self.guest_says("import resource; print(*resource.getrlimit(resource.RLIMIT_NOFILE))")
        self.assertEqual(said, ["1024", "1024"])


class Groups(sealed.TestCase):
    def test_a_system_group_of_a_mounted_directory_is_not_given_to_the_guest(self):
        place = self.directory()
        os.chown(place, 1234, 0)
        with open(f"{place}/secret", "w") as secret:
            secret.write("root's group only")
        os.chown(f"{place}/secret", 0, 0)
        os.chmod(f"{place}/secret", 0o640)
        ran = glovebox("run", "--mount", f"ro:{place}:/data", "--lang", "bash", "-c", "cat /data/secret")
        self.assertNotEqual(ran.returncode, 0)
        self.assertEqual(ran.stdout, b"")
        # Writable it would only be a puzzle, so it is refused with what to do.
        ran = glovebox("run", "--mount", f"rw:{place}:/data", "--exec", "/bin/true")
        self.assertEqual(ran.returncode, 125)
        self.assertIn(f"run `chown -R 1234:1234 {place}`".encode(), ran.stderr)

    def test_a_directory_of_the_system_is_not_to_be_given_away(self):
        for place in ("/tmp", "/etc", "/usr/share"):
            ran = glovebox("run", "--mount", f"rw:{place}:/data", "--exec", "/bin/true")
            self.assertEqual(ran.returncode, 125)
            self.assertIn(b"mount a directory of your own", ran.stderr)
            self.assertNotIn(b"chown", ran.stderr)

    def test_a_users_own_directory_is_written_as_that_user_and_group(self):
        place = self.directory()
        os.chown(place, 1234, 1234)
        ran = glovebox("run", "--mount", f"rw:{place}:/data", "--exec", "/usr/bin/touch", "--", "/data/new")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        made = os.stat(f"{place}/new")
        self.assertEqual((made.st_uid, made.st_gid), (1234, 1234))


class ProcessEngine(sealed.TestCase):
    def test_a_disk_limit_that_cannot_be_kept_is_refused(self):
        ran = glovebox("run", "--engine", "process", "--disk", "10M", "--exec", "/bin/true")
        self.assertEqual(ran.returncode, 125)
        self.assertIn(b"disk limit", ran.stderr)

    def test_modes_are_not_changed_by_name(self):
        ran = glovebox("run", "--engine", "process", "--exec", "/bin/sh", "--",
                       "-c", "echo x > f; chmod 600 f")
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn(b"not permitted", ran.stderr)


# Tells of every file below /dev that another process opens, and holds a lock on each.
WATCH_DEV = """
import ctypes, fcntl, os, struct
libc = ctypes.CDLL("libc.so.6", use_errno=True)
held = [open(f"/dev/{name}") for name in ("null", "zero", "full", "random", "urandom")]
for one in held: fcntl.flock(one, fcntl.LOCK_EX)
watch = libc.inotify_init1(0)
assert libc.inotify_add_watch(watch, b"/dev", 0x20) > 0
open("/tmp/ready", "w")
while True:
    events = os.read(watch, 4096)
    with open("/tmp/seen", "a") as seen:
        while events:
            size, = struct.unpack_from("I", events, 12)
            print(events[16:16 + size].rstrip(b"\\0").decode(), file=seen, flush=True)
            events = events[16 + size:]
"""
TAKE_LOCKS = """
import fcntl
for name in ("null", "zero", "full", "random", "urandom"):
    try: fcntl.flock(open(f"/dev/{name}"), fcntl.LOCK_EX | fcntl.LOCK_NB); print("free", name)
    except BlockingIOError: print("held", name)
"""


class Neighbours(server.Served):
    def test_nobody_sees_or_locks_the_devices_of_another_sandbox(self):
        watcher, neighbour = Session(self.client), Session(self.server.client(self.server.new_key(project="other")[0]))
        for one in (watcher, neighbour):
            self.addCleanup(one.kill)
        watcher.exec("sh", "-c", "cat > /tmp/watch.py", stdin=WATCH_DEV)
        watcher.start("python3 /tmp/watch.py")
        ready = lambda: watcher.shell("test -e /tmp/ready")["exit_code"] == 0
        self.assertTrue(sealed.wait_until(ready, 30))
        run = self.client.python("open('/dev/zero').close()\n" + TAKE_LOCKS)
        for said in (neighbour.exec("python3", "-c", "open('/dev/zero').close()\n" + TAKE_LOCKS)["stdout"], run["stdout"]):
            self.assertEqual(said.count("free"), 5, said)
        # The control: in the watcher's own sandbox.
        self.assertEqual(watcher.exec("python3", "-c", TAKE_LOCKS.replace('"zero", ', ""))["stdout"].count("held"), 4)
        seen = lambda: watcher.shell("cat /tmp/seen")["stdout"].split()
        self.assertTrue(sealed.wait_until(lambda: "full" in seen(), 30), seen())
        self.assertNotIn("zero", seen())


class FrontDoor(sealed.TestCase):
    # `make run` is the first command a newcomer types, and nothing else ran its example.
    def test_the_example_of_make_run_works(self):
        example = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "hello.py")
        ran = glovebox("run", example)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""))
        self.assertIn(b"1 network interface", ran.stdout)


if __name__ == "__main__":
    sealed.main()
