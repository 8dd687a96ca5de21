"""The files of a sandbox: ``sandbox.files``."""

from __future__ import annotations

import asyncio
import os
import tempfile
from typing import IO, TYPE_CHECKING, Any, AsyncIterable, Iterable, List, Optional, Union

from ..local_files.archives import pack, unpack
from ..local_files.atomic_write import open_for_download
from ..models.records import FileEvent, FileInfo
from ..requests import files as calls
from ..requests.arguments import Seconds, to_seconds
from ..requests.files import MAX_DOWNLOAD, MAX_READ, GuestPath
from ..transport.request import Request
from ._event_iterator import EventIterator

if TYPE_CHECKING:
    from .client import Client

__all__ = ["Files"]


class Files:
    """Reads and writes inside a sandbox, as the user it is for (``user``; ``"root"`` is root inside).

    Paths are absolute or below that user's home. Writes appear whole or not at all; parents are made.
    """

    def __init__(self, client: "Client", id: str) -> None:
        self._client, self._id = client, id

    async def read(
        self,
        path: GuestPath,
        *,
        offset: int = 0,
        length: Optional[int] = None,
        user: Optional[str] = None,
        max_bytes: int = MAX_READ,
    ) -> bytes:
        """The bytes of a file, or of a part of it; a negative ``offset`` counts from its end."""
        if calls.is_empty_range(offset, length):
            return b""
        stream = await self._client._stream(calls.read_file(self._id, path, user, offset, length), keeps=True)
        try:
            calls.check_size(stream.headers, max_bytes)
            return await stream.collect(max_bytes)
        finally:
            stream.close()

    async def read_text(
        self, path: GuestPath, *, encoding: str = "utf-8", errors: str = "strict", user: Optional[str] = None
    ) -> str:
        """A file as text."""
        return (await self.read(path, user=user)).decode(encoding, errors)

    async def write(
        self,
        path: GuestPath,
        content: Union[str, bytes, bytearray, memoryview, IO[bytes], Iterable[bytes], AsyncIterable[bytes]],
        *,
        mode: Union[str, int, None] = None,
        user: Optional[str] = None,
        owner: Optional[str] = None,
        overwrite: bool = True,
    ) -> FileInfo:
        """Writes text, bytes, an open binary file or pieces of bytes; of any size."""
        body, length = calls.body_and_length(content)
        call = calls.write_file(self._id, path, body, length, mode=mode, user=user, owner=owner, overwrite=overwrite)
        return await self._client._do(call)

    async def list(
        self, path: GuestPath = ".", *, depth: int = 1, limit: Optional[int] = None, user: Optional[str] = None
    ) -> "List[FileInfo]":
        """What is in a directory, sorted by path; ``depth=0`` is all of the tree."""
        return await self._client._do(calls.list_files(self._id, path, user, depth, limit))

    async def stat(self, path: GuestPath, *, follow: bool = True, user: Optional[str] = None) -> FileInfo:
        """What is known of a file; :class:`~glovebox.NotFoundError` if it is not there."""
        return await self._client._do(calls.stat(self._id, path, user, follow))

    async def exists(self, path: GuestPath, *, user: Optional[str] = None) -> bool:
        """Whether there is such a file."""
        return await self._client._do(calls.exists(self._id, path, user))

    async def mkdir(
        self,
        path: GuestPath,
        *,
        mode: Union[str, int, None] = None,
        owner: Optional[str] = None,
        user: Optional[str] = None,
    ) -> FileInfo:
        """Makes a directory and its parents; one that is there is no error."""
        return await self._client._do(calls.mkdir(self._id, path, user, mode, owner))

    async def move(
        self, source: GuestPath, destination: GuestPath, *, overwrite: bool = True, user: Optional[str] = None
    ) -> FileInfo:
        """Moves a file or a tree."""
        return await self._client._do(calls.move_or_copy(self._id, "move", source, destination, user, overwrite))

    async def copy(
        self, source: GuestPath, destination: GuestPath, *, overwrite: bool = True, user: Optional[str] = None
    ) -> FileInfo:
        """Copies a file or a tree."""
        return await self._client._do(calls.move_or_copy(self._id, "copy", source, destination, user, overwrite))

    async def remove(self, path: GuestPath, *, recursive: bool = False, user: Optional[str] = None) -> None:
        """Removes a file or an empty directory; whole trees with ``recursive``."""
        await self._client._do(calls.remove(self._id, path, user, recursive))

    async def watch(
        self,
        path: GuestPath = ".",
        *,
        recursive: bool = False,
        user: Optional[str] = None,
        timeout: Optional[Seconds] = None,
    ) -> "EventIterator[FileEvent]":
        """What happens to files from now on, as an async iterator; close it, or use it with ``async with``.

        When this returns the watch is set: nothing that happens afterwards is missed. After
        ``timeout`` seconds in all, :class:`~glovebox.TimeoutExpired`.
        """
        seconds = 0.0 if timeout is None else to_seconds("timeout", timeout)
        stream = await self._client._stream(calls.watch(self._id, path, user, recursive, seconds))
        try:
            return await EventIterator(stream, calls.file_event)._until("ready")
        except BaseException:
            stream.close()
            raise

    async def upload(
        self,
        local: "Union[str, os.PathLike[str]]",
        path: GuestPath,
        *,
        user: Optional[str] = None,
        mode: Union[str, int, None] = None,
    ) -> None:
        """A file or a directory of this machine into the sandbox.

        What is in the directory comes to be in ``path``, which is made. Symbolic links stay links.
        """
        local = os.fspath(local)
        if os.path.isdir(local):
            archive, size = await asyncio.to_thread(pack, local)
            with archive:
                await self._client._do(calls.write_tar(self._id, path, user, archive, size))
            return
        with open(local, "rb") as file:
            await self.write(path, file, mode=mode, user=user)

    async def download(
        self,
        path: GuestPath,
        local: "Union[str, os.PathLike[str]]",
        *,
        user: Optional[str] = None,
        max_bytes: int = MAX_DOWNLOAD,
    ) -> "List[str]":
        """A file or a directory of the sandbox to this machine; the paths that were written.

        Of a directory, plain files and directories only: links and the rest are left out, and nothing is
        written outside of ``local``, also not through a link that lies in it: that is an error. A file
        is there when it is whole, and until then what was there before. More than ``max_bytes`` is an
        error: a guest can make a file look as large as it likes.
        """
        local = os.fspath(local)
        if (await self.stat(path, user=user)).is_dir:
            with tempfile.TemporaryFile(prefix="glovebox-") as archive:
                await self._save(calls.read_tar(self._id, path, user), archive, max_bytes * 2 + (1 << 20))
                archive.seek(0)
                return await asyncio.to_thread(unpack, archive, local, max_bytes)
        with open_for_download(local) as file:
            await self._save(calls.read_file(self._id, path, user), file, max_bytes)
        return [local]

    async def _save(self, call: "Request[Any]", file: IO[bytes], max_bytes: int) -> None:
        stream = await self._client._stream(call, keeps=True)
        try:
            calls.check_size(stream.headers, max_bytes)
            size = 0
            while True:
                piece = await stream.next()
                if piece is None:
                    return
                size += len(piece)
                if size > max_bytes:
                    raise calls.too_large(max_bytes)
                file.write(piece)
        finally:
            stream.close()
