"""What code and commands come back with.

All of it was said by a guest or about one: text, numbers and MIME data, never objects. Results show
themselves in notebooks, figures and tables included; see :mod:`glovebox.models.notebook_display` for how a
stranger's HTML is shown.
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
        """As text; empty if it has no such form."""
        data = self.get("text/plain")
        return data if isinstance(data, str) else ""

    @property
    def value(self) -> Any:
        """As plain data (numbers, text, lists, dicts), or None if it is more than that."""
        return self.get("application/json")

    @property
    def html(self) -> Optional[str]:
        """A stranger's HTML: never put it into a page of your own as it is."""
        data = self.get("text/html")
        return data if isinstance(data, str) else None

    @property
    def png(self) -> Optional[bytes]:
        """A figure as the bytes of a PNG file."""
        return self._bytes("image/png")

    @property
    def jpeg(self) -> Optional[bytes]:
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
    """Why code did not do well: ``code`` is ``exception``, ``timed_out``, ``oom_killed``, ``killed`` …"""

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
    """What a run took; what the kernel does not count is None."""

    wall_ms: float = 0.0
    setup_ms: float = 0.0
    queue_ms: float = 0.0
    cpu_ms: Optional[float] = None
    peak_memory_bytes: Optional[int] = None
    peak_memory_mb: Optional[float] = None
    processes_peak: Optional[int] = None
    output_bytes: int = 0
    network: Optional[NetworkFigures] = None  #: where its profile has one


@dataclass(frozen=True)
class ExecMetrics:
    """What a program in a sandbox took."""

    wall_ms: float = 0.0
    cpu_ms: Optional[float] = None
    peak_memory_mb: Optional[float] = None
    queue_ms: Optional[float] = None
    output_bytes: int = 0


@dataclass(frozen=True)
class Isolation:
    """Which walls really stood."""

    engine: str = ""
    grade: str = ""
    walls: List[str] = field(default_factory=list)
    missing: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class OutputFile:
    """A file that came back from a run."""

    path: str
    size: int
    content: Optional[str] = None
    content_base64: Optional[str] = field(default=None, repr=False)

    @property
    def data(self) -> bytes:
        """Its bytes."""
        return decode_base64_or_text(self.content or "", self.content_base64)

    @property
    def text(self) -> str:
        """Its bytes as UTF-8; what is not is replaced."""
        return self.content if self.content is not None else self.data.decode("utf-8", "replace")


class _OutputMixin:
    """What everything that printed something has."""

    stdout: str
    stderr: str
    stdout_base64: Optional[str]
    stderr_base64: Optional[str]
    exit_code: int
    timed_out: bool
    oom_killed: bool

    @property
    def stdout_bytes(self) -> bytes:
        """The very bytes, also where they are not UTF-8."""
        return decode_base64_or_text(self.stdout, self.stdout_base64)

    @property
    def stderr_bytes(self) -> bytes:
        return decode_base64_or_text(self.stderr, self.stderr_base64)

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, with exit status 0 and without an exception."""
        return self.exit_code == 0 and getattr(self, "error", None) is None

    def raise_for_error(self: _Own) -> _Own:
        """Itself if it did well; else raises :class:`~glovebox.ExecutionError`."""
        if not self.ok:
            raise ExecutionError(self, getattr(self, "error", None) or _limit_failure(self))  # type: ignore[arg-type]
        return self


def _limit_failure(result: _OutputMixin) -> Optional[RunFailure]:
    if result.timed_out:
        return RunFailure("timed_out", "it ran too long")
    if result.oom_killed:
        return RunFailure("oom_killed", "it used more memory than it may")
    return None


class _ValueMixin(_OutputMixin):
    """What code has besides: a value and what it showed."""

    result: Optional[Mime]
    results: List[Mime]
    error: Optional[RunFailure]

    @property
    def value(self) -> Any:
        """The value of the last expression as plain data; None if it has none or is more than that."""
        return self.result.value if self.result is not None else None

    @property
    def text(self) -> str:
        """The value of the last expression as text."""
        return self.result.text if self.result is not None else ""

    @property
    def shown(self) -> List[Mime]:
        """Everything that was shown, the value of the last expression at the end."""
        return [*self.results, *([self.result] if self.result is not None else [])]

    @property
    def figures(self) -> List[bytes]:
        """The figures as PNG files."""
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
    """The packages that a run was made with."""

    layer: str = ""
    #: It was built for this, or for somebody at the same time.
    built: bool = False
    waited_ms: int = 0
    #: Why no interpreter waited with them; None when one did.
    cold_because: Optional[str] = None


@dataclass(frozen=True)
class RunResult(_ValueMixin):
    """How a run went. Code that failed is not an exception: look at ``ok``, ``error``, ``exit_code``."""

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
    dependencies: Optional[PreparedSet] = field(default=None, repr=False)
    request_id: str = field(default="", repr=False)
    stdout_base64: Optional[str] = field(default=None, repr=False)
    stderr_base64: Optional[str] = field(default=None, repr=False)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def file(self, path: str) -> OutputFile:
        """The file of that path that came back; ``KeyError`` if there is none."""
        for file in self.files:
            if path in (file.path, _relative_to_home(file.path)):
                return file
        raise KeyError(path)


@dataclass(frozen=True)
class CodeResult(_ValueMixin):
    """How code in a context of a sandbox went."""

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
    """Lambda's form of a failure; what the handler wrote."""

    errorType: str = ""
    errorMessage: str = ""
    stackTrace: List[str] = field(default_factory=list)
    requestId: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class InvokeResult(_OutputMixin):
    """What a Lambda handler came to: ``result`` is what it returned, ``error`` Lambda's error object."""

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
    #: Where its time went: ``import_ms``, ``handler_ms``.
    phases: Dict[str, Any] = field(default_factory=dict, repr=False)
    metrics: RunMetrics = field(default_factory=RunMetrics, repr=False)
    isolation: Isolation = field(default_factory=Isolation, repr=False)
    profile: str = field(default="", repr=False)
    template: str = ""
    warm: bool = False
    dependencies: Optional[PreparedSet] = field(default=None, repr=False)
    aws_request_id: str = field(default="", repr=False)
    request_id: str = field(default="", repr=False)
    stdout_base64: Optional[str] = field(default=None, repr=False)
    stderr_base64: Optional[str] = field(default=None, repr=False)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def raise_for_error(self) -> "InvokeResult":
        """Itself if it did well; else raises :class:`~glovebox.ExecutionError`."""
        if self.error is not None:
            error = self.error
            failure = RunFailure("exception", error.errorMessage, error.errorType or None, error.stackTrace)
            raise ExecutionError(self, failure)
        return super().raise_for_error()


@dataclass(frozen=True)
class ExecResult(_OutputMixin):
    """How a program in a sandbox ended."""

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
