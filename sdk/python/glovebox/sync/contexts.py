"""The code contexts of a sandbox: ``sandbox.contexts``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Mapping, Optional, Union

from ..models.records import ContextInfo
from ..requests import sandboxes as calls

if TYPE_CHECKING:
    from .client import Client

__all__ = ["Contexts"]


class Contexts:
    """Live interpreters, each with its own variables; ``sandbox.code(..., context=...)`` runs in one.

    >>> with Sandbox.create() as sandbox:
    ...     context = sandbox.contexts.create(language="python")
    ...     assert sandbox.code("x = 20 + 1", context=context).ok
    ...     sandbox.code("x * 2", context=context).value
    42
    """

    def __init__(self, client: "Client", id: str) -> None:
        self._client, self._id = client, id
        # What they were made with, for restart(): the server does not tell.
        self._env: Dict[str, Optional[Mapping[str, str]]] = {}

    def create(
        self,
        *,
        language: Optional[str] = None,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
    ) -> ContextInfo:
        """A new one: ``"python"`` (the default), ``"bash"`` or ``"javascript"``."""
        context = self._client._do(calls.create_context(self._id, language, cwd, env))
        self._env[context.id] = env
        return context

    def list(self) -> "List[ContextInfo]":
        """All of them."""
        return self._client._do(calls.contexts(self._id))

    def get(self, context: Union[str, ContextInfo]) -> ContextInfo:
        """One of them, as it is now."""
        return self._client._do(calls.context(self._id, context))

    def interrupt(self, context: Union[str, ContextInfo]) -> None:
        """Stops what it runs, as Ctrl-C would, and keeps its variables."""
        self._client._do(calls.interrupt_context(self._id, context))

    def restart(self, context: Union[str, ContextInfo]) -> ContextInfo:
        """Ends it and begins anew, empty, in the same directory; what comes back is the new one.

        A language's own context keeps its id; another gets a new one, with the variables it was
        created with, if that was by this object.
        """
        info = self.get(context)
        self.remove(info)
        if info.id == info.language:
            self._client._do(calls.code(self._id, "", language=info.language))
            return self.get(info.id)
        return self.create(language=info.language, cwd=info.cwd, env=self._env.pop(info.id, None))

    def remove(self, context: Union[str, ContextInfo]) -> None:
        """Ends it."""
        self._client._do(calls.remove_context(self._id, context))
