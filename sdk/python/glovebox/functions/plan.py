"""What the calls of a function send besides their arguments; :mod:`glovebox.functions.reach` finds it."""

from __future__ import annotations

import abc
import json
from dataclasses import dataclass, field
from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, Tuple

from ..values import codec as values
from .module_values import CannotSend, ValueEncoder

__all__ = ["MISSING", "Plan", "class_attributes"]

MISSING = object()  # in the place of a name that is not defined


@dataclass(frozen=True)
class Plan:
    """What the calls of a function send besides their arguments."""

    text: str
    before: Tuple[Tuple[str, str], ...]  # (file, text) of what runs first: imports, other cells
    held: Mapping[str, Any]  # the definitions and imports, as they were found
    data: Tuple[str, ...]  # names whose values are sent with each call
    defaults: Tuple[Tuple[str, Any, Any], ...]  # (name, function, number or keyword)
    classes: Mapping[str, type]
    imports: FrozenSet[str]  # modules that it imports
    encoder: ValueEncoder
    namespace: Mapping[str, Any] = field(repr=False)

    def is_current(self) -> bool:
        get = self.namespace.get
        return all(get(name, MISSING) is value for name, value in self.held.items())

    def values(self) -> Tuple[List[Any], List[Any], List[Any]]:
        """The values now: what is there before the definitions run, what is set afterwards, and class attributes."""
        early: List[Any] = []
        late: List[Any] = []
        for name in self.data:
            if name in self.namespace:
                self._add(name, self.namespace[name], early, late)
        for name, function, place in self.defaults:
            found = (function.__defaults__ or ()) if isinstance(place, int) else (function.__kwdefaults__ or {})
            self._add(name, found[place], early, late)
        attributes = [
            [name, *one] for name, kind in self.classes.items() for one in class_attributes(kind, self.encoder)
        ]
        return early, late, attributes

    def _add(self, name: str, value: Any, early: List[Any], late: List[Any]) -> None:
        tree, makes = self.encoder.encode(value)
        needs_definitions = any(one[0] == "name" for one in makes)
        (late if needs_definitions else early).append([name, tree, makes] if makes else [name, tree])

    def sizes(self) -> Dict[str, int]:
        """Bytes of each value, for people."""
        early, late, _ = self.values()
        return {one[0]: len(json.dumps(one[1:])) for one in early + late}


def class_attributes(kind: type, encoder: ValueEncoder) -> Iterator[List[Any]]:
    """What is not part of the class's source: values that may have changed since."""
    if type(kind) not in (type, abc.ABCMeta):
        return  # a metaclass made them, and makes them again
    for name, value in list(vars(kind).items()):
        if name.startswith(("__", "_abc_")) or callable(value) or hasattr(type(value), "__get__"):
            continue
        try:
            tree, makes = encoder.encode(value)
        except (CannotSend, values.ValueRefused):
            continue  # from the source of the class
        yield [name, tree, makes] if makes else [name, tree]
