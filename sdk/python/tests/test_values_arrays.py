"""numpy's and pandas' values as data, and what a sandbox may send for one."""

from __future__ import annotations

import base64
import datetime
import json
import sys
import time
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")

from glovebox.values.codec import ResultRefused, ValueRefused, decode, encode, from_tree, to_tree  # noqa: E402

ARRAYS = [
    numpy.arange(6).reshape(2, 3),
    numpy.arange(24, dtype="u2").reshape(2, 3, 4)[:, ::2],
    numpy.asfortranarray(numpy.ones((3, 2))),
    numpy.array(5.5),
    numpy.array([]),
    numpy.zeros((0, 3)),
    numpy.array([True, False]),
    numpy.array([1 + 2j]),
    numpy.array([1.5, numpy.nan, numpy.inf], "f4"),
    numpy.array([1.5], "f2"),
    numpy.array(["a", "bcd", "€😀"]),
    numpy.array([b"ab", b"c"]),
    numpy.array(["2026-01-01", "NaT"], "M8[D]"),
    numpy.array([1, 2], "m8[ms]"),
    numpy.arange(3, dtype=">i4"),
]
SCALARS = [
    numpy.float64(1.5),
    numpy.int8(-1),
    numpy.bool_(True),
    numpy.str_("x"),
    numpy.bytes_(b"x"),
    numpy.datetime64("2026-01-01T00:00:01"),
    numpy.timedelta64(5, "s"),
    numpy.complex64(1j),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda one: f"{one.dtype}{one.shape}")
def test_an_array_comes_back(array: Any) -> None:
    made = decode(encode({"x": [array]}))["x"][0]
    assert type(made) is numpy.ndarray
    assert made.shape == array.shape
    assert made.dtype == array.dtype.newbyteorder("=")
    numpy.testing.assert_array_equal(made, array)
    assert made.flags.writeable


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda one: one.dtype.str)
def test_a_scalar_comes_back(scalar: Any) -> None:
    made = decode(encode(scalar))
    assert type(made) is type(scalar)
    assert made == scalar
    assert made.dtype == scalar.dtype


def test_random_arrays_come_back() -> None:
    random = numpy.random.default_rng(1)
    for _ in range(300):
        shape = tuple(random.integers(0, 5, size=random.integers(0, 4)))
        kind = random.choice(["i1", "<i8", ">u4", "f4", "f8", "c16", "?", "U3", "S2", "M8[s]"])
        array = random.integers(0, 100, size=shape).astype(kind)
        made = decode(encode(array))
        assert made.shape == array.shape
        numpy.testing.assert_array_equal(made, array)


@pytest.mark.parametrize(
    "array",
    [
        numpy.array([object()], dtype=object),
        numpy.zeros(2, dtype=[("a", "i4")]),
        numpy.zeros(2, dtype="V3"),
        numpy.zeros(2, dtype=numpy.longdouble),
        numpy.ma.array([1, 2], mask=[True, False]),
        numpy.recarray((1,), dtype=[("a", "i4")]),
    ],
    ids=lambda one: f"{type(one).__name__} {one.dtype}",
)
def test_an_array_that_cannot_be_sent(array: Any) -> None:
    with pytest.raises(ValueRefused, match="cannot be sent"):
        encode(array)


def bytes_of(*data: int) -> str:
    return base64.b64encode(bytes(data)).decode()


