"""Converts arguments (seconds, megabytes) into fields of a request."""

from __future__ import annotations

import base64
import math
from datetime import timedelta
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from ..profile.dependencies import BUILD_S, AnyDependencies, dependencies_field
from ..profile.mounts import parse_mounts
from ..profile.network import Net, net_field

__all__ = [
    "Seconds",
    "check_env",
    "to_milliseconds",
    "profile_fields",
    "to_seconds",
    "encode_text_or_bytes",
    "string_list",
    "to_whole_seconds",
    "add_build_time",
]

#: A duration: seconds, or a timedelta.
Seconds = Union[int, float, timedelta]


def to_seconds(name: str, value: Seconds) -> float:
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{name} must be a number of seconds or a timedelta, not {type(value).__name__}")
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError(f"{name} must be a finite number of seconds, not negative")
    return float(seconds)


def to_milliseconds(name: str, value: Seconds) -> int:
    """
    >>> to_milliseconds("timeout", 1.5), to_milliseconds("timeout", 0.0001)
    (1500, 1)
    """
    seconds = to_seconds(name, value)
    return max(1, round(seconds * 1000)) if seconds > 0 else 0


def to_whole_seconds(name: str, value: Seconds) -> int:
    return math.ceil(to_seconds(name, value))


def profile_fields(
    *,
    timeout: Optional[Seconds] = None,
    cpu_ms: Optional[int] = None,
    memory_mb: Optional[int] = None,
    cpus: Optional[float] = None,
    pids: Optional[int] = None,
    disk_mb: Optional[int] = None,
    output_kb: Optional[int] = None,
    fs: Union[str, Iterable[str]] = (),
    net: Optional[Net] = None,
    dependencies: Optional[AnyDependencies] = None,
    reuse: Optional[str] = None,
    image: Optional[str] = None,
) -> Dict[str, Any]:
    """The ``profile`` of a run or a sandbox: only the fields that were given."""
    profile: Dict[str, Any] = {}
    if timeout is not None:
        profile["timeout_ms"] = to_milliseconds("timeout", timeout)
    for name, value in (
        ("cpu_ms", cpu_ms),
        ("memory_mb", memory_mb),
        ("cpus", cpus),
        ("pids", pids),
        ("disk_mb", disk_mb),
        ("output_kb", output_kb),
        ("net", net_field(net)),
        ("dependencies", dependencies_field(dependencies)),
        ("reuse", reuse_field(reuse)),
        ("image", image),
    ):
        if value is not None:
            profile[name] = value
    mounts = parse_mounts(fs) if fs else None
    if mounts:
        profile["mounts"] = mounts
    return profile


def reuse_field(reuse: Optional[str]) -> Optional[str]:
    if reuse not in (None, "never", "sandbox", "interpreter"):
        raise ValueError(f'reuse must be "never", "sandbox" or "interpreter", not {reuse!r}')
    return None if reuse == "never" else reuse


def add_build_time(seconds: float, profile: Mapping[str, Any]) -> float:
    """How long to wait for a response if packages may have to be installed first; 0 is no limit.

    >>> add_build_time(60, {"dependencies": ["six"]}), add_build_time(60, {})
    (960.0, 60)
    """
    return seconds + BUILD_S if seconds > 0 and "dependencies" in profile else seconds


def encode_text_or_bytes(stdin: Union[str, bytes, None], name: str = "stdin") -> Dict[str, str]:
    """A field with text, or with bytes in base64; none for None."""
    if stdin is None:
        return {}
    if isinstance(stdin, str):
        return {name: stdin}
    if isinstance(stdin, (bytes, bytearray, memoryview)):
        return {name + "_base64": base64.b64encode(stdin).decode()}
    raise TypeError(f"{name} must be str or bytes, not {type(stdin).__name__}")


def check_env(env: Mapping[str, str]) -> Dict[str, str]:
    if not isinstance(env, Mapping):
        raise TypeError(f'env must be a dict, like {{"TZ": "UTC"}}, not {type(env).__name__}')
    made = dict(env)
    for name, value in made.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"env: the name and the value of {name!r} must be strings; convert numbers with str()")
    return made


def string_list(name: str, values: Sequence[Any]) -> List[str]:
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{name} must be a list of strings, not one string")
    if not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of strings, not {type(values).__name__}")
    return [str(value) for value in values]
