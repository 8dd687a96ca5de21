"""Records of the server: sandboxes, processes, files, templates, snapshots, runs and keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Dict, List, Mapping, Optional

from .results import Isolation, RunFailure, decode_base64_or_text

__all__ = [
    "AskedDependencies",
    "ContextInfo",
    "FileEvent",
    "FileInfo",
    "Key",
    "KeyLimits",
    "Layer",
    "LayerCheck",
    "LayerPackage",
    "Limits",
    "LogEntry",
    "ProcessInfo",
    "ProjectEvent",
    "PrunedLayers",
    "RunRecord",
    "SandboxInfo",
    "SandboxMetrics",
    "Snapshot",
    "StreamKept",
    "Template",
    "Usage",
    "UsagePoint",
]


def _raw() -> Any:
    return field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class AskedDependencies:
    """Requested packages; files by the SHA-256 of their text."""

    packages: List[str] = field(default_factory=list)
    preload: List[str] = field(default_factory=list)
    requirements_sha256: Optional[str] = None
    lock_sha256: Optional[str] = None
    #: Whether the host's own packages are visible; None: as the template says.
    host_packages: Optional[bool] = None
    #: The layer with these packages, for a sandbox.
    layer: Optional[str] = None


@dataclass(frozen=True)
class Limits:
    """Limits of a sandbox."""

    memory_mb: int = 0
    disk_mb: int = 0
    pids: int = 0
    cpus: float = 0.0


@dataclass(frozen=True)
class SandboxInfo:
    """A sandbox, as in the last response of the server."""

    id: str
    state: str
    template: str
    snapshot: Optional[str] = None
    agent_id: Optional[str] = None
    name: Optional[str] = None
    metadata: Dict[str, str] = field(default_factory=dict)
    on_timeout: str = "kill"
    ttl_s: int = 0
    created_at: Optional[datetime] = None
    expires_at: Optional[datetime] = None
    ended_at: Optional[datetime] = None
    reason: Optional[str] = None
    engine: str = ""
    isolation: Isolation = field(default_factory=Isolation, repr=False)
    limits: Limits = field(default_factory=Limits)
    profile: str = field(default="", repr=False)
    net: Any = "none"
    dependencies: Optional[AskedDependencies] = field(default=None, repr=False)
    private_ports: bool = False
    port_token: Optional[str] = field(default=None, repr=False)
    features: Dict[str, bool] = field(default_factory=dict, repr=False)
    raw: Mapping[str, Any] = _raw()


@dataclass(frozen=True)
class Usage:
    """The current resource usage of a sandbox; None where no cgroup counts it."""

    at: Optional[datetime] = None
    cpu_us: Optional[int] = None
    memory_bytes: Optional[int] = None
    peak_memory_bytes: Optional[int] = None
    memory_limit_bytes: int = 0
    socket_bytes: Optional[int] = None
    disk_bytes: int = 0
    disk_limit_bytes: int = 0
    processes: Optional[int] = None
    processes_limit: int = 0
    oom_kills: Optional[int] = None


@dataclass(frozen=True)
class UsagePoint:
    """The resource usage of a sandbox at one time."""

    at: Optional[datetime] = None
    cpu_us: Optional[int] = None
    memory_bytes: Optional[int] = None
    disk_bytes: int = 0
    processes: Optional[int] = None


@dataclass(frozen=True)
class SandboxMetrics:
    """The resource usage of a sandbox, now and recently; the oldest point first."""

    now: Usage
    history: List[UsagePoint] = field(default_factory=list)


@dataclass(frozen=True)
class LogEntry:
    """An event in a sandbox."""

    at: Optional[datetime]
    kind: str
    message: str
    process: Optional[int] = None


@dataclass(frozen=True)
class StreamKept:
    """The range of a process's output that the server keeps."""

    begin: int = 0
    end: int = 0


@dataclass(frozen=True)
class ProcessInfo:
    """A process that was started in a sandbox."""

    process: int
    pid: int = 0
    kind: str = "program"
    cmd: str = ""
    user: str = ""
    cwd: str = ""
    terminal: bool = False
    state: str = ""
    exit_code: Optional[int] = None
    signal: Optional[int] = None
    oom_killed: bool = False
    started_at: Optional[datetime] = None
    attached: bool = False
    context: Optional[str] = None
    stdout: StreamKept = field(default_factory=StreamKept)
    stderr: StreamKept = field(default_factory=StreamKept)
    raw: Mapping[str, Any] = _raw()

    @property
    def number(self) -> int:
        """The number of the process, for ``sandbox.attach(number)``."""
        return self.process


@dataclass(frozen=True)
class ContextInfo:
    """A live interpreter in a sandbox."""

    id: str
    language: str = ""
    cwd: str = ""
    user: str = ""
    state: str = ""
    warm: bool = False
    created_at: Optional[datetime] = None
    cells: int = 0
    waiting: int = 0
    process: Optional[int] = None
    raw: Mapping[str, Any] = _raw()


@dataclass(frozen=True)
class FileInfo:
    """A file, directory or link in a sandbox."""

    path: str
    name: str = ""
    type: str = ""
    size: int = 0
    mode: str = ""
    uid: int = 0
    gid: int = 0
    user: Optional[str] = None
    group: Optional[str] = None
    modified_at: Optional[datetime] = None
    target: Optional[str] = None
    path_base64: Optional[str] = field(default=None, repr=False)
    target_base64: Optional[str] = field(default=None, repr=False)
    raw: Mapping[str, Any] = _raw()

    @property
    def path_bytes(self) -> bytes:
        """The path as bytes, also if it is not UTF-8."""
        return decode_base64_or_text(self.path, self.path_base64 or None)

    @property
    def is_file(self) -> bool:
        return self.type == "file"

    @property
    def is_dir(self) -> bool:
        return self.type == "directory"


