"""Packages without a wheel: fetched without running any of their code, built round by round, and
known by the hash of their source throughout.
"""
import os
import subprocess
import unittest

import package_steps
from package_steps import PACKAGES, PYTHON, PipFetch


class NoCode(PipFetch):
    """Packages whose code would leave a mark: a setup.py, a backend of its own, a .pth file."""

    def test_a_source_is_fetched_and_not_run(self):
        for name in ("old-style", "own-backend"):
            with self.subTest(name):
                fetched = self.steps.fetch(name)
                self.assertEqual(fetched.state, "source", fetched)
                self.assertEqual(self.steps.mark, "", "code of a package was run")
                source = fetched.result["source"]
                self.assertEqual((source["name"], source["version"]), (name, "1.0"))
                self.assertIn(source["file"], fetched.names("source"))
                self.assertTrue(fetched.names("source", "requires"))
                self.assertFalse(os.path.exists(fetched.path("wheels")))
                # And it would have, had it been run.
                made = self.steps.build(fetched)
                self.assertEqual(made.state, "ready", made)
                self.assertIn({"old-style": "setup", "own-backend": "hook"}[name], self.steps.mark)

    def test_wheels_are_not_run_either(self):
        fetched = self.ready("with-pth", "greeter")
        self.assertEqual(fetched.names("wheels"), ["greeter-1.0-py3-none-any.whl", "with_pth-1.0-py3-none-any.whl"])

    def test_nothing_can_be_started_even_if_pip_would(self):
        """The guard alone, without the stop at sources: pip is led to run a setup.py and cannot."""
        root = self.steps.new_root()
        self.steps.pip_settings(root)
        driver = ("import sys; sys.path.insert(0, %r); import pip_guarded; pip_guarded.stop_at_sources = lambda *_: True; "
                  "pip_guarded.main()" % str(PACKAGES))
        ended = subprocess.run([PYTHON, "-I", "-c", driver, root + "/note", root, "download", "--dest", root, "--no-build-isolation", "old-style"],
                               env={"PATH": "/usr/bin:/bin", "PIP_CONFIG_FILE": root + "/in/pip.conf"}, capture_output=True, text=True, timeout=60)
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("no process may be started while packages are downloaded", ended.stdout + ended.stderr)
        self.assertEqual(self.steps.mark, "")

    def test_an_unknown_pip_gets_wheels_only(self):
        root = self.steps.new_root()
        self.steps.pip_settings(root)
        driver = ("import sys; sys.path.insert(0, %r); import pip_guarded; pip_guarded.stop_at_sources = lambda *_: False; "
                  "pip_guarded.main()" % str(PACKAGES))
        ended = subprocess.run([PYTHON, "-I", "-c", driver, root + "/note", root, "download", "--dest", root, "old-style"],
                               env={"PATH": "/usr/bin:/bin", "PIP_CONFIG_FILE": root + "/in/pip.conf"}, capture_output=True, text=True, timeout=60)
        self.assertIn("No matching distribution found for old-style", ended.stdout + ended.stderr)
        self.assertEqual(self.steps.mark, "")

    def test_other_places_than_the_index(self):
        for name in ("elsewhere", "by-git", "by-path"):
            with self.subTest(name):
                self.assertIn("only packages of the index are accepted", self.failed(name))


