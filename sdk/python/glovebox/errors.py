"""The exceptions of this package.

Code that fails inside a sandbox does not raise: the result says so, and ``result.raise_for_error()`` turns it
into an :class:`ExecutionError`.

::

    GloveboxError
    ├── ApiError                 the server refused; status, code, message, request_id
    │   ├── InvalidRequestError  400, 413, 416, 422 …: the request must change
    │   │   └── DependencyError  packages that cannot be installed, with the installer's output
    │   ├── AuthError            401
    │   ├── ForbiddenError       403: denied by policy, limit or mount list
    │   ├── NotFoundError        404
    │   ├── ConflictError        409: not possible in this state
    │   ├── LimitError           429, 507: a limit or quota is reached; retry_after
    │   └── UnavailableError     502, 503, 504: try again later; retry_after
    ├── ConnectionFailed         no response, or the connection failed
    ├── TimeoutExpired           the client stopped waiting for the response
    ├── ProtocolError            the response is not one of a Glovebox server
    ├── ServerStartError         no server could be found or started
    └── ExecutionError           raised by raise_for_error(): the code failed
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
    """Base class of this package's exceptions. Wrong arguments raise ``TypeError`` or ``ValueError`` instead."""


class ApiError(GloveboxError):
    """The server refused the request. ``code`` is stable and for programs, ``message`` is for people."""

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
        #: Seconds after which the server suggests to try again, or None.
        self.retry_after = retry_after

    def __str__(self) -> str:
        where = f" (request {self.request_id})" if self.request_id else ""
        return printable(f"{self.message} [{self.status} {self.code}]{where}")


class InvalidRequestError(ApiError):
    """The request is invalid; the message names the field."""


class DependencyError(InvalidRequestError):
    """The packages cannot be installed; ``message`` has the installer's output."""


class AuthError(ApiError):
    """The API key is missing or invalid."""


class ForbiddenError(ApiError):
    """The key, the policy or a limit set by the administrator does not allow it."""


class NotFoundError(ApiError):
    """It does not exist, or belongs to another project."""


class ConflictError(ApiError):
    """It is in a state that does not allow this, exists already, is busy or is not empty."""


class LimitError(ApiError):
    """A limit or quota is reached, or a disk is full; ``retry_after`` if waiting helps."""


class UnavailableError(ApiError):
    """The server cannot do this now; ``retry_after`` if it said when to try again."""


class ConnectionFailed(GloveboxError, ConnectionError):
    """The server did not respond, or the connection failed before the response was complete."""


class TimeoutExpired(GloveboxError, TimeoutError):
    """The client stopped waiting. If the code exceeded its own time limit, ``result.timed_out`` is true instead."""


class ProtocolError(GloveboxError):
    """The response is malformed, or not one of a Glovebox server."""


class ServerStartError(GloveboxError):
    """No server is configured or running on this machine, and none could be started."""


class ExecutionError(GloveboxError):
    """The code failed in its sandbox; raised by ``raise_for_error()``."""

    def __init__(
        self, result: "Union[RunResult, CodeResult, ExecResult, InvokeResult]", failure: "Optional[RunFailure]" = None
    ) -> None:
        super().__init__(result, failure)
        #: The whole result.
        self.result = result
        #: ``exception``, ``timed_out``, ``oom_killed``, ``killed`` or ``exit_status``.
        self.code: str = failure.code if failure is not None else "exit_status"
        #: The type of the exception, if there was one.
        self.name: Optional[str] = failure.name if failure is not None else None
        #: The lines of the traceback, if there was one.
        self.traceback: List[str] = list(failure.traceback) if failure is not None else []
        self._failure = failure

    def __str__(self) -> str:
        if self._failure is None:
            tail = self.result.stderr.strip()[-500:]
            return f"exit code {self.result.exit_code}" + (f": {printable(tail)}" if tail else "")
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
    """The exception for an error response with this status."""
    kind = DependencyError if code == "dependencies_failed" else _BY_STATUS.get(status)
    if kind is None:
        kind = InvalidRequestError if 400 <= status < 500 else ApiError
    return kind(status, code, message, request_id, retry_after)
