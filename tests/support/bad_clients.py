# Clients who mean no good, or just go away; for tests that show that others do not notice.
import resource
import socket

GIGABYTE = 1 << 30
HARMLESS = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def nonsense(host):
    """Requests that no client of ours would send; each ends its connection or is refused."""
    good = f"Host: {host}\r\n"
    return [
        b"\0" * 100, b"\xff\xfe\xfd" * 50, b"\r\n" * 200, b"GET\r\n\r\n", b"GET /\r\n\r\n", b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n" + good.encode() + b"\r\n", b"GET / HTTP/1.1\r\n\r\n",
        f"GET / HTTP/1.1\r\n{good}{good}\r\n".encode(), f"GET  / HTTP/1.1\r\n{good}\r\n".encode(),
        f"GET / HTTP/1.1\r\n{good}A\0B: c\r\n\r\n".encode(), f"GET / HTTP/1.1\r\n{good}: empty\r\n\r\n".encode(),
        f"GET / HTTP/1.1\r\n{good} folded: x\r\n\r\n".encode(), f"GET / HTTP/1.1\r\n{good}X y: z\r\n\r\n".encode(),
        f"GET /%zz HTTP/1.1\r\n{good}\r\n".encode(), f"GET /\x01 HTTP/1.1\r\n{good}\r\n".encode(),
        f"GET /{'a' * 100000} HTTP/1.1\r\n{good}\r\n".encode(),
        f"GET / HTTP/1.1\r\n{good}X: {'a' * 100000}\r\n\r\n".encode(),
        (f"GET / HTTP/1.1\r\n{good}" + "A: b\r\n" * 20000 + "\r\n").encode(),
        f"POST /v1/run HTTP/1.1\r\n{good}Content-Length: -1\r\n\r\n".encode(),
        f"POST /v1/run HTTP/1.1\r\n{good}Content-Length: 1e3\r\n\r\n".encode(),
        f"POST /v1/run HTTP/1.1\r\n{good}Content-Length: 99999999999999999999999\r\n\r\n".encode(),
        f"POST /v1/run HTTP/1.1\r\n{good}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc".encode(),
        f"POST /v1/run HTTP/1.1\r\n{good}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode(),
        f"POST /v1/run HTTP/1.1\r\n{good}Transfer-Encoding: gzip\r\n\r\n".encode(),
        f"POST /v1/run HTTP/1.1\r\n{good}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n".encode(),
        f"CONNECT a:1 HTTP/1.1\r\n{good}\r\n".encode(), f"{'A' * 5000} / HTTP/1.1\r\n{good}\r\n".encode(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 200,
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    ]


def pour(connection, piece):
    """Sends without listening, up to a gigabyte; how much went in before it was cut."""
    sent = 0
    try:
        while sent < GIGABYTE:
            connection.sendall(piece)
            sent += len(piece)
    except (ConnectionError, TimeoutError):
        pass
    return sent


def open_idle(address, count, crowd):
    """Adds so many connections to a list; half of them ask something harmless once."""
    for i in range(count):
        one = socket.create_connection(address, timeout=60)
        crowd.append(one)
        if i % 2:
            one.sendall(HARMLESS)


def allow_files(count):
    """Lets this process open so many; what is returned takes that back."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, count)), hard))
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
