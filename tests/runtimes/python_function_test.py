"""The guest half of function calls (function_call.py), and `import glovebox` inside."""
import json
import os
import tempfile
import unittest
import zipfile
import zlib

from harness import ROOT, python
from zygote_test import Zygote

LINE = '__import__("sys").modules["_glovebox_runner"].load("function_call").main()'
MIME = "application/vnd.glovebox.value"


def payload(source, function, *arguments, **more):
    fields = {"v": 2, "module": "pkg.mod", "package": False, "function": function, "file": "pkg/mod.py",
              "source": source, "before": [], "code": None, "bundle": None, "mark": "@", "large": None,
              "values": [[], [], []], "call": [list(arguments), {}], **more}
    return json.dumps(fields).encode()


def call(source, function="f", *arguments, **more):
    return python(LINE, stdin=payload(source, function, *arguments, **more))


class Calls(unittest.TestCase):
    def value(self, source, *arguments, **more):
        answer = call(source, "f", *arguments, **more)
        self.assertEqual(answer.status, 0, answer.lines)
        return json.loads(answer.result[MIME])["value"]

    def raised(self, source, *arguments, **more):
        answer = call(source, "f", *arguments, **more)
        self.assertEqual(answer.status, 1)
        self.assertIsNotNone(answer.error)
        return json.loads(answer.result[MIME])["raised"], answer

    def test_a_value_comes_back(self):
        self.assertEqual(self.value("def f(a, b=2): return [a, b]", 1), [1, 2])
        self.assertEqual(self.value("def f(a): return a", {"$": "tuple", "v": [1]}), {"$": "tuple", "v": [1]})
        self.assertIsNone(self.value("def f(): pass"))
        self.assertEqual(self.value("async def f(a): return a + 1", 1), 2)

    def test_the_module_has_its_own_name_and_what_main_guards_does_not_run(self):
        source = "x = 1\nif __name__ == '__main__':\n    x = 2\ndef f(): return [x, __name__, __package__, __file__]"
        self.assertEqual(self.value(source), [1, "pkg.mod", "pkg", "pkg/mod.py"])

    def test_what_a_module_expects_of_an_import(self):
        source = ("from __future__ import annotations\nimport sys, dataclasses, inspect\n"
                  "@dataclasses.dataclass\nclass P:\n    x: int = 1\n"
                  "def f(): return [P().x, sys.modules[__name__].f is f, inspect.getsource(f).startswith('def f')]")
        self.assertEqual(self.value(source), [1, True, True])

    def test_what_other_decorators_above_do_is_not_done_here(self):
        source = ("from glovebox import sandboxed\ndef twice(g): return lambda x: 2 * g(x)\n"
                  "@twice\n@sandboxed\ndef f(x): return x")
        self.assertEqual(self.value(source, 5), 5)

    def test_printing_is_not_mixed_with_the_answer(self):
        answer = call("import sys\ndef f():\n    print('out')\n    print('err', file=sys.stderr)\n    return 1")
        self.assertEqual((answer.out, answer.err), ("out\n", "err\n"))
        self.assertEqual(len(answer.results), 1)

    def test_compressed_and_compiled(self):
        import base64
        import importlib.util
        import marshal

        source = "def f(): return 5"
        self.assertEqual(json.loads(python(LINE, stdin=zlib.compress(payload(source, "f"))).result[MIME]), {"value": 5})
        code = base64.b64encode(marshal.dumps(compile("def f(): return 6", "pkg/mod.py", "exec"))).decode()
        magic = importlib.util.MAGIC_NUMBER.hex()
        self.assertEqual(self.value(source, code=[magic, code]), 6)
        self.assertEqual(self.value(source, code=["00000000", code]), 5)

    def test_many_values_and_much_text_come_compressed(self):
        for source in ("def f(): return list(range(100000))", "def f(): return 'x' * 20_000_000"):
            answer = call(source)
            self.assertEqual(list(answer.result), [MIME + "-z"])
            self.assertLess(len(answer.raw_lines[0]), 8 << 20)

    def test_values_are_there_before_the_definitions_and_references_after_them(self):
        source = "def g(x): return x + N\nclass C:\n    a = 1\nM = list(TABLE)\ndef f(): return [TABLE['g'](1), C.a, P.pattern, M]"
        early = [["N", 2], ["TABLE", [5]], ["P", "@1", [["import", "re", "compile"], ["call", ["@0", ["x+"], {}, None]]]]]
        late = [["TABLE", {"g": "@0"}, [["name", "g"]]]]
        self.assertEqual(self.value(source, values=[early, late, [["C", "a", 7], ["C", "g", "@0", [["name", "g"]]]]]), [3, 7, "x+", [5]])

    def test_other_texts_run_first_and_show_in_tracebacks(self):
        before = [["cell-1.py", "import json\ndef g(x):\n    return json.dumps(x)"]]
        self.assertEqual(self.value("def f(): return g([1])", before=before), "[1]")
        raised, _ = self.raised("def f(): return g({1})", before=before)
        self.assertIn('File "cell-1.py", line 3, in g\n    return json.dumps(x)', raised["traceback"])

    def bundle(self, folder, files, **more):
        path = os.path.join(folder, ".glovebox-bundle")
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return {"path": path, "has_package": True, "left_out": ["App"], **more}

    def test_modules_of_a_bundle_are_imported_as_a_package(self):
        files = {"pkg/__init__.py": "from .mod import f, App\nfrom .util import helper", "pkg/data/x.txt": "seen",
                 "pkg/util.py": "from . import mod\ndef helper(): return [mod.__name__, mod.f is not None]"}
        source = ("from pathlib import Path\nfrom .util import helper\n"
                  "def f(): return [helper(), (Path(__file__).parent / 'data/x.txt').read_text(), __file__]")
        with tempfile.TemporaryDirectory() as folder:
            found = self.value(source, bundle=self.bundle(folder, files))
            self.assertEqual(found, [["pkg.mod", True], "seen", folder + "/pkg/mod.py"])
            self.assertEqual(sorted(os.listdir(folder)), ["pkg"])

    def test_what_was_not_sent_of_the_module_says_so_when_it_is_used(self):
        files = {"pkg/__init__.py": "", "pkg/util.py": "def go():\n    from .mod import App\n    return App()"}
        with tempfile.TemporaryDirectory() as folder:
            raised, _ = self.raised("from .util import go\ndef f(): return go()", bundle=self.bundle(folder, files))
        self.assertIn("pkg.mod.App was not sent to the sandbox: f does not use it", raised["message"])

    def test_modules_beside_a_script(self):
        with tempfile.TemporaryDirectory() as folder:
            bundle = self.bundle(folder, {"helpers.py": "def go(): return 3"}, has_package=False)
            source = "import helpers\ndef f(): return helpers.go()"
            self.assertEqual(self.value(source, module="__sandboxed__", file="job.py", bundle=bundle), 3)

    def test_too_much_is_refused_with_what_to_do(self):
        raised, _ = self.raised("import os\ndef f(): return os.urandom(9 << 20)")
        self.assertTrue(raised["refused"])
        self.assertIn("large_result=True", raised["message"])

    def test_an_exception(self):
        raised, answer = self.raised("def g(x):\n    return x['key']\ndef f(x): return g(x)", {})
        self.assertEqual((raised["type"], raised["builtin"], raised["args"]), ("KeyError", True, ["key"]))
        self.assertIn('File "pkg/mod.py", line 2, in g', raised["traceback"])
        self.assertNotIn("function_call.py", raised["traceback"])
        self.assertEqual((answer.error["name"], answer.error["line"]), ("KeyError", 2))
        self.assertEqual((answer.out, answer.err), ("", ""))

    def test_exceptions_that_end_programs(self):
        for name in ("SystemExit", "KeyboardInterrupt", "GeneratorExit"):
            raised, _ = self.raised("def f(): raise %s" % name)
            self.assertEqual(raised["type"], name)

    def test_exceptions_that_misbehave(self):
        raised, _ = self.raised("class E(Exception):\n    def __str__(self): raise E\ndef f(): raise E(object())")
        self.assertEqual((raised["type"], raised["builtin"], raised["args"]), ("pkg.mod.E", False, None))

    def test_a_module_that_is_missing(self):
        for source in ("import nowhere\ndef f(): pass", "from . import nowhere\ndef f(): pass",
                       "from pkg.other import x\ndef f(): pass", "def f(): import nowhere"):
            raised, _ = self.raised(source)
            self.assertEqual(raised["type"], "ModuleNotFoundError")
            self.assertIn("name the package of ", raised["message"])

    def test_a_value_that_cannot_be_sent(self):
        raised, _ = self.raised("def f(): return (x for x in [])")
        self.assertTrue(raised["refused"])
        self.assertIn("list(it)", raised["message"])

    def test_a_call_that_is_none(self):
        for data in (b"", b"{}", b"hello", b'{"v": 2}', zlib.compress(b"{}")):
            answer = python(LINE, stdin=data)
            self.assertEqual(answer.status, 1)
            self.assertIn("raised", json.loads(answer.result[MIME]))


