"""Refuses a large set or dict of untrusted numbers that would take quadratic time to build.

The hash of a number is nearly the number itself, so an attacker can choose numbers that collide in a hash table
of a certain size. Building or resizing such a set is a single step of the interpreter, which cannot be
interrupted. So this module simulates it first, for all sizes that the table will have, on a table of bits.
Loaded on demand by codec.py, and not in sandboxes.
"""

from __future__ import annotations

from typing import List

from . import codec as values

_MAX_LOOKS = 40  # per member; ordinary numbers need 2, or 10 if all end in many zeros
_LINEAR = 9  # slots that a set probes linearly after the first
_BITS = (1 << 64) - 1


def check(hashes: List[int], what: str) -> None:
    # CPython's tables are from a sixth to two thirds full.
    size = 2 << values.MANY_MEMBERS.bit_length()
    while size <= 6 * len(hashes):
        if _looks(hashes[: size * 2 // 3], size, 0 if what == "dict" else _LINEAR) < 0:
            values.bad(f"{what}: too many hash collisions")
        size *= 2


def _looks(hashes: List[int], size: int, linear: int) -> int:
    """The number of probed slots; -1 for too many."""
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
