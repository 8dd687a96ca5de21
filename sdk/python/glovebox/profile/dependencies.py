"""Packages for a sandbox: the argument ``dependencies=``.

A list like ``["pandas>=2", "requests"]``, a file (``Path("requirements.txt")``, ``Path("pylock.toml")``,
``Path("package-lock.json")``), or a :class:`Dependencies` for more. The language of the template decides between
PyPI and npm. The server resolves and installs packages once and keeps them. The first request waits for that,
which may take minutes; see ``on_build`` and ``client.layers.build()``.

>>> dependencies_field(["pandas>=2"]), dependencies_field(Dependencies(["pandas>=2"], preload=["pandas"]))
(['pandas>=2'], {'packages': ['pandas>=2'], 'preload': ['pandas']})
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from .._printable import printable
from .canonical_dependencies import canonical_dependencies

__all__ = ["BUILD_S", "AnyDependencies", "BuildProgress", "Dependencies", "check_dependencies", "dependencies_field"]

#: The time limit of a build: the default of the server's setting ``deps.build_timeout``.
BUILD_S = 900.0
_MAX_TEXT = 256 * 1024
_FIELDS = ("packages", "requirements", "lock", "preload", "host_packages")
_FILE_ENDS = (".txt", ".toml", ".json", ".lock", ".in")

#: The text of a file, or its path.
Text = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Dependencies:
    """Packages that a sandbox needs.

    ``packages``
        like ``"pandas>=2"``, or ``"lodash@4"`` from npm.
    ``requirements``
        a ``requirements.txt``, with or without hashes: a path (``Path("requirements.txt")``) or its text.
        Can be combined with ``packages``.
    ``lock``
        a ``pylock.toml`` or a ``package-lock.json``, instead of the two above: a path, or its text.
    ``preload``
        modules to import before the code runs.
    ``host_packages``
        Python: whether the code also finds the packages of the host's own Python. Without it, as the template says:
        ``python-data`` shows them, others do not.

    The client reads a file each time it is used, and sends only its text to the server.
    """

    packages: Sequence[str] = ()
    requirements: Optional[Text] = None
    lock: Optional[Text] = None
    preload: Sequence[str] = ()
    host_packages: Optional[bool] = None

    def __post_init__(self) -> None:
        _strings("packages", self.packages)
        _modules(self.preload)
        for name, text in (("requirements", self.requirements), ("lock", self.lock)):
            if isinstance(text, str):
                _refuse_file_name(name, text)
        if self.lock is not None and (self.packages or self.requirements is not None):
            raise ValueError("dependencies: lock cannot be combined with packages or requirements")
        if self.preload and self.is_empty:
            raise ValueError("dependencies: preload needs packages, requirements or lock; no packages are named")
        if self.host_packages is not None and not isinstance(self.host_packages, bool):
            raise TypeError("dependencies: host_packages must be True or False")
        if self.host_packages is not None and self.is_empty:
            raise ValueError("dependencies: host_packages needs packages, requirements or lock; no packages are named")

    @property
    def is_empty(self) -> bool:
        """Whether it names no packages."""
        return not self.packages and self.requirements is None and self.lock is None

    def request(self) -> Any:
        """The field ``profile.dependencies`` of a request."""
        data: Dict[str, Any] = {
            "packages": _strings("packages", self.packages),
            "requirements": _text("requirements", self.requirements),
            "lock": _text("lock", self.lock),
            "preload": _modules(self.preload),
        }
        made = {name: value for name, value in data.items() if value}
        if self.host_packages is not None:
            made["host_packages"] = self.host_packages
        return made["packages"] if list(made) == ["packages"] else made


#: What ``dependencies=`` takes; a mapping has the fields of a request.
AnyDependencies = Union[Sequence[str], "os.PathLike[str]", Dependencies, Mapping[str, Any]]


@dataclass(frozen=True)
class BuildProgress:
    """A step of installing packages: ``on_build=print`` shows them.

    ``phase`` is ``queued``, ``resolving``, ``building``, ``installing``, ``sealing``, ``checking``,
    ``warming`` or ``ready``. ``text`` is a line of the installer's output, or empty when the phase begins.

    >>> print(BuildProgress("resolving", "Collecting pandas>=2"))
    resolving: Collecting pandas>=2
    """

    phase: str
    text: str = ""

    def __str__(self) -> str:
        return printable(f"{self.phase}: {self.text}" if self.text else self.phase)


def dependencies_field(data: Optional[AnyDependencies], preload: Sequence[str] = ()) -> Any:
    """The field ``profile.dependencies`` of a request, or None. ``preload`` is added to its own list.

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
    """Whether there are any. Refuses what the server would refuse; reads no file."""
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
            raise ValueError(f"dependencies.{unknown[0]} is an unknown field; the fields are {', '.join(_FIELDS)}")
        return Dependencies(**{name: value for name, value in data.items() if value is not None})
    if isinstance(data, (str, bytes)):
        raise TypeError(f"dependencies must be a list, like [{data!r}]; pass a file as a Path")
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
            raise ValueError(f"dependencies: {name} contains an empty string")
    return list(data)


def _modules(data: Any) -> List[str]:
    modules = _strings("preload", data)
    for module in modules:
        if not all(part.isidentifier() for part in module.split(".")):
            raise ValueError(f"preload: {module!r} is not a module name")
    return modules


def _refuse_file_name(name: str, text: str) -> None:
    """A file name is not a requirement: it was meant as a path."""
    line = text.strip()
    if "\n" not in line and " " not in line and line.endswith(_FILE_ENDS):
        raise ValueError(f"dependencies: {name} must be the text of a file, or its path: pass Path({line!r})")


def _text(name: str, data: Optional[Text]) -> str:
    if data is None or isinstance(data, str):
        text = data or ""
    else:
        try:
            with open(data, encoding="utf-8-sig", newline=None) as file:
                text = file.read(_MAX_TEXT + 1)
        except UnicodeDecodeError:
            raise ValueError(f"dependencies: {os.fspath(data)} is not UTF-8 text") from None
    if len(text.encode("utf-8", "surrogatepass")) > _MAX_TEXT:
        raise ValueError(f"dependencies: {name} is larger than {_MAX_TEXT >> 10} KB")
    if data is not None and not text.strip():
        raise ValueError(f"dependencies: {name} is empty")
    return text
