"""Whether a large set or dict of a stranger's numbers would take quadratic time to make.

The hash of a number is the number, or nearly, so it can be chosen such that in a table of a certain
size each looks at most of those before it. Making such a set, or growing one, is a single step of the
interpreter that nobody can stop. So it is done here first, for all sizes that the table will have, on
a table of bits, which can be stopped. A part of values.py, which needs it only outside of sandboxes.
"""

from __future__ import annotations

from typing import List

from . import codec as values

_MAX_LOOKS = 40  # for each member; honest ones need 2, or 10 if all end in many zeros
_LINEAR = 9  # slots after the first that a set looks at
_BITS = (1 << 64) - 1


def check(hashes: List[int], what: str) -> None:
    # What CPython makes of them: tables from a sixth to two thirds full.
    size = 2 << values.MANY_MEMBERS.bit_length()
    while size <= 6 * len(hashes):
        if _looks(hashes[: size * 2 // 3], size, 0 if what == "dict" else _LINEAR) < 0:
            values.bad(f"{what}: too many members that collide")
        size *= 2


def _looks(hashes: List[int], size: int, linear: int) -> int:
    """How many slots are looked at; -1 for too many."""
    table, mask, looks = bytearray(size), size - 1, 0
    for count, one in enumerate(hashes):
        rest = one & _BITS
        place = one & mask
        while table[place]:
            looks += 1
            if linear and place + linear <= mask:
                free = table.find(0, place, place + linear + 1)
                if free >= 0:
                    place = free
                    break
            rest >>= 5
            place = (place * 5 + rest + 1) & mask
            if looks > _MAX_LOOKS * (count + 1000):
                return -1
        table[place] = 1
        if not count & 1023:
            values.look()
    return looks
