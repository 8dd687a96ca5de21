# Packages of npm that a caller asks for, as dependencies_test.py has them of Python's.
import base64
import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import package_index
import packaged
import sealed


def setUpModule():
    packaged.set_up()


def tearDownModule():
    packaged.tear_down()


class Npm(packaged.Packaged):
    def node(self, code, dependencies, **request):
        return self.printed(code, dependencies, language="javascript", **request)

    def test_packages_are_required_and_imported(self):
        code = "console.log(require('dependent'), require('@scope/scoped'))"
        wish = ["dependent", "@scope/scoped@1"]
        out, answer = self.run_with(code, wish, language="javascript")
        self.assertEqual(out, "1.2.0 scoped\n")
        layer = self.layer(answer["dependencies"]["layer"])
        self.assertEqual((layer["manager"], layer["index"]), ("npm", packaged.NPM_URL.rstrip("/")))
        self.assertEqual({one["name"].rsplit("node_modules/", 1)[-1]: one["version"] for one in layer["packages"]},
                         {"dependent": "1.0.0", "good": "1.2.0", "@scope/scoped": "1.0.0"})
        self.assertTrue(all(one["hash"].startswith("sha512-") for one in layer["packages"]), layer)
        self.internet.packages(forget=True)
        self.assertEqual(self.node(code, wish), "1.2.0 scoped\n")
        self.assertEqual(self.internet.packages(), [])
        self.assertEqual(self.node("import modern from 'modern'; console.log(modern)", ["modern"]), "modern\n")
        # Programs, and a session of the same.
        session = self.with_packages(["good@2"], template="node")
        self.assertEqual(session.shell("good")["stdout"], "good 2.0.0\n")
        self.assertEqual(session.code("require('good').version", language="javascript")["result"]["text/plain"].strip("'\""), "2.0.0")

    def test_scripts_run_without_a_network(self):
        out, answer = self.run_with("console.log(JSON.stringify(require('hostile-script')))", ["hostile-script"], language="javascript")
        report = json.loads(out)
        self.assertTrue(report["ran"])
        self.assertNotEqual(report["network"], "connected")
        self.assertNotEqual(report["uid"], 0)
        self.assertEqual((report["settings"], report["written"]), ({}, []))
        self.assertFalse([name for name in report["environment"] if "TOKEN" in name or "SECRET" in name])
        self.assertIn("failing: there is no hope", self.refused(["failing-script"], language="javascript"))

    def test_a_lock_file_is_what_it_says(self):
        index = package_index.PackageIndex()
        good = next(one for one in index.samples("npm", "good") if one.version == "1.0.0")
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(good.data).digest()).decode()
        lock = {"name": "x", "version": "1.0.0", "lockfileVersion": 3, "requires": True, "packages": {
            "": {"name": "x", "version": "1.0.0", "dependencies": {"good": "^1.0.0"}},
            "node_modules/good": {"version": "1.0.0", "integrity": integrity,
                                  "resolved": f"https://{package_index.FILES}/npm-files/good/-/{good.file}"}}}
        code = "console.log(require('good').version)"
        self.assertEqual(self.node(code, {"lock": json.dumps(lock)}), "1.0.0\n")
        lock["packages"]["node_modules/good"]["integrity"] = "sha512-" + "A" * 86 + "=="
        said = self.refused({"lock": json.dumps(lock)}, language="javascript")
        self.assertIn("integrity", said.lower())

    def test_those_that_cannot_be_had(self):
        for package, word in (("wrong-integrity", "integrity"), ("wants-absent", "absent"), ("absent", "absent")):
            with self.subTest(package):
                self.assertIn(word, self.refused([package], language="javascript").lower())
        for package in ("by-git", "by-address", "by-path"):
            with self.subTest(package):
                answer = self.ask("1", [package], language="javascript")
                self.assertEqual(answer.status, 422, answer)
        self.assert_not_reached("185.220.101.1", "93.184.216.34")

    def test_archives_that_would_leave_their_place(self):
        code = "const fs = require('fs'); console.log(require('escaping'), fs.existsSync('/tmp/gbx-absolute'), fs.readdirSync('/').includes('escaped.js'))"
        answer = self.ask(code, ["escaping"], language="javascript")
        self.assertIn(answer.status, (200, 422), answer)
        if answer.status == 200:
            self.assertEqual(answer.json["stdout"], "1 false false\n", answer)
        self.assertFalse(os.path.exists("/tmp/gbx-absolute"))

    def test_wishes_that_are_none(self):
        for wrong in (["--registry=https://evil.example.com"], ["good@https://evil.example.com/x.tgz"], ["../good"], ["git+ssh://x/y"],
                      ["file:/etc"], ["good@npm:evil"], {"requirements": "good"}):
            answer = self.ask("1", wrong, language="javascript")
            self.assertIn(answer.status, (400, 422), (wrong, answer))
        self.assertEqual(self.downloads(), [])


if __name__ == "__main__":
    sealed.main(network=True)
