# The launcher's protocol, written down a second time and from the other side: what an attacker who
# took over the launcher's client could send. Kept apart from src/wire on purpose.
import array
import socket
import struct

VERSION = 1
CREATE, DESTROY = 1, 2
CREATED, REFUSED, ENDED = 65, 66, 67
PROCESS, JAIL = 1, 2
READ_ONLY, READ_WRITE = 1, 2
INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, POLICY, UNSUPPORTED, EXHAUSTED = 1, 2, 3, 4, 5, 6


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<I", len(value)) + value


def limits(wall=30_000, cpu=0, memory=512 << 20, disk=256 << 20, inodes=65_536, pids=128, cpus=1000, asked=0):
    return struct.pack("<QQQQIIIB", wall, cpu, memory, disk, inodes, pids, cpus, asked)


def create(engine=JAIL, template="host", bounds=None, mounts=(), version=VERSION, kind=CREATE):
    message = struct.pack("<BBB", version, kind, engine) + text(template)
    message += limits() if bounds is None else bounds
    message += struct.pack("<B", len(mounts))
    for mode, guest in mounts:
        message += struct.pack("<B", mode) + text(guest)
    return message


def destroy(identity):
    return struct.pack("<BB", VERSION, DESTROY) + text(identity)


def send(client, message, descriptors=()):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    client.sendmsg([message], rights)


class Reply:
    def __init__(self, message):
        self.kind = message[1] if len(message) > 1 else None
        if self.kind in (CREATED, ENDED):
            (size,) = struct.unpack_from("<I", message, 2)
            self.id = message[6:6 + size].decode()
        elif self.kind == REFUSED:
            self.code = message[2]
            self.message = message[11:].decode()

    def __repr__(self):
        return f"Reply({self.__dict__})"


def receive(client):
    """The next reply; None when the launcher has closed the connection."""
    try:
        message = client.recv(64 * 1024)
    except ConnectionResetError:
        return None
    return Reply(message) if message else None
