"""Which functions can run in a sandbox, and where their source is.

The source is read at decoration, while the file is the one that was imported; what of it a call sends is found at the
call (:mod:`glovebox.functions.reach`), in the same way for a module, a script and the cells of a notebook.
"""

from __future__ import annotations

import copy
import functools
import inspect
import linecache
import os
import sys
import threading
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, Callable, Mapping, Optional, Sequence, Tuple

from ..remote_errors import FunctionRefused
from .module_sources import Sources
from .own_modules import Bundle, is_own, make_bundle
from .plan import Plan
from .reach import plan_of, unwrapped

__all__ = ["FunctionSource", "ShippedSource", "check_function"]

#: The name of a script's module in the sandbox; not __main__, so that code guarded by it does not run.
MAIN_NAME = "__sandboxed__"
MAX_SOURCE = 8 << 20
MAX_LEFT_OUT = 2000


class _Planning:
    """One at a time: ast.parse() of Python 3.11 fails at random when several threads call it. A child has its own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


_planning = _Planning()
os.register_at_fork(after_in_child=_planning.__init__)  # type: ignore[misc]


@dataclass(frozen=True)
class ShippedSource:
    """The module that a call ships."""

    module: str
    is_package: bool
    function: str
    file: str  # for tracebacks; not a path on this machine
    text: str
    before: Tuple[Tuple[str, str], ...] = ()  # (file, text) of what runs first
    plan: Optional[Plan] = None  # has the values that go along
    bundle: Optional[Bundle] = None
    left_out: Tuple[str, ...] = ()  # names of the module that are not sent, if other modules come along


def check_function(function: Any) -> None:
    """Raises :class:`FunctionRefused`, with advice, for a function that cannot run in a sandbox.

    >>> check_function(lambda x: x)
    Traceback (most recent call last):
        ...
    glovebox.remote_errors.FunctionRefused: a lambda has no name: write it as `def`, at the top level of a module
    """
    inner = unwrapped(function)
    name = getattr(inner, "__qualname__", type(inner).__name__)
    if not isinstance(inner, FunctionType):
        raise FunctionRefused(f"{name} cannot run in a sandbox: {_kind_and_advice(inner)}")
    if inner.__name__ == "<lambda>":
        raise FunctionRefused("a lambda has no name: write it as `def`, at the top level of a module")
    if inner.__closure__:
        names = ", ".join(inner.__code__.co_freevars)
        raise FunctionRefused(
            f"{name} is a closure over {names}, which are not sent: "
            "move it to the top level of its module and pass them as arguments"
        )
    if "<locals>" in name:
        raise FunctionRefused(
            f"{name} is nested in another function and cannot be found by name: "
            "move it to the top level of its module"
        )
    if "." in name:
        raise FunctionRefused(
            f"{name} is a method, and its object is not sent: "
            "write a function at the top level of the module and pass what it needs as arguments"
        )
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise FunctionRefused(
            f"{name} is a generator, and a call returns one value: return a list, "
            f"or call it for one piece at a time with {name}.map(pieces)"
        )


def _kind_and_advice(function: Any) -> str:
    if isinstance(function, (staticmethod, classmethod, property)) or inspect.ismethod(function):
        return "it is a method; write a function at the top level of the module"
    if isinstance(function, functools.partial):
        return "it is a functools.partial; decorate its function and pass the arguments with each call"
    if inspect.isclass(function):
        return "it is a class; write a function that creates and uses an instance"
    if inspect.isbuiltin(function):
        return "it has no Python source; call it from a function of your own"
    return "it is not a function with Python source; write `def` at the top level of a module"


class FunctionSource:
    """The source of a function that :func:`check_function` has accepted, as it was at decoration."""

    def __init__(self, function: Callable[..., Any], include: Sequence[str] = ()) -> None:
        inner: Any = unwrapped(function)
        self._function = inner
        self._include = tuple(include)
        self._name: str = inner.__qualname__
        self._module_name: str = getattr(function, "__module__", None) or inner.__module__
        self._shipped: Optional[ShippedSource] = None
        # A missing source is reported by a call, because .local() does not need it.
        self._refusal: Optional[FunctionRefused] = None
        self._sources: Optional[Sources] = None
        try:
            self._sources, self.module, self.is_package, self.file = self._read()
        except FunctionRefused as error:
            self._refusal = error

    def shipped(self) -> ShippedSource:
        """What a call ships now; the same object as before unless a definition has changed."""
        made = self._current()
        if made is None:
            with _planning.lock:
                made = self._current() or self._plan()
        return made

    def plan_anew(self) -> ShippedSource:
        with _planning.lock:
            return self._plan()

    def _current(self) -> Optional[ShippedSource]:
        made = self._shipped
        return made if made is not None and made.plan is not None and made.plan.is_current() else None

    def _plan(self) -> ShippedSource:
        if self._sources is None:
            assert self._refusal is not None
            raise self._refusal
        names: Mapping[str, Any] = self._function.__globals__
        plan = plan_of(self._function, names, self._sources, is_own)
        size = len(plan.text) + sum(len(text) for _, text in plan.before)
        if size > MAX_SOURCE:
            raise FunctionRefused(
                f"{self._name}: the source that it uses is larger than {MAX_SOURCE >> 20} MB: use less of its module"
            )
        bundle = make_bundle(plan.imports, self._module_name, self.file, self._folder(), self._include)
        left_out: Tuple[str, ...] = ()
        if bundle is not None:
            sent = {*plan.held, *plan.data}
            left_out = tuple(name for name in names if name not in sent and not name.startswith("__"))[:MAX_LEFT_OUT]
        self._shipped = ShippedSource(
            self.module, self.is_package, self._name, self.file, plan.text, plan.before, plan, bundle, left_out
        )
        return self._shipped

    def with_include(self, include: Sequence[str]) -> "FunctionSource":
        """The same source, also if the file has changed since."""
        other = copy.copy(self)
        other._include, other._shipped = tuple(include), None
        return other

    def _folder(self) -> str:
        """Where the files of ``include`` are: beside the function's file, or in the working directory of a notebook."""
        file = getattr(sys.modules.get(self._module_name), "__file__", None) or self._function.__code__.co_filename
        return os.path.dirname(os.path.abspath(file)) if os.path.isfile(file) else os.getcwd()

    def _read(self) -> Tuple[Sources, str, bool, str]:
        module = sys.modules.get(self._module_name)
        if module is None:
            raise FunctionRefused(
                f"{self._name}: its module {self._module_name} is not loaded: import it as a module of its own"
            )
        file: str = self._function.__code__.co_filename
        if self._module_name == "__main__":
            return self._read_main(module, file)
        name = module.__name__
        text = _module_text(module)
        if text is None:
            raise FunctionRefused(
                f"{self._name}: the source of its module {name} was not found "
                "(is it installed as bytecode only?): install the module with its source"
            )
        is_package = hasattr(module, "__path__")
        plain = name.replace(".", "/") + ("/__init__.py" if is_package else ".py")
        return Sources(plain, text), name, is_package, plain

    def _read_main(self, module: ModuleType, file: str) -> Tuple[Sources, str, bool, str]:
        lines = linecache.getlines(file, vars(module))
        # Since 3.13 Python keeps the source of `python -c`, under a name that code compiled by exec() has as well.
        if not lines or file == "<string>":
            raise FunctionRefused(
                f"{self._name} was typed where Python keeps no source (a console, `python -c`, stdin): "
                "put it into a file and import it from there"
            )
        spec = getattr(module, "__spec__", None)
        # `python -m package.module` has a name, and relative imports may need it.
        name: str = spec.name if spec is not None else "__main__"
        own_name = name[: -len("__main__")] + MAIN_NAME if name.rpartition(".")[2] == "__main__" else name
        plain = _plain_name(file) if own_name == MAIN_NAME else name.replace(".", "/") + ".py"
        return Sources(file, "".join(lines)), own_name, False, plain


def _module_text(module: ModuleType) -> Optional[str]:
    loader = getattr(module, "__loader__", None)
    if hasattr(loader, "get_source"):
        try:
            found = loader.get_source(module.__name__)  # type: ignore[union-attr]
            if isinstance(found, str):
                return found
        except (ImportError, OSError, SyntaxError):
            pass
    try:
        return inspect.getsource(module)
    except (OSError, TypeError):
        return None


def _plain_name(file: str) -> str:
    """The file name of a script; that of a cell is meaningless."""
    last = file.replace("\\", "/").rpartition("/")[2]
    return last if last.endswith(".py") and "ipykernel" not in file else "cell.py"
