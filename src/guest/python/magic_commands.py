"""What the lines do that magics.py finds: shell commands, and IPython's magics that code for notebooks uses."""
import os
import sys

cells = sys.modules["_glovebox_cells"]
SHELLS = {"bash": ["/bin/bash"], "sh": ["/bin/sh"], "python": ["/usr/bin/python3"], "python3": ["/usr/bin/python3"], "perl": ["/usr/bin/perl"], "ruby": ["ruby"]}
SHOWN = {"html": "HTML", "HTML": "HTML", "markdown": "Markdown", "latex": "Latex", "svg": "SVG", "SVG": "SVG", "javascript": "Javascript", "js": "Javascript"}
# They change a console or a notebook's page: nothing here.
IGNORED = frozenset(("matplotlib", "config", "load_ext", "reload_ext", "autoreload", "pylab", "colors", "precision", "xmode", "pprint", "autocall", "logstart", "logstop", "store"))


class UsageError(Exception):
    """As IPython has it."""

    __module__ = "IPython.core.error"


def names():
    return sys.modules["__main__"].__dict__


def shell(command):
    _system(_expanded(command, sys._getframe(1)))


def _system(command):
    names()["_exit_code"] = _run(command).returncode


def lines(command):
    return _lines(_expanded(command, sys._getframe(1)))


def _lines(command):
    import subprocess

    return _run(command, stdout=subprocess.PIPE).stdout.decode("utf-8", "replace").splitlines()


def _run(command, **more):
    import subprocess

    _flush()
    program = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
    return subprocess.run([program, "-c", command], **more)


def _flush():
    sys.stdout.flush()
    sys.stderr.flush()


def _expanded(text, frame):
    """`{expression}` and `$name` by their values, where they have one; the rest is for the shell."""
    import re

    def braces(found):
        if found[0] in ("{{", "}}"):
            return found[0][0]
        try:
            return str(eval(found[1], frame.f_globals, frame.f_locals))
        except Exception:
            return found[0]

    def dollar(found):
        if found[1] == "$":
            return "$"
        for known in (frame.f_locals, frame.f_globals):
            if found[2] in known:
                return str(known[found[2]])
        return found[0]

    # What is in single quotes is the shell's.
    parts = re.split(r"('[^']*')", re.sub(r"\{\{|\}\}|\{([^{}]+)\}", braces, text) if "{" in text else text)
    return "".join(part if part.startswith("'") else re.sub(r"\$(?:(\$)|([A-Za-z_]\w*))", dollar, part) for part in parts)


def run_line_magic(name, rest):
    if name in IGNORED:
        return None
    command = LINE.get(name)
    if command is None:
        raise UsageError("Line magic function `%%%s` not found." % name)
    if name not in ("time", "timeit"):
        rest = _expanded(rest, sys._getframe(1))
    return command(rest)


def run_cell_magic(name, rest, body):
    if name in SHELLS or name == "script":
        return _script(SHELLS.get(name) or rest.split() or ["/bin/sh"], rest.split() if name in SHELLS else [], body)
    if name in SHOWN:
        kind = getattr(__import__("IPython.display").display, SHOWN[name])
        return cells._display(kind(body))
    command = CELL.get(name)
    if command is None:
        raise UsageError("Cell magic `%%%%%s` not found." % name)
    return command(rest, body)


def _script(program, arguments, body):
    import subprocess

    _flush()
    subprocess.run([*program, *arguments], input=body.encode("utf-8", "surrogateescape"), check=True)


def _execute(code, name="<magic>"):
    """The value of the last expression."""
    runner = sys.modules["_glovebox_runner"]
    source = sys.modules["_glovebox_magics"].translated(code)
    cells.history.remember(name, code)
    head, tail = runner.compile_job(source if source is not None else code, name, cells.TOP_LEVEL_AWAIT)
    if head is not None:
        cells._execute(head, names(), name)
    return cells._execute(tail, names(), name) if tail is not None else None


def _cd(rest):
    path = rest.strip().strip("'\"")
    before = os.getcwd()
    if path == "-":
        path = names().get("_glovebox_before") or before
    os.chdir(os.path.expanduser(path or "~"))
    names()["_glovebox_before"] = before
    print(os.getcwd())


def _pip(rest):
    import importlib

    _system("/usr/bin/python3 -m pip " + rest)
    importlib.invalidate_caches()


def _env(rest):
    if not rest:
        return dict(os.environ)
    name, equals, value = rest.partition("=")
    if not equals:
        name, _, value = rest.partition(" ")
        if not value:
            if name not in os.environ:
                raise UsageError("Environment does not have key: " + name)
            return os.environ[name]
    os.environ[name.strip()] = value.strip()
    print("env: %s=%s" % (name.strip(), value.strip()))


def _own_names():
    return sorted(name for name in names() if not name.startswith("_") and name not in ("In", "Out"))


def _who(rest):
    found = _own_names()
    print("\t ".join(found) if found else "Interactive namespace is empty.")


def _whos(rest):
    rows = [(name, type(names()[name]).__name__, repr(names()[name])[:60]) for name in _own_names()]
    if not rows:
        return print("Interactive namespace is empty.")
    widths = [max(len(row[at]) for row in rows + [("Variable", "Type")]) for at in (0, 1)]
    print("%-*s   %-*s   Data/Info" % (widths[0], "Variable", widths[1], "Type"))
    print("-" * (sum(widths) + 15))
    for name, kind, value in rows:
        print("%-*s   %-*s   %s" % (widths[0], name, widths[1], kind, value))


