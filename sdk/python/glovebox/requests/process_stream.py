"""The protocol of a process that is followed over a WebSocket: a state machine without sockets."""

from __future__ import annotations

import base64
import binascii
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Deque, Dict, List, Mapping, Optional, Sequence, Union

from ..errors import ApiError, ProtocolError, api_error
from ..models.results import ExecMetrics, ExecResult
from ..transport import websocket as _websocket
from ..transport.request import dump_json, load_json
from .arguments import Seconds, check_env, encode_text_or_bytes, to_milliseconds

__all__ = ["ProcessEvent", "ProcessState", "exec_body"]

# wait() keeps this much output; it drops the rest and sets `truncated`.
MAX_COLLECTED = 16 * 1024 * 1024
_STATUS_OF = {
    "unauthorized": 401,
    "not_found": 404,
    "wrong_state": 409,
    "taken_over": 409,
    "invalid_argument": 400,
    "permission_denied": 403,
    "resource_exhausted": 429,
    "session_ended": 409,
}


@dataclass(frozen=True)
class ProcessEvent:
    """An event of a process: ``type`` is ``stdout``, ``stderr``, ``lost`` or ``exit``."""

    type: str
    #: Output: its bytes, and their offset in the stream.
    data: bytes = b""
    offset: int = 0
    #: ``lost``: the stream, and the number of bytes that the server did not keep.
    stream: Optional[str] = None
    lost_bytes: int = 0
    #: ``exit``: how the process ended.
    exit_code: Optional[int] = None
    signal: Optional[int] = None
    timed_out: bool = False
    oom_killed: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def text(self) -> str:
        """Output as text; invalid UTF-8 is replaced."""
        return self.data.decode("utf-8", "replace")


def exec_body(
    command: Union[str, Sequence[str]],
    *,
    cwd: Optional[str],
    env: Optional[Mapping[str, str]],
    user: Optional[str],
    stdin: Union[str, bytes, None],
    timeout: Optional[Seconds],
    output_kb: Optional[int],
) -> Dict[str, Any]:
    """The fields of an exec: a list is a program and its arguments, a string is a line for bash."""
    body: Dict[str, Any] = {}
    if isinstance(command, str):
        body["cmd"] = command
    elif isinstance(command, (bytes, bytearray)):
        raise TypeError("command must be a string for bash, or a list of strings")
    else:
        body["argv"] = [str(word) for word in command]
    if cwd is not None:
        body["cwd"] = cwd
    if env is not None:
        body["env"] = check_env(env)
    if user is not None:
        body["user"] = str(user)
    if timeout is not None:
        body["timeout_ms"] = to_milliseconds("timeout", timeout)
    if output_kb is not None:
        body["output_kb"] = output_kb
    body.update(encode_text_or_bytes(stdin))
    return body


