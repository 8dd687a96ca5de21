"""The files of a sandbox: ``sandbox.files``."""

from __future__ import annotations

import os
import tempfile
from typing import IO, TYPE_CHECKING, Any, List, Optional, Union

from ..local_files.archives import pack, unpack
from ..local_files.atomic_write import open_for_download
from ..models.records import FileEvent, FileInfo
from ..requests import files as requests
from ..requests.arguments import Seconds, to_seconds
from ..requests.files import MAX_DOWNLOAD, MAX_READ, GuestPath
from ..transport.request import Request
from ._event_iterator import EventIterator
from ._runtime import FileContent, run_blocking

if TYPE_CHECKING:
    from .client import Client

__all__ = ["Files"]


class Files:
    """Reads and writes files inside a sandbox, as the sandbox's user or as ``user`` (``"root"`` is root inside).

    Paths are absolute, or relative to that user's home directory. Writes are atomic, and create parent
    directories.

    >>> async with await Sandbox.create() as sandbox:
    ...     info = await sandbox.files.write("notes/a.txt", "hello")
    ...     await sandbox.files.read_text("notes/a.txt"), [file.name for file in await sandbox.files.list("notes")]
    ('hello', ['a.txt'])
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
        """Reads a file, or a part of it. A negative ``offset`` counts from the end."""
        if requests.is_empty_range(offset, length):
            return b""
        stream = await self._client._stream(requests.read_file(self._id, path, user, offset, length), reuse=True)
        try:
            requests.check_size(stream.headers, max_bytes)
            return await stream.collect(max_bytes)
        finally:
            stream.close()

    async def read_text(
        self, path: GuestPath, *, encoding: str = "utf-8", errors: str = "strict", user: Optional[str] = None
    ) -> str:
        """Reads a file as text."""
        return (await self.read(path, user=user)).decode(encoding, errors)

    async def write(
        self,
        path: GuestPath,
        content: FileContent,
        *,
        mode: Union[str, int, None] = None,
        user: Optional[str] = None,
        owner: Optional[str] = None,
        overwrite: bool = True,
    ) -> FileInfo:
        """Writes text, bytes, an open binary file or an iterable of bytes; of any size."""
        body, length = requests.body_and_length(content)
        request = requests.write_file(
            self._id, path, body, length, mode=mode, user=user, owner=owner, overwrite=overwrite
        )
        return await self._client._do(request)

    async def list(
        self, path: GuestPath = ".", *, depth: int = 1, limit: Optional[int] = None, user: Optional[str] = None
    ) -> "List[FileInfo]":
        """Lists a directory, sorted by path. ``depth=0`` lists the whole tree."""
        return await self._client._do(requests.list_files(self._id, path, user, depth, limit))

    async def stat(self, path: GuestPath, *, follow: bool = True, user: Optional[str] = None) -> FileInfo:
        """Type, size, mode and times of a file. Raises :class:`~glovebox.NotFoundError` if it does not exist."""
        return await self._client._do(requests.stat(self._id, path, user, follow))

    async def exists(self, path: GuestPath, *, user: Optional[str] = None) -> bool:
        """Whether the file exists."""
        return await self._client._do(requests.exists(self._id, path, user))

    async def mkdir(
        self,
        path: GuestPath,
        *,
        mode: Union[str, int, None] = None,
        owner: Optional[str] = None,
        user: Optional[str] = None,
    ) -> FileInfo:
        """Creates a directory and its parents. It is no error if the directory exists."""
        return await self._client._do(requests.mkdir(self._id, path, user, mode, owner))

    async def move(
        self, source: GuestPath, destination: GuestPath, *, overwrite: bool = True, user: Optional[str] = None
    ) -> FileInfo:
        """Moves a file or a directory."""
        return await self._client._do(requests.move_or_copy(self._id, "move", source, destination, user, overwrite))

    async def copy(
        self, source: GuestPath, destination: GuestPath, *, overwrite: bool = True, user: Optional[str] = None
    ) -> FileInfo:
        """Copies a file or a directory."""
        return await self._client._do(requests.move_or_copy(self._id, "copy", source, destination, user, overwrite))

    async def remove(self, path: GuestPath, *, recursive: bool = False, user: Optional[str] = None) -> None:
        """Removes a file or an empty directory; a directory with its contents with ``recursive``."""
        await self._client._do(requests.remove(self._id, path, user, recursive))

    async def watch(
        self,
        path: GuestPath = ".",
        *,
        recursive: bool = False,
        user: Optional[str] = None,
        timeout: Optional[Seconds] = None,
    ) -> "EventIterator[FileEvent]":
        """Watches a directory: an async iterator over changes. Close it, or use it with ``async with``.

        When this method returns, the watch is active: no later change is missed. Raises
        :class:`~glovebox.TimeoutExpired` after ``timeout`` seconds in all.

        >>> async with await Sandbox.create() as sandbox, await sandbox.files.watch() as events:
        ...     info = await sandbox.files.write("a.txt", "hello")
        ...     async for event in events:
        ...         if event.type in ("created", "written", "renamed"):
        ...             break
        ...     event.path[-5:]
        'a.txt'
        """
        seconds = 0.0 if timeout is None else to_seconds("timeout", timeout)
        stream = await self._client._stream(requests.watch(self._id, path, user, recursive, seconds))
        try:
            return await EventIterator(stream, requests.file_event)._wait_for("ready")
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
        """Copies a file or a directory of this machine into the sandbox.

        The contents of a directory go into the directory ``path``, which is created. Symbolic links stay links.
        """
        local = os.fspath(local)
        if os.path.isdir(local):
            archive, size = await run_blocking(pack, local)
            with archive:
                await self._client._do(requests.write_tar(self._id, path, user, archive, size))
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
        """Copies a file or a directory of the sandbox to this machine. Returns the paths that were written.

        Of a directory only regular files and directories are copied, not links, devices or pipes. Nothing is
        written outside of ``local``: a symbolic link below it that is in the way is an error. Each file is
        replaced atomically. More than ``max_bytes`` is an error, because a guest can make a file appear as
        large as it likes.
        """
        local = os.fspath(local)
        if (await self.stat(path, user=user)).is_dir:
            with tempfile.TemporaryFile(prefix="glovebox-") as archive:
                await self._save(requests.read_tar(self._id, path, user), archive, max_bytes * 2 + (1 << 20))
                archive.seek(0)
                return await run_blocking(unpack, archive, local, max_bytes)
        with open_for_download(local) as file:
            await self._save(requests.read_file(self._id, path, user), file, max_bytes)
        return [local]

    async def _save(self, request: "Request[Any]", file: IO[bytes], max_bytes: int) -> None:
        stream = await self._client._stream(request, reuse=True)
        try:
            requests.check_size(stream.headers, max_bytes)
            size = 0
            while True:
                piece = await stream.next()
                if piece is None:
                    return
                size += len(piece)
                if size > max_bytes:
                    raise requests.too_large(max_bytes)
                file.write(piece)
        finally:
            stream.close()
