"""Documents that name code tell the truth: links resolve, the life of a run names real functions,
and docs/cli.md has exactly the commands and options of --help. The README stays short, and sentences name who acts."""
import re
import subprocess
import unittest

from repository import BIN, ROOT, SRC, code_of, documents, relative, route_rows, routes_below, sources

ARCHITECTURE = ROOT / "docs" / "architecture.md"
CLI = ROOT / "docs" / "cli.md"
SERVER = ROOT / "docs" / "server.md"
API = ROOT / "docs" / "api.md"
LIVES = ("The life of a run", "The life of a warm run", "The life of an exec", "The life of a package set",
         "The life of a request in a dialect")
# What the server's answers are made in.
ANSWERING = ("http", "signin", "events", "snapshots", "templates", "packages", "sessions", "runs", "routing", "dialects", "api")
README_LINES = 150
# Decisions are never edited; CONTRIBUTING.md quotes the words that it forbids.
# The pages of the Python SDK are maintained with that package.
NOT_JUDGED = ("docs/decisions/", "CONTRIBUTING.md")
VAGUE = re.compile(r"\b(nobody|somebody|anybody|everybody|whoever)\b", re.I)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def without_code(text):
    """Markdown without fenced blocks and inline code, where brackets mean other things."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(text):
    """The anchors that a Markdown file's headings make."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), re.M):
        plain = re.sub(r"[^\w\s-]", "", heading.lower())
        found.add(plain.strip().replace(" ", "-"))
    return found


def broken_links(path, text):
    broken = []
    for target in LINK.findall(without_code(text)):
        if re.match(r"[a-z]+:", target):
            continue  # another site's
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists():
            broken.append(f"{relative(path)}: {target} does not exist")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
            broken.append(f"{relative(path)}: {target} has no such heading")
    return broken


def vague_actors(path, text):
    """Sentences that do not say who acts. Code, quoted output and names of files are not judged."""
    return [f"{relative(path)}: {word}" for word in VAGUE.findall(without_code(text))]


def section(text, heading):
    """What stands below a heading, up to the next of its level."""
    match = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", text, re.S | re.M)
    return match.group(1) if match else ""


def named_functions(text, heading="The life of a run"):
    """[(file, function)] of the table below that heading."""
    return re.findall(r"^\| \d+ \| `([^`]+)` \| `([^`]+)` \|", section(text, heading), re.M)


def has_function(source, function):
    """Defined there: on its line a type at most, then its name, its parameters and a body."""
    before = r"^(?!\s*(?:return|if|while|for|else|switch)\b)[\w:<>,&*\[\] ]*?(?<!\w)"
    return re.search(before + re.escape(function) + r"\((?:[^;{}]|\{\})*?\)[^;{}()]*\{",
                     code_of(source), re.M) is not None


def missing_functions(pairs, root=ROOT):
    missing = []
    for file, function in pairs:
        path = root / file
        if not path.is_file():
            missing.append(f"{file} does not exist")
        elif path.suffix == ".py":
            if not re.search(rf"^def {re.escape(function)}\(", path.read_text(), re.M):
                missing.append(f"{file} defines no {function}")
        elif not has_function(path.read_text(), function):
            missing.append(f"{file} defines no {function}")
    return missing


def help_commands(text):
    """Of `glovebox --help`: lines of two spaces, a word, and a summary."""
    return set(re.findall(r"^  ([a-z]+) +[A-Z]", text, re.M))


def help_options(text):
    """Of a command's --help: what stands at the beginning of its option lines."""
    found = set()
    for line in text.splitlines():
        if re.match(r"^  -", line):
            column = re.split(r"\s{2,}", line.strip())[0]
            found |= set(re.findall(r"(?:^|[\s,])(--?[a-z][a-z0-9-]*)", column))
    return found


def documented_commands(text):
    return set(re.findall(r"^## `glovebox ([a-z]+)`$", text, re.M))


def documented_options(text, command):
    """The first cell of the table rows in a command's section."""
    rows = re.findall(r"^\| (`-[^|]*) \|", section(text, f"`glovebox {command}`"), re.M)
    return {option for row in rows for option in re.findall(r"(?:^|[`\s,])(--?[a-z][a-z0-9-]*)", row)}


def policy_keys(source):
    """What policy.cc accepts: the strings that `key` is compared with."""
    return set(re.findall(r'\bkey [!=]= "([a-z_]+)"', source))


