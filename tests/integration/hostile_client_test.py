# The launcher driven as a hostile client would: everything malformed is dropped, everything the
# policy does not allow is refused, good clients notice nothing, and nothing leaks.
import os
import socket
import stat
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import launcher_wire as wire
import sealed
from hostile import Hostile, POLICY


class Malformed(Hostile):
    def test_messages_are_dropped(self):
        good = wire.create()
        messages = [b"\0", b"\x01", b"\xff" * 100, b"GET / HTTP/1.1\r\n\r\n", b"{}", b"\x01\x01",
                    good + b"\0", good + good, b"\0" + good, wire.destroy(""), wire.destroy("x" * 22),
                    wire.destroy("sb" + "/" * 20), wire.destroy("sb../../../../../../.."),
                    wire.destroy("sb" + "a" * 19 + "\n"), wire.destroy("sb" + "a" * 20) + b"\0"]
        messages += [good[:size] for size in range(1, len(good))]
        messages += [wire.create(version=version) for version in (0, 1, 255)]
        messages += [wire.create(kind=kind) for kind in (0, 3, 9, 65, 66, 67, 255)]
        messages += [wire.create(engine=engine) for engine in (0, 3, 255)]
        messages += [wire.create(template="x" * 65),
                     wire.create(mounts=[(0, "/mnt")]), wire.create(mounts=[(3, "/mnt")]),
                     wire.create(mounts=[(wire.READ_ONLY, "")]),
                     wire.create(mounts=[(wire.READ_ONLY, "/a/../b")]),
                     wire.create(mounts=[(wire.READ_ONLY, "/a\0b")]),
                     wire.create(mounts=[(wire.READ_ONLY, "/" + "x" * 2000)]),
                     wire.create(mounts=[(wire.READ_ONLY, "/mnt")] * 17)]
        # A length that promises more than there is, or than there could be.
        messages += [struct.pack("<BBIBI", wire.VERSION, 1, 0, 2, size) + b"base" for size in (5, 0x7fffffff, 0xffffffff)]
        for bounds in ({"wall": 0}, {"memory": 0}, {"disk": 0}, {"pids": 0}, {"cpus": 0}, {"inodes": 0},
                       {"wall": 2**64 - 1}, {"memory": 2**64 - 1}, {"disk": 2**63}, {"cpu": 2**64 - 1}):
            messages.append(wire.create(bounds=wire.limits(**bounds)))
        for message in messages:
            self.assert_dropped(message)

    def test_messages_past_their_size_are_dropped(self):
        for size in (24 * 1024 + 1, 64 * 1024, 150 * 1024):
            self.assert_dropped(wire.create() + b"\0" * size)

    def test_messages_with_too_many_descriptors_are_dropped(self):
        null = os.open("/dev/null", os.O_RDONLY)
        self.addCleanup(os.close, null)
        for count in (19, 32, 33, 100, 253):
            self.assert_dropped(wire.create(), [null] * count)

    def test_dropped_descriptors_are_closed(self):
        ours, theirs = self.link()
        self.assert_dropped(b"nonsense", [theirs.fileno()])
        theirs.close()
        ours.settimeout(20)
        self.assertEqual(ours.recv(1), b"")  # no process holds the other end any more

    def test_a_client_that_drops_out_of_line_loses_its_sandboxes(self):
        client = self.client()
        ours, theirs = self.link()
        created = self.ask(wire.create(), [theirs.fileno()], client)
        self.assertEqual(created.kind, wire.CREATED, created)
        theirs.close()
        wire.send(client, b"nonsense")
        self.assertIsNone(wire.receive(client))
        ours.settimeout(20)
        self.assertEqual(ours.recv(1), b"")


