"""What is sent, what is sent again and what never is; with both clients, against a scripted server."""

from __future__ import annotations

import json as jsonlib
import os
import socket
import stat
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest
from both_clients import KINDS, Caller
from scripted_server import CLOSE, SILENCE, Said, Scripted, answer, answer_of, refusal

import glovebox
from glovebox.errors import ConflictError, NotFoundError
from glovebox.examples import square
from glovebox.functions.options import Options
from glovebox.models.records import SandboxInfo
from glovebox.requests import sandboxes
from glovebox.requests.project import create_template
from glovebox.requests.runs import run_request


def _get_run(id: str, client: Any) -> Any:
    return client.runs.get(id)


def _run(options: Dict[str, Any], client: Any) -> Any:
    return client.run(**options)


SANDBOX = {"id": "sb1", "state": "running", "template": "python"}
RUN = {"id": "rn1", "exit_code": 0, "stdout": "2\n", "stderr": ""}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_connection_is_kept_and_carries_the_key(kind: str) -> None:
    with Scripted(answer(200, RUN), answer(200, RUN)) as server, Caller(kind, server.url) as call:
        assert [call(lambda client: client.run("1")).stdout for _ in range(2)] == ["2\n", "2\n"]
        assert [request.connection for request in server.requests] == [0, 0]
        assert server.requests[0].headers["x-api-key"] == "gbx_test"
        assert server.requests[0].json == {"code": "1", "language": "python"}


def test_an_idle_connection_that_was_closed_is_replaced_even_for_a_run(kind: str) -> None:
    with Scripted(answer(200, RUN), answer(200, RUN)) as server, Caller(kind, server.url) as call:
        call(lambda client: client.run("1"))
        server.drop_connections()
        assert call(lambda client: client.run("1")).stdout == "2\n"
        assert [request.connection for request in server.requests] == [0, 1]


def test_a_run_that_may_have_begun_is_not_sent_again(kind: str) -> None:
    with Scripted(CLOSE, answer(200, RUN)) as server, Caller(kind, server.url) as call:
        with pytest.raises(glovebox.ConnectionFailed):
            call(lambda client: client.run("1"))
        assert len(server.requests) == 1


def test_with_an_idempotency_key_it_is_sent_again(kind: str) -> None:
    with Scripted(CLOSE, answer(200, RUN)) as server, Caller(kind, server.url) as call:
        assert call(lambda client: client.run("1", idempotency_key="k1")).stdout == "2\n"
        assert [request.headers["idempotency-key"] for request in server.requests] == ["k1", "k1"]


def test_with_an_idempotency_key_one_that_still_runs_is_waited_for(kind: str) -> None:
    answers = [refusal(409, "still_running"), refusal(409, "still_running"), answer(200, RUN)]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        assert call(lambda client: client.run("1", idempotency_key="k1")).stdout == "2\n"


def test_a_refused_run_is_not_sent_again(kind: str) -> None:
    with Scripted(refusal(503, "host_full", Retry_After="0")) as server, Caller(kind, server.url) as call:
        with pytest.raises(glovebox.UnavailableError) as caught:
            call(lambda client: client.run("1"))
        assert (caught.value.code, caught.value.retry_after) == ("host_full", 0.0)
        assert len(server.requests) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_a_get_waits_for_retry_after_and_is_sent_again(kind: str, status: int) -> None:
    answers: List[Said] = [
        refusal(status, "later", Retry_After="0"),
        CLOSE,
        answer(200, {"templates": [{"name": "a"}]}),
    ]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        assert [found.name for found in call(lambda client: client.templates.list())] == ["a"]
        assert len(server.requests) == 3


def test_retries_are_bounded(kind: str) -> None:
    with Scripted(*[CLOSE] * 9) as server, Caller(kind, server.url) as call:
        with pytest.raises(glovebox.ConnectionFailed):
            call(lambda client: client.templates.list())
        assert len(server.requests) == 3


def test_without_retry_after_an_error_is_final(kind: str) -> None:
    with Scripted(refusal(503, "unavailable")) as server, Caller(kind, server.url) as call:
        with pytest.raises(glovebox.UnavailableError):
            call(lambda client: client.templates.list())
        assert len(server.requests) == 1


