"""When a call that the server refused is made again."""

from __future__ import annotations

import time
from typing import Any, Optional

from ..errors import ApiError, ConnectionFailed, GloveboxError, UnavailableError
from .call_protocol import sandbox_died

__all__ = ["Repeats", "is_not_started", "retry_deadline", "retry_delay"]

# Refusals before anything has run, after which the same call can be made again.
_NOT_STARTED_CODES = frozenset(
    (
        "builds_full",
        "host_full",
        "key_limit",
        "resource_exhausted",
        "too_many_requests_in_progress",
        "too_many_bodies",
        "too_many_connections",
    )
)
# How often a call of an idempotent function is made again after it was cut off.
MAX_REPEATS = 2
_RETRY_FOR_S = 60.0
_MAX_DELAY_S = 5.0


def retry_deadline() -> float:
    """When to give up, by ``time.monotonic()``."""
    return time.monotonic() + _RETRY_FOR_S


def retry_delay(error: ApiError, deadline: float) -> float:
    """Seconds until the call is made again; raises the refusal if it must not be, or not in time."""
    if not is_not_started(error):
        raise error
    delay = min(error.retry_after or 0.2, _MAX_DELAY_S)
    if time.monotonic() + delay > deadline:
        raise error
    return delay


def is_not_started(error: BaseException) -> bool:
    """Whether the call was refused before anything had run."""
    return isinstance(error, ApiError) and error.code in _NOT_STARTED_CODES and error.status != 403


class Repeats:
    """Decides for one call whether it is made again after its sandbox, the server or the connection was lost.

    Never, unless the function is idempotent: it may have run.
    """

    def __init__(self, is_idempotent: bool) -> None:
        self._left = MAX_REPEATS if is_idempotent else 0

    def wants_after(self, error: Optional[GloveboxError], response: Any = None) -> bool:
        lost = isinstance(error, (ConnectionFailed, UnavailableError))
        if self._left == 0 or not (lost or (isinstance(response, dict) and sandbox_died(response))):
            return False
        self._left -= 1
        return True
