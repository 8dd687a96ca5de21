"""Rich cells: figures and tables as data, an environment for one cell, errors told once."""
import json
import os
import tempfile
import unittest

from context_harness import Context

CHART = "application/vnd.glovebox.chart+json"
TABLE = "application/vnd.glovebox.table+json"


class Rich(unittest.TestCase):
    def setUp(self):
        self.context = Context("python", env=["PATH=/usr/bin:/bin", "HOME=/tmp", "GIVEN=before"])
        self.addCleanup(self.context.close)

    def run_rich(self, code, **more):
        outcome = self.context.run(code, rich=True, **more)
        self.assertEqual((outcome.status, outcome.err), (0, ""), code)
        return outcome

    def shown(self, code):
        """The one figure that a cell shows, as its chart."""
        outcome = self.run_rich("import matplotlib.pyplot as plt\n" + code)
        self.assertEqual(len(outcome.results), 1, outcome.lines)
        self.assertIn("image/png", outcome.results[0]["mime"])
        return outcome.results[0]["mime"][CHART]


class Charts(Rich):
    def test_a_line(self):
        chart = self.shown(
            "plt.plot([1, 2, 3], [1.5, float('nan'), 9], label='a')\nplt.plot([1, 2], [0, 1])\n"
            "plt.axhline(4)\nplt.title('T')\nplt.xlabel('Time (s)')\nplt.ylabel('Size [mm]')\nplt.show()")
        self.assertEqual((chart["type"], chart["title"]), ("line", "T"))
        self.assertEqual([chart[name] for name in ("x_label", "x_unit", "y_label", "y_unit")], ["Time (s)", "s", "Size [mm]", "mm"])
        self.assertEqual(chart["elements"], [{"label": "a", "points": [[1, 1.5], [2, None], [3, 9]]}, {"label": "Line 1", "points": [[1, 0], [2, 1]]}])
        self.assertEqual((chart["x_scale"], chart["y_scale"]), ("linear", "linear"))
        self.assertEqual(len(chart["x_ticks"]), len(chart["x_tick_labels"]))
        self.assertIn("2.00", chart["x_tick_labels"])
        self.assertIn(2, chart["x_ticks"])

    def test_scales(self):
        chart = self.shown("plt.plot([1, 10, 100], [1, 2, 3])\nplt.xscale('log')\nplt.show()")
        self.assertEqual((chart["x_scale"], chart["y_scale"]), ("log", "linear"))

    def test_dates(self):
        chart = self.shown("import datetime as d\nplt.plot([d.datetime(2024, 1, n, 12) for n in (1, 2, 3)], [1, 2, 3])\nplt.show()")
        self.assertEqual(chart["x_scale"], "datetime")
        self.assertEqual(chart["elements"][0]["points"][1], ["2024-01-02T12:00:00", 2])
        self.assertTrue(all(isinstance(one, str) and one.startswith("20") for one in chart["x_ticks"]), chart["x_ticks"])
        chart = self.shown("plt.scatter([d.datetime(2024, 1, n) for n in (1, 2)], [1, 2])\nplt.show()")
        self.assertEqual(chart["elements"][0]["points"][1][0][:19], "2024-01-02T00:00:00")

    def test_pandas_draws_too(self):
        chart = self.shown("import pandas as pd\npd.Series([1, 2, 4], pd.date_range('2024-03-01', periods=3), name='s').plot()\nplt.show()")
        self.assertEqual((chart["type"], chart["x_scale"]), ("line", "datetime"))
        self.assertEqual([point[0][:10] for point in chart["elements"][0]["points"]], ["2024-03-01", "2024-03-02", "2024-03-03"])
        chart = self.shown("pd.DataFrame({'a': [1, 2], 'b': [3, 4]}, index=['x', 'y']).plot.bar()\nplt.show()")
        self.assertEqual([(one["label"], one["group"], one["value"]) for one in chart["elements"]], [("x", "a", 1), ("y", "a", 2), ("x", "b", 3), ("y", "b", 4)])

    def test_names_on_an_axis(self):
        chart = self.shown("plt.plot(['low', 'high'], [1, 2])\nplt.show()")
        self.assertEqual((chart["x_scale"], chart["x_ticks"], chart["elements"][0]["points"]), ("categorical", ["low", "high"], [["low", 1], ["high", 2]]))
        chart = self.shown("plt.scatter(['low', 'high'], [1, 2])\nplt.show()")
        self.assertEqual(chart["elements"][0]["points"], [["low", 1], ["high", 2]])

    def test_a_scatter(self):
        chart = self.shown("plt.scatter([1, 2], [3, 4], label='dots')\nplt.scatter([5], [6])\nplt.show()")
        self.assertEqual((chart["type"], chart["title"], chart["x_label"]), ("scatter", None, None))
        self.assertEqual(chart["elements"], [{"label": "dots", "points": [[1, 3], [2, 4]]}, {"label": "Scatter 1", "points": [[5, 6]]}])
        self.assertIn("x_ticks", chart)
        self.assertEqual(self.shown("plt.plot([1, 2], [3, 4], 'o')\nplt.show()")["type"], "scatter")

    def test_bars(self):
        chart = self.shown("plt.bar(['a', 'b'], [3, 4.5], label='first')\nplt.xlabel('who')\nplt.show()")
        self.assertEqual((chart["type"], chart["x_label"], chart["y_unit"]), ("bar", "who", None))
        self.assertEqual(chart["elements"], [{"label": "a", "group": "first", "value": 3}, {"label": "b", "group": "first", "value": 4.5}])
        self.assertNotIn("x_ticks", chart)
        chart = self.shown("plt.barh(['a', 'b'], [3, 4])\nplt.xlabel('much (kg)')\nplt.ylabel('who')\nplt.show()")
        self.assertEqual(chart["elements"], [{"label": "a", "group": "Group 0", "value": 3}, {"label": "b", "group": "Group 0", "value": 4}])
        self.assertEqual((chart["x_label"], chart["y_label"], chart["y_unit"]), ("who", "much (kg)", "kg"))
        chart = self.shown("plt.bar([1, 2], [3, 4])\nplt.bar([1, 2], [1, 1], bottom=[3, 4])\nplt.show()")
        self.assertEqual([(one["label"], one["group"], one["value"]) for one in chart["elements"]],
                         [("1", "Group 0", 3), ("2", "Group 0", 4), ("1", "Group 1", 1), ("2", "Group 1", 1)])

    def test_grouped_bars_have_the_name_that_is_nearest(self):
        chart = self.shown("x = [0, 1]\nplt.bar([a - 0.2 for a in x], [1, 2], 0.4)\nplt.bar([a + 0.2 for a in x], [3, 4], 0.4)\nplt.xticks(x, ['m', 'w'])\nplt.show()")
        self.assertEqual([one["label"] for one in chart["elements"]], ["m", "w", "m", "w"])

    def test_a_histogram_is_bars(self):
        chart = self.shown("plt.hist([1, 1, 2, 5], bins=[0, 2, 4, 6])\nplt.show()")
        self.assertEqual([(one["label"], one["value"]) for one in chart["elements"]], [("1", 2), ("3", 1), ("5", 1)])

    def test_a_pie(self):
        chart = self.shown("plt.pie([1, 3], labels=['a', 'b'], autopct='%d')\nplt.title('P')\nplt.show()")
        self.assertEqual((chart["type"], chart["title"]), ("pie", "P"))
        self.assertEqual([(one["label"], round(one["angle"]), one["radius"]) for one in chart["elements"]], [("a", 90, 1), ("b", 270, 1)])

    def test_boxes(self):
        data = "[[1, 2, 3, 4, 5, 20, -9], [2, 2, 3, 3]]"
        upright = [
            {"label": "1", "min": 1, "first_quartile": 1.5, "median": 3, "third_quartile": 4.5, "max": 5, "outliers": [-9, 20]},
            {"label": "2", "min": 2, "first_quartile": 2, "median": 2.5, "third_quartile": 3, "max": 3, "outliers": []},
        ]
        for more in ("", ", patch_artist=True", ", showmeans=True, meanline=True", ", showmeans=True", ", showcaps=False", ", vert=False", ", notch=True", ", notch=True, patch_artist=True"):
            with self.subTest(more):
                chart = self.shown("plt.boxplot(%s%s)\nplt.xlabel('X')\nplt.ylabel('Y')\nplt.show()" % (data, more))
                self.assertEqual(chart["type"], "box_and_whisker")
                self.assertEqual((chart["x_label"], chart["y_label"]), ("Y", "X") if "vert=False" in more else ("X", "Y"))
                for box in chart["elements"]:
                    box["outliers"].sort()
                self.assertEqual(chart["elements"], upright)
        chart = self.shown("plt.boxplot([[1, 2], [3, 4]], labels=['p', 'q'])\nplt.show()")
        self.assertEqual([one["label"] for one in chart["elements"]], ["p", "q"])

    def test_several_axes(self):
        chart = self.shown("f, (a, b, c) = plt.subplots(1, 3)\na.plot([1, 2])\nb.bar(['x'], [1])\na.set_title('A')\nf.suptitle('All')\nplt.show()")
        self.assertEqual((chart["type"], chart["title"]), ("superchart", "All"))
        self.assertEqual([(one["type"], one["title"]) for one in chart["elements"]], [("line", "A"), ("bar", None)])

    def test_what_is_none_of_these(self):
        for code in ("plt.imshow([[1, 2], [3, 4]]); plt.colorbar()", "plt.contourf([[1, 2], [3, 4]])", "plt.stackplot([1, 2], [3, 4])",
                     "plt.axes(projection='polar').plot([1, 2])", "plt.figure().add_subplot()", "plt.axes(projection='3d').plot([1, 2], [1, 2], [1, 2])"):
            with self.subTest(code):
                chart = self.shown(code + "\nplt.title('?')\nplt.show()")
                self.assertEqual((chart["type"], chart["elements"]), ("unknown", []))
        outcome = self.run_rich("plt.figure().text(0.5, 0.5, 'hi')\nplt.show()")
        self.assertEqual(list(outcome.results[0]["mime"]), ["text/plain", "image/png"])

    def test_too_many_points_leave_the_picture(self):
        outcome = self.run_rich("import matplotlib.pyplot as plt\nfor _ in range(3):\n    plt.plot(range(5000)); plt.show()\n")
        charts = [CHART in one["mime"] for one in outcome.results]
        self.assertEqual(charts, [True, True, False])
        self.assertIn(CHART + ": ", outcome.results[2]["mime"]["text/plain"])
        self.assertIn("image/png", outcome.results[2]["mime"])
        # The server reads so many values of one cell, as it counts them.
        self.assertLess(sum(line.count(b",") + line.count(b"[") + line.count(b"{") for line in outcome.raw_lines), 40_000)
        self.assertIn(CHART, self.run_rich("plt.plot(range(5000)); plt.show()").results[0]["mime"])
        outcome = self.run_rich("plt.scatter(range(300_000), range(300_000)); plt.show()")
        self.assertIn("[%s: 300000 values, too many]" % CHART, outcome.results[0]["mime"]["text/plain"])

    def test_the_last_expression_is_its_figure_and_is_not_sent_twice(self):
        outcome = self.run_rich("import matplotlib.pyplot as plt\nplt.plot([1, 2])")
        self.assertEqual([one["main"] for one in outcome.results], [True])
        self.assertEqual(outcome.result[CHART]["type"], "line")
        outcome = self.run_rich("plt.plot([1, 2])\ndisplay(plt.gcf())\n3")
        self.assertEqual([(one["main"], CHART in one["mime"]) for one in outcome.results], [(False, True), (True, False)])

    def test_nothing_of_this_without_being_asked(self):
        outcome = self.context.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nimport pandas as pd\npd.DataFrame({'a': [1]})")
        for one in outcome.results:
            self.assertFalse([mime for mime in one["mime"] if mime.startswith("application/vnd.glovebox")])
        self.assertIsNone(self.context.run("import sys; sys.modules.get('_glovebox_charts')").result)
        self.assertEqual(self.context.run("display").error["name"], "NameError")
        self.assertEqual(self.context.run("[1]").result["application/json"], [1])


