"""Which functions can run in a sandbox, and what of their source goes along."""

from __future__ import annotations

import ast
import functools
import importlib
import linecache
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, Iterator, List

import pytest

from glovebox.functions.decorator import sandboxed
from glovebox.functions.options import Options, choose_template
from glovebox.functions.source import check_function, shipped_source
from glovebox.functions.source_slice import needed_source
from glovebox.remote_errors import FunctionRefused


def plain(x: int) -> int:
    return x


def pieces(x: int) -> Iterator[int]:
    yield x


async def async_pieces(x: int) -> Any:
    yield x


def doubled(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return 2 * function(*args)

    return wrapper


@doubled
def wrapped(x: int) -> int:
    return x


class Thing:
    def method(self) -> None:
        pass

    @staticmethod
    def static() -> None:
        pass

    def __call__(self) -> None:
        pass


def nested() -> Any:
    def inner() -> None:
        pass

    return inner


def closure(y: int) -> Any:
    def inner() -> int:
        return y

    return inner


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (lambda x: x, "write it as `def`"),
        (nested(), "nested in another function.*top level"),
        (closure(1), "closure over y.*arguments"),
        (pieces, "generator.*return a list"),
        (async_pieces, "generator.*return a list"),
        (Thing.method, "method"),
        (Thing().method, "method"),
        (Thing.static, "method"),
        (staticmethod(plain), "method"),
        (functools.partial(plain, 1), "functools.partial"),
        (Thing, "class"),
        (Thing(), "not a function"),
        (print, "no Python source"),
        (None, "not a function"),
        ("plain", "not a function"),
    ],
    ids=lambda value: str(value)[:25],
)
def test_functions_that_cannot_run_in_a_sandbox_are_refused_with_advice(function: Any, advice: str) -> None:
    with pytest.raises(FunctionRefused, match=advice) as caught:
        check_function(function)
    assert isinstance(caught.value, TypeError)
    assert "\n" not in str(caught.value)


def test_functions_that_can_run_in_a_sandbox() -> None:
    async def nothing() -> None:
        pass

    for function in (plain, wrapped, functools.lru_cache(plain)):
        check_function(function)


def test_unsuitable_functions_are_refused_at_decoration() -> None:
    with pytest.raises(FunctionRefused):
        sandboxed(nested())
    with pytest.raises(FunctionRefused):
        sandboxed(mem_mb=64)(pieces)


def test_a_module_is_shipped_whole_and_by_its_own_name() -> None:
    shipped = shipped_source(plain)
    assert shipped.module == __name__
    assert shipped.function == "plain"
    assert shipped.text == Path(__file__).read_text(encoding="utf-8")
    assert shipped.file == __name__.replace(".", "/") + ".py"
    assert str(Path.cwd()) not in shipped.file


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "gbx_pkg").mkdir()
    (tmp_path / "gbx_pkg/__init__.py").write_text("def at_the_top(): return 1\n")
    (tmp_path / "gbx_pkg/part.py").write_text("from glovebox import sandboxed\n@sandboxed\ndef f(): return 'old'\n")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("gbx_pkg")]:
        del sys.modules[name]


def test_a_package_and_its_module(package: Path) -> None:
    top = importlib.import_module("gbx_pkg")
    assert shipped_source(top.at_the_top).file == "gbx_pkg/__init__.py"
    assert shipped_source(top.at_the_top).is_package
    part = importlib.import_module("gbx_pkg.part")
    assert (part.f._shipped.module, part.f._shipped.is_package) == ("gbx_pkg.part", False)


def test_the_source_as_imported_is_shipped(package: Path) -> None:
    part = importlib.import_module("gbx_pkg.part")
    (package / "gbx_pkg/part.py").write_text("def f(): return 'new'\n")
    assert "'old'" in part.f._shipped.text
    assert "'old'" in part.f.with_options(timeout=1)._shipped.text


