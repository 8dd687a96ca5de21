"""Runs one job the way `python3 main.py` would, and says on the results' pipe what came of it.

Used by run.py in a fresh interpreter and by zygote.py in a forked one; cells.py builds on it. The second has well under a
tenth of a millisecond to spare, so nothing is imported here that is not built in; what only results
and errors need is in display.py and failure.py, which the zygote has loaded already.
"""
import atexit
import builtins
import gc
import io
import os
import sys
import _thread
from time import tzset

RESULTS_FD = 3
JOB_FD = 4
READY_FD = 5
# Where the results' pipe waits while guest code runs: out of the way of its own open() calls, which
# programs expect to start at 3.
HIDDEN_FD = 100
MAGIC = b"GBXJOB1\n"
FUNCTION = "glovebox:function"  # the name of a job that is a call of a Lambda handler
SHARED = "glovebox:calls"  # of one that serves many calls
SHARED_FUNCTION = "glovebox:function-calls"
FILES = frozenset((io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom))


class Mode:
    """Of a context's cell: whether figures and tables are wanted as data, too (charts.py)."""

    rich = False
    room = 0  # so many values may they still have


class Job:
    # `entered`: whether its directory was entered; None if nothing of _enter() was done yet.
    __slots__ = ("env", "args", "workdir", "name", "code", "entered")

    def __init__(self):
        self.name = "main.py"
        self.entered = None


def read_job(fd=JOB_FD):
    """The job in `fd`, which is a file: read from its start, wherever its offset is."""
    size = os.fstat(fd).st_size
    data = os.pread(fd, size, 0)
    while len(data) < size:
        more = os.pread(fd, size - len(data), len(data))
        if not more:
            break
        data += more
    return parse_job(data)


def parse_job(data):
    if data[:8] != MAGIC:
        raise ValueError("not a job")
    number = int.from_bytes
    at = 8

    def text():
        nonlocal at
        end = at + 4 + number(data[at : at + 4], "little")
        if end > len(data):
            raise ValueError("the job ends too early")
        start, at = at + 4, end
        return data[start:end]

    def texts():
        nonlocal at
        count = number(data[at : at + 4], "little")
        at += 4
        if count > len(data):
            raise ValueError("the job ends too early")
        return [text() for _ in range(count)]

    job = Job()
    job.env = texts()
    job.args = [os.fsdecode(arg) for arg in texts()]
    job.workdir = text()
    job.name = os.fsdecode(text()) or job.name
    job.code = text()
    if at != len(data):
        raise ValueError("the job is longer than it says")
    return job


def run_cold():
    prepare_streams()
    load("figures").install()
    load("installed").install()
    load("inside").install()
    run_job(_read_job_or_exit(), Results(RESULTS_FD))


_leave = None  # in a zygote's child: closes the results' pipe and the streams, and ends the process


def make_ready(take, environ, leave):
    """In a zygote, after its heap was frozen: what the run of a child needs and can have ahead.

    `take` and `leave` are the native part's, `environ` is the dictionary of bytes behind os.environ.
    """
    global _ready, _leave
    _leave = leave
    job = Job()
    job.code = None
    source = Source(job)
    main = _make_main(job.name, source)
    sys.modules["__main__"] = main
    _ready = (take, environ, job, source, main, Results(HIDDEN_FD), (source.get_source,))


def run_forked():
    """In the child of a zygote, and when its job has arrived. Does not return."""
    take, environ, job, source, main, results, lines = _ready
    try:
        taken = take(environ, tzset)
    except (OSError, ValueError) as error:
        _refuse_job(error)
    if taken is None:  # a pipe: cells will come, one after the other
        load("cells").serve(HIDDEN_FD)
    job.workdir, job.name, job.code, job.entered, results._owner = taken
    source._code, source._name = job.code, job.name
    if main.__file__ != job.name:
        main.__file__ = job.name
    linecache = sys.modules.get("linecache")
    if linecache is not None:
        linecache.cache[job.name] = lines
    run_job(job, results, source, main)


def _read_job_or_exit():
    try:
        return read_job(JOB_FD)
    except (OSError, ValueError) as error:
        _refuse_job(error)


def _refuse_job(error):
    os.write(2, ("glovebox: cannot read the job: %s\n" % error).encode())
    os._exit(125)


