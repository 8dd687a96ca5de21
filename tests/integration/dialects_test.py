# The dialects /workspace/se and /api/v1 through the real programs: what their clients do, what
# goes wrong, and who sees what.
import datetime
import os
import signal
import subprocess
import sys
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
from sealed import wait_until


def seconds(text):
    """A time of an answer, in seconds."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def quoted(text):
    return urllib.parse.quote(text, safe="")


def form(*parts):
    """(body, type) of a multipart/form-data of (name, filename or None, content)."""
    boundary = "----glovebox-test-boundary"
    body = b""
    for name, filename, content in parts:
        head = f'Content-Disposition: form-data; name="{name}"'
        if filename is not None:
            head += f'; filename="{filename}"\r\nContent-Type: application/octet-stream'
        body += f"--{boundary}\r\n{head}\r\n\r\n".encode() + content + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


class Workspace(server.Served):
    env = {"SANDBOX_ALLOW_NETWORK": "false"}

    def path(self, what, session, rest=""):
        return f"/workspace/se/{what}/{quoted(session)}{rest}"

    def post(self, what, session, body=None, client=None):
        return (client or self.client).call("POST", self.path(what, session), body)

    def make(self, session, client=None, **fields):
        client = client or self.client
        answer = self.post("session", session, fields or None, client)
        self.assertIn(answer.status, (200, 201), answer)
        self.addCleanup(client.call, "DELETE", self.path("session", session))
        return answer

    def code(self, session, code, client=None, **more):
        answer = self.post("execute_code", session, {"code": code, **more}, client)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def upload(self, session, *parts, client=None):
        body, kind = form(*parts)
        return (client or self.client).call("POST", self.path("upload", session), body, {"Content-Type": kind})

    # --- sessions -------------------------------------------------------------------------------

    def test_made_once_and_found_again(self):
        made = self.make("mine")
        self.assertEqual((made.status, made.json["session_id"], made.json["status"]), (201, "mine", "running"))
        again = self.make("mine")
        self.assertEqual((again.status, again.json["sandbox_id"]), (200, made.json["sandbox_id"]))
        status = self.client.get(self.path("status", "mine"))
        self.assertEqual((status.status, status.json), (200, again.json))
        # It is a sandbox as every other.
        sandbox = self.client.get("/v1/sandboxes/" + made.json["sandbox_id"]).json
        self.assertEqual((sandbox["state"], sandbox["agent_id"]), ("running", "workspace:mine"))
        gone = self.client.call("DELETE", self.path("session", "mine"))
        self.assertEqual((gone.status, gone.json), (200, {"session_id": "mine", "status": "deleted"}))
        self.assert_refused(self.client.get(self.path("status", "mine")), 404, "not_found")
        self.assert_refused(self.client.call("DELETE", self.path("session", "mine")), 404, "not_found")
        fresh = self.make("mine")
        self.assertEqual(fresh.status, 201)
        self.assertNotEqual(fresh.json["sandbox_id"], made.json["sandbox_id"])

    def test_what_is_wished_for(self):
        made = self.make("small", cpu_quota=0.5, memory_limit=98304, size="50M", timeout=7).json
        self.assertEqual((made["cpu_quota"], made["memory_limit"], made["timeout"]), (0.5, 98304, 7))
        limits = self.client.get("/v1/sandboxes/" + made["sandbox_id"]).json["limits"]
        self.assertEqual((limits["cpus"], limits["memory_mb"], limits["disk_mb"]), (0.5, 96, 50))
        for wrong in ({"cpu_quota": 0}, {"cpu_quota": "x"}, {"memory_limit": 1}, {"size": "huge"}, {"size": "-1M"},
                      {"timeout": 0}, {"timeout": 301}, {"nonsense": 1}, {"template": "../x"}, [], "text"):
            self.assert_refused(self.post("session", "wrong", wrong if wrong != "text" else "text"), 400, "invalid_argument")
        self.assert_refused(self.post("session", "wrong", {"allow_network": True}), 403, "policy")
        self.assert_refused(self.post("session", "wrong", {"template": "none-such"}), 404, "template_not_found")
        self.assert_refused(self.client.get(self.path("status", "wrong")), 404, "not_found")
        self.assert_refused(self.post("session", "small", {"template": "base"}), 409, "wrong_state")

    def test_an_id_is_data(self):
        """Whatever it looks like: as long as it is text, it is one session's name and nothing else."""
        made = {}
        for session in ("../..", "..", ".", "a/b", "/etc/passwd", "%2e%2e", "a b+c", "\u00fc\u4e2d\U0001f600", "'; drop",
                        "x" * 128, "<script>", "a\\b", "sb" + "a" * 20, "workspace:mine"):
            answer = self.make(session)
            self.assertEqual((answer.status, answer.json["session_id"]), (201, session), answer)
            made[session] = answer.json["sandbox_id"]
        self.assertEqual(len(set(made.values())), len(made))
        for session, sandbox in made.items():
            self.assertEqual(self.client.get(self.path("status", session)).json["sandbox_id"], sandbox)
        self.assertEqual(self.code("../..", "open('/home/user/f', 'w').write('in')")["exit_code"], 0)
        self.assertEqual(self.client.get(self.path("download", "../..", "/f")).body, b"in")
        self.assertEqual(self.client.get(self.path("download", "..", "/f")).status, 404)

    def test_an_id_that_is_none(self):
        for session in ("x" * 129, "\u4e2d" * 43, "a\nb", "a\x7fb", "\x1b[0m"):
            self.assert_refused(self.post("session", session), 400, "invalid_argument")
        for raw in ("%00", "a%00b", "%ff%fe", "%", "%zz"):
            answer = self.client.call("POST", "/workspace/se/session/" + raw)
            self.assertEqual(answer.status, 400, (raw, answer))
        self.assertEqual(self.client.call("POST", "/workspace/se/session/").status, 404)
        self.assertEqual(self.client.call("POST", "/workspace/se/session").status, 404)
        self.assertEqual(self.client.call("POST", "/workspace/se/session/" + "y" * 20_000).status, 400)

    def test_each_project_has_its_own(self):
        ours = self.server.client(self.server.new_key(project="ours")[0])
        theirs = self.server.client(self.server.new_key(project="theirs")[0])
        first = self.make("shared", client=ours).json
        self.code("shared", "secret = 1; open('f', 'w').write('ours')", client=ours)
        for method, what, body in (("GET", "status", None), ("DELETE", "session", None), ("GET", "files", None),
                                   ("POST", "execute", {"command": "true"}), ("POST", "execute_code", {"code": "1"})):
            self.assert_refused(theirs.call(method, self.path(what, "shared"), body), 404, "not_found")
        self.assertEqual(theirs.get(self.path("download", "shared", "/f")).status, 404)
        self.assertEqual(self.upload("shared", ("file", "f", b"x"), client=theirs).status, 404)
        second = self.make("shared", client=theirs)
        self.assertEqual(second.status, 201)
        self.assertNotEqual(second.json["sandbox_id"], first["sandbox_id"])
        self.assertEqual(self.code("shared", "secret", client=theirs)["error"]["name"], "NameError")
        self.assertEqual(self.code("shared", "secret", client=ours)["result"], 1)
        self.assert_refused(ours.get(self.path("status", "shared") + "?project=theirs"), 403, "policy")
        admin = self.client.get(self.path("status", "shared") + "?project=theirs")
        self.assertEqual(admin.json["sandbox_id"], second.json["sandbox_id"])
        self.assert_refused(self.client.get(self.path("status", "shared") + "?project=*"), 400, "invalid_argument")

    def test_no_key_no_answer(self):
        for method, what, rest in (("POST", "session", ""), ("DELETE", "session", ""), ("GET", "status", ""),
                                   ("POST", "execute", ""), ("POST", "execute_code", ""), ("POST", "upload", ""),
                                   ("GET", "download", "/f"), ("GET", "files", "")):
            answer = self.client.call(method, self.path(what, "mine", rest), headers={"X-API-Key": "nope"})
            self.assert_refused(answer, 401, "unauthorized")

    # --- code and commands ----------------------------------------------------------------------

    def test_code_and_its_state(self):
        self.make("py")
        first = self.code("py", "import sys\nx = 20\nprint('out')\nprint('err', file=sys.stderr)\nx + 1")
        self.assertEqual((first["exit_code"], first["stdout"], first["stderr"], first["result"], first["error"]),
                         (0, "out\n", "err\n", 21, None))
        self.assertGreater(first["metrics"]["duration_ms"], 0)
        self.assertEqual(self.code("py", "{'a': [x, None, 'y']}")["result"], {"a": [20, None, "y"]})
        self.assertEqual(self.code("py", "x = 1")["result"], None)
        self.assertEqual(self.code("py", "object")["result"], "<class 'object'>")
        failed = self.code("py", "1/0")
        self.assertEqual((failed["exit_code"], failed["error"]["name"], failed["result"]), (1, "ZeroDivisionError", None))
        self.assertEqual(self.code("py", "input()", stdin="given\n")["result"], "given")

    def test_code_has_its_time(self):
        self.make("slow", timeout=60)
        late = self.code("slow", "x = 5\nimport time; time.sleep(60)", timeout=0.5)
        self.assertEqual((late["timed_out"], late["exit_code"]), (True, 124))
        self.assertEqual(self.code("slow", "x")["result"], 5)
        late = self.post("execute", "slow", {"command": "sleep 60", "timeout": 0.5}).json
        self.assertEqual((late["timed_out"], late["exit_code"]), (True, 124))

    def test_what_the_dialects_own_client_sends(self):
        self.make("sdk", size="50M")
        answer = self.code("sdk", "a = 1\nb = 'text'\nc = {1: 2}\nd = object()\nprint('said')", filename=None, args=[],
                           script_type="python", output_params=["a", "b", "d", "nope"])
        self.assertNotIn("result", answer)
        self.assertEqual((answer["stdout"], answer["exit_code"]), ("said\n", 0))
        variables = answer["output_variables"]
        self.assertEqual((variables["a"], variables["b"], set(variables)), (1, "text", {"a", "b", "d"}))
        self.assertNotIn("result", self.code("sdk", "1", output_params=[]))
        script = self.code("sdk", 'echo "$1-$2"; exit 3', script_type="shell", args=["a b", "c"])
        self.assertEqual((script["stdout"], script["exit_code"]), ("a b-c\n", 3))

    def test_commands(self):
        self.make("sh")
        answer = self.post("execute", "sh", {"command": "echo $((6 * 7)); echo no >&2; exit 3"}).json
        self.assertEqual((answer["exit_code"], answer["stdout"], answer["stderr"]), (3, "42\n", "no\n"))
        self.assertGreater(answer["metrics"]["wall_ms"], 0)
        words = self.post("execute", "sh", {"command": "/bin/echo", "args": ["$HOME", "a  b"]}).json
        self.assertEqual(words["stdout"], "$HOME a  b\n")
        self.assertEqual(self.post("execute", "sh", {"command": "cat", "stdin": "in"}).json["stdout"], "in")
        self.assertEqual(self.post("execute", "sh", {"command": "id -un; pwd"}).json["stdout"], "user\n/home/user\n")

    def test_bad_requests(self):
        self.make("bad")
        for what, bodies in (("execute_code", ({}, {"code": 1}, {"code": "1", "timeout": -1}, {"code": "1", "timeout": 1e9},
                                               {"code": "1", "script_type": "perl"}, {"code": "1", "args": ["x"]},
                                               {"code": "1", "output_params": ["a.b"]}, {"code": "1", "output_params": ["__import__('os')"]},
                                               {"code": "a\x00b"}, {"code": "1", "nope": 1}, "", "{", "[]", '{"code":"1","code":"2"}')),
                             ("execute", ({}, {"command": ""}, {"command": ["ls"]}, {"command": "ls", "args": "x"},
                                          {"command": "/no/such", "args": ["x"]}, {"command": "ls", "cwd": "/"}, "null"))):
            for body in bodies:
                answer = self.post(what, "bad", body)
                self.assertEqual(answer.status, 400, (what, body, answer))
        for what, body in (("execute_code", {"code": "1"}), ("execute", {"command": "true"})):
            answer = self.post(what, "not there", body)
            self.assert_refused(answer, 404, "not_found")
            self.assertIn("not there", answer.json["error"]["message"])
        self.assertEqual(self.client.get(self.path("execute", "bad")).status, 405)

    # --- files ----------------------------------------------------------------------------------

    def test_up_and_down(self):
        self.make("files")
        content = os.urandom(3_000_000) + b"\r\n------glovebox-test-boundar\r\n--\r\n"
        answer = self.upload("files", ("file", "data.bin", content))
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual((answer.json["filename"], answer.json["path"], answer.json["size"]),
                         ("data.bin", "/home/user/data.bin", len(content)))
        self.assertEqual(self.client.get(self.path("download", "files", "/data.bin")).body, content)
        part = self.client.get(self.path("download", "files", "/data.bin"), headers={"Range": "bytes=1-4"})
        self.assertEqual((part.status, part.body), (206, content[1:5]))
        self.assertEqual(self.code("files", "import os; os.path.getsize('data.bin')")["result"], len(content))
        several = self.upload("files", ("path", None, b"deep/er/"), ("file", "a", b"A"), ("file", "b", b""), ("note", None, b"x"))
        self.assertEqual([one["path"] for one in several.json["files"]], ["/home/user/deep/er/a", "/home/user/deep/er/b"])
        named = self.upload("files", ("path", None, b"other name \xc3\xbc"), ("file", "a", b"N"))
        self.assertEqual(named.json["path"], "/home/user/other name \u00fc")
        self.assertEqual(self.client.get(self.path("download", "files", "/" + quoted("other name \u00fc"))).body, b"N")
        self.assertEqual(self.client.get(self.path("download", "files", "/deep/er/a")).body, b"A")
        self.assertEqual(self.client.get(self.path("download", "files", "/deep%2Fer%2Fa")).body, b"A")
        listed = self.client.get(self.path("files", "files")).json
        self.assertEqual(listed["session_id"], "files")
        sizes = {one["name"]: one["size"] for one in listed["files"]}
        self.assertEqual((sizes["data.bin"], sizes["other name \u00fc"]), (len(content), 1))
        below = self.client.get(self.path("files", "files") + "?path=deep&recursive=true").json["files"]
        self.assertEqual({one["filename"] for one in below}, {"er", "er/a", "er/b"})

    def test_names_that_would_lead_out(self):
        self.make("out")
        for name in ("../../etc/passwd", "a/../../b", "..", "/etc/passwd", "%2e%2e/x", "..%2f..%2fetc%2fpasswd", "/%2fetc/passwd"):
            raw = name if "%" in name else quoted(name)
            answer = self.client.get(self.path("download", "out", "/" + raw))
            self.assertEqual(answer.status, 400, (name, answer))
        for name in ("../../x", "/x", "a/../../x", "", "d/"):
            self.assertEqual(self.upload("out", ("file", name, b"x")).status, 400, name)
        self.assertEqual(self.upload("out", ("path", None, b"../"), ("file", "x", b"x")).status, 400)
        self.assertEqual(self.client.get(self.path("files", "out") + "?path=../..").status, 400)
        self.assertEqual(self.client.get(self.path("download", "out", "/%00")).status, 400)
        self.assertEqual(self.client.get(self.path("download", "out", "/")).status, 400)
        self.assertEqual(self.client.get(self.path("download", "out", "/none")).status, 404)
        # A link of the guest's leads to the guest's own files.
        self.post("execute", "out", {"command": "ln -s /etc/hostname link; ln -s ../../../../../etc/hostname far"})
        inside = self.post("execute", "out", {"command": "cat /etc/hostname"}).json["stdout"]
        for name in ("link", "far"):
            self.assertEqual(self.client.get(self.path("download", "out", "/" + name)).text, inside)

    def test_bad_forms(self):
        self.make("form")
        self.upload("form", ("file", "kept", b"before"))
        body, kind = form(("file", "kept", b"after"))
        send = lambda data, how: self.client.call("POST", self.path("upload", "form"), data, {"Content-Type": how})
        self.assertEqual(send(body, "application/json").status, 400)
        self.assertEqual(send(body, "multipart/form-data").status, 400)
        self.assertEqual(send(body[:-20], kind).status, 400)
        self.assertEqual(send(b"", kind).status, 400)
        self.assertEqual(self.upload("form", ("note", None, b"x")).status, 400)
        self.assertEqual(self.upload("form", ("file", "kept", b"after"), ("path", None, b"x/")).status, 400)
        self.assertEqual(self.client.get(self.path("download", "form", "/kept")).body, b"before")


