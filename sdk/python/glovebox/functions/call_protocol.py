"""Encodes the call of a function as the body of a ``POST /v1/run``, and decodes the response; no sockets.

The code of the run is one constant line that calls the guest half (src/guest/python/function_call.py). Its
stdin carries the source, which is the same for all calls and is encoded once, and the arguments. The response
comes from untrusted code: :mod:`glovebox.values.codec` decodes it.
"""

from __future__ import annotations

import base64
import binascii
import importlib.util
import json
import marshal
import sys
import zlib
from json.encoder import encode_basestring_ascii
from typing import Any, Dict, Mapping, Optional, Tuple

from .._printable import printable
from ..models import notebook_display
from ..remote_errors import RemoteError, RemoteKilled, RemoteOutOfMemory, RemoteTimeout, build_exception
from ..values import codec as values
from .module_values import CannotSend
from .source import ShippedSource

__all__ = ["CallEncoder", "StalePlan", "decode_result", "is_large", "sandbox_died", "show_output"]

LINE = '__import__("sys").modules["_glovebox_runner"].load("function_call").main()'
#: With the source as part of the code, of many calls that differ only in their arguments.
SHARED_LINE = '__import__("sys").modules["_glovebox_runner"].load("function_call").again(%s)'
MIME = "application/vnd.glovebox.value"
#: Where the server puts the bundle of a run: api/openapi.yaml says so, too.
BUNDLE_FILE = "/home/user/.glovebox-bundle"
RESULT_FILE = ".glovebox-value"
MAX_RESULT_FILE = 15 << 20
MAX_BODY = 31 << 20
# Larger requests are compressed.
MAX_PLAIN = 4 << 20
# Of the requests for many calls.
MAX_BATCH = 8 << 20
# Compiling a shorter source in the sandbox takes less time than sending its bytecode.
MIN_COMPILED = 300
# Decoding a longer result is moved out of the event loop into a thread.
MAX_QUICK = 16_384


class StalePlan(Exception):
    """A value of the function's module is of another kind than when the call was planned: plan it anew."""


class CallEncoder:
    """Encodes the calls of one function: everything but the values of its module and the arguments is encoded once."""

    def __init__(self, shipped: ShippedSource, request: Mapping[str, Any], large_result: bool) -> None:
        self.name = shipped.function
        self.shipped = shipped
        payload = {
            "v": 2,
            "module": shipped.module,
            "package": shipped.is_package,
            "function": shipped.function,
            "file": shipped.file,
            "source": shipped.text,
            "before": shipped.before,
            "code": _compiled(shipped),
            "bundle": _bundle(shipped),
            "mark": shipped.plan.encoder.mark if shipped.plan is not None else "",
            "large": {"path": "/home/user/" + RESULT_FILE, "most": MAX_RESULT_FILE} if large_result else None,
        }
        fields = dict(request)
        if shipped.bundle is not None:
            fields["bundle"] = shipped.bundle.digest
        if large_result:
            fields["return_files"] = [RESULT_FILE]
        self._request = fields
        self._shares_interpreter = request.get("profile", {}).get("reuse") == "interpreter"
        self._shared: Tuple[str, str] = ("", "")
        self._fields = _json({**fields, "code": LINE})[:-1]
        # The text is ASCII, also for lone surrogates.
        self._payload = json.dumps(payload, separators=(",", ":"))[:-1] + ',"values":'
        self._head = (self._fields + ',"stdin":"' + _escaped(self._payload)).encode("ascii")

    def body(self, arguments: Tuple[Any, ...], keywords: Dict[str, Any]) -> bytes:
        """The body of the request; raises :class:`~glovebox.ValueRefused` for arguments that cannot be sent."""
        text = self._arguments(arguments, keywords)
        if self._shares_interpreter:
            return f'{self.shared_fields()},{self._shared_input(text)}}}'.encode("ascii")
        text = f'{self._module_values()},"call":{text}'
        if len(self._payload) + len(text) <= MAX_PLAIN:
            return self._head + _escaped(text).encode("ascii") + b'}"}'
        packed = zlib.compress((self._payload + text + "}").encode("ascii"), 1)
        body = f'{self._fields},"stdin_base64":"{base64.b64encode(packed).decode()}"}}'.encode("ascii")
        if len(body) > MAX_BODY:
            raise values.ValueRefused(
                f"the arguments of {self.name} and the values that it uses are too large: {len(body) / 1e6:.0f} MB "
                f"compressed, and the limit is {MAX_BODY / 1e6:.0f} MB; put them into a directory and mount it with "
                "fs=[...]"
            )
        return body


    def shared_fields(self) -> str:
        """The request of many calls, without its end: what they have in common is its code."""
        text = self._payload + self._module_values() + "}"
        if text != self._shared[0]:
            if len(text) > MAX_BATCH:
                raise values.ValueRefused(
                    f"the values that {self.name} uses are too large for calls that share them: "
                    f"{len(text) / 1e6:.0f} MB, and the limit is {MAX_BATCH / 1e6:.0f} MB; put them into a directory "
                    "and mount it with fs=[...]"
                )
            fields = {**self._request, "code": SHARED_LINE % encode_basestring_ascii(text)}
            self._shared = (text, _json(fields)[:-1])
        return self._shared[1]

    def shared_input(self, arguments: Tuple[Any, ...], keywords: Dict[str, Any]) -> str:
        """The part of one of many calls: an object of JSON."""
        return "{" + self._shared_input(self._arguments(arguments, keywords)) + "}"

    def _shared_input(self, text: str) -> str:
        text = f'{{"call":{text}}}'
        if len(text) <= MAX_PLAIN:
            return f'"stdin":"{_escaped(text)}"'
        packed = base64.b64encode(zlib.compress(text.encode("ascii"), 1)).decode()
        if len(packed) > MAX_BODY:
            size = len(packed) / 1e6
            raise values.ValueRefused(f"the arguments of {self.name} are too large: {size:.0f} MB compressed")
        return f'"stdin_base64":"{packed}"'

    def _arguments(self, arguments: Tuple[Any, ...], keywords: Dict[str, Any]) -> str:
        try:
            return values.encode([list(arguments), keywords])
        except values.ValueRefused as error:
            raise values.ValueRefused(f"an argument of {self.name}: {error}") from None

    def _module_values(self) -> str:
        plan = self.shipped.plan
        try:
            return json.dumps(plan.values() if plan is not None else [[], [], []], separators=(",", ":"))
        except (CannotSend, values.ValueRefused) as error:
            raise StalePlan(str(error)) from None


