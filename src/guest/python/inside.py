"""`import glovebox` inside of a sandbox.

Modules that are shipped with a function import it, so it must be there, and do nothing: `sandboxed`
is the identity, since its function is in a sandbox already. Found after everything else, so that a
module of that name which the program brings is its own.
"""
import sys

runner = sys.modules["_glovebox_runner"]


class Finder:
    """The last of sys.meta_path; the names themselves are in inside_names.py."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "glovebox" and not name.startswith("glovebox."):
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, Finder, is_package=name == "glovebox")

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        runner.load("inside_names").fill(module)


def install():
    sys.meta_path.append(Finder)


_made = []


def module():
    """The module itself, not yet among the imported ones: without the search that an import begins with."""
    if not _made:
        made = type(sys)("glovebox")
        made.__path__ = []
        made.__package__ = "glovebox"
        runner.load("inside_names").fill(made)
        _made.append(made)
    return _made[0]
