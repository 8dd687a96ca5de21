"""The WebSocket of one process, over a blocking socket: moves the bytes of a :class:`ProcessState`."""

from __future__ import annotations

import select
import ssl
import threading
from typing import Optional

from ..errors import ConnectionFailed
from ..requests.process_stream import ProcessEvent, ProcessState
from ..transport.request import Deadline
from ._connection import Connection

__all__ = ["ProcessConnection"]

_CHUNK = 65536
_WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
# Events that may wait for a reader while a thread only writes.
_MAX_PENDING = 4096


class ProcessConnection:
    """One thread reads at a time; any thread may send."""

    def __init__(self, connection: Connection, state: ProcessState) -> None:
        self._connection = connection
        self._state = state
        self._io = threading.Lock()  # for one call to the socket, and what it fed
        self._sending = threading.Lock()  # for one whole message
        self._has_reader = False  # a thread is in next_event()
        connection.sock.setblocking(False)

    def next_event(self, deadline: Deadline) -> Optional[ProcessEvent]:
        """The next event; None after the last one."""
        state = self._state
        with self._io:
            self._has_reader = True
        try:
            while not state.pending:
                if state.is_over:
                    return None
                self.receive(deadline)
            return state.pending.popleft()
        finally:
            self._has_reader = False

    def receive(self, deadline: Deadline) -> None:
        """Reads once."""
        while True:
            with self._io:
                if self._receive_now():
                    return
            self._poll(select.POLLIN, deadline.left(), deadline)

    def _receive_now(self) -> bool:
        """With the lock held: reads what has arrived, if anything has."""
        try:
            data = self._connection.sock.recv(_CHUNK)
        except _WOULD_BLOCK:
            return False
        except (OSError, ValueError) as error:
            raise ConnectionFailed(f"the connection to the process failed: {error}") from error
        if not data:
            self._state.is_over = True
            return True
        self._state.feed(data)
        for pong in self._state.to_send:
            try:
                self._connection.sock.send(pong)
            except OSError:
                pass
        self._state.to_send.clear()
        return True

    def _poll(self, events: int, seconds: Optional[float], deadline: Optional[Deadline]) -> None:
        poll = select.poll()
        try:
            poll.register(self._connection.sock, events)
        except ValueError:
            raise ConnectionFailed("the connection to the process is closed") from None
        poll.poll(None if seconds is None else max(1, int(seconds * 1000)))
        if deadline is not None:
            deadline.left()

    def send(self, data: bytes) -> None:
        """Sends everything. While the server does not take it, its own bytes are read: otherwise both
        sides could wait for each other for ever."""
        with self._sending:
            view = memoryview(data)
            while view:
                events = select.POLLOUT
                with self._io:
                    try:
                        view = view[self._connection.sock.send(view) :]
                        continue
                    except _WOULD_BLOCK:
                        pass
                    except (OSError, ValueError) as error:
                        raise ConnectionFailed(f"the connection to the process failed: {error}") from error
                    if not self._has_reader and len(self._state.pending) < _MAX_PENDING:
                        if self._receive_now():
                            if self._state.is_over:
                                raise ConnectionFailed("the process has ended")
                            continue
                        events |= select.POLLIN
                self._poll(events, 1.0, None)

    def close(self) -> None:
        """A thread that reads gets :class:`~glovebox.ConnectionFailed`."""
        self._connection.interrupt()
        self._connection.close()
