"""A cold code context: a fresh interpreter that serves cells. python3 -I context.py, descriptors as in src/wire/guest/cell.h."""
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
    _runner = _load("runner")
    _runner.prepare_streams()
    _runner.load("figures").install()
    _runner.load("installed").install()
    _runner.load("inside").install()
    _runner.load("cells").serve()
