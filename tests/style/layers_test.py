"""src/LAYERS says who may include whom; here it is compared with every #include under src/."""
import re
import unittest

from repository import SRC, sources

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
# A bare name like this is made by the build and lies beside the objects.
GENERATED = re.compile(r"[a-z_]+\.inc")


def parse_layers(text):
    """[(folder, [folders it may include])], in the order written."""
    rows = []
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if line:
            name, colon, allowed = line.partition(":")
            if not colon:
                raise ValueError(f"no colon in: {line}")
            rows.append((name.strip(), allowed.split()))
    return rows


def wrong_rows(rows):
    """Each row names only rows above it, once; so a cycle cannot be written down."""
    wrong, above = [], set()
    for name, allowed in rows:
        if name in above:
            wrong.append(f"{name} has two rows")
        wrong += [f"{name} names {other}, which is not above it" for other in allowed
                  if other not in above]
        above.add(name)
    return wrong


def layer_of(path, names):
    """The row a path from src/ belongs to: the longest that is its beginning."""
    fitting = [name for name in names if path.startswith(name + "/")]
    return max(fitting, key=len) if fitting else None


def wrong_includes(rows, files):
    """files: {path from src/: text}. What LAYERS does not allow, one line each."""
    allowed = {name: set(others) | {name} for name, others in rows}
    wrong = []
    for path, text in sorted(files.items()):
        own = layer_of(path, allowed)
        if own is None:
            wrong.append(f"{path}: its folder has no row")
            continue
        for included in INCLUDE.findall(text):
            if GENERATED.fullmatch(included):
                continue
            other = layer_of(included, allowed)
            if other is None:
                wrong.append(f"{path}: \"{included}\" is not named by its path from src/")
            elif is_for_tests(path) and "/testing/" in included:
                continue  # a test may use the fakes and fixtures of any folder
            elif other not in allowed[own]:
                wrong.append(f"{path}: {own} may not include {included}")
            elif crosses_engines(path, included):
                wrong.append(f"{path}: engines do not include each other ({included})")
    return wrong


def is_for_tests(path):
    return path.endswith("_test.cc") or "/testing/" in path


def crosses_engines(path, included):
    ours, theirs = path.split("/"), included.split("/")
    return (len(ours) > 2 and len(theirs) > 2 and ours[0] == theirs[0] == "engine"
            and ours[1] != theirs[1])


def read_tree():
    return {path.relative_to(SRC).as_posix(): path.read_text() for path in sources(".cc", ".h")}


class Layers(unittest.TestCase):
    def setUp(self):
        self.rows = parse_layers((SRC / "LAYERS").read_text())

    def test_rows_name_only_rows_above_them(self):
        self.assertEqual([], wrong_rows(self.rows))

    def test_every_row_is_a_folder(self):
        self.assertEqual([], [name for name, _ in self.rows if not (SRC / name).is_dir()])

    def test_every_include_is_allowed(self):
        files = read_tree()
        self.assertGreater(len(files), 50, "the tree was not found")
        self.assertEqual([], wrong_includes(self.rows, files))

    def test_included_files_exist(self):
        missing = [f"{path}: {included}" for path, text in read_tree().items()
                   for included in INCLUDE.findall(text)
                   if not GENERATED.fullmatch(included) and not (SRC / included).is_file()]
        self.assertEqual([], missing)


class BadSamplesAreCaught(unittest.TestCase):
    ROWS = [("base", []), ("sys", ["base"]), ("engine", ["base"])]

    def test_a_row_that_names_a_later_one(self):
        self.assertEqual(1, len(wrong_rows([("base", ["sys"]), ("sys", [])])))

    def test_a_row_twice(self):
        self.assertEqual(1, len(wrong_rows([("base", []), ("base", [])])))

    def test_an_include_upwards(self):
        self.assertEqual(1, len(wrong_includes(self.ROWS, {"base/a.h": '#include "sys/mount.h"\n'})))

    def test_an_include_sideways(self):
        self.assertEqual(1, len(wrong_includes(self.ROWS, {"engine/a.cc": '#include "sys/b.h"\n'})))

    def test_an_include_by_a_bare_name(self):
        self.assertEqual(1, len(wrong_includes(self.ROWS, {"base/a.cc": '#include "b.h"\n'})))

    def test_a_folder_without_a_row(self):
        self.assertEqual(1, len(wrong_includes(self.ROWS, {"util/a.h": ""})))

    def test_an_engine_that_includes_another(self):
        files = {"engine/jail/a.cc": '#include "engine/process/b.h"\n'}
        self.assertEqual(1, len(wrong_includes(self.ROWS, files)))

    def test_what_is_allowed_passes(self):
        files = {"engine/jail/a.cc": '#include "engine/engine.h"\n#include "base/b.h"\n'}
        self.assertEqual([], wrong_includes(self.ROWS, files))


if __name__ == "__main__":
    unittest.main()
