"""Encodes arguments and results of functions: Python values to JSON text, and back.

    encode({"when": date(2026, 1, 2), "raw": b"\\x00"})   ->  text
    decode(text)                                          ->  an equal value

JSON types stay JSON. Everything else is an object with the key "$", which names its kind, from the fixed list at
the end of this file. Nothing is pickled, evaluated or imported by a name in the text. The text is untrusted:
every kind checks its fields, and compares sizes with the bytes that are there before it allocates anything.

Both sides use this file: the SDK as glovebox.values.codec, the sandbox as src/guest/python/values.py, a symbolic
link that the launcher carries inside. So it imports only what the interpreter there has loaded anyway. dates.py,
arrays.py and frames.py are loaded when values need them. json_limits.py and hash_collisions.py protect the host
and are not in the sandbox.
"""

from __future__ import annotations

import binascii
import importlib
import json
import sys
from _thread import _local  # threading.local, without importing threading
from time import thread_time
from typing import Any, Callable, Dict, FrozenSet, Iterable, Iterator, List, NoReturn, Optional, Set

try:
    from ..errors import GloveboxError
except ImportError:  # inside a sandbox: this file alone

    class GloveboxError(Exception):  # type: ignore[no-redef]
        pass


MAX_DEPTH = 100
MAX_TEXT = 64 << 20  # characters that decode() reads
MAX_DIGITS = 4000  # of a number
USUAL_RECURSION = 3000
# Each takes much more memory than its two characters.
MAX_CONTAINERS = 2_000_000
MAX_ITEMS = 10_000_000
MAX_SAME_HASHES = 16  # keys of one dict, or members of one set
# CPU time of this thread for decoding, plus a part for each character.
MIN_SECONDS = 10.0
SECONDS_PER_CHARACTER = 0.5e-6
MAX_WORK = 4_000_000  # see work()
_WORK_BETWEEN_LOOKS = 16
MANY_MEMBERS = 50_000  # of a set or dict; fewer are fast even if they collide

Tree = Any  # what json.loads() returns
Fields = Dict[str, Any]

_ATOMS: FrozenSet[type] = frozenset((str, bool, float, type(None)))
_CONTAINERS: FrozenSet[type] = frozenset((list, dict))
_SMALL = 1 << 63


class ValueRefused(GloveboxError, TypeError):
    """The value cannot be sent; the message says what to send instead."""


class ResultRefused(GloveboxError, ValueError):
    """The response is not a value as encode() writes it. Nothing of it was used."""


# --- encode -----------------------------------------------------------------------------------------


def encode(value: object) -> str:
    """The value as JSON text in ASCII.

    >>> encode([1, "a", None, (2.5, b"raw")])
    '[1,"a",null,{"$":"tuple","v":[2.5,{"$":"bytes","v":"cmF3"}]}]'
    """
    return json.dumps(to_tree(value), separators=(",", ":"), check_circular=False)