HOSTILE = {
    "objects": {"dtype": "|O", "shape": [1], "v": bytes_of(*range(8))},
    "objects by letter": {"dtype": "O8", "shape": [1], "v": bytes_of(*range(8))},
    "objects by name": {"dtype": "object", "shape": [1], "v": bytes_of(*range(8))},
    "objects in a record": {"dtype": "O,i4", "shape": [1], "v": bytes_of(*range(12))},
    "a record": {"dtype": "i4,i4", "shape": [1], "v": bytes_of(*range(8))},
    "a subarray": {"dtype": "(1000,1000,1000)i4", "shape": [], "v": ""},
    "raw memory": {"dtype": "|V8", "shape": [1], "v": bytes_of(*range(8))},
    "a long double": {"dtype": "<f16", "shape": [1], "v": bytes_of(*range(16))},
    "a type that is a list": {"dtype": [["a", "O"]], "shape": [1], "v": bytes_of(*range(8))},
    "a type with a line after": {"dtype": "<i8\n", "shape": [1], "v": bytes_of(*range(8))},
    "a big shape of few bytes": {"dtype": "<i8", "shape": [1 << 40], "v": bytes_of(*range(8))},
    "a shape that overflows": {"dtype": "<i8", "shape": [1 << 32, 1 << 32], "v": ""},
    "a shape beyond all bounds": {"dtype": "<i8", "shape": [10**30], "v": ""},
    "a big shape of nothing": {"dtype": "|S0", "shape": [1 << 40], "v": ""},
    "a negative shape": {"dtype": "<i8", "shape": [-1], "v": bytes_of(*range(8))},
    "two negative lengths": {"dtype": "<i8", "shape": [-1, -1], "v": bytes_of(*range(8))},
    "a shape of texts": {"dtype": "<i8", "shape": ["1"], "v": bytes_of(*range(8))},
    "a shape of bools": {"dtype": "<i8", "shape": [True], "v": bytes_of(*range(8))},
    "a shape that is a number": {"dtype": "<i8", "shape": 1, "v": bytes_of(*range(8))},
    "too many dimensions": {"dtype": "|i1", "shape": [1] * 1000, "v": bytes_of(1)},
    "fewer bytes": {"dtype": "<i8", "shape": [2], "v": bytes_of(*range(8))},
    "more bytes": {"dtype": "<i8", "shape": [], "v": bytes_of(*range(9))},
    "bad base64": {"dtype": "<i8", "shape": [1], "v": "AAAA AAAA AAA="},
    "a bool that is neither": {"dtype": "|b1", "shape": [2], "v": bytes_of(1, 255)},
    "a character that there is not": {"dtype": "<U1", "shape": [1], "v": bytes_of(255, 255, 255, 255)},
    "a unit that there is not": {"dtype": "<M8[xs]", "shape": [1], "v": bytes_of(*range(8))},
    "a unit of zero": {"dtype": "<M8[0s]", "shape": [1], "v": bytes_of(*range(8))},
}


@pytest.mark.parametrize("fields", list(HOSTILE.values()), ids=list(HOSTILE))
def test_a_hostile_array_is_refused(fields: Any) -> None:
    with pytest.raises(ResultRefused):
        decode(json.dumps({"$": "ndarray", **fields}))


def test_a_hostile_scalar_is_refused() -> None:
    for dtype, data in (("|O", bytes_of(*range(8))), ("<i8", ""), ("<i8", bytes_of(*range(16)))):
        with pytest.raises(ResultRefused):
            decode(json.dumps({"$": "npscalar", "dtype": dtype, "v": data}))


# --- pandas -------------------------------------------------------------------------------------------

pandas: Any = pytest.importorskip("pandas")


def full_frame() -> Any:
    return pandas.DataFrame(
        {
            "whole": [1, 2, 3],
            "text": ["x", None, "z"],
            "part": [1.5, numpy.nan, 2],
            "category": pandas.Categorical(["u", "v", None], categories=["v", "u"], ordered=True),
            "numbers as categories": pandas.Categorical([1, 2, 1]),
            "date": pandas.to_datetime(["2026-01-01", None, "2026-03-01"]),
            "berlin": pandas.date_range("2026-03-28", periods=3, tz="Europe/Berlin"),
            "utc": pandas.date_range("2026-03-28", periods=3, tz="UTC"),
            "offset": pandas.date_range("2026", periods=3, tz=datetime.timezone(datetime.timedelta(hours=2))),
            "delta": pandas.to_timedelta([1, 2, None], unit="s"),
            "Int64": pandas.array([1, None, 2**62 + 1], dtype="Int64"),
            "UInt8": pandas.array([1, None, 3], dtype="UInt8"),
            "Float64": pandas.array([1.5, None, 2], dtype="Float64"),
            "boolean": pandas.array([True, None, False], dtype="boolean"),
            "string": pandas.array(["a", None, "c"], dtype="string"),
            "bool": [True, False, True],
            "mixed": [(1, 2), {"a": b"x"}, datetime.date(2026, 1, 1)],
            ("a", "tuple"): [1, 2, 3],
        }
    )


