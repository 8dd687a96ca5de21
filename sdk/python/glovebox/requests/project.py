"""Requests about what a project has besides sandboxes: templates, snapshots, runs, keys, events."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..models.from_json import read, read_list
from ..models.records import Key, ProjectEvent, RunRecord, Snapshot, Template
from ..profile.dependencies import AnyDependencies, dependencies_of
from ..transport.event_streams import SentEvent
from ..transport.request import Call, path_of, target_of
from .arguments import Seconds, env_of, milliseconds, seconds_of, strings_of, with_build
from .sandboxes import Page

__all__ = ["project_event"]

# After its packages were installed.
_CREATE_S = 60.0


def _none(_: Any) -> None:
    return None


def _template(said: Any) -> Template:
    return read(Template, said)


def templates() -> "Call[List[Template]]":
    return Call("GET", "/v1/templates", lambda said: read_list(Template, said, "templates"))


def template(name: str) -> "Call[Template]":
    return Call("GET", path_of("templates", name), _template)


def create_template(
    name: str,
    base: Optional[str] = None,
    *,
    snapshot: Optional[str] = None,
    dependencies: Optional[AnyDependencies] = None,
    preload: Optional[Sequence[str]] = None,
    env: Optional[Mapping[str, str]] = None,
    description: Optional[str] = None,
    timeout: Optional[Seconds] = None,
    cpu_ms: Optional[int] = None,
    memory_mb: Optional[int] = None,
    disk_mb: Optional[int] = None,
    pids: Optional[int] = None,
    cpus: Optional[float] = None,
    request_timeout: Optional[Seconds] = None,
) -> "Call[Template]":
    if (base is None) == (snapshot is None):
        raise ValueError("a template is made of another one (base) or of a snapshot")
    body: Dict[str, Any] = {"name": name, **({"from": base} if snapshot is None else {"snapshot": snapshot})}
    if preload is not None:
        body["preload"] = strings_of("preload", preload)
    if env is not None:
        body["env"] = env_of(env)
    if description is not None:
        body["description"] = description
    limits: Dict[str, Any] = {
        "timeout_ms": None if timeout is None else milliseconds("timeout", timeout),
        "cpu_ms": cpu_ms,
        "memory_mb": memory_mb,
        "disk_mb": disk_mb,
        "pids": pids,
        "cpus": cpus,
        "dependencies": dependencies_of(dependencies),
    }
    said = {field: value for field, value in limits.items() if value is not None}
    if said:
        body["profile"] = said
    seconds = None if request_timeout is None else seconds_of("request_timeout", request_timeout)
    if seconds is None and "dependencies" in said:
        seconds = with_build(_CREATE_S, said)
    return Call("POST", "/v1/templates", _template, json=body, timeout=seconds)


def remove_template(name: str) -> "Call[None]":
    return Call("DELETE", path_of("templates", name), _none)


def snapshots() -> "Call[List[Snapshot]]":
    return Call("GET", "/v1/snapshots", lambda said: read_list(Snapshot, said, "snapshots"))


def snapshot(id: str) -> "Call[Snapshot]":
    return Call("GET", path_of("snapshots", id), lambda said: read(Snapshot, said))


def remove_snapshot(id: str) -> "Call[None]":
    return Call("DELETE", path_of("snapshots", id), _none)


def runs_page(
    *,
    status: Optional[str] = None,
    template: Optional[str] = None,
    since_ms: Optional[int] = None,
    project: Optional[str] = None,
    page_size: Optional[int] = None,
    cursor: Optional[str] = None,
) -> "Call[Page]":
    query = [
        ("limit", page_size),
        ("cursor", cursor),
        ("status", status),
        ("template", template),
        ("since_ms", since_ms),
        ("project", project),
    ]
    return Call("GET", target_of("/v1/runs", query), Page.of(RunRecord, "runs"))


def run(id: str) -> "Call[RunRecord]":
    return Call("GET", path_of("runs", id), lambda said: read(RunRecord, said))


def keys() -> "Call[List[Key]]":
    return Call("GET", "/v1/keys", lambda said: read_list(Key, said, "keys"))


def create_key(
    project: Optional[str] = None,
    *,
    name: Optional[str] = None,
    role: Optional[str] = None,
    max_in_flight: Optional[int] = None,
    runs_per_minute: Optional[int] = None,
    max_memory_mb: Optional[int] = None,
) -> "Call[Key]":
    body: Dict[str, Any] = {
        field: value for field, value in (("project", project), ("name", name), ("role", role)) if value is not None
    }
    limits = {
        "max_in_flight": max_in_flight,
        "runs_per_minute": runs_per_minute,
        "max_memory_mb": max_memory_mb,
    }
    said = {field: value for field, value in limits.items() if value is not None}
    if said:
        body["limits"] = said
    return Call("POST", "/v1/keys", lambda answer: read(Key, answer), json=body)


def revoke_key(id: str) -> "Call[None]":
    return Call("DELETE", path_of("keys", id), _none)


def events(last_event_id: Optional[str], project: Optional[str], timeout: float) -> "Call[None]":
    call: Call[None] = Call(
        "GET",
        target_of("/v1/events", [("project", project)]),
        _none,
        headers={"Accept": "text/event-stream"},
        timeout=timeout,
        stream_type="text/event-stream",
    )
    if last_event_id is not None:
        call.headers["Last-Event-ID"] = str(last_event_id)
    return call


def project_event(event: SentEvent) -> ProjectEvent:
    return ProjectEvent(event.type, event.id, event.data if isinstance(event.data, dict) else {})