@dataclass(frozen=True)
class FileEvent:
    """A change of a file: ``created``, ``written``, ``removed``, ``renamed``, ``attribute``, or ``overflow`` if events
    were lost."""

    type: str
    path: str = ""
    directory: bool = False
    to: Optional[str] = None
    raw: Mapping[str, Any] = _raw()


@dataclass(frozen=True)
class ProjectEvent:
    """An event in a project: ``run.started``, ``run.finished``, ``template.changed`` …"""

    type: str
    id: Optional[str]
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Snapshot:
    """A snapshot of the files of a sandbox."""

    id: str
    name: Optional[str] = None
    sandbox: str = ""
    template: str = ""
    bytes: int = 0
    files: int = 0
    dependencies: Optional[AskedDependencies] = field(default=None, repr=False)
    created_at: Optional[datetime] = None
    raw: Mapping[str, Any] = _raw()


@dataclass(frozen=True)
class Template:
    """A template for sandboxes, and its state."""

    name: str
    description: str = ""
    built_in: bool = False
    project: Optional[str] = None
    runtime: str = ""
    language: str = ""
    preload: List[str] = field(default_factory=list)
    layers: List[str] = field(default_factory=list, repr=False)
    profile: Dict[str, Any] = field(default_factory=dict, repr=False)
    pool: Dict[str, Any] = field(default_factory=dict, repr=False)
    session_pool: Dict[str, Any] = field(default_factory=dict, repr=False)
    state: str = ""
    generation: int = 0
    zygotes: int = 0
    forks: int = 0
    error: Optional[str] = None
    env: Optional[Dict[str, str]] = field(default=None, repr=False)
    dependencies: Optional[AskedDependencies] = field(default=None, repr=False)
    snapshot: Optional[str] = None
    image: Optional[str] = None
    created_at: Optional[datetime] = None
    raw: Mapping[str, Any] = _raw()

    @property
    def base(self) -> Optional[str]:
        """The template that a template of a project was created from (``from`` in the response)."""
        base = self.raw.get("from")
        return base if isinstance(base, str) else None


@dataclass(frozen=True)
class LayerPackage:
    """A package in a layer, as the index delivered it."""

    name: str
    version: str = ""
    file: str = ""
    #: ``sha256:…``, or the integrity of an npm package, ``sha512-…``.
    hash: str = ""


@dataclass(frozen=True)
class Layer:
    """Packages that were installed together and are kept."""

    id: str
    manager: str = ""
    interpreter: str = ""
    index: str = ""
    bytes: int = 0
    entries: int = 0
    digest: str = field(default="", repr=False)
    made_at: Optional[datetime] = None
    used_at: Optional[datetime] = None
    checked_at: Optional[datetime] = None
    in_use: bool = False
    asked: List[str] = field(default_factory=list)
    packages: List[LayerPackage] = field(default_factory=list, repr=False)
    projects: List[str] = field(default_factory=list, repr=False)
    #: Set by ``layers.build()``: it was built for this request, or for another one at the same time.
    built: bool = False
    #: Set by ``layers.build()``: why no interpreter is kept warm with its packages; None if one is.
    cold_because: Optional[str] = None
    raw: Mapping[str, Any] = _raw()


@dataclass(frozen=True)
class LayerCheck:
    """The result of ``layers.check()``."""

    intact: bool
    expected: str = ""
    found: str = ""


@dataclass(frozen=True)
class PrunedLayers:
    """What ``layers.prune()`` removed, or would remove."""

    removed: List[str] = field(default_factory=list)
    bytes: int = 0


@dataclass(frozen=True)
class RunRecord:
    """The record of a run."""

    id: str
    status: str = ""
    exit_code: int = 0
    template: str = ""
    language: str = ""
    profile: str = field(default="", repr=False)
    warm: bool = False
    engine: str = ""
    grade: str = ""
    key_id: str = field(default="", repr=False)
    started_at: Optional[datetime] = None
    finished_at: Optional[datetime] = None
    wall_us: int = 0
    cpu_us: Optional[int] = None
    peak_memory_bytes: Optional[int] = None
    request_id: str = field(default="", repr=False)
    error: Optional[RunFailure] = None
    stdout: str = ""
    stderr: str = ""
    stdout_cut: bool = False
    stderr_cut: bool = False
    answer: Optional[Dict[str, Any]] = field(default=None, repr=False)
    raw: Mapping[str, Any] = _raw()


@dataclass(frozen=True)
class KeyLimits:
    """Limits of an API key; 0 is no limit."""

    max_in_flight: int = 0
    runs_per_minute: int = 0
    max_memory_mb: int = 0


@dataclass(frozen=True)
class Key:
    """An API key. Only ``keys.create()`` returns its secret, in ``key``."""

    id: str
    project: str = ""
    name: str = ""
    role: str = ""
    limits: KeyLimits = field(default_factory=KeyLimits)
    created_at: Optional[datetime] = None
    last_used_at: Optional[datetime] = None
    revoked_at: Optional[datetime] = None
    key: Optional[str] = field(default=None, repr=False)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
