"""One live server for all tests that need one: GLOVEBOX_URL, or `glovebox serve --private` of
GLOVEBOX_BIN_DIR (default: build/bin), ended with the tests."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Iterator

import pytest
from live import Live

BIN = Path(os.environ.get("GLOVEBOX_BIN_DIR") or Path(__file__).resolve().parents[3] / "build" / "bin")


@pytest.fixture(scope="session")
def bin_dir() -> Path:
    if not (BIN / "glovebox").is_file():
        pytest.skip(f"there is no {BIN / 'glovebox'}: build it, or set GLOVEBOX_BIN_DIR")
    return BIN


@pytest.fixture(scope="session")
def server(bin_dir: Path) -> Iterator[Live]:
    process = subprocess.Popen(
        [bin_dir / "glovebox", "serve", "--private"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            pytest.fail(f"`{bin_dir}/glovebox serve --private` does not start")
        said = json.loads(line)
        yield Live(said["url"], said["api_key"], bin_dir)
    finally:
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()


@pytest.fixture
def here(server: Live, monkeypatch: pytest.MonkeyPatch) -> Live:
    """The live server, as the one that clients find by themselves."""
    monkeypatch.setenv("GLOVEBOX_URL", server.url)
    monkeypatch.setenv("GLOVEBOX_API_KEY", server.api_key)
    return server
