"""Atomic replacement of files on this machine: a download that fails leaves the old file."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from typing import IO, Iterator, Optional

from ..errors import GloveboxError

__all__ = ["atomic_replace", "open_for_download"]


@contextlib.contextmanager
def atomic_replace(name: str, mode: int, dir_fd: Optional[int] = None) -> Iterator[IO[bytes]]:
    """A temporary file next to ``name``, renamed to it at the end; a file that is replaced keeps its mode.

    Only regular files are replaced: a link, a pipe or a device was put there on purpose.
    """
    try:
        old: Optional[os.stat_result] = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        raise GloveboxError(f"{name!r} exists on this machine and is not a regular file: remove it first")
    fresh = os.path.join(os.path.dirname(name), f".glovebox-{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    target = os.open(fresh, flags, mode if old is None else 0o600, dir_fd=dir_fd)
    try:
        with os.fdopen(target, "wb") as file:
            if old is not None:
                os.fchmod(target, old.st_mode & 0o777)
            yield file
        os.replace(fresh, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    except BaseException:
        os.unlink(fresh, dir_fd=dir_fd)
        raise


@contextlib.contextmanager
def open_for_download(local: str) -> Iterator[IO[bytes]]:
    """The file that the user named: links are followed, devices and pipes are written to directly."""
    place = os.path.realpath(local)
    if os.path.exists(place) and not os.path.isfile(place):
        with open(place, "wb") as file:
            yield file
        return
    with atomic_replace(place, 0o666) as file:
        yield file