def test_without_source_only_the_call_is_refused() -> None:
    module = types.ModuleType("gbx_made_up")
    sys.modules["gbx_made_up"] = module
    try:
        exec("def f(x): return x + 1", vars(module))  # noqa: S102
        function = sandboxed(vars(module)["f"])
        assert function.local(1) == 2
        with pytest.raises(FunctionRefused, match="the source of its module"):
            function(1)
    finally:
        del sys.modules["gbx_made_up"]


def run_script(path: Path, text: str) -> str:
    path.write_text(text)
    root = str(Path(__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-B", str(path)], env={"PYTHONPATH": root}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_only_the_definitions_of_a_script_are_shipped(tmp_path: Path) -> None:
    out = run_script(
        tmp_path / "job.py",
        "import math, os\n"
        "from glovebox import sandboxed\n"
        "LIMIT = 5\n"
        "def helper(x): return math.floor(x) + LIMIT\n"
        "@sandboxed\n"
        "def f(x):\n"
        "    result = helper(x)\n"
        "    return result\n"
        "result = f.local(1.5)\n"
        "print(result)\n"
        "shipped = f._shipped\n"
        "print(repr((shipped.module, shipped.file, shipped.text)))\n"
        "if __name__ == '__main__':\n"
        "    print('main')\n",
    ).splitlines()
    module, file, text = ast.literal_eval(out[1])
    assert (module, file) == ("__sandboxed__", "job.py")
    assert [line for line in text.split("\n") if line] == [
        "import math, os",
        "from glovebox import sandboxed",
        "LIMIT = 5",
        "def helper(x): return math.floor(x) + LIMIT",
        "@sandboxed",
        "def f(x):",
        "    result = helper(x)",
        "    return result",
    ]
    assert text.split("\n")[5] == "def f(x):"  # on its own line


def test_only_the_needed_statements_of_a_line_are_shipped() -> None:
    text = 'SECRET = "hunter2"; USED = [3,\n 4]; MORE = 5 # all\ndef f(): return USED, MORE\n'
    made = needed_source(text, "f", {}, "job.py")
    assert made == "USED = [3,\n 4]; MORE = 5\ndef f(): return USED, MORE\n"
    assert needed_source("a = 1; b = 'é'; c = 3\ndef f(): return c", "f", {}, "x") == "c = 3\ndef f(): return c"


def test_a_name_that_was_defined_again_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "from glovebox import sandboxed\n@sandboxed\ndef f(): return 1\ng = f\n@sandboxed\ndef f(): return 2\n"
    (tmp_path / "gbx_twice.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    twice = importlib.import_module("gbx_twice")
    for function in (twice.g, twice.g.with_options(timeout=1)):
        with pytest.raises(FunctionRefused, match=r"line 2 .* again in line 5.*another name"):
            function()
    assert twice.f.with_options(timeout=1)._encoder(None) is not None and twice.g.local() == 1
    # A module that is loaded anew is another one, and its functions of before keep their source.
    before = twice.f
    (tmp_path / "gbx_twice.py").write_text("\n\n" + text)
    importlib.invalidate_caches()
    importlib.reload(twice)
    assert before._encoder(None) is not None and twice.f._encoder(None) is not None


def test_a_console_keeps_no_source() -> None:
    code = "from glovebox import sandboxed\n@sandboxed\ndef f(): pass\ntry: f()\nexcept TypeError as e: print(e)"
    root = str(Path(__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], env={"PYTHONPATH": root}, capture_output=True, text=True, timeout=60
    )
    assert "keeps no source" in done.stdout and "into a file" in done.stdout, done


class Notebook:
    """Cells in __main__, as IPython compiles them: a file name and a text in linecache for each."""

    def __init__(self) -> None:
        self.module = types.ModuleType("__main__")
        self.count = 0

    def cell(self, text: str) -> None:
        self.count += 1
        name = f"/tmp/ipykernel_7/{self.count}.py"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        exec(compile(text, name, "exec"), vars(self.module))  # noqa: S102

    def shipped(self, name: str) -> List[str]:
        before = sys.modules["__main__"]
        sys.modules["__main__"] = self.module
        try:
            made = shipped_source(vars(self.module)[name])
        finally:
            sys.modules["__main__"] = before
        compile(made.text, made.file, "exec")
        return [line for line in made.text.split("\n") if line]


def test_only_the_needed_definitions_of_cells_are_shipped() -> None:
    notebook = Notebook()
    notebook.cell("import math as m\nfrom json import dumps as d\nimport os.path\nprint")
    notebook.cell("class P:\n    def go(self): return m.pi\ndef unused(): pass")
    notebook.cell("def helper(x): return d([x, P().go()])")
    notebook.cell("LIMIT = 3\ndef f(x):\n    return helper(x) * LIMIT, os.path.sep\nf(1)")
    names: Any = {}
    exec("\n".join(notebook.shipped("f")), names)  # noqa: S102
    assert names["f"](1) == (notebook.module.helper(1) * 3, "/")
    made = notebook.shipped("f")
    assert not any("unused" in line or line == "f(1)" for line in made)


def test_cells_that_call_each_other() -> None:
    notebook = Notebook()
    notebook.cell("def even(n): return True if n == 0 else odd(n - 1)")
    notebook.cell("from __future__ import annotations\ndef odd(n: Nope): return False if n == 0 else even(n - 1)")
    names: Any = {}
    exec("\n".join(notebook.shipped("odd")), names)  # noqa: S102
    assert names["odd"](5) is True
    assert names["even"](5) is False


def test_a_redefined_cell_is_used_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook()
    monkeypatch.setitem(sys.modules, "__main__", notebook.module)
    notebook.cell("from glovebox import sandboxed\n@sandboxed\ndef f(): return helper()")
    function = notebook.module.f
    notebook.cell("def helper(): return 'first'")
    assert "first" in function._source().text
    notebook.cell("def helper(): return 'second'")
    assert "second" in function._source().text and "first" not in function._source().text


def test_data_of_another_cell_is_refused_with_advice() -> None:
    notebook = Notebook()
    notebook.cell("rows = [1, 2, 3]")
    notebook.cell("def f(): return len(rows)")
    with pytest.raises(FunctionRefused, match=r"`rows`, a list of another cell.*as an argument"):
        notebook.shipped("f")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("import a\nimport b\ndef f(): return a.x", [1, 3]),
        ("x = 1\nx += 1\ny = 2\ndef f(): return x", [1, 2, 4]),
        ("t = {}\nt['a'] = 1\nfor k in 'ab':\n    t[k] = 2\nt.clear()\ndef f(): return t", [1, 2, 3, 4, 6]),
        ("def f(x):\n    x = 1\n    return x\nx = f(1)", [1, 2, 3]),
        ("def f():\n    def g(): return h()\n    return g\ndef h(): return k\nk = 1\nj = 2", [1, 2, 3, 4, 5]),
        ("d = 5\ndef f(a=d): return a", [1, 2]),
        ("class A: pass\nclass B(A): pass\ndef f(): return B()", [1, 2, 3]),
        ("def deco(g): return g\n@deco\ndef f(): pass", [1, 2, 3]),
        ("try:\n    import a\nexcept ImportError:\n    a = None\ndef f(): return a", [1, 2, 3, 4, 5]),
        ("if __name__ == '__main__':\n    x = 1\ndef f(): return x", [3]),
        ("with open('x') as file:\n    text = file.read()\ndef f(): return text", [1, 2, 3]),
        ("from os.path import *\ndef f(): return join('a')", [1, 2]),
        ("(n := 5)\ndef f(): return n", [1, 2]),
        ("def f(): return [z for z in range(3)]\nz = f()", [1]),
        ("x = 1\ndef f():\n    global x\n    x = 2", [1, 2, 3, 4]),
        ("a, (b, *c) = 1, (2, 3)\ndef f(): return c", [1, 2]),
        ("T = 'x'\ndef f(v: T) -> T: return v", [1, 2]),
    ],
)
def test_lines_that_a_function_needs(text: str, kept: List[int]) -> None:
    made = needed_source(text, "f", {}, "x.py")
    lines = text.split("\n")
    assert made.split("\n") == [line if place in kept else "" for place, line in enumerate(lines, 1)]


# --- options ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"net": "internet"}, "'internet'"),
        ({"net": ["pypi.org", "127.1"]}, r"net.allow\[1\]: '127.1'"),
        ({"net": {"deny": ["evil.example"], "alow": []}}, "net.alow is an unknown field"),
        ({"net": 5}, "net must be"),
        ({"memory": 5}, "no option 'memory'; its options are .*mem_mb"),
        ({"fs": "r:/data"}, "must be a list"),
        ({"fs": ["/data"]}, "fs"),
        ({"fs": ["x:/data"]}, "fs"),
        ({"preload": "numpy"}, "list of modules"),
        ({"preload": ["os; import x"]}, "not a module name"),
        ({"min_grade": "great"}, "min_grade"),
        ({"env": {"A": 1}}, "env"),
        ({"timeout": "5"}, "timeout"),
        ({"timeout": -1}, "timeout"),
    ],
    ids=repr,
)
def test_invalid_options_are_refused_at_decoration(options: Any, complaint: str) -> None:
    with pytest.raises((TypeError, ValueError), match=complaint):
        sandboxed(**options)


