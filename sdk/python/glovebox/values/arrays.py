"""Encodes numpy arrays and scalars: a type from a short list, a shape, and bytes.

Loaded on demand by codec.py. Arrays of objects are refused in both directions: their elements would have to be
pickled.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Tuple

import numpy

try:
    from . import codec as values
except ImportError:  # inside a sandbox
    values = load("values")  # type: ignore[name-defined]  # noqa: F821

MAX_DIMENSIONS = 32
MAX_LENGTH = 1 << 40  # of one dimension, also for an array without elements
# Little-endian on all machines. No objects (O), no records or raw memory (V), no long doubles, whose size differs.
_TYPES = re.compile(
    r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<c(?:8|16)|\|S[0-9]{1,7}|<U[0-9]{1,7}"
    r"|<[mM]8(?:\[(?:[1-9][0-9]{0,4})?(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?"
)


def to_tree(value: Any, depth: int) -> Any:
    if isinstance(value, numpy.ndarray):
        if type(value) not in (numpy.ndarray, numpy.memmap):
            raise values.ValueRefused(f"a {type(value).__name__} cannot be sent: send numpy.asarray(it)")
        return array_tree(value)
    if isinstance(value, numpy.generic):
        tree = array_tree(numpy.asarray(value))
        return {"$": "npscalar", "dtype": tree["dtype"], "v": tree["v"]}
    return None


def array_tree(array: Any) -> Dict[str, Any]:
    kind = array.dtype.newbyteorder("<")
    if not _TYPES.fullmatch(kind.str):
        hint = "send it as a list (it.tolist())" if array.dtype.hasobject else "convert it (it.astype) first"
        raise values.ValueRefused(f"a numpy array of type {array.dtype} cannot be sent: {hint}")
    data = numpy.ascontiguousarray(array, dtype=kind)
    return {"$": "ndarray", "dtype": kind.str, "shape": list(array.shape), "v": values.base64(data.tobytes())}


def _decode_array(fields: Dict[str, Any], depth: int) -> Any:
    values.only(fields, "dtype", "shape", "v")
    return _array(fields, _shape(values.field(fields, "shape", list)))


def _decode_scalar(fields: Dict[str, Any], depth: int) -> Any:
    values.only(fields, "dtype", "v")
    return _array(fields, ())[()]


def _shape(lengths: List[Any]) -> Tuple[int, ...]:
    if len(lengths) > MAX_DIMENSIONS:
        values.bad(f"ndarray: {len(lengths)} dimensions")
    return tuple(values.whole(one, 0, MAX_LENGTH, "ndarray: a length") for one in lengths)


def _array(fields: Dict[str, Any], shape: Tuple[int, ...]) -> Any:
    name = values.text_of(fields, "dtype", 20)
    if not _TYPES.fullmatch(name):
        values.bad(f"ndarray: unsupported type {name!r}")
    kind = numpy.dtype(name)
    data = values.bytes_of(fields)
    size = kind.itemsize
    for length in shape:
        size *= length
    if size != len(data):
        values.bad(f"ndarray: {len(data)} bytes instead of the {size} of its shape")
    if size == 0:
        if kind.itemsize == 0 and 0 not in shape:  # strings of length 0: the bytes do not bound their number
            values.bad("ndarray: elements of size 0")
        return numpy.empty(shape, kind)
    array = numpy.frombuffer(bytearray(data), kind).reshape(shape)
    _check_elements(array, kind)
    return array


def _check_elements(array: Any, kind: Any) -> None:
    """Checks what numpy assumes about the bytes it is given."""
    if kind.kind == "b" and array.view("u1").max() > 1:
        values.bad("ndarray: a bool must be 0 or 1")
    if kind.kind == "U" and numpy.frombuffer(array, "<u4").max() > 0x10FFFF:
        values.bad("ndarray: invalid character")


DECODERS: Dict[str, Callable[[Dict[str, Any], int], Any]] = {"ndarray": _decode_array, "npscalar": _decode_scalar}
