"""Sets of packages that were made: ``client.layers``. What ``dependencies=`` takes is in :mod:`.dependencies`."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional, Union

from ..models.records import Layer, LayerCheck, PrunedLayers
from ..profile.dependencies import AnyDependencies
from ..requests import layers as calls
from ..requests.arguments import Seconds
from ..requests.runs import OnBuild

if TYPE_CHECKING:
    from .client import Client

__all__ = ["Layers"]


class Layers:
    """Packages that were installed once and are kept; a layer may be what several sets came to."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def list(self, *, project: Optional[str] = None) -> "List[Layer]":
        """Those that the project asked for, the most recently used first; for admin keys those of all, or of one."""
        return self._client._do(calls.layers(project))

    def get(self, id: str) -> Layer:
        """One of them, by its id or the first eight or more characters of it."""
        return self._client._do(calls.layer(id))

    def build(
        self,
        dependencies: AnyDependencies,
        *,
        template: Optional[str] = None,
        on_build: Optional[OnBuild] = None,
        request_timeout: Optional[Seconds] = None,
    ) -> Layer:
        """Makes a set ahead, for sandboxes of ``template`` (default ``"python"``), if it is not there.

        ``on_build`` is called with a :class:`~glovebox.BuildWord` for what happens meanwhile; ``on_build=print``
        shows it. What cannot be installed is a :class:`~glovebox.DependencyError`.
        """
        call = calls.build(
            dependencies, template=template, request_timeout=request_timeout, is_live=on_build is not None
        )
        if on_build is None:
            return self._client._do(call)
        live = calls.LiveBuild(on_build)
        self._client._live(call, live)
        return live.layer()

    def remove(self, layer: Union[str, Layer]) -> None:
        """For admin keys. One in use is a :class:`~glovebox.ConflictError`."""
        self._client._do(calls.remove(calls.id_of(layer)))

    def prune(self, *, unused_for: Seconds = 0, dry_run: bool = False) -> PrunedLayers:
        """For admin keys: removes those that nobody used for so many seconds, and none that is in use."""
        return self._client._do(calls.prune(unused_for, dry_run))

    def check(self, layer: Union[str, Layer]) -> LayerCheck:
        """For admin keys: compares it with its digest. One that was changed is taken out of use."""
        return self._client._do(calls.check(calls.id_of(layer)))
