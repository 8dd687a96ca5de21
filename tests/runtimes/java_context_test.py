"""Java contexts: what lasts between cells, values, errors, an environment, stdin, interrupts, ends."""
import unittest

from context_harness import Context


class JavaContexts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.context = Context("java", env=["PATH=/usr/bin:/bin", "A=b"])
        cls.addClassCleanup(cls.context.close)

    def shown(self, code, **cell):
        outcome = self.context.run(code, **cell)
        self.assertEqual((outcome.status, outcome.err, outcome.error), (0, "", None), code)
        return outcome.result and outcome.result["text/plain"]

    def test_state_lasts_and_values_are_results(self):
        for code in ("int x = 20;", "int f(int a) {\n  return a + x;\n}", "record P(int a, String b) {}", "import java.time.Duration;", "", "// nothing", "for (int i = 0; i < 2; i++) {}", "System.out.print(\"\")"):
            self.assertIsNone(self.shown(code), code)
        for code, shown in {"f(1)": "21", "f(2);": "22", "new P(1, \"é\")": "P[a=1, b=é]", "\"a\" + 1": '"a1"', "List.of(1, 2)": "[1, 2]", "Duration.ofSeconds(90)": "PT1M30S",
                            "int y = 3;\nint z = 4;\n\ny * z": "12", "Stream.of(1, 2).map(n -> n * 2).toList()": "[2, 4]", "class C {\n  int m() { return 5; }\n}\nnew C().m()": "5"}.items():
            with self.subTest(code):
                self.assertEqual(self.shown(code), shown)
        outcome = self.context.run('System.out.println("Hello é");\nSystem.err.println("err");\n1')
        self.assertEqual((outcome.out, outcome.err, outcome.result["text/plain"]), ("Hello é\n", "err\n", "1"))

    def test_errors_keep_the_state(self):
        self.context.run("int kept = 1;\nint g(int n) {\n  throw new IllegalStateException(\"boom \" + n);\n}")
        outcome = self.context.run("int w = 2;\n\ng(5)", name="cell-2")
        self.assertEqual((outcome.status, outcome.error["name"], outcome.error["message"], outcome.error["line"]), (1, "java.lang.IllegalStateException", "boom 5", 3))
        self.assertIn("at ", "\n".join(outcome.error["traceback"]))
        self.assertIn("boom 5", outcome.err)
        self.assertEqual(self.context.run("g(5)", rich=True).err, "")
        outcome = self.context.run("int v = 1;\nint u = \"text\";", name="cell-3")
        self.assertEqual((outcome.error["name"], outcome.error["line"]), ("CompilationError", 2))
        self.assertIn("incompatible types", outcome.error["message"])
        self.assertEqual(self.context.run("int broken = (").error["name"], "CompilationError")
        self.assertEqual(self.shown("kept + w + v"), "4")

    def test_an_environment_for_one_cell(self):
        code = 'System.getenv("A") + System.getProperty("A") + System.getenv("N") + System.getProperty("N", "none")'
        self.assertEqual(self.shown(code, env=["A=c", "N=1"]), '"cc11"')
        self.assertEqual(self.shown(code), '"bbnullnone"')
        self.assertEqual(self.shown('System.getProperty("user.dir")'), '"/tmp"')

    def test_stdin(self):
        self.assertEqual(self.shown("new Scanner(System.in).nextLine()", stdin="é\n"), '"é"')
        self.assertEqual(self.shown("System.in.read()"), "-1")

    def test_interrupts_end_the_cell(self):
        for code in ('System.out.println("go"); while (true) {}', 'System.out.println("go"); Thread.sleep(1000000);'):
            outcome = self.context.interrupted(code, group=True)
            self.assertEqual((outcome.status, outcome.error["name"]), (130, "KeyboardInterrupt"), code)
        self.assertEqual(self.shown("1 + 1"), "2")


class Ends(unittest.TestCase):
    def test_with_the_process(self):
        context = Context("java")
        self.addCleanup(context.close)
        context.run("System.exit(3);")
        self.assertEqual(context.process.wait(10), 3)


if __name__ == "__main__":
    unittest.main()
