"""The request for a run, and its result: from one response, or from live events."""

from __future__ import annotations

import base64
import binascii
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Protocol,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from ..errors import ApiError, ProtocolError, api_error
from ..models.from_json import from_json
from ..models.results import CodeResult, Mime, RunFailure, RunResult
from ..profile.dependencies import AnyDependencies, BuildProgress
from ..profile.network import Net
from ..transport.event_streams import JsonLines
from ..transport.request import Request
from .arguments import Seconds, add_build_time, check_env, encode_text_or_bytes, profile_fields, string_list, to_seconds

R = TypeVar("R", RunResult, CodeResult)

__all__ = [
    "Callbacks",
    "LiveReader",
    "Files",
    "LiveResult",
    "OnBuild",
    "OnError",
    "OnResult",
    "OnText",
    "build_event",
    "error_from_event",
    "run_request",
    "response_timeout",
]

#: ``{"a.txt": "text", "b.bin": b"bytes", "c.sh": ("#!/bin/sh", "755")}``, or a list of objects as on the wire.
Files = Union[Mapping[str, Union[str, bytes, Tuple[Union[str, bytes], str]]], Sequence[Mapping[str, Any]]]
OnText = Callable[[str], Any]
OnResult = Callable[[Mime], Any]
OnError = Callable[[RunFailure], Any]
OnBuild = Callable[[BuildProgress], Any]

# How long the client waits beyond the time limit of the code, and how long if only the server knows the limit.
SLACK_S = 30.0
UNKNOWN_LIMIT_S = 660.0
NDJSON = "application/x-ndjson"


def response_timeout(timeout: Optional[Seconds], request_timeout: Optional[Seconds], otherwise: float) -> float:
    """How long to wait for a response: as given, or a little longer than the code may run; 0 is no limit."""
    if request_timeout is not None:
        return to_seconds("request_timeout", request_timeout)
    if timeout is None:
        return otherwise
    seconds = to_seconds("timeout", timeout)
    return seconds + SLACK_S if seconds > 0 else 0.0


def run_request(
    code: Optional[str] = None,
    *,
    language: Optional[str] = None,
    template: Optional[str] = None,
    image: Optional[str] = None,
    command: Union[str, Sequence[str], None] = None,
    args: Optional[Sequence[str]] = None,
    stdin: Union[str, bytes, None] = None,
    files: Optional[Files] = None,
    return_files: Optional[Sequence[str]] = None,
    env: Optional[Mapping[str, str]] = None,
    workdir: Optional[str] = None,
    cold: bool = False,
    timeout: Optional[Seconds] = None,
    memory_mb: Optional[int] = None,
    cpu_ms: Optional[int] = None,
    cpus: Optional[float] = None,
    pids: Optional[int] = None,
    disk_mb: Optional[int] = None,
    output_kb: Optional[int] = None,
    fs: Iterable[str] = (),
    net: Optional[Net] = None,
    dependencies: Optional[AnyDependencies] = None,
    reuse: Optional[str] = None,
    min_grade: Optional[str] = None,
    engine: Optional[str] = None,
    idempotency_key: Optional[str] = None,
    request_timeout: Optional[Seconds] = None,
    is_live: bool = False,
) -> "Request[RunResult]":
    # An image has a program of its own.
    if (code is not None and command is not None) or (code is None and command is None and image is None):
        raise ValueError("pass either code or command=")
    if image is not None and template is not None:
        raise ValueError("pass either image= or template=, not both")
    if is_live and idempotency_key is not None:
        raise ValueError("idempotency_key cannot be combined with callbacks like on_stdout")
    body: Dict[str, Any] = {}
    if code is not None:
        if not isinstance(code, str):
            raise TypeError(f"code must be a string, not {type(code).__name__}")
        body["code"] = code
        if language is None and template is None:
            language = "python"
    elif command is not None:
        body["command"] = command if isinstance(command, str) else string_list("command", command or ())
    for name, value in (
        ("language", language),
        ("template", template),
        ("workdir", workdir),
        ("min_grade", min_grade),
        ("engine", engine),
    ):
        if value is not None:
            body[name] = value
    if args is not None:
        body["args"] = string_list("args", args)
    if env is not None:
        body["env"] = check_env(env)
    if files is not None:
        body["files"] = encode_files(files)
    if return_files is not None:
        body["return_files"] = string_list("return_files", return_files)
    if cold:
        body["cold"] = True
    body.update(encode_text_or_bytes(stdin))
    profile = profile_fields(
        timeout=timeout,
        cpu_ms=cpu_ms,
        memory_mb=memory_mb,
        cpus=cpus,
        pids=pids,
        disk_mb=disk_mb,
        output_kb=output_kb,
        fs=fs,
        net=net,
        dependencies=dependencies,
        reuse=reuse,
        image=image,
    )
    if profile:
        body["profile"] = profile
    seconds = response_timeout(timeout, request_timeout, UNKNOWN_LIMIT_S)
    if request_timeout is None:
        seconds = add_build_time(seconds, profile)
    request: Request[RunResult] = Request("POST", "/v1/run", _read_run, json=body, timeout=seconds)
    if idempotency_key is not None:
        request.headers["Idempotency-Key"] = idempotency_key
        request.is_idempotent = True
    if is_live:
        request.headers["Accept"] = request.stream_type = NDJSON
    return request