def frames() -> Any:
    full = full_frame()
    wide = full[["whole", "part"]].T
    wide.columns = pandas.MultiIndex.from_tuples([("x", 1), ("x", 2), ("y", 1)], names=["p", None])
    return {
        "full": full,
        "an index of texts": full.set_index("text"),
        "an index of dates": full.set_index("berlin"),
        "an index of two": full.set_index(["whole", "category"]),
        "columns of two": wide,
        "one name twice": pandas.DataFrame([[1, "a"]], columns=["a", "a"]),
        "names that are numbers": pandas.DataFrame([[1, 2]], columns=[5, 6]),
        "another range": full[1:],
        "empty": pandas.DataFrame(),
        "no columns": pandas.DataFrame(index=[1, 2]),
        "no rows": full[:0],
    }


@pytest.mark.parametrize("name", list(frames()))
def test_a_frame_comes_back(name: str) -> None:
    frame = frames()[name]
    pandas.testing.assert_frame_equal(decode(encode(frame)), frame, check_freq=False)


@pytest.mark.parametrize("name", [str(name) for name in full_frame()])
def test_a_series_and_an_index_come_back(name: str) -> None:
    series = next(full_frame()[one] for one in full_frame() if str(one) == name)
    pandas.testing.assert_series_equal(decode(encode(series)), series)
    if name != "mixed":
        index = pandas.Index(series)
        pandas.testing.assert_index_equal(decode(encode(index)), index)


def test_pandas_scalars_come_back() -> None:
    for one in (
        pandas.Timestamp("2026-01-01T00:00:00.000000123"),
        pandas.Timestamp("2026-01-01", tz="Europe/Berlin"),
        pandas.Timedelta(5, "ns"),
    ):
        made = decode(encode(one))
        assert made == one and type(made) is type(one) and getattr(made, "tz", None) == getattr(one, "tz", None)
    assert decode(encode(pandas.NaT)) is pandas.NaT
    assert decode(encode(pandas.NA)) is pandas.NA


def test_what_of_pandas_cannot_be_sent_says_which_column() -> None:
    frame = pandas.DataFrame({"a": pandas.period_range("2026", periods=2), "b": [object(), 1]})
    with pytest.raises(ValueRefused, match=r"column 'a'.*period"):
        encode(frame)
    with pytest.raises(ValueRefused, match=r"column 'b'.*object"):
        encode(frame[["b"]])


def whole(*numbers: int) -> Any:
    return {"k": "plain", "v": json.loads(encode(numpy.array(numbers)))}


