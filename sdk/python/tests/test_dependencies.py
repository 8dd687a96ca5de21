"""``dependencies=`` in requests, what is heard of a build, and layers; with both clients."""

from __future__ import annotations

import json
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, List

import function_samples as samples
import pytest
from both_clients import KINDS, Caller
from scripted_server import SILENCE, Scripted, answer, answer_of, refusal

import glovebox
from glovebox import BuildProgress, Dependencies, DependencyError
from glovebox.aio import Client as AsyncClient
from glovebox.profile.dependencies import dependencies_field
from glovebox.requests.lambda_functions import invoke_request
from glovebox.requests.layers import build
from glovebox.requests.project import create_template
from glovebox.requests.runs import run_request
from glovebox.requests.sandboxes import create
from glovebox.transport.request import Request

SANDBOX = {"id": "sb1", "state": "running", "template": "python"}
RUN = {"id": "rn1", "exit_code": 0, "stdout": "", "stderr": ""}
VALUE = {"id": "rn1", "result": {"application/vnd.glovebox.value": '{"value":14}'}, "stdout": "", "stderr": ""}
LAYER = {
    "id": "0123456789abcdef0123456789abcdef",
    "manager": "pip",
    "interpreter": "cpython-3.11",
    "index": "https://pypi.org/simple",
    "bytes": 1000,
    "entries": 12,
    "digest": "d" * 64,
    "made_at": "2026-11-16T05:00:00.500Z",
    "used_at": "2026-11-16T05:01:00Z",
    "checked_at": None,
    "in_use": True,
    "asked": ["six"],
    "packages": [
        {"name": "six", "version": "1.17.0", "file": "six-1.17.0-py2.py3-none-any.whl", "hash": "sha256:" + "a" * 64}
    ],
    "projects": ["default"],
}
WORDS = [
    {"event": "build", "phase": "resolving", "text": ""},
    {"event": "build", "phase": "resolving", "text": "Collecting six"},
    {"event": "build", "phase": "ready", "text": ""},
]
HEARD = [BuildProgress("resolving"), BuildProgress("resolving", "Collecting six"), BuildProgress("ready")]
FAILED = {"event": "error", "code": "dependencies_failed", "message": "No matching distribution found for nope"}


def lines(*events: Dict[str, Any]) -> bytes:
    return answer_of("".join(json.dumps(event) + "\n" for event in events).encode(), "application/x-ndjson")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# --- what is said -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        (["six", "idna>=3"], ["six", "idna>=3"]),
        (("six",), ["six"]),
        ({"six", "idna"}, ["idna", "six"]),
        (Dependencies(["six"]), ["six"]),
        (Dependencies(["six"], preload=["six"]), {"packages": ["six"], "preload": ["six"]}),
        (Dependencies(["six"], host_packages=True), {"packages": ["six"], "host_packages": True}),
        ({"packages": ["six"], "host_packages": False}, {"packages": ["six"], "host_packages": False}),
        (Dependencies(["six"], "idna==3.10\n"), {"packages": ["six"], "requirements": "idna==3.10\n"}),
        (Dependencies(lock="lock-version = '1.0'\n"), {"lock": "lock-version = '1.0'\n"}),
        ({"packages": ["six"], "preload": ["six"], "lock": None}, {"packages": ["six"], "preload": ["six"]}),
        (None, None),
        ([], None),
        (Dependencies(), None),
    ],
    ids=repr,
)
def test_dependencies_are_sent_as_given(said: Any, sent: Any) -> None:
    assert dependencies_field(said) == sent


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("requirements.txt", "requirements"),
        ("dev-requirements.in", "requirements"),
        ("pylock.toml", "lock"),
        ("pylock.dev.toml", "lock"),
        ("package-lock.json", "lock"),
    ],
)
def test_a_path_sends_the_text_of_the_file(tmp_path: Path, name: str, field: str) -> None:
    (tmp_path / name).write_bytes(b"\xef\xbb\xbfone\r\ntwo\n")
    assert dependencies_field(tmp_path / name) == {field: "one\ntwo\n"}
    assert Dependencies(requirements=tmp_path / name).request() == {"requirements": "one\ntwo\n"}


