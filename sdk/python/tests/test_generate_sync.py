"""glovebox/sync is what tools/generate_sync.py makes of glovebox/aio."""

from __future__ import annotations

import doctest
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SDK = Path(__file__).resolve().parents[1]
PACKAGE = SDK / "glovebox"


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_sync", SDK / "tools" / "generate_sync.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


generator = load_generator()


def test_the_checked_in_files_are_what_the_generator_makes() -> None:
    for path, text in generator.generated_files().items():
        assert path.read_text(encoding="utf-8") == text, f"{path} is out of date: run `make generate`"
    assert generator.main(["--check"]) == 0


def test_every_file_is_generated_or_has_a_hand_written_counterpart() -> None:
    folders = {name: {path.stem for path in (PACKAGE / name).glob("*.py")} for name in ("aio", "sync")}
    assert folders["sync"] - folders["aio"] == {"_cancellable"}  # uses threads; nothing to generate it from
    assert folders["aio"] - folders["sync"] == set()
    for path in (PACKAGE / "sync").glob("*.py"):
        is_generated = path.read_text().startswith("# Generated from glovebox/aio/")
        assert is_generated == (path.stem not in {*generator.HAND_WRITTEN, "_cancellable"}), path


def test_a_file_that_was_edited_by_hand_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("aio", "sync"):
        (tmp_path / "glovebox" / name).mkdir(parents=True)
    monkeypatch.setattr(generator, "PAIRS", {})
    (tmp_path / "glovebox/aio/x.py").write_text("async def f() -> None:\n    await g()\n")
    monkeypatch.setattr(generator, "PACKAGE", tmp_path / "glovebox")
    assert generator.main(["--check"]) == 1
    assert generator.main([]) == 0
    assert generator.main(["--check"]) == 0
    made = tmp_path / "glovebox/sync/x.py"
    assert made.read_text().splitlines()[1:] == ["def f() -> None:", "    g()"]
    made.write_text(made.read_text() + "\n")
    assert generator.main(["--check"]) == 1
    assert "glovebox/sync/x.py" in capsys.readouterr().err


def test_the_generated_files_have_no_trace_of_asyncio() -> None:
    for path, text in generator.generated_files().items():
        code = text.replace("`await client.connect()`", "")  # the message of a branch that only asyncio reaches
        for word in ("asyncio", "await ", "async ", "Async", "__aenter__"):
            found = code.replace(":class:`glovebox.AsyncClient`", "")
            assert word not in found, f"{word!r} in {path}"


@pytest.mark.parametrize(
    ("source", "made"),
    [
        ("x = (await a.b(1)).c", "x = a.b(1).c"),
        ("if (await a.b()).c: pass", "if a.b().c: pass"),
        ("x = f(await a)", "x = f(a)"),
        ("x = (await a, b)", "x = (a, b)"),
        ("x = (await a or b).c", "x = (a or b).c"),
        ("x = await (await a).b()", "x = a.b()"),
        ("async with await a() as b: pass", "with a() as b: pass"),
        ("x = [y async for y in z]  # why", "x = [y for y in z]  # why"),
        ("def f() -> 'AsyncIterator[int]': ...", "def f() -> 'Iterator[int]': ..."),
        ("raise StopAsyncIteration from None", "raise StopIteration from None"),
        ("x = 'await in a string'", "x = 'await in a string'"),
        ("from typing import Any, AsyncIterable, IO, Iterable", "from typing import IO, Any, Iterable"),
    ],
)
def test_code(source: str, made: str) -> None:
    assert generator.generate(source + "\n", "x.py").split("\n", 1)[1] == made + "\n"


def test_examples_of_the_generator() -> None:
    failed, tried = doctest.testmod(generator)
    assert failed == 0 and tried >= 2
