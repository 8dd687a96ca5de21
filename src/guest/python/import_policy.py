"""Runs a program under an import policy: python3 import_policy.py deny|allow NAMES PROGRAM ARGS...

Used by the process engine. Only imports that the program itself writes are judged; the standard
library's own are not. It keeps honest code honest and is no boundary: Python has other ways to a
module that is loaded already.

The program's directory is a directory of the host; in tracebacks it is shown as /home/user.
"""
import builtins
import importlib.machinery
import io
import sys

SHOWN_HOME = "/home/user"
SHOWN_GUARD = "<import policy>"


def install(mode, names, own_directory):
    names = frozenset(names)
    own_directory = own_directory.rstrip("/") + "/"
    real_import = builtins.__import__

    def judged(name, globals=None, locals=None, fromlist=(), level=0):
        # A list is what C code passes, such as datetime's for _strptime; it has the globals of
        # whatever called it. An import statement passes None or a tuple.
        if level == 0 and type(fromlist) is not list and is_own_code(globals, own_directory):
            top = name.partition(".")[0]
            refused = top in names if mode == "deny" else top not in names
            if refused and not is_program_module(top, own_directory):
                raise ImportError(f"import of '{top}' is refused by the import policy of the process engine",
                                  name=top)
        return real_import(name, globals, locals, fromlist, level)

    judged.__code__ = judged.__code__.replace(co_filename=SHOWN_GUARD)
    builtins.__import__ = judged


def is_own_code(globals, own_directory):
    """A module of the program's own, or code without a file (exec, -c)."""
    origin = (globals or {}).get("__file__") or ""
    if origin == __file__:
        return False
    return origin.startswith(own_directory) or origin in ("", "<string>")


def is_program_module(top, own_directory):
    """What lies beside the program may always be imported."""
    loaded = sys.modules.get(top)
    if loaded is not None:
        places = [getattr(loaded, "__file__", None) or "", *(getattr(loaded, "__path__", None) or ())]
        return any(place.startswith(own_directory) for place in places)
    return importlib.machinery.PathFinder.find_spec(top, [own_directory.rstrip("/")]) is not None


# --- what tracebacks show -------------------------------------------------------------------------

def shown(path, home):
    return SHOWN_HOME + path[len(home):] if path.startswith(home + "/") else path


def load_own_modules_as(home):
    """Compiles the program's modules under the names that are shown."""
    class OwnLoader(importlib.machinery.SourceFileLoader):
        def source_to_code(self, data, path, *, _optimize=-1):
            return super().source_to_code(data, shown(path, home), _optimize=_optimize)

    machinery = importlib.machinery
    find = machinery.FileFinder.path_hook(
        (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES), (OwnLoader, machinery.SOURCE_SUFFIXES),
        (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES))

    def find_own(path):
        if path != home and not path.startswith(home + "/"):
            raise ImportError("not the program's", path=path)
        return find(path)

    sys.path_hooks.insert(0, find_own)
    sys.path_importer_cache.clear()
    return OwnLoader


def hide_own_frames(own_file):
    """An uncaught exception is printed without the frames of this file."""
    def without(trace):
        while trace is not None and trace.tb_frame.f_code.co_filename in (own_file, SHOWN_GUARD):
            trace = trace.tb_next
        if trace is not None:
            trace.tb_next = without(trace.tb_next)
        return trace

    def hook(kind, error, trace):
        seen = set()
        left = [error]
        while left:
            one = left.pop()
            if one is None or id(one) in seen:
                continue
            seen.add(id(one))
            one.__traceback__ = without(one.__traceback__)
            left += [one.__cause__, one.__context__]
        # Not sys.__excepthook__, which finds source lines by path only.
        import traceback

        traceback.print_exception(kind, error, error.__traceback__)

    hook.module = sys.modules["__main__"]  # this one, whose place the program's takes
    sys.excepthook = hook


def run(program, name, loader):
    """As `python3 PROGRAM` does."""
    module = type(sys)("__main__")
    module.__file__ = program
    module.__builtins__ = builtins
    module.__loader__ = loader("__main__", program)  # tracebacks find the source through it
    sys.modules["__main__"] = module
    with io.open_code(program) as file:
        code = compile(file.read(), name, "exec", dont_inherit=True)
    exec(code, module.__dict__)


def main():
    mode, names, program = sys.argv[1:4]
    own_directory = program.rpartition("/")[0] or "."
    home = __file__.rpartition("/")[0].rpartition("/")[0]
    sys.argv[:] = sys.argv[3:]
    sys.path[0] = own_directory
    loader = load_own_modules_as(home)
    hide_own_frames(__file__)
    install(mode, [name for name in names.split(",") if name], own_directory)
    run(program, shown(program, home), loader)


if __name__ == "__main__":
    main()