class Tables(Rich):
    def data(self, code):
        return self.run_rich("import pandas as pd, numpy as np\n" + code).result

    def test_a_table_is_columns(self):
        forms = self.data("pd.DataFrame({'a': [1, 2], 'b': ['x', None], 'c': [1.5, float('nan')], 'd': [True, False]})")
        self.assertEqual(forms[TABLE], {"a": [1, 2], "b": ["x", None], "c": [1.5, None], "d": [True, False]})
        self.assertIn("<table", forms["text/html"])

    def test_what_json_has_not(self):
        forms = self.data("pd.DataFrame({7: pd.to_datetime(['2024-01-02', None]), 'big': [2**60, 1], 'n': pd.array([1, None], dtype='Int64'),"
                          " 'o': [{'a'}, (1,)], 't': pd.to_timedelta(['1h', None]), 'p': pd.period_range('2024-01', periods=2, freq='M')})")
        self.assertEqual(forms[TABLE], {
            "7": ["2024-01-02T00:00:00", None], "big": [str(2**60), 1], "n": [1, None], "o": ["{'a'}", "(1,)"],
            "t": ["0 days 01:00:00", None], "p": ["2024-01-01T00:00:00", "2024-02-01T00:00:00"]})

    def test_columns_of_one_name_are_all_there(self):
        self.assertEqual(self.data("pd.DataFrame([[1, 2, 3]], columns=['a', 'a', 'a'])")[TABLE], {"a": [1], "a.1": [2], "a.2": [3]})

    def test_a_large_one_is_left_out_and_that_is_said(self):
        forms = self.data("pd.DataFrame({'a': range(50_000)})")
        self.assertNotIn(TABLE, forms)
        self.assertIn("[%s: 50000 values, too many]" % TABLE, forms["text/plain"])
        self.assertEqual(len(self.data("pd.DataFrame({'a': range(20_000)})")[TABLE]["a"]), 20_000)


