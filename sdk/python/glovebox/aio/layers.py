"""Installed packages: ``client.layers``. :mod:`glovebox.profile.dependencies` has what ``dependencies=`` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional, Union

from ..models.records import Layer, LayerCheck, PrunedLayers
from ..profile.build_progress import build_callback
from ..profile.dependencies import AnyDependencies
from ..requests import layers as requests
from ..requests.arguments import Seconds
from ..requests.runs import OnBuild

if TYPE_CHECKING:
    from .client import Client

__all__ = ["Layers"]


class Layers:
    """Layers: packages that the server installed once and keeps. Several requirements may lead to the same layer."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    async def list(self, *, project: Optional[str] = None) -> "List[Layer]":
        """The layers of the project, the last used first. An admin key sees those of all projects, or of one."""
        return await self._client._do(requests.layers(project))

    async def get(self, id: str) -> Layer:
        """A layer, by its id or at least the first eight characters of it."""
        return await self._client._do(requests.layer(id))

    async def build(
        self,
        dependencies: AnyDependencies,
        *,
        template: Optional[str] = None,
        on_build: Optional[OnBuild] = None,
        request_timeout: Optional[Seconds] = None,
    ) -> Layer:
        """Installs packages ahead of time, for sandboxes of ``template`` (default ``"python"``), if needed.

        ``on_build`` is called with a :class:`~glovebox.BuildProgress` for each step: ``on_build=print``; without it
        they are shown on a terminal. Raises :class:`~glovebox.DependencyError` for packages that cannot be
        installed.
        """
        on_build = build_callback(on_build, dependencies)
        request = requests.build(
            dependencies, template=template, request_timeout=request_timeout, is_live=on_build is not None
        )
        if on_build is None:
            return await self._client._do(request)
        live = requests.LiveBuild(on_build)
        await self._client._live(request, live)
        return live.layer()

    async def remove(self, layer: Union[str, Layer]) -> None:
        """Removes a layer. For admin keys. Raises :class:`~glovebox.ConflictError` while it is in use."""
        await self._client._do(requests.remove(requests.id_of(layer)))

    async def prune(self, *, unused_for: Seconds = 0, dry_run: bool = False) -> PrunedLayers:
        """Removes layers that were not used for so many seconds and are not in use. For admin keys."""
        return await self._client._do(requests.prune(unused_for, dry_run))

    async def check(self, layer: Union[str, Layer]) -> LayerCheck:
        """Compares a layer with its digest; the server stops using one that has changed. For admin keys."""
        return await self._client._do(requests.check(requests.id_of(layer)))
