"""Results of code and commands.

All of it is data from or about a guest: text, numbers and MIME data, never objects. Notebooks show results with
figures and tables; :mod:`glovebox.models.notebook_display` says how untrusted HTML is shown.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, TypeVar

from .._printable import printable
from ..errors import ExecutionError
from . import notebook_display
from .network_usage import NetworkFigures

__all__ = [
    "CodeResult",
    "ExecMetrics",
    "ExecResult",
    "InvokeResult",
    "Isolation",
    "LambdaError",
    "Mime",
    "OutputFile",
    "PreparedSet",
    "RunFailure",
    "RunMetrics",
    "RunResult",
]

_Own = TypeVar("_Own", bound="_OutputMixin")


def decode_base64_or_text(text: str, encoded: Optional[str]) -> bytes:
    if encoded is not None:
        try:
            return base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            pass
    return text.encode("utf-8", "surrogatepass")


def _relative_to_home(path: str) -> str:
    home = "/home/user/"
    return path[len(home) :] if path.startswith(home) else path


class Mime(Dict[str, Any]):
    """One value in one or more forms: MIME type to data. Images are base64 text.

    >>> value = Mime({"text/plain": "42", "application/json": 42})
    >>> value.text, value.value
    ('42', 42)
    """

    @property
    def text(self) -> str:
        """The value as text; empty if it has no text form."""
        data = self.get("text/plain")
        return data if isinstance(data, str) else ""

    @property
    def value(self) -> Any:
        """The value as JSON data (numbers, text, lists, dicts), or None if it has no such form."""
        return self.get("application/json")

    @property
    def html(self) -> Optional[str]:
        """The value as HTML. It is untrusted: never put it into your own page unchanged."""
        data = self.get("text/html")
        return data if isinstance(data, str) else None

    @property
    def png(self) -> Optional[bytes]:
        """A figure, as a PNG file."""
        return self._bytes("image/png")

    @property
    def jpeg(self) -> Optional[bytes]:
        """A figure, as a JPEG file."""
        return self._bytes("image/jpeg")

    def _bytes(self, kind: str) -> Optional[bytes]:
        data = self.get(kind)
        if not isinstance(data, str):
            return None
        try:
            return base64.b64decode("".join(data.split()), validate=True)
        except (binascii.Error, ValueError):
            return None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, Any]:
        return notebook_display.mime_bundle(self)


@dataclass(frozen=True)
class RunFailure:
    """Why code failed: ``code`` is ``exception``, ``timed_out``, ``cpu_exceeded``, ``oom_killed``, ``killed`` …"""

    code: str
    message: str
    name: Optional[str] = None
    traceback: List[str] = field(default_factory=list)
    line: Optional[int] = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        return printable(f"{self.name}: {self.message}" if self.name else self.message)


@dataclass(frozen=True)
class RunMetrics:
    """The resource usage of a run; None where the kernel does not count."""

    wall_ms: float = 0.0
    setup_ms: float = 0.0
    queue_ms: float = 0.0
    cpu_ms: Optional[float] = None
    peak_memory_bytes: Optional[int] = None
    peak_memory_mb: Optional[float] = None
    processes_peak: Optional[int] = None
    output_bytes: int = 0
    network: Optional[NetworkFigures] = None  #: if its profile allows network access


@dataclass(frozen=True)
class ExecMetrics:
    """The resource usage of a program in a sandbox."""

    wall_ms: float = 0.0
    cpu_ms: Optional[float] = None
    peak_memory_mb: Optional[float] = None
    queue_ms: Optional[float] = None
    output_bytes: int = 0


@dataclass(frozen=True)
class Isolation:
    """The isolation that was in force: engine, grade, and the walls that stood or were missing."""

    engine: str = ""
    grade: str = ""
    walls: List[str] = field(default_factory=list)
    missing: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class OutputFile:
    """A file that a run returned."""

    path: str
    size: int
    content: Optional[str] = None
    content_base64: Optional[str] = field(default=None, repr=False)

    @property
    def data(self) -> bytes:
        """The content as bytes."""
        return decode_base64_or_text(self.content or "", self.content_base64)

    @property
    def text(self) -> str:
        """The content as text; invalid UTF-8 is replaced."""
        return self.content if self.content is not None else self.data.decode("utf-8", "replace")


class _OutputMixin:
    """Output and exit code: common to all results."""

    stdout: str
    stderr: str
    stdout_base64: Optional[str]
    stderr_base64: Optional[str]
    exit_code: int
    timed_out: bool
    oom_killed: bool

    @property
    def stdout_bytes(self) -> bytes:
        """Standard output as bytes, also if it is not UTF-8."""
        return decode_base64_or_text(self.stdout, self.stdout_base64)

    @property
    def stderr_bytes(self) -> bytes:
        """Standard error as bytes, also if it is not UTF-8."""
        return decode_base64_or_text(self.stderr, self.stderr_base64)

    @property
    def ok(self) -> bool:
        """Whether it ended with exit code 0 and without an exception."""
        return self.exit_code == 0 and getattr(self, "error", None) is None

    def raise_for_error(self: _Own) -> _Own:
        """Raises :class:`~glovebox.ExecutionError` if it failed; otherwise returns itself."""
        if not self.ok:
            raise ExecutionError(self, getattr(self, "error", None) or _limit_failure(self))  # type: ignore[arg-type]
        return self


def _limit_failure(result: _OutputMixin) -> Optional[RunFailure]:
    if result.timed_out:
        return RunFailure("timed_out", "time limit exceeded")
    if result.oom_killed:
        return RunFailure("oom_killed", "memory limit exceeded")
    return None


class _ValueMixin(_OutputMixin):
    """The value of code, and what it displayed."""

    result: Optional[Mime]
    results: List[Mime]
    error: Optional[RunFailure]

    @property
    def value(self) -> Any:
        """The value of the last expression as JSON data; None if there is none, or it has no such form."""
        return self.result.value if self.result is not None else None

    @property
    def text(self) -> str:
        """The value of the last expression as text."""
        return self.result.text if self.result is not None else ""

    @property
    def shown(self) -> List[Mime]:
        """Everything that was displayed; the value of the last expression comes last."""
        return [*self.results, *([self.result] if self.result is not None else [])]

    @property
    def figures(self) -> List[bytes]:
        """The figures, as PNG files."""
        return [png for png in (mime.png for mime in self.shown) if png is not None]

    def _repr_html_(self) -> str:
        return notebook_display.result_html(self)

    def _repr_png_(self) -> Optional[bytes]:
        figures = self.figures
        return figures[-1] if figures else None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, Any]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


@dataclass(frozen=True)
class PreparedSet:
    """The packages of a run."""

    layer: str = ""
    #: The layer was built for this run, or for another one at the same time.
    built: bool = False
    waited_ms: int = 0
    #: Why no interpreter was warm with these packages; None if one was.
    cold_because: Optional[str] = None


@dataclass(frozen=True)
class RunResult(_ValueMixin):
    """The result of a run. Code that fails does not raise: see ``ok``, ``error`` and ``exit_code``."""

    id: str
    exit_code: int
    stdout: str = ""
    stderr: str = ""
    result: Optional[Mime] = None
    results: List[Mime] = field(default_factory=list)
    error: Optional[RunFailure] = None
    signal: Optional[int] = None
    timed_out: bool = False
    oom_killed: bool = False
    truncated: bool = False
    files: List[OutputFile] = field(default_factory=list)
    files_error: Optional[str] = None
    metrics: RunMetrics = field(default_factory=RunMetrics, repr=False)
    isolation: Isolation = field(default_factory=Isolation, repr=False)
    profile: str = field(default="", repr=False)
    template: str = ""
    warm: bool = False
    #: How many runs the sandbox had served before; None if it was used once.
    reused: Optional[int] = None
    dependencies: Optional[PreparedSet] = field(default=None, repr=False)
    request_id: str = field(default="", repr=False)
    stdout_base64: Optional[str] = field(default=None, repr=False)
    stderr_base64: Optional[str] = field(default=None, repr=False)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def file(self, path: str) -> OutputFile:
        """The returned file with this path; raises ``KeyError`` if there is none."""
        for file in self.files:
            if path in (file.path, _relative_to_home(file.path)):
                return file
        raise KeyError(path)


@dataclass(frozen=True)
class CodeResult(_ValueMixin):
    """The result of code in a context of a sandbox."""

    exit_code: int
    context: str = ""
    language: str = ""
    cell: int = 0
    stdout: str = ""
    stderr: str = ""
    result: Optional[Mime] = None
    results: List[Mime] = field(default_factory=list)
    error: Optional[RunFailure] = None
    signal: Optional[int] = None
    timed_out: bool = False
    oom_killed: bool = False
    truncated: bool = False
    restarted: bool = False
    warm: bool = False
    metrics: ExecMetrics = field(default_factory=ExecMetrics, repr=False)
    request_id: str = field(default="", repr=False)
    stdout_base64: Optional[str] = field(default=None, repr=False)
    stderr_base64: Optional[str] = field(default=None, repr=False)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class LambdaError:
    """An error in the format of AWS Lambda; written by the handler."""

    errorType: str = ""
    errorMessage: str = ""
    stackTrace: List[str] = field(default_factory=list)
    requestId: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class InvokeResult(_OutputMixin):
    """The result of a Lambda handler: ``result`` is its return value, ``error`` Lambda's error object."""

    id: str
    exit_code: int
    result: Any = None
    error: Optional[LambdaError] = None
    stdout: str = ""
    stderr: str = ""
    signal: Optional[int] = None
    timed_out: bool = False
    oom_killed: bool = False
    truncated: bool = False
    files: List[OutputFile] = field(default_factory=list)
    files_error: Optional[str] = None
    #: Durations: ``import_ms``, ``handler_ms``.
    phases: Dict[str, Any] = field(default_factory=dict, repr=False)
    metrics: RunMetrics = field(default_factory=RunMetrics, repr=False)
    isolation: Isolation = field(default_factory=Isolation, repr=False)
    profile: str = field(default="", repr=False)
    template: str = ""
    warm: bool = False
    #: How many runs the sandbox had served before; None if it was used once.
    reused: Optional[int] = None
    dependencies: Optional[PreparedSet] = field(default=None, repr=False)
    aws_request_id: str = field(default="", repr=False)
    request_id: str = field(default="", repr=False)
    stdout_base64: Optional[str] = field(default=None, repr=False)
    stderr_base64: Optional[str] = field(default=None, repr=False)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def raise_for_error(self) -> "InvokeResult":
        """Raises :class:`~glovebox.ExecutionError` if it failed; otherwise returns itself."""
        if self.error is not None:
            error = self.error
            failure = RunFailure("exception", error.errorMessage, error.errorType or None, error.stackTrace)
            raise ExecutionError(self, failure)
        return super().raise_for_error()


@dataclass(frozen=True)
class ExecResult(_OutputMixin):
    """The result of a program in a sandbox."""

    exit_code: int
    process: int = 0
    pid: int = 0
    stdout: str = ""
    stderr: str = ""
    signal: Optional[int] = None
    timed_out: bool = False
    oom_killed: bool = False
    truncated: bool = False
    metrics: ExecMetrics = field(default_factory=ExecMetrics, repr=False)
    stdout_base64: Optional[str] = field(default=None, repr=False)
    stderr_base64: Optional[str] = field(default=None, repr=False)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __iter__(self) -> Iterator[Any]:
        """``code, out, err = sandbox.exec(...)``."""
        return iter((self.exit_code, self.stdout, self.stderr))