DATES = json.loads(encode(numpy.array([1, 2], "M8[ns]")))
MASK = json.loads(encode(numpy.array([True, False])))
ROWS = {"k": "range", "v": [0, 2, 1], "name": None}
ONE = {"k": "plain", "v": {"k": "objects", "v": ["a"]}, "name": None}
HOSTILE_FRAMES = {
    "columns without names": {"columns": ROWS, "index": ROWS, "v": [whole(1, 2)]},
    "columns of another length": {"columns": ONE, "index": ROWS, "v": [whole(1, 2, 3)]},
    "rows without end": {"columns": ONE, "index": {"k": "range", "v": [0, 1 << 60, 1], "name": None}, "v": [whole(1)]},
    "a range of no step": {"columns": ONE, "index": {"k": "range", "v": [0, 2, 0], "name": None}, "v": [whole(1, 2)]},
    "a range of texts": {"columns": ONE, "index": {"k": "range", "v": ["0", 2, 1], "name": None}, "v": [whole(1, 2)]},
    "a matrix as a column": {
        "columns": ONE,
        "index": ROWS,
        "v": [{"k": "plain", "v": json.loads(encode(numpy.ones((2, 2))))}],
    },
    "a list as a column": {"columns": ONE, "index": ROWS, "v": [[1, 2]]},
    "an unknown column": {"columns": ONE, "index": ROWS, "v": [{"k": "pickle", "v": "gASVAAAA"}]},
    "a string column of numbers": {"columns": ONE, "index": ROWS, "v": [{"k": "string", "v": [1, 2]}]},
    "a name that has no hash": {"columns": {**ONE, "name": [1]}, "index": ROWS, "v": [whole(1, 2)]},
    "names that have no hash": {
        "columns": {"k": "plain", "v": {"k": "objects", "v": [[1]]}, "name": None},
        "index": ROWS,
        "v": [whole(1, 2)],
    },
    "codes without a category": {
        "columns": ONE,
        "index": ROWS,
        "v": [{"k": "category", "codes": whole(0, 7)["v"], "categories": ONE, "ordered": False}],
    },
    "negative codes": {
        "columns": ONE,
        "index": ROWS,
        "v": [{"k": "category", "codes": whole(0, -2)["v"], "categories": ONE, "ordered": False}],
    },
    "a mask of another length": {
        "columns": ONE,
        "index": ROWS,
        "v": [
            {"k": "masked", "dtype": "Int64", "v": whole(1, 2)["v"], "mask": json.loads(encode(numpy.array([True])))}
        ],
    },
    "a mask of numbers": {
        "columns": ONE,
        "index": ROWS,
        "v": [{"k": "masked", "dtype": "Int64", "v": whole(1, 2)["v"], "mask": whole(0, 1)["v"]}],
    },
    "a masked type of another": {
        "columns": ONE,
        "index": ROWS,
        "v": [
            {
                "k": "masked",
                "dtype": "category",
                "v": whole(1, 2)["v"],
                "mask": MASK,
            }
        ],
    },
    "dates that are numbers": {
        "columns": ONE,
        "index": ROWS,
        "v": [{"k": "datetimetz", "zone": "UTC", "v": whole(1, 2)["v"]}],
    },
    "a zone that is a path": {
        "columns": ONE,
        "index": ROWS,
        "v": [{"k": "datetimetz", "zone": "/etc/passwd", "v": DATES}],
    },
    "a zone for dateutil": {
        "columns": ONE,
        "index": ROWS,
        "v": [{"k": "datetimetz", "zone": "dateutil//etc/passwd", "v": DATES}],
    },
    "an offset without end": {
        "columns": ONE,
        "index": ROWS,
        "v": [{"k": "datetimetz", "zone": "offset:99999999", "v": DATES}],
    },
    "levels of two lengths": {
        "columns": ONE,
        "index": {"k": "multi", "v": [whole(1, 2), whole(1)], "names": [None, None]},
        "v": [whole(1, 2)],
    },
    "an index without levels": {"columns": ONE, "index": {"k": "multi", "v": [], "names": []}, "v": [whole(1, 2)]},
}


@pytest.mark.parametrize("fields", list(HOSTILE_FRAMES.values()), ids=list(HOSTILE_FRAMES))
def test_a_hostile_frame_is_refused(fields: Any) -> None:
    with pytest.raises(ResultRefused):
        decode(json.dumps({"$": "frame", **fields}))


def test_the_frame_behind_the_hostile_ones_is_valid() -> None:
    made = decode(json.dumps({"$": "frame", "columns": ONE, "index": ROWS, "v": [whole(1, 2)]}))
    pandas.testing.assert_frame_equal(made, pandas.DataFrame({"a": [1, 2]}), check_column_type=False)


def test_a_frame_nested_in_columns_without_end_is_refused() -> None:
    tree: Any = 1
    for _ in range(200):
        tree = {
            "$": "series",
            "index": {"k": "range", "v": [0, 1, 1], "name": None},
            "name": None,
            "v": {"k": "objects", "v": [tree]},
        }
    with pytest.raises(ResultRefused):
        decode(json.dumps(tree))


