"""The bytes of a call, and of the pieces that follow it."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from .endpoint import Endpoint
from .http1 import request_head
from .request import Call, dump_json

__all__ = ["Framing", "prepare"]


def prepare(call: "Call[Any]", endpoint: Endpoint) -> Tuple[bytes, Any]:
    """What is sent at once, and what follows in pieces: None if nothing does."""
    target = endpoint.base + call.target
    if call.json is not None:
        payload = dump_json(call.json)
        return request_head(call.method, target, endpoint.fixed_json, call.headers, len(payload)) + payload, None
    if call.body is None:
        length = 0 if call.method in ("POST", "PUT", "PATCH") else None
        return request_head(call.method, target, endpoint.fixed, call.headers, length), None
    if isinstance(call.body, bytes):
        return request_head(call.method, target, endpoint.fixed, call.headers, len(call.body)) + call.body, None
    headers = dict(call.headers)
    if call.body_length is None:
        headers["Transfer-Encoding"] = "chunked"
    return request_head(call.method, target, endpoint.fixed, headers, call.body_length), call.body


class Framing:
    """How the pieces of a body look on the wire: as they are up to a length that was said, or as chunks.

    >>> framing = Framing(None)
    >>> framing.piece(b"hello"), framing.end()
    (b'5\\r\\nhello\\r\\n', b'0\\r\\n\\r\\n')
    """

    def __init__(self, length: Optional[int]) -> None:
        self._left = length

    def piece(self, piece: Any) -> bytes:
        if not isinstance(piece, (bytes, bytearray, memoryview)):
            raise TypeError(f"a body comes in pieces of bytes, not of {type(piece).__name__}")
        data = bytes(piece)
        if self._left is None:
            return b"%x\r\n" % len(data) + data + b"\r\n" if data else b""
        self._left -= len(data)
        if self._left < 0:
            raise ValueError("the body is longer than was said; did the file grow?")
        return data

    def end(self) -> bytes:
        if self._left is None:
            return b"0\r\n\r\n"
        if self._left:
            raise ValueError("the body is shorter than was said; did the file shrink?")
        return b""
