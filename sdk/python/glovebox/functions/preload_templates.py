"""The template for a function's ``preload``, at each server that it is called on."""

from __future__ import annotations

import threading
import time
import warnings
from typing import TYPE_CHECKING, Any, Dict, Optional

from ..errors import ApiError, ConflictError, LimitError, NotFoundError
from ..remote_errors import printable
from .options import PRELOAD_TEMPLATE_PREFIX, Options, TemplateChoice, choose_template

if TYPE_CHECKING:
    from ..aio import Client as AsyncClient
    from ..sync.client import Client

__all__ = ["PreloadTemplates"]

_LOOK_AFTER_S = 1.0


class PreloadTemplates:
    """Finds or makes one at the first call, and makes it again if somebody removed it."""

    def __init__(self, options: Options, function: str) -> None:
        self._options = options
        self._function = function
        self._lock = threading.Lock()
        self.chosen: Dict[str, str] = {}  # by the server's address
        # Of those whose imports had not ended when we looked: when to look again.
        self._unsettled: Dict[str, float] = {}

    def name(self, client: "Client") -> str:
        where = client.url
        with self._lock:
            if where not in self.chosen:
                choice = self._choose(client._request("GET", "/v1/templates"))
                name, found = choice.name, choice.found
                if choice.definition is not None:
                    try:
                        found = client._request("POST", "/v1/templates", choice.definition)
                    except ApiError as error:
                        name = self._without(error, name)
                self._note(where, name, found)
            elif self._is_to_look(where):
                try:
                    found = client._request("GET", f"/v1/templates/{self.chosen[where]}")
                except ApiError:
                    found = None  # the call says it
                self._note(where, self.chosen[where], found)
            return self.chosen[where]

    async def name_async(self, client: "AsyncClient") -> str:
        await client.connect()  # which finds the server, if that was not done yet
        where = client.url
        if where not in self.chosen:
            choice = self._choose(await client._request("GET", "/v1/templates"))
            name, found = choice.name, choice.found
            if choice.definition is not None:
                try:
                    found = await client._request("POST", "/v1/templates", choice.definition)
                except ApiError as error:
                    name = self._without(error, name)
            self._note(where, name, found)
        elif self._is_to_look(where):
            name = self.chosen[where]
            try:
                found = await client._request("GET", f"/v1/templates/{name}")
            except ApiError:
                found = None
            self._note(where, name, found)
            return name
        return self.chosen[where]

    def forget(self, where: str, name: Optional[str], error: NotFoundError, is_again: bool) -> None:
        """After a call that found no such template: raises, unless it is worth another try."""
        is_ours = name is not None and name.startswith(PRELOAD_TEMPLATE_PREFIX)
        if not is_ours or error.code != "template_not_found" or is_again:
            raise error
        with self._lock:
            if self.chosen.get(where) == name:
                del self.chosen[where]

    def _choose(self, listing: Any) -> TemplateChoice:
        return choose_template(listing, self._options.base, self._options.preload)

    def _is_to_look(self, where: str) -> bool:
        moment = self._unsettled.get(where)
        return moment is not None and time.monotonic() >= moment

    def _note(self, where: str, name: str, found: Any) -> None:
        self.chosen[where] = name
        self._unsettled.pop(where, None)
        state = found.get("state") if isinstance(found, dict) else None
        if state == "failed":
            reason = printable(str(found.get("error") or "no reason was given")[:500])
            self._warn(f"its preload is not imported ahead, so it runs slower: {reason}")
        elif isinstance(state, str) and state != "ready":
            self._unsettled[where] = time.monotonic() + _LOOK_AFTER_S

    def _without(self, error: ApiError, name: str) -> str:
        if isinstance(error, ConflictError):
            return name  # somebody was quicker; its name says what it is
        if not isinstance(error, LimitError):
            raise error
        self._warn(f"runs without its preload, so slower: {error.message}")
        return self._options.base

    def _warn(self, what: str) -> None:
        warnings.warn(f"{self._function}: {what}", stacklevel=6)
