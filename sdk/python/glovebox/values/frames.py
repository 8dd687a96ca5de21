"""Encodes pandas frames, series, indexes and scalars, column by column; loaded on demand by codec.py.

A column is encoded by its type: bytes of numpy, a list of strings, values and a mask, codes and categories. Not
sent: periods, intervals, sparse columns, types of extensions, the `freq` of an index, `attrs`.
"""

from __future__ import annotations

import datetime
import time
from typing import Any, Callable, Dict, List, Optional

import numpy
import pandas

try:
    from . import arrays as value_arrays
    from . import codec as values
    from . import dates as value_dates
except ImportError:  # inside a sandbox
    values = load("values")  # type: ignore[name-defined]  # noqa: F821
    value_arrays = load("value_arrays")  # type: ignore[name-defined]  # noqa: F821
    value_dates = load("value_dates")  # type: ignore[name-defined]  # noqa: F821

MAX_COLUMNS = 100_000
MAX_ROWS = 1 << 31  # of a range, which needs no bytes: only the labels of rows
MAX_EMPTY_ROWS = 10_000_000  # of a frame without columns
MAX_LEVELS = 100
MAX_UNUSED = 256  # categories that are a range and outnumber the rows of their column
# The cost of one index or column, for values.work().
_WORK = 16
_SECONDS_PER_MEMBER = 3e-6  # about 20 times the usual
_FEW = 512  # members of an index that are fast even if they collide
_MASKED: Dict[str, Callable[[Any, Any], Any]] = {
    **{f"{sign}nt{bits}": pandas.arrays.IntegerArray for sign in ("I", "UI") for bits in (8, 16, 32, 64)},
    **{f"Float{bits}": pandas.arrays.FloatingArray for bits in (32, 64) if hasattr(pandas.arrays, "FloatingArray")},
    "boolean": pandas.arrays.BooleanArray,
}
# pandas' wrapper of a numpy array; it has had two names.
_WRAPPED = getattr(pandas.arrays, "NumpyExtensionArray", None) or pandas.arrays.PandasArray
_STRINGS = ("string", "str")
_OFFSET = "offset:"


# --- encode -----------------------------------------------------------------------------------------


