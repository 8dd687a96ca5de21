"""R contexts: what lasts between cells, values, plots, errors, an environment, interrupts, ends."""
import base64
import unittest

from context_harness import Context


class RContexts(unittest.TestCase):
    def setUp(self):
        self.context = Context("r", env=["PATH=/usr/bin:/bin", "A=b", "LANG=C.UTF-8"])
        self.addCleanup(self.context.close)

    def shown(self, code, **cell):
        outcome = self.context.run(code, **cell)
        self.assertEqual((outcome.status, outcome.err, outcome.error), (0, "", None), code)
        return outcome.result and outcome.result["text/plain"]

    def test_state_lasts_and_values_are_results(self):
        for code in ("x <- 20", "f <- function(a) {\n  a + x\n}", "", "# nothing", "invisible(7)", "library(stats)"):
            self.assertIsNone(self.shown(code), code)
        for code, shown in {"f(1)": "[1] 21", "'é \"q\"'": '[1] "é \\"q\\""', "c(a = 1, b = 2)": "a b \n1 2 ", "NULL": "NULL", "getwd()": '[1] "/tmp"', "Sys.getenv('A')": '[1] "b"',
                            "data.frame(n = 1:2)": "  n\n1 1\n2 2"}.items():
            with self.subTest(code):
                self.assertEqual(self.shown(code), shown)
        outcome = self.context.run("print('hello')\n1 + 1\nmessage('err')\n2 + 2")
        self.assertEqual((outcome.out, outcome.err), ('[1] "hello"\n', "err\n"))
        self.assertEqual([(one["mime"]["text/plain"], one["main"]) for one in outcome.results], [('[1] "hello"', False), ("[1] 2", False), ("[1] 4", True)][1:])

    def test_errors_keep_the_state(self):
        self.context.run("x <- 1\ng <- function(n) {\n  stop('boom ', n)\n}")
        outcome = self.context.run("y <- 2\n\ng(5)", name="cell-2")
        self.assertEqual((outcome.status, outcome.error["name"], outcome.error["message"], outcome.error["line"]), (1, "Error", "boom 5", 3))
        self.assertEqual((outcome.error["traceback"], outcome.err), (["Error in g(5) : boom 5", "1: g(5)"], "Error in g(5) : boom 5\n"))
        self.assertEqual(self.context.run("g(5)", rich=True).err, "")
        outcome = self.context.run("x <- 1\ny <- (")
        self.assertEqual((outcome.error["name"], outcome.error["line"]), ("SyntaxError", 3))
        self.assertIn("not found", self.context.run("nothing_like_it").error["message"])
        self.assertEqual(self.context.run("stop(structure(class = c('own', 'error', 'condition'), list(message = 'm', call = NULL)))").error["name"], "own")
        self.assertIn("careful", self.context.run("warning('careful')").err)
        self.assertEqual(self.shown("x + y"), "[1] 3")

    def test_plots_are_images(self):
        outcome = self.context.run("plot(1:3)\nhist(c(1, 2, 2))\n5", rich=True)
        self.assertEqual((outcome.status, outcome.error), (0, None), outcome.err)
        images = [one["mime"]["image/png"] for one in outcome.results if "image/png" in one["mime"]]
        self.assertEqual([base64.b64decode(one)[:8] for one in images], [b"\x89PNG\r\n\x1a\n"] * 2)
        self.assertEqual(outcome.result["text/plain"], "[1] 5")
        self.assertEqual(self.context.run("1").results[0]["mime"], {"text/plain": "[1] 1"})

    def test_an_environment_for_one_cell(self):
        code = "unname(Sys.getenv(c('A', 'N'), unset = 'none'))"
        self.assertEqual(self.shown(code, env=["A=c", "N=a=b é"]), '[1] "c"     "a=b é"')
        self.assertEqual(self.shown(code), '[1] "b"    "none"')

    def test_interrupts_end_the_cell(self):
        for code in ("cat('go\\n'); repeat {}", "cat('go\\n'); Sys.sleep(1000)"):
            outcome = self.context.interrupted(code, group=True)
            self.assertEqual((outcome.status, outcome.error["name"]), (130, "KeyboardInterrupt"), code)
        self.context.run("x <- 1")
        self.context.interrupt()  # while none runs
        self.assertEqual(self.shown("x"), "[1] 1")

    def test_ends(self):
        outcome = self.context.run("quit(status = 3)")
        self.assertEqual((outcome.lines, self.context.process.wait(10)), ([{"type": "exit", "code": 3}], 3))

    def test_stdin_is_refused(self):
        self.assertIn("stdin", self.context.run("1", stdin="x").error["message"])
        self.assertEqual(self.shown("readLines(file('stdin'))"), "character(0)")


class Directories(unittest.TestCase):
    def test_one_that_is_not_there(self):
        context = Context("r", ready=False, workdir="/nowhere")
        self.addCleanup(context.close)
        outcome = context.finish()
        self.assertIn("cannot enter the working directory", outcome.error["message"])


if __name__ == "__main__":
    unittest.main()
