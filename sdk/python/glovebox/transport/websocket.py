"""The client side of WebSocket (RFC 6455), without sockets, extensions and compression."""

from __future__ import annotations

import base64
import hashlib
import os
import struct
from typing import Dict, Iterator, List, Mapping, Tuple

from ..errors import ProtocolError

__all__ = ["CLOSE", "Frames", "PING", "PONG", "TEXT", "BINARY", "check_accept", "frame", "handshake"]

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
_CONTINUATION = 0
_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
MAX_MESSAGE = 64 * 1024 * 1024


def handshake() -> Tuple[str, Dict[str, str]]:
    """A new nonce, and the headers of the upgrade request."""
    nonce = base64.b64encode(os.urandom(16)).decode()
    return nonce, {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": nonce,
    }


def check_accept(nonce: str, headers: Mapping[str, str]) -> None:
    """
    >>> check_accept("dGhlIHNhbXBsZSBub25jZQ==", {"sec-websocket-accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="})
    """
    wanted = base64.b64encode(hashlib.sha1((nonce + _GUID).encode()).digest()).decode()
    if headers.get("sec-websocket-accept") != wanted:
        raise ProtocolError("WebSocket handshake failed: wrong Sec-WebSocket-Accept")


def frame(kind: int, payload: bytes) -> bytes:
    """A message in one frame, masked as RFC 6455 requires of clients."""
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", 0x80 | kind, 0x80 | size)
    elif size < 65536:
        head = struct.pack("!BBH", 0x80 | kind, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", 0x80 | kind, 0x80 | 127, size)
    mask = os.urandom(4)
    return head + mask + _masked(payload, mask)


def _masked(payload: bytes, mask: bytes) -> bytes:
    if not payload:
        return b""
    size = len(payload)
    pattern = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "little") ^ int.from_bytes(pattern, "little")).to_bytes(size, "little")


class Frames:
    """Parses frames of the server into messages.

    >>> list(Frames().feed(bytes([0x81, 2]) + b"hi"))
    [(1, b'hi')]
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._kind = 0
        self._parts: List[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[Tuple[int, bytes]]:
        """The messages that are complete now: (opcode, payload), also pings and close."""
        self._buffer += data
        while True:
            taken = self._take_frame()
            if taken is None:
                return
            final, kind, payload = taken
            if kind >= 8:
                if not final or len(payload) > 125:
                    raise ProtocolError("malformed WebSocket frame: invalid control frame")
                yield kind, payload
                continue
            if (kind == _CONTINUATION) != bool(self._kind):
                raise ProtocolError("malformed WebSocket frame: unexpected continuation")
            self._kind = self._kind or kind
            self._parts.append(payload)
            self._size += len(payload)
            if self._size > MAX_MESSAGE:
                raise ProtocolError("WebSocket message is too long")
            if final:
                whole, made = b"".join(self._parts), self._kind
                self._kind, self._parts, self._size = 0, [], 0
                yield made, whole

    def _take_frame(self) -> "Tuple[bool, int, bytes] | None":
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        first, second = buffer[0], buffer[1]
        if first & 0x70 or second & 0x80:
            raise ProtocolError("malformed WebSocket frame: reserved bits or mask set")
        size, start = second & 0x7F, 2
        if size == 126:
            if len(buffer) < 4:
                return None
            size, start = struct.unpack_from("!H", buffer, 2)[0], 4
        elif size == 127:
            if len(buffer) < 10:
                return None
            size, start = struct.unpack_from("!Q", buffer, 2)[0], 10
        if size > MAX_MESSAGE:
            raise ProtocolError("WebSocket frame is too long")
        if len(buffer) < start + size:
            return None
        payload = bytes(buffer[start : start + size])
        del buffer[: start + size]
        return bool(first & 0x80), first & 0x0F, payload
