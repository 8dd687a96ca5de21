"""The user's own modules and data files that go along with a function, as one bundle.

Own modules are those with a Python source outside of the standard library and of installed packages. The bundle has
the ones that the function imports, the ones that these import, and their packages' ``__init__.py``; and the files of
``include``. It is a zip file with the same bytes for the same content, named by its SHA-256: a server keeps it, so that
it is sent once.
"""

from __future__ import annotations

import ast
import fnmatch
import functools
import hashlib
import io
import os
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from typing import Dict, Iterable, List, Optional, Sequence, Set, Tuple

from ..remote_errors import FunctionRefused
from .reach import imported_modules

__all__ = ["Bundle", "check_include", "is_own", "make_bundle"]

MAX_BUNDLE = 16 << 20  # compressed; the server's bound
MAX_FILES = 2000
MAX_CONTENT = 64 << 20


@dataclass(frozen=True)
class Bundle:
    """The files by their paths in the sandbox's home directory, with their sizes."""

    digest: str
    data: bytes
    files: Dict[str, int]

    def __str__(self) -> str:
        return f"{len(self.files)} files, {_human(sum(self.files.values()))}, {_human(len(self.data))} compressed"


def _human(size: int) -> str:
    return f"{size} bytes" if size < 10_000 else f"{size / 1e3:.0f} KB" if size < 1e7 else f"{size / 1e6:.1f} MB"


@functools.lru_cache(maxsize=1)
def _foreign_roots() -> Tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple(os.path.realpath(sysconfig.get_paths()[name]) + os.sep for name in names)


def is_own(name: str) -> bool:
    """Whether a loaded module is the user's own."""
    return _file_of(name) is not None


def _file_of(name: str) -> Optional[str]:
    if name.partition(".")[0] == "glovebox" or name == "__main__":
        return None
    file = getattr(sys.modules.get(name), "__file__", None)
    if not isinstance(file, str) or not file.endswith(".py"):
        return None
    file = os.path.realpath(file)
    parts = file.split(os.sep)
    if "site-packages" in parts or "dist-packages" in parts or not os.path.isfile(file):
        return None
    if any(file.startswith(root) for root in _foreign_roots()):
        return None
    # `pip install --target` leaves its records beside the packages.
    parts = parts[: -name.count(".") - (2 if parts[-1] == "__init__.py" else 1)]
    return None if _has_installed_packages(os.sep.join(parts) or os.sep) else file


@functools.lru_cache(maxsize=256)
def _has_installed_packages(folder: str) -> bool:
    try:
        return any(one.endswith(".dist-info") for one in os.listdir(folder))
    except OSError:
        return False


def check_include(include: Sequence[str]) -> None:
    if isinstance(include, (str, bytes)):
        raise TypeError(f"include must be a list of files, like [{include!r}]")
    if not isinstance(include, Iterable):
        raise TypeError(f"include must be a list of files, like ['data/*.csv'], not {type(include).__name__}")
    for pattern in include:
        if not isinstance(pattern, str) or not pattern:
            raise TypeError("include: an entry must be the path of a file or directory, or a pattern like 'data/*.csv'")
        if os.path.isabs(pattern) or ".." in pattern.split("/"):
            raise ValueError(
                f"include: {pattern!r} must be relative to the directory of the function's file, and inside of it; "
                "mount other directories with fs=[...]"
            )


def make_bundle(
    imports: Iterable[str], module: str, file: str, folder: str, include: Sequence[str]
) -> Optional[Bundle]:
    """The bundle of a function of ``module``, which is ``file`` in the sandbox and is in ``folder`` here; or None."""
    content: Dict[str, bytes] = {}
    for name, path in _closure(imports, module).items():
        is_package = os.path.basename(path) == "__init__.py"
        inside = name.replace(".", "/") + ("/__init__.py" if is_package else ".py")
        content[inside] = _read(path)
    home = os.path.dirname(file)
    for relative, path in _included(folder, include):
        content[f"{home}/{relative}" if home else relative] = _read(path)
    if not content:
        return None
    return _packed(content)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        data = file.read(MAX_CONTENT + 1)
    if len(data) > MAX_CONTENT:
        raise _too_large({path: len(data)})
    return data


