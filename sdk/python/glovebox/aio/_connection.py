"""One connection over asyncio's streams, and the pool of idle ones, kept apart for each event loop."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from typing import Any, AsyncGenerator, AsyncIterator, Deque, Optional
from weakref import WeakKeyDictionary

from ..errors import ConnectionFailed
from ..transport.connection_limits import CONNECT_S, MAX_IDLE_CONNECTIONS, MAX_IDLE_S, connect_error, is_readable
from ..transport.endpoint import Endpoint
from ..transport.http1 import ResponseReader
from ..transport.request import ConnectionLost, Deadline, Request, response_too_long
from ..transport.request_encoding import BodyFraming

__all__ = ["Connection", "ConnectionPool"]

_CHUNK = 256 * 1024


class _DeadlineTimer:
    """Aborts a connection at its deadline: cheaper than a task for every wait."""

    __slots__ = ("_handle", "has_expired")

    def __init__(self, connection: "Connection", deadline: Deadline) -> None:
        self.has_expired = False
        left = deadline.left()
        self._handle = None if left is None else connection.loop.call_later(left, self._expire, connection)

    def _expire(self, connection: "Connection") -> None:
        self.has_expired = True
        connection.writer.transport.abort()

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()


class Connection:
    """One connection; used by one task at a time."""

    __slots__ = ("reader", "writer", "loop", "idle_since", "was_reused")

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.reader, self.writer, self.loop = reader, writer, loop
        self.idle_since = 0.0
        self.was_reused = False

    @classmethod
    async def open(cls, endpoint: Endpoint, tls: Any, timeout: Optional[float]) -> "Connection":
        limit = CONNECT_S if timeout is None else min(timeout, CONNECT_S)
        opening = asyncio.open_connection(
            endpoint.host,
            endpoint.port,
            ssl=tls,
            server_hostname=endpoint.host if tls is not None else None,
            limit=_CHUNK,
        )
        try:
            reader, writer = await asyncio.wait_for(opening, limit)
        except asyncio.TimeoutError as error:
            raise ConnectionLost(f"no connection within {limit:g} seconds", was_sent=False) from error
        except OSError as error:
            raise ConnectionLost(connect_error(error), was_sent=False) from error
        return cls(reader, writer, asyncio.get_running_loop())

    def is_usable(self) -> bool:
        """An idle connection must not be readable: then the server has closed it, seen by the loop or not yet."""
        transport = self.writer.transport
        if transport.is_closing() or self.reader.at_eof() or time.monotonic() - self.idle_since > MAX_IDLE_S:
            return False
        descriptor = transport.get_extra_info("socket").fileno()
        return descriptor >= 0 and not is_readable(descriptor)

    async def exchange(
        self,
        head: bytes,
        body: Any,
        request: "Request[Any]",
        reader: ResponseReader,
        deadline: Deadline,
        *,
        head_only: bool,
    ) -> None:
        """Sends a request and reads its response, or the head of it."""
        timer = _DeadlineTimer(self, deadline)
        try:
            self.writer.write(head)
            if body is not None:
                await self._send_body(body, request.body_length)
            await self._read_response(reader, request.max_response, head_only)
        except ConnectionLost:
            if timer.has_expired:
                raise deadline.expired() from None
            raise
        finally:
            timer.cancel()

    async def _send_body(self, body: Any, length: Optional[int]) -> None:
        """An exception of the caller's own iterator passes through unchanged: only the connection is guarded."""
        framing = BodyFraming(length)
        async for chunk in _chunks(body):
            self.writer.write(framing.piece(chunk))
            try:
                await self.writer.drain()
            except (BrokenPipeError, ConnectionResetError):
                return  # the server may have responded before it read everything: the response says why
            except OSError as error:
                raise ConnectionLost(str(error), was_sent=True, was_reused=self.was_reused) from error
        self.writer.write(framing.end())

    async def _read_response(self, reader: ResponseReader, limit: int, head_only: bool) -> None:
        size = 0
        while not (reader.is_complete or (head_only and reader.has_head)):
            try:
                data = await self.reader.read(_CHUNK)
            except OSError as error:
                raise ConnectionLost(
                    str(error), was_sent=True, had_response=reader.has_begun, was_reused=self.was_reused
                ) from error
            if data:
                size += len(data)
                if size > limit + 65536:
                    raise response_too_long(limit)
                reader.feed(data)
                continue
            reader.feed_eof()
            if not reader.is_complete:
                raise ConnectionLost(
                    "the server closed the connection without a response",
                    was_sent=True,
                    had_response=reader.has_begun,
                    was_reused=self.was_reused,
                )

    async def receive(self, deadline: Deadline) -> bytes:
        """The bytes that come next; none at the end of the connection."""
        timer = _DeadlineTimer(self, deadline)
        try:
            data = await self.reader.read(_CHUNK)
        except OSError as error:
            if timer.has_expired:
                raise deadline.expired() from None
            raise ConnectionFailed(f"the connection to the server failed: {error}") from error
        finally:
            timer.cancel()
        if not data and timer.has_expired:
            raise deadline.expired()
        return data

    def interrupt(self) -> None:
        """A task that waits in :meth:`receive` gets the end of the connection."""
        self.close()

    def close(self) -> None:
        if not self.loop.is_closed():
            self.writer.transport.abort()


