"""When a call is made again, and when never; and what a template for `preload` takes. With both clients."""

from __future__ import annotations

import json
from typing import Any

import function_samples as samples
import pytest
from both_clients import KINDS, Caller
from scripted_server import CLOSE, Scripted, answer, refusal

import glovebox
from glovebox.aio import Client as AsyncClient
from glovebox.functions import preload_templates

VALUE = {"id": "rn1", "result": {"application/vnd.glovebox.value": '{"value":14}'}, "stdout": "", "stderr": ""}


def called(call: Caller, function: Any, *arguments: Any, **options: Any) -> Any:
    function = function.with_options(client=call.client, **options)
    return call.wait(function.aio(*arguments) if isinstance(call.client, AsyncClient) else function(*arguments))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    ("status", "code"),
    [(503, "host_full"), (429, "key_limit"), (503, "too_many_bodies"), (503, "builds_full")],
)
def test_calls_that_did_not_start_are_repeated(kind: str, status: int, code: str) -> None:
    answers = [refusal(status, code, Retry_After="0"), refusal(status, code), answer(200, VALUE)]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        assert called(call, samples.double, 7) == 14
        assert [one.target for one in server.requests] == ["/v1/run"] * 3
        assert len({one.body for one in server.requests}) == 1


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (503, "launcher_restarting"),
        (503, "server_stopping"),
        (503, "unavailable"),
        (403, "key_limit"),
        (500, "internal"),
    ],
)
def test_calls_that_may_have_run_are_not_repeated(kind: str, status: int, code: str) -> None:
    with (
        Scripted(refusal(status, code, Retry_After="0"), answer(200, VALUE)) as server,
        Caller(kind, server.url) as call,
    ):
        with pytest.raises(glovebox.ApiError) as caught:
            called(call, samples.double, 7)
        assert caught.value.code == code
        assert len(server.requests) == 1


def test_a_call_is_not_repeated_after_a_connection_failure(kind: str) -> None:
    with Scripted(CLOSE, answer(200, VALUE)) as server, Caller(kind, server.url) as call:
        with pytest.raises(glovebox.ConnectionFailed):
            called(call, samples.double, 7)
        assert len(server.requests) == 1


LISTING = {"templates": [{"name": "python", "language": "python", "preload": [], "built_in": True, "state": "ready"}]}


def test_the_preload_template_is_created_once(kind: str) -> None:
    answers = [answer(200, LISTING), answer(201, {}), answer(200, VALUE)]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        assert called(call, samples.double, 7, preload=["wave"]) == 14
        listed, made, run = server.requests
        assert (listed.method, listed.target, made.method, made.target) == (
            "GET",
            "/v1/templates",
            "POST",
            "/v1/templates",
        )
        assert made.json["preload"] == ["wave"] and made.json["from"] == "python"
        assert json.loads(run.body)["template"] == made.json["name"]


def test_a_preload_template_created_concurrently_is_used(kind: str) -> None:
    answers = [answer(200, LISTING), refusal(409, "template_exists"), answer(200, VALUE)]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        assert called(call, samples.double, 7, preload=["wave"]) == 14
        assert json.loads(server.requests[2].body)["template"] == server.requests[1].json["name"]


def test_without_quota_for_a_template_calls_run_without_preload(kind: str) -> None:
    answers = [answer(200, LISTING), refusal(429, "template_limit"), answer(200, VALUE)]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        with pytest.warns(UserWarning, match="without its preload"):
            assert called(call, samples.double, 7, preload=["wave"]) == 14
        assert json.loads(server.requests[2].body)["template"] == "python"


def test_calls_of_one_function_share_what_they_found() -> None:
    answers = [answer(200, LISTING), answer(201, {}), answer(200, VALUE), answer(200, VALUE)]
    with Scripted(*answers) as server, Caller("sync", server.url) as call:
        function = samples.double.with_options(client=call.client, preload=["wave"])
        assert (function(7), function(7)) == (14, 14)
        assert server.left == 0


def test_a_removed_preload_template_is_created_again_once(kind: str) -> None:
    gone = refusal(404, "template_not_found")
    answers = [answer(200, LISTING), answer(201, {}), gone, answer(200, LISTING), answer(201, {}), answer(200, VALUE)]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        assert called(call, samples.double, 7, preload=["wave"]) == 14
        assert [one.method for one in server.requests] == ["GET", "POST", "POST", "GET", "POST", "POST"]
    answers = [answer(200, LISTING), answer(201, {}), gone, answer(200, LISTING), answer(201, {}), gone]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        with pytest.raises(glovebox.NotFoundError):
            called(call, samples.double, 7, preload=["wave"])
    # One that the caller named is the caller's.
    with Scripted(gone) as server, Caller(kind, server.url) as call:
        with pytest.raises(glovebox.NotFoundError):
            called(call, samples.double, 7, template="mine")


def test_a_failed_preload_template_warns(kind: str) -> None:
    failed = {"state": "failed", "error": "this kernel has no way to do it"}
    with Scripted(answer(200, LISTING), answer(201, failed), answer(200, VALUE)) as server:
        with Caller(kind, server.url) as call, pytest.warns(UserWarning, match="this kernel has no way"):
            assert called(call, samples.double, 7, preload=["wave"]) == 14


def test_a_preload_template_that_fails_later_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preload_templates, "_ASK_AGAIN_S", 0.0)
    later = [answer(200, {"state": state, "error": "no such module"}) for state in ("starting", "failed")]
    value = answer(200, VALUE)
    answers = [answer(200, LISTING), answer(201, {"state": "starting"}), value, later[0], value, later[1], value, value]
    with Scripted(*answers) as server, Caller("sync", server.url) as call:
        function = samples.double.with_options(client=call.client, preload=["wave"])
        assert (function(7), function(7)) == (14, 14)
        with pytest.warns(UserWarning, match="no such module"):
            assert function(7) == 14
        assert function(7) == 14 and server.left == 0
