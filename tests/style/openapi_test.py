"""api/openapi.yaml names exactly the routes that the server has, and is whole in itself. The table
of routes comes from the program (`glovebox-server routes`), or, where that is not built, from the
rows in src/api and src/dialects. Real answers are compared with the schemas in
tests/integration."""
import json
import re
import subprocess
import unittest

from repository import BIN, ROOT, route_rows, routes_below

CONTRACT = ROOT / "api" / "openapi.yaml"
PROGRAM = BIN / "glovebox-server"
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


def table_from_source():
    """Every row of a table of routes. The paths of a sandbox itself, which E2B's agent API has, are
    left out where the server has the same one."""
    ours = routes_below("api", "dialects/e2b/control", "dialects/mcp", "dialects/sessions_api",
                        "dialects/workspace")
    served = {(row["method"], row["path"]) for row in ours}
    inside = routes_below("dialects/e2b/envd", "dialects/e2b/interpreter")
    return ours + [row | {"access": "sandbox"} for row in inside
                   if (row["method"], row["path"]) not in served]


def table_from_program():
    said = subprocess.run([PROGRAM, "routes"], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=20, check=True)
    return json.loads(said.stdout)


def table():
    return table_from_program() if PROGRAM.is_file() else table_from_source()


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

    @unittest.skipUnless(PROGRAM.is_file(), "glovebox-server is not built")
    def test_the_rows_in_the_sources_are_those_of_the_program(self):
        def sorted_rows(rows):
            return sorted(rows, key=lambda row: (row["path"], row["method"]))
        self.assertEqual(sorted_rows(table_from_program()), sorted_rows(table_from_source()))

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
        rows = table_from_source()
        self.assertGreater(len(rows), 100)
        every = routes_below("api", "dialects")
        self.assertEqual({(row["method"], row["path"]) for row in every},
                         {(row["method"], row["path"]) for row in rows}, "a folder was left out")

    def test_rows_over_several_lines_and_with_constants(self):
        text = ('constexpr std::string_view kPath = "/b";\n'
                '{Method::kGet, "/a", routing::Access::kKey,\n &A::get, "One"},\n'
                '{http::Method::kPut, kPath,\n Access::kOpen, nullptr, "T" "wo", 0},\n')
        self.assertEqual([{"method": "GET", "path": "/a", "access": "key", "summary": "One"},
                          {"method": "PUT", "path": "/b", "access": "open", "summary": "Two"}],
                         route_rows(text))

    def test_a_row_that_cannot_be_read(self):
        with self.assertRaises(ValueError):
            route_rows('{Method::kGet, path_of("/a"), Access::kKey, &A::get, "One"},')


if __name__ == "__main__":
    unittest.main()
