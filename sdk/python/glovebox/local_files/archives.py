"""Packs directories into tar archives, and unpacks archives from a sandbox.

An archive from a sandbox is untrusted: only regular files and directories are unpacked, below their
destination; links, devices, absolute names and ``..`` are not. Links on this machine are not followed either:
every directory is opened relative to its parent. A file becomes 0644 or 0755.
"""

from __future__ import annotations

import errno
import os
import shutil
import tarfile
import tempfile
from typing import IO, List, Tuple

from ..errors import GloveboxError, ProtocolError
from .atomic_write import atomic_replace

__all__ = ["pack", "unpack"]

_MAX_ENTRIES = 1_000_000
# tarfile reads a header that describes the next entry in one piece. Names are shorter than PATH_MAX.
_MAX_HEADER = 64 * 1024
_MAX_NAME = 4096
_DESCRIBE = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def pack(folder: str) -> Tuple[IO[bytes], int]:
    """A temporary file with the archive of a directory's contents, and its size. Links stay links."""
    archive = tempfile.TemporaryFile(prefix="glovebox-")
    try:
        with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name in sorted(os.listdir(folder)):
                tar.add(os.path.join(folder, name), arcname=name, filter=lambda member: _ordinary(tar, member))
        size = archive.tell()
        archive.seek(0)
        return archive, size
    except BaseException:
        archive.close()
        raise


def _ordinary(tar: tarfile.TarFile, member: tarfile.TarInfo) -> "tarfile.TarInfo | None":
    tar.inodes.clear()  # type: ignore[attr-defined]  # a second hard link is packed as a file, not as a link
    if not (member.isreg() or member.isdir() or member.issym()):
        return None  # sockets, devices, pipes
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


class _Member(tarfile.TarInfo):
    """An entry with a bounded header and a size that is not negative.

    Both are checked here, before ``tarfile`` looks at them: what it does with such an entry, and what it
    says about it, depends on the version of Python.
    """

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type == tarfile.XGLTYPE or (self.type in _DESCRIBE and self.size > _MAX_HEADER):
            raise ProtocolError("the archive from the sandbox has a header that is too large")
        return super()._proc_member(tar)  # type: ignore[misc, no-any-return]

    def _block(self, count: int) -> int:
        """The bytes that an entry takes up; called for every size, also one from a pax header."""
        if count < 0:
            raise ProtocolError("the archive from the sandbox has an entry with a negative size")
        return super()._block(count)  # type: ignore[misc, no-any-return]


def unpack(archive: IO[bytes], folder: str, max_bytes: int) -> List[str]:
    """Unpacks an archive into ``folder``; returns the paths of the files it wrote."""
    if not {os.open, os.mkdir, os.stat, os.rename, os.unlink} <= os.supports_dir_fd:
        raise GloveboxError("this system cannot open files relative to a directory: download file by file")
    os.makedirs(folder, exist_ok=True)
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return _unpack(archive, root, folder, max_bytes)
    # What tarfile raises for malformed archives.
    except (tarfile.TarError, ValueError, EOFError, LookupError, ArithmeticError, RecursionError) as error:
        raise ProtocolError(f"malformed archive from the sandbox: {error}") from error
    finally:
        os.close(root)


def _unpack(archive: IO[bytes], root: int, folder: str, max_bytes: int) -> List[str]:
    written: List[str] = []
    left = max_bytes
    with tarfile.open(fileobj=archive, mode="r|", tarinfo=_Member) as tar:
        for count, member in enumerate(iter(tar.next, None)):
            assert member is not None
            tar.members.clear()  # type: ignore[attr-defined]  # not needed again: keep memory bounded
            if count > _MAX_ENTRIES:
                raise GloveboxError(f"the directory has more than {_MAX_ENTRIES} entries")
            parts = _parts(member.name)
            if member.isdir():
                os.close(_open_folder(root, parts))
            elif member.isreg() and not member.issparse() and parts:
                left -= member.size
                if left < 0:
                    raise GloveboxError(f"the directory is larger than {max_bytes} bytes: pass a larger max_bytes=")
                _write(tar, member, root, parts)
                written.append(os.path.join(folder, *parts))
    return written


def _parts(name: str) -> List[str]:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or any("\0" in part for part in parts):
        raise ProtocolError("the archive from the sandbox has a path that leads out of the directory")
    if len(os.fsencode(name)) >= _MAX_NAME:
        raise ProtocolError("the archive from the sandbox has a path that is too long")
    return parts


def _open_folder(root: int, parts: List[str]) -> int:
    """Opens a directory below ``root``, created if needed; never through a link."""
    here = os.dup(root)
    for at, part in enumerate(parts):
        try:
            try:
                os.mkdir(part, dir_fd=here)
            except FileExistsError:
                pass
            deeper = os.open(part, _FOLDER, dir_fd=here)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            name = "/".join(parts[: at + 1])
            raise GloveboxError(
                f"{name!r} is a directory in the sandbox, but a link or a file on this machine: remove it first"
            ) from error
        finally:
            os.close(here)
        here = deeper
    return here


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, root: int, parts: List[str]) -> None:
    mode = 0o755 if member.mode & 0o100 else 0o644
    folder = _open_folder(root, parts[:-1])
    try:
        with atomic_replace(parts[-1], mode, folder) as file:
            content = tar.extractfile(member)
            if content is not None:
                shutil.copyfileobj(content, file, 1 << 20)
    finally:
        os.close(folder)