class Descriptors(Hostile):
    def test_more_or_fewer_than_the_request_says_are_refused(self):
        ours, theirs = self.link()
        for count in (0, 2, 3, 17):
            self.assert_refused(self.ask(wire.create(), [theirs.fileno()] * count))
        mounts = [(wire.READ_ONLY, "/mnt")]
        for count in (0, 1, 3):
            self.assert_refused(self.ask(wire.create(mounts=mounts), [theirs.fileno()] * count))

    def test_a_link_that_is_no_socket_of_the_agreed_kind_is_refused(self):
        read_end, write_end = os.pipe()
        stream, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        internet = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        descriptors = {"a pipe's end": read_end, "a pipe's other end": write_end,
                       "a device": os.open("/dev/null", os.O_RDWR),
                       "a file": os.open("/etc/passwd", os.O_RDONLY),
                       "a place": os.open("/etc", os.O_PATH), "a stream": stream.detach(),
                       "a network socket": internet.detach()}
        other.close()
        for fd in descriptors.values():
            self.addCleanup(os.close, fd)
        for name, fd in descriptors.items():
            with self.subTest(link=name):
                self.assert_refused(self.ask(wire.create(), [fd]))

    SPECIAL, NAMELESS, KERNELS = "only directories and regular files", "no name", "kernel filesystem"

    def sources(self):
        """Things that are no plain file and no directory of the host's disks, and why they are refused.
        They belong to an ordinary user: what is root's is refused for that alone."""
        owner = 1399999999
        place = self.directory(owner)

        def owned(name):
            path = os.path.join(place, name)
            os.chown(path, owner, owner)
            return path

        os.mkfifo(os.path.join(place, "fifo"))
        os.mknod(os.path.join(place, "device"), 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        unix = socket.socket(socket.AF_UNIX)
        self.addCleanup(unix.close)
        unix.bind(os.path.join(place, "socket"))
        yield "a fifo", os.open(owned("fifo"), os.O_PATH), self.SPECIAL
        yield "a device", os.open(owned("device"), os.O_PATH), self.SPECIAL
        yield "the null device", os.open("/dev/null", os.O_RDWR), self.SPECIAL
        yield "a bound socket", os.open(owned("socket"), os.O_PATH), self.SPECIAL
        yield "an open socket", os.dup(unix.fileno()), self.SPECIAL
        read_end, write_end = os.pipe()
        os.close(write_end)
        yield "a pipe", read_end, self.SPECIAL
        yield "an event counter", os.eventfd(0), self.SPECIAL
        memory = os.memfd_create("x")
        os.fchown(memory, owner, owner)
        yield "a file in memory", memory, self.NAMELESS
        yield "/proc", os.open("/proc", os.O_PATH), self.KERNELS
        yield "a process's directory", os.open("/proc/self", os.O_PATH), self.KERNELS
        yield "a kernel setting", os.open("/proc/sys/kernel/hostname", os.O_PATH), self.KERNELS
        yield "a namespace", os.open("/proc/self/ns/mnt", os.O_RDONLY), self.KERNELS
        yield "/sys", os.open("/sys", os.O_PATH), self.KERNELS
        yield "a cgroup tree", os.open(sealed.hierarchies()[0], os.O_PATH), self.KERNELS

    def mount_by_descriptor(self, mode, guest, fd):
        _, theirs = self.link()
        client = self.client()
        reply = self.ask(wire.create(mounts=[(mode, guest)]), [theirs.fileno(), fd], client)
        client.close()
        return reply

    def test_of_the_wrong_kind_are_not_mounted(self):
        for name, fd, why in self.sources():
            for mode in (wire.READ_ONLY, wire.READ_WRITE):
                with self.subTest(source=name, mode=mode):
                    # A place that no sandbox has: nothing there could refuse the mount.
                    self.assert_refused(self.mount_by_descriptor(mode, "/fresh/place", fd), wire.POLICY, why)
            os.close(fd)

    def test_a_plain_file_of_that_user_is_mounted_there(self):
        place = self.directory(1399999999)
        path = os.path.join(place, "file")
        with open(path, "w"):
            pass
        os.chown(path, 1399999999, 1399999999)
        for source in (place, path):
            fd = os.open(source, os.O_PATH)
            for mode in (wire.READ_ONLY, wire.READ_WRITE):
                reply = self.mount_by_descriptor(mode, "/fresh/place", fd)
                self.assertEqual(reply.kind, wire.CREATED, (source, mode, reply))
            os.close(fd)


class BeyondThePolicy(Hostile):
    policy = POLICY

    def test_limits_past_a_ceiling_are_refused(self):
        for bounds, word in (({"memory": (1 << 30) + 1}, "memory"), ({"disk": (512 << 20) + 1}, "disk"),
                             ({"wall": 60_001}, "time"), ({"pids": 257}, "process"),
                             ({"cpus": 2001}, "CPU"), ({"memory": 1 << 49}, "memory")):
            asked_for = wire.limits(**bounds, asked=0x3f)
            self.assert_refused(self.ask(wire.create(bounds=asked_for)), wire.POLICY, word)

    def test_an_unknown_template_is_refused(self):
        for template in ("", "other", "../host", "host\0", "/", "HOST", "x" * 64):
            self.assert_refused(self.ask(wire.create(template=template)), wire.NOT_FOUND)

    def test_an_engine_the_policy_forbids_is_refused(self):
        self.assert_refused(self.ask(wire.create(engine=wire.PROCESS)), wire.POLICY, "process engine")

    def mount(self, mode, guest, host):
        _, theirs = self.link()
        fd = os.open(host, os.O_PATH)
        try:
            return self.ask(wire.create(mounts=[(mode, guest)]), [theirs.fileno(), fd])
        finally:
            os.close(fd)

    def test_mounts_over_what_is_ours_are_refused(self):
        for guest in ("/", "/proc", "/proc/sys", "/proc/1", "/dev", "/dev/pts", "/usr", "/usr/bin", "/etc",
                      "/etc/passwd", "/bin", "/sbin", "/lib", "/lib64", "//etc", "/./etc", "/etc/"):
            self.assert_refused(self.mount(wire.READ_ONLY, guest, self.shared), wire.POLICY)

    def test_writable_mounts_are_refused(self):
        self.assert_refused(self.mount(wire.READ_WRITE, "/mnt", self.shared), wire.POLICY, "writable")

    def test_sources_that_are_not_listed_are_refused(self):
        beside = self.shared + "-beside"
        os.mkdir(beside)
        link = os.path.join(self.shared, "link")
        os.symlink("/etc", link)
        for host in ("/etc", "/", self.place, beside, link):
            self.assert_refused(self.mount(wire.READ_ONLY, "/mnt", host), wire.POLICY, "source")

    def test_a_listed_source_is_mounted(self):
        inner = os.path.join(self.shared, "inner")
        os.mkdir(inner)
        for host in (self.shared, inner):
            reply = self.mount(wire.READ_ONLY, "/mnt", host)
            self.assertEqual(reply.kind, wire.CREATED, reply)

    def test_more_sandboxes_than_allowed_are_refused(self):
        client = self.client()
        links = [self.link() for _ in range(4)]
        replies = [self.ask(wire.create(), [theirs.fileno()], client) for _, theirs in links]
        self.assertEqual([reply.kind for reply in replies[:3]], [wire.CREATED] * 3)
        self.assert_refused(replies[3], wire.EXHAUSTED)
        for reply in replies[:3]:
            wire.send(client, wire.destroy(reply.id))
        for _ in range(3):
            self.assertEqual(wire.receive(client).kind, wire.ENDED)
        # The answer comes before the last process is dead, so there is room a moment later.
        self.assertTrue(sealed.wait_until(
            lambda: self.ask(wire.create(), None, client).kind == wire.CREATED))


class NoMounts(Hostile):
    policy = "[mounts]\nallow = false\n"

    def test_are_given_when_the_policy_forbids_them(self):
        _, theirs = self.link()
        fd = os.open(self.shared, os.O_PATH)
        self.addCleanup(os.close, fd)
        for mode in (wire.READ_ONLY, wire.READ_WRITE):
            reply = self.ask(wire.create(mounts=[(mode, "/mnt")]), [theirs.fileno(), fd])
            self.assert_refused(reply, wire.POLICY, "mounts")


class Neighbours(Hostile):
    def test_another_clients_sandbox_cannot_be_destroyed(self):
        owner, thief = self.client(), self.client()
        ours, theirs = self.link()
        created = self.ask(wire.create(), [theirs.fileno()], owner)
        theirs.close()
        self.assertEqual(created.kind, wire.CREATED, created)
        wire.send(thief, wire.destroy(created.id))
        self.assert_refused(wire.receive(thief), wire.NOT_FOUND)
        wire.send(thief, wire.destroy("sb" + "a" * 20))
        self.assert_refused(wire.receive(thief), wire.NOT_FOUND)
        ours.setblocking(False)
        with self.assertRaises(BlockingIOError):  # it lives
            ours.recv(1)
        wire.send(owner, wire.destroy(created.id))
        ended = wire.receive(owner)
        self.assertEqual((ended.kind, ended.id), (wire.ENDED, created.id))

    def test_a_sandbox_can_be_destroyed_only_once(self):
        client = self.client()
        _, theirs = self.link()
        created = self.ask(wire.create(), [theirs.fileno()], client)
        for _ in range(3):
            wire.send(client, wire.destroy(created.id))
        while (reply := wire.receive(client)).kind != wire.ENDED:
            self.assert_refused(reply, wire.NOT_FOUND)
        wire.send(client, wire.destroy(created.id))
        self.assert_refused(wire.receive(client), wire.NOT_FOUND)

    def test_a_flood_of_requests_from_one_does_not_starve_another(self):
        flooder = self.client()
        flooder.setblocking(False)
        sent = 0
        for number in range(2000):
            try:
                wire.send(flooder, wire.destroy("sb" + "a" * 20))
                sent += 1
            except (BlockingIOError, BrokenPipeError, ConnectionResetError):
                break
        self.assertGreater(sent, 10)
        self.assert_good_clients_are_served()
        flooder.close()

    def test_a_client_that_never_reads_is_not_read_either_and_harms_nobody(self):
        deaf = self.client()
        deaf.settimeout(3)
        # Its answers have no room, so the launcher takes no more of it: its own sending stops.
        with self.assertRaises((BrokenPipeError, ConnectionResetError, TimeoutError)):
            for _ in range(100_000):
                wire.send(deaf, wire.destroy("sb" + "a" * 20))
        self.assert_good_clients_are_served()

    def test_half_open_clients_do_no_harm(self):
        silent = [self.client() for _ in range(50)]
        for client in silent[::2]:
            client.shutdown(socket.SHUT_WR)
        for client in silent[1::4]:
            client.shutdown(socket.SHUT_RD)
        self.assert_good_clients_are_served()
        for client in silent:
            client.close()

    def test_a_crowd_of_clients_is_bounded(self):
        crowd = []
        try:
            for _ in range(600):
                crowd.append(self.launcher.connect())
        except OSError:
            pass
        self.assertLessEqual(sealed.open_files(self.launcher.pid), self.descriptors + 520)
        for client in crowd:
            client.close()

    def test_a_client_that_leaves_while_its_sandbox_is_made_leaves_nothing(self):
        for _ in range(20):
            client = self.client()
            ours, theirs = self.link()
            wire.send(client, wire.create(), [theirs.fileno()])
            client.close()
            ours.close()
            theirs.close()
        gone = sealed.wait_until(lambda: len(sealed.sandboxes()) <= 1)
        self.assertTrue(gone, sealed.sandboxes())

    def test_a_user_who_is_not_root_cannot_connect(self):
        code = ("import socket, sys\n"
                "try: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[1])\n"
                "except PermissionError: print('denied')")
        ran = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                              sys.executable, "-c", code, self.launcher.path], capture_output=True)
        self.assertEqual(ran.stdout, b"denied\n", ran.stderr)
        self.assertEqual(stat.S_IMODE(os.stat(self.launcher.path).st_mode), 0o600)


