"""Converts responses of the server into frozen dataclasses, by their type hints.

Unknown fields stay in ``raw``. A field that is missing or has the wrong type gets its default; a field
without a default is required: a response that does not say how the code ended must not look like success.
Nothing is evaluated.
"""

from __future__ import annotations

import dataclasses
import sys
from datetime import datetime, timezone
from typing import (
    Any,
    Callable,
    Dict,
    List,
    Mapping,
    NamedTuple,
    Type,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from ..errors import ProtocolError

T = TypeVar("T")
Convert = Callable[[Any], Any]

__all__ = ["require_object", "from_json", "list_from_json", "parse_time"]

_MISMATCH = object()  # the value does not have the type of the field


class _Field(NamedTuple):
    name: str
    exact: object  # a value of exactly this type needs no conversion
    allows_none: bool
    convert: Convert
    default: "Callable[[], Any] | None"  # None: the field is required


_plans: Dict[type, List[_Field]] = {}
_has_raw: Dict[type, bool] = {}


def from_json(kind: Type[T], data: Any) -> T:
    """Converts a JSON object to a ``kind``."""
    plan = _plans.get(kind)
    if plan is None:
        plan = _make_plan(kind)
    if type(data) is not dict:
        require_object(data)
    values: Dict[str, Any] = {}
    for name, exact, allows_none, convert, default in plan:
        value = data.get(name, _MISMATCH)
        if type(value) is exact or (value is None and allows_none):
            values[name] = value
            continue
        if value is not _MISMATCH:
            value = convert(value)
        if value is _MISMATCH:
            if default is None:
                raise _missing_field(name)
            value = default()
        values[name] = value
    if _has_raw[kind]:
        values["raw"] = data
    # Faster than the constructor of a frozen dataclass, which sets every field with object.__setattr__.
    made = object.__new__(kind)
    made.__dict__.update(values)
    return made


def list_from_json(kind: Type[T], data: Any, name: str) -> List[T]:
    """Converts the objects of a list in the field ``name``."""
    items = require_object(data).get(name)
    if not isinstance(items, list):
        raise _missing_field(name)
    return [from_json(kind, item) for item in items]


def require_object(data: Any) -> Dict[str, Any]:
    """The response, if it is a JSON object."""
    if not isinstance(data, dict):
        raise ProtocolError("malformed response: not a JSON object; is this a Glovebox server?")
    return data


def _missing_field(name: str) -> ProtocolError:
    return ProtocolError(f"malformed response: {name} is missing or has the wrong type; is this a Glovebox server?")


def parse_time(text: str) -> datetime:
    """
    >>> parse_time("2026-11-15T13:57:15.394Z").isoformat()
    '2026-11-15T13:57:15.394000+00:00'
    """
    if text.endswith("Z"):
        text = text[:-1] + "+00:00"
    made = datetime.fromisoformat(text)
    return made if made.tzinfo is not None else made.replace(tzinfo=timezone.utc)


def _make_plan(kind: type) -> List[_Field]:
    hints = get_type_hints(kind, vars(sys.modules[kind.__module__]))
    plan = []
    fields = dataclasses.fields(kind)
    for field in fields:
        if field.name == "raw":
            continue
        hint = hints[field.name]
        inner = [each for each in get_args(hint) if each is not type(None)] if get_origin(hint) is Union else [hint]
        exact = inner[0] if inner[0] in (str, int, float, bool) else None
        plan.append(_Field(field.name, exact, inner != [hint], _converter(hint), _default(field)))
    _has_raw[kind] = any(field.name == "raw" for field in fields)
    _plans[kind] = plan
    return plan


def _default(field: "dataclasses.Field[Any]") -> "Callable[[], Any] | None":
    if field.default is not dataclasses.MISSING:
        value = field.default
        return lambda: value
    return None if field.default_factory is dataclasses.MISSING else field.default_factory


def _converter(hint: Any) -> Convert:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: value
    if origin is Union:  # Optional[X]
        convert = _converter(next(kind for kind in inner if kind is not type(None)))
        return lambda value: None if value is None else convert(value)
    if hint is str:
        return lambda value: value if isinstance(value, str) else _MISMATCH
    if hint is bool:
        return lambda value: value if isinstance(value, bool) else _MISMATCH
    if hint is int:
        return lambda value: value if isinstance(value, int) and not isinstance(value, bool) else _MISMATCH
    if hint is float:
        return _to_float
    if hint is datetime:
        return _to_time
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return lambda value: _MISMATCH if value is None else from_json(hint, value)
    if isinstance(hint, type) and issubclass(hint, dict):
        return lambda value: hint(value) if isinstance(value, dict) else _MISMATCH
    if origin is list:
        return _to_list(_converter(inner[0]), inner[0])
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _to_map(_converter(inner[1]))
    raise TypeError(f"a field of type {hint} cannot be read")


def _to_float(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else _MISMATCH
    except OverflowError:
        return _MISMATCH


def _to_time(value: Any) -> Any:
    try:
        return parse_time(value) if isinstance(value, str) else _MISMATCH
    except ValueError:
        return _MISMATCH


def _to_list(convert: Convert, exact: Any) -> Convert:
    def made(value: Any) -> Any:
        if not isinstance(value, list):
            return _MISMATCH
        if exact is str and set(map(type, value)) <= {str}:
            return value
        return [item for item in map(convert, value) if item is not _MISMATCH]

    return made


def _to_map(convert: Convert) -> Convert:
    def made(value: Any) -> Any:
        if not isinstance(value, dict):
            return _MISMATCH
        return {
            name: item
            for name, item in ((name, convert(item)) for name, item in value.items())
            if item is not _MISMATCH
        }

    return made
