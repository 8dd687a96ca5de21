"""What a sandbox can make this process raise: builtin exceptions and RemoteError, and nothing else."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Dict, List

import pytest

from glovebox.functions.call_protocol import decode_result
from glovebox.remote_errors import RemoteError, RemoteKilled, RemoteOutOfMemory, RemoteTimeout, build_exception
from glovebox.values import codec as values
from glovebox.values.codec import ResultRefused, ValueRefused, encode


def raised(name: str, *arguments: Any, **more: Any) -> BaseException:
    fields: Dict[str, Any] = {"type": name, "builtin": True, "message": "it", "traceback": "Traceback …", **more}
    return build_exception(fields, list(arguments), "rn1")


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("ValueError", ["bad"], ValueError),
        ("KeyError", ["key"], KeyError),
        ("OSError", [2, "gone", "/x"], FileNotFoundError),
        ("FileNotFoundError", [2, "gone"], FileNotFoundError),
        ("UnicodeDecodeError", ["utf-8", b"\xff", 0, 1, "bad"], UnicodeDecodeError),
        ("UnicodeTranslateError", ["x", 0, 1, "bad"], UnicodeTranslateError),
        ("ModuleNotFoundError", ["no"], ModuleNotFoundError),
        ("SyntaxError", ["bad"], SyntaxError),
        ("MemoryError", [], MemoryError),
        ("RecursionError", ["deep"], RecursionError),
        ("UserWarning", ["beware"], UserWarning),
    ],
)
def test_a_builtin_exception_is_raised_from_a_remote_error(name: str, arguments: Any, kind: type) -> None:
    error = raised(name, *arguments)
    assert type(error) is kind
    if kind is not SyntaxError:
        assert error.args == tuple(arguments[:2] if kind is FileNotFoundError else arguments)
    cause = error.__cause__
    assert isinstance(cause, RemoteError)
    assert cause.type_name == name
    assert cause.run_id == "rn1"
    assert "Traceback …" in str(cause)


@pytest.mark.parametrize(
    "name",
    [
        "SystemExit", "KeyboardInterrupt", "GeneratorExit", "BaseException", "StopIteration", "StopAsyncIteration",
        "ExceptionGroup", "BaseExceptionGroup", "asyncio.CancelledError", "CancelledError", "exec", "eval", "print",
        "__import__", "__builtins__", "os._exit", "builtins.ValueError", "ValueError ", "", "glovebox.AuthError",
        "object",
    ],
)  # fmt: skip
def test_any_other_name_is_only_a_name(name: str) -> None:
    error = raised(name, "x")
    assert type(error) is RemoteError
    assert error.type_name == (name or "Exception")


def test_a_class_with_the_name_of_a_builtin_is_not_the_builtin() -> None:
    assert type(build_exception({"type": "ValueError", "builtin": False, "message": "m"}, ["m"], None)) is RemoteError


@pytest.mark.parametrize("start_end", [(5, 9), (-1, 1), (0, 10**18), (1, 0), (0, "1")])
def test_positions_outside_of_the_text_make_no_unicode_error(start_end: Any) -> None:
    assert type(raised("UnicodeEncodeError", "utf-8", "abc", *start_end, "bad")) is RemoteError
    assert type(raised("UnicodeDecodeError", "utf-8", b"abc", *start_end, "bad")) is RemoteError
    assert type(raised("UnicodeTranslateError", "abc", *start_end, "bad")) is RemoteError


def test_arguments_that_are_not_plain_become_the_message() -> None:
    assert raised("ValueError", ["a", "list"]).args == ("it",)
    assert build_exception({"type": "ValueError", "builtin": True, "message": "it"}, None, None).args == ("it",)


def test_a_syntax_error_names_no_file() -> None:
    error = raised("SyntaxError", "bad", ("/etc/shadow", 1, 1, None))
    assert isinstance(error, SyntaxError)
    assert error.filename is None


def test_a_memory_error_is_out_of_memory_where_no_cgroup_bounds_it() -> None:
    said = '{"raised":{"type":"MemoryError","builtin":true,"message":"","args":[],"traceback":"in f"}}'
    per_process = {**answer(said), "isolation": {"walls": ["rlimits", "memory-limit-per-process"]}}
    with pytest.raises(RemoteOutOfMemory, match="f ran out of memory") as caught:
        decode_result(per_process, "f")
    assert caught.value.traceback == "in f"
    # A cgroup would have killed it: so this one is the function's own.
    together = {**answer(said), "isolation": {"walls": ["memory-limit"]}}
    with pytest.raises(MemoryError) as own:
        decode_result(together, "f")
    assert not isinstance(own.value, RemoteOutOfMemory)


def test_text_is_escaped_for_terminals() -> None:
    said = {"type": "a.B\x1b[2J", "message": "x\x1b]0;t\x07\r\x9b", "traceback": "l1\n\tl2\x08"}
    error = build_exception(said, None, None)
    assert not set("\x1b\x07\r\x9b\x08") & set(str(error))
    for one in (raised("ValueError", "x\x1b[2J"), raised("ValueError", [1], message="x\x1b[2J")):
        assert str(one) == "x\\x1b[2J"
    with pytest.raises(ValueRefused) as refused:
        decode_result(answer('{"raised":{"refused":true,"message":"x\\u001b[2J"}}'), "f")
    assert "\x1b" not in str(refused.value)
    with pytest.raises(RemoteTimeout) as late:
        decode_result({"timed_out": True, "error": {"message": "\x1b[2J"}}, "f")
    assert "\x1b" not in str(late.value)
    assert "l1\n\tl2" in str(error)


def test_nonsense_is_a_remote_error() -> None:
    some: List[Any] = [None, 1, [], "x", {}, {"type": 1, "message": [], "traceback": {}}]
    for nonsense in some:
        assert type(build_exception(nonsense, None, None)) is RemoteError


def test_long_texts_are_cut() -> None:
    error = build_exception({"type": "x" * 10**6, "message": "m" * 10**6, "traceback": "t" * 10**6}, None, None)
    assert len(str(error)) < 300_000


def test_remote_errors_can_be_pickled() -> None:
    for kind in (RemoteError, RemoteTimeout, RemoteOutOfMemory, RemoteKilled):
        error = pickle.loads(pickle.dumps(kind("a.B", "m", "t", "rn1")))  # noqa: S301
        assert (type(error), error.type_name, error.message, error.run_id) == (kind, "a.B", "m", "rn1")
        assert str(error).startswith("a.B: m")


# --- whole answers ------------------------------------------------------------------------------------

MIME = "application/vnd.glovebox.value"


def answer(text: Any, **more: Any) -> Dict[str, Any]:
    return {"id": "rn1", "result": {MIME: text}, "timed_out": False, "oom_killed": False, "exit_code": 0, **more}


def test_a_value() -> None:
    assert decode_result(answer(f'{{"value":{encode((1, b"x"))}}}'), "f") == (1, b"x")


@pytest.mark.parametrize(
    "text",
    ["", "1", "[]", "{}", '{"value":1,"raised":{}}', '{"other":1}', '{"value":{"$":"x"}}', '"\\ud800', "[" * 100000],
)
def test_malformed_responses_are_refused(text: str) -> None:
    with pytest.raises(ResultRefused):
        decode_result(answer(text), "f")


def test_a_bomb_is_not_unpacked() -> None:
    import base64
    import zlib

    packer = zlib.compressobj(9)
    bomb = b"".join(packer.compress(b" " * (1 << 20)) for _ in range(300)) + packer.flush()
    assert len(bomb) < 1 << 20
    for data in (bomb, bomb[:-10], b"no zlib", bomb + b"more", zlib.compress(b"\xff")):
        with pytest.raises(ResultRefused):
            decode_result({"result": {MIME + "-z": base64.b64encode(data).decode()}}, "f")
    with pytest.raises(ResultRefused):
        decode_result({"result": {MIME + "-z": "###"}}, "f")
    with pytest.raises(ResultRefused):
        decode_result({"result": {MIME + "-file": "/etc/passwd"}, "files": [{"path": "x"}, 5]}, "f")


def test_runs_that_end_without_a_result() -> None:
    with pytest.raises(RemoteTimeout) as timeout:
        decode_result({"timed_out": True, "error": {"code": "timed_out", "message": "time limit of 1 s"}}, "f")
    assert isinstance(timeout.value, TimeoutError) and "1 s" in str(timeout.value)
    with pytest.raises(MemoryError):
        decode_result({"oom_killed": True, "error": None}, "f")
    with pytest.raises(RemoteKilled, match="SIGSEGV"):
        decode_result({"signal": "SIGSEGV", "exit_code": 139}, "f")
    with pytest.raises(RemoteError, match="KeyError: 'x'"):
        decode_result(
            {"error": {"code": "exception", "name": "KeyError", "message": "'x'", "traceback": ["a", 1]}}, "f"
        )
    some: List[Any] = [{}, {"result": 5}, {"result": {MIME: 5}}, {"error": "x"}, {"result": {MIME: ["x"]}, "id": 5}]
    for nonsense in some:
        with pytest.raises(RemoteKilled):
            decode_result(nonsense, "f")


def test_a_value_that_the_guest_could_not_send() -> None:
    with pytest.raises(ValueRefused, match="list"):
        decode_result(answer('{"raised":{"type":"ValueRefused","refused":true,"message":"send list(it)"}}'), "f")


def test_arguments_that_cannot_be_shown_are_left_out() -> None:
    for arguments in ([10**20_000], ["x" * 1_000_000], [b"x" * 1_000_000], [None] * 1_000_000):
        error = raised("ValueError", *arguments)
        assert (type(error), str(error), error.args) == (ValueError, "it", ("it",))
    assert raised("ValueError", 2**100).args == (2**100,)


def test_file_and_module_names_are_kept() -> None:
    error: Any = raised("FileNotFoundError", 2, "No such file", "/x\x1b")
    assert (error.errno, error.strerror, error.filename) == (2, "No such file", "/x\\x1b")
    error = raised("OSError", 18, "Cross-device link", "/a", None, "/b")
    assert (error.filename, error.filename2) == ("/a", "/b")
    said = {"type": "ModuleNotFoundError", "builtin": True, "name": "a", "path": ["no", "text"]}
    error = build_exception(said, ["No module named 'a'"], "rn1")
    assert (error.name, error.path, str(error)) == ("a", None, "No module named 'a'")


GUEST = Path(__file__).resolve().parents[3] / "src" / "guest" / "python" / "function_call.py"


@pytest.mark.skipif(not GUEST.is_file(), reason="only in the repository")
def test_the_guest_half_sends_file_names() -> None:
    names: Dict[str, Any] = {"load": lambda name: values}
    before = sys.modules.get("_glovebox_runner")
    sys.modules["_glovebox_runner"] = ModuleType("_glovebox_runner")
    try:
        exec(compile(GUEST.read_text(), str(GUEST), "exec"), names)  # noqa: S102
    finally:
        del sys.modules["_glovebox_runner"]
        if before is not None:
            sys.modules["_glovebox_runner"] = before
    said = names["arguments_of"]
    assert said(FileNotFoundError(2, "gone", Path("/x"))) == [2, "gone", "/x"]
    assert said(OSError(18, "link", "/a", None, b"/b"))[2:] == ["/a", None, {"$": "bytes", "v": "L2I="}]
    assert said(OSError("plain")) == ["plain"]
    assert said(ValueError(1, "a")) == [1, "a"]
