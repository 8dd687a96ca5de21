"""Calls over blocking sockets, with connections that are kept.

Safe across threads (a connection is one thread's while it is used; the idle ones are in a deque,
whose ends are atomic) and across fork (a child never touches its parent's connections).
"""

from __future__ import annotations

import os
import select
import socket
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Tuple

from ..errors import ConnectionFailed
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

__all__ = ["Connection", "Stream", "SyncTransport", "is_readable"]

CONNECT_S = 10.0
# A server closes idle connections after 75 s; what was idle for longer than this is not used again.
MAX_IDLE_S = 45.0
MAX_KEPT = 64
_CHUNK = 256 * 1024
# Until 3.10 they are two.
_TIMEOUTS = (socket.timeout, TimeoutError)


def is_readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


class _ClosedByPeer(ConnectionLost):
    """The other side closed while this one sent."""


class Connection:
    """One connection; of one thread while it is in use."""

    __slots__ = ("sock", "idle_since", "was_reused", "_timeout")

    def __init__(self, endpoint: Endpoint, tls: Any, timeout: Optional[float]) -> None:
        limit = CONNECT_S if timeout is None else min(timeout, CONNECT_S)
        try:
            sock = socket.create_connection((endpoint.host, endpoint.port), limit)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sock: socket.socket = tls.wrap_socket(sock, server_hostname=endpoint.host) if tls else sock
        except _TIMEOUTS as error:
            raise ConnectionLost(f"no connection within {limit:g} seconds", was_sent=False) from error
        except OSError as error:
            raise ConnectionLost(error.strerror or str(error), was_sent=False) from error
        self._timeout: Optional[float] = limit
        self.idle_since = 0.0
        self.was_reused = False

    def is_usable(self) -> bool:
        """Nothing may wait on an idle connection: what does is its end."""
        return time.monotonic() - self.idle_since <= MAX_IDLE_S and not is_readable(self.sock.fileno())

    def wait_at_most(self, seconds: Optional[float]) -> None:
        if seconds != self._timeout:
            self.sock.settimeout(seconds)
            self._timeout = seconds

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def receive(self, size: int = 65536) -> bytes:
        # Not much at once: larger blocks come from the system each time, which costs more than reading twice.
        return self.sock.recv(size)

    def close(self) -> None:
        try:
            self.sock.close()
        except OSError:
            pass

    def __del__(self) -> None:
        if hasattr(self, "sock"):
            self.close()


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
        self._is_given_back = False
        self.status = reader.status
        self.headers = reader.headers

    def __iter__(self) -> Iterator[bytes]:
        try:
            while True:
                piece = self._reader.take()
                if piece:
                    yield piece
                if self._reader.is_complete:
                    self._give_back()
                    return
                self._more()
        finally:
            self.close()

    def _more(self) -> None:
        try:
            self._connection.wait_at_most(self._deadline.left())
            data = self._connection.receive(_CHUNK)
        except _TIMEOUTS:
            raise self._deadline.expired() from None
        except (OSError, ValueError) as error:
            raise ConnectionFailed(f"the connection broke: {error}") from error
        if data:
            self._reader.feed(data)
            return
        self._reader.feed_eof()
        if not self._reader.is_complete:
            raise ConnectionFailed("the connection ended before the answer did")

    def collect(self, limit: int) -> bytes:
        pieces: List[bytes] = []
        size = 0
        for piece in self:
            size += len(piece)
            if size > limit:
                raise response_too_long(limit)
            pieces.append(piece)
        return b"".join(pieces)

    def _give_back(self) -> None:
        keep, self._keep = self._keep, None
        if keep is not None and self._reader.is_keep_alive:
            self._is_given_back = True
            keep(self._connection)

    def interrupt(self) -> None:
        """From another thread: whoever reads gets the end."""
        try:
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self) -> None:
        """What is unread belongs to nobody: the connection is not kept."""
        if not self._is_given_back:
            self._connection.close()


