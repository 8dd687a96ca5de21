# `glovebox bench --only dependencies` as a whole, on this host's network: every row is measured
# without an error, and memory is told. Times are not judged here: this machine does other things, too.
# Three packages come from the package registry; skipped, with the reason, where that is out of reach.
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
sys.path.insert(0, os.path.dirname(__file__))
import sealed
from dependencies_registry_test import why_not
from sealed import glovebox


class DependencyRows(sealed.TestCase):
    maxDiff = None

    def test_every_row_is_measured_and_all_sets_live(self):
        reason = why_not()
        if reason:
            print("skipped: the package registry cannot be reached:", reason, flush=True)
            raise unittest.SkipTest(reason)
        ran = glovebox("bench", "--only", "dependencies", "--quick", "--json", timeout=500)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        rows = {row["name"]: row for row in json.loads(ran.stdout)}
        self.assertEqual(set(rows), {"deps-data-template", "deps-paced", "deps-imports-paced", "deps-one-set", "deps-3-sets"})
        for row in rows.values():
            self.assertEqual(row["errors"], 0, row)
            self.assertGreater(row["n"], 0, row)
        self.assertRegex(rows["deps-3-sets"]["note"], r"^3 sets built in \d+ s; .* 0 of them cold; [34] new zygotes, \d+\.\d MB each")


if __name__ == "__main__":
    sealed.main()