class Sources(PipFetch):
    def all(self, *packages, **more):
        fetched, sources = self.steps.fetch_all(*packages, **more)
        self.assertEqual(fetched.state, "ready", fetched)
        return fetched, [one["name"] for one in sources]

    def test_rounds(self):
        fetched, sources = self.all("honest")
        self.assertEqual(sources, ["honest"])
        # A built one is known by its source, whose hash is always the same.
        self.assertEqual({one["name"]: one["file"] for one in fetched.result["artefacts"]},
                         {"honest": "honest-1.0.tar.gz", "good": "good-1.1-py3-none-any.whl"})
        source = next(one for one in fetched.result["artefacts"] if one["name"] == "honest")
        self.assertEqual(source["sha256"], self.steps.index.samples("python", "honest")[0].sha256)
        self.assertEqual(fetched.names("wheels"), ["good-1.1-py3-none-any.whl", "honest-1.0-py3-none-any.whl"])

    def test_a_needed_one_is_built_and_no_older_version_taken(self):
        fetched, sources = self.all("wants-honest")
        self.assertEqual(sources, ["honest"])
        self.assertEqual(self.versions(fetched), {"wants-honest": "1.0", "honest": "1.0", "good": "1.1"})

    def test_wheels_are_preferred(self):
        self.assertEqual(self.versions(self.ready("good")), {"good": "1.1"})
        self.assertNotIn("/packages/good-2.0.tar.gz", self.paths())
        fetched = self.steps.fetch("good>=2")
        self.assertEqual((fetched.state, fetched.result["source"]["version"]), ("source", "2.0"))

    def test_a_build_that_needs_a_built_one(self):
        fetched, sources = self.all("built-by-built")
        self.assertEqual(sources, ["honest", "built-by-built"])

    def test_a_compiled_one(self):
        made, sources = self.steps.fetch_all("native")
        self.assertEqual(sources[0]["name"], "native")
        if not os.path.exists("/usr/bin/cc") or made.state == "failed" and "Python.h" in made.error:
            self.assertEqual(made.state, "failed")
            self.skipTest("no compiler on this host: " + made.error[-200:])
        self.assertEqual(made.state, "ready", made)

    def test_one_that_fails(self):
        made, _ = self.steps.fetch_all("failing")
        self.assertEqual(made.state, "failed")
        self.assertIn("failing: there is no hope", made.error)
        self.assertTrue(made.error.startswith("failing-1.0.tar.gz cannot be built here"), made.error)

    def test_one_whose_build_wants_what_is_not_there(self):
        self.assertIn("absent-tool", self.failed("build-wants-absent"))

    def test_hashes_of_a_source(self):
        self.assertIn("DO NOT MATCH THE HASHES FROM THE INDEX", self.failed("wrong-hash-source"))
        self.assertIn("cannot be read", self.failed("broken-archive"))

    def test_an_impostor_is_not_taken(self):
        fetched = self.steps.fetch("impostor")
        made = self.steps.build(fetched)
        self.assertEqual(made.state, "failed", made)
        self.assertIn("expected 'impostor', got 'good'", made.error)
        # And a fetch does not take it from an untrusted source.
        os.makedirs(os.path.join(fetched.root, "in", "built"))
        with open(os.path.join(fetched.root, "in", "built", "good-99.0-py3-none-any.whl"), "wb") as file:
            file.write(b"x")
        with open(os.path.join(fetched.root, "in", "built.json"), "w") as file:
            file.write('{"good-99.0-py3-none-any.whl": {"name": "impostor", "version": "1.0", "file": "x", "sha256": "y"}}')
        self.assertIn("a different package", self.failed("good", root=fetched.root))


class Pinned(PipFetch):
    def sha256(self, name, number=0):
        return self.steps.index.samples("python", name)[number].sha256

    def test_requirements_with_hashes(self):
        text = f"# comment\nneedy==1.0 \\\n  --hash=sha256:{self.sha256('needy')}\ngood==1.0 --hash=sha256:{self.sha256('good')} # more\n"
        self.assertEqual(self.versions(self.ready(requirements=text)), {"needy": "1.0", "good": "1.0"})
        error = self.failed(requirements=text.replace(self.sha256("good"), "1" * 64))
        self.assertIn("DO NOT MATCH THE HASHES", error)
        # All or none.
        self.assertIn("hashes", self.failed(requirements=f"needy==1.0 --hash=sha256:{self.sha256('needy')}").lower())

    def test_a_pinned_source(self):
        text = f"honest==1.0 --hash=sha256:{self.sha256('honest')}\ngood==1.1 --hash=sha256:{self.sha256('good', 1)}\n"
        fetched, sources = self.steps.fetch_all(requirements=text)
        self.assertEqual((fetched.state, len(sources)), ("ready", 1), fetched)
        self.assertEqual(self.versions(fetched), {"honest": "1.0", "good": "1.1"})
        wrong = text.replace(self.sha256("honest"), "2" * 64)
        self.assertIn("DO NOT MATCH THE HASHES", self.failed(requirements=wrong))

    def test_a_lock(self):
        def file(name, number=0):
            found = self.steps.index.samples("python", name)[number]
            return f'{{name = "{found.name}", url = "https://elsewhere.example.com/{found.name}", hashes = {{sha256 = "{found.sha256}"}}}}'
        lock = (f'lock-version = "1.0"\ncreated-by = "test"\ndefault-groups = ["main"]\n'
                f'[[packages]]\nname = "needy"\nversion = "1.0"\nwheels = [{file("needy")}]\n'
                f'[[packages]]\nname = "good"\nversion = "1.0"\nmarker = "\'main\' in dependency_groups"\nwheels = [{file("good")}]\n'
                f'[[packages]]\nname = "honest"\nversion = "1.0"\nsdist = {file("honest")}\n'
                f'[[packages]]\nname = "yanked"\nversion = "1.0"\nmarker = "\'dev\' in dependency_groups"\nwheels = [{file("yanked")}]\n')
        fetched, sources = self.steps.fetch_all(lock=lock)
        self.assertEqual(fetched.state, "ready", fetched)
        self.assertEqual(self.versions(fetched), {"needy": "1.0", "good": "1.0", "honest": "1.0"})
        self.assertEqual(len(sources), 1)
        self.assertIn("DO NOT MATCH THE HASHES", self.failed(lock=lock.replace(self.sha256("good"), "3" * 64)))


if __name__ == "__main__":
    package_steps.main()
