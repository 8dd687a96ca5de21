# Generated from glovebox/aio/client.py by sdk/python/tools/generate_sync.py (`make generate`). Do not edit.
"""The client of one server, with the resources of its project."""

from __future__ import annotations

import os
import threading
from typing import Any, Dict, Iterable, Mapping, Optional, Sequence, TypeVar, Union
from weakref import WeakSet

from ..errors import ConnectionFailed, GloveboxError, TimeoutExpired, UnavailableError
from ..models.from_json import require_object
from ..models.records import ProjectEvent
from ..models.results import RunResult
from ..profile.build_progress import build_callback
from ..profile.dependencies import AnyDependencies
from ..profile.network import Net
from ..requests.arguments import Seconds, to_seconds
from ..requests.project import events, project_event
from ..requests.runs import Callbacks, Files, LiveReader, LiveResult, OnBuild, OnError, OnResult, OnText, run_request
from ..server.discovery import ServerLocation, find_server
from ..transport.endpoint import Endpoint, hide_password
from ..transport.request import Body, Request
from ._event_iterator import EventIterator
from ._runtime import connect_if_blocking, invoke_callback, run_blocking
from ._transport import Stream, Transport
from .lambda_functions import Functions
from .layers import Layers
from .project import Keys, Runs, Snapshots, Templates

T = TypeVar("T")

__all__ = ["Client", "default_client"]


_clients: "WeakSet[Client]" = WeakSet()