def documented_keys(text):
    """[section.key] of the table in "The policy"; `mounts.NAME.path` is the key path of a mount."""
    return re.findall(r"^\| `([a-z]+\.(?:NAME\.)?[a-z_]+)` \|", section(text, "The policy"), re.M)


def settings(source):
    """{key: default} of the table in keys.cc."""
    return dict(re.findall(r'\{"([a-z]+\.[a-z_]+)", Kind::k\w+, &Settings::\w+,\s*"([^"]*)"', source))


def documented_settings(text):
    """{key: default} of the table in "Settings"."""
    rows = re.findall(r"^\| `([a-z]+\.[a-z_]+)` \| (?:`([^`]*)`|none) \|", section(text, "Settings"), re.M)
    return dict(rows)


def error_codes(source):
    """What a source answers with: refuse(404, "code", ...), refuse_run_for(...), {404, "code"}, with one
    code or a choice of two (`is_x ? "code" : "other"`), and "code" in an answer that is written out as text."""
    code = r'"([a-z_]+)"'
    condition = r'(?:[^,;{}?]*\?\s*)?'
    found = re.findall(r'(?:refuse(?:_\w+)?\(|return \{|say\()\s*(?:\d{3}|k[A-Z]\w*),\s*' + condition + code +
                       rf'(?:\s*:\s*{code})?', source)
    written_out = re.findall(r'\{"error":\{"code":' + code, source)
    return {code for pair in found for code in pair if code} | set(written_out)


def documented_codes(text):
    """The second cell of the table in "Errors"."""
    cells = re.findall(r"^\| \d{3} \| ([^|]*) \|", section(text, "Errors"), re.M)
    return {code for cell in cells for code in re.findall(r"`([a-z_]+)`", cell)}


def names_of(rows):
    """{"GET /v1/runs"} of the rows of tables of routes."""
    return {f"{row['method']} {row['path']}" for row in rows}


def layer_folders(text):
    """The folders under src/ in the order of src/LAYERS."""
    names = re.findall(r"^([a-z]+)(?:/\w+)?:", text, re.M)
    return list(dict.fromkeys(names))


def documented_folders(text):
    """The first cells of the table in "The tree"."""
    return re.findall(r"^\| `([a-z]+)/` \|", section(text, "The tree"), re.M)


def inner_folders(root=SRC):
    """{(folder under src/, path below it)} of those that have sources and are not only for tests."""
    paths = [path.parent.relative_to(root) for path in sources(".cc", ".py", ".js", ".java", ".R", ".sh", below=root)]
    return {(path.parts[0], "/".join(path.parts[1:])) for path in paths
            if len(path.parts) > 1 and "testing" not in path.parts and "__pycache__" not in path.parts}


def documented_inner_folders(text):
    """Of the second table in "The tree"."""
    rows = re.findall(r"^\| in `([a-z]+)/` \| (.*) \|$", section(text, "The tree"), re.M)
    return {(folder, name) for folder, said in rows for name in re.findall(r"`([\w/]+)/`", said)}


def documented_routes(text):
    return set(re.findall(r"^\| `((?:GET|POST|PUT|PATCH|DELETE) /[^`]*)` \|", section(text, "Other routes"), re.M))


def ask(*words):
    return subprocess.run([BIN / "glovebox", *words], check=True, capture_output=True, text=True,
                          timeout=20, stdin=subprocess.DEVNULL).stdout


class Links(unittest.TestCase):
    def test_every_relative_link_resolves(self):
        files = documents()
        self.assertGreater(len(files), 8)
        self.assertEqual([], [one for path in files for one in broken_links(path, path.read_text())])

    def test_every_document_can_be_reached_from_the_readme(self):
        seen, left = set(), [ROOT / "README.md"]
        while left:
            path = left.pop()
            if path in seen or path.suffix != ".md" or not path.is_file():
                continue
            seen.add(path)
            for target in LINK.findall(without_code(path.read_text())):
                if not re.match(r"[a-z]+:", target):
                    left.append((path.parent / target.partition("#")[0]).resolve())
        self.assertEqual([], [relative(path) for path in documents() if path not in seen])


class English(unittest.TestCase):
    def test_the_readme_stays_short(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text().splitlines()), README_LINES)

    def test_sentences_name_who_acts(self):
        judged = [path for path in documents() if not relative(path).startswith(NOT_JUDGED)]
        self.assertGreater(len(judged), 25)
        self.assertEqual([], [one for path in judged for one in vague_actors(path, path.read_text())])