def _closure(imports: Iterable[str], module: str) -> Dict[str, str]:
    """The files of the own modules that are imported, directly or by each other; not of the function's own."""
    found: Dict[str, str] = {}
    waiting: List[str] = list(imports)
    seen: Set[str] = {module}
    while waiting:
        name = waiting.pop()
        # `import a.b.c` runs a and a.b, too.
        parts = name.split(".")
        for one in (".".join(parts[: count + 1]) for count in range(len(parts))):
            if one in seen:
                continue
            seen.add(one)
            path = _file_of(one)
            if path is None:
                continue
            found[one] = path
            package = one if os.path.basename(path) == "__init__.py" else one.rpartition(".")[0]
            waiting.extend(imported_modules(_parsed(path), package))
    return found


def _parsed(path: str) -> ast.AST:
    try:
        return ast.parse(_read(path))
    except (SyntaxError, ValueError) as error:
        raise FunctionRefused(f"{path} is not Python: {error}") from None


def _included(folder: str, include: Sequence[str]) -> List[Tuple[str, str]]:
    """(path below the folder, path here) of the files that the patterns name; symbolic links out of it are refused."""
    if not include:
        return []
    root = os.path.realpath(folder)
    found: Dict[str, str] = {}
    for pattern in include:
        count = len(found)
        for relative in _matching(root, os.path.normpath(pattern)):
            path = os.path.realpath(os.path.join(root, relative))
            if not path.startswith(root + os.sep):
                raise FunctionRefused(f"include: {relative} is a symbolic link to a file outside of {root}")
            found[relative] = path
        if len(found) == count:
            raise FunctionRefused(f"include: there is no file {pattern!r} in {root}")
        if len(found) > MAX_FILES:
            raise FunctionRefused(f"include: more than {MAX_FILES} files; mount the directory with fs=[...]")
    return sorted(found.items())


def _matching(root: str, pattern: str) -> List[str]:
    path = os.path.join(root, pattern)
    if os.path.isfile(path):
        return [pattern]
    if os.path.isdir(path):
        return [os.path.relpath(one, root) for one in _files_below(path)]
    # Only in the directories of the pattern: `*` does not cross a slash, `**` does.
    base = pattern.partition("*")[0].rpartition("/")[0]
    candidates = [os.path.relpath(one, root) for one in _files_below(os.path.join(root, base))]
    return [one for one in candidates if _matches(one.split(os.sep), pattern.split("/"))]


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[count:], pattern[1:]) for count in range(len(parts) + 1))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _files_below(folder: str) -> List[str]:
    found: List[str] = []
    for where, folders, names in os.walk(folder):
        folders[:] = [one for one in sorted(folders) if one != "__pycache__"]
        found += [os.path.join(where, one) for one in sorted(names) if os.path.isfile(os.path.join(where, one))]
        if len(found) > 50 * MAX_FILES:
            raise FunctionRefused(f"include: {folder} has too many files; name those that are needed")
    return found


def _packed(content: Dict[str, bytes]) -> Bundle:
    sizes = {path: len(data) for path, data in sorted(content.items())}
    if len(sizes) > MAX_FILES or sum(sizes.values()) > MAX_CONTENT:
        raise _too_large(sizes)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path in sizes:
            # The same bytes for the same content: no times, no modes.
            archive.writestr(zipfile.ZipInfo(path), content[path], zipfile.ZIP_DEFLATED)
    data = made.getvalue()
    if len(data) > MAX_BUNDLE:
        raise _too_large(sizes)
    return Bundle(hashlib.sha256(data).hexdigest(), data, sizes)


def _too_large(sizes: Dict[str, int]) -> FunctionRefused:
    largest = ", ".join(f"{path} ({_human(sizes[path])})" for path in sorted(sizes, key=lambda one: -sizes[one])[:3])
    return FunctionRefused(
        f"the modules and files of the function are too large: {len(sizes)} files, {_human(sum(sizes.values()))}, and "
        f"the limits are {MAX_FILES} files, {_human(MAX_CONTENT)}, {_human(MAX_BUNDLE)} compressed. "
        f"The largest: {largest}. Mount directories with fs=[...]"
    )