class Handlers(server.Served):
    def make(self, client=None, **fields):
        client = client or self.client
        answer = client.call("POST", "/api/v1/sessions", fields)
        self.assertIn(answer.status, (200, 201), answer)
        self.addCleanup(client.call, "DELETE", "/api/v1/sessions/" + answer.json["id"])
        return answer

    def path(self, session, rest=""):
        return f"/api/v1/sessions/{session}{rest}"

    def start(self, session, code, event=None, **more):
        body = {"code": code, **more}
        if event is not None:
            body["event"] = event
        answer = self.client.call("POST", self.path(session, "/execute"), body)
        self.assertEqual(answer.status, 202, answer)
        self.assertEqual((answer.json["session_id"], answer.json["status"]), (session, "running"))
        return answer.json["execution_id"]

    def result(self, session, execution=None):
        query = "" if execution is None else "?execution_id=" + execution
        found = []

        def ended():
            found[:] = [self.client.get(self.path(session, "/result" + query))]
            return found[0].status != 202
        self.assertTrue(wait_until(ended, server.PATIENCE))
        self.assertEqual(found[0].status, 200, found[0])
        return found[0].json

    def run_handler(self, session, code, event=None, **more):
        return self.result(session, self.start(session, code, event, **more))

    def test_an_ephemeral_session_runs_once(self):
        made = self.make(template="python", agent_id="agent")
        self.assertEqual((made.status, made.json["mode"], made.json["status"], made.json["agent_id"]),
                         (201, "ephemeral", "running", "agent"))
        session = made.json["id"]
        done = self.run_handler(session, "def handler(event, context):\n    print('log')\n    return {'got': event['n'] + 1}", {"n": 41})
        self.assertEqual((done["status"], done["result"], done["stdout"], done["error"]), ("completed", {"got": 42}, "log\n", None))
        status = self.client.get(self.path(session, "/status")).json
        self.assertEqual((status["status"], status["running"], status["last_execution"]["status"]), ("stopped", 0, "completed"))
        self.assertEqual(self.result(session), done)  # kept
        again = self.client.call("POST", self.path(session, "/execute"), {"code": "def handler(e): pass"})
        self.assert_refused(again, 409, "wrong_state")
        self.assertEqual(self.client.call("DELETE", self.path(session)).status, 204)
        other = self.make(template="python", agent_id="agent")
        self.assertEqual(other.status, 201)
        self.assertNotEqual(other.json["id"], session)
        # It is a run as every other, too.
        self.server.wait_written()
        run = self.client.get("/v1/runs/" + done["execution_id"]).json
        self.assertEqual((run["status"], run["stdout"], run["answer"]["result"]), ("ok", "log\n", {"got": 42}))

    def test_a_persistent_session_is_its_agents(self):
        made = self.make(mode="persistent", agent_id="keeps")
        again = self.make(mode="persistent", agent_id="keeps")
        self.assertEqual((made.status, again.status, made.json["id"]), (201, 200, again.json["id"]))
        session = made.json["id"]
        self.assertEqual(self.run_handler(session, "count = 1\ndef handler(event, context):\n    return count")["result"], 1)
        self.assertEqual(self.run_handler(session, "count += 1\ndef handler(event): return count")["result"], 2)
        self.assertEqual(self.client.get(self.path(session)).json["status"], "running")
        # What an earlier one defined is not called in the place of what is missing.
        none = self.run_handler(session, "other = 1")
        self.assertEqual((none["status"], none["error"]["name"]), ("failed", "NameError"))
        self.assertNotEqual(self.make(mode="persistent", agent_id="another").json["id"], session)
        self.assertEqual(self.client.call("DELETE", self.path(session)).status, 204)
        self.assertEqual(self.make(mode="persistent", agent_id="keeps").status, 201)

    def test_what_a_handler_gets_and_gives(self):
        session = self.make(mode="persistent", resources={"memory": "256Mi", "cpu": "0.5"}).json["id"]
        code = ("def handler(event, context):\n    left = context.get_remaining_time_in_millis()\n"
                "    return [event, context.memory_limit_in_mb, 0 < left <= 5000, context.aws_request_id, context.session_id]")
        event = {"__timeout": 5, "text": "\u00fc'\"\\\n\u2028\U0001f600", "deep": [[[{"x": None}]]], "f": 1.5}
        execution = self.start(session, code, event)
        self.assertEqual(self.result(session, execution)["result"], [event, 256, True, execution, session])
        self.assertEqual(self.run_handler(session, "async def handler(event):\n    return 'later'")["result"], "later")
        for event, value in (([1], [1]), ("text", "text"), (7, 7), (None, {})):
            self.assertEqual(self.run_handler(session, "def handler(e, c): return e", event)["result"], value)
        self.assertEqual(self.run_handler(session, "def handler(e, c): pass")["result"], None)

    def test_what_goes_wrong_is_told(self):
        session = self.make(mode="persistent").json["id"]
        for code, name in (("def handler(e, c): 1/0", "ZeroDivisionError"), ("def handler(", "SyntaxError"), ("x = 1", "NameError"),
                           ("def handler(e, c): return object()", "TypeError"), ("def handler(e, c): return float('nan')", "TypeError"),
                           ("def handler(e, c): return 'x' * (2 << 20)", "ValueError"), ("def handler(e, c): return [2 ** 70]", "TypeError"), ("raise KeyError('top')", "KeyError")):
            done = self.run_handler(session, code)
            self.assertEqual((done["status"], done["result"], done["error"]["name"]), ("failed", None, name), done)
        self.assertIn("handler.py", "".join(self.run_handler(session, "def handler(e, c):\n    boom()")["error"]["traceback"]))
        died = self.run_handler(session, "import os\ndef handler(e, c): os._exit(3)")
        self.assertEqual((died["status"], died["error"]["code"]), ("failed", "context_died"))
        self.assertEqual(self.run_handler(session, "def handler(e, c): return 'alive'")["result"], "alive")
        late = self.run_handler(session, "import time\ndef handler(e, c): time.sleep(60)", {"__timeout": 1})
        self.assertEqual((late["status"], late["timed_out"], late["result"]), ("timeout", True, None))
        loud = self.run_handler(session, "def handler(e, c):\n    print('x' * (3 << 20))\n    return 1")
        self.assertEqual((loud["result"], loud["truncated"], len(loud["stdout"])), (1, True, 1 << 20))

    def test_it_runs_while_nobody_waits(self):
        session = self.make(mode="persistent").json["id"]
        execution = self.start(session, "import time, os\ndef handler(e, c):\n    while not os.path.exists('/tmp/go'): time.sleep(0.01)\n    return 1")
        running = self.client.get(self.path(session, "/result"))
        self.assertEqual((running.status, running.json["status"], running.json["execution_id"]), (202, "running", execution))
        second = self.start(session, "def handler(e, c): return 2")
        status = self.client.get(self.path(session, "/status")).json
        self.assertEqual((status["running"], status["last_execution"]["execution_id"]), (2, second))
        many = [self.client.call("POST", self.path(session, "/execute"), {"code": "def handler(e): pass"}).status for _ in range(20)]
        self.assertEqual(set(many), {202, 429}, self.client.get(self.path(session, f"/result?execution_id={execution}")).text)
        self.client.call("PUT", f"/v1/sandboxes/{session}/files?path=/tmp/go", b"")
        self.assertEqual((self.result(session, execution)["result"], self.result(session, second)["result"]), (1, 2))

    def test_who_is_ended_in_the_middle(self):
        session = self.make(mode="persistent").json["id"]
        execution = self.start(session, "import time\ndef handler(e, c): time.sleep(60)")
        self.assertEqual(self.client.call("DELETE", self.path(session)).status, 204)
        done = self.result(session, execution)
        self.assertEqual((done["status"], done["result"]), ("failed", None))
        self.assertTrue(done["error"]["message"])

    def test_bad_requests(self):
        for wrong in ({"mode": "eternal"}, {"mode": 1}, {"template": "../x"}, {"agent_id": ""}, {"agent_id": "x" * 257}, {"agent_id": "a\x00"},
                      {"resources": {"memory": "lots"}}, {"resources": {"memory": "1K"}}, {"resources": {"cpu": "x"}}, {"resources": {"gpu": 1}},
                      {"resources": []}, {"nope": 1}, {"timeout": 0}, {"template": "base", "template_id": "python"}, []):
            self.assert_refused(self.client.call("POST", "/api/v1/sessions", wrong), 400, "invalid_argument")
        self.assert_refused(self.client.call("POST", "/api/v1/sessions", {"template": "none-such"}), 404, "template_not_found")
        session = self.make(mode="persistent").json["id"]
        code = "def handler(e, c): pass"
        for wrong in ({}, {"code": ""}, {"code": 1}, {"code": "a\x00b"}, {"code": code, "language": "perl"}, {"code": code, "x": 1}, "", "[]",
                      *({"code": code, "event": {"__timeout": value}} for value in (0, -1, 3601, 1.5, "5", None, True, [], 1e300))):
            self.assert_refused(self.client.call("POST", self.path(session, "/execute"), wrong), 400, "invalid_argument")
        for seconds in (1, 3600, 5.0):
            self.assertEqual(self.run_handler(session, code, {"__timeout": seconds})["status"], "completed")
        for bad in ("sb" + "a" * 20, "x", "..%2F..", "%20"):
            for method, rest in (("GET", ""), ("DELETE", ""), ("GET", "/status"), ("GET", "/result")):
                self.assert_refused(self.client.call(method, self.path(bad, rest)), 404, "not_found")
            self.assert_refused(self.client.call("POST", self.path(bad, "/execute"), {"code": code}), 404, "not_found")
        fresh = self.make(mode="persistent").json["id"]
        self.assert_refused(self.client.get(self.path(fresh, "/result")), 404, "not_found")
        for unknown in ("x", "rn" + "a" * 20, "%00"):
            answer = self.client.get(self.path(session, "/result?execution_id=" + unknown))
            self.assertEqual(answer.status, 404, (unknown, answer))

    def test_each_project_has_its_own(self):
        theirs = self.server.client(self.server.new_key(project="others")[0])
        session = self.make(mode="persistent", agent_id="same").json["id"]
        execution = self.start(session, "def handler(e, c): return 'ours'")
        self.assertEqual(self.result(session, execution)["result"], "ours")
        own = self.make(client=theirs, mode="persistent", agent_id="same")
        self.assertEqual(own.status, 201)
        for method, path in (("GET", self.path(session)), ("DELETE", self.path(session)), ("GET", self.path(session, "/status")),
                             ("GET", self.path(session, "/result")), ("GET", self.path(session, "/result?execution_id=" + execution)),
                             ("GET", self.path(own.json["id"], "/result?execution_id=" + execution)),
                             ("GET", "/api/v1/containers/" + session), ("GET", f"/api/v1/containers/{session}/logs")):
            self.assert_refused(theirs.call(method, path), 404, "not_found")
        self.assert_refused(theirs.call("POST", self.path(session, "/execute"), {"code": "def handler(e): pass"}), 404, "not_found")
        self.assertEqual([one["id"] for one in theirs.get("/api/v1/containers").json["containers"]], [own.json["id"]])
        # Another session of the same project is another session.
        second = self.make(mode="persistent").json["id"]
        self.assert_refused(self.client.get(self.path(second, "/result?execution_id=" + execution)), 404, "not_found")
        for path in ("/api/v1/containers", "/api/v1/templates", self.path(session)):
            self.assert_refused(self.client.get(path, headers={"X-API-Key": "nope"}), 401, "unauthorized")

    def test_containers_and_templates(self):
        session = self.make(mode="persistent").json["id"]
        container = self.client.get("/api/v1/containers/" + session).json
        self.assertEqual((container["session_id"], container["status"], container["template"]), (session, "running", "python"))
        self.assertIn(session, [one["id"] for one in self.client.get("/api/v1/containers").json["containers"]])
        self.assertEqual(self.client.get(f"/api/v1/containers/{session}/logs").json["entries"][0]["kind"], "created")
        self.assertIn("python", [one["name"] for one in self.client.get("/api/v1/templates").json["templates"]])
        self.client.call("DELETE", self.path(session))
        self.assertNotIn(session, [one["id"] for one in self.client.get("/api/v1/containers").json["containers"]])
        self.assertEqual(self.client.get("/api/v1/containers/" + session).json["status"], "stopped")

    def test_zz_results_outlive_the_server(self):
        session = self.make(mode="persistent").json["id"]
        once = self.make().json["id"]
        kept = {one: self.run_handler(one, "def handler(e, c):\n    print('said')\n    return {'kept': True}") for one in (session, once)}
        self.server.wait_written()
        os.kill(self.server.info["pid"], 9)
        self.assertTrue(wait_until(self.server.is_ready_again, server.PATIENCE))
        self.client.close()
        for one, done in kept.items():
            again = self.client.get(self.path(one, "/result?execution_id=" + done["execution_id"]))
            self.assertEqual((again.status, again.json), (200, done))
        # The sandboxes come back a moment later.
        self.assertTrue(wait_until(lambda: self.client.get(f"/v1/sandboxes/{session}/processes").status == 200, server.PATIENCE))
        self.assertEqual(self.run_handler(session, "def handler(e, c): return 1")["result"], 1)
        self.assertEqual(self.client.get(self.path(once)).json["status"], "stopped")