def _read_run(data: Any) -> RunResult:
    return from_json(RunResult, data)


def encode_files(files: Files) -> List[Dict[str, Any]]:
    """
    >>> encode_files({"a": "text", "b": (b"\\xff", "755")})
    [{'path': 'a', 'content': 'text'}, {'path': 'b', 'content_base64': '/w==', 'mode': '755'}]
    """
    if not isinstance(files, Mapping):
        return [_wire_file(file) for file in files]
    made = []
    for path, content in files.items():
        mode = None
        if isinstance(content, tuple):
            content, mode = content
        file: Dict[str, Any] = {"path": str(path), **encode_text_or_bytes(content, "content")}
        if mode is not None:
            file["mode"] = mode
        made.append(file)
    return made


def _wire_file(file: Mapping[str, Any]) -> Dict[str, Any]:
    if not isinstance(file, Mapping):
        raise TypeError(f'files must be a dict, like {{"notes.txt": "text"}}, or a list of dicts, not of {file!r}')
    made = dict(file)
    if isinstance(made.get("content"), (bytes, bytearray)):
        made.update(encode_text_or_bytes(made.pop("content"), "content"))
    return made


def build_event(event: Mapping[str, Any]) -> BuildProgress:
    phase, text = event.get("phase"), event.get("text")
    return BuildProgress(phase if isinstance(phase, str) else "", text if isinstance(text, str) else "")


def error_from_event(event: Mapping[str, Any]) -> ApiError:
    """The error of a response that had begun before the server refused."""
    code, status = str(event.get("code")), event.get("status")
    if not isinstance(status, int) or not 400 <= status <= 599:
        status = 422 if code == "dependencies_failed" else 503
    return api_error(status, code, str(event.get("message")))


class Callbacks:
    """The callbacks of a run."""

    def __init__(
        self,
        on_stdout: Optional[OnText] = None,
        on_stderr: Optional[OnText] = None,
        on_result: Optional[OnResult] = None,
        on_error: Optional[OnError] = None,
        on_build: Optional[OnBuild] = None,
    ) -> None:
        self.on_stdout, self.on_stderr = on_stdout, on_stderr
        self.on_result, self.on_error = on_result, on_error
        self.on_build = on_build

    def __bool__(self) -> bool:
        return any((self.on_stdout, self.on_stderr, self.on_result, self.on_error, self.on_build))


class LiveReader(Protocol):
    """Reads a live response."""

    def feed(self, data: bytes) -> Iterator[Tuple[Callable[[Any], Any], Any]]: ...


class LiveResult:
    """Builds the result of a run or a cell from its events."""

    def __init__(self, callbacks: Callbacks) -> None:
        self._callbacks = callbacks
        self._lines = JsonLines()
        self._text: Dict[str, List[str]] = {"stdout": [], "stderr": []}
        self._bytes: Dict[str, List[bytes]] = {"stdout": [], "stderr": []}
        self._is_plain = {"stdout": True, "stderr": True}
        self._exit: Optional[Dict[str, Any]] = None
        self._failure: Optional[Dict[str, Any]] = None

    def feed(self, data: bytes) -> Iterator[Tuple[Callable[[Any], Any], Any]]:
        """The callbacks to invoke now, in order."""
        for event in self._lines.feed(data):
            kind = event.get("event")
            if kind == "stdout" or kind == "stderr":
                text = self._printed(kind, event)
                called = self._callbacks.on_stdout if kind == "stdout" else self._callbacks.on_stderr
                if called is not None:
                    yield called, text
            elif kind == "result":
                mime = event.get("mime")
                if self._callbacks.on_result is not None and isinstance(mime, dict):
                    yield self._callbacks.on_result, Mime(mime)
            elif kind == "error":
                self._failure = event
                if self._callbacks.on_error is not None and event.get("code") in _FAILURES:
                    yield self._callbacks.on_error, from_json(RunFailure, event)
            elif kind == "build":
                if self._callbacks.on_build is not None:
                    yield self._callbacks.on_build, build_event(event)
            elif kind == "exit":
                self._exit = event

    def _printed(self, stream: str, event: Mapping[str, Any]) -> str:
        text, encoded = event.get("text"), event.get("base64")
        if isinstance(text, str):
            raw = text.encode("utf-8", "surrogatepass")
        else:
            try:
                raw = base64.b64decode(encoded) if isinstance(encoded, str) else b""
            except (binascii.Error, ValueError):
                raw = b""
            text = raw.decode("utf-8", "replace")
            self._is_plain[stream] = False
        self._text[stream].append(text)
        self._bytes[stream].append(raw)
        return text

    def result(self, kind: Type[R]) -> R:
        """The result, at the end of the stream."""
        if self._exit is None:
            if self._failure is not None:
                raise error_from_event(self._failure)
            raise ProtocolError("the event stream ended without its last event")
        data = dict(self._exit)
        for stream in ("stdout", "stderr"):
            data[stream] = "".join(self._text[stream])
            if not self._is_plain[stream]:
                data[stream + "_base64"] = base64.b64encode(b"".join(self._bytes[stream])).decode()
        return from_json(kind, data)


_FAILURES = frozenset(("exception", "timed_out", "cpu_exceeded", "oom_killed", "killed", "cancelled", "context_died"))
