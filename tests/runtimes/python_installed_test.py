"""Packages that come while a context lives: the user's own place, .pth files, other contexts, cold and from a zygote."""
import os
import sys
import tempfile
import unittest

import harness
import python_context_test
from context_harness import Context

PLACE = "lib/python%d.%d/site-packages" % sys.version_info[:2]


def put(base, name, text):
    path = os.path.join(base, PLACE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


class ColdContexts(unittest.TestCase):
    start = None

    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.home = home.name
        self.base = self.home + "/.local"

    def open(self, *env):
        context = Context("python", start=self.start, env=("PATH=/usr/bin:/bin", "HOME=" + self.home, *env))
        self.addCleanup(context.close)
        return context

    def value(self, context, code):
        outcome = context.run(code)
        self.assertEqual((outcome.status, outcome.err), (0, ""))
        return outcome.result["text/plain"]

    def test_what_was_installed_before_is_there(self):
        put(self.base, "mine.py", "x = 1")
        self.assertEqual(self.value(self.open(), "import mine; mine.x"), "1")

    def test_what_is_installed_beside_a_context_is_there_in_its_next_cell_and_in_others(self):
        one, other = self.open(), self.open()
        self.assertEqual(one.run("import mine").error["name"], "ModuleNotFoundError")
        put(self.base, "mine.py", "x = 1")
        for context in (one, other, self.open()):
            self.assertEqual(self.value(context, "import mine; mine.x"), "1")
        self.assertEqual(one.run("import another").error["name"], "ModuleNotFoundError")
        put(self.base, "another.py", "y = 2")
        for context in (one, other):
            self.assertEqual(self.value(context, "import another; another.y"), "2")

    def test_what_a_cell_installs_it_can_import(self):
        install = ("import os\nos.makedirs(%r)\nopen(%r, 'w').write('x = 3')\nimport mine\nmine.x"
                   % (self.base + "/" + PLACE, self.base + "/" + PLACE + "/mine.py"))
        self.assertEqual(self.value(self.open(), install), "3")

    def test_ones_own_comes_before_everybodys(self):
        context = self.open()
        put(self.base, "pip.py", "mine = True")
        self.assertEqual(self.value(context, "import pip; pip.mine"), "True")
        # And behind the standard library's.
        put(self.base, "colorsys.py", "mine = True")
        self.assertEqual(self.value(context, "import colorsys; hasattr(colorsys, 'mine')"), "False")
        self.assertEqual(self.value(context, "import site; site.ENABLE_USER_SITE"), "True")

    def test_files_of_paths_are_taken_once(self):
        put(self.base, "a.pth", "import builtins; builtins.taken = getattr(builtins, 'taken', 0) + 1\n%s/src\n" % self.home)
        os.mkdir(self.home + "/src")
        with open(self.home + "/src/inplace.py", "w") as file:
            file.write("x = 5")
        context = self.open()
        self.assertEqual(self.value(context, "import inplace; inplace.x, taken"), "(5, 1)")
        os.mkdir(self.home + "/later")
        with open(self.home + "/later/later_one.py", "w") as file:
            file.write("x = 6")
        put(self.base, "b.pth", self.home + "/later\n")
        self.assertEqual(self.value(context, "import later_one; later_one.x, taken"), "(6, 1)")

    def test_the_environment_says_where_and_whether(self):
        put(self.home + "/elsewhere", "mine.py", "x = 7")
        self.assertEqual(self.value(self.open("PYTHONUSERBASE=%s/elsewhere" % self.home), "import mine; mine.x"), "7")
        put(self.base, "mine.py", "x = 8")
        self.assertEqual(self.open("PYTHONNOUSERSITE=1").run("import mine").error["name"], "ModuleNotFoundError")

    def test_a_place_that_makes_no_sense_is_none(self):
        put(self.base, "bad.pth", "import nothing_of_this_name\n")
        put(self.base, "mine.py", "x = 9")
        context = self.open()
        self.assertIn("nothing_of_this_name", context.run("1").err)  # said once
        self.assertEqual(self.value(context, "import mine; mine.x"), "9")
        self.home = "/nowhere"
        for words in (("HOME=",), ("PYTHONUSERBASE=relative",), ("PYTHONUSERBASE=/dev/null",)):
            outcome = self.open(*words).run("import mine")
            self.assertEqual((outcome.status, outcome.error["name"]), (1, "ModuleNotFoundError"))


class WarmContexts(ColdContexts):
    zygote = None
    setUpClass = python_context_test.WarmContexts.__dict__["setUpClass"]
    tearDownClass = python_context_test.WarmContexts.__dict__["tearDownClass"]
    start = python_context_test.WarmContexts.start


class Runs(unittest.TestCase):
    def test_a_run_finds_what_it_installed(self):
        with tempfile.TemporaryDirectory() as home:
            place = home + "/.local/" + PLACE
            code = "import os\nos.makedirs(%r)\nopen(%r, 'w').write('x = 1')\nimport mine_too\nprint(mine_too.x)" % (place, place + "/mine_too.py")
            answer = harness.python(code, env=["HOME=" + home])
            self.assertEqual((answer.status, answer.out, answer.err), (0, "1\n", ""))


if __name__ == "__main__":
    unittest.main()
