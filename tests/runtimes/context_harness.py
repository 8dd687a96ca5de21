"""Drives a code context as the agent does: streams on 0, 1, 2, results on 3, cells on a pipe at 4."""
import json
import os
import selectors
import signal
import struct
import time

import harness
from harness import DEADLINE, ROOT, text

JAVA_OPTIONS = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Dfile.encoding=UTF-8",
                "--add-opens=java.base/java.io=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED",
                "--add-opens=java.base/java.util=ALL-UNNAMED"]
COMMANDS = {
    "python": ["/usr/bin/python3", "-I", str(ROOT / "src/guest/python/context.py")],
    "bash": ["/bin/bash", str(ROOT / "src/guest/bash/context.sh")],
    "node": ["/usr/bin/node", str(ROOT / "src/guest/node/context.js")],
    "typescript": ["/usr/bin/node", str(ROOT / "src/guest/node/context.js"), "typescript"],
    "r": ["/usr/bin/Rscript", "--vanilla", str(ROOT / "src/guest/r/context.R")],
    "java": ["/usr/bin/java", *JAVA_OPTIONS, str(ROOT / "src/guest/java/Context.java")],
}


def encode_cell(number, code, stdin=None, name="", env=(), rich=False):
    flags = (1 if stdin is not None else 0) | (2 if env else 0) | (4 if rich else 0)
    body = struct.pack("<QB", number, flags) + text(name) + text(stdin or b"") + text(code)
    if env:
        body += struct.pack("<I", len(env)) + b"".join(text(entry) for entry in env)
    return struct.pack("<I", len(body)) + body


def encode_first(**job):
    data = harness.encode_job("", **job)
    return struct.pack("<I", len(data)) + data


class Outcome:
    """What came of one cell."""

    def __init__(self, out, err, lines):
        self.out_bytes = out
        self.out = out.decode("utf-8", "surrogateescape")
        self.err = err.decode("utf-8", "surrogateescape")
        self.raw_lines = lines
        self.lines = [json.loads(line) for line in lines]
        self.end = next((line for line in self.lines if line["type"] == "end"), None)
        self.status = self.end["exit_code"] if self.end else None
        self.results = [line for line in self.lines if line["type"] == "result"]
        main = [line["mime"] for line in self.results if line["main"]]
        self.result = main[0] if main else None
        errors = [line for line in self.lines if line["type"] == "error"]
        assert len(errors) <= 1, errors
        self.error = errors[0] if errors else None


class Context:
    def __init__(self, language, start=None, ready=True, env=("PATH=/usr/bin:/bin",), **job):
        self.pipes = {1: os.pipe(), 2: os.pipe(), 3: os.pipe(), 4: os.pipe()}
        self.number = 0
        self.got = {1: b"", 2: b"", 3: b""}
        null = os.open("/dev/null", os.O_RDONLY)
        given = {0: null, 1: self.pipes[1][1], 2: self.pipes[2][1], 3: self.pipes[3][1], 4: self.pipes[4][0]}
        self.process, self.pid = (start or self.spawn)(COMMANDS.get(language), given)
        for number, fd in given.items():
            os.close(fd)
        self.selector = selectors.DefaultSelector()
        for number in (1, 2, 3):
            self.selector.register(self.pipes[number][0], selectors.EVENT_READ, number)
        self.write(encode_first(env=env, **job))
        if ready:
            self.wait_for(b'{"type":"ready"}\n')

    @staticmethod
    def spawn(command, given):
        process = harness.spawn(["/usr/bin/setsid", *command], given)  # a group of its own
        return process, process.pid

    def write(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self.pipes[4][1], view[: 1 << 16]) :]

    def read_some(self, seconds=DEADLINE):
        """Whether anything came; a stream that ended is looked at no more."""
        ready = self.selector.select(seconds)
        for key, _ in ready:
            data = os.read(key.fd, 1 << 20)
            self.got[key.data] += data
            if not data:
                self.selector.unregister(key.fd)
        return bool(ready)

    def wait_for(self, line):
        end = time.monotonic() + DEADLINE
        while line not in self.got[3]:
            assert time.monotonic() < end and self.selector.get_map() and self.read_some(), self.got
        assert self.got[3].startswith(line), self.got
        self.got[3] = self.got[3][len(line) :]

    def send(self, code, stdin=None, name="", **more):
        self.number += 1
        self.write(encode_cell(self.number, code, stdin, name, **more))

    def finish(self):
        """Waits for the end of the cell that was sent, or of the process."""
        ending = b'{"type":"end","cell":%d,' % self.number
        end = time.monotonic() + DEADLINE
        while not (ending in self.got[3] and self.got[3].endswith(b"\n")) and self.selector.get_map():
            assert time.monotonic() < end and self.read_some(), self.got
        while self.selector.get_map() and self.read_some(0):  # what was printed before the end
            pass
        lines = self.got[3].split(b"\n")
        assert lines.pop() == b"", self.got
        outcome = Outcome(self.got[1], self.got[2], lines)
        self.got = {1: b"", 2: b"", 3: b""}
        return outcome

    def run(self, code, stdin=None, name="", **more):
        self.send(code, stdin, name, **more)
        return self.finish()

    def wait_for_output(self, data):
        end = time.monotonic() + DEADLINE
        while data not in self.got[1]:
            assert time.monotonic() < end and self.read_some(), self.got

    def interrupt(self, group=False):
        (os.killpg if group else os.kill)(self.pid, signal.SIGINT)

    def interrupted(self, code, group=False):
        """A cell that prints `go` and is then interrupted; again if need be, as a person would and
        as the server does to a shell: what starts in that very moment has missed the first."""
        self.send(code)
        self.wait_for_output(b"go\n")
        ending = b'{"type":"end","cell":%d,' % self.number
        end = time.monotonic() + DEADLINE
        while ending not in self.got[3] and self.selector.get_map():
            assert time.monotonic() < end, self.got
            self.interrupt(group)
            again = time.monotonic() + 2
            while ending not in self.got[3] and time.monotonic() < again and self.selector.get_map():
                self.read_some(0.1)
        return self.finish()

    def close(self):
        try:
            os.close(self.pipes[4][1])
        except OSError:
            pass
        if self.process is not None:
            try:
                self.process.wait(timeout=5)
            except Exception:
                self.process.kill()
                self.process.wait()
        for number in (1, 2, 3):
            os.close(self.pipes[number][0])
        self.selector.close()
