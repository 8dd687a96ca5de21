"""Limits and error messages of connections, for both clients."""

from __future__ import annotations

import select
import ssl

__all__ = ["CONNECT_S", "MAX_IDLE_CONNECTIONS", "MAX_IDLE_S", "connect_error", "is_readable"]

CONNECT_S = 10.0
# The server closes idle connections after 75 s; one that was idle for longer than this is not used again.
MAX_IDLE_S = 45.0
MAX_IDLE_CONNECTIONS = 64


def is_readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def connect_error(error: OSError) -> str:
    """Why a connection could not be opened."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's TLS certificate was not accepted: {error.verify_message}"
    return error.strerror or str(error)
