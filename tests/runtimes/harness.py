"""Drives a runtime as the agent does: streams on 0, 1, 2, results on 3, the job in a memory file on 4.

Nothing else of Glovebox is needed, so a failure here is the runtime's own.
"""
import json
import os
import pathlib
import selectors
import socket
import struct
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Another interpreter can be tried by hand: GBX_TRY_PYTHON=/opt/python3.13/bin/python3
PYTHON = [os.environ.get("GBX_TRY_PYTHON", "/usr/bin/python3"), "-I", str(ROOT / "src/guest/python/run.py")]
NODE = ["/usr/bin/node", str(ROOT / "src/guest/node/run.js")]
DEADLINE = 60


def text(value):
    data = value if isinstance(value, bytes) else os.fsencode(value)
    return struct.pack("<I", len(data)) + data


def texts(values):
    return struct.pack("<I", len(values)) + b"".join(text(value) for value in values)


def encode_job(code, env=(), args=(), workdir="/tmp", name="main.py"):
    return b"GBXJOB1\n" + texts(env) + texts(args) + text(workdir) + text(name) + text(code)


class Answer:
    def __init__(self, status, out, err, lines):
        self.status = status
        self.out_bytes = out
        self.out = out.decode("utf-8", "surrogateescape")
        self.err = err.decode("utf-8", "surrogateescape")
        self.raw_lines = lines
        self.lines = [json.loads(line) for line in lines]

    @property
    def results(self):
        return [line for line in self.lines if line["type"] == "result"]

    @property
    def result(self):
        """MIME forms of the last expression, or None."""
        found = [line["mime"] for line in self.results if line["main"]]
        assert len(found) <= 1, found
        return found[0] if found else None

    @property
    def error(self):
        found = [line for line in self.lines if line["type"] == "error"]
        assert len(found) <= 1, found
        return found[0] if found else None


def run(command, job, stdin=b"", prestarted=False, close_out=False):
    """Runs `command` on an encoded job. `prestarted` does the dance on descriptor 5."""
    pipes = {0: os.pipe(), 1: os.pipe(), 2: os.pipe(), 3: os.pipe()}
    memory = os.memfd_create("job")
    ours, theirs = socket.socketpair()
    if not prestarted:
        _write_all(memory, job)
    given = {0: pipes[0][0], 1: pipes[1][1], 2: pipes[2][1], 3: pipes[3][1], 4: memory}
    if prestarted:
        given[5] = theirs.fileno()
    process = spawn(command, given)
    for fd in (pipes[0][0], pipes[1][1], pipes[2][1], pipes[3][1]):
        os.close(fd)
    theirs.close()
    try:
        if prestarted:
            ours.settimeout(DEADLINE)
            assert len(ours.recv(1)) == 1
            _write_all(memory, job)
            ours.send(b"g")
        if close_out:
            os.close(pipes[1][0])
        return _collect(process, pipes, stdin, close_out)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        ours.close()
        os.close(memory)


def spawn(command, given):
    """Starts a program with exactly these descriptors."""
    high = {number: os.dup(fd) for number, fd in given.items()}
    high = {number: _above(fd) for number, fd in high.items()}

    def arrange():
        for number, fd in high.items():
            os.dup2(fd, number)
        os.closerange(max(high) + 1, 256)

    process = subprocess.Popen(command, preexec_fn=arrange, close_fds=False, env={"PATH": "/usr/bin:/bin"})
    for fd in high.values():
        os.close(fd)
    return process


def _above(fd, floor=20):
    import fcntl

    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, floor)
    os.close(fd)
    return moved


def _write_all(fd, data):
    view = memoryview(data)
    at = 0
    while at < len(view):
        at += os.pwrite(fd, view[at:], at)


def _collect(process, pipes, stdin, close_out):
    got = {1: bytearray(), 2: bytearray(), 3: bytearray()}
    selector = selectors.DefaultSelector()
    for number in (2, 3) if close_out else (1, 2, 3):
        selector.register(pipes[number][0], selectors.EVENT_READ, number)
    if stdin:
        os.set_blocking(pipes[0][1], False)
        selector.register(pipes[0][1], selectors.EVENT_WRITE, 0)
    else:
        os.close(pipes[0][1])
    left = memoryview(stdin)
    end = time.monotonic() + DEADLINE
    while selector.get_map():
        ready = selector.select(max(0, end - time.monotonic()))
        assert ready, "the runtime does not end"
        for key, _ in ready:
            if key.data == 0:
                try:
                    left = left[os.write(key.fd, left) :]
                except BrokenPipeError:
                    left = left[:0]
                if not left:
                    selector.unregister(key.fd)
                    os.close(key.fd)
                continue
            data = os.read(key.fd, 1 << 16)
            got[key.data] += data
            if not data:
                selector.unregister(key.fd)
                os.close(key.fd)
    status = process.wait(timeout=DEADLINE)
    lines = bytes(got[3]).split(b"\n")
    assert lines.pop() == b"", "the last line of results is not complete"
    return Answer(status, bytes(got[1]), bytes(got[2]), lines)


def python(code, stdin=b"", close_out=False, **job):
    job.setdefault("env", ["PATH=/usr/bin:/bin", "MPLCONFIGDIR=" + mpl_directory()])
    return run(PYTHON, encode_job(code, **job), stdin=stdin, close_out=close_out)


def node(code, stdin=b"", prestarted=False, close_out=False, **job):
    job.setdefault("name", "main.js")
    job.setdefault("env", ["PATH=/usr/bin:/bin"])
    command = NODE + (["wait"] if prestarted else [])
    return run(command, encode_job(code, **job), stdin=stdin, prestarted=prestarted, close_out=close_out)


_mpl = None


def mpl_directory():
    """One font cache for all tests of a file."""
    global _mpl
    if _mpl is None:
        _mpl = tempfile.TemporaryDirectory(prefix="gbx-mpl-")
    return _mpl.name