class OneFile(unittest.TestCase):
    def test_both_sides_encode_by_the_same_files(self):
        pairs = {"values": "codec", "value_dates": "dates", "value_arrays": "arrays", "value_frames": "frames"}
        for inside, outside in pairs.items():
            self.assertEqual((ROOT / "src/guest/python" / f"{inside}.py").resolve(),
                             ROOT / "sdk/python/glovebox/values" / f"{outside}.py")


class Inside(unittest.TestCase):
    def test_sandboxed_is_the_identity(self):
        answer = python("""
from glovebox import sandboxed, GloveboxError, Sandbox, run
import glovebox, glovebox.aio, asyncio
def plain(x): return x + 1
assert sandboxed(plain) is plain
@sandboxed(net="none", mem_mb=5, anything=1)
def f(x): return x + 1
async def many(): return [one async for one in f.amap([1, 2])]
print(f(1), f.local(1), list(f.map([1, 2], parallel=5)), asyncio.run(f.aio(1)), asyncio.run(many()), f.with_options(cold=True)(1))
try:
    raise KeyError
except (GloveboxError, KeyError):
    pass
for use in (Sandbox, lambda: Sandbox.create(), lambda: run("1"), lambda: glovebox.aio.Client()):
    try:
        use()
    except RuntimeError as error:
        print(error)
""")
        self.assertEqual(answer.err, "")
        lines = answer.out.splitlines()
        self.assertEqual(lines[0], "2 2 [2, 3] 2 [2, 3] 2")
        self.assertEqual(len(lines), 5)
        self.assertTrue(all("cannot be used inside of a sandbox" in line for line in lines[1:]), lines)

    def test_what_a_decorator_says_of_packages_can_be_said_inside(self):
        source = ("from pathlib import Path\nfrom glovebox import Dependencies, sandboxed\n"
                  "NEEDS = Dependencies(['six'], preload=['six'])\n"
                  "@sandboxed(dependencies=NEEDS)\ndef f(): return 1\n"
                  "@sandboxed(dependencies=Path('requirements.txt'))\ndef g(): return 2\n")
        answer = call(source, "g")
        self.assertEqual(json.loads(answer.result[MIME]), {"value": 2})

    def test_a_module_of_that_name_which_the_program_brings_is_its_own(self):
        answer = python("import os, tempfile, sys\nd = tempfile.mkdtemp()\nopen(d + '/glovebox.py', 'w').write('x = 5')\n"
                        "sys.path.insert(0, d)\nimport glovebox\nglovebox.x")
        self.assertEqual(answer.result["text/plain"], "5", answer.err)


class FromAZygote(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.zygote = Zygote("json")
        assert cls.zygote.said == b"R", cls.zygote.said

    @classmethod
    def tearDownClass(cls):
        cls.zygote.close()

    def test_glovebox_is_not_imported_before_somebody_does(self):
        code = "import sys\nbefore = [n for n in sys.modules if n.split('.')[0] in ('glovebox', 'rehearsal')]\nimport glovebox\n[before, glovebox.sandboxed(len) is len]"
        answer = self.zygote.run(code)
        self.assertEqual(answer.result["text/plain"], "[[], True]", answer.err)

    def test_the_rehearsal_leaves_nothing(self):
        code = "import sys, linecache\n[sys.modules['_glovebox_inside_names'].decorated, 'rehearsal.py' in linecache.cache]"
        answer = self.zygote.run(code)
        self.assertEqual(answer.result["text/plain"], "[{}, False]", answer.err)


if __name__ == "__main__":
    unittest.main()
