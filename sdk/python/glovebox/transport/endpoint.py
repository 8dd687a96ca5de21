"""The address of a server, and the headers of every request to it."""

from __future__ import annotations

import ipaddress
import ssl as ssl_types
from dataclasses import dataclass
from typing import Optional
from urllib.parse import urlsplit

from .http1 import check_header

__all__ = ["Endpoint", "USER_AGENT", "hide_password"]

USER_AGENT = "glovebox-python/0.1.0"


def hide_password(url: str) -> str:
    """The URL without user and password, for messages.

    >>> hide_password("http://user:secret@host/")
    'http://…@host/'
    """
    before, at, after = url.rpartition("@")
    return f"{before[: before.find('//') + 2] if '//' in before else ''}…@{after}" if at else url


@dataclass(frozen=True)
class Endpoint:
    """A parsed URL and key. ``fixed`` are the headers of every request, ``fixed_json`` those of one with JSON."""

    url: str
    host: str
    port: int
    is_secure: bool
    base: str
    fixed: bytes
    fixed_json: bytes
    key: Optional[str]

    @staticmethod
    def of(url: str, key: Optional[str]) -> "Endpoint":
        """
        >>> Endpoint.of("http://127.0.0.1:7070/", None).url
        'http://127.0.0.1:7070'
        """
        shown = hide_password(url)
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:  # its message may contain the whole URL
            raise ValueError(f"not the URL of a server: {shown!r}; expected one like http://127.0.0.1:7070") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"not the URL of a server: {shown!r}; expected one like http://127.0.0.1:7070")
        if parts.username is not None:
            raise ValueError(f"the URL of a server must not contain a user or password: {shown!r}; pass api_key=")
        if parts.query or parts.fragment:
            raise ValueError(f"the URL of a server must not contain a query or a fragment: {shown!r}")
        check_header("url", url)
        if key is not None:
            key = key.strip()
            check_header("api_key", key)
        is_secure = parts.scheme == "https"
        host = parts.hostname
        name = f"[{host}]" if ":" in host else host
        if port is not None:
            name = f"{name}:{port}"
        lines = f"Host: {name}\r\nUser-Agent: {USER_AGENT}\r\n"
        if key:
            lines += f"X-API-Key: {key}\r\n"
        base = parts.path.rstrip("/")
        return Endpoint(
            url=f"{parts.scheme}://{name}{base}",
            host=host,
            port=port or (443 if is_secure else 80),
            is_secure=is_secure,
            base=base,
            fixed=lines.encode("latin-1"),
            fixed_json=(lines + "Content-Type: application/json\r\n").encode("latin-1"),
            key=key or None,
        )

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine, by its address; names other than localhost are not resolved."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def tls(self) -> "Optional[ssl_types.SSLContext]":
        """A TLS context with the system's certificate authorities, which checks the host name."""
        if not self.is_secure:
            return None
        return ssl_types.create_default_context()

    def __repr__(self) -> str:  # never the key
        return f"Endpoint({self.url!r})"
