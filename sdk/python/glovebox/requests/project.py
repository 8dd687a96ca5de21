"""Requests for templates, snapshots, runs, keys and events of a project."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ..models.from_json import from_json, list_from_json
from ..models.records import Key, ProjectEvent, RunRecord, Snapshot, Template
from ..profile.dependencies import AnyDependencies, dependencies_field
from ..transport.event_streams import ServerSentEvent
from ..transport.request import Request, api_path, with_query
from .arguments import Seconds, add_build_time, check_env, string_list, to_milliseconds, to_seconds
from .sandboxes import Page

__all__ = ["project_event"]

#: How many sandboxes wait: a number, or ``{"min": 1, "max": 8}``.
Pool = Union[int, Mapping[str, int]]

# In addition to installing the packages.
_CREATE_S = 60.0


def _none(_: Any) -> None:
    return None


def _template(data: Any) -> Template:
    return from_json(Template, data)


def _pool(name: str, value: Pool) -> Dict[str, int]:
    bounds = {"min": value} if isinstance(value, int) else value
    if not isinstance(bounds, Mapping) or not bounds or not set(bounds) <= {"min", "max"}:
        raise ValueError(f'{name} must be a number of sandboxes, or like {{"min": 1, "max": 8}}, not {value!r}')
    for bound in bounds.values():
        if type(bound) is not int or bound < 0:
            raise ValueError(f"{name} must be whole numbers from 0, not {bound!r}")
    return dict(bounds)


def templates() -> "Request[List[Template]]":
    return Request("GET", "/v1/templates", lambda data: list_from_json(Template, data, "templates"))


def template(name: str) -> "Request[Template]":
    return Request("GET", api_path("templates", name), _template)


def create_template(
    name: str,
    base: Optional[str] = None,
    *,
    snapshot: Optional[str] = None,
    image: Optional[str] = None,
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
    pool: Optional[Pool] = None,
    session_pool: Optional[Pool] = None,
    request_timeout: Optional[Seconds] = None,
) -> "Request[Template]":
    if (base is not None or image is not None) == (snapshot is not None):
        raise ValueError("a template is created from another one (base=), of an image or of a snapshot: pass one")
    body: Dict[str, Any] = {"name": name}
    if base is not None:
        body["from"] = base
    if snapshot is not None:
        body["snapshot"] = snapshot
    if preload is not None:
        body["preload"] = string_list("preload", preload)
    if env is not None:
        body["env"] = check_env(env)
    if description is not None:
        body["description"] = description
    limits: Dict[str, Any] = {
        "timeout_ms": None if timeout is None else to_milliseconds("timeout", timeout),
        "cpu_ms": cpu_ms,
        "memory_mb": memory_mb,
        "disk_mb": disk_mb,
        "pids": pids,
        "cpus": cpus,
        "dependencies": dependencies_field(dependencies),
        "image": image,
    }
    profile = {field: value for field, value in limits.items() if value is not None}
    if profile:
        body["profile"] = profile
    for field, waiting in (("pool", pool), ("session_pool", session_pool)):
        if waiting is not None:
            body[field] = _pool(field, waiting)
    seconds = None if request_timeout is None else to_seconds("request_timeout", request_timeout)
    if seconds is None and ("dependencies" in profile or image is not None):
        seconds = add_build_time(_CREATE_S, profile)
    return Request("POST", "/v1/templates", _template, json=body, timeout=seconds)


def remove_template(name: str) -> "Request[None]":
    return Request("DELETE", api_path("templates", name), _none)


def snapshots() -> "Request[List[Snapshot]]":
    return Request("GET", "/v1/snapshots", lambda data: list_from_json(Snapshot, data, "snapshots"))


def snapshot(id: str) -> "Request[Snapshot]":
    return Request("GET", api_path("snapshots", id), lambda data: from_json(Snapshot, data))


def remove_snapshot(id: str) -> "Request[None]":
    return Request("DELETE", api_path("snapshots", id), _none)


def runs_page(
    *,
    status: Optional[str] = None,
    template: Optional[str] = None,
    since_ms: Optional[int] = None,
    project: Optional[str] = None,
    page_size: Optional[int] = None,
    cursor: Optional[str] = None,
) -> "Request[Page]":
    query = [
        ("limit", page_size),
        ("cursor", cursor),
        ("status", status),
        ("template", template),
        ("since_ms", since_ms),
        ("project", project),
    ]
    return Request("GET", with_query("/v1/runs", query), Page.of(RunRecord, "runs"))


def run(id: str) -> "Request[RunRecord]":
    return Request("GET", api_path("runs", id), lambda data: from_json(RunRecord, data))


def keys() -> "Request[List[Key]]":
    return Request("GET", "/v1/keys", lambda data: list_from_json(Key, data, "keys"))


def create_key(
    project: Optional[str] = None,
    *,
    name: Optional[str] = None,
    role: Optional[str] = None,
    max_in_flight: Optional[int] = None,
    runs_per_minute: Optional[int] = None,
    max_memory_mb: Optional[int] = None,
) -> "Request[Key]":
    body: Dict[str, Any] = {
        field: value for field, value in (("project", project), ("name", name), ("role", role)) if value is not None
    }
    all_limits = {
        "max_in_flight": max_in_flight,
        "runs_per_minute": runs_per_minute,
        "max_memory_mb": max_memory_mb,
    }
    limits = {field: value for field, value in all_limits.items() if value is not None}
    if limits:
        body["limits"] = limits
    return Request("POST", "/v1/keys", lambda data: from_json(Key, data), json=body)


def revoke_key(id: str) -> "Request[None]":
    return Request("DELETE", api_path("keys", id), _none)


def events(last_event_id: Optional[str], project: Optional[str], timeout: float) -> "Request[None]":
    request: Request[None] = Request(
        "GET",
        with_query("/v1/events", [("project", project)]),
        _none,
        headers={"Accept": "text/event-stream"},
        timeout=timeout,
        stream_type="text/event-stream",
    )
    if last_event_id is not None:
        request.headers["Last-Event-ID"] = str(last_event_id)
    return request


def project_event(event: ServerSentEvent) -> ProjectEvent:
    return ProjectEvent(event.type, event.id, event.data if isinstance(event.data, dict) else {})