def test_a_refused_connection_names_the_address(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with Caller(kind, f"http://127.0.0.1:{port}") as call, pytest.raises(glovebox.ConnectionFailed, match=str(port)):
        call(lambda client: client.run("1"))


def test_requests_time_out(kind: str) -> None:
    with Scripted(SILENCE) as server, Caller(kind, server.url) as call:
        began = time.monotonic()
        with pytest.raises(glovebox.TimeoutExpired):
            call(lambda client: client.run("1", request_timeout=0.2))
        assert time.monotonic() - began < 5
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, glovebox.InvalidRequestError),
        (401, glovebox.AuthError),
        (403, glovebox.ForbiddenError),
        (404, glovebox.NotFoundError),
        (409, glovebox.ConflictError),
        (413, glovebox.InvalidRequestError),
        (422, glovebox.InvalidRequestError),
        (429, glovebox.LimitError),
        (500, glovebox.ApiError),
        (502, glovebox.UnavailableError),
        (507, glovebox.LimitError),
    ],
)
def test_every_status_has_its_error(kind: str, status: int, error: type) -> None:
    with Scripted(refusal(status, "some_code")) as server, Caller(kind, server.url) as call:
        with pytest.raises(glovebox.ApiError) as caught:
            call(lambda client: client.run("1"))
        said = caught.value
        assert type(said) is error
        assert (said.status, said.code, said.message, said.request_id) == (status, "some_code", "said by a test", "rq1")


def test_an_error_that_is_not_json_is_reported_as_text(kind: str) -> None:
    said = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 11\r\n\r\nproxy broke"
    with Scripted(said) as server, Caller(kind, server.url) as call:
        with pytest.raises(glovebox.UnavailableError, match="proxy broke"):
            call(lambda client: client.run("1"))


def test_a_response_that_is_not_json_is_a_protocol_error(kind: str) -> None:
    json = "application/json"
    saids = [answer_of(body, json) for body in (b"<html>", b"[" * 100_000, b"1" * 10_000, b"", b"{}", b"[]", b"null")]
    saids += [answer_of(jsonlib.dumps(RUN).encode(), "text/html"), answer(204), b"HTTP/1.1 20\xb2 OK\r\n\r\n"]
    for said in saids:
        with Scripted(said) as server, Caller(kind, server.url) as call, pytest.raises(glovebox.ProtocolError):
            call(lambda client: client.run("1"))


def test_pages_are_fetched_as_needed(kind: str) -> None:
    pages = [
        answer(200, {"runs": [{"id": "rn1"}, {"id": "rn2"}], "next_cursor": "c/1"}),
        answer(200, {"runs": [{"id": "rn3"}], "next_cursor": None}),
    ]
    with Scripted(*pages) as server, Caller(kind, server.url) as call:
        assert [run.id for run in call(lambda client: client.runs.list(status="ok"))] == ["rn1", "rn2", "rn3"]
        assert [request.target for request in server.requests] == [
            "/v1/runs?status=ok",
            "/v1/runs?cursor=c%2F1&status=ok",
        ]


def test_a_limit_ends_the_pages(kind: str) -> None:
    page = answer(200, {"sandboxes": [SANDBOX, {**SANDBOX, "id": "sb2"}], "next_cursor": "more"})
    with Scripted(page) as server, Caller(kind, server.url) as call:
        found = call(lambda client: call.Sandbox.list(limit=2, client=client))
        assert [sandbox.id for sandbox in found] == ["sb1", "sb2"]
        assert server.requests[0].target == "/v1/sandboxes?limit=2"


def test_ids_stay_within_their_part_of_the_path(kind: str) -> None:
    with Scripted(answer(200, {"id": "x"})) as server, Caller(kind, server.url) as call:
        call(lambda client: client.runs.get("../keys?x=1#"))
        assert server.requests[0].target == "/v1/runs/..%2Fkeys%3Fx%3D1%23"
        for id in ("", ".", ".."):
            with pytest.raises(ValueError):
                call(partial(_get_run, id))


def test_live_events_are_put_together(kind: str) -> None:
    lines = (
        b'{"event":"stdout","text":"a\\n"}\n{"event":"stderr","base64":"/w=="}\n'
        b'{"event":"result","mime":{"text/plain":"5"},"main":false}\n'
        b'{"event":"exit","id":"rn1","exit_code":0,"result":null,"results":[{"text/plain":"5"}]}\n'
    )
    chunks = b"".join(
        b"%x\r\n" % len(lines[at : at + 9]) + lines[at : at + 9] + b"\r\n" for at in range(0, len(lines), 9)
    )
    said = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
        + chunks
        + b"0\r\n\r\n"
    )
    heard: List[Any] = []
    with Scripted(said) as server, Caller(kind, server.url) as call:
        result = call(
            lambda client: client.run(
                "1", on_stdout=heard.append, on_stderr=heard.append, on_result=lambda mime: heard.append(mime.text)
            )
        )
        assert server.requests[0].headers["accept"] == "application/x-ndjson"
    assert heard == ["a\n", "\ufffd", "5"]
    assert (result.stdout, result.stderr_bytes, result.results[0].text) == ("a\n", b"\xff", "5")


