# POST /v1/functions/invoke: AWS Lambda handlers over HTTP. The contract of a handler is tested in
# tests/runtimes, the command line in sandbox_run_test; here is what the route adds and refuses.
import json
import os
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server

ECHO = "def handler(event, context): return event"


class Functions(server.Served):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.wait_warm("python")

    def post(self, headers=None, **body):
        body.setdefault("language", "python")
        return self.client.call("POST", "/v1/functions/invoke", {k: v for k, v in body.items() if v is not None}, headers)

    def invoke(self, code=ECHO, event=None, **more):
        answer = self.post(code=code, event=event, **more) if event is not None else self.post(code=code, **more)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def refused(self, status, refusal, field="", **body):
        body.setdefault("code", ECHO)
        answer = self.post(**body)
        self.assert_refused(answer, status, refusal)
        self.assertTrue(answer.json["error"]["message"].startswith(field), answer)
        return answer

    # --- answers --------------------------------------------------------------------------------

    def test_a_call_is_warm_and_a_run(self):
        answer = self.invoke(event={"a": [1, 2.5, "ü"]})
        self.assertEqual((answer["result"], answer["error"], answer["warm"], answer["exit_code"], answer["template"]),
                         ({"a": [1, 2.5, "ü"]}, None, True, 0, "python"), answer)
        self.assertEqual(answer["timeout_ms"], 300_000)
        self.assertEqual(len(answer["aws_request_id"]), 36)
        run = self.client.get("/v1/runs/" + answer["id"]).json
        self.assertEqual((run["status"], run["template"], run["language"], run["answer"]["result"]),
                         ("ok", "python", "python", {"a": [1, 2.5, "ü"]}))
        self.assertEqual(self.invoke(cold=True, event=1)["warm"], False)
        self.assertEqual(self.invoke(cold=True, event=1)["result"], 1)

    def test_errors_are_answers(self):
        answer = self.invoke("def handler(e, c): raise KeyError('k')")
        self.assertEqual((answer["result"], answer["error"]["errorType"], answer["error"]["errorMessage"], answer["exit_code"]),
                         (None, "KeyError", "'k'", 1))
        self.assertEqual(answer["error"]["requestId"], answer["aws_request_id"])
        self.assertEqual(self.client.get("/v1/runs/" + answer["id"]).json["status"], "failed")
        for code, kind in (("def", "Runtime.UserCodeSyntaxError"), ("import nope", "Runtime.ImportModuleError"),
                           ("x = 1", "Runtime.HandlerNotFound"), ("def handler(e, c): return object()", "Runtime.MarshalError"),
                           ("import os\ndef handler(e, c): os.abort()", "Runtime.ExitError"),
                           ("import sys\ndef handler(e, c): sys.exit(2)", "Runtime.ExitError")):
            self.assertEqual(self.invoke(code)["error"]["errorType"], kind, code)
        self.assertRegex(self.invoke("import os\ndef handler(e, c): os.abort()")["error"]["errorMessage"], "signal: aborted")
        answer = self.invoke("def handler(e, c): return len(bytearray(500 << 20))", profile={"memory_mb": 64})
        self.assertEqual((answer["error"]["errorType"], answer["oom_killed"]), ("Runtime.OutOfMemory", True), answer)

    def test_an_error_is_never_an_exit_of_success(self):
        for code in ("def handler(e, c): return {1: 2, '1': 4}", "def handler(e, c): return [1] * 600_000", "import sys\ndef handler(e, c): sys.exit(0)",
                     "def handler(e, c):\n v = 1\n for _ in range(70): v = [v]\n return v"):
            answer = self.invoke(code)
            self.assertIsNotNone(answer["error"], code)
            self.assertEqual(answer["exit_code"], 1, code)
            run = self.client.get("/v1/runs/" + answer["id"]).json
            self.assertEqual((run["status"], run["exit_code"]), ("failed", 1), code)

    def test_the_event_keeps_its_order(self):
        event = {"__timeout": 30, "c": 1, "a": 2, "b": 3}
        self.assertEqual(self.invoke("def handler(e, c): return list(e)", event)["result"], ["c", "a", "b"])

    def test_time(self):
        busy = "def handler(e, c):\n print('began', flush=True)\n while True: pass"
        answer = self.invoke(busy, event={"__timeout": 0.3})
        self.assertEqual((answer["timed_out"], answer["error"]["errorType"], answer["timeout_ms"], answer["stdout"]),
                         (True, "Sandbox.Timedout", 300, "began\n"), answer)
        self.assertRegex(answer["error"]["errorMessage"], r"^RequestId: \S+ Error: Task timed out after 0\.30 seconds$")
        self.assertTrue(self.invoke(busy, timeout_ms=200)["timed_out"])
        self.assertTrue(self.invoke(busy, profile={"timeout_ms": 200})["timed_out"])
        answer = self.invoke(busy, profile={"cpu_ms": 200})
        self.assertEqual((answer["timed_out"], "CPU" in answer["error"]["errorMessage"]), (True, True), answer)
        left = "def handler(e, c): return [e, c.get_remaining_time_in_millis()]"
        event, ms = self.invoke(left, event={"__timeout": 3600, "a": 1}, timeout_ms=5000)["result"]
        self.assertEqual(event, {"a": 1})
        self.assertTrue(3000 < ms <= 5000, ms)

    def test_environment(self):
        code = "import os, helper\ndef handler(e, c):\n open('out.txt', 'w').write('made'); return [helper.x, os.environ['A'], os.getcwd(), c.memory_limit_in_mb, c.function_name, __name__]"
        answer = self.invoke(code, files=[{"path": "helper.py", "content": "x = 5"}], env={"A": "b"}, profile={"memory_mb": 77},
                             return_files=["out.txt"], context={"function_name": "mine"}, handler="app.handler", min_grade="jail-partial")
        self.assertEqual(answer["result"], [5, "b", "/home/user", 77, "mine", "app"])
        self.assertEqual([(f["path"], f["content"]) for f in answer["files"]], [("/home/user/out.txt", "made")])

    def test_javascript(self):
        if not os.path.exists("/usr/bin/node"):
            self.skipTest("node is not installed")
        answer = self.invoke("exports.handler = async (e) => e.a + 1", {"a": 1}, language=None, runtime="nodejs20.x")
        self.assertEqual((answer["result"], answer["template"]), (2, "node"))
        answer = self.invoke("exports.handler = () => Promise.reject()", language="javascript")
        self.assertEqual((answer["error"]["errorType"], answer["exit_code"]), ("undefined", 1), answer)
        answer = self.invoke("exports.handler = async () => '\\ud800'", language="javascript")
        self.assertEqual((answer["error"]["errorType"], answer["exit_code"]), ("Runtime.MarshalError", 1), answer)
        answer = self.invoke("export const f = (e, c, done) => done(null, c.functionName)", {}, language="javascript", handler="index.f", file_name="index.mjs")
        self.assertEqual(answer["result"], "index")

    def test_templates(self):
        self.server.wait_warm("python-data")
        self.assertEqual(self.invoke("import sys\ndef handler(e, c): return 'numpy' in sys.modules", language=None, template="python-data")["result"], True)
        self.refused(400, "invalid_argument", "template: ", language=None, template="base")
        self.refused(400, "invalid_argument", "template: ", template="node")
        self.refused(404, "template_not_found", language=None, template="nope")

    def test_numbers_keep_their_digits(self):
        answer = self.post(code="def handler(e, c): return [2**70, 1.50, 1e22, 0.1]")
        self.assertIn(b'"result":[1180591620717411303424, 1.5, 1e+22, 0.1],', answer.body)

    def test_live(self):
        response = self.client.send("POST", "/v1/functions/invoke", {"language": "python", "code": "def handler(e, c):\n print('a log')\n return [1]"},
                                    {"Accept": "application/x-ndjson"})
        events = [json.loads(line) for line in self.client.take(response).body.splitlines()]
        self.assertEqual([event["event"] for event in events], ["stdout", "exit"])
        self.assertEqual((events[0]["text"], events[1]["result"], events[1]["error"]), ("a log\n", [1], None))

    def test_idempotency(self):
        key = {"Idempotency-Key": "function-1"}
        code = "import uuid\ndef handler(e, c): return str(uuid.uuid4())"
        first, second = self.post(key, code=code), self.post(key, code=code)
        self.assertEqual((first.status, first.body), (200, second.body))
        self.assertEqual(second.headers["Idempotent-Replayed"], "true")
        self.assert_refused(self.post(key, code=ECHO), 422, "idempotency_key_reused")

    # --- refusals -------------------------------------------------------------------------------

    def test_words_that_are_wrong(self):
        bad = lambda field, **body: self.refused(400, "invalid_argument", field, **body)
        bad("code:", code=None)
        bad("code:", code="")
        bad("code:", code="a\0b")
        bad("language:", language=None)
        bad("language:", language="shell")
        bad("runtime:", runtime="ruby3.3")
        bad("runtime:", runtime="nodejs20.x")
        for handler in ("", "..", "../x.y", "a b", "/etc/x.y", "a\n.b", 5):
            bad("handler:", handler=handler)
        bad("file_name:", file_name="../a.py")
        for time in (0, -1, 3600.5, "1", True, [], 1e300):
            bad("event.__timeout:", event={"__timeout": time})
        bad("timeout_ms:", timeout_ms=3_600_001)
        bad("timeout_ms:", timeout_ms=0)
        bad("context:", context=[])
        bad("context.function_name:", context={"function_name": 1})
        bad("context.__class__:", context={"__class__": 1})
        bad("profile.memory_mb:", profile={"memory_mb": 1})
        bad("stdin:", stdin="x")
        bad("evnt: unknown field; did you mean \"event\"?", evnt=1)
        answer = self.client.call("POST", "/v1/functions/invoke", b'{"language":"python","code":"x","code":"y"}')
        self.assert_refused(answer, 400, "invalid_argument")
        deep = b'{"language":"python","code":"x","event":' + b"[" * 200 + b"]" * 200 + b"}"
        self.assert_refused(self.client.call("POST", "/v1/functions/invoke", deep), 400, "invalid_argument")

    def test_who_may(self):
        self.assertEqual(self.post({"X-API-Key": "nope"}, code=ECHO).status, 401)
        self.refused(403, "policy", profile={"mounts": [{"name": "nope", "path": "/a"}]})
        secret, _ = self.server.new_key(project="other")
        answer = self.invoke(event=1)
        with self.server.client(secret) as other:
            self.assertEqual(other.get("/v1/runs/" + answer["id"]).status, 404)

    # --- hostile --------------------------------------------------------------------------------

    def test_code_of_a_run_is_never_a_call(self):
        # The name of a job is ours; a run whose code looks like a call is a program like any other.
        call = json.dumps({"code": ECHO, "module": "a", "function": "handler", "file": "a.py", "timeout_ms": 1, "context": {}, "event": 1})
        answer = self.client.python(call, args=["glovebox:function"])
        self.assertIn("application/json", answer["result"])

    def test_two_at_once_see_nothing_of_each_other(self):
        results = {}

        def one(number):
            with self.server.client() as client:
                body = {"language": "python", "event": number,
                        "code": "import os, time\ndef handler(e, c):\n open('/tmp/mine', 'x').write(str(e)); time.sleep(0.05)\n return [e, open('/tmp/mine').read(), os.listdir('/tmp')]"}
                results[number] = client.call("POST", "/v1/functions/invoke", body).json["result"]

        threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, {number: [number, str(number), ["mine"]] for number in range(8)})

    def test_floods_and_forgery_harm_nobody(self):
        forge = """import os, base64
def handler(event, context):
    line = b'{"type":"function","value":"' + base64.b64encode(event.encode()) + b'","import_ms":-5,"handler_ms":1e300}\\n'
    os.write(100, b'{"type":"exit","code":0}\\n' + line + b'{"id":"forged","isolation":{"grade":"vm"}}\\n')
    os._exit(0)"""
        answer = self.invoke(forge, '{"result": 1}')
        self.assertEqual((answer["result"], answer["isolation"]["engine"]), ({"result": 1}, "jail"), answer)
        self.assertEqual(answer["phases"], {"import_ms": None, "handler_ms": None})
        for event in ('1}, "id": "forged"', "nan", "", "[1,", '"\\ud800"', "[" * 500 + "]" * 500):
            answer = self.invoke(forge, event)
            self.assertEqual((answer["result"], answer["error"]["errorType"]), (None, "Runtime.MarshalError"), event)
            self.assertTrue(answer["id"].startswith("rn"))
        # A number that is not finite is not JSON that the server reads: such a line is no report.
        answer = self.invoke(forge.replace("1e300", "1e999"), '{"result": 1}')
        self.assertEqual((answer["result"], answer["error"]["errorType"]), (None, "Runtime.ExitError"), answer)
        flood = "import os\ndef handler(e, c):\n for _ in range(2000): os.write(100, b'x' * 10000 + b'\\n')\n print('y' * 5_000_000)\n return 1"
        answer = self.invoke(flood)
        self.assertTrue(answer["truncated"], answer["metrics"])
        self.assertEqual(self.invoke(event=5)["result"], 5)

    def test_a_forged_value_begins_no_event(self):
        code = """import os, base64
def handler(event, context):
    os.write(100, b'{"type":"function","value":"' + base64.b64encode(event.encode()) + b'"}\\n')
    os._exit(0)"""
        forged = '{"event":"exit","result":"forged","error":null,"isolation":{"grade":"vm"}}'
        body = {"language": "python", "code": code, "event": f'[1,\n{forged}\n,\r\n\r\n2]'}
        for form in ("application/x-ndjson", "text/event-stream"):
            response = self.client.send("POST", "/v1/functions/invoke", body, {"Accept": form})
            text = self.client.take(response).text
            self.assertEqual(len([line for line in text.splitlines() if line.strip()]), 1 if form.endswith("ndjson") else 2, text)
            self.assertIn('"isolation":{"engine":"jail"', text)

    def test_many_values(self):
        self.assertEqual(len(self.invoke("def handler(e, c): return list(range(e))", 300_000)["result"]), 300_000)
        answer = self.invoke("def handler(e, c): return [0] * e", 1_000_000)
        self.assertEqual(answer["error"]["errorType"], "Runtime.MarshalError")
        self.assertEqual(self.invoke("def handler(e, c): return len(e)", list(range(200_000)))["result"], 200_000)


if __name__ == "__main__":
    sealed.main()
