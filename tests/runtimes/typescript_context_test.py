"""TypeScript contexts: types go, what lasts between cells, places of errors, what is missing."""
import tempfile
import unittest

from context_harness import Context


class TypeScriptContexts(unittest.TestCase):
    def setUp(self):
        self.context = Context("typescript", env=["PATH=/usr/bin:/bin", "A=b"])
        self.addCleanup(self.context.close)

    def shown(self, code, **cell):
        outcome = self.context.run(code, **cell)
        self.assertEqual((outcome.status, outcome.err, outcome.error), (0, "", None), code)
        return outcome.result and outcome.result["text/plain"]

    def test_types_go_and_state_lasts(self):
        for code in ("interface Point { x: number; y?: number }\nconst p: Point = { x: 20 }", "enum Color { Red = 3, Green }",
                     "abstract class Base<T> { constructor(protected value: T) {} abstract get(): T }\nclass Own extends Base<number> { get(): number { return this.value } }",
                     "function add(a: number, b: number = 1): number { return a + b }", "type Id = string | number", "const p: Point = { x: 20 }"):
            self.assertIsNone(self.shown(code), code)
        for code, shown in {"add(p.x)": "21", "Color.Green": "4", "new Own(7).get()": "7", "(p as any).x!": "20", "{a: 1 as number}": "{ a: 1 }", "<string>'x'": "'x'",
                            "const later = async (n: number): Promise<number> => n; await later(5)": "5", "process.env.A + process.cwd()": "'b/tmp'", "console.log(1)": None, "": None, "interface Only { a: string }": None, "import type { Stats } from 'fs'": None}.items():
            with self.subTest(code):
                self.assertEqual(self.shown(code), shown)

    def test_imports_last(self):
        self.shown("import { join } from 'path'\nimport * as os from 'os'\nimport fs, { type Stats, existsSync as there } from 'fs'")
        self.assertEqual(self.shown("[join('a', 'b'), typeof os.cpus, typeof fs.statSync, there('/')]"), "[ 'a/b', 'function', 'function', true ]")
        self.assertEqual(self.shown("export const kept: number = 4\nkept"), "4")

    def test_errors_have_the_lines_of_the_cell(self):
        self.context.run("interface A {\n  a: number\n}\nfunction f(n: number): void {\n  throw new TypeError('boom')\n}", name="cell-1")
        outcome = self.context.run("type B = {\n  b: string\n}\nf(1)", name="cell-2")
        self.assertEqual((outcome.status, outcome.error["name"], outcome.error["line"]), (1, "TypeError", 4))
        self.assertEqual([line.split("cell-")[1] for line in outcome.error["traceback"][1:]], ["1:5:9)", "2:4:1"])
        outcome = self.context.run("const x: number = 1\nlet y: = 2")
        self.assertEqual((outcome.error["name"], outcome.error["line"]), ("SyntaxError", 2))
        self.assertEqual(self.shown("typeof f"), "'function'")

    def test_an_environment_for_one_cell_and_an_interrupt(self):
        self.assertEqual(self.shown("[process.env.A, process.env.N] as (string | undefined)[]", env=["A=c", "N=1"]), "[ 'c', '1' ]")
        self.assertEqual(self.shown("[process.env.A, process.env.N]"), "[ 'b', undefined ]")
        outcome = self.context.interrupted("console.log('go'); while (true as boolean) {}")
        self.assertEqual((outcome.status, outcome.error["name"]), (130, "KeyboardInterrupt"))
        self.assertEqual(self.shown("1 + 1"), "2")


class Missing(unittest.TestCase):
    def test_says_which_package_is_missing(self):
        code = ("const Module = require('module'); const real = Module._load; "
                "Module._load = function (name, ...rest) { if (/typescript$/.test(name)) throw new Error('none'); return real.call(this, name, ...rest); }; "
                "delete Module.stripTypeScriptTypes;")
        with tempfile.NamedTemporaryFile("w", suffix=".js") as file:
            file.write(code)
            file.flush()
            context = Context("typescript", start=lambda command, given: Context.spawn([command[0], "--require", file.name, *command[1:]], given), ready=False)
            self.addCleanup(context.close)
            outcome = context.finish()
        self.assertIn("node-typescript", outcome.error["message"])
        self.assertEqual(outcome.lines[-1], {"type": "exit", "code": 1})


if __name__ == "__main__":
    unittest.main()