def test_a_connection_is_kept_after_a_file_and_not_after_half_of_one(kind: str) -> None:
    made, file = answer(201, SANDBOX), answer_of(b"hello", "application/octet-stream")
    with Scripted(made, file, file, file, file) as server, Caller(kind, server.url) as call:
        sandbox = call(lambda client: call.Sandbox.create(client=client))
        assert [call.wait(sandbox.files.read("a")) for _ in range(2)] == [b"hello"] * 2
        with pytest.raises(glovebox.GloveboxError, match="max_bytes"):
            call.wait(sandbox.files.read("a", max_bytes=4))
        assert call.wait(sandbox.files.read("a")) == b"hello"
        assert [request.connection for request in server.requests] == [0, 0, 0, 0, 1]


def test_live_events_that_end_too_early_are_an_error(kind: str) -> None:
    body = b'{"event":"stdout","text":"a"}\n'
    failed = body + b'{"event":"error","code":"launcher_restarting","message":"gone"}\n'
    for content, error in ((body, glovebox.ProtocolError), (failed, glovebox.UnavailableError)):
        said = answer_of(content, "application/x-ndjson")
        with Scripted(said) as server, Caller(kind, server.url) as call, pytest.raises(error):
            call(lambda client: client.run("1", on_stdout=len))


def test_an_exception_of_a_callback_passes_through(kind: str) -> None:
    body = b'{"event":"stdout","text":"a"}\n'
    said = answer_of(body + b" " * 10_000_000, "application/x-ndjson")[:200]

    def fail(_: str) -> None:
        raise KeyError("mine")

    with Scripted(said) as server, Caller(kind, server.url) as call, pytest.raises(KeyError, match="mine"):
        call(lambda client: client.run("1", on_stdout=fail))


def test_pieces_of_unknown_length_go_in_chunks(kind: str) -> None:
    with Scripted(answer(201, SANDBOX), answer(200, {"path": "a"})) as server, Caller(kind, server.url) as call:
        sandbox = call(lambda client: call.Sandbox.create(client=client))
        call(lambda client: sandbox.files.write("a", iter([b"he", b"", b"llo"])))
        assert (server.requests[1].method, server.requests[1].body) == ("PUT", b"hello")


@pytest.mark.parametrize("error", [OSError(5, "disk"), ConnectionResetError("mine"), TimeoutError("mine"), KeyError(1)])
@pytest.mark.parametrize("reads", [False, True])
def test_an_exception_of_the_source_passes_through_and_nothing_is_sent_again(
    kind: str, error: Exception, reads: bool
) -> None:
    class Source:
        """The second piece fails; a retry would find the end."""

        def __init__(self) -> None:
            self._left: Iterator[Any] = iter([b"half of it", error, b""])

        def read(self, _: int) -> bytes:
            piece = next(self._left)
            if isinstance(piece, Exception):
                raise piece
            return bytes(piece)

    def pieces() -> Iterator[bytes]:
        yield b"half of it"
        raise error

    with Scripted(answer(201, SANDBOX), answer(200, {"path": "a"})) as server, Caller(kind, server.url) as call:
        sandbox = call(lambda client: call.Sandbox.create(client=client))
        with pytest.raises(type(error)) as caught:
            call(lambda client: sandbox.files.write("a", Source() if reads else pieces()))
        assert caught.value is error
        assert len(server.requests) == 1 and server.left == 1  # a request that did not end is none


def test_pieces_are_never_sent_twice(kind: str) -> None:
    with Scripted(answer(201, SANDBOX), CLOSE, answer(200, {"path": "a"})) as server, Caller(kind, server.url) as call:
        sandbox = call(lambda client: call.Sandbox.create(client=client))
        with pytest.raises(glovebox.ConnectionFailed):
            call(lambda client: sandbox.files.write("a", iter([b"he", b"llo"])))
        assert server.left == 1
        with pytest.raises(TypeError, match="bytes"):
            call(lambda client: sandbox.files.write("a", iter(["text"])))


