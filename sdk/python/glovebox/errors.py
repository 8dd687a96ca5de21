"""What can go wrong, as one family of exceptions.

Code that fails inside a sandbox is not an exception: a result says so (and
``result.raise_for_error()`` turns it into an :class:`ExecutionError` for those who like that).

::

    GloveboxError
    ├── ApiError                 the server said no; status, code, message, request_id
    │   ├── InvalidRequestError  400, 413, 416, 422 …: the request must change
    │   │   └── DependencyError  packages that cannot be installed, in the installer's words
    │   ├── AuthError            401
    │   ├── ForbiddenError       403: policy, a ceiling, a mount that is not listed
    │   ├── NotFoundError        404
    │   ├── ConflictError        409: not in this state
    │   ├── LimitError           429, 507: too much at once; retry_after
    │   └── UnavailableError     502, 503, 504: not now; retry_after
    ├── ConnectionFailed         nobody answered, or the connection broke
    ├── TimeoutExpired           this side waited as long as it was told to
    ├── ProtocolError            what came back is not what a Glovebox server says
    ├── ServerStartError         no server could be found or started
    └── ExecutionError           of raise_for_error(): the code failed
"""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional, Union

from ._printable import printable

if TYPE_CHECKING:
    from .models.results import CodeResult, ExecResult, InvokeResult, RunFailure, RunResult

__all__ = [
    "ApiError",
    "AuthError",
    "ConflictError",
    "ConnectionFailed",
    "DependencyError",
    "ExecutionError",
    "ForbiddenError",
    "GloveboxError",
    "InvalidRequestError",
    "LimitError",
    "NotFoundError",
    "ProtocolError",
    "ServerStartError",
    "TimeoutExpired",
    "UnavailableError",
]


class GloveboxError(Exception):
    """Anything this package raises by itself (but ``TypeError`` and ``ValueError`` for wrong arguments)."""


class ApiError(GloveboxError):
    """The server refused. ``code`` is stable and for programs, ``message`` is for people."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        request_id: Optional[str] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(status, code, message, request_id, retry_after)
        self.status = status
        self.code = code
        self.message = message
        self.request_id = request_id
        #: Seconds after which the server thinks that trying again may help, if it said so.
        self.retry_after = retry_after

    def __str__(self) -> str:
        where = f" (request {self.request_id})" if self.request_id else ""
        return printable(f"{self.message} [{self.status} {self.code}]{where}")


class InvalidRequestError(ApiError):
    """The request itself is wrong: the message names the field."""


class DependencyError(InvalidRequestError):
    """The packages that were asked for cannot be installed; ``message`` has the installer's own words."""


class AuthError(ApiError):
    """No key, or one that is not valid."""


class ForbiddenError(ApiError):
    """The key, the policy or a ceiling of the administrator's does not allow it."""


class NotFoundError(ApiError):
    """There is none, or it is another project's."""


class ConflictError(ApiError):
    """It is not in a state for this; or it exists, is busy, is not empty."""


class LimitError(ApiError):
    """Too much at once, or a disk is full; ``retry_after`` if waiting helps."""


class UnavailableError(ApiError):
    """Not now; ``retry_after`` if the server said when."""


class ConnectionFailed(GloveboxError, ConnectionError):
    """Nobody answered, or the connection broke before the answer was whole."""


class TimeoutExpired(GloveboxError, TimeoutError):
    """This side stopped waiting. A time limit of the code itself is ``result.timed_out`` instead."""


class ProtocolError(GloveboxError):
    """What came back is not what a Glovebox server says."""


class ServerStartError(GloveboxError):
    """There is no server: none is configured, none runs here, and none could be started."""


class ExecutionError(GloveboxError):
    """The code failed inside its sandbox; raised by ``raise_for_error()``."""

    def __init__(
        self, result: "Union[RunResult, CodeResult, ExecResult, InvokeResult]", failure: "Optional[RunFailure]" = None
    ) -> None:
        super().__init__(result, failure)
        #: The whole result.
        self.result = result
        #: ``exception``, ``timed_out``, ``oom_killed``, ``killed`` or ``exit_status``.
        self.code: str = failure.code if failure is not None else "exit_status"
        #: The type of the exception, where there was one.
        self.name: Optional[str] = failure.name if failure is not None else None
        #: The lines of the traceback, where there was one.
        self.traceback: List[str] = list(failure.traceback) if failure is not None else []
        self._failure = failure

    def __str__(self) -> str:
        if self._failure is None:
            tail = self.result.stderr.strip()[-500:]
            return f"exit status {self.result.exit_code}" + (f": {printable(tail)}" if tail else "")
        return str(self._failure)


_BY_STATUS = {
    401: AuthError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    429: LimitError,
    502: UnavailableError,
    503: UnavailableError,
    504: UnavailableError,
    507: LimitError,
}


def api_error(
    status: int,
    code: str,
    message: str,
    request_id: Optional[str] = None,
    retry_after: Optional[float] = None,
) -> ApiError:
    """The exception for a refusal with this status."""
    kind = DependencyError if code == "dependencies_failed" else _BY_STATUS.get(status)
    if kind is None:
        kind = InvalidRequestError if 400 <= status < 500 else ApiError
    return kind(status, code, message, request_id, retry_after)
