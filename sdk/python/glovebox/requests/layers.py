"""Requests about layers: sets of packages that were made, and making them ahead."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from ..errors import ProtocolError
from ..models.from_json import read, read_list
from ..models.records import Layer, LayerCheck, PrunedLayers
from ..profile.dependencies import BUILD_S, AnyDependencies, dependencies_of
from ..transport.event_streams import JsonLines
from ..transport.request import Call, path_of, target_of
from .arguments import Seconds, seconds_of, whole_seconds
from .runs import NDJSON, OnBuild, build_word, refusal_of

__all__ = ["LiveBuild"]

# Of a build: others may be made before it, and its interpreter is started after it.
_MORE_S = 60.0
# A layer of gigabytes is read from a disk.
_CHECK_S = 300.0


def _layer(said: Any) -> Layer:
    return read(Layer, said)


def id_of(layer: Union[str, Layer]) -> str:
    return layer.id if isinstance(layer, Layer) else layer


def layers(project: Optional[str]) -> "Call[List[Layer]]":
    target = target_of("/v1/layers", [("project", project)])
    return Call("GET", target, lambda said: read_list(Layer, said, "layers"))


def layer(id: str) -> "Call[Layer]":
    return Call("GET", path_of("layers", id), _layer)


def build(
    dependencies: AnyDependencies,
    *,
    template: Optional[str],
    request_timeout: Optional[Seconds],
    is_live: bool,
) -> "Call[Layer]":
    said = dependencies_of(dependencies)
    if said is None:
        raise ValueError("dependencies: name at least one package")
    body: Dict[str, Any] = {"template": template or "python", "dependencies": said}
    seconds = BUILD_S + _MORE_S if request_timeout is None else seconds_of("request_timeout", request_timeout)
    # Asked for twice it is made once.
    call: Call[Layer] = Call("POST", "/v1/layers", _layer, json=body, timeout=seconds, is_idempotent=True)
    if is_live:
        call.headers["Accept"] = call.stream_type = NDJSON
    return call


def remove(id: str) -> "Call[None]":
    return Call("DELETE", path_of("layers", id), lambda _: None)


def prune(unused_for: Seconds, dry_run: bool) -> "Call[PrunedLayers]":
    body = {"unused_for_s": whole_seconds("unused_for", unused_for), "dry_run": dry_run}
    return Call("POST", "/v1/layers/prune", lambda said: read(PrunedLayers, said), json=body, timeout=_CHECK_S)


def check(id: str) -> "Call[LayerCheck]":
    return Call("POST", path_of("layers", id, "check"), lambda said: read(LayerCheck, said), timeout=_CHECK_S)


class LiveBuild:
    """Events of a build, and the layer at its end."""

    def __init__(self, on_build: OnBuild) -> None:
        self._on_build = on_build
        self._lines = JsonLines()
        self._last: Optional[Mapping[str, Any]] = None

    def feed(self, data: bytes) -> Iterator[Tuple[Callable[[Any], Any], Any]]:
        """What is to be called now, one after the other."""
        for event in self._lines.feed(data):
            if event.get("event") == "build":
                yield self._on_build, build_word(event)
            elif event.get("event") in ("layer", "error"):
                self._last = event

    def layer(self) -> Layer:
        """At the end of the stream."""
        if self._last is None:
            raise ProtocolError("the live answer ended without its last event")
        if self._last.get("event") == "error":
            raise refusal_of(self._last)
        return read(Layer, self._last)
