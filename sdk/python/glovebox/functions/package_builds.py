"""The packages of a function that somebody wants to hear being installed: ``on_build``."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Set

from .options import Options

if TYPE_CHECKING:
    from ..aio import Client as AsyncClient
    from ..sync.client import Client

__all__ = ["BuildNotifier"]


class BuildNotifier:
    """The first call on each server has them made ahead and listens.

    Calls that come meanwhile do not wait here: the server makes them wait for the same build.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._begun: Set[str] = set()  # addresses of servers

    def build(self, client: "Client") -> None:
        if self._options.on_build is None or not self._is_first(client.url):
            return
        try:
            client.layers.build(self._dependencies(), template=self._options.base, on_build=self._options.on_build)
        except BaseException:
            self._begun.discard(client.url)
            raise

    async def build_async(self, client: "AsyncClient") -> None:
        if self._options.on_build is None:
            return
        await client.connect()  # which finds the server, if that was not done yet
        if not self._is_first(client.url):
            return
        try:
            await client.layers.build(
                self._dependencies(), template=self._options.base, on_build=self._options.on_build
            )
        except BaseException:
            self._begun.discard(client.url)
            raise

    def _is_first(self, where: str) -> bool:
        with self._lock:
            is_first = where not in self._begun
            self._begun.add(where)
        return is_first

    def _dependencies(self) -> Any:
        return self._options.profile()["dependencies"]
