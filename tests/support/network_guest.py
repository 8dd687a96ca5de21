# What a guest runs to try its network: text of a program that the tests send into sandboxes. Every
# function answers with plain values, errors by the name of their type, so that a test can compare.
import json

SOURCE = r'''
import json, os, random, socket, ssl, struct, threading, time

def _error(error):
    return {"error": type(error).__name__, "errno": getattr(error, "errno", None), "text": str(error)}

def connect(host, port, timeout=20):
    return socket.create_connection((host, port), timeout=timeout)

def secure(connection, name, check=True):
    context = ssl.create_default_context(cadata=CA)
    if not check:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(connection, server_hostname=name)

def until_end(connection, most=1 << 24):
    data = b""
    while len(data) < most:
        more = connection.recv(65536)
        if not more:
            break
        data += more
    return data

def fetch(host, port=None, tls=None, path="/", check=True, timeout=20):
    """GET; tls: the name to say, True for the host's own. The answer's JSON, or the error."""
    name = host if tls is True else tls
    try:
        with connect(host, port or (443 if tls else 80), timeout) as plain:
            connection = secure(plain, name, check) if tls else plain
            with connection:
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {name or host}\r\n\r\n".encode())
                data = b""
                while b"\r\n\r\n" not in data:
                    more = connection.recv(65536)
                    if not more:
                        return {"error": "EndOfFile", "text": repr(data)}
                    data += more
                head, _, body = data.partition(b"\r\n\r\n")
                size = int([line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")][0].split(b":")[1])
                got = len(body)
                while got < size:
                    more = connection.recv(1 << 18)
                    if not more:
                        return {"error": "EndOfFile", "text": str(got)}
                    got += len(more)
                    if size < 65536:
                        body += more
                return json.loads(body) if size < 65536 else {"bytes": got}
    except (OSError, ValueError) as error:
        return _error(error)

def talk(host, port, data=b"", timeout=20, shut=False, first=0):
    """Sends bytes (or reads `first` bytes before it does) and gives what comes until the end."""
    try:
        with connect(host, port, timeout) as connection:
            got = connection.recv(first) if first else b""
            if data:
                connection.sendall(data.encode("latin-1") if isinstance(data, str) else data)
            if shut:
                connection.shutdown(socket.SHUT_WR)
            more = b"" if first and not data else connection.recv(65536)
            return {"got": (got + more).decode("latin-1")}
    except OSError as error:
        return _error(error)

def lookup(name, family=0):
    try:
        found = socket.getaddrinfo(name, 1, family, socket.SOCK_STREAM)
        return sorted({entry[4][0] for entry in found})
    except (OSError, UnicodeError) as error:
        return _error(error)

def _name(labels):
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"

def ask(name, kind=1, server="100.64.0.53", labels=None, edns=True, seconds=8, raw=None, klass=1):
    """A question by hand: {"code", "addresses", "others", "ede", "ttl"}."""
    labels = labels or [label.encode("latin-1") for label in name.split(".")]
    identity = random.randrange(1 << 16)
    query = struct.pack(">HHHHHH", identity, 0x100, 1, 0, 0, 1 if edns else 0)
    query += _name(labels) + struct.pack(">HH", kind, klass)
    if edns:
        query += b"\0" + struct.pack(">HHIH", 41, 1232, 0, 0)
    if raw is not None:
        query = struct.pack(">H", identity) + bytes.fromhex(raw)
    try:
        with socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.settimeout(seconds)
            asker.connect((server, 53))
            asker.send(query)
            answer = asker.recv(65535)
    except OSError as error:
        return _error(error)
    made = {"code": answer[3] & 15, "truncated": bool(answer[2] & 2), "addresses": [], "others": [], "ede": None,
            "size": len(answer), "same_id": answer[:2] == query[:2], "ttl": None}
    def skip(at):
        while answer[at] != 0:
            if answer[at] >= 0xC0:
                return at + 2
            at += 1 + answer[at]
        return at + 1
    counts = struct.unpack_from(">HHHH", answer, 4)
    at = 12
    for _ in range(counts[0]):
        at = skip(at) + 4
    for _ in range(sum(counts[1:])):
        at = skip(at)
        kind, _, ttl, size = struct.unpack_from(">HHIH", answer, at)
        data = answer[at + 10:at + 10 + size]
        at += 10 + size
        if kind in (1, 28):
            made["addresses"].append(socket.inet_ntop(socket.AF_INET if kind == 1 else socket.AF_INET6, data))
            made["ttl"] = ttl
        elif kind == 41:
            while len(data) >= 4:
                option, length = struct.unpack_from(">HH", data)
                if option == 15:
                    made["ede"] = [struct.unpack_from(">H", data, 4)[0], data[6:4 + length].decode("latin-1")]
                data = data[4 + length:]
        else:
            made["others"].append(kind)
    return made

def hello(name=None, names=None, pieces=None):
    """The bytes of a ClientHello, as OpenSSL makes it; `names` puts others by hand."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context(cadata=CA)
    context.check_hostname = False
    made = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        made.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()

def split_records(data, size):
    """The same handshake in TLS records of at most so many bytes."""
    body, made = data[5:], b""
    for at in range(0, len(body), size):
        piece = body[at:at + size]
        made += data[:3] + struct.pack(">H", len(piece)) + piece
    return made

def send_pieces(host, port, pieces, pause=0.0, timeout=20):
    """Each piece in a segment of its own; the length of what comes back, or the error."""
    try:
        with connect(host, port, timeout) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in pieces:
                connection.sendall(piece)
                if pause:
                    time.sleep(pause)
            return {"got": len(connection.recv(65536))}
    except OSError as error:
        return _error(error)

def datagram(host, port, timeout=1.5):
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.settimeout(timeout)
            one.connect((host, port))
            one.send(b"x")
            return {"got": one.recv(10).decode()}
    except OSError as error:
        return _error(error)
'''


def program(authority, expression):
    """A whole program that prints the value of an expression as JSON."""
    return f"CA = {json.dumps(authority)}\n{SOURCE}\nprint(json.dumps({expression}))\n"


class Inside:
    """A live session's code context with the functions above."""

    def __init__(self, session, authority):
        self.session = session
        answer = session.code(f"CA = {json.dumps(authority)}\n{SOURCE}")
        if answer.get("error"):
            raise AssertionError(answer)

    def __call__(self, expression, before=""):
        """The value of an expression there."""
        answer = self.session.code(f"{before}\nprint(json.dumps({expression}))")
        if answer.get("error") or not answer["stdout"]:
            raise AssertionError((expression, answer))
        return json.loads(answer["stdout"])

    def __getattr__(self, name):
        def call(*words, **more):
            arguments = [repr(word) for word in words] + [f"{key}={value!r}" for key, value in more.items()]
            return self(f"{name}({', '.join(arguments)})")
        return call
