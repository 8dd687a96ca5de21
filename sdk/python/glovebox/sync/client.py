"""The connection to a server: everything but sandboxes hangs off a :class:`Client`."""

from __future__ import annotations

import os
import threading
from typing import Any, Dict, Iterable, Mapping, Optional, Sequence, TypeVar, Union
from weakref import WeakSet

from ..errors import ConnectionFailed, TimeoutExpired, UnavailableError
from ..models.from_json import require_object
from ..models.records import ProjectEvent
from ..models.results import RunResult
from ..profile.dependencies import AnyDependencies
from ..profile.network import Net
from ..requests.arguments import Seconds, to_seconds
from ..requests.project import events, project_event
from ..requests.runs import Callbacks, Files, LiveReader, LiveResult, OnBuild, OnError, OnResult, OnText, run_request
from ..server.discovery import ServerLocation, find_server
from ..transport.endpoint import hide_password
from ..transport.request import Body, Request
from ._event_iterator import EventIterator
from ._transport import Stream, SyncTransport
from .lambda_functions import Functions
from .layers import Layers
from .project import Keys, Runs, Snapshots, Templates

T = TypeVar("T")

__all__ = ["Client", "default_client"]


_clients: "WeakSet[Client]" = WeakSet()


class Client:
    """A server and a key; cheap to keep, safe to share between threads.

    ``url`` and ``api_key`` may be left out: see :func:`glovebox.run` for which server it is then. It is
    looked for at the first request.

    >>> with Client() as client:
    ...     client.run("print(1 + 1)").stdout
    '2\\n'
    """

    def __init__(
        self,
        url: Optional[str] = None,
        api_key: Optional[str] = None,
        *,
        timeout: float = 60.0,
        max_retries: int = 2,
    ) -> None:
        self._url, self._api_key = url, api_key
        self._timeout, self._max_retries = timeout, max_retries
        self._lock = threading.Lock()
        _clients.add(self)
        self._location: Optional[ServerLocation] = None
        self._transport: Optional[SyncTransport] = None
        #: What sandboxes can be made of.
        self.templates = Templates(self)
        #: Sets of packages that were made.
        self.layers = Layers(self)
        #: Files of sandboxes that were kept.
        self.snapshots = Snapshots(self)
        #: Records of runs.
        self.runs = Runs(self)
        #: AWS Lambda handlers.
        self.functions = Functions(self)
        #: For admin keys: the keys of all projects.
        self.keys = Keys(self)

    # --- for the other modules of this package ----------------------------------------------------

    def _request(
        self,
        method: str,
        path: str,
        json: Optional[Mapping[str, Any]] = None,
        *,
        headers: Optional[Dict[str, str]] = None,
        timeout: Optional[float] = None,
        idempotent: Optional[bool] = None,
        body: Optional[Body] = None,
    ) -> Any:
        """Sends JSON to a path and gives the parsed answer; raises what the server refuses.

        ``timeout``: seconds for all of it; None the client's own, 0 without end.
        """
        # Of what was removed there is nothing to say.
        reader = require_object if method != "DELETE" else (lambda data: data)
        call: Request[Any] = Request(
            method, path, reader, json=json, body=body, timeout=timeout, is_idempotent=idempotent
        )
        if headers:
            call.headers = headers
        return self._do(call)

    def _do(self, call: Request[T]) -> T:
        transport = self._transport
        if transport is None or self._is_stale():
            transport = self._connect()
        try:
            answer = transport.request(call)
        except ConnectionFailed:
            self._explain_private()
            raise
        return call.read(answer.value())

    def _stream(self, call: "Request[Any]", *, keeps: bool = False) -> Stream:
        try:
            return self._connected().stream(call, keeps=keeps)
        except ConnectionFailed:
            self._explain_private()
            raise

    def _live(self, call: "Request[Any]", live: LiveReader) -> None:
        """Calls back while it comes. An exception of a callback's ends it."""
        stream = self._stream(call, keeps=True)
        try:
            for piece in stream:
                for called, value in live.feed(piece):
                    called(value)
        finally:
            stream.close()

    def _connected(self) -> SyncTransport:
        transport = self._transport
        return transport if transport is not None and not self._is_stale() else self._connect()

    def _is_stale(self) -> bool:
        """A private server is its starter's: not a forked child's."""
        place = self._location
        if place is None or place.private is None:
            return place is None
        return place.private.pid != os.getpid() or place.private.is_stopped

    def _connect(self) -> SyncTransport:
        with self._lock:
            if self._transport is None or self._is_stale():
                place = find_server(self._url, self._api_key)
                self._transport = SyncTransport(place.endpoint, self._timeout, self._max_retries)
                self._location = place
            return self._transport

    def _explain_private(self) -> None:
        """When it was our own server that went away: says so, and the next call starts another."""
        place = self._location
        if place is None or place.private is None or place.private.is_alive():
            return
        self.close()
        raise ConnectionFailed("the private server has ended: " + (place.private.log_tail() or "it said nothing"))

    # --- runs -------------------------------------------------------------------------------------

    def run(
        self,
        code: Optional[str] = None,
        *,
        language: Optional[str] = None,
        template: Optional[str] = None,
        command: Union[str, Sequence[str], None] = None,
        args: Optional[Sequence[str]] = None,
        stdin: Union[str, bytes, None] = None,
        files: Optional[Files] = None,
        return_files: Optional[Sequence[str]] = None,
        env: Optional[Mapping[str, str]] = None,
        workdir: Optional[str] = None,
        cold: bool = False,
        timeout: Optional[Seconds] = None,
        memory_mb: Optional[int] = None,
        cpu_ms: Optional[int] = None,
        cpus: Optional[float] = None,
        pids: Optional[int] = None,
        disk_mb: Optional[int] = None,
        output_kb: Optional[int] = None,
        fs: Iterable[str] = (),
        net: Optional[Net] = None,
        dependencies: Optional[AnyDependencies] = None,
        min_grade: Optional[str] = None,
        on_stdout: Optional[OnText] = None,
        on_stderr: Optional[OnText] = None,
        on_result: Optional[OnResult] = None,
        on_error: Optional[OnError] = None,
        on_build: Optional[OnBuild] = None,
        idempotency_key: Optional[str] = None,
        request_timeout: Optional[Seconds] = None,
    ) -> RunResult:
        """Runs code, or a command, in a fresh sandbox; see :func:`glovebox.run`."""
        callbacks = Callbacks(on_stdout, on_stderr, on_result, on_error, on_build)
        call = run_request(
            code,
            language=language,
            template=template,
            command=command,
            args=args,
            stdin=stdin,
            files=files,
            return_files=return_files,
            env=env,
            workdir=workdir,
            cold=cold,
            timeout=timeout,
            memory_mb=memory_mb,
            cpu_ms=cpu_ms,
            cpus=cpus,
            pids=pids,
            disk_mb=disk_mb,
            output_kb=output_kb,
            fs=fs,
            net=net,
            dependencies=dependencies,
            min_grade=min_grade,
            idempotency_key=idempotency_key,
            request_timeout=request_timeout,
            is_live=bool(callbacks),
        )
        if not callbacks:
            return self._do(call)
        live = LiveResult(callbacks)
        self._live(call, live)
        return live.result(RunResult)

    def events(
        self,
        *,
        last_event_id: Optional[str] = None,
        project: Optional[str] = None,
        timeout: Optional[Seconds] = None,
    ) -> "EventIterator[ProjectEvent]":
        """What happens in the project from now on, as an iterator; close it, or use it with ``with``.

        >>> with Client() as client, client.events() as events:
        ...     run = client.run("1")
        ...     next(event.data["status"] for event in events if event.type == "run.finished")
        'ok'
        """
        seconds = 0.0 if timeout is None else to_seconds("timeout", timeout)
        stream = self._stream(events(last_event_id, project, seconds))
        return EventIterator(stream, project_event)

    # --- what it is -------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The server's address; finds or starts it if that was not done yet."""
        return self._connected().endpoint.url

    @property
    def is_private(self) -> bool:
        """Whether the server is this process's own."""
        self._connected()
        return self._location is not None and self._location.private is not None

    def health(self) -> Dict[str, Any]:
        """What the server says of itself when it is alive: its status and version."""
        return dict(self._request("GET", "/health"))

    def is_ready(self) -> bool:
        """Whether it can run something now."""
        try:
            return bool(self._request("GET", "/health/ready", timeout=10).get("status") == "ready")
        except (UnavailableError, ConnectionFailed, TimeoutExpired):
            return False

    def close(self) -> None:
        """Closes the connections. A later call opens new ones."""
        with self._lock:
            transport, self._transport, self._location = self._transport, None, None
        if transport is not None:
            transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        told = hide_password(self._url) if self._url else "not yet looked for"
        where = self._transport.endpoint.url if self._transport is not None else told
        return f"<Client {where}>"


_default: Optional[Client] = None
_default_lock = threading.Lock()


def _after_fork_in_child() -> None:
    """A lock that another thread of the parent's held would be held for ever."""
    global _default_lock
    _default_lock = threading.Lock()
    for client in list(_clients):
        client._lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork_in_child)


def default_client() -> Client:
    """The client that is used where none is given; one per process."""
    global _default
    client = _default
    if client is None:
        with _default_lock:
            if _default is None:
                _default = Client()
            client = _default
    return client