@pytest.mark.parametrize(
    ("said", "kind_of_error", "words"),
    [
        ("six", TypeError, r"a list, like \['six'\]"),
        (5, TypeError, "not int"),
        ([5], TypeError, "must be a string"),
        (["six", " "], ValueError, "empty string"),
        ({"package": ["six"]}, ValueError, "dependencies.package is an unknown field"),
        ({"packages": "six"}, TypeError, "packages must be a list"),
        ({"lock": "x", "packages": ["six"]}, ValueError, "lock cannot be combined"),
        ({"lock": "x", "requirements": "y"}, ValueError, "lock cannot be combined"),
        ({"preload": ["six"]}, ValueError, "no packages are named"),
        ({"host_packages": True}, ValueError, "no packages are named"),
        ({"packages": ["six"], "host_packages": "yes"}, TypeError, "must be True or False"),
        ({"packages": ["six"], "preload": ["os; x"]}, ValueError, "not a module name"),
        ({"requirements": "requirements.txt"}, ValueError, r"pass Path\('requirements.txt'\)"),
        ({"requirements": "  \n"}, ValueError, "requirements is empty"),
        ({"requirements": "x" * 300_000}, ValueError, "256 KB"),
    ],
    ids=repr,
)
def test_invalid_dependencies_are_refused_before_sending(said: Any, kind_of_error: Any, words: str) -> None:
    with pytest.raises(kind_of_error, match=words):
        dependencies_field(said)


def test_files_that_are_binary_or_missing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="not UTF-8 text"):
        dependencies_field(tmp_path / "requirements.txt")
    with pytest.raises(FileNotFoundError):
        dependencies_field(tmp_path / "missing.txt")


def test_every_request_takes_dependencies(kind: str) -> None:
    answers = [answer(200, RUN), answer(201, SANDBOX), answer(201, {"name": "t"}), answer(200, RUN)]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        call(lambda client: client.run("1", dependencies=["six"]))
        call(lambda client: call.Sandbox.create(dependencies=["six"], client=client))
        call(lambda client: client.templates.create("t", "python", dependencies=["six"]))
        call(lambda client: client.functions.invoke("def handler(e, c): pass", dependencies=["six"]))
        assert [one.json["profile"] for one in server.requests] == [{"dependencies": ["six"]}] * 4


def test_a_template_of_a_snapshot(kind: str) -> None:
    with Scripted(answer(201, {"name": "t"})) as server, Caller(kind, server.url) as call:
        call(lambda client: client.templates.create("t", snapshot="sn1"))
        assert server.requests[0].json == {"name": "t", "snapshot": "sn1"}
        with pytest.raises(ValueError, match="or of a snapshot"):
            call(lambda client: client.templates.create("t", "python", snapshot="sn1"))


# --- how long it waits --------------------------------------------------------------------------------


def invoke(**options: Any) -> "Request[Any]":
    names = "event context handler language runtime template file_name files return_files env workdir timeout"
    words: Dict[str, Any] = dict.fromkeys([*names.split(), "idempotency_key", "request_timeout"])
    return invoke_request("", cold=False, **{**words, "fs": (), **options})


@pytest.mark.parametrize(
    ("plain", "more"),
    [
        (lambda **said: run_request("1", **said), 660),
        (lambda **said: run_request("1", timeout=5, **said), 35),
        (lambda **said: create(**said), 60),
        (lambda **said: create_template("t", "python", **said), 60),
        (lambda **said: invoke(**said), 330),
    ],
)
def test_requests_with_dependencies_wait_for_the_build(plain: Any, more: float) -> None:
    assert plain(dependencies=["six"]).timeout == more + 900
    assert plain(dependencies=["six"], request_timeout=7).timeout == 7
    assert plain(dependencies=[]).timeout in (more, None)


def test_a_function_waits_for_a_build_too() -> None:
    plain = samples.double.with_options(timeout=5)._options
    with_packages = samples.double.with_options(timeout=5, dependencies=["six"])._options
    assert with_packages.response_timeout() == plain.response_timeout() + 900
    assert build(["six"], template=None, request_timeout=None, is_live=False).timeout == 960


