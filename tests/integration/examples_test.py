# The programs of examples/, run as their first lines say: each one ends well, prints and saves what it
# promises, and leaves nothing behind. What they show is checked too: that the cheats of the grading
# example work where nothing stops them, and do not in a sandbox.
import json
import os
import re
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import typescript_sdk
from server import Server

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
EXAMPLES = os.path.join(ROOT, "examples")
LONGEST_S = 150
PNG = b"\x89PNG\r\n\x1a\n"


class Example(sealed.TestCase):
    def setUp(self):
        super().setUp()
        # Whatever an example keeps by mistake would be here.
        self.scratch = self.directory()
        self.place = self.directory()

    def environment(self, **more):
        """A stranger's: the programs in PATH, the SDK where the first lines say, no server."""
        return sealed.environment({
            "PATH": sealed.BIN + ":" + os.environ["PATH"], "PYTHONPATH": os.path.join(ROOT, "sdk", "python"),
            "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": self.scratch,
            "GLOVEBOX_DATA_DIR": os.path.join(self.place, "no-server"), **more})

    def run_program(self, words, env=None, cwd=None):
        """To its end, which must be a good one."""
        ran = subprocess.run(words, cwd=cwd or self.place, env=env or self.environment(), stdin=subprocess.DEVNULL,
                             capture_output=True, timeout=LONGEST_S, text=True)
        self.assertEqual(ran.returncode, 0, ran)
        # A private server that ends with its starter needs a moment more than he does.
        self.assertTrue(sealed.wait_until(lambda: not os.listdir(self.scratch)), os.listdir(self.scratch))
        return ran

    def python(self, name, *words):
        ran = self.run_program(["/usr/bin/python3", os.path.join(EXAMPLES, name), *words])
        self.assertEqual(ran.stderr, "", ran)
        return ran.stdout

    def assert_figure(self, path):
        """A PNG of a figure's size, with more in it than one colour."""
        with open(path, "rb") as file:
            png = file.read()
        self.assertEqual(png[:8], PNG)
        width, height = struct.unpack(">II", png[16:24])
        self.assertTrue(300 < width < 3000 and 200 < height < 3000, (width, height))
        self.assertGreater(len(png), 5000)


class Programs(Example):
    """Without a server: `glovebox run`."""

    def test_hello_names_who_it_is_for_and_every_wall_holds(self):
        ran = self.run_program(["glovebox", "run", os.path.join(EXAMPLES, "hello.py"), "--", "Ada"])
        self.assertIn("Hello Ada, from user@glovebox", ran.stdout)
        self.assertNotIn("it worked", ran.stdout)
        self.assertEqual(ran.stdout.count("  "), 5, ran.stdout)

    def test_data_takes_a_file_in_and_gives_one_out(self):
        self.run_program(["glovebox", "run", "examples/data.sh", "--file", "README.md:/home/user/text", "--out",
                          f"/home/user/table.tsv:{self.place}/words.tsv"], cwd=ROOT)
        with open(os.path.join(self.place, "words.tsv")) as file:
            counts = dict(line.rstrip("\n").split("\t") for line in file)
        with open(os.path.join(ROOT, "README.md"), encoding="ascii", errors="replace") as file:
            words = re.findall("[a-z]+", file.read().lower())
        self.assertEqual(int(counts["the"]), words.count("the"))

    def test_limits_are_run_into(self):
        limits = ["--timeout", "3s", "--memory", "64M", "--disk", "32M", "--pids", "64"]
        for which, status in (("memory", 137), ("time", 124), ("disk", 1), ("processes", 1)):
            with self.subTest(which=which):
                ran = sealed.glovebox("run", os.path.join(EXAMPLES, "limits.py"), *limits, "--", which)
                self.assertEqual(ran.returncode, status, ran)

    def test_the_table_of_examples_names_each_of_them(self):
        with open(os.path.join(EXAMPLES, "README.md")) as file:
            text = file.read()
        named = set(re.findall(r"\]\(([\w/.]+)\)", text))
        there = {name for name in os.listdir(EXAMPLES) if name not in ("README.md", "__pycache__")}
        self.assertEqual({name.split("/")[0] for name in named if not name.startswith("..")}, there)


class WithAServer(Example):
    """A `glovebox serve` that these find by its data directory, as on a machine that has one."""

    def setUp(self):
        super().setUp()
        self.server = Server()
        self.addCleanup(self.server.stop)

    def shell(self, name):
        ran = self.run_program([os.path.join(EXAMPLES, name), self.server.data])
        self.assertEqual(ran.stderr, "", ran)
        return ran.stdout

    def test_api(self):
        said = self.shell("api.sh")
        for words in ("45\n", "['a', 'b']\n", "ZeroDivisionError in line 2\n", "the time limit was reached\n",
                      '{"event":"stdout","text":"2\\n"}\n{"event":"exit"'):
            self.assertIn(words, said)

    def test_a_lambda_handler_over_http(self):
        lines = self.shell("lambda_migration/invoke.sh").splitlines()
        self.assertEqual(json.loads(json.loads(lines[1])["body"]), {"zone": "EU", "price": 22.1})
        self.assertEqual(json.loads(lines[3])["errorType"], "ValueError")
        self.assertEqual(json.loads(lines[5]), {"batchItemFailures": [{"itemIdentifier": "m2"}]})

    def test_python_examples_use_it(self):
        env = self.environment(GLOVEBOX_DATA_DIR=self.server.data)
        self.run_program(["/usr/bin/python3", os.path.join(EXAMPLES, "long_session.py")], env=env)
        states = [one["state"] for one in self.server.client().get("/v1/sandboxes").json["sandboxes"]]
        self.assertEqual(states, ["stopped", "stopped"])


