"""What may be asked of pip and npm, and in which words the rest is refused: lines of requirements,
lock files, names; and what of an installer's output gets through. Nothing is started for it.
"""
import json
import os
import tempfile
import unittest
import unittest.mock

from package_steps import PACKAGES

import sys

sys.path.insert(0, str(PACKAGES))
import npm_lock
import npm_requirements
import program
import pylock
import pip_requirements
import source_archive
import build_step
from build_step import Refused

import package_archives

SHA = "a" * 64
INTEGRITY = "sha512-" + "A" * 86 + "=="


class Words(unittest.TestCase):
    def refused(self, word, action, *given):
        with self.assertRaises(Refused) as caught:
            made = action(*given)
            raise AssertionError(f"{given!r} was taken: {made}")
        self.assertIn(word, str(caught.exception))


class Requirements(Words):
    def lines(self, text):
        wanted, options = pip_requirements.from_file(text)
        return [one.line() for one in wanted], options

    def test_taken(self):
        text = ("# a comment\n\ngood==1.0  # why\nneedy[a,b]>=1,<2 ; python_version >= '3.9'\n--pre\n"
                f"honest==1.0 \\\n    --hash=sha256:{SHA} \\\n    --hash sha512:{SHA * 2}\nlast~=1.4\n")
        self.assertEqual(self.lines(text), (["good==1.0", "needy[a,b]>=1,<2 ; python_version >= '3.9'",
                                             f"honest==1.0 --hash=sha256:{SHA} --hash=sha512:{SHA * 2}", "last~=1.4"], ["--pre"]))

    def test_a_byte_order_mark_in_front(self):
        self.assertEqual(self.lines("\ufeffgood==1.0\r\nlast\r\n"), (["good==1.0", "last"], []))
        self.refused("requirements, line 2", pip_requirements.from_file, "good\n\ufefflast\n")

    def test_packages_that_are_none(self):
        for word in ("-r/etc/passwd", "--index-url=http://evil", "good @ http://evil.example.com/x.whl", "./good", "/etc", "git+https://x/y",
                     "good\n--pre", "good --pre", "", "  ", "x.whl", "file:///etc", "..", "good\\x", "good\0", "gööd", "a b", "good>=1 <2",
                     "good; no_such_marker == 'x'", "good@/etc/passwd", "good==1.0 --hash=sha256:" + SHA):
            with self.subTest(word):
                self.refused("package 1", pip_requirements.from_packages, [word])

    def test_lines_that_are_none(self):
        for line in ("-r other.txt", "-c x", "-e .", "--index-url https://evil", "-f x", "--find-links x", "https://x/y.whl", "./x", "-rx", "--r x",
                     "--no-binary :all:", "--only-binary=good", "good --global-option=x", "good --hash=md5:0123", "good --config-settings=a=b",
                     "--extra-index-url=https://evil.example.com", "--trusted-host x", "-i https://evil", "good --hash=sha256:12", "--pre -r x",
                     "good\t--index-url=x", "good==1 --hash=sha512:" + SHA, "--use-feature=fast-deps", "good @ file:x", "--hash=sha256:" + SHA):
            with self.subTest(line):
                self.refused("requirements, line 3", pip_requirements.from_file, f"# first\ngood==1.0\n{line}\nlast\n")
        self.refused("requirements, line 2", pip_requirements.from_file, "a\nb \\\n -r x\n")

    def test_locks(self):
        head = 'lock-version = "1.0"\n'
        package = head + "[[packages]]\nname = 'a'\n"
        for text, word in (("{}", "pylock.toml"), ("x = [", "lock: not TOML"), ("a = 1", "lock-version"), ('lock-version = "2.0"\npackages = []', "lock-version"),
                           (head + "[[packages]]\nversion = '1'", "no name"), (head + "packages = [1]", "no name"), (package, "no version"),
                           (package + "version = '1'", "sha256"), (package + "version = '1 --pre'", "no version"),
                           (package + "version = '1'\nwheels = [{name = 'x'}]", "no hashes"),
                           (package + "version = '1'\nwheels = [{hashes = {md5 = 'x'}}]", "sha256"),
                           (package + f"version = '1'\nmarker = 1\nwheels = [{{hashes = {{sha256 = '{SHA}'}}}}]", "marker"),
                           (package + "version = '1'\n[packages.vcs]\nurl = 'x'", "vcs"), (package + "[packages.directory]\npath = '.'", "directory"),
                           (package + "[packages.archive]\nurl = 'x'", "archive"),
                           (head + f"[[packages]]\nname = 'a @ http://x/'\nversion = '1'\nwheels = [{{hashes = {{sha256 = '{SHA}'}}}}]", "URL")):
            with self.subTest(text):
                self.refused(word, pylock.wanted_by, text)

    def test_a_lock(self):
        text = (f'lock-version = "1.0"\ndefault-groups = ["base"]\n[[packages]]\nname = "A_b"\nversion = "1!2.0+local"\n'
                f'marker = "\'base\' in dependency_groups and \'x\' not in extras or sys_platform == \'win32\'"\n'
                f'wheels = [{{url = "https://e/x.whl", hashes = {{sha256 = "{SHA.upper()}", md5 = "x"}}}}]\nsdist = {{hashes = {{sha512 = "{SHA * 2}"}}}}\n')
        self.assertEqual([one.line() for one in pylock.wanted_by(text)],
                         ["A_b==1!2.0+local ; python_version >= \"2\" and python_version >= \"2\" or sys_platform == 'win32' "
                          f"--hash=sha256:{SHA} --hash=sha512:{SHA * 2}"])