def prepare_streams():
    """UTF-8 whatever the locale, and a line at a time, because a client may be watching live."""
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if stream is None:
            continue
        if stream is sys.stdin:
            stream.reconfigure(encoding="utf-8", errors=errors)
        else:
            stream.reconfigure(encoding="utf-8", errors=errors, line_buffering=True)


def run_job(job, results, source=None, main=None):
    """Runs the job as __main__ and ends the process with its exit status."""
    global _results
    _results = results
    if job.name[:9] == "glovebox:":
        if job.name == FUNCTION:
            load("lambda_handler").run(job, _results, globals())
        if job.name in (SHARED, SHARED_FUNCTION):
            load("calls").serve(job, _results)
    status = 0
    try:
        _enter(job)
        if main is None:
            source = Source(job)
            main = _new_main(job.name, source)
        head, tail = compile_job(source.text(), job.name)
        if head is not None:
            exec(head, main.__dict__)
        if tail is not None:
            value = eval(tail, main.__dict__)
            if value is not None:
                load("display").send_value(_results, value)
            value = None
    except SystemExit as error:
        status = _exit_status(error)
    except BaseException as error:
        status = _report(error, job.name, source)
    _finish(status, main)


def _report(error, name, source):
    try:
        return load("failure").report(_results, error, name, source)
    except BaseException:  # no memory even for that
        error.__traceback__ = None
        kind = type(error).__name__.encode("utf-8", "replace")
        _quietly(os.write, 2, kind + b"\n")
        _results.send(b'{"type":"error","name":"%s","message":"","traceback":[],"line":null}\n' % kind)
        return 1


def _enter(job):
    """Environment, arguments, directory, descriptors: what take_job() has done in a zygote's child."""
    if job.entered:
        return
    if job.entered is None:
        _set_environment(job)
    try:
        os.chdir(job.workdir)
    except OSError as error:
        raise SystemExit(
            "glovebox: cannot enter the working directory %s: %s" % (os.fsdecode(job.workdir), error.strerror)
        ) from None
    sys.path.insert(0, os.fsdecode(job.workdir))


def _set_environment(job):
    for fd in (JOB_FD, READY_FD):
        try:
            os.close(fd)
        except OSError:
            pass
    environ = os.environb
    old_zone = environ.get(b"TZ")
    if environ and job.env:  # a job that says nothing of it has the process's own
        environ.clear()
    for entry in job.env:
        name, equals, value = entry.partition(b"=")
        if name and equals:
            environ[name] = value
    if environ.get(b"TZ") != old_zone:
        tzset()
    sys.argv = [job.name, *job.args]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = [sys.executable, *sys.argv]


class Source:
    """The job's code, for compile() and, as a module's __loader__, for tracebacks and inspect."""

    __slots__ = ("_code", "_name")

    def __init__(self, job):
        self._code = job.code
        self._name = job.name

    def text(self):
        code = self._code
        if isinstance(code, bytes):
            try:
                code = code.decode("utf-8")
            except UnicodeDecodeError:
                # compile() honours an encoding cookie in bytes, or says what is wrong.
                compile(code, self._name, "exec", 0, True)
                code = code.decode("latin-1")
            if code.startswith("\ufeff"):
                code = code[1:]
            if "\r" in code:
                code = code.replace("\r\n", "\n").replace("\r", "\n")
            self._code = code
        return code

    def get_source(self, fullname=None):
        return self._code if isinstance(self._code, str) else None

    def is_package(self, fullname):
        return False


def _make_main(name, source):
    main = type(sys)("__main__")
    main.__file__ = name
    main.__cached__ = None
    main.__loader__ = source
    main.__builtins__ = builtins
    return main


def _new_main(name, source):
    main = sys.modules["__main__"] = _make_main(name, source)
    linecache = sys.modules.get("linecache")
    if linecache is not None:
        # A lazy entry: split into lines only when needed.
        linecache.cache[name] = (source.get_source,)
    return main


def _exit_status(error):
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if -(1 << 31) <= code < 1 << 31 else 255
    try:
        print(code, file=sys.stderr)
    except BaseException:
        pass
    return 1


def results():
    return _results


