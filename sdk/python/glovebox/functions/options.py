"""The options of ``@sandboxed(...)``: checked at decoration, and turned into fields of a request."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ..profile.dependencies import BUILD_S, AnyDependencies, check_dependencies, dependencies_field
from ..profile.network import Net, check_net
from ..requests.arguments import Seconds, check_env, profile_fields, to_seconds
from ..requests.runs import OnBuild
from .own_modules import check_include

__all__ = ["Options", "TemplateChoice", "choose_template"]

_GRADES = ("process", "jail-partial", "jail", "user-kernel", "vm")
#: Prefix of the templates that the SDK creates for ``preload``.
PRELOAD_TEMPLATE_PREFIX = "fn-"
# For what the server needs to find a sandbox and to respond.
_SLACK_S = 60.0
# The client does not know the time limit of a template.
_WITHOUT_TIMEOUT_S = 900.0


@dataclass(frozen=True)
class Options:
    """See :func:`glovebox.sandboxed`."""

    net: Optional[Net] = None
    fs: Union[str, Sequence[str]] = ()
    cpu_ms: Optional[int] = None
    mem_mb: Optional[int] = None
    timeout: Optional[Seconds] = None
    disk_mb: Optional[int] = None
    pids: Optional[int] = None
    cpus: Optional[float] = None
    output_kb: Optional[int] = None
    dependencies: Optional[AnyDependencies] = None
    preload: Sequence[str] = ()
    template: Optional[str] = None
    image: Optional[str] = None
    env: Mapping[str, str] = field(default_factory=dict)
    include: Sequence[str] = ()
    min_grade: Optional[str] = None
    cold: bool = False
    reuse: Optional[str] = None
    idempotent: bool = False
    large_result: bool = False
    show_output: bool = True
    on_build: Optional[OnBuild] = None
    client: Any = None

    def __post_init__(self) -> None:
        check_net(self.net)
        if isinstance(self.preload, str):
            raise TypeError(f"preload must be a list of modules, like [{self.preload!r}]")
        if not isinstance(self.preload, Iterable):
            raise TypeError(f"preload must be a list of modules, like ['numpy'], not {type(self.preload).__name__}")
        for module in self.preload:
            if not isinstance(module, str) or not all(part.isidentifier() for part in module.split(".")):
                raise ValueError(f"preload: {module!r} is not a module name")
        if self.min_grade is not None and self.min_grade not in _GRADES:
            raise ValueError(f"min_grade must be one of {', '.join(_GRADES)}, not {self.min_grade!r}")
        if self.image is not None:
            if self.template is not None:
                raise ValueError("pass either image= or template=, not both")
            if self.preload or self.dependencies is not None:
                raise ValueError(
                    "image= cannot be combined with preload= or dependencies=; for preload, create a template of the "
                    "image (client.templates.create) and pass its name as template="
                )
        # Everything else is checked here, too, except for files: they are read by the first call, because
        # .local() does not need them.
        self._limits()
        check_include(self.include)
        check_env(self.env)
        check_dependencies(self.dependencies)

    @property
    def base_template(self) -> str:
        return self.template or "python"

    @property
    def has_packages(self) -> bool:
        return check_dependencies(self.dependencies)

    def profile(self) -> Dict[str, Any]:
        """The ``profile`` of the request."""
        profile = self._limits()
        dependencies = dependencies_field(self.dependencies, self.preload)
        if dependencies is not None:
            profile["dependencies"] = dependencies
        return profile

    def _limits(self) -> Dict[str, Any]:
        return profile_fields(
            timeout=self.timeout,
            cpu_ms=self.cpu_ms,
            memory_mb=self.mem_mb,
            cpus=self.cpus,
            pids=self.pids,
            disk_mb=self.disk_mb,
            output_kb=self.output_kb,
            fs=self.fs,
            net=self.net,
            reuse=self.reuse,
            image=self.image,
        )

    def request(self, template: Optional[str]) -> Dict[str, Any]:
        """The fields of the run but code and stdin. ``template`` was chosen for ``preload``, or is None."""
        fields: Dict[str, Any] = {"template": template or self.base_template}
        if self.image is not None:
            fields = {"language": "python"}
        profile = self.profile()
        if profile:
            fields["profile"] = profile
        if self.env:
            fields["env"] = check_env(self.env)
        if self.min_grade is not None:
            fields["min_grade"] = self.min_grade
        if self.cold:
            fields["cold"] = True
        return fields

    def response_timeout(self) -> float:
        """Seconds after which the client stops waiting for the response."""
        build = BUILD_S if self.has_packages else 0.0
        if self.timeout is None:
            return _WITHOUT_TIMEOUT_S + build
        return to_seconds("timeout", self.timeout) + _SLACK_S + build


@dataclass(frozen=True)
class TemplateChoice:
    """``name`` exists, as ``found``, or must be created first, from ``definition``."""

    name: str
    definition: Optional[Dict[str, Any]] = None
    found: Optional[Mapping[str, Any]] = field(default=None, compare=False)


def choose_template(listing: Any, base: str, preload: Sequence[str]) -> TemplateChoice:
    """The template that preloads all of ``preload``: the base, a built-in one, or one that the SDK creates.

    >>> data = {"name": "python-data", "language": "python", "preload": ["numpy"], "built_in": True, "state": "ready"}
    >>> choose_template({"templates": [data]}, "python", ["numpy"]).name
    'python-data'
    """
    wanted = sorted(set(preload))
    name = PRELOAD_TEMPLATE_PREFIX + hashlib.sha256(json.dumps([base, wanted]).encode()).hexdigest()[:24]
    fitting: List[Tuple[int, int, str]] = []
    for one in _templates(listing):
        has = one.get("preload") or []
        # Other templates may have files and variables that the caller does not expect.
        may = one.get("name") in (base, name) or (one.get("built_in") is True and base == "python")
        if may and one.get("language") == "python" and one.get("state") != "failed" and set(wanted) <= set(has):
            fitting.append((0 if one.get("name") == base else 1, len(has), str(one.get("name"))))
        if one.get("name") == name:
            return TemplateChoice(name, found=one)
    if fitting:
        return TemplateChoice(min(fitting)[2])
    definition: Dict[str, Any] = {
        "name": name,
        "from": base,
        "preload": wanted,
        "description": "for functions that preload " + ", ".join(wanted)[:150],
    }
    return TemplateChoice(name, definition)


def _templates(listing: Any) -> List[Mapping[str, Any]]:
    found: Union[Any, None] = listing.get("templates") if isinstance(listing, dict) else None
    return [one for one in found or [] if isinstance(one, dict)]