class Lambda(Example):
    def test_from_the_command_line(self):
        ran = self.run_program([os.path.join(EXAMPLES, "lambda_migration", "run.sh")])
        lines = ran.stdout.splitlines()
        self.assertEqual(json.loads(json.loads(lines[1])["body"]), {"zone": "EU", "price": 22.1})
        self.assertEqual(json.loads(lines[3])["errorType"], "ValueError")
        self.assertEqual(lines[4], "exit status 1")
        self.assertEqual(json.loads(lines[6]), {"batchItemFailures": [{"itemIdentifier": "m2"}]})
        self.assertIn("m1 7.4\n", ran.stderr)  # what it printed
        self.assertRegex(ran.stderr, r"handler +\d+\.\d+ ms")  # the profile
        if shutil.which("node"):
            self.assertEqual(json.loads(json.loads(lines[8])["body"]), {"zone": "EU", "price": 22.1})


class PrivateServer(Example):
    """With nothing configured: each starts a server of its own, which is gone afterwards."""

    def test_plot_saves_a_figure(self):
        said = self.python("plot.py", f"{self.place}/figure.png")
        self.assertRegex(said, r"figure\.png: [\d,]+ bytes, drawn in \d+ ms behind walls of grade jail")
        self.assert_figure(f"{self.place}/figure.png")

    def test_the_agent_mends_its_mistakes_and_comes_to_the_right_conclusion(self):
        said = self.python("agent_loop.py", self.place)
        steps = ("KeyError: 'Column not found: revenue'", "month region units price",
                 "ValueError: could not convert string to float: 'unknown'", "rows without a price: 1",
                 "[image/png, ", "6. south earned most, and best in 2026-06; rows left out, for want of a price: 1.")
        places = [said.find(step) for step in steps]
        self.assertNotIn(-1, places, said)
        self.assertEqual(places, sorted(places))
        self.assert_figure(f"{self.place}/agent_loop.png")

    def test_map_over_1000(self):
        said = self.python("map_1000.py")
        self.assertRegex(said, r"\A1000 calls in 1000 sandboxes: \d+\.\d s, [\d,]+ a second\n")
        nasty = {i for i in range(1000) if i % 100 == 33 or i % 250 == 77 or i % 500 == 444}
        outcomes = dict(reversed(line.split(None, 1)) for line in said.splitlines()[1:-1])
        self.assertEqual(outcomes, {"a value": str(1000 - len(nasty)), "ZeroDivisionError": "10",
                                    "RemoteOutOfMemory": "4", "RemoteKilled": "2"})
        total = sum(sum(n * n for n in range(i)) for i in range(1000) if i not in nasty)
        self.assertTrue(said.endswith(f"the sum of all values: {total}\n"), said)

    def test_long_session(self):
        self.assertRegex(self.python("long_session.py"), re.compile(r"""
            \Afiles:\ notes/log\.txt\n
            lines:\ 3\n
            variables:\ 3\ days\n
            state:\ paused\n
            state:\ running\ with\ 2\ programs,\ and\ wednesday\ remembered\n
            snapshot:\ four\ days\ \(\d+\ files,\ [\d,]+\ bytes\);\ its\ sandbox\ has\ ended\n
            restored:\ 4\ lines;\ no\ variables\n
            listed:\ \['running',\ 'stopped'\]\n
            left:\ 0\ sandboxes,\ 0\ snapshots\n\Z""", re.X))


class Packages(Example):
    """With the package index of this host, where it can be reached."""

    def test_packages_are_installed_once(self):
        env = self.environment(GLOVEBOX_LAYERS_DIR=os.path.join(self.place, "layers"))
        asked = subprocess.run(["/usr/bin/python3", "-m", "pip", "download", "--quiet", "--no-deps", "--dest",
                                os.path.join(self.place, "probe"), "linkify-it-py"], stdin=subprocess.DEVNULL,
                               capture_output=True, timeout=LONGEST_S, text=True)
        if asked.returncode != 0:
            self.skipTest(f"pip reaches no index here: {asked.stderr.strip()[-200:]}")
        ran = self.run_program(["/usr/bin/python3", os.path.join(EXAMPLES, "packages.py")], env=env)
        self.assertRegex(ran.stderr, r"  resolving: Collecting markdown-it-py")
        self.assertRegex(ran.stdout, r"\Athe first call: [\d,]+ ms, with what had to be done before it; the second: [\d.]+ ms\n")
        for line in ('<h1>Hello</h1>', '<a href="http://www.example.org">', "&lt;script&gt;alert(", "<p>[click](javascript:alert(1))</p>"):
            self.assertIn(line, ran.stdout)
        again = self.run_program(["/usr/bin/python3", os.path.join(EXAMPLES, "packages.py")], env=env)
        self.assertNotIn("Collecting", again.stderr)  # by another server of the same host


