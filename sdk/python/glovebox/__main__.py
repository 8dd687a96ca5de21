"""``python -m glovebox run -c 'print(1)'``: the command line."""

from __future__ import annotations

from .server.commands import glovebox

if __name__ == "__main__":
    glovebox()
