"""Requests about sandboxes: their life, programs and contexts."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union
from urllib.parse import quote

from ..models.from_json import read, read_list
from ..models.network_usage import NetworkFigures
from ..models.records import ContextInfo, LogEntry, ProcessInfo, SandboxInfo, SandboxMetrics, Snapshot
from ..models.results import CodeResult, ExecResult
from ..profile.dependencies import AnyDependencies
from ..profile.network import Net, net_of
from ..transport.endpoint import Endpoint
from ..transport.request import Call, Deadline, path_of, target_of
from .arguments import Seconds, env_of, milliseconds, profile_of, seconds_of, whole_seconds, with_build
from .process_stream import exec_body
from .runs import NDJSON, waiting_time

__all__ = ["Page"]

# How long the server lets a command or a cell run when nobody says.
DEFAULT_EXEC_S = 60.0
# Cells wait in line for those before them.
UNKNOWN_CODE_S = 660.0
# After its packages were installed.
_CREATE_S = 60.0
# A snapshot of a gigabyte takes a while.
_SNAPSHOT_S = 300.0


def _none(_: Any) -> None:
    return None


def _info(said: Any) -> SandboxInfo:
    return read(SandboxInfo, said)


class Page:
    """One page of a list: what it has, and where the next begins."""

    def __init__(self, items: List[Any], cursor: Optional[str]) -> None:
        self.items = items
        self.cursor = cursor

    @staticmethod
    def of(kind: Any, name: str) -> Any:
        def made(said: Any) -> "Page":
            items = read_list(kind, said, name)
            cursor = said.get("next_cursor")
            return Page(items, cursor if isinstance(cursor, str) and cursor else None)

        return made


# --- their life -----------------------------------------------------------------------------------


def create(
    *,
    template: Optional[str] = None,
    snapshot: Optional[str] = None,
    ttl: Optional[Seconds] = None,
    env: Optional[Mapping[str, str]] = None,
    metadata: Optional[Mapping[str, str]] = None,
    name: Optional[str] = None,
    on_timeout: Optional[str] = None,
    agent_id: Optional[str] = None,
    private_ports: bool = False,
    min_grade: Optional[str] = None,
    memory_mb: Optional[int] = None,
    cpus: Optional[float] = None,
    cpu_ms: Optional[int] = None,
    pids: Optional[int] = None,
    disk_mb: Optional[int] = None,
    fs: Iterable[str] = (),
    net: Optional[Net] = None,
    dependencies: Optional[AnyDependencies] = None,
    request_timeout: Optional[Seconds] = None,
) -> "Call[SandboxInfo]":
    if template is not None and snapshot is not None:
        raise ValueError("a sandbox is made of a template or of a snapshot, not of both")
    body: Dict[str, Any] = {}
    if snapshot is not None:
        body["snapshot"] = snapshot
    else:
        body["template"] = template or "python"
    if ttl is not None:
        body["ttl_s"] = whole_seconds("ttl", ttl)
    if env is not None:
        body["env"] = env_of(env)
    kept = dict(metadata or {})
    if name is not None:
        kept["name"] = name
    if kept:
        body["metadata"] = kept
    for field, value in (("on_timeout", on_timeout), ("agent_id", agent_id), ("min_grade", min_grade)):
        if value is not None:
            body[field] = value
    if private_ports:
        body["private_ports"] = True
    profile = profile_of(
        memory_mb=memory_mb,
        cpus=cpus,
        cpu_ms=cpu_ms,
        pids=pids,
        disk_mb=disk_mb,
        fs=fs,
        net=net,
        dependencies=dependencies,
    )
    if profile:
        body["profile"] = profile
    seconds = _seconds(request_timeout)
    if seconds is None and "dependencies" in profile:
        seconds = with_build(_CREATE_S, profile)
    return Call("POST", "/v1/sandboxes", _info, json=body, timeout=seconds)


def _seconds(request_timeout: Optional[Seconds]) -> Optional[float]:
    return None if request_timeout is None else seconds_of("request_timeout", request_timeout)


def get(id: str) -> "Call[SandboxInfo]":
    return Call("GET", path_of("sandboxes", id), _info)


def page(
    *,
    state: Union[str, Sequence[str], None] = None,
    template: Optional[str] = None,
    agent_id: Optional[str] = None,
    metadata: Optional[Mapping[str, str]] = None,
    project: Optional[str] = None,
    page_size: Optional[int] = None,
    cursor: Optional[str] = None,
) -> "Call[Page]":
    states = state if state is None or isinstance(state, str) else ",".join(state)
    query: List[Any] = [("state", states), ("template", template), ("agent_id", agent_id)]
    query += [(f"metadata.{key}", value) for key, value in (metadata or {}).items()]
    query += [("limit", page_size), ("cursor", cursor), ("project", project)]
    return Call("GET", target_of("/v1/sandboxes", query), Page.of(SandboxInfo, "sandboxes"))


def kill(id: str) -> "Call[None]":
    return Call("DELETE", path_of("sandboxes", id), _none)


def update(id: str, ttl: Optional[Seconds] = None, metadata: Optional[Mapping[str, str]] = None) -> "Call[SandboxInfo]":
    body: Dict[str, Any] = {}
    if ttl is not None:
        body["ttl_s"] = whole_seconds("ttl", ttl)
    if metadata is not None:
        body["metadata"] = dict(metadata)
    return Call("PATCH", path_of("sandboxes", id), _info, json=body)


def set_network(id: str, net: Net) -> "Call[SandboxInfo]":
    if net is None:
        raise TypeError('net: say "none" for no network')
    return Call("PATCH", path_of("sandboxes", id), _info, json={"net": net_of(net)})


def network(id: str) -> "Call[NetworkFigures]":
    return Call("GET", path_of("sandboxes", id, "network"), lambda said: read(NetworkFigures, said))


def pause(id: str) -> "Call[SandboxInfo]":
    return Call("POST", path_of("sandboxes", id, "pause"), _info)


def resume(id: str) -> "Call[SandboxInfo]":
    return Call("POST", path_of("sandboxes", id, "resume"), _info)


def keepalive(id: str, ttl: Optional[Seconds]) -> "Call[SandboxInfo]":
    body = {} if ttl is None else {"ttl_s": whole_seconds("ttl", ttl)}
    return Call("POST", path_of("sandboxes", id, "keepalive"), _info, json=body)


def snapshot(id: str, name: Optional[str]) -> "Call[Snapshot]":
    body = {} if name is None else {"name": name}
    return Call(
        "POST",
        path_of("sandboxes", id, "snapshots"),
        lambda said: read(Snapshot, said),
        json=body,
        timeout=_SNAPSHOT_S,
    )


def metrics(id: str) -> "Call[SandboxMetrics]":
    return Call("GET", path_of("sandboxes", id, "metrics"), lambda said: read(SandboxMetrics, said))


def logs(id: str, limit: Optional[int]) -> "Call[List[LogEntry]]":
    target = target_of(path_of("sandboxes", id, "logs"), [("limit", limit)])
    return Call("GET", target, lambda said: read_list(LogEntry, said, "entries"))


# --- programs -------------------------------------------------------------------------------------


def exec(
    id: str,
    command: Union[str, Sequence[str]],
    *,
    cwd: Optional[str] = None,
    env: Optional[Mapping[str, str]] = None,
    user: Optional[str] = None,
    stdin: Union[str, bytes, None] = None,
    timeout: Optional[Seconds] = None,
    output_kb: Optional[int] = None,
    request_timeout: Optional[Seconds] = None,
) -> "Call[ExecResult]":
    body = exec_body(command, cwd=cwd, env=env, user=user, stdin=stdin, timeout=timeout, output_kb=output_kb)
    return Call(
        "POST",
        path_of("sandboxes", id, "exec"),
        lambda said: read(ExecResult, said),
        json=body,
        timeout=waiting_time(timeout, request_timeout, DEFAULT_EXEC_S + 30),
    )


def background(
    id: str,
    command: Union[str, Sequence[str]],
    *,
    cwd: Optional[str] = None,
    env: Optional[Mapping[str, str]] = None,
    user: Optional[str] = None,
    stdin: Union[str, bytes, None] = None,
) -> "Call[ProcessInfo]":
    body = exec_body(command, cwd=cwd, env=env, user=user, stdin=stdin, timeout=None, output_kb=None)
    body["background"] = True
    return Call("POST", path_of("sandboxes", id, "exec"), lambda said: read(ProcessInfo, said), json=body)


def exec_stream(id: str) -> str:
    return path_of("sandboxes", id, "exec", "stream")


def processes(id: str) -> "Call[List[ProcessInfo]]":
    return Call("GET", path_of("sandboxes", id, "processes"), lambda said: read_list(ProcessInfo, said, "processes"))


def process(id: str, number: int) -> "Call[ProcessInfo]":
    return Call("GET", path_of("sandboxes", id, "processes", number), lambda said: read(ProcessInfo, said))


def end_process(id: str, number: int) -> "Call[None]":
    return Call("DELETE", path_of("sandboxes", id, "processes", number), _none)


# --- code -----------------------------------------------------------------------------------------


def code(
    id: str,
    code: str,
    *,
    context: Union[str, ContextInfo, None] = None,
    language: Optional[str] = None,
    stdin: Optional[str] = None,
    timeout: Optional[Seconds] = None,
    output_kb: Optional[int] = None,
    request_timeout: Optional[Seconds] = None,
    is_live: bool = False,
) -> "Call[CodeResult]":
    if not isinstance(code, str):
        raise TypeError(f"code must be a string, not {type(code).__name__}")
    body: Dict[str, Any] = {"code": code}
    if context is not None:
        body["context"] = context.id if isinstance(context, ContextInfo) else str(context)
    for name, value in (("language", language), ("stdin", stdin), ("output_kb", output_kb)):
        if value is not None:
            body[name] = value
    if timeout is not None:
        body["timeout_ms"] = milliseconds("timeout", timeout)
    call: Call[CodeResult] = Call(
        "POST",
        path_of("sandboxes", id, "code"),
        lambda said: read(CodeResult, said),
        json=body,
        timeout=waiting_time(timeout, request_timeout, UNKNOWN_CODE_S),
    )
    if is_live:
        call.headers["Accept"] = call.stream_type = NDJSON
    return call


def create_context(
    id: str, language: Optional[str], cwd: Optional[str], env: Optional[Mapping[str, str]]
) -> "Call[ContextInfo]":
    body: Dict[str, Any] = {}
    if language is not None:
        body["language"] = language
    if cwd is not None:
        body["cwd"] = cwd
    if env is not None:
        body["env"] = env_of(env)
    return Call("POST", path_of("sandboxes", id, "contexts"), lambda said: read(ContextInfo, said), json=body)


def contexts(id: str) -> "Call[List[ContextInfo]]":
    return Call("GET", path_of("sandboxes", id, "contexts"), lambda said: read_list(ContextInfo, said, "contexts"))


def context_id(context: Union[str, ContextInfo]) -> str:
    return context.id if isinstance(context, ContextInfo) else context


def context(id: str, which: Union[str, ContextInfo]) -> "Call[ContextInfo]":
    return Call("GET", path_of("sandboxes", id, "contexts", context_id(which)), lambda said: read(ContextInfo, said))


def remove_context(id: str, which: Union[str, ContextInfo]) -> "Call[None]":
    return Call("DELETE", path_of("sandboxes", id, "contexts", context_id(which)), _none)


def interrupt_context(id: str, which: Union[str, ContextInfo]) -> "Call[None]":
    return Call("POST", path_of("sandboxes", id, "contexts", context_id(which), "interrupt"), _none)


# --- what else ------------------------------------------------------------------------------------


def port_url(endpoint: Endpoint, id: str, port: int) -> str:
    """An address of its own for what listens inside; by path where the server's host has no names below it.

    >>> port_url(Endpoint.of("http://127.0.0.1:7070", None), "sb1", 8000)
    'http://8000-sb1.localhost:7070/'
    >>> port_url(Endpoint.of("http://10.0.0.5:7070", None), "sb1", 8000)
    'http://10.0.0.5:7070/v1/sandboxes/sb1/ports/8000/'
    """
    if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65535:
        raise ValueError("a port is a whole number from 1 to 65535")
    host = "localhost" if endpoint.is_loopback else endpoint.host
    if host.replace(".", "").isdigit() or ":" in host or endpoint.base:
        return endpoint.url + path_of("sandboxes", id, "ports", port) + "/"
    scheme, usual = ("https", 443) if endpoint.is_secure else ("http", 80)
    where = "" if endpoint.port == usual else f":{endpoint.port}"
    return f"{scheme}://{port}-{quote(id, safe='')}.{host}{where}/"


def terminal_of(terminal: Union[bool, Mapping[str, int]]) -> Optional[Mapping[str, int]]:
    if isinstance(terminal, bool):
        return {"rows": 24, "columns": 80} if terminal else None
    return terminal


def size_of_page(page_size: Optional[int], left: Optional[int]) -> Optional[int]:
    """No more than is wanted, and no more than a page can have."""
    if left is None:
        return page_size
    return min(left, page_size or 50, 200)


def stream_deadline(timeout: Seconds, request_timeout: Optional[Seconds]) -> Deadline:
    seconds = waiting_time(timeout, request_timeout, 0.0)
    return Deadline(seconds if seconds > 0 else None)
