# The frames of a session's socket, written down a second time and from the server's side. Kept apart
# from src/wire on purpose: what an attacker in the server's place could send, and what tests rely on.
import array
import os
import select
import socket
import struct
import time

VERSION = 2
STDIN, STDOUT, STDERR, RESULTS, REQUESTS = range(5)
PROGRAM, WARM_CONTEXT, CONTEXT = 1, 2, 3
(HELLO, START, INPUT, CLOSE_INPUT, SUBSCRIBE, UNSUBSCRIBE, ACKNOWLEDGE, SET_LOSSY, SIGNAL, RESIZE, FORGET,
 FILE, COMMIT, ABANDON, CONNECT, END_PROCESSES) = range(1, 17)
GIVE_DATA, GIVE_TAKEN, GIVE_FINISHED, GIVE_STOPPED = range(17, 21)
(IS, WELCOME, STARTED, START_REFUSED, OUTPUT, INPUT_TAKEN, EXITED, FILE_OPENED, FILE_DONE, PORT_CONNECTED,
 PORT_REFUSED, STREAM_DATA, STREAM_TAKEN, STREAM_FINISHED, STREAM_STOPPED) = range(65, 80)
DESCRIPTORS, FRAMES = 1, 2
(READ, WRITE, STAT, LIST, MAKE_DIR, MOVE, COPY, REMOVE, TAR_OUT, TAR_IN, WATCH, SNAPSHOT_OUT,
 SNAPSHOT_IN) = range(1, 14)


def raw(value):
    return value if isinstance(value, bytes) else value.encode()


def text(value):
    value = raw(value)
    return struct.pack("<I", len(value)) + value


def texts(values):
    return struct.pack("<I", len(values)) + b"".join(text(value) for value in values)


def head(kind):
    return struct.pack("<BB", VERSION, kind)


def hello(epoch, carrier=DESCRIPTORS):
    return head(HELLO) + struct.pack("<QB", epoch, carrier)


def mark_of(epoch):
    """What comes over a byte stream ahead of the answer to that hello."""
    return b"gbx mark" + struct.pack("<Q", epoch)


def start(process, argv, env=("PATH=/usr/local/bin:/usr/bin:/bin",), workdir="/home/user", terminal=None, kind=PROGRAM,
          user="user", label="", stdin=False, lossy=False, subscribed=True):
    message = head(START) + struct.pack("<QB", process, kind) + texts(argv) + texts(env) + text(workdir)
    message += b"\0" if terminal is None else struct.pack("<BHH", 1, *terminal)
    return message + text(user) + text(label) + struct.pack("<BBB", stdin, lossy, subscribed)


def give(process, data, offset, stream=STDIN):
    return head(INPUT) + struct.pack("<QBQ", process, stream, offset) + text(data)


def close_input(process, stream=STDIN):
    return head(CLOSE_INPUT) + struct.pack("<QB", process, stream)


def subscribe(process, stream=STDOUT, offset=0, subscription=0):
    return head(SUBSCRIBE) + struct.pack("<QBQI", process, stream, offset, subscription)


def unsubscribe(process, stream=STDOUT):
    return head(UNSUBSCRIBE) + struct.pack("<QB", process, stream)


def acknowledge(process, offset, stream=STDOUT):
    return head(ACKNOWLEDGE) + struct.pack("<QBQ", process, stream, offset)


def set_lossy(process, lossy):
    return head(SET_LOSSY) + struct.pack("<QB", process, lossy)


def kill(process, signal, group=True):
    return head(SIGNAL) + struct.pack("<QBB", process, signal, group)


def resize(process, rows, columns):
    return head(RESIZE) + struct.pack("<QHH", process, rows, columns)


def forget(process):
    return head(FORGET) + struct.pack("<Q", process)


def file(request, op, path="", user="user", target="", at=0, most=2**64 - 1, depth=1, mode=None, owner="",
         recursive=False, follow=True, overwrite=True):
    message = head(FILE) + struct.pack("<QB", request, op) + text(user) + text(path) + text(target)
    message += struct.pack("<QQI", at, most, depth)
    message += b"\0" if mode is None else struct.pack("<BI", 1, mode)
    # Without details, and without metadata.
    return message + text(owner) + struct.pack("<BBBBI", recursive, follow, overwrite, False, 0)


def commit(request):
    return head(COMMIT) + struct.pack("<Q", request)


def abandon(request):
    return head(ABANDON) + struct.pack("<Q", request)


def connect(request, port):
    return head(CONNECT) + struct.pack("<QH", request, port)


def stream_data(request, data):
    return head(GIVE_DATA) + struct.pack("<Q", request) + text(data)


def stream_taken(request, offset):
    return head(GIVE_TAKEN) + struct.pack("<QQ", request, offset)


def stream_finished(request):
    return head(GIVE_FINISHED) + struct.pack("<Q", request)


def stream_stopped(request):
    return head(GIVE_STOPPED) + struct.pack("<Q", request)


def end_processes(request):
    return head(END_PROCESSES) + struct.pack("<Q", request)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0] if len(values) == 1 else values

    def text(self):
        size = self.take("I")
        value = self.data[self.at:self.at + size]
        assert len(value) == size
        self.at += size
        return value


