"""Finds the programs of Glovebox: in GLOVEBOX_BIN, in this package, or in PATH.

A wheel with the programs has them in ``_bin``, of the same version. In PATH there may also be the commands of this
package (commands.py), which would only start themselves; they are passed over.
"""

from __future__ import annotations

import os
from typing import Mapping, Optional

from ..errors import ServerStartError

__all__ = ["find_glovebox", "find_program"]

PROGRAM = "glovebox"
_OWN_COMMAND = b"glovebox.server.commands"


def find_glovebox(environment: Optional[Mapping[str, str]] = None) -> str:
    """The path of the ``glovebox`` program. GLOVEBOX_BIN is this path, or its directory."""
    found = find_program(PROGRAM, environment)
    if found is None:
        raise ServerStartError(
            "no Glovebox server is configured, and the program `glovebox` was not found to start one: "
            "set GLOVEBOX_URL and GLOVEBOX_API_KEY, set GLOVEBOX_BIN, or add `glovebox` to PATH"
        )
    return found


def find_program(name: str, environment: Optional[Mapping[str, str]] = None) -> Optional[str]:
    """The path of a program, or None."""
    environment = os.environ if environment is None else environment
    configured = environment.get("GLOVEBOX_BIN", "")
    if configured:
        folder = configured if os.path.isdir(configured) else os.path.dirname(configured)
        path = configured if name == PROGRAM and not os.path.isdir(configured) else os.path.join(folder, name)
        if not _is_program(path):
            raise ServerStartError(f"GLOVEBOX_BIN is {configured!r}, but {path!r} is not an executable file")
        return os.path.abspath(path)
    carried = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_bin", name)
    if os.path.isfile(carried):
        _make_executable(os.path.dirname(carried))
        return carried
    for folder in (environment.get("PATH") or os.defpath).split(os.pathsep):
        path = os.path.abspath(os.path.join(folder or os.curdir, name))
        if _is_program(path) and not _is_own_command(path):
            return path
    return None


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _is_own_command(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            start = file.read(2048)
    except OSError:
        return False  # it may be executed without being read
    return start.startswith(b"#!") and _OWN_COMMAND in start


def _make_executable(folder: str) -> None:
    """Some installers drop the executable bit."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if not os.access(path, os.X_OK):
            try:
                os.chmod(path, 0o755)
            except OSError:
                pass  # not the owner: starting the program reports what is wrong
