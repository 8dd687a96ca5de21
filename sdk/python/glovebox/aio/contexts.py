"""The code contexts of a sandbox: ``sandbox.contexts``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Mapping, Optional, Union

from ..models.records import ContextInfo
from ..requests import sandboxes as requests

if TYPE_CHECKING:
    from .client import Client

__all__ = ["Contexts"]


class Contexts:
    """Live interpreters, each with its own variables; ``sandbox.code(..., context=...)`` runs code in one.

    >>> async with await Sandbox.create() as sandbox:
    ...     context = await sandbox.contexts.create(language="python")
    ...     assert (await sandbox.code("x = 20 + 1", context=context)).ok
    ...     (await sandbox.code("x * 2", context=context)).value
    42
    """

    def __init__(self, client: "Client", id: str) -> None:
        self._client, self._id = client, id
        # The environment of each context, for restart(): the server does not return it.
        self._env: Dict[str, Optional[Mapping[str, str]]] = {}

    async def create(
        self,
        *,
        language: Optional[str] = None,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        user: Optional[str] = None,
    ) -> ContextInfo:
        """Creates a context.

        Languages: ``"python"`` (the default), ``"bash"``, ``"javascript"``, ``"typescript"``, ``"r"`` and ``"java"``.
        It runs as ``user``, by default in the home directory of that user.
        """
        context = await self._client._do(requests.create_context(self._id, language, cwd, env, user))
        self._env[context.id] = env
        return context

    async def list(self) -> "List[ContextInfo]":
        """All contexts of the sandbox."""
        return await self._client._do(requests.contexts(self._id))

    async def get(self, context: Union[str, ContextInfo]) -> ContextInfo:
        """The current state of a context."""
        return await self._client._do(requests.context(self._id, context))

    async def interrupt(self, context: Union[str, ContextInfo]) -> None:
        """Interrupts the code that runs in it, like Ctrl-C, and keeps its variables."""
        await self._client._do(requests.interrupt_context(self._id, context))

    async def restart(self, context: Union[str, ContextInfo]) -> ContextInfo:
        """Replaces a context by an empty one in the same directory, and returns the new one.

        The default context of a language keeps its id. Any other gets a new id, and the environment it was
        created with if this object created it.
        """
        info = await self.get(context)
        await self.remove(info)
        if info.id == info.language:
            await self._client._do(requests.code(self._id, "", language=info.language))
            return await self.get(info.id)
        return await self.create(
            language=info.language, cwd=info.cwd, env=self._env.pop(info.id, None), user=info.user or None
        )

    async def remove(self, context: Union[str, ContextInfo]) -> None:
        """Ends a context."""
        await self._client._do(requests.remove_context(self._id, context))
