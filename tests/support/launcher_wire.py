# The launcher's protocol, written down a second time and from the other side: what an attacker who
# took over the launcher's client could send. Kept apart from src/wire on purpose.
import array
import socket
import struct

VERSION = 10
(CREATE, DESTROY, TAKE, BECOME_SERVER, PREPARE, LIST, FREEZE, MEASURE, DEFINE, FORGET, LEND, KEEP_LAYER, NOTE_LAYER,
 DROP_LAYER, LIST_LAYERS, MEASURE_HOST) = range(1, 17)
CREATED, REFUSED, ENDED, TEMPLATE, LISTED, MEASURED, DONE, LENT, LAYER, HOST_MEASURED = range(65, 75)
PROCESS, JAIL = 1, 2
READ_ONLY, READ_WRITE = 1, 2
INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, POLICY, UNSUPPORTED, EXHAUSTED = 1, 2, 3, 4, 5, 6
CONFLICT = 10


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<I", len(value)) + value


def limits(wall=30_000, cpu=0, memory=512 << 20, disk=256 << 20, inodes=65_536, pids=128, cpus=1000, asked=0):
    return struct.pack("<QQQQIIIB", wall, cpu, memory, disk, inodes, pids, cpus, asked)


def create(engine=JAIL, template="base", bounds=None, mounts=(), version=VERSION, kind=CREATE, seq=0, warm=0, waits=0,
           project="", session=0, network=0, layer="", make_layer=0, tenant=0, hurry=0, reusable=0):
    message = struct.pack("<BBIB", version, kind, seq, engine) + text(template)
    message += limits() if bounds is None else bounds
    message += struct.pack("<B", len(mounts))
    for mode, guest, *name in mounts:
        message += struct.pack("<B", mode) + text(guest) + text(name[0] if name else "")
    message += struct.pack("<BBBB", warm, hurry, waits, session) + text(project) + bytes([network])
    return message + text(layer) + bytes([make_layer]) + struct.pack("<QB", tenant, reusable)


def take(identity, bounds=None, network=0, cpu_weight=1024, tenant=0):
    return (struct.pack("<BB", VERSION, TAKE) + text(identity) + (limits() if bounds is None else bounds) +
            struct.pack("<BHQ", network, cpu_weight, tenant))


def lend(seq, identity):
    return struct.pack("<BBI", VERSION, LEND, seq) + text(identity)


def become_server():
    return struct.pack("<BB", VERSION, BECOME_SERVER)


def prepare(template):
    return struct.pack("<BB", VERSION, PREPARE) + text(template)


def destroy(identity):
    return struct.pack("<BB", VERSION, DESTROY) + text(identity)


def list_sandboxes(seq=0):
    return struct.pack("<BBI", VERSION, LIST, seq)


def freeze(identity, frozen=1, seq=0):
    return struct.pack("<BBI", VERSION, FREEZE, seq) + text(identity) + struct.pack("<B", frozen)


def measure(identity, seq=0):
    return struct.pack("<BBI", VERSION, MEASURE, seq) + text(identity)


def measure_host(seq=0):
    return struct.pack("<BBI", VERSION, MEASURE_HOST, seq)


def texts(values):
    return struct.pack("<I", len(values)) + b"".join(text(value) for value in values)


def define(identity, base="python", preload=(), env=(), bounds=None, seq=0, layers=(), image=""):
    """One more template, made of another."""
    return (struct.pack("<BBI", VERSION, DEFINE, seq) + text(identity) + text(base) + texts(preload) + texts(env)
            + (limits() if bounds is None else bounds) + texts(layers) + text(image))


def forget(identity, seq=0):
    return struct.pack("<BBI", VERSION, FORGET, seq) + text(identity)


def record(identity, size=1, entries=1, digest="0" * 64, made=0, used=0, in_use=0, note=""):
    """A layer's, as the server says it."""
    return (text(identity) + struct.pack("<QQ", size, entries) + text(digest) + struct.pack("<QQB", made, used, in_use)
            + text(note))


def keep_layer(identity, seq=0, **more):
    return struct.pack("<BBI", VERSION, KEEP_LAYER, seq) + record(identity, **more)


