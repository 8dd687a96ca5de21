"""A function that is no generator and gives one."""

from __future__ import annotations

from typing import Iterator


def gives_a_generator() -> Iterator[int]:
    return (number for number in range(3))
