"""The request of a Lambda handler's call."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Mapping, Optional, Sequence

from ..models.from_json import read
from ..models.results import InvokeResult
from ..transport.request import Call
from .arguments import Seconds, env_of, milliseconds, profile_of, strings_of, with_build
from .runs import Files, files_of, waiting_time

__all__ = ["invoke_call"]

_DEFAULT_S = 300.0


def invoke_call(
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
) -> "Call[InvokeResult]":
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
        body["timeout_ms"] = milliseconds("timeout", timeout)
    if env is not None:
        body["env"] = env_of(env)
    if files is not None:
        body["files"] = files_of(files)
    if return_files is not None:
        body["return_files"] = strings_of("return_files", return_files)
    if cold:
        body["cold"] = True
    profile = profile_of(fs=fs, **limits)
    if profile:
        body["profile"] = profile
    seconds = waiting_time(timeout, request_timeout, _DEFAULT_S + 30)
    if request_timeout is None:
        seconds = with_build(seconds, profile)
    call: Call[InvokeResult] = Call(
        "POST",
        "/v1/functions/invoke",
        lambda said: read(InvokeResult, said),
        json=body,
        timeout=seconds,
    )
    if idempotency_key is not None:
        call.headers["Idempotency-Key"] = idempotency_key
        call.is_idempotent = True
    return call
