"""Checks untrusted JSON text before it is parsed; loaded by codec.py for texts that are not small.

The parser of Python converts long numbers in quadratic time, recurses as deep as the text is nested, and needs
many times the size of the text in memory for empty lists.
"""

from __future__ import annotations

import re
import sys
from itertools import accumulate
from json import decoder
from typing import Any, Dict

from . import codec as values

_DIGITS = "0123456789"


def hooks_for(text: str) -> Dict[str, Any]:
    """The hooks for json.loads(); raises ResultRefused for a text that must not be parsed."""
    if sys.getrecursionlimit() > values.USUAL_RECURSION or _has_many(text):
        # json is bounded by the recursion limit only, and a program may have raised that beyond its stack.
        plain = _outside_strings(text)
        _check_nesting(plain)
        if _has_many(plain):
            raise values.ResultRefused(
                "malformed value: too many lists, dicts or items; use arrays or frames"
            )
    # A long run of digits is usually inside a string; otherwise it must not become a number.
    return {"parse_int": _bounded_int, "parse_float": _bounded_float} if _has_long_number(text) else {}


def _has_long_number(text: str) -> bool:
    # A run of that many digits has a digit at a multiple of their number.
    for place in range(0, len(text), values.MAX_DIGITS):
        if text[place] in _DIGITS:
            before, after = text[max(0, place - values.MAX_DIGITS) : place], text[place : place + values.MAX_DIGITS]
            rest = len(before.rstrip(_DIGITS)) + len(after.lstrip(_DIGITS))
            if len(before) + len(after) - rest >= values.MAX_DIGITS:
                return True
    return False


def _bounded_int(text: str) -> int:
    if len(text) > values.MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _bounded_float(text: str) -> float:
    if len(text) > values.MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return float(text)


def _has_many(text: str) -> bool:
    return len(text) > values.MAX_CONTAINERS and (
        text.count("[") + text.count("{") > values.MAX_CONTAINERS or text.count(",") > values.MAX_ITEMS
    )


def _outside_strings(text: str) -> str:
    """The text without its strings."""
    parts, at = [], 0
    while True:
        start = text.find('"', at)
        if start < 0:
            parts.append(text[at:])
            return "".join(parts)
        parts.append(text[at:start])
        try:
            at = decoder.scanstring(text, start + 1, True)[1]  # type: ignore[attr-defined]
        except ValueError as error:
            raise values.ResultRefused(f"malformed value: {error}") from None


_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}


def _check_nesting(plain: str) -> None:
    brackets = re.sub(r"[^\[\]{}]+", "", plain)
    # One level of a value (a dict of pairs) takes up to four brackets.
    if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > 4 * values.MAX_DEPTH:
        raise values.ResultRefused("malformed value: nested too deep")
