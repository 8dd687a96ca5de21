# /mcp by hand: the protocol over streamable HTTP, its tools against real sandboxes, and clients that
# do not mean well.
import base64
import http.client
import json
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import mcp
import sealed
import server
from mcp import Conversation, InBackground
from sealed import wait_until

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
                       "rkJggg==")


class Talking(server.Served):
    def talk(self, key=None, version=mcp.VERSION):
        client = self.server.client(key)
        self.addCleanup(client.close)
        conversation = Conversation(client, version)
        self.addCleanup(conversation.end)
        return conversation

    def sandboxes(self, **more):
        query = urllib.parse.urlencode({"project": "*", "state": "running", **more})
        return self.client.get("/v1/sandboxes?" + query).json["sandboxes"]


class Protocol(Talking):
    def test_a_version_is_agreed_upon(self):
        for version in ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"):
            self.assertEqual(self.talk(version=version).begun["protocolVersion"], version)
        self.assertEqual(self.talk(version="2031-01-01").begun["protocolVersion"], "2025-11-25")
        begun = self.talk().begun
        self.assertEqual(begun["capabilities"], {"tools": {"listChanged": False}})
        self.assertEqual(begun["serverInfo"]["name"], "glovebox")
        self.assertIn("sandbox", begun["instructions"])

    def test_a_conversation_has_an_id_that_cannot_be_guessed_and_is_its_projects(self):
        one, two = self.talk(), self.talk()
        self.assertRegex(one.session, r"\Amc[a-z0-9]{32}\Z")
        self.assertNotEqual(one.session, two.session)
        key, _ = self.server.new_key(project="stranger")
        stranger = self.server.client(key)
        self.addCleanup(stranger.close)
        ping = one.message("ping")
        self.assertEqual(one.post(ping, client=stranger).status, 404)
        self.assertEqual(stranger.call("DELETE", "/mcp", None, one.headers(one.session)).status, 404)
        self.assertEqual(one.cancel(1, client=stranger).status, 404)
        self.assertEqual(one.post(ping).json["result"], {})
        for wrong in ("", "x", "mc" + "a" * 32, one.session + "a", "../../etc", "mc" + "a" * 5000):
            self.assertEqual(one.post(ping, session=wrong).status, 404, wrong[:40])
        self.assertEqual(one.post(ping, session=None).status, 400)
        self.assertEqual(one.end().status, 204)
        self.assertEqual(one.post(ping).status, 404)
        self.assertEqual(one.end().status, 404)

    def test_the_key_comes_as_a_header_or_as_a_bearer(self):
        key, _ = self.server.new_key(project="default")
        body = json.dumps(mcp.initialize())
        common = {"Content-Type": "application/json", "Accept": mcp.BOTH}
        with server.Client(self.server.url) as client:
            for headers, status in (({}, 401), ({"X-API-Key": key}, 200), ({"X-API-Key": key + "x"}, 401),
                                    ({"Authorization": "Bearer " + key}, 200)):
                answer = client.call("POST", "/mcp", body, {**common, **headers})
                self.assertEqual(answer.status, status, headers)
                if status == 200:
                    ended = client.call("DELETE", "/mcp", None,
                                        {**headers, "Mcp-Session-Id": answer.headers["Mcp-Session-Id"]})
                    self.assertEqual(ended.status, 204)

    def test_pages_of_strangers_are_kept_out(self):
        talk = self.talk()
        ping = talk.message("ping")
        self.assertEqual(talk.post(ping, headers={"Origin": "https://evil.example"}).status, 403)
        self.assertEqual(talk.post(ping, headers={"Host": "evil.example"}).status, 421)
        self.assertEqual(talk.post(ping, headers={"Origin": "null"}).status, 403)
        self.assertEqual(talk.post(ping).status, 200)

    def test_headers_are_looked_at(self):
        talk = self.talk()
        ping = talk.message("ping")
        self.assertEqual(talk.post(ping, headers={"MCP-Protocol-Version": "2020-01-01"}).status, 400)
        self.assertEqual(talk.post(ping, headers={"MCP-Protocol-Version": "2025-03-26"}).status, 200)
        self.assertEqual(talk.post(ping, headers={"MCP-Protocol-Version": None}).status, 200)
        self.assertEqual(talk.post(ping, headers={"Content-Type": "text/plain"}).status, 415)
        self.assertEqual(talk.post(ping, accept="text/html").status, 406)
        self.assertEqual(talk.post(ping, accept="application/json").json["result"], {})
        self.assertEqual(talk.post(ping, accept="*/*").json["result"], {})
        stream = talk.post(ping, accept="text/event-stream")
        self.assertEqual(stream.headers["Content-Type"], "text/event-stream")
        self.assertEqual(mcp.events(stream.body)[0]["result"], {})
        get = self.client.call("GET", "/mcp", None, talk.headers(talk.session, "text/event-stream"))
        self.assertEqual((get.status, get.headers["Allow"]), (405, "POST, DELETE"))
        self.assertEqual(talk.post(mcp.initialize()).status, 400)  # it has begun

    def test_mistakes_have_the_codes_of_json_rpc(self):
        talk = self.talk()

        def code(body, status):
            answer = talk.post(body)
            self.assertEqual((answer.status, answer.json["jsonrpc"]), (status, "2.0"), answer)
            return answer.json["error"]["code"], answer.json["id"]

        self.assertEqual(code("{", 400), (-32700, None))
        self.assertEqual(code("", 400), (-32700, None))
        self.assertEqual(code(b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', 400), (-32700, None))
        self.assertEqual(code('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 400), (-32700, None))
        self.assertEqual(code("[" * 100_000, 400), (-32700, None))
        self.assertEqual(code([talk.message("ping")], 400), (-32600, None))
        self.assertEqual(code([], 400), (-32600, None))
        self.assertEqual(code({"jsonrpc": "2.0", "id": 3}, 400), (-32600, 3))
        self.assertEqual(code({"jsonrpc": "1.0", "id": 3, "method": "ping"}, 400), (-32600, 3))
        self.assertEqual(code({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, 400), (-32600, None))
        self.assertEqual(code({"jsonrpc": "2.0", "id": 3, "method": "ping", "params": [1]}, 400), (-32600, 3))
        self.assertEqual(code({"jsonrpc": "2.0", "id": 3, "method": "resources/list"}, 200), (-32601, 3))
        self.assertEqual(code({"jsonrpc": "2.0", "id": "a", "method": "tools/call"}, 200), (-32602, "a"))
        self.assertEqual(talk.refused("tools/call", name="no_such_tool")["code"], -32602)
        self.assertEqual(talk.refused("tools/call", name="run_code", arguments=[])["code"], -32602)
        self.assertEqual(talk.refused("tools/call", name="run_code", _meta={"progressToken": 1.5})["code"],
                         -32602)
        self.assertEqual(talk.refused("tools/list", cursor="x")["code"], -32602)
        # Not ours to answer.
        for message in ({"jsonrpc": "2.0", "method": "notifications/unknown"},
                        {"jsonrpc": "2.0", "id": 9, "result": {}},
                        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}},
                        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "?"}}):
            self.assertEqual(talk.post(message).status, 202)
        self.assertEqual(self.sandboxes(), [])

    def test_a_body_has_a_bound(self):
        talk = self.talk()
        with self.raw() as connection:
            connection.sendall((f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {self.server.key}\r\n"
                                f"Mcp-Session-Id: {talk.session}\r\nContent-Type: application/json\r\n"
                                "Content-Length: 100000000\r\n\r\n").encode())
            response = http.client.HTTPResponse(connection)
            response.begin()
            self.assertEqual(response.status, 413)

    def test_tools_are_described_strictly(self):
        tools = {tool["name"]: tool for tool in self.talk().request("tools/list")["tools"]}
        self.assertEqual(set(tools), {"run_code", "run_command", "read_file", "write_file", "list_files",
                                      "reset_sandbox"})
        for tool in tools.values():
            self.assertIs(tool["inputSchema"]["additionalProperties"], False)
            self.assertGreater(len(tool["description"]), 60)
            self.assertIs(tool["annotations"]["openWorldHint"], False)
            self.assertNotIn("$", json.dumps(tool))
        self.assertEqual(set(tools["run_code"]["inputSchema"]["properties"]["language"]["enum"]),
                         {"python", "bash", "javascript", "typescript", "r", "java"})
        self.assertEqual(tools["run_code"]["inputSchema"]["properties"]["timeout_s"]["maximum"], 120)
        self.assertTrue(tools["read_file"]["annotations"]["readOnlyHint"])
        self.assertTrue(tools["run_command"]["annotations"]["destructiveHint"])


class Tools(Talking):
    def test_code_keeps_its_state_in_one_sandbox_made_when_it_is_needed(self):
        talk = self.talk()
        talk.request("tools/list")
        self.assertEqual(self.sandboxes(), [])
        self.assertEqual(talk.text("run_code", code="x = 41\nprint('hi')\nx + 1"), "hi\n\nresult:\n42")
        self.assertEqual(talk.text("run_code", code="x"), "result:\n41")
        self.assertEqual(talk.text("run_code", code="let y = 2; y * 21", language="javascript"), "result:\n42")
        talk.text("run_code", code="z=5", language="bash")
        self.assertEqual(talk.text("run_code", code="echo $z", language="bash"), "5\n")
        self.assertEqual(talk.text("run_code", code="pass"), "(no output)")
        made, = self.sandboxes()
        self.assertEqual(made["metadata"]["mcp_client"], "test")
        self.assertEqual(talk.end().status, 204)
        self.assertEqual(self.sandboxes(), [])

    def test_what_fails_is_a_result_with_its_reason_once(self):
        talk = self.talk()
        failed = talk.call("run_code", code="def f():\n  return 1/0\nf()")
        self.assertTrue(failed["isError"])
        text = mcp.text_of(failed)
        self.assertEqual(text.count("ZeroDivisionError: division by zero"), 1, text)
        self.assertIn("line 2, in f", text)
        slow = talk.call("run_code", code="x = 1\nwhile True: pass", timeout_s=0.5)
        self.assertTrue(slow["isError"])
        self.assertIn("time limit", mcp.text_of(slow))
        self.assertEqual(talk.text("run_code", code="x"), "result:\n1")
        dead = talk.call("run_code", code="import os; os._exit(3)")
        self.assertTrue(dead["isError"])
        self.assertIn("variables are gone", mcp.text_of(dead))
        for wrong in ({"code": 7}, {}, {"code": "1", "more": 1}, {"code": "1", "language": "cobol"},
                      {"code": "1", "timeout_s": 1000}, {"code": "1", "timeout_s": 0},
                      {"code": "1", "timeout_s": -5}, {"code": "a\0b"}):
            result = talk.call("run_code", **wrong)
            self.assertTrue(result["isError"], wrong)
            self.assertTrue(mcp.text_of(result).startswith("Error: "), result)

    def test_pictures_are_pictures_and_tables_text(self):
        talk = self.talk()
        figure = talk.call("run_code", code="import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
        pictures = [block for block in figure["content"] if block["type"] == "image"]
        self.assertEqual([picture["mimeType"] for picture in pictures], ["image/png"], figure)
        self.assertTrue(base64.b64decode(pictures[0]["data"], validate=True).startswith(b"\x89PNG"))
        table = talk.text("run_code", code="import pandas as pd\npd.DataFrame({'a': [1, 2]})")
        self.assertEqual(table, "result:\n   a\n0  1\n1  2")

    def test_what_only_says_that_it_is_a_picture_is_none(self):
        talk = self.talk()
        lie = """class Lie:
    def __init__(self, form): self.form = form
    def _repr_mimebundle_(self, *_): return self.form
"""
        talk.text("run_code", code=lie)
        for form in ({"image/png": "<script>"}, {"image/png": base64.b64encode(b"GIF89a..").decode()},
                     {"image/jpeg": "A" * 1001},
                     {"image/png": base64.b64encode(b"\x89PNG\r\n\x1a\n<script>").decode()},
                     {"image/png": base64.b64encode(PNG[:-4]).decode()},
                     {"image/png": base64.b64encode(PNG + b"<script>").decode()}):
            result = talk.call("run_code", code=f"Lie({form!r})")
            self.assertEqual([block["type"] for block in result["content"]], ["text"], result)
            self.assertIn("malformed image", mcp.text_of(result))
        good = base64.b64encode(PNG).decode()
        result = talk.call("run_code", code=f"Lie({{'image/png': {good!r}}})")
        self.assertEqual(result["content"], [{"type": "image", "data": good, "mimeType": "image/png"}])
        many = talk.call("run_code", code=f"for _ in range(20): display(Lie({{'image/png': {good!r}}}))")
        self.assertEqual([block["type"] for block in many["content"]], ["image"] * 8 + ["text"], many)
        large = "Lie({'image/png': b'\\x89PNG\\r\\n\\x1a\\n' + bytes(5_000_000)})"
        self.assertIn("too large", talk.text("run_code", code=large))

    def test_pictures_of_others_are_pictures(self):
        talk = self.talk()
        drawn = """import io
from PIL import Image
class Drawn:
    def __init__(self, form): self.form = form
    def _repr_mimebundle_(self, *_):
        buffer = io.BytesIO()
        Image.new('RGB', (40, 30), (200, 10, 10)).save(buffer, self.form)
        open('drawn.' + self.form, 'wb').write(buffer.getvalue())
        return {'image/' + self.form: buffer.getvalue()}
"""
        talk.text("run_code", code=drawn)
        for form in ("png", "jpeg", "gif", "webp"):
            for result in (talk.call("run_code", code=f"Drawn('{form}')"), talk.call("read_file", path="drawn." + form)):
                self.assertEqual([(block["type"], block.get("mimeType")) for block in result["content"]],
                                 [("image", "image/" + form)], str(result)[:500])
        # As a file, what only begins like one is what it is.
        for content in (b"\x89PNG\r\n\x1a\n<script>", b"\x89PNG\r\n\x1a\n" + bytes(100_000)):
            talk.text("write_file", path="lie.png", content=base64.b64encode(content).decode(), encoding="base64")
            blob = talk.call("read_file", path="lie.png")["content"][0]
            self.assertEqual(base64.b64decode(blob["resource"]["blob"]), content[:65_536])

    def test_all_text_of_a_result_is_bounded(self):
        talk = self.talk()
        for code in ("for i in range(200): display('x' * 60_000)", "for i in range(200): display('y' * 1000)",
                     "import sys\nprint('o' * 200_000)\nsys.stderr.write('e' * 200_000)",
                     "import sys\nsys.stdout.buffer.write(b'\\xff' * 200_000)"):
            answer = talk.post(talk.message("tools/call", name="run_code", arguments={"code": code + "\n'the value'"}))
            result = (mcp.events(answer.body)[-1] if answer.body.startswith(b"event") else answer.json)["result"]
            text = mcp.text_of(result)
            self.assertLess(len(text.encode()), 66_500, code)
            self.assertLess(len(answer.body), 200_000, code)
            self.assertIn("left out here", text)
            self.assertIn("result:\n'the value'", text[-200:])
        short = talk.text("run_code", code="import sys\nprint('o' * 200_000)\nsys.stderr.write('e' * 20_000)")
        self.assertTrue("e" * 20_000 in short)  # the long one makes room for it
        failed = talk.call("run_code", code="print('o' * 200_000)\nraise ValueError('why')")
        self.assertTrue(mcp.text_of(failed).rstrip().endswith("ValueError: why"))
        command = "head -c 200000 /dev/zero | tr '\\0' o; head -c 200000 /dev/zero | tr '\\0' e >&2"
        both = talk.call("run_command", command=command)
        self.assertLess(len(mcp.text_of(both)), 66_500)
        self.assertTrue(both["structuredContent"]["truncated"])
        for kind in ("stdout", "stderr"):
            self.assertGreater(len(both["structuredContent"][kind]), 32_000)
        talk.text("run_code", code="import os\nos.mkdir('many')\nfor i in range(900): open(f'many/{i:0200}', 'w')")
        listed = talk.call("list_files", path="many")
        self.assertTrue(listed["structuredContent"]["truncated"])
        self.assertGreater(len(listed["structuredContent"]["entries"]), 300)
        self.assertLess(len(mcp.text_of(listed)), 70_000)

    def test_commands(self):
        talk = self.talk()
        result = talk.call("run_command", command="cat; echo err >&2; pwd; exit 3", stdin="in\n", cwd="/tmp")
        self.assertTrue(result["isError"])
        structure = result["structuredContent"]
        self.assertGreater(structure.pop("duration_ms"), 0)
        self.assertEqual(structure, {"exit_code": 3, "stdout": "in\n/tmp\n", "stderr": "err\n", "timed_out": False,
                                     "out_of_memory": False, "truncated": False})
        self.assertFalse(talk.call("run_command", command="true")["isError"])
        slow = talk.call("run_command", command="echo begun; sleep 60", timeout_s=0.5)["structuredContent"]
        self.assertEqual((slow["timed_out"], slow["exit_code"], slow["stdout"]), (True, 124, "begun\n"))
        self.assertTrue(talk.call("run_command", command="true", cwd="/nowhere")["isError"])
        self.assertTrue(talk.call("run_command", command="")["isError"])
        # Left running, and found again.
        talk.text("run_command", command="sleep 300 > /dev/null 2>&1 &")
        self.assertIn("sleep 300", talk.text("run_command", command="ps ax -o args | grep '[s]leep 300'"))

    def test_long_output_keeps_both_ends(self):
        talk = self.talk()
        structure = talk.call("run_command", command="seq 1 2000000")["structuredContent"]
        self.assertTrue(structure["truncated"])
        self.assertLess(len(structure["stdout"]), 70_000)
        self.assertTrue(structure["stdout"].startswith("1\n2\n"))
        self.assertTrue(structure["stdout"].endswith("\n2000000\n"))
        self.assertIn("bytes are left out here", structure["stdout"])
        text = talk.text("run_code", code="for i in range(300000): print(i)")
        self.assertLess(len(text), 70_000)
        self.assertTrue(text.endswith("299999\n"))
        self.assertLess(len(mcp.text_of(talk.call("run_code", code="'x' * 5_000_000"))), 70_000)

    def test_files(self):
        talk = self.talk()
        wrote = talk.call("write_file", path="a/b.txt", content="grüße\n")
        self.assertEqual(wrote["structuredContent"], {"path": "a/b.txt", "bytes": 8})
        self.assertEqual(talk.text("read_file", path="/home/user/a/b.txt"), "grüße\n")
        talk.text("run_command", command="ln -s b.txt a/link; mkfifo a/fifo")
        listed = talk.call("list_files", path="a")["structuredContent"]
        self.assertEqual(sorted(listed["entries"], key=lambda entry: entry["path"]),
                         [{"path": "b.txt", "type": "file", "size": 8},
                          {"path": "fifo", "type": "other", "size": 0},
                          {"path": "link", "type": "symlink", "size": 5, "target": "b.txt"}])
        deep = talk.call("list_files", depth=2)["structuredContent"]["entries"]
        self.assertIn("a/b.txt", [entry["path"] for entry in deep])
        talk.text("write_file", path="p.png", content=base64.b64encode(PNG).decode(), encoding="base64")
        picture, = talk.call("read_file", path="p.png")["content"]
        self.assertEqual((picture["type"], picture["mimeType"]), ("image", "image/png"))
        self.assertEqual(base64.b64decode(picture["data"]), PNG)
        blob = talk.call("read_file", path="/bin/true", limit=10)["content"]
        self.assertEqual(blob[0]["resource"]["uri"], "file:///bin/true")
        self.assertEqual(len(base64.b64decode(blob[0]["resource"]["blob"])), 10)
        self.assertIn("call again with offset 10", blob[1]["text"])
        for tool, wrong in (("read_file", {"path": "/nowhere"}), ("read_file", {"path": "a"}), ("read_file", {}),
                            ("read_file", {"path": "a/fifo"}), ("read_file", {"path": "a/b.txt", "limit": 1 << 30}),
                            ("write_file", {"path": "/usr/x", "content": ""}), ("write_file", {"path": "x"}),
                            ("write_file", {"path": "x", "content": "?", "encoding": "base64"}),
                            ("list_files", {"path": "/nowhere"}), ("list_files", {"depth": 99}),
                            ("reset_sandbox", {"x": 1})):
            result = talk.call(tool, **wrong)
            self.assertTrue(result["isError"], (tool, wrong, result))

    def test_a_long_file_comes_in_parts_between_characters(self):
        talk = self.talk()
        content = "ä€😀" * 20_000
        talk.text("write_file", path="long", content=content)
        parts, offset = "", 0
        while offset is not None:
            blocks = talk.call("read_file", path="long", offset=offset, limit=65_001)["content"]
            parts += blocks[0]["text"]
            words = blocks[-1]["text"]
            offset = int(words.split("with offset ")[1].rstrip(".")) if "with offset" in words else None
        self.assertEqual(parts, content)
        # However few bytes are asked for, from wherever, there is a character or there are no more.
        talk.text("write_file", path="short", content="a😀ä")
        for offset, limit, text, after in ((0, 1, "a", 1), (1, 1, "😀", 5), (2, 1, "ä", None), (1, 3, "😀", 5),
                                           (4, 1, "ä", None), (5, 1, "ä", None), (6, 1, "", None)):
            blocks = talk.call("read_file", path="short", offset=offset, limit=limit)["content"]
            self.assertEqual(blocks[0]["text"], text, (offset, limit, blocks))
            self.assertEqual(f"with offset {after}." in blocks[1]["text"], after is not None, blocks)
        for offset in (7, 8, 10**15):
            result = talk.call("read_file", path="short", offset=offset)
            self.assertIn(f"nothing from offset {offset} on: the file has 7 bytes", mcp.text_of(result))

    def test_sandboxes_of_conversations_are_made_by_them_alone(self):
        taken = "mc" + "z" * 32
        for path, body in (("/v1/sandboxes", {"template": "python"}), ("/api/v1/sessions", {"mode": "persistent"})):
            refused = self.client.call("POST", path, {**body, "agent_id": "mcp:" + taken})
            self.assertEqual(refused.status, 400, refused)
            self.assertIn("mcp:", refused.text)
        self.assertEqual(self.talk().post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, session=taken).status, 404)

    def test_a_conversation_is_not_anothers(self):
        one, two = self.talk(), self.talk()
        one.text("write_file", path="secret", content="mine")
        one.text("run_code", code="secret = 1")
        self.assertTrue(two.call("read_file", path="secret")["isError"])
        self.assertTrue(two.call("run_code", code="secret")["isError"])
        self.assertEqual(len(self.sandboxes()), 2)

    def test_a_sandbox_that_is_gone_is_replaced_and_one_that_is_paused_goes_on(self):
        talk = self.talk()
        talk.text("run_code", code="x = 1")
        made, = self.sandboxes()
        self.assertEqual(self.client.call("POST", f"/v1/sandboxes/{made['id']}/pause").status, 200)
        self.assertEqual(talk.text("run_code", code="x"), "result:\n1")
        self.assertEqual(self.client.call("DELETE", f"/v1/sandboxes/{made['id']}").status, 204)
        result = talk.call("run_command", command="echo here")
        self.assertIn("This is a fresh one", mcp.text_of(result))
        self.assertIn("fresh one", result["structuredContent"]["note"])
        self.assertNotIn("Note", mcp.text_of(talk.call("run_command", command="echo here")))
        talk.text("reset_sandbox")
        self.assertEqual(self.sandboxes(), [])
        self.assertEqual(talk.text("run_command", command="echo again"), "again\n\nexit code 0")

    def test_calls_run_in_parallel_and_the_first_ones_share_a_sandbox(self):
        talk = self.talk()

        def call(i):
            with self.server.client() as client:
                message = talk.message("tools/call", number=f"p{i}", name="run_command",
                                       arguments={"command": f"touch {i}; until [ $(ls | wc -l) -ge 8 ]; do "
                                                             "sleep 0.02; done; echo all"})
                return talk.post(message, client=client, accept="application/json").json["result"]

        calls = [InBackground(lambda i=i: call(i)) for i in range(8)]
        for one in calls:
            self.assertEqual(one.wait()["structuredContent"]["stdout"], "all\n")
        self.assertEqual(len(self.sandboxes()), 1)

    def test_too_many_calls_at_once_are_refused(self):
        talk = self.talk()
        talk.text("run_command", command="true")

        def call(i):
            with self.server.client() as client:
                message = talk.message("tools/call", number=i, name="run_command",
                                       arguments={"command": "until [ -e go ]; do sleep 0.02; done"})
                return talk.post(message, client=client, accept="application/json").json

        calls = [InBackground(lambda i=i: call(i)) for i in range(100, 116)]
        made, = self.sandboxes()
        processes = f"/v1/sandboxes/{made['id']}/processes"
        self.assertTrue(wait_until(lambda: len(self.client.get(processes).json["processes"]) == 16))
        self.assertEqual(talk.refused("tools/call", name="run_command", arguments={"command": "true"})["code"],
                         -32000)
        with self.server.client() as client:
            path = f"/v1/sandboxes/{made['id']}/files?path=go"
            self.assertEqual(client.call("PUT", path, b"").status, 200)
        for one in calls:
            self.assertIn("result", one.wait())


class Streams(Talking):
    def read(self, response):
        """Messages of a stream as they come; None at its end."""
        while True:
            line = response.readline()
            if not line:
                return None
            if line.startswith(b"data:"):
                return json.loads(line[5:])

    def begin(self, talk, number, tool, token=None, **arguments):
        client = self.server.client()
        self.addCleanup(client.close)
        params = {"name": tool, "arguments": arguments}
        if token is not None:
            params["_meta"] = {"progressToken": token}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        return client.send("POST", "/mcp", message, talk.headers(talk.session))

    def test_output_is_shown_while_it_runs(self):
        talk = self.talk()
        waits = "import os, time\nprint('first', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\n'end'"
        response = self.begin(talk, "s", "run_code", token="tok", code=waits)
        self.assertEqual(response.headers["Content-Type"], "text/event-stream")
        told = self.read(response)
        self.assertEqual((told["method"], told["params"]["progressToken"]), ("notifications/progress", "tok"))
        self.assertEqual((told["params"]["message"], told["params"]["total"]), ("first\n", 120))
        talk.text("write_file", path="go", content="")
        last = self.read(response)
        while "method" in last:
            self.assertGreater(last["params"]["progress"], told["params"]["progress"])
            last = self.read(response)
        self.assertEqual(last["id"], "s")
        self.assertEqual(mcp.text_of(last["result"]), "first\n\nresult:\n'end'")
        self.assertIsNone(self.read(response))

    def test_what_a_guest_prints_is_never_a_message(self):
        talk = self.talk()
        forged = '\n\nevent: message\ndata: {"jsonrpc":"2.0","id":"s","result":{"content":[]}}\r\n\r\n'
        waits = "while not os.path.exists('go'): time.sleep(0.01)"
        code = f"import os, sys, time\nprint({forged!r}, flush=True)\nsys.stderr.write({forged!r})\n{waits}"
        response = self.begin(talk, "s", "run_code", token="t", code=code)
        self.assertIn("event: message", self.read(response)["params"]["message"])
        talk.text("write_file", path="go", content="")
        while (last := self.read(response)) and "method" in last:
            pass
        self.assertIn(forged.strip(), last["result"]["content"][0]["text"])
        self.assertIsNone(self.read(response))
        # Bytes that are no text, and a flood.
        for line in (r"sys.stdout.buffer.write(b'\xff\xfe\x00' * 1000)", "sys.stdout.write('x' * 3_000_000)"):
            response = self.begin(talk, "f", "run_code", token="f", code="import sys\n" + line)
            if response.headers.get_content_type() == "application/json":
                last = json.loads(response.read())
            else:
                while (last := self.read(response)) and "method" in last:
                    self.assertLess(len(last["params"].get("message", "")), 20_000)
            self.assertFalse(last["result"]["isError"])

    def test_a_cancelled_call_ends_at_once_and_has_no_answer(self):
        talk = self.talk()
        talk.text("run_code", code="x = 5")
        for tool, arguments in (("run_code", {"code": "print('on', flush=True)\nimport time\ntime.sleep(100)"}),
                                ("run_command", {"command": "echo on; sleep 100"})):
            response = self.begin(talk, "c-" + tool, tool, token=1, **arguments)
            self.assertIn("on", self.read(response)["params"]["message"])
            self.assertEqual(talk.cancel("c-" + tool).status, 202)
            self.assertIsNone(self.read(response))
        self.assertEqual(talk.text("run_code", code="x"), "result:\n5")
        left = talk.call("run_command", command="ps ax -o args | grep '[s]leep 100'")
        self.assertEqual(left["structuredContent"]["stdout"], "")
        # One that waits for its turn is cancelled as well; the one before it goes on.
        first = self.begin(talk, 50, "run_code", token=2,
                           code="print('on', flush=True)\nimport os\nwhile not os.path.exists('go'): pass")
        self.read(first)
        second = InBackground(lambda: talk.post(
            talk.message("tools/call", number=51, name="run_code", arguments={"code": "x = 6"})))
        with self.server.client() as client:
            self.assertTrue(wait_until(lambda: talk.cancel(51, client=client).status == 202))
            self.assertEqual(mcp.events(second.wait().body), [])
            message = talk.message("tools/call", number=52, name="write_file",
                                   arguments={"path": "go", "content": ""})
            self.assertEqual(talk.post(message, client=client).status, 200)
        while (last := self.read(first)) and "method" in last:
            pass
        self.assertFalse(last["result"]["isError"])
        self.assertEqual(talk.text("run_code", code="x"), "result:\n5")

    def test_the_end_of_a_conversation_ends_its_calls(self):
        talk = self.talk()
        response = self.begin(talk, "s", "run_command", token=1, command="echo on; sleep 100")
        self.read(response)
        self.assertEqual(talk.end().status, 204)
        self.assertIsNone(self.read(response))
        self.assertEqual(self.sandboxes(), [])

    def test_a_client_that_goes_away_does_not_end_its_call(self):
        talk = self.talk()
        response = self.begin(talk, "s", "run_command", token=1,
                              command="echo on; until [ -e go ]; do sleep 0.02; done; touch done")
        self.read(response)
        response.close()
        talk.text("write_file", path="go", content="")
        self.assertTrue(wait_until(lambda: "done" in talk.text("list_files")))


class Bounds(Talking):
    settings = {"mcp.template": "base", "mcp.ttl": "2s", "mcp.timeout": "1s", "mcp.conversations": "3",
                "mcp.memory": "64M", "mcp.disk": "32M", "mcp.cpus": "0.5", "mcp.max_output": "1K", "mcp.idle": "60s"}

    def test_the_servers_settings_hold_and_nothing_loosens_them(self):
        talk = self.talk()
        tools = {tool["name"]: tool for tool in talk.request("tools/list")["tools"]}
        self.assertEqual(tools["run_command"]["inputSchema"]["properties"]["timeout_s"]["maximum"], 1)
        self.assertTrue(talk.call("run_command", command="sleep 5")["structuredContent"]["timed_out"])
        self.assertTrue(talk.call("run_command", command="sleep 5", timeout_s=2)["isError"])
        made, = self.sandboxes()
        self.assertEqual(made["template"], "base")
        profile = self.client.get(f"/v1/sandboxes/{made['id']}").json
        self.assertEqual((profile["limits"]["memory_mb"], profile["limits"]["disk_mb"], profile["limits"]["cpus"]),
                         (64, 32, 0.5), profile)
        self.assertLess(len(talk.call("run_command", command="seq 1 9999")["structuredContent"]["stdout"]), 1200)
        eaten = talk.call("run_command", command="dd " + " ".join(sealed.EAT_MEMORY))["structuredContent"]
        self.assertTrue(eaten["out_of_memory"], eaten)
        self.assertIn("Network is unreachable",
                      talk.call("run_command", command="echo > /dev/tcp/1.1.1.1/80")["structuredContent"]["stderr"])

    def test_a_sandbox_lives_for_its_ttl_after_the_last_call_and_the_conversation_goes_on(self):
        talk = self.talk()
        talk.text("run_command", command="touch here")
        self.assertTrue(wait_until(lambda: not self.sandboxes()))
        self.assertIn("This is a fresh one", talk.text("run_command", command="true"))

    def test_calls_that_wait_for_each_other_keep_their_sandbox(self):
        talk = self.talk()
        talk.text("run_code", language="bash", code="x=1")

        def call(i):
            with self.server.client() as client:
                message = talk.message("tools/call", number=f"q{i}", name="run_code",
                                       arguments={"language": "bash", "code": "sleep 0.8; echo $x"})
                return talk.post(message, client=client, accept="application/json").json["result"]

        for one in [InBackground(lambda i=i: call(i)) for i in range(5)]:
            self.assertEqual(mcp.text_of(one.wait()), "1\n")

    def test_a_project_has_so_many_conversations(self):
        key, _ = self.server.new_key(project="crowd")
        talks = [self.talk(key) for _ in range(3)]
        for talk in talks:
            talk.text("run_command", command="true")
        client = self.server.client(key)
        headers = {"Content-Type": "application/json", "Accept": mcp.BOTH}
        answer = client.call("POST", "/mcp", mcp.initialize(), headers)
        self.assertEqual(answer.status, 429)
        self.assertIn("mcp.conversations", answer.json["error"]["message"])
        self.assertEqual(talks[0].end().status, 204)
        self.talk(key)

    def test_the_keys_own_limits_hold(self):
        key, _ = self.server.new_key(project="small", limits={"max_memory_mb": 80})
        talk = self.talk(key)
        refused = talk.call("run_command", command="true")
        self.assertTrue(refused["isError"], refused)
        self.assertIn("no sandbox", mcp.text_of(refused))


class Restarts(Talking):
    def test_a_conversation_goes_on_after_the_server_was_killed(self):
        talk = self.talk()
        talk.text("run_code", code="x = 7")
        os.kill(self.server.info["pid"], 9)
        self.assertTrue(wait_until(self.server.is_ready_again))
        talk.client.close()
        talk.client.address = self.server.client().address
        self.assertEqual(talk.text("run_code", code="x"), "result:\n7")


if __name__ == "__main__":
    sealed.main()
