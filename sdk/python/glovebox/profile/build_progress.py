"""Shows how packages are being installed: by default on a terminal, where a program would otherwise seem to hang."""

from __future__ import annotations

import sys
from typing import Any, Callable, Optional

from .dependencies import BuildProgress

__all__ = ["build_callback"]

# Steps of every use of packages, also if they are installed already.
_QUIET = ("queued", "ready")


def build_callback(on_build: Optional[Callable[[BuildProgress], Any]], dependencies: Any) -> Any:
    """``on_build``, or what shows the steps on standard error if that is a terminal; None without packages."""
    if on_build is not None or not dependencies:
        return on_build
    stream = sys.stderr
    return show_on_stderr if stream is not None and stream.isatty() else None


def show_on_stderr(progress: BuildProgress) -> None:
    if progress.phase not in _QUIET or progress.text:
        print(f"glovebox: {progress}", file=sys.stderr, flush=True)
