"""The request that sends a bundle: modules and files of a function, which its calls then name by their SHA-256."""

from __future__ import annotations

from ..transport.request import Request, api_path

__all__ = ["put_bundle"]

_SEND_S = 120.0


def put_bundle(digest: str, data: bytes) -> "Request[None]":
    request: Request[None] = Request(
        "PUT", api_path("bundles", digest), lambda _: None, body=data, timeout=_SEND_S, is_idempotent=True
    )
    request.headers["Content-Type"] = "application/octet-stream"
    return request
