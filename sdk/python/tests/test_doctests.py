"""Every example in a docstring is run, against the live server; those of glovebox.aio with ``await``."""

from __future__ import annotations

import ast
import asyncio
import doctest
import importlib
import importlib.util
import inspect
import pkgutil
from types import CodeType
from typing import Any, Dict, Iterator, List

import pytest
from live import Live

import glovebox
from glovebox import aio

# Loaded only where there are values of these.
NEEDS = {"glovebox.values.arrays": "numpy", "glovebox.values.frames": "pandas"}
MODULES: List[str] = [
    module.name
    for module in pkgutil.walk_packages(glovebox.__path__, "glovebox.")
    if "._bin" not in module.name and (module.name not in NEEDS or importlib.util.find_spec(NEEDS[module.name]))
]


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[asyncio.AbstractEventLoop]:
    """Lets doctest run examples that await."""
    loop = asyncio.new_event_loop()

    def compile_with_await(source: str, file: str, mode: str, flags: int, dont_inherit: bool) -> CodeType:
        flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        made: CodeType = compile(source, file, mode, flags, dont_inherit)
        return made

    def run(code: CodeType, names: Dict[str, Any]) -> None:
        value = eval(code, names)  # noqa: S307  an example of our own
        if inspect.iscoroutine(value):
            loop.run_until_complete(value)

    monkeypatch.setattr(doctest, "compile", compile_with_await, raising=False)
    monkeypatch.setattr(doctest, "exec", run, raising=False)
    try:
        yield loop
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("glovebox.aio.")])
def test_async_examples(
    name: str, here: Live, monkeypatch: pytest.MonkeyPatch, loop: asyncio.AbstractEventLoop
) -> None:
    monkeypatch.setattr("glovebox.aio.client._default", None)
    module = importlib.import_module(name)
    globs = {**vars(module), "Sandbox": aio.Sandbox, "Client": aio.Client}
    failed, _ = doctest.testmod(module, globs=globs, optionflags=doctest.ELLIPSIS)
    client = aio.client._default
    if client is not None:
        loop.run_until_complete(client.close())
    assert failed == 0


@pytest.mark.parametrize("name", ["glovebox", *(name for name in MODULES if not name.startswith("glovebox.aio."))])
def test_examples(name: str, here: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glovebox.sync.client._default", None)
    module = importlib.import_module(name)
    globs = {**vars(module), "Sandbox": glovebox.Sandbox, "Client": glovebox.Client}
    failed, _ = doctest.testmod(module, globs=globs, optionflags=doctest.ELLIPSIS)
    client = glovebox.sync.client._default
    if client is not None:
        client.close()
    assert failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    found = sum(
        len(test.examples) for name in ["glovebox", *MODULES] for test in finder.find(importlib.import_module(name))
    )
    assert found >= 50
