"""Callbacks of people: plain functions, or coroutines."""

from __future__ import annotations

import inspect
from typing import Any, Callable

__all__ = ["invoke_callback"]


async def invoke_callback(called: Callable[[Any], Any], value: Any) -> None:
    data = called(value)
    if inspect.isawaitable(data):
        await data