class Npm(Words):
    def test_names(self):
        self.assertEqual(npm_requirements.dependencies(["lodash", "a@^1.0 || 2.x", "@s/b@>=1 <2", "c@latest", "a@^1.0 || 2.x"]),
                         {"lodash": "latest", "a": "^1.0 || 2.x", "@s/b": ">=1 <2", "c": "latest"})
        for word in ("-g", "--prefix=/", "./x", "/etc", "file:x", "git+https://x/y", "user/repo", "github:a/b", "a@file:/etc", "a@npm:b@1", "a@https://x/y.tgz",
                     "a\nb", "", "@/x", "@s/", "../x", "a@git@x:y", "x" * 215, ".bin", "a@1\0"):
            with self.subTest(word):
                self.refused("package 1", npm_requirements.dependencies, [word])
        self.refused("twice", npm_requirements.dependencies, ["a@1", "a@2"])

    def lock(self, packages, root=None, version=3):
        return json.dumps({"lockfileVersion": version, "packages": {"": root or {"dependencies": {"a": "^1"}}, **packages},
                           "dependencies": {"a": {"version": "git+ssh://git@evil/a"}}})

    def test_a_lock(self):
        one = {"version": "1.0.0", "resolved": "https://registry.npmjs.org/a/-/a-1.0.0.tgz", "integrity": INTEGRITY, "extraneous": True}
        project, made = npm_lock.read(self.lock({"node_modules/a": one, "node_modules/dev": {"dev": True, "link": True},
                                                 "node_modules/a/node_modules/@s/b": dict(one, resolved="https://r.example.org/x/@s/b/-/b-1.0.0.tgz")}, version=2))
        self.assertEqual(project["dependencies"], {"a": "^1"})
        self.assertEqual(sorted(made["packages"]), ["", "node_modules/a", "node_modules/a/node_modules/@s/b"])
        self.assertNotIn("resolved", json.dumps(made))
        self.assertNotIn("extraneous", json.dumps(made))
        self.assertNotIn("dependencies", made)
        self.assertEqual(made["packages"]["node_modules/a"]["integrity"], INTEGRITY)

    def test_locks_that_lead_elsewhere(self):
        one = {"version": "1.0.0", "integrity": INTEGRITY}
        for resolved in ("file:../a", "git+ssh://git@github.com/a/a.git#1", "http://registry.npmjs.org/a/-/a-1.0.0.tgz", "https://evil.example.com/a.tgz",
                         "https://x/b/-/b-1.0.0.tgz", "../a", "https://x/a/-/a.tgz?x=1", "https://[x/a/-/a.tgz", 7):
            with self.subTest(resolved):
                self.refused("package a", npm_lock.read, self.lock({"node_modules/a": dict(one, resolved=resolved)}))
        for place in ("packages/a", "../a", "node_modules/../../a", "node_modules/a/../b", "/a", "node_modules/", "node_modules/.bin"):
            with self.subTest(place):
                self.refused("lock: ", npm_lock.read, self.lock({place: one}))
        for change, word in (({"name": "@s/a"}, "aliases"), ({"integrity": INTEGRITY + " sha1-" + "A" * 27 + "="}, "one hash"),
                             ({"integrity": "sha512-AAAA=="}, "one hash"), ({"integrity": INTEGRITY + "?x"}, "one hash")):
            with self.subTest(change):
                self.refused(word, npm_lock.read, self.lock({"node_modules/a": dict(one, **change)}))
        self.refused("link", npm_lock.read, self.lock({"node_modules/a": dict(one, link=True)}))
        self.refused("integrity", npm_lock.read, self.lock({"node_modules/a": {"version": "1.0.0"}}))
        self.refused("no version", npm_lock.read, self.lock({"node_modules/a": {"integrity": INTEGRITY}}))
        self.refused("version 2 or 3", npm_lock.read, self.lock({}, version=1))
        self.refused("only packages of the registry", npm_lock.read, self.lock({}, {"dependencies": {"a": "file:/etc"}}))
        self.refused("JSON", npm_lock.read, "{")
        self.refused("package-lock.json", npm_lock.read, "lock-version = '1'")
        self.refused("JSON", npm_lock.read, '{"a":' * 100_000)


