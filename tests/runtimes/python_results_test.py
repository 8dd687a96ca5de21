"""What the last expression of a Python program comes back as."""
import base64
import unittest

from harness import python

PNG = b"\x89PNG\r\n\x1a\n"


class WhichExpression(unittest.TestCase):
    def value(self, code):
        answer = python(code)
        self.assertEqual(answer.status, 0, answer.err)
        return answer.result and answer.result["text/plain"]

    def test_the_last_statement_if_it_is_an_expression(self):
        for code, shown in {
            "1 + 1": "2",
            "x = 20\nx + 1": "21",
            "x = 20\nx + 1\n\n# done\n   \n": "21",
            "x = 1; x + 1": "2",
            "x = 1; (x + 1)": "2",
            "(1,\n 2,\n)": "(1, 2)",
            "[\n1,\n2\n]": "[1, 2]",
            "max(\n1,\nint('2')\n)": "2",
            "'''a\nb = 1\n'''": repr("a\nb = 1\n"),
            "def f():\n    return 5\nf()": "5",
            "from __future__ import annotations\nx: Nope = 1\nx": "1",
            "# -*- coding: utf-8 -*-\n'é'": "'é'",
            "\ufeff7": "7",
            "x = 1\r\nx + 1\r\n": "2",
            "if True:\n    y = 3\ny": "3",
            "1 if True else \\\n2": "1",
            "lambda: 0 ; 6": "6",
            "x = [i for i in range(3)]\nx[\n-1\n]": "2",
            "é = 5; 'é' * 1; é": "5",
        }.items():
            with self.subTest(code):
                self.assertEqual(self.value(code), shown)

    def test_nothing_else(self):
        for code in ("x = 1", "1;", "x = 1; x;", "1 ; # quiet", "(1);", "None", "print('x')", "import os", "for i in range(2):\n    i\n",
                     "def f():\n    1\n", "x = '''\n5\n'''", "if 1:\n  2\n", "", "# only a comment", "pass", "x: int", "del_ = 1\ndel del_"):
            with self.subTest(code):
                self.assertIsNone(self.value(code))

    def test_code_of_five_megabytes(self):
        answer = python("x = 0\n" + "x += 1  # padding padding padding padding\n" * 120_000 + "x")
        self.assertEqual(answer.result["text/plain"], "120000", answer.err)

    def test_a_value_in_the_middle_of_megabytes_of_one_statement(self):
        answer = python("[\n" + "1,\n" * 300_000 + "]\nlen('abc')")
        self.assertEqual(answer.result["text/plain"], "3", answer.err)


class Forms(unittest.TestCase):
    def forms(self, code):
        answer = python(code)
        self.assertEqual(answer.status, 0, answer.err)
        return answer.result

    def test_plain_data_is_json_too(self):
        for code, value in {
            "True": True,
            "-5": -5,
            "2.5": 2.5,
            "'ü\\n\"'": 'ü\n"',
            "[1, (2, None), {'a': []}]": [1, [2, None], {"a": []}],
            "{}": {},
            "2**62": 2**62,
            "'\\U0001f600'": "\U0001f600",
        }.items():
            with self.subTest(code):
                self.assertEqual(self.forms(code)["application/json"], value)

    def test_what_json_would_change_is_not(self):
        for code in ("float('nan')", "[1e400]", "{1: 2}", "2**63", "{1}", "b'x'", "object()", "'\\ud800'", "[complex(1)]",
                     "class S(str): pass\nS('x')", "a = []\na.append(a)\na", "x = 1\nfor _ in range(99): x = [x]\nx", "list(range(300000))"):
            with self.subTest(code):
                forms = self.forms(code)
                self.assertNotIn("application/json", forms)
                self.assertIn("text/plain", forms)

    def test_objects_that_show_themselves(self):
        forms = self.forms(
            "class A:\n"
            "    def __repr__(self): return 'an A'\n"
            "    def _repr_html_(self): return '<b>A</b>'\n"
            "    def _repr_markdown_(self): return '*A*'\n"
            "    def _repr_latex_(self): return '$A$'\n"
            "    def _repr_svg_(self): return '<svg/>'\n"
            "    def _repr_png_(self): return b'png'\n"
            "    def _repr_json_(self): return {'a': 1}, {'expanded': True}\n"
            "A()")
        self.assertEqual(forms, {
            "text/plain": "an A", "text/html": "<b>A</b>", "text/markdown": "*A*", "text/latex": "$A$",
            "image/svg+xml": "<svg/>", "image/png": base64.b64encode(b"png").decode(), "application/json": {"a": 1}})

    def test_a_bundle(self):
        forms = self.forms("class A:\n  def _repr_mimebundle_(self, include=None, exclude=None): return {'text/html': 'h', 'image/png': b'p', 'application/geo+json': {'x': [1]}, 5: 'x'}\nA()")
        self.assertEqual(forms["text/html"], "h")
        self.assertEqual(forms["image/png"], "cA==")
        self.assertEqual(forms["application/geo+json"], {"x": [1]})

    def test_a_class_and_an_object_with_every_name_have_text_only(self):
        for code in ("class A:\n  def _repr_html_(self): return 'x'\nA", "class A:\n  def __getattr__(self, name): return lambda *a: 'x'\nA()"):
            self.assertEqual(list(self.forms(code)), ["text/plain"])

    def test_forms_that_raise_are_left_out(self):
        forms = self.forms("class A:\n  def _repr_html_(self): 1/0\n  def _repr_png_(self): raise SystemExit\n  def __repr__(self): return 'A'\nA()")
        self.assertEqual(forms, {"text/plain": "A"})

    def test_a_repr_that_raises_or_never_ends_is_told_of(self):
        for body, said in (("raise ValueError('no')", "ValueError: no"), ("return repr(self)", "RecursionError"), ("return 5", "TypeError"), ("raise SystemExit(3)", "SystemExit")):
            forms = self.forms("class A:\n  def __repr__(self): %s\nA()" % body)
            self.assertIn(said, forms["text/plain"])
            self.assertIn("A object", forms["text/plain"])

    def test_huge_text_is_cut_with_a_note(self):
        answer = python("'x' * 30_000_000")
        line = answer.results[0]
        self.assertTrue(line["truncated"])
        self.assertLess(len(answer.raw_lines[0]), 8 << 20)
        self.assertIn("characters more", line["mime"]["text/plain"][-200:])

    def test_huge_text_of_characters_that_need_escapes(self):
        for text in ("'\U0001f600' * 5_000_000", "type('A', (), {'__repr__': lambda self: chr(1) * 5_000_000})()"):
            answer = python(text)
            self.assertLess(len(answer.raw_lines[0]), 8 << 20)
            self.assertTrue(answer.results[0]["truncated"])

    def test_a_huge_form_is_left_out_with_a_note(self):
        answer = python("class A:\n  def _repr_html_(self): return 'é' * 9_000_000\n  def _repr_latex_(self): return 'l'\n  def __repr__(self): return 'A'\nA()")
        self.assertTrue(answer.results[0]["truncated"])
        self.assertNotIn("text/html", answer.result)
        self.assertEqual(answer.result["text/latex"], "l")
        self.assertIn("text/html", answer.result["text/plain"])
        self.assertLess(max(map(len, answer.raw_lines)), 8 << 20)

    def test_half_characters_do_not_spoil_the_line(self):
        forms = self.forms("class A:\n  def __repr__(self): return 'a\\ud800b'\nA()")
        self.assertEqual(forms["text/plain"], "a\ufffdb")


