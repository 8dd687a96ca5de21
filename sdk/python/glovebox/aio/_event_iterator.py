"""Events that the server sends while they happen, as an iterator."""

from __future__ import annotations

from collections import deque
from typing import AsyncIterator, Callable, Deque, Generic, TypeVar

from ..errors import ConnectionFailed, GloveboxError
from ..transport.event_streams import ServerSentEvent, ServerSentEventReader
from ._transport import Stream

T = TypeVar("T")

__all__ = ["EventIterator"]


class EventIterator(Generic[T]):
    """An async iterator over events. It ends with ``await close()``, or with ``async with``."""

    def __init__(self, stream: Stream, make: Callable[[ServerSentEvent], T]) -> None:
        self._stream = stream
        self._reader = ServerSentEventReader()
        self._make = make
        self._pending: Deque[ServerSentEvent] = deque()
        self._closed = False

    async def _wait_for(self, ready: str) -> "EventIterator[T]":
        """Reads up to this event: from then on the server misses nothing that happens."""
        while not any(event.type == ready for event in self._pending):
            if not await self._receive():
                raise ConnectionFailed("the server closed the event stream before it was ready")
        self._pending = deque(event for event in self._pending if event.type != ready)
        return self

    async def _receive(self) -> bool:
        piece = await self._stream.next()
        if piece is None:
            return False
        self._pending.extend(self._reader.feed(piece))
        return True

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        while not self._pending:
            if self._closed:
                raise StopAsyncIteration
            try:
                if not await self._receive():
                    raise StopAsyncIteration
            except (GloveboxError, OSError):
                if self._closed:
                    raise StopAsyncIteration from None
                raise
        return self._make(self._pending.popleft())

    async def close(self) -> None:
        """Ends the iteration, also where another thread or task waits for the next event."""
        self._closed = True
        self._stream.interrupt()
        self._stream.close()

    async def __aenter__(self) -> "EventIterator[T]":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