class Sources(Words):
    def test_names_of_archives(self):
        for file, name, version in (("good-1.0.tar.gz", "good", "1.0"), ("with_Dash-1.0.post1.zip", "with-dash", "1.0.post1"),
                                    ("old-style-name-1.0-beta.tar.gz", "old-style.name", "1.0-beta"), ("a-1.tgz", "A", "1")):
            self.assertEqual(source_archive.name_and_version(file, name), (build_step.canonical(name), version))
        self.refused("version of good", source_archive.name_and_version, "other-1.0.tar.gz", "good")
        self.refused("source archive", source_archive.name_and_version, "good-1.0.exe", "good")

    def requires(self, files, make=package_archives.tarball, name="a-1.tar.gz"):
        with tempfile.NamedTemporaryFile() as file:
            file.write(make(files) if callable(make) else make)
            file.flush()
            return source_archive.build_requirements(file.name, name)

    def test_what_a_build_wants(self):
        self.assertEqual(self.requires({"a-1/setup.py": ""}), ["setuptools>=40.8.0", "wheel"])
        self.assertEqual(self.requires({"a-1/pyproject.toml": "[tool.x]\n"}), ["setuptools>=40.8.0", "wheel"])
        self.assertEqual(self.requires({"a-1/sub/pyproject.toml": "no", "./a-1/pyproject.toml": "[build-system]\nrequires = ['flit>=3']\nbuild-backend = 'flit'"}), ["flit>=3"])
        self.assertEqual(self.requires({"a-1/pyproject.toml": "[build-system]\nrequires = ['setuptools']"}), ["setuptools", "wheel"])
        self.assertEqual(self.requires({"a-1/pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = 'own'\nbackend-path = ['.']"}), [])
        with unittest.mock.patch("shutil.which", lambda name, path=None: None if name == "ninja" else name):
            self.assertEqual(self.requires({"a-1/pyproject.toml": "[build-system]\nrequires = ['meson-python']\nbuild-backend = 'mesonpy'"}), ["meson-python", "ninja"])
        for text, word in (("[build-system]\nrequires = 'x'", "not a list"), ("build-system = 3", "not a list"), ("x = ", "pyproject.toml: not TOML"),
                           ("[build-system]\nrequires = ['x @ file:///etc']", "URL"), ("[build-system]\nrequires = ['-r x']", "option"),
                           ("#" * (2 << 20), "too long")):
            self.refused(word, self.requires, {"a-1/pyproject.toml": text})
        self.refused("cannot be read", self.requires, {}, b"no archive")
        self.refused("cannot be read", self.requires, {}, b"PK\3\4no archive", "a-1.zip")
        self.refused("not a regular file", self.requires, {}, package_archives.tarball({}, {"a-1/pyproject.toml": "/etc/passwd"}))