class Waiting(server.Served):
    """The defaults that users of /workspace/se know, and sessions that wait."""
    env = {"SANDBOX_POOL_SIZE": "2"}

    def figure(self, name):
        labels = '{template="python",engine="jail",of="sessions"} '
        found = [line for line in self.client.get("/metrics").text.splitlines() if line.startswith(name + labels)]
        return int(found[0].rsplit(" ", 1)[1]) if found else 0

    def wait_full(self):
        self.assertTrue(wait_until(lambda: self.figure("glovebox_pool_idle") >= 2, server.PATIENCE))

    def make(self, session, client=None, **fields):
        client = client or self.client
        answer = client.call("POST", "/workspace/se/session/" + session, fields or None)
        self.assertEqual(answer.status, 201, answer)
        self.addCleanup(client.call, "DELETE", "/workspace/se/session/" + session)
        return answer.json

    def test_a_session_that_waited_is_fresh_and_replaced(self):
        self.wait_full()
        self.assertEqual(self.client.get("/v1/sandboxes?state=running").json["sandboxes"], [])  # not taken yet
        before = self.figure("glovebox_pool_hits_total")
        made = [self.make(f"s{number}") for number in range(2)]
        self.assertEqual(self.figure("glovebox_pool_hits_total"), before + 2)
        for one in made:
            self.assertEqual((one["cpu_quota"], one["memory_limit"], one["timeout"], one["allow_network"]),
                             (2, 131072, 300, True))
            sandbox = self.client.get("/v1/sandboxes/" + one["sandbox_id"]).json
            # Its time begins when it is taken.
            self.assertEqual(sandbox["ttl_s"], 3600)
            self.assertLess(abs(seconds(sandbox["expires_at"]) - seconds(sandbox["created_at"]) - 3600), 2)
        for one in ("s0", "s1"):
            answer = self.client.call("POST", "/workspace/se/execute_code/" + one, {"code": "import os; os.getcwd()"})
            self.assertEqual((answer.status, answer.json["result"]), (200, "/home/user"), answer)
        self.assertNotEqual(made[0]["sandbox_id"], made[1]["sandbox_id"])
        self.wait_full()

    def test_other_limits_and_projects_are_made_on_request(self):
        self.wait_full()
        before = self.figure("glovebox_pool_hits_total")
        self.assertEqual(self.make("large", memory_limit=262144)["memory_limit"], 262144)
        other = self.server.client(self.server.new_key(project="other")[0])
        self.make("theirs", client=other)
        self.assertEqual(self.figure("glovebox_pool_hits_total"), before)
        # From its first session on, one waits for another project, too.
        self.assertTrue(wait_until(lambda: self.figure("glovebox_pool_idle") == 3, server.PATIENCE))
        self.make("theirs-too", client=other)
        self.assertEqual(self.figure("glovebox_pool_hits_total"), before + 1)

    def test_what_waited_for_a_killed_server_is_ended_by_the_next(self):
        kept = self.make("kept")["sandbox_id"]
        self.wait_full()
        os.kill(self.server.info["pid"], signal.SIGKILL)
        self.client.close()
        self.assertTrue(wait_until(self.server.is_ready_again, server.PATIENCE))

        def only_what_is_wanted_lives():
            text = self.client.get("/metrics").text
            waiting = server.metric(text, "glovebox_pool_idle") + server.metric(text, "glovebox_pool_making")
            return server.metric(text, "glovebox_sandboxes_alive") == waiting + len(
                self.client.get("/v1/sandboxes?state=running").json["sandboxes"])
        self.assertTrue(wait_until(only_what_is_wanted_lives, server.PATIENCE))
        self.assertEqual(self.client.get("/v1/sandboxes/" + kept).json["state"], "running")

    def test_a_projects_template_keeps_runs_and_sessions_waiting(self):
        body = {"name": "ready", "from": "base", "pool": {"min": 1, "max": 2}, "session_pool": {"min": 1}}
        self.assertEqual(self.client.call("POST", "/v1/templates", body).status, 201)
        self.addCleanup(self.client.call, "DELETE", "/v1/templates/ready")

        def idle(labels):
            return f'glovebox_pool_idle{{template="own",engine="jail"{labels}}} 1' in self.client.get("/metrics").text
        self.assertTrue(wait_until(lambda: idle("") and idle(',of="sessions"'), server.PATIENCE))
        made = self.client.call("POST", "/v1/sandboxes", {"template": "ready"})
        self.assertEqual(made.status, 201, made)
        self.addCleanup(self.client.call, "DELETE", "/v1/sandboxes/" + made.json["id"])
        hit = 'glovebox_pool_hits_total{template="own",engine="jail",of="sessions"} 1'
        self.assertIn(hit, self.client.get("/metrics").text)


