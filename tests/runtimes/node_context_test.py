"""Node.js contexts: what lasts between cells, values, errors, stdin, interrupts, ends."""
import tempfile
import unittest

import harness
from context_harness import Context


class NodeContexts(unittest.TestCase):
    def setUp(self):
        self.context = Context("node", env=["PATH=/usr/bin:/bin", "A=b"])
        self.addCleanup(self.context.close)

    def shown(self, code, **cell):
        outcome = self.context.run(code, **cell)
        self.assertEqual((outcome.status, outcome.err, outcome.error), (0, "", None), code)
        return outcome.result and outcome.result["text/plain"]

    def test_state_lasts_and_may_be_declared_again(self):
        for code in ("const x = 20", "let y = 1; var z = 2; function f(a) { return a + x }", "class A { m() { return f(y) } }", "const fs = require('fs')", "const fs = require('fs')", "const x = 30"):
            self.assertIsNone(self.shown(code), code)
        self.assertEqual(self.shown("new A().m() + z"), "33")
        self.assertEqual(self.shown("process.env.A + process.cwd()"), "'b/tmp'")

    def test_values(self):
        for code, shown in {"1 + 1": "2", "{a: 1}": "{ a: 1 }", "({a: 1})": "{ a: 1 }", "Promise.resolve(7)": "7", "await Promise.resolve(8)": "8", "10n": "10n",
                            "const v = await new Promise(r => setTimeout(() => r([1]), 5)); v": "[ 1 ]", "import os, {EOL as e} from 'os'\ntypeof os.cpus + e": "'function\\n'",
                            "const p = await import('path'); p.sep": "'/'", "undefined": None, "console.log(1)": None, "": None, "// x": None, "{ let q = 1 }": None}.items():
            with self.subTest(code):
                self.assertEqual(self.shown(code), shown)
        self.assertEqual(self.context.run("[1, {a: null}]").result["application/json"], [1, {"a": None}])

    def test_errors_name_the_cell_and_keep_the_state(self):
        self.context.run("const x = 1\nfunction f() {\n  throw new TypeError('boom')\n}")
        outcome = self.context.run("\nf()")
        self.assertEqual((outcome.status, outcome.error["name"], outcome.error["message"], outcome.error["line"]), (1, "TypeError", "boom", 2))
        self.assertEqual(outcome.error["traceback"], ["TypeError: boom", "    at f (<cell_1>:3:9)", "    at <cell_2>:2:1"])
        for code, name in (("let y = ;", "SyntaxError"), ("Promise.reject(new RangeError('r'))", "RangeError"), ("await Promise.reject(new RangeError('r'))", "RangeError"), ("throw 5", "number"), ("nope", "ReferenceError")):
            outcome = self.context.run(code)
            self.assertEqual((outcome.status, outcome.error["name"]), (1, name), code)
            self.assertNotIn("context.js", outcome.err)
        self.assertEqual(self.shown("x"), "1")

    def test_what_is_thrown_later_ends_nothing(self):
        outcome = self.context.run("setTimeout(() => { throw new Error('late') }, 1); await new Promise(r => setTimeout(r, 30)); 5")
        self.assertEqual((outcome.status, outcome.result["text/plain"]), (0, "5"))
        self.assertIn("Error: late", outcome.err)

    def test_the_event_loop_goes_on_between_cells(self):
        self.context.run("let ticks = 0; let done; const many = new Promise(r => { done = r }); const t = setInterval(() => { if (++ticks > 3) { clearInterval(t); done('many') } }, 1)")
        self.context.run("1")
        self.assertEqual(self.shown("await many"), "'many'")

    def test_stdin(self):
        self.assertEqual(self.shown("require('fs').readFileSync(0, 'utf8')"), "''")
        self.assertEqual(self.shown("require('fs').readFileSync(0, 'utf8')", stdin="é\n"), "'é\\n'")
        self.assertEqual(self.shown("let text = ''; for await (const part of process.stdin) text += part; text", stdin="a\nb"), "'a\\nb'")
        self.assertEqual(self.shown("text = ''; for await (const part of process.stdin) text += part; text"), "''")

    def test_an_environment_for_one_cell(self):
        code = "[process.env.A, process.env.NEW, require('child_process').execSync('echo $NEW').toString()].join('|')"
        self.assertEqual(self.shown(code, env=["A=now", "NEW=x=y"], rich=True), "'now|x=y|x=y\\n'")
        self.assertEqual(self.shown(code), "'b||\\n'")
        self.context.run("delete process.env.A; throw 1", env=["A=now", "NEW=1"])
        self.assertEqual(self.shown(code), "'b||\\n'")

    def test_a_rich_cell_tells_its_error_once(self):
        outcome = self.context.run("throw new TypeError('boom')", rich=True)
        self.assertEqual((outcome.status, outcome.err, outcome.error["name"]), (1, "", "TypeError"))
        self.context.send("console.log('go'); for (;;) {}", rich=True)
        self.context.wait_for_output(b"go\n")
        self.context.interrupt()
        outcome = self.context.finish()
        self.assertEqual((outcome.status, outcome.err, outcome.error["name"]), (130, "", "KeyboardInterrupt"))

    def test_interrupt_keeps_the_state(self):
        self.context.run("let x = 1")
        for code in ("console.log('go'); while (true);", "setTimeout(() => console.log('go'), 5); await new Promise(() => {})", "setTimeout(() => console.log('go'), 5); new Promise(() => {})"):
            outcome = self.context.interrupted("x += 1;" + code, group=True)
            self.assertEqual((outcome.status, outcome.error["name"]), (130, "KeyboardInterrupt"), code)
        self.assertEqual(self.shown("x"), "4")
        self.context.interrupt(group=True)
        self.assertEqual(self.shown("x"), "4")

    def test_interrupt_in_the_middle_of_a_print(self):
        for _ in range(10):
            outcome = self.context.interrupted("while (true) console.log('go')")
            self.assertEqual(outcome.status, 130)
            outcome = self.context.run("console.log('out'); console.error('err'); process.stdout.write('written', () => console.log('!')); await 1")
            self.assertEqual((outcome.out, outcome.err), ("out\nwritten!\n", "err\n"))

    def test_what_is_not_text_cannot_be_written(self):
        for value in ("5", "null", "undefined", "{}"):
            self.assertEqual(self.context.run(f"process.stdout.write({value})").error["name"], "TypeError")
        self.assertEqual(self.context.run("process.stdout.write(new Uint8Array([104, 105])); process.stdout.write('6f', 'hex')").out, "hio")

    def test_children_do_not_have_our_pipes(self):
        self.assertEqual(self.shown("require('child_process').spawnSync('ls', ['/proc/self/fd']).stdout.toString()"), "'0\\n1\\n2\\n3\\n'")

    def test_the_end(self):
        outcome = self.context.run("process.exit(3)")
        self.assertEqual((outcome.lines, self.context.process.wait(harness.DEADLINE)), ([{"type": "exit", "code": 3}], 3))

    def test_large_cells_and_several_at_once(self):
        self.assertEqual(self.shown("//" + "x" * 5_000_000 + "\n7"), "7")
        for n in range(5):
            self.context.send(f"console.log({n})")
        outcome = self.context.finish()
        self.assertEqual(outcome.out, "0\n1\n2\n3\n4\n")

    def test_requires_from_its_directory(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(directory + "/m.js", "w") as file:
                file.write("module.exports = 'mine'")
            context = Context("node", workdir=directory)
            self.addCleanup(context.close)
            self.assertEqual(context.run("require('./m') + (await import('./m.js')).default").result["text/plain"], "'minemine'")

    def test_a_directory_that_is_not_there(self):
        context = Context("node", ready=False, workdir="/nowhere")
        self.addCleanup(context.close)
        self.assertEqual([line["type"] for line in context.finish().lines], ["error", "exit"])


if __name__ == "__main__":
    unittest.main()
