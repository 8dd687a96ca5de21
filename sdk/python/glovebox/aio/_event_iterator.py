"""Events of a server that are iterated while they come."""

from __future__ import annotations

from collections import deque
from typing import AsyncIterator, Callable, Deque, Generic, TypeVar

from ..errors import ConnectionFailed
from ..transport.event_streams import ServerSentEvent, ServerSentEventReader
from ._transport import Stream

T = TypeVar("T")

__all__ = ["EventIterator"]


class EventIterator(Generic[T]):
    """An async iterator over events; ends with ``await close()``, or with ``async with``."""

    def __init__(self, stream: Stream, make: Callable[[ServerSentEvent], T]) -> None:
        self._stream = stream
        self._reader = ServerSentEventReader()
        self._make = make
        self._pending: Deque[ServerSentEvent] = deque()
        self._closed = False

    async def _until(self, ready: str) -> "EventIterator[T]":
        """From this event on nothing is missed: before it, nobody should go on."""
        while not any(event.type == ready for event in self._pending):
            if not await self._more():
                raise ConnectionFailed("the events ended before they began")
        self._pending = deque(event for event in self._pending if event.type != ready)
        return self

    async def _more(self) -> bool:
        piece = await self._stream.next()
        if piece is None:
            return False
        self._pending.extend(self._reader.feed(piece))
        return True

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        while not self._pending:
            if self._closed or not await self._more():
                raise StopAsyncIteration
        return self._make(self._pending.popleft())

    async def close(self) -> None:
        """No more events."""
        self._closed = True
        self._stream.close()

    async def __aenter__(self) -> "EventIterator[T]":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
