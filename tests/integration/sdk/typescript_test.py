# The TypeScript SDK: its types, its builds, its tests against a live server.
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
import sdk_tools

WHERE = os.path.join("sdk", "typescript")


class TypeScriptSdk(sdk_tools.Checks):
    def test_types(self):
        self.run_tool(WHERE, "npm", "run", "--silent", "typecheck")

    def test_tests(self):
        output = self.run_tool(WHERE, "npm", "run", "--silent", "test")
        counted = re.search(r"^[#ℹ] pass (\d+)$", output, re.M)
        self.assertIsNotNone(counted, output[-2000:])
        self.assertGreaterEqual(int(counted[1]), 170, "fewer tests than there were")


if __name__ == "__main__":
    sdk_tools.main("node")
