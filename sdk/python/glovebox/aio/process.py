"""A process in a sandbox that is followed live."""

from __future__ import annotations

import asyncio
from typing import AsyncIterator, Optional, Union

from ..errors import ConnectionFailed, TimeoutExpired
from ..models.results import ExecResult
from ..requests.arguments import Seconds, to_seconds
from ..requests.process_stream import ProcessEvent, ProcessState
from ..transport import websocket as _websocket
from ..transport.request import Deadline
from ._transport import AsyncTransport, Connection

__all__ = ["Process", "ProcessEvent"]

_CHUNK = 256 * 1024
_MAX_PENDING = 4096


class Process:
    """A process that was started in, or attached to in, a sandbox; see :class:`glovebox.Process`.

    ``async for event in process``, or ``await process.wait()``.
    """

    def __init__(self, connection: Connection, state: ProcessState) -> None:
        self._connection = connection
        self._state = state
        self._reading = asyncio.Lock()

    @classmethod
    async def _open(cls, transport: AsyncTransport, target: str, first: bytes, timeout: Optional[float]) -> "Process":
        nonce, headers = _websocket.handshake()
        connection, answer = await transport.upgrade(target, headers, timeout)
        try:
            _websocket.check_accept(nonce, answer.headers)
            state = ProcessState()
            process = cls(connection, state)
            rest = answer.rest()
            if rest:
                state.feed(rest)
            await process._send(first)
            deadline = Deadline(timeout)
            while not state.is_started:
                if state.error is not None:
                    raise state.error
                if state.is_over:
                    raise ConnectionFailed("the connection ended before the process was started")
                await process._receive(deadline)
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

    async def __aiter__(self) -> AsyncIterator[ProcessEvent]:
        while True:
            event = await self._next(Deadline(None))
            if event is None:
                return
            yield event

    async def _next(self, deadline: Deadline) -> Optional[ProcessEvent]:
        state = self._state
        while not state.pending:
            if state.is_over:
                self._finish()
                return None
            await self._receive(deadline)
        return state.pending.popleft()

    def _finish(self) -> None:
        self._connection.close()
        error = self._state.take_error()
        if self._state.exit is None:
            raise error or ConnectionFailed("the connection ended before the process did; attach to it again")

    async def wait(self, timeout: Optional[Seconds] = None) -> ExecResult:
        """Reads it to its end; the result has all that was printed, iterated before or not.

        :class:`~glovebox.TimeoutExpired` after ``timeout`` seconds: it goes on, and can be waited for
        again.
        """
        deadline = Deadline(None if timeout is None else to_seconds("timeout", timeout) or 1e-9)
        while await self._next(deadline) is not None:
            pass
        return self._state.result()

    async def _receive(self, deadline: Deadline) -> None:
        """One piece; by one task at a time, and the others find what it brought."""
        left = deadline.left()
        if left is None:
            await self._receive_piece()
            return
        try:
            await asyncio.wait_for(self._receive_piece(), left)
        except asyncio.TimeoutError:
            raise deadline.expired() from None

    async def _receive_piece(self) -> None:
        before = len(self._state.pending)
        async with self._reading:
            if self._state.is_over or len(self._state.pending) > before:
                return
            try:
                data = await self._connection.reader.read(_CHUNK)
            except OSError as error:
                raise ConnectionFailed(f"the connection to the process broke: {error}") from error
            if not data:
                self._state.is_over = True
                return
            self._state.feed(data)
            for pong in self._state.to_send:
                self._connection.writer.write(pong)
            self._state.to_send.clear()

    # --- writing ----------------------------------------------------------------------------------

    async def write(self, data: Union[str, bytes]) -> None:
        """To its standard input, or the keyboard of its terminal; waits while it does not read."""
        for piece in self._state.stdin(data):
            await self._send(piece)

    async def close_stdin(self) -> None:
        """The end of its standard input."""
        await self._send(self._state.close_stdin())

    async def signal(self, signal: Union[str, int]) -> None:
        """A signal to it and its group: ``"TERM"``, ``"INT"``, 9."""
        await self._send(self._state.signal(signal))

    async def kill(self) -> None:
        """Ends it at once, with its group."""
        await self.signal("KILL")

    async def resize(self, rows: int, columns: int) -> None:
        """The new size of its terminal."""
        await self._send(self._state.resize(rows, columns))

    async def detach(self) -> None:
        """Leaves it running, whatever ``on_disconnect`` said; ``sandbox.attach(number)`` comes back."""
        await self._send(self._state.detach())
        # Read until it agrees: a connection that is closed with something unread takes back what was sent.
        deadline = Deadline(5.0)
        try:
            while not self._state.is_over:
                await self._receive(deadline)
                self._state.pending.clear()
        except (ConnectionFailed, TimeoutExpired):
            pass
        await self.close()

    async def _send(self, data: bytes) -> None:
        """All of it. While the other side does not take it, what it sends is read: else two that
        wait for each other would wait for ever."""
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
                reading = asyncio.ensure_future(self._receive_piece())
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
            raise ConnectionFailed(f"the connection to the process broke: {error}") from error
        finally:
            if not draining.done():
                draining.cancel()

    async def close(self) -> None:
        """Lets go of it."""
        self._connection.close()

    async def __aenter__(self) -> "Process":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        how = "runs" if self._state.exit is None else f"exit status {self.exit_code}"
        return f"<Process {self.number}, {how}>"
