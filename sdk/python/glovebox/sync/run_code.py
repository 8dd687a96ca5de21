"""``glovebox.run``: code in, result out, with whatever server there is."""

from __future__ import annotations

from typing import Iterable, Mapping, Optional, Sequence, Union

from ..models.results import RunResult
from ..profile.dependencies import AnyDependencies
from ..profile.network import Net
from ..requests.arguments import Seconds
from ..requests.runs import Files, OnBuild, OnError, OnResult, OnText
from .client import Client, default_client

__all__ = ["run"]


def run(
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
    """Runs code in a fresh sandbox that is destroyed afterwards.

    >>> import glovebox
    >>> result = glovebox.run("print('hello'); 6 * 7")
    >>> result.stdout, result.value
    ('hello\\n', 42)

    Code that fails, runs too long or eats its memory is not an exception: ``result.ok``,
    ``result.error``, ``result.exit_code`` say so, and ``result.raise_for_error()`` raises.

    >>> glovebox.run("1 / 0").error.name
    'ZeroDivisionError'

    :param code: the program. In ``language`` (``"python"``, ``"javascript"``, ``"shell"``), or that of
        ``template``; Python if neither is said.
    :param command: instead of code, a program and its arguments, or a line for ``/bin/sh``.
    :param stdin: text or bytes. Nothing else of this process goes along: no environment, no files.
    :param files: what lies in its home, ``{"in.csv": "a,b\\n", "x.bin": b"\\0", "r.sh": ("…", "755")}``.
    :param return_files: paths or patterns of files to bring back, in ``result.files``.
    :param timeout: seconds of wall clock; ``cpu_ms``, ``memory_mb``, ``cpus``, ``pids``, ``disk_mb``,
        ``output_kb``: other limits. What is not said is the template's.
    :param fs: directories of the host: ``["r:/data", "rw:/out:/inside"]`` with a private server,
        ``["r:NAME:/inside"]`` of the administrator's list with another.
    :param dependencies: packages it needs: ``["pandas>=2"]``, ``Path("requirements.txt")`` or a
        :class:`~glovebox.Dependencies`. They are installed once, before the first run that asks for them; what
        cannot be is a :class:`~glovebox.DependencyError`. ``on_build`` hears of it: ``on_build=print``.
    :param cold: a fresh interpreter, forked from nobody.
    :param min_grade: refuse to run behind weaker walls, like ``"jail"``.
    :param on_stdout: called with text as it is printed; also ``on_stderr``, ``on_result``, ``on_error``.
    :param idempotency_key: the same request with the same key runs once; then it is retried.
    :param request_timeout: how long this side waits for the answer, in seconds; by default a little
        longer than the code may run.

    >>> glovebox.run(command="sort", stdin="b\\na\\n", timeout=5, memory_mb=64).stdout
    'a\\nb\\n'
    >>> made = glovebox.run("open('out.txt', 'w').write('hi')", return_files=["*.txt"])
    >>> made.file("out.txt").text
    'hi'

    Which server: that of ``client``, else ``GLOVEBOX_URL`` with ``GLOVEBOX_API_KEY``, else a `glovebox serve`
    that runs on this machine, else a private one, which is started now and ends with this process.
    """
    return (client or default_client()).run(
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
