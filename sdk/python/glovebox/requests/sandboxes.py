"""Requests for sandboxes: life cycle, programs and contexts."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union
from urllib.parse import quote

from ..errors import ConflictError, NotFoundError
from ..models.from_json import from_json, list_from_json
from ..models.network_usage import NetworkFigures
from ..models.records import ContextInfo, LogEntry, ProcessInfo, SandboxInfo, SandboxMetrics, Snapshot
from ..models.results import CodeResult, ExecResult
from ..profile.dependencies import AnyDependencies
from ..profile.network import Net, net_field
from ..transport.endpoint import Endpoint
from ..transport.request import Deadline, Request, api_path, with_query
from .arguments import Seconds, add_build_time, check_env, profile_fields, to_milliseconds, to_seconds, to_whole_seconds
from .process_stream import exec_body
from .runs import NDJSON, response_timeout

__all__ = ["Page"]

# The server's default time limit for a command or a cell.
DEFAULT_EXEC_S = 60.0
# A cell waits for the cells before it.
UNKNOWN_CODE_S = 660.0
# In addition to installing the packages.
_CREATE_S = 60.0
# A snapshot of a gigabyte takes a while.
_SNAPSHOT_S = 300.0


def _none(_: Any) -> None:
    return None


def _info(data: Any) -> SandboxInfo:
    return from_json(SandboxInfo, data)


class Page:
    """One page of a list, and the cursor of the next page."""

    def __init__(self, items: List[Any], cursor: Optional[str]) -> None:
        self.items = items
        self.cursor = cursor

    @staticmethod
    def of(kind: Any, name: str) -> Any:
        def made(data: Any) -> "Page":
            items = list_from_json(kind, data, name)
            cursor = data.get("next_cursor")
            return Page(items, cursor if isinstance(cursor, str) and cursor else None)

        return made


# --- life cycle -----------------------------------------------------------------------------------


def create(
    *,
    template: Optional[str] = None,
    snapshot: Optional[str] = None,
    image: Optional[str] = None,
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
) -> "Request[SandboxInfo]":
    if sum(one is not None for one in (template, snapshot, image)) > 1:
        raise ValueError("pass template=, snapshot= or image=, one of them")
    body: Dict[str, Any] = {}
    if snapshot is not None:
        body["snapshot"] = snapshot
    elif image is None:
        body["template"] = template or "python"
    if ttl is not None:
        body["ttl_s"] = to_whole_seconds("ttl", ttl)
    if env is not None:
        body["env"] = check_env(env)
    if metadata:
        body["metadata"] = dict(metadata)
    named = (("name", name), ("on_timeout", on_timeout), ("agent_id", agent_id), ("min_grade", min_grade))
    for field, value in named:
        if value is not None:
            body[field] = value
    if private_ports:
        body["private_ports"] = True
    profile = profile_fields(
        memory_mb=memory_mb,
        cpus=cpus,
        cpu_ms=cpu_ms,
        pids=pids,
        disk_mb=disk_mb,
        fs=fs,
        net=net,
        dependencies=dependencies,
        image=image,
    )
    if profile:
        body["profile"] = profile
    seconds = _seconds(request_timeout)
    if seconds is None and "dependencies" in profile:
        seconds = add_build_time(_CREATE_S, profile)
    return Request("POST", "/v1/sandboxes", _info, json=body, timeout=seconds)


def _seconds(request_timeout: Optional[Seconds]) -> Optional[float]:
    return None if request_timeout is None else to_seconds("request_timeout", request_timeout)


def get(id: str) -> "Request[SandboxInfo]":
    return Request("GET", api_path("sandboxes", id), _info)


# A sandbox that is over keeps its name, so a living one is looked for first.
LIVING = "pending,starting,running,paused"
_ID = re.compile("sb[a-z0-9]{20}")
_LEAST_ID_LETTERS = 4


def is_id(word: str) -> bool:
    return _ID.fullmatch(word) is not None


def matching(word: str, state: Optional[str]) -> "Request[Page]":
    query = [("match", word), ("state", state), ("limit", 200)]
    return Request("GET", with_query("/v1/sandboxes", query), Page.of(SandboxInfo, "sandboxes"))


def choose(word: str, found: Sequence[SandboxInfo]) -> SandboxInfo:
    """The one with this name, else the one whose id begins with the word."""
    begun = [one for one in found if len(word) >= _LEAST_ID_LETTERS and one.id.startswith(word)]
    chosen = [one for one in found if word and one.name == word] or begun
    if not chosen:
        raise NotFoundError(404, "not_found", f"there is no sandbox with the id or name {word!r}")
    if len(chosen) > 1:
        ids = ", ".join(one.id for one in chosen[:5])
        raise ConflictError(409, "ambiguous", f"{word!r} is ambiguous: {len(chosen)} sandboxes match it, like {ids}")
    return chosen[0]


def page(
    *,
    state: Union[str, Sequence[str], None] = None,
    template: Optional[str] = None,
    agent_id: Optional[str] = None,
    metadata: Optional[Mapping[str, str]] = None,
    project: Optional[str] = None,
    page_size: Optional[int] = None,
    cursor: Optional[str] = None,
) -> "Request[Page]":
    states = state if state is None or isinstance(state, str) else ",".join(state)
    query: List[Any] = [("state", states), ("template", template), ("agent_id", agent_id)]
    query += [(f"metadata.{key}", value) for key, value in (metadata or {}).items()]
    query += [("limit", page_size), ("cursor", cursor), ("project", project)]
    return Request("GET", with_query("/v1/sandboxes", query), Page.of(SandboxInfo, "sandboxes"))


def kill(id: str) -> "Request[None]":
    return Request("DELETE", api_path("sandboxes", id), _none)


def update(
    id: str, ttl: Optional[Seconds] = None, metadata: Optional[Mapping[str, str]] = None
) -> "Request[SandboxInfo]":
    body: Dict[str, Any] = {}
    if ttl is not None:
        body["ttl_s"] = to_whole_seconds("ttl", ttl)
    if metadata is not None:
        body["metadata"] = dict(metadata)
    return Request("PATCH", api_path("sandboxes", id), _info, json=body)


def set_network(id: str, net: Net) -> "Request[SandboxInfo]":
    if net is None:
        raise TypeError('net must not be None: pass "none" for no network')
    return Request("PATCH", api_path("sandboxes", id), _info, json={"net": net_field(net)})


def network(id: str) -> "Request[NetworkFigures]":
    return Request("GET", api_path("sandboxes", id, "network"), lambda data: from_json(NetworkFigures, data))


def pause(id: str) -> "Request[SandboxInfo]":
    return Request("POST", api_path("sandboxes", id, "pause"), _info)


def resume(id: str) -> "Request[SandboxInfo]":
    return Request("POST", api_path("sandboxes", id, "resume"), _info)


def keepalive(id: str, ttl: Optional[Seconds]) -> "Request[SandboxInfo]":
    body = {} if ttl is None else {"ttl_s": to_whole_seconds("ttl", ttl)}
    return Request("POST", api_path("sandboxes", id, "keepalive"), _info, json=body)


def snapshot(id: str, name: Optional[str]) -> "Request[Snapshot]":
    body = {} if name is None else {"name": name}
    return Request(
        "POST",
        api_path("sandboxes", id, "snapshots"),
        lambda data: from_json(Snapshot, data),
        json=body,
        timeout=_SNAPSHOT_S,
    )


def metrics(id: str) -> "Request[SandboxMetrics]":
    return Request("GET", api_path("sandboxes", id, "metrics"), lambda data: from_json(SandboxMetrics, data))


def logs(id: str, limit: Optional[int]) -> "Request[List[LogEntry]]":
    target = with_query(api_path("sandboxes", id, "logs"), [("limit", limit)])
    return Request("GET", target, lambda data: list_from_json(LogEntry, data, "entries"))


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
) -> "Request[ExecResult]":
    body = exec_body(command, cwd=cwd, env=env, user=user, stdin=stdin, timeout=timeout, output_kb=output_kb)
    return Request(
        "POST",
        api_path("sandboxes", id, "exec"),
        lambda data: from_json(ExecResult, data),
        json=body,
        timeout=response_timeout(timeout, request_timeout, DEFAULT_EXEC_S + 30),
    )


def background(
    id: str,
    command: Union[str, Sequence[str]],
    *,
    cwd: Optional[str] = None,
    env: Optional[Mapping[str, str]] = None,
    user: Optional[str] = None,
    stdin: Union[str, bytes, None] = None,
) -> "Request[ProcessInfo]":
    body = exec_body(command, cwd=cwd, env=env, user=user, stdin=stdin, timeout=None, output_kb=None)
    body["background"] = True
    return Request("POST", api_path("sandboxes", id, "exec"), lambda data: from_json(ProcessInfo, data), json=body)


def exec_stream(id: str) -> str:
    return api_path("sandboxes", id, "exec", "stream")


def processes(id: str) -> "Request[List[ProcessInfo]]":
    return Request(
        "GET", api_path("sandboxes", id, "processes"), lambda data: list_from_json(ProcessInfo, data, "processes")
    )


def process(id: str, number: int) -> "Request[ProcessInfo]":
    return Request("GET", api_path("sandboxes", id, "processes", number), lambda data: from_json(ProcessInfo, data))


def end_process(id: str, number: int) -> "Request[None]":
    return Request("DELETE", api_path("sandboxes", id, "processes", number), _none)


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
) -> "Request[CodeResult]":
    if not isinstance(code, str):
        raise TypeError(f"code must be a string, not {type(code).__name__}")
    body: Dict[str, Any] = {"code": code}
    if context is not None:
        body["context"] = context.id if isinstance(context, ContextInfo) else str(context)
    for name, value in (("language", language), ("stdin", stdin), ("output_kb", output_kb)):
        if value is not None:
            body[name] = value
    if timeout is not None:
        body["timeout_ms"] = to_milliseconds("timeout", timeout)
    request: Request[CodeResult] = Request(
        "POST",
        api_path("sandboxes", id, "code"),
        lambda data: from_json(CodeResult, data),
        json=body,
        timeout=response_timeout(timeout, request_timeout, UNKNOWN_CODE_S),
    )
    if is_live:
        request.headers["Accept"] = request.stream_type = NDJSON
    return request


def create_context(
    id: str, language: Optional[str], cwd: Optional[str], env: Optional[Mapping[str, str]], user: Optional[str] = None
) -> "Request[ContextInfo]":
    body: Dict[str, Any] = {}
    if language is not None:
        body["language"] = language
    if user is not None:
        body["user"] = user
    if cwd is not None:
        body["cwd"] = cwd
    if env is not None:
        body["env"] = check_env(env)
    return Request("POST", api_path("sandboxes", id, "contexts"), lambda data: from_json(ContextInfo, data), json=body)


def contexts(id: str) -> "Request[List[ContextInfo]]":
    return Request(
        "GET", api_path("sandboxes", id, "contexts"), lambda data: list_from_json(ContextInfo, data, "contexts")
    )


def context_id(context: Union[str, ContextInfo]) -> str:
    return context.id if isinstance(context, ContextInfo) else context


def context(id: str, which: Union[str, ContextInfo]) -> "Request[ContextInfo]":
    return Request(
        "GET", api_path("sandboxes", id, "contexts", context_id(which)), lambda data: from_json(ContextInfo, data)
    )


def remove_context(id: str, which: Union[str, ContextInfo]) -> "Request[None]":
    return Request("DELETE", api_path("sandboxes", id, "contexts", context_id(which)), _none)


def interrupt_context(id: str, which: Union[str, ContextInfo]) -> "Request[None]":
    return Request("POST", api_path("sandboxes", id, "contexts", context_id(which), "interrupt"), _none)


# --- ports, terminals, pages ------------------------------------------------------------------------------------


def port_url(endpoint: Endpoint, id: str, port: int) -> str:
    """The URL of a port inside the sandbox; a path of the API if the server's host has no subdomains.

    >>> port_url(Endpoint.of("http://127.0.0.1:7070", None), "sb1", 8000)
    'http://8000-sb1.localhost:7070/'
    >>> port_url(Endpoint.of("http://10.0.0.5:7070", None), "sb1", 8000)
    'http://10.0.0.5:7070/v1/sandboxes/sb1/ports/8000/'
    """
    if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65535:
        raise ValueError("port must be a whole number from 1 to 65535")
    host = "localhost" if endpoint.is_loopback else endpoint.host
    if host.replace(".", "").isdigit() or ":" in host or endpoint.base:
        return endpoint.url + api_path("sandboxes", id, "ports", port) + "/"
    scheme, usual = ("https", 443) if endpoint.is_secure else ("http", 80)
    where = "" if endpoint.port == usual else f":{endpoint.port}"
    return f"{scheme}://{port}-{quote(id, safe='')}.{host}{where}/"


def terminal_size(terminal: Union[bool, Mapping[str, int]]) -> Optional[Mapping[str, int]]:
    if isinstance(terminal, bool):
        return {"rows": 24, "columns": 80} if terminal else None
    return terminal


def next_page_size(page_size: Optional[int], left: Optional[int]) -> Optional[int]:
    """The size of the next page: not more than needed, and not more than the server allows."""
    if left is None:
        return page_size
    return min(left, page_size or 50, 200)


def stream_deadline(timeout: Seconds, request_timeout: Optional[Seconds]) -> Deadline:
    seconds = response_timeout(timeout, request_timeout, 0.0)
    return Deadline(seconds if seconds > 0 else None)