class Grading(Example):
    FOLDER = os.path.join(EXAMPLES, "grading")

    def test_the_grades_are_those_of_the_readme(self):
        with open(os.path.join(self.FOLDER, "README.md")) as file:
            table = re.search(r"^```\n( +points .*?)^```", file.read(), re.M | re.S).group(1)
        self.assertEqual(self.python("grading/grade.py"), table)

    def test_as_json_hidden_cases_say_nothing_of_what_was_asked(self):
        grades = {one["name"]: one for one in json.loads(self.python("grading/grade.py", "--json"))}
        self.assertEqual({name: one["points"] for name, one in grades.items()},
                         {"ada": 10, "ben": 5, "cid": 5, "dan": 8, "eve": 0, "fay": 0, "gus": 0})
        self.assertEqual([case.get("answer") for case in grades["ada"]["cases"]], [2, 7] + [None] * 6)
        # The name that an exception gave itself is a stranger's.
        self.assertRegex(grades["gus"]["cases"][0]["answer"], r"\A[\w.]{1,40}\Z")

    def test_the_cheats_work_where_nothing_stops_them(self):
        # A grader that imports what it grades, in the folder that has the tests.
        naive = ("import json, submissions.{0} as it\n"
                 "cases = json.load(open('tests.json'))['cases']\n"
                 "print(sum(it.median(*case['args']) == case['expect'] for case in cases))")
        for name in ("eve", "fay"):
            with self.subTest(name=name):
                ran = self.run_program(["/usr/bin/python3", "-c", naive.format(name)], cwd=self.FOLDER)
                self.assertEqual(ran.stdout, "8\n")

    def test_no_answer_of_a_submission_stops_the_others_from_being_graded(self):
        strange = {
            "deep": "x = []\n    for _ in range(200000): x = [x]\n    return x",
            "infinite": "return float('inf')",
            "huge": "return 10 ** 400",
            "digits": "return 10 ** 5000",
            "surrogate": "return '\\ud800'",
            "closes": "import os\n    os.closerange(0, 1000)\n    return 2",
            "writes": "import os\n    for fd in range(3, 99):\n        try: os.write(fd, b'[' * 9999)\n"
                      "        except OSError: pass\n    return None",
            "sum": "return True",
        }
        made = os.path.join(self.place, "submissions")
        os.mkdir(made)
        for name, body in strange.items():
            with open(os.path.join(made, name + ".py"), "w") as file:
                file.write(f"def median(numbers):\n    {body}\n")
        with open(os.path.join(made, "not_text.py"), "wb") as file:
            file.write(b"def median(numbers): return 2 \xff\0")
        shutil.copy(os.path.join(self.FOLDER, "submissions", "ada.py"), made)
        grades = json.loads(self.python("grading/grade.py", "--json", made))
        self.assertEqual({one["name"]: one["points"] for one in grades},
                         {"ada": 10, "not_text": 0, **dict.fromkeys(strange, 0)})

    def test_without_a_server_there_are_no_grades_rather_than_wrong_ones(self):
        ran = subprocess.run(["/usr/bin/python3", os.path.join(self.FOLDER, "grade.py")], stdin=subprocess.DEVNULL,
                             capture_output=True, timeout=LONGEST_S, text=True,
                             env=self.environment(GLOVEBOX_URL="http://127.0.0.1:1",
                                                  GLOVEBOX_API_KEY="gbx_" + "0" * 40))
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))
        self.assertIn("ConnectionFailed", ran.stderr)


class TypeScript(Example):
    def setUp(self):
        super().setUp()
        reason = typescript_sdk.missing()
        if reason:
            self.skipTest(reason)

    def test_quick_start(self):
        program = typescript_sdk.compiled(os.path.join(EXAMPLES, "typescript"), self.place)
        ran = self.run_program(["node", program, f"{self.place}/figure.png"])
        self.assertEqual(ran.stderr, "")
        self.assertRegex(ran.stdout, re.compile(r"""
            \Aa\ value:\ 42\ and\ what\ it\ printed:\ "hello\\n"\n
            an\ exception:\ ZeroDivisionError\ in\ line\ 2\n
            a\ limit:\ the\ time\ limit\ was\ reached\n
            a\ file\ in,\ a\ file\ out:\ "a\\nb\\n"\n
            a\ variable\ that\ stayed:\ 12\n
            live:\n1\n2\n3\n
            a\ figure:\ \d+\ bytes\ of\ PNG\n
            sandboxes\ left:\ 0\n\Z""", re.X))
        self.assert_figure(f"{self.place}/figure.png")


if __name__ == "__main__":
    sealed.main()
