"""Runs into a limit on purpose; the first argument says which: memory, time, disk or processes."""
import os
import signal
import sys

which = sys.argv[1] if len(sys.argv) > 1 else "memory"
if which == "memory":
    blocks = []
    while True:
        blocks.append(b"x" * (16 << 20))
elif which == "time":
    while True:
        pass
elif which == "disk":
    with open("big", "wb") as file:
        while True:
            file.write(b"x" * (1 << 20))
elif which == "processes":
    while True:
        if os.fork() == 0:
            signal.pause()
else:
    sys.exit(f"no such limit: {which}")
