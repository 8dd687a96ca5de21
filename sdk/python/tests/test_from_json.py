"""Answers are read tolerantly: newer servers say more, and nothing of a guest's breaks the reader.
But one that does not say how code ended is never taken for one that says that it did well."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List

import pytest

import glovebox
from glovebox import (
    CodeResult,
    ExecResult,
    ExecutionError,
    FileInfo,
    InvokeResult,
    ProtocolError,
    RunResult,
    SandboxInfo,
    Template,
)
from glovebox.models import records, results
from glovebox.models.from_json import from_json, list_from_json

RUN = {"id": "rn1", "exit_code": 0}
MIME = {"text/plain": "[1]", "application/json": [1], "image/png": "iVBORw=="}


def test_unknown_fields_are_kept_in_raw() -> None:
    result = from_json(
        RunResult, {"id": "rn1", "exit_code": 3, "from_the_future": [1], "metrics": {"wall_ms": 1, "new": 2}}
    )
    assert (result.id, result.exit_code, result.metrics.wall_ms) == ("rn1", 3, 1.0)
    assert result.raw["from_the_future"] == [1]


def test_missing_and_wrong_fields_get_their_defaults() -> None:
    said = {**RUN, "stdout": 5, "result": [], "files": "x", "timed_out": "yes", "metrics": None}
    result = from_json(RunResult, said)
    assert (result.stdout, result.result, result.files, result.timed_out) == ("", None, [], False)
    assert result.metrics.wall_ms == 0.0
    sandbox = {"id": "sb1", "state": "running", "template": "python", "created_at": "no time"}
    assert from_json(SandboxInfo, {**sandbox, "features": {"pause": True, "x": 1}}).features == {"pause": True}


def test_numbers_too_large_for_a_float_get_the_default() -> None:
    assert from_json(RunResult, {**RUN, "metrics": {"wall_ms": 10**400}}).metrics.wall_ms == 0.0


def test_missing_required_fields_are_protocol_errors() -> None:
    """Every type that has such fields: without all of them, without one, and what is no object at all."""
    for module in (results, records):
        for name in module.__all__:
            kind = getattr(module, name)
            if not dataclasses.is_dataclass(kind) or not isinstance(kind, type):
                continue
            needed = [
                field.name
                for field in dataclasses.fields(kind)
                if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            ]
            nothing: List[Any] = [None, [], "x", 1, *([{}] if needed else [])]
            for data in nothing:
                with pytest.raises(ProtocolError):
                    from_json(kind, data)
    for missing in RUN:
        with pytest.raises(ProtocolError, match=missing):
            from_json(RunResult, {name: value for name, value in RUN.items() if name != missing})
    wrongs: List[Dict[str, Any]] = [{"exit_code": "0"}, {"exit_code": None}, {"exit_code": False}, {"error": 1}]
    for wrong in [*wrongs, {"error": {}}]:
        with pytest.raises(ProtocolError):
            from_json(RunResult, {**RUN, **wrong})


def test_missing_lists_are_protocol_errors() -> None:
    wrongs: List[Any] = [None, [], {}, {"templates": None}, {"templates": [1]}, {"templates": [{}]}]
    for data in wrongs:
        with pytest.raises(ProtocolError):
            list_from_json(Template, data, "templates")


def test_records_are_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        from_json(RunResult, RUN).stdout = "x"  # type: ignore[misc]


def test_bytes_that_are_not_text() -> None:
    result = from_json(ExecResult, {"exit_code": 0, "stdout": "\ufffd", "stdout_base64": "/w==", "stderr": "é"})
    assert (result.stdout_bytes, result.stderr_bytes) == (b"\xff", "é".encode())
    assert from_json(ExecResult, {"exit_code": 0, "stdout": "a", "stdout_base64": "%%"}).stdout_bytes == b"a"
    assert from_json(ExecResult, {"exit_code": 0, "stdout": "\ud800"}).stdout_bytes == b"\xed\xa0\x80"
    assert from_json(FileInfo, {"path": "a", "path_base64": "%%"}).path_bytes == b"a"


def test_values_by_mime_type() -> None:
    result = from_json(RunResult, {**RUN, "result": MIME})
    assert (result.value, result.text, result.figures) == ([1], "[1]", [b"\x89PNG"])
    assert glovebox.Mime({"image/png": "*not base64"}).png in (None, b"")
    assert glovebox.Mime({"image/png": 5}).png is None


def test_raise_for_error() -> None:
    good = from_json(RunResult, RUN)
    assert good.raise_for_error() is good
    failed = from_json(
        CodeResult, {"exit_code": 1, "error": {"code": "exception", "name": "E", "message": "m", "traceback": ["t"]}}
    )
    with pytest.raises(ExecutionError, match="E: m") as caught:
        failed.raise_for_error()
    assert (caught.value.code, caught.value.name, caught.value.traceback, caught.value.result) == (
        "exception",
        "E",
        ["t"],
        failed,
    )
    with pytest.raises(ExecutionError, match="exit code 3: oh"):
        from_json(ExecResult, {"exit_code": 3, "stderr": "oh\n"}).raise_for_error()
    with pytest.raises(ExecutionError, match="time limit exceeded"):
        from_json(ExecResult, {"exit_code": 124, "timed_out": True}).raise_for_error()


def test_a_handler_that_exits_without_an_error_object_has_failed() -> None:
    with pytest.raises(ExecutionError, match="exit code 1"):
        from_json(InvokeResult, {"id": "rn1", "exit_code": 1}).raise_for_error()


def test_failures_are_escaped_when_printed() -> None:
    evil = "a\x1b]0;owned\x07\x1b[2J\nb"
    failed = from_json(CodeResult, {"exit_code": 1, "error": {"code": "exception", "name": evil, "message": evil}})
    quiet = from_json(ExecResult, {"exit_code": 3, "stderr": evil})
    printed = [str(failed.error), str(glovebox.ApiError(400, evil, evil, evil))]
    for result in (failed, quiet):
        with pytest.raises(ExecutionError) as caught:
            result.raise_for_error()
        printed.append(str(caught.value))
    printed.append(glovebox.Mime({"text/plain": evil})._repr_mimebundle_()["text/plain"])
    for text in printed:
        assert "\x1b" not in text and "\x07" not in text and r"\x1b[2J" in text, text
    assert failed.error is not None and failed.error.message == evil  # for programs, as it is


def test_a_template_has_its_base() -> None:
    assert from_json(Template, {"name": "a", "from": "python"}).base == "python"
    assert from_json(Template, {"name": "a", "from": None}).base is None
