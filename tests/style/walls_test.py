"""docs/threat-model.md names every wall, and its proofs are attacks that exist; none is left out."""
import fnmatch
import json
import re
import subprocess
import unittest

from repository import BIN, ROOT, SRC, code_of, sources

MODEL = ROOT / "docs" / "threat-model.md"
ATTACKS = ROOT / "tests" / "escape" / "attacks"


def wall_names(text):
    """From wall_name() in model/wall.cc."""
    return re.findall(r'case Wall::k\w+:\s*return "([a-z-]+)";', text)


def attack_names(text):
    """Of the tables in one attack source: a row is {.name = "...", ...} or GBX_KIND("...", ...)."""
    return re.findall(r'(?:\.name = |GBX_\w+\(\s*)"([a-z0-9_]+)"', text)


def table_of(document):
    """The rows of the first table whose head has a column Proof: [{column: cell}]."""
    rows, head = [], None
    for line in document.splitlines():
        if not line.startswith("|"):
            if rows:
                break
            head = None
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if head is None:
            head = cells
        elif "Proof" in head and not set(line) <= set("|- :"):
            rows.append(dict(zip(head, cells)))
    return rows


def proofs(rows):
    """What the column Proof names, as patterns; a path is a proof of another kind."""
    named = [word for row in rows for word in re.findall(r"`([^`]+)`", row.get("Proof", ""))]
    return [word for word in named if "/" not in word], [word for word in named if "/" in word]


def unknown(patterns, names):
    return [pattern for pattern in patterns if not fnmatch.filter(names, pattern)]


def unnamed(patterns, names):
    return [name for name in names if not any(fnmatch.fnmatch(name, one) for one in patterns)]


class ThreatModel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.document = MODEL.read_text()
        cls.rows = table_of(cls.document)
        cls.attacks = [name for path in sources(".cc", below=ATTACKS)
                       for name in attack_names(path.read_text())]

    def test_the_tables_were_found(self):
        self.assertGreater(len(self.rows), 20)
        self.assertGreater(len(self.attacks), 60)
        self.assertEqual(len(set(self.attacks)), len(self.attacks), "two attacks of one name")

    @unittest.skipUnless((BIN / "glovebox-attacks").is_file(), "glovebox-attacks is not built")
    def test_the_program_has_the_same_attacks(self):
        listed = subprocess.run([BIN / "glovebox-attacks", "list", "--json"], check=True, timeout=20,
                                capture_output=True, text=True).stdout
        self.assertEqual(sorted(row["name"] for row in json.loads(listed)), sorted(self.attacks))

    def test_every_wall_is_in_the_threat_model(self):
        walls = wall_names((SRC / "model" / "wall.cc").read_text())
        self.assertGreater(len(walls), 20)
        count = code_of((SRC / "model" / "wall.h").read_text())
        enumerators = re.search(r"enum class Wall[^{]*\{(.*?)kCount", count, re.S).group(1)
        self.assertEqual(len(re.findall(r"\bk\w+", enumerators)), len(walls))
        self.assertEqual([], [wall for wall in walls if f"`{wall}`" not in self.document])

    def test_every_proof_is_an_attack(self):
        patterns, _ = proofs(self.rows)
        self.assertEqual([], unknown(patterns, self.attacks))

    def test_every_attack_is_a_proof(self):
        patterns, _ = proofs(self.rows)
        self.assertEqual([], unnamed(patterns, self.attacks))

    def test_paths_exist(self):
        _, paths = proofs(self.rows)
        self.assertEqual([], [path for path in paths if not (ROOT / path).exists()])

    def test_every_row_has_its_cells(self):
        wanted = {"From", "To", "process", "jail", "Barrier", "Proof"}
        self.assertEqual([], [row for row in self.rows if set(row) != wanted or not all(row.values())])


class BadSamplesAreCaught(unittest.TestCase):
    TABLE = "| From | Proof |\n|---|---|\n| guest | `file_a` `bomb_*` `tests/x/` |\n\n| not | this |\n"

    def test_a_proof_that_is_no_attack(self):
        patterns, paths = proofs(table_of(self.TABLE))
        self.assertEqual(["tests/x/"], paths)
        self.assertEqual(["bomb_*"], unknown(patterns, ["file_a"]))

    def test_an_attack_that_is_no_proof(self):
        patterns, _ = proofs(table_of(self.TABLE))
        self.assertEqual(["leak_b"], unnamed(patterns, ["file_a", "bomb_c", "leak_b"]))

    def test_names_are_found_in_sources(self):
        self.assertEqual(["seccomp"], wall_names('    case Wall::kSeccomp: return "seccomp";'))
        self.assertEqual(["file_a", "file_b"],
                         attack_names('{.name = "file_a", .run = a},\n    GBX_BOMB("file_b", "aim")'))


if __name__ == "__main__":
    unittest.main()