class PrivateLauncher(sealed.TestCase):
    """--client-fd: one client, one sandbox at a time, and the end when that client goes."""

    def start(self, *args):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(ours.close)
        ours.settimeout(20)
        process = subprocess.Popen([sealed.LAUNCHER, "--client-fd", str(theirs.fileno()), *args],
                                   pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env=sealed.environment())
        theirs.close()
        self.addCleanup(process.stderr.close)
        return process, ours

    def test_nonsense_ends_it(self):
        for message in (b"\0", b"\x01\x01\x02", wire.create() + b"x", wire.create(version=wire.VERSION + 1)):
            process, client = self.start()
            wire.send(client, message)
            self.assertIsNone(wire.receive(client))
            self.assertEqual(process.wait(timeout=20), 0)
            client.close()

    def test_it_ends_with_its_client_and_so_do_its_sandboxes(self):
        process, client = self.start()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        wire.send(client, wire.create(), [theirs.fileno()])
        theirs.close()
        self.assertEqual(wire.receive(client).kind, wire.CREATED)
        client.close()
        self.assertEqual(process.wait(timeout=20), 0)
        ours.settimeout(20)
        self.assertEqual(ours.recv(1), b"")
        ours.close()

    def test_a_policy_that_others_could_have_written_stops_it(self):
        place = self.directory()
        path = os.path.join(place, "policy.toml")
        for content, mode, owner in (("", 0o666, 0), ("", 0o620, 0), ("", 0o664, 0), ("", 0o644, 65534), ("[limits]\nmemry = \"1G\"\n", 0o644, 0),
                                     ("[limits]\nmemory = 5\n", 0o644, 0), ("not toml", 0o644, 0),
                                     ("[uids]\nfirst = 0\n", 0o644, 0)):
            with open(path, "w") as file:
                file.write(content)
            os.chmod(path, mode)
            os.chown(path, owner, owner)
            process, client = self.start("--policy", path)
            self.assertNotEqual(process.wait(timeout=20), 0, (content, oct(mode), owner))
            self.assertIn(path.encode(), process.stderr.read())
            client.close()

    def test_a_policy_that_is_a_link_stops_it(self):
        place = self.directory()
        path = os.path.join(place, "policy.toml")
        os.symlink("/dev/null", path)
        process, client = self.start("--policy", path)
        self.assertNotEqual(process.wait(timeout=20), 0)
        client.close()

    def test_a_descriptor_that_is_no_socket_stops_it(self):
        for fd in ("3", "99", "x", "-1"):
            ran = subprocess.run([sealed.LAUNCHER, "--client-fd", fd], stdin=subprocess.DEVNULL,
                                 capture_output=True, timeout=20, env=sealed.environment())
            self.assertNotEqual(ran.returncode, 0, fd)
            self.assertTrue(ran.stderr, fd)


if __name__ == "__main__":
    sealed.main()
