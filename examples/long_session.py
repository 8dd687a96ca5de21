"""A sandbox that lives long: files, a program of its own, pause, resume, a snapshot, a second sandbox.

    PYTHONPATH=sdk/python python3 examples/long_session.py    # from the repository
    python3 long_session.py                                   # with the package `glovebox` installed

With a `glovebox serve` a session outlives this program, and the server's own restarts. Here, with no
server configured, it lives on a private one, which ends with this program and takes it along. Pausing
needs a cgroup: run it as root, or with a server that does.
"""
from glovebox import Sandbox, default_client

COUNT = """#!/bin/sh
exec wc -l < notes/log.txt
"""


def write_and_install(sandbox):
    """What a user does in the first hour: files, directories, a tool."""
    sandbox.files.write("notes/log.txt", "monday\ntuesday\n")
    sandbox.shell("echo wednesday >> notes/log.txt").raise_for_error()
    sandbox.files.write("bin/count", COUNT, mode="755")
    print("files:", ", ".join(file.path for file in sandbox.files.list("notes")))
    print("lines:", sandbox.exec(["./bin/count"]).stdout.strip())


def keep_state(sandbox):
    """Variables of a context, and programs in the background, stay from call to call."""
    sandbox.code("days = open('notes/log.txt').read().split()").raise_for_error()
    sandbox.background("while :; do date >> ticks.txt; sleep 1; done")
    print("variables:", sandbox.code("len(days)").value, "days")


def pause_and_resume(sandbox):
    """Paused, it uses no CPU, and everything in it stays as it is."""
    sandbox.pause()
    print("state:", sandbox.info().state)
    sandbox.resume()
    # Two: the interpreter that has the variables, and what was started above.
    alive = [process.state for process in sandbox.processes()].count("running")
    print("state:", sandbox.info().state, "with", alive, "programs, and", sandbox.code("days[-1]").value, "remembered")


def main():
    client = default_client()
    # Ten minutes from now, or from the last keepalive(), it is paused, and not killed.
    with Sandbox.create(template="python", ttl=600, on_timeout="pause", metadata={"who": "ada"}) as sandbox:
        write_and_install(sandbox)
        keep_state(sandbox)
        pause_and_resume(sandbox)

        # Another program finds it by what it was labelled with, or by its id, and goes on.
        found = next(Sandbox.list(state="running", metadata={"who": "ada"}))
        again = Sandbox.connect(found.id)
        again.keepalive()
        again.files.write("notes/log.txt", again.files.read_text("notes/log.txt") + "thursday\n")

        snapshot = sandbox.snapshot("four days")
    print("snapshot:", snapshot.name, f"({snapshot.files} files, {snapshot.bytes:,} bytes); its sandbox has ended")

    try:
        # Its files and what was installed, not its memory: a snapshot is of the disk.
        with Sandbox.create(snapshot=snapshot, ttl=600) as second:
            print("restored:", second.exec(["./bin/count"]).stdout.strip(), "lines;",
                  "days" if second.code("days").ok else "no variables")
            print("listed:", [one.state for one in Sandbox.list(limit=2)])
    finally:
        client.snapshots.remove(snapshot)
    print("left:", len(list(Sandbox.list(state=["running", "paused"], metadata={"who": "ada"}))), "sandboxes,",
          [one.id for one in client.snapshots.list()].count(snapshot.id), "snapshots")


if __name__ == "__main__":
    main()
