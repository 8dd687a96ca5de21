"""Functions for the examples in docstrings and for a first try: ``from glovebox.examples import square``."""

from __future__ import annotations

from glovebox import sandboxed

__all__ = ["reciprocal", "square"]


@sandboxed
def square(number: float) -> float:
    """The square of a number."""
    return number * number


@sandboxed
def reciprocal(number: float) -> float:
    """The reciprocal of a number."""
    return 1 / number