class ProcessState:
    """Turns bytes from the server into events; the caller moves the bytes."""

    def __init__(self) -> None:
        self._frames = _websocket.Frames()
        self.pending: Deque[ProcessEvent] = deque()
        #: Frames that must be sent unchanged: replies to pings.
        self.to_send: List[bytes] = []
        self.number = 0
        self.pid = 0
        self.is_started = False
        self.exit: Optional[ProcessEvent] = None
        self.error: Optional[ApiError] = None
        self.is_over = False  # no more events will come
        self._began = time.monotonic()
        self._collected: Dict[str, List[bytes]] = {"stdout": [], "stderr": []}
        self._collected_size = 0
        self._printed = 0
        self._truncated = False

    # --- receiving -----------------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        for kind, payload in self._frames.feed(data):
            if kind == _websocket.TEXT:
                self._message(load_json(payload))
            elif kind == _websocket.PING:
                self.to_send.append(_websocket.frame(_websocket.PONG, payload))
            elif kind == _websocket.CLOSE:
                self.is_over = True

    def _message(self, data: Any) -> None:
        kind = data.get("type") if isinstance(data, dict) else None
        if kind == "started":
            self.number, self.pid = _int(data.get("process")), _int(data.get("pid"))
            self.is_started = True
        elif kind in ("stdout", "stderr"):
            event = ProcessEvent(kind, data=_data_of(data), offset=_int(data.get("offset")), raw=data)
            self._keep(event)
            self.pending.append(event)
        elif kind == "lost":
            self._truncated = True
            self.pending.append(
                ProcessEvent("lost", stream=str(data.get("stream")), lost_bytes=_int(data.get("bytes")), raw=data)
            )
        elif kind == "exit":
            if type(data.get("exit_code")) is not int:
                raise ProtocolError("malformed exit event: exit_code is missing")
            self.exit = ProcessEvent(
                "exit",
                exit_code=_int(data.get("exit_code")),
                signal=data.get("signal") if isinstance(data.get("signal"), int) else None,
                timed_out=data.get("timed_out") is True,
                oom_killed=data.get("oom_killed") is True,
                raw=data,
            )
            self.pending.append(self.exit)
            self.is_over = True
        elif kind == "error":
            code = str(data.get("code"))
            self.error = api_error(_STATUS_OF.get(code, 503), code, str(data.get("message")))
        elif kind is None:
            raise ProtocolError("malformed message from the process stream")

    def _keep(self, event: ProcessEvent) -> None:
        self._printed += len(event.data)
        room = MAX_COLLECTED - self._collected_size
        kept = event.data if len(event.data) <= room else event.data[:room]
        self._truncated = self._truncated or len(kept) < len(event.data)
        if kept:
            self._collected[event.type].append(kept)
            self._collected_size += len(kept)

    def take_error(self) -> Optional[ApiError]:
        error, self.error = self.error, None
        return error

    # --- sending ----------------------------------------------------------------------------------

    @staticmethod
    def start(body: Mapping[str, Any], terminal: Optional[Mapping[str, int]], on_disconnect: str) -> bytes:
        message: Dict[str, Any] = {"type": "start", **body, "on_disconnect": on_disconnect}
        if terminal is not None:
            message["terminal"] = dict(terminal)
        return _text(message)

    @staticmethod
    def attach(number: int, stdout_from: int, stderr_from: int) -> bytes:
        return _text({"type": "attach", "process": number, "stdout_from": stdout_from, "stderr_from": stderr_from})

    @staticmethod
    def stdin(data: Union[str, bytes]) -> List[bytes]:
        raw = data.encode() if isinstance(data, str) else bytes(data)
        return [_websocket.frame(_websocket.BINARY, raw[at : at + 65536]) for at in range(0, len(raw), 65536)]

    @staticmethod
    def close_stdin() -> bytes:
        return _text({"type": "close_stdin"})

    @staticmethod
    def signal(signal: Union[str, int]) -> bytes:
        if not isinstance(signal, (str, int)) or isinstance(signal, bool):
            raise TypeError('signal must be a name like "TERM", or a number')
        return _text({"type": "signal", "signal": signal if isinstance(signal, str) else int(signal)})

    @staticmethod
    def resize(rows: int, columns: int) -> bytes:
        return _text({"type": "resize", "rows": rows, "columns": columns})

    @staticmethod
    def detach() -> bytes:
        return _text({"type": "detach"})

    # --- result ------------------------------------------------------------------------------

    def result(self) -> ExecResult:
        assert self.exit is not None
        made: Dict[str, Any] = {}
        for name, pieces in self._collected.items():
            raw = b"".join(pieces)
            made[name] = raw.decode("utf-8", "replace")
            if made[name].encode() != raw:
                made[name + "_base64"] = base64.b64encode(raw).decode()
        metrics = ExecMetrics(wall_ms=(time.monotonic() - self._began) * 1000, output_bytes=self._printed)
        return ExecResult(
            exit_code=self.exit.exit_code or 0,
            process=self.number,
            pid=self.pid,
            signal=self.exit.signal,
            timed_out=self.exit.timed_out,
            oom_killed=self.exit.oom_killed,
            truncated=self._truncated,
            metrics=metrics,
            **made,
        )


def _text(message: Mapping[str, Any]) -> bytes:
    return _websocket.frame(_websocket.TEXT, dump_json(message))


def _int(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _data_of(data: Mapping[str, Any]) -> bytes:
    text, encoded = data.get("data"), data.get("data_base64")
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(encoded) if isinstance(encoded, str) else b""
    except (binascii.Error, ValueError):
        return b""
