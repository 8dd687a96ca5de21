# Sessions as the launcher has them: they outlive their client and are handed to the next, are
# stopped and go on, are measured, end when they are told to and never by themselves; runtimes are
# joined to them; and nothing of them is left, however the launcher ends.
import os
import signal
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import launcher_wire as wire
import processes
import sealed
import session_wire as frames
import warm

BUSY = ["/bin/bash", "-c", "echo ready; while :; do :; done"]
KILLED_BY_US, EXITED = 2, 1


class Session:
    """A session of a client's, with its server's end."""

    def __init__(self, client, identity, link):
        self.client, self.id, self.socket = client, identity, link
        self.link = frames.Link(link)
        self.process = int(time.monotonic() * 1e6)

    def hello(self, epoch=1):
        """Whatever its agent has, then Welcome."""
        self.link.send(frames.hello(epoch))
        return self.link.wait_for(lambda frame: frame.kind == frames.WELCOME and frame.epoch == epoch)

    def start(self, argv, **more):
        self.process += 1
        self.link.send(frames.start(self.process, argv, **more))
        started = self.link.wait_for(lambda frame: frame.kind in (frames.STARTED, frames.START_REFUSED))[-1]
        assert started.kind == frames.STARTED, started
        return started

    def run(self, argv, seconds=60, **more):
        """A program from its beginning to its end: (exit code, stdout, stderr)."""
        out = {frames.STDOUT: b"", frames.STDERR: b""}

        def keep(frame):
            if frame.kind == frames.OUTPUT:
                out[frame.stream] += frame.bytes
                self.link.send(frames.acknowledge(frame.process, frame.offset + len(frame.bytes), frame.stream))

        self.process += 1
        self.link.send(frames.start(self.process, argv, **more))
        state = {}

        def is_over(frame):
            if frame.kind == frames.START_REFUSED:
                raise AssertionError(f"not started: {frame}")
            if frame.kind == frames.EXITED and frame.process == self.process:
                state["end"] = frame
            end = state.get("end")
            return end is not None and (len(out[frames.STDOUT]), len(out[frames.STDERR])) == (end.out[1], end.err[1])

        self.link.wait_for(is_over, seconds, keep)
        return state["end"].code, out[frames.STDOUT], out[frames.STDERR]

    def run_line(self, line, **more):
        return self.run(["/bin/bash", "-c", line], **more)

    def ask(self, message):
        """Of the launcher; its answer."""
        wire.send(self.client.socket, message)
        return self.client.answer_to(struct.unpack_from("<I", message, 2)[0])

    def freeze(self, frozen=1):
        self.client.seq += 1
        return self.ask(wire.freeze(self.id, frozen, self.client.seq))

    def measure(self):
        self.client.seq += 1
        return self.ask(wire.measure(self.id, self.client.seq))

    def destroy(self):
        wire.send(self.client.socket, wire.destroy(self.id))
        return self.client.wait(lambda: self.client.ended.get(self.id))


class TestCase(warm.TestCase):
    def session(self, template="base", client=None, bounds=None):
        client = client or self.client
        client.seq += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(ours.close)
        message = wire.create(template=template, bounds=bounds, seq=client.seq, session=1)
        wire.send(client.socket, message, [theirs.fileno(), ours.fileno()])
        theirs.close()
        reply = client.answer_to(client.seq)
        self.assertEqual(reply.kind, wire.CREATED, reply)
        return Session(client, reply.id, ours)

    def adopt(self, client):
        """Every session without a client, by its id."""
        client.seq += 1
        wire.send(client.socket, wire.list_sandboxes(client.seq))
        adopted = {}
        while (reply := wire.receive(client.socket)).kind != wire.DONE:
            if reply.kind == wire.TEMPLATE:
                continue
            self.assertEqual((reply.kind, reply.seq, len(reply.fds)), (wire.LISTED, client.seq, 1), reply)
            link = socket.socket(fileno=reply.fds[0])
            self.addCleanup(link.close)
            adopted[reply.id] = Session(client, reply.id, link)
            adopted[reply.id].listed = reply
        self.assertEqual(reply.seq, client.seq)
        return adopted

    def assert_refused(self, reply, code):
        self.assertEqual((reply.kind, reply.code), (wire.REFUSED, code), reply)


