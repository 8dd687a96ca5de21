"""Reports an exception that ended a run: on stderr as python prints it, and as a line of results."""
import linecache
import os
import sys
import traceback

from _json import encode_basestring_ascii as quoted

MOST_TEXT = 1 << 16
# `Mode` is given by runner.load(), which loads this.
OURS = __file__.rpartition("/")[0] + "/"


def report(results, error, name, source):
    """Prints and sends `error`. Returns the exit status; None means: die of SIGINT."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(OURS):
        trace = trace.tb_next
    error.__traceback__ = trace
    remember_source(name, source)
    try:
        text = _format(error, trace)
        line = _line(error, trace, name)
    except BaseException:
        # No memory, or an exception that will not be formatted. Without its frames, whose
        # variables may be what fills the memory.
        line = _line_or_none(error, trace, name)
        error.__traceback__ = None
        while trace is not None:
            try:
                trace.tb_frame.clear()
            except RuntimeError:
                pass
            trace = trace.tb_next
        text = type(error).__name__ + "\n"
    if not Mode.rich:  # else it is reported once, as an error
        _print(error, trace, text)
    results.send(_encode(error, text, line))
    return None if isinstance(error, KeyboardInterrupt) else 1


def remember_source(name, source):
    text = source.get_source() if source is not None else None
    if text is not None:
        text += "" if text.endswith("\n") else "\n"  # carets are misplaced without
        # Wins over a file of that name, which may be there and be another.
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)


def _format(error, trace):
    if trace is None:  # it did not even compile
        return "".join(traceback.format_exception_only(type(error), error))
    return "".join(traceback.format_exception(type(error), error, trace))


def _line(error, trace, name):
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == name:
            line = trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename == name:
        line = error.lineno
    return line


def _line_or_none(error, trace, name):
    try:
        return _line(error, trace, name)
    except BaseException:
        return None


def _print(error, trace, text):
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException:
        pass
    try:
        if sys.excepthook is not sys.__excepthook__:
            sys.excepthook(type(error), error, trace)
        elif sys.stderr is not None:
            sys.stderr.write(text)
        return
    except SystemExit:
        return
    except BaseException:
        pass
    try:
        os.write(2, text.encode("utf-8", "backslashreplace"))
    except OSError:
        pass


def _encode(error, text, line):
    try:
        message = str(error.msg if isinstance(error, SyntaxError) else error)
    except BaseException:
        message = "<exception str() failed>"
    lines = _shortened(text).splitlines()
    return b'{"type":"error","name":%s,"message":%s,"traceback":[%s],"line":%s}\n' % (
        quoted_text(_qualified(type(error))),
        quoted_text(_shortened(message)),
        b",".join([quoted_text(one) for one in lines]),
        b"%d" % line if isinstance(line, int) else b"null",
    )


def _qualified(kind):
    """As the last line of a traceback spells it."""
    module = kind.__module__
    return kind.__qualname__ if module in ("builtins", "__main__") else "%s.%s" % (module, kind.__qualname__)


def _shortened(text):
    if len(text) <= MOST_TEXT:
        return text
    return "%s\n[... %d characters ...]\n%s" % (text[: MOST_TEXT // 2], len(text) - MOST_TEXT, text[-MOST_TEXT // 2 :])


def quoted_text(text):
    """A JSON string. A lone surrogate is not valid text outside of Python and becomes a question mark."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return quoted(text).encode("ascii")
