"""Functions in sandboxes of a real server."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import itertools
import json
import os
import pickle
import re
import subprocess
import sys
import threading
import time
import traceback
import uuid
from pathlib import Path
from typing import Any, AsyncIterator, Iterator, List

import function_samples as samples
import pytest
from generator_samples import gives_a_generator
from live import Live

import glovebox
from glovebox import RemoteError, RemoteKilled, RemoteOutOfMemory, RemoteTimeout, ResultRefused, ValueRefused
from glovebox.functions import decorator as functions
from glovebox.functions.call_protocol import decode_result
from glovebox.profile import build_progress


@pytest.fixture(scope="module")
def client(server: Live) -> Iterator[glovebox.Client]:
    with server.client() as made:
        yield made


@pytest.fixture
def on(client: glovebox.Client) -> Any:
    """A sample function, on the live server."""

    def choose(name: str, **options: Any) -> Any:
        return getattr(samples, name).with_options(client=client, **options)

    return choose


# --- values -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        None, True, 2**70, 1.5, float("inf"), "é\udc80", b"\x00\xff", bytearray(b"x"), (1, [2, {"a": {3}}]),
        {1: "x", "$": 2}, datetime.datetime.now(datetime.timezone.utc), datetime.date(2026, 1, 2),
        decimal.Decimal("1.50"), uuid.UUID(int=7), datetime.timedelta(1, 2, 3),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_values_round_trip_through_a_call(on: Any, value: Any) -> None:
    made = on("echo")(value)
    assert made == value and type(made) is type(value)
    assert on("kind_of")(value) == f"{type(value).__module__}.{type(value).__qualname__}"


def test_positional_and_keyword_arguments(on: Any) -> None:
    assert on("echo")(1, 2, a=3, decode_result="x") == (1, [2], {"a": 3, "decode_result": "x"})


def test_arrays_and_frames(on: Any) -> None:
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    array = numpy.arange(6.0).reshape(2, 3)
    numpy.testing.assert_array_equal(on("echo")(array), array)
    assert on("kind_of")(array) == "numpy.ndarray"
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", None], "c": pandas.Categorical(["u", "v"])})
    pandas.testing.assert_frame_equal(on("echo")(frame), frame)
    assert on("kind_of")(frame) == "pandas.core.frame.DataFrame"


def test_arguments_that_cannot_be_sent_are_refused(on: Any) -> None:
    with pytest.raises(ValueRefused, match=r"an argument of echo: .*object"):
        on("echo")(object())
    with pytest.raises(ValueRefused, match="module"):
        on("echo")([{"a": sys}])


def test_a_result_that_cannot_be_sent(client: glovebox.Client) -> None:
    with pytest.raises(ValueRefused, match=r"list\(it\)"):
        glovebox.sandboxed(client=client)(gives_a_generator)()


def test_large_arguments_and_results(on: Any) -> None:
    text = "x" * (6 << 20)
    assert on("echo")(text) == text  # compressed both ways
    assert len(on("text_of")(30 << 20)) == 30 << 20
    numbers = list(range(300_000))
    assert on("echo")(numbers) == numbers  # more values than a line of results may have
    data = os.urandom(3 << 20)
    assert on("echo")(data) == data
    with pytest.raises(ValueRefused, match="large_result=True"):
        on("noise")(8 << 20)
    assert len(on("noise", large_result=True, mem_mb=1024)(8 << 20)) == 8 << 20
    with pytest.raises(ValueRefused, match=r"too large.*rw:"):
        on("noise", large_result=True, mem_mb=1024)(20 << 20)


# --- exceptions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("ValueError", ["bad"]), ("KeyError", ["key"]), ("OSError", [13, "no"]), ("ZeroDivisionError", [])],
)
def test_builtin_exceptions_are_raised_in_the_caller(on: Any, name: str, arguments: List[Any]) -> None:
    with pytest.raises(getattr(__import__("builtins"), name)) as caught:
        on("raise_one")(name, *arguments)
    assert caught.value.args == tuple(arguments)
    remote = caught.value.__cause__
    assert isinstance(remote, RemoteError)
    assert 'File "function_samples.py", line' in remote.traceback
    assert "in raise_one" in remote.traceback
    assert "glovebox" not in remote.traceback.replace("glovebox_", "")
    assert "In the sandbox" in "".join(traceback.format_exception(type(caught.value), caught.value, None))


def test_any_other_exception_is_a_remote_error(on: Any) -> None:
    with pytest.raises(RemoteError) as caught:
        on("raise_one")("Broken", "it is")
    assert (caught.value.type_name, caught.value.message) == ("function_samples.Broken", "it is")
    with pytest.raises(RemoteError, match="direct cause"):
        on("raise_from_another")()
    for name in ("SystemExit", "KeyboardInterrupt"):
        with pytest.raises(RemoteError) as caught:
            on("raise_one")(name)
        assert caught.value.type_name == name


def test_wrong_arguments_are_a_type_error(on: Any) -> None:
    with pytest.raises(TypeError, match="double"):
        on("double")(1, 2, 3)


def test_the_run_is_on_record_as_failed(on: Any, client: glovebox.Client) -> None:
    with pytest.raises(ValueError) as caught:
        on("raise_one")("ValueError", "recorded")
    remote = caught.value.__cause__
    assert isinstance(remote, RemoteError) and remote.run_id
    record = client._request("GET", f"/v1/runs/{remote.run_id}")
    assert record["status"] == "failed"


def test_limits(on: Any) -> None:
    with pytest.raises(RemoteTimeout, match="sleep exceeded its time limit"):
        on("sleep", timeout=0.3)(60)
    with pytest.raises(RemoteOutOfMemory):
        on("eat", mem_mb=64)(500)
    with pytest.raises(RemoteKilled, match=r"spin exceeded its limit of CPU time \(cpu_ms\)") as killed:
        on("spin", cpu_ms=200)()
    assert not isinstance(killed.value, TimeoutError)
    with pytest.raises(RemoteKilled, match="exit code 3"):
        on("leave")(3)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ('{"value":{"$":"os.system","v":"id"}}', ResultRefused),
        ('{"value":{"$":"ndarray","dtype":"|O","shape":[1],"v":"AAAAAAAAAAA="}}', ResultRefused),
        ('{"value":' + "[" * 30_000 + "]" * 30_000 + "}", ResultRefused),
        ('{"value":' + "[" * 100_000 + "]" * 100_000 + "}", RemoteError),  # of which the server gives nothing
        ("cos\\nsystem\\n(S'id'\\ntR.", ResultRefused),
        ('{"raised":{"type":"SystemExit","builtin":true,"message":"1","args":[1]}}', RemoteError),
        ('{"raised":{"type":"KeyboardInterrupt","builtin":true,"message":"","args":[]}}', RemoteError),
        ('{"raised":{"type":"StopIteration","builtin":true,"message":"","args":[]}}', RemoteError),
        ('{"raised":5}', RemoteError),
    ],
)
def test_hostile_responses_are_refused(on: Any, value: str, kind: type) -> None:
    line = {"type": "result", "mime": {"application/vnd.glovebox.value": value}, "main": True}
    with pytest.raises(kind):
        on("lie")(json.dumps(line))


# --- what goes along ----------------------------------------------------------------------------------


def test_no_environment_or_variables_of_the_caller_are_sent(on: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HOST", "x")
    found = on("environment", env={"MINE": "y"})()
    assert "SECRET_OF_THE_HOST" not in found and found["MINE"] == "y"
    assert on("listing")("/home/user") == []
    assert not any(str(Path.cwd()) in text for text in on("names_of_the_module")())


def test_the_module_runs_under_its_name_and_main_does_not(on: Any) -> None:
    name, file, calls, qualname, kind = on("names_of_the_module")()
    assert (name, file, calls, qualname, kind) == ("function_samples", "function_samples.py", "", "double", "function")


def test_missing_modules_explain_what_is_shipped(on: Any) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'live'.*name the package of live in dep"):
        on("bring")("live")


def test_other_functions_and_decorators(on: Any) -> None:
    assert on("uses_others")([1, 2]) == (2, [2, 4], 10, 12)
    assert samples.decorated_below.with_options(client=on("echo")._options.client)(1) == 2
    inner = samples.decorated_above.__wrapped__.with_options(client=on("echo")._options.client)
    assert inner(1) == 1  # what stands above is applied here, once


def test_the_sdk_in_a_sandbox_can_be_imported_but_not_used(on: Any) -> None:
    said = on("about_the_sdk")()
    assert said[:2] == ["True", "glovebox.aio"]
    assert len(said) == 5 and all("inside of a sandbox" in one for one in said[2:])


@pytest.mark.parametrize("cold", [False, True])
def test_import_glovebox_in_runs_and_contexts(client: glovebox.Client, cold: bool) -> None:
    code = "import glovebox\n@glovebox.sandboxed(mem_mb=5)\ndef f(x): return x + 1\nf(1) + sum(f.map([1, 2]))"
    answer = client._request("POST", "/v1/run", {"language": "python", "code": code, "cold": cold})
    assert answer["result"]["text/plain"] == "7", answer
    box = client._request("POST", "/v1/sandboxes", {"template": "base" if cold else "python"})
    try:
        body = {"code": code, "language": "python"}
        assert client._request("POST", f"/v1/sandboxes/{box['id']}/code", body)["result"]["text/plain"] == "7"
    finally:
        client._request("DELETE", f"/v1/sandboxes/{box['id']}")


def test_cold(on: Any) -> None:
    assert on("double", cold=True)(4) == 8
    with pytest.raises(ZeroDivisionError):
        on("raise_one", cold=True)("ZeroDivisionError")


def test_output_is_printed_by_the_caller(on: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert on("talk")("hello") == 5
    assert capsys.readouterr() == ("hello\n", "HELLO\n")
    on("talk", show_output=False)("hello")
    assert capsys.readouterr() == ("", "")
    list(on("talk").map(["a", "b", "c", "d"], parallel=4))
    assert capsys.readouterr().out == "a\nb\nc\nd\n"  # in the order of the values
    with pytest.raises(ValueError):
        on("raise_one")("ValueError")
    assert capsys.readouterr() == ("", "")  # the traceback is in the exception


def test_mounts(on: Any, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("seen")
    os.chmod(tmp_path, 0o755)
    reader = on("read", fs=[f"r:{tmp_path}:/data"])
    assert reader("/data/in.txt") == "seen"
    assert on("listing", fs=[f"r:{tmp_path}"])(str(tmp_path)) == ["in.txt"]
    with pytest.raises(OSError):
        on("write", fs=[f"r:{tmp_path}:/data"])("/data/out.txt", "x")
    with pytest.raises(OSError):
        on("read")("/data/in.txt")


def test_a_mount_that_can_be_written(on: Any, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        os.chown(tmp_path, 65534, 65534)  # a directory of root's is never mounted so
    os.chmod(tmp_path, 0o777)
    on("write", fs=[f"rw:{tmp_path}:/out"])("/out/made.txt", "by the guest")
    assert (tmp_path / "made.txt").read_text() == "by the guest"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's directories are refused")
def test_a_directory_of_roots_says_which_chown_makes_it_writable(on: Any, tmp_path: Path) -> None:
    write = on("write", fs=f"rw:{tmp_path}:/out")
    with pytest.raises(glovebox.ForbiddenError, match=rf"run `chown -R \d+:\d+ {tmp_path}`") as caught:
        write("/out/made.txt", "x")
    found = re.search(r"`(chown [^`]*)`", str(caught.value))
    assert found is not None
    subprocess.run(found.group(1).split(), check=True)
    write("/out/made.txt", "by the guest")
    assert (tmp_path / "made.txt").read_text() == "by the guest"


def test_mounts_resolve_symlinks(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    assert samples.read.with_options(fs=[f"r:{tmp_path}/link:/data"]).profile["mounts"] == [
        {"name": "/etc", "path": "/data", "mode": "ro"}
    ]


def test_preload(on: Any, client: glovebox.Client) -> None:
    pytest.importorskip("numpy")
    numbers = on("imports", preload=["numpy"])
    assert numbers("sys")[0] is True
    assert numbers._templates.chosen[client.url] == "python-data"
    own = on("imports", preload=["json.tool", "wave"])
    own("wave")
    name = own._templates.chosen[client.url]
    assert name.startswith("fn-")
    template = client._request("GET", f"/v1/templates/{name}")
    assert template["from"] == "python" and {"json.tool", "wave"} <= set(template["preload"])
    # Imported ahead, once its zygote is there; until then calls go cold.
    assert any(all(own("json.tool", "wave")) for _ in range(200))
    again = on("imports", preload=["wave", "json.tool"])
    again("wave")
    assert again._templates.chosen[client.url] == name
    client._request("DELETE", f"/v1/templates/{name}")


# --- many calls ---------------------------------------------------------------------------------------


def test_map_yields_values_in_order(on: Any) -> None:
    assert list(on("double").map(range(40), parallel=8)) == [2 * number for number in range(40)]
    assert list(on("echo").map([1, 2], "ab")) == [(1, ["a"], {}), (2, ["b"], {})]
    assert list(on("double").map([])) == []


def test_map_reads_items_as_needed(on: Any) -> None:
    taken = []

    def endless() -> Iterator[int]:
        for number in itertools.count():
            taken.append(number)
            yield number

    values = on("double").map(endless(), parallel=3)
    assert taken == []
    assert [next(values) for _ in range(5)] == [0, 2, 4, 6, 8]
    assert len(taken) <= 5 + 2 * 3
    values.close()


def test_map_is_parallel_and_bounded(on: Any) -> None:
    spans = list(on("when", timeout=60).map([0.3] * 9, parallel=3))
    most = max(sum(start <= moment < end for start, end in spans) for moment, _ in spans)
    assert 2 <= most <= 3


def test_the_first_exception_ends_map(on: Any) -> None:
    values = on("raise_one").map(["ValueError", "KeyError"])
    with pytest.raises(ValueError):
        next(values)
    with pytest.raises(StopIteration):
        next(values)
    kinds = [type(one) for one in on("raise_one").map(["ValueError", "Broken"], return_exceptions=True)]
    assert kinds == [ValueError, RemoteError]
    with pytest.raises(ValueError, match="parallel"):
        on("double").map([1], parallel=0)


def test_stopping_early_cancels_calls_in_flight(on: Any, client: glovebox.Client) -> None:
    before = {one.id for one in client.runs.list(limit=20)}
    for value in on("when", timeout=60).map([0, 50, 50, 50], parallel=3):
        assert value[0] <= value[1]
        break
    deadline = time.monotonic() + 20
    states: List[str] = []
    while len(states) < 3 or "running" in states:
        assert time.monotonic() < deadline, states
        states = [one.status for one in client.runs.list(limit=20) if one.id not in before]
        time.sleep(0.05)


def test_program_exit_does_not_wait_for_calls(server: Live, tmp_path: Path) -> None:
    script = tmp_path / "early.py"
    script.write_text(
        "import time\nfrom glovebox import sandboxed\n@sandboxed(timeout=60)\ndef slow(x):\n"
        "    time.sleep(x)\n    return x\nvalues = slow.map([0, 50, 50])\nprint(next(values))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1]), "GLOVEBOX_URL": server.url}
    env["GLOVEBOX_API_KEY"] = server.api_key
    done = subprocess.run([sys.executable, "-B", str(script)], env=env, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def test_large_results_are_decoded_outside_the_event_loop(server: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: List[bool] = []

    def seen(answer: Any, name: str) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return decode_result(answer, name)

    async def use() -> Any:
        client = server.aio_client()
        echo = samples.echo.with_options(client=client)
        sizes = [len(await echo.aio("x" * 10)), len(await echo.aio("x" * 100_000))]
        sizes += [len(one) async for one in echo.amap(["x" * 100_000])]
        await client.close()
        return sizes

    monkeypatch.setattr(functions, "decode_result", seen)
    assert asyncio.run(use()) == [10, 100_000, 100_000]
    assert threads == [True, False, False]


def test_async(server: Live) -> None:
    async def use() -> Any:
        client = server.aio_client()
        double = samples.double.with_options(client=client)
        later = samples.later.with_options(client=client)
        values = await asyncio.gather(*(double.aio(number) for number in range(10)))
        with pytest.raises(ZeroDivisionError):
            await samples.raise_one.with_options(client=client).aio("ZeroDivisionError")

        async def numbers() -> AsyncIterator[int]:
            for number in range(20):
                yield number

        mapped = [value async for value in double.amap(numbers(), parallel=4)]
        pairs = [value async for value in samples.echo.with_options(client=client).amap([1, 2], "ab")]
        some = []
        async for value in double.amap(itertools.count(), parallel=2):
            some.append(value)
            if len(some) == 3:
                break
        preloaded = await samples.imports.with_options(client=client, preload=["json"]).aio("json")
        with pytest.raises(TypeError, match="aio"):
            double(1)
        result = values, await later(1), mapped, pairs, some, preloaded
        await client.close()
        return result

    values, later, mapped, pairs, some, preloaded = asyncio.run(use())
    assert values == [2 * number for number in range(10)]
    assert later == 2
    assert mapped == [2 * number for number in range(20)]
    assert pairs == [(1, ["a"], {}), (2, ["b"], {})]
    assert some == [0, 2, 4]
    assert preloaded == [True]


def test_async_with_an_ordinary_client(on: Any) -> None:
    assert asyncio.run(on("double").aio(4)) == 8


# --- programs -----------------------------------------------------------------------------------------

SCRIPT = """
from glovebox import sandboxed

