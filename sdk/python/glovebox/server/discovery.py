"""Finds the server of a client.

In this order: arguments, GLOVEBOX_URL with GLOVEBOX_API_KEY, a `glovebox serve` that runs on this machine, a
private server. If no server responds at GLOVEBOX_URL, that is an error; the client never falls back to a
private server.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Mapping, Optional

from ..errors import GloveboxError
from ..sync._transport import Transport
from ..transport.endpoint import Endpoint
from ..transport.request import Request, Response
from .private_server import PrivateServer, private_server

__all__ = ["ServerLocation", "find_server"]


@dataclass(frozen=True)
class ServerLocation:
    """The address and the key of a server, and how it was found."""

    endpoint: Endpoint
    origin: str
    private: Optional[PrivateServer] = None


def find_server(
    url: Optional[str], api_key: Optional[str], environment: Optional[Mapping[str, str]] = None
) -> ServerLocation:
    env = os.environ if environment is None else environment
    key = api_key or env.get("GLOVEBOX_API_KEY") or None
    configured, origin = (url, "url") if url else (env.get("GLOVEBOX_URL"), "GLOVEBOX_URL")
    here = _find_local_server(env)
    if configured:
        endpoint = Endpoint.of(configured, key)
        if key is None and here is not None and here.is_at(endpoint):
            endpoint = Endpoint.of(configured, here.admin_key)
        return ServerLocation(endpoint, origin)
    # Probe it without the key.
    if here is not None and (key or here.admin_key) and _responds(Endpoint.of(here.url, None)):
        return ServerLocation(Endpoint.of(here.url, key or here.admin_key), here.file)
    server = private_server()
    return ServerLocation(Endpoint.of(server.url, server.api_key), "private", server)


@dataclass(frozen=True)
class _LocalServer:
    """The server of the data directory, as it recorded itself; its process exists and is a Glovebox server."""

    file: str
    url: str
    admin_key: Optional[str]

    def is_at(self, endpoint: Endpoint) -> bool:
        """Whether the endpoint is this server. Only then does it get the key: the port may be reused by now."""
        mine = Endpoint.of(self.url, None)
        same_host = mine.host == endpoint.host or (mine.is_loopback and endpoint.is_loopback)
        return mine.port == endpoint.port and same_host


def _data_dir(env: Mapping[str, str]) -> Optional[str]:
    configured = env.get("GLOVEBOX_DATA_DIR") or env.get("GLOVEBOX_SERVER_DATA_DIR")
    if configured:
        return configured
    if os.geteuid() == 0:
        return "/var/lib/glovebox"
    base = env.get("XDG_DATA_HOME") or (os.path.join(env["HOME"], ".local/share") if env.get("HOME") else None)
    return os.path.join(base, "glovebox") if base else None


def _find_local_server(env: Mapping[str, str]) -> Optional[_LocalServer]:
    folder = _data_dir(env)
    if folder is None:
        return None
    file = os.path.join(folder, "serve.json")
    try:
        data = json.loads(_read_small_file(file))
        url, pid = str(data["url"]), int(data["pid"])
        if pid <= 1 or not _is_server(pid):
            return None
        Endpoint.of(url, None)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    try:
        key: Optional[str] = _read_small_file(os.path.join(folder, "admin.key")).strip() or None
    except OSError:
        key = None  # this user may not read it
    return _LocalServer(file, url, key)


def _read_small_file(path: str) -> str:
    with open(path, "rb") as file:
        return file.read(4096).decode("utf-8", "replace")


def _is_server(pid: int) -> bool:
    """Whether the process is a Glovebox server: the pid may belong to another process by now."""
    return _read_small_file(f"/proc/{pid}/comm") == "glovebox-server\n"


def _responds(endpoint: Endpoint) -> bool:
    transport = Transport(endpoint, timeout=5.0, max_retries=0)
    try:
        response: Response = transport.send(Request("GET", "/health", read=lambda data: data))
    except (GloveboxError, OSError):
        return False
    finally:
        transport.close()
    return response.status == 200
