"""Every Python example of the documentation is run, against the live server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict

import pytest
from live import Live

import glovebox

ROOT = Path(__file__).resolve().parents[3]
PAGES = ["sdk/python/README.md", "docs/sdk/python.md"]


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_a_page(page: str, here: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, in one program, as a reader would type them."""
    monkeypatch.setattr("glovebox.sync.client._default", None)
    monkeypatch.setattr("glovebox.aio.client._default", None)
    text = (ROOT / page).read_text()
    blocks = [(match.start(), match.group(1)) for match in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S)]
    assert len(blocks) >= 2
    names: Dict[str, Any] = {}
    for start, block in blocks:
        line = text[:start].count("\n") + 1
        exec(compile("\n" * line + block, page, "exec"), names)  # noqa: S102  it is our own page
    glovebox.default_client().close()
