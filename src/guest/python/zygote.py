"""A zygote: an interpreter with its modules imported, from which sandboxes' interpreters are forked.

    python3 -I zygote.py MODULE...

Descriptor 3 is a SEQPACKET socket to the launcher. The native part (_glovebox_zygote) speaks on it:
what went wrong, or that we are ready; then it forks on request. What a child must not see of this
program is put away before the first fork.
"""
import gc
import io
import os
import sys

LAUNCHER_FD = 3
# Modules whose at-fork hooks are for forks beside other threads, which a zygote has none of: they
# make new locks in place of those that another thread may hold. random's only seeds, as reseeds() do.
QUIET_MODULES = {"random", "threading", "logging", "concurrent.futures.thread"}
USUAL_THREAD = 3  # kUsualThread of zygote_module.cc
REHEARSALS = 16


def main():
    native = load_native()
    descriptors = open_descriptors()
    register_at_fork = collect_fork_hooks(native)
    runner = load_parts()
    for name in sys.argv[1:]:
        try:
            __import__(name)
        except BaseException:
            give_up(native, "cannot import %s:\n" % name, sys.modules["traceback"].format_exc())
    try:
        warm_up()
        runner.load("figures").install()
        runner.load("installed").install()
        runner.load("inside").install()
    except BaseException:
        give_up(native, "its modules were imported, but do not work:\n", sys.modules["traceback"].format_exc())
    reason = why_not_fit(descriptors)
    if reason is not None:
        give_up(native, "refused: ", reason)
    os.register_at_fork = sys.modules["posix"].register_at_fork = register_at_fork
    make_streams()
    hide()
    forget_random_state()
    gc.collect()
    gc.freeze()  # a rehearsal collects, too, and would go through all of it each time
    for _ in range(REHEARSALS):
        rehearse()
    thread = sys.modules["threading"].main_thread()
    thread._native_id = USUAL_THREAD
    gc.collect()
    native.fill_holes()
    gc.freeze()
    runner.make_ready(native.take_job, os.environb._data, native.leave)
    native.serve(LAUNCHER_FD, reseeds(), thread._set_native_id, rehearse, runner.run_forked)


def give_up(native, what, why):
    native.give_up(LAUNCHER_FD, (what + why[-7000:]).encode("utf-8", "replace")[:8000])


def load_parts():
    """Everything of ours a child may need, and what the standard library imports late."""
    import json, linecache, threading, time, traceback  # noqa: E401, F401
    import encodings.utf_8, encodings.latin_1, encodings.ascii  # noqa: E401, F401

    path = __file__.rpartition("/")[0] + "/runner.py"
    runner = type(sys)("_glovebox_runner")
    runner.__file__ = path
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec", 0, True), runner.__dict__)
    sys.modules["_glovebox_runner"] = runner
    runner.load("display")
    runner.load("failure")
    runner.load("cells")
    runner.load("calls")
    runner.load("lambda_handler")
    runner.load("function_call")
    runner.load("value_dates")
    runner.load("inside_names")
    return runner


def load_native():
    """The extension beside this file; -I keeps the directory off the path."""
    here = __file__.rpartition("/")[0]
    sys.path.insert(0, here)
    import _glovebox_zygote

    sys.path.remove(here)
    sys.path_importer_cache.pop(here, None)
    return _glovebox_zygote


