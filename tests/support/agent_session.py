# A session's socket as its server holds it, for tests that take the server's place. In which form
# files and ports come, and over which kind of socket, is the tests' to choose: FORMS.
import os
import socket
import struct
import time

import launcher_wire
import session_wire as wire

KEPT = 256 * 1024
WINDOW = 256 * 1024
# As the setting sessions.link names them.
FORMS = {"descriptors": {}, "frames": {"carrier": wire.FRAMES},
         "byte-stream": {"carrier": wire.FRAMES, "byte_stream": True}}
SH = ["/bin/bash", "-c"]


def record(data):
    return struct.pack("<I", len(data)) + data


def cell(number, code):
    return struct.pack("<QB", number, 0) + wire.text("cell") + wire.text("") + wire.text(code)


class Piped:
    """The bytes of an opened file or of a port, by the descriptor that came."""

    def __init__(self, fd):
        self.fd = fd

    def write(self, data):
        while data:
            data = data[os.write(self.fd, data):]

    def read(self, most=1 << 20):
        """Some bytes; none at the end."""
        return os.read(self.fd, most)

    def close(self):
        os.close(self.fd)

    finish = close  # of a file


class Framed:
    """The same by frames."""

    def __init__(self, session, request):
        self.session, self.request = session, request
        self.sent = self.taken = self.got = 0
        self.finished = self.stopped = False
        self.received = b""

    def take(self, seconds=60):
        frame = self.session.answer(self.request, seconds, of_stream=True)
        if frame.kind == wire.STREAM_DATA:
            self.received += frame.bytes
            self.got += len(frame.bytes)
        elif frame.kind == wire.STREAM_TAKEN:
            assert self.taken <= frame.offset <= self.sent, (frame, self.sent)
            self.taken = frame.offset
        elif frame.kind == wire.STREAM_FINISHED:
            assert not self.finished
            self.finished = True
        else:
            self.stopped = True
        return frame

    def write(self, data):
        while data and not self.stopped:
            piece = data[:min(64 * 1024, WINDOW - (self.sent - self.taken))]
            if not piece:
                self.take()
                continue
            self.session.link.send(wire.stream_data(self.request, piece))
            self.sent, data = self.sent + len(piece), data[len(piece):]
        if data:
            raise BrokenPipeError

    def read(self, most=1 << 20):
        while not self.received and not self.finished:
            self.take()
        data, self.received = self.received[:most], self.received[most:]
        self.session.link.send(wire.stream_taken(self.request, self.got - len(self.received)))
        return data

    def finish(self):
        self.session.link.send(wire.stream_finished(self.request))

    def close(self):
        if not self.finished:
            self.session.link.send(wire.stream_stopped(self.request))


def read_to_end(stream):
    data = b""
    while piece := stream.read():
        data += piece
    stream.close()
    return data


class Session:
    """One session's socket, with what came of each process kept by its number."""

    def __init__(self, test, bounds=None, template="base", carrier=wire.DESCRIPTORS, byte_stream=False):
        self.test, self.carrier, self.byte_stream = test, carrier, byte_stream
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM if byte_stream else socket.SOCK_SEQPACKET)
        self.client = test.client
        self.client.seq += 1
        launcher_wire.send(self.client.socket, launcher_wire.create(
            template=template, seq=self.client.seq, session=1,
            bounds=bounds or launcher_wire.limits(wall=3_600_000)), [theirs.fileno(), ours.fileno()])
        theirs.close()
        self.link = wire.ByteLink(ours) if byte_stream else wire.Link(ours)
        reply = self.client.answer_to(self.client.seq)
        test.assertEqual(reply.kind, launcher_wire.CREATED, reply)
        self.id, self.walls = reply.id, reply.walls
        self.epoch = 0
        self.numbers = 0
        self.seen = []
        self.hello()

    def hello(self):
        if self.byte_stream:
            self.link.seek(self.epoch + 1, adopted=self.epoch > 0)
        self.epoch += 1
        self.link.send(wire.hello(self.epoch, self.carrier))
        frames = self.link.wait_for(lambda frame: frame.kind == wire.WELCOME and frame.epoch == self.epoch)
        self.test.assertEqual(frames[-1].carrier, self.carrier)
        return [frame for frame in frames if frame.kind == wire.IS]

    def destroy(self):
        launcher_wire.send(self.client.socket, launcher_wire.destroy(self.id))
        self.client.wait(lambda: self.client.ended.get(self.id))
        self.link.close()

    def start(self, argv, **more):
        self.numbers += 1
        argv = SH + [argv] if isinstance(argv, str) else argv
        self.link.send(wire.start(self.numbers, argv, **more))
        return self.numbers

    def started(self, number):
        frames = self.wait(number, lambda frame: frame.kind in (wire.STARTED, wire.START_REFUSED))
        return frames[-1]

    def wait(self, number, wanted, seconds=60, acknowledge=False):
        """Frames of this process up to the wanted one; those of others are kept for them."""
        mine = []
        deadline = time.monotonic() + seconds
        while True:
            at = next((i for i, frame in enumerate(self.seen) if getattr(frame, "process", None) == number), None)
            if at is not None:
                frame = self.seen.pop(at)
            else:
                frame = self.link.receive(max(0, deadline - time.monotonic()))
                if frame is None:
                    raise TimeoutError(f"process {number}: not said; said was {mine[-5:]}")
                if getattr(frame, "process", None) != number:
                    self.seen.append(frame)
                    continue
            mine.append(frame)
            if acknowledge and frame.kind == wire.OUTPUT:
                self.link.send(wire.acknowledge(number, frame.offset + len(frame.bytes), frame.stream))
            if wanted(frame):
                return mine

    def stream(self, opened):
        """Of a request that was opened or connected."""
        self.test.assertEqual(len(opened.fds), 1 if self.carrier == wire.DESCRIPTORS else 0)
        return Piped(opened.fds[0]) if opened.fds else Framed(self, opened.request)

    def answer(self, request, seconds=60, of_stream=False):
        """The next frame about a request of ours: an answer, or about its stream."""
        def is_wanted(frame):
            return (getattr(frame, "request", None) == request
                    and (frame.kind >= wire.STREAM_DATA) == of_stream)

        at = next((i for i, frame in enumerate(self.seen) if is_wanted(frame)), None)
        if at is not None:
            return self.seen.pop(at)
        deadline = time.monotonic() + seconds
        while True:
            frame = self.link.receive(max(0, deadline - time.monotonic()))
            if frame is None:
                raise TimeoutError(f"request {request} is not answered")
            if is_wanted(frame):
                return frame
            self.seen.append(frame)

    def output(self, frames, stream=wire.STDOUT):
        text = b""
        for frame in frames:
            if frame.kind == wire.OUTPUT and frame.stream == stream:
                self.test.assertEqual(frame.offset, len(text), "lost or repeated")
                text += frame.bytes
        return text

    def finish(self, number, seconds=60):
        """(exit frame, stdout, stderr), acknowledged as it comes."""
        frames = self.wait(number, lambda frame: frame.kind in (wire.EXITED, wire.START_REFUSED),
                           seconds, acknowledge=True)
        if frames[-1].kind == wire.START_REFUSED:
            raise AssertionError(frames[-1])
        out, err = self.output(frames), self.output(frames, wire.STDERR)
        self.test.assertEqual(frames[-1].out[1], len(out))
        self.test.assertEqual(frames[-1].err[1], len(err))
        return frames[-1], out, err

    def run(self, argv, seconds=60, **more):
        end, out, err = self.finish(self.start(argv, **more), seconds)
        return end.code if end.signal == 0 else -end.signal, out, err
