"""The steps of a build for JavaScript: what npm fetches, that no script runs while it does, and the
layer that is made of it.
"""
import json
import os
import re
import shutil
import unittest

import package_steps
from package_steps import Steps, in_a_sandbox_of_sorts

ESCAPED = "/tmp/gbx-absolute"


class Npm(unittest.TestCase):
    def setUp(self):
        self.steps = Steps()
        self.addCleanup(self.steps.stop)

    def ready(self, *packages, **more):
        fetched = self.steps.npm_fetch(*packages, **more)
        self.assertEqual(fetched.state, "ready", fetched)
        self.assertEqual(self.steps.mark, "", "code of a package was run")
        return fetched

    def failed(self, *packages, **more):
        fetched = self.steps.npm_fetch(*packages, **more)
        self.assertEqual(fetched.state, "failed", fetched)
        self.assertLessEqual(len(fetched.error.encode()), 8192)
        self.assertNotIn("complete log", fetched.error)
        self.assertEqual(self.steps.mark, "", "code of a package was run")
        return fetched.error

    def versions(self, fetched):
        """All but the tree's own shape, which is always there."""
        found = {one["name"]: one["version"] for one in fetched.result["artefacts"]}
        self.assertEqual(found.pop("(tree)"), "1")
        return found


class Fetching(Npm):
    def test_a_package_and_what_it_needs(self):
        fetched = self.ready("dependent", "@scope/scoped@1")
        self.assertEqual(self.versions(fetched), {"dependent": "1.0.0", "good": "1.2.0", "@scope/scoped": "1.0.0"})
        self.assertFalse(fetched.result["scripts"])
        self.assertRegex(fetched.result["interpreter"], r"^node-\d+$")
        good = next(one for one in fetched.result["artefacts"] if one["name"] == "good")
        self.assertEqual((good["file"], good["sha256"]), ("good-1.2.0.tgz", self.steps.index.samples("npm", "good")[1].integrity))
        self.assertEqual(fetched.names("tree"), ["node_modules", "package-lock.json", "package.json"])

    def test_versions_side_by_side(self):
        fetched = self.ready("dependent", "good@2")
        self.assertEqual(self.versions(fetched), {"dependent": "1.0.0", "good": "2.0.0", "dependent/node_modules/good": "1.2.0"})

    def test_no_script_runs(self):
        fetched = self.ready("marked", "good")
        self.assertTrue(fetched.result["scripts"])
        # And it would have.
        layer = self.steps.npm_install(fetched)
        self.assertEqual(layer.state, "ready", layer)
        self.assertIn("script script", self.steps.mark)
        self.assertTrue(os.path.exists(layer.path("layer/node_modules/marked/made")))

    def test_other_places_than_the_registry(self):
        for name, word in (("by-git", "git"), ("by-address", "evil.example.com"), ("by-path", "")):
            with self.subTest(name):
                self.assertIn(word, self.failed(name))
        self.assertFalse([one for one in self.steps.index.requests if "evil" in one["path"]])

    def test_what_is_wrong(self):
        self.assertIn("404", self.failed("absent"))
        self.assertIn("absent", self.failed("wants-absent"))
        self.assertIn("good@7", self.failed("good@7"))
        self.assertIn("EINTEGRITY", self.failed("wrong-integrity"))
        self.assertIn("for Python", self.failed(requirements="good"))
        self.assertIn("no packages", self.failed())
        self.steps.index.faults = {"/npm/good": {"body": "no json"}}
        self.assertIn("JSON", self.failed("good"))

    def test_a_token(self):
        self.steps.index.token = "very-secret-token"
        host = self.steps.address.partition(":")[2]
        fetched = self.ready("good", npmrc=f"{host}/npm/:_authToken=very-secret-token\n")
        self.assertNotIn("very-secret", str(fetched))
        self.assertNotIn("very-secret", self.failed("good", npmrc=f"{host}/npm/:_authToken=very-secret-wrong\n"))

    def test_a_tarball_that_leads_out(self):
        shutil.rmtree(ESCAPED, ignore_errors=True)
        self.addCleanup(shutil.rmtree, ESCAPED, True)
        fetched = self.steps.npm_fetch("escaping")
        outside = [name for directory, _, files in os.walk(self.steps.directory) for name in files if "escaped" in name
                   and "node_modules/escaping" not in directory]
        self.assertEqual(outside, [])
        self.assertFalse(os.path.exists(ESCAPED))
        if fetched.state == "ready":
            self.assertFalse(os.path.islink(fetched.path("tree/node_modules/escaping/out")))


