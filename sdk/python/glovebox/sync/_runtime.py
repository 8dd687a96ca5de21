"""What threads and asyncio do differently, in small pieces; :mod:`glovebox.aio` has the same names.

This module, ``_connection`` and ``_process_connection`` are written by hand on both sides. Everything else
in ``glovebox/sync`` is generated from ``glovebox/aio``.
"""

from __future__ import annotations

from threading import Lock as ThreadLock
from time import sleep
from typing import IO, TYPE_CHECKING, Any, Callable, Iterable, TypeVar, Union

if TYPE_CHECKING:
    from .client import Client

T = TypeVar("T")

__all__ = ["FileContent", "ThreadLock", "connect_if_blocking", "invoke_callback", "run_blocking", "sleep"]

#: What ``files.write()`` takes.
FileContent = Union[str, bytes, bytearray, memoryview, IO[bytes], Iterable[bytes]]


def invoke_callback(callback: Callable[[Any], Any], value: Any) -> None:
    """Calls a user's callback."""
    callback(value)


def run_blocking(function: Callable[..., T], *arguments: Any) -> T:
    """Runs a function that blocks."""
    return function(*arguments)


def connect_if_blocking(client: "Client") -> None:
    """Connects where a property may block; here it may."""
    client._connected()
