"""The source texts of a module: its file, or the cells of a notebook."""

from __future__ import annotations

import linecache
import types
from typing import Dict, Iterator, List, Optional, Tuple

from ..remote_errors import FunctionRefused
from .source_text import Binding, SourceText

__all__ = ["Sources", "cell_name", "short_name"]


class Sources:
    """The source of a module: its file, or the cells of a notebook."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self._texts: Dict[str, str] = {file: text}
        self._parsed: Dict[str, Tuple[str, SourceText]] = {}
        self._pattern = _cell_prefix(file)

    @property
    def is_notebook(self) -> bool:
        return self._pattern is not None

    def all(self) -> List[SourceText]:
        """In the order in which they ran; a cell that is not Python is left out."""
        if self._pattern is not None:
            for file in list(linecache.cache):
                if file.startswith(self._pattern) and file not in self._texts:
                    self._texts[file] = "".join(linecache.getlines(file))
        found = []
        for file in self._texts:
            try:
                found.append(self.get(file))
            except FunctionRefused:
                if file == self.file:
                    raise
        return found

    def get(self, file: str) -> SourceText:
        text = self._texts[file]
        if file not in self._parsed or self._parsed[file][0] is not text:
            self._parsed[file] = text, SourceText(file, text)
        return self._parsed[file][1]

    def of_code(self, code: types.CodeType) -> Optional[SourceText]:
        if not self.is_notebook:
            return self.get(self.file)
        if code.co_filename not in self._texts:
            lines = linecache.getlines(code.co_filename)
            if not lines:
                return None
            self._texts[code.co_filename] = "".join(lines)
        try:
            return self.get(code.co_filename)
        except FunctionRefused:
            return None

    def bindings(self, name: str) -> Iterator[Tuple[SourceText, Binding]]:
        for source in self.all():
            for binding in source.bindings.get(name, ()):
                yield source, binding


def _cell_prefix(file: str) -> Optional[str]:
    """What the names of all cells of this notebook begin with."""
    if file.startswith("<ipython-input-"):
        return "<ipython-input-"
    return file.rpartition("/")[0] + "/" if "ipykernel_" in file else None


def short_name(file: str) -> str:
    if _cell_prefix(file) is not None:
        return "its cell"
    return file.replace("\\", "/").rpartition("/")[2]


def cell_name(source: SourceText) -> str:
    return f"cell-{source.file.rpartition('/')[2].strip('<>')}"
