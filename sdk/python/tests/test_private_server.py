"""A server of the program's own: started when it is needed, one per process, gone with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_S = 60.0

# What every program begins with: `said(…)` is a line of JSON for the test, `go()` waits for it. That a
# step took long ("Executing … took 0.1 seconds") is what asyncio says of a busy machine, and no fault.
PRELUDE = """
import json, logging, os, signal, sys, threading
import glovebox
logging.getLogger("asyncio").addFilter(lambda record: not record.getMessage().startswith("Executing "))
def said(**words): print(json.dumps(words), flush=True)
def go(): sys.stdin.readline()
def server_pid(): return glovebox.server.private_server._state.server._process.pid
"""


class Program:
    """A Python program that uses glovebox without a configured server."""

    def __init__(self, code: str, environment: Dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", PRELUDE + code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )

    def hear(self) -> Dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.end(check=False))
        return dict(json.loads(line))

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def end(self, check: bool = True) -> str:
        out, err = self.process.communicate(timeout=PATIENCE_S)
        if check:
            assert self.process.returncode == 0, err.decode()
        return out.decode() + err.decode()


@pytest.fixture
def environment(bin_dir: Path, tmp_path: Path) -> Dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GLOVEBOX_")}
    path = [str(ROOT), *(place for place in sys.path if place)]
    return {
        **clean,
        "GLOVEBOX_BIN": str(bin_dir),
        "GLOVEBOX_DATA_DIR": str(tmp_path / "no-server-here"),
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@pytest.fixture
def program(environment: Dict[str, str]) -> "Iterator[Callable[[str], Program]]":
    programs: List[Program] = []

    def start(code: str) -> Program:
        programs.append(Program(code, environment))
        return programs[-1]

    yield start
    for made in programs:
        if made.process.poll() is None:
            made.process.kill()
        made.process.communicate(timeout=PATIENCE_S)


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def assert_gone(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while is_alive(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.01)


def test_three_lines_leave_no_process_behind(program: "Callable[[str], Program]") -> None:
    running = program("result = glovebox.run('print(6 * 7)')\nsaid(out=result.stdout, pid=server_pid())")
    heard = running.hear()
    assert heard["out"] == "42\n"
    assert running.end() == ""
    assert not is_alive(heard["pid"])  # the program ends after its server


def test_it_ends_when_its_process_is_killed(program: "Callable[[str], Program]") -> None:
    running = program("glovebox.run('1')\nsaid(pid=server_pid())\ngo()")
    pid = running.hear()["pid"]
    running.process.kill()
    assert_gone(pid)


def test_it_ends_with_its_process_although_children_live_on(program: "Callable[[str], Program]") -> None:
    """Forked ones and started ones: none of them holds the other end of its input."""
    running = program(
        "import subprocess, time\n"
        "glovebox.run('1')\n"
        "started = subprocess.Popen(['sleep', '600'], close_fds=False)\n"
        "forked = os.fork()\n"
        "if forked == 0:\n    time.sleep(600)\n"
        "said(pid=server_pid(), children=[started.pid, forked])\ngo()"
    )
    heard = running.hear()
    running.process.kill()
    try:
        assert_gone(heard["pid"])
        assert all(is_alive(child) for child in heard["children"])
    finally:
        for child in heard["children"]:
            os.kill(child, signal.SIGKILL)


def test_a_forked_child_starts_its_own(program: "Callable[[str], Program]") -> None:
    running = program(
        "glovebox.run('1')\n"
        "mine = (glovebox.default_client().url, server_pid())\n"
        "if os.fork() == 0:\n"
        "    said(value=glovebox.run('2').value, url=glovebox.default_client().url, pid=server_pid())\n"
        "    sys.exit()\n"
        "os.wait()\n"
        "said(value=glovebox.run('3').value, url=mine[0], pid=mine[1])\n"
        "assert glovebox.default_client().url == mine[0]\n"
    )
    child, parent = running.hear(), running.hear()
    assert running.end() == ""
    assert (child["value"], parent["value"]) == (2, 3)
    assert child["url"] != parent["url"] and child["pid"] != parent["pid"]
    assert_gone(child["pid"])
    assert_gone(parent["pid"])


def test_all_threads_and_clients_share_one(program: "Callable[[str], Program]") -> None:
    running = program(
        "urls = []\n"
        "def work():\n"
        "    with glovebox.Client() as client:\n"
        "        client.run('1')\n"
        "        urls.append(client.url)\n"
        "threads = [threading.Thread(target=work) for _ in range(8)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
        "import asyncio\n"
        "async def main():\n"
        "    async with glovebox.AsyncClient() as client:\n"
        "        await client.run('1')\n"
        "        urls.append(client.url)\n"
        "asyncio.run(main())\n"
        "said(urls=urls)"
    )
    heard = running.hear()["urls"]
    assert running.end() == ""
    assert len(heard) == 9 and len(set(heard)) == 1


def test_a_dead_server_is_reported_and_replaced(program: "Callable[[str], Program]") -> None:
    running = program(
        "client = glovebox.default_client()\n"
        "client.run('1')\n"
        "os.kill(server_pid(), signal.SIGTERM)\n"
        "glovebox.server.private_server._state.server._process.wait()\n"
        "try:\n    client.run('2')\n    said(told=None)\n"
        "except glovebox.ConnectionFailed as error:\n    said(told=str(error))\n"
        "said(value=client.run('3').value)\n"
        "glovebox.stop_private_server()\n"
        "said(value=client.run('4').value)"
    )
    assert "private server has ended" in running.hear()["told"]
    assert (running.hear()["value"], running.hear()["value"]) == (3, 4)
    assert running.end() == ""


def test_ctrl_c_reaches_only_the_program(program: "Callable[[str], Program]") -> None:
    running = program(
        "glovebox.run('1')\n"
        "try:\n    said(pid=os.getpid())\n    go()\nexcept KeyboardInterrupt:\n    said(value=glovebox.run('2').value)"
    )
    os.killpg(running.hear()["pid"], signal.SIGINT)
    assert running.hear()["value"] == 2
    assert running.end() == ""


def test_it_mounts_host_paths_of_its_process(program: "Callable[[str], Program]", tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/in.txt").write_text("from the host")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    running = program(
        f"folder = {str(tmp_path)!r}\n"
        "said(text=glovebox.run('open(\"/data/in.txt\").read()', fs=['r:' + folder + '/link:/data']).value)\n"
        "said(error=glovebox.run('open(\"/data/x\", \"w\")', fs=['r:' + folder + '/data:/data']).error.name)\n"
        "code = 'open(' + repr(folder + '/data/in.txt') + ').read()'\n"
        "said(same=glovebox.run(code, fs=['r:' + folder + '/data']).value)\n"
        "try:\n    glovebox.run('1', fs=['r:/no/such/folder'])\n"
        "except glovebox.ApiError as error:\n    said(status=error.status)"
    )
    assert running.hear()["text"] == "from the host"
    assert running.hear()["error"] == "OSError"
    assert running.hear()["same"] == "from the host"
    assert 400 <= running.hear()["status"] < 500
    assert running.end() == ""


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'no user namespaces here' >&2; exit 1", "no user namespaces here"),
        ("exit 1", "its log is empty"),
        ("echo rubbish; cat", "did not start"),
    ],
)
def test_a_start_that_fails_says_why(environment: Dict[str, str], tmp_path: Path, script: str, words: str) -> None:
    fake = tmp_path / "glovebox"
    fake.write_text("#!/bin/sh\n" + script + "\n")
    fake.chmod(0o755)
    running = Program(
        "try:\n    glovebox.run('1')\nexcept glovebox.ServerStartError as error:\n    said(told=str(error))",
        {**environment, "GLOVEBOX_BIN": str(fake)},
    )
    assert words in running.hear()["told"]
    assert running.end() == ""


def test_a_server_that_is_named_is_never_replaced_by_a_private_one(environment: Dict[str, str]) -> None:
    running = Program(
        "try:\n    glovebox.run('1')\nexcept glovebox.ConnectionFailed as error:\n    said(told=str(error))",
        {**environment, "GLOVEBOX_URL": "http://127.0.0.1:9", "GLOVEBOX_API_KEY": "gbx_x"},
    )
    assert "127.0.0.1:9" in running.hear()["told"]
    assert running.end() == ""
