"""Finds the programs of Glovebox: in GLOVEBOX_BIN, in PATH, or in this package."""

from __future__ import annotations

import os
import shutil
from typing import Mapping, Optional

from ..errors import ServerStartError

__all__ = ["find_glovebox"]

PROGRAM = "glovebox"


def find_glovebox(environment: Optional[Mapping[str, str]] = None) -> str:
    """The path of the ``glovebox`` program. GLOVEBOX_BIN is this path, or its directory."""
    environment = os.environ if environment is None else environment
    told = environment.get("GLOVEBOX_BIN", "")
    if told:
        path = os.path.join(told, PROGRAM) if os.path.isdir(told) else told
        if not _is_program(path):
            raise ServerStartError(f"GLOVEBOX_BIN is {told!r}, but {path!r} is not an executable file")
        return os.path.abspath(path)
    found = shutil.which(PROGRAM, path=environment.get("PATH"))
    if found is not None:
        return os.path.abspath(found)
    carried = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_bin", PROGRAM)
    if os.path.isfile(carried):
        _make_executable(os.path.dirname(carried))
        return carried
    raise ServerStartError(
        "no Glovebox server is configured, and the program `glovebox` was not found to start one: "
        "set GLOVEBOX_URL and GLOVEBOX_API_KEY, set GLOVEBOX_BIN, or add `glovebox` to PATH"
    )


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _make_executable(folder: str) -> None:
    """Some installers drop the executable bit."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if not os.access(path, os.X_OK):
            try:
                os.chmod(path, 0o755)
            except OSError:
                pass  # not the owner: starting the program reports what is wrong