class Client:
    """A server and an API key. Cheap to keep; threads and event loops may share one.

    ``url`` and ``api_key`` may be left out; :func:`glovebox.run` says which server is used then. The client
    looks for it at the first request.

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
        self._transport: Optional[Transport] = None
        #: Templates: what sandboxes are created from.
        self.templates = Templates(self)
        #: Layers: installed packages.
        self.layers = Layers(self)
        #: Snapshots of the files of sandboxes.
        self.snapshots = Snapshots(self)
        #: Records of runs.
        self.runs = Runs(self)
        #: AWS Lambda handlers.
        self.functions = Functions(self)
        #: API keys of all projects, for admin keys.
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
        """Sends JSON to a path and returns the parsed response; raises what the server refuses.

        ``timeout``: seconds for everything; None for the client's default, 0 for no limit.
        """
        # The response to DELETE is empty.
        reader = require_object if method != "DELETE" else (lambda data: data)
        request: Request[Any] = Request(
            method, path, reader, json=json, body=body, timeout=timeout, is_idempotent=idempotent
        )
        if headers:
            request.headers = headers
        return self._do(request)

    def _do(self, request: Request[T]) -> T:
        transport = self._transport
        if transport is None or self._is_stale():
            transport = self._connect()
        try:
            response = transport.send(request)
        except ConnectionFailed:
            self._explain_private()
            raise
        return request.read(response.value())

    def _stream(self, request: "Request[Any]", *, reuse: bool = False) -> Stream:
        transport = self._connected()
        try:
            return transport.stream(request, reuse=reuse)
        except ConnectionFailed:
            self._explain_private()
            raise

    def _live(self, request: "Request[Any]", live: LiveReader) -> None:
        """Invokes the callbacks while the response arrives. An exception of a callback ends the request."""
        stream = self._stream(request, reuse=True)
        try:
            while True:
                piece = stream.next()
                if piece is None:
                    return
                for callback, value in live.feed(piece):
                    invoke_callback(callback, value)
        finally:
            stream.close()

    def _connected(self) -> Transport:
        transport = self._transport
        return transport if transport is not None and not self._is_stale() else self._connect()

    def _is_stale(self) -> bool:
        """A private server belongs to the process that started it, not to a forked child."""
        location = self._location
        if location is None or location.private is None:
            return location is None
        return location.private.pid != os.getpid() or location.private.is_stopped

    def _connect(self) -> Transport:
        # Reads files, probes a server, may start a private one: too long to hold up an event loop.
        return run_blocking(self._connect_now)

    def _connect_now(self) -> Transport:
        with self._lock:
            if self._transport is None or self._is_stale():
                location = find_server(self._url, self._api_key)
                self._transport = Transport(location.endpoint, self._timeout, self._max_retries)
                self._location = location
            return self._transport

    def _explain_private(self) -> None:
        """If the private server has ended, says so; the next request starts another."""
        location = self._location
        if location is None or location.private is None or location.private.is_alive():
            return
        self.close()
        raise ConnectionFailed("the private server has ended: " + (location.private.log_tail() or "its log is empty"))

    # --- runs -------------------------------------------------------------------------------------

    def run(
        self,
        code: Optional[str] = None,
        *,
        language: Optional[str] = None,
        template: Optional[str] = None,
        image: Optional[str] = None,
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
        reuse: Optional[str] = None,
        min_grade: Optional[str] = None,
        engine: Optional[str] = None,
        on_stdout: Optional[OnText] = None,
        on_stderr: Optional[OnText] = None,
        on_result: Optional[OnResult] = None,
        on_error: Optional[OnError] = None,
        on_build: Optional[OnBuild] = None,
        idempotency_key: Optional[str] = None,
        request_timeout: Optional[Seconds] = None,
    ) -> RunResult:
        """Runs code, or a command, in a fresh sandbox; see :func:`glovebox.run`."""
        if idempotency_key is None:  # its response is not a stream
            on_build = build_callback(on_build, dependencies)
        callbacks = Callbacks(on_stdout, on_stderr, on_result, on_error, on_build)
        request = run_request(
            code,
            language=language,
            template=template,
            image=image,
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
            reuse=reuse,
            min_grade=min_grade,
            engine=engine,
            idempotency_key=idempotency_key,
            request_timeout=request_timeout,
            is_live=bool(callbacks),
        )
        if not callbacks:
            return self._do(request)
        live = LiveResult(callbacks)
        self._live(request, live)
        return live.result(RunResult)

    def events(
        self,
        *,
        last_event_id: Optional[str] = None,
        project: Optional[str] = None,
        timeout: Optional[Seconds] = None,
    ) -> "EventIterator[ProjectEvent]":
        """Events of the project: an iterator. Close it, or use it with ``with``.

        >>> with Client() as client, client.events() as events:
        ...     run = client.run("1")
        ...     for event in events:
        ...         if event.type == "run.finished":
        ...             break
        ...     event.data["status"]
        'ok'
        """
        seconds = 0.0 if timeout is None else to_seconds("timeout", timeout)
        stream = self._stream(events(last_event_id, project, seconds))
        return EventIterator(stream, project_event)

    def connect(self) -> "Client":
        """Finds or starts the server now, instead of at the first request."""
        self._connected()
        return self

    # --- properties -------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The server's address.

        :class:`glovebox.Client` finds or starts the server first. :class:`glovebox.AsyncClient` cannot do that in
        a property: its address is known after the first request, or after :meth:`connect`.
        """
        return self._endpoint().url

    def _endpoint(self) -> Endpoint:
        connect_if_blocking(self)
        if self._transport is None:
            raise GloveboxError("the client has not looked for its server yet: call `await client.connect()` first")
        return self._transport.endpoint

    @property
    def is_private(self) -> bool:
        """Whether the server is a private server of this process."""
        connect_if_blocking(self)
        return self._location is not None and self._location.private is not None

    def health(self) -> Dict[str, Any]:
        """The status and the version of the server."""
        return dict(self._request("GET", "/health"))

    def is_ready(self) -> bool:
        """Whether the server can run code now."""
        try:
            return bool(self._request("GET", "/health/ready", timeout=10).get("status") == "ready")
        except (UnavailableError, ConnectionFailed, TimeoutExpired):
            return False

    def close(self) -> None:
        """Closes the connections. A later request opens new ones."""
        with self._lock:
            transport, self._transport, self._location = self._transport, None, None
        if transport is not None:
            transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        url = hide_password(self._url) if self._url else "not connected"
        return f"<Client {self._transport.endpoint.url if self._transport is not None else url}>"


_default: Optional[Client] = None
_default_lock = threading.Lock()


def _after_fork_in_child() -> None:
    """A lock that another thread of the parent held would stay locked for ever."""
    global _default_lock
    _default_lock = threading.Lock()
    for client in list(_clients):
        client._lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork_in_child)


def default_client() -> Client:
    """The client that is used when none is given; one per process."""
    global _default
    client = _default
    if client is None:
        with _default_lock:
            if _default is None:
                _default = Client()
            client = _default
    return client
