"""Persistent sandboxes (sessions): commands, code and files, until the sandbox is killed or its TTL expires."""

from __future__ import annotations

import os
from typing import AsyncIterator, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from ..errors import ConflictError, NotFoundError
from ..models.network_usage import NetworkFigures
from ..models.records import ContextInfo, LogEntry, ProcessInfo, SandboxInfo, SandboxMetrics, Snapshot
from ..models.results import CodeResult, ExecResult
from ..profile.build_progress import build_callback
from ..profile.dependencies import AnyDependencies
from ..profile.network import Net
from ..requests import sandboxes as requests
from ..requests.arguments import Seconds
from ..requests.process_stream import ProcessState, exec_body
from ..requests.runs import Callbacks, LiveResult, OnBuild, OnError, OnResult, OnText
from ._runtime import invoke_callback
from .client import Client, default_client
from .contexts import Contexts
from .files import Files
from .process import Process

__all__ = ["Sandbox"]


class Sandbox:
    """A persistent sandbox. ``async with`` kills it at the end of the block.

    >>> async with await Sandbox.create(template="python", ttl=600) as sandbox:
    ...     (await sandbox.exec(["uname", "-n"])).stdout
    ...     (await sandbox.shell("echo $((6 * 7)) > answer.txt")).exit_code
    ...     (await sandbox.code("x = int(open('answer.txt').read())")).ok
    ...     (await sandbox.code("x / 2")).value
    'glovebox\\n'
    0
    True
    21.0
    """

    def __init__(self, client: Client, info: SandboxInfo) -> None:
        self._client = client
        self._record = info
        self._pid = os.getpid()
        self._is_killed = False
        #: Its files: ``read``, ``write``, ``list``, ``watch`` …
        self.files = Files(client, info.id)
        #: Its code contexts.
        self.contexts = Contexts(client, info.id)

    # --- creating and finding sandboxes ------------------------------------------------------------------------------

    @classmethod
    async def create(
        cls,
        *,
        template: Optional[str] = None,
        snapshot: Union[str, Snapshot, None] = None,
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
        on_build: Optional[OnBuild] = None,
        request_timeout: Optional[Seconds] = None,
        client: Optional[Client] = None,
    ) -> "Sandbox":
        """Creates a sandbox from ``template`` (default ``"python"``), a ``snapshot`` or an ``image`` of the server.

        ``ttl`` seconds after its creation or its last ``keepalive()`` the server kills it, or pauses it with
        ``on_timeout="pause"``. ``name`` is for people: no other live sandbox of the project has it. If a live sandbox
        has this ``agent_id``, that one is returned, resumed if it was paused. ``fs`` are mounts, like ``["r:/data"]``.
        ``dependencies`` are packages, which are installed first if needed; ``on_build`` is called with the steps.
        """
        client = client or default_client()
        request = requests.create(
            template=template,
            snapshot=snapshot.id if isinstance(snapshot, Snapshot) else snapshot,
            image=image,
            ttl=ttl,
            env=env,
            metadata=metadata,
            name=name,
            on_timeout=on_timeout,
            agent_id=agent_id,
            private_ports=private_ports,
            min_grade=min_grade,
            memory_mb=memory_mb,
            cpus=cpus,
            cpu_ms=cpu_ms,
            pids=pids,
            disk_mb=disk_mb,
            fs=fs,
            net=net,
            dependencies=dependencies,
            request_timeout=request_timeout,
        )
        on_build = build_callback(on_build, dependencies)
        if on_build is not None and dependencies:
            await client.layers.build(
                dependencies, template=template, on_build=on_build, request_timeout=request_timeout
            )
        return cls(client, await client._do(request))

    @classmethod
    async def connect(cls, id: str, *, client: Optional[Client] = None) -> "Sandbox":
        """An existing sandbox, by its id in any state, its name, or the beginning of its id (4 letters or more)."""
        client = client or default_client()
        if requests.is_id(id):
            return cls(client, await client._do(requests.get(id)))
        found = (await client._do(requests.matching(id, requests.LIVING))).items
        if not found:
            found = (await client._do(requests.matching(id, None))).items
        return cls(client, requests.choose(id, found))

    @classmethod
    async def list(
        cls,
        *,
        state: Union[str, Sequence[str], None] = None,
        template: Optional[str] = None,
        agent_id: Optional[str] = None,
        metadata: Optional[Mapping[str, str]] = None,
        project: Optional[str] = None,
        limit: Optional[int] = None,
        page_size: Optional[int] = None,
        client: Optional[Client] = None,
    ) -> "AsyncIterator[Sandbox]":
        """The sandboxes of the project that match, newest first, also ended ones; pages are fetched as needed.

        >>> async with await Sandbox.create(metadata={"for": "list"}) as sandbox:
        ...     found = [one.id async for one in Sandbox.list(state="running", metadata={"for": "list"})]
        ...     found == [sandbox.id]
        True
        """
        client = client or default_client()
        cursor: Optional[str] = None
        left = limit
        while left is None or left > 0:
            request = requests.page(
                state=state,
                template=template,
                agent_id=agent_id,
                metadata=metadata,
                project=project,
                page_size=requests.next_page_size(page_size, left),
                cursor=cursor,
            )
            page = await client._do(request)
            for info in page.items:
                yield cls(client, info)
            left = None if left is None else left - len(page.items)
            cursor = page.cursor
            if cursor is None:
                return

    # --- properties -------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """Its id."""
        return self._record.id

    @property
    def state(self) -> str:
        """Its state in the last response of the server; :meth:`info` asks again."""
        return self._record.state

    @property
    def template(self) -> str:
        """The template it was created from."""
        return self._record.template

    @property
    def name(self) -> Optional[str]:
        """The name that it was created with."""
        return self._record.name

    @property
    def metadata(self) -> Dict[str, str]:
        """Its metadata in the last response of the server."""
        return self._record.metadata

    @property
    def record(self) -> SandboxInfo:
        """The last response of the server about it."""
        return self._record

    async def info(self) -> SandboxInfo:
        """Asks the server for its current state."""
        return self._keep(await self._client._do(requests.get(self.id)))

    def _keep(self, info: SandboxInfo) -> SandboxInfo:
        self._record = info
        return info

    # --- life cycle ---------------------------------------------------------------------------------

    async def pause(self) -> SandboxInfo:
        """Freezes all its processes; its memory stays."""
        return self._keep(await self._client._do(requests.pause(self.id)))

    async def resume(self) -> SandboxInfo:
        """Continues a paused sandbox; its time to live starts again."""
        return self._keep(await self._client._do(requests.resume(self.id)))

    async def keepalive(self, ttl: Optional[Seconds] = None) -> SandboxInfo:
        """Starts its time to live again, with the length ``ttl`` if given."""
        return self._keep(await self._client._do(requests.keepalive(self.id, ttl)))

    async def update(
        self, *, ttl: Optional[Seconds] = None, metadata: Optional[Mapping[str, str]] = None
    ) -> SandboxInfo:
        """Sets a new time to live, which starts now; replaces all metadata."""
        return self._keep(await self._client._do(requests.update(self.id, ttl, metadata)))

    async def set_network(self, net: Net) -> SandboxInfo:
        """Changes its network policy; connections that the new policy forbids are closed.

        ``"none"``, ``"https-only"``, ``"all"``, a list like ``["pypi.org:443"]`` or a dict: see
        :mod:`glovebox.profile.network`.
        """
        return self._keep(await self._client._do(requests.set_network(self.id, net)))

    async def snapshot(self, name: Optional[str] = None) -> Snapshot:
        """Saves its files, not its memory, for ``Sandbox.create(snapshot=…)``."""
        return await self._client._do(requests.snapshot(self.id, name))

    async def kill(self) -> None:
        """Kills it with all its processes. It is no error if it has ended already."""
        try:
            await self._client._do(requests.kill(self.id))
        except NotFoundError:
            pass
        except ConflictError:
            if (await self.info()).state not in ("stopped", "error"):
                raise
        self._is_killed = True

    async def __aenter__(self) -> "Sandbox":
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        # A forked child that leaves the block must not kill its parent's sandbox.
        if self._is_killed or os.getpid() != self._pid:
            return
        try:
            await self.kill()
        except Exception:
            if kind is None:
                raise

    # --- programs ---------------------------------------------------------------------------------

    async def exec(
        self,
        command: Union[str, Sequence[str]],
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        user: Optional[str] = None,
        stdin: Union[str, bytes, None] = None,
        timeout: Optional[Seconds] = None,
        output_kb: Optional[int] = None,
        on_stdout: Optional[OnText] = None,
        on_stderr: Optional[OnText] = None,
        request_timeout: Optional[Seconds] = None,
    ) -> ExecResult:
        """Runs a program to its end: a list is the program and its arguments, a string is a line for bash.

        After ``timeout`` seconds (60 by default, 0 for no limit) the program is killed, and the result is
        ``timed_out``. ``on_stdout`` and ``on_stderr`` are called with text as it is printed; in this case
        ``output_kb`` does not apply, and the result keeps the first 16 MB.

        >>> async with await Sandbox.create() as sandbox:
        ...     pieces = []
        ...     (await sandbox.exec("echo one; echo two >&2", on_stdout=pieces.append)).stderr, "".join(pieces)
        ('two\\n', 'one\\n')
        """
        if on_stdout is None and on_stderr is None:
            request = requests.exec(
                self.id,
                command,
                cwd=cwd,
                env=env,
                user=user,
                stdin=stdin,
                timeout=timeout,
                output_kb=output_kb,
                request_timeout=request_timeout,
            )
            return await self._client._do(request)
        timeout = requests.DEFAULT_EXEC_S if timeout is None else timeout
        process = await self.start(
            command, cwd=cwd, env=env, user=user, stdin=stdin or "", timeout=timeout, on_disconnect="kill"
        )
        deadline = requests.stream_deadline(timeout, request_timeout)
        async with process:
            while True:
                event = await process._next(deadline)
                if event is None:
                    return process._state.result()
                if event.type == "stdout" and on_stdout is not None:
                    await invoke_callback(on_stdout, event.text)
                elif event.type == "stderr" and on_stderr is not None:
                    await invoke_callback(on_stderr, event.text)

    async def shell(
        self,
        line: str,
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        user: Optional[str] = None,
        stdin: Union[str, bytes, None] = None,
        timeout: Optional[Seconds] = None,
        output_kb: Optional[int] = None,
        on_stdout: Optional[OnText] = None,
        on_stderr: Optional[OnText] = None,
        request_timeout: Optional[Seconds] = None,
    ) -> ExecResult:
        """Runs a line in bash; options as for :meth:`exec`."""
        if not isinstance(line, str):
            raise TypeError("shell() takes one line as a string; exec() takes a list")
        return await self.exec(
            line,
            cwd=cwd,
            env=env,
            user=user,
            stdin=stdin,
            timeout=timeout,
            output_kb=output_kb,
            on_stdout=on_stdout,
            on_stderr=on_stderr,
            request_timeout=request_timeout,
        )

    async def start(
        self,
        command: Union[str, Sequence[str]],
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        user: Optional[str] = None,
        stdin: Union[str, bytes, None] = None,
        timeout: Optional[Seconds] = None,
        terminal: Union[bool, Mapping[str, int]] = False,
        on_disconnect: str = "keep",
    ) -> Process:
        """Starts a program and follows it: iterate over the process, write to it, send it signals, wait for it.

        Its standard input stays open unless ``stdin`` is given. ``terminal=True`` or
        ``{"rows": 24, "columns": 80}`` gives it a terminal. There is no time limit unless ``timeout`` sets one.
        When the connection ends, the process goes on, or is killed with ``on_disconnect="kill"``.
        """
        body = exec_body(command, cwd=cwd, env=env, user=user, stdin=None, timeout=timeout, output_kb=None)
        first = ProcessState.start(body, requests.terminal_size(terminal), on_disconnect)
        process = await self._open_process(first)
        if stdin is not None:
            try:
                await process.write(stdin)
                await process.close_stdin()
            except BaseException:
                await process.close()
                raise
        return process

    async def attach(self, process: Union[int, ProcessInfo], *, stdout_from: int = 0, stderr_from: int = 0) -> Process:
        """Follows a running process, from these offsets of its output. An earlier follower is disconnected."""
        number = process.number if isinstance(process, ProcessInfo) else process
        return await self._open_process(ProcessState.attach(number, stdout_from, stderr_from))

    async def _open_process(self, first: bytes) -> Process:
        transport = await self._client._connected()
        return await Process._open(transport, requests.exec_stream(self.id), first, self._client._timeout or None)

    async def background(
        self,
        command: Union[str, Sequence[str]],
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        user: Optional[str] = None,
        stdin: Union[str, bytes, None] = None,
    ) -> ProcessInfo:
        """Starts a program in the background; ``attach()`` follows it later."""
        return await self._client._do(requests.background(self.id, command, cwd=cwd, env=env, user=user, stdin=stdin))

    async def processes(self) -> "List[ProcessInfo]":
        """The processes that were started in it, running or ended."""
        return await self._client._do(requests.processes(self.id))

    async def end_process(self, process: Union[int, ProcessInfo]) -> None:
        """Kills a process if it is running, and removes its record."""
        number = process.number if isinstance(process, ProcessInfo) else process
        await self._client._do(requests.end_process(self.id, number))

    # --- code -------------------------------------------------------------------------------------

    async def code(
        self,
        code: str,
        *,
        context: Union[str, ContextInfo, None] = None,
        language: Optional[str] = None,
        stdin: Optional[str] = None,
        timeout: Optional[Seconds] = None,
        output_kb: Optional[int] = None,
        on_stdout: Optional[OnText] = None,
        on_stderr: Optional[OnText] = None,
        on_result: Optional[OnResult] = None,
        on_error: Optional[OnError] = None,
        request_timeout: Optional[Seconds] = None,
    ) -> CodeResult:
        """Runs code in a live interpreter: variables stay from one call to the next.

        The interpreter is ``context``, or the default context of ``language`` (Python by default). ``timeout``
        is 60 seconds by default, and 0 means no limit.

        >>> async with await Sandbox.create() as sandbox:
        ...     assert (await sandbox.code("import math; r = 2")).ok
        ...     (await sandbox.code("round(math.pi * r ** 2, 2)")).value
        12.57
        """
        callbacks = Callbacks(on_stdout, on_stderr, on_result, on_error)
        request = requests.code(
            self.id,
            code,
            context=context,
            language=language,
            stdin=stdin,
            timeout=timeout,
            output_kb=output_kb,
            request_timeout=request_timeout,
            is_live=bool(callbacks),
        )
        if not callbacks:
            return await self._client._do(request)
        live = LiveResult(callbacks)
        await self._client._live(request, live)
        return live.result(CodeResult)

    # --- metrics, network, logs ------------------------------------------------------------------------------

    async def metrics(self) -> SandboxMetrics:
        """Its resource usage, now and recently."""
        return await self._client._do(requests.metrics(self.id))

    async def network(self) -> NetworkFigures:
        """Its network policy and traffic: what it reached, and what which rule denied."""
        return await self._client._do(requests.network(self.id))

    async def logs(self, limit: Optional[int] = None) -> "List[LogEntry]":
        """Recent events in the sandbox, oldest first."""
        return await self._client._do(requests.logs(self.id, limit))

    def port_url(self, port: int) -> str:
        """The URL of a server that listens on this port inside the sandbox.

        A sandbox with ``private_ports`` expects its token, ``record.port_token``, in the header
        ``X-Glovebox-Port-Token``. A URL below ``/v1`` needs the API key.
        """
        return requests.port_url(self._client._endpoint(), self.id, port)

    def __repr__(self) -> str:
        return f"<Sandbox {self.id}, {self.template}, {self.state}>"
