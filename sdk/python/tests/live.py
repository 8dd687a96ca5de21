"""The live server of a test session."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Dict

import glovebox
from glovebox import aio


@dataclass(frozen=True)
class Live:
    url: str
    api_key: str
    bin_dir: Path

    def client(self, **options: float) -> glovebox.Client:
        return glovebox.Client(self.url, self.api_key, timeout=options.get("timeout", 60.0))

    def aio_client(self) -> aio.Client:
        return aio.Client(self.url, self.api_key)

    def environment(self) -> Dict[str, str]:
        """For a program that uses this server."""
        return {**os.environ, "GLOVEBOX_URL": self.url, "GLOVEBOX_API_KEY": self.api_key}
