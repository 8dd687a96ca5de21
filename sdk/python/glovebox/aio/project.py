"""The project's resources: ``client.templates``, ``.snapshots``, ``.runs``, ``.keys``."""

from __future__ import annotations

from typing import TYPE_CHECKING, AsyncIterator, List, Mapping, Optional, Sequence, Union

from ..models.records import Key, RunRecord, Snapshot, Template
from ..profile.build_progress import build_callback
from ..profile.dependencies import AnyDependencies
from ..requests import project as requests
from ..requests.arguments import Seconds
from ..requests.project import Pool
from ..requests.runs import OnBuild
from ..requests.sandboxes import next_page_size

if TYPE_CHECKING:
    from .client import Client

__all__ = ["Keys", "Runs", "Snapshots", "Templates"]


class Templates:
    """Templates: what sandboxes are created from.

    >>> sorted(template.name for template in await Client().templates.list() if template.built_in)[:2]
    ['base', 'node']
    """

    def __init__(self, client: "Client") -> None:
        self._client = client

    async def list(self) -> "List[Template]":
        """The built-in templates, the administrator's and the project's own."""
        return await self._client._do(requests.templates())

    async def get(self, name: str) -> Template:
        """A template. If its preload fails, ``error`` has the traceback."""
        return await self._client._do(requests.template(name))

    async def create(
        self,
        name: str,
        base: Optional[str] = None,
        *,
        snapshot: Union[str, Snapshot, None] = None,
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
        on_build: Optional[OnBuild] = None,
        request_timeout: Optional[Seconds] = None,
    ) -> Template:
        """Creates a template of the project from ``base``, with packages, preloaded modules, variables and limits.

        Or from a ``snapshot``, with nothing but a description; such a template is for sandboxes only. Or of an
        ``image`` of the server, in place of the host's files: its own Python waits for code if it has 3.8 or newer,
        else ``error`` says why runs start cold. Packages in ``dependencies`` are installed first if needed;
        ``on_build`` is called with the steps. ``pool`` and ``session_pool`` are how many sandboxes wait, for runs
        and for persistent sandboxes: ``2``, or ``{"min": 1, "max": 8}`` with demand.
        """
        request = requests.create_template(
            name,
            base,
            snapshot=snapshot.id if isinstance(snapshot, Snapshot) else snapshot,
            image=image,
            dependencies=dependencies,
            preload=preload,
            env=env,
            description=description,
            timeout=timeout,
            cpu_ms=cpu_ms,
            memory_mb=memory_mb,
            disk_mb=disk_mb,
            pids=pids,
            cpus=cpus,
            pool=pool,
            session_pool=session_pool,
            request_timeout=request_timeout,
        )
        on_build = build_callback(on_build, dependencies)
        if on_build is not None and dependencies:
            await self._client.layers.build(
                dependencies, template=base, on_build=on_build, request_timeout=request_timeout
            )
        return await self._client._do(request)

    async def remove(self, name: str) -> None:
        """Removes a template of the project. Sandboxes that were created from it live on."""
        await self._client._do(requests.remove_template(name))


class Snapshots:
    """Snapshots of the files of sandboxes."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    async def list(self) -> "List[Snapshot]":
        """All snapshots of the project, newest first."""
        return await self._client._do(requests.snapshots())

    async def get(self, id: str) -> Snapshot:
        """A snapshot, by its id."""
        return await self._client._do(requests.snapshot(id))

    async def remove(self, snapshot: Union[str, Snapshot]) -> None:
        """Removes a snapshot. Sandboxes that were created from it keep their files."""
        await self._client._do(requests.remove_snapshot(snapshot.id if isinstance(snapshot, Snapshot) else snapshot))


class Runs:
    """Records of runs.

    >>> async with Client() as client:
    ...     run = await client.run("print('kept')")
    ...     (await client.runs.get(run.id)).stdout
    'kept\\n'
    """

    def __init__(self, client: "Client") -> None:
        self._client = client

    async def list(
        self,
        *,
        status: Optional[str] = None,
        template: Optional[str] = None,
        since_ms: Optional[int] = None,
        project: Optional[str] = None,
        limit: Optional[int] = None,
        page_size: Optional[int] = None,
    ) -> "AsyncIterator[RunRecord]":
        """The runs of the project that match, newest first; pages are fetched as needed."""
        cursor: Optional[str] = None
        left = limit
        while left is None or left > 0:
            page = await self._client._do(
                requests.runs_page(
                    status=status,
                    template=template,
                    since_ms=since_ms,
                    project=project,
                    page_size=next_page_size(page_size, left),
                    cursor=cursor,
                )
            )
            for record in page.items:
                yield record
            left = None if left is None else left - len(page.items)
            cursor = page.cursor
            if cursor is None:
                return

    async def get(self, id: str) -> RunRecord:
        """A run, with as much of its output as the server keeps."""
        return await self._client._do(requests.run(id))


class Keys:
    """API keys of all projects. For admin keys."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    async def list(self) -> "List[Key]":
        """All keys, also revoked ones, without their secrets."""
        return await self._client._do(requests.keys())

    async def create(
        self,
        project: Optional[str] = None,
        *,
        name: Optional[str] = None,
        role: Optional[str] = None,
        max_in_flight: Optional[int] = None,
        runs_per_minute: Optional[int] = None,
        max_memory_mb: Optional[int] = None,
    ) -> Key:
        """Creates a key. Its secret is in ``key``, this one time."""
        return await self._client._do(
            requests.create_key(
                project,
                name=name,
                role=role,
                max_in_flight=max_in_flight,
                runs_per_minute=runs_per_minute,
                max_memory_mb=max_memory_mb,
            )
        )

    async def revoke(self, key: Union[str, Key]) -> None:
        """Revokes a key; it stops working at once."""
        await self._client._do(requests.revoke_key(key.id if isinstance(key, Key) else key))
