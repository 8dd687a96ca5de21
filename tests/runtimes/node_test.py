"""The Node.js runtime: values, errors, environment, cold and started ahead."""
import os
import socket
import tempfile
import unittest

import harness
from harness import node


class Values(unittest.TestCase):
    def test_the_last_expression(self):
        for code, shown in {
            "1 + 1": "2", "const x = 20;\nx + 1": "21", "[1, 'a']": "[ 1, 'a' ]", "({a: 1})": "{ a: 1 }", "'ü\U0001f600'": "'ü\U0001f600'",
            "function f() { return 5 }\nf()": "5", "10n ** 20n": "100000000000000000000n", "null": "null",
            "Promise.resolve(7)": "7", "(async () => { await 1; return 8 })()": "8", "new Map([[1, 2]])": "Map(1) { 1 => 2 }",
            "const v = await Promise.resolve(7);\nv + 1": "8",
            "const {a} = await new Promise(r => setTimeout(() => r({a: [1]}), 5)); a": "[ 1 ]",
            "for await (const x of [1, 2]) {}\n'done'": "'done'",
            "import fs from 'fs'\nimport {join as j, basename} from 'path'\nimport * as os from 'node:os'\nj(typeof fs.readFileSync, basename('/x/y'), typeof os.cpus)": "'function/y/function'",
            "const os = await import('os'); typeof os.cpus": "'function'",
            "import('os').then(os => typeof os.cpus)": "'function'",
            "#!/usr/bin/env node\n5": "5", "\ufeff6": "6",
        }.items():
            with self.subTest(code):
                answer = node(code)
                self.assertEqual((answer.status, answer.err), (0, ""))
                self.assertEqual(answer.result["text/plain"], shown)

    def test_no_value(self):
        for code in ("const x = 1", "undefined", "", "console.log(1)", "// nothing", "await 1; undefined", "Promise.resolve()"):
            with self.subTest(code):
                self.assertIsNone(node(code).result)

    def test_plain_data_is_json_too(self):
        for code, value in {"true": True, "[1, {a: [null, 'x']}]": [1, {"a": [None, "x"]}], "2.5": 2.5, "'\u2028\"'": "\u2028\"", "await 1; ({a: 1})": {"a": 1}}.items():
            with self.subTest(code):
                self.assertEqual(node(code).result["application/json"], value)
        for code in ("NaN", "[1 / 0]", "({a: undefined})", "10n", "[,1]", "new Date(0)", "(class {})", "'\\ud800'", "const a = []; a.push(a); a",
                     "new Proxy({}, {})", "({toJSON() { return 1 }})", "Symbol('x')", "let d = 1; for (let i = 0; i < 99; i++) d = [d]; d"):
            with self.subTest(code):
                result = node(code).result
                self.assertIn("text/plain", result)
                self.assertNotIn("application/json", result)

    def test_what_is_huge_or_hostile_is_bounded(self):
        answer = node("({big: 'x'.repeat(30e6)})")
        self.assertLess(max(map(len, answer.raw_lines)), 8 << 20)
        self.assertTrue(answer.results[0]["truncated"])
        for code in ("'\\x01'.repeat(5e6)", "'\u20ac'.repeat(5e6)", "Array.from({length: 20}, () => '\u20ac'.repeat(15e4))"):
            self.assertLess(max(map(len, node(code).raw_lines)), 8 << 20)
        answer = node("({[Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('no') }})")
        self.assertIn("no", answer.result["text/plain"])


class Errors(unittest.TestCase):
    def check(self, code, name, message, line, err):
        answer = node(code)
        self.assertEqual(answer.status, 1)
        self.assertEqual((answer.error["name"], answer.error["message"], answer.error["line"]), (name, message, line))
        self.assertIn(err, answer.err)
        self.assertNotIn("run.js", answer.err)
        self.assertNotIn("run.js", "".join(answer.error["traceback"]))

    def test_thrown(self):
        self.check("function f() {\n  throw new TypeError('boom')\n}\n\nf()", "TypeError", "boom", 2,
                   "/tmp/main.js:2\n  throw new TypeError('boom')\n  ^\n\nTypeError: boom\n    at f (/tmp/main.js:2:9)\n    at /tmp/main.js:5:1\n")

    def test_thrown_later(self):
        self.check("setTimeout(() => {\n  null.x\n}, 1); undefined", "TypeError", "Cannot read properties of null (reading 'x')", 2, "/tmp/main.js:2\n")

    def test_rejected(self):
        self.check("\nPromise.reject(new RangeError('rej'))", "RangeError", "rej", 2, "RangeError: rej")
        self.check("async function f() {\n  throw new Error('deep')\n}\nf(); undefined", "Error", "deep", 2, "Error: deep")

    def test_thrown_beside_a_top_level_await(self):
        self.check("await 1\nfunction f() {\n  throw new Error('late')\n}\nf()", "Error", "late", 3, "Error: late\n    at f (/tmp/main.js:3:9)")

    def test_syntax(self):
        self.check("const x = 1\nlet y = ;", "SyntaxError", "Unexpected token ';'", 2, "/tmp/main.js:2\nlet y = ;\n        ^\n\nSyntaxError: Unexpected token ';'")
        self.check("await 1\nlet y = ;", "SyntaxError", "Unexpected token ';'", 2, "SyntaxError: Unexpected token ';'")
        self.assertEqual(node("console.log('x')\nlet y = ;").out, "")

    def test_thrown_things_that_are_no_errors(self):
        answer = node("throw 'text'")
        self.assertEqual((answer.status, answer.error["name"], answer.error["message"]), (1, "string", "text"))
        self.assertEqual(node("throw null").status, 1)
        self.assertEqual(node("throw {get message() { throw 1 }}").error["name"], "object")

    def test_a_missing_module(self):
        answer = node("\nrequire('./nope')")
        self.assertEqual((answer.error["line"], answer.status), (2, 1))
        self.assertNotIn("run.js", answer.err)

    def test_endless_recursion(self):
        self.assertEqual(node("function f() { f() }\nf()").error["name"], "RangeError")

    def test_handlers_of_the_programs_own(self):
        answer = node("process.on('uncaughtException', e => console.log('got', e.message));\nthrow new Error('x')")
        self.assertEqual((answer.out, answer.error, answer.status), ("got x\n", None, 0))
        answer = node("process.on('unhandledRejection', e => console.log('got', e.message));\nPromise.reject(new Error('y'))")
        self.assertEqual((answer.out, answer.error, answer.status), ("got y\n", None, 0))


