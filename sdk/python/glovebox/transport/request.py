"""Requests and responses as values, deadlines, and when a request may be sent again.

No sockets; shared by the sync and the async client. A function of :mod:`glovebox.requests` makes a
:class:`Request`, a transport sends it, and ``Request.read`` converts the response.
"""

from __future__ import annotations

import json as jsonlib
import random
import time
from dataclasses import dataclass, field
from typing import IO, Any, AsyncIterable, Callable, Dict, Generic, Iterable, Mapping, Optional, Tuple, TypeVar, Union
from urllib.parse import quote

from ..errors import ApiError, ConnectionFailed, GloveboxError, ProtocolError, TimeoutExpired, api_error

T = TypeVar("T")

__all__ = [
    "Response",
    "RetryPolicy",
    "Body",
    "Request",
    "Deadline",
    "ConnectionLost",
    "check_content_type",
    "dump_json",
    "load_json",
    "api_path",
    "with_query",
]

#: The body of a request that is not JSON: bytes, or a stream of known or unknown length.
Body = Union[bytes, IO[bytes], Iterable[bytes], AsyncIterable[bytes]]

# The limit for a response that is read as a whole: far above what a server sends.
MAX_RESPONSE = 256 * 1024 * 1024
# The longest wait before a retry, whatever the server suggests.
MAX_RETRY_AFTER_S = 20.0

_IDEMPOTENT = frozenset(("GET", "HEAD", "PUT", "DELETE"))


@dataclass
class Request(Generic[T]):
    """A request to a path of the server, and how to read its response."""

    method: str
    target: str  # path and query, percent-encoded
    read: Callable[[Any], T]
    json: Optional[Mapping[str, Any]] = None
    body: Optional[Body] = None
    body_length: Optional[int] = None
    headers: Dict[str, str] = field(default_factory=dict)
    #: Seconds for everything; None for the client's default, 0 for no limit.
    timeout: Optional[float] = None
    #: Whether it is idempotent; None: as usual for the method.
    is_idempotent: Optional[bool] = None
    max_response: int = MAX_RESPONSE
    #: The content type that a streamed response must have.
    stream_type: Optional[str] = None

    @property
    def is_streamed(self) -> bool:
        """Whether its body is a stream, which can be sent only once."""
        return self.body is not None and not isinstance(self.body, bytes)

    @property
    def is_retryable(self) -> bool:
        if self.is_streamed:
            return False
        if self.is_idempotent is not None:
            return self.is_idempotent
        return self.method in _IDEMPOTENT


@dataclass
class Response:
    """A complete response."""

    status: int
    headers: Dict[str, str]
    body: bytes

    def value(self) -> Any:
        """The parsed JSON, or None without a body; raises if the server refused."""
        if self.status >= 300:
            raise self.error()
        if not self.body:
            return None
        check_content_type(self.headers, "application/json")
        return load_json(self.body)

    def error(self) -> ApiError:
        code, message, request_id = "unknown", "", self.headers.get("x-request-id")
        try:
            data = jsonlib.loads(self.body)
            error = data["error"]
            code, message = str(error["code"]), str(error["message"])
            request_id = str(data.get("request_id") or request_id or "") or None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            message = self.body[:300].decode("utf-8", "replace").strip() or "the server gave no reason"
        return api_error(self.status, code, message, request_id, _seconds(self.headers.get("retry-after")))


