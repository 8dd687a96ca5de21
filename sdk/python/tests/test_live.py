"""What the conformance suite cannot say in words of no language."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import List

import pytest
from both_clients import KINDS, Caller
from live import Live

import glovebox
from glovebox import Sandbox, aio


def test_threads_share_a_client(server: Live) -> None:
    with server.client() as client, ThreadPoolExecutor(8) as threads:
        values = list(threads.map(lambda n: client.run(f"{n} * 2").value, range(40)))
    assert values == [n * 2 for n in range(40)]


def test_a_forked_child_uses_connections_of_its_own(server: Live) -> None:
    with server.client() as client:
        assert client.run("1").value == 1
        readable, writable = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.write(writable, str(client.run("40 + 2").value).encode())
            finally:
                os._exit(0)
        # At the same time, on what was the connection of both.
        mine = [client.run("7").value for _ in range(5)]
        os.close(writable)
        assert os.read(readable, 100) == b"42" and mine == [7] * 5
        os.close(readable)
        os.waitpid(pid, 0)


def test_a_forked_child_does_not_kill_its_parents_sandbox(server: Live) -> None:
    with server.client() as client, Sandbox.create(client=client) as sandbox:
        pid = os.fork()
        if pid == 0:
            try:
                sandbox.__exit__(None, None, None)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        assert sandbox.info().state == "running"


def test_with_kills_the_sandbox_and_keeps_the_exception(server: Live) -> None:
    with server.client() as client:
        with pytest.raises(KeyError, match="mine"), Sandbox.create(client=client) as sandbox:
            raise KeyError("mine")
        assert sandbox.info().state == "stopped"


def test_ten_thousand_runs_at_once_in_one_loop_are_bounded_by_the_loop_alone(server: Live) -> None:
    async def main() -> List[object]:
        async with server.aio_client() as client:
            return [result.value for result in await asyncio.gather(*(client.run(f"{n}") for n in range(60)))]

    assert asyncio.run(main()) == list(range(60))


def test_the_default_async_client_works_in_many_loops(here: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glovebox.aio.client._default", None)
    assert [asyncio.run(_value(n)) for n in range(3)] == [0, 1, 2]


async def _value(n: int) -> object:
    return (await aio.run(str(n))).value


def test_callbacks_may_be_coroutines(server: Live) -> None:
    heard: List[str] = []

    async def hear(text: str) -> None:
        await asyncio.sleep(0)
        heard.append(text)

    async def main() -> None:
        async with server.aio_client() as client:
            await client.run("print('a')", on_stdout=hear)
            async with await aio.Sandbox.create(client=client) as sandbox:
                await sandbox.shell("echo b", on_stdout=hear)
                await sandbox.code("print('c')", on_stdout=hear)

    asyncio.run(main())
    assert heard == ["a\n", "b\n", "c\n"]


def test_callbacks_get_output_while_it_is_printed(server: Live) -> None:
    with server.client() as client, Sandbox.create(client=client) as sandbox:
        heard = threading.Event()

        def work() -> int:
            with server.client() as other:
                there = Sandbox.connect(sandbox.id, client=other)
                return there.shell("echo first; cat fifo", on_stdout=lambda _: heard.set()).exit_code

        sandbox.exec(["mkfifo", "fifo"])
        with ThreadPoolExecutor(1) as threads:
            running = threads.submit(work)
            assert heard.wait(30) and not running.done()
            sandbox.shell("echo x > fifo")
            assert running.result(30) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_large_input_without_a_reader_does_not_deadlock(kind: str, server: Live) -> None:
    with Caller(kind, server.url, server.api_key, timeout=60) as call:
        sandbox = call(lambda client: call.Sandbox.create(client=client))
        process = call.wait(sandbox.start(["cat"]))
        call.wait(process.write("x" * 5_000_000))
        call.wait(process.close_stdin())
        assert len(call.wait(process.wait(60)).stdout) == 5_000_000
        call.wait(sandbox.kill())


@pytest.mark.parametrize("kind", KINDS)
def test_a_process_can_be_waited_for_again(kind: str, server: Live) -> None:
    with Caller(kind, server.url, server.api_key) as call:
        sandbox = call(lambda client: call.Sandbox.create(client=client))
        process = call.wait(sandbox.start("read line; echo got $line"))
        with pytest.raises(glovebox.TimeoutExpired):
            call.wait(process.wait(0.1))
        call.wait(process.write("it\n"))
        assert call.wait(process.wait(30)).stdout == "got it\n"
        assert call.wait(process.wait()).stdout == "got it\n"
        call.wait(sandbox.kill())


@pytest.mark.parametrize("kind", KINDS)
def test_a_follower_is_told_that_another_took_over(kind: str, server: Live) -> None:
    with Caller(kind, server.url, server.api_key) as call:
        sandbox = call(lambda client: call.Sandbox.create(client=client))
        first = call.wait(sandbox.start(["cat"]))
        second = call.wait(sandbox.attach(first.number))
        with pytest.raises(glovebox.ConflictError) as caught:
            call.wait(first.wait(30))
        assert caught.value.code == "taken_over"
        call.wait(second.close_stdin())
        assert call.wait(second.wait(30)).exit_code == 0
        call.wait(sandbox.kill())


def test_a_watch_can_be_closed_from_another_thread(server: Live) -> None:
    with server.client() as client, Sandbox.create(client=client) as sandbox:
        watch = sandbox.files.watch()
        with ThreadPoolExecutor(1) as threads:
            seen = threads.submit(list, watch)
            watch.close()
            assert seen.result(30) == []


def test_a_process_can_be_closed_from_another_thread(server: Live) -> None:
    with server.client() as client, Sandbox.create(client=client) as sandbox:
        process = sandbox.start(["sleep", "600"])
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(process.wait)
            process.close()
            with pytest.raises(glovebox.ConnectionFailed):
                waiting.result(30)


def test_a_watch_has_a_timeout(server: Live) -> None:
    with server.client() as client, Sandbox.create(client=client) as sandbox:
        began = time.monotonic()
        with sandbox.files.watch(timeout=0.3) as watch, pytest.raises(glovebox.TimeoutExpired):
            next(watch)
        assert time.monotonic() - began < 20


@pytest.mark.parametrize("kind", KINDS)
def test_directories_round_trip(kind: str, server: Live, tmp_path: Path) -> None:
    (tmp_path / "in/sub").mkdir(parents=True)
    (tmp_path / "in/sub/a.txt").write_text("A")
    (tmp_path / "in/run.sh").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "in/run.sh").chmod(0o755)
    (tmp_path / "in/link").symlink_to("/etc/passwd")
    with Caller(kind, server.url, server.api_key) as call:
        sandbox = call(lambda client: call.Sandbox.create(client=client))
        call.wait(sandbox.files.upload(tmp_path / "in", "work"))
        assert call.wait(sandbox.exec(["work/run.sh"], cwd="/home/user")).stdout == "ran\n"
        assert call.wait(sandbox.files.stat("work/link", follow=False)).target == "/etc/passwd"
        call.wait(sandbox.shell("echo B > work/sub/b.txt; mkfifo work/pipe; ln -s / work/root"))
        written = call.wait(sandbox.files.download("work", tmp_path / "out"))
        assert sorted(os.path.relpath(path, tmp_path / "out") for path in written) == [
            "run.sh",
            "sub/a.txt",
            "sub/b.txt",
        ]
        assert (tmp_path / "out/sub/b.txt").read_text() == "B\n" and os.access(tmp_path / "out/run.sh", os.X_OK)
        call.wait(sandbox.files.upload(tmp_path / "in/sub/a.txt", "one.txt"))
        assert call.wait(sandbox.files.download("one.txt", tmp_path / "one")) == [str(tmp_path / "one")]
        assert (tmp_path / "one").read_text() == "A"
        call.wait(sandbox.kill())


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_files_are_bounded_by_max_bytes(kind: str, server: Live, tmp_path: Path) -> None:
    with Caller(kind, server.url, server.api_key) as call:
        sandbox = call(lambda client: call.Sandbox.create(client=client))
        call.wait(sandbox.exec(["truncate", "-s", "100G", "huge"], cwd="/home/user"))
        with pytest.raises(glovebox.GloveboxError, match="max_bytes"):
            call.wait(sandbox.files.read("huge"))
        with pytest.raises(glovebox.GloveboxError, match="max_bytes"):
            call.wait(sandbox.files.download("huge", tmp_path / "huge"))
        assert call.wait(sandbox.files.read("huge", offset=5, length=3)) == b"\0\0\0"
        call.wait(sandbox.kill())


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_all_kinds_of_content_and_names(kind: str, server: Live, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"from a file")
    with Caller(kind, server.url, server.api_key) as call:
        sandbox = call(lambda client: call.Sandbox.create(client=client))
        with open(tmp_path / "f", "rb") as file:
            file.seek(5)
            assert call.wait(sandbox.files.write("a", file)).size == 6
        assert call.wait(sandbox.files.write("b", (b"x" * 10 for _ in range(3)))).size == 30
        assert call.wait(sandbox.files.write(b"odd-\xff", "bytes")).path_bytes.endswith(b"odd-\xff")
        assert call.wait(sandbox.files.read(b"odd-\xff")) == b"bytes"
        assert call.wait(sandbox.files.move(b"odd-\xff", "even")).name == "even"
        assert call.wait(sandbox.files.read("a", offset=-4)) == b"file"
        assert call.wait(sandbox.files.read("a", offset=2, length=0)) == b""
        call.wait(sandbox.kill())


def test_port_url_reaches_a_server_inside(server: Live) -> None:
    import urllib.request

    with server.client() as client, Sandbox.create(client=client) as sandbox:
        process = sandbox.start(["python3", "-u", "-m", "http.server", "8000"], on_disconnect="kill")
        for event in process:
            if "Serving" in event.text:
                break
        url = sandbox.port_url(8000)
        host = url.split("/")[2]
        request = urllib.request.Request(server.url + "/", headers={"Host": host})
        with urllib.request.urlopen(request, timeout=30) as page:
            assert b"Directory listing" in page.read()
        process.close()


def test_a_result_shows_a_table(server: Live) -> None:
    with server.client() as client:
        result = client.run("class T:\n  def _repr_html_(self): return '<table><tr><td>1</td></tr></table>'\nT()")
    assert '<iframe sandbox=""' in result._repr_html_()
    assert result.result is not None and result.result.html == "<table><tr><td>1</td></tr></table>"


def test_a_wrong_key_is_an_auth_error(server: Live) -> None:
    with glovebox.Client(server.url, "gbx_" + "0" * 40) as client, pytest.raises(glovebox.AuthError):
        client.run("1")


def test_health(server: Live) -> None:
    with server.client() as client:
        assert client.is_ready() and client.health()["status"] == "ok"
        assert not client.is_private and client.url == server.url
    assert not glovebox.Client("http://127.0.0.1:9", "k").is_ready()
