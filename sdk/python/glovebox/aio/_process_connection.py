"""The WebSocket of one process, over asyncio's streams: moves the bytes of a :class:`ProcessState`."""

from __future__ import annotations

import asyncio
from typing import Optional

from ..errors import ConnectionFailed
from ..requests.process_stream import ProcessEvent, ProcessState
from ..transport.request import Deadline
from ._connection import Connection

__all__ = ["ProcessConnection"]

_CHUNK = 256 * 1024
# Events that may wait for a reader while a task only writes.
_MAX_PENDING = 4096


class ProcessConnection:
    """One task reads at a time; any task may send."""

    def __init__(self, connection: Connection, state: ProcessState) -> None:
        self._connection = connection
        self._state = state
        self._reading = asyncio.Lock()

    async def next_event(self, deadline: Deadline) -> Optional[ProcessEvent]:
        """The next event; None after the last one."""
        state = self._state
        while not state.pending:
            if state.is_over:
                return None
            await self.receive(deadline)
        return state.pending.popleft()

    async def receive(self, deadline: Deadline) -> None:
        """Reads once; a task that waited for another one finds what that has read."""
        left = deadline.left()
        if left is None:
            await self._receive_chunk()
            return
        try:
            await asyncio.wait_for(self._receive_chunk(), left)
        except asyncio.TimeoutError:
            raise deadline.expired() from None

    async def _receive_chunk(self) -> None:
        before = len(self._state.pending)
        async with self._reading:
            if self._state.is_over or len(self._state.pending) > before:
                return
            try:
                data = await self._connection.reader.read(_CHUNK)
            except OSError as error:
                raise ConnectionFailed(f"the connection to the process failed: {error}") from error
            if not data:
                self._state.is_over = True
                return
            self._state.feed(data)
            for pong in self._state.to_send:
                self._connection.writer.write(pong)
            self._state.to_send.clear()

    async def send(self, data: bytes) -> None:
        """Sends everything. While the server does not take it, its own bytes are read: otherwise both
        sides could wait for each other for ever."""
        writer = self._connection.writer
        if writer.transport.is_closing():
            raise ConnectionFailed("the connection to the process is closed")
        writer.write(data)
        draining = asyncio.ensure_future(writer.drain())
        try:
            while not draining.done():
                if self._reading.locked() or self._state.is_over or len(self._state.pending) >= _MAX_PENDING:
                    await asyncio.wait({draining}, timeout=1.0)
                    continue
                await asyncio.wait({draining}, timeout=0)
                if draining.done():
                    break
                reading = asyncio.ensure_future(self._receive_chunk())
                try:
                    await asyncio.wait({draining, reading}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    if not reading.done():
                        reading.cancel()
                        await asyncio.wait({reading})
                    elif not reading.cancelled() and reading.exception() is not None:
                        break
            await draining
        except OSError as error:
            raise ConnectionFailed(f"the connection to the process failed: {error}") from error
        finally:
            if not draining.done():
                draining.cancel()

    def close(self) -> None:
        self._connection.close()