def note_layer(identity, note, seq=0):
    return struct.pack("<BBI", VERSION, NOTE_LAYER, seq) + text(identity) + text(note)


def drop_layer(identity, seq=0):
    return struct.pack("<BBI", VERSION, DROP_LAYER, seq) + text(identity)


def list_layers(seq=0):
    return struct.pack("<BBI", VERSION, LIST_LAYERS, seq)


def send(client, message, descriptors=()):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    client.sendmsg([message], rights)


class Reply:
    def __init__(self, message):
        self.kind = message[1] if len(message) > 1 else None
        if self.kind == CREATED:
            self.seq, size = struct.unpack_from("<II", message, 2)
            self.id = message[10:10 + size].decode()
            self.walls, self.generation, self.network = struct.unpack_from("<IIB", message, 10 + size)
        elif self.kind == ENDED:
            (size,) = struct.unpack_from("<I", message, 2)
            self.id = message[6:6 + size].decode()
            self.reason = message[6 + size]
        elif self.kind in (DONE, LENT):
            (self.seq,) = struct.unpack_from("<I", message, 2)
        elif self.kind == LISTED:
            self.seq, size = struct.unpack_from("<II", message, 2)
            self.id = message[10:10 + size].decode()
            at = 10 + size
            self.engine, size = struct.unpack_from("<BI", message, at)
            self.template = message[at + 5:at + 5 + size].decode()
            at += 5 + size + len(limits())
            self.walls, self.generation, self.frozen = struct.unpack_from("<IIB", message, at)
        elif self.kind == LAYER:
            self.seq, size = struct.unpack_from("<II", message, 2)
            self.id = message[10:10 + size].decode()
            at = 10 + size
            self.bytes, self.entries, size = struct.unpack_from("<QQI", message, at)
            self.digest = message[at + 20:at + 20 + size].decode()
            at += 20 + size
            self.made, self.used, self.in_use, size = struct.unpack_from("<QQBI", message, at)
            self.note = message[at + 21:at + 21 + size].decode()
            assert at + 21 + size == len(message), "bytes after the end of a message"
        elif self.kind == MEASURED:
            (self.seq, self.cpu_us, self.memory, self.peak, self.processes, self.disk, self.disk_limit,
             self.oom_kills, self.sockets) = struct.unpack_from("<IQQQIQQIQ", message, 2)
        elif self.kind == HOST_MEASURED:
            (self.seq, self.memory, self.memory_limit, self.sockets, self.pids,
             self.pids_limit) = struct.unpack_from("<IQQQII", message, 2)
        elif self.kind == REFUSED:
            (self.seq,) = struct.unpack_from("<I", message, 2)
            self.code = message[6]
            self.message = message[15:].decode()
        elif self.kind == TEMPLATE:
            (size,) = struct.unpack_from("<I", message, 2)
            self.name = message[6:6 + size].decode()
            (error,) = struct.unpack_from("<I", message, self.error_at(message))
            state_at = self.error_at(message) - 17
            self.state = message[state_at]
            self.generation, self.zygotes, self.forks = struct.unpack_from("<IIQ", message, state_at + 1)
            self.error = message[len(message) - error:].decode() if error else ""

    @staticmethod
    def error_at(message):
        """Where the last field begins: the others are read one by one, as their lengths say."""
        at = 2

        def skip_text():
            nonlocal at
            (size,) = struct.unpack_from("<I", message, at)
            at += 4 + size

        skip_text(), skip_text()
        at += 2
        skip_text(), skip_text()
        for _ in range(3):
            (count,) = struct.unpack_from("<I", message, at)
            at += 4
            for _ in range(count):
                skip_text()
        at += 1 + len(limits()) + 16
        return at + 1 + 4 + 4 + 8

    def __repr__(self):
        return f"Reply({self.__dict__})"


def receive(client):
    """The next reply; None when the launcher has closed the connection. What came along is in `fds`."""
    fds = array.array("i")
    try:
        message, ancillary, _, _ = client.recvmsg(64 * 1024, socket.CMSG_LEN(64 * fds.itemsize))
    except ConnectionResetError:
        return None
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[:len(data) - len(data) % fds.itemsize])
    if not message:
        return None
    reply = Reply(message)
    reply.fds = list(fds)
    return reply
