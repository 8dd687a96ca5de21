"""The step of a build with a network, for Python: what is fetched of an index, and what an index and
its users may get wrong.
"""
import hashlib
import unittest

import package_steps
from package_steps import PipFetch


class Resolving(PipFetch):
    def test_a_package_and_what_it_needs(self):
        fetched = self.ready("needy")
        self.assertEqual(self.versions(fetched), {"needy": "1.0", "good": "1.1"})
        self.assertEqual(fetched.names("wheels"), ["good-1.1-py3-none-any.whl", "needy-1.0-py3-none-any.whl"])
        for one in fetched.result["artefacts"]:
            with open(fetched.path("wheels", one["file"]), "rb") as file:
                self.assertEqual(hashlib.sha256(file.read()).hexdigest(), one["sha256"])
        self.assertRegex(fetched.result["interpreter"], r"^cpython-3\.\d+$")
        self.assertIn("Collecting good>=1.0", fetched.output)

    def test_both_forms_of_the_index(self):
        self.steps.index.json_spoken = False
        self.assertEqual(self.versions(self.ready("needy", "yanked")), {"needy": "1.0", "good": "1.1", "yanked": "1.0"})

    def test_extras_markers_and_versions(self):
        self.assertEqual(self.versions(self.ready("with-extras[more]")), {"with-extras": "1.0", "good": "1.1"})
        self.assertEqual(self.versions(self.ready("with-extras", "good<1.1 ; python_version >= '3'", "absent; python_version < '3'")),
                         {"with-extras": "1.0", "good": "1.0"})

    def test_what_comes_to_nothing(self):
        self.assertRegex(self.failed("absent; python_version < '3'", "good; python_version < '3'"), r"^none of the packages is for this host \(cpython-3")
        self.assertIn("only comments", self.failed(requirements="# good\n\n--pre\n"))

    def test_yanked_and_for_another_python(self):
        self.assertEqual(self.versions(self.ready("yanked", "old-python")), {"yanked": "1.0", "old-python": "1.0"})
        self.assertIn("only-old-python", self.failed("only-old-python"))

    def test_what_is_not_there(self):
        self.assertIn("No matching distribution found for absent", self.failed("absent"))
        self.assertIn("absent>=3", self.failed("wants-absent"))
        self.assertIn("good==7", self.failed("good==7"))

    def test_a_conflict_is_told_in_pips_words(self):
        error = self.failed("conflict-one", "conflict-two")
        self.assertIn("conflicting dependencies", error)
        self.assertIn("conflict-one 1.0 depends on good==1.0", error)
        self.assertTrue(error.startswith("ERROR: Cannot install"), error)

    def test_an_index_that_fails(self):
        self.steps.index.faults = {"/packages/good*": {"status": 503}}
        self.assertIn("503", self.failed("good==1.0"))
        self.steps.index.faults = {"/packages/*": {"status": 503, "times": 1}}
        self.ready("good==1.0")
        self.steps.index.faults = {"/simple/good/": {"body": "<html><a href='/packages/%zz'>x</a>\0"}}
        self.assertNotIn("Traceback", self.failed("good"))
        self.steps.index.faults = {"/packages/*": {"cut": 100}}
        self.assertIn("ERROR", self.failed("good==1.0"))
        self.assertIn("DO NOT MATCH THE HASHES", self.failed("wrong-hash"))

    def test_a_wheel_that_is_none(self):
        self.assertIn("broken_wheel", self.failed("broken-wheel").replace("-", "_"))


class Passwords(PipFetch):
    def test_of_an_index(self):
        self.steps.index.auth = "user:pass%word"
        host = self.steps.address.partition("//")[2]
        fetched = self.ready("good", index=f"http://user:pass%25word@{host}/simple/")
        self.assertNotIn("pass%", str(fetched))
        error = self.failed("good", index=f"http://user:wrong-one@{host}/simple/")
        self.assertNotIn("wrong-one", error)
        self.assertIn("good", error)

    def test_sources_too(self):
        self.steps.index.auth = "user:password"
        host = self.steps.address.partition("//")[2]
        self.steps.index.right_answer = self.with_auth(self.steps.index.right_answer)
        fetched = self.steps.fetch("honest", index=f"http://user:password@{host}/simple/")
        self.assertEqual(fetched.state, "source", fetched)
        self.assertNotIn("password", str(fetched))

    def with_auth(self, answer):
        """Files behind the password as well."""
        return lambda method, path, headers: self.steps.index.refused_by_auth(headers) or answer(method, path, headers)

    def test_extra_index(self):
        self.steps.index.faults = {"/simple/good/": {"status": 404}}
        error = self.failed("good", more="extra-index-url = http://user:very-secret@localhost:1/simple/\n")
        self.assertNotIn("very-secret", error)


if __name__ == "__main__":
    package_steps.main()