class ConnectionPool:
    """Idle connections to one endpoint, kept apart for each event loop."""

    def __init__(self, endpoint: Endpoint, tls: Any) -> None:
        self._endpoint = endpoint
        self._tls = tls
        self._pid = os.getpid()
        self._idle: "WeakKeyDictionary[asyncio.AbstractEventLoop, _IdleConnections]" = WeakKeyDictionary()

    async def take(self, deadline: Deadline) -> Connection:
        """An idle connection, or a new one."""
        if os.getpid() != self._pid:  # a forked child must not use its parent's connections
            self._idle, self._pid = WeakKeyDictionary(), os.getpid()
        loop = asyncio.get_running_loop()
        idle = self._idle.get(loop)
        if idle is None:
            idle = self._idle[loop] = _IdleConnections()
            await idle.close_with_loop()
        while idle.connections:
            connection = idle.connections.pop()
            if connection.is_usable():
                connection.was_reused = True
                return connection
            connection.close()
        return await self.open(deadline)

    async def open(self, deadline: Deadline) -> Connection:
        """A new connection."""
        return await Connection.open(self._endpoint, self._tls, deadline.left())

    def keep(self, connection: Connection) -> None:
        """Keeps a connection for the next request."""
        idle = self._idle.get(connection.loop)
        if idle is None or len(idle.connections) >= MAX_IDLE_CONNECTIONS:
            connection.close()
            return
        connection.idle_since = time.monotonic()
        idle.connections.append(connection)

    async def close(self) -> None:
        """Closes the idle connections of the running loop."""
        idle = self._idle.get(asyncio.get_running_loop())
        if idle is not None:
            idle.close()
            await sleep_one_turn()


async def sleep_one_turn() -> None:
    """asyncio's transports release their sockets in the next turn of the loop."""
    await asyncio.sleep(0)


class _IdleConnections:
    """The idle connections of one event loop."""

    def __init__(self) -> None:
        self.connections: Deque[Connection] = deque()
        self._guard: Optional[AsyncGenerator[None, None]] = None

    async def close_with_loop(self) -> None:
        """Closes them with their loop: asyncio finalizes the async generators it knows before it closes."""
        self._guard = self._until_the_loop_ends()
        await self._guard.__anext__()

    async def _until_the_loop_ends(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self.close()

    def close(self) -> None:
        while self.connections:
            self.connections.pop().close()


async def _chunks(body: Any) -> AsyncIterator[bytes]:
    if hasattr(body, "__aiter__"):
        async for chunk in body:
            yield chunk
    elif hasattr(body, "read"):
        while True:
            chunk = body.read(_CHUNK)
            if not chunk:
                return
            yield chunk
    else:
        for chunk in body:
            yield chunk
