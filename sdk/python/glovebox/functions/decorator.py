"""Functions that run in a sandbox: the decorator :func:`sandboxed`.

::

    from glovebox import sandboxed

    @sandboxed(mem_mb=256, timeout=5)
    def score(rows: list[dict]) -> dict:
        ...

    score(rows)             # in a sandbox of its own; the value, or what it raised
    score.map(batches)      # in parallel, in order
    await score.aio(rows)   # async
    score.local(rows)       # in this process, for tests

call_protocol.py has the encoding of calls and results, source.py the source that is shipped with them.
"""

from __future__ import annotations

import functools
import inspect
import sys
from dataclasses import replace
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Coroutine,
    Dict,
    Generic,
    Iterable,
    Iterator,
    Literal,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
    cast,
    overload,
)

from ..profile.dependencies import AnyDependencies
from ..profile.network import Net
from ..requests.arguments import Seconds
from ..requests.runs import OnBuild
from ..sync._cancellable import CancellableClient
from ..sync.client import Client, default_client
from .call_protocol import CallEncoder, StalePlan, decode_result, is_large, show_output
from .options import Options
from .own_modules import Bundle
from .package_builds import BuildNotifier
from .parallel_map import (
    as_argument_tuples,
    as_async,
    batched_map,
    batched_map_async,
    ordered_map,
    ordered_map_async,
    worker_count,
)
from .preload_templates import PreloadTemplates
from .shipment import Shipment
from .source import FunctionSource, ShippedSource, check_function
from .sync_sender import FunctionSender

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    from ..aio import Client as AsyncClient
    from .async_sender import FunctionSender as AsyncFunctionSender
    from .batches import Batch

    P = ParamSpec("P")
else:
    P = TypeVar("P")  # Python 3.9 has no ParamSpec

R = TypeVar("R")
T = TypeVar("T")

__all__ = ["SandboxedFunction", "sandboxed"]