def test_a_list_of_net_is_what_may_be_reached() -> None:
    assert Options(net=["pypi.org:443"]).request(None)["profile"] == {"net": {"allow": ["pypi.org:443"]}}


def test_options_become_the_request() -> None:
    options = Options(
        net="none", fs=["r:data:/d"], cpu_ms=5000, mem_mb=256, timeout=1.5, disk_mb=1, pids=9, cpus=0.5,
        env={"A": "b"}, min_grade="jail", cold=True,
    )  # fmt: skip
    assert options.request(None) == {
        "template": "python",
        "profile": {
            "timeout_ms": 1500, "cpu_ms": 5000, "memory_mb": 256, "cpus": 0.5, "pids": 9, "disk_mb": 1, "net": "none",
            "mounts": [{"name": "data", "path": "/d", "mode": "ro"}],
        },
        "env": {"A": "b"},
        "min_grade": "jail",
        "cold": True,
    }  # fmt: skip
    assert Options().request(None) == {"template": "python"}


def template(name: str, preload: List[str], **more: Any) -> Any:
    return {"name": name, "language": "python", "preload": preload, "built_in": True, "state": "ready", **more}


def test_the_template_for_preload() -> None:
    listing = {
        "templates": [
            template("python", ["json"]),
            template("python-data", ["json", "numpy", "pandas"]),
            template("acme", ["numpy", "acme"], built_in=False),
            template("node", [], language="javascript"),
        ]
    }
    assert choose_template(listing, "python", ["json"]).name == "python"
    assert choose_template(listing, "python", ["numpy"]).name == "python-data"
    assert choose_template(listing, "acme", ["acme"]).name == "acme"
    made = choose_template(listing, "python", ["acme", "json"])
    assert made.definition is not None
    assert made.definition["from"] == "python" and made.definition["preload"] == ["acme", "json"]
    assert len(made.name) <= 32 and made.name[0].isalpha()
    # In any order, and found again when it is there.
    again = {"templates": [*listing["templates"], template(made.name, ["json", "acme"], built_in=False)]}
    assert choose_template(again, "python", ["json", "acme"]) == type(made)(made.name)
    failed = {"templates": [template("python-data", ["numpy"], state="failed")]}
    assert choose_template(failed, "python", ["numpy"]).definition is not None
