"""The request that invokes a Lambda handler."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Mapping, Optional, Sequence

from ..models.from_json import from_json
from ..models.results import InvokeResult
from ..transport.request import Request
from .arguments import Seconds, add_build_time, check_env, profile_fields, string_list, to_milliseconds
from .runs import Files, encode_files, response_timeout

__all__ = ["build_template", "invoke_request"]

_DEFAULT_S = 300.0


def build_template(language: Optional[str], runtime: Optional[str], template: Optional[str]) -> str:
    """The template for which a call's packages are installed: the one that the server chooses for its language."""
    if template is not None:
        return template
    return "node" if (language or runtime or "python").startswith(("node", "javascript")) else "python"


def invoke_request(
    code: str,
    *,
    event: Any,
    context: Optional[Mapping[str, Any]],
    handler: Optional[str],
    language: Optional[str],
    runtime: Optional[str],
    template: Optional[str],
    file_name: Optional[str],
    files: Optional[Files],
    return_files: Optional[Sequence[str]],
    env: Optional[Mapping[str, str]],
    workdir: Optional[str],
    cold: bool,
    timeout: Optional[Seconds],
    idempotency_key: Optional[str],
    request_timeout: Optional[Seconds],
    fs: Iterable[str],
    **limits: Any,
) -> "Request[InvokeResult]":
    if language is None and runtime is None and template is None:
        language = "python"
    body: Dict[str, Any] = {"code": code, "event": event}
    for name, value in (
        ("language", language),
        ("runtime", runtime),
        ("template", template),
        ("handler", handler),
        ("file_name", file_name),
        ("workdir", workdir),
    ):
        if value is not None:
            body[name] = value
    if context is not None:
        body["context"] = dict(context)
    if timeout is not None:
        body["timeout_ms"] = to_milliseconds("timeout", timeout)
    if env is not None:
        body["env"] = check_env(env)
    if files is not None:
        body["files"] = encode_files(files)
    if return_files is not None:
        body["return_files"] = string_list("return_files", return_files)
    if cold:
        body["cold"] = True
    profile = profile_fields(fs=fs, **limits)
    if profile:
        body["profile"] = profile
    seconds = response_timeout(timeout, request_timeout, _DEFAULT_S + 30)
    if request_timeout is None:
        seconds = add_build_time(seconds, profile)
    request: Request[InvokeResult] = Request(
        "POST",
        "/v1/functions/invoke",
        lambda data: from_json(InvokeResult, data),
        json=body,
        timeout=seconds,
    )
    if idempotency_key is not None:
        request.headers["Idempotency-Key"] = idempotency_key
        request.is_idempotent = True
    return request
