"""Requests for layers: list, build, check and remove installed packages."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from ..errors import ProtocolError
from ..models.from_json import from_json, list_from_json
from ..models.records import Layer, LayerCheck, PrunedLayers
from ..profile.dependencies import BUILD_S, AnyDependencies, dependencies_field
from ..transport.event_streams import JsonLines
from ..transport.request import Request, api_path, with_query
from .arguments import Seconds, to_seconds, to_whole_seconds
from .runs import NDJSON, OnBuild, build_event, error_from_event

__all__ = ["LiveBuild"]

# A build may wait for others, and starts an interpreter afterwards.
_MORE_S = 60.0
# Reading a layer of gigabytes takes long.
_CHECK_S = 300.0


def _layer(data: Any) -> Layer:
    return from_json(Layer, data)


def id_of(layer: Union[str, Layer]) -> str:
    return layer.id if isinstance(layer, Layer) else layer


def layers(project: Optional[str]) -> "Request[List[Layer]]":
    target = with_query("/v1/layers", [("project", project)])
    return Request("GET", target, lambda data: list_from_json(Layer, data, "layers"))


def layer(id: str) -> "Request[Layer]":
    return Request("GET", api_path("layers", id), _layer)


def build(
    dependencies: AnyDependencies,
    *,
    template: Optional[str],
    request_timeout: Optional[Seconds],
    is_live: bool,
) -> "Request[Layer]":
    packages = dependencies_field(dependencies)
    if packages is None:
        raise ValueError("dependencies: name at least one package")
    body: Dict[str, Any] = {"template": template or "python", "dependencies": packages}
    seconds = BUILD_S + _MORE_S if request_timeout is None else to_seconds("request_timeout", request_timeout)
    # A second request waits for the same build.
    request: Request[Layer] = Request("POST", "/v1/layers", _layer, json=body, timeout=seconds, is_idempotent=True)
    if is_live:
        request.headers["Accept"] = request.stream_type = NDJSON
    return request


def remove(id: str) -> "Request[None]":
    return Request("DELETE", api_path("layers", id), lambda _: None)


def prune(unused_for: Seconds, dry_run: bool) -> "Request[PrunedLayers]":
    body = {"unused_for_s": to_whole_seconds("unused_for", unused_for), "dry_run": dry_run}
    return Request("POST", "/v1/layers/prune", lambda data: from_json(PrunedLayers, data), json=body, timeout=_CHECK_S)


def check(id: str) -> "Request[LayerCheck]":
    return Request("POST", api_path("layers", id, "check"), lambda data: from_json(LayerCheck, data), timeout=_CHECK_S)


class LiveBuild:
    """Reads the events of a build, and the layer at its end."""

    def __init__(self, on_build: OnBuild) -> None:
        self._on_build = on_build
        self._lines = JsonLines()
        self._last: Optional[Mapping[str, Any]] = None

    def feed(self, data: bytes) -> Iterator[Tuple[Callable[[Any], Any], Any]]:
        """The callbacks to invoke now, in order."""
        for event in self._lines.feed(data):
            if event.get("event") == "build":
                yield self._on_build, build_event(event)
            elif event.get("event") in ("layer", "error"):
                self._last = event

    def layer(self) -> Layer:
        """The layer, at the end of the stream."""
        if self._last is None:
            raise ProtocolError("the event stream ended without its last event")
        if self._last.get("event") == "error":
            raise error_from_event(self._last)
        return from_json(Layer, self._last)