class Frame:
    """One frame of the agent's, with its fields by name; `fds` are the caller's to close."""

    def __init__(self, data, fds=()):
        reader = Reader(data)
        version, self.kind = reader.take("BB")
        assert version == VERSION, data[:2]
        self.fds = list(fds)
        getattr(self, f"_read_{self.kind}")(reader)
        assert reader.at == len(data), "bytes after the end of a frame"

    def _end(self, reader):
        self.code, self.signal, self.oom_killed, self.cpu_us, self.max_rss = reader.take("BBBQQ")

    def _streams(self, reader):
        self.out, self.err, self.results = reader.take("QQ"), reader.take("QQ"), reader.take("QQ")

    def _read_65(self, reader):
        self.process, self.process_kind, self.pid = reader.take("QBI")
        self.label = reader.text()
        self.warm, self.terminal, self.lossy, self.started_ms = reader.take("BBBQ")
        self._streams(reader)
        self.input_taken, self.requests_taken = reader.take("QQ")
        self.ended = bool(reader.take("B"))
        if self.ended:
            self._end(reader)

    def _read_66(self, reader):
        self.epoch, self.carrier = reader.take("QB")

    def _read_67(self, reader):
        self.process, self.pid, self.warm = reader.take("QIB")

    def _read_68(self, reader):
        self.process, self.errno = reader.take("QI")
        self.step = reader.text()

    def _read_69(self, reader):
        self.process, self.stream, self.offset = reader.take("QBQ")
        self.bytes = reader.text()
        self.out_before, self.err_before, self.subscription = reader.take("QQI")

    def _read_70(self, reader):
        self.process, self.stream, self.offset, self.closed = reader.take("QBQB")

    def _read_71(self, reader):
        self.process = reader.take("Q")
        self._end(reader)
        self._streams(reader)

    def _read_72(self, reader):
        self.request = reader.take("Q")
        self.entry = reader.text()

    def _read_73(self, reader):
        self.request, self.errno = reader.take("QI")
        self.message, self.entry = reader.text(), reader.text()
        self.bytes, self.entries = reader.take("QQ")

    def _read_74(self, reader):
        self.request = reader.take("Q")

    def _read_75(self, reader):
        self.request, self.errno = reader.take("QI")

    def _read_76(self, reader):
        self.request = reader.take("Q")
        self.bytes = reader.text()

    def _read_77(self, reader):
        self.request, self.offset = reader.take("QQ")

    def _read_78(self, reader):
        self.request = reader.take("Q")

    _read_79 = _read_78

    def __repr__(self):
        return f"Frame({self.__dict__})"


class Link:
    """The server's end of a session's socket."""

    def __init__(self, link):
        self.socket = link
        link.setblocking(False)

    def send(self, message, seconds=20):
        if not select.select([], [self.socket], [], seconds)[1]:
            raise TimeoutError("the agent takes no frame")
        self.socket.send(message)

    def receive(self, seconds=20):
        """The next frame; None if none comes in that time."""
        if not select.select([self.socket], [], [], seconds)[0]:
            return None
        data, ancillary, flags, _ = self.socket.recvmsg(160 * 1024, socket.CMSG_SPACE(4 * 4))
        if not data:
            raise EOFError("the agent is gone")
        assert not flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC)
        fds = array.array("i")
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds.frombytes(content[:len(content) - len(content) % fds.itemsize])
        return Frame(data, fds)

    def wait_for(self, wanted, seconds=20, every=None):
        """Frames up to the first for which wanted(frame) holds, that one last."""
        deadline = time.monotonic() + seconds
        frames = []
        while True:
            frame = self.receive(max(0, deadline - time.monotonic()))
            if frame is None:
                raise TimeoutError(f"not said in {seconds} s; said was: {frames[-5:]}")
            frames.append(frame)
            if every is not None:
                every(frame)
            if wanted(frame):
                return frames

    def close(self):
        self.socket.close()


class ByteLink(Link):
    """The same over a byte stream: frames between 0xF5 and 0xFA, with their length."""

    MOST = 160 * 1024

    def __init__(self, link):
        super().__init__(link)
        self.received = b""

    def seek(self, epoch, adopted=False):
        """As a server does before its hello: nothing counts up to the mark of the answer."""
        self.mark = mark_of(epoch)
        if adopted:
            self.send_raw(b"\0" * (self.MOST + 6))

    def send_raw(self, data, seconds=20):
        deadline = time.monotonic() + seconds
        while data:
            if not select.select([], [self.socket], [], max(0, deadline - time.monotonic()))[1]:
                raise TimeoutError("the agent takes no bytes")
            data = data[self.socket.send(data):]

    def send(self, message, seconds=20):
        self.send_raw(b"\xf5" + text(message) + b"\xfa", seconds)

    def cut(self):
        """The next frame that is whole; None: more bytes are needed."""
        if self.mark is not None:
            at = self.received.find(self.mark)
            if at < 0:
                return None
            self.received, self.mark = self.received[at + len(self.mark):], None
        self.received = self.received.lstrip(b"\0")
        if len(self.received) < 5:
            return None
        first, length = struct.unpack_from("<BI", self.received)
        assert first == 0xf5 and length <= self.MOST, self.received[:20]
        if len(self.received) < length + 6:
            return None
        data, last = self.received[5:5 + length], self.received[5 + length]
        assert last == 0xfa, last
        self.received = self.received[6 + length:]
        return Frame(data)

    def receive(self, seconds=20):
        deadline = time.monotonic() + seconds
        while True:
            frame = self.cut()
            if frame is not None:
                return frame
            if not select.select([self.socket], [], [], max(0, deadline - time.monotonic()))[0]:
                return None
            data = self.socket.recv(1 << 20)
            if not data:
                raise EOFError("the agent is gone")
            self.received += data
