"""Values as data: what goes out comes back equal, and of the same type."""

from __future__ import annotations

import datetime
import decimal
import math
import random
import uuid
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from glovebox.values.codec import MAX_DEPTH, ValueRefused, decode, encode

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
VALUES = [
    None,
    True,
    0,
    -1,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    10**5000,
    1.5,
    -0.0,
    1e308,
    math.inf,
    "",
    "é€😀",
    "\x00\x1f\u2028",
    "lone \udc80 surrogate",
    b"",
    bytes(range(256)),
    bytearray(b"x"),
    1 - 2j,
    [],
    [1, [2.5, None], "x"],
    (),
    (1, (2, [3])),
    set(),
    {1, "a", (2, 3)},
    frozenset({1}),
    {},
    {"a": {"b": (1,)}},
    {"$": "set", "v": [1]},  # a dict that looks like one of ours
    {1: "a", (2, "x"): None, None: 1, 2.5: 2, b"k": 3},
    [1, 2**70],
    datetime.datetime(2026, 1, 2, 3, 4, 5, 678),
    datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc),
    datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))),
    datetime.datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN),
    datetime.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=BERLIN),
    datetime.datetime.max,
    datetime.date(1, 1, 1),
    datetime.time(23, 59, 59, 999999),
    datetime.time(1, 2, tzinfo=datetime.timezone.utc),
    datetime.timedelta(-3, 4, 5),
    datetime.timedelta.max,
    decimal.Decimal("1.50"),
    decimal.Decimal("-1E+30"),
    decimal.Decimal("Infinity"),
    uuid.UUID(int=5),
]


def same(one: Any, other: Any) -> bool:
    """Equal, of equal types all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other))
    if isinstance(one, dict):
        return len(one) == len(other) and all(same(a, b) and same(one[a], other[b]) for a, b in zip(one, other))
    if isinstance(one, float):
        return repr(one) == repr(other)
    if isinstance(one, datetime.datetime):
        return bool(one == other) and one.fold == other.fold and one.tzinfo == other.tzinfo
    return bool(one == other)


@pytest.mark.parametrize("value", VALUES, ids=[f"{place} {type(one).__name__}" for place, one in enumerate(VALUES)])
def test_values_round_trip(value: Any) -> None:
    text = encode(value)
    assert text.isascii()
    assert same(decode(text), value)


def test_nan_round_trips() -> None:
    assert math.isnan(decode(encode(math.nan)))


def random_value(random_: random.Random, depth: int = 0) -> Any:
    if depth > 4 or random_.random() < 0.4:
        value = random_.choice(VALUES[:20])
        return value if not isinstance(value, bytearray) else bytes(value)
    size = random_.randrange(4)
    kind = random_.randrange(4)
    if kind == 0:
        return [random_value(random_, depth + 1) for _ in range(size)]
    if kind == 1:
        return tuple(random_value(random_, depth + 1) for _ in range(size))
    if kind == 2:
        return {random_.choice("abc$"): random_value(random_, depth + 1) for _ in range(size)}
    return {random_.choice((1, "x", None, 2.5, (1, "y"))): random_value(random_, depth + 1) for _ in range(size)}


def test_random_values_come_back() -> None:
    for seed in range(2000):
        value = random_value(random.Random(seed))
        assert same(decode(encode(value)), value), (seed, value)


def test_dicts_of_the_standard_library_come_back_as_dicts() -> None:
    for value in (OrderedDict(a=1), defaultdict(int, a=1), Counter("a")):
        assert same(decode(encode(value)), {"a": 1})


def test_a_zone_of_another_kind_keeps_its_offset() -> None:
    class Odd(datetime.tzinfo):
        def utcoffset(self, when: Any) -> datetime.timedelta:
            return datetime.timedelta(hours=5)

        def dst(self, when: Any) -> None:
            return None

        def tzname(self, when: Any) -> str:
            return "odd"

    value = datetime.datetime(2026, 1, 1, tzinfo=Odd())
    assert decode(encode(value)) == value


@dataclass
class Point:
    x: int


class Colour(Enum):
    RED = 1


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (object(), "None, bool, int"),
        (Point(1), "asdict"),
        (Colour.RED, ".value"),
        (Pair(1, 2), "tuple(it)"),
        (range(3), "list(it)"),
        (iter([1]), "list(it)"),
        ((x for x in "ab"), "list(it)"),
        ({}.keys(), "list(it)"),
        (print, "send data"),
        (Point, "send data"),
        (Path("/x"), "str(it)"),
        (ValueError("x"), "raise it"),
        (type("Text", (str,), {})("x"), "str(it)"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_cannot_be_sent_is_refused_with_advice(value: Any, advice: str) -> None:
    with pytest.raises(ValueRefused) as caught:
        encode([{"a": value}])
    assert advice in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_value_that_contains_itself_is_refused() -> None:
    value: Any = []
    value.append(value)
    with pytest.raises(ValueRefused, match="contain itself"):
        encode(value)


def test_nesting_up_to_the_bound() -> None:
    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = [value]
    assert decode(encode(value)) == value
    with pytest.raises(ValueRefused):
        encode([value])
