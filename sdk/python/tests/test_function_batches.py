"""Maps whose calls share sandboxes send many calls in a request; and calls that were cut off. With both clients."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List

import function_samples as samples
import pytest
from both_clients import KINDS, Caller
from scripted_server import CLOSE, Scripted, answer, answer_of, refusal

import glovebox
from glovebox.aio import Client as AsyncClient

VALUE = "application/vnd.glovebox.value"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def line(index: int, value: Any = None, **more: Any) -> Dict[str, Any]:
    return {"index": index, "status": 200, "result": {VALUE: json.dumps({"value": value})}, "exit_code": 0, **more}


def lines(*all_of_them: Dict[str, Any]) -> bytes:
    return answer_of("".join(json.dumps(one) + "\n" for one in all_of_them).encode(), "application/x-ndjson")


def refused(index: int, status: int, code: str) -> Dict[str, Any]:
    return {"index": index, "status": status, "error": {"code": code, "message": "said by a test"}}


def mapped(
    call: Caller, function: Any, *items: Any, parallel: int = 8, return_exceptions: bool = False, **options: Any
) -> List[Any]:
    function = function.with_options(client=call.client, **{"reuse": "sandbox", **options})
    run = function.amap if isinstance(call.client, AsyncClient) else function.map
    return list(call.wait(run(items, parallel=parallel, return_exceptions=return_exceptions)))


def inputs_of(request: Any) -> List[Any]:
    return [json.loads(one["stdin"])["call"][0][0] for one in request.json["inputs"]]


@pytest.mark.parametrize("reuse", ["sandbox", "interpreter"])
def test_calls_share_a_request_and_keep_their_order(kind: str, reuse: str) -> None:
    with Scripted(lines(line(2, 6), line(0, 2), line(1, 4))) as server, Caller(kind, server.url) as call:
        assert mapped(call, samples.double, 1, 2, 3, reuse=reuse) == [2, 4, 6]
        (request,) = server.requests
        assert (request.method, request.target) == ("POST", "/v1/run/batch")
        assert inputs_of(request) == [1, 2, 3]
        assert request.json["parallel"] == 4, "two requests at a time, each with half of them"
        assert request.json["profile"] == {"reuse": reuse}
        assert "double" in request.json["code"], "what the calls have in common is the code"


def test_more_calls_take_more_requests(kind: str) -> None:
    first = lines(line(0, 0))
    then = lines(line(1, 2), line(0, 1))
    last = lines(line(0, 3), line(1, 4))
    with Scripted(first, then, last) as server, Caller(kind, server.url) as call:
        assert mapped(call, samples.echo, *range(5), parallel=1) == [0, 1, 2, 3, 4]
        assert [inputs_of(one) for one in server.requests] == [[0], [1, 2], [3, 4]]


def test_an_error_is_that_of_its_call(kind: str) -> None:
    raised = {VALUE: json.dumps({"raised": {"type": "ValueError", "builtin": True, "message": "no", "args": ["no"]}})}
    answers = lines(line(0, 1), {**line(1), "result": raised}, refused(2, 403, "key_limit"), line(3, 4))
    with Scripted(answers) as server, Caller(kind, server.url) as call:
        got = mapped(call, samples.echo, 1, 2, 3, 4, return_exceptions=True)
        assert (got[0], got[3]) == (1, 4)
        assert isinstance(got[1], ValueError)
        assert isinstance(got[2], glovebox.ApiError)
        assert got[2].code == "key_limit"
        assert len(server.requests) == 1


def test_an_argument_that_cannot_be_sent_is_its_calls_own(kind: str) -> None:
    with Scripted(lines(line(0, 1), line(1, 3))) as server, Caller(kind, server.url) as call:
        got = mapped(call, samples.echo, 1, object(), 3, return_exceptions=True)
        assert (got[0], got[2]) == (1, 3)
        assert isinstance(got[1], glovebox.ValueRefused)
        assert inputs_of(server.requests[0]) == [1, 3]


def test_calls_that_did_not_start_are_sent_again(kind: str) -> None:
    answers = [
        refusal(503, "host_full", Retry_After="0"),
        lines(line(0, 1), refused(1, 429, "key_limit"), refused(2, 503, "resource_exhausted")),
        lines(line(1, 3), line(0, 2)),
    ]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        assert mapped(call, samples.echo, 1, 2, 3) == [1, 2, 3]
        assert [inputs_of(one) for one in server.requests] == [[1, 2, 3], [1, 2, 3], [2, 3]]


DEAD = {"exit_code": 137, "signal": 9, "result": None, "timed_out": False, "oom_killed": False}


def test_calls_that_were_cut_off_are_not_sent_again(kind: str) -> None:
    answers = lines(line(0, 1), {**line(1), **DEAD}, refused(2, 503, "launcher_restarting"))
    with Scripted(answers) as server, Caller(kind, server.url) as call:
        got = mapped(call, samples.echo, 1, 2, 3, 4, return_exceptions=True)
        assert [type(one) for one in got[1:]] == [
            glovebox.RemoteKilled,
            glovebox.UnavailableError,
            glovebox.ConnectionFailed,
        ]
        assert len(server.requests) == 1


def test_idempotent_calls_that_were_cut_off_are_sent_again(kind: str) -> None:
    answers = [
        lines(line(0, 1), {**line(1), **DEAD}, refused(2, 503, "launcher_restarting")),
        lines(line(0, 2), {**line(1), **DEAD}, line(2, 4)),
        lines(line(0, 3)),
    ]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        assert mapped(call, samples.echo, 1, 2, 3, 4, idempotent=True) == [1, 2, 3, 4]
        assert [inputs_of(one) for one in server.requests] == [[1, 2, 3, 4], [2, 3, 4], [3]]


def test_idempotent_calls_are_sent_again_only_twice(kind: str) -> None:
    dead = lines({**line(0), **DEAD})
    with Scripted(dead, dead, dead, lines(line(0, 1))) as server, Caller(kind, server.url) as call:
        with pytest.raises(glovebox.RemoteKilled):
            mapped(call, samples.echo, 1, idempotent=True)
        assert len(server.requests) == 3


@pytest.mark.parametrize("limit", [{"timed_out": True}, {"oom_killed": True}, {"error": {"code": "cpu_exceeded"}}])
def test_a_limit_is_a_result_and_not_sent_again(kind: str, limit: Dict[str, Any]) -> None:
    with Scripted(lines({**line(0), **DEAD, **limit})) as server, Caller(kind, server.url) as call:
        with pytest.raises(glovebox.RemoteError):
            mapped(call, samples.echo, 1, idempotent=True)
        assert len(server.requests) == 1


def test_one_idempotent_call_is_made_again(kind: str) -> None:
    whole = {"result": {VALUE: '{"value":14}'}}
    answers = [CLOSE, refusal(503, "launcher_restarting"), answer(200, whole)]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        function = samples.double.with_options(client=call.client, idempotent=True)
        value = function.aio(7) if isinstance(call.client, AsyncClient) else function(7)
        assert call.wait(value) == 14
        assert len(server.requests) == 3


def test_a_shared_interpreter_gets_the_source_as_code(kind: str) -> None:
    with (
        Scripted(answer(200, {"result": {VALUE: '{"value":14}'}})) as server,
        Caller(kind, server.url) as call,
    ):
        function = samples.double.with_options(client=call.client, reuse="interpreter")
        value = function.aio(7) if isinstance(call.client, AsyncClient) else function(7)
        assert call.wait(value) == 14
        sent = server.requests[0].json
        assert server.requests[0].target == "/v1/run"
        assert sent["stdin"] == '{"call":[[7],{}]}'
        assert sent["code"].startswith("__import__")
        assert "def double" in sent["code"]
        compile(sent["code"], "code", "eval")


@pytest.mark.skipif("GLOVEBOX_URL" not in os.environ, reason="needs a server")
@pytest.mark.parametrize("reuse", ["sandbox", "interpreter"])
def test_live(kind: str, reuse: str) -> None:
    with Caller(kind, os.environ["GLOVEBOX_URL"], os.environ["GLOVEBOX_API_KEY"]) as call:
        assert mapped(call, samples.double, *range(300), reuse=reuse) == [2 * number for number in range(300)]
        got = mapped(call, samples.raise_one, "ValueError", "Broken", reuse=reuse, return_exceptions=True)
        assert [type(one) for one in got] == [ValueError, glovebox.RemoteError]
