# The attack table inside sessions, as `user` and as root inside.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
from session_attacks import SessionBombs


class InsideSessions(SessionBombs, server.Served):
    """On a server of root."""


if __name__ == "__main__":
    sealed.main()
