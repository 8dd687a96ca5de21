# Generated from glovebox/aio/run_code.py by sdk/python/tools/generate_sync.py (`make generate`). Do not edit.
"""``glovebox.run()``: runs code in a fresh sandbox and returns the result."""

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
    image: Optional[str] = None,
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
    reuse: Optional[str] = None,
    min_grade: Optional[str] = None,
    engine: Optional[str] = None,
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

    Code that fails, exceeds its time limit or runs out of memory does not raise: ``result.ok``,
    ``result.error`` and ``result.exit_code`` say what happened, and ``result.raise_for_error()`` raises.

    >>> glovebox.run("1 / 0").error.name
    'ZeroDivisionError'

    :param code: the program, in ``language`` (``"python"``, ``"javascript"``, ``"shell"``) or the language of
        ``template``; Python if neither is given.
    :param image: instead of ``template``, an image of the server (``glovebox image list``); code is given to the
        image's own interpreter, its Python soon warm. Without code and command the image's own program runs.
    :param command: instead of code, a program with its arguments, or a line for ``/bin/sh``.
    :param stdin: text or bytes. Nothing else of this process reaches the sandbox: no environment, no files.
    :param files: files in its home directory, ``{"in.csv": "a,b\\n", "x.bin": b"\\0", "r.sh": ("…", "755")}``.
    :param return_files: paths or patterns of files to return in ``result.files``.
    :param timeout: limit in seconds of wall clock. ``cpu_ms``, ``memory_mb``, ``cpus``, ``pids``, ``disk_mb`` and
        ``output_kb`` are other limits. The template has the defaults.
    :param fs: directories of the host: ``["r:/data", "rw:/out:/inside"]`` with a private server,
        ``["r:NAME:/inside"]`` from the administrator's list with any other.
    :param dependencies: packages the code needs: ``["pandas>=2"]``, ``Path("requirements.txt")`` or a
        :class:`~glovebox.Dependencies`. The server installs them once, before the first run that needs them. It
        raises :class:`~glovebox.DependencyError` for packages that cannot be installed. ``on_build`` is called with
        the steps: ``on_build=print``; without it they are shown on a terminal.
    :param reuse: ``"sandbox"``: the sandbox may serve several runs of Python code with the same key and limits,
        one after the other; the process and everything that it can write are new for each run. It is much faster
        for many small runs that need no protection from each other. ``"interpreter"``: runs of the same code share
        the process and its files, too; only ``args`` and ``stdin`` are a run's own. ``result.reused`` says how many
        runs there were before.
    :param cold: use a fresh interpreter instead of a fork of a warm one.
    :param min_grade: refuse to run behind weaker walls than this grade, like ``"jail"``.
    :param engine: use this engine, one that the server lists as usable (``GET /v1/engines``).
    :param on_stdout: called with text as it is printed; likewise ``on_stderr``, ``on_result``, ``on_error``. A
        callback of :mod:`glovebox.aio` may be a coroutine function.
    :param idempotency_key: a request with the same key runs only once, so the client may retry it.
    :param request_timeout: how long the client waits for the response, in seconds; by default a little longer
        than the code may run.

    >>> glovebox.run(command="sort", stdin="b\\na\\n", timeout=5, memory_mb=64).stdout
    'a\\nb\\n'
    >>> made = glovebox.run("open('out.txt', 'w').write('hi')", return_files=["*.txt"])
    >>> made.file("out.txt").text
    'hi'

    Which server: that of ``client``, or ``GLOVEBOX_URL`` with ``GLOVEBOX_API_KEY``, or a `glovebox serve` that runs
    on this machine, or a private server that is started now and ends with this process.
    """
    return (client or default_client()).run(
        code,
        language=language,
        template=template,
        image=image,
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
        reuse=reuse,
        min_grade=min_grade,
        engine=engine,
        on_stdout=on_stdout,
        on_stderr=on_stderr,
        on_result=on_result,
        on_error=on_error,
        on_build=on_build,
        idempotency_key=idempotency_key,
        request_timeout=request_timeout,
    )
