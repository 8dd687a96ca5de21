# A launcher that hostile clients talk to, and the good ones that must notice nothing.
import os
import socket

import launcher_wire as wire
import processes
import sealed

POLICY = """
[limits]
memory = "1G"
disk = "512M"
wall = "60s"
pids = 256
cpu_thousandths = 2000
sandboxes = 3
[mounts]
allow = true
allow_writable = false
sources = ["{shared}"]
[engines]
process = false
"""


class Hostile(sealed.TestCase):
    policy = None

    def setUp(self):
        super().setUp()
        self.place = self.directory()
        self.shared = os.path.join(self.place, "shared")
        os.mkdir(self.shared)
        policy = self.policy.format(shared=self.shared) if self.policy else None
        self.launcher = sealed.SharedLauncher(self.place, policy=policy)
        self.addCleanup(self.launcher.stop)
        self.addCleanup(self.end_launcher)
        self.assert_good_clients_are_served()
        self.descriptors = self.launcher.settled_descriptors()

    def end_launcher(self):
        self.assertIsNone(self.launcher.process.poll(), "the launcher is dead")
        self.assert_good_clients_are_served()
        self.assertEqual(self.launcher.settled_descriptors(), self.descriptors,
                         processes.living(self.launcher.pid).files())
        self.assertEqual(self.launcher.stop(), 0)

    def assert_good_clients_are_served(self):
        ran = sealed.glovebox("run", "--memory", "256M", "--disk", "64M", "--exec", "/bin/echo", "--", "ok",
                              env=self.launcher.environment())
        self.assertEqual((ran.returncode, ran.stdout), (0, b"ok\n"), ran.stderr)

    def client(self):
        connected = self.launcher.connect()
        self.addCleanup(connected.close)
        return connected

    def link(self):
        """Both ends of a sandbox's own socket."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(ours.close)
        self.addCleanup(theirs.close)
        return ours, theirs

    def ask(self, message, descriptors=None, client=None):
        """One request on a connection of its own; the reply, or None if it was dropped."""
        client = client or self.client()
        if descriptors is None:
            ours, theirs = self.link()
            descriptors = [theirs.fileno()]
        wire.send(client, message, descriptors)
        return wire.receive(client)

    def assert_dropped(self, message, descriptors=()):
        client = self.client()
        try:
            wire.send(client, message, descriptors)
        except OSError:
            return
        self.assertIsNone(wire.receive(client), message[:80])
        client.close()

    def assert_refused(self, reply, code=None, word=""):
        self.assertIsNotNone(reply, "dropped, not refused")
        self.assertEqual(reply.kind, wire.REFUSED, reply)
        if code is not None:
            self.assertEqual(reply.code, code, reply)
        self.assertIn(word, reply.message)