def to_tree(value: Any, depth: int = 0) -> Tree:
    """Like encode(), but returns the JSON value, for use in a larger message."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is int:
        return value if -_SMALL <= value < _SMALL else {"$": "int", "v": format(value, "x")}
    if depth >= MAX_DEPTH:
        raise ValueRefused(f"values nested deeper than {MAX_DEPTH} cannot be sent (does one contain itself?)")
    if kind is list:
        return _list_tree(value, depth)
    if kind is dict:
        return _dict_tree(value, depth)
    encoder = _ENCODERS.get(kind)
    if encoder is not None:
        return encoder(value, depth)
    return _other_tree(value, kind, depth)


def _list_tree(value: List[Any], depth: int) -> Tree:
    kinds = set(map(type, value))
    if kinds <= _ATOMS:  # the common long list, checked at the speed of C
        return value
    if kinds == {int} and min(value) >= -_SMALL and max(value) < _SMALL:
        return value
    return [to_tree(item, depth + 1) for item in value]


def _dict_tree(value: Dict[Any, Any], depth: int) -> Tree:
    if set(map(type, value)) <= {str} and "$" not in value:
        return {key: to_tree(item, depth + 1) for key, item in value.items()}
    pairs = [[to_tree(key, depth + 1), to_tree(item, depth + 1)] for key, item in value.items()]
    return {"$": "dict", "v": pairs}


def _members(tag: str) -> Callable[[Any, int], Tree]:
    return lambda value, depth: {"$": tag, "v": [to_tree(item, depth + 1) for item in value]}


def base64(data: Any) -> str:
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def _bytes_tag(tag: str) -> Callable[[Any, int], Tree]:
    return lambda value, depth: {"$": tag, "v": base64(value)}


def _complex_tree(value: complex, depth: int) -> Tree:
    return {"$": "complex", "v": [value.real, value.imag]}


_ENCODERS: Dict[type, Callable[[Any, int], Tree]] = {
    tuple: _members("tuple"),
    set: _members("set"),
    frozenset: _members("frozenset"),
    bytes: _bytes_tag("bytes"),
    bytearray: _bytes_tag("bytearray"),
    memoryview: _bytes_tag("bytes"),
    complex: _complex_tree,
}


def _other_tree(value: Any, kind: type, depth: int) -> Tree:
    """Types of modules that need not be loaded; found by the name of their module."""
    root = (kind.__module__ or "").partition(".")[0]
    part = _PARTS_BY_MODULE.get(root)
    tree: Tree = None
    if part is not None and root in sys.modules:
        tree = _part(part).to_tree(value, depth)
    elif root == "collections" and isinstance(value, dict):  # OrderedDict, defaultdict, Counter
        tree = _dict_tree(dict(value), depth)
    if tree is None:
        _refuse(value, kind)
    return tree


def _part(name: str) -> Any:
    """Loads a sibling module; the names are constants of this file."""
    loader = globals().get("load")  # set by runner.load() in the sandbox
    if loader is not None:
        return loader("value_" + name)
    return importlib.import_module("." + name, __package__)


def _refuse(value: Any, kind: type) -> NoReturn:
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    raise ValueRefused(f"an object of type {name} cannot be sent: {_instead(value, kind)}")


def _instead(value: Any, kind: type) -> str:
    if hasattr(kind, "__dataclass_fields__"):
        return "send dataclasses.asdict(it)"
    if isinstance(value, tuple):
        return "send tuple(it), or it._asdict()"
    if hasattr(kind, "__members__"):
        return "send its .value"
    if isinstance(value, type) or callable(value):
        return "functions and classes cannot be sent; send data"
    if hasattr(kind, "__next__") or isinstance(value, (range, type({}.keys()), type({}.values()), type({}.items()))):
        return "send list(it)"
    if hasattr(kind, "__fspath__"):
        return "send str(it), and mount the file with fs=[...]"
    if isinstance(value, BaseException):
        return "raise it, or send str(it)"
    if isinstance(value, (str, int, float, dict, list, set)):
        base = next(one for one in (str, int, float, dict, list, set) if isinstance(value, one))
        return f"send {base.__name__}(it)"
    return (
        "send what it holds as None, bool, int, float, str, bytes, list, tuple, set, dict, dates, "
        "numpy arrays or pandas frames"
    )


# --- decode -----------------------------------------------------------------------------------------


def decode(text: str, most: int = MAX_TEXT) -> Any:
    """Decodes the text that encode() made.

    >>> decode('{"$":"set","v":[1,2]}')
    {1, 2}
    >>> decode('{"$":"os.system","v":"id"}')
    Traceback (most recent call last):
        ...
    glovebox.values.codec.ResultRefused: malformed value: unknown kind 'os.system'
    """
    return from_tree(parse(text, most), seconds_for(text))


def seconds_for(text: str) -> float:
    """The CPU time that from_tree() may take for this text."""
    return MIN_SECONDS + len(text) * SECONDS_PER_CHARACTER


def parse(text: str, most: int = MAX_TEXT) -> Tree:
    """Parses JSON text within limits; the values in it are not decoded yet."""
    if len(text) > most:
        raise ResultRefused(f"malformed value: {len(text)} characters, and the limit is {most}")
    hooks: Dict[str, Any] = {}
    if len(text) > MAX_DIGITS or sys.getrecursionlimit() > USUAL_RECURSION:
        hooks = _part("json_limits").hooks_for(text)
    try:
        return json.loads(text, **hooks)
    except RecursionError:
        raise ResultRefused("malformed value: nested too deep") from None
    except MemoryError:
        raise ResultRefused("malformed value: not enough memory to decode it") from None
    except ValueError as error:
        raise ResultRefused(f"malformed value: {error}") from None


def from_tree(tree: Tree, seconds: Optional[float] = MIN_SECONDS) -> Any:
    """Decodes a part of what parse() returned, in `seconds` of CPU time; None for a trusted tree."""
    _budget.ends = None if seconds is None else thread_time() + seconds
    _budget.done = _budget.looked = 0
    try:
        return value(tree, 0)
    except ResultRefused:
        raise
    except MemoryError:
        raise ResultRefused("malformed value: not enough memory to decode it") from None
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RuntimeError) as error:
        # A library on the host refused what passed our checks.
        raise ResultRefused(f"malformed value: {type(error).__name__}: {str(error)[:500]!r}") from None


class _Budget(_local):
    """The budget of the from_tree() that runs in this thread."""

    ends: Optional[float] = None
    done = 0
    looked = 0


_budget = _Budget()


def work(amount: int = 1) -> None:
    """Counts work against the budget: 1 for a member or a small kind, more for the types of pandas.

    Untrusted code chooses what is decoded and which hashes collide, so neither can be assumed to be fast.
    """
    budget = _budget
    budget.done = done = budget.done + amount
    if done - budget.looked >= _WORK_BETWEEN_LOOKS:
        budget.looked = done
        look()


def look() -> None:
    """Compares the work and the CPU time with the budget."""
    ends = _budget.ends
    if ends is None:
        return
    if _budget.done > MAX_WORK:
        bad("too many items; use arrays, or frames of several columns")
    if thread_time() > ends:
        bad("decoding takes too long; use fewer and larger items, like arrays")


def value(tree: Tree, depth: int) -> Any:
    kind = type(tree)
    if kind is list:
        if depth >= MAX_DEPTH:
            bad(f"nested deeper than {MAX_DEPTH}")
        if _CONTAINERS.isdisjoint(map(type, tree)):
            return tree
        return [value(item, depth + 1) for item in tree]
    if kind is dict:
        if depth >= MAX_DEPTH:
            bad(f"nested deeper than {MAX_DEPTH}")
        tag = tree.get("$")
        if tag is None and "$" not in tree:
            if _CONTAINERS.isdisjoint(map(type, tree.values())):
                return tree
            return {key: value(item, depth + 1) for key, item in tree.items()}
        work()
        decoder = _DECODERS.get(tag) if type(tag) is str else None
        if decoder is None:
            decoder = _decoder_of_part(tag)
        return decoder(tree, depth + 1)
    return tree


def _decoder_of_part(tag: Any) -> Callable[[Fields, int], Any]:
    part = _PARTS_BY_TAG.get(tag) if type(tag) is str else None
    if part is None:
        bad(f"unknown kind {str(tag)[:100]!r}")
    try:
        decoder: Callable[[Fields, int], Any] = _part(part).DECODERS[tag]
    except ImportError as error:
        raise ResultRefused(f"the value contains a {tag}, but {error.name} is not installed here") from None
    return decoder


def bad(what: str) -> NoReturn:
    raise ResultRefused("malformed value: " + what)


def field(fields: Fields, name: str, *kinds: type) -> Any:
    value = fields.get(name)
    if type(value) not in kinds:
        bad(f"{fields.get('$')}: {name} is not {' or '.join(one.__name__ for one in kinds)}")
    return value


def only(fields: Fields, *names: str) -> None:
    if len(fields) != len(names) + 1 or any(name not in fields for name in names):
        bad(f"{fields.get('$')}: its fields must be {', '.join(names)}")


def text_of(fields: Fields, name: str, most: int) -> str:
    text: str = field(fields, name, str)
    if len(text) > most:
        bad(f"{fields.get('$')}: {name} is too long")
    return text


def bytes_of(fields: Fields, name: str = "v") -> bytes:
    text: str = field(fields, name, str)
    try:
        data = binascii.a2b_base64(text)
    except ValueError:
        bad(f"{fields.get('$')}: {name} is not base64")
    # a2b_base64 skips unknown characters; accept only the spelling that encode() uses.
    if binascii.b2a_base64(data, newline=False) != text.encode("ascii", "replace"):
        bad(f"{fields.get('$')}: {name} is not base64")
    return data


def whole(value: Any, least: int, most: int, what: str) -> int:
    if type(value) is not int or not least <= value <= most:
        bad(f"{what} is not a whole number from {least} to {most}")
    return value


def hashable(members: List[Any], what: str) -> List[Any]:
    """Refuses colliding hashes: numbers with the same hash are easy to make, and a set of them takes quadratic time."""
    hashes = hashes_of(members, what)
    if len(hashes) > MANY_MEMBERS and _budget.ends is not None:
        if not set(map(type, members)) <= {str, bytes}:  # their hashes are randomized
            _part("hash_collisions").check(hashes, what)
        return members
    counts: Dict[int, int] = {}
    for part in _parts_of(hashes):
        for one in part:
            counts[one] = counts.get(one, 0) + 1
    if counts and max(counts.values()) > MAX_SAME_HASHES:
        bad(f"{what}: too many members with the same hash")
    return members


def hashes_of(members: Iterable[Any], what: str) -> List[int]:
    try:
        return list(map(hash, members))
    except TypeError:
        bad(f"{what}: a member is not hashable")


def _parts_of(members: List[Any]) -> Iterator[List[Any]]:
    """A few at a time: numbers with different hashes can collide as well."""
    for start in range(0, len(members), _WORK_BETWEEN_LOOKS):
        yield members[start : start + _WORK_BETWEEN_LOOKS]
        look()


def _decode_int(fields: Fields, depth: int) -> int:
    only(fields, "v")
    text: str = field(fields, "v", str)
    digits = text[1:] if text[:1] == "-" else text
    if not digits or not set(digits) <= set("0123456789abcdef"):
        bad("int: not hexadecimal")
    return int(text, 16)


def _decode_tuple(fields: Fields, depth: int) -> Any:
    only(fields, "v")
    return tuple([value(item, depth) for item in field(fields, "v", list)])


def _decode_set(fields: Fields, depth: int) -> Any:
    only(fields, "v")
    members = hashable([value(item, depth) for item in field(fields, "v", list)], fields["$"])
    made: Set[Any] = set()
    for part in _parts_of(members):
        made.update(part)
    return made


def _decode_frozenset(fields: Fields, depth: int) -> Any:
    return frozenset(_decode_set(fields, depth))  # of a set: copies it without hashing


def _decode_dict(fields: Fields, depth: int) -> Dict[Any, Any]:
    only(fields, "v")
    keys: List[Any] = []
    items: List[Any] = []
    for pair in field(fields, "v", list):
        if type(pair) is not list or len(pair) != 2:
            bad("dict: not pairs")
        keys.append(value(pair[0], depth))
        items.append(value(pair[1], depth))
    made: Dict[Any, Any] = {}
    rest = iter(items)
    for part in _parts_of(hashable(keys, "dict")):
        made.update(zip(part, rest))
    return made


def _decode_bytes(make: Callable[[bytes], Any]) -> Callable[[Fields, int], Any]:
    def decode_bytes(fields: Fields, depth: int) -> Any:
        only(fields, "v")
        return make(bytes_of(fields))

    return decode_bytes


def _decode_complex(fields: Fields, depth: int) -> complex:
    only(fields, "v")
    parts = field(fields, "v", list)
    if len(parts) != 2 or any(type(part) not in (float, int) for part in parts):
        bad("complex: not two numbers")
    return complex(parts[0], parts[1])


_PARTS_BY_MODULE = {
    "datetime": "dates",
    "decimal": "dates",
    "uuid": "dates",
    "numpy": "arrays",
    "pandas": "frames",
}
_PARTS_BY_TAG = {
    **dict.fromkeys(("datetime", "date", "time", "timedelta", "decimal", "uuid"), "dates"),
    **dict.fromkeys(("ndarray", "npscalar"), "arrays"),
    **dict.fromkeys(("frame", "series", "index", "pdarray", "timestamp", "pdtimedelta", "nat", "na"), "frames"),
}

_DECODERS: Dict[str, Callable[[Fields, int], Any]] = {
    "int": _decode_int,
    "dict": _decode_dict,
    "tuple": _decode_tuple,
    "set": _decode_set,
    "frozenset": _decode_frozenset,
    "bytes": _decode_bytes(bytes),
    "bytearray": _decode_bytes(bytearray),
    "complex": _decode_complex,
}
