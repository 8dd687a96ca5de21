"""Exceptions of functions that run in a sandbox, raised in the caller's process.

The name, the message and the traceback of the exception are untrusted text. If the name is that of a builtin
exception in a fixed list, that one is raised, with the same arguments if they are plain data, ``from`` a
:class:`RemoteError` with the rest. Nothing is imported or looked up by the name.
"""

from __future__ import annotations

import builtins
from typing import Any, Dict, List, Optional, Tuple, Type

from ._printable import printable
from .errors import GloveboxError

__all__ = [
    "FunctionRefused",
    "RemoteError",
    "RemoteKilled",
    "RemoteOutOfMemory",
    "RemoteTimeout",
    "build_exception",
]

MAX_MESSAGE = 70_000
MAX_TRACEBACK = 200_000
MAX_NAME = 300
MAX_BITS = 2048  # of an integer; Python refuses to format much longer ones
_PLAIN = (str, int, float, bool, bytes, type(None))


class FunctionRefused(GloveboxError, TypeError):
    """The function cannot run in a sandbox; the message says why and what to do."""


class RemoteError(GloveboxError):
    """A function in a sandbox raised an exception, or ended without a result.

    The text contains the traceback from the sandbox. If the function raised a builtin exception, the caller
    gets the same one, and this is its ``__cause__``.
    """

    def __init__(self, type_name: str, message: str, traceback: str = "", run_id: Optional[str] = None) -> None:
        type_name, message, traceback = printable(type_name), printable(message), printable(traceback)
        super().__init__(message)
        #: The class name of the exception in the sandbox, like ``ValueError`` or ``mymodule.Broken``.
        self.type_name = type_name
        #: Its message.
        self.message = message
        #: The traceback as Python prints it; "" without one.
        self.traceback = traceback
        #: The id of the run, for ``client.runs.get(id)``.
        self.run_id = run_id

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.type_name, self.message, self.traceback, self.run_id)

    def __str__(self) -> str:
        first = f"{self.type_name}: {self.message}" if self.message else self.type_name
        return f"{first}\n\nIn the sandbox:\n{self.traceback.rstrip()}" if self.traceback else first


class RemoteTimeout(RemoteError, TimeoutError):
    """The function exceeded its ``timeout`` and was killed."""


class RemoteOutOfMemory(RemoteError, MemoryError):
    """The function exceeded its ``mem_mb`` and was killed; without cgroups, an allocation failed instead."""


class RemoteKilled(RemoteError):
    """The process ended before the function returned: it exceeded ``cpu_ms``, crashed or called ``os._exit()``."""


def _raisable() -> Dict[str, Type[Exception]]:
    """Builtin exceptions that untrusted code may cause in the caller's process.

    Not those that end a program or a thread (they are not subclasses of Exception), nor those that end an
    iteration: ``list(map(f, rows))`` would silently be shorter. Groups contain exceptions, not data.
    """
    made = {}
    for name, kind in vars(builtins).items():
        if isinstance(kind, type) and issubclass(kind, Exception) and kind.__name__ == name:
            made[name] = kind
    for name in ("StopIteration", "StopAsyncIteration", "ExceptionGroup"):
        made.pop(name, None)
    return made


_RAISABLE = _raisable()


def build_exception(raised: Any, arguments: Any, run_id: Optional[str]) -> BaseException:
    """The exception for a message of the guest half; ``arguments`` are decoded, or None."""
    if not isinstance(raised, dict):
        return RemoteError("Exception", "the function raised an exception without a description", "", run_id)
    name = _text(raised.get("type"), MAX_NAME)
    message = _text(raised.get("message"), MAX_MESSAGE)
    remote = RemoteError(name or "Exception", message, _text(raised.get("traceback"), MAX_TRACEBACK), run_id)
    kind = _RAISABLE.get(name) if raised.get("builtin") is True else None
    if kind is None:
        return remote
    original = _make(kind, message, arguments)
    if original is None:
        return remote
    if isinstance(original, ImportError):
        original.name, original.path = _name(raised.get("name")), _name(raised.get("path"))
    original.__cause__ = remote
    return original


def _make(kind: Type[Exception], message: str, arguments: Any) -> Optional[Exception]:
    wanted: List[Tuple[Any, ...]] = []
    if isinstance(arguments, list) and _are_plain(arguments) and _are_safe(kind, arguments):
        wanted.append(tuple(printable(one) if type(one) is str else one for one in arguments))
    if not issubclass(kind, UnicodeError):
        wanted.append((message,) if message else ())
    for one in wanted:
        try:
            made = kind(*one)
        except Exception:  # these are not arguments of this exception
            continue
        if issubclass(type(made), kind):
            return made
    return None


def _are_plain(arguments: List[Any]) -> bool:
    """Whether they are plain data, and small enough to be shown."""
    if not all(type(one) in _PLAIN for one in arguments):
        return False
    if any(type(one) is int and one.bit_length() > MAX_BITS for one in arguments):
        return False
    return len(arguments) + sum(len(one) for one in arguments if isinstance(one, (str, bytes))) <= MAX_MESSAGE


def _name(value: Any) -> Optional[str]:
    return _text(value, MAX_NAME) or None


def _are_safe(kind: Type[Exception], arguments: List[Any]) -> bool:
    """Python trusts some arguments: it shows a line of the file that a SyntaxError names."""
    if issubclass(kind, SyntaxError):
        return False
    return not issubclass(kind, UnicodeError) or _is_unicode_error(arguments)


def _is_unicode_error(arguments: List[Any]) -> bool:
    """Whether the positions are inside the text: others have crashed Python."""
    if len(arguments) == 1:
        return True
    if len(arguments) == 4:
        text, start, end = arguments[0], arguments[1], arguments[2]
    elif len(arguments) == 5:
        text, start, end = arguments[1], arguments[2], arguments[3]
    else:
        return False
    is_sized = isinstance(text, (str, bytes)) and type(start) is int and type(end) is int
    return is_sized and 0 <= start < end <= len(text)


def _text(value: Any, most: int) -> str:
    if type(value) is not str:
        return ""
    text: str = value
    if len(text) > most:
        text = text[: most // 2] + "\n[...]\n" + text[-most // 2 :]
    return printable(text)
