"""sys.stdin and descriptor 0 of a code context: what a cell's request gave, else a stream that says what is missing."""
import io
import os
import sys

NO_STDIN = "input() needs stdin: give it with the request"

_stdin = None  # the one we made


class NoStdin(io.TextIOBase):
    """Reports what is missing, instead of an unexpected end."""

    encoding = "utf-8"
    errors = "surrogateescape"
    name = "<stdin>"
    mode = "r"

    @property
    def buffer(self):
        return self

    def _refuse(self, *_):
        raise EOFError(NO_STDIN)

    read = read1 = readinto = readline = readlines = __next__ = __iter__ = _refuse

    def readable(self):
        return True

    def isatty(self):
        return False

    def fileno(self):
        return 0

    def close(self):  # exit() closes it
        pass


def give(data):
    """As descriptor 0, so that programs the cell starts have it too."""
    global _stdin
    if data is None:
        return
    file = os.memfd_create("stdin")
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        os.lseek(file, 0, os.SEEK_SET)
        os.dup2(file, 0)
    finally:
        os.close(file)
    stream = io.TextIOWrapper(io.open(0, "rb", -1, closefd=False), "utf-8", "surrogateescape")
    stream.mode = "r"
    _put(stream)


def remove():
    if type(_stdin) is NoStdin:
        return
    null = os.open("/dev/null", os.O_RDONLY)
    if null != 0:
        os.dup2(null, 0)
        os.close(null)
    _put(NoStdin())


def _put(stream):
    global _stdin
    if _stdin is None or sys.stdin is _stdin:  # else the code chose another
        sys.stdin = stream
    if _stdin is None or sys.__stdin__ is _stdin:
        sys.__stdin__ = stream
    _stdin = stream