class Libraries(unittest.TestCase):
    def png(self, forms):
        self.assertTrue(base64.b64decode(forms["image/png"]).startswith(PNG))

    def test_a_data_frame_is_a_table(self):
        forms = python("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})").result
        self.assertIn("<table", forms["text/html"])
        self.assertIn("   a  b", forms["text/plain"])

    def test_a_series_is_a_table_too(self):
        forms = python("import pandas as pd\npd.Series([1, 2], name='s')").result
        self.assertIn("<table", forms["text/html"])
        self.assertIn("Name: s", forms["text/plain"])

    def test_an_array_is_text(self):
        self.assertEqual(python("import numpy as np\nnp.arange(3)").result, {"text/plain": "array([0, 1, 2])"})

    def test_an_image_is_a_png(self):
        self.png(python("from PIL import Image\nImage.new('RGB', (2, 2))").result)

    def test_a_figure_comes_back_once(self):
        for last in ("fig", "ax", "ax.plot([1, 2])", "ax.imshow([[1, 2], [3, 4]])", "ax.hist([1, 2, 2])", "ax.bar([1], [2])", "plt.gca().set_title('t')"):
            with self.subTest(last):
                answer = python("import matplotlib.pyplot as plt\nfig, ax = plt.subplots(figsize=(1, 1))\n" + last)
                self.assertEqual(answer.status, 0, answer.err)
                self.png(answer.result)
                self.assertEqual(len(answer.results), 1)

    def test_open_figures_come_back_at_the_end(self):
        answer = python("import matplotlib.pyplot as plt\nfor i in range(2):\n    plt.figure(figsize=(1, 1)); plt.plot([i, 2])\n")
        self.assertEqual([line["main"] for line in answer.results], [False, False])
        for line in answer.results:
            self.png(line["mime"])

    def test_figures_come_back_though_the_program_failed(self):
        answer = python("import matplotlib.pyplot as plt\nplt.figure(figsize=(1, 1))\n1/0")
        self.assertEqual(len(answer.results), 1)
        self.assertEqual(answer.error["name"], "ZeroDivisionError")

    def test_show_sends_at_once_and_closes(self):
        answer = python("import matplotlib.pyplot as plt\nplt.figure(figsize=(1, 1)); plt.plot([1])\nplt.show()\nprint(plt.get_fignums())\n"
                        "plt.figure(figsize=(1, 1)); plt.plot([2])\nplt.show(block=False)\n'end'")
        self.assertEqual(answer.out, "[]\n")
        self.assertEqual([line["main"] for line in answer.results], [False, False, True])
        self.assertEqual(answer.err, "")

    def test_closed_figures_do_not_come_back(self):
        answer = python("import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\nplt.plot([1])\nplt.savefig('/dev/null', format='png')\nplt.close()")
        self.assertEqual(answer.results, [])

    def test_importing_pyplot_under_another_name_works_too(self):
        answer = python("from matplotlib import pyplot\nimport sys\npyplot.figure(figsize=(1, 1))\npyplot.show()\nprint(pyplot.get_backend(), [type(f).__name__ for f in sys.meta_path])")
        self.assertEqual(len(answer.results), 1)
        self.assertTrue(answer.out.lower().startswith("agg"), answer.out)


if __name__ == "__main__":
    unittest.main()
