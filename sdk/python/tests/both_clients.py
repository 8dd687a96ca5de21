"""A test that is about both clients is written once: ``call(lambda client: client.run(…))``."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, Callable, List, Optional

import glovebox
from glovebox import aio

KINDS = ("sync", "async")


class Caller:
    """Plays calls with the sync or the async client, one after the other, in one event loop."""

    def __init__(
        self, kind: str, url: str, key: Optional[str] = "gbx_test", timeout: float = 20, retries: int = 2
    ) -> None:
        self._kind = kind
        self._loop = asyncio.new_event_loop() if kind == "async" else None
        self.client: Any = (
            glovebox.Client(url, key, timeout=timeout, max_retries=retries)
            if kind == "sync"
            else aio.Client(url, key, timeout=timeout, max_retries=retries)
        )

    def __call__(self, what: Callable[[Any], Any]) -> Any:
        return self.wait(what(self.client))

    def wait(self, value: Any) -> Any:
        """What an awaitable comes to; an async iterator becomes a list."""
        if self._loop is None:
            return list(value) if inspect.isgenerator(value) else value
        if inspect.isasyncgen(value):
            return self._loop.run_until_complete(_collect(value))
        if inspect.isawaitable(value):
            return self._loop.run_until_complete(_await(value))
        return value

    @property
    def Sandbox(self) -> Any:
        return glovebox.Sandbox if self._kind == "sync" else aio.Sandbox

    def __enter__(self) -> "Caller":
        return self

    def __exit__(self, *_: object) -> None:
        self.wait(self.client.close())
        if self._loop is not None:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()


async def _await(value: Any) -> Any:
    return await value


async def _collect(values: Any) -> List[Any]:
    return [value async for value in values]