def test_a_repeated_delete_that_finds_nothing_succeeds(kind: str) -> None:
    with Scripted(CLOSE, refusal(404, "not_found")) as server, Caller(kind, server.url) as call:
        assert call(lambda client: client.snapshots.remove("sn1")) is None
        assert [request.method for request in server.requests] == ["DELETE", "DELETE"]
    for answers in ([refusal(404, "not_found")], [refusal(503, "later", Retry_After="0"), refusal(404, "not_found")]):
        with Scripted(*answers) as server, Caller(kind, server.url) as call, pytest.raises(glovebox.NotFoundError):
            call(lambda client: client.snapshots.remove("sn1"))


@pytest.mark.parametrize("page", [answer_of(b"<html>", "text/html"), answer(204)])
def test_an_error_page_of_a_proxy_is_not_a_file(kind: str, page: bytes, tmp_path: Path) -> None:
    local = tmp_path / "local"
    local.write_text("mine")
    info = answer(200, {"path": "a", "type": "file"})
    with Scripted(answer(201, SANDBOX), page, info, page) as server, Caller(kind, server.url) as call:
        sandbox = call(lambda client: call.Sandbox.create(client=client))
        with pytest.raises(glovebox.ProtocolError):
            call.wait(sandbox.files.read("a"))
        with pytest.raises(glovebox.ProtocolError):
            call.wait(sandbox.files.download("a", local))
    assert local.read_text() == "mine" and os.listdir(tmp_path) == ["local"]


def test_a_download_that_breaks_leaves_what_was_there(kind: str, tmp_path: Path) -> None:
    local, link = tmp_path / "local", tmp_path / "link"
    local.write_text("mine")
    local.chmod(0o640)
    link.symlink_to(local)
    info, file = answer(200, {"path": "a", "type": "file"}), answer_of(b"theirs", "application/octet-stream")
    answers = [answer(201, SANDBOX), info, file[:-2], info, file, info, file]
    with Scripted(*answers, close_after_answer=True) as server, Caller(kind, server.url) as call:
        sandbox = call(lambda client: call.Sandbox.create(client=client))
        with pytest.raises(glovebox.ConnectionFailed):
            call.wait(sandbox.files.download("a", local))
        assert local.read_text() == "mine"
        assert call.wait(sandbox.files.download("a", link)) == [str(link)]
        assert (local.read_text(), local.stat().st_mode & 0o777, link.is_symlink()) == ("theirs", 0o640, True)
        assert call.wait(sandbox.files.download("a", "/dev/null")) == ["/dev/null"]
    assert sorted(os.listdir(tmp_path)) == ["link", "local"] and stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_an_upload_that_is_refused_half_way_says_why(kind: str) -> None:
    """The server answers and closes while we still send."""

    def endless() -> Iterator[bytes]:
        for _ in range(2000):
            yield b"x" * 65536

    listener = socket.create_server(("127.0.0.1", 0))
    refused = refusal(507, "disk_full", Connection="close")

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(refused)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 20):
                pass

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with Caller(kind, f"http://127.0.0.1:{listener.getsockname()[1]}") as call:
            with pytest.raises(glovebox.LimitError):
                call(lambda client: client._request("PUT", "/v1/x", body=endless()))
    finally:
        listener.close()
        thread.join(10)


def test_wrong_arguments_are_refused_before_sending(kind: str) -> None:
    with Scripted() as server, Caller(kind, server.url) as call:
        wrongs: List[Tuple[Any, Dict[str, Any]]] = [
            (ValueError, {}),
            (ValueError, {"code": "1", "command": "ls"}),
            (TypeError, {"code": b"1"}),
            (TypeError, {"code": "1", "args": "one"}),
            (TypeError, {"code": "1", "env": {"A": 1}}),
            (TypeError, {"code": "1", "timeout": "5"}),
            (ValueError, {"code": "1", "timeout": -1}),
            (ValueError, {"code": "1", "fs": ["/data"]}),
            (ValueError, {"code": "1", "fs": "/data"}),
            (ValueError, {"code": "1", "idempotency_key": "k", "on_stdout": print}),
            (ValueError, {"code": "1", "idempotency_key": "a\nb"}),
        ]
        for error, wrong in wrongs:
            with pytest.raises(error):
                call(partial(_run, wrong))
        assert server.requests == []