def warm_up():
    """First uses that are slow: lazy imports, caches, the font list."""
    compile("1", "warm", "exec", 0, True)
    repr(1.5)
    modules = sys.modules
    if "re" in modules:
        modules["re"].compile(r"(\w+)\s*=\s*(.*)").match("a = b")
        modules["re"].purge()
    if "datetime" in modules:
        modules["datetime"].datetime.now().strftime("%Y")
    if "numpy" in modules:
        numpy = modules["numpy"]
        repr(numpy.arange(4.0) @ numpy.arange(4.0))
        numpy.random.seed(None)
        modules["_glovebox_runner"].load("value_arrays")
    if "pandas" in modules:
        pandas = modules["pandas"]
        frame = pandas.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"], "c": [1.5, 2.5, None]})
        repr(frame)
        frame._repr_html_()
        frame.groupby("b").mean(numeric_only=True)
        frame.describe()
        frame.to_csv(io.StringIO())
        pandas.read_csv(io.StringIO("a,b\n1,2\n"))
        modules["_glovebox_runner"].load("value_frames")
    if "matplotlib.pyplot" in modules:
        pyplot = modules["matplotlib.pyplot"]
        figure, axes = pyplot.subplots()
        axes.plot([1, 2, 3], [1, 4, 9], label="a")
        axes.set_title("a")
        axes.legend()
        modules["_glovebox_display"].png_of(figure)
        modules["_glovebox_runner"].load("charts").chart_of(figure)
        pyplot.close("all")
        # Fonts are kept open once they were used, and a child has none of our descriptors: the
        # number would be another file's there.
        modules["matplotlib.font_manager"]._get_font.cache_clear()
        figure = axes = None
        gc.collect()
        # It would close windows at exit, of which there are none.
        modules["atexit"].unregister(modules["matplotlib._pylab_helpers"].Gcf.destroy_all)


def open_descriptors():
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:
        return None
    # One of them was the listing's own.
    return {int(name) for name in names if os.path.lexists("/proc/self/fd/" + name)}


def why_not_fit(descriptors):
    """Why this interpreter must not be forked into sandboxes, or None.

    A thread would be missing in the children, with whatever lock it held; a descriptor or a shared
    mapping would be a way from one sandbox to the next.
    """
    threading = sys.modules["threading"]
    if threading.active_count() != 1:
        return "its modules started a thread: " + ", ".join(one.name for one in threading.enumerate()[1:])
    try:
        tasks = len(os.listdir("/proc/self/task"))
    except OSError:
        tasks = 1
    if tasks != 1:
        return "its modules started %d threads (OpenBLAS, OpenMP?)" % (tasks - 1)
    now = open_descriptors()
    if now is not None and descriptors is not None:
        for fd in sorted(now - descriptors - {0, 1, 2, LAUNCHER_FD}):
            try:
                target = os.readlink("/proc/self/fd/%d" % fd)
            except OSError:
                continue  # listdir's own
            return "its modules left descriptor %d open: %s" % (fd, target)
    return shared_mapping()


def shared_mapping():
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                fields = line.split(None, 5)
                if "w" in fields[1] and "s" in fields[1]:
                    return "its modules made a shared writable mapping: " + (fields[5].strip() if len(fields) > 5 else "anonymous")
    except OSError:
        pass
    return None


def make_streams():
    """Streams as on pipes, which is what children have; whatever this process's own are."""
    saved = [os.dup(fd) for fd in (0, 1, 2)]
    read_end, write_end = os.pipe()
    try:
        for fd, end in ((0, read_end), (1, write_end), (2, write_end)):
            os.dup2(end, fd)
        os.write(1, b"x")  # which looks this name up in the C library, where each child would
        sys.stdin = sys.__stdin__ = text_stream(0, "r", "surrogateescape", "<stdin>")
        sys.stdout = sys.__stdout__ = text_stream(1, "w", "surrogateescape", "<stdout>")
        sys.stderr = sys.__stderr__ = text_stream(2, "w", "backslashreplace", "<stderr>")
    finally:
        for fd, old in enumerate(saved):
            os.dup2(old, fd)
            os.close(old)
        os.close(read_end)
        os.close(write_end)


def text_stream(fd, mode, errors, name):
    buffer = io.open(fd, mode + "b", -1, closefd=False)
    buffer.raw.name = name
    stream = io.TextIOWrapper(buffer, "utf-8", errors, "\n" if mode == "w" else None, line_buffering=mode == "w")
    stream.mode = mode
    return stream


def hide():
    """What guest code would see of us: names, arguments, environment."""
    sys.modules.pop("_glovebox_zygote", None)
    del sys.argv[:]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = [sys.executable]
    os.environ.clear()
    sys.modules["time"].tzset()
    for name in ("last_type", "last_value", "last_traceback"):
        if hasattr(sys, name):
            delattr(sys, name)


