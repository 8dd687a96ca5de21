"""One connection over a blocking socket, and the pool of idle ones.

Safe across threads (one thread uses a connection at a time; the idle ones are in a deque, whose
ends are atomic) and across fork (a child never uses its parent's connections).
"""

from __future__ import annotations

import os
import socket
import time
from collections import deque
from typing import Any, Deque, Optional

from ..errors import ConnectionFailed
from ..transport.connection_limits import CONNECT_S, MAX_IDLE_CONNECTIONS, MAX_IDLE_S, connect_error, is_readable
from ..transport.endpoint import Endpoint
from ..transport.http1 import ResponseReader
from ..transport.request import ConnectionLost, Deadline, Request, response_too_long
from ..transport.request_encoding import BodyFraming

__all__ = ["Connection", "ConnectionPool"]

_CHUNK = 256 * 1024
# Until 3.10 they are two.
_TIMEOUTS = (socket.timeout, TimeoutError)


class _ClosedByPeer(ConnectionLost):
    """The server closed the connection while this side was sending."""


class Connection:
    """One connection; used by one thread at a time."""

    __slots__ = ("sock", "idle_since", "was_reused", "_timeout")

    sock: socket.socket

    def __init__(self, timeout: Optional[float]) -> None:
        self._timeout = timeout
        self.idle_since = 0.0
        self.was_reused = False

    @classmethod
    def open(cls, endpoint: Endpoint, tls: Any, timeout: Optional[float]) -> "Connection":
        limit = CONNECT_S if timeout is None else min(timeout, CONNECT_S)
        # Older than its socket: the garbage collector finalizes in this order, and close() comes before the
        # socket's own warning about a client that was never closed.
        connection = cls(limit)
        try:
            sock = socket.create_connection((endpoint.host, endpoint.port), limit)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sock = tls.wrap_socket(sock, server_hostname=endpoint.host) if tls else sock
            return connection
        except _TIMEOUTS as error:
            raise ConnectionLost(f"no connection within {limit:g} seconds", was_sent=False) from error
        except OSError as error:
            raise ConnectionLost(connect_error(error), was_sent=False) from error

    def is_usable(self) -> bool:
        """An idle connection must not be readable: then the server has closed it."""
        return time.monotonic() - self.idle_since <= MAX_IDLE_S and not is_readable(self.sock.fileno())

    def exchange(
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
        if body is None:
            self._send(head, deadline)
        else:
            self._send_body(head, body, request.body_length, deadline)
        self._read_response(reader, request.max_response, deadline, head_only)

    def _set_timeout(self, seconds: Optional[float]) -> None:
        if seconds != self._timeout:
            self.sock.settimeout(seconds)
            self._timeout = seconds

    def _send(self, data: bytes, deadline: Deadline) -> None:
        try:
            self._set_timeout(deadline.left())
            self.sock.sendall(data)
        except _TIMEOUTS:
            raise deadline.expired() from None
        except (BrokenPipeError, ConnectionResetError) as error:
            # The server has not taken all of the request, and it begins none that it does not have whole.
            raise _ClosedByPeer(
                "the server closed the connection", was_sent=False, was_reused=self.was_reused
            ) from error
        except OSError as error:
            raise ConnectionLost(str(error), was_sent=False, was_reused=self.was_reused) from error

    def _send_body(self, head: bytes, body: Any, length: Optional[int], deadline: Deadline) -> None:
        """An exception of the caller's own iterator passes through unchanged: only the connection is guarded."""
        chunks = iter(lambda: body.read(_CHUNK), b"") if hasattr(body, "read") else body
        framing = BodyFraming(length)
        try:
            self._send(head, deadline)
            for chunk in chunks:
                self._send(framing.piece(chunk), deadline)
            self._send(framing.end(), deadline)
        except _ClosedByPeer:
            return  # the server may have responded before it read everything: the response says why

    def _read_response(self, reader: ResponseReader, limit: int, deadline: Deadline, head_only: bool) -> None:
        size = 0
        while not (reader.is_complete or (head_only and reader.has_head)):
            try:
                if size:  # before the first byte, the timeout of sending holds
                    self._set_timeout(deadline.left())
                # Not much at once: larger blocks come from the system each time, which costs more than reading twice.
                data = self.sock.recv(65536)
            except _TIMEOUTS:
                raise deadline.expired() from None
            except OSError as error:
                raise ConnectionLost(
                    "the server closed the connection",
                    was_sent=True,
                    had_response=reader.has_begun,
                    was_reused=self.was_reused,
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

    def receive(self, deadline: Deadline) -> bytes:
        """The bytes that come next; none at the end of the connection."""
        try:
            self._set_timeout(deadline.left())
            return self.sock.recv(_CHUNK)
        except _TIMEOUTS:
            raise deadline.expired() from None
        except (OSError, ValueError) as error:
            raise ConnectionFailed(f"the connection to the server failed: {error}") from error

    def interrupt(self) -> None:
        """From another thread: a thread that waits in :meth:`receive` gets the end of the connection."""
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except (OSError, ValueError):
            pass

    def close(self) -> None:
        try:
            self.sock.close()
        except OSError:
            pass

    def __del__(self) -> None:
        if hasattr(self, "sock"):
            self.close()


class ConnectionPool:
    """Idle connections to one endpoint."""

    def __init__(self, endpoint: Endpoint, tls: Any) -> None:
        self._endpoint = endpoint
        self._tls = tls
        self._pid = os.getpid()
        self._idle: Deque[Connection] = deque()

    def take(self, deadline: Deadline) -> Connection:
        """An idle connection, or a new one."""
        if os.getpid() != self._pid:
            self._forget_parent()
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self.open(deadline)
            if connection.is_usable():
                connection.was_reused = True
                return connection
            connection.close()

    def open(self, deadline: Deadline) -> Connection:
        """A new connection."""
        return Connection.open(self._endpoint, self._tls, deadline.left())

    def keep(self, connection: Connection) -> None:
        """Keeps a connection for the next request."""
        if len(self._idle) >= MAX_IDLE_CONNECTIONS or os.getpid() != self._pid:
            connection.close()
            return
        connection.idle_since = time.monotonic()
        self._idle.append(connection)

    def _forget_parent(self) -> None:
        """In a forked child: closes the descriptors without a word on the wire."""
        inherited, self._idle = self._idle, deque()
        self._pid = os.getpid()
        for connection in list(inherited):
            if self._tls is not None:
                os.close(connection.sock.detach())
            else:
                connection.close()

    def close(self) -> None:
        """Closes the idle connections."""
        while True:
            try:
                self._idle.pop().close()
            except IndexError:
                return
