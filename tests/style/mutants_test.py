"""What scripts/mutants plants, and that docs/mutants.md explains only mistakes that can still be planted."""
import importlib.machinery
import importlib.util
import unittest

from repository import ROOT

loader = importlib.machinery.SourceFileLoader("mutants", str(ROOT / "scripts" / "mutants"))
mutants = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", loader))
loader.exec_module(mutants)


def planted(line, following=""):
    return set(mutants.mutations(line, mutants.masked(line), mutants.masked(following)))


class Operators(unittest.TestCase):
    def test_a_comparison_is_flipped_and_shifted(self):
        self.assertEqual(planted("  const bool fits = size <= kMost;"),
                         {("flip", "  const bool fits = size > kMost;"), ("bound", "  const bool fits = size < kMost;")})

    def test_a_loop_is_only_shifted(self):
        self.assertEqual(planted("  for (int i = 0; i < n; ++i) {"), {("bound", "  for (int i = 0; i <= n; ++i) {")})

    def test_a_check_is_removed(self):
        self.assertIn(("check", ""), planted("  if (bad(x)) return fail(Errc::kPolicy, why);"))
        self.assertEqual(planted("  TRY_OK(check(x));"), {("check", "  (void)(check(x));")})
        self.assertEqual(planted("  if (bad(x)) {", "    return false;"), {("check", "  if (false && (bad(x))) {")})
        # Not every block refuses something.
        self.assertEqual(planted("  if (good(x)) {", "    ++count;"), set())
        # A declaration cannot be part of a condition.
        self.assertEqual(planted("  if (const auto found = find(x)) {", "    return false;"), set())

    def test_failures_of_the_host_are_left_alone(self):
        self.assertEqual(planted('  if (!fd) return fail(Error::from_errno("open"));'), set())
        self.assertEqual(planted("  if (::close(fd) != 0) return false;"), set())
        kinds = {kind for kind, _ in planted("  if (made != 0) {", '    return fail(Error::from_errno("make"));')}
        self.assertEqual(kinds, {"flip"})

    def test_a_default_is_changed(self):
        self.assertEqual(planted("  bool strict = true;  // or not"), {("default", "  bool strict = false;  // or not")})
        self.assertEqual(planted("  return false;"), {("default", "  return true;")})

    def test_a_negation_is_dropped(self):
        self.assertIn(("flip", "  if (ok) x();"), planted("  if (!ok) x();"))

    def test_literals_comments_templates_and_asserts_are_left_alone(self):
        for line in ('  say("a == b && !c");', "  x();  // if a < b", "std::map<int, std::vector<int>> all;",
                     "  GBX_ASSERT(a == b);", "  out << a << b;", "template <class T>", "  auto&& x = y();",
                     "  const char c = '<';", "#if A == B"):
            self.assertEqual(planted(line), set(), line)


class Sample(unittest.TestCase):
    def test_a_seed_is_a_sample(self):
        def sample(seed):
            order = mutants.in_random_order(["src/net", "src/routing"], seed)
            return [(one.file, one.line, one.after) for one, _ in zip(order, range(10))]
        self.assertEqual(sample(1), sample(1))
        self.assertNotEqual(sample(1), sample(2))
        self.assertEqual({one[0].split("/")[1] for one in sample(1)}, {"net", "routing"})

    def test_every_folder_has_something_to_plant(self):
        for folder in mutants.FOLDERS:
            self.assertTrue(mutants.mutants_of(folder), folder)


class Known(unittest.TestCase):
    def test_what_is_explained_can_be_planted(self):
        possible = {one.key for folder in mutants.FOLDERS for one in mutants.mutants_of(folder)}
        for key, (_, reason) in mutants.known_mutants().items():
            self.assertIn(key, possible, "docs/mutants.md explains a mistake that cannot be planted any more")
            self.assertGreater(len(reason), 10, key)


if __name__ == "__main__":
    unittest.main()
