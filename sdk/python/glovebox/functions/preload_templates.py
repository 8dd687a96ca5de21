"""The template for a function's ``preload``, on each server that it is called on."""

from __future__ import annotations

import threading
import time
import warnings
from typing import Any, Dict, Optional

from .._printable import printable
from ..errors import ApiError, ConflictError, LimitError, NotFoundError
from .options import PRELOAD_TEMPLATE_PREFIX, Options, TemplateChoice, choose_template

__all__ = ["PreloadTemplates"]

_ASK_AGAIN_S = 1.0


class PreloadTemplates:
    """Remembers the template of each server; the senders find, create and ask for them."""

    def __init__(self, options: Options, function: str) -> None:
        self._options = options
        self._function = function
        self._lock = threading.Lock()
        self.chosen: Dict[str, str] = {}  # by the URL of the server
        # Templates that were still importing their modules: when to ask for their state again.
        self._ask_at: Dict[str, float] = {}

    def choose(self, listing: Any) -> TemplateChoice:
        return choose_template(listing, self._options.base_template, self._options.preload)

    def must_ask_again(self, url: str) -> bool:
        """Whether the state of the template was not final, and it is time to ask for it again."""
        moment = self._ask_at.get(url)
        return moment is not None and time.monotonic() >= moment

    def record(self, url: str, name: str, found: Any) -> None:
        """Remembers a template and its state; warns if its preload failed."""
        self.chosen[url] = name
        self._ask_at.pop(url, None)
        state = found.get("state") if isinstance(found, dict) else None
        if state == "failed":
            reason = printable(str(found.get("error") or "the server gave no reason")[:500])
            self._warn(f"its modules cannot be preloaded, so calls are slower: {reason}")
        elif isinstance(state, str) and state != "ready":
            self._ask_at[url] = time.monotonic() + _ASK_AGAIN_S

    def fall_back(self, error: ApiError, name: str) -> str:
        """The template to use after creating one failed; raises what cannot be helped."""
        if isinstance(error, ConflictError):
            return name  # another process has created it; its name is a hash of its contents
        if not isinstance(error, LimitError):
            raise error
        self._warn(f"runs without its preload, so calls are slower: {error.message}")
        return self._options.base_template

    def forget(self, url: str, name: Optional[str], error: NotFoundError, is_second_try: bool) -> None:
        """After a call that did not find its template: raises, unless the template can be created again."""
        is_ours = name is not None and name.startswith(PRELOAD_TEMPLATE_PREFIX)
        if not is_ours or error.code != "template_not_found" or is_second_try:
            raise error
        with self._lock:
            if self.chosen.get(url) == name:
                del self.chosen[url]

    def _warn(self, message: str) -> None:
        # The caller of the function is seven frames up: record, _preload_template, _prepare, send, _send, __call__.
        warnings.warn(f"{self._function}: {message}", stacklevel=8)
