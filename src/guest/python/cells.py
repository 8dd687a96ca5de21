"""Serves a code context: cells come on a pipe, one after the other, and share one __main__.

Cells and answers as in src/wire/guest/cell.h. Used by context.py in a fresh interpreter and by runner.py
in a zygote's child, where everything imported here is loaded already.
"""
import builtins
import gc
import os
import sys
import _signal

runner = sys.modules["_glovebox_runner"]
installed = runner.load("installed")
history = runner.load("cell_history")
last_expression = runner.load("last_expression")
stdin = runner.load("cell_stdin")

CELLS_FD = 101  # beside runner.HIDDEN_FD: out of the way of what the code opens itself
TOP_LEVEL_AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
IS_COROUTINE = 0x80  # inspect.CO_COROUTINE
MOST_RECORD = 17 << 20
MOST_RICH = 36_000

_owner = 0
_cells = -1
_running = False  # a cell's code is: SIGINT is for it
_futures = 0  # `from __future__ import` holds for the cells that follow
_loop = None
_task = None  # of the cell, while it awaits
_cancelled = False
_missed = False  # an interrupt, while none was wanted


def serve(results_fd=runner.RESULTS_FD):
    """Never returns."""
    global _owner, _cells
    _owner = os.getpid()
    _cells = _hide(runner.JOB_FD, CELLS_FD)
    results = runner._results = runner.Results(results_fd)
    os.register_at_fork(after_in_child=_leave_pipes)
    _signal.signal(_signal.SIGINT, _on_interrupt)
    try:
        first = _read_record()
        if first is None:
            os._exit(0)
        main = _enter(runner.parse_job(first))
    except BaseException as error:
        _refuse(results, error)
    results.send(b'{"type":"ready"}\n')
    while (record := _read_record()) is not None:
        _serve_cell(results, main.__dict__, record)
    _end()


def _hide(fd, place):
    try:
        os.dup2(fd, place, False)
        os.close(fd)
        return place
    except OSError:  # few descriptors are allowed
        os.set_inheritable(fd, False)
        return fd


def _leave_pipes():
    """In a process that the code forked: neither its cells nor its results."""
    global _cells
    if _cells >= 0:
        runner._quietly(os.close, _cells)
        _cells = -1
    runner._results.close()


