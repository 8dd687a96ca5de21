"""A call of a function as the body of a ``POST /v1/run``, and its answer as a value; no sockets.

The run's code is one constant line that calls the guest half (src/guest/python/function_call.py). What
it is to do comes on its stdin: the shipped source, which is the same for all calls and is encoded
once, and the arguments. The answer is a stranger's word: values.py reads it.
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

from ..remote_errors import RemoteError, RemoteKilled, RemoteOutOfMemory, RemoteTimeout, build_exception, printable
from ..values import codec as values
from .source import ShippedSource

__all__ = ["CallEncoder", "is_large", "show_output", "decode_result"]

LINE = '__import__("sys").modules["_glovebox_runner"].load("function_call").main()'
MIME = "application/vnd.glovebox.value"
RESULT_FILE = ".glovebox-value"
MAX_RESULT_FILE = 15 << 20
MAX_BODY = 31 << 20
# More than this is compressed before it is sent.
MAX_PLAIN = 4 << 20
# Of a shorter source, compiling it inside takes less than sending the compiled one.
MIN_COMPILED = 300
# Characters that are read in less time than going to another thread is worth.
MAX_QUICK = 16_384


class CallEncoder:
    """All of a function's requests but the arguments."""

    def __init__(self, shipped: ShippedSource, request: Mapping[str, Any], large_result: bool) -> None:
        self.name = shipped.function
        payload = {
            "v": 1,
            "module": shipped.module,
            "package": shipped.is_package,
            "function": shipped.function,
            "file": shipped.file,
            "source": shipped.text,
            "code": _compiled(shipped),
            "large": {"path": "/home/user/" + RESULT_FILE, "most": MAX_RESULT_FILE} if large_result else None,
        }
        fields = {**request, "code": LINE}
        if large_result:
            fields["return_files"] = [RESULT_FILE]
        self._fields = json.dumps(fields, separators=(",", ":"), allow_nan=False)[:-1]
        # Lone surrogates and all: the text is ASCII.
        self._payload = json.dumps(payload, separators=(",", ":"))[:-1] + ',"call":'
        self._head = (self._fields + ',"stdin":"' + _escaped(self._payload)).encode("ascii")

    def body(self, arguments: Tuple[Any, ...], keywords: Dict[str, Any]) -> bytes:
        """The request; raises :class:`~glovebox.values.ValueRefused` for what cannot be sent."""
        try:
            text = values.encode([list(arguments), keywords])
        except values.ValueRefused as error:
            raise values.ValueRefused(f"an argument of {self.name}: {error}") from None
        if len(self._payload) + len(text) <= MAX_PLAIN:
            return self._head + _escaped(text).encode("ascii") + b'}"}'
        packed = zlib.compress((self._payload + text + "}").encode("ascii"), 1)
        body = f'{self._fields},"stdin_base64":"{base64.b64encode(packed).decode()}"}}'.encode("ascii")
        if len(body) > MAX_BODY:
            raise values.ValueRefused(
                f"the arguments of {self.name} are too large: {len(body) / 1e6:.0f} MB compressed, and at most "
                f"{MAX_BODY / 1e6:.0f} MB are sent; mount a directory that has them with fs=[...]"
            )
        return body


def _escaped(text: str) -> str:
    return encode_basestring_ascii(text)[1:-1]


def _compiled(shipped: ShippedSource) -> Optional[Tuple[str, str]]:
    """For a Python inside whose bytecode is the same; else it compiles the source itself."""
    if len(shipped.text) < MIN_COMPILED or sys.implementation.name != "cpython":
        return None
    try:
        code = compile(shipped.text, shipped.file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None  # it says so there, to whoever calls
    return importlib.util.MAGIC_NUMBER.hex(), base64.b64encode(marshal.dumps(code)).decode()


def show_output(response: Mapping[str, Any]) -> None:
    """What the function printed, where this process prints."""
    for name, stream in (("stdout", sys.stdout), ("stderr", sys.stderr)):
        text = response.get(name)
        if isinstance(text, str) and text and stream is not None:
            try:
                stream.write(text)
            except UnicodeEncodeError:
                encoding = getattr(stream, "encoding", None) or "ascii"
                stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def decode_result(response: Mapping[str, Any], name: str) -> Any:
    """The value that a run's answer carries; raises what the function raised."""
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
            raise _raised(message["raised"], run_id)
    raise values.ResultRefused(f"what came back from {name} is no answer of a function")


def is_large(response: Mapping[str, Any]) -> bool:
    """Whether reading the value may take so long that an event loop should not wait for it."""
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
        raise values.ResultRefused("not a value: not base64") from None


def _file_of(response: Mapping[str, Any]) -> bytes:
    for file in response.get("files") or []:
        path = file.get("path") if isinstance(file, dict) else None
        if isinstance(path, str) and path.rpartition("/")[2] == RESULT_FILE:
            content = file.get("content_base64")
            if isinstance(content, str):
                return _from_base64(content)
    reason = printable(str(response.get("files_error") or "no reason"))
    raise values.ResultRefused(f"the file with the value did not come back: {reason}")


def _unpacked(data: bytes) -> str:
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(data, values.MAX_TEXT)
    except zlib.error as error:
        raise values.ResultRefused(f"not a value: {error}") from None
    if reader.unconsumed_tail or not reader.eof or reader.unused_data:
        raise values.ResultRefused(f"not a value: cut short, or of more than {values.MAX_TEXT >> 20} MB")
    try:
        return text.decode("ascii")
    except UnicodeDecodeError:
        raise values.ResultRefused("not a value: not ASCII") from None


def _raised(raised: Any, run_id: Optional[str]) -> BaseException:
    if isinstance(raised, dict) and raised.get("refused") is True:
        return values.ValueRefused(printable(str(raised.get("message"))[:2000]))
    arguments = raised.get("args") if isinstance(raised, dict) else None
    try:
        arguments = values.from_tree(arguments)
    except values.ResultRefused:
        arguments = None
    return build_exception(raised, arguments, run_id)


def _ended_without_result(response: Mapping[str, Any], name: str, run_id: Optional[str]) -> RemoteError:
    """The run ended, and the function did not say anything."""
    found = response.get("error")
    error: Dict[str, Any] = found if isinstance(found, dict) else {}
    message = str(error.get("message") or "")
    if response.get("timed_out") is True:
        return RemoteTimeout("TimeoutError", f"{name} took too long: {message or 'its time ran out'}", "", run_id)
    if response.get("oom_killed") is True:
        return RemoteOutOfMemory("MemoryError", f"{name} needed too much memory: {message or 'killed'}", "", run_id)
    if isinstance(error.get("name"), str):
        # The guest half itself failed: a server of another version, or a program that took it apart.
        lines = [one for one in error.get("traceback") or [] if isinstance(one, str)]
        made = build_exception({"type": error["name"], "message": message, "traceback": "\n".join(lines)}, None, run_id)
        assert isinstance(made, RemoteError)
        return made
    if response.get("truncated") is True:
        message = message or "what it wrote as its result was too large and was cut"
    status = response.get("signal") or f"exit status {response.get('exit_code')}"
    return RemoteKilled("Killed", f"{name} ended without an answer ({message or status})", "", run_id)