class Results:
    """The pipe for JSON lines. Silent when the reader has gone, and in processes that guest code forked."""

    __slots__ = ("_owner", "_fd")

    def __init__(self, fd):
        self._owner = os.getpid()
        if fd == HIDDEN_FD:  # where a zygote's child has it from the beginning
            self._fd = fd
            return
        try:
            self._fd = os.dup2(fd, HIDDEN_FD, False)
            os.close(fd)
        except OSError:
            self._fd = fd
            try:
                os.set_inheritable(fd, False)
            except OSError:
                self._fd = -1

    def send(self, line):
        if self._fd < 0 or os.getpid() != self._owner:
            return
        try:
            written = _write(self._fd, line)
            if written == len(line):
                return
            view = memoryview(line)[written:]
            while view:
                view = view[_write(self._fd, view) :]
        except OSError:
            self._fd = -1

    def close(self):
        if self._fd >= 0:
            _quietly(os.close, self._fd)
            self._fd = -1


def _write(fd, data):
    try:
        return os.write(fd, data)
    except BlockingIOError:  # the program made it so
        os.set_blocking(fd, True)
        return os.write(fd, data)


def load(name):
    """A part of ours that most runs do not need."""
    if sys.getrecursionlimit() < 1000:  # the program may have left us too little
        sys.setrecursionlimit(1000)
    module = sys.modules.get("_glovebox_" + name)
    if module is None:
        path = __file__.rpartition("/")[0] + "/" + name + ".py"
        module = type(sys)("_glovebox_" + name)
        module.__file__ = path
        module.load, module.Mode = load, Mode  # the program may have emptied sys.modules since
        with io.open(path, encoding="utf-8") as file:
            exec(compile(file.read(), path, "exec", 0, True), module.__dict__)
        sys.modules[module.__name__] = module
    return module


compile_job = load("last_expression").compile_job


def _finish(status, main):
    """What an interpreter does at its end, as far as a program can tell; the rest is not worth a fork's time."""
    threading = sys.modules.get("threading")
    if threading is not None and (_thread._count() or getattr(threading, "_threading_atexits", True)):
        _quietly(threading._shutdown)
    if "matplotlib.pyplot" in sys.modules:
        _quietly(_send_open_figures)
    if atexit._ncallbacks():
        _quietly(atexit._run_exitfuncs)
    # Before the collector: in a cycle it may take a file's buffer away from under its text.
    _quietly(_flush_files)
    if main is not None and _thread._count() == 0:
        # So that __del__ is called. Not while daemon threads still use those names.
        _quietly(_forget_globals, main.__dict__)
        _quietly(gc.collect)
        _quietly(_flush_files)
    _flush_streams(sys.__stdout__, sys.__stderr__)
    if sys.stdout is not sys.__stdout__ or sys.stderr is not sys.__stderr__:
        _flush_streams(sys.stdout, sys.stderr)
    if status is None:  # a KeyboardInterrupt: die of the signal, as python does
        _quietly(_die_of_sigint)
        status = 130
    # The kernel takes this process's memory apart before it closes its pipes: 0.4 ms, and 2.4 ms
    # with the data stack. The client need not wait for that.
    _results.send(b'{"type":"exit","code":%d}\n' % status)
    if _leave is not None:
        _leave(_results._fd, status)
    _results.close()
    os.closerange(0, 3)
    os._exit(status)


def _quietly(function, *arguments):
    try:
        function(*arguments)
    except BaseException:
        pass


def _send_open_figures():
    load("display").send_open_figures(_results)


def _flush_streams(*streams):
    for stream in streams:
        if stream is not None:
            _quietly(stream.flush)


def _forget_globals(names):
    # In the interpreter's own order: private names first.
    for name in list(names):
        if name[:1] == "_" and name[1:2] != "_":
            names[name] = None
    for name in list(names):
        if name != "__builtins__":
            names[name] = None


def _flush_files():
    # What is still open and reachable from elsewhere. In a zygote's child its frozen heap is not
    # among the collector's objects, so this looks at what the guest made.
    for thing in gc.get_objects():
        if type(thing) in FILES:
            _quietly(thing.flush)


def _die_of_sigint():
    import _signal

    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    os.kill(os.getpid(), _signal.SIGINT)
