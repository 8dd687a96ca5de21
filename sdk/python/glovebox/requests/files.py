"""Requests about the files of a sandbox."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from typing import IO, Any, AsyncIterable, Dict, Iterable, List, Optional, Tuple, Union

from ..errors import GloveboxError
from ..models.from_json import from_json, list_from_json
from ..models.records import FileEvent, FileInfo
from ..transport.event_streams import ServerSentEvent
from ..transport.request import Body, Request, api_path, with_query

__all__ = ["GuestPath", "MAX_READ", "body_and_length"]

#: A path inside a sandbox: text, or bytes if it is not UTF-8.
GuestPath = Union[str, bytes, "os.PathLike[str]"]

# A guest can make a sparse file of any size. So reading is bounded.
MAX_READ = 256 * 1024 * 1024
MAX_DOWNLOAD = 1024 * 1024 * 1024
# Large transfers take long; this ends one that has stalled.
TRANSFER_S = 3600.0


def _path_query(path: GuestPath, user: Optional[str]) -> List[Tuple[str, Any]]:
    return [("path", os.fspath(path)), ("user", user)]


def _path_field(name: str, path: GuestPath) -> Dict[str, str]:
    """A path as a JSON field."""
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


def _info(data: Any) -> FileInfo:
    return from_json(FileInfo, data)


def _none(_: Any) -> None:
    return None


def read_file(
    id: str, path: GuestPath, user: Optional[str], offset: int = 0, length: Optional[int] = None
) -> "Request[bytes]":
    request: Request[bytes] = Request(
        "GET",
        with_query(api_path("sandboxes", id, "files"), _path_query(path, user)),
        lambda data: b"",
        timeout=TRANSFER_S,
        stream_type="application/octet-stream",
    )
    if offset < 0:
        request.headers["Range"] = f"bytes={offset}"
    elif length is not None:
        request.headers["Range"] = f"bytes={offset}-{offset + length - 1}"
    elif offset:
        request.headers["Range"] = f"bytes={offset}-"
    return request


def is_empty_range(offset: int, length: Optional[int]) -> bool:
    if length is not None and (length < 0 or offset < 0):
        raise ValueError("length must not be negative, and needs an offset of 0 or more")
    return length == 0


def check_size(headers: "Dict[str, str]", max_bytes: Optional[int]) -> None:
    """Refuses a response that is too large before reading it."""
    length = headers.get("content-length", "")
    if max_bytes is not None and length.isdigit() and (len(length) > 18 or int(length) > max_bytes):
        raise too_large(max_bytes)


def too_large(max_bytes: int) -> GloveboxError:
    return GloveboxError(f"the file is larger than {max_bytes} bytes: pass a larger max_bytes=")


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
) -> "Request[FileInfo]":
    query = [
        *_path_query(path, user),
        ("mode", format_mode(mode)),
        ("owner", owner),
        ("overwrite", None if overwrite else False),
    ]
    return Request(
        "PUT",
        with_query(api_path("sandboxes", id, "files"), query),
        _info,
        body=content,
        body_length=length,
        headers={"Content-Type": "application/octet-stream"},
        timeout=TRANSFER_S,
        is_idempotent=overwrite,
    )


def format_mode(mode: Union[str, int, None]) -> Optional[str]:
    """
    >>> format_mode(0o755), format_mode("644"), format_mode(None)
    ('0755', '644', None)
    """
    return f"0{mode:o}" if isinstance(mode, int) else mode


def body_and_length(
    content: Union[str, bytes, bytearray, memoryview, IO[bytes], Iterable[bytes], AsyncIterable[bytes]],
) -> Tuple[Body, Optional[int]]:
    """The body of the request, and its length if known."""
    if isinstance(content, str):
        return content.encode(), None
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content), None
    if hasattr(content, "read"):
        return content, _remaining_length(content)
    return content, None


def _remaining_length(file: Any) -> Optional[int]:
    """The number of bytes left in a regular file; None if unknown."""
    try:
        return max(0, os.fstat(file.fileno()).st_size - int(file.tell()))
    except (OSError, AttributeError, ValueError):
        return None


def list_files(
    id: str, path: GuestPath, user: Optional[str], depth: Optional[int], limit: Optional[int]
) -> "Request[List[FileInfo]]":
    query = [*_path_query(path, user), ("depth", depth), ("limit", limit)]
    return Request(
        "GET",
        with_query(api_path("sandboxes", id, "files", "list"), query),
        lambda data: sorted(list_from_json(FileInfo, data, "entries"), key=lambda info: info.path_bytes),
    )


def stat(id: str, path: GuestPath, user: Optional[str], follow: bool) -> "Request[FileInfo]":
    query = [*_path_query(path, user), ("follow", None if follow else False)]
    return Request("GET", with_query(api_path("sandboxes", id, "files", "stat"), query), _info)


def exists(id: str, path: GuestPath, user: Optional[str]) -> "Request[bool]":
    target = with_query(api_path("sandboxes", id, "files", "exists"), _path_query(path, user))
    return Request("GET", target, lambda data: from_json(_Exists, data).exists)


def mkdir(
    id: str, path: GuestPath, user: Optional[str], mode: Union[str, int, None], owner: Optional[str]
) -> "Request[FileInfo]":
    body: Dict[str, Any] = _path_field("path", path)
    for name, value in (("user", user), ("mode", format_mode(mode)), ("owner", owner)):
        if value is not None:
            body[name] = value
    return Request("POST", api_path("sandboxes", id, "files", "mkdir"), _info, json=body, is_idempotent=True)


def move_or_copy(
    id: str, verb: str, source: GuestPath, destination: GuestPath, user: Optional[str], overwrite: bool
) -> "Request[FileInfo]":
    body: Dict[str, Any] = {**_path_field("from", source), **_path_field("to", destination)}
    if user is not None:
        body["user"] = user
    if not overwrite:
        body["overwrite"] = False
    return Request("POST", api_path("sandboxes", id, "files", verb), _info, json=body, timeout=TRANSFER_S)


def remove(id: str, path: GuestPath, user: Optional[str], recursive: bool) -> "Request[None]":
    query = [*_path_query(path, user), ("recursive", True if recursive else None)]
    return Request("DELETE", with_query(api_path("sandboxes", id, "files"), query), _none)


def read_tar(id: str, path: GuestPath, user: Optional[str]) -> "Request[None]":
    target = with_query(api_path("sandboxes", id, "files", "tar"), _path_query(path, user))
    return Request("GET", target, _none, timeout=TRANSFER_S, stream_type="application/x-tar")


def write_tar(id: str, path: GuestPath, user: Optional[str], archive: IO[bytes], length: int) -> "Request[int]":
    return Request(
        "PUT",
        with_query(api_path("sandboxes", id, "files", "tar"), _path_query(path, user)),
        lambda data: from_json(_Unpacked, data).entries,
        body=archive,
        body_length=length,
        headers={"Content-Type": "application/x-tar"},
        timeout=TRANSFER_S,
    )


def watch(id: str, path: GuestPath, user: Optional[str], recursive: bool, timeout: float) -> "Request[None]":
    query = [*_path_query(path, user), ("recursive", True if recursive else None)]
    return Request(
        "GET",
        with_query(api_path("sandboxes", id, "files", "watch"), query),
        _none,
        headers={"Accept": "text/event-stream"},
        timeout=timeout,
        stream_type="text/event-stream",
    )


def file_event(event: ServerSentEvent) -> FileEvent:
    data = dict(event.data) if isinstance(event.data, dict) else {}
    return from_json(FileEvent, {**data, "type": event.type})
