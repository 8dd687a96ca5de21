"""api/openapi.yaml names exactly the routes that the server has, and is whole in itself. The table
of routes comes from the program (`glovebox-server routes`), or, where that is not built, from
src/api/routes.cc and the dialects. Real answers are compared with the schemas in
tests/integration."""
import json
import os
import re
import subprocess
import unittest
from pathlib import Path

from repository import ROOT, SRC

CONTRACT = ROOT / "api" / "openapi.yaml"
METHODS = {"get", "put", "post", "delete", "patch"}


def contract_routes(text):
    """{(METHOD, path): {"summary": ..., "keyless": bool}}. Reads the block form our contract has:
    two spaces to a level, one path or method to a line."""
    routes, path, method, inside = {}, None, None, False
    for line in text.splitlines():
        if re.match(r"\S", line):
            inside = line.startswith("paths:")
            continue
        if not inside:
            continue
        if match := re.match(r"  (/\S*):$", line):
            path, method = match[1], None
        elif match := re.match(r"    ([a-z]+):$", line):
            method = match[1]
            if method not in METHODS:
                raise ValueError(f"{path}: {method} is no method")
            routes[method.upper(), path] = {"summary": None, "keyless": False}
        elif method and (match := re.match(r"      summary: (.+)$", line)):
            routes[method.upper(), path]["summary"] = match[1]
        elif method and (match := re.match(r"      security: (.+)$", line)):
            routes[method.upper(), path]["keyless"] = match[1].startswith("[{}")
    return routes


def table_from_source(text):
    rows = re.findall(
        r'\{Method::k(\w+), "([^"]+)", Access::k(\w+),\s*(?:[\w:]+|nullptr),\s*"([^"]+)"', text)
    return [{"method": method.upper(), "path": path, "access": access.lower(), "summary": summary}
            for method, path, access, summary in rows]


def e2b_table_from_source():
    """The control plane's rows, and the paths of a sandbox itself that are not ours as well."""
    folder = SRC / "control" / "dialects" / "e2b"
    plane = re.findall(r'row\(Method::k(\w+), "([^"]+)", \w+,\s*"([^"]+)"',
                       (folder / "control_routes.cc").read_text())
    doors = (folder / "doors.cc").read_text()
    calls = re.findall(r'call\("(/[^"]+)",\s*\w+,\s*"([^"]+)"', doors)
    inside = [("POST", path, summary) for path, summary in calls]
    inside += [(row["method"], row["path"], row["summary"]) for row in table_from_source(doors)
               if row["path"] not in ("/health", "/metrics")]
    return ([{"method": method.upper(), "path": path, "access": "key", "summary": summary}
             for method, path, summary in plane] +
            [{"method": method, "path": path, "access": "sandbox", "summary": summary}
             for method, path, summary in inside])


def table():
    program = Path(os.environ.get("GBX_BIN_DIR", "")) / "glovebox-server"
    source = table_from_source((SRC / "control" / "routes.cc").read_text()) + e2b_table_from_source()
    for dialect in ("workspace", "sessions_api", "mcp"):
        source += table_from_source((SRC / "control" / "dialects" / dialect / "routes.cc").read_text())
    if not program.is_file():
        return source
    said = subprocess.run([program, "routes"], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=20, check=True)
    return json.loads(said.stdout)


def differences(contract, rows):
    wrong = []
    served = {(row["method"], row["path"]): row for row in rows}
    wrong += [f"{method} {path} is served and not in the contract"
              for method, path in served.keys() - contract.keys()]
    wrong += [f"{method} {path} is in the contract and not served"
              for method, path in contract.keys() - served.keys()]
    for key in served.keys() & contract.keys():
        if contract[key]["summary"] != served[key]["summary"]:
            wrong.append(f"{key}: two summaries")
        if contract[key]["keyless"] != (served[key]["access"] in ("open", "operator")):
            wrong.append(f"{key}: two opinions on keys")
    return sorted(wrong)


def dangling(text):
    """$refs to what is not there."""
    there, stack = set(), []
    for line in text.splitlines():
        match = re.match(r"( *)([\w$./{}-]+):", line)
        if not match:
            continue
        depth = len(match[1]) // 2
        stack = stack[:depth] + [match[2]]
        there.add("#/" + "/".join(stack))
    return sorted(set(re.findall(r"\$ref: '([^']+)'", text)) - there)


class Contract(unittest.TestCase):
    def setUp(self):
        self.text = CONTRACT.read_text()

    def test_it_names_the_routes_that_are_served(self):
        contract = contract_routes(self.text)
        self.assertGreater(len(contract), 10)
        self.assertEqual([], differences(contract, table()))

    def test_its_references_lead_somewhere(self):
        self.assertGreater(self.text.count("$ref"), 20)
        self.assertEqual([], dangling(self.text))

    def test_every_keyed_route_says_401(self):
        blocks = re.split(r"\n    (?=[a-z]+:\n      operationId)", self.text.split("components:")[0])
        for block in blocks[1:]:
            if "security: [{}]" not in block:
                self.assertIn("'401'", block, block.splitlines()[1])


class BadSamplesAreCaught(unittest.TestCase):
    ROWS = [{"method": "GET", "path": "/a", "access": "key", "summary": "A"}]

    def test_a_route_the_contract_does_not_have(self):
        self.assertEqual(1, len(differences({}, self.ROWS)))

    def test_a_route_the_server_does_not_have(self):
        self.assertEqual(1, len(differences(contract_routes(
            "paths:\n  /a:\n    get:\n      summary: A\n  /b:\n    get:\n"), self.ROWS)))

    def test_a_route_that_forgets_its_key(self):
        self.assertEqual(1, len(differences(contract_routes(
            "paths:\n  /a:\n    get:\n      summary: A\n      security: [{}]\n"), self.ROWS)))

    def test_a_dangling_reference(self):
        text = "components:\n  schemas:\n    A: { $ref: '#/components/schemas/B' }\n"
        self.assertEqual(["#/components/schemas/B"], dangling(text))

    def test_the_table_can_be_read_from_the_source(self):
        rows = table_from_source((SRC / "control" / "routes.cc").read_text())
        self.assertGreater(len(rows), 10)


if __name__ == "__main__":
    unittest.main()
