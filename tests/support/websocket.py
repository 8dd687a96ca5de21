# A WebSocket client of the standard library's means, for tests: text and binary messages, pings
# answered, everything masked as clients must. Speaks JSON where asked.
import base64
import json
import os
import socket
import struct

PATIENCE = 60
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Closed(Exception):
    def __init__(self, code, reason):
        super().__init__(f"closed with {code} {reason!r}")
        self.code, self.reason = code, reason


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__(f"refused with {status}: {body!r}")
        self.status, self.body = status, body


class WebSocket:
    def __init__(self, client, path, headers=None, timeout=PATIENCE, receive_buffer=None):
        """`client` is a server.Client: its address and key are used, not its connection."""
        self.socket = socket.socket()
        if receive_buffer:  # a reader that takes little at a time
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(client.address)
        words = {"Host": "%s:%d" % client.address, "Upgrade": "websocket", "Connection": "Upgrade",
                 "Sec-WebSocket-Version": "13",
                 "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(), **client.headers(headers)}
        lines = [f"GET {path} HTTP/1.1"] + [f"{name}: {value}" for name, value in words.items()]
        self.socket.sendall("\r\n".join(lines + ["", ""]).encode())
        self.pending = b""
        head = self.until(b"\r\n\r\n").decode("latin-1")
        self.status = int(head.split()[1])
        self.head = head
        if self.status != 101:
            size = next((int(line.split(":")[1]) for line in head.split("\r\n")
                         if line.lower().startswith("content-length:")), 0)
            body = self.exactly(size)
            self.socket.close()
            raise Refused(self.status, body)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def fill(self):
        more = self.socket.recv(1 << 16)
        if not more:
            raise Closed(1006, "the connection ended")
        self.pending += more

    def until(self, mark):
        while mark not in self.pending:
            self.fill()
        head, _, self.pending = self.pending.partition(mark)
        return head

    def exactly(self, size):
        while len(self.pending) < size:
            self.fill()
        taken, self.pending = self.pending[:size], self.pending[size:]
        return taken

    def frame(self, kind, data, last=True):
        size = len(data)
        head = bytes([(0x80 if last else 0) | kind])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 1 << 16:
            head += bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", size)
        mask = os.urandom(4)
        whole = (mask * (size // 4 + 1))[:size]
        masked = (int.from_bytes(data, "big") ^ int.from_bytes(whole, "big")).to_bytes(size, "big")
        return head + mask + masked

    def send(self, data, kind=None):
        if isinstance(data, (dict, list)):
            data = json.dumps(data)
        if isinstance(data, str):
            data, kind = data.encode(), kind or TEXT
        self.socket.sendall(self.frame(kind or BINARY, data))

    def receive(self):
        """The next message: text as str, binary as bytes."""
        whole, kind = b"", None
        while True:
            first, second = self.exactly(2)
            size = second & 0x7F
            if second & 0x80:
                raise AssertionError("a server must not mask")
            if size == 126:
                size = struct.unpack(">H", self.exactly(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.exactly(8))[0]
            data, opcode = self.exactly(size), first & 0x0F
            if opcode == PING:
                self.socket.sendall(self.frame(PONG, data))
            elif opcode == CLOSE:
                code = struct.unpack(">H", data[:2])[0] if len(data) >= 2 else 1005
                raise Closed(code, data[2:].decode())
            elif opcode != PONG:
                kind = kind or opcode
                whole += data
                if first & 0x80:
                    return whole.decode() if kind == TEXT else whole

    def receive_json(self):
        return json.loads(self.receive())

    def close(self, code=1000):
        self.socket.sendall(self.frame(CLOSE, struct.pack(">H", code)))


class ExecStream(WebSocket):
    """WS …/exec/stream: what a program prints, joined, and what else is said."""

    def __init__(self, session, first, **more):
        super().__init__(session.client, session.path("/exec/stream"), **more)
        self.out, self.err, self.process, self.exit, self.lost = b"", b"", None, None, {}
        self.out_end = self.err_end = 0  # offsets: where to go on
        self.send(first)

    def take(self):
        """One message; output is added to what there was. Its type."""
        message = self.receive_json()
        kind = message["type"]
        if kind in ("stdout", "stderr"):
            data = message["data"].encode() if "data" in message else base64.b64decode(message["data_base64"])
            if kind == "stdout":
                self.out += data
                self.out_end = message["offset"] + len(data)
            else:
                self.err += data
                self.err_end = message["offset"] + len(data)
        elif kind == "started":
            self.process = message["process"]
        elif kind == "exit":
            self.exit = message
        elif kind == "lost":
            self.lost[message["stream"]] = self.lost.get(message["stream"], 0) + message["bytes"]
        elif kind == "error":
            raise AssertionError(message)
        return kind

    def until(self, condition):
        if isinstance(condition, bytes):
            return super().until(condition)
        while not condition(self):
            self.take()
        return self

    def finish(self):
        return self.until(lambda stream: stream.exit is not None)