class Locked(Npm):
    def lock(self):
        with open(self.ready("dependent", "marked").path("tree/package-lock.json")) as file:
            return json.load(file)

    def test_a_lock(self):
        lock = self.lock()
        lock["packages"]["node_modules/good"].update(version="1.0.0", integrity=self.steps.index.samples("npm", "good")[0].integrity)
        for one in lock["packages"].values():  # made elsewhere
            if "resolved" in one:
                one["resolved"] = re.sub(r"^http://localhost:\d+/npm-files", "https://registry.npmjs.org", one["resolved"]).replace("1.2.0", "1.0.0")
        fetched = self.ready(lock=json.dumps(lock))
        self.assertEqual(self.versions(fetched), {"dependent": "1.0.0", "good": "1.0.0", "marked": "1.0.0"})
        self.assertTrue(fetched.result["scripts"])
        lock["packages"]["node_modules/good"]["integrity"] = "sha512-" + "A" * 86 + "=="
        self.assertIn("EINTEGRITY", self.failed(lock=json.dumps(lock)))

    def plain_lock(self):
        """Without the addresses of this test's own registry."""
        lock = self.lock()
        for one in lock["packages"].values():
            one.pop("resolved", None)
        return lock

    def test_what_would_come_to_another_tree_with_the_same_artefacts(self):
        good = self.steps.index.samples("npm", "good")[0].integrity
        other = "sha512-" + "A" * 86 + "=="
        lock = self.plain_lock()
        honest = dict(lock["packages"]["node_modules/good"])
        for change, said in (({"integrity": good + " " + other}, "one hash"), ({"integrity": other + "?x"}, "one hash"),
                             ({"name": "@scope/scoped"}, "aliases")):
            lock["packages"]["node_modules/good"] = dict(honest, **change)
            self.assertIn(said, self.failed(lock=json.dumps(lock)))
        lock["packages"]["node_modules/good"] = honest
        plain = self.ready(lock=json.dumps(lock))
        lock["packages"]["node_modules/good"]["bin"] = {"ls": "index.js"}
        other_programs = self.ready(lock=json.dumps(lock))
        self.assertNotEqual(other_programs.result["artefacts"], plain.result["artefacts"])

    def test_one_that_does_not_fit_its_project(self):
        lock = self.plain_lock()
        lock["packages"][""]["dependencies"]["good"] = "^2.0.0"
        self.assertIn("in sync", self.failed(lock=json.dumps(lock)))


class Layer(Npm):
    def layer(self, *packages):
        layer = self.steps.npm_install(self.ready(*packages))
        self.assertEqual(layer.state, "ready", layer)
        return layer

    def test_places(self):
        layer = self.layer("dependent", "modern", "@scope/scoped")
        self.assertEqual(layer.names("layer"), ["node_modules", "usr"])
        self.assertEqual(os.readlink(layer.path("layer/usr/local/bin/good")), "../../../node_modules/.bin/good")
        self.assertTrue(os.access(layer.path("layer/usr/local/bin/good"), os.X_OK))
        self.assertEqual({int(os.lstat(os.path.join(directory, name)).st_mtime) for directory, names, files in os.walk(layer.path("layer"))
                          for name in names + files}, {315532800})

    @unittest.skipIf(os.geteuid() != 0, "mounting needs root")
    def test_found_from_anywhere(self):
        layer = self.layer("dependent", "modern", "@scope/scoped").path("layer")
        node = lambda *words: in_a_sandbox_of_sorts(layer, ["/usr/bin/node", *words], "/tmp").strip()
        self.assertEqual(node("-p", "[require('dependent'), require('@scope/scoped')].join()"), "1.2.0,scoped")
        home = os.path.join(self.steps.directory, "home")
        os.mkdir(home)
        with open(os.path.join(home, "x.mjs"), "w") as file:
            file.write("import modern from 'modern'; import good from 'good'; console.log(modern, good.version);\n")
        self.assertEqual(node(os.path.join(home, "x.mjs")), "modern 1.2.0")
        self.assertEqual(in_a_sandbox_of_sorts(layer, ["good"], "/tmp").strip(), "good 1.2.0")

    def test_a_script_that_fails(self):
        layer = self.steps.npm_install(self.ready("failing-script"))
        self.assertEqual(layer.state, "failed")
        self.assertIn("failing: there is no hope", layer.error)
        self.assertTrue(layer.error.startswith("> failing-script@1.0.0 install\n"), layer.error)

    def test_nothing_to_install(self):
        root = self.steps.new_root()
        os.mkdir(os.path.join(root, "in", "tree"))
        self.assertIn("no packages", self.steps.run("npm_install.py", root).error)


if __name__ == "__main__":
    package_steps.main()
