"""What a sandbox may send instead of a value: all of it is refused, quickly, and nothing is made of it."""

from __future__ import annotations

import base64
import json
import sys
import time
from typing import Any, List

import pytest

from glovebox.values import codec as values
from glovebox.values.codec import ResultRefused, decode, encode


def tagged(tag: Any, **fields: Any) -> str:
    return json.dumps({"$": tag, **fields})


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


TEXTS = {
    "no JSON": "hello",
    "nothing": "",
    "half": '{"a":',
    "two values": "1 2",
    "an unknown kind": tagged("os.system", v="id"),
    "a kind that is a module's": tagged("numpy.ndarray", v=1),
    "a kind that is no text": tagged(["set"], v=[]),
    "a kind that is null": tagged(None, v=[]),
    "a kind that is a number": tagged(1),
    "missing fields": tagged("set"),
    "fields too many": tagged("set", v=[], w=1),
    "a set of lists": tagged("set", v=[[1]]),
    "a set that is text": tagged("set", v="abc"),
    "a dict of lists": tagged("dict", v=[[[1], 2]]),
    "a dict of triples": tagged("dict", v=[[1, 2, 3]]),
    "a dict of text": tagged("dict", v=["ab"]),
    "bad base64": tagged("bytes", v="###"),
    "base64 with something between": tagged("bytes", v="YWJj\nYWJj"),
    "base64 without its end": tagged("bytes", v="YWJ"),
    "base64 that is not ASCII": tagged("bytes", v="YWJjé"),
    "bytes that are a number": tagged("bytes", v=5),
    "a number in no base": tagged("int", v="12g"),
    "a number with underscores": tagged("int", v="1_0"),
    "a number with a prefix": tagged("int", v="0x10"),
    "a number of nothing": tagged("int", v="-"),
    "a complex of texts": tagged("complex", v=["1", "2"]),
    "a datetime that is none": tagged("datetime", v="yesterday", fold=0, zone=None),
    "a datetime with two zones": tagged("datetime", v="2026-01-01T00:00:00+00:00", fold=0, zone="Europe/Berlin"),
    "a zone that is a path": tagged("datetime", v="2026-01-01T00:00:00", fold=0, zone="../../etc/passwd"),
    "a zone that is absolute": tagged("datetime", v="2026-01-01T00:00:00", fold=0, zone="/etc/localtime"),
    "an unknown zone": tagged("datetime", v="2026-01-01T00:00:00", fold=0, zone="Moon/Base"),
    "a zone that is a number": tagged("datetime", v="2026-01-01T00:00:00", fold=0, zone=1),
    "a fold of two": tagged("datetime", v="2026-01-01T00:00:00", fold=2, zone=None),
    "a date of the year 0": tagged("date", v="0000-01-01"),
    "a timedelta of texts": tagged("timedelta", v=["1", "2", "3"]),
    "a timedelta without end": tagged("timedelta", v=[10**30, 0, 0]),
    "a timedelta of NaN": '{"$":"timedelta","v":[NaN,0,0]}',
    "a decimal that is none": tagged("decimal", v="__import__('os')"),
    "a decimal of a million digits": tagged("decimal", v="1" * 1_000_000),
    "a uuid that is none": tagged("uuid", v="{12345678-1234-5678-1234-567812345678}"),
    "a bool as a number": tagged("timedelta", v=[True, 0, 0]),
}


@pytest.mark.parametrize("text", list(TEXTS.values()), ids=list(TEXTS))
def test_is_refused(text: str) -> None:
    with pytest.raises(ResultRefused):
        decode(text)


@pytest.mark.parametrize("text", list(TEXTS.values())[4:], ids=list(TEXTS)[4:])
def test_is_refused_within_another(text: str) -> None:
    for outer in ('{"a":[1,%s]}', '{"$":"tuple","v":[%s]}', '{"$":"dict","v":[["k",%s]]}'):
        with pytest.raises(ResultRefused):
            decode(outer % text)


