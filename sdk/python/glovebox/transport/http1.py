"""HTTP/1.1 without sockets: writes the heads of requests, parses responses.

Shared by the sync and the async client. Not ``http.client``, because asyncio needs another one anyway, and
because a request should cost little beside a run of 1.7 ms (``http.client`` parses headers with an e-mail parser
and takes several times as long). It reads what a Glovebox server, or a proxy in front of one, sends: bodies with
a length, in chunks or up to the end of the connection; no compression, no trailers, no folded headers.
"""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional

from ..errors import ProtocolError

__all__ = ["ResponseReader", "check_header", "request_head"]

MAX_HEAD = 64 * 1024
_MAX_CHUNK_LINE = 4096


def check_header(name: str, value: str) -> None:
    """Refuses a value that could inject another header."""
    if not value.isprintable() or not value.isascii():
        raise ValueError(f"{name} must consist of printable ASCII characters")


def request_head(method: str, target: str, fixed: bytes, headers: Mapping[str, str], length: Optional[int]) -> bytes:
    """The head of a request; ``fixed`` are the headers of every request of a client.

    >>> request_head("GET", "/health", b"Host: a\\r\\n", {}, None)
    b'GET /health HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n'
    """
    if not target.isascii() or not target.isprintable() or " " in target:
        raise ValueError(f"invalid path in a request: {target!r}")
    lines = ""
    for name, value in headers.items():
        check_header(name, value)
        lines += f"{name}: {value}\r\n"
    if length is not None:
        lines += f"Content-Length: {length}\r\n"
    return f"{method} {target} HTTP/1.1\r\n".encode() + fixed + f"{lines}\r\n".encode()


class ResponseReader:
    """Parses one response, fed with bytes as they arrive.

    >>> reader = ResponseReader()
    >>> reader.feed(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nhi")
    >>> reader.status, reader.take(), reader.is_complete, reader.is_keep_alive
    (200, b'hi', True, True)
    """

    def __init__(self, method: str = "GET") -> None:
        self._method = method
        self._buffer = bytearray()
        self._body: List[bytes] = []
        self._left: Optional[int] = None  # bytes left of the body or the chunk; None: up to the end of the connection
        self._is_chunked = False
        self._in_trailer = False
        self._needs_chunk_end = False
        self.status = 0  # 0: the head is not complete yet
        self.headers: Dict[str, str] = {}
        self.is_complete = False
        self.is_keep_alive = False
        #: Whether any byte of the response has arrived.
        self.has_begun = False

    @property
    def has_head(self) -> bool:
        return self.status != 0

    def take(self) -> bytes:
        """The part of the body that has arrived since the last call."""
        body, self._body = self._body, []
        return body[0] if len(body) == 1 else b"".join(body)

    def rest(self) -> bytes:
        """The bytes after the head of an upgrade: they belong to the new protocol."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        return rest

    def feed(self, data: bytes) -> None:
        self.has_begun = True
        if not self._buffer and not self._is_chunked and not self.is_complete:
            # The common case: the whole head at once, or a part of a body with a length. Nothing is copied.
            if not self.status:
                end = data.find(b"\r\n\r\n")
                if 0 < end <= MAX_HEAD:
                    self._read_head(data[:end].decode("latin-1"))
                    data = data[end + 4 :]
            if self.status and not self._is_chunked and not self.is_complete:
                if data:
                    self._take_plain(data)
                return
        self._buffer += data
        while not self.status:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > MAX_HEAD:
                    raise ProtocolError(f"malformed response: the head is longer than {MAX_HEAD} bytes")
                return
            head = self._buffer[:end].decode("latin-1")
            del self._buffer[: end + 4]
            self._read_head(head)
        if self.is_complete:
            return
        if self._is_chunked:
            self._read_chunks()
        elif self._buffer:
            rest = bytes(self._buffer)
            self._buffer.clear()
            self._take_plain(rest)

    def feed_eof(self) -> None:
        """The server has closed the connection: the end of a body without a length."""
        if self.status and not self.is_complete and not self._is_chunked and self._left is None:
            self.is_complete = True
            self.is_keep_alive = False

    def _read_head(self, head: str) -> None:
        first, *lines = head.split("\r\n")
        version, _, rest = first.partition(" ")
        number = rest[:3]
        if version not in ("HTTP/1.1", "HTTP/1.0") or len(number) != 3 or not (number.isascii() and number.isdigit()):
            raise ProtocolError("malformed response: not HTTP/1.1; is this the address of a Glovebox server?")
        headers: Dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or not name or name[-1] == " ":
                raise ProtocolError("malformed response: invalid header")
            name, value = name.lower(), value.strip()
            if name in headers and name == "content-length" and headers[name] != value:
                raise ProtocolError("malformed response: two different Content-Length headers")
            headers[name] = value
        status = int(number)
        if 100 <= status < 200 and status != 101:
            return  # 100 Continue and the like: the response follows
        self.status, self.headers = status, headers
        self._begin_body(version)

    def _begin_body(self, version: str) -> None:
        connection = self.headers.get("connection", "").lower()
        self.is_keep_alive = "close" not in connection if version == "HTTP/1.1" else "keep-alive" in connection
        if self.status in (101, 204, 304) or self._method == "HEAD":
            self.is_complete = True
            return
        coding = self.headers.get("transfer-encoding")
        length = self.headers.get("content-length")
        if coding is not None:
            if coding.lower() != "chunked" or length is not None:
                raise ProtocolError("malformed response: unsupported Transfer-Encoding")
            self._is_chunked, self._left = True, 0
        elif length is not None:
            if not (length.isascii() and length.isdigit()) or len(length) > 18:
                raise ProtocolError("malformed response: invalid Content-Length")
            self._left = int(length)
            self.is_complete = self._left == 0
        else:
            self._left, self.is_keep_alive = None, False

    def _take_plain(self, data: bytes) -> None:
        if self._left is None:
            self._body.append(data)
            return
        if len(data) > self._left:
            raise ProtocolError("malformed response: the body is longer than announced")
        if data:
            self._body.append(data)
        self._left -= len(data)
        self.is_complete = self._left == 0

    def _read_chunks(self) -> None:
        while True:
            if self._left:
                piece = bytes(self._buffer[: self._left])
                del self._buffer[: len(piece)]
                if piece:
                    self._body.append(piece)
                    self._left -= len(piece)
                if self._left:
                    return
                self._needs_chunk_end = True
            line_end = self._buffer.find(b"\r\n")
            if line_end < 0:
                if len(self._buffer) > _MAX_CHUNK_LINE:
                    raise ProtocolError("malformed response: invalid chunk")
                return
            line = bytes(self._buffer[:line_end])
            del self._buffer[: line_end + 2]
            if self._needs_chunk_end:
                if line:
                    raise ProtocolError("malformed response: a chunk is longer than announced")
                self._needs_chunk_end = False
            elif self._in_trailer:
                if not line:
                    self.is_complete = True
                    if self._buffer:
                        raise ProtocolError("malformed response: the body is longer than announced")
                    return
            else:
                self._begin_chunk(line)

    def _begin_chunk(self, line: bytes) -> None:
        size = line.split(b";", 1)[0].strip()
        if not size or len(size) > 15 or size.strip(b"0123456789abcdefABCDEF"):
            raise ProtocolError("malformed response: invalid chunk")
        self._left = int(size, 16)
        self._in_trailer = self._left == 0
