"""Which functions can run in a sandbox, and what of their source goes along."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import json
import linecache
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, Iterator, List

import pytest

from glovebox.functions import own_modules
from glovebox.functions.decorator import sandboxed
from glovebox.functions.options import Options, choose_template
from glovebox.functions.source import check_function
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


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports a module with the text, and gives it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = []

    def make(text: str, name: str = "gbx_made") -> Any:
        path = tmp_path / (name.replace(".", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("from glovebox import sandboxed\n" + text)
        importlib.invalidate_caches()
        names.append(name)
        return importlib.import_module(name)

    yield make
    for name in names:
        for one in [one for one in sys.modules if one.partition(".")[0] == name.partition(".")[0]]:
            del sys.modules[one]


def values_of(function: Any) -> Any:
    """The values that a call sends, by name, without their order."""
    early, late, attributes = function._source().plan.values()
    return {one[0]: one[1] if len(one) == 2 else ... for one in early + late}, attributes


def lines_of(function: Any) -> List[str]:
    shipped = function._source()
    texts = [text for _, text in shipped.before] + [shipped.text]
    compile(shipped.text, shipped.file, "exec")
    return [line for text in texts for line in text.split("\n") if line]


# --- the rule -----------------------------------------------------------------------------------------


def test_data_has_its_value_of_the_call(made: Any) -> None:
    module = made(
        "import sys\nCONFIG = {}\nCONFIG['a'] = 2\nCONFIG.update(b=3)\nn = len(sys.argv[0]) * 0 + 4\n"
        "for row in range(3):\n    total = row\nUNUSED = 'secret'\n"
        "@sandboxed\ndef f(): return CONFIG, n, total\nCONFIG.update(c=4)\n"
    )
    assert values_of(module.f)[0] == {"CONFIG": {"a": 2, "b": 3, "c": 4}, "n": 4, "total": 2}
    assert lines_of(module.f) == ["from glovebox import sandboxed", "@sandboxed", "def f(): return CONFIG, n, total"]
    module.CONFIG["d"] = [5]
    module.n = None
    assert values_of(module.f)[0] == {"CONFIG": {"a": 2, "b": 3, "c": 4, "d": [5]}, "n": None, "total": 2}


def test_only_what_is_used_is_sent_on_its_own_lines(made: Any) -> None:
    module = made(
        "import math, decimal\nfrom json import dumps as d, loads\n\n\n"
        "class P(dict):\n    def go(self): return math.pi\ndef unused(): pass\n"
        "def helper(x): return d([x, P().go()])\n@sandboxed\ndef f(x): return helper(x)\nprint\n"
    )
    assert module.f._source().text.split("\n") == [
        "from glovebox import sandboxed", "import math", "from json import dumps as d", "", "", "class P(dict):",
        "    def go(self): return math.pi", "", "def helper(x): return d([x, P().go()])", "@sandboxed",
        "def f(x): return helper(x)", "", "",
    ]  # fmt: skip


def test_a_function_in_a_block_is_sent_alone(made: Any) -> None:
    module = made(
        "if True:\n    print('twice', end='')\n    try:\n        import math\n    except ImportError: math = None\n"
        "    @sandboxed(mem_mb=\n        64)\n    def f():\n        return math.pi\n    f.local()\n"
    )
    assert module.f._source().text.split("\n")[1:10] == [
        "if True:", "", "    if True:", "        import math", "", "    @sandboxed", "", "    def f():",
        "        return math.pi",
    ]  # fmt: skip


def test_blocks_whose_branches_are_indented_differently(made: Any) -> None:
    text = "if False:\n  pass\nelse:\n      def h(): return 1\nif True:\n   @sandboxed\n   def f(): return h()\n"
    module = made(text)
    names: Any = {"sandboxed": lambda one: one}
    exec(module.f._source().text.replace("from glovebox import sandboxed", ""), names)  # noqa: S102
    assert names["f"]() == 1


def test_only_the_needed_statements_of_a_line_are_sent(made: Any) -> None:
    text = "SECRET = 'hunter2'; g = lambda: 'é'; h = lambda: (1,\n 2); k = 3 # all\n"
    module = made(text + "@sandboxed\ndef f(): return h(), g()\n")
    assert lines_of(module.f)[1:3] == ["g = lambda: 'é'; h = lambda: (1,", " 2)"]


def test_default_values_are_those_of_the_definition(made: Any) -> None:
    module = made(
        "d = [1]\ndef key(x): return x\n"
        "@sandboxed\ndef f(a, b=d, c=5, *, k=len('é' * 3), by=key,\n      last=(1 +\n   1)): return b\nd = 'other'\n"
    )
    assert values_of(module.f)[0] == {"_default_0_of_f": [1], "_default_k_of_f": 3, "_default_last_of_f": 2}
    assert lines_of(module.f)[3:5] == [
        "def f(a, b=_default_0_of_f, c=5, *, k=_default_k_of_f, by=key,",
        "      last=(_default_last_of_f",
    ]


def test_attributes_of_classes_have_their_values_of_the_call(made: Any) -> None:
    text = "class C:\n    debug = False\n    def m(self): return 1\nC.debug = True\n"
    module = made(text + "@sandboxed\ndef f(): return C.debug\n")
    assert values_of(module.f)[1] == [["C", "debug", True]]
    text = "class C:\n    table = {}\ndef go(): pass\nC.table['go'] = go\n"
    module = made(text + "@sandboxed\ndef f(): return C.table\n", "gbx_table")
    assert "def go(): pass" in lines_of(module.f) and values_of(module.f)[1][0][:2] == ["C", "table"]


def test_what_is_not_data_is_made_from_its_parts(made: Any) -> None:
    module = made(
        "import re, logging, pathlib, enum, functools, collections, threading, dataclasses\n"
        "class Color(enum.Enum):\n    RED = 1\n"
        "@dataclasses.dataclass\nclass Config:\n    a: int\n"
        "def go(): pass\ndef unused(): pass\n"
        "PATTERN = re.compile('x'); LOG = logging.getLogger('a'); WHERE = pathlib.Path('/x'); MEMBER = Color.RED\n"
        "CONFIG = Config(5); TABLE = {'go': go, 'color': Color}; CALL = functools.partial(go)\n"
        "LOCK = threading.Lock()\n"
        "COUNT = collections.Counter('ab'); MISSING = object()\n"
        "@sandboxed\ndef f(): return PATTERN, LOG, WHERE, MEMBER, CONFIG, TABLE, CALL, LOCK, COUNT, MISSING\n"
    )
    sent = values_of(module.f)[0]
    assert set(sent) == {
        "PATTERN", "LOG", "WHERE", "MEMBER", "CONFIG", "TABLE", "CALL", "LOCK", "COUNT", "MISSING"
    }  # fmt: skip
    assert "def go(): pass" in lines_of(module.f) and "class Color(enum.Enum):" in lines_of(module.f)
    # A table that got another function: its definition is sent, too.
    assert "def unused(): pass" not in lines_of(module.f)
    module.TABLE["more"] = module.unused
    assert "def unused(): pass" in json.loads(json.loads(module.f._encode(None, (), {}))["stdin"])["source"]


def test_lambdas_in_a_container(made: Any) -> None:
    module = made(
        "N = 3\nOPS = {'add': lambda a, b: a + b + N, 'sub': lambda a, b: a - b}\n"
        "@sandboxed\ndef f(): return OPS['add'](1, 2)\n"
    )
    assert values_of(module.f)[0] == {"N": 3, "OPS": ...}
    assert lines_of(module.f)[:2] == [
        "_lambda_in_line_3_14 = lambda a, b: a + b + N", "_lambda_in_line_3_45 = lambda a, b: a - b",
    ]  # fmt: skip
    module.OPS["mul"] = lambda a, b: a * b  # of this file, not of the module's
    with pytest.raises(FunctionRefused, match=r"`OPS` in line 5 .* a function"):
        module.f()


def test_definitions_that_are_assignments(made: Any) -> None:
    module = made(
        "from collections import namedtuple\nfrom typing import List, TypeVar\n"
        "Point = namedtuple('Point', 'x y')\ndouble = lambda x: 2 * x\nT = TypeVar('T')\nRows = List[T]\n"
        "@sandboxed\ndef f(rows: Rows): return Point(1, double(2))\n"
    )
    assert lines_of(module.f)[1:7] == [
        "from collections import namedtuple", "from typing import List, TypeVar",
        "Point = namedtuple('Point', 'x y')", "double = lambda x: 2 * x", "T = TypeVar('T')", "Rows = List[T]",
    ]  # fmt: skip


def test_annotations_that_are_not_evaluated_do_not_hinder(made: Any, tmp_path: Path) -> None:
    text = "import sys\nclass Rows(list): pass\nHANDLE = sys.stderr\n@sandboxed\ndef f(a: Rows, b: HANDLE): return 1\n"
    (tmp_path / "gbx_lazy.py").write_text("from __future__ import annotations\nfrom glovebox import sandboxed\n" + text)
    lazy = importlib.import_module("gbx_lazy")
    try:
        assert "class Rows(list): pass" in lines_of(lazy.f)
    finally:
        del sys.modules["gbx_lazy"]
    with pytest.raises(FunctionRefused, match="HANDLE"):
        made(text).f()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("import sys\nOUT = sys.__stderr__\n", r"f uses `OUT` in line 5 of gbx_made.py, .*TextIOWrapper.*make it"),
        ("import threading\nOUT = {'s': [threading.Event()]}\n", r"`OUT` in line 5 .*a threading.Event"),
        ("def make(n):\n    return lambda: n\nOUT = make(5)\n", r"`OUT` in line 6 .*function"),
        ("import threading\nOUT = threading.Thread()\n", r"`OUT` in line 5 .*Thread"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_name_and_line(made: Any, text: str, complaint: str) -> None:
    module = made(text + "@sandboxed\ndef f(): return OUT\n")
    with pytest.raises(FunctionRefused, match=complaint) as caught:
        module.f()
    assert "\n" not in str(caught.value)


def test_a_name_with_two_definitions_is_refused(made: Any) -> None:
    module = made("@sandboxed\ndef f(n): return f(n - 1)\ng = f\n@sandboxed\ndef f(n): return 2\nh = f\n")
    with pytest.raises(FunctionRefused, match=r"line 5 .*again in line 2.*another name"):
        module.g(1)
    assert lines_of(module.h)[-1] == "def f(n): return 2"


def test_the_first_of_two_definitions_is_sent_if_it_does_not_use_its_name(made: Any) -> None:
    module = made("@sandboxed\ndef f(): return 1\ng = f\n@sandboxed\ndef f(): return 2\n")
    assert lines_of(module.g)[-1] == "def f(): return 1"
    assert lines_of(module.f)[-1] == "def f(): return 2"


def test_a_definition_that_was_replaced_is_the_new_one(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module = made("def helper(): return 1\ndef other(): return 2\n@sandboxed\ndef f(): return helper()\n")
    assert "def helper(): return 1" in lines_of(module.f)
    monkeypatch.setattr(module, "helper", module.other)
    assert "def other(): return 2" in lines_of(module.f) and "def helper(): return 1" not in lines_of(module.f)
    monkeypatch.setattr(module, "helper", 5)
    assert values_of(module.f)[0] == {"helper": 5}


def test_options_of_the_decorator_stay_here(made: Any) -> None:
    module = made(
        "import glovebox\nCLIENT = object\nDATA = '/d'\n"
        "@glovebox.sandboxed(client=None, fs=['r:' + DATA],\n   env={'A': 'b'})\ndef f(): return 1\n"
    )
    assert lines_of(module.f) == ["import glovebox", "@glovebox.sandboxed", "def f(): return 1"]


def test_the_shipment_shows_what_is_sent(made: Any) -> None:
    module = made("N = [1, 2]\n@sandboxed\ndef f(): return N\n")
    shown = module.f.shipment()
    assert str(shown) == "f: 3 lines of source\n  N: 8 bytes"
    assert shown.source.split("\n")[-1] == "def f(): return N" and shown.bundle is None


# --- where the source comes from ----------------------------------------------------------------------


def test_the_source_as_imported_is_sent(made: Any, tmp_path: Path) -> None:
    part = made("@sandboxed\ndef f(): return 'old'\n", "gbx_pkg.part")
    (tmp_path / "gbx_pkg/part.py").write_text("def f(): return 'new'\n")
    assert (part.f._source().module, part.f._source().is_package) == ("gbx_pkg.part", False)
    assert part.f._source().file == "gbx_pkg/part.py"
    assert "'old'" in part.f._source().text
    assert "'old'" in part.f.with_options(timeout=1)._source().text


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
        [sys.executable, "-B", str(path), "7"], env={"PYTHONPATH": root}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_rule_is_the_same_in_a_script(tmp_path: Path) -> None:
    out = run_script(
        tmp_path / "job.py",
        "import math, sys\n"
        "from glovebox import sandboxed\n"
        "LIMIT = int(sys.argv[1])\n"
        "def helper(x): return math.floor(x) + LIMIT\n"
        "@sandboxed\n"
        "def f(x):\n"
        "    result = helper(x)\n"
        "    return result\n"
        "result = f.local(1.5)\n"
        "if __name__ == '__main__':\n"
        "    shipped = f._source()\n"
        "    print(repr((shipped.module, shipped.file, shipped.text, shipped.plan.values())))\n",
    )
    module, file, text, values = ast.literal_eval(out)
    assert (module, file) == ("__sandboxed__", "job.py")
    assert [line for line in text.split("\n") if line] == [
        "import math",
        "from glovebox import sandboxed",
        "def helper(x): return math.floor(x) + LIMIT",
        "@sandboxed",
        "def f(x):",
        "    result = helper(x)",
        "    return result",
    ]
    assert text.split("\n")[5] == "def f(x):"  # on its own line
    assert values == ([["LIMIT", 7]], [], [])


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
        self.folder = f"/tmp/ipykernel_{id(self)}"
        vars(self.module)["sandboxed"] = sandboxed

    def cell(self, text: str) -> None:
        self.count += 1
        name = f"{self.folder}/{self.count}.py"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        exec(compile(text, name, "exec"), vars(self.module))  # noqa: S102


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    made = Notebook()
    monkeypatch.setitem(sys.modules, "__main__", made.module)
    yield made
    for name in [name for name in linecache.cache if name.startswith(made.folder)]:
        del linecache.cache[name]


def names_inside(function: Any) -> Any:
    """The names that the source defines."""
    names: Any = {name: value for name, value in values_of(function)[0].items() if value is not ...}
    shipped = function._source()
    names["sandboxed"] = lambda one: one
    for _, text in (*shipped.before, ("", shipped.text)):
        exec(text.replace("from glovebox.functions.decorator import sandboxed as sandboxed", ""), names)  # noqa: S102
    return names


def test_the_rule_is_the_same_in_a_notebook(notebook: Notebook) -> None:
    notebook.cell("import math as m\nfrom json import dumps as d\nimport os.path\nprint")
    notebook.cell("class P:\n    def go(self): return m.pi\ndef unused(): pass")
    notebook.cell("def helper(x): return d([x, P().go()])\nrows = [1]")
    notebook.cell("LIMIT = 3\n@sandboxed\ndef f(x):\n    return helper(x) * LIMIT, os.path.sep, len(rows)\nf.local(1)")
    notebook.cell("rows.append(2)")
    assert values_of(notebook.module.f)[0] == {"LIMIT": 3, "rows": [1, 2]}
    assert names_inside(notebook.module.f)["f"](1) == (notebook.module.helper(1) * 3, "/", 2)
    assert not any("unused" in line or "f.local" in line for line in lines_of(notebook.module.f))


def test_cells_that_call_each_other(notebook: Notebook) -> None:
    notebook.cell("def even(n): return True if n == 0 else odd(n - 1)")
    notebook.cell(
        "from __future__ import annotations\n@sandboxed\ndef odd(n: Nope): return False if n == 0 else even(n - 1)"
    )
    names = names_inside(notebook.module.odd)
    assert names["odd"](5) is True
    assert names["even"](5) is False


def test_a_cell_that_was_run_again_is_used_from_then_on(notebook: Notebook) -> None:
    notebook.cell("@sandboxed\ndef f(): return helper()")
    function = notebook.module.f
    assert lines_of(function)[-1] == "def f(): return helper()"
    notebook.cell("def helper(): return 'first'")
    assert names_inside(function)["f"]() == "first"
    notebook.cell("def helper(): return 'second'")
    assert names_inside(function)["f"]() == "second"
    notebook.cell("class Base: kind = 1\n")
    notebook.cell("class Base: kind = 2\n")
    notebook.cell("class helper(Base): pass\n")
    assert names_inside(function)["f"]().kind == 2


# --- modules and files that go along ------------------------------------------------------------------


@pytest.fixture
def package(made: Any, tmp_path: Path) -> Any:
    made("", "gbx_own.__init__")
    del sys.modules["gbx_own.__init__"], sys.modules["gbx_own"]
    (tmp_path / "gbx_own/deep").mkdir()
    (tmp_path / "gbx_own/deep/__init__.py").write_text("")
    (tmp_path / "gbx_own/deep/more.py").write_text("import json\nSIZE = 3\n")
    util = "from .deep import more\nTABLE = {}\ndef helper(x): return more.SIZE * x\n"
    (tmp_path / "gbx_own/util.py").write_text(util)
    (tmp_path / "gbx_own/unused.py").write_text("SECRET = 1\n")
    (tmp_path / "gbx_own/data").mkdir()
    for name in ("a.csv", "b.csv", "c.txt"):
        (tmp_path / "gbx_own/data" / name).write_text(name)
    return made(
        "from .util import helper, TABLE\n\nApp = object()\n@sandboxed\ndef f(x): return helper(x), TABLE\n"
        "@sandboxed\ndef plain(x): return x\n"
        "@sandboxed\ndef late():\n    from .deep.more import SIZE\n    return SIZE\n",
        "gbx_own.main",
    )


def test_own_modules_go_along_in_a_bundle(package: Any) -> None:
    bundle = package.f._source().bundle
    assert sorted(bundle.files) == [
        "gbx_own/__init__.py", "gbx_own/deep/__init__.py", "gbx_own/deep/more.py", "gbx_own/util.py",
    ]  # fmt: skip
    assert bundle.digest == hashlib.sha256(bundle.data).hexdigest()
    package.TABLE["x"] = 1  # of another own module, and data: its value now
    assert values_of(package.f)[0] == {"TABLE": {"x": 1}}
    request = json.loads(package.f._encode(None, (1,), {}))
    assert request["bundle"] == bundle.digest
    sent = json.loads(request["stdin"])["bundle"]
    assert sent["has_package"] is True and "App" in sent["left_out"] and "helper" not in sent["left_out"]


def test_imports_in_a_function_count_and_a_function_without_own_modules_has_no_bundle(package: Any) -> None:
    assert "gbx_own/deep/more.py" in package.late._source().bundle.files
    assert package.plain._source().bundle is None
    assert "bundle" not in json.loads(package.plain._encode(None, (1,), {}))


def test_the_same_content_is_the_same_bundle(package: Any, tmp_path: Path) -> None:
    os.utime(tmp_path / "gbx_own/util.py", (1, 1))
    again = package.f.with_options(timeout=3)
    assert again._source().bundle.digest == package.f._source().bundle.digest
    (tmp_path / "gbx_own/util.py").write_text("def helper(x): return 1\n")
    assert package.f.with_options(timeout=4)._source().bundle.digest != package.f._source().bundle.digest


def test_included_files_are_beside_the_module(package: Any) -> None:
    for include, files in (
        (["data/*.csv"], ["a.csv", "b.csv"]),
        (["data"], ["a.csv", "b.csv", "c.txt"]),
        (["**/c.txt", "data/a.csv"], ["a.csv", "c.txt"]),
    ):
        bundle = package.plain.with_options(include=include)._source().bundle
        assert sorted(bundle.files) == ["gbx_own/data/" + name for name in files]
    shown = str(package.plain.with_options(include=["data"]).shipment())
    assert "modules and files: 3 files, 15 bytes," in shown and "gbx_own/data/c.txt: 5 bytes" in shown


def test_files_that_cannot_be_included(package: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for include in (["/etc/passwd"], ["../x"], ["data/../../x"]):
        with pytest.raises(ValueError, match="relative to the directory"):
            package.plain.with_options(include=include)
    with pytest.raises(TypeError, match="must be a list"):
        package.plain.with_options(include="data")
    with pytest.raises(FunctionRefused, match="there is no file 'nothing/"):
        package.plain.with_options(include=["nothing/*"])()
    (tmp_path / "gbx_own/data/link").symlink_to("/etc/hostname")
    with pytest.raises(FunctionRefused, match="data/link is a symbolic link"):
        package.plain.with_options(include=["data"])()
    (tmp_path / "gbx_own/data/link").unlink()
    monkeypatch.setattr(own_modules, "MAX_CONTENT", 10)
    with pytest.raises(FunctionRefused, match=r"too large: 3 files, 15 bytes.*The largest: gbx_own/data/"):
        package.plain.with_options(include=["data"])()


def test_installed_modules_are_not_own() -> None:
    assert not any(own_modules.is_own(name) for name in ("json", "pytest", "glovebox", "sys", "__main__", "nowhere"))
    assert own_modules.is_own(__name__)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("import abc\nimport ast\n@sandboxed\ndef f(): return abc.x", [2, 4, 5]),
        ("def f0(x):\n    x = 1\n    return x\nx = f0(1)\n@sandboxed\ndef f(x): return x", [6, 7]),
        (
            "def f1():\n    def g(): return h()\n    return g\ndef h(): return k\nk = 1\n"
            "@sandboxed\ndef f(): return f1()",
            [2, 3, 4, 5, 7, 8],
        ),
        ("class A: pass\nclass B(A): pass\n@sandboxed\ndef f(): return B()", [2, 3, 4, 5]),
        ("def deco(g): return g\n@sandboxed\n@deco\ndef f(): pass", [2, 3, 4, 5]),
        ("if __name__ == '__main__':\n    x = 1\n@sandboxed\ndef f(): return x", [4, 5]),
        ("from os.path import *\n@sandboxed\ndef f(): return join('a')", [3, 4]),
        ("@sandboxed\ndef f(): return [z for z in range(3)]\nz = f", [2, 3]),
        ("x = 1\n@sandboxed\ndef f():\n    global x\n    x = 2", [3, 4, 5, 6]),
    ],
)  # fmt: skip
def test_lines_that_a_function_needs(made: Any, text: str, kept: List[int]) -> None:
    lines = ["from glovebox import sandboxed", *text.split("\n")]
    assert made(text).f._source().text.split("\n") == [
        line if place in [1, *kept] else "" for place, line in enumerate(lines, 1)
    ]


# --- options ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"net": "internet"}, "'internet'"),
        ({"net": ["pypi.org", "127.1"]}, r"net.allow\[1\]: '127.1'"),
        ({"net": {"deny": ["evil.example"], "alow": []}}, "net.alow is an unknown field"),
        ({"net": 5}, "net must be"),
        ({"memory": 5}, "no option 'memory'; its options are .*mem_mb"),
        ({"fs": ["/data"]}, "fs"),
        ({"fs": "data"}, "'data' is invalid; write \"r:/data\".*\"none\""),
        ({"fs": ["none", "r:/data"]}, "stands alone"),
        ({"fs": 5}, "fs must not be int; write"),
        ({"include": 5}, "include must be a list of files.* not int"),
        ({"preload": 5}, "preload must be a list of modules.* not int"),
        ({"env": 5}, "env must be a dict.* not int"),
        ({"env": ["A=1"]}, "env must be a dict.* not list"),
        ({"include": ["/etc"]}, "relative to the directory"),
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


@pytest.mark.parametrize("fs", ["none", ["none"], ("none",), [], ()])
def test_no_mounts(fs: Any) -> None:
    assert Options(fs=fs).request(None) == {"template": "python"}


@pytest.mark.parametrize("fs", ["r:data:/d", ["r:data:/d"], ("ro:data:/d",)])
def test_one_mount_needs_no_list(fs: Any) -> None:
    assert Options(fs=fs).profile() == {"mounts": [{"name": "data", "path": "/d", "mode": "ro"}]}


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
    assert Options(image="base:1").request(None) == {"language": "python", "profile": {"image": "base:1"}}
    for wrong in ({"template": "python"}, {"preload": ["json"]}, {"dependencies": ["six"]}):
        with pytest.raises(ValueError, match="image="):
            Options(image="base:1", **wrong)


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
