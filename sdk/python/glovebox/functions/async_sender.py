"""Sends the calls of one function to a server, after what they need there was found or created."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Sequence, Tuple

from ..aio._runtime import ThreadLock, sleep
from ..errors import ApiError, ConnectionFailed, LimitError, NotFoundError, ProtocolError, UnavailableError
from ..profile.build_progress import build_callback
from ..requests.bundles import put_bundle
from ..transport.event_streams import JsonLines
from ..transport.request import Request
from .batches import Batch
from .options import Options
from .own_modules import Bundle
from .package_builds import BuildNotifier
from .preload_templates import PreloadTemplates
from .retries import Repeats, is_not_started, retry_deadline, retry_delay

if TYPE_CHECKING:
    from ..aio.client import Client

__all__ = ["FunctionSender"]

_JSON = {"Content-Type": "application/json"}
_NDJSON = "application/x-ndjson"


class FunctionSender:
    """``encode`` gives the body of a call, for a template that was chosen for ``preload`` or None."""

    def __init__(
        self,
        options: Options,
        templates: PreloadTemplates,
        builds: BuildNotifier,
        encode: Callable[[Optional[str], Tuple[Any, ...], Dict[str, Any]], bytes],
        bundle: Callable[[], Optional[Bundle]],
    ) -> None:
        self._options = options
        self._templates = templates
        self._builds = builds
        self._encode = encode
        self._bundle = bundle
        self._lock = ThreadLock()

    async def send(self, client: "Client", args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """The response to the run; repeats a call that a full server did not start."""
        template = await self._prepare(client)
        body = self._encode(template, args, kwargs)
        deadline: Optional[float] = None
        is_second_try = False
        repeats = Repeats(self._options.idempotent)
        while True:
            try:
                response = await client._request(
                    "POST", "/v1/run", body=body, headers=_JSON, timeout=self._options.response_timeout()
                )
                if not repeats.wants_after(None, response):
                    return response
            except NotFoundError as error:
                if error.code == "bundle_not_found" and not is_second_try:
                    await self._send_bundle(client)
                else:
                    self._templates.forget(client.url, template, error, is_second_try)
                    template = await self._preload_template(client)
                    body = self._encode(template, args, kwargs)
                is_second_try = True
            except (LimitError, UnavailableError, ConnectionFailed) as error:
                if not is_not_started(error) and repeats.wants_after(error):
                    continue
                if isinstance(error, ConnectionFailed):
                    raise
                deadline = deadline or retry_deadline()
                await sleep(retry_delay(error, deadline))

    async def send_batch(self, client: "Client", batch: Batch, parallel: int) -> None:
        """Makes all calls of a batch, ``parallel`` at a time, and gives it the response to each as it comes."""
        try:
            await self._send_parts(client, batch, parallel)
        except Exception as error:
            for index in list(batch.left):
                batch.put(index, error)
        finally:
            batch.cancel()

    async def _send_parts(self, client: "Client", batch: Batch, parallel: int) -> None:
        template = await self._prepare(client)
        batch.prepare(template)
        deadline: Optional[float] = None
        is_second_try = False
        while batch.left:
            indexes, body = batch.next_request(parallel)
            before = len(batch.left)
            refusal: Optional[ApiError] = None
            try:
                refusal = await self._send_part(client, batch, indexes, body)
            except NotFoundError as error:
                if error.code == "bundle_not_found" and not is_second_try:
                    await self._send_bundle(client)
                else:
                    self._templates.forget(client.url, template, error, is_second_try)
                    template = await self._preload_template(client)
                    batch.prepare(template)
                is_second_try = True
            except (LimitError, UnavailableError) as error:
                refusal = error
            if refusal is None:
                continue
            if deadline is None or len(batch.left) < before:
                deadline = retry_deadline()
            await sleep(retry_delay(refusal, deadline))

    async def _send_part(
        self, client: "Client", batch: Batch, indexes: Sequence[int], body: bytes
    ) -> Optional[ApiError]:
        """Why the server did not start some of the calls, which can be made again; None: it started all of them."""
        rounds = 1 + len(indexes)
        request: Request[Any] = Request(
            "POST",
            "/v1/run/batch",
            _any,
            body=body,
            headers=_JSON,
            timeout=self._options.response_timeout() * rounds,
            stream_type=_NDJSON,
        )
        stream = await client._stream(request, reuse=True)
        lines = JsonLines()
        refusal: Optional[ApiError] = None
        unanswered = set(indexes)
        lost = ConnectionFailed("the server ended its response too early")
        try:
            while (piece := await stream.next()) is not None:
                for line in lines.feed(piece):
                    index = _index_of(line, indexes)
                    if index in unanswered:
                        unanswered.remove(index)
                        refusal = batch.answer(index, line) or refusal
        except ConnectionFailed as error:
            lost = error
        finally:
            stream.close()
        for index in unanswered:
            batch.lose(index, lost)
        return refusal

    async def _send_bundle(self, client: "Client") -> None:
        """The own modules and files of the function, which this server does not have (yet, or any more)."""
        bundle = self._bundle()
        if bundle is not None:
            await client._do(put_bundle(bundle.digest, bundle.data))

    async def _prepare(self, client: "Client") -> Optional[str]:
        """The template for ``preload``. With packages there is none: the server preloads in their own template."""
        if self._options.has_packages:
            await self._build_packages(client)
            return None
        return await self._preload_template(client) if self._options.preload else None

    async def _build_packages(self, client: "Client") -> None:
        """Reports the installation of the packages to ``on_build``, or to a terminal, at the first call on each server.

        Calls that come meanwhile do not wait here: the server lets them wait for the same build.
        """
        on_build = build_callback(self._options.on_build, self._options.dependencies)
        if on_build is None:
            return
        await client.connect()
        if not self._builds.begin(client.url):
            return
        try:
            await client.layers.build(
                self._builds.dependencies(), template=self._options.base_template, on_build=on_build
            )
        except BaseException:
            self._builds.forget(client.url)
            raise

    async def _preload_template(self, client: "Client") -> str:
        """Finds or creates the template with the modules of ``preload``, and asks for its state until it is known."""
        await client.connect()
        url, templates = client.url, self._templates
        name = templates.chosen.get(url)
        if name is not None and not templates.must_ask_again(url):
            return name
        async with self._lock:
            name = templates.chosen.get(url)
            if name is None:
                choice = templates.choose(await client._request("GET", "/v1/templates"))
                name, found = choice.name, choice.found
                if choice.definition is not None:
                    try:
                        found = await client._request("POST", "/v1/templates", choice.definition)
                    except ApiError as error:
                        name = templates.fall_back(error, name)
                templates.record(url, name, found)
            elif templates.must_ask_again(url):
                try:
                    found = await client._request("GET", f"/v1/templates/{name}")
                except ApiError:
                    found = None  # the call itself reports it
                templates.record(url, name, found)
            return name


def _any(value: Any) -> Any:
    return value


def _index_of(line: Any, indexes: Sequence[int]) -> int:
    at = line.get("index") if isinstance(line, dict) else None
    if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at < len(indexes):
        raise ProtocolError("malformed response: an answer to an unknown call of a batch")
    return indexes[at]