class Adoption(TestCase):
    def test_a_session_outlives_its_client_and_the_next_server_gets_it(self):
        session = self.session()
        session.hello(1)
        started = session.start(["/bin/sleep", "600"])
        second = self.session()
        second.freeze()
        run = self.client.create("base", warm=0, waits=0)
        self.client.close()
        run.link.settimeout(20)
        self.assertEqual(run.link.recv(1), b"")  # what is no session has ended
        run.link.close()
        successor = self.connect()
        adopted = self.adopt(successor)
        self.assertEqual(set(adopted), {session.id, second.id})
        self.assertEqual((adopted[session.id].listed.template, adopted[session.id].listed.frozen), ("base", 0))
        self.assertEqual(adopted[second.id].listed.frozen, 1)
        told = adopted[session.id].hello(2)
        self.assertEqual([(frame.process, frame.pid) for frame in told[:-1]], [(started.process, started.pid)])
        self.assertEqual(adopted[second.id].freeze(0).kind, wire.DONE)
        self.assertEqual(adopted[second.id].run_line("echo still here")[1], b"still here\n")
        self.assertEqual(self.adopt(successor), {})  # they have an owner now
        self.assertEqual(adopted[session.id].destroy().reason, KILLED_BY_US)

    def test_what_nobody_owns_still_ends_and_is_cleaned_up(self):
        session = self.session()
        session.hello()
        self.client.close()
        os.kill(self.agent_of(session), signal.SIGKILL)
        self.assertTrue(sealed.wait_until(lambda: session.id not in sealed.sandboxes()))
        self.assertEqual(self.adopt(self.connect()), {})

    def agent_of(self, session):
        """The pid, here, of a session's first process: what is in its cgroups and is alone there."""
        found = [pid for pid, process in self.launcher.processes().items()
                 if session.id.encode() in process.read("cgroup")]
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_no_clock_ends_a_session(self):
        session = self.session(bounds=wire.limits(wall=200, cpu=50, asked=0x3f))
        session.hello()
        code, out, _ = session.run_line("i=0; while ((i < 200000)); do ((i++)); done; sleep 0.5; echo done")
        self.assertEqual((code, out), (0, b"done\n"))

    def test_a_session_that_was_never_announced_dies_with_its_client(self):
        impatient = self.connect()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(ours.close)
        wire.send(impatient.socket, wire.create(seq=1, session=1), [theirs.fileno(), ours.fileno()])
        theirs.close()
        impatient.close()
        self.assertTrue(sealed.wait_until(lambda: self.adopt(self.connect()) == {} and len(sealed.sandboxes()) <= 1))


class Freezing(TestCase):
    def cpu(self, session):
        return session.measure().cpu_us

    def test_a_frozen_session_uses_no_cpu_and_goes_on_where_it_was(self):
        session = self.session()
        session.hello()
        session.start(BUSY)
        session.link.wait_for(lambda frame: frame.kind == frames.OUTPUT)
        self.assertTrue(sealed.wait_until(lambda: self.cpu(session) > 50_000))
        self.assertEqual(session.freeze().kind, wire.DONE)
        before, at = self.cpu(session), time.monotonic()
        self.assertTrue(sealed.wait_until(lambda: time.monotonic() - at > 0.5))
        self.assertEqual(self.cpu(session), before)
        self.assertEqual(session.freeze().kind, wire.DONE)  # as it is already
        self.assertEqual(session.freeze(0).kind, wire.DONE)
        self.assertTrue(sealed.wait_until(lambda: self.cpu(session) > before + 50_000))

    def test_a_frozen_session_can_be_ended(self):
        session = self.session()
        session.hello()
        session.start(BUSY)
        self.assertEqual(session.freeze().kind, wire.DONE)
        self.assertEqual(session.destroy().reason, KILLED_BY_US)
        self.assertTrue(sealed.wait_until(lambda: len(sealed.sandboxes()) <= 1))

    def test_a_fork_bomb_is_frozen_too(self):
        session = self.session(bounds=wire.limits(pids=64, asked=0x3f))
        session.hello()
        session.start(["/bin/bash", "-c", "f() { f | f & }; for i in 1 2 3 4 5 6 7 8; do f; done; wait"], lossy=True,
                      subscribed=False)
        self.assertTrue(sealed.wait_until(lambda: session.measure().processes > 20))
        self.assertEqual(session.freeze().kind, wire.DONE)
        before, at = self.cpu(session), time.monotonic()
        self.assertTrue(sealed.wait_until(lambda: time.monotonic() - at > 0.3))
        self.assertEqual(self.cpu(session), before)
        self.assertEqual(session.destroy().reason, KILLED_BY_US)

    def test_only_ones_own_sessions_and_nothing_else(self):
        session, other = self.session(), self.connect()
        for identity in (session.id, "sb" + "a" * 20):
            self.assert_refused(Session(other, identity, session.socket).freeze(), wire.NOT_FOUND)
        run = self.client.create("base", warm=0, waits=0)
        self.assert_refused(Session(self.client, run.id, run.link).freeze(), wire.NOT_FOUND)
        run.destroy()


