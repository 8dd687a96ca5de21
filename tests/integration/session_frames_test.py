# Files and ports whose bytes come in frames, as the agent keeps that promise: windows, ends, commits,
# nothing that waits for a stream, nothing left behind. The server's place is taken by this test.
import errno
import hashlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import session_wire as wire
import warm
from agent_session import FORMS, WINDOW, Session, read_to_end
from sealed import wait_until

CHUNK = b"x" * (64 * 1024)
# Says how much it has read, whenever it is asked on its standard input.
SLOW = """
import socket, sys
server = socket.socket()
server.bind(("127.0.0.1", 8099)); server.listen()
print("listens", flush=True)
one = server.accept()[0]
total = 0
for line in sys.stdin:
    want = int(line)
    while total < want:
        data = one.recv(want - total)
        if not data:
            break
        total += len(data)
    print(total, flush=True)
"""


class SessionFrames(sealed.TestCase):
    def setUp(self):
        super().setUp()
        self.launcher = warm.Launcher(self.directory())
        self.addCleanup(self.launcher.stop)
        self.client = warm.Client(self.launcher)
        self.addCleanup(self.client.close)

    def session(self, form="frames"):
        session = Session(self, **FORMS[form])
        self.addCleanup(session.destroy)
        return session

    def ask(self, session, request, op, path, **more):
        session.link.send(wire.file(request, op, path, **more))
        answer = session.answer(request)
        self.assertEqual(answer.kind, wire.FILE_OPENED, answer)
        return session.stream(answer)

    def listen(self, session, code=SLOW, **more):
        number = session.start(["/usr/bin/python3", "-c", code], stdin=True, **more)
        session.wait(number, lambda frame: frame.kind == wire.OUTPUT)
        return number

    def connect(self, session):
        session.link.send(wire.connect(1, 8099))
        answer = session.answer(1)
        self.assertEqual(answer.kind, wire.PORT_CONNECTED, answer)
        return session.stream(answer)

    def test_large_files_come_and_go_whole(self):
        content = os.urandom(5_000_000)
        for form in ("frames", "byte-stream"):
            session = self.session(form)
            stream = self.ask(session, 1, wire.WRITE, "large")
            stream.write(content)
            stream.finish()
            session.link.send(wire.commit(1))
            done = session.answer(1)
            self.assertEqual((done.errno, done.bytes), (0, len(content)), done)
            self.assertEqual(session.run("sha256sum < ~/large")[1].split()[0].decode(),
                             hashlib.sha256(content).hexdigest())
            self.assertEqual(read_to_end(self.ask(session, 2, wire.READ, "/home/user/large")), content)
            self.assertEqual(session.answer(2).errno, 0)

    def test_a_file_that_nobody_reads_stops_at_its_window_and_delays_nothing(self):
        session = self.session()
        session.run("head -c 20000000 /dev/zero > ~/large")
        streams = [self.ask(session, 1 + i, wire.READ, "/home/user/large") for i in range(8)]
        for stream in streams:
            while stream.got < WINDOW:
                stream.take()
        self.assertIsNone(session.link.receive(0.2), "more than the window without an acknowledgement")
        self.assertEqual(session.run("echo other"), (0, b"other\n", b""))
        session.link.send(wire.file(20, wire.STAT, "/home/user/large"))
        self.assertEqual(session.answer(20).errno, 0)
        # One of them goes on, and the others stay where they are.
        self.assertEqual(len(read_to_end(streams[3])), 20_000_000)
        self.assertFalse([frame for frame in session.seen if frame.kind == wire.STREAM_DATA])

    def test_a_port_that_its_server_does_not_read_delays_nothing(self):
        session = self.session()
        number = self.listen(session)
        stream = self.connect(session)
        sent = 0
        while True:  # the window, and what the sockets inside hold
            room = WINDOW - (stream.sent - stream.taken)
            if room == 0:
                frame = session.link.receive(0.5)
                if frame is None:
                    break
                session.seen.append(frame)
                stream.take()
                continue
            stream.write(CHUNK[:room])
            sent = stream.sent
        self.assertEqual(session.run("echo other"), (0, b"other\n", b""))
        session.link.send(wire.give(number, b"%d\n" % sent, 0))
        out = session.wait(number, lambda frame: frame.kind == wire.OUTPUT)[-1]
        self.assertEqual(out.bytes, b"%d\n" % sent)
        stream.write(b"more")
        session.link.send(wire.give(number, b"%d\n" % (sent + 4), len(b"%d\n" % sent)))
        out = session.wait(number, lambda frame: frame.kind == wire.OUTPUT)[-1]
        self.assertEqual(out.bytes, b"%d\n" % (sent + 4))

    def test_output_and_files_take_turns(self):
        session = self.session()
        session.run("head -c 50000000 /dev/zero > ~/large")
        stream = self.ask(session, 1, wire.READ, "/home/user/large")
        number = session.start("head -c 50000000 /dev/zero")
        printed = 0
        while printed < 10_000_000:
            frame = session.link.receive(60)
            if frame.kind == wire.OUTPUT:
                printed = frame.offset + len(frame.bytes)
                session.link.send(wire.acknowledge(number, printed))
            elif frame.kind == wire.STREAM_DATA:
                stream.got += len(frame.bytes)
                session.link.send(wire.stream_taken(1, stream.got))
        self.assertGreater(stream.got, 1_000_000)
        session.link.send(wire.abandon(1))
        session.link.send(wire.kill(number, 9))

    def test_a_port_ends_each_way(self):
        session = self.session()
        number = self.listen(session, """
import socket
server = socket.socket()
server.bind(("127.0.0.1", 8099)); server.listen()
print("listens", flush=True)
one = server.accept()[0]
data = b""
while piece := one.recv(65536):
    data += piece
one.sendall(data[::-1])
one.shutdown(socket.SHUT_WR)
print(one.recv(1), flush=True)
""")
        stream = self.connect(session)
        stream.write(b"0123456789" * 50_000)
        stream.finish()
        self.assertEqual(read_to_end(stream), b"9876543210" * 50_000)
        self.assertEqual(session.wait(number, lambda frame: frame.kind == wire.EXITED)[-1].code, 0)

    def test_a_server_that_goes_without_a_word_is_told(self):
        session = self.session()
        self.listen(session, """
import socket
server = socket.socket()
server.bind(("127.0.0.1", 8099)); server.listen()
print("listens", flush=True)
one = server.accept()[0]
one.recv(1)
one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0")
""")
        stream = self.connect(session)
        stream.write(b"x")  # it resets a connection that is there
        while not stream.finished:
            stream.take()
        with self.assertRaises(BrokenPipeError):
            while True:
                stream.write(CHUNK)

    def test_a_connection_that_was_dropped_is_closed_inside(self):
        session = self.session()
        number = self.listen(session)
        self.connect(session).write(b"abc")
        session.link.send(wire.abandon(1))
        session.link.send(wire.give(number, b"1000\n", 0))  # it reads to the end
        out = session.wait(number, lambda frame: frame.kind == wire.OUTPUT)[-1]
        self.assertEqual(out.bytes, b"3\n")

    # --- what is kept

    def test_a_file_is_committed_when_all_of_it_is_there(self):
        session = self.session()
        content = b"0123456789" * 20_000
        stream = self.ask(session, 1, wire.WRITE, "early")
        session.link.send(wire.commit(1))  # ahead of its bytes
        stream.write(content)
        stream.finish()
        self.assertEqual(session.answer(1).bytes, len(content))
        self.assertEqual(session.run("wc -c < ~/early")[1], b"200000\n")

    def test_a_server_that_is_replaced_in_the_middle_leaves_nothing(self):
        for form in ("frames", "byte-stream"):
            session = self.session(form)
            stream = self.ask(session, 1, wire.WRITE, "half")
            stream.write(CHUNK)
            session.link.send(wire.commit(1))
            session.hello()
            session.link.send(wire.file(1, wire.STAT, "half"))  # a new epoch, new numbers
            self.assertEqual(session.answer(1).errno, errno.ENOENT)
            # And of what was under way to the last server nothing comes to this one.
            session.run("head -c 5000000 /dev/zero > ~/large")
            self.ask(session, 2, wire.READ, "/home/user/large").take()
            session.hello()
            self.assertEqual(session.run("echo well"), (0, b"well\n", b""))
            self.assertFalse([frame for frame in session.seen if frame.kind == wire.STREAM_DATA])

    def test_a_server_that_is_replaced_in_the_middle_of_a_frame_is_found_again(self):
        session = self.session("byte-stream")
        number = session.start("echo before; cat", stdin=True)
        session.wait(number, lambda frame: frame.kind == wire.OUTPUT)
        whole = b"\xf5" + wire.text(wire.give(number, b"never whole", 0)) + b"\xfa"
        for cut in (1, 3, 5, 20, len(whole) - 1):
            session.link.send_raw(whole[:cut])
            session.link.received = b"what the last server had read of a frame"
            self.assertEqual([is_.process for is_ in session.hello()], [number])
        session.link.send(wire.subscribe(number, wire.STDOUT, 0, subscription=1))
        session.link.send(wire.give(number, b"once\n", 0))
        session.link.send(wire.close_input(number))
        end, out, _ = session.finish(number)
        self.assertEqual((end.code, out), (0, b"before\nonce\n"))

    def test_what_breaks_the_protocol_ends_its_stream_only(self):
        session = self.session()
        session.run("head -c 5000000 /dev/zero > ~/large")
        for request, message in ((1, wire.stream_data(1, b"x")), (2, wire.stream_finished(2)),
                                 (3, wire.stream_taken(3, 2**64 - 1))):
            self.ask(session, request, wire.READ, "/home/user/large")
            session.link.send(message)
        self.ask(session, 4, wire.WRITE, "too-much")
        for _ in range(80):  # far more than the window, whatever is acknowledged
            session.link.send(wire.stream_data(4, CHUNK))
        session.link.send(wire.stream_finished(4))
        session.link.send(wire.commit(4))
        for request in (0, 99, 2**64 - 1):
            for message in (wire.stream_data(request, b"x"), wire.stream_taken(request, 1),
                            wire.stream_finished(request), wire.stream_stopped(request)):
                session.link.send(message)
        self.assertEqual(session.run("echo well"), (0, b"well\n", b""))
        self.assertIn(session.run("cat ~/too-much | wc -c")[1], (b"0\n", b"5242880\n"))

    def test_nothing_is_left_of_streams(self):
        session = self.session()
        agent = self.agent_of(session)
        before = self.descriptors(agent)
        number = self.listen(session)
        self.connect(session).write(b"x")
        session.run("head -c 5000000 /dev/zero > ~/large")
        left = self.ask(session, 2, wire.READ, "/home/user/large")
        left.take()
        gone = self.ask(session, 3, wire.WRITE, "gone")
        gone.write(CHUNK)
        read_to_end(self.ask(session, 4, wire.READ, "/home/user/large"))
        for request in (1, 2, 3):
            session.link.send(wire.abandon(request))
        session.link.send(wire.kill(number, 9))
        session.wait(number, lambda frame: frame.kind == wire.EXITED)
        session.link.send(wire.forget(number))
        self.assertTrue(wait_until(lambda: self.descriptors(agent) == before, 20), self.descriptors(agent))

    def agent_of(self, session):
        """Its pid on this host."""
        inside = session.run("readlink /proc/self/ns/pid")[1].decode().strip()
        agents = [pid for pid, one in self.launcher.processes().items()
                  if one.own_pid == 1 and os.readlink(f"/proc/{pid}/ns/pid") == inside]
        self.assertEqual(len(agents), 1, agents)
        return agents[0]

    @staticmethod
    def descriptors(agent):
        return sorted(os.listdir(f"/proc/{agent}/fd"), key=int)


if __name__ == "__main__":
    sealed.main()
