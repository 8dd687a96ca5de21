"""Answers are read alike however they are cut into pieces, and what is malformed is refused."""

from __future__ import annotations

import pytest

from glovebox.errors import ProtocolError
from glovebox.transport.http1 import ResponseReader, request_head

WHOLE = {
    "length": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A:  b \r\n\r\nhello",
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nT: 1\r\n\r\n",
    "continue": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
}


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("form", WHOLE)
def test_every_response_is_parsed_in_pieces_of_any_size(form: str, size: int) -> None:
    reader, data, body = ResponseReader(), WHOLE[form], b""
    for at in range(0, len(data), size):
        assert not reader.is_complete
        reader.feed(data[at : at + size])
        body += reader.take()
    assert (reader.status, body, reader.is_complete, reader.is_keep_alive) == (200, b"hello", True, True)


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    reader = ResponseReader()
    reader.feed(b"HTTP/1.1 200 OK\r\n\r\nhel")
    reader.feed(b"lo")
    assert not reader.is_complete
    reader.feed_eof()
    assert (reader.take(), reader.is_complete, reader.is_keep_alive) == (b"hello", True, False)


def test_a_body_that_is_cut_short_is_not_complete() -> None:
    for start in (b"Content-Length: 5\r\n\r\nhel", b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel"):
        reader = ResponseReader()
        reader.feed(b"HTTP/1.1 200 OK\r\n" + start)
        reader.feed_eof()
        assert not reader.is_complete


def test_no_content_has_no_body() -> None:
    reader = ResponseReader("DELETE")
    reader.feed(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert reader.is_complete and reader.is_keep_alive


def test_bytes_after_an_upgrade_are_kept() -> None:
    reader = ResponseReader()
    reader.feed(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x02hi")
    assert reader.is_complete and reader.rest() == b"\x81\x02hi"


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 2x0 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
        b"x" * 70_000,
    ],
)
def test_malformed_input_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        ResponseReader().feed(data)


def test_headers_cannot_be_injected() -> None:
    for value in ("a\r\nX-Evil: 1", "a\0b", "é"):
        with pytest.raises(ValueError):
            request_head("GET", "/", b"", {"Idempotency-Key": value}, None)
    for target in ("/a b", "/a\r\nb", "/é"):
        with pytest.raises(ValueError):
            request_head("GET", target, b"", {}, None)