class Settings(unittest.TestCase):
    """What users of /workspace/se set in the environment."""

    def refusal(self, **variables):
        environment = sealed.environment(variables)
        ran = subprocess.run([sealed.GLOVEBOX, "serve", "--data-dir", "/tmp/gbx-test-never", "--listen", "127.0.0.1:0"],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, env=environment)
        self.assertEqual(ran.returncode, 2, ran)
        self.assertFalse(os.path.exists("/tmp/gbx-test-never"))
        return ran.stderr

    def test_what_cannot_be_done_is_refused_at_the_start(self):
        for name, value, word in (("SANDBOX_POOL_SIZE", "129", "pools.max"),
                                  ("SANDBOX_CPU_QUOTA", "lots", "CPU"), ("SANDBOX_CPU_QUOTA", "0", "CPU"),
                                  ("SANDBOX_MEMORY_LIMIT", "12", "8192"), ("SANDBOX_MEMORY_LIMIT", "64M", "number"),
                                  ("SANDBOX_TIMEOUT_SECONDS", "0", "from 1"), ("SANDBOX_ALLOW_NETWORK", "perhaps", "true or false")):
            said = self.refusal(**{name: value})
            self.assertIn(name, said)
            self.assertIn(word, said)

    def test_what_can_be_done_is_done(self):
        before = sealed.Nothing()
        served = server.Server(settings={"log.requests": "false"}, env={
            "SANDBOX_CPU_QUOTA": "0.5", "SANDBOX_MEMORY_LIMIT": "131072", "SANDBOX_ALLOW_NETWORK": "false",
            "SANDBOX_TIMEOUT_SECONDS": "2", "SANDBOX_POOL_SIZE": "0", "SANDBOX_WORKER_IMAGE": "not ours"})
        try:
            client = served.client()
            made = client.call("POST", "/workspace/se/session/one").json
            self.assertEqual((made["cpu_quota"], made["memory_limit"], made["timeout"]), (0.5, 131072, 2))
            limits = client.get("/v1/sandboxes/" + made["sandbox_id"]).json["limits"]
            self.assertEqual((limits["cpus"], limits["memory_mb"]), (0.5, 128))
            late = client.call("POST", "/workspace/se/execute/one", {"command": "sleep 60"}).json
            self.assertTrue(late["timed_out"])
            answer = client.call("POST", "/workspace/se/execute/one", {"command": "true", "timeout": 3})
            self.assertEqual(answer.status, 400)
            # Only theirs: our own API is as it was.
            own = client.call("POST", "/v1/sandboxes", {"template": "python"}).json
            self.assertNotEqual(own["limits"]["memory_mb"], 128)
        finally:
            served.stop()
        self.assertFalse(before.still_there(server.PATIENCE))


if __name__ == "__main__":
    sealed.main()
