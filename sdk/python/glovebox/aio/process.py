"""A process in a sandbox that is followed live."""

from __future__ import annotations

from typing import AsyncIterator, Optional, Union

from ..errors import ConnectionFailed, TimeoutExpired
from ..models.results import ExecResult
from ..requests.arguments import Seconds, to_seconds
from ..requests.process_stream import ProcessEvent, ProcessState
from ..transport import websocket
from ..transport.request import Deadline
from ._process_connection import ProcessConnection
from ._transport import Transport

__all__ = ["Process", "ProcessEvent"]


class Process:
    """A process in a sandbox, started with ``sandbox.start()`` or attached to with ``sandbox.attach()``.

    Iterate over it for its events, or :meth:`wait` for its end. The server sends output as fast as the client
    reads it: a process whose output is not read blocks when the pipe is full. One thread or task may read while
    others write and send signals. Closing, or leaving ``async with``, leaves the process running unless it was
    started with ``on_disconnect="kill"``.

    >>> async with await Sandbox.create() as sandbox:
    ...     process = await sandbox.start("read name; echo hello $name")
    ...     await process.write("ada\\n")
    ...     [event.text async for event in process if event.type == "stdout"]
    ['hello ada\\n']
    """

    def __init__(self, connection: ProcessConnection, state: ProcessState) -> None:
        self._connection = connection
        self._state = state

    @classmethod
    async def _open(cls, transport: Transport, target: str, first: bytes, timeout: Optional[float]) -> "Process":
        nonce, headers = websocket.handshake()
        connection, response = await transport.upgrade(target, headers, timeout)
        try:
            websocket.check_accept(nonce, response.headers)
            state = ProcessState()
            process_connection = ProcessConnection(connection, state)
            rest = response.rest()
            if rest:
                state.feed(rest)
            await process_connection.send(first)
            deadline = Deadline(timeout)
            while not state.is_started:
                if state.error is not None:
                    raise state.error
                if state.is_over:
                    raise ConnectionFailed("the server closed the connection before it started the process")
                await process_connection.receive(deadline)
            return cls(process_connection, state)
        except BaseException:
            connection.close()
            raise

    # --- properties -------------------------------------------------------------------------------

    @property
    def number(self) -> int:
        """The number of the process in its sandbox, for ``sandbox.attach(number)``."""
        return self._state.number

    @property
    def pid(self) -> int:
        """The process id, as the sandbox sees it."""
        return self._state.pid

    @property
    def exit_code(self) -> Optional[int]:
        """The exit code; None until the end of the process has been read."""
        return self._state.exit.exit_code if self._state.exit is not None else None

    # --- reading ----------------------------------------------------------------------------------

    async def __aiter__(self) -> AsyncIterator[ProcessEvent]:
        while True:
            event = await self._next(Deadline(None))
            if event is None:
                return
            yield event

    async def _next(self, deadline: Deadline) -> Optional[ProcessEvent]:
        """The next event; None after the last one."""
        event = await self._connection.next_event(deadline)
        if event is None:
            self._finish()
        return event

    def _finish(self) -> None:
        self._connection.close()
        error = self._state.take_error()
        if self._state.exit is None:
            raise error or ConnectionFailed(
                "the connection ended before the process did: follow it again with sandbox.attach()"
            )

    async def wait(self, timeout: Optional[Seconds] = None) -> ExecResult:
        """Reads to the end of the process. The result has all output, also what was iterated over before.

        Raises :class:`~glovebox.TimeoutExpired` after ``timeout`` seconds; the process goes on, and can be
        waited for again.
        """
        deadline = Deadline(None if timeout is None else to_seconds("timeout", timeout) or 1e-9)
        while await self._next(deadline) is not None:
            pass
        return self._state.result()

    # --- writing ----------------------------------------------------------------------------------

    async def write(self, data: Union[str, bytes]) -> None:
        """Writes to its standard input, or to its terminal; waits while the process does not read."""
        for piece in self._state.stdin(data):
            await self._connection.send(piece)

    async def close_stdin(self) -> None:
        """Closes its standard input."""
        await self._connection.send(self._state.close_stdin())

    async def signal(self, signal: Union[str, int]) -> None:
        """Sends a signal to the process and its group: ``"TERM"``, ``"INT"``, 9."""
        await self._connection.send(self._state.signal(signal))

    async def kill(self) -> None:
        """Kills the process and its group."""
        await self.signal("KILL")

    async def resize(self, rows: int, columns: int) -> None:
        """Changes the size of its terminal."""
        await self._connection.send(self._state.resize(rows, columns))

    async def detach(self) -> None:
        """Disconnects and leaves the process running, whatever ``on_disconnect`` is; see ``sandbox.attach()``."""
        await self._connection.send(self._state.detach())
        # Read until the server agrees: closing a connection with unread data discards what was sent.
        deadline = Deadline(5.0)
        try:
            while not self._state.is_over:
                await self._connection.receive(deadline)
                self._state.pending.clear()
        except (ConnectionFailed, TimeoutExpired):
            pass
        await self.close()

    async def close(self) -> None:
        """Disconnects. Another thread that is reading gets :class:`~glovebox.ConnectionFailed`."""
        self._connection.close()

    async def __aenter__(self) -> "Process":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        state = "running" if self._state.exit is None else f"exit code {self.exit_code}"
        return f"<Process {self.number}, {state}>"
