# A session's socket as its server holds it, for tests that take the server's place.
import socket
import struct
import time

import launcher_wire
import session_wire as wire

KEPT = 256 * 1024
SH = ["/bin/bash", "-c"]


def record(data):
    return struct.pack("<I", len(data)) + data


def cell(number, code):
    return struct.pack("<QB", number, 0) + wire.text("cell") + wire.text("") + wire.text(code)


class Session:
    """One session's socket, with what came of each process kept by its number."""

    def __init__(self, test, bounds=None, template="base"):
        self.test = test
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.client = test.client
        self.client.seq += 1
        launcher_wire.send(self.client.socket, launcher_wire.create(
            template=template, seq=self.client.seq, session=1,
            bounds=bounds or launcher_wire.limits(wall=3_600_000)), [theirs.fileno(), ours.fileno()])
        theirs.close()
        self.link = wire.Link(ours)
        reply = self.client.answer_to(self.client.seq)
        test.assertEqual(reply.kind, launcher_wire.CREATED, reply)
        self.id, self.walls = reply.id, reply.walls
        self.epoch = 0
        self.numbers = 0
        self.seen = []
        self.hello()

    def hello(self):
        self.epoch += 1
        self.link.send(wire.hello(self.epoch))
        frames = self.link.wait_for(lambda frame: frame.kind == wire.WELCOME and frame.epoch == self.epoch)
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

    def answer(self, request, seconds=60):
        """The next frame about a request of ours."""
        at = next((i for i, frame in enumerate(self.seen) if getattr(frame, "request", None) == request), None)
        if at is not None:
            return self.seen.pop(at)
        deadline = time.monotonic() + seconds
        while True:
            frame = self.link.receive(max(0, deadline - time.monotonic()))
            if frame is None:
                raise TimeoutError(f"request {request} is not answered")
            if getattr(frame, "request", None) == request:
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
