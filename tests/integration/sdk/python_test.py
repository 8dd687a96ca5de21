# The Python SDK: its types, its style, its tests against a live server.
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
import sdk_tools

SITE = os.path.join(sdk_tools.CLIENTS, "sdk-python", "site")
WHERE = os.path.join("sdk", "python")


class PythonSdk(sdk_tools.Checks):
    def run_python(self, *words):
        return self.run_tool(WHERE, "/usr/bin/python3", "-B", *words, env={"PYTHONPATH": SITE})

    def test_types(self):
        self.run_python("-m", "mypy", "--strict", "--cache-dir", os.devnull, "glovebox")

    def test_style(self):
        self.run_python("-m", "ruff", "check", "--no-cache", ".")

    def test_tests(self):
        output = self.run_python("-W", "ignore::DeprecationWarning", "-m", "pytest", "-p", "no:cacheprovider", "tests")
        passed = re.search(r"(\d+) passed", output)
        self.assertIsNotNone(passed, output[-2000:])
        self.assertGreaterEqual(int(passed[1]), 800, "fewer tests than there were")


if __name__ == "__main__":
    sdk_tools.main("python")
