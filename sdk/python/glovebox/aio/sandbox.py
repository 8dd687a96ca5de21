"""A sandbox that lives on: commands, code, files, until it is killed or its time is over."""

from __future__ import annotations

import os
from typing import AsyncIterator, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from ..errors import ConflictError, NotFoundError
from ..models.network_usage import NetworkFigures
from ..models.records import ContextInfo, LogEntry, ProcessInfo, SandboxInfo, SandboxMetrics, Snapshot
from ..models.results import CodeResult, ExecResult
from ..profile.dependencies import AnyDependencies
from ..profile.network import Net
from ..requests import sandboxes as calls
from ..requests.arguments import Seconds
from ..requests.process_stream import ProcessState, exec_body
from ..requests.runs import Callbacks, LiveResult, OnBuild, OnError, OnResult, OnText
from ._callbacks import invoke_callback
from .client import Client, default_client
from .contexts import Contexts
from .files import Files
from .process import Process

__all__ = ["Sandbox"]


class Sandbox:
    """A session, as :class:`glovebox.Sandbox`; ``async with`` ends it at the end of the block.

    ::

        async with await Sandbox.create() as sandbox:
            result = await sandbox.exec(["uname", "-n"])
            async for found in Sandbox.list(state="running"):
                print(found.id)

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

    # --- getting one ------------------------------------------------------------------------------

    @classmethod
    async def create(
        cls,
        *,
        template: Optional[str] = None,
        snapshot: Union[str, Snapshot, None] = None,
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
        """Makes one, of ``template`` (default ``"python"``) or of a ``snapshot``.

        ``ttl`` seconds after its creation, or its last ``keepalive()``, it is killed, or paused with
        ``on_timeout="pause"``. ``name`` is the metadata of that key. With the ``agent_id`` of one that
        lives, that one is given, resumed if need be. ``fs`` are mounts, like ``["r:/data"]``. ``dependencies``
        are packages, which are installed first if they never were; ``on_build`` hears of that.
        """
        client = client or default_client()
        call = calls.create(
            template=template,
            snapshot=snapshot.id if isinstance(snapshot, Snapshot) else snapshot,
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
        if on_build is not None and dependencies:
            await client.layers.build(
                dependencies, template=template, on_build=on_build, request_timeout=request_timeout
            )
        return cls(client, await client._do(call))

    @classmethod
    async def connect(cls, id: str, *, client: Optional[Client] = None) -> "Sandbox":
        """One that is there, by its id, in whatever state."""
        client = client or default_client()
        return cls(client, await client._do(calls.get(id)))

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
        """Those of the project that match, newest first, ended ones too; pages are asked for as needed."""
        client = client or default_client()
        cursor: Optional[str] = None
        left = limit
        while left is None or left > 0:
            call = calls.page(
                state=state,
                template=template,
                agent_id=agent_id,
                metadata=metadata,
                project=project,
                page_size=calls.next_page_size(page_size, left),
                cursor=cursor,
            )
            page = await client._do(call)
            for info in page.items:
                yield cls(client, info)
            left = None if left is None else left - len(page.items)
            cursor = page.cursor
            if cursor is None:
                return

    # --- what it is -------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self._record.id

    @property
    def state(self) -> str:
        """When it was last heard of; :meth:`info` asks again."""
        return self._record.state

    @property
    def template(self) -> str:
        return self._record.template

    @property
    def metadata(self) -> Dict[str, str]:
        return self._record.metadata

    @property
    def record(self) -> SandboxInfo:
        """All that was last heard of it."""
        return self._record

    async def info(self) -> SandboxInfo:
        """Asks the server how it is."""
        return self._keep(await self._client._do(calls.get(self.id)))

    def _keep(self, info: SandboxInfo) -> SandboxInfo:
        self._record = info
        return info

    # --- its life ---------------------------------------------------------------------------------

    async def pause(self) -> SandboxInfo:
        """Freezes it where it stands; its memory stays."""
        return self._keep(await self._client._do(calls.pause(self.id)))

    async def resume(self) -> SandboxInfo:
        """Lets it go on; its time to live begins anew."""
        return self._keep(await self._client._do(calls.resume(self.id)))

    async def keepalive(self, ttl: Optional[Seconds] = None) -> SandboxInfo:
        """Its time to live begins anew, with a new length if ``ttl`` says so."""
        return self._keep(await self._client._do(calls.keepalive(self.id, ttl)))

    async def update(
        self, *, ttl: Optional[Seconds] = None, metadata: Optional[Mapping[str, str]] = None
    ) -> SandboxInfo:
        """Another time to live, from now on; other metadata, instead of all of it."""
        return self._keep(await self._client._do(calls.update(self.id, ttl, metadata)))

    async def set_network(self, net: Net) -> SandboxInfo:
        """What it may reach from now on; connections that this forbids are cut.

        ``"none"``, ``"https-only"``, ``"all"``, a list like ``["pypi.org:443"]`` or a dict: see
        :mod:`glovebox.profile.network`.
        """
        return self._keep(await self._client._do(calls.set_network(self.id, net)))

    async def snapshot(self, name: Optional[str] = None) -> Snapshot:
        """Keeps its files, for ``Sandbox.create(snapshot=…)``; not its memory."""
        return await self._client._do(calls.snapshot(self.id, name))

    async def kill(self) -> None:
        """Ends it, and everything in it; one that has ended already is no error."""
        try:
            await self._client._do(calls.kill(self.id))
        except NotFoundError:
            pass
        except ConflictError:
            if (await self.info()).state not in ("stopped", "error"):
                raise
        self._is_killed = True

    async def __aenter__(self) -> "Sandbox":
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        # A forked child that leaves the block has no business with its parent's sandbox.
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
        """Runs a program to its end: a list is its arguments, a string a line for bash.

        ``timeout`` is its own time in seconds (60 if nobody says; 0: without end): then it is killed,
        and ``timed_out``. ``on_stdout`` and ``on_stderr`` get text as it is printed; then ``output_kb``
        does not count, and the result has the first 16 MB.
        """
        if on_stdout is None and on_stderr is None:
            call = calls.exec(
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
            return await self._client._do(call)
        timeout = calls.DEFAULT_EXEC_S if timeout is None else timeout
        process = await self.start(
            command, cwd=cwd, env=env, user=user, stdin=stdin or "", timeout=timeout, on_disconnect="kill"
        )
        deadline = calls.stream_deadline(timeout, request_timeout)
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
            raise TypeError("a line for the shell is a string; exec() takes a list")
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
        """Starts a program and follows it: iterate the process, write to it, signal it, wait for it.

        Its standard input is open unless ``stdin`` is given. ``terminal=True``, or
        ``{"rows": 24, "columns": 80}``, gives it a terminal. There is no time limit unless ``timeout``
        says one. When the connection ends it goes on, or is killed with ``on_disconnect="kill"``.
        """
        body = exec_body(command, cwd=cwd, env=env, user=user, stdin=None, timeout=timeout, output_kb=None)
        first = ProcessState.start(body, calls.terminal_size(terminal), on_disconnect)
        process = await self._follow(first)
        if stdin is not None:
            try:
                await process.write(stdin)
                await process.close_stdin()
            except BaseException:
                await process.close()
                raise
        return process

    async def attach(self, process: Union[int, ProcessInfo], *, stdout_from: int = 0, stderr_from: int = 0) -> Process:
        """Follows a process that was started before, from those offsets on. Who followed it is cut off."""
        number = process.number if isinstance(process, ProcessInfo) else process
        return await self._follow(ProcessState.attach(number, stdout_from, stderr_from))

    async def _follow(self, first: bytes) -> Process:
        transport = await self._client._connected()
        return await Process._open(transport, calls.exec_stream(self.id), first, self._client._timeout or None)

    async def background(
        self,
        command: Union[str, Sequence[str]],
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        user: Optional[str] = None,
        stdin: Union[str, bytes, None] = None,
    ) -> ProcessInfo:
        """Starts a program and leaves it alone; ``attach()`` follows it later."""
        return await self._client._do(calls.background(self.id, command, cwd=cwd, env=env, user=user, stdin=stdin))

    async def processes(self) -> "List[ProcessInfo]":
        """What was started in it, running or ended."""
        return await self._client._do(calls.processes(self.id))

    async def end_process(self, process: Union[int, ProcessInfo]) -> None:
        """Kills a process, if it runs, and forgets it."""
        number = process.number if isinstance(process, ProcessInfo) else process
        await self._client._do(calls.end_process(self.id, number))

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

        In ``context``, or in the language's own (Python if nobody says). ``timeout`` is 60 seconds if
        nobody says; 0: without end.
        """
        callbacks = Callbacks(on_stdout, on_stderr, on_result, on_error)
        call = calls.code(
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
            return await self._client._do(call)
        live = LiveResult(callbacks)
        await self._client._live(call, live)
        return live.result(CodeResult)

    # --- watching it ------------------------------------------------------------------------------

    async def metrics(self) -> SandboxMetrics:
        """What it uses, now and lately."""
        return await self._client._do(calls.metrics(self.id))

    async def network(self) -> NetworkFigures:
        """What it may reach, what it reached, and what was denied by which rule."""
        return await self._client._do(calls.network(self.id))

    async def logs(self, limit: Optional[int] = None) -> "List[LogEntry]":
        """What happened in it lately, oldest first."""
        return await self._client._do(calls.logs(self.id, limit))

    def port_url(self, port: int) -> str:
        """The URL of what listens on that port inside.

        A sandbox with ``private_ports`` wants its token there, ``record.port_token`` as
        ``X-Glovebox-Port-Token``; where the URL is a path of ``/v1``, the key is wanted.
        """
        return calls.port_url(self._client._endpoint(), self.id, port)

    def __repr__(self) -> str:
        return f"<Sandbox {self.id} of {self.template}, {self.state}>"
