"""The shape of the tree: small files that say what they are for, and nothing left unfinished."""
import re
import unittest

from repository import ROOT, SRC, code_of, relative, sources

MOST_LINES = 500
# A file that is longer on purpose, and why.
LONGER = {
    "src/node/testing/fake_launcher.cc": "one fake of the whole launcher protocol, a function for each message",
}
# Spelled so that this file does not find itself.
MARKERS = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b")


def too_long(path, text):
    lines = text.count("\n")
    return f"{path} has {lines} lines" if lines > MOST_LINES and path not in LONGER else None


def says_what_it_is_for(text):
    """A comment in the first lines, before any code; an #include or #pragma may precede it."""
    for line in text.splitlines()[:12]:
        line = line.strip()
        if line.startswith(("//", "/*")) and len(line) > 12:
            return True
        if line and not line.startswith("#"):
            return False
    return False


def header_faults(path, text):
    faults = []
    code = code_of(text)
    if "#pragma once" not in code:
        faults.append(f"{path}: no #pragma once")
    if re.search(r"^\s*using\s+namespace\b", code, re.M):
        faults.append(f"{path}: using namespace in a header")
    if not says_what_it_is_for(text):
        faults.append(f"{path}: its first lines do not say what it is for")
    return faults


def source_faults(path, text, has_header):
    """A source speaks through its header; one without must say itself what it is for."""
    if has_header or path.endswith("_test.cc") or says_what_it_is_for(text):
        return []
    return [f"{path}: no header beside it, and its first lines do not say what it is for"]


def markers(path, text):
    return [f"{path}:{number}: {line.strip()}" for number, line in enumerate(text.splitlines(), 1)
            if MARKERS.search(line)]


def modules_without_a_test(modules, listing):
    """Integration test modules that the CMakeLists.txt does not register, so that ctest never runs them."""
    registered = {module or name for name, module in
                  re.findall(r"^gbx_integration_test\((\w+)(?:[^)]*?\sMODULE\s+([\w/]+))?", listing, re.M)}
    return sorted(set(modules) - registered)


class Tree(unittest.TestCase):
    def files(self, *suffixes):
        found = {relative(path): path.read_text() for path in sources(*suffixes)}
        self.assertGreater(len(found), 20, "the tree was not found")
        return found

    def test_no_file_is_long_without_a_reason(self):
        long = [too_long(path, text) for path, text in self.files(".cc", ".h").items()]
        self.assertEqual([], [complaint for complaint in long if complaint])

    def test_reasons_are_still_needed(self):
        stale = [path for path in LONGER
                 if not (ROOT / path).is_file() or (ROOT / path).read_text().count("\n") <= MOST_LINES]
        self.assertEqual([], stale)

    def test_headers(self):
        self.assertEqual([], [fault for path, text in self.files(".h").items()
                              for fault in header_faults(path, text)])

    def test_sources_without_a_header(self):
        faults = []
        for path, text in self.files(".cc").items():
            has_header = (ROOT / path).with_suffix(".h").is_file()
            faults += source_faults(path, text, has_header)
        self.assertEqual([], faults)

    def test_nothing_is_left_unfinished(self):
        found = []
        for folder in ("src", "tests", "scripts", "cmake", "examples", "packaging"):
            for path in sources("", below=ROOT / folder):
                if "__pycache__" in path.parts or "corpus" in path.parts:
                    continue
                try:
                    found += markers(relative(path), path.read_text())
                except UnicodeDecodeError:
                    pass  # a binary seed
        self.assertEqual([], found)

    def test_folders_under_src_are_not_empty(self):
        empty = [relative(path) for path in SRC.rglob("*")
                 if path.is_dir() and not any(child.is_file() for child in path.rglob("*"))]
        self.assertEqual([], empty)

    def test_every_integration_test_is_registered(self):
        folder = ROOT / "tests" / "integration"
        modules = [str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*_test.py")]
        self.assertGreater(len(modules), 50, "the integration tests were not found")
        self.assertEqual([], modules_without_a_test(modules, (folder / "CMakeLists.txt").read_text()))

    def test_scripts_can_be_executed(self):
        plain = [relative(path) for folder in (ROOT / "scripts", ROOT / ".ci")
                 for path in folder.iterdir()
                 if path.read_text().startswith("#!") and not path.stat().st_mode & 0o111]
        self.assertEqual([], plain)


class BadSamplesAreCaught(unittest.TestCase):
    GOOD = "// What this header is for, in words.\n#pragma once\n"

    def test_a_long_file(self):
        self.assertIsNotNone(too_long("src/a.cc", "\n" * (MOST_LINES + 1)))
        self.assertIsNone(too_long("src/a.cc", "\n" * MOST_LINES))

    def test_a_silent_header(self):
        self.assertEqual(1, len(header_faults("a.h", "#pragma once\nint a;\n")))

    def test_a_header_without_pragma(self):
        self.assertEqual(1, len(header_faults("a.h", "// What this header is for.\nint a;\n")))

    def test_a_pragma_in_a_comment_does_not_count(self):
        self.assertEqual(1, len(header_faults("a.h", "// What for: #pragma once is here.\n")))

    def test_using_namespace(self):
        self.assertEqual(1, len(header_faults("a.h", self.GOOD + "using namespace std;\n")))

    def test_a_good_header(self):
        self.assertEqual([], header_faults("a.h", self.GOOD))

    def test_a_silent_source(self):
        self.assertEqual(1, len(source_faults("main.cc", "#include <a>\nint main() {}\n", False)))
        self.assertEqual([], source_faults("main.cc", "#include <a>\nint main() {}\n", True))

    def test_a_module_that_is_not_registered(self):
        listing = "gbx_integration_test(a_test TIMEOUT 1)\ngbx_integration_test(b ALONE MODULE x/b_test TIMEOUT 1)\n"
        self.assertEqual([], modules_without_a_test(["a_test", "x/b_test"], listing))
        self.assertEqual(["c_test"], modules_without_a_test(["a_test", "c_test"], listing))

    def test_a_marker(self):
        self.assertEqual(1, len(markers("a.cc", "int a;  // TO" + "DO: more\n")))
        self.assertEqual([], markers("a.cc", "// all done, see make_XXXXXX\n"))


if __name__ == "__main__":
    unittest.main()
