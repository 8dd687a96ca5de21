"""What asyncio and threads do differently, in small pieces; :mod:`glovebox.sync` has the same names.

This module, ``_connection`` and ``_process_connection`` are written by hand on both sides. Everything else
in ``glovebox/sync`` is generated from ``glovebox/aio``.
"""

from __future__ import annotations

import asyncio
import inspect
from asyncio import sleep
from typing import IO, TYPE_CHECKING, Any, AsyncIterable, Callable, Iterable, TypeVar, Union

if TYPE_CHECKING:
    from .client import Client

T = TypeVar("T")

__all__ = ["FileContent", "ThreadLock", "connect_if_blocking", "invoke_callback", "run_blocking", "sleep"]

#: What ``files.write()`` takes.
FileContent = Union[str, bytes, bytearray, memoryview, IO[bytes], Iterable[bytes], AsyncIterable[bytes]]


async def invoke_callback(callback: Callable[[Any], Any], value: Any) -> None:
    """Calls a user's callback: a plain function, or a coroutine function."""
    returned = callback(value)
    if inspect.isawaitable(returned):
        await returned


async def run_blocking(function: Callable[..., T], *arguments: Any) -> T:
    """Runs a function that blocks, in a thread of its own."""
    return await asyncio.to_thread(function, *arguments)


class ThreadLock:
    """Keeps threads of the blocking client apart. Tasks need no lock: what it guards may be done twice."""

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, *_: object) -> None:
        pass


def connect_if_blocking(client: "Client") -> None:
    """Connects where a property may block; here it may not."""
