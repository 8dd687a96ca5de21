"""What a function in a sandbox raised, on this side.

The exception's name, message and traceback come as text from a stranger. Of the name only this is
made: if it is that of a builtin exception out of a list that is made when this module is imported,
one of those is raised, with the same arguments where they are plain data, ``from`` the
:class:`RemoteError` that has the rest. Nothing is looked up or imported by it.
"""

from __future__ import annotations

import builtins
from typing import Any, Dict, List, Optional, Tuple, Type

from .errors import GloveboxError

__all__ = [
    "FunctionRefused",
    "RemoteError",
    "RemoteKilled",
    "RemoteOutOfMemory",
    "RemoteTimeout",
    "build_exception",
    "printable",
]

MAX_MESSAGE = 70_000
MAX_TRACEBACK = 200_000
MAX_NAME = 300
MAX_BITS = 2048  # of a whole number; Python refuses to show much longer ones
_PLAIN = (str, int, float, bool, bytes, type(None))


class FunctionRefused(GloveboxError, TypeError):
    """A function that cannot run in a sandbox, and what to do about it."""


class RemoteError(GloveboxError):
    """A function in a sandbox raised something, or ended without an answer.

    Its text has the traceback as it was there. Where the exception was a builtin one, that is what is
    raised, and this is its ``__cause__``.
    """

    def __init__(self, type_name: str, message: str, traceback: str = "", run_id: Optional[str] = None) -> None:
        type_name, message, traceback = printable(type_name), printable(message), printable(traceback)
        super().__init__(message)
        #: The name of the exception's class there, like ``ValueError`` or ``mymodule.Broken``.
        self.type_name = type_name
        #: Its message.
        self.message = message
        #: The traceback as Python prints it; "" if there was none.
        self.traceback = traceback
        #: The run, for ``GET /v1/runs/{id}``.
        self.run_id = run_id

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.type_name, self.message, self.traceback, self.run_id)

    def __str__(self) -> str:
        first = f"{self.type_name}: {self.message}" if self.message else self.type_name
        return f"{first}\n\nIn the sandbox:\n{self.traceback.rstrip()}" if self.traceback else first


class RemoteTimeout(RemoteError, TimeoutError):
    """The function took longer than its ``timeout``, and was ended."""


class RemoteOutOfMemory(RemoteError, MemoryError):
    """The function needed more than its ``mem_mb``, and was ended."""


class RemoteKilled(RemoteError):
    """The function's process ended before the function did: ``cpu_ms``, a crash, ``os._exit()``."""


def _raisable() -> Dict[str, Type[Exception]]:
    """Builtin exceptions that a stranger may have raised here.

    Not those that end a program or a thread (they are no Exception), nor those by which iteration
    ends: ``list(map(f, rows))`` would silently be shorter. Groups hold exceptions, not data.
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
    """What to raise for a message of the guest half; ``arguments`` are decoded, or None."""
    if not isinstance(raised, dict):
        return RemoteError("Exception", "it raised something that it did not describe", "", run_id)
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
        except Exception:  # not its arguments
            continue
        if issubclass(type(made), kind):
            return made
    return None


def _are_plain(arguments: List[Any]) -> bool:
    """Small enough, too, to be shown."""
    if not all(type(one) in _PLAIN for one in arguments):
        return False
    if any(type(one) is int and one.bit_length() > MAX_BITS for one in arguments):
        return False
    return len(arguments) + sum(len(one) for one in arguments if isinstance(one, (str, bytes))) <= MAX_MESSAGE


def _name(value: Any) -> Optional[str]:
    return _text(value, MAX_NAME) or None


def _are_safe(kind: Type[Exception], arguments: List[Any]) -> bool:
    """Python trusts some of them: a SyntaxError's name a file, of which it shows a line."""
    if issubclass(kind, SyntaxError):
        return False
    return not issubclass(kind, UnicodeError) or _is_unicode_error(arguments)


def _is_unicode_error(arguments: List[Any]) -> bool:
    """Places outside of the text have crashed Python."""
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


def printable(text: str) -> str:
    """A stranger's text, escaped so that it cannot steer a terminal; lines and tabs stay.

    >>> print(printable("clear \\x1b[2J"))
    clear \\x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else ascii(char)[1:-1] for char in text)