def test_request_timeout_ends_a_wait_for_a_build(kind: str) -> None:
    with Scripted(SILENCE) as server, Caller(kind, server.url) as call:
        began = time.monotonic()
        with pytest.raises(glovebox.TimeoutExpired):
            call(lambda client: client.run("1", dependencies=["six"], request_timeout=0.2))
        assert time.monotonic() - began < 20


# --- what is heard ------------------------------------------------------------------------------------


def test_a_run_calls_on_build(kind: str) -> None:
    events: List[Dict[str, Any]] = [*WORDS, {"event": "stdout", "text": "hi\n"}, {"event": "exit", **RUN}]
    with Scripted(lines(*events)) as server, Caller(kind, server.url) as call:
        heard: List[BuildProgress] = []
        result = call(lambda client: client.run("1", dependencies=["six"], on_build=heard.append))
        assert heard == HEARD and result.stdout == "hi\n"
        assert server.requests[0].headers["accept"] == "application/x-ndjson"


@pytest.mark.parametrize("is_live", [False, True])
def test_packages_that_cannot_be_installed_raise_dependency_error(kind: str, is_live: bool) -> None:
    said = lines(*WORDS[:2], FAILED) if is_live else refusal(422, "dependencies_failed")
    with Scripted(said) as server, Caller(kind, server.url) as call:
        with pytest.raises(DependencyError) as caught:
            call(lambda client: client.run("1", dependencies=["nope"], on_build=print if is_live else None))
        assert (caught.value.status, caught.value.code) == (422, "dependencies_failed")
        assert isinstance(caught.value, glovebox.InvalidRequestError)
        assert caught.value.message == (FAILED["message"] if is_live else "said by a test")


def test_an_error_event_keeps_its_status(kind: str) -> None:
    busy = {"event": "error", "code": "resource_exhausted", "message": "too many builds wait", "status": 429}
    with Scripted(lines(busy), lines({**busy, "status": "many"})) as server, Caller(kind, server.url) as call:
        with pytest.raises(glovebox.LimitError):
            call(lambda client: client.run("1", dependencies=["six"], on_build=print))
        with pytest.raises(glovebox.UnavailableError):
            call(lambda client: client.run("1", dependencies=["six"], on_build=print))


def test_build_steps_are_escaped_when_printed() -> None:
    assert str(BuildProgress("resolving", "\x1b[2Jx")) == "resolving: \\x1b[2Jx"
    assert str(BuildProgress("ready")) == "ready"


def test_sandboxes_and_templates_call_on_build_before_they_are_created(kind: str) -> None:
    built = lines(*WORDS, {"event": "layer", **LAYER})
    with Scripted(built, answer(201, SANDBOX), built, answer(201, {"name": "t"})) as server:
        with Caller(kind, server.url) as call:
            heard: List[BuildProgress] = []
            call(lambda client: call.Sandbox.create(dependencies=["six"], on_build=heard.append, client=client))
            call(lambda client: client.templates.create("t", "python-x", dependencies=["six"], on_build=heard.append))
            assert heard == HEARD * 2
        assert [one.target for one in server.requests] == [
            "/v1/layers",
            "/v1/sandboxes",
            "/v1/layers",
            "/v1/templates",
        ]
        assert server.requests[0].json == {"template": "python", "dependencies": ["six"]}
        assert server.requests[2].json == {"template": "python-x", "dependencies": ["six"]}


@pytest.mark.parametrize(
    ("said", "template"),
    [
        ({}, "python"),
        ({"language": "javascript"}, "node"),
        ({"runtime": "nodejs20.x"}, "node"),
        ({"runtime": "python3.12"}, "python"),
        ({"template": "mine", "language": "javascript"}, "mine"),
    ],
    ids=repr,
)
def test_an_invocation_calls_on_build_before_it_begins(kind: str, said: Dict[str, str], template: str) -> None:
    built = lines(*WORDS, {"event": "layer", **LAYER})
    with Scripted(built, answer(200, RUN)) as server, Caller(kind, server.url) as call:
        heard: List[BuildProgress] = []
        call(lambda client: client.functions.invoke("x", dependencies=["six"], on_build=heard.append, **said))
        assert heard == HEARD
        assert [one.target for one in server.requests] == ["/v1/layers", "/v1/functions/invoke"]
        assert server.requests[0].json == {"template": template, "dependencies": ["six"]}