class Ends(unittest.TestCase):
    def test_status(self):
        for code, status in (("process.exit(3)", 3), ("process.exitCode = 4; undefined", 4), ("process.exit()", 0), ("process.abort()", -6),
                             ("setTimeout(() => process.exit(6), 1); undefined", 6), ("process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 60000)", -15)):
            with self.subTest(code):
                self.assertEqual(node(code).status, status)

    def test_an_await_that_never_ends(self):
        answer = node("await new Promise(() => {})")
        self.assertEqual(answer.status, 13)
        self.assertIn("unsettled top-level await", answer.err)

    def test_exit_handlers_run_and_the_last_line_is_the_status(self):
        answer = node("process.on('exit', code => { console.log('exit', code); process.exitCode = 9 }); undefined")
        self.assertEqual((answer.out, answer.status, answer.lines), ("exit 0\n", 9, [{"type": "exit", "code": 9}]))
        answer = node("process.on('exit', code => console.log('exit', code)); throw new Error('x')")
        self.assertEqual((answer.out, answer.status), ("exit 1\n", 1))

    def test_output_is_complete(self):
        self.assertEqual(len(node("for (let i = 0; i < 20000; i++) console.log('x'.repeat(99))").out), 2_000_000)
        self.assertEqual(node("process.stdout.write(Buffer.from([0, 255, 10])); process.exit(0)").out_bytes, b"\0\xff\n")


class Environment(unittest.TestCase):
    def test_as_a_main_script(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(directory + "/helper.js", "w") as file:
                file.write("module.exports = {value: 5, main: require.main === module}")
            answer = node("const h = require('./helper');\nconsole.log(require.main === module, __filename, __dirname, process.argv, Object.entries(process.env), process.cwd(), h, typeof exports)",
                          args=["a b", "ü"], env=["A=é", "B=2=3"], workdir=directory, name="prog.js")
        self.assertEqual(" ".join(answer.out.split()),
                         f"true {directory}/prog.js {directory} [ '/usr/bin/node', '{directory}/prog.js', 'a b', 'ü' ] [ [ 'A', 'é' ], [ 'B', '2=3' ] ] {directory} {{ value: 5, main: false }} object")

    def test_relative_import(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(directory + "/helper.mjs", "w") as file:
                file.write("export default 5; export const x = 6")
            for code in ("import five, {x} from './helper.mjs'\nfive + x", "const m = await import('./helper.mjs'); m.default + m.x", "import('./helper.mjs').then(m => m.default + m.x)"):
                answer = node(code, workdir=directory)
                self.assertEqual(answer.result and answer.result["text/plain"], "11", answer.err)

    def test_standard_input_and_the_time_zone(self):
        self.assertEqual(node("process.stdin.setEncoding('utf8'); let s = ''; process.stdin.on('data', d => s += d).on('end', () => console.log(s.toUpperCase())); undefined", stdin="zoë".encode()).out, "ZOË\n")
        self.assertEqual(node("require('fs').readFileSync(0, 'utf8').length", stdin=b"x" * 300_000).result["text/plain"], "300000")
        self.assertEqual(node("new Date(0).getHours()", env=["TZ=Asia/Tokyo"]).result["text/plain"], "9")

    def test_programs_it_starts_inherit_nothing_of_ours(self):
        self.assertEqual(node("require('child_process').execSync('ls /proc/self/fd').toString().split('\\n').filter(Boolean)").result["application/json"], ["0", "1", "2", "3"])


class StartedAhead(unittest.TestCase):
    def test_waits_for_its_job(self):
        answer = node("console.log(process.argv.length, process.env.A)\nawait 5", prestarted=True, env=["A=b"])
        self.assertEqual((answer.out, answer.result["text/plain"], answer.status), ("2 b\n", "5", 0))
        self.assertEqual(node("\n\nthrow new Error('x')", prestarted=True).error["line"], 3)
        self.assertEqual(node("process.exit(7)", prestarted=True).status, 7)

    def test_goes_away_when_nobody_wants_it(self):
        ours, theirs = socket.socketpair()
        null = os.open("/dev/null", os.O_RDWR)
        process = harness.spawn(harness.NODE + ["wait"], {0: null, 1: null, 2: 2, 3: null, 4: null, 5: theirs.fileno()})
        theirs.close()
        os.close(null)
        ours.settimeout(harness.DEADLINE)
        self.assertEqual(len(ours.recv(1)), 1)
        ours.close()
        self.assertEqual(process.wait(timeout=harness.DEADLINE), 0)


if __name__ == "__main__":
    unittest.main()
