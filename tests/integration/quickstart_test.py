# docs/quickstart.md and README.md, typed as they stand: each block is run, and what is printed below it is what
# must come out (`…` stands for anything).
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import e2b_clients
import sealed
import typescript_sdk
from server import Served

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
LONGEST_S = 150
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.M | re.S)


def blocks(document="docs/quickstart.md"):
    """(kind, text) of each."""
    with open(os.path.join(ROOT, document)) as file:
        return BLOCK.findall(file.read())


def with_output(kind):
    """The blocks of a kind, each with the one that says what it prints."""
    found = blocks()
    return [(text, found[i + 1][1]) for i, (name, text) in enumerate(found)
            if name == kind and found[i + 1][0] == "text"]


def typed(block):
    """[(command, its output)] of what was typed at a terminal."""
    steps = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append([[line[2:]], []])
        elif not steps[-1][1] and steps[-1][0][-1].count("'") % 2 and line.startswith("    "):
            steps[-1][0].append(line)  # a quoted word goes on
        else:
            steps[-1][1].append(line)
    return [("\n".join(command), "".join(line + "\n" for line in output)) for command, output in steps]


class QuickStart(Served):
    def setUp(self):
        super().setUp()
        self.place = self.enterContext(tempfile.TemporaryDirectory(prefix="gbx-test-"))

    def environment(self, **more):
        return sealed.environment({
            "PATH": sealed.BIN + ":" + os.environ["PATH"], "PYTHONPATH": os.path.join(ROOT, "sdk", "python"),
            "PYTHONDONTWRITEBYTECODE": "1", "GLOVEBOX_DATA_DIR": os.path.join(self.place, "no-server"), **more})

    def run_program(self, words, **more):
        ran = subprocess.run(words, cwd=self.place, env=self.environment(**more), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LONGEST_S, text=True)
        return ran.returncode, ran.stdout

    def assert_printed(self, said, promised):
        pattern = "".join(".*" if piece == "…" else re.escape(piece) for piece in re.split("(…)", promised))
        self.assertRegex(said, re.compile(rf"\A{pattern}\Z", re.S))

    def test_what_is_typed_at_a_terminal(self):
        for document, least in (("docs/quickstart.md", 20), ("README.md", 2)):
            with self.subTest(document=document):
                self.type_all(document, least)

    def type_all(self, document, least):
        steps = [step for kind, text in blocks(document) if kind == "console" for step in typed(text)]
        self.assertGreaterEqual(len(steps), least)
        # One shell for all of it, as a reader has: variables stay. Each step's output ends with a mark.
        mark = "-- and now the next one --"
        script = "exec 2>&1\n" + "".join(f"{command}\necho '{mark}'\n" for command, _ in steps)
        script = script.replace("/var/lib/glovebox", self.server.data).replace("http://127.0.0.1:7070", self.server.url)
        # As on a machine with a server: its data directory is known, and `glovebox run` runs here without one.
        status, said = self.run_program(["bash", "-c", script], GLOVEBOX_DATA_DIR=self.server.data)
        self.assertEqual(status, 0, said)
        outputs = said.split(mark + "\n")
        self.assertEqual(outputs.pop(), "")
        self.assertEqual(len(outputs), len(steps), said)
        for (command, promised), output in zip(steps, outputs):
            with self.subTest(command=command):
                # curl ends without a new line.
                self.assert_printed(output if output.endswith("\n") or not output else output + "\n", promised)

    def python(self, text):
        path = os.path.join(self.place, "first.py")
        with open(path, "w") as file:
            file.write(text)
        status, said = self.run_program(["/usr/bin/python3", path])
        self.assertEqual(status, 0, said)
        return said

    def test_python(self):
        found = with_output("python")
        self.assertEqual(len(found), 4)
        for text, promised in found:
            with self.subTest(text=text):
                self.assert_printed(self.python(text), promised)

    def test_the_three_lines_of_the_readme(self):
        first, = [text for kind, text in blocks("README.md") if kind == "python"]
        self.assertEqual(self.python(first), "45\n")

    def test_typescript(self):
        reason = typescript_sdk.missing()
        if reason:
            self.skipTest(reason)
        (text, promised), = with_output("ts")
        folder = os.path.join(self.place, "first")
        os.mkdir(folder)
        with open(os.path.join(folder, "first.ts"), "w") as file:
            file.write(text)
        with open(os.path.join(ROOT, "examples", "typescript", "tsconfig.json")) as file:
            settings = file.read()
        with open(os.path.join(folder, "tsconfig.json"), "w") as file:
            file.write(settings.replace("quickstart.ts", "first.ts"))
        with open(os.path.join(folder, "package.json"), "w") as file:
            file.write('{"type": "module"}')
        status, said = self.run_program(["node", typescript_sdk.compiled(folder, self.place)])
        self.assertEqual(status, 0, said)
        self.assert_printed(said, promised)

    def test_e2b(self):
        site = os.path.join(e2b_clients.CLIENTS, "python", "site")
        if not os.path.isdir(site):
            self.skipTest("the clients of E2B are not here; scripts/install-e2b-clients gets them")
        (text, promised), = with_output("python e2b")
        lines = re.findall(r"^  (export E2B_\w+=.*)$", self.server.log(), re.M)
        script = "\n".join(lines) + '\nexec /usr/bin/python3 -c "$0"'
        status, said = self.run_program(["bash", "-ec", script, text], PYTHONPATH=site)
        self.assertEqual(status, 0, said)
        self.assert_printed(said, promised)


if __name__ == "__main__":
    sealed.main()
