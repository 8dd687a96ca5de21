"""Encodes requests: the head, and the framing of a streamed body."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from .endpoint import Endpoint
from .http1 import request_head
from .request import Request, dump_json

__all__ = ["BodyFraming", "encode_request"]


def encode_request(request: "Request[Any]", endpoint: Endpoint) -> Tuple[bytes, Any]:
    """The bytes to send at once, and the body to stream after them, or None."""
    target = endpoint.base + request.target
    if request.json is not None:
        payload = dump_json(request.json)
        return request_head(request.method, target, endpoint.fixed_json, request.headers, len(payload)) + payload, None
    if request.body is None:
        length = 0 if request.method in ("POST", "PUT", "PATCH") else None
        return request_head(request.method, target, endpoint.fixed, request.headers, length), None
    if isinstance(request.body, bytes):
        return request_head(
            request.method, target, endpoint.fixed, request.headers, len(request.body)
        ) + request.body, None
    headers = dict(request.headers)
    if request.body_length is None:
        headers["Transfer-Encoding"] = "chunked"
    return request_head(request.method, target, endpoint.fixed, headers, request.body_length), request.body


class BodyFraming:
    """Frames the pieces of a streamed body: unchanged if the length is known, otherwise as HTTP chunks.

    >>> framing = BodyFraming(None)
    >>> framing.piece(b"hello"), framing.end()
    (b'5\\r\\nhello\\r\\n', b'0\\r\\n\\r\\n')
    """

    def __init__(self, length: Optional[int]) -> None:
        self._left = length

    def piece(self, piece: Any) -> bytes:
        if not isinstance(piece, (bytes, bytearray, memoryview)):
            raise TypeError(f"a streamed body must consist of bytes, not of {type(piece).__name__}")
        data = bytes(piece)
        if self._left is None:
            return b"%x\r\n" % len(data) + data + b"\r\n" if data else b""
        self._left -= len(data)
        if self._left < 0:
            raise ValueError("the body is longer than announced; did the file grow?")
        return data

    def end(self) -> bytes:
        if self._left is None:
            return b"0\r\n\r\n"
        if self._left:
            raise ValueError("the body is shorter than announced; did the file shrink?")
        return b""
