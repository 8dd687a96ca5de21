"""Every example in a docstring is run, against the live server."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil
from typing import List

import pytest
from live import Live

import glovebox

# Loaded only where there are values of these.
NEEDS = {"glovebox.values.arrays": "numpy", "glovebox.values.frames": "pandas"}
MODULES: List[str] = [
    module.name
    for module in pkgutil.walk_packages(glovebox.__path__, "glovebox.")
    if "._bin" not in module.name and (module.name not in NEEDS or importlib.util.find_spec(NEEDS[module.name]))
]


@pytest.mark.parametrize("name", ["glovebox", *MODULES])
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
