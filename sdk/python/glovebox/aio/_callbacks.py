"""Callbacks of people: plain functions, or coroutines."""

from __future__ import annotations

import inspect
from typing import Any, Callable

__all__ = ["call_back"]


async def call_back(called: Callable[[Any], Any], value: Any) -> None:
    said = called(value)
    if inspect.isawaitable(said):
        await said