def _enter(job):
    runner._enter(job)
    sys.path[0] = ""  # as a console: wherever the code goes
    sys.argv = ["", *job.args]
    main = type(sys)("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    stdin.remove()
    return main


def _refuse(results, error):
    text = str(error.code if isinstance(error, SystemExit) else error)
    failure = runner.load("failure")
    results.send(failure._encode(OSError(text), text, None))
    runner._quietly(os.write, 2, text.encode("utf-8", "replace") + b"\n")
    results.send(b'{"type":"exit","code":1}\n')
    os._exit(1)


def _read_record():
    """The next record's bytes; None at the end."""
    size = _read_exactly(4)
    if size is None:
        return None
    size = int.from_bytes(size, "little")
    if size > MOST_RECORD:
        return None
    return _read_exactly(size)


def _read_exactly(size):
    parts = []
    while size > 0:
        try:
            part = os.read(_cells, min(size, 1 << 20))
        except BlockingIOError:
            # Another process that shares the file description made it so.
            os.set_blocking(_cells, True)
            continue
        except OSError:
            return None
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class Cell:
    """Also what runner.Source takes."""

    __slots__ = ("number", "name", "stdin", "code", "env", "rich")

    def __init__(self, record):
        at = 9

        def text():
            nonlocal at
            start = at + 4
            at = start + int.from_bytes(record[start - 4 : start], "little")
            if at > len(record):
                raise ValueError("the cell ends too early")
            return record[start:at]

        self.number = int.from_bytes(record[:8], "little")
        given = record[8]
        self.name = os.fsdecode(text()) or "<cell %d>" % self.number
        stdin = text()
        self.stdin = stdin if given & 1 else None
        self.code = text()
        self.rich = bool(given & 4)
        self.env = []
        if given & 2:
            count = int.from_bytes(record[at : at + 4], "little")
            at += 4
            self.env = [text() for _ in range(min(count, len(record)))]


def _serve_cell(results, names, record):
    global _running
    number, status = 0, 1
    try:
        cell = Cell(record)
        record = None
        number = cell.number
        status = _run_cell(results, names, cell)
    except KeyboardInterrupt as error:  # a second one, while the first was being reported
        _running = False
        status = runner._report(error, "", None) or 130
    except BaseException as error:
        _running = False
        status = runner._report(error, "", None) or 1
    if os.getpid() != _owner:  # a fork of the code's that came all the way here
        _flush()
        os._exit(status)
    _flush()
    if _signal.getsignal(_signal.SIGINT) is not _on_interrupt:
        _signal.signal(_signal.SIGINT, _on_interrupt)
    results.send(b'{"type":"end","cell":%d,"exit_code":%d}\n' % (number, status))


def _run_cell(results, names, cell):
    global _running, _futures
    source = runner.Source(cell)
    status = 0
    before = _put_environment(cell.env) if cell.env else ()
    runner.Mode.rich = cell.rich
    if cell.rich:
        runner.Mode.room = MOST_RICH
        _offer_display()
    try:
        try:
            installed.look()
            _running = True
            stdin.give(cell.stdin)
            text = _without_indentation(source.text())
            history.remember(cell.name, text)
            if cell.rich:
                history.note_input(names, cell, text)
            head, tail = _compile(cell, text)
            if head is not None:
                _futures |= head.co_flags & last_expression.FUTURE_FLAGS
                _execute(head, names, cell.name)
            if tail is not None:
                value = _execute(tail, names, cell.name)
                if value is not None:
                    history.note_value(names, cell, value)
                    runner.load("display").send_value(results, value)
                value = None
            if "matplotlib.pyplot" in sys.modules:
                _show_figures(results)
        finally:
            _running = False
    except SystemExit as error:
        _running = False
        status = runner._exit_status(error)
        failure = runner.load("failure")
        line = "SystemExit: %s" % (error.code,)
        results.send(failure._encode(error, line, failure._line_or_none(error, error.__traceback__, cell.name)))
    except BaseException as error:
        _running = False
        _drop_our_last_frames(error.__traceback__)
        if isinstance(error, KeyboardInterrupt) and _find_cell(error.__traceback__, cell.name) is None:
            error.__traceback__ = None  # it came between two statements, in code of ours
        status = runner._report(error, cell.name, source)
        status = 130 if status is None else status
        if "matplotlib.pyplot" in sys.modules:
            runner._quietly(_show_figures, results)
    finally:
        runner._quietly(stdin.remove)
        if before:
            runner._quietly(_restore_environment, before)
    return status


def _without_indentation(text):
    """As IPython: the indentation of the first line is taken from every line that has it."""
    at = 0
    while text.startswith(("\n", " ", "\t", "\f"), at):
        end = text.find("\n", at)
        line = text[at : end if end >= 0 else len(text)]
        if line.strip():
            break
        if end < 0:
            return text
        at = end + 1
    else:
        return text
    space = line[: len(line) - len(line.lstrip())]
    if not space:
        return text
    lines = text[at:].split("\n")
    return text[:at] + "\n".join([one[len(space) :] if one.startswith(space) else one for one in lines])


def _put_environment(entries):
    """For one cell. What there was of these names, None where there was nothing."""
    before = []
    for entry in entries:
        name, equals, value = entry.partition(b"=")
        if name and equals:
            before.append((name, os.environb.get(name)))
            os.environb[name] = value
    _note_zone(before)
    return before


def _restore_environment(before):
    for name, value in reversed(before):
        if value is not None:
            os.environb[name] = value
        else:
            os.environb.pop(name, None)
    _note_zone(before)


def _note_zone(changed):
    if any(name == b"TZ" for name, _ in changed):
        import time

        time.tzset()


def _offer_display():
    """As notebooks have it, and IPython's, where there is none."""
    if not hasattr(builtins, "display"):
        builtins.display = _display
        sys.meta_path.append(NotebookFinder)
        runner.load("images").install()


def _display(*values, raw=False, display_id=None, **_):
    display = runner.load("display")
    for value in values:
        if raw and isinstance(value, dict):
            display.send_raw(runner.results(), value)
        else:
            display.send_value(runner.results(), value, main=False)
    if display_id is not None:
        return runner.load("notebook").DisplayHandle(display_id)


class NotebookFinder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return runner.load("notebook").find(name) if name.startswith("IPython") else None


def _compile(cell, text):
    flags = TOP_LEVEL_AWAIT | _futures
    try:
        return last_expression.compile_job(text, cell.name, flags)
    except SyntaxError:
        changed = runner.load("magics").translated(text) if cell.rich else None
        if changed is None:
            raise
        runner.load("magic_commands")
    return last_expression.compile_job(changed, cell.name, flags)


def _execute(code, names, name):
    if not code.co_flags & IS_COROUTINE:
        return eval(code, names)  # which also executes
    return _await(eval(code, names), name)


def _await(coroutine, name):
    """Runs the cell's coroutine on the context's own event loop, which lasts as the context does."""
    global _running, _loop, _task, _cancelled, _missed
    _running = _missed = _cancelled = False  # half of an event loop is useless
    try:
        import asyncio

        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            asyncio.set_event_loop(_loop)
        task = _task = _loop.create_task(coroutine)
    finally:
        _running = True
    if _missed:
        _on_interrupt(_signal.SIGINT, None)
    try:
        return _loop.run_until_complete(task)
    except asyncio.CancelledError as error:
        if not _cancelled:
            raise
        trace = error.__traceback__
        raise KeyboardInterrupt().with_traceback(_from_cell(trace, name)) from None
    except BaseException as error:
        _task = None
        if not task.done():  # it was interrupted, and must not go on with the next cell
            task.cancel()
            runner._quietly(_loop.run_until_complete, task)
        raise error.with_traceback(_from_cell(error.__traceback__, name))
    finally:
        _task = None


def _from_cell(trace, name):
    """The traceback without the event loop's own frames before the cell's first."""
    return _find_cell(trace, name) or trace


def _find_cell(trace, name):
    while trace is not None and trace.tb_frame.f_code.co_filename != name:
        trace = trace.tb_next
    return trace


def _drop_our_last_frames(trace):
    """Where it was raised is the cell's line, not the handler or the stand-in for stdin."""
    while trace is not None and trace.tb_next is not None:
        code = trace.tb_next.tb_frame.f_code
        if code in (_on_interrupt.__code__, stdin.NoStdin._refuse.__code__):
            trace.tb_next = None
        trace = trace.tb_next


def _on_interrupt(number, frame):
    global _cancelled, _missed
    if not _running:
        _missed = True
        return
    if os.getpid() == _owner and _task is not None and not _cancelled and not _task.done():
        asyncio = sys.modules["asyncio"]
        if asyncio.current_task(_loop) is None:  # it waits: the place to tell is where it awaits
            _cancelled = True
            _task.cancel()
            _loop.call_soon_threadsafe(int)  # wakes it
            return
    raise KeyboardInterrupt


def _show_figures(results):
    display = runner.load("display")
    try:
        display.send_open_figures(results)
    finally:
        sys.modules["matplotlib.pyplot"].close("all")
        del display._sent[:]


def _flush():
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        if stream is not None:
            runner._quietly(stream.flush)


def _end():
    """No more cells will come."""
    import atexit

    runner._quietly(atexit._run_exitfuncs)
    runner._quietly(runner._flush_files)
    runner._quietly(gc.collect)
    _flush()
    runner._results.send(b'{"type":"exit","code":0}\n')
    os._exit(0)