def _bundle(shipped: ShippedSource) -> Optional[Dict[str, Any]]:
    """What the guest half needs to know of the bundle, which the server puts into a file."""
    if shipped.bundle is None:
        return None
    package = shipped.module.rpartition(".")[0]
    has_package = f"{package.replace('.', '/')}/__init__.py" in shipped.bundle.files
    return {"path": BUNDLE_FILE, "has_package": has_package, "left_out": shipped.left_out}


def _json(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":"), allow_nan=False)


def _escaped(text: str) -> str:
    return encode_basestring_ascii(text)[1:-1]


def _compiled(shipped: ShippedSource) -> Optional[Tuple[str, str]]:
    """Bytecode, for an interpreter of the same version in the sandbox; any other compiles the source itself."""
    if len(shipped.text) < MIN_COMPILED or sys.implementation.name != "cpython":
        return None
    try:
        code = compile(shipped.text, shipped.file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None  # compiling it in the sandbox reports the error to the caller
    return importlib.util.MAGIC_NUMBER.hex(), base64.b64encode(marshal.dumps(code)).decode()


def show_output(response: Mapping[str, Any]) -> None:
    """Writes the output of the function to the output of this process, and shows its figures in a notebook."""
    for name, stream in (("stdout", sys.stdout), ("stderr", sys.stderr)):
        text = response.get(name)
        if isinstance(text, str) and text and stream is not None:
            try:
                stream.write(text)
            except UnicodeEncodeError:
                encoding = getattr(stream, "encoding", None) or "ascii"
                stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


    notebook_display.show_in_notebook(response.get("results"))


def decode_result(response: Mapping[str, Any], name: str) -> Any:
    """The value in the response of a run; raises what the function raised."""
    run_id = response.get("id") if isinstance(response.get("id"), str) else None
    if response.get("timed_out") is True or response.get("oom_killed") is True:
        raise _ended_without_result(response, name, run_id)
    text = _json_text(response)
    if text is None:
        raise _ended_without_result(response, name, run_id)
    message = values.parse(text)
    if type(message) is dict and len(message) == 1:
        if "value" in message:
            return values.from_tree(message["value"], values.seconds_for(text))
        if "raised" in message:
            raise _or_out_of_memory(_raised(message["raised"], run_id), response, name, run_id)
    raise values.ResultRefused(f"the response to the call of {name} is malformed")


def sandbox_died(response: Mapping[str, Any]) -> bool:
    """Whether the call ended without a result, for no reason of its own limits."""
    error = response.get("error")
    ended = response.get("signal") == 9
    is_limit = response.get("timed_out") is True or response.get("oom_killed") is True
    has_reason = isinstance(error, dict) and error.get("code") == "cpu_exceeded"
    return ended and not is_limit and not has_reason and response.get("result") is None


def is_large(response: Mapping[str, Any]) -> bool:
    """Whether decoding the value may take too long for an event loop."""
    forms = response.get("result")
    if not isinstance(forms, dict):
        return False
    plain = forms.get(MIME)
    return len(plain) > MAX_QUICK if isinstance(plain, str) else bool(forms)


def _json_text(response: Mapping[str, Any]) -> Optional[str]:
    forms = response.get("result")
    if not isinstance(forms, dict):
        return None
    plain, packed, file = forms.get(MIME), forms.get(MIME + "-z"), forms.get(MIME + "-file")
    if isinstance(plain, str):
        return plain
    if isinstance(packed, str):
        return _unpacked(_from_base64(packed))
    return _unpacked(_file_of(response)) if isinstance(file, str) else None


def _from_base64(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text)
    except ValueError:
        raise values.ResultRefused("malformed value: invalid base64") from None


def _file_of(response: Mapping[str, Any]) -> bytes:
    for file in response.get("files") or []:
        path = file.get("path") if isinstance(file, dict) else None
        if isinstance(path, str) and path.rpartition("/")[2] == RESULT_FILE:
            content = file.get("content_base64")
            if isinstance(content, str):
                return _from_base64(content)
    reason = printable(str(response.get("files_error") or "the server gave no reason"))
    raise values.ResultRefused(f"the file with the value was not returned: {reason}")


def _unpacked(data: bytes) -> str:
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(data, values.MAX_TEXT)
    except zlib.error as error:
        raise values.ResultRefused(f"malformed value: {error}") from None
    if reader.unconsumed_tail or not reader.eof or reader.unused_data:
        raise values.ResultRefused(f"malformed value: truncated, or larger than {values.MAX_TEXT >> 20} MB")
    try:
        return text.decode("ascii")
    except UnicodeDecodeError:
        raise values.ResultRefused("malformed value: not ASCII") from None


def _raised(raised: Any, run_id: Optional[str]) -> BaseException:
    if isinstance(raised, dict) and raised.get("refused") is True:
        return values.ValueRefused(printable(str(raised.get("message"))[:2000]))
    arguments = raised.get("args") if isinstance(raised, dict) else None
    try:
        arguments = values.from_tree(arguments)
    except values.ResultRefused:
        arguments = None
    return build_exception(raised, arguments, run_id)


def _or_out_of_memory(
    raised: BaseException, response: Mapping[str, Any], name: str, run_id: Optional[str]
) -> BaseException:
    """Where no cgroup bounds the memory, an allocation beyond ``mem_mb`` fails instead of a kill."""
    isolation = response.get("isolation")
    walls = isolation.get("walls") if isinstance(isolation, dict) else None
    if type(raised) is not MemoryError or not isinstance(walls, list) or "memory-limit-per-process" not in walls:
        return raised
    cause = raised.__cause__
    traceback = cause.traceback if isinstance(cause, RemoteError) else ""
    message = f"{name} ran out of memory: {str(raised) or 'MemoryError'}"
    return RemoteOutOfMemory("MemoryError", message, traceback, run_id)


def _ended_without_result(response: Mapping[str, Any], name: str, run_id: Optional[str]) -> RemoteError:
    """The error for a run that ended without a response of the function."""
    found = response.get("error")
    error: Dict[str, Any] = found if isinstance(found, dict) else {}
    message = str(error.get("message") or "")
    if error.get("code") == "cpu_exceeded":
        return RemoteKilled("Killed", f"{name} exceeded its limit of CPU time (cpu_ms): {message}", "", run_id)
    if response.get("timed_out") is True:
        return RemoteTimeout("TimeoutError", f"{name} exceeded its time limit: {message or 'timed out'}", "", run_id)
    if response.get("oom_killed") is True:
        return RemoteOutOfMemory("MemoryError", f"{name} ran out of memory: {message or 'killed'}", "", run_id)
    if isinstance(error.get("name"), str):
        # The guest half itself failed: the server has another version, or the program broke it.
        lines = [one for one in error.get("traceback") or [] if isinstance(one, str)]
        made = build_exception({"type": error["name"], "message": message, "traceback": "\n".join(lines)}, None, run_id)
        assert isinstance(made, RemoteError)
        if made.type_name == "MemoryError":
            return RemoteOutOfMemory("MemoryError", f"{name} ran out of memory: {message}", made.traceback, run_id)
        return made
    if response.get("truncated") is True:
        message = message or "its result was too large and was truncated"
    status = response.get("signal") or f"exit code {response.get('exit_code')}"
    return RemoteKilled("Killed", f"{name} ended without a result ({message or status})", "", run_id)
