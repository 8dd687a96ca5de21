"""Which servers have been asked to build the packages of a function, for ``on_build``."""

from __future__ import annotations

import threading
from typing import Any, Set

from .options import Options

__all__ = ["BuildNotifier"]


class BuildNotifier:
    """The first call on each server builds the packages ahead, and reports the steps."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._urls: Set[str] = set()

    def begin(self, url: str) -> bool:
        """Whether this call is the first one on the server."""
        with self._lock:
            is_first = url not in self._urls
            self._urls.add(url)
        return is_first

    def forget(self, url: str) -> None:
        """After a build that failed: the next call tries again."""
        self._urls.discard(url)

    def dependencies(self) -> Any:
        return self._options.profile()["dependencies"]
