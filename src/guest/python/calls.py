"""Serves calls that share one interpreter (`reuse: "interpreter"`), one after the other.

Records as in src/wire/guest/job.h. What the code leaves in its modules and files is there for the next call, as on AWS Lambda. A call's own
are its arguments and its input, which are not those of the process: the descriptors 0 to 2 are the same
for all. Used by runner.py; in a zygote it is loaded already.
"""
import io
import os
import sys
import _signal

# `load` is given by runner.load(), which loads this.
runner = sys.modules["_glovebox_runner"]

CALLS_FD = 101  # beside runner.HIDDEN_FD: out of the way of what the code opens itself
MOST_RECORD = 1 << 30

_owner = 0
_calls = -1


def serve(job, results):
    """Never returns."""
    global _owner, _calls
    _owner = os.getpid()
    _calls = _hide_stdin()
    os.register_at_fork(after_in_child=_leave_pipes)
    try:
        runner._enter(job)
        is_function = job.name == runner.SHARED_FUNCTION
        program = (load("lambda_handler").Shared if is_function else Program)(job, results)
    except SystemExit as error:
        runner._finish(runner._exit_status(error), None)
    except BaseException as error:
        runner._finish(runner._report(error, job.name, None), None)
    while (record := _read_record()) is not None:
        arguments, data = _parts(record)
        status = program.call(arguments, data)
        record = data = None
        _disarm_timers()
        if os.getpid() != _owner:  # a fork of the code's that came all the way here
            _flush()
            os._exit(status)
        _flush()
        results.send(b'{"type":"exit","code":%d}\n' % status)
    os._exit(0)


class Program:
    """Code that is compiled once, and runs once for each call, each time with the names that the last one left."""

    NAME = "main.py"

    def __init__(self, job, results):
        self._results = results
        job.name = self.NAME
        self._source = runner.Source(job)
        self._main = runner._new_main(self.NAME, self._source)
        self._parts = None

    def call(self, arguments, data):
        sys.argv = [self.NAME, *map(os.fsdecode, arguments)]
        if hasattr(sys, "orig_argv"):
            sys.orig_argv = [sys.executable, *sys.argv]
        sys.stdin = io.TextIOWrapper(io.BytesIO(data), "utf-8", "surrogateescape")
        names = self._main.__dict__
        status = 0
        try:
            if self._parts is None:
                self._parts = runner.compile_job(self._source.text(), self.NAME)
            head, tail = self._parts
            if head is not None:
                exec(head, names)
            if tail is not None:
                value = eval(tail, names)
                if value is not None:
                    runner.load("display").send_value(self._results, value)
                value = None
        except SystemExit as error:
            status = runner._exit_status(error)
        except BaseException as error:
            status = runner._report(error, self.NAME, self._source)
        if "matplotlib.pyplot" in sys.modules:
            runner._quietly(_show_figures)
        return 130 if status is None else status


def _show_figures():
    runner._send_open_figures()
    sys.modules["matplotlib.pyplot"].close("all")
    del runner.load("display")._sent[:]


def _hide_stdin():
    """Records come where the standard input was; a program that reads that finds its end."""
    hidden = CALLS_FD
    try:
        os.dup2(0, hidden, False)
    except OSError:  # few descriptors are allowed
        hidden = os.dup(0)
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return hidden


def _leave_pipes():
    """In a process that the code forked: neither its calls nor its results."""
    global _calls
    if _calls >= 0:
        runner._quietly(os.close, _calls)
        _calls = -1
    runner._results.close()


def _read_record():
    """The next record's bytes; None at the end."""
    size = _read_exactly(4)
    if size is None:
        return None
    size = int.from_bytes(size, "little")
    return _read_exactly(size) if size <= MOST_RECORD else None


def _read_exactly(size):
    parts = []
    while size > 0:
        try:
            part = os.read(_calls, min(size, 1 << 20))
        except BlockingIOError:
            os.set_blocking(_calls, True)
            continue
        except OSError:
            return None
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _parts(record):
    """The arguments and the input."""
    number = int.from_bytes
    at = 4
    arguments = []
    for _ in range(number(record[:4], "little")):
        end = at + 4 + number(record[at : at + 4], "little")
        arguments.append(record[at + 4 : end])
        at = end
    return arguments, record[at + 4 : at + 4 + number(record[at : at + 4], "little")]


def _disarm_timers():
    """A timer is its call's: the next one must not be interrupted by it."""
    for which in (0, 1, 2):  # real, virtual, profiling
        runner._quietly(_signal.setitimer, which, 0)


def _flush():
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            runner._quietly(stream.flush)
    if sys.stdout is not sys.__stdout__ or sys.stderr is not sys.__stderr__:
        for stream in (sys.__stdout__, sys.__stderr__):
            if stream is not None:
                runner._quietly(stream.flush)