def test_a_build_is_shown_on_a_terminal(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    built = lines(*WORDS, {"event": "layer", **LAYER})
    with Scripted(answer(200, LAYER), built) as server, Caller(kind, server.url) as call:
        assert call(lambda client: client.layers.build(["six"])).id == LAYER["id"]
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        assert call(lambda client: client.layers.build(["six"])).id == LAYER["id"]
        assert "glovebox: " in capsys.readouterr().err
        assert [one.headers.get("accept") for one in server.requests] == [None, "application/x-ndjson"]


def test_the_result_reports_its_layer(kind: str) -> None:
    prepared = {"layer": LAYER["id"], "built": True, "waited_ms": 12}
    asked = {"packages": ["six"], "preload": [], "requirements_sha256": None, "lock_sha256": None, "layer": LAYER["id"]}
    answers = [
        answer(200, {**RUN, "dependencies": prepared}),
        answer(200, RUN),
        answer(201, {**SANDBOX, "dependencies": asked}),
        answer(200, {"name": "t", "dependencies": asked, "snapshot": "sn1"}),
    ]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        made = call(lambda client: client.run("1", dependencies=["six"])).dependencies
        assert (made.layer, made.built, made.waited_ms, made.cold_because) == (LAYER["id"], True, 12, None)
        assert call(lambda client: client.run("1")).dependencies is None
        sandbox = call(lambda client: call.Sandbox.create(dependencies=["six"], client=client))
        assert (sandbox.record.dependencies.packages, sandbox.record.dependencies.layer) == (["six"], LAYER["id"])
        template = call(lambda client: client.templates.get("t"))
        assert (template.dependencies.packages, template.snapshot) == (["six"], "sn1")


# --- functions ----------------------------------------------------------------------------------------


def called(call: Caller, function: Any, *arguments: Any) -> Any:
    return call.wait(function.aio(*arguments) if isinstance(call.client, AsyncClient) else function(*arguments))


def test_preload_of_a_function_is_sent_with_its_packages(kind: str) -> None:
    with Scripted(answer(200, VALUE)) as server, Caller(kind, server.url) as call:
        function = samples.double.with_options(client=call.client, dependencies=["six"], preload=["six"])
        assert called(call, function, 7) == 14
        assert function.profile == {"dependencies": {"packages": ["six"], "preload": ["six"]}}
        body = json.loads(server.requests[0].body)
        assert (body["template"], body["profile"]) == ("python", function.profile)


def test_on_build_of_a_function_is_called_at_its_first_call_only(kind: str) -> None:
    built = lines(*WORDS, {"event": "layer", **LAYER})
    heard: List[BuildProgress] = []
    with Scripted(built, answer(200, VALUE), answer(200, VALUE)) as server, Caller(kind, server.url) as call:
        function = samples.double.with_options(client=call.client, dependencies=["six"], on_build=heard.append)
        assert [called(call, function, 7) for _ in range(2)] == [14, 14]
        assert heard == HEARD
        assert [one.target for one in server.requests] == ["/v1/layers", "/v1/run", "/v1/run"]
        assert server.requests[0].json == {"template": "python", "dependencies": ["six"]}


def test_after_a_build_that_failed_the_next_call_tries_again(kind: str) -> None:
    built = lines(*WORDS, {"event": "layer", **LAYER})
    with Scripted(lines(FAILED), built, answer(200, VALUE)) as server, Caller(kind, server.url) as call:
        function = samples.double.with_options(client=call.client, dependencies=["six"], on_build=lambda _: None)
        with pytest.raises(DependencyError):
            called(call, function, 7)
        assert called(call, function, 7) == 14


def test_a_functions_file_is_read_when_it_is_called(tmp_path: Path) -> None:
    function = samples.double.with_options(dependencies=tmp_path / "requirements.txt", client=glovebox.Client())
    assert function.local(7) == 14
    with pytest.raises(FileNotFoundError):
        function(7)
    with pytest.raises(TypeError, match="dependencies"):
        samples.double.with_options(dependencies="six")
    with pytest.raises(ValueError, match="no packages"):
        samples.double.with_options(dependencies={"preload": ["six"]})


def test_without_on_build_nothing_is_built_ahead(kind: str) -> None:
    with Scripted(answer(200, VALUE)) as server, Caller(kind, server.url) as call:
        function = samples.double.with_options(client=call.client, dependencies=["six"])
        assert called(call, function, 7) == 14
        assert len(server.requests) == 1


# --- layers -------------------------------------------------------------------------------------------


def test_layers_are_read(kind: str) -> None:
    with Scripted(answer(200, {"layers": [LAYER]}), answer(200, LAYER)) as server, Caller(kind, server.url) as call:
        found = call(lambda client: client.layers.list(project="p"))[0]
        assert (found.id, found.bytes, found.in_use, found.asked) == (LAYER["id"], 1000, True, ["six"])
        assert found.made_at == datetime(2026, 11, 16, 5, 0, 0, 500000, timezone.utc)
        assert found.checked_at is None
        assert (found.packages[0].name, found.packages[0].version) == ("six", "1.17.0")
        assert call(lambda client: client.layers.get("01234567")) == found
        assert [one.target for one in server.requests] == ["/v1/layers?project=p", "/v1/layers/01234567"]


def test_layers_are_built_ahead(kind: str) -> None:
    answers = [answer(200, {**LAYER, "built": True}), lines(*WORDS, {"event": "layer", **LAYER})]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        assert call(lambda client: client.layers.build(["six"])).built
        heard: List[BuildProgress] = []
        wish = Dependencies(["six"], preload=["six"])
        layer = call(lambda client: client.layers.build(wish, template="mine", on_build=heard.append))
        assert heard == HEARD and layer.id == LAYER["id"] and not layer.built
        assert [one.json for one in server.requests] == [
            {"template": "python", "dependencies": ["six"]},
            {"template": "mine", "dependencies": {"packages": ["six"], "preload": ["six"]}},
        ]
        with pytest.raises(ValueError, match="at least one"):
            call(lambda client: client.layers.build([]))


def test_failed_and_interrupted_builds_raise(kind: str) -> None:
    with Scripted(lines(*WORDS[:1], FAILED), lines(*WORDS)) as server, Caller(kind, server.url) as call:
        with pytest.raises(DependencyError, match="No matching distribution"):
            call(lambda client: client.layers.build(["nope"], on_build=lambda _: None))
        with pytest.raises(glovebox.ProtocolError, match="last event"):
            call(lambda client: client.layers.build(["six"], on_build=lambda _: None))


def test_layers_are_removed_pruned_and_checked(kind: str) -> None:
    answers = [
        answer(204),
        answer(200, {"removed": [LAYER["id"]], "bytes": 1000}),
        answer(200, {"intact": False, "expected": "a", "found": "b"}),
        refusal(409, "layer_in_use"),
    ]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        call(lambda client: client.layers.remove("0123"))
        pruned = call(lambda client: client.layers.prune(unused_for=3600, dry_run=True))
        assert (pruned.removed, pruned.bytes) == ([LAYER["id"]], 1000)
        checked = call(lambda client: client.layers.check("0123"))
        assert (checked.intact, checked.expected, checked.found) == (False, "a", "b")
        with pytest.raises(glovebox.ConflictError):
            call(lambda client: client.layers.remove("0123"))
        assert [(one.method, one.target) for one in server.requests] == [
            ("DELETE", "/v1/layers/0123"),
            ("POST", "/v1/layers/prune"),
            ("POST", "/v1/layers/0123/check"),
            ("DELETE", "/v1/layers/0123"),
        ]
        assert server.requests[1].json == {"unused_for_s": 3600, "dry_run": True}
