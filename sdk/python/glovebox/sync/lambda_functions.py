# Generated from glovebox/aio/lambda_functions.py by sdk/python/tools/generate_sync.py (`make generate`). Do not edit.
"""AWS Lambda handlers: ``client.functions``. For functions of your own program see :func:`glovebox.sandboxed`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence

from ..models.results import InvokeResult
from ..profile.build_progress import build_callback
from ..profile.dependencies import AnyDependencies
from ..profile.network import Net
from ..requests.arguments import Seconds
from ..requests.lambda_functions import build_template, invoke_request
from ..requests.runs import Files, OnBuild

if TYPE_CHECKING:
    from .client import Client

__all__ = ["Functions"]


class Functions:
    """Calls ``handler(event, context)`` as AWS Lambda does, in a fresh sandbox."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def invoke(
        self,
        code: str,
        *,
        event: Any = None,
        context: Optional[Mapping[str, Any]] = None,
        handler: Optional[str] = None,
        language: Optional[str] = None,
        runtime: Optional[str] = None,
        template: Optional[str] = None,
        file_name: Optional[str] = None,
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
        on_build: Optional[OnBuild] = None,
        idempotency_key: Optional[str] = None,
        request_timeout: Optional[Seconds] = None,
    ) -> InvokeResult:
        """Calls a handler of this source code with an event, which is any JSON value.

        ``handler`` is a function of the module, or ``module.function``. The language is Python unless
        ``language``, ``runtime`` (like ``"nodejs20.x"``) or ``template`` says otherwise. ``timeout`` is 300
        seconds by default and 3600 at most. If the handler raises, ``result.error`` is Lambda's error object.
        ``on_build`` is called with each step of installing ``dependencies``; without it the steps are shown on a
        terminal.
        """
        request = invoke_request(
            code,
            event=event,
            context=context,
            handler=handler,
            language=language,
            runtime=runtime,
            template=template,
            file_name=file_name,
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
            idempotency_key=idempotency_key,
            request_timeout=request_timeout,
        )
        on_build = build_callback(on_build, dependencies)
        if on_build is not None and dependencies:
            self._client.layers.build(
                dependencies,
                template=build_template(language, runtime, template),
                on_build=on_build,
                request_timeout=request_timeout,
            )
        return self._client._do(request)
