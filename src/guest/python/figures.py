"""Makes matplotlib draw without a display and pyplot.show() send figures, once pyplot is imported.

By a finder that waits for that one import, finds it the usual way and then is gone; matplotlib is
not imported for its sake.
"""
import sys

PYPLOT = "matplotlib.pyplot"


def install():
    if PYPLOT in sys.modules:
        _adapt(sys.modules[PYPLOT])
    else:
        sys.meta_path.insert(0, AfterImport(PYPLOT, _adapt))


class AfterImport:
    """Calls `adapt` with the module of this name, once it is imported."""

    def __init__(self, name, adapt):
        self._name, self._adapt = name, adapt

    def find_spec(self, name, path=None, target=None):
        if name != self._name:
            return None
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                break
        else:
            return None
        execute, adapt = spec.loader.exec_module, self._adapt

        def exec_module(module):
            execute(module)
            adapt(module)

        # On the loader object, which is this module's alone.
        spec.loader.exec_module = exec_module
        return spec


def _adapt(pyplot):
    try:
        matplotlib = sys.modules["matplotlib"]
        choice = dict.__getitem__(matplotlib.rcParams, "backend")
        if not isinstance(choice, str):  # not configured: matplotlib would try every toolkit
            matplotlib.use("Agg")
    except Exception:
        pass
    runner = sys.modules["_glovebox_runner"]
    runner.load("display").make_show_send(pyplot, runner.results)
