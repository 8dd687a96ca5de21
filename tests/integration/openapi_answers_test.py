# api/openapi.yaml tells the truth: every route in it is asked, well and badly, and each real answer
# has a status, a type and a form that the contract names. The validator knows the part of JSON
# Schema that the contract uses, and refuses to guess about the rest.
import hashlib
import json
import os
import re
import subprocess
import sys
import unittest

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import image_archives
import mcp
import sealed
import server
from sealed import wait_until

CONTRACT = os.path.join(os.path.dirname(__file__), "..", "..", "api", "openapi.yaml")
TYPES = {"object": dict, "array": list, "string": str, "null": type(None)}
METHODS = {"get", "post", "put", "patch", "delete"}
# Words that say something to people, not about the value.
SILENT = {"description", "examples", "example", "default", "format", "contentEncoding"}
KNOWN = SILENT | {"$ref", "type", "enum", "const", "required", "properties", "additionalProperties", "items",
                  "allOf", "oneOf", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems",
                  "maxProperties"}


def is_of_type(value, name):
    if name == "boolean":
        return isinstance(value, bool)
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


class Contract:
    def __init__(self, text):
        self.document = yaml.safe_load(text)

    def resolve(self, node):
        while "$ref" in node:
            target = self.document
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            node = target
        return node

    def faults(self, value, schema, where="answer"):
        """What is wrong with a value, as text; nothing: it has the form."""
        schema = self.resolve(schema)
        unknown = set(schema) - KNOWN
        if unknown:
            raise AssertionError(f"the validator does not know {unknown}")
        found = []
        types = schema.get("type", [])
        types = [types] if isinstance(types, str) else types
        if types and not any(is_of_type(value, name) for name in types):
            return [f"{where}: {value!r:.80} is not {types}"]
        if "enum" in schema and value not in schema["enum"]:
            found.append(f"{where}: {value!r} is not one of {schema['enum']}")
        if "const" in schema and value != schema["const"]:
            found.append(f"{where}: {value!r} is not {schema['const']!r}")
        for part in schema.get("allOf", []):
            found += self.faults(value, part, where)
        if "oneOf" in schema:
            fitting = [part for part in schema["oneOf"] if not self.faults(value, part, where)]
            if len(fitting) != 1:
                found.append(f"{where}: fits {len(fitting)} of {len(schema['oneOf'])} forms")
        if isinstance(value, str):
            found += self.text_faults(value, schema, where)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if value < schema.get("minimum", value) or value > schema.get("maximum", value):
                found.append(f"{where}: {value} is out of bounds")
        if isinstance(value, list):
            if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
                found.append(f"{where}: has {len(value)} items")
            for number, item in enumerate(value):
                found += self.faults(item, schema.get("items", {}), f"{where}[{number}]")
        if isinstance(value, dict):
            found += self.object_faults(value, schema, where)
            if len(value) > schema.get("maxProperties", len(value)):
                found.append(f"{where}: has {len(value)} properties")
        return found

    def text_faults(self, value, schema, where):
        found = []
        if "pattern" in schema and not re.search(schema["pattern"], value):
            found.append(f"{where}: {value!r:.80} is not like {schema['pattern']}")
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            found.append(f"{where}: has {len(value)} characters")
        if schema.get("format") == "date-time" and not re.fullmatch(
                r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value):
            found.append(f"{where}: {value!r} is no time")
        return found

    def object_faults(self, value, schema, where):
        found = [f"{where}: has no {name}" for name in schema.get("required", []) if name not in value]
        properties = schema.get("properties", {})
        for name, item in value.items():
            more = schema.get("additionalProperties", True)
            if name in properties:
                found += self.faults(item, properties[name], f"{where}.{name}")
            elif more is False:
                found.append(f"{where}: has {name}, which is not in the contract")
            elif isinstance(more, dict):
                found += self.faults(item, more, f"{where}.{name}")
        return found

    def named_properties(self, schema):
        schema = self.resolve(schema)
        names = set(schema.get("properties", {}))
        for part in schema.get("allOf", []):
            names |= self.named_properties(part)
        return names

    def answer(self, method, path, status):
        operation = self.document["paths"][path][method.lower()]
        responses = operation["responses"]
        if str(status) not in responses:
            raise AssertionError(f"{method} {path}: {status} is not in the contract")
        return self.resolve(responses[str(status)])


class Validator(unittest.TestCase):
    """It must be able to say no."""

    def setUp(self):
        self.contract = Contract("components: {schemas: {A: {type: object, required: [a], "
                                 "additionalProperties: false, properties: {a: {type: [integer, 'null']}, "
                                 "b: {type: string, pattern: '^x$'}}}}}")

    def test_good_and_bad(self):
        schema = {"$ref": "#/components/schemas/A"}
        for good in ({"a": 1}, {"a": None, "b": "x"}):
            self.assertEqual(self.contract.faults(good, schema), [], good)
        for bad in ({}, {"a": "1"}, {"a": True}, {"a": 1.5}, {"a": 1, "b": "y"}, {"a": 1, "c": 1}, [], None):
            self.assertNotEqual(self.contract.faults(bad, schema), [], bad)
        with self.assertRaises(AssertionError):
            self.contract.faults(1, {"exclusiveMinimum": 0})

    def test_exponents(self):
        self.assertEqual(numbers_with_exponent('{"a": [3E2, 1.5e0, 300.0, 7, 1e+30, "4E2", -2E-1]}'), ["3E2", "1.5e0", "-2E-1"])

    def test_combinations(self):
        either = {"oneOf": [{"type": "string"}, {"type": "null"}]}
        self.assertEqual(self.contract.faults(None, either), [])
        self.assertNotEqual(self.contract.faults(1, either), [])
        both = {"allOf": [{"required": ["a"]}, {"required": ["b"]}]}
        self.assertEqual(self.contract.faults({"a": 1, "b": 1}, both), [])
        self.assertNotEqual(self.contract.faults({"a": 1}, both), [])
        self.assertNotEqual(self.contract.faults([1, "a"], {"items": {"type": "integer"}}), [])