class Measuring(TestCase):
    def test_memory_disk_and_processes_are_counted(self):
        session = self.session(bounds=wire.limits(disk=64 << 20, asked=0x3f))
        session.hello()
        empty = session.measure()
        self.assertEqual((empty.kind, empty.processes, empty.disk_limit), (wire.MEASURED, 0, 64 << 20), empty)
        self.assertEqual(session.run_line("head -c 20000000 /dev/zero > /home/user/x")[0], 0)
        session.start(["/bin/sleep", "600"])
        full = session.measure()
        self.assertGreaterEqual(full.disk - empty.disk, 20_000_000)
        self.assertLess(full.disk - empty.disk, 21_000_000)
        self.assertGreaterEqual(full.memory, empty.memory + 20_000_000)
        self.assertEqual(full.processes, 1)
        self.assertGreater(full.cpu_us, empty.cpu_us)
        self.assertNotEqual(session.run_line("head -c 90000000 /dev/zero > /home/user/y")[0], 0)
        self.assertEqual(session.measure().oom_kills, 0)  # a full disk is an error and no kill

    def test_another_clients_session_is_not_there(self):
        session = self.session()
        self.assert_refused(Session(self.connect(), session.id, session.socket).measure(), wire.NOT_FOUND)


class RootInside(TestCase):
    def test_sudo_asks_for_no_password(self):
        session = self.session()
        session.hello()
        code, out, err = session.run_line("id -u; sudo id -u; sudo -n touch /usr/bin/mine && ls -l /usr/bin/mine")
        self.assertEqual((code, out.split()[:2]), (0, [b"1000", b"0"]), (out, err))
        self.assertIn(b"root root", out)
        self.assertFalse(os.path.exists("/usr/bin/mine"))

    def test_a_package_is_installed_and_the_host_has_nothing_of_it(self):
        session = self.session()
        session.hello()
        code, out, err = session.run_line("""
            set -e
            mkdir -p p/DEBIAN p/usr/bin p/opt/mine; printf '#!/bin/sh\\necho it works\\n' > p/usr/bin/gbx-mine
            chmod 755 p/usr/bin/gbx-mine; echo x > p/opt/mine/file
            printf 'Package: gbx-mine\\nVersion: 1\\nArchitecture: all\\nMaintainer: me <m@e>\\nDescription: x\\n' \\
                > p/DEBIAN/control
            dpkg-deb --build p mine.deb > /dev/null
            sudo dpkg -i mine.deb
            gbx-mine; cat /opt/mine/file; dpkg -s gbx-mine | grep Status; sudo dpkg -r gbx-mine > /dev/null
            ! test -e /usr/bin/gbx-mine""", seconds=120)
        self.assertEqual(code, 0, (out, err))
        self.assertIn(b"it works\nx\nStatus: install ok installed\n", out)
        self.assertFalse(os.path.exists("/usr/bin/gbx-mine"))

    def test_the_next_session_is_as_new(self):
        first = self.session()
        first.hello()
        self.assertEqual(first.run_line("rm -rf /usr/share /usr/lib/python3; echo x > /etc/passwd", user="root")[0], 0)
        second = self.session()
        second.hello()
        self.assertEqual(second.run_line("ls -d /usr/share /usr/lib/python3 && id -un")[1].split()[-1], b"user")
        self.assertTrue(os.path.isdir("/usr/share"))


class Joining(TestCase):
    templates = ("python",)

    def context(self, session, number):
        session.link.send(frames.start(number, ["/usr/bin/python3", "-I", "/opt/glovebox/python/context.py"],
                                       kind=frames.WARM_CONTEXT))
        started = session.link.wait_for(lambda frame: frame.kind in (frames.STARTED, frames.START_REFUSED))[-1]
        self.assertEqual(started.kind, frames.STARTED, started)
        return started

    def test_a_runtime_is_joined_to_a_session_that_lives(self):
        session = self.session("python")
        session.hello()
        for number in (10, 11, 12):
            self.assertTrue(self.context(session, number).warm)
        measured = session.measure()
        self.assertGreaterEqual(measured.processes, 3)
        self.assertEqual(session.destroy().reason, KILLED_BY_US)
        self.assert_serves()

    def test_without_its_zygote_a_context_starts_cold(self):
        session = self.session("python")
        session.hello()
        zygote = self.zygote()
        os.kill(zygote, signal.SIGKILL)
        self.assertTrue(sealed.wait_until(lambda: not processes.is_alive(zygote)))
        self.assertFalse(self.context(session, 10).warm)


class Ending(TestCase):
    def test_a_stop_ends_every_session(self):
        for _ in range(5):
            self.session().freeze()
        for _ in range(5):
            self.session().start(["/bin/sleep", "600"])
        self.client.close()
        self.assertEqual(self.launcher.stop(), 0)

    def test_a_killed_launcher_leaves_nothing(self):
        sessions = [self.session() for _ in range(4)]
        for session in sessions:
            session.start(BUSY)
        sessions[0].freeze()
        self.client.close()
        self.launcher.stop(signal.SIGKILL)
        # The next one sweeps what the kernel does not take away by itself: what a v1 freezer holds.
        again = warm.Launcher(self.directory())
        self.addCleanup(again.stop)
        self.assertTrue(sealed.wait_until(lambda: not sealed.sandboxes()), sealed.sandboxes())


if __name__ == "__main__":
    sealed.main()