class LifeOfARun(unittest.TestCase):
    def test_every_file_and_function_exists(self):
        for heading in LIVES:
            with self.subTest(heading=heading):
                pairs = named_functions(ARCHITECTURE.read_text(), heading)
                self.assertGreater(len(pairs), 10, "the table was not found")
                self.assertEqual([], missing_functions(pairs))

    def test_steps_are_numbered_in_order(self):
        for heading in LIVES:
            text = section(ARCHITECTURE.read_text(), heading)
            for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
                numbers = [int(number) for number in re.findall(r"^\| (\d+) \|", table, re.M)]
                self.assertEqual(list(range(1, len(numbers) + 1)), numbers)

    def test_the_tree_has_the_folders_of_the_layers(self):
        folders = layer_folders((SRC / "LAYERS").read_text())
        self.assertGreater(len(folders), 20)
        self.assertEqual(folders, documented_folders(ARCHITECTURE.read_text()))

    def test_the_tree_has_the_folders_within(self):
        folders = inner_folders()
        self.assertGreater(len(folders), 40)
        # dialects/mcp and the like have rows in src/LAYERS; engine/jail has one file, a header.
        named = documented_inner_folders(ARCHITECTURE.read_text())
        layers = set(re.findall(r"^([a-z]+)/(\w+):", (SRC / "LAYERS").read_text(), re.M))
        self.assertEqual([], sorted(folders - named - layers))
        self.assertEqual([], sorted(name for name in named if not (SRC / name[0] / name[1]).is_dir()))

    def test_other_files_named_in_it_exist(self):
        named = re.findall(r"`((?:src|tests|docs|scripts)/[\w./*-]+)`", ARCHITECTURE.read_text())
        self.assertEqual([], [name for name in named if not list(ROOT.glob(name.rstrip("/")))])


class Policy(unittest.TestCase):
    def test_every_key_is_documented_and_accepted(self):
        keys = documented_keys((ROOT / "docs" / "operations.md").read_text())
        source = (ROOT / "src" / "launcher" / "policy" / "policy.cc").read_text()
        self.assertEqual(policy_keys(source), {key.rpartition(".")[2] for key in keys})
        sections = set(re.findall(r'\{"([a-z]+)", read_\w+\}', source))
        self.assertEqual(sections, {key.partition(".")[0] for key in keys})


class ServersDocuments(unittest.TestCase):
    def test_every_setting_is_documented_with_its_default(self):
        known = settings((ROOT / "src" / "config" / "keys.cc").read_text())
        self.assertGreater(len(known), 30)
        self.assertEqual(known, documented_settings(SERVER.read_text()))

    def test_every_error_code_is_documented_and_none_besides(self):
        texts = [path.read_text() for folder in ANSWERING for path in sources(".cc", below=SRC / folder)
                 if not path.name.endswith("_test.cc")]
        codes = {code for text in texts for code in error_codes(text)}
        self.assertGreater(len(codes), 20)
        # No client reads the first: it is for the log.
        self.assertIn("client_gone", codes)
        codes -= {"client_gone"}
        self.assertEqual(codes, documented_codes(API.read_text()))

    def test_every_route_is_documented(self):
        # The dialects' routes are in the contract: openapi_test.py.
        known = names_of(routes_below("api"))
        self.assertGreater(len(known), 60)
        self.assertEqual(known, documented_routes(API.read_text()))


@unittest.skipUnless((BIN / "glovebox").is_file(), "glovebox is not built")
class CommandLine(unittest.TestCase):
    def test_commands_are_those_of_help(self):
        commands = help_commands(ask("--help"))
        self.assertIn("run", commands)
        self.assertEqual(commands, documented_commands(CLI.read_text()))

    def test_options_are_those_of_help(self):
        text = CLI.read_text()
        for command in sorted(help_commands(ask("--help")) - {"version", "completion"}):
            with self.subTest(command=command):
                options = help_options(ask(command, "--help")) - {"-h", "--help"}
                self.assertTrue(options)
                self.assertEqual(options, documented_options(text, command) - {"-h", "--help"})


    def test_options_of_sandbox_run(self):
        said = subprocess.run([BIN / "sandbox-run", "--help"], capture_output=True, text=True, check=True).stdout
        rows = re.findall(r"^\| (`-[^|]*) \|", (ROOT / "docs/sandbox-run.md").read_text(), re.M)
        documented = {option for row in rows for option in re.findall(r"(?:^|[`\s,])(--[a-z][a-z0-9-]*)", row)}
        self.assertEqual(help_options(said) - {"-h"}, documented)


