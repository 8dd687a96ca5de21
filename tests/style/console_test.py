"""The console's sources: nothing makes HTML of a string or code of one, and what is built in is pinned."""
import json
import re
import unittest

from repository import ROOT, relative

CONSOLE = ROOT / "console"
SOURCES = CONSOLE / "src"
MOST_LINES = 500
# Spelled in pieces nowhere: this test does not read itself.
HTML_OF_A_STRING = re.compile(r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|parseHTMLUnsafe|dangerouslySetInnerHTML|createContextualFragment|DOMParser|srcdoc)\b|document\.write")
CODE_OF_A_STRING = re.compile(r"\beval\s*\(|\bnew\s+Function\b|\bset(?:Timeout|Interval)\s*\(\s*[\"'`]")
INLINE_STYLE = re.compile(r"\sstyle=[\"']|setAttribute\(\s*[\"']style")
# A package, not a file of ours: its name begins with neither a dot nor a slash.
IMPORTED = re.compile(r"""^(?:import\b|export\s*\{)[^"'\n]*["']([^."'/][^"'\n]*)["'];|\bimport\(\s*["']([^."'/][^"'\n]*)["']\)""", re.M)
KEPT_KEY = re.compile(r"(?:local|session)Storage\.setItem\([^)]*(?:key|csrf|ticket|token)", re.I)
# The terminal's library sets style attributes; this file gives them another way.
EXCEPTIONS = {("console/src/ui/xterm.js", INLINE_STYLE)}


def faults(path, text):
    found = []
    for rule, what in ((HTML_OF_A_STRING, "makes HTML of a string"), (CODE_OF_A_STRING, "makes code of a string"),
                       (INLINE_STYLE, "has an inline style, which the policy refuses"), (KEPT_KEY, "keeps a secret in the browser")):
        if (path, rule) not in EXCEPTIONS:
            found += [f"{path}:{text.count(chr(10), 0, one.start()) + 1}: {what}: {one[0].strip()}" for one in rule.finditer(text)]
    return found


def page_faults(text):
    """index.html has nothing inline: its policy allows no such thing."""
    found = [f"<{tag[0]}" for tag in re.finditer(r"<(style|script(?![^>]*\ssrc=))\b", text)]
    return found + re.findall(r"\s(?:on\w+|style)=", text)


class Console(unittest.TestCase):
    def sources(self):
        found = {relative(path): path.read_text() for path in sorted(SOURCES.rglob("*.js"))}
        self.assertGreater(len(found), 30, "the console's sources were not found")
        return found

    def test_strings_stay_text(self):
        self.assertEqual([], [fault for path, text in self.sources().items() for fault in faults(path, text)])

    def test_the_page_has_nothing_inline(self):
        self.assertEqual([], page_faults((CONSOLE / "index.html").read_text()))

    def test_files_are_short_and_say_what_they_are_for(self):
        for path, text in self.sources().items():
            self.assertLessEqual(text.count("\n"), MOST_LINES, path)
            self.assertTrue(text.startswith("// "), f"{path}: its first line does not say what it is for")

    def test_what_is_built_in_is_pinned(self):
        wanted = json.loads((CONSOLE / "packages.json").read_text())["packages"]
        locked = {package["name"]: package for package in json.loads((CONSOLE / "packages.lock.json").read_text())["packages"]}
        self.assertGreater(len(wanted), 10)
        for name, version in wanted.items():
            self.assertRegex(version, r"\A\d+\.\d+\.\d+\Z", name)
            self.assertEqual(locked[name]["version"], version, name)
        for name, package in locked.items():
            self.assertRegex(package["integrity"], r"\Asha512-[A-Za-z0-9+/]{86}==\Z", name)
            self.assertIn(package["license"], ("MIT", "OFL-1.1", "Apache-2.0"), name)

    def test_packages_that_are_named_are_listed(self):
        wanted = json.loads((CONSOLE / "packages.json").read_text())["packages"]
        for path, text in self.sources().items():
            for name in ("".join(both) for both in IMPORTED.findall(text)):
                package = "/".join(name.split("/")[:2 if name.startswith("@") else 1])
                self.assertIn(package, wanted, path)


class BadSamplesAreCaught(unittest.TestCase):
    def test_sources(self):
        for bad in ("node.innerHTML = name;", "node.insertAdjacentHTML('beforeend', x)", "html`<div dangerouslySetInnerHTML=${x}>`", "html`<iframe srcdoc=${x}>`",
                    "document.write(x)", "eval(code)", "new Function(code)", "setTimeout('go()', 5)", 'html`<p style="color: red">`', "node.setAttribute('style', x)",
                    "localStorage.setItem('apikey', key)", "sessionStorage.setItem('x', csrf)"):
            self.assertTrue(faults("x.js", bad), bad)
        for good in ("node.textContent = name;", "html`<p style=${{ color }}>`", "retrieval(x)", "setTimeout(go, 5)", "localStorage.setItem(name, value)"):
            self.assertEqual([], faults("x.js", good), good)

    def test_pages(self):
        for bad in ("<script>x()</script>", "<style>p{}</style>", '<p onclick="x()">', '<p style="x">'):
            self.assertTrue(page_faults(bad), bad)
        self.assertEqual([], page_faults('<script type="module" src="/x.js"></script>'))


if __name__ == "__main__":
    unittest.main()
