"""Frames are read however they are cut, and what a server must not send is refused."""

from __future__ import annotations

import struct
from typing import List, Tuple

import pytest

from glovebox.errors import ConflictError, ProtocolError
from glovebox.requests.process_stream import ProcessState
from glovebox.transport.websocket import BINARY, PING, TEXT, Frames, frame


def unmasked(first: int, payload: bytes) -> bytes:
    size = len(payload)
    if size < 126:
        return struct.pack("!BB", first, size) + payload
    if size < 65536:
        return struct.pack("!BBH", first, 126, size) + payload
    return struct.pack("!BBQ", first, 127, size) + payload


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536])
def test_sizes_and_pieces(size: int) -> None:
    data = unmasked(0x80 | BINARY, b"x" * size)
    frames = Frames()
    got: List[Tuple[int, bytes]] = []
    for at in range(0, len(data), 1000):
        got += frames.feed(data[at : at + 1000])
    assert got == [(BINARY, b"x" * size)]


def test_messages_in_parts_with_a_ping_between() -> None:
    data = unmasked(TEXT, b"a") + unmasked(0x80 | PING, b"p") + unmasked(0, b"b") + unmasked(0x80, b"c")
    assert list(Frames().feed(data)) == [(PING, b"p"), (TEXT, b"abc")]


@pytest.mark.parametrize(
    "data",
    [
        bytes([0xC1, 0]),  # a bit that was not agreed on
        bytes([0x81, 0x80, 0, 0, 0, 0]),  # masked
        unmasked(0x80, b"continues nothing"),
        unmasked(TEXT, b"a") + unmasked(TEXT, b"b"),
        unmasked(0x09, b"a ping in parts"),
        unmasked(0x89, b"x" * 126),
        struct.pack("!BBQ", 0x81, 127, 1 << 60),
    ],
)
def test_malformed_input_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        list(Frames().feed(data))


def test_what_is_sent_is_masked() -> None:
    made = frame(TEXT, b"hello")
    mask, payload = made[2:6], made[6:]
    assert made[1] & 0x80 and bytes(a ^ mask[i % 4] for i, a in enumerate(payload)) == b"hello"
    for size in (126, 65536, 200_001):
        assert len(frame(BINARY, b"x" * size)) in (size + 8, size + 14)


def text(message: str) -> bytes:
    return unmasked(0x80 | TEXT, message.encode())


def test_a_process_by_its_messages() -> None:
    state = ProcessState()
    state.feed(text('{"type":"started","process":3,"pid":7}'))
    state.feed(
        text('{"type":"stdout","data":"é","offset":0}') + text('{"type":"stderr","data_base64":"/w==","offset":0}')
    )
    state.feed(text('{"type":"lost","stream":"stdout","bytes":9}') + unmasked(0x80 | PING, b"x"))
    state.feed(text('{"type":"news"}'))
    state.feed(text('{"type":"exit","exit_code":143,"signal":15,"oom_killed":false,"timed_out":false}'))
    assert (state.number, state.pid, state.is_over, len(state.to_send)) == (3, 7, True, 1)
    assert [event.type for event in state.pending] == ["stdout", "stderr", "lost", "exit"]
    result = state.result()
    assert (result.stdout, result.stderr_bytes, result.exit_code, result.signal) == ("é", b"\xff", 143, 15)
    assert result.truncated


def test_an_error_of_a_process_is_an_api_error() -> None:
    state = ProcessState()
    state.feed(text('{"type":"error","code":"taken_over","message":"another"}'))
    assert isinstance(state.take_error(), ConflictError)
    with pytest.raises(ProtocolError):
        state.feed(text("[]"))
