# Generated from glovebox/aio/_event_iterator.py by sdk/python/tools/generate_sync.py (`make generate`). Do not edit.
"""Events that the server sends while they happen, as an iterator."""

from __future__ import annotations

from collections import deque
from typing import Callable, Deque, Generic, Iterator, TypeVar

from ..errors import ConnectionFailed, GloveboxError
from ..transport.event_streams import ServerSentEvent, ServerSentEventReader
from ._transport import Stream

T = TypeVar("T")

__all__ = ["EventIterator"]


class EventIterator(Generic[T]):
    """An iterator over events. It ends with ``close()``, or with ``with``."""

    def __init__(self, stream: Stream, make: Callable[[ServerSentEvent], T]) -> None:
        self._stream = stream
        self._reader = ServerSentEventReader()
        self._make = make
        self._pending: Deque[ServerSentEvent] = deque()
        self._closed = False

    def _wait_for(self, ready: str) -> "EventIterator[T]":
        """Reads up to this event: from then on the server misses nothing that happens."""
        while not any(event.type == ready for event in self._pending):
            if not self._receive():
                raise ConnectionFailed("the server closed the event stream before it was ready")
        self._pending = deque(event for event in self._pending if event.type != ready)
        return self

    def _receive(self) -> bool:
        piece = self._stream.next()
        if piece is None:
            return False
        self._pending.extend(self._reader.feed(piece))
        return True

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        while not self._pending:
            if self._closed:
                raise StopIteration
            try:
                if not self._receive():
                    raise StopIteration
            except (GloveboxError, OSError):
                if self._closed:
                    raise StopIteration from None
                raise
        return self._make(self._pending.popleft())

    def close(self) -> None:
        """Ends the iteration, also where another thread or task waits for the next event."""
        self._closed = True
        self._stream.interrupt()
        self._stream.close()

    def __enter__(self) -> "EventIterator[T]":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