class Cells(Rich):
    def test_values_are_not_json_too(self):
        for code in ("1", "[1]", "{'a': 1}", "'text'"):
            self.assertEqual(list(self.run_rich(code).result), ["text/plain"])

    def test_display(self):
        outcome = self.run_rich("class A:\n    def _repr_html_(self): return '<b>'\ndisplay(A(), 1)\n'end'")
        self.assertEqual([one["main"] for one in outcome.results], [False, False, True])
        self.assertEqual(outcome.results[0]["mime"]["text/html"], "<b>")

    def test_forms_of_its_own(self):
        outcome = self.run_rich("class A:\n    def _repr_mimebundle_(self, *_): return {'e2b/chart': {'type': 'line', 'n': 1}, 'e2b/data': 'text'}\nA()")
        self.assertEqual(outcome.result["e2b/chart"], {"type": "line", "n": 1})
        self.assertEqual(outcome.result["e2b/data"], "text")

    def test_only_types_of_json_or_of_its_own_hold_objects(self):
        outcome = self.run_rich("class A:\n    def _repr_mimebundle_(self, *_):\n        return {'text/html': {'a': 1}, 'image/x': [1],"
                                " 'application/vnd.a+json': [2], 'mine/plot': [3]}\nA()")
        self.assertEqual({mime: data for mime, data in outcome.result.items() if mime != "text/plain"},
                         {"application/vnd.a+json": [2], "mine/plot": [3]})

    def test_an_error_is_told_once(self):
        outcome = self.context.run("print('a')\n1/0", rich=True)
        self.assertEqual((outcome.status, outcome.out, outcome.err), (1, "a\n", ""))
        self.assertEqual(outcome.error["name"], "ZeroDivisionError")
        self.assertIn("cell", json.dumps(outcome.error["traceback"]))
        outcome = self.context.run("1/0")
        self.assertIn("ZeroDivisionError", outcome.err)

    def test_what_notebooks_import(self):
        outcome = self.run_rich("from IPython.display import display, HTML, Markdown, Image, SVG, JSON, Math\ndisplay(HTML('<b>'), Markdown('*'))\n"
                                "display(Image(b'\\x89PNG'), SVG('<svg/>'), JSON({'a': 1}), Math('x'), metadata={})\nHTML('<i>')")
        shown = [{mime: data for mime, data in one["mime"].items() if mime != "text/plain"} for one in outcome.results]
        self.assertEqual(shown, [{"text/html": "<b>"}, {"text/markdown": "*"}, {"image/png": "iVBORw=="}, {"image/svg+xml": "<svg/>"},
                                 {"application/json": {"a": 1}}, {"text/latex": "$\\displaystyle x$"}, {"text/html": "<i>"}])
        self.assertEqual(self.run_rich("import IPython; IPython.get_ipython(), IPython.display.HTML is HTML").result["text/plain"], "(None, True)")
        self.assertEqual(self.run_rich("import pandas as pd, matplotlib.pyplot as plt; pd.DataFrame({'a': [1]})").result[TABLE], {"a": [1]})
        self.assertEqual(self.context.run("import IPython.nothing").error["name"], "ModuleNotFoundError")

    def test_lines_of_a_notebook(self):
        self.assertEqual(self.run_rich("x = 1\nif x:\n    !echo \"a b\" $((1 + 2))\nprint('after')").out, "a b 3\nafter\n")
        self.assertEqual(self.run_rich("v = !printf '1\\n2\\n'\nv").result["text/plain"], "['1', '2']")
        self.assertEqual(self.run_rich("%cd /usr\n!pwd").out, "/usr\n/usr\n")
        self.assertEqual(self.run_rich("%%bash\nfor i in 1 2; do\n  echo $i\ndone\n").out, "1\n2\n")
        self.assertEqual(self.run_rich("s = \"\"\"\n!not\n\"\"\"\ns").result["text/plain"], "'\\n!not\\n'")
        self.assertEqual(self.context.run("x = (", rich=True).error["name"], "SyntaxError")
        outcome = self.context.run("y = 2\n!echo no")
        self.assertEqual((outcome.error["name"], outcome.out), ("SyntaxError", ""))
        outcome = self.context.run("!true\n\n1/0", rich=True)
        self.assertEqual(outcome.error["line"], 3)

    def test_cells_may_be_indented(self):
        self.assertEqual(self.run_rich("\n    x = 1\n    if x:\n        x += 1\n\n  \n    x\n    ").result["text/plain"], "2")
        self.assertEqual(self.context.run("\tx = 3\n\tx").result["text/plain"], "3")
        self.assertEqual(self.run_rich("  # only this").results, [])
        self.assertEqual(self.run_rich("   \n \n").results, [])
        self.assertEqual(self.run_rich("    s = '''\n    a\n  b'''\n    s").result["text/plain"], "'\\na\\n  b'")
        self.assertEqual(self.context.run("x = 1\n    y = 2", rich=True).error["name"], "IndentationError")
        outcome = self.context.run("\n    def f():\n        return 1/0\n\n    f()", rich=True)
        self.assertEqual((outcome.error["line"], outcome.error["name"]), (3, "ZeroDivisionError"))
        self.assertEqual(self.run_rich("    a = 'indented'\n    !echo {a}").out, "indented\n")

    def test_earlier_values(self):
        def shown(number, code, **more):
            return self.context.run(code, name="cell-%d" % number, rich=True, **more).result["text/plain"]
        self.assertEqual(self.context.run("_").error["name"], "NameError")
        self.assertEqual([shown(1, "10"), shown(2, "_ + 1"), shown(3, "_ + __")], ["10", "11", "21"])
        self.context.run("None", name="cell-4", rich=True)
        self.context.run("5;", name="cell-5", rich=True)
        self.assertEqual(shown(6, "_, __, ___, _2, Out[1], In[2]"), "(21, 11, 10, 11, 10, '_ + 1')")
        for _ in range(2):  # the code's own
            self.assertEqual(shown(7, "for _ in range(3): pass\n_ * 100"), "200")
        self.assertEqual(self.context.run("_").result["text/plain"], "2")

    def test_magics(self):
        self.assertEqual(self.run_rich("n = 3\n!echo {n + 1} $n '$n' {{n}} ${HOME:-x} {1..2}").out, "4 3 $n {n} /tmp 1 2\n")
        self.assertEqual(self.run_rich("def f(local):\n    !echo {local}\nf('in')").out, "in\n")
        self.assertEqual(self.run_rich("!exit 3\n_exit_code").result["text/plain"], "3")
        self.assertEqual(self.run_rich("!echo a \\\n   b\nprint('c')").out, "a b\nc\n")
        self.assertEqual(self.run_rich("t = [\n  '%d'\n  % 5,\n]\n%pwd").result["text/plain"], "'/tmp'")
        self.assertEqual(self.run_rich("here = %pwd\nhere").result["text/plain"], "'/tmp'")
        self.assertEqual(self.run_rich("%env GIVEN").result["text/plain"], "'before'")
        self.assertEqual(self.run_rich("%env MADE=1\nimport os; os.environ['MADE']").result["text/plain"], "'1'")
        outcome = self.run_rich("%time 6 * 7")
        self.assertIn("Wall time: ", outcome.out)
        self.assertEqual(outcome.result["text/plain"], "42")
        self.assertRegex(self.run_rich("%timeit -n 10 -r 2 sum(range(5))").out, r"per loop \(mean ± std. dev. of 2 runs, 10 loops each\)")
        outcome = self.run_rich("%%time\nz = 20\nz + 1")
        self.assertIn("CPU times", outcome.out)
        self.assertEqual(outcome.result["text/plain"], "21")
        with tempfile.TemporaryDirectory() as directory:
            self.assertIn("Writing", self.run_rich("%%writefile " + directory + "/m.py\nmade = 'by a file'\n").out)
            self.run_rich("%run " + directory + "/m.py")
        self.assertEqual(self.run_rich("made").result["text/plain"], "'by a file'")
        self.assertEqual(self.run_rich("%%capture kept\nprint('x')").out, "")
        self.assertEqual(self.run_rich("kept.stdout").result["text/plain"], "'x\\n'")
        self.assertEqual(self.run_rich("%%html\n<b>x</b>").results[0]["mime"]["text/html"], "<b>x</b>")
        self.assertEqual(self.run_rich("%matplotlib inline\n1").result["text/plain"], "1")
        self.assertIn("Docstring:", self.run_rich("len?").out)
        self.assertIn("here", self.run_rich("%who").out)
        for code, name in (("%nonsense 1", "UsageError"), ("%%nonsense\nx", "UsageError"), ("%%bash\nexit 3", "CalledProcessError"), ("5 %\n", "SyntaxError")):
            self.assertEqual(self.context.run(code, rich=True).error["name"].rpartition(".")[2], name, code)

    def test_strings_and_brackets_are_no_magics(self):
        code = "text = '''\n!no\n%pwd\n'''\nrest = (7\n  % 4)\n!echo said 'quo\"te'\n(text, rest)"
        outcome = self.run_rich(code)
        self.assertEqual((outcome.out, outcome.result["text/plain"]), ("said quo\"te\n", "('\\n!no\\n%pwd\\n', 3)"))

    def test_objects_that_show_themselves(self):
        self.run_rich("class A:\n    def __init__(self): self._repr_html_ = lambda: '<i>own</i>'\n    def _repr_javascript_(self): return 'js'")
        forms = self.run_rich("A()").result
        self.assertEqual((forms["text/html"], forms["application/javascript"]), ("<i>own</i>", "js"))
        self.assertEqual(list(self.run_rich("from unittest.mock import MagicMock; MagicMock()").result), ["text/plain"])
        shown = self.run_rich("display({'text/html': '<b>', 'text/plain': 'b'}, raw=True)").results[0]["mime"]
        self.assertEqual(shown, {"text/plain": "b", "text/html": "<b>"})
        self.assertEqual(len(self.run_rich("h = display(1, display_id=True)\nh.update(2)").results), 2)

    def test_images_are_shown_and_saved(self):
        make = "from PIL import Image\nimage = Image.new('RGBA', (4, 4), 'red')\n"
        with tempfile.TemporaryDirectory() as directory:
            for code in ("image.show()", "image", "image.save(%r)" % (directory + "/a.png"), "import pathlib; image.save(pathlib.Path(%r))" % (directory + "/b.png")):
                outcome = self.run_rich(make + code)
                self.assertEqual([one["mime"]["image/png"][:8] for one in outcome.results], ["iVBORw0K"], code)
            self.assertEqual(sorted(os.listdir(directory)), ["a.png", "b.png"])
            code = "import io; image.save(io.BytesIO(), 'PNG')\nimport matplotlib.pyplot as plt\nplt.plot([1]); plt.savefig(%r); plt.close('all')" % (directory + "/c.png")
            self.assertEqual([one["mime"] for one in self.run_rich(code).results if not one["main"]], [])

    def test_a_pies_angles_are_exact(self):
        for values, angles in (([90, 10], [324, 36]), ([1, 1, 1], [120, 120, 120]), ([0.5, 99.5], [1.8, 358.2]), ([1, 6], [51.4286, 308.5714])):
            elements = self.run_rich("import matplotlib.pyplot as plt\nplt.pie(%r)\nplt.show()" % values).results[0]["mime"][CHART]["elements"]
            self.assertEqual([one["angle"] for one in elements], angles)

    def test_an_environment_for_one_cell(self):
        code = "import os, subprocess\nprint(os.environ.get('GIVEN'), os.environ.get('NEW'), subprocess.run('echo $NEW', shell=True, capture_output=True, text=True).stdout)"
        self.assertEqual(self.run_rich(code, env=["GIVEN=now", "NEW=a=b \u00e9"]).out, "now a=b \u00e9 a=b \u00e9\n\n")
        self.assertEqual(self.run_rich(code).out, "before None \n\n")
        self.context.run("1/0", env=["GIVEN=now"])
        self.assertEqual(self.run_rich("os.environ['GIVEN'] = 'mine'; del os.environ['NEW']", env=["GIVEN=x", "NEW=y"]).out, "")
        self.assertEqual(self.run_rich("print(os.environ.get('GIVEN'), os.environ.get('NEW'))").out, "before None\n")
        self.context.interrupted("import os, time; print('go'); time.sleep(1000)")
        outcome = self.run_rich("import time; print(time.tzname[0])", env=["TZ=XYZ-3"])
        self.assertEqual(outcome.out, "XYZ\n")
        self.assertNotEqual(self.run_rich("print(time.tzname[0])").out, "XYZ\n")

    def test_an_interrupt_puts_it_back(self):
        self.context.send("import os, time; print('go'); time.sleep(1000)", env=["GIVEN=now"], rich=True)
        self.context.wait_for_output(b"go\n")
        self.context.interrupt()
        outcome = self.context.finish()
        self.assertEqual((outcome.status, outcome.err, outcome.error["name"]), (130, "", "KeyboardInterrupt"))
        self.assertEqual(self.run_rich("print(os.environ['GIVEN'])").out, "before\n")


if __name__ == "__main__":
    unittest.main()
