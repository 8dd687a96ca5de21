"""A process in a sandbox that is followed live."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from typing import Iterator, Optional, Union

from ..errors import ConnectionFailed, TimeoutExpired
from ..models.results import ExecResult
from ..requests.arguments import Seconds, to_seconds
from ..requests.process_stream import ProcessEvent, ProcessState
from ..transport import websocket as _websocket
from ..transport.request import Deadline
from ._transport import Connection, SyncTransport

__all__ = ["Process", "ProcessEvent"]

_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
# What may wait for a reader while somebody only writes.
_MAX_PENDING = 4096


class Process:
    """A process that was started in, or attached to in, a sandbox.

    Iterate it for its events, or :meth:`wait` for its end; output comes as fast as it is read, and a
    process whose output nobody reads stops when the pipe is full. One thread may read while others
    write and signal. Closing, or leaving ``with``, leaves the process running unless it was started
    with ``on_disconnect="kill"``.

    >>> with Sandbox.create() as sandbox:
    ...     process = sandbox.start("read name; echo hello $name")
    ...     process.write("ada\\n")
    ...     [event.text for event in process if event.type == "stdout"]
    ['hello ada\\n']
    """

    def __init__(self, connection: Connection, state: ProcessState) -> None:
        self._connection = connection
        self._state = state
        self._io = threading.Lock()  # for one call to the socket, and what it fed
        self._sending = threading.Lock()  # for one whole message
        self._is_read = False  # somebody reads
        connection.sock.setblocking(False)

    @classmethod
    def _open(cls, transport: SyncTransport, target: str, first: bytes, timeout: Optional[float]) -> "Process":
        nonce, headers = _websocket.handshake()
        connection, answer = transport.upgrade(target, headers, timeout)
        try:
            _websocket.check_accept(nonce, answer.headers)
            state = ProcessState()
            process = cls(connection, state)
            rest = answer.rest()
            if rest:
                state.feed(rest)
            process._send(first)
            deadline = Deadline(timeout)
            while not state.is_started:
                if state.error is not None:
                    raise state.error
                if state.is_over:
                    raise ConnectionFailed("the connection ended before the process was started")
                process._receive(deadline)
            return process
        except BaseException:
            connection.close()
            raise

    # --- what it is -------------------------------------------------------------------------------

    @property
    def number(self) -> int:
        """What the sandbox calls it: for ``sandbox.attach(number)``."""
        return self._state.number

    @property
    def pid(self) -> int:
        """Its process id, as the sandbox sees it."""
        return self._state.pid

    @property
    def exit_code(self) -> Optional[int]:
        """None while it is not known to have ended."""
        return self._state.exit.exit_code if self._state.exit is not None else None

    # --- reading ----------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[ProcessEvent]:
        while True:
            event = self._next(Deadline(None))
            if event is None:
                return
            yield event

    def _next(self, deadline: Deadline) -> Optional[ProcessEvent]:
        """The next event; None after the last one."""
        state = self._state
        with self._io:
            self._is_read = True
        try:
            while not state.pending:
                if state.is_over:
                    self._finish()
                    return None
                self._receive(deadline)
            return state.pending.popleft()
        finally:
            self._is_read = False

    def _finish(self) -> None:
        self._connection.close()
        error = self._state.take_error()
        if self._state.exit is None:
            raise error or ConnectionFailed("the connection ended before the process did; attach to it again")

    def wait(self, timeout: Optional[Seconds] = None) -> ExecResult:
        """Reads it to its end; the result has all that was printed, iterated before or not.

        :class:`~glovebox.TimeoutExpired` after ``timeout`` seconds: it goes on, and can be waited for
        again.
        """
        deadline = Deadline(None if timeout is None else to_seconds("timeout", timeout) or 1e-9)
        while self._next(deadline) is not None:
            pass
        return self._state.result()

    def _receive(self, deadline: Deadline) -> None:
        while True:
            with self._io:
                if self._receive_now():
                    return
            self._poll(select.POLLIN, deadline.left(), deadline)

    def _receive_now(self) -> bool:
        """With the lock held: what is there now, if anything."""
        try:
            data = self._connection.receive()
        except _NOT_NOW:
            return False
        except (OSError, ValueError) as error:
            raise ConnectionFailed(f"the connection to the process broke: {error}") from error
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

    # --- writing ----------------------------------------------------------------------------------

    def write(self, data: Union[str, bytes]) -> None:
        """To its standard input, or the keyboard of its terminal; waits while it does not read."""
        for piece in self._state.stdin(data):
            self._send(piece)

    def close_stdin(self) -> None:
        """The end of its standard input."""
        self._send(self._state.close_stdin())

    def signal(self, signal: Union[str, int]) -> None:
        """A signal to it and its group: ``"TERM"``, ``"INT"``, 9."""
        self._send(self._state.signal(signal))

    def kill(self) -> None:
        """Ends it at once, with its group."""
        self.signal("KILL")

    def resize(self, rows: int, columns: int) -> None:
        """The new size of its terminal."""
        self._send(self._state.resize(rows, columns))

    def detach(self) -> None:
        """Leaves it running, whatever ``on_disconnect`` said; ``sandbox.attach(number)`` comes back."""
        self._send(self._state.detach())
        # Read until it agrees: a connection that is closed with something unread takes back what was sent.
        deadline = Deadline(5.0)
        try:
            while not self._state.is_over:
                self._receive(deadline)
                self._state.pending.clear()
        except (ConnectionFailed, TimeoutExpired):
            pass
        self.close()

    def _send(self, data: bytes) -> None:
        """All of it. While the other side does not take it, what it sends is read: else two
        that wait for each other would wait for ever."""
        with self._sending:
            view = memoryview(data)
            while view:
                events = select.POLLOUT
                with self._io:
                    try:
                        view = view[self._connection.sock.send(view) :]
                        continue
                    except _NOT_NOW:
                        pass
                    except (OSError, ValueError) as error:
                        raise ConnectionFailed(f"the connection to the process broke: {error}") from error
                    if not self._is_read and len(self._state.pending) < _MAX_PENDING:
                        if self._receive_now():
                            if self._state.is_over:
                                raise ConnectionFailed("the process has ended")
                            continue
                        events |= select.POLLIN
                self._poll(events, 1.0, None)

    def close(self) -> None:
        """Lets go of it; whoever reads it in another thread gets :class:`~glovebox.ConnectionFailed`."""
        try:
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        except (OSError, ValueError):
            pass
        self._connection.close()

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        how = "runs" if self._state.exit is None else f"exit status {self.exit_code}"
        return f"<Process {self.number}, {how}>"