def _time(rest, body=""):
    import time

    before = os.times()
    start = time.perf_counter()
    value = _execute(body or rest)
    wall = time.perf_counter() - start
    after = os.times()
    user, system = after.user - before.user, after.system - before.system
    print("CPU times: user %s, sys: %s, total: %s" % (_duration(user), _duration(system), _duration(user + system)))
    print("Wall time: %s" % _duration(wall))
    return value


def _timeit(rest, body=""):
    import gc
    import statistics
    import time

    loops, runs = 0, 7
    words = rest.split()
    while words and words[0][:2] in ("-n", "-r", "-q", "-p", "-t", "-c", "-o", "-v"):
        flag = words.pop(0)
        if flag[:2] in ("-n", "-r"):
            number = int(flag[2:] or words.pop(0))
            loops, runs = (number, runs) if flag[1] == "n" else (loops, number)
    code = body or rest[len(rest) - len(" ".join(words)) :] if words or body else ""
    if body and words:  # set-up, once
        _execute(" ".join(words))
    compiled = compile(code, "<magic-timeit>", "exec")

    def seconds(count):
        start = time.perf_counter()
        for _ in range(count):
            exec(compiled, names())
        return time.perf_counter() - start

    collects = gc.isenabled()
    gc.disable()
    try:
        if not loops:
            loops = 1
            while loops < 10**9 and seconds(loops) < 0.2:
                loops *= 10
        each = [seconds(loops) / loops for _ in range(runs)]
    finally:
        if collects:
            gc.enable()
    deviation = statistics.pstdev(each)
    print("%s ± %s per loop (mean ± std. dev. of %d run%s, %s loop%s each)" % (
        _duration(statistics.fmean(each)), _duration(deviation), runs, "s" if runs != 1 else "", format(loops, ","), "s" if loops != 1 else ""))


def _duration(seconds):
    if seconds >= 60:
        return "%dmin %ds" % divmod(seconds, 60)
    for scale, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * scale >= 1 or (unit == "µs" and seconds * 1e9 < 0.5):
            return "%.3g %s" % (seconds * scale, unit)
    return "%.3g ns" % (seconds * 1e9)


def _write_file(rest, body):
    words = rest.split()
    appends = "-a" in words or "--append" in words
    path = os.path.expanduser(" ".join(word for word in words if word not in ("-a", "--append")).strip("'\""))
    if not path:
        raise UsageError("%%writefile needs the name of a file")
    print("%s %s" % ("Appending to" if appends else "Overwriting" if os.path.exists(path) else "Writing", path))
    with open(path, "a" if appends else "w", encoding="utf-8") as file:
        file.write(body)


def _capture(rest, body):
    import contextlib
    import io

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        _execute(body)
    if rest.strip() and not rest.startswith("-"):
        names()[rest.split()[0]] = Captured(out.getvalue(), err.getvalue())


class Captured:
    def __init__(self, stdout, stderr):
        self.stdout, self.stderr, self.outputs = stdout, stderr, []

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)

    __call__ = show

    def __str__(self):
        return self.stdout


def _run_file(rest):
    import runpy
    import shlex

    words = [word for word in shlex.split(rest) if word != "-i"]
    if not words:
        raise UsageError("%run needs the name of a file")
    arguments, sys.argv = sys.argv, words
    main = sys.modules["__main__"]
    try:
        made = runpy.run_path(words[0] if os.path.exists(words[0]) else words[0] + ".py", run_name="__main__")
    finally:
        sys.argv = arguments
        sys.modules["__main__"] = main
    names().update((name, value) for name, value in made.items() if not name.startswith("__"))


def _reset(rest):
    for name in _own_names():
        del names()[name]


def explain(name):
    """`name?`"""
    import inspect

    try:
        value = eval(name.lstrip("%"), names())
    except Exception:
        return print("Object `%s` not found." % name)
    if callable(value):
        try:
            print("Signature:  %s%s" % (name, inspect.signature(value)))
        except (TypeError, ValueError):
            pass
    print("Type:       %s" % type(value).__name__)
    if not callable(value):
        print("String form: %s" % str(value)[:500])
    print("Docstring:  %s" % (inspect.getdoc(value) or "<no docstring>"))


LINE = {
    "pip": _pip, "cd": _cd, "pwd": lambda rest: os.getcwd(), "ls": lambda rest: _system("ls " + rest), "env": _env, "set_env": _env,
    "who": _who, "whos": _whos, "who_ls": lambda rest: _own_names(), "time": _time, "timeit": _timeit, "run": _run_file, "reset": _reset,
    "sx": _lines, "system": _lines, "cat": lambda rest: _system("cat " + rest), "mkdir": lambda rest: _system("mkdir " + rest),
    "cp": lambda rest: _system("cp " + rest), "mv": lambda rest: _system("mv " + rest), "rm": lambda rest: _system("rm " + rest),
    "pinfo": explain, "lsmagic": lambda rest: print("%" + "  %".join(sorted(LINE)) + "\n%%" + "  %%".join(sorted((*CELL, *SHELLS, *SHOWN)))),
}
CELL = {"time": _time, "timeit": _timeit, "writefile": _write_file, "file": _write_file, "capture": _capture}
