"""The core does not know its dialects: a folder that src/LAYERS lists above them names none, neither
in code nor in a comment. Tests may. What must stay is listed here, with its reason."""
import re
import unittest

from layers_test import is_for_tests, layer_of, parse_layers, read_tree
from repository import SRC

# (file or folder from src/, text of the line): why the core names the dialect there.
ALLOWED = {
    ("config/", ""): "the settings of every dialect are read with all the others",
    ("http/origin_rules.cc", "Mcp-Session-Id"): "one list of the headers that a page may read",
    ("sessions/session_request.h", '"mcp:"'): "a stored name",
    ("sessions/session_request.cc", "/mcp"): "the error names the address that owns such names",
}


def dialects_of(rows):
    return [name.split("/")[1] for name, _ in rows if name.startswith("dialects/")]


def core_of(rows):
    """The folders above the first dialect."""
    names = [name for name, _ in rows]
    first = next(at for at, name in enumerate(names) if name.startswith("dialects/"))
    return names[:first]


def pattern_of(dialects):
    """Finds e2b, E2B, e2b_key, kE2bKey; not E2BIG or memcpy."""
    forms = []
    for name in dialects:
        forms.append(f"(?<![A-Za-z])(?i:{name})(?![A-Za-z])")
        in_pascal_case = "".join(word[0].upper() + word[1:] for word in name.split("_"))
        forms.append(f"(?<=[a-z]){in_pascal_case}(?![a-z])")
        forms.append(f"(?<![A-Za-z]){in_pascal_case}(?=[A-Z])")
    return re.compile("|".join(forms))


def lines_that_name(rows, files):
    """files: {path from src/: text}. [(path, number, line)] of the core."""
    core, layers = core_of(rows), [name for name, _ in rows]
    pattern = pattern_of(dialects_of(rows))
    return [(path, number, line) for path, text in sorted(files.items())
            if layer_of(path, layers) in core and not is_for_tests(path)
            for number, line in enumerate(text.splitlines(), 1) if pattern.search(line)]


def permits(allowed, path, line):
    where, text = allowed
    return (path == where or (where.endswith("/") and path.startswith(where))) and text in line


class CoreNames(unittest.TestCase):
    def setUp(self):
        rows = parse_layers((SRC / "LAYERS").read_text())
        self.found = lines_that_name(rows, read_tree())

    def test_the_core_names_no_dialect(self):
        wrong = [f"{path}:{number}: {line.strip()}" for path, number, line in self.found
                 if not any(permits(allowed, path, line) for allowed in ALLOWED)]
        self.assertEqual([], wrong)

    def test_every_exception_is_needed(self):
        needless = [allowed for allowed in ALLOWED
                    if not any(permits(allowed, path, line) for path, _, line in self.found)]
        self.assertEqual([], needless)


class BadSamplesAreCaught(unittest.TestCase):
    ROWS = [("base", []), ("routing", ["base"]), ("dialects/e2b", ["routing"]),
            ("dialects/sessions_api", ["routing"]), ("api", ["dialects/e2b"])]

    def count(self, line, path="routing/a.cc"):
        return len(lines_that_name(self.ROWS, {path: line + "\n"}))

    def test_code_and_comments(self):
        for line in ('if (prefix == "e2b_") return;', "// E2B's clients insist on it.",
                     "constexpr auto kE2bPrefix = 1;", "class E2bKeys;", "// see dialects/sessions_api",
                     "SessionsApiRoutes routes;"):
            self.assertEqual(1, self.count(line), line)

    def test_every_core_folder(self):
        self.assertEqual(1, self.count("e2b", "base/b/c.h"))

    def test_other_words_pass(self):
        for line in ("case E2BIG:", "sessions api", "std::string text;"):
            self.assertEqual(0, self.count(line), line)

    def test_dialects_what_lies_above_them_and_tests_pass(self):
        for path in ("dialects/e2b/a.cc", "api/a.cc", "routing/a_test.cc", "routing/testing/a.h"):
            self.assertEqual(0, self.count("e2b", path), path)


if __name__ == "__main__":
    unittest.main()
