"""Requests about the files of a sandbox."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from typing import IO, Any, AsyncIterable, Dict, Iterable, List, Optional, Tuple, Union

from ..errors import GloveboxError
from ..models.from_json import read, read_list
from ..models.records import FileEvent, FileInfo
from ..transport.event_streams import SentEvent
from ..transport.request import Body, Call, path_of, target_of

__all__ = ["GuestPath", "MAX_READ", "content_of"]

#: A path inside a sandbox: text, or bytes where it is not UTF-8.
GuestPath = Union[str, bytes, "os.PathLike[str]"]

# A guest can make a file that looks as large as it likes and takes no room. So reading has a bound.
MAX_READ = 256 * 1024 * 1024
MAX_DOWNLOAD = 1024 * 1024 * 1024
# Moving many bytes takes as long as it takes; this is for when nothing happens.
TRANSFER_S = 3600.0


def _query(path: GuestPath, user: Optional[str]) -> List[Tuple[str, Any]]:
    return [("path", os.fspath(path)), ("user", user)]


def _named(name: str, path: GuestPath) -> Dict[str, str]:
    """A path as a field of JSON."""
    path = os.fspath(path)
    if isinstance(path, bytes):
        try:
            return {name: path.decode()}
        except UnicodeDecodeError:
            return {name + "_base64": base64.b64encode(path).decode()}
    return {name: path}


@dataclass(frozen=True)
class _Exists:
    exists: bool


@dataclass(frozen=True)
class _Unpacked:
    entries: int


def _info(said: Any) -> FileInfo:
    return read(FileInfo, said)


def _none(_: Any) -> None:
    return None


def read_file(
    id: str, path: GuestPath, user: Optional[str], offset: int = 0, length: Optional[int] = None
) -> "Call[bytes]":
    call: Call[bytes] = Call(
        "GET",
        target_of(path_of("sandboxes", id, "files"), _query(path, user)),
        lambda said: b"",
        timeout=TRANSFER_S,
        stream_type="application/octet-stream",
    )
    if offset < 0:
        call.headers["Range"] = f"bytes={offset}"
    elif length is not None:
        call.headers["Range"] = f"bytes={offset}-{offset + length - 1}"
    elif offset:
        call.headers["Range"] = f"bytes={offset}-"
    return call


def is_empty_range(offset: int, length: Optional[int]) -> bool:
    if length is not None and (length < 0 or offset < 0):
        raise ValueError("length goes with an offset of 0 or more, and is not negative")
    return length == 0


def check_size(headers: "Dict[str, str]", max_bytes: Optional[int]) -> None:
    """Before anything of it is read."""
    said = headers.get("content-length", "")
    if max_bytes is not None and said.isdigit() and (len(said) > 18 or int(said) > max_bytes):
        raise too_large(max_bytes)


def too_large(max_bytes: int) -> GloveboxError:
    return GloveboxError(f"the file is larger than {max_bytes} bytes; say max_bytes=")


def write_file(
    id: str,
    path: GuestPath,
    content: Body,
    length: Optional[int],
    *,
    mode: Union[str, int, None] = None,
    user: Optional[str] = None,
    owner: Optional[str] = None,
    overwrite: bool = True,
) -> "Call[FileInfo]":
    query = [
        *_query(path, user),
        ("mode", mode_of(mode)),
        ("owner", owner),
        ("overwrite", None if overwrite else False),
    ]
    return Call(
        "PUT",
        target_of(path_of("sandboxes", id, "files"), query),
        _info,
        body=content,
        body_length=length,
        headers={"Content-Type": "application/octet-stream"},
        timeout=TRANSFER_S,
        is_idempotent=overwrite,
    )


def mode_of(mode: Union[str, int, None]) -> Optional[str]:
    """
    >>> mode_of(0o755), mode_of("644"), mode_of(None)
    ('0755', '644', None)
    """
    return f"0{mode:o}" if isinstance(mode, int) else mode


def content_of(
    content: Union[str, bytes, bytearray, memoryview, IO[bytes], Iterable[bytes], AsyncIterable[bytes]],
) -> Tuple[Body, Optional[int]]:
    """A body, and its length where it is known."""
    if isinstance(content, str):
        return content.encode(), None
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content), None
    if hasattr(content, "read"):
        return content, _length_of(content)
    return content, None


def _length_of(file: Any) -> Optional[int]:
    """What is left of a plain file; None where nobody knows."""
    try:
        return max(0, os.fstat(file.fileno()).st_size - int(file.tell()))
    except (OSError, AttributeError, ValueError):
        return None


def list_files(
    id: str, path: GuestPath, user: Optional[str], depth: Optional[int], limit: Optional[int]
) -> "Call[List[FileInfo]]":
    query = [*_query(path, user), ("depth", depth), ("limit", limit)]
    return Call(
        "GET",
        target_of(path_of("sandboxes", id, "files", "list"), query),
        lambda said: sorted(read_list(FileInfo, said, "entries"), key=lambda info: info.path_bytes),
    )


def stat(id: str, path: GuestPath, user: Optional[str], follow: bool) -> "Call[FileInfo]":
    query = [*_query(path, user), ("follow", None if follow else False)]
    return Call("GET", target_of(path_of("sandboxes", id, "files", "stat"), query), _info)


def exists(id: str, path: GuestPath, user: Optional[str]) -> "Call[bool]":
    target = target_of(path_of("sandboxes", id, "files", "exists"), _query(path, user))
    return Call("GET", target, lambda said: read(_Exists, said).exists)


def mkdir(
    id: str, path: GuestPath, user: Optional[str], mode: Union[str, int, None], owner: Optional[str]
) -> "Call[FileInfo]":
    body: Dict[str, Any] = _named("path", path)
    for name, value in (("user", user), ("mode", mode_of(mode)), ("owner", owner)):
        if value is not None:
            body[name] = value
    return Call("POST", path_of("sandboxes", id, "files", "mkdir"), _info, json=body, is_idempotent=True)


def move_or_copy(
    id: str, verb: str, source: GuestPath, destination: GuestPath, user: Optional[str], overwrite: bool
) -> "Call[FileInfo]":
    body: Dict[str, Any] = {**_named("from", source), **_named("to", destination)}
    if user is not None:
        body["user"] = user
    if not overwrite:
        body["overwrite"] = False
    return Call("POST", path_of("sandboxes", id, "files", verb), _info, json=body, timeout=TRANSFER_S)


def remove(id: str, path: GuestPath, user: Optional[str], recursive: bool) -> "Call[None]":
    query = [*_query(path, user), ("recursive", True if recursive else None)]
    return Call("DELETE", target_of(path_of("sandboxes", id, "files"), query), _none)


def read_tar(id: str, path: GuestPath, user: Optional[str]) -> "Call[None]":
    target = target_of(path_of("sandboxes", id, "files", "tar"), _query(path, user))
    return Call("GET", target, _none, timeout=TRANSFER_S, stream_type="application/x-tar")


def write_tar(id: str, path: GuestPath, user: Optional[str], archive: IO[bytes], length: int) -> "Call[int]":
    return Call(
        "PUT",
        target_of(path_of("sandboxes", id, "files", "tar"), _query(path, user)),
        lambda said: read(_Unpacked, said).entries,
        body=archive,
        body_length=length,
        headers={"Content-Type": "application/x-tar"},
        timeout=TRANSFER_S,
    )


def watch(id: str, path: GuestPath, user: Optional[str], recursive: bool, timeout: float) -> "Call[None]":
    query = [*_query(path, user), ("recursive", True if recursive else None)]
    return Call(
        "GET",
        target_of(path_of("sandboxes", id, "files", "watch"), query),
        _none,
        headers={"Accept": "text/event-stream"},
        timeout=timeout,
        stream_type="text/event-stream",
    )


def file_event(event: SentEvent) -> FileEvent:
    data = dict(event.data) if isinstance(event.data, dict) else {}
    return read(FileEvent, {**data, "type": event.type})