class BadSamplesAreCaught(unittest.TestCase):
    def test_a_dead_link(self):
        self.assertEqual(1, len(broken_links(ROOT / "README.md", "see [this](docs/nowhere.md)")))
        self.assertEqual([], broken_links(ROOT / "README.md", "see [this](docs/architecture.md)"))
        self.assertEqual([], broken_links(ROOT / "README.md", "`[x](nowhere)` https://example.org"))

    def test_a_dead_anchor(self):
        self.assertEqual(1, len(broken_links(ARCHITECTURE, "[x](architecture.md#no-such-part)")))
        self.assertEqual([], broken_links(ARCHITECTURE, "[x](#the-life-of-a-run)"))

    def test_a_vague_actor(self):
        self.assertEqual(["README.md: Nobody"], vague_actors(ROOT / "README.md", "Nobody removes it."))
        self.assertEqual([], vague_actors(ROOT / "README.md", "files belong to `nobody`; the launcher removes them"))

    def test_a_function_that_is_gone(self):
        table = "## The life of a run\n\n| 1 | `src/main/glovebox.cc` | `mein` | x |\n"
        self.assertEqual(1, len(missing_functions(named_functions(table))))
        self.assertEqual(1, len(missing_functions([("src/nowhere.cc", "main")])))
        self.assertEqual([], missing_functions([("src/main/glovebox.cc", "main")]))

    def test_a_call_or_a_comment_is_no_definition(self):
        self.assertFalse(has_function("int main() { finish(); }", "finish"))
        self.assertFalse(has_function("// int finish() {\n", "finish"))
        self.assertFalse(has_function("  if (!finish()) {\n", "finish"))
        self.assertFalse(has_function("int finish();", "finish"))
        self.assertTrue(has_function("Result<> Server::finish(int a) const {\n}", "finish"))

    def test_policy_keys(self):
        self.assertEqual({"wall", "process"}, policy_keys('if (key == "wall") x; if (key != "process") y;'))
        self.assertEqual(["limits.wall"], documented_keys("## The policy\n\n| `limits.wall` | `1h` |\n"))

    def test_a_python_function_that_is_gone(self):
        self.assertEqual(1, len(missing_functions([("src/guest/python/zygote.py", "mein")])))
        self.assertEqual([], missing_functions([("src/guest/python/zygote.py", "main")]))

    def test_settings_codes_and_routes(self):
        self.assertEqual({"log.level": "info"},
                         settings('{"log.level", Kind::kChoice, &Settings::log_level, "info",\n "x"}'))
        self.assertEqual({"log.level": "info", "server.user": ""},
                         documented_settings("## Settings\n\n| `log.level` | `info` | x |\n"
                                             "| `server.user` | none | x |\n"))
        self.assertEqual({"a_b", "c"}, error_codes('Response::refuse(404, "a_b", x); return {400, "c"};'))
        self.assertEqual({"a", "b"}, documented_codes("## Errors\n\n| 404 | `a`, `b` | `c` |\n"))
        self.assertEqual({"a", "b"}, error_codes('refuse_for(\n503, x.find("y") != npos ? "a" : "b", z)'))
        self.assertEqual({"c"}, error_codes('R"({"error":{"code":"c","message":"x"}})"'))
        self.assertEqual({"GET /v1/runs"},
                         names_of(route_rows('{Method::kGet, "/v1/runs", Access::kKey,\n &A::list, "Runs"}')))
        self.assertEqual(["base", "guest", "api"],
                         layer_folders("# x\nbase:\nguest/agent: base\nguest/python: base\napi: base\n"))
        self.assertEqual(["base", "api"], documented_folders("## The tree\n\n| `base/` | x |\n| `api/` | y |\n"))
        self.assertEqual({"GET /"}, documented_routes("## Other routes\n\n| `GET /` | none | x |\n"))

    def test_an_option_too_many_or_too_few(self):
        shown = help_options("Options:\n  -c,--code TEXT      the text\n  --json        print --that\n")
        self.assertEqual({"-c", "--code", "--json"}, shown)
        text = "## `glovebox run`\n\n| option | what |\n|---|---|\n| `-c`, `--code CODE` | x --no |\n"
        self.assertEqual({"-c", "--code"}, documented_options(text, "run"))
        self.assertEqual({"run"}, documented_commands(text))
        self.assertEqual({"run", "doctor"}, help_commands("  run       Run code\n  doctor    Say\n"))


if __name__ == "__main__":
    unittest.main()
