"""A client for many requests at once, all of which can be cancelled from another thread."""

from __future__ import annotations

import threading
from typing import Set

from ..errors import ConnectionFailed
from ..transport.request import Deadline
from ._connection import Connection, ConnectionPool
from ._transport import Transport
from .client import Client

__all__ = ["CancellableClient"]


class _CancellablePool(ConnectionPool):
    """A pool that knows which connections are in use."""

    _lock: threading.Lock
    _in_use: Set[Connection]
    _is_cancelled: bool

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport.endpoint, transport.endpoint.tls())
        self._lock = threading.Lock()
        self._in_use = set()
        self._is_cancelled = False

    def take(self, deadline: Deadline) -> Connection:
        connection = super().take(deadline)
        with self._lock:
            if self._is_cancelled:
                connection.close()
                raise ConnectionFailed("the calls were cancelled")
            # A connection that failed was closed and never came back.
            self._in_use = {one for one in self._in_use if one.sock.fileno() >= 0}
            self._in_use.add(connection)
        return connection

    def keep(self, connection: Connection) -> None:
        with self._lock:
            self._in_use.discard(connection)
        super().keep(connection)

    def cancel(self) -> None:
        with self._lock:
            self._is_cancelled = True
            for connection in self._in_use:
                connection.interrupt()
        self.close()


class CancellableClient(Client):
    """A copy of another client, with connections of its own."""

    def __init__(self, other: Client) -> None:
        super().__init__(timeout=other._timeout, max_retries=other._max_retries)
        self._other = other
        self._pool: "_CancellablePool | None" = None

    def _connect_now(self) -> Transport:
        with self._lock:
            if self._transport is None or self._is_stale():
                other = self._other._connected()
                self._pool = _CancellablePool(other)
                self._transport = Transport(other.endpoint, other.timeout, other.max_retries, self._pool)
                self._location = self._other._location
            return self._transport

    def cancel(self) -> None:
        """Cancels the requests in flight: the server ends a run when its client disconnects."""
        if self._pool is not None:
            self._pool.cancel()
