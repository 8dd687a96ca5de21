# The code interpreter by the Python clients.
import base64
import os
import unittest

import e2b
from e2b_code_interpreter import AsyncSandbox, Sandbox
from support import AsyncCases, Cases

TEMPLATE = "code-interpreter-v1"


class Interpreter(Cases):
    def fresh(self, **more):
        return super().fresh(TEMPLATE, kind=Sandbox, **more)

    def test_values_and_state(self):
        sandbox = self.fresh()
        self.assertEqual(sandbox.run_code("x = 20\nx + 22").text, "42")
        execution = sandbox.run_code("x")
        self.assertEqual((execution.text, execution.execution_count), ("20", 2))

    def test_callbacks(self):
        out, err, results = [], [], []
        execution = self.fresh().run_code(
            "import sys\nprint('ä')\nprint('e', file=sys.stderr)\n[1, 2]",
            on_stdout=lambda message: out.append(message.line), on_stderr=lambda message: err.append(message.line),
            on_result=results.append)
        self.assertEqual(("".join(out), "".join(err)), ("ä\n", "e\n"))
        self.assertEqual([result.text for result in results], ["[1, 2]"])
        self.assertEqual(execution.logs.stdout, out)

    def test_errors(self):
        errors = []
        execution = self.fresh().run_code("1 / 0", on_error=errors.append)
        self.assertEqual((execution.error.name, execution.error.value), ("ZeroDivisionError", "division by zero"))
        self.assertEqual(len(errors), 1)

    def test_pictures_and_charts(self):
        execution = self.fresh().run_code(
            "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4], label='l')\nplt.title('T')\nplt.show()")
        self.assertIsNone(execution.error)
        [picture] = [result for result in execution.results if result.png]
        self.assertEqual(base64.b64decode(picture.png)[1:4], b"PNG")
        self.assertEqual((picture.chart.type.value, picture.chart.title), ("line", "T"))
        self.assertEqual(picture.chart.elements[0].points, [(1, 3), (2, 4)])

    def test_tables(self):
        execution = self.fresh().run_code("import pandas as pd\npd.DataFrame({'a': [1, 2]})")
        self.assertEqual(execution.results[0].data, {"a": [1, 2]})
        self.assertIn("html", execution.results[0].formats())

    def test_contexts(self):
        sandbox = self.fresh()
        context = sandbox.create_code_context(cwd="/tmp")
        self.assertEqual((context.cwd, context.language), ("/tmp", "python"))
        sandbox.run_code("x = 1", context=context)
        self.assertEqual(sandbox.run_code("x", context=context).text, "1")
        self.assertEqual(sandbox.list_code_contexts()[-1].id, context.id)
        sandbox.restart_code_context(context)
        self.assertEqual(sandbox.run_code("x", context=context).error.name, "NameError")
        sandbox.remove_code_context(context)
        with self.assertRaises(e2b.NotFoundException):
            sandbox.run_code("x", context=context)

    def test_other_languages(self):
        sandbox = self.fresh()
        self.assertEqual(sandbox.run_code("[1, 2].map((n) => n * 2).length", language="javascript").text, "2")
        self.assertEqual("".join(sandbox.run_code("echo hi", language="bash").logs.stdout), "hi\n")
        for language, program, code, text in (("typescript", "/usr/share/nodejs/typescript", "const n: number = 20\nn + 1", "21"),
                                              ("r", "/usr/bin/Rscript", "sum(1:6)", "[1] 21"), ("java", "/usr/bin/jshell", "int n = 20;\nn + 1", "21")):
            execution = sandbox.run_code(code, language=language)
            if os.path.exists(program):
                self.assertEqual((execution.error, (execution.text or "").strip()), (None, text), language)
            else:
                self.assertEqual(execution.error.name, "UnsupportedLanguage")
        self.assertEqual(sandbox.create_code_context(cwd="/root").cwd, "/root")

    def test_variables_of_one_execution(self):
        sandbox = self.fresh(envs={"S": "s"})
        code = "import os; os.environ.get('S'), os.environ.get('T')"
        self.assertEqual(sandbox.run_code(code, envs={"T": "t"}).text, "('s', 't')")
        self.assertEqual(sandbox.run_code(code).text, "('s', None)")

    def test_giving_up(self):
        sandbox = self.fresh()
        with self.assertRaises(e2b.TimeoutException):
            sandbox.run_code("while True: pass", timeout=0.7)
        self.assertEqual(sandbox.run_code("'free'", timeout=20).text, "free")


class AsyncInterpreter(AsyncCases):
    async def test_values_output_and_errors(self):
        sandbox = await self.fresh(TEMPLATE, kind=AsyncSandbox)
        out = []
        execution = await sandbox.run_code("print('hello')\n6 * 7", on_stdout=lambda message: out.append(message.line))
        self.assertEqual((execution.text, "".join(out)), ("42", "hello\n"))
        self.assertEqual((await sandbox.run_code("nothing")).error.name, "NameError")

    async def test_contexts(self):
        sandbox = await self.fresh(TEMPLATE, kind=AsyncSandbox)
        context = await sandbox.create_code_context()
        await sandbox.run_code("x = 5", context=context)
        self.assertEqual((await sandbox.run_code("x", context=context)).text, "5")
        await sandbox.remove_code_context(context)
        self.assertNotIn(context.id, [one.id for one in await sandbox.list_code_contexts()])


if __name__ == "__main__":
    unittest.main()
