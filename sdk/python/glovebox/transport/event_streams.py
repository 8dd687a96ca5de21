"""Incremental, bounded parsers of JSON lines and server-sent events; no sockets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional

from ..errors import ProtocolError
from .request import load_json

__all__ = ["ServerSentEventReader", "JsonLines", "ServerSentEvent"]

# The largest event has a result of 8 MB in base64.
MAX_LINE = 64 * 1024 * 1024


class _LineSplitter:
    def __init__(self) -> None:
        self._pieces: List[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that are complete now, without line feeds."""
        if b"\n" not in data:
            self._keep(data)
            return
        first, *rest = data.split(b"\n")
        self._keep(first)
        yield self._taken()
        yield from rest[:-1]
        self._keep(rest[-1])

    def _keep(self, data: bytes) -> None:
        if data:
            self._pieces.append(data)
            self._size += len(data)
            if self._size > MAX_LINE:
                raise ProtocolError(f"malformed event stream: an event is longer than {MAX_LINE} bytes")

    def _taken(self) -> bytes:
        line = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        return line


class JsonLines:
    """
    >>> lines = JsonLines()
    >>> list(lines.feed(b'{"a":1}\\n{"b"')) + list(lines.feed(b':2}\\n'))
    [{'a': 1}, {'b': 2}]
    """

    def __init__(self) -> None:
        self._lines = _LineSplitter()

    def feed(self, data: bytes) -> Iterator[Dict[str, Any]]:
        for line in self._lines.feed(data):
            if not line.strip():
                continue
            event = load_json(line)
            if not isinstance(event, dict):
                raise ProtocolError("malformed event stream: an event is not a JSON object")
            yield event


@dataclass(frozen=True)
class ServerSentEvent:
    """One server-sent event."""

    type: str
    id: Optional[str]
    data: Any


class ServerSentEventReader:
    """
    >>> reader = ServerSentEventReader()
    >>> list(reader.feed(b'id: 7\\nevent: created\\ndata: {"path":"a"}\\n\\n: a comment\\n'))
    [ServerSentEvent(type='created', id='7', data={'path': 'a'})]
    """

    def __init__(self) -> None:
        self._lines = _LineSplitter()
        self._type, self._id = "message", None  # type: str, Optional[str]
        self._data: List[str] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[ServerSentEvent]:
        for line in self._lines.feed(data):
            text = line.rstrip(b"\r").decode("utf-8", "replace")
            if not text:
                if self._data:
                    yield ServerSentEvent(self._type, self._id, load_json("\n".join(self._data)))
                self._type, self._data, self._size = "message", [], 0
                continue
            name, _, value = text.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if name == "event":
                self._type = value
            elif name == "id":
                self._id = value
            elif name == "data":
                self._size += len(value)
                if self._size > MAX_LINE:
                    raise ProtocolError(f"malformed event stream: an event is longer than {MAX_LINE} bytes")
                self._data.append(value)
