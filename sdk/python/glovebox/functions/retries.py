"""When a call that the server refused is made again."""

from __future__ import annotations

import time

from ..errors import ApiError

__all__ = ["retry_deadline", "retry_delay"]

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
_RETRY_FOR_S = 60.0
_MAX_DELAY_S = 5.0


def retry_deadline() -> float:
    """When to give up, by ``time.monotonic()``."""
    return time.monotonic() + _RETRY_FOR_S


def retry_delay(error: ApiError, deadline: float) -> float:
    """Seconds until the call is made again; raises the refusal if it must not be, or not in time."""
    if error.code not in _NOT_STARTED_CODES or error.status == 403:
        raise error
    delay = min(error.retry_after or 0.2, _MAX_DELAY_S)
    if time.monotonic() + delay > deadline:
        raise error
    return delay
