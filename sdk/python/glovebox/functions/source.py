"""Which functions can run in a sandbox, and the source that a call of one sends.

A call ships source, found by ``module:qualname``, and nothing from this process's memory. Of an
imported module it is the whole file. A script (``__main__``) or a cell of a notebook does its work
at its top level, too, which must not be done again in the sandbox: of these only the definitions
that the function needs are shipped (:mod:`glovebox.functions.source_slice`).
"""

from __future__ import annotations

import functools
import inspect
import linecache
import os
import sys
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any, Callable, Dict, Optional, Tuple

from ..remote_errors import FunctionRefused
from .source_slice import needed_source

__all__ = [
    "ShippedSource",
    "check_function",
    "check_not_redefined",
    "is_in_notebook_cell",
    "record_definition",
    "shipped_source",
]

#: The name of a script's module in the sandbox; not __main__, so that code guarded by it does not run.
MAIN_NAME = "__sandboxed__"
MAX_SOURCE = 8 << 20


@dataclass(frozen=True)
class ShippedSource:
    """The module that a call ships."""

    module: str
    is_package: bool
    function: str
    file: str  # for tracebacks; not a path on this machine
    text: str


def check_function(function: Any) -> None:
    """Raises :class:`FunctionRefused`, with advice, for a function that cannot run in a sandbox.

    >>> check_function(lambda x: x)
    Traceback (most recent call last):
        ...
    glovebox.remote_errors.FunctionRefused: a lambda has no name: write it as `def`, at the top level of a module
    """
    inner = _unwrapped(function)
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


def _unwrapped(function: Any) -> Any:
    """The function below other decorators, which are applied in the sandbox, too."""
    if isinstance(function, (staticmethod, classmethod)):
        return function
    try:
        return inspect.unwrap(function)
    except ValueError:
        return function


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


def is_in_notebook_cell(function: Callable[..., Any]) -> bool:
    """Whether it is defined in a notebook cell: what it uses may be redefined in another one."""
    code = getattr(_unwrapped(function), "__code__", None)
    return (
        getattr(function, "__module__", None) == "__main__"
        and code is not None
        and not os.path.isfile(code.co_filename)
    )


# The code and the source that a name of a module and file was last decorated with.
_latest: Dict[Tuple[str, str, str], Tuple[CodeType, Optional[str]]] = {}


def record_definition(function: Callable[..., Any], shipped: Optional[ShippedSource]) -> None:
    """Called at decoration, which happens in the same order in the sandbox."""
    _latest[_key(function)] = _unwrapped(function).__code__, None if shipped is None else shipped.text


def check_not_redefined(function: Callable[..., Any], shipped: ShippedSource) -> None:
    """The sandbox finds functions by name, and another function may have this name by now."""
    code: CodeType = _unwrapped(function).__code__
    latest, text = _latest.get(_key(function), (code, None))
    # A module that was reloaded with another source is another module.
    if latest != code and text in (None, shipped.text):
        raise FunctionRefused(
            f"{shipped.function} in line {code.co_firstlineno} of {shipped.file} is defined again in line "
            f"{latest.co_firstlineno}, and the second one would run: give one of them another name"
        )


def _key(function: Callable[..., Any]) -> Tuple[str, str, str]:
    inner: Any = _unwrapped(function)
    return getattr(function, "__module__", None) or inner.__module__, inner.__qualname__, inner.__code__.co_filename


def shipped_source(function: Callable[..., Any]) -> ShippedSource:
    """The source to ship with a function that :func:`check_function` has accepted."""
    inner: Any = _unwrapped(function)
    name: str = inner.__qualname__
    module_name = getattr(function, "__module__", None) or inner.__module__
    module = sys.modules.get(module_name)
    if module is None:
        raise FunctionRefused(f"{name}: its module {module_name} is not loaded: import it as a module of its own")
    shipped = _of_main(module, inner) if module_name == "__main__" else _of_module(module, inner)
    if len(shipped.text) > MAX_SOURCE:
        raise FunctionRefused(
            f"{name}: its module is larger than {MAX_SOURCE >> 20} MB: move the function into a smaller one"
        )
    return shipped


def _of_module(module: ModuleType, function: Any) -> ShippedSource:
    name = module.__name__
    text = _module_text(module)
    if text is None:
        raise FunctionRefused(
            f"{function.__qualname__}: the source of its module {name} was not found "
            "(is it installed as bytecode only?): install the module with its source"
        )
    is_package = hasattr(module, "__path__")
    file = name.replace(".", "/") + ("/__init__.py" if is_package else ".py")
    return ShippedSource(name, is_package, function.__qualname__, file, text)


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


def _of_main(module: ModuleType, function: Any) -> ShippedSource:
    name = function.__qualname__
    file: str = function.__code__.co_filename
    lines = linecache.getlines(file, vars(module))
    # Since 3.13 Python keeps the source of `python -c`, under a name that code compiled by exec() has as well.
    if not lines or file == "<string>":
        raise FunctionRefused(
            f"{name} was typed where Python keeps no source (a console, `python -c`, stdin): "
            "put it into a file and import it from there"
        )
    text = needed_source("".join(lines), name, vars(module), file)
    spec = getattr(module, "__spec__", None)
    # `python -m package.module` has a name, and relative imports may need it.
    own_name = spec.name if spec is not None and spec.name != "__main__" else MAIN_NAME
    if own_name.endswith(".__main__") or own_name == "__main__":
        own_name = own_name[: -len("__main__")] + MAIN_NAME
    return ShippedSource(own_name, False, name, _plain_name(file), text)


def _plain_name(file: str) -> str:
    """The file name of a script; that of a cell is meaningless."""
    last = file.replace("\\", "/").rpartition("/")[2]
    return last if last.endswith(".py") and "ipykernel" not in file else "cell.py"
