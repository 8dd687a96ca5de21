"""The console's sources: nothing makes HTML of a string or code of one, what is built in is pinned, all texts are in
one file, and nothing is there that nobody uses."""
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


IMPORT = re.compile(r"""import\s+(?:(\w+)\s*,?\s*)?(?:\{([^}]*)\}|\*\s+as\s+(\w+))?\s*from\s*"[^"]+";""")
EXPORT = re.compile(r"export\s+(?:async\s+)?(?:function\*?|const|class|let)\s+(\w+)")
# What stands between tags, and in attributes that are read out or shown.
TEXT = re.compile(r">([^<>${}`]*[A-Za-z][^<>${}`]*)<|\s(?:aria-label|placeholder|title|alt)=\"([^\"$]*[A-Za-z]{2}[^\"$]*)\"")
# Names of things: keys of the keyboard, the product; and samples of what one types.
NOT_TEXTS = {"Glovebox", "Ctrl K", "Ctrl S", "Ctrl ↵", "Esc", "export GLOVEBOX_API_KEY=…", "store.keep_code = true", "gbx_…", "pypi.org:443", "requests pydantic>=2", "numpy pandas", "python:3.13-slim"}
# Classes that libraries make, and beginnings of those that are put together.
FOREIGN_CLASS = re.compile(r"(?:cm|xterm|u)-|uplot$|tone-|xterm$")


def names_of(imported):
    """The names that an import statement brings."""
    first, several, all_ = imported.groups()
    names = [part.split(" as ")[-1].strip() for part in (several or "").split(",")]
    return [name for name in [first, all_, *names] if name]


def unused(sources):
    """Imports and exports that nothing uses: `sources` is path to text."""
    found = []
    for path, text in sources.items():
        for one in IMPORT.finditer(text):
            rest = text[:one.start()] + text[one.end():]
            found += [f"{path}: imports {name} and does not use it" for name in names_of(one) if not re.search(rf"\b{name}\b", rest)]
        others = "\n".join(other for place, other in sources.items() if place != path)
        found += [f"{path}: exports {one[1]}, which nobody imports" for one in EXPORT.finditer(text)
                  if one[1] != "default" and not re.search(rf"\b{one[1]}\b", others)]
    return found


def unused_classes(style, sources):
    bare = re.sub(r"/\*.*?\*/|url\([^)]*\)", "", style, flags=re.S)
    classes = {name for selector in re.findall(r"([^{}]+)\{", bare) for name in re.findall(r"\.([A-Za-z][\w-]*)", selector)}
    return sorted(name for name in classes if not FOREIGN_CLASS.match(name) and not re.search(rf"(?<![\w-]){name}(?![\w-])", sources))


def written_texts(path, text):
    found = []
    for line, row in enumerate(text.splitlines(), 1):
        if "html`" in row or row.lstrip().startswith("<"):
            words = [(one[1] or one[2]).strip() for one in TEXT.finditer(row)]
            found += [f"{path}:{line}: {word!r} is a text, for texts.js" for word in words if word not in NOT_TEXTS]
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

    def test_nothing_is_left_over(self):
        sources = self.sources()
        self.assertEqual([], unused({path: text for path, text in sources.items() if not path.endswith("/html.js")}))
        style = "\n".join(path.read_text() for path in sorted((SOURCES / "style").glob("*.css")))
        self.assertEqual([], unused_classes(style, "\n".join([*sources.values(), (CONSOLE / "index.html").read_text()])))
        icons = re.search(r"const SHAPES = \{(.*?)\n\};", sources["console/src/ui/icons.js"], re.S)[1]
        everything = "\n".join(sources.values())
        self.assertEqual([], [name for name in re.findall(r"^ {2}(\w+):", icons, re.M) if f'"{name}"' not in everything])

    def test_texts_are_in_one_file(self):
        self.assertEqual([], [fault for path, text in self.sources().items() if not path.endswith("/texts.js") for fault in written_texts(path, text)])

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

    def test_left_overs(self):
        sources = {"a.js": 'import { one, two as second } from "./b.js";\none();\n', "b.js": "export const one = 1, two = 2;\nexport function three() {}\n"}
        self.assertEqual(["a.js: imports second and does not use it", "b.js: exports three, which nobody imports"], unused(sources))
        self.assertEqual(["lost"], unused_classes(".kept .lost, .cm-line { color: red }", 'class="kept"'))

    def test_texts(self):
        for bad in ("html`<p>Some text</p>`", 'html`<input placeholder="Type here" />`', 'return html`<b aria-label="Close">${x}</b>`'):
            self.assertTrue(written_texts("x.js", bad), bad)
        for good in ("html`<p>${t.some}</p>`", "html`<kbd>Ctrl K</kbd>`", "if (a < b && c > d) go();"):
            self.assertEqual([], written_texts("x.js", good), good)

    def test_pages(self):
        for bad in ("<script>x()</script>", "<style>p{}</style>", '<p onclick="x()">', '<p style="x">'):
            self.assertTrue(page_faults(bad), bad)
        self.assertEqual([], page_faults('<script type="module" src="/x.js"></script>'))


if __name__ == "__main__":
    unittest.main()
