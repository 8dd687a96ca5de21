"""Packages that a sandbox has, as ``dependencies=`` says it.

A list like ``["pandas>=2", "requests"]``, a file (``Path("requirements.txt")``, ``Path("pylock.toml")``,
``Path("package-lock.json")``), or :class:`Dependencies` with more to say. Python's or npm's, by the language
of the template. They are resolved and installed once, by the server, and kept: the first call waits for
that, which may take minutes; see ``on_build`` and :meth:`glovebox.layers.Layers.build`.

>>> dependencies_field(["pandas>=2"]), dependencies_field(Dependencies(["pandas>=2"], preload=["pandas"]))
(['pandas>=2'], {'packages': ['pandas>=2'], 'preload': ['pandas']})
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from .._printable import printable
from .canonical_dependencies import canonical_dependencies

__all__ = ["BUILD_S", "AnyDependencies", "BuildWord", "Dependencies", "check_dependencies", "dependencies_field"]

#: How long a build may take at most, as ``deps.build_timeout`` of a server is by default.
BUILD_S = 900.0
_MAX_TEXT = 256 * 1024
_FIELDS = ("packages", "requirements", "lock", "preload")
_FILE_ENDS = (".txt", ".toml", ".json", ".lock", ".in")

#: The text of a file, or where it is.
Text = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Dependencies:
    """A set of packages.

    ``packages``
        like ``"pandas>=2"``, or of npm's ``"lodash@4"``.
    ``requirements``
        a ``requirements.txt``, with or without hashes: a path (``Path("requirements.txt")``), or its text.
        May go together with ``packages``.
    ``lock``
        a ``pylock.toml`` or a ``package-lock.json``, instead of the two above: a path, or its text.
    ``preload``
        modules that are imported ahead, so that calls need not.

    A file is read where it is used here, each time; nothing but its text goes to the server.
    """

    packages: Sequence[str] = ()
    requirements: Optional[Text] = None
    lock: Optional[Text] = None
    preload: Sequence[str] = ()

    def __post_init__(self) -> None:
        _strings("packages", self.packages)
        _modules(self.preload)
        for name, text in (("requirements", self.requirements), ("lock", self.lock)):
            if isinstance(text, str):
                _refuse_file_name(name, text)
        if self.lock is not None and (self.packages or self.requirements is not None):
            raise ValueError("dependencies: a lock stands alone, without packages and requirements")
        if self.preload and self.is_empty:
            raise ValueError("dependencies: preload names modules of packages, and no packages are named")

    @property
    def is_empty(self) -> bool:
        """Whether it names no packages."""
        return not self.packages and self.requirements is None and self.lock is None

    def request(self) -> Any:
        """As a request's ``profile.dependencies`` has it."""
        data: Dict[str, Any] = {
            "packages": _strings("packages", self.packages),
            "requirements": _text("requirements", self.requirements),
            "lock": _text("lock", self.lock),
            "preload": _modules(self.preload),
        }
        made = {name: value for name, value in data.items() if value}
        return made["packages"] if list(made) == ["packages"] else made


#: What ``dependencies=`` takes; a mapping is as in a request.
AnyDependencies = Union[Sequence[str], "os.PathLike[str]", Dependencies, Mapping[str, Any]]


@dataclass(frozen=True)
class BuildWord:
    """What is said while a set of packages is made: ``on_build=print`` shows it.

    ``phase`` is ``queued``, ``resolving``, ``building``, ``installing``, ``sealing``, ``checking``,
    ``warming`` or ``ready``; ``text`` a line of the installer's, or nothing when the phase begins.

    >>> print(BuildWord("resolving", "Collecting pandas>=2"))
    resolving: Collecting pandas>=2
    """

    phase: str
    text: str = ""

    def __str__(self) -> str:
        return printable(f"{self.phase}: {self.text}" if self.text else self.phase)


def dependencies_field(data: Optional[AnyDependencies], preload: Sequence[str] = ()) -> Any:
    """``profile.dependencies`` of a request; None for nothing. ``preload`` is added to what it says of its own.

    >>> dependencies_field(["requests"], ["requests"])
    {'packages': ['requests'], 'preload': ['requests']}
    """
    if data is None:
        return None
    made = _to_dependencies(data)
    if made.is_empty:
        return None
    if preload:
        made = replace(made, preload=list(dict.fromkeys([*made.preload, *_modules(preload)])))
    return made.request()


def check_dependencies(data: Optional[AnyDependencies]) -> bool:
    """Whether there are any; refuses what the server would refuse. Reads no file."""
    made = None if data is None else _to_dependencies(data)
    if made is None or made.is_empty:
        return False
    canonical_dependencies({"packages": made.packages})
    return True


def _to_dependencies(data: Any) -> Dependencies:
    if isinstance(data, Dependencies):
        return data
    if isinstance(data, os.PathLike):
        name = os.path.basename(os.fspath(data))
        is_lock = name.endswith(".json") or (name.startswith("pylock.") and name.endswith(".toml"))
        return Dependencies(lock=data) if is_lock else Dependencies(requirements=data)
    if isinstance(data, Mapping):
        unknown = sorted(set(data) - set(_FIELDS))
        if unknown:
            raise ValueError(f"dependencies.{unknown[0]} is not known: it has {', '.join(_FIELDS)}")
        return Dependencies(**{name: value for name, value in data.items() if value is not None})
    if isinstance(data, (str, bytes)):
        raise TypeError(f"dependencies must be a list, like [{data!r}]; a file is a Path")
    if isinstance(data, (Sequence, set, frozenset)):
        return Dependencies(sorted(data) if isinstance(data, (set, frozenset)) else data)
    raise TypeError(f"dependencies must be a list of strings, a path or Dependencies, not {type(data).__name__}")


def _strings(name: str, data: Any) -> List[str]:
    if isinstance(data, (str, bytes)) or not isinstance(data, Sequence):
        raise TypeError(f"dependencies: {name} must be a list of strings")
    for one in data:
        if not isinstance(one, str):
            raise TypeError(f"dependencies: {one!r} in {name} must be a string")
        if not one.strip():
            raise ValueError(f"dependencies: {name} has an empty string in it")
    return list(data)


def _modules(data: Any) -> List[str]:
    modules = _strings("preload", data)
    for module in modules:
        if not all(part.isidentifier() for part in module.split(".")):
            raise ValueError(f"preload: {module!r} is not the name of a module")
    return modules


def _refuse_file_name(name: str, text: str) -> None:
    """A name of a file is no requirement: whoever writes one means the file."""
    line = text.strip()
    if "\n" not in line and " " not in line and line.endswith(_FILE_ENDS):
        raise ValueError(f"dependencies: {name} is a text, or a path: write Path({line!r}) for a file")


def _text(name: str, data: Optional[Text]) -> str:
    if data is None or isinstance(data, str):
        text = data or ""
    else:
        try:
            with open(data, encoding="utf-8-sig", newline=None) as file:
                text = file.read(_MAX_TEXT + 1)
        except UnicodeDecodeError:
            raise ValueError(f"dependencies: {os.fspath(data)} is not a text in UTF-8") from None
    if len(text.encode("utf-8", "surrogatepass")) > _MAX_TEXT:
        raise ValueError(f"dependencies: {name} has more than {_MAX_TEXT >> 10} KB")
    if data is not None and not text.strip():
        raise ValueError(f"dependencies: {name} is empty")
    return text