def test_a_cancelled_request_does_not_leave_half_a_response() -> None:
    import asyncio

    async def main(url: str) -> str:
        async with glovebox.AsyncClient(url, "k") as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.run("slow"), 0.1)
            return (await client.run("1")).stdout

    with Scripted(SILENCE, answer(200, RUN)) as server:
        assert asyncio.run(main(server.url)) == "2\n"
        assert [request.connection for request in server.requests] == [0, 1]


def test_a_sandbox_is_chosen_by_its_name_or_by_the_beginning_of_its_id() -> None:
    first = SandboxInfo(id="sb" + "a" * 20, state="running", template="base", name="blue")
    second = SandboxInfo(id="sb" + "b" * 20, state="running", template="base", name="sbaa-like")
    found = [first, second]
    assert sandboxes.choose("blue", found) is first
    assert sandboxes.choose("sbbb", found) is second
    assert sandboxes.choose("sbaa-like", found) is second
    with pytest.raises(ConflictError, match="ambiguous"):
        sandboxes.choose("blue", [first, first])
    # Whatever a server lists, another sandbox is never the one that was meant.
    for word in ("", "sb", "sbb", "green", "sbcc"):
        with pytest.raises(NotFoundError):
            sandboxes.choose(word, found)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"env": ["A=1"]}, "env must be a dict.* not list"),
        ({"files": ["a.txt"]}, "files must be a dict.*'a.txt'"),
        ({"args": 5}, "args must be a list of strings, not int"),
        ({"fs": 5}, "fs must not be int"),
    ],
    ids=repr,
)
def test_an_option_of_another_type_is_named(options: Dict[str, Any], complaint: str) -> None:
    with pytest.raises(TypeError, match=complaint):
        run_request("1", **options)


def test_reuse_is_part_of_the_profile() -> None:
    assert run_request("1", reuse="sandbox").json["profile"] == {"reuse": "sandbox"}
    assert "profile" not in run_request("1", reuse="never").json
    for wrong in ("always", "", "Sandbox"):
        with pytest.raises(ValueError, match="reuse must be"):
            run_request("1", reuse=wrong)
    assert Options(reuse="sandbox").profile() == {"reuse": "sandbox"}
    with pytest.raises(ValueError, match="reuse must be"):
        Options(reuse="session")


def test_an_image_takes_the_place_of_a_template_and_of_a_program() -> None:
    assert run_request(image="base:1").json == {"profile": {"image": "base:1"}}
    assert run_request("1", image="base:1").json == {"code": "1", "language": "python", "profile": {"image": "base:1"}}
    with pytest.raises(ValueError, match="image= or template="):
        run_request("1", image="base:1", template="python")
    with pytest.raises(ValueError, match="code or command"):
        run_request("1", command="x", image="base:1")
    assert sandboxes.create(image="base:1").json == {"profile": {"image": "base:1"}}
    assert create_template("t", image="base:1").json == {"name": "t", "profile": {"image": "base:1"}}
    made = create_template("t", "node", image="base:1", preload=["a"])
    assert made.json == {"name": "t", "from": "node", "preload": ["a"], "profile": {"image": "base:1"}}
    for wrong in ({}, {"snapshot": "sn1", "image": "base:1"}, {"base": "python", "snapshot": "sn1"}):
        with pytest.raises(ValueError, match="of an image or of a snapshot"):
            create_template("t", **wrong)
    with pytest.raises(ValueError, match="one of them"):
        sandboxes.create(image="base:1", template="python")


def test_map_takes_reuse_for_its_calls_alone() -> None:
    assert square.profile == {}
    assert square._reusing(None) is square
    assert square._reusing("sandbox").profile == {"reuse": "sandbox"}
    assert square.profile == {}


def test_a_template_may_have_waiting_sandboxes(kind: str) -> None:
    made = {"name": "t", "session_pool": {"min": 0, "max": 2}}
    with Scripted(answer(201, made)) as server, Caller(kind, server.url) as call:
        template = call(lambda client: client.templates.create("t", "python", pool=3, session_pool={"max": 2}))
        asked = {"name": "t", "from": "python", "pool": {"min": 3}, "session_pool": {"max": 2}}
        assert (server.requests[0].json, template.session_pool) == (asked, made["session_pool"])


@pytest.mark.parametrize("pool", [-1, True, "2-8", {}, {"most": 3}, {"min": "1"}, {"min": -1}, [1, 2]])
def test_a_wrong_pool_is_refused_before_anything_is_sent(pool: Any) -> None:
    for field in ("pool", "session_pool"):
        with pytest.raises(ValueError, match=f"^{field} must be"):
            create_template("t", "python", **{field: pool})
