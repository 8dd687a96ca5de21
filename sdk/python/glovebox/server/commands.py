"""The commands ``glovebox`` and ``sandbox-run`` of the installed package: each becomes the program of that name.

So ``pipx run glovebox run -c 'print(1)'`` and ``python -m glovebox`` are the command line itself.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from ..errors import ServerStartError
from .programs import PROGRAM, find_program

__all__ = ["glovebox", "sandbox_run"]

# As a shell says of a program that is not there.
_NOT_FOUND = 127


def glovebox() -> NoReturn:
    _become(PROGRAM)


def sandbox_run() -> NoReturn:
    _become("sandbox-run")


def _become(name: str) -> NoReturn:
    try:
        path = find_program(name)
        if path is None:
            raise ServerStartError(
                f"this installation of the Python package has no program `{name}`, and there is none in PATH: install "
                "the wheel with the programs (`make wheel` makes it), or set GLOVEBOX_BIN to their directory"
            )
        os.execv(path, [path, *sys.argv[1:]])
    except (ServerStartError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(_NOT_FOUND)
