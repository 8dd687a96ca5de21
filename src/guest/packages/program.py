"""Runs an installer: a clean environment, its output live on ours, its last words kept for an error.

What it prints may be a package's own doing: lines are bounded, control characters and the index's
users and passwords do not get through, and a process that is left behind with our pipe holds nothing up.
"""
import collections
import os
import re
import selectors
import signal
import subprocess
import sys

MAX_LINE = 2000
MAX_SHOWN = 4 << 20
MAX_KEPT = 64 << 10
CONTROLS = re.compile(r"\x1b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\x07\x1b]{0,500}(?:\x07|\x1b\\)?|[ -/]*[0-~])"
                      r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

# Who asks, in an address: pip hides the password there, and shows the name.
WHO_ASKS = re.compile(r"(?<=://)[^/\s]*@")


class Ended:
    """How a program ended, and what it said last."""

    def __init__(self, status, lines):
        self.status = status
        self.lines = lines

    @property
    def ok(self):
        return self.status == 0

    def error_text(self, begin, noise=None, last=False):
        """From the first (or last) line that `begin` matches, or all that was kept, without `noise`. That
        line stays whatever is cut: it says what went wrong, what follows says why."""
        lines = [line for line in without_tracebacks(self.lines) if not (noise and noise.search(line))]
        places = [at for at, line in enumerate(lines) if begin.search(line)]
        first = places[-1 if last else 0] if places else None
        lines = lines if first is None else lines[first:]
        if not lines:
            return "it was killed by signal %d without output" % -self.status if self.status < 0 \
                else "it exited with status %d without output" % self.status
        ended = " (killed by signal %d)" % -self.status if self.status < 0 else ""
        text = "\n".join(lines)
        if first is not None and len(text.encode()) > 7000:
            tail = "\n".join(lines[1:]).encode()[-6000:].decode("utf-8", "ignore")
            text = lines[0][:900] + "\n...\n" + tail.partition("\n")[2]
        return text + ended


def without_tracebacks(lines):
    """What was raised, not where in the installer itself."""
    inside = False
    for line in lines:
        if line.startswith("Traceback (most recent call last)"):
            inside = True
        elif not (inside and line.startswith("  ")):
            inside = False
            yield line


def clean_environment(build, **more):
    """Nothing is inherited from our own environment."""
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": build.scratch, "TMPDIR": build.scratch, "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "315532800", **more}


def run(command, build, environment, secrets=(), cwd=None):
    """Runs a program to its end."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=environment, cwd=cwd or build.scratch, start_new_session=True)
    lines = Lines(secrets)
    try:
        read_until_end(process, lines)
    finally:
        # What it left behind goes with it, as far as it let itself be found.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            pass
        process.stdout.close()
    lines.end()
    return Ended(process.wait(), list(lines.kept))


def read_until_end(process, lines):
    """Until the program has ended, not until its output has: a child of its may keep that open."""
    descriptor = process.stdout.fileno()
    os.set_blocking(descriptor, False)
    ended = os.pidfd_open(process.pid)
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        selector.register(ended, selectors.EVENT_READ)
        at_work = True
        while at_work:
            ready = {key.fd for key, _ in selector.select()}
            at_work = ended not in ready
            # At its end all that is in the pipe, and no more than a pipe holds.
            for _ in range(1 if at_work else 64):
                try:
                    data = os.read(descriptor, 1 << 16)
                except BlockingIOError:
                    break
                if not data:
                    if at_work:
                        selector.unregister(descriptor)
                    break
                lines.take(data)
    os.close(ended)


class Lines:
    """Output as it comes, to lines that can be shown."""

    def __init__(self, secrets):
        self.secrets = sorted((one for one in secrets if one), key=len, reverse=True)
        self.rest = b""
        self.shown = 0
        self.kept = collections.deque()
        self.kept_size = 0

    def take(self, data):
        *whole, self.rest = re.split(rb"[\r\n]+", self.rest + data)
        for line in whole:
            self.line(line)
        if len(self.rest) > 1 << 16:
            self.end()

    def end(self):
        self.line(self.rest)
        self.rest = b""

    def line(self, data):
        text = plain(data.decode("utf-8", "replace"))
        for secret in self.secrets:
            text = text.replace(secret, "****")
        text = WHO_ASKS.sub("", text)
        text = text.rstrip()
        if len(text) > MAX_LINE:
            text = text[:MAX_LINE] + "..."
        if not text:
            return
        self.kept.append(text)
        self.kept_size += len(text)
        while self.kept_size > MAX_KEPT:
            self.kept_size -= len(self.kept.popleft())
        if self.shown < MAX_SHOWN:
            self.shown += len(text) + 1
            print(text if self.shown < MAX_SHOWN else "... (more is not shown)")


def plain(text):
    """Without what a terminal would obey."""
    return CONTROLS.sub("", text)


def say(text):
    """A line of our own among the installer's."""
    print(plain(text))


def python_command():
    """How this interpreter is run again, isolated."""
    return [sys.executable or "/usr/bin/python3", "-I", "-B"]
