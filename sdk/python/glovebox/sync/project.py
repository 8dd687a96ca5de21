"""What hangs off a client: ``client.templates``, ``.snapshots``, ``.runs``, ``.keys``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, List, Mapping, Optional, Sequence, Union

from ..models.records import Key, RunRecord, Snapshot, Template
from ..profile.dependencies import AnyDependencies
from ..requests import project as calls
from ..requests.arguments import Seconds
from ..requests.runs import OnBuild
from ..requests.sandboxes import next_page_size

if TYPE_CHECKING:
    from .client import Client

__all__ = ["Keys", "Runs", "Snapshots", "Templates"]


class Templates:
    """What sandboxes can be made of.

    >>> sorted(template.name for template in Client().templates.list() if template.built_in)[:2]
    ['base', 'node']
    """

    def __init__(self, client: "Client") -> None:
        self._client = client

    def list(self) -> "List[Template]":
        """The administrator's and the project's own."""
        return self._client._do(calls.templates())

    def get(self, name: str) -> Template:
        """One of them; ``error`` has the traceback of a preload that fails."""
        return self._client._do(calls.template(name))

    def create(
        self,
        name: str,
        base: Optional[str] = None,
        *,
        snapshot: Union[str, Snapshot, None] = None,
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
        on_build: Optional[OnBuild] = None,
        request_timeout: Optional[Seconds] = None,
    ) -> Template:
        """Makes one for the project, of ``base``, with packages, modules imported ahead, variables and limits.

        Or of a ``snapshot``, with nothing else but a description: then it is for sandboxes. ``dependencies``
        are installed first if they never were; ``on_build`` hears of that.
        """
        call = calls.create_template(
            name,
            base,
            snapshot=snapshot.id if isinstance(snapshot, Snapshot) else snapshot,
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
            request_timeout=request_timeout,
        )
        if on_build is not None and dependencies:
            self._client.layers.build(dependencies, template=base, on_build=on_build, request_timeout=request_timeout)
        return self._client._do(call)

    def remove(self, name: str) -> None:
        """Removes one of the project's own; sandboxes that were made of it live on."""
        self._client._do(calls.remove_template(name))


class Snapshots:
    """Files of sandboxes that were kept."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def list(self) -> "List[Snapshot]":
        """All of the project, newest first."""
        return self._client._do(calls.snapshots())

    def get(self, id: str) -> Snapshot:
        return self._client._do(calls.snapshot(id))

    def remove(self, snapshot: Union[str, Snapshot]) -> None:
        """Sandboxes made of it keep what they have."""
        self._client._do(calls.remove_snapshot(snapshot.id if isinstance(snapshot, Snapshot) else snapshot))


class Runs:
    """Records of runs.

    >>> with Client() as client:
    ...     run = client.run("print('kept')")
    ...     client.runs.get(run.id).stdout
    'kept\\n'
    """

    def __init__(self, client: "Client") -> None:
        self._client = client

    def list(
        self,
        *,
        status: Optional[str] = None,
        template: Optional[str] = None,
        since_ms: Optional[int] = None,
        project: Optional[str] = None,
        limit: Optional[int] = None,
        page_size: Optional[int] = None,
    ) -> "Iterator[RunRecord]":
        """Those of the project that match, newest first; pages are asked for as needed."""
        cursor: Optional[str] = None
        left = limit
        while left is None or left > 0:
            page = self._client._do(
                calls.runs_page(
                    status=status,
                    template=template,
                    since_ms=since_ms,
                    project=project,
                    page_size=next_page_size(page_size, left),
                    cursor=cursor,
                )
            )
            yield from page.items
            left = None if left is None else left - len(page.items)
            cursor = page.cursor
            if cursor is None:
                return

    def get(self, id: str) -> RunRecord:
        """One run, with its output as far as it is kept."""
        return self._client._do(calls.run(id))


class Keys:
    """For admin keys: the keys of all projects."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def list(self) -> "List[Key]":
        """All, without their secrets; revoked ones, too."""
        return self._client._do(calls.keys())

    def create(
        self,
        project: Optional[str] = None,
        *,
        name: Optional[str] = None,
        role: Optional[str] = None,
        max_in_flight: Optional[int] = None,
        runs_per_minute: Optional[int] = None,
        max_memory_mb: Optional[int] = None,
    ) -> Key:
        """A new one; its secret is in ``key``, once."""
        return self._client._do(
            calls.create_key(
                project,
                name=name,
                role=role,
                max_in_flight=max_in_flight,
                runs_per_minute=runs_per_minute,
                max_memory_mb=max_memory_mb,
            )
        )

    def revoke(self, key: Union[str, Key]) -> None:
        """It stops working at once."""
        self._client._do(calls.revoke_key(key.id if isinstance(key, Key) else key))
