"""Which server is used, and that the key goes only to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Dict, Iterator, Optional

import pytest
from scripted_server import Scripted, answer

import glovebox
from glovebox.server import discovery
from glovebox.server.discovery import find_server
from glovebox.server.programs import find_glovebox
from glovebox.transport.endpoint import Endpoint


class Started(Exception):
    """A private server would have been started."""


@pytest.fixture(autouse=True)
def _no_private(monkeypatch: pytest.MonkeyPatch) -> None:
    def start() -> None:
        raise Started

    monkeypatch.setattr(discovery, "private_server", start)


@pytest.fixture(scope="module", autouse=True)
def _server_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A process that the kernel calls as it calls a server."""
    global SERVER
    program = tmp_path_factory.mktemp("bin") / "glovebox-server"
    program.symlink_to(sys.executable)
    words = [str(program), "-I", "-S", "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        SERVER = process.pid
        yield
        process.stdin.close()


SERVER = 0


def data_dir(tmp_path: Path, url: str, pid: Optional[int] = None, key: str = "gbx_admin") -> Dict[str, str]:
    pid = SERVER if pid is None else pid
    (tmp_path / "serve.json").write_text(json.dumps({"url": url, "pid": pid}))
    (tmp_path / "admin.key").write_text(key + "\n")
    return {"GLOVEBOX_DATA_DIR": str(tmp_path)}


def test_arguments_come_first() -> None:
    location = find_server("http://a:1", "k1", {"GLOVEBOX_URL": "http://b:2", "GLOVEBOX_API_KEY": "k2"})
    assert (location.endpoint.url, location.endpoint.key) == ("http://a:1", "k1")


def test_the_environment_comes_second_without_fallback(tmp_path: Path) -> None:
    with Scripted(answer(200, {})) as server:
        environment = {**data_dir(tmp_path, server.url), "GLOVEBOX_URL": "http://127.0.0.1:9", "GLOVEBOX_API_KEY": "k"}
        location = find_server(None, None, environment)
        assert (location.endpoint.url, location.endpoint.key) == ("http://127.0.0.1:9", "k")
    with glovebox.Client("http://127.0.0.1:9", "k") as client, pytest.raises(glovebox.ConnectionFailed):
        client.run("1")


def test_the_local_server_comes_third(tmp_path: Path) -> None:
    with Scripted(answer(200, {"status": "ok"})) as server:
        location = find_server(None, None, data_dir(tmp_path, server.url))
        assert (location.endpoint.url, location.endpoint.key) == (server.url, "gbx_admin")
        assert server.requests[0].target == "/health" and "x-api-key" not in server.requests[0].headers


def test_a_reused_pid_is_not_a_server(tmp_path: Path) -> None:
    """Another process may own its port: it is not probed, and does not get the key."""
    with Scripted(answer(200, {"status": "ok"})) as server:
        stale = data_dir(tmp_path, server.url, pid=os.getpid())
        with pytest.raises(Started):
            find_server(None, None, stale)
        assert find_server(server.url, None, stale).endpoint.key is None
        assert server.requests == []


def test_a_server_that_does_not_respond_is_skipped(tmp_path: Path) -> None:
    for environment in (
        data_dir(tmp_path, "http://127.0.0.1:9"),
        data_dir(tmp_path, "http://127.0.0.1:9", pid=2**22 + 1),
        {"GLOVEBOX_DATA_DIR": str(tmp_path / "none")},
    ):
        with pytest.raises(Started):
            find_server(None, None, environment)
    (tmp_path / "serve.json").write_text("[not json")
    with pytest.raises(Started):
        find_server(None, None, {"GLOVEBOX_DATA_DIR": str(tmp_path)})


def test_the_admin_key_goes_to_its_own_server_only(tmp_path: Path) -> None:
    mine = data_dir(tmp_path, "http://127.0.0.1:7070")
    assert find_server("http://localhost:7070", None, mine).endpoint.key == "gbx_admin"
    assert find_server("http://127.0.0.1:7071", None, mine).endpoint.key is None
    assert find_server("http://example.org:7070", None, mine).endpoint.key is None
    assert find_server("http://127.evil.example:7070", None, mine).endpoint.key is None
    assert find_server("http://127.0.0.2:7070", None, mine).endpoint.key == "gbx_admin"
    assert find_server("http://[::1]:7070", None, mine).endpoint.key == "gbx_admin"
    gone = data_dir(tmp_path, "http://127.0.0.1:7070", pid=2**22 + 1)
    assert find_server("http://localhost:7070", None, gone).endpoint.key is None


@pytest.mark.parametrize(
    "url", ["127.0.0.1:7070", "ftp://a", "http://", "http://a:x", "http://u:p@a", "http://a/?x=1", "http://a\r\nb"]
)
def test_invalid_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError):
        Endpoint.of(url, None)


@pytest.mark.parametrize(
    "url",
    [
        "http://u:SECRET@a",
        "ftp://u:SECRET@a",
        "http://u:SECRET@a:x",
        "http://u:SECRET@[a",
        "u:SECRET@a",
        "http://u:SECRET@a/?x",
    ],
)
def test_a_password_of_an_address_is_not_shown(url: str) -> None:
    client = glovebox.Client(url)
    with pytest.raises(ValueError) as caught:
        client.run("1")
    shown = "".join(traceback.format_exception(type(caught.value), caught.value, None)) + repr(client)
    assert "SECRET" not in shown and "SECRET" not in repr(glovebox.AsyncClient(url))


def test_addresses() -> None:
    endpoint = Endpoint.of("https://box.example/glovebox/", " gbx_1\n")
    assert (endpoint.port, endpoint.base, endpoint.is_secure, endpoint.key) == (443, "/glovebox", True, "gbx_1")
    assert b"Host: [::1]:7070\r\n" in Endpoint.of("http://[::1]:7070", None).fixed
    assert "gbx_1" not in repr(endpoint)
    with pytest.raises(ValueError):
        Endpoint.of("http://a", "key\r\nX-Evil: 1")


def test_programs_are_found_in_their_order(tmp_path: Path) -> None:
    for folder in ("told", "path"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "glovebox").write_text("#!/bin/sh\n")
        (tmp_path / folder / "glovebox").chmod(0o755)
    path = {"PATH": str(tmp_path / "path")}
    assert find_glovebox({**path, "GLOVEBOX_BIN": str(tmp_path / "told")}) == str(tmp_path / "told/glovebox")
    assert find_glovebox({**path, "GLOVEBOX_BIN": str(tmp_path / "told/glovebox")}) == str(tmp_path / "told/glovebox")
    assert find_glovebox(path) == str(tmp_path / "path/glovebox")
    # The command of the package would start itself for ever.
    own = "#!/usr/bin/python3\nfrom glovebox.server.commands import glovebox\nglovebox()\n"
    (tmp_path / "own").mkdir()
    (tmp_path / "own/glovebox").write_text(own)
    (tmp_path / "own/glovebox").chmod(0o755)
    assert find_glovebox({"PATH": f"{tmp_path}/own:{tmp_path}/path"}) == str(tmp_path / "path/glovebox")
    with pytest.raises(glovebox.ServerStartError, match="GLOVEBOX_BIN"):
        find_glovebox({**path, "GLOVEBOX_BIN": str(tmp_path / "nothing")})
    with pytest.raises(glovebox.ServerStartError, match="GLOVEBOX_URL"):
        find_glovebox({"PATH": str(tmp_path)})