def check_content_type(headers: Mapping[str, str], wanted: str) -> None:
    """Refuses another content type, like the error page of a proxy."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != wanted:
        raise ProtocolError(f"malformed response: not {wanted}; is this the address of a Glovebox server?")


def _seconds(text: Optional[str]) -> Optional[float]:
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 9:
        return None
    return float(text)


_encode = jsonlib.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def dump_json(value: Any) -> bytes:
    """Strict JSON: NaN is refused."""
    return _encode(value).encode()


def load_json(text: "Union[bytes, str]") -> Any:
    try:
        return jsonlib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"malformed response: invalid JSON: {error}") from None


def api_path(*parts: "Union[str, int]") -> str:
    """A path below /v1. Each part is percent-encoded, so an id cannot contain a slash.

    >>> api_path("sandboxes", "a/../b")
    '/v1/sandboxes/a%2F..%2Fb'
    """
    for part in parts:
        if part in ("", ".", ".."):
            raise ValueError("an id must not be empty")
    return "/v1/" + "/".join(quote(str(part), safe="") for part in parts)


def with_query(path: str, query: Iterable[Tuple[str, Union[str, bytes, int, bool, None]]]) -> str:
    """A path with the query parameters that are not None.

    >>> with_query("/v1/runs", [("limit", 5), ("cursor", None)])
    '/v1/runs?limit=5'
    """
    words = []
    for name, value in query:
        if value is None:
            continue
        if isinstance(value, bool):
            value = "true" if value else "false"
        words.append(f"{quote(name, safe='.')}={quote(value if isinstance(value, bytes) else str(value), safe='')}")
    return path + ("?" + "&".join(words) if words else "")


class Deadline:
    """A point in time at which waiting ends."""

    __slots__ = ("_at", "seconds")

    def __init__(self, seconds: Optional[float]) -> None:
        self.seconds = seconds
        self._at = None if seconds is None else time.monotonic() + seconds

    def left(self) -> Optional[float]:
        """The seconds that are left, more than zero; None for no limit. Raises after the deadline."""
        if self._at is None:
            return None
        left = self._at - time.monotonic()
        if left <= 0:
            raise self.expired()
        return left

    def allows(self, seconds: float) -> bool:
        return self._at is None or time.monotonic() + seconds < self._at

    def expired(self) -> TimeoutExpired:
        if self.seconds is None:  # the operating system gave up
            return TimeoutExpired("the connection timed out")
        return TimeoutExpired(f"no response within {self.seconds:g} seconds: pass a longer timeout, or 0 for no limit")


class ConnectionLost(Exception):
    """The connection failed. ``had_response``: part of the response had arrived."""

    def __init__(self, reason: str, *, was_sent: bool, had_response: bool = False, was_reused: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.was_sent = was_sent
        self.had_response = had_response
        self.was_reused = was_reused


class RetryPolicy:
    """Whether, and after how many seconds, a failed request is sent again.

    Idempotent requests (GET, PUT and DELETE, and everything with an Idempotency-Key) are sent again if the
    connection failed before the first byte of the response, or if the server responded 429 or 503 with
    Retry-After. Any request is sent again if it certainly did not arrive. A streamed body is never sent again,
    and nothing is after the deadline.
    """

    def __init__(self, request: "Request[Any]", max_retries: int, deadline: Deadline) -> None:
        self._may_repeat = request.is_retryable
        self._has_key = "Idempotency-Key" in request.headers
        self._removes = request.method == "DELETE"
        self._may_have_arrived = False  # an earlier attempt
        self._left = 0 if request.is_streamed else max_retries
        self._deadline = deadline
        self._backoff = 0.05

    def after_connection_loss(self, lost: ConnectionLost, where: str) -> float:
        """Seconds to wait; raises ConnectionFailed if the request must not be sent again."""
        self._may_have_arrived = self._may_have_arrived or lost.was_sent
        if not lost.had_response and (self._may_repeat or not lost.was_sent) and self._left > 0:
            # The server had closed an idle connection: replace it at once.
            delay = 0.0 if lost.was_reused else self._next()
            if self._deadline.allows(delay):
                self._left -= 1
                return delay
        raise ConnectionFailed(f"{where}: {lost.reason}") from lost.__cause__

    def after_refusal(self, response: Response) -> Optional[float]:
        """Seconds to wait before the next attempt; None if the response is final."""
        if not self._may_repeat:
            return None
        if response.status == 409 and self._has_key and response.error().code == "still_running":
            # The first request with this key is still running: ask again until it has ended.
            delay = self._next()
            return delay if self._deadline.allows(delay) else None
        if response.status not in (429, 503) or self._left <= 0:
            return None
        retry_after = _seconds(response.headers.get("retry-after"))
        if retry_after is None or retry_after > MAX_RETRY_AFTER_S or not self._deadline.allows(retry_after):
            return None
        self._left -= 1
        return retry_after + random.uniform(0, 0.1)

    def settled(self, response: Response) -> Response:
        """The final response. If an earlier attempt may have removed the resource, 404 is success."""
        if self._removes and self._may_have_arrived and response.status == 404:
            return Response(204, {}, b"")
        return response

    def _next(self) -> float:
        delay = self._backoff * random.uniform(0.8, 1.2)
        self._backoff = min(self._backoff * 2, 1.0)
        return delay


def response_too_long(limit: int) -> GloveboxError:
    return ProtocolError(f"the response is larger than {limit} bytes; for large files use sandbox.files.download()")
