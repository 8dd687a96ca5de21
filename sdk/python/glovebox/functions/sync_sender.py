# Generated from glovebox/functions/async_sender.py by sdk/python/tools/generate_sync.py (`make generate`). Do not edit.
"""Sends the calls of one function to a server, after what they need there was found or created."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple

from ..errors import ApiError, LimitError, NotFoundError, UnavailableError
from ..profile.build_progress import build_callback
from ..requests.bundles import put_bundle
from ..sync._runtime import ThreadLock, sleep
from .options import Options
from .own_modules import Bundle
from .package_builds import BuildNotifier
from .preload_templates import PreloadTemplates
from .retries import retry_deadline, retry_delay

if TYPE_CHECKING:
    from ..sync.client import Client

__all__ = ["FunctionSender"]

_JSON = {"Content-Type": "application/json"}


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

    def send(self, client: "Client", args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """The response to the run; repeats a call that a full server did not start."""
        template = self._prepare(client)
        body = self._encode(template, args, kwargs)
        deadline: Optional[float] = None
        is_second_try = False
        while True:
            try:
                return client._request(
                    "POST", "/v1/run", body=body, headers=_JSON, timeout=self._options.response_timeout()
                )
            except NotFoundError as error:
                if error.code == "bundle_not_found" and not is_second_try:
                    self._send_bundle(client)
                else:
                    self._templates.forget(client.url, template, error, is_second_try)
                    template = self._preload_template(client)
                    body = self._encode(template, args, kwargs)
                is_second_try = True
            except (LimitError, UnavailableError) as error:
                deadline = deadline or retry_deadline()
                sleep(retry_delay(error, deadline))

    def _send_bundle(self, client: "Client") -> None:
        """The own modules and files of the function, which this server does not have (yet, or any more)."""
        bundle = self._bundle()
        if bundle is not None:
            client._do(put_bundle(bundle.digest, bundle.data))

    def _prepare(self, client: "Client") -> Optional[str]:
        """The template for ``preload``. With packages there is none: the server preloads in their own template."""
        if self._options.has_packages:
            self._build_packages(client)
            return None
        return self._preload_template(client) if self._options.preload else None

    def _build_packages(self, client: "Client") -> None:
        """Reports the installation of the packages to ``on_build``, or to a terminal, at the first call on each server.

        Calls that come meanwhile do not wait here: the server lets them wait for the same build.
        """
        on_build = build_callback(self._options.on_build, self._options.dependencies)
        if on_build is None:
            return
        client.connect()
        if not self._builds.begin(client.url):
            return
        try:
            client.layers.build(
                self._builds.dependencies(), template=self._options.base_template, on_build=on_build
            )
        except BaseException:
            self._builds.forget(client.url)
            raise

    def _preload_template(self, client: "Client") -> str:
        """Finds or creates the template with the modules of ``preload``, and asks for its state until it is known."""
        client.connect()
        url, templates = client.url, self._templates
        name = templates.chosen.get(url)
        if name is not None and not templates.must_ask_again(url):
            return name
        with self._lock:
            name = templates.chosen.get(url)
            if name is None:
                choice = templates.choose(client._request("GET", "/v1/templates"))
                name, found = choice.name, choice.found
                if choice.definition is not None:
                    try:
                        found = client._request("POST", "/v1/templates", choice.definition)
                    except ApiError as error:
                        name = templates.fall_back(error, name)
                templates.record(url, name, found)
            elif templates.must_ask_again(url):
                try:
                    found = client._request("GET", f"/v1/templates/{name}")
                except ApiError:
                    found = None  # the call itself reports it
                templates.record(url, name, found)
            return name
