"""``await glovebox.aio.run(…)``: code in, result out, with whatever server there is."""

from __future__ import annotations

from typing import Iterable, Mapping, Optional, Sequence, Union

from ..models.results import RunResult
from ..profile.dependencies import AnyDependencies
from ..profile.network import Net
from ..requests.arguments import Seconds
from ..requests.runs import Files, OnBuild, OnError, OnResult, OnText
from .client import Client, default_client

__all__ = ["run"]


async def run(
    code: Optional[str] = None,
    *,
    language: Optional[str] = None,
    template: Optional[str] = None,
    command: Union[str, Sequence[str], None] = None,
    args: Optional[Sequence[str]] = None,
    stdin: Union[str, bytes, None] = None,
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
    min_grade: Optional[str] = None,
    on_stdout: Optional[OnText] = None,
    on_stderr: Optional[OnText] = None,
    on_result: Optional[OnResult] = None,
    on_error: Optional[OnError] = None,
    on_build: Optional[OnBuild] = None,
    idempotency_key: Optional[str] = None,
    request_timeout: Optional[Seconds] = None,
    client: Optional[Client] = None,
) -> RunResult:
    """Runs code in a fresh sandbox that is destroyed afterwards; all as :func:`glovebox.run`.

    Callbacks may be coroutines.
    """
    return await (client or default_client()).run(
        code,
        language=language,
        template=template,
        command=command,
        args=args,
        stdin=stdin,
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
        min_grade=min_grade,
        on_stdout=on_stdout,
        on_stderr=on_stderr,
        on_result=on_result,
        on_error=on_error,
        on_build=on_build,
        idempotency_key=idempotency_key,
        request_timeout=request_timeout,
    )
