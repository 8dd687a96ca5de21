"""Host directories in a sandbox: ``fs=["r:/data", "rw:/out", "r:/host:/inside"]``."""

from __future__ import annotations

import os
from typing import Dict, Iterable, List, Union

__all__ = ["parse_mounts"]

_MODES = {"r": "ro", "ro": "ro", "rw": "rw", "w": "rw"}
_HOW = 'write "r:/data", "rw:/data", "r:/host:/inside" or "r:NAME:/inside", a list of these, or "none"'


def parse_mounts(fs: Union[str, Iterable[str]]) -> List[Dict[str, str]]:
    """The mounts of a profile: of a list, of one entry, or of "none".

    A host path must be absolute. This process resolves its symbolic links, with its own permissions, and only
    a private server accepts it. A NAME is an entry of the administrator's list.

    >>> parse_mounts(["r:datasets:/data"])
    [{'name': 'datasets', 'path': '/data', 'mode': 'ro'}]
    >>> parse_mounts(["rw:/tmp:/scratch/"])
    [{'name': '/tmp', 'path': '/scratch', 'mode': 'rw'}]
    >>> parse_mounts("none"), parse_mounts("r:datasets:/data")
    ([], [{'name': 'datasets', 'path': '/data', 'mode': 'ro'}])
    """
    if not isinstance(fs, Iterable):
        raise TypeError(f"fs must not be {type(fs).__name__}; {_HOW}")
    words = [fs] if isinstance(fs, str) else list(fs)
    if words == ["none"]:
        return []
    if "none" in words:
        raise ValueError('fs: "none" stands alone; leave it out to mount directories')
    return [_mount(word) for word in words]


def _mount(word: str) -> Dict[str, str]:
    if not isinstance(word, str):
        raise TypeError(f"an entry of fs must be a string; {_HOW}")
    mode, colon, place = word.partition(":")
    if not colon or mode not in _MODES or not place:
        raise ValueError(f"fs: {word!r} is invalid; {_HOW}")
    host, inside = place, ""
    cut = place.rfind(":/")
    if cut > 0:
        host, inside = place[:cut], place[cut + 1 :]
    if os.path.isabs(host):
        name, path = os.path.realpath(host), inside or host
    elif inside:
        if "/" in host:
            raise ValueError(f"fs: {word!r}: a host path must be absolute; {_HOW}")
        name, path = host, inside
    else:
        raise ValueError(f"fs: {word!r} has no path in the sandbox; {_HOW}")
    return {"name": name, "path": os.path.normpath(path), "mode": _MODES[mode]}
