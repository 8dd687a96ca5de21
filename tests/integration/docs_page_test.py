# /docs: what the page says, what it may load, who may call the API from it, and its forms in a real
# browser.
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
from websocket import WebSocket

CONTRACT = os.path.join(os.path.dirname(__file__), "..", "..", "api", "openapi.yaml")
METHODS = {"get", "post", "put", "patch", "delete"}
CHROMIUM = shutil.which("chromium")


class Reader(html.parser.HTMLParser):
    """The sections of the page, and every tag."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.sections, self.ids, self.links = [], {}, set(), set()
        self.section = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append((tag, found))
        if "id" in found:
            self.ids.add(found["id"])
        if tag == "a" and found.get("href", "").startswith("#"):
            self.links.add(found["href"][1:])
        if tag == "section":
            self.section = self.sections.setdefault(found["id"], {"classes": set(), "text": "", "tags": set(), **found})
        elif self.section is not None:
            self.section["classes"].add(found.get("class"))
            self.section["tags"].add(tag)

    def handle_endtag(self, tag):
        if tag == "section":
            self.section = None

    def handle_data(self, data):
        if self.section is not None:
            self.section["text"] += data


class Page(server.Served):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(CONTRACT) as file:
            cls.contract = yaml.safe_load(file)
        with cls.server.client() as client:
            cls.answer = client.get("/docs", headers={"X-API-Key": None})
        cls.page = Reader(cls.answer.text)

    def operations(self):
        for path, item in self.contract["paths"].items():
            for method in METHODS & set(item):
                yield path, method, item[method]

    def test_every_route_is_described_with_examples(self):
        for path, method, operation in self.operations():
            section = self.page.sections["op-" + operation["operationId"]]
            self.assertEqual((section["data-method"], section["data-path"]), (method.upper(), path))
            self.assertIn("example", section["classes"], path)  # a command to type, at least
            self.assertIn("curl", section["text"], path)
            for status in operation["responses"]:
                self.assertIn(status, section["text"], path)
            if "requestBody" in operation:
                self.assertIn("textarea", section["tags"], path)

    def test_every_schema_is_there_and_every_link_leads_somewhere(self):
        for name, schema in self.contract["components"]["schemas"].items():
            section = self.page.sections["schema-" + name]
            for field in schema.get("properties", {}):
                self.assertIn(field, section["text"], name)
        self.assertEqual(self.page.links - self.page.ids, set())

    def test_nothing_is_inline_or_from_elsewhere(self):
        for tag, attributes in self.page.tags:
            self.assertNotIn(tag, ("style", "iframe", "img", "object", "embed", "base"))
            self.assertTrue(tag != "script" or "src" in attributes)
            for name, value in attributes.items():
                self.assertFalse(name.startswith("on") or name == "style", (tag, name))
                if name in ("src", "href"):
                    self.assertRegex(value, r"^(/(docs|openapi)|#)", (tag, value))
        policy = self.answer.headers["Content-Security-Policy"]
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertNotRegex(policy, r"https?:|\*")

    def test_who_may_call_from_a_page(self):
        port = self.client.address[1]
        body = {"command": "echo called"}

        def status(origin, host=f"127.0.0.1:{port}", method="POST", path="/v1/run"):
            return self.client.call(method, path, body, {"Origin": origin, "Host": host}).status
        self.assertEqual(status(f"http://127.0.0.1:{port}"), 200)
        self.assertEqual(status(f"http://localhost:{port}", host=f"localhost:{port}"), 200)
        # A browser behind a proxy that speaks TLS.
        self.assertEqual(status(f"https://localhost:{port}", host=f"localhost:{port}"), 200)
        for origin in (f"http://localhost:{port}", f"http://127.0.0.1:{port + 1}", "http://127.0.0.1", "null",
                       f"http://8000-sb{'a' * 20}.localhost:{port}", f"http://127.0.0.1:{port}.evil.example"):
            self.assertEqual(status(origin), 403, origin)
        # Pages of guests have such names, and so has what is asked of them.
        guest = f"x.localhost:{port}"
        self.assertEqual(status("http://" + guest, host=guest), 403)
        self.assertEqual(status(f"http://evil.example:{port}", host=f"evil.example:{port}"), 421)
        # The key is needed all the same.
        answer = self.client.call("POST", "/v1/run", body, {"Origin": f"http://127.0.0.1:{port}", "X-API-Key": None})
        self.assertEqual(answer.status, 401)


class Tab:
    """A page in a headless Chromium, by the protocol of its developer tools."""

    def __init__(self, url):
        self.directory = tempfile.mkdtemp(prefix="gbx-test-")
        self.process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0",
             "--user-data-dir=" + self.directory, "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"ws://([\d.]+):(\d+)(/\S+)", line):
                break
        else:
            raise AssertionError("the browser did not start")
        self.address = (found[1], int(found[2]))
        self.socket, self.number, self.session = WebSocket(self, found[3]), 0, None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")
        self.ask("Page.navigate", url=url)
        while self.socket.receive_json().get("method") != "Page.loadEventFired":
            pass

    def headers(self, _=None):
        return {}

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        self.socket.send(message if self.session is None else {**message, "sessionId": self.session})
        while (answer := self.socket.receive_json()).get("id") != self.number:
            pass
        if "error" in answer:
            raise AssertionError(answer)
        return answer["result"]

    def evaluate(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer)
        return answer["result"].get("value")

    def close(self):
        self.session = None
        self.socket.send({"id": 0, "method": "Browser.close"})
        self.process.wait(timeout=server.PATIENCE)
        self.socket.socket.close()
        self.process.stderr.close()

        def is_removed():  # its other processes write a moment longer
            shutil.rmtree(self.directory, ignore_errors=True)
            return not os.path.exists(self.directory)
        if not sealed.wait_until(is_removed, server.PATIENCE):
            raise AssertionError("the browser's files are still there")


@unittest.skipUnless(CHROMIUM, "there is no chromium")
class Browser(server.Served):
    SEND = """(async () => {
        while (document.querySelectorAll(".try:not([hidden])").length === 0) await new Promise((r) => setTimeout(r, 20));
        document.getElementById("key").value = KEY;
        const section = document.getElementById("op-" + OPERATION);
        if (BODY !== null) section.querySelector("textarea").value = JSON.stringify(BODY);
        for (const [name, value] of Object.entries(FIELDS)) section.querySelector(`input[data-name="${name}"]`).value = value;
        section.querySelector("button").click();
        while (section.querySelector("button").textContent === "Stop") await new Promise((r) => setTimeout(r, 20));
        return section.querySelector(".answer").textContent;
    })()"""

    def send(self, tab, operation, body=None, key=None, **fields):
        words = {"KEY": self.server.key if key is None else key, "OPERATION": operation, "BODY": body, "FIELDS": fields}
        text = self.SEND
        for name, value in words.items():
            text = text.replace(name, json.dumps(value))
        return tab.evaluate(text)

    def test_the_forms_send_requests_to_this_server(self):
        tab = Tab(self.server.url + "/docs")
        self.addCleanup(tab.close)
        said = self.send(tab, "run", {"language": "python", "code": "print('<img src=x onerror=hacked=1>'); 6 * 7"})
        self.assertTrue(said.startswith("200 "), said)
        answer = json.loads(said.partition("\n\n")[2])
        self.assertEqual(answer["result"]["application/json"], 42)
        self.assertEqual(self.send(tab, "getRun", id=answer["id"])[:4], "200 ")
        self.assertEqual(self.send(tab, "getTemplate", name="python")[:4], "200 ")
        self.assertEqual(self.send(tab, "run", {"language": "python", "code": "1"}, key="gbx_wrong")[:4], "401 ")
        self.assertIn("is missing", self.send(tab, "getTemplate", name=""))
        # What a guest printed is text, and no script but the page's own runs.
        self.assertIs(tab.evaluate("typeof hacked === 'undefined' && document.images.length === 0"), True)
        self.assertNotEqual(tab.evaluate("getComputedStyle(document.querySelector('nav')).position"), "")


if __name__ == "__main__":
    sealed.main()
