"""The canonical form of a profile, and its hash.

Different spellings of one profile (an explicit default, another order, 64 or 64.0) have the same text and so
the same SHA-256: the ``profile`` of every response. src/model/profile.cc does the same; both are tested with
tests/vectors/profiles.json. So a program can know in advance under which profile its code will run, and compare.

>>> profile_hash({"memory_mb": 64}) == profile_hash({"memory_mb": 64.0, "pids": 128})
True
"""

from __future__ import annotations

import hashlib
import math
from typing import Any, Dict, List, Mapping

from .canonical_dependencies import canonical_dependencies
from .canonical_json import json_string
from .network import canonical_net, check_net

__all__ = ["BASE_DEFAULTS", "canonical_text", "check_net", "profile_hash"]

#: The defaults of the template ``base``, in the units of a request.
BASE_DEFAULTS: Mapping[str, Any] = {
    "timeout_ms": 30_000,
    "cpu_ms": 0,
    "memory_mb": 512,
    "cpus": 1,
    "pids": 128,
    "disk_mb": 256,
    "output_kb": 1024,
}
DISK_INODES = 65_536
_DAY_MS = 86_400_000
_MAX_MB = 1 << 20
_BOUNDS = {
    "timeout_ms": (1, _DAY_MS),
    "cpu_ms": (1, _DAY_MS),
    "memory_mb": (8, _MAX_MB),
    "pids": (1, 65_536),
    "disk_mb": (1, _MAX_MB),
    "output_kb": (1, 16 * 1024),
}
_HOME = "/home/user"
_MAX_PATH = 1024
_MAX_NAME = 255


def profile_hash(profile: Mapping[str, Any], defaults: Mapping[str, Any] = BASE_DEFAULTS) -> str:
    """The SHA-256 of a profile's canonical text.

    >>> profile_hash({})
    '28d4cf1a186ffb4eb58cecdcc257fa0f5f385ab6c1123f32ad0b9ba5f8d16c82'
    """
    return hashlib.sha256(canonical_text(profile, defaults).encode("utf-8")).hexdigest()


def canonical_text(profile: Mapping[str, Any], defaults: Mapping[str, Any] = BASE_DEFAULTS) -> str:
    """A complete ``profile``: sorted keys, no spaces, whole numbers, mounts sorted by path.

    ``defaults`` are those of the template, as in ``GET /v1/templates/{name}`` (with ``cpu_thousandths`` or ``cpus``;
    null means none).

    >>> canonical_text({"cpus": 0.5, "memory_mb": 64})[:40]
    '{"cpu_ms":0,"cpu_thousandths":500,"disk_'
    """
    unknown = sorted(set(profile) - set(_BOUNDS) - {"cpus", "dependencies", "mounts", "net", "reuse"})
    if unknown:
        raise ValueError(f"profile: {unknown[0]} is an unknown field")
    numbers = {name: _number(profile, defaults, name) for name in _BOUNDS}
    # A profile without packages does not mention them.
    packages = canonical_dependencies(profile.get("dependencies"))
    packages = packages and f'"dependencies":{packages},'
    reuse = profile.get("reuse", "never")
    if reuse not in ("never", "sandbox", "interpreter"):
        raise ValueError('reuse must be "never", "sandbox" or "interpreter"')
    reuse_text = "" if reuse == "never" else f'"reuse":"{reuse}",'
    return (
        f'{{"cpu_ms":{numbers["cpu_ms"]},"cpu_thousandths":{_cpus(profile, defaults)},'
        f'{packages}"disk_bytes":{numbers["disk_mb"] << 20},"disk_inodes":{DISK_INODES},'
        f'"memory_bytes":{numbers["memory_mb"] << 20},"mounts":{_mounts_text(profile.get("mounts") or [])},'
        f'"net":{canonical_net(profile.get("net"))},"output_bytes":{numbers["output_kb"] * 1024},'
        f'"pids":{numbers["pids"]},{reuse_text}"timeout_ms":{numbers["timeout_ms"]}}}'
    )


def _number(profile: Mapping[str, Any], defaults: Mapping[str, Any], name: str) -> int:
    if name in profile:
        return _whole(name, profile[name], *_BOUNDS[name])
    return int(defaults.get(name) or BASE_DEFAULTS[name])


def _whole(name: str, value: Any, least: int, most: int) -> int:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or value != value or not least <= value <= most or int(value) != value:
        raise ValueError(f"profile: {name} must be a whole number from {least} to {most}")
    return int(value)


def _cpus(profile: Mapping[str, Any], defaults: Mapping[str, Any]) -> int:
    if "cpus" not in profile:
        thousandths = defaults.get("cpu_thousandths")
        return int(thousandths) if thousandths is not None else _thousandths(defaults.get("cpus", 1))
    cpus = profile["cpus"]
    if isinstance(cpus, bool) or not isinstance(cpus, (int, float)) or not 0.01 <= cpus <= 1024:
        raise ValueError("profile: cpus must be a number from 0.01 to 1024")
    return _thousandths(cpus)


def _thousandths(cpus: float) -> int:
    return math.floor(float(cpus) * 1000 + 0.5)  # half away from zero, as lround


def _mounts_text(mounts: List[Mapping[str, Any]]) -> str:
    made: Dict[str, str] = {}
    for mount in mounts:
        path = _guest_path(mount["path"])
        if path in made:
            raise ValueError(f"profile: two mounts have the same path, {path}")
        mode = mount.get("mode", "ro")
        if mode not in ("ro", "rw"):
            raise ValueError("profile: a mount's mode must be ro or rw")
        made[path] = f'{{"mode":"{mode}","name":{json_string(mount["name"])},"path":{json_string(path)}}}'
    # Sorted by bytes, as the server does.
    return "[" + ",".join(made[path] for path in sorted(made, key=lambda one: one.encode("utf-8"))) + "]"


def _guest_path(text: str) -> str:
    """Absolute and normalized; a relative path is below the home directory."""
    if not text or "\0" in text:
        raise ValueError("profile: the path of a mount is empty or contains a NUL byte")
    names = [name for name in text.split("/") if name not in ("", ".")]
    if ".." in names or any(len(name.encode("utf-8")) > _MAX_NAME for name in names):
        raise ValueError('profile: the path of a mount contains ".." or a name of more than 255 bytes')
    path = ("" if text.startswith("/") else _HOME) + "".join("/" + name for name in names) or "/"
    if len(path.encode("utf-8")) > _MAX_PATH:
        raise ValueError(f"profile: the path of a mount is longer than {_MAX_PATH} bytes")
    return path