class SandboxedFunction(Generic[P, R]):
    """A function decorated with :func:`sandboxed`. Calling it runs it in a sandbox."""

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]

    def __init__(self, function: Callable[P, R], options: Options) -> None:
        check_function(function)
        functools.update_wrapper(self, function)
        #: The function itself, in this process: for tests.
        self.local: Callable[P, R] = function
        self._options = options
        self._is_async = inspect.iscoroutinefunction(inspect.unwrap(function))
        self._encoders: Dict[Optional[str], CallEncoder] = {}
        self._templates = PreloadTemplates(options, self.__name__)
        self._builds = BuildNotifier(options)
        self._sender = FunctionSender(options, self._templates, self._builds, self._encode, self._bundle)
        # Read now, while the file is the one that was imported.
        self._function_source = FunctionSource(function, options.include)

    # --- calls ----------------------------------------------------------------------------------------

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs the function in a sandbox of its own. An ``async def`` function returns an awaitable, as usual."""
        if self._is_async:
            return cast(R, self.aio(*args, **kwargs))
        return cast(R, self._finish(self._send(args, kwargs)))

    @overload
    def aio(
        self: "SandboxedFunction[P, Coroutine[Any, Any, T]]", *args: P.args, **kwargs: P.kwargs
    ) -> "Coroutine[Any, Any, T]": ...

    @overload
    def aio(self, *args: P.args, **kwargs: P.kwargs) -> "Coroutine[Any, Any, R]": ...

    async def aio(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function without blocking the event loop."""
        return await self._finish_async(await self._send_async(args, kwargs))

    @overload
    def map(
        self: "SandboxedFunction[P, Coroutine[Any, Any, T]]",
        *iterables: Iterable[Any],
        parallel: Optional[int] = ...,
        return_exceptions: Literal[False] = ...,
        reuse: Optional[str] = ...,
    ) -> Iterator[T]: ...

    @overload
    def map(
        self,
        *iterables: Iterable[Any],
        parallel: Optional[int] = ...,
        return_exceptions: Literal[False] = ...,
        reuse: Optional[str] = ...,
    ) -> Iterator[R]: ...

    @overload
    def map(
        self,
        *iterables: Iterable[Any],
        parallel: Optional[int] = ...,
        return_exceptions: bool,
        reuse: Optional[str] = ...,
    ) -> Iterator[Any]: ...

    def map(
        self,
        *iterables: Iterable[Any],
        parallel: Optional[int] = None,
        return_exceptions: bool = False,
        reuse: Optional[str] = None,
    ) -> Iterator[Any]:
        """Like the builtin ``map``: one call for each item, ``parallel`` at a time; values in the order of the items.

        Items are read as calls are made, so they may come from an endless generator. Nothing happens until
        the first value is requested. The first exception ends the iteration, unless ``return_exceptions`` is
        true: then it takes the place of the value. Closing the iterator cancels the calls in flight.
        ``reuse="sandbox"`` or ``"interpreter"`` lets the calls share sandboxes, as the option of :func:`sandboxed`
        does. Then many calls are sent in one request, and up to a few hundred items are read ahead.

        >>> from glovebox.examples import square
        >>> list(square.map(range(5)))
        [0, 1, 4, 9, 16]
        """
        chosen = self._reusing(reuse)
        return chosen._map(zip(*iterables), worker_count(parallel), return_exceptions)

    def _map(self, calls: Iterable[Tuple[Any, ...]], workers: int, return_exceptions: bool) -> Iterator[Any]:
        client = CancellableClient(self._sync_client())
        if self._sends_batches():

            def send_batch(batch: "Batch", parallel: int) -> None:
                self._sender.send_batch(client, batch, parallel)

            yield from batched_map(
                calls, self._make_batch, send_batch, self._finish, workers, return_exceptions, client.cancel
            )
            return

        def send(arguments: Tuple[Any, ...]) -> Any:
            return self._send(arguments, {}, client)

        yield from ordered_map(calls, send, self._finish, workers, return_exceptions, client.cancel)

    @overload
    def amap(
        self: "SandboxedFunction[P, Coroutine[Any, Any, T]]",
        *iterables: Union[Iterable[Any], AsyncIterable[Any]],
        parallel: Optional[int] = ...,
        return_exceptions: Literal[False] = ...,
        reuse: Optional[str] = ...,
    ) -> AsyncIterator[T]: ...

    @overload
    def amap(
        self,
        *iterables: Union[Iterable[Any], AsyncIterable[Any]],
        parallel: Optional[int] = ...,
        return_exceptions: Literal[False] = ...,
        reuse: Optional[str] = ...,
    ) -> AsyncIterator[R]: ...

    @overload
    def amap(
        self,
        *iterables: Union[Iterable[Any], AsyncIterable[Any]],
        parallel: Optional[int] = ...,
        return_exceptions: bool,
        reuse: Optional[str] = ...,
    ) -> AsyncIterator[Any]: ...

    def amap(
        self,
        *iterables: Union[Iterable[Any], AsyncIterable[Any]],
        parallel: Optional[int] = None,
        return_exceptions: bool = False,
        reuse: Optional[str] = None,
    ) -> AsyncIterator[Any]:
        """Like :meth:`map`, for ``async for``. Takes one async iterable, or one or more ordinary ones."""
        workers = worker_count(parallel)
        if len(iterables) == 1 and isinstance(iterables[0], AsyncIterable):
            calls: AsyncIterator[Tuple[Any, ...]] = as_argument_tuples(iterables[0])
        elif any(isinstance(one, AsyncIterable) for one in iterables):
            raise TypeError("amap() takes one async iterable, or several ordinary ones")
        else:
            calls = as_async(zip(*cast("Tuple[Iterable[Any], ...]", iterables)))
        chosen = self._reusing(reuse)
        if chosen._sends_batches():
            return batched_map_async(
                calls,
                chosen._make_batch,
                chosen._send_batch_async,
                chosen._finish_async,
                workers,
                return_exceptions,
            )
        return ordered_map_async(calls, chosen._send_one_async, chosen._finish_async, workers, return_exceptions)

    def _sends_batches(self) -> bool:
        """Calls that share sandboxes are short and many: they share requests, too."""
        return self._options.reuse in ("sandbox", "interpreter")

    def _make_batch(self, calls: Sequence[Tuple[Any, ...]]) -> "Batch":
        from .batches import Batch

        return Batch(calls, self._batch_encoder, self._options.idempotent)

    def _batch_encoder(self, template: Optional[str], anew: bool) -> CallEncoder:
        return self._encoder(template, self._function_source.plan_anew() if anew else self._source())

    async def _send_batch_async(self, batch: "Batch", parallel: int) -> None:
        import asyncio

        client = self._async_client()
        if isinstance(client, Client):
            send = self._sender.send_batch
            await asyncio.get_running_loop().run_in_executor(None, send, client, batch, parallel)
            return
        await self._async_sender().send_batch(client, batch, parallel)

    def _async_sender(self) -> "AsyncFunctionSender":
        from .async_sender import FunctionSender as AsyncFunctionSender

        return AsyncFunctionSender(self._options, self._templates, self._builds, self._encode, self._bundle)

    def _reusing(self, reuse: Optional[str]) -> "SandboxedFunction[P, R]":
        return self if reuse in (None, self._options.reuse) else self.with_options(reuse=reuse)

    def with_options(self, **changes: Any) -> "SandboxedFunction[P, R]":
        """The same function with some options of :func:`sandboxed` changed.

        >>> from glovebox.examples import square
        >>> square.with_options(timeout=5)(3)
        9
        """
        _check_names(changes)
        other = SandboxedFunction(self.local, replace(self._options, **changes))
        other._function_source = self._function_source.with_include(other._options.include)
        return other

    def shipment(self) -> Shipment:
        """What a call would send now besides its arguments: source, values, modules and files, with their sizes.

        >>> from glovebox.examples import square
        >>> print(square.shipment())
        square: 6 lines of source
        """
        return Shipment.of(self._function_source.plan_anew())

    @property
    def profile(self) -> Dict[str, Any]:
        """The profile of its calls; :func:`glovebox.profile.profile_hash` gives its hash."""
        return self._options.profile()

    def __repr__(self) -> str:
        return f"<sandboxed {self.__module__}:{self.__qualname__}>"

    def __reduce__(self) -> str:
        return self.__qualname__  # pickled by name, as functions are

    # --- one call -------------------------------------------------------------------------------------

    def _send(self, args: Tuple[Any, ...], kwargs: Dict[str, Any], client: Optional[Client] = None) -> Any:
        return self._sender.send(client or self._sync_client(), args, kwargs)

    async def _send_one_async(self, arguments: Tuple[Any, ...]) -> Any:
        return await self._send_async(arguments, {})

    async def _send_async(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        import asyncio  # which a program that awaits has imported

        client = self._async_client()
        if isinstance(client, Client):
            return await asyncio.get_running_loop().run_in_executor(None, self._send, args, kwargs)
        return await self._async_sender().send(client, args, kwargs)

    def _finish(self, response: Any) -> Any:
        if self._options.show_output:
            show_output(response)
        return decode_result(response, self.__qualname__)

    async def _finish_async(self, response: Any) -> Any:
        if not is_large(response):
            return self._finish(response)
        import asyncio

        if self._options.show_output:
            show_output(response)
        return await asyncio.get_running_loop().run_in_executor(None, decode_result, response, self.__qualname__)

    def _encode(self, template: Optional[str], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> bytes:
        """The body of a request, with what the function uses as it is now."""
        try:
            return self._encoder(template, self._source()).body(args, kwargs)
        except StalePlan:
            return self._encoder(template, self._function_source.plan_anew()).body(args, kwargs)

    def _encoder(self, template: Optional[str], shipped: ShippedSource) -> CallEncoder:
        encoder = self._encoders.get(template)
        if encoder is None or encoder.shipped is not shipped:
            encoder = CallEncoder(shipped, self._options.request(template), self._options.large_result)
            self._encoders[template] = encoder
        return encoder

    def _source(self) -> ShippedSource:
        return self._function_source.shipped()

    def _bundle(self) -> Optional[Bundle]:
        return self._source().bundle

    def _sync_client(self) -> Client:
        client = self._options.client
        if client is None:
            return default_client()
        if not isinstance(client, Client):
            raise TypeError(
                f"{self.__name__} has an asyncio client: call `await {self.__name__}.aio()`, or set a glovebox.Client"
            )
        return client

    def _async_client(self) -> "Union[Client, AsyncClient]":
        if self._options.client is not None:
            return cast("Union[Client, AsyncClient]", self._options.client)
        from ..aio import default_client as default_async_client

        return default_async_client()


def _check_names(options: Mapping[str, Any]) -> None:
    for name in options:
        if name not in Options.__dataclass_fields__:
            known = ", ".join(Options.__dataclass_fields__)
            raise TypeError(f"sandboxed() has no option {name!r}; its options are {known}")


def _decorated(function: Callable[..., Any], options: Options) -> "SandboxedFunction[Any, Any]":
    return SandboxedFunction(function, options)


@overload
def sandboxed(function: Callable[P, R]) -> "SandboxedFunction[P, R]": ...


@overload
def sandboxed(
    *,
    net: Optional[Net] = ...,
    fs: Union[str, Sequence[str]] = ...,
    cpu_ms: Optional[int] = ...,
    mem_mb: Optional[int] = ...,
    timeout: Optional[Seconds] = ...,
    disk_mb: Optional[int] = ...,
    pids: Optional[int] = ...,
    cpus: Optional[float] = ...,
    output_kb: Optional[int] = ...,
    dependencies: Optional[AnyDependencies] = ...,
    preload: Sequence[str] = ...,
    template: Optional[str] = ...,
    image: Optional[str] = ...,
    env: Mapping[str, str] = ...,
    include: Sequence[str] = ...,
    min_grade: Optional[str] = ...,
    cold: bool = ...,
    reuse: Optional[str] = ...,
    idempotent: bool = ...,
    large_result: bool = ...,
    show_output: bool = ...,
    on_build: Optional[OnBuild] = ...,
    client: Any = ...,
) -> "Callable[[Callable[P, R]], SandboxedFunction[P, R]]": ...


def sandboxed(function: Optional[Callable[..., Any]] = None, **options: Any) -> Any:
    """Makes every call of a function run in a sandbox of its own.

    Write ``@sandboxed``, or ``@sandboxed(...)`` with any of

    ================  =====================================================================================
    ``net``           network policy: ``"none"``, ``"https-only"``, ``"all"``, a list like
                      ``["pypi.org:443", "*.example.com"]``, or a dict with ``allow``, ``deny``, ``budgets`` …
    ``fs``            host directories to mount: ``"r:/data"``, ``["rw:/out", "r:/host:/inside"]``, ``"none"``, and
                      ``"r:NAME:/inside"`` for an entry of the administrator's list
    ``cpu_ms``        CPU time
    ``mem_mb``        memory
    ``timeout``       limit in seconds, from the start of the call in its sandbox
    ``disk_mb``       disk space
    ``pids``          processes and threads
    ``cpus``          share of CPUs, like 0.5
    ``output_kb``     output
    ``dependencies``  packages it needs: ``["pandas>=2"]``, ``Path("requirements.txt")`` or a
                      :class:`~glovebox.Dependencies`; installed once, before the first call
    ``preload``       modules that are imported before the call
    ``template``      the template of the sandbox; default ``python``
    ``image``         instead, an image of the server with Python 3.8 or newer: ``"python:3.13-slim"``
    ``env``           environment variables; none are inherited from this process
    ``include``       data files that it reads: ``["data/*.csv"]``, beside its own file here and in the sandbox
    ``min_grade``     refuse to run behind weaker walls than this grade
    ``cold``          use a fresh interpreter instead of a fork of a warm one
    ``reuse``         ``"sandbox"``: calls may share a sandbox, one after the other; each has a new process and new
                      files. ``"interpreter"``: they share its process and files, too, so that the module is loaded
                      once, as on AWS Lambda. Faster for many small calls
    ``idempotent``    calling it twice is as good as once: a call whose sandbox died is made again
    ``large_result``  allow results of more than 8 MB, at the cost of some milliseconds per call
    ``show_output``   False: do not print the output of the function in this process
    ``on_build``      called with a :class:`~glovebox.BuildProgress` while packages are installed, like ``print``
    ``client``        the client to use instead of the default one
    ================  =====================================================================================

    A call sends the function, what it uses of its module (imports, functions, classes, and data with its values
    now) and the arguments, and nothing else; :meth:`~SandboxedFunction.shipment` shows it. Arguments and results
    are data: JSON's types, bytes, tuples, sets, dates, decimals, UUIDs, and the types of numpy and pandas if
    they are installed. If the function raises a builtin exception, the call raises the same one, ``from`` a
    :class:`~glovebox.RemoteError` with the traceback; otherwise it raises the RemoteError itself.

    >>> from glovebox.examples import square, reciprocal
    >>> square(7)
    49
    >>> square.local(7)
    49
    >>> try:
    ...     reciprocal(0)
    ... except ZeroDivisionError as error:
    ...     print(error, "-", error.__cause__.type_name)
    division by zero - ZeroDivisionError

    Inside a sandbox the decorator does nothing.
    """
    runner = sys.modules.get("_glovebox_runner")
    if runner is not None:  # in a sandbox that has the SDK installed
        return runner.load("inside_names").sandboxed(function, **options)
    _check_names(options)
    made = Options(**options)
    if function is None:
        return lambda one: _decorated(one, made)
    if options:
        raise TypeError("write @sandboxed or @sandboxed(option=...), not both")
    return _decorated(function, made)
