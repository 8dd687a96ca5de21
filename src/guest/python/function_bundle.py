"""The modules and files that come along with a function, in a zip file that the server put into the home directory."""
import os
import sys

# `load` is given by runner.load(), which loads this.


def unpack(module, call):
    """Puts the files beside the bundle, into the home directory, from where they are imported; the module, too."""
    import zipfile

    path = call.bundle["path"]
    home = path.rpartition("/")[0]
    with zipfile.ZipFile(path) as archive:
        archive.extractall(home)
    os.unlink(path)
    sys.path.insert(0, home)
    sys.path_importer_cache.pop(home, None)
    module.__file__ = home + "/" + call.file
    if call.is_package:
        module.__path__ = [home + "/" + call.file.rpartition("/")[0]]
    left_out = frozenset(call.bundle["left_out"])

    def __getattr__(name):
        if name in left_out:
            why = NOT_SENT % (call.module, name, call.function)
            return load("inside_names")._NotHere(name, (), {"__module__": call.module, "_why": why})
        raise AttributeError("module %r has no attribute %r" % (call.module, name))

    module.__getattr__ = __getattr__


NOT_SENT = "%s.%s was not sent to the sandbox: %s does not use it. Move it into a module of its own"


class _Finder:
    """Gives the function's module to the importing code: its package, or a module that it imports itself."""

    def __init__(self, module, call, fill):
        self._module, self._call, self._fill = module, call, fill

    def find_spec(self, name, path=None, target=None):
        if name != self._call.module:
            return None
        from importlib.machinery import ModuleSpec

        spec = ModuleSpec(name, self, origin=self._module.__file__, is_package=self._call.is_package)
        if self._call.is_package:
            spec.submodule_search_locations = self._module.__path__
        return spec

    def create_module(self, spec):
        return self._module

    def exec_module(self, module):
        self._fill(module, self._call)


def imported(module, call, fill):
    """Imports the module as Python does: its packages first, which may import it themselves."""
    import importlib

    finder = _Finder(module, call, fill)
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(call.module)
    finally:
        sys.meta_path.remove(finder)