def quickly(text: str, seconds: float = 10) -> None:
    """Refused, in a time (of the CPU: the machine may be busy) that a quadratic or an endless one is far from."""
    start = time.process_time()
    with pytest.raises(ResultRefused):
        decode(text)
    assert time.process_time() - start < seconds


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"$":"tuple","v":[', '{"$":"dict","v":[[1,'])
def test_deep_nesting(opening: str) -> None:
    quickly(opening * 200_000)
    closing = {"[": "]", '{"a":': "}", '{"$":"tuple","v":[': "]}", '{"$":"dict","v":[[1,': "]]}"}[opening]
    for depth in (150, 400, 5000):
        quickly(opening * depth + "1" + closing * depth)


def test_deep_nesting_where_the_program_raised_the_recursion_limit() -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000_000)  # on which json alone would overflow the stack
    try:
        quickly("[" * 2_000_000 + "]" * 2_000_000)
        quickly("[" * 2_000_000)
        assert decode('[["[[[[", {"a": ["\\\\", "]"]}]]') == [["[[[[", {"a": ["\\", "]"]}]]
    finally:
        sys.setrecursionlimit(before)


def test_a_number_of_millions_of_digits() -> None:
    quickly("1" * 3_000_000)
    quickly("[1." + "1" * 3_000_000 + "]")
    quickly("-" + "9" * 5_000)
    # The same digits in a text are a text.
    assert decode('"' + "1" * 3_000_000 + '"') == "1" * 3_000_000


def test_members_with_one_hash() -> None:
    modulus = sys.hash_info.modulus
    numbers = [{"$": "int", "v": format(modulus * place, "x")} for place in range(100_000)]
    quickly(json.dumps({"$": "set", "v": numbers}))
    quickly(json.dumps({"$": "dict", "v": [[one, 1] for one in numbers]}))
    tuples = [{"$": "tuple", "v": [one]} for one in numbers]
    quickly(json.dumps({"$": "frozenset", "v": tuples}))


def test_too_many_lists_and_items_are_refused() -> None:
    quickly("[" + "[]," * 3_000_000 + "[]]", 20)
    quickly("[" + "{}," * 3_000_000 + "{}]", 20)
    quickly("[" + "1," * 11_000_000 + "1]", 20)
    # In a text they are a text.
    assert len(decode('"' + "[{," * 3_000_000 + '"')) == 9_000_000


def test_more_text_than_is_read() -> None:
    with pytest.raises(ResultRefused, match="the limit is 10"):
        decode('"12345678901"', most=10)


def test_nothing_is_imported_by_a_name_in_the_text() -> None:
    before = set(sys.modules)
    for name in ("antigravity", "turtle", "value_dates", "glovebox.bench", "this"):
        with pytest.raises(ResultRefused):
            decode(tagged(name, v=1))
    assert not {"antigravity", "turtle", "this"} & (set(sys.modules) - before)


def probing_like(size: int, more: int) -> List[int]:
    """Numbers that in a dict's table of `size` look at most of those before them, all with hashes of their own."""
    orbit, place = [], 0
    for _ in range(size // 2):
        orbit.append(place)
        place = (5 * place + 1) % size
    # Each begins in the orbit and stays there while its high bits matter, which are few.
    where = {slot: number for number, slot in enumerate(orbit)}
    found: List[int] = []
    for high in range(1, 32):
        for slot in orbit:
            if where.get((slot * 5 + high * size // 32 + 1) % size, size) < size // 8 and high * size < 1 << 40:
                number = high * size + slot
                rest, at = number, slot
                while rest and at in where:
                    rest >>= 5
                    at = (at * 5 + rest + 1) % size
                if at in where and where[at] < size // 8:
                    found.append(number)
                    if len(found) == more:
                        return orbit + found
    return orbit + found


def test_numbers_that_collide_in_a_table_of_some_size() -> None:
    numbers = probing_like(1 << 17, 16_000)
    assert len(set(map(hash, numbers))) == len(numbers) > 70_000
    quickly(json.dumps({"$": "dict", "v": [[one, 1] for one in numbers]}))


@pytest.mark.parametrize(
    "numbers", [range(200_000), range(0, 200_000 << 30, 1 << 30), [one * 0.5 for one in range(200_000)]], ids=str
)
def test_large_sets_of_ordinary_numbers_are_decoded(numbers: Any) -> None:
    assert decode(encode(set(numbers))) == set(numbers)
    assert decode(encode(dict.fromkeys(numbers))) == dict.fromkeys(numbers)


def test_digits_just_short_of_too_many_take_no_time() -> None:
    text = json.dumps(("9" * 3999 + "x") * 2000)
    start = time.process_time()
    assert len(decode(text)) == 8_000_000
    assert time.process_time() - start < 5
    for before in (0, 1, 1999, 3999, 4000):
        with pytest.raises(ResultRefused, match="digits"):
            decode("[" + " " * before + "9" * 4001 + "]")


def test_what_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps([{"$": "tuple", "v": []}] * 100_000)
    assert len(decode(text)) == 100_000
    monkeypatch.setattr(values, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(values, "SECONDS_PER_CHARACTER", 0.0)
    for one in (text, json.dumps({"$": "set", "v": list(range(1000))}), json.dumps({"$": "dict", "v": [[1, 2]] * 99})):
        with pytest.raises(ResultRefused, match="takes too long"):
            decode(one)


def test_running_out_of_memory_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(values, "value", none)
    with pytest.raises(ResultRefused, match="not enough memory"):
        decode("[1]")
