"""Runs a program under an import policy: python3 import_policy.py deny|allow NAMES PROGRAM ARGS...

Used by the process engine. Only imports that the program itself writes are judged; the standard
library's own are not. It keeps honest code honest and is no boundary: Python has other ways to a
module that is loaded already.
"""
import builtins
import runpy
import sys


def install(mode, names, own_directory):
    names = frozenset(names)
    real_import = builtins.__import__

    def judged(name, globals=None, locals=None, fromlist=(), level=0):
        origin = (globals or {}).get("__file__") or ""
        # A module of the program's own, or code without a file (exec, -c): judged.
        is_own = origin.startswith(own_directory) or origin == "" or origin == "<string>"
        if level == 0 and is_own:
            top = name.partition(".")[0]
            refused = top in names if mode == "deny" else top not in names
            if refused and not is_program_module(top, own_directory):
                raise ImportError(f"import of '{top}' is refused by this sandbox's import policy", name=top)
        return real_import(name, globals, locals, fromlist, level)

    builtins.__import__ = judged


def is_program_module(top, own_directory):
    """What lies beside the program may always be imported."""
    loaded = sys.modules.get(top)
    if loaded is not None:
        return (getattr(loaded, "__file__", None) or "").startswith(own_directory)
    import importlib.machinery

    return importlib.machinery.PathFinder.find_spec(top, [own_directory]) is not None


def main():
    mode, names, program = sys.argv[1:4]
    own_directory = program.rpartition("/")[0] or "."
    sys.argv[:] = sys.argv[3:]
    sys.path.insert(0, own_directory)
    install(mode, [name for name in names.split(",") if name], own_directory)
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