def numbers_with_exponent(text):
    """Numbers of a JSON text that are written like 3E2 although people would write 300."""
    found = []

    def look(digits):
        if "e" in digits.lower() and 1e-6 <= abs(float(digits)) < 1e21:
            found.append(digits)
        return float(digits)

    json.loads(text, parse_float=look)
    return found


class Answers(server.Served):
    settings = {"workspace.allow_network": "false"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(CONTRACT) as file:
            cls.text = file.read()
        cls.contract = Contract(cls.text)
        cls.asked = set()

    def check(self, method, path, status, body=None, headers=None, client=None, at=None):
        """Asks, and holds the answer against the contract."""
        client = client or self.client
        answer = client.call(method, at or path, body, headers)
        self.assertEqual(answer.status, status, (path, answer))
        form = self.contract.answer(method, path, status)
        self.asked.add((method, path, status))
        for name in form.get("headers", {}):
            self.assertIn(name, answer.headers, (path, answer))
        if "content" not in form:
            self.assertEqual(answer.body, b"", path)
            return answer
        kind = answer.headers.get_content_type()
        self.assertIn(kind, form["content"], path)
        schema = form["content"][kind].get("schema", {})
        if kind == "application/json":
            self.assertEqual(numbers_with_exponent(answer.body), [], (path, answer))
            self.assert_form(answer.json, schema, f"{method} {path} {status}")
        return answer

    def assert_form(self, value, schema, where):
        self.assertEqual(self.contract.faults(value, schema, where), [])
        # What we answer and do not describe is missing from the contract.
        if isinstance(value, dict) and self.contract.named_properties(schema):
            self.assertEqual(set(value) - self.contract.named_properties(schema), set(), where)

    # --- in the order of the contract -----------------------------------------------------------

    def test_run(self):
        for body in ({"language": "python", "code": "print(1)\n{'a': 1}"},
                     {"language": "python", "code": "1/0"},
                     {"language": "python", "code": "while True: pass", "profile": {"timeout_ms": 300}},
                     {"language": "javascript", "code": "({a: 1})"},
                     {"command": ["/bin/sh", "-c", "printf '\\377'; kill -9 $$"]},
                     {"language": "python", "code": "[300.0, 0.5, 1e30, 2**70]", "engine": "jail"},
                     {"command": ["/bin/dd", *sealed.EAT_MEMORY], "profile": {"memory_mb": 64}},
                     {"command": "echo a > f; printf '\\377' > g", "return_files": ["f", "g", "nope"]}):
            self.assert_form(body, {"$ref": "#/components/schemas/RunRequest"}, "request")
            self.check("POST", "/v1/run", 200, body=body)
        self.check("POST", "/v1/run", 400, body={"language": "python"})
        self.check("POST", "/v1/run", 401, body={}, headers={"X-API-Key": "nope"})
        self.check("POST", "/v1/run", 403, body={"command": "true", "profile": {
            "mounts": [{"name": "nope", "path": "/a"}]}})
        self.check("POST", "/v1/run", 403, body={"command": "true", "engine": "process"})
        self.check("POST", "/v1/run", 404, body={"template": "nope", "code": "1"})
        self.check("POST", "/v1/run", 413, body={"command": "cat", "stdin": "x" * (33 << 20)})
        self.check("POST", "/v1/run", 400, body={"command": "cat"}, headers={"Idempotency-Key": "a b"})
        self.check("POST", "/v1/run", 200, body={"command": "true"}, headers={"Idempotency-Key": "n"})
        self.check("POST", "/v1/run", 200, body={"command": "true"}, headers={"Idempotency-Key": "n"})
        self.check("POST", "/v1/run", 422, body={"command": "false"}, headers={"Idempotency-Key": "n"})
        content, route = b"bytes of a bundle", "/v1/bundles/{digest}"
        digest = hashlib.sha256(content).hexdigest()
        named = {"command": "cat .glovebox-bundle", "bundle": digest}
        self.check("POST", "/v1/run", 404, body=named)
        self.check("PUT", route, 204, body=content, at=f"/v1/bundles/{digest}")
        self.assertEqual(self.check("POST", "/v1/run", 200, body=named).json["stdout"], content.decode())
        self.check("PUT", route, 400, body=b"other bytes", at=f"/v1/bundles/{digest}")
        self.check("PUT", route, 401, body=content, at=f"/v1/bundles/{digest}", headers={"X-API-Key": "nope"})
        self.check("PUT", route, 413, body=bytes((16 << 20) + 1), at=f"/v1/bundles/{digest}")
        secret, _ = self.server.new_key(limits={"runs_per_minute": 1})
        limited = self.server.client(secret)
        self.check("POST", "/v1/run", 200, body={"command": "true"}, client=limited)
        self.check("POST", "/v1/run", 429, body={"command": "true"}, client=limited)

    def test_batch(self):
        path = "/v1/run/batch"
        body = {"language": "python", "code": "import sys; 1 / len(sys.argv[1])", "parallel": 2,
                "inputs": [{"args": ["a"]}, {"args": [""], "stdin": "x"}, {"stdin_base64": "eA=="}]}
        self.assert_form(body, {"$ref": "#/components/schemas/BatchRequest"}, "request")
        lines = self.check("POST", path, 200, body=body).text.splitlines()
        self.assertEqual(len(lines), 3)
        for line in map(json.loads, lines):
            self.assertEqual(self.contract.faults(line, {"$ref": "#/components/schemas/BatchLine"}), [])
            self.assert_form({name: line[name] for name in set(line) - {"index", "status"}},
                             {"$ref": "#/components/schemas/RunAnswer"}, "line")
        self.check("POST", path, 400, body={**body, "inputs": []})
        self.check("POST", path, 401, body=body, headers={"X-API-Key": "nope"})
        self.check("POST", path, 403, body={**body, "engine": "process"})
        self.check("POST", path, 404, body={"template": "nope", "code": "1", "inputs": [{}]})
        self.check("POST", path, 413, body={**body, "code": "x" * (33 << 20)})

    def test_functions(self):
        path = "/v1/functions/invoke"
        for body in ({"language": "python", "code": "def handler(e, c):\n print(1)\n return [e, c.stage]", "event": {"a": 1}, "context": {"stage": "x"}},
                     {"language": "python", "code": "def handler(e, c): 1/0", "handler": "app.handler", "file_name": "a.py"},
                     {"language": "python", "code": "while True: pass", "timeout_ms": 300},
                     {"language": "python", "code": "import os\ndef handler(e, c): os.write(1, b'\\377'); os._exit(1)"},
                     {"runtime": "nodejs20.x", "code": "exports.handler = async () => { throw new Error('x') }"}):
            self.assert_form(body, {"$ref": "#/components/schemas/FunctionRequest"}, "request")
            self.check("POST", path, 200, body=body)
        echo = {"language": "python", "code": "def handler(e, c): return e"}
        self.check("POST", path, 400, body={"language": "python"})
        self.check("POST", path, 401, body=echo, headers={"X-API-Key": "nope"})
        self.check("POST", path, 403, body={**echo, "profile": {"mounts": [{"name": "nope", "path": "/a"}]}})
        self.check("POST", path, 404, body={"template": "nope", "code": "1"})
        self.check("POST", path, 413, body={**echo, "event": "x" * (33 << 20)})
        self.check("POST", path, 200, body=echo, headers={"Idempotency-Key": "function"})
        self.check("POST", path, 422, body={**echo, "event": 1}, headers={"Idempotency-Key": "function"})

    def test_examples_are_requests(self):
        for path, operations in self.contract.document["paths"].items():
            for method, operation in operations.items():
                if method not in METHODS:
                    continue  # what all of a path's methods share
                content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
                for name, example in content.get("examples", {}).items():
                    self.assert_form(example["value"], content["schema"], f"example {name}")
                    if "{" in path or path in ("/v1/sandboxes", "/v1/images/pull"):
                        continue  # test_sandboxes asks with an id; there is no registry here
                    self.check(method.upper(), path, 201 if path == "/v1/keys" else 200, body=example["value"])

    def test_run_events(self):
        schema = self.contract.resolve({"$ref": "#/components/schemas/RunEvent"})
        exit_schema = {"$ref": "#/components/schemas/RunExit"}
        code = "import sys\nprint(1)\nprint(2, file=sys.stderr)\nsys.stdout.buffer.write(b'\\xff')\n3"
        for text in (code, code + "\n1/0"):
            answer = self.client.post_run(language="python", code=text, headers={"Accept": "application/x-ndjson"})
            self.assertEqual(answer.headers.get_content_type(), "application/x-ndjson")
            for line in map(json.loads, answer.text.splitlines()):
                self.assertEqual(self.contract.faults(line, schema), [])
                if line["event"] == "exit":
                    self.assert_form({name: value for name, value in line.items() if name != "event"}, exit_schema, "exit")
                elif line["event"] == "error":
                    said = {name: value for name, value in line.items() if name != "event"}
                    self.assert_form(said, {"$ref": "#/components/schemas/RunError"}, "error")
                else:
                    self.assertEqual(set(line) - set(schema["properties"]), set(), line)
        streamed = self.client.post_run(language="python", code="1", headers={"Accept": "text/event-stream"})
        self.assertEqual(streamed.headers.get_content_type(), "text/event-stream")

    def test_runs(self):
        run = self.client.python("print(1)\n2")["id"]
        failed = self.client.python("1/0")["id"]
        self.assertTrue(wait_until(lambda: self.client.get("/v1/runs/" + failed).status == 200))
        page = self.check("GET", "/v1/runs", 200, at="/v1/runs?limit=1").json
        self.assertTrue(page["next_cursor"])
        for one in page["runs"]:
            self.assert_form(one, {"$ref": "#/components/schemas/RunSummary"}, "run")
        self.check("GET", "/v1/runs", 400, at="/v1/runs?limit=1000")
        self.check("GET", "/v1/runs", 401, headers={"X-API-Key": "nope"})
        secret, _ = self.server.new_key(project="reader")
        self.check("GET", "/v1/runs", 403, at="/v1/runs?project=default", client=self.server.client(secret))
        for one in (run, failed):
            self.check("GET", "/v1/runs/{id}", 200, at="/v1/runs/" + one)
        self.check("GET", "/v1/runs/{id}", 404, at="/v1/runs/rn00000000000000000000")
        self.check("GET", "/v1/runs/{id}", 404, at="/v1/runs/not-an-id")
        self.check("GET", "/v1/runs/{id}", 401, at="/v1/runs/" + run, headers={"X-API-Key": "nope"})
        self.check("GET", "/v1/runs/{id}", 403, at=f"/v1/runs/{run}?project=default", client=self.server.client(secret))

    def test_templates(self):
        listed = self.check("GET", "/v1/templates", 200).json["templates"]
        self.assertLessEqual({"base", "python", "python-data", "node"}, {one["name"] for one in listed})
        for one in listed:
            self.assert_form(one, {"$ref": "#/components/schemas/Template"}, "template")
        self.check("GET", "/v1/templates/{name}", 200, at="/v1/templates/python")
        self.check("GET", "/v1/templates/{name}", 404, at="/v1/templates/nope")
        made = self.check("POST", "/v1/templates", 201, body={
            "name": "mine", "from": "python", "env": {"A": "b"}, "preload": ["json.tool"], "profile": {"pids": 50},
            "pool": {"min": 1, "max": 2}, "session_pool": {"min": 1}})
        self.assertEqual(made.json["from"], "python")
        self.check("GET", "/v1/templates/{name}", 200, at="/v1/templates/mine")
        self.check("POST", "/v1/templates", 409, body={"name": "mine", "from": "python"})
        self.check("POST", "/v1/templates", 403, body={"name": "other", "from": "python", "pool": {"min": 99}})
        self.check("POST", "/v1/templates", 404, body={"name": "other", "from": "nope"})
        self.check("POST", "/v1/templates", 400, body={"name": "Other", "from": "python"})
        self.check("POST", "/v1/templates", 401, body={}, headers={"X-API-Key": "nope"})
        self.check("DELETE", "/v1/templates/{name}", 204, at="/v1/templates/mine")
        self.check("DELETE", "/v1/templates/{name}", 404, at="/v1/templates/mine")
        self.check("DELETE", "/v1/templates/{name}", 403, at="/v1/templates/python")
        self.check("GET", "/v1/templates", 401, headers={"X-API-Key": "nope"})
        self.check("GET", "/v1/templates/{name}", 401, at="/v1/templates/python", headers={"X-API-Key": "nope"})

    def test_layers(self):
        # Their answers with something in them are dependencies_layers_test's.
        self.check("GET", "/v1/layers", 200)
        none = "0" * 32
        for method, path, at in (("GET", "/v1/layers/{id}", none), ("DELETE", "/v1/layers/{id}", none),
                                 ("POST", "/v1/layers/{id}/check", none + "/check")):
            self.check(method, path, 404, at="/v1/layers/" + at)
            self.check(method, path, 401, at="/v1/layers/" + at, headers={"X-API-Key": "nope"})
        self.check("POST", "/v1/layers", 400, body={"dependencies": ["-r x"]})
        self.check("POST", "/v1/layers", 401, body={}, headers={"X-API-Key": "nope"})
        self.check("POST", "/v1/layers/prune", 200, body={"dry_run": True})
        self.check("POST", "/v1/layers/prune", 401, body={}, headers={"X-API-Key": "nope"})
        self.check("GET", "/v1/layers", 401, headers={"X-API-Key": "nope"})

    def test_images(self):
        archive = image_archives.docker_archive([image_archives.Layer().file("f", "x").bytes()], names=["contract:1"])
        made = self.check("POST", "/v1/images", 201, body=archive).json
        self.addCleanup(self.client.call, "DELETE", f"/v1/images/{made['id']}")
        self.check("GET", "/v1/images", 200)
        at = "/v1/images/" + made["id"]
        self.check("GET", "/v1/images/{id}", 200, at=at)
        self.check("PATCH", "/v1/images/{id}", 200, body={"pinned": True, "public": False}, at=at)
        self.check("PATCH", "/v1/images/{id}", 400, body={"nonsense": 1}, at=at)
        self.check("POST", "/v1/images/pull", 403, body={"name": "registry.invalid/x"})
        self.check("POST", "/v1/images/pull", 400, body={"name": "X"})
        self.check("POST", "/v1/images/pull", 401, body={"name": "x"}, headers={"X-API-Key": "nope"})
        self.check("POST", "/v1/images/prune", 200, body={"dry_run": True})
        self.check("POST", "/v1/images/prune", 400, body={"nonsense": 1})
        self.check("POST", "/v1/images", 400, body=archive, at="/v1/images?format=nonsense")
        self.check("POST", "/v1/images", 422, body=b"no archive" * 100)
        self.check("DELETE", "/v1/images/{id}", 204, at=at)
        for method in ("GET", "DELETE"):
            self.check(method, "/v1/images/{id}", 404, at=at)
            self.check(method, "/v1/images/{id}", 401, at=at, headers={"X-API-Key": "nope"})
        self.check("PATCH", "/v1/images/{id}", 404, body={"pinned": True}, at=at)
        self.check("GET", "/v1/images", 401, headers={"X-API-Key": "nope"})

    def test_keys(self):
        for body in ({}, {"project": "p", "name": "n", "role": "user", "limits": {"max_in_flight": 1}}):
            self.assert_form(body, {"$ref": "#/components/schemas/NewKey"}, "request")
            made = self.check("POST", "/v1/keys", 201, body=body).json
        for row in self.check("GET", "/v1/keys", 200).json["keys"]:
            self.assert_form(row, {"$ref": "#/components/schemas/Key"}, "key")
        user = self.server.client(made["key"])
        self.check("POST", "/v1/keys", 400, body={"role": "king"})
        self.check("POST", "/v1/keys", 401, body={}, headers={"X-API-Key": "nope"})
        self.check("POST", "/v1/keys", 403, body={}, client=user)
        self.check("GET", "/v1/keys", 403, client=user)
        self.check("GET", "/v1/keys", 401, headers={"X-API-Key": "nope"})
        path = "/v1/keys/" + made["id"]
        self.check("DELETE", "/v1/keys/{id}", 403, at=path, client=user)
        self.check("DELETE", "/v1/keys/{id}", 401, at=path, headers={"X-API-Key": "nope"})
        self.check("DELETE", "/v1/keys/{id}", 404, at="/v1/keys/ky00000000000000000000")
        self.check("DELETE", "/v1/keys/{id}", 204, at=path)

    def test_operations(self):
        user = self.server.client(self.server.new_key()[0])
        self.check("POST", "/v1/gc", 200)
        self.check("POST", "/v1/gc", 403, client=user)
        self.check("POST", "/v1/gc", 401, headers={"X-API-Key": "nope"})
        for path in ("/metrics", "/health", "/health/ready", "/docs", "/docs/page.css", "/docs/page.js", "/"):
            self.check("GET", path, 200)
        self.assertEqual(self.check("GET", "/openapi.json", 200).json, self.contract.document)
        engines = {one["name"]: one for one in self.check("GET", "/v1/engines", 200).json["engines"]}
        for one in engines.values():
            self.assert_form(one, {"$ref": "#/components/schemas/Engine"}, "engine")
        self.client.run(command="true")
        engines = {one["name"]: one for one in self.check("GET", "/v1/engines", 200).json["engines"]}
        self.assertEqual((engines["jail"]["usable"], engines["jail"]["reason"]), (True, None))
        self.assertIn(engines["jail"]["run"]["grade"], ("jail", "jail-partial"))
        self.assertFalse(engines["process"]["usable"])
        self.check("GET", "/v1/engines", 401, headers={"X-API-Key": "nope"})
        self.assertTrue(self.check("GET", "/openapi.yaml", 200).text == self.text, "another text is served")
        self.check("GET", "/v1/events", 401, headers={"X-API-Key": "nope"})
        self.check("GET", "/v1/events", 403, at="/v1/events?project=other", client=user)
        with server.Client(self.server.url, self.server.key) as listener:
            stream = listener.send("GET", "/v1/events")
            self.assertEqual((stream.status, stream.headers.get_content_type()), (200, "text/event-stream"))
            self.asked.add(("GET", "/v1/events", 200))
            stream.close()

    def test_sandboxes(self):
        made = self.check("POST", "/v1/sandboxes", 201, body={"template": "python", "metadata": {"a": "b"}}).json
        self.addCleanup(self.client.call, "DELETE", "/v1/sandboxes/" + made["id"])
        base = "/v1/sandboxes/{id}"

        def check(method, rest, status, body=None, query="", **names):
            real = base + rest
            for name, value in {"id": made["id"], **names}.items():
                real = real.replace("{" + name + "}", str(value))
            return self.check(method, base + rest, status, body=body, at=real + query)

        self.check("POST", "/v1/sandboxes", 400, body={"nonsense": 1})
        self.check("GET", "/v1/sandboxes", 200)
        check("GET", "", 200)
        check("PATCH", "", 200, {"ttl_s": 600})
        check("POST", "/keepalive", 200, {})
        check("GET", "/metrics", 200)
        check("POST", "/exec", 200, {"cmd": "echo hello"})
        check("POST", "/exec", 400, {"cmd": "true", "argv": ["true"]})
        number = check("POST", "/exec", 202, {"cmd": "cat", "background": True}).json["process"]
        check("GET", "/exec/stream", 426)
        check("GET", "/processes", 200)
        check("GET", "/processes/{process}", 200, process=number)
        check("GET", "/processes/{process}", 404, process=999999)
        check("POST", "/processes/{process}/stdin", 204, {"data": "x\n"}, process=number)
        check("POST", "/processes/{process}/signal", 204, {"signal": "TERM"}, process=number)
        check("GET", "/processes/{process}/wait", 200, process=number)
        check("DELETE", "/processes/{process}", 204, process=number)
        context = check("POST", "/contexts", 201, {"language": "python"}).json["id"]
        check("GET", "/contexts", 200)
        check("GET", "/contexts/{context}", 200, context=context)
        check("POST", "/contexts/{context}/interrupt", 204, context=context)
        check("POST", "/code", 200, {"code": "1 + 1", "context": context})
        check("DELETE", "/contexts/{context}", 204, context=context)
        check("PUT", "/files", 200, "content", query="?path=/tmp/file")
        check("GET", "/files", 200, query="?path=/tmp/file")
        self.check("PUT", base + "/files", 412, body="other", headers={"If-None-Match": "*"},
                   at=f"/v1/sandboxes/{made['id']}/files?path=/tmp/file")
        check("POST", "/port-links", 201, {"port": 8000})
        check("POST", "/port-links", 400, {"port": 0})
        self.check("GET", "/v1/sandboxes", 200, at="/v1/sandboxes?sort=-name&stats=1&q=py&project=*")
        self.check("GET", "/v1/sandboxes", 400, at="/v1/sandboxes?sort=colour")
        check("GET", "/files", 404, query="?path=/tmp/none")
        check("GET", "/files/stat", 200, query="?path=/tmp/file")
        check("GET", "/files/exists", 200, query="?path=/tmp/file")
        check("GET", "/files/list", 200, query="?path=/tmp")
        check("POST", "/files/mkdir", 200, {"path": "/tmp/made"})
        check("POST", "/files/copy", 200, {"from": "/tmp/file", "to": "/tmp/made/copy"})
        check("POST", "/files/move", 200, {"from": "/tmp/made/copy", "to": "/tmp/moved"})
        archive = check("GET", "/files/tar", 200, query="?path=/tmp/made").body
        check("PUT", "/files/tar", 200, archive, query="?path=/tmp/again")
        check("DELETE", "/files", 204, query="?path=/tmp/moved")
        with server.Client(self.server.url, self.server.key) as watcher:
            stream = watcher.send("GET", f"/v1/sandboxes/{made['id']}/files/watch?path=/tmp")
            self.assertEqual((stream.status, stream.headers.get_content_type()), (200, "text/event-stream"))
            self.asked.add(("GET", base + "/files/watch", 200))
            stream.close()
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            check(method, "/ports/{port}/{path*}", 502, port=1, **{"path*": "x"})
            self.check(method, "/ports/{id}/{port}/{pass}/{path*}", 404, at=f"/ports/{made['id']}/1/none/x")
        self.check("GET", "/ports/{id}/{port}/open", 404, at=f"/ports/{made['id']}/1/open?link=none")
        for net in ("https-only", {"base": "all", "deny": ["evil.example"], "budgets": {"names": 3}}, {"allow": ["pypi.org:443"]}):
            self.assert_form(net, {"$ref": "#/components/schemas/NetPolicy"}, "request")
            check("PATCH", "", 200, {"net": net})
        check("PATCH", "", 400, {"net": {"allow": ["a b"]}})
        check("PATCH", "", 403, {"net": {"allow": ["10.0.0.1"]}})
        # Denied by its name, so that no packet leaves.
        check("POST", "/exec", 200, {"cmd": "getent hosts evil.example; true"})
        decisions = check("GET", "/network", 200).json["decisions"]
        self.assertEqual([one["name"] for one in decisions], ["evil.example"] * len(decisions))
        self.assertTrue(decisions)
        snapshot = check("POST", "/snapshots", 201, {"name": "one"}).json["id"]
        self.check("GET", "/v1/snapshots", 200)
        self.check("GET", "/v1/snapshots/{id}", 200, at="/v1/snapshots/" + snapshot)
        self.check("DELETE", "/v1/snapshots/{id}", 204, at="/v1/snapshots/" + snapshot)
        self.check("GET", "/v1/snapshots/{id}", 404, at="/v1/snapshots/" + snapshot)
        check("GET", "/logs", 200)
        check("POST", "/pause", 200)
        check("POST", "/exec", 409, {"cmd": "true"})
        check("POST", "/resume", 200)
        check("DELETE", "", 204)
        check("DELETE", "", 409)

    def test_e2b(self):
        """Its control plane; what is inside a sandbox is tests/integration/e2b's."""
        check = self.check
        for create, status in (("/v2/sandboxes", 201), ("/sandboxes", 201)):
            made = check("POST", create, status, {"templateID": "base", "timeout": 60, "metadata": {"a": "b"}}).json
            check("GET", create, 200)
            check("GET", create, 400, at=create + "?limit=x")
            check("POST", create, 400, {"timeout": 0})
            check("POST", create, 401, {}, headers={"X-API-Key": "nope"})
            check("POST", create, 404, {"templateID": "nope"})
        base, newer = "/sandboxes/{id}", "/v2/sandboxes/{id}"
        ids = {"id": made["sandboxID"]}

        def inside(method, path, status, body=None, query=""):
            return check(method, path, status, body, at=path.format(**ids) + query)

        inside("GET", base, 200)
        inside("POST", base + "/timeout", 204, {"timeout": 60})
        inside("POST", base + "/timeout", 400, {})
        inside("POST", base + "/refreshes", 204, {"duration": 60})
        inside("GET", base + "/metrics", 200)
        inside("GET", base + "/logs", 200)
        inside("GET", newer + "/logs", 200, query="?direction=backward&limit=1")
        check("GET", "/sandboxes/metrics", 200, at="/sandboxes/metrics?sandbox_ids=" + ids["id"])
        inside("PUT", base + "/network", 204, {"denyOut": ["0.0.0.0/0"]})
        inside("PUT", base + "/network", 204, {"allowOut": ["1.1.1.1"], "denyOut": ["0.0.0.0/0"]})
        inside("PUT", base + "/network", 400, {"allowOut": ["127.1"]})
        snapshot = inside("POST", base + "/snapshots", 201, {"name": "kept"}).json["snapshotID"]
        check("GET", "/snapshots", 200, at="/snapshots?name=kept")
        forks = inside("POST", base + "/fork", 201, {"count": 1, "timeout": 30}).json
        check("DELETE", base, 204, at="/sandboxes/" + forks[0]["sandbox"]["sandboxID"])
        check("GET", "/templates", 200)
        check("GET", "/v2/templates", 200)
        check("GET", "/templates/aliases/{alias}", 200, at="/templates/aliases/base")
        check("GET", "/templates/aliases/{alias}", 404, at="/templates/aliases/nope")
        check("DELETE", "/templates/{id}", 403, at="/templates/base")
        check("DELETE", "/templates/{id}", 204, at="/templates/" + snapshot.replace(":", "%3A"))
        check("DELETE", "/templates/{id}", 404, at="/templates/" + snapshot.replace(":", "%3A"))
        inside("POST", base + "/connect", 200, {"timeout": 30})
        inside("POST", base + "/resume", 409, {})
        inside("POST", base + "/pause", 204, {})
        inside("POST", base + "/pause", 409, {})
        inside("GET", base, 200)
        inside("POST", newer + "/connect", 201, {})
        inside("DELETE", base, 204)
        inside("DELETE", base, 404)
        for method, path in (("POST", "/v3/templates"), ("POST", "/templates/tags"), ("DELETE", "/templates/tags"), ("POST", "/volumes"),
                             ("GET", "/volumes"), ("POST", "/secrets"), ("GET", "/secrets"), ("GET", "/teams")):
            check(method, path, 501, {} if method == "POST" else None)
        for method, path in (("GET", "/volumes/{id}"), ("DELETE", "/volumes/{id}"), ("GET", "/secrets/{id}"),
                             ("DELETE", "/secrets/{id}"), ("GET", "/templates/{id}"), ("PATCH", "/templates/{id}"),
                             ("PATCH", "/v2/templates/{id}"), ("POST", "/v2/templates/{id}/builds/{build}")):
            check(method, path, 501, at=path.format(id="x", build="y"))
        check("GET", "/templates/{id}/{path*}", 501, at="/templates/base/builds/x/status")

    def test_workspace(self):
        base = "/workspace/se"

        def check(method, what, status, body=None, rest="", at="", session="s%2F1", **more):
            path = f"{base}/{what}/{{session_id}}" + rest
            real = f"{base}/{what}/{session}" + (at or rest)
            return self.check(method, path, status, body=body, at=real, **more)

        for fields in ({}, {"cpu_quota": 1, "memory_limit": 131072, "size": "50M", "timeout": 60}):
            self.assert_form(fields, {"$ref": "#/components/schemas/WorkspaceNew"}, "request")
        check("POST", "session", 201, fields)
        self.addCleanup(self.client.call, "DELETE", base + "/session/s%2F1")
        check("POST", "session", 200)
        check("POST", "session", 400, {"nonsense": 1})
        check("POST", "session", 404, {"template": "nope"}, session="other")
        check("POST", "session", 409, {"template": "base"})
        check("POST", "session", 403, {"allow_network": True})
        check("GET", "status", 200)
        check("GET", "status", 404, session="nope")
        for code in ({"code": "print(1); 2"}, {"code": "1/0"}, {"code": "x = 1", "output_params": ["x"]},
                     {"code": "while True: pass", "timeout": 0.2}, {"code": "echo 1", "script_type": "shell"}):
            self.assert_form(code, {"$ref": "#/components/schemas/WorkspaceCode"}, "request")
            check("POST", "execute_code", 200, code)
        check("POST", "execute_code", 400, {})
        check("POST", "execute_code", 404, {"code": "1"}, session="nope")
        check("POST", "execute", 200, {"command": "echo 1"})
        check("POST", "execute", 400, {"command": "/no/such", "args": ["x"]})
        form = ('--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nhello\r\n--b--\r\n')
        check("POST", "upload", 200, form, headers={"Content-Type": "multipart/form-data; boundary=b"})
        check("POST", "upload", 400, form, headers={"Content-Type": "text/plain"})
        check("GET", "download", 200, rest="/{filename*}", at="/f")
        check("GET", "download", 206, rest="/{filename*}", at="/f", headers={"Range": "bytes=1-2"})
        check("GET", "download", 400, rest="/{filename*}", at="/..%2Fx")
        check("GET", "download", 404, rest="/{filename*}", at="/none")
        check("GET", "download", 416, rest="/{filename*}", at="/f", headers={"Range": "bytes=9-"})
        check("GET", "files", 200)
        check("GET", "files", 400, at="?path=..")
        for method, what in (("POST", "session"), ("DELETE", "session"), ("GET", "files"), ("POST", "upload")):
            check(method, what, 401, headers={"X-API-Key": "nope"})
        check("DELETE", "session", 200)
        check("DELETE", "session", 404)

    def test_mcp(self):
        common = {"Content-Type": "application/json", "Accept": mcp.BOTH}

        def check(method, status, message=None, **headers):
            if message is not None and status == 200:
                self.assert_form(message, {"$ref": "#/components/schemas/JsonRpcMessage"}, "request")
            return self.check(method, "/mcp", status, message, headers={**common, **headers})

        begun = check("POST", 200, mcp.initialize())
        session = {"Mcp-Session-Id": begun.headers["Mcp-Session-Id"]}
        self.addCleanup(self.client.call, "DELETE", "/mcp", None, session)
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "run_command", "arguments": {"command": "true"}}}
        check("POST", 200, call, **session)
        check("POST", 200, call, **{**session, "Accept": "text/event-stream"})
        check("POST", 200, {"jsonrpc": "2.0", "id": 1, "method": "nope"}, **session)
        check("POST", 202, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)
        check("POST", 400, "{", **session)
        check("POST", 400, call)
        check("POST", 401, call, **{"X-API-Key": "nope"})
        check("POST", 404, call, **{"Mcp-Session-Id": "mc" + "a" * 32})
        check("POST", 406, call, Accept="text/html")
        check("POST", 415, call, **{"Content-Type": "text/plain"})
        check("GET", 405, **session)
        check("GET", 401, **{"X-API-Key": "nope"})
        check("DELETE", 400)
        check("DELETE", 401, **{"X-API-Key": "nope"})
        check("DELETE", 204, **session)
        check("DELETE", 404, **session)

    def test_sessions_api(self):
        base = "/api/v1/sessions"
        fields = {"mode": "persistent", "agent_id": "a", "resources": {"cpu": "1", "memory": "256Mi", "disk_mb": 64}}
        self.assert_form(fields, {"$ref": "#/components/schemas/ApiNewSession"}, "request")
        made = self.check("POST", base, 201, body=fields).json["id"]
        self.addCleanup(self.client.call, "DELETE", f"{base}/{made}")
        self.check("POST", base, 200, body=fields)
        self.check("POST", base, 400, body={"mode": "eternal"})
        self.check("POST", base, 404, body={"template": "nope"})
        self.check("POST", base, 401, body={}, headers={"X-API-Key": "nope"})

        def check(method, rest, status, body=None, query="", session=made, **more):
            return self.check(method, base + "/{id}" + rest, status, body=body, at=f"{base}/{session}{rest}{query}", **more)

        check("GET", "", 200)
        check("GET", "/status", 200)
        check("GET", "/result", 404)
        self.check("GET", "/api/v1/containers", 200)
        self.check("GET", "/api/v1/containers", 400, at="/api/v1/containers?limit=0")
        self.check("GET", "/api/v1/containers/{id}", 200, at="/api/v1/containers/" + made)
        self.check("GET", "/api/v1/containers/{id}", 404, at="/api/v1/containers/nope")
        self.check("GET", "/api/v1/containers/{id}/logs", 200, at=f"/api/v1/containers/{made}/logs")
        self.check("GET", "/api/v1/templates", 200)
        self.check("POST", "/api/v1/templates", 201, body={"name": "handlers", "from": "python"})
        self.check("POST", "/api/v1/templates", 409, body={"name": "handlers", "from": "python"})
        self.check("POST", "/api/v1/templates", 400, body={"name": "handlers"})
        self.check("DELETE", "/v1/templates/{name}", 204, at="/v1/templates/handlers")
        wait = {"code": "import os, time\ndef handler(e, c):\n    while not os.path.exists('/tmp/go'): time.sleep(0.01)\n    return e",
                "event": {"__timeout": 60}}
        self.assert_form(wait, {"$ref": "#/components/schemas/ApiExecute"}, "request")
        first = check("POST", "/execute", 202, wait).json["execution_id"]
        check("GET", "/result", 202)
        check("GET", "/status", 200)
        self.client.call("PUT", f"/v1/sandboxes/{made}/files?path=/tmp/go", b"")
        for code in ("def handler(e): return 1", "def handler(e): 1/0"):
            execution = check("POST", "/execute", 202, {"code": code}).json["execution_id"]
            self.assertTrue(wait_until(lambda: self.client.get(f"{base}/{made}/result?execution_id={execution}").status == 200))
            check("GET", "/result", 200)
        check("GET", "/result", 200, query="?execution_id=" + first)
        check("GET", "/result", 404, query="?execution_id=nope")
        check("POST", "/execute", 400, {"code": "x", "event": {"__timeout": 0}})
        check("POST", "/execute", 404, {"code": "x"}, session="nope")
        check("GET", "", 200)
        check("DELETE", "", 204)
        check("POST", "/execute", 409, {"code": "x"})
        check("DELETE", "", 404, session="nope")

    def test_console(self):
        self.client.run(language="python", code="1")
        self.check("GET", "/v1/overview", 200)
        self.check("GET", "/v1/overview", 200, at="/v1/overview?project=*")
        self.check("GET", "/v1/overview", 401, headers={"X-API-Key": "nope"})
        self.check("GET", "/v1/live", 426)
        self.check("GET", "/v1/live", 401, headers={"X-API-Key": "nope"})
        self.check("GET", "/v1/settings", 200)
        user, _ = self.server.new_key(project="console", name="user")
        self.check("GET", "/v1/settings", 403, client=self.server.client(user))
        self.check("GET", "/v1/doctor", 200)
        self.check("GET", "/v1/doctor", 401, headers={"X-API-Key": "nope"})
        self.check("GET", "/v1/doctor", 403, client=self.server.client(user))
        self.check("GET", "/v1/attack-report", 200)
        self.check("GET", "/v1/attack-report", 401, headers={"X-API-Key": "nope"})
        self.check("GET", "/v1/attack-report", 403, client=self.server.client(user))
        self.check("GET", "/v1/runs", 200, at="/v1/runs?project=*&status=ok,failed&q=python")
        self.check("GET", "/console", 308)
        # 503: this server was built where the console's packages could not be fetched.
        has_console = self.client.get("/console/").status == 200
        self.check("GET", "/console/{path*}", 404 if has_console else 503, at="/console/assets/none-1.js")
        self.check("GET", "/console/frame/html", 200)
        page = {"X-API-Key": None, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty",
                "Origin": "http://" + self.server.url.partition("://")[2]}
        self.check("GET", "/console/session", 200)
        self.check("POST", "/console/session", 403, body={"key": self.server.key})
        self.check("POST", "/console/session", 400, body={}, headers=page)
        self.check("POST", "/console/session", 401, body={"key": "gbx_" + "0" * 40}, headers=page)
        signed_in = self.check("POST", "/console/session", 201, body={"key": self.server.key}, headers=page)
        page |= {"Cookie": signed_in.headers["Set-Cookie"].partition(";")[0], "X-Glovebox-CSRF": signed_in.json["csrf"]}
        self.check("GET", "/console/session", 200, headers=page)
        self.check("POST", "/console/tickets", 201, headers=page)
        self.check("POST", "/console/tickets", 400)
        self.check("POST", "/console/links", 201, body={})
        self.check("POST", "/console/links", 400, body={"expires_in_s": 1})
        self.check("POST", "/console/links", 403, headers=page)
        self.check("DELETE", "/console/session", 403, headers=page | {"X-Glovebox-CSRF": "no"})
        self.check("DELETE", "/console/session", 204, headers=page)
        self.check("DELETE", "/console/session", 401, headers=page)
        self.check("DELETE", "/console/session", 400)

    def test_zz_every_route_was_asked(self):
        wanted = {(method.upper(), path) for path, operations in self.contract.document["paths"].items()
                  for method in operations if method in METHODS}
        table = self.route_table()
        inside = {(row["method"], row["path"]) for row in table if row["access"] == "sandbox"}
        self.assertEqual(wanted - inside - {(method, path) for method, path, _ in self.asked}, set())
        self.assertEqual({(row["method"], row["path"]) for row in table}, wanted)

    def route_table(self):
        ran = subprocess.run([os.path.join(sealed.BIN, "glovebox-server"), "routes"], capture_output=True, timeout=20)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(ran.stdout)


if __name__ == "__main__":
    sealed.main()
