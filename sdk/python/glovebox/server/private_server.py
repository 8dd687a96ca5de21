"""A private server of this process: `glovebox serve --private`.

There is one per process, started at first use and shared by all clients. It ends with the process, however that
ends: the server exits when its standard input is closed, and this process holds the only other end of that
pipe. The pipe is close-on-exec and closed in forked children: a child starts its own server.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import IO, Optional, Tuple

from .._printable import printable
from ..errors import ServerStartError
from .programs import find_glovebox

__all__ = ["PrivateServer", "private_server", "stop_private_server"]

START_S = 60.0
STOP_S = 15.0
_SHOWN_LOG = 2000


class PrivateServer:
    """A running `glovebox serve --private`."""

    def __init__(self, program: str) -> None:
        # A file needs no thread that reads it: programs with threads fork badly.
        self._log: IO[bytes] = tempfile.TemporaryFile(prefix="glovebox-log-")
        try:
            # A session of its own: Ctrl-C at the terminal must not end the server before its clients.
            self._process: "subprocess.Popen[bytes]" = subprocess.Popen(
                [program, "serve", "--private"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,
                close_fds=True,
                bufsize=0,
            )
        except OSError as error:
            self._log.close()
            raise ServerStartError(f"{program}: {error.strerror or error}") from error
        self.pid = os.getpid()  # the process that started it
        self.is_stopped = False  # by stop()
        try:
            self.url, self.api_key = self._wait_ready(program)
        except BaseException:  # also KeyboardInterrupt
            self.stop(patience=2.0)
            raise

    def _wait_ready(self, program: str) -> Tuple[str, str]:
        assert self._process.stdout is not None
        line = _first_line(self._process.stdout.fileno(), START_S)
        reason = f"it was not ready within {START_S:g} seconds" if line is None else ""
        try:
            data = json.loads(line or b"")
            return str(data["url"]), str(data["api_key"])
        except (ValueError, KeyError, TypeError):
            self.stop(patience=2.0, keep_log=True)
            words = "; ".join(word for word in (reason, self.log_tail()) if word) or "its log is empty"
            raise ServerStartError(f"`{program} serve --private` did not start: {words}") from None

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def log_tail(self) -> str:
        """The end of its log."""
        try:
            size = os.fstat(self._log.fileno()).st_size
            tail = os.pread(self._log.fileno(), _SHOWN_LOG, max(0, size - _SHOWN_LOG))
            return printable(tail.decode("utf-8", "replace").strip())
        except (OSError, ValueError):
            return ""

    def stop(self, patience: float = STOP_S, *, keep_log: bool = False) -> None:
        """Stops it, and waits for its end."""
        self.is_stopped = True
        process = self._process
        _close(process.stdin)
        try:
            process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                process.wait(timeout=patience)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        _close(process.stdout)
        if not keep_log:
            _close(self._log)

    def __del__(self) -> None:
        if hasattr(self, "_log"):
            _close(self._log)

    def forget(self) -> None:
        """In a forked child: closes the pipes, so that only the parent keeps the server alive."""
        for stream in (self._process.stdin, self._process.stdout, self._log):
            _close(stream)
        self._process.returncode = 0  # not a child of this process: Popen must not wait for it or warn


def _close(stream: Optional[IO[bytes]]) -> None:
    try:
        if stream is not None:
            stream.close()
    except OSError:
        pass


def _first_line(descriptor: int, seconds: float) -> Optional[bytes]:
    """The first line, or what came before the end of the pipe; None if neither came in time."""
    deadline = time.monotonic() + seconds
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    line = b""
    while not line.endswith(b"\n") and len(line) < 65536:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return None
        piece = os.read(descriptor, 4096)
        if not piece:
            break
        line += piece
    return line


@dataclass
class _State:
    lock: "threading.RLock"
    server: Optional[PrivateServer] = None
    failed: Optional[ServerStartError] = None
    failed_at: float = 0.0
    at_exit: bool = False
    is_over: bool = False


_state = _State(threading.RLock())
# After a failed start, the next attempts fail at once for a while, also in a loop.
_REMEMBER_FAILURE_S = 2.0


def private_server() -> PrivateServer:
    """The private server of this process, started if needed."""
    with _state.lock:
        server = _state.server
        if server is not None and server.is_alive():
            return server
        if server is not None:
            server.stop(patience=0.1, keep_log=True)  # clients still read the log
            _state.server = None
        if _state.failed is not None and time.monotonic() - _state.failed_at < _REMEMBER_FAILURE_S:
            raise ServerStartError(*_state.failed.args)
        if _state.is_over:
            raise ServerStartError("no private server is started while this process exits")
        if not _state.at_exit:
            atexit.register(_stop_at_exit)
            _state.at_exit = True
        try:
            _state.server = PrivateServer(find_glovebox())
        except ServerStartError as error:
            _state.failed, _state.failed_at = error, time.monotonic()
            raise
        _state.failed = None
        return _state.server


def stop_private_server() -> None:
    """Stops the private server of this process, if there is one; the next request starts another."""
    with _state.lock:
        server, _state.server = _state.server, None
        if server is not None and server.pid == os.getpid():
            server.stop()


def _stop_at_exit() -> None:
    # Threads that are still running must not start another one.
    with _state.lock:
        _state.is_over = True
    stop_private_server()


def _before_fork() -> None:
    # No fork while a server is being started: the child would inherit pipes that are not recorded yet.
    _state.lock.acquire()


def _after_fork_in_parent() -> None:
    _state.lock.release()


def _after_fork_in_child() -> None:
    global _state
    server = _state.server
    _state = _State(threading.RLock(), at_exit=_state.at_exit)
    if server is not None:
        server.forget()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
