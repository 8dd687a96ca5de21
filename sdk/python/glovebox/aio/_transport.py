"""Calls over asyncio's streams, with connections that are kept, one set for each event loop."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from typing import Any, AsyncGenerator, AsyncIterator, Callable, Deque, Dict, List, Optional, Tuple
from weakref import WeakKeyDictionary

from ..errors import ConnectionFailed
from ..sync._transport import CONNECT_S, MAX_IDLE_S, MAX_KEPT, is_readable
from ..transport.endpoint import Endpoint
from ..transport.http1 import ResponseReader, request_head
from ..transport.request import (
    ConnectionLost,
    Deadline,
    Request,
    Response,
    RetryPolicy,
    check_content_type,
    response_too_long,
)
from ..transport.request_encoding import BodyFraming, encode_request

__all__ = ["AsyncTransport", "Connection", "Stream"]

_CHUNK = 256 * 1024


class _Alarm:
    """Aborts a connection when its time is over: cheaper than a task for every wait."""

    __slots__ = ("_handle", "is_over")

    def __init__(self, connection: "Connection", deadline: Deadline) -> None:
        self.is_over = False
        left = deadline.left()
        self._handle = None if left is None else connection.loop.call_later(left, self._ring, connection)

    def _ring(self, connection: "Connection") -> None:
        self.is_over = True
        connection.abort()

    def off(self) -> None:
        if self._handle is not None:
            self._handle.cancel()


class Connection:
    """One connection; of one task while it is in use."""

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
            raise ConnectionLost(error.strerror or str(error), was_sent=False) from error
        return cls(reader, writer, asyncio.get_running_loop())

    def is_usable(self) -> bool:
        """Nothing may wait on an idle connection: what does is its end, seen by the loop or not yet."""
        transport = self.writer.transport
        if transport.is_closing() or self.reader.at_eof() or time.monotonic() - self.idle_since > MAX_IDLE_S:
            return False
        descriptor = transport.get_extra_info("socket").fileno()
        return descriptor >= 0 and not is_readable(descriptor)

    def abort(self) -> None:
        self.writer.transport.abort()

    def close(self) -> None:
        if not self.loop.is_closed():
            self.writer.transport.abort()


class Stream:
    """An answer whose body is read while it comes."""

    def __init__(
        self,
        connection: Connection,
        reader: ResponseReader,
        deadline: Deadline,
        keep: Optional[Callable[[Connection], None]] = None,
    ) -> None:
        self._connection = connection
        self._reader = reader
        self._deadline = deadline
        self._keep = keep  # who takes the connection when all was read
        self._is_closed = False
        self.status = reader.status
        self.headers = reader.headers

    async def next(self) -> Optional[bytes]:
        """The next piece; None after the last one."""
        while True:
            piece = self._reader.take()
            if piece:
                return piece
            if self._reader.is_complete and self._reader.is_keep_alive and self._keep and not self._is_closed:
                self._is_closed = True
                self._keep(self._connection)
                return None
            if self._reader.is_complete or self._is_closed:
                self.close()
                return None
            await self._more()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while True:
                piece = await self.next()
                if piece is None:
                    return
                yield piece
        finally:
            self.close()

    async def _more(self) -> None:
        alarm = _Alarm(self._connection, self._deadline)
        try:
            data = await self._connection.reader.read(_CHUNK)
        except OSError as error:
            if alarm.is_over:
                raise self._deadline.expired() from None
            raise ConnectionFailed(f"the connection broke: {error}") from error
        except BaseException:
            self.close()
            raise
        finally:
            alarm.off()
        if data:
            self._reader.feed(data)
            return
        if alarm.is_over:
            raise self._deadline.expired()
        self._reader.feed_eof()
        if not self._reader.is_complete and not self._is_closed:
            raise ConnectionFailed("the connection ended before the answer did")

    async def collect(self, limit: int) -> bytes:
        pieces: List[bytes] = []
        size = 0
        while True:
            piece = await self.next()
            if piece is None:
                return b"".join(pieces)
            size += len(piece)
            if size > limit:
                self.close()
                raise response_too_long(limit)
            pieces.append(piece)

    def close(self) -> None:
        """What is unread belongs to nobody: the connection is not kept."""
        if not self._is_closed:
            self._is_closed = True
            self._connection.close()


class _Pool:
    """The idle connections of one event loop."""

    def __init__(self) -> None:
        self.idle: Deque[Connection] = deque()
        self._guard: Optional[AsyncGenerator[None, None]] = None

    async def guard(self) -> None:
        """Closes them with their loop: asyncio ends what it knows of generators before it closes."""
        if self._guard is None:
            self._guard = self._until_the_loop_ends()
            await self._guard.__anext__()

    async def _until_the_loop_ends(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self.close()

    def keep(self, connection: Connection) -> None:
        if len(self.idle) >= MAX_KEPT:
            connection.close()
            return
        connection.idle_since = time.monotonic()
        self.idle.append(connection)

    def close(self) -> None:
        while self.idle:
            self.idle.pop().close()


class AsyncTransport:
    """Carries calls to one endpoint."""

    def __init__(self, endpoint: Endpoint, timeout: float, max_retries: int) -> None:
        self.endpoint = endpoint
        self._timeout = timeout
        self._max_retries = max_retries
        self._tls: Any = endpoint.tls()
        self._pid = os.getpid()
        self._pools: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool]" = WeakKeyDictionary()

    # --- whole answers ----------------------------------------------------------------------------

    async def request(self, call: "Request[Any]") -> Response:
        deadline = self._deadline(call)
        head, body = encode_request(call, self.endpoint)
        attempts: Optional[RetryPolicy] = None
        while True:
            try:
                answer = await self._exchange(call, head, body, deadline)
            except ConnectionLost as lost:
                attempts = attempts or self._attempts(call, deadline)
                delay = attempts.after_connection_loss(lost, self.endpoint.url)
            else:
                if answer.status < 400:
                    return answer
                attempts = attempts or self._attempts(call, deadline)
                again = attempts.after_refusal(answer)
                if again is None:
                    return attempts.settled(answer)
                delay = again
            if delay:
                await asyncio.sleep(delay)

    def _attempts(self, call: "Request[Any]", deadline: Deadline) -> RetryPolicy:
        return RetryPolicy(call, self._max_retries, deadline)

    def _deadline(self, call: "Request[Any]") -> Deadline:
        seconds = self._timeout if call.timeout is None else call.timeout
        return Deadline(seconds if seconds > 0 else None)

    async def _exchange(self, call: "Request[Any]", head: bytes, body: Any, deadline: Deadline) -> Response:
        pool, connection = await self._take(deadline)
        reader = ResponseReader(call.method)
        try:
            await self._talk(connection, reader, head, body, call, deadline, head_only=False)
        except BaseException:  # a cancelled call, too, must not leave half an answer to the next one
            connection.close()
            raise
        if reader.is_keep_alive:
            pool.keep(connection)
        else:
            connection.close()
        return Response(reader.status, reader.headers, reader.take())

    # --- answers that stream ----------------------------------------------------------------------

    async def stream(self, call: "Request[Any]", *, keeps: bool = False) -> Stream:
        """The head of the answer has come and is no refusal. ``keeps``: the connection is used again."""
        deadline = self._deadline(call)
        head, body = encode_request(call, self.endpoint)
        attempts = self._attempts(call, deadline)
        while True:
            reader = ResponseReader(call.method)
            try:
                pool, connection = await self._take(deadline)
                try:
                    await self._talk(connection, reader, head, body, call, deadline, head_only=True)
                except BaseException:
                    connection.close()
                    raise
                break
            except ConnectionLost as lost:
                delay = attempts.after_connection_loss(lost, self.endpoint.url)
                if delay:
                    await asyncio.sleep(delay)
        stream = Stream(connection, reader, deadline, pool.keep if keeps else None)
        if reader.status >= 300:
            raise Response(reader.status, reader.headers, await stream.collect(call.max_response)).error()
        if call.stream_type is not None:
            try:
                check_content_type(reader.headers, call.stream_type)
            except BaseException:
                stream.close()
                raise
        return stream

    async def upgrade(
        self, target: str, headers: Dict[str, str], timeout: Optional[float]
    ) -> Tuple[Connection, ResponseReader]:
        """A connection that speaks something else from here on, and the answer that said so."""
        deadline = Deadline(timeout)
        head = request_head("GET", self.endpoint.base + target, self.endpoint.fixed, headers, None)
        reader = ResponseReader("GET")
        call: Request[None] = Request("GET", target, lambda data: None)
        try:
            connection = await Connection.open(self.endpoint, self._tls, deadline.left())
            try:
                await self._talk(connection, reader, head, None, call, deadline, head_only=True)
                if reader.status != 101:
                    body = await Stream(connection, reader, deadline).collect(1 << 20)
                    raise Response(reader.status, reader.headers, body).error()
            except BaseException:
                connection.close()
                raise
        except ConnectionLost as lost:
            raise ConnectionFailed(f"{self.endpoint.url}: {lost.reason}") from lost.__cause__
        return connection, reader

    # --- connections ------------------------------------------------------------------------------

    async def _take(self, deadline: Deadline) -> Tuple[_Pool, Connection]:
        if os.getpid() != self._pid:  # a forked child: its parent's are not ours
            self._pools, self._pid = WeakKeyDictionary(), os.getpid()
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = self._pools[loop] = _Pool()
            await pool.guard()
        while pool.idle:
            connection = pool.idle.pop()
            if connection.is_usable():
                connection.was_reused = True
                return pool, connection
            connection.close()
        return pool, await Connection.open(self.endpoint, self._tls, deadline.left())

    async def _talk(
        self,
        connection: Connection,
        reader: ResponseReader,
        head: bytes,
        body: Any,
        call: "Request[Any]",
        deadline: Deadline,
        *,
        head_only: bool,
    ) -> None:
        """Sends a request and reads its answer, or the head of it."""
        alarm = _Alarm(connection, deadline)
        try:
            connection.writer.write(head)
            if body is not None:
                await _send_pieces(connection, body, call.body_length)
            await self._read(connection, reader, call, head_only)
        except ConnectionLost:
            if alarm.is_over:
                raise deadline.expired() from None
            raise
        finally:
            alarm.off()

    @staticmethod
    async def _read(connection: Connection, reader: ResponseReader, call: "Request[Any]", head_only: bool) -> None:
        size = 0
        while not (reader.is_complete or (head_only and reader.has_head)):
            try:
                data = await connection.reader.read(_CHUNK)
            except OSError as error:
                raise ConnectionLost(
                    str(error), was_sent=True, had_response=reader.has_begun, was_reused=connection.was_reused
                ) from error
            if data:
                size += len(data)
                if size > call.max_response + 65536:
                    raise response_too_long(call.max_response)
                reader.feed(data)
                continue
            reader.feed_eof()
            if not reader.is_complete:
                raise ConnectionLost(
                    "the connection was closed without an answer",
                    was_sent=True,
                    had_response=reader.has_begun,
                    was_reused=connection.was_reused,
                )

    async def close(self) -> None:
        pool = self._pools.get(asyncio.get_running_loop())
        if pool is not None:
            pool.close()
            await asyncio.sleep(0)  # the transports let go of their sockets in the next turn


async def _send_pieces(connection: Connection, body: Any, length: Optional[int]) -> None:
    """What the caller's own pieces raise comes out as it is: only the connection is guarded."""
    framing = BodyFraming(length)
    async for piece in _pieces(body):
        connection.writer.write(framing.piece(piece))
        try:
            await connection.writer.drain()
        except (BrokenPipeError, ConnectionResetError):
            return  # it may have answered before it had read all: the answer says why
        except OSError as error:
            raise ConnectionLost(str(error), was_sent=True, was_reused=connection.was_reused) from error
    connection.writer.write(framing.end())


async def _pieces(body: Any) -> AsyncIterator[bytes]:
    if hasattr(body, "__aiter__"):
        async for piece in body:
            yield piece
    elif hasattr(body, "read"):
        while True:
            piece = body.read(_CHUNK)
            if not piece:
                return
            yield piece
    else:
        for piece in body:
            yield piece