@sandboxed
def square(x):
    print("squaring", x)
    return x * x

print(square(7))
if __name__ == "__main__":
    print(list(square.map([1, 2])))
"""


def test_a_script_without_a_main_guard_runs_once(server: Live, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    root = str(Path(__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-B", str(tmp_path / "script.py")],
        env={**server.environment(), "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "squaring 7\n49\nsquaring 1\nsquaring 2\n[1, 4]\n"


def run_program(server: Live, folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-B", *words],
        env={**server.environment(), "PYTHONPATH": str(Path(__file__).resolve().parents[1])},
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


STATE = """
import enum, re, sys
from glovebox import sandboxed
CONFIG = {"a": 1}
CONFIG["a"] = 2; CONFIG.update(b=3)
n = int(sys.argv[1])
PATTERN = re.compile(sys.argv[1])
class Color(enum.Enum):
    RED = 1
def add(x): return x + n
TABLE = {"add": add, "color": Color}
if n:
    print("block")
    @sandboxed(timeout=60)
    def f(x, m=n * 2):
        return CONFIG, n, m, PATTERN.pattern, TABLE["add"](x), TABLE["color"].RED.name
    print(f(1))
n += 1
print(f(1) == f.local(1), f(1))
"""


@pytest.mark.parametrize("way", ["script", "module"])
def test_the_state_of_the_module_is_that_of_the_call(server: Live, tmp_path: Path, way: str) -> None:
    (tmp_path / "state.py").write_text(STATE)
    (tmp_path / "main.py").write_text("import state\n")
    out = run_program(server, tmp_path, "state.py" if way == "script" else "main.py", "7").split("\n")
    assert out[:2] == ["block", "({'a': 2, 'b': 3}, 7, 14, '7', 8, 'RED')"]
    assert out[2] == "True ({'a': 2, 'b': 3}, 8, 14, '7', 9, 'RED')"


def test_a_package_brings_its_modules_and_files_once(server: Live, tmp_path: Path) -> None:
    (tmp_path / "app/data").mkdir(parents=True)
    (tmp_path / "app/data/greeting.txt").write_text("hello")
    (tmp_path / "app/__init__.py").write_text("from .tasks import App, score\n")
    (tmp_path / "app/util.py").write_text("import json\ndef helper(x): return json.dumps([x])\n")
    (tmp_path / "app/tasks.py").write_text(
        "from pathlib import Path\nfrom glovebox import sandboxed\nfrom .util import helper\n"
        "class App: pass\n"
        "@sandboxed(include=['data/*.txt'], timeout=60)\ndef score(x):\n"
        "    beside = Path(__file__).parent / 'data/greeting.txt'\n"
        "    return helper(x), beside.read_text(), open('app/data/greeting.txt').read()\n"
    )
    (tmp_path / "main.py").write_text(
        "import glovebox\nfrom app import score\nclient = glovebox.Client()\nsent = []\n"
        "do = client._do\ndef spy(request):\n    sent.append(request.method)\n    return do(request)\n"
        "client._do = spy\nscore = score.with_options(client=client)\n"
        "print(score(1), [score(2)[0], score(3)[0]], sent)\n"
        "print(score.shipment().bundle.files['app/util.py'])\n"
    )
    out = run_program(server, tmp_path, "main.py").split("\n")
    # The second call finds the bundle on the server.
    assert out[0] == "('[1]', 'hello', 'hello') ['[2]', '[3]'] ['POST', 'PUT', 'POST', 'POST', 'POST']"
    assert out[1] == "50"


def test_modules_beside_a_script_go_along(server: Live, tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("import deeper\ndef go(x): return deeper.twice(x)\n")
    (tmp_path / "deeper.py").write_text("def twice(x): return 2 * x\n")
    (tmp_path / "job.py").write_text(
        "import helpers\nfrom glovebox import sandboxed\n"
        "@sandboxed(timeout=60)\ndef f(x): return helpers.go(x)\nprint(f(4))\n"
    )
    assert run_program(server, tmp_path, "job.py") == "8\n"


def test_builds_are_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert build_progress.build_callback(print, ["six"]) is print
    assert build_progress.build_callback(None, ["six"]) is None  # no terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert build_progress.build_callback(None, None) is None
    show = build_progress.build_callback(None, ["six"])
    for phase, text in (("queued", ""), ("installing", "six\x1b[2J"), ("ready", "")):
        show(glovebox.BuildProgress(phase, text))
    assert capsys.readouterr().err == "glovebox: installing: six\\x1b[2J\n"


def test_the_decorated_function_keeps_its_metadata() -> None:
    assert pickle.loads(pickle.dumps(samples.double)) is samples.double  # noqa: S301
    assert samples.double.__name__ == "double" and samples.double.__module__ == "function_samples"
    assert samples.double.local(4) == 8
    assert "function_samples:double" in repr(samples.double)
