"""A cold run: a fresh interpreter does one job. python3 -I run.py, descriptors as in src/wire/guest/job.h."""
import sys


def _load(name):
    """Our modules by file: -I keeps this directory off sys.path, and guest code must not find it there."""
    path = __file__.rpartition("/")[0] + "/" + name + ".py"
    module = type(sys)("_glovebox_" + name)
    module.__file__ = path
    sys.modules[module.__name__] = module
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec", 0, True), module.__dict__)
    return module


def _run_plainly():
    """An image's Python that our runtime is too new for: runs the code, without results or errors as data."""
    import os

    data = os.pread(4, os.fstat(4).st_size, 0)
    at = len(b"GBXJOB1\n")

    def number():
        nonlocal at
        at += 4
        return int.from_bytes(data[at - 4 : at], "little")

    def text():
        nonlocal at
        size = number()
        at += size
        return data[at - size : at]

    for entry in [text() for _ in range(number())]:
        name, _, value = entry.partition(b"=")
        os.environb[name] = value
    arguments = [os.fsdecode(text()) for _ in range(number())]
    directory, name, code = os.fsdecode(text()), os.fsdecode(text()), text()
    os.closerange(3, 6)
    os.chdir(directory)
    sys.path.insert(0, directory)
    sys.argv = [name] + arguments
    main = type(sys)("__main__")
    main.__file__ = name
    sys.modules["__main__"] = main
    exec(compile(code, name, "exec", 0, True), main.__dict__)


if __name__ == "__main__":
    if sys.version_info >= (3, 8):
        _load("runner").run_cold()
    else:
        _run_plainly()
