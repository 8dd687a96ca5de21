"""Encodes the values of a module's names for a sandbox.

Data is encoded as arguments are. What is not data is made again inside, from its parts: a reference (a definition that
is sent along, or an import), or a call of one with arguments that are data or made in turn. A value is then

    [name, tree, makes]

in which a string ``mark + number`` of the tree stands for an entry of ``makes``: ``["name", "helper"]``,
``["import", module, qualname]`` or ``["call", tree of [function, arguments, keywords, state]]``. Nothing is pickled.
"""

from __future__ import annotations

import collections
import copyreg
import functools
import pathlib
import re
import secrets
import threading
import types
from typing import Any, Callable, Dict, List, Optional, Tuple

from ..values import codec as values

__all__ = ["CannotSend", "Reference", "ValueEncoder"]

Reference = List[str]  # ["name", qualname] or ["import", module, qualname]
_ATOMS = frozenset((str, int, float, bool, bytes, complex, type(None)))
_SEQUENCES = frozenset((list, tuple, set, frozenset))
_LOCKS = {type(threading.Lock()): "Lock", type(threading.RLock()): "RLock"}
_MAX_DEPTH = 60
# What `object` itself has; a class with its own is asked for no state.
_PICKLING = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")


class CannotSend(Exception):
    """The value is not data and cannot be made from its parts; the message says what it is."""


class ValueEncoder:
    """``refer`` gives the reference of a module, a function or a class, or None; ``is_own`` knows the user's types."""

    def __init__(self, refer: Callable[[Any], Optional[Reference]], is_own: Callable[[type], bool]) -> None:
        self._refer = refer
        self._is_own = is_own
        # No string of the program begins with it.
        self.mark = "\0" + secrets.token_hex(8) + ":"

    def encode(self, value: Any) -> Tuple[Any, List[List[Any]]]:
        """The tree and the entries that it refers to."""
        if type(value) not in _SPECIAL:
            try:
                return values.to_tree(value), []
            except values.ValueRefused:
                pass
        makes: List[List[Any]] = []
        return values.to_tree(self._part(value, makes, 0)), makes

    def _part(self, value: Any, makes: List[List[Any]], depth: int) -> Any:
        kind = type(value)
        if kind in _ATOMS:
            return value
        if depth > _MAX_DEPTH:
            raise CannotSend("nested too deeply, or contains itself")
        if kind in _SEQUENCES:
            return kind(self._part(one, makes, depth + 1) for one in value)
        if kind is dict:
            return {
                self._part(key, makes, depth + 1): self._part(one, makes, depth + 1) for key, one in value.items()
            }
        if isinstance(value, (type, types.ModuleType)) or callable(value):
            reference = self._refer(value)
            if reference is not None:
                return self._mark(list(reference), makes)
        parts = _known_parts(value, kind)
        if parts is None:
            try:
                values.to_tree(value)
                return value
            except values.ValueRefused:
                parts = self._reduced(value, kind)
        tree = values.to_tree([self._part(one, makes, depth + 1) for one in parts])
        return self._mark(["call", tree], makes)

    def _mark(self, entry: List[Any], makes: List[List[Any]]) -> str:
        if entry[0] == "call" or entry not in makes:
            makes.append(entry)
            return f"{self.mark}{len(makes) - 1}"
        return f"{self.mark}{makes.index(entry)}"

    def _reduced(self, value: Any, kind: type) -> List[Any]:
        """Function, arguments, keywords and state, as the object itself says."""
        try:
            reducer = copyreg.dispatch_table.get(kind)
            reduced: Any = reducer(value) if reducer is not None else value.__reduce_ex__(4)
        except Exception:
            raise CannotSend(_kind_name(kind)) from None
        if not isinstance(reduced, tuple) or any(one is not None for one in reduced[3:]):
            raise CannotSend(_kind_name(kind))
        state = reduced[2] if len(reduced) > 2 else None
        if state is not None and not (type(state) is dict and self._is_own(kind) and _has_plain_state(kind)):
            raise CannotSend(_kind_name(kind))
        return [reduced[0], list(reduced[1]), {}, state]


def _has_plain_state(kind: type) -> bool:
    return all(getattr(kind, name, None) is getattr(object, name, None) for name in _PICKLING)


def _kind_name(kind: type) -> str:
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


_SPECIAL: Dict[type, Callable[[Any], List[Any]]] = {
    collections.OrderedDict: lambda one: [collections.OrderedDict, [list(one.items())], {}, None],
    collections.Counter: lambda one: [collections.Counter, [dict(one)], {}, None],
    collections.defaultdict: lambda one: [collections.defaultdict, [one.default_factory, dict(one)], {}, None],
    collections.deque: lambda one: [collections.deque, [list(one), one.maxlen], {}, None],
    functools.partial: lambda one: [functools.partial, [one.func, *one.args], dict(one.keywords), None],
    re.Pattern: lambda one: [re.compile, [one.pattern, one.flags], {}, None],
    types.SimpleNamespace: lambda one: [types.SimpleNamespace, [], dict(vars(one)), None],
    types.MappingProxyType: lambda one: [types.MappingProxyType, [dict(one)], {}, None],
}


def _known_parts(value: Any, kind: type) -> Optional[List[Any]]:
    if kind in _SPECIAL:
        return _SPECIAL[kind](value)
    if kind in _LOCKS:
        return [getattr(threading, _LOCKS[kind]), [], {}, None]
    if isinstance(value, pathlib.PurePath) and kind.__module__.partition(".")[0] == "pathlib":
        return [getattr(pathlib, kind.__name__), [str(value)], {}, None]
    return None