class SyncTransport:
    """Carries calls to one endpoint."""

    def __init__(self, endpoint: Endpoint, timeout: float, max_retries: int) -> None:
        self.endpoint = endpoint
        self._timeout = timeout
        self._max_retries = max_retries
        self._tls: Any = endpoint.tls()
        self._pid = os.getpid()
        self._idle: Deque[Connection] = deque()

    # --- whole answers ----------------------------------------------------------------------------

    def request(self, call: "Request[Any]") -> Response:
        deadline = self._deadline(call)
        head, body = encode_request(call, self.endpoint)
        attempts: Optional[RetryPolicy] = None
        while True:
            try:
                answer = self._exchange(call, head, body, deadline)
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
                time.sleep(delay)

    def _attempts(self, call: "Request[Any]", deadline: Deadline) -> RetryPolicy:
        return RetryPolicy(call, self._max_retries, deadline)

    def _deadline(self, call: "Request[Any]") -> Deadline:
        seconds = self._timeout if call.timeout is None else call.timeout
        return Deadline(seconds if seconds > 0 else None)

    def _exchange(self, call: "Request[Any]", head: bytes, body: Any, deadline: Deadline) -> Response:
        connection = self._take(deadline)
        reader = ResponseReader(call.method)
        try:
            self._send(connection, head, body, call, deadline)
            self._read(connection, reader, deadline, head_only=False, limit=call.max_response)
        except BaseException:
            connection.close()
            raise
        if reader.is_keep_alive:
            self._keep(connection)
        else:
            connection.close()
        return Response(reader.status, reader.headers, reader.take())

    # --- answers that stream ----------------------------------------------------------------------

    def stream(self, call: "Request[Any]", *, keeps: bool = False) -> Stream:
        """The head of the answer has come and is no refusal.

        ``keeps``: the connection is used again after the last byte. Not for streams that another thread
        may interrupt: the connection could be somebody else's by then.
        """
        deadline = self._deadline(call)
        head, body = encode_request(call, self.endpoint)
        attempts = self._attempts(call, deadline)
        while True:
            reader = ResponseReader(call.method)
            try:
                connection = self._take(deadline)
                try:
                    self._send(connection, head, body, call, deadline)
                    self._read(connection, reader, deadline, head_only=True, limit=call.max_response)
                except BaseException:
                    connection.close()
                    raise
                break
            except ConnectionLost as lost:
                delay = attempts.after_connection_loss(lost, self.endpoint.url)
                if delay:
                    time.sleep(delay)
        stream = Stream(connection, reader, deadline, self._keep if keeps else None)
        if reader.status >= 300:
            raise Response(reader.status, reader.headers, stream.collect(call.max_response)).error()
        if call.stream_type is not None:
            try:
                check_content_type(reader.headers, call.stream_type)
            except BaseException:
                stream.close()
                raise
        return stream

    def upgrade(
        self, target: str, headers: Dict[str, str], timeout: Optional[float]
    ) -> Tuple[Connection, ResponseReader]:
        """A connection that speaks something else from here on, and the answer that said so."""
        deadline = Deadline(timeout)
        head = request_head("GET", self.endpoint.base + target, self.endpoint.fixed, headers, None)
        reader = ResponseReader("GET")
        try:
            # Always a new one: it never comes back to the others.
            connection = Connection(self.endpoint, self._tls, deadline.left())
            try:
                call: Request[None] = Request("GET", target, lambda data: None)
                self._send(connection, head, None, call, deadline)
                self._read(connection, reader, deadline, head_only=True, limit=1 << 20)
                if reader.status != 101:
                    body = Stream(connection, reader, deadline).collect(1 << 20)
                    raise Response(reader.status, reader.headers, body).error()
            except BaseException:
                connection.close()
                raise
        except ConnectionLost as lost:
            raise ConnectionFailed(f"{self.endpoint.url}: {lost.reason}") from lost.__cause__
        return connection, reader

    # --- connections ------------------------------------------------------------------------------

    def _take(self, deadline: Deadline) -> Connection:
        if os.getpid() != self._pid:
            self._forget_parent()
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return Connection(self.endpoint, self._tls, deadline.left())
            if connection.is_usable():
                connection.was_reused = True
                return connection
            connection.close()

    def _keep(self, connection: Connection) -> None:
        if len(self._idle) >= MAX_KEPT or os.getpid() != self._pid:
            connection.close()
            return
        connection.idle_since = time.monotonic()
        self._idle.append(connection)

    def _forget_parent(self) -> None:
        """In a forked child: the descriptors are closed here, which says nothing on the wire."""
        parents, self._idle = self._idle, deque()
        self._pid = os.getpid()
        for connection in list(parents):
            if self._tls is not None:
                os.close(connection.sock.detach())
            else:
                connection.close()

    def _send(self, connection: Connection, head: bytes, body: Any, call: "Request[Any]", deadline: Deadline) -> None:
        """What the caller's own pieces raise comes out as it is: only the connection is guarded."""
        if body is None:
            self._push(connection, head, deadline)
            return
        pieces = iter(lambda: body.read(_CHUNK), b"") if hasattr(body, "read") else body
        framing = BodyFraming(call.body_length)
        try:
            self._push(connection, head, deadline)
            for piece in pieces:
                self._push(connection, framing.piece(piece), deadline)
            self._push(connection, framing.end(), deadline)
        except _ClosedByPeer:
            return  # it may have answered before it had read all: the answer says why

    @staticmethod
    def _push(connection: Connection, data: bytes, deadline: Deadline) -> None:
        try:
            connection.wait_at_most(deadline.left())
            connection.send(data)
        except _TIMEOUTS:
            raise deadline.expired() from None
        except (BrokenPipeError, ConnectionResetError) as error:
            # Its end was not taken, so no server has all of it, and none begins without.
            raise _ClosedByPeer(
                "the connection was closed", was_sent=False, was_reused=connection.was_reused
            ) from error
        except OSError as error:
            raise ConnectionLost(str(error), was_sent=False, was_reused=connection.was_reused) from error

    @staticmethod
    def _read(
        connection: Connection, reader: ResponseReader, deadline: Deadline, *, head_only: bool, limit: int
    ) -> None:
        size = 0
        while not (reader.is_complete or (head_only and reader.has_head)):
            try:
                if size:  # before, what was said for sending holds
                    connection.wait_at_most(deadline.left())
                data = connection.receive()
            except _TIMEOUTS:
                raise deadline.expired() from None
            except OSError as error:
                raise ConnectionLost(
                    "the connection was closed",
                    was_sent=True,
                    had_response=reader.has_begun,
                    was_reused=connection.was_reused,
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
                    "the connection was closed without an answer",
                    was_sent=True,
                    had_response=reader.has_begun,
                    was_reused=connection.was_reused,
                )

    def close(self) -> None:
        while True:
            try:
                self._idle.pop().close()
            except IndexError:
                return