def test_a_range_that_needs_no_bytes_is_bounded() -> None:
    with pytest.raises(ResultRefused):
        decode(json.dumps({"$": "index", "v": {"k": "range", "v": [0, 1 << 50, 1], "name": None}}))


def test_ranges_are_only_valid_as_an_index() -> None:
    big = {"k": "range", "v": [0, 1 << 31, 1], "name": None}
    codes = {"$": "ndarray", "dtype": "|i1", "shape": [1], "v": bytes_of(0)}
    category = {"k": "category", "codes": codes, "categories": big, "ordered": False}
    for fields in (
        {"$": "index", "v": {"k": "multi", "v": [category], "names": [None]}},
        {"$": "index", "v": {"k": "plain", "v": category, "name": None}},
        {"$": "pdarray", "v": category},
        {"$": "frame", "columns": {"k": "range", "v": [0, 0, 1], "name": None}, "index": big, "v": []},
    ):
        with pytest.raises(ResultRefused, match="range"):
            decode(json.dumps(fields))
    few = pandas.Categorical([1, 2], categories=pandas.RangeIndex(100))
    assert list(decode(encode(few)).categories) == list(range(100))


def test_many_levels_and_many_frames_are_refused() -> None:
    start = time.process_time()
    empty = {"k": "objects", "v": []}
    level = {"$": "index", "v": {"k": "multi", "v": [empty] * 101, "names": [None] * 101}}
    with pytest.raises(ResultRefused, match="levels"):
        decode(json.dumps(level))
    level["v"] = {"k": "multi", "v": [empty] * 20, "names": [None] * 20}
    with pytest.raises(ResultRefused, match="too long"):
        from_tree([level] * 10_000, 1.0)
    assert time.process_time() - start < 10


@pytest.mark.parametrize("kind", ["index", "multi", "objects"])
def test_an_index_of_colliding_numbers_is_refused(kind: str) -> None:
    same = colliding(50_000)
    start = time.process_time()
    made = pandas.MultiIndex.from_arrays([[1]]) if kind == "multi" else pandas.Index([1])
    tree = to_tree(made)
    column = {"k": "plain", "v": to_tree(same)}
    if kind == "objects":
        column = {"k": "objects", "v": [to_tree(sys.hash_info.modulus * place) for place in range(20_000)]}
    tree["v"]["v"] = [column] if kind == "multi" else column
    with pytest.raises(ResultRefused, match="collisions"):
        from_tree(tree)
    assert time.process_time() - start < 10


def pandas_hashes(numbers: Any) -> Any:
    keys = numbers.view("u8")
    return ((keys >> numpy.uint64(33)) ^ keys ^ (keys << numpy.uint64(11))).astype("u4")


def colliding(count: int) -> Any:
    """Numbers of 64 bits that pandas' tables take for one until they compare them."""
    high = numpy.arange(count, dtype="u8") << numpy.uint64(33)
    # The lower half undoes what the upper one adds: solved bit by bit, from the lowest.
    low = numpy.zeros(count, "u8")
    for bit in range(32):
        keys = high | low
        wrong = (pandas_hashes(keys).astype("u8") >> numpy.uint64(bit)) & numpy.uint64(1)
        low |= wrong << numpy.uint64(bit)
    made = (high | low).view("i8")
    assert len(set(pandas_hashes(made).tolist())) == 1 and len(set(made.tolist())) == count
    return made


def test_an_index_with_the_same_member_often_comes_back() -> None:
    for index in (
        pandas.Index(["a"] * 100 + ["b"]),
        pandas.Index([1, "a"] * 3000),
        pandas.MultiIndex.from_product([["a", "b"], range(3000)]),
        pandas.MultiIndex.from_arrays([pandas.date_range("2026", periods=3000, tz="Europe/Berlin")]),
    ):
        assert decode(encode(index)).equals(index)
