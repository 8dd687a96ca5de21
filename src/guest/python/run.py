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


if __name__ == "__main__":
    _load("runner").run_cold()
