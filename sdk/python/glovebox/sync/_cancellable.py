"""A client for many calls at once, all of which can be ended from another thread."""

from __future__ import annotations

import socket
import threading
from typing import Any, Set

from ..errors import ConnectionFailed
from ._transport import Connection, SyncTransport
from .client import Client

__all__ = ["CancellableClient"]


class _CancellableTransport(SyncTransport):
    """Knows which connections are in use."""

    def __init__(self, other: SyncTransport) -> None:
        super().__init__(other.endpoint, other._timeout, other._max_retries)
        self._guard = threading.Lock()
        self._in_use: Set[Connection] = set()
        self._is_stopped = False

    def _take(self, *args: Any) -> Connection:
        connection = super()._take(*args)
        with self._guard:
            if self._is_stopped:
                connection.close()
                raise ConnectionFailed("the calls were stopped")
            # Those that broke were closed and not given back.
            self._in_use = {one for one in self._in_use if one.sock.fileno() >= 0}
            self._in_use.add(connection)
        return connection

    def _keep(self, connection: Connection) -> None:
        with self._guard:
            self._in_use.discard(connection)
        super()._keep(connection)

    def stop(self) -> None:
        with self._guard:
            self._is_stopped = True
            for one in self._in_use:
                try:
                    one.sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # it has ended by itself
        self.close()


class CancellableClient(Client):
    """As the client that it is made of, with connections of its own."""

    def __init__(self, other: Client) -> None:
        super().__init__(timeout=other._timeout, max_retries=other._max_retries)
        self._other = other

    def _connect(self) -> SyncTransport:
        with self._lock:
            if self._transport is None or self._is_stale():
                self._transport = _CancellableTransport(self._other._connected())
                self._location = self._other._location
            return self._transport

    def stop(self) -> None:
        """Ends what is in flight: a server ends a run whose caller has gone."""
        transport = self._transport
        if isinstance(transport, _CancellableTransport):
            transport.stop()
