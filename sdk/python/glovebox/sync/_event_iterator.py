"""Events of a server that are iterated while they come."""

from __future__ import annotations

from collections import deque
from typing import Callable, Deque, Generic, Iterator, Optional, TypeVar

from ..errors import ConnectionFailed, GloveboxError
from ..transport.event_streams import ServerSentEvent, ServerSentEventReader
from ._transport import Stream

T = TypeVar("T")

__all__ = ["EventIterator"]


class EventIterator(Generic[T]):
    """An iterator over events; ends with :meth:`close`, also from another thread, or with ``with``."""

    def __init__(self, stream: Stream, make: Callable[[ServerSentEvent], T], ready: Optional[str] = None) -> None:
        self._stream = stream
        self._pieces = iter(stream)
        self._reader = ServerSentEventReader()
        self._make = make
        self._ready = ready
        self._pending: Deque[ServerSentEvent] = deque()
        self._closed = False
        if ready is not None:
            # From this event on nothing is missed: before it, nobody should go on.
            while not any(event.type == ready for event in self._pending):
                if not self._more():
                    raise ConnectionFailed("the events ended before they began")
            self._pending = deque(event for event in self._pending if event.type != ready)

    def _more(self) -> bool:
        piece = next(self._pieces, None)
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
                if not self._more():
                    raise StopIteration
            except (GloveboxError, OSError):
                if self._closed:
                    raise StopIteration from None
                raise
        return self._make(self._pending.popleft())

    def close(self) -> None:
        """No more events; whoever waits for one gets the end."""
        self._closed = True
        self._stream.interrupt()
        self._stream.close()

    def __enter__(self) -> "EventIterator[T]":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