class Output(unittest.TestCase):
    def place(self):
        directory = tempfile.TemporaryDirectory(prefix="gbx-test-")
        self.addCleanup(directory.cleanup)
        place = build_step.BuildDirectories(directory.name)
        place.prepare()
        return place

    def run_program(self, code, secrets=()):
        place = self.place()
        sys.stdout.flush()
        with tempfile.TemporaryFile() as file:
            kept = os.dup(1)
            os.dup2(file.fileno(), 1)
            try:
                ended = program.run([sys.executable, "-I", "-c", code], place, program.clean_environment(place), secrets)
                sys.stdout.flush()
            finally:
                os.dup2(kept, 1)
                os.close(kept)
            file.seek(0)
            return ended, file.read().decode()

    def test_what_a_terminal_would_obey(self):
        ended, shown = self.run_program(r"print('\x1b]0;owned\x07a\x1b[2J\x1b[31mred\x1b[0m \x9b2Jb \u202ec\x08\x00'); print('x' * 100000); print('tab\there')")
        self.assertEqual(shown.split("\n")[0], "ared 2Jb c")
        self.assertLess(len(shown.split("\n")[1]), 2100)
        self.assertIn("tab\there", shown)
        self.assertTrue(ended.ok)

    def test_secrets_and_ends(self):
        import re
        ended, shown = self.run_program("import sys; print('a pass-word b'); print('ERROR: first'); print('why ' * 50 + chr(10)) or [print('more', n) for n in range(3000)]; sys.exit(3)", ["pass-word"])
        self.assertNotIn("pass-word", shown + "".join(ended.lines))
        self.assertEqual(ended.status, 3)
        words = ended.error_text(re.compile("^ERROR"))
        self.assertTrue(words.endswith("more 2999"))
        self.assertLess(len(build_step.shorten(words)), 8193)

    def test_who_asks_is_not_shown(self):
        lines = ("Looking in indexes: https://ci:****@pypi.corp.example/simple, https://token@b.example:8443/simple",
                 "https://a@b:pass-word@c.example/@scope/x", "mail me@here.example or see https://d.example/@scope/y")
        ended, shown = self.run_program("print(%r)" % "\n".join(lines), ["pass-word"])
        self.assertEqual(shown.splitlines(), ["Looking in indexes: https://pypi.corp.example/simple, https://b.example:8443/simple",
                                              "https://c.example/@scope/x", lines[2]])
        self.assertEqual(list(ended.lines), shown.splitlines())

    def test_one_that_is_left_behind_holds_nothing_up(self):
        ended, shown = self.run_program("import os, time\nif os.fork() == 0:\n    os.setsid()\n    while True:\n        try:\n            print('left', flush=True); time.sleep(0.01)\n"
                                        "        except BrokenPipeError:\n            os._exit(0)\nprint('done', flush=True)")
        self.assertIn("done", shown)
        self.assertTrue(ended.ok)

    def test_a_silent_one(self):
        import re
        ended, _ = self.run_program("import os; os.kill(os.getpid(), 9)")
        self.assertEqual(ended.error_text(re.compile("^ERROR")), "it was killed by signal 9 without output")

    def test_a_flood(self):
        ended, shown = self.run_program("for n in range(200000): print('line', n, '.' * 100)")
        self.assertLess(len(shown), (4 << 20) + 5000)
        self.assertIn("more is not shown", shown[-200:])

    def test_shorten(self):
        self.assertEqual(build_step.shorten(" a "), "a")
        self.assertLessEqual(len(build_step.shorten("ü\n" * 10000).encode()), 8192)
        self.assertLessEqual(len(build_step.shorten("ü" * 10000).encode()), 8192)

    def test_a_result_is_put_in_the_place_of_whatever_is_there(self):
        place = self.place()
        os.symlink("/etc/passwd", place.output("result.json"))
        place.answer({"state": "ready"})
        with open(place.output("result.json")) as file:
            self.assertEqual(json.load(file), {"state": "ready"})
        self.assertFalse(os.path.islink(place.output("result.json")))


if __name__ == "__main__":
    unittest.main()