def to_tree(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is pandas.DataFrame:
        return _frame_tree(value, depth)
    if kind is pandas.Series:
        return {
            "$": "series",
            "index": index_tree(value.index, depth),
            "name": values.to_tree(value.name, depth + 1),
            "v": _column_tree(value.array, depth),
        }
    if isinstance(value, pandas.Index):
        return {"$": "index", "v": index_tree(value, depth)}
    if value is pandas.NaT:
        return {"$": "nat"}
    if value is pandas.NA:
        return {"$": "na"}
    if kind is pandas.Timestamp:
        return {"$": "timestamp", "ns": _nanoseconds(value), "zone": _zone_text(value.tzinfo)}
    if kind is pandas.Timedelta:
        return {"$": "pdtimedelta", "ns": _nanoseconds(value)}
    if isinstance(value, pandas.api.extensions.ExtensionArray):
        return {"$": "pdarray", "v": _column_tree(value, depth)}
    return None


def _nanoseconds(value: Any) -> int:
    """Nanoseconds, also if pandas counts in coarser units."""
    return int(value.as_unit("ns").value) if hasattr(value, "as_unit") else int(value.value)


def _frame_tree(frame: Any, depth: int) -> Any:
    columns = []
    for place in range(frame.shape[1]):
        try:
            columns.append(_column_tree(frame.iloc[:, place].array, depth))
        except values.ValueRefused as error:
            raise values.ValueRefused(f"column {frame.columns[place]!r}: {error}") from None
    return {
        "$": "frame",
        "columns": index_tree(frame.columns, depth),
        "index": index_tree(frame.index, depth),
        "v": columns,
    }


def index_tree(index: Any, depth: int) -> Any:
    if isinstance(index, pandas.RangeIndex):
        bounds = [index.start, index.stop, index.step]
        return {"k": "range", "v": bounds, "name": values.to_tree(index.name, depth + 1)}
    if isinstance(index, pandas.MultiIndex):
        levels = [_column_tree(index.get_level_values(place).array, depth) for place in range(index.nlevels)]
        return {"k": "multi", "v": levels, "names": [values.to_tree(name, depth + 1) for name in index.names]}
    return {"k": "plain", "v": _column_tree(index.array, depth), "name": values.to_tree(index.name, depth + 1)}


def _column_tree(array: Any, depth: int) -> Any:
    if type(array) is _WRAPPED:
        array = array.to_numpy()
    kind = array.dtype
    if isinstance(kind, pandas.CategoricalDtype):
        return {
            "k": "category",
            "codes": value_arrays.array_tree(numpy.asarray(array.codes)),
            "categories": index_tree(kind.categories, depth),
            "ordered": bool(kind.ordered),
        }
    if isinstance(kind, pandas.DatetimeTZDtype):
        in_utc = array.tz_convert("UTC").tz_localize(None)
        return {"k": "datetimetz", "zone": _zone_text(kind.tz), "v": value_arrays.array_tree(numpy.asarray(in_utc))}
    if isinstance(kind, pandas.StringDtype):
        texts = [None if missing else str(text) for text, missing in zip(array, array.isna())]
        return {"k": "str" if str(kind) == "str" else "string", "v": texts}
    if str(kind) in _MASKED:
        mask = numpy.asarray(array.isna())
        plain = numpy.asarray(array.to_numpy(dtype=kind.numpy_dtype, na_value=kind.numpy_dtype.type(0)))
        return {
            "k": "masked",
            "dtype": str(kind),
            "v": value_arrays.array_tree(plain),
            "mask": value_arrays.array_tree(mask),
        }
    if isinstance(kind, numpy.dtype) and kind.hasobject:
        return {"k": "objects", "v": [values.to_tree(item, depth + 1) for item in array]}
    if isinstance(kind, numpy.dtype):
        return {"k": "plain", "v": value_arrays.array_tree(numpy.asarray(array))}
    raise values.ValueRefused(f"pandas' type {kind} cannot be sent: convert it (it.astype, it.to_numpy) first")


def _zone_text(zone: Any) -> Optional[str]:
    """The name of a zone, or its offset in seconds."""
    if zone is None:
        return None
    name = value_dates.zone_name(zone)
    if name is not None:
        return name
    offset = zone.utcoffset(datetime.datetime(2000, 1, 1))
    return _OFFSET + str(int(offset.total_seconds()))


# --- decode -----------------------------------------------------------------------------------------


def _zone(text: Any) -> Any:
    if type(text) is str and text.startswith(_OFFSET) and len(text) < 20:
        seconds = values.whole(int(text[len(_OFFSET) :]), -86_399, 86_399, "a time zone's offset")
        return datetime.timezone(datetime.timedelta(seconds=seconds))
    value_dates.zone_of(text)  # refuses an unknown zone
    return text  # pandas turns the name into a zone of pytz or zoneinfo


def _parts(tree: Any, *names: str) -> Dict[str, Any]:
    if type(tree) is not dict or set(tree) != {"k", *names}:
        values.bad(f"a column or an index: its fields are k, {', '.join(names)}")
    return tree


def _list(fields: Dict[str, Any], name: str) -> List[Any]:
    value = fields[name]
    if type(value) is not list:
        values.bad(f"a column or an index: {name} is not a list")
    return value


def _vector(tree: Any, depth: int) -> Any:
    """A numpy array of one dimension."""
    array = values.value(tree, depth)
    if type(array) is not numpy.ndarray or array.ndim != 1:
        values.bad("a column: not an array of one dimension")
    return array


def _column(tree: Any, depth: int) -> Any:
    if depth > values.MAX_DEPTH:
        values.bad("nested too deep")
    values.work(_WORK)
    kind = tree.get("k") if type(tree) is dict else None
    if kind == "plain":
        return _vector(_parts(tree, "v")["v"], depth)
    if kind == "objects":
        made = [values.value(item, depth + 1) for item in _list(_parts(tree, "v"), "v")]
        array = numpy.empty(len(made), object)
        for place, item in enumerate(made):  # numpy would unpack lists
            array[place] = item
        return array
    if kind in _STRINGS:
        return _strings(_list(_parts(tree, "v"), "v"), kind)
    if kind == "masked":
        return _masked(_parts(tree, "dtype", "v", "mask"), depth)
    if kind == "category":
        return _category(_parts(tree, "codes", "categories", "ordered"), depth)
    if kind == "datetimetz":
        fields = _parts(tree, "zone", "v")
        array = _vector(fields["v"], depth)
        if array.dtype.kind != "M":
            values.bad("datetimetz: not dates")
        return pandas.DatetimeIndex(array).tz_localize("UTC").tz_convert(_zone(fields["zone"])).array
    values.bad("unsupported kind of column")


def _strings(texts: List[Any], kind: str) -> Any:
    if not set(map(type, texts)) <= {str, type(None)}:
        values.bad("string: a column with other values")
    try:
        return pandas.array(texts, dtype=kind)
    except TypeError:  # pandas before 3 has no "str"
        return numpy.array(texts, dtype=object)


def _masked(fields: Dict[str, Any], depth: int) -> Any:
    name = fields["dtype"]
    make = _MASKED.get(name) if type(name) is str else None
    if make is None:
        values.bad("masked: unsupported type")
    data, mask = _vector(fields["v"], depth), _vector(fields["mask"], depth)
    if data.dtype != pandas.api.types.pandas_dtype(name).numpy_dtype or mask.dtype != bool or len(data) != len(mask):
        values.bad("masked: values and mask do not match")
    return make(data, mask)


def _category(fields: Dict[str, Any], depth: int) -> Any:
    codes = _vector(fields["codes"], depth)
    categories = _index(fields["categories"], depth + 1, most=max(len(codes), MAX_UNUSED))
    if codes.dtype.kind != "i" or type(fields["ordered"]) is not bool:
        values.bad("category: its codes must be whole numbers")
    if len(codes) and (codes.min() < -1 or codes.max() >= len(categories)):
        values.bad("category: a code without a category")
    return pandas.Categorical.from_codes(codes, categories=categories, ordered=fields["ordered"])


def _index(tree: Any, depth: int, most: int = MAX_ROWS) -> Any:
    """`most`: the limit for a range, which pandas turns into an array at first use."""
    if depth > values.MAX_DEPTH:
        values.bad("nested too deep")
    values.work(_WORK)
    kind = tree.get("k") if type(tree) is dict else None
    if kind == "range":
        fields = _parts(tree, "v", "name")
        bounds = _list(fields, "v")
        if len(bounds) != 3:
            values.bad("range: not three numbers")
        start, stop, step = (values.whole(one, -(1 << 62), 1 << 62, "range: a bound") for one in bounds)
        if step == 0 or len(range(start, stop, step)) > most:
            values.bad("range: invalid or too long")
        return pandas.RangeIndex(start, stop, step, name=_name(fields["name"], depth))
    if kind == "multi":
        fields = _parts(tree, "v", "names")
        if len(_list(fields, "v")) > MAX_LEVELS:
            values.bad(f"multi: more than {MAX_LEVELS} levels")
        levels = [_column(one, depth + 1) for one in fields["v"]]
        names = [_name(one, depth) for one in _list(fields, "names")]
        if not levels or len(levels) != len(names) or len({len(one) for one in levels}) != 1:
            values.bad("multi: levels and names do not match")
        _check_members(levels)
        return pandas.MultiIndex.from_arrays(levels, names=names)
    if kind == "plain":
        fields = _parts(tree, "v", "name")
        column = _column(fields["v"], depth + 1)
        _check_members([column])
        is_mixed = isinstance(column, numpy.ndarray) and column.dtype.hasobject
        name = _name(fields["name"], depth)
        return pandas.Index(column, dtype=object if is_mixed else None, name=name, tupleize_cols=False)
    values.bad("unsupported kind of index")


def _check_members(columns: List[Any]) -> None:
    """Refuses colliding members: pandas builds a hash table of an index at the first lookup."""
    for column in columns:
        if hasattr(column, "asi8"):  # dates with a zone
            column = column.asi8
        elif str(column.dtype) in _MASKED:
            column = column.to_numpy(dtype=column.dtype.numpy_dtype, na_value=column.dtype.numpy_dtype.type(0))
        if not isinstance(column, numpy.ndarray):
            continue
        if column.dtype.hasobject:
            values.hashes_of(column, "index")
        if len(column) > _FEW and column.dtype.kind not in "US":
            _check_spread(column)


def _check_spread(column: Any) -> None:
    """Times the hash table of pandas with a random part: one that takes quadratic time shows it."""
    mixed = numpy.random.default_rng().permutation(column)
    size = _FEW
    while True:
        start = time.thread_time()
        pandas.unique(mixed[:size])
        if time.thread_time() - start > 0.005 + size * _SECONDS_PER_MEMBER:
            values.bad("index: too many hash collisions")
        values.look()
        if size >= len(mixed):
            return
        size *= 2


def _name(tree: Any, depth: int) -> Any:
    name = values.value(tree, depth + 1)
    values.hashable([name], "index: its name")
    return name


def _decode_frame(fields: Dict[str, Any], depth: int) -> Any:
    values.only(fields, "columns", "index", "v")
    trees = values.field(fields, "v", list)
    if len(trees) > MAX_COLUMNS:
        values.bad(f"frame: {len(trees)} columns")
    # Without columns, no bytes bound the number of rows.
    names = _index(fields["columns"], depth, most=len(trees))
    index = _index(fields["index"], depth, most=MAX_ROWS if trees else MAX_EMPTY_ROWS)
    columns = [_column(one, depth) for one in trees]
    if len(names) != len(columns) or any(len(one) != len(index) for one in columns):
        values.bad("frame: a column has no name, or not the length of the index")
    frame = pandas.DataFrame(dict(enumerate(columns)), index=index)
    frame.columns = names
    return frame


def _decode_series(fields: Dict[str, Any], depth: int) -> Any:
    values.only(fields, "index", "name", "v")
    index, column = _index(fields["index"], depth), _column(fields["v"], depth)
    if len(index) != len(column):
        values.bad("series: values and index differ in length")
    return pandas.Series(column, index=index, name=_name(fields["name"], depth))


def _decode_index(fields: Dict[str, Any], depth: int) -> Any:
    values.only(fields, "v")
    return _index(fields["v"], depth)


def _decode_array(fields: Dict[str, Any], depth: int) -> Any:
    values.only(fields, "v")
    return pandas.array(_column(fields["v"], depth))


def _decode_timestamp(fields: Dict[str, Any], depth: int) -> Any:
    values.only(fields, "ns", "zone")
    made = pandas.Timestamp(values.whole(fields["ns"], -(1 << 63) + 1, (1 << 63) - 1, "timestamp: ns"), unit="ns")
    return made if fields["zone"] is None else made.tz_localize("UTC").tz_convert(_zone(fields["zone"]))


def _decode_timedelta(fields: Dict[str, Any], depth: int) -> Any:
    values.only(fields, "ns")
    return pandas.Timedelta(values.whole(fields["ns"], -(1 << 63) + 1, (1 << 63) - 1, "pdtimedelta: ns"), unit="ns")


def _decode_nat(fields: Dict[str, Any], depth: int) -> Any:
    values.only(fields)
    return pandas.NaT


def _decode_na(fields: Dict[str, Any], depth: int) -> Any:
    values.only(fields)
    return pandas.NA


DECODERS: Dict[str, Callable[[Dict[str, Any], int], Any]] = {
    "frame": _decode_frame,
    "series": _decode_series,
    "index": _decode_index,
    "pdarray": _decode_array,
    "timestamp": _decode_timestamp,
    "pdtimedelta": _decode_timedelta,
    "nat": _decode_nat,
    "na": _decode_na,
}