def collect_fork_hooks(native):
    """From now on at-fork hooks are kept by the native part; the function that registers real ones."""
    real = os.register_at_fork

    def register_at_fork(*, before=None, after_in_child=None, after_in_parent=None):
        hooks = (before, after_in_child, after_in_parent)
        if not all(hook is None or callable(hook) for hook in hooks) or hooks == (None, None, None):
            return real(before=before, after_in_child=after_in_child, after_in_parent=after_in_parent)  # which says why not
        native.add_fork_hooks(*hooks, sys._getframe(1).f_globals.get("__name__") in QUIET_MODULES)

    native.collect_fork_hooks(real)
    os.register_at_fork = sys.modules["posix"].register_at_fork = register_at_fork
    return real


def forget_random_state():
    """What would be the same in all children and need not be made anew in each."""
    modules = sys.modules
    # Also its second half of a pair, which only this forgets.
    if (module := modules.get("random")) is not None:
        module.seed()
    # tempfile's names come from a random.Random of its own that is renewed on a changed pid; its
    # directory was found with the zygote's environment.
    if (module := modules.get("tempfile")) is not None:
        module._name_sequence = None
        module.tempdir = None
    # uuid1's node and last time stamp; uuid4 is os.urandom, as are secrets and SystemRandom.
    if (module := modules.get("uuid")) is not None:
        module._node = None
        module._last_timestamp = None
        # libuuid keeps a node of its own, and would give every child the zygote's.
        module._generate_time_safe = None


def reseeds():
    """What each child calls for everything random that it would otherwise share with others. Only
    what is loaded is touched."""
    modules = sys.modules
    calls = []
    # random: Mersenne Twister in user space. The native method of its base class: one call.
    if (module := modules.get("random")) is not None:
        calls.append(super(module.Random, module._inst).seed)
    # numpy.random's global legacy generator has no hook at all. default_rng() takes new entropy
    # from the kernel each time, so it needs nothing.
    if (module := modules.get("numpy.random")) is not None:
        calls.append(module.seed)
    # OpenSSL notices a fork by a changed pid alone, and in two pid namespaces pids can be the same.
    # Adding to its primary generator makes the others take new seed from it.
    if (module := modules.get("ssl")) is not None:
        calls.append(lambda add=module.RAND_add: add(os.urandom(32), 32.0))
    # multiprocessing made its secret when it was imported.
    if (module := modules.get("multiprocessing.process")) is not None:
        calls.append(lambda process=module.current_process(): setattr(process, "authkey", os.urandom(32)))
    return tuple(calls)


# Something of everything that runs usually do.
REHEARSAL = """import sys
class A:
    def __init__(self, x=1, *, y=None):
        self.x = x
    def get(self):
        return [self.x + i for i in range(3)]
def f(a, b=2):
    try:
        return {str(k): f"{k:>4}" for k in A(a).get()}
    except ValueError as e:
        raise KeyError(str(e)) from e
    finally:
        b += 1
for name, value in sorted(f(1).items()):
    total = float(value) * 1.5 if name else 0
text = " ".join(["a", "b"]).upper().replace("A", "c").split()
f(2)["2"]
"""


def rehearse():
    """Does what the job will do, with nothing to show for it, before a client waits.

    The first touch of a page that is shared with the zygote costs two microseconds, and a small run
    touches hundreds of them. The zygote itself does it until nothing changes any more: the
    interpreter writes to its code while that is new, and looks up names of libraries once.
    """
    runner = sys.modules["_glovebox_runner"]
    names = {"__name__": "rehearsal", "__builtins__": sys.modules["builtins"]}
    job = runner.Job()
    job.code, job.name = b"f(2)", "rehearsal.py"
    os.getpid(), os.fsdecode(b"/")
    head, tail = runner.compile_job(REHEARSAL, "rehearsal.py")
    exec(head, names)
    eval(tail, names)
    runner.Source(job).text()
    runner.load("function_call").rehearse()
    print("rehearsal", 2, file=io.TextIOWrapper(io.BytesIO(), "utf-8", line_buffering=True))
    sys.stdout.flush()
    sys.stderr.flush()
    runner._forget_globals(names)
    gc.collect()
    runner._flush_files()


if __name__ == "__main__":
    main()
