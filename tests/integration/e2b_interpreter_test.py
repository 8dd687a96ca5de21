# E2B's code interpreter over plain HTTP, as the protocol says it: the stream's lines, contexts,
# charts and tables, what happens to clients that go and sandboxes that end.
import http.client
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server

TEMPLATE = "code-interpreter-v1"
INTERPRETERS = {"typescript": "/usr/share/nodejs/typescript", "r": "/usr/bin/Rscript", "java": "/usr/bin/jshell"}


class Sandbox:
    def __init__(self, client, **fields):
        answer = client.call("POST", "/sandboxes", {"templateID": TEMPLATE, "timeout": 300, **fields})
        if answer.status != 201:
            raise AssertionError(answer)
        self.client, self.made = client, answer.json
        self.id = self.made["sandboxID"]
        self.words = {"E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": "49999", "X-API-Key": None, "Content-Type": "application/json"}

    def kill(self):
        return self.client.call("DELETE", f"/sandboxes/{self.id}")

    def call(self, method, path, body=None, **headers):
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.call(method, path, body, {**self.words, **more})

    def execute(self, code, **more):
        """The lines of an execution, which must be as they should."""
        answer = self.call("POST", "/execute", {"code": code, **more}, X_Access_Token=self.made["envdAccessToken"])
        if answer.status != 200:
            raise AssertionError(answer)
        assert max(answer.body) < 128 and answer.body.endswith(b"\n") and b"\n\n" not in answer.body, answer
        lines = [json.loads(line) for line in answer.body.splitlines()]
        assert lines[0]["type"] == "number_of_executions" and lines[-1] == {"type": "end_of_execution"}, lines
        return lines

    def stream(self, code, **more):
        """A connection of its own, whose answer has begun."""
        connection = http.client.HTTPConnection(*self.client.address, timeout=server.PATIENCE)
        words = {name: value for name, value in self.words.items() if value}
        connection.request("POST", "/execute", json.dumps({"code": code, **more}), {**words, "X-Access-Token": self.made["envdAccessToken"]})
        return connection, connection.getresponse()


def text_of(lines, kind="stdout"):
    return "".join(line["text"] for line in lines if line["type"] == kind)


def of_type(lines, kind):
    return [line for line in lines if line["type"] == kind]


def main_text(lines):
    return [line["text"] for line in of_type(lines, "result") if line["is_main_result"]]


class Interpreter(server.Served):
    def setUp(self):
        super().setUp()
        self.sandbox = Sandbox(self.client)
        self.addCleanup(self.sandbox.kill)

    def test_an_execution(self):
        lines = self.sandbox.execute("import sys\nx = 20\nprint('h\u00e9\U0001F600')\nprint('w', file=sys.stderr)\nx + 22")
        self.assertEqual(lines[0], {"type": "number_of_executions", "execution_count": 1})
        self.assertEqual((text_of(lines), text_of(lines, "stderr"), main_text(lines)), ("h\u00e9\U0001F600\n", "w\n", ["42"]))
        self.assertRegex(lines[1]["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(of_type(lines, "result")[0], {"type": "result", "text": "42", "is_main_result": True, "extra": {}})
        lines = self.sandbox.execute("x")
        self.assertEqual((lines[0]["execution_count"], main_text(lines)), (2, ["20"]))
        self.assertEqual(main_text(self.sandbox.execute("'it is \"text\"'")), ['it is "text"'])
        self.assertEqual(main_text(self.sandbox.execute("import os; os.getcwd()")), ["/home/user"])

    def test_an_error(self):
        lines = self.sandbox.execute("y = 1\n1/0")
        [error] = of_type(lines, "error")
        self.assertEqual((error["name"], error["value"]), ("ZeroDivisionError", "division by zero"))
        self.assertIn("1/0", error["traceback"])
        self.assertEqual(text_of(lines, "stderr"), "")
        self.assertEqual(main_text(self.sandbox.execute("y")), ["1"])
        [error] = of_type(self.sandbox.execute("import json; json.loads('{')"), "error")
        self.assertEqual(error["name"], "JSONDecodeError")

    def test_languages(self):
        lines = self.sandbox.execute("const a = [1, 2]; console.log('hi'); ({n: a.length})", language="js")
        self.assertEqual((text_of(lines), main_text(lines)), ("hi\n", ["{ n: 2 }"]))
        self.assertEqual(main_text(self.sandbox.execute("a.length", language="javascript")), ["2"])
        lines = self.sandbox.execute("echo hi; pwd; v=5", language="bash")
        self.assertEqual(text_of(lines), "hi\n/home/user\n")
        self.assertEqual(text_of(self.sandbox.execute("echo $v", language="bash")), "5\n")
        [error] = of_type(self.sandbox.execute("false", language="bash"), "error")
        self.assertIn("exit code 1", error["value"])
        self.assertEqual(self.sandbox.call("POST", "/contexts", {"language": "cobol"}).status, 400)

    def check_language(self, language, package, checks, envs):
        """State, a directory, and variables of the sandbox and of one execution, in default contexts and others."""
        if not os.path.exists(INTERPRETERS[language]):
            [error] = of_type(self.sandbox.execute("1", language=language), "error")
            self.assertEqual(error["name"], "UnsupportedLanguage")
            self.assertIn(package, error["value"])
            self.skipTest(package + " is not installed")
        sandbox = Sandbox(self.client, envVars={"S": "s"})
        self.addCleanup(sandbox.kill)
        for code, shown in checks.items():
            lines = sandbox.execute(code, language=language)
            self.assertEqual(of_type(lines, "error"), [], code)
            self.assertEqual((text_of(lines), [one.strip() for one in main_text(lines)]), shown, code)
        code, with_both, without = envs
        self.assertEqual(main_text(sandbox.execute(code, language=language, env_vars={"S": "now", "T": "t"})), [with_both])
        self.assertEqual(main_text(sandbox.execute(code, language=language)), [without])
        made = sandbox.call("POST", "/contexts", {"language": language, "cwd": "/tmp"})
        self.assertEqual((made.status, made.json["language"], made.json["cwd"]), (200, language, "/tmp"), made)
        self.assertIn(language, [one["language"] for one in sandbox.call("GET", "/contexts").json])
        return sandbox, made.json["id"]

    def test_typescript(self):
        sandbox, context = self.check_language("typescript", "node-typescript", {
            "interface P { x: number }\nconst p: P = { x: 20 }": ("", []), "p.x + 1": ("", ["21"]), "process.cwd()": ("", ["/home/user"]),
            "function sub(a: number, b: number): number {\n  return a - b\n}\nconsole.log('hi'); sub(1, 2)": ("hi\n", ["-1"]),
            "    const later = async (): Promise<string> => 'x'\n    await later()": ("", ["x"])},
            ("`${process.env.S} ${process.env.T}`", "now t", "s undefined"))
        self.assertEqual(main_text(sandbox.execute("process.cwd()", context_id=context)), ["/tmp"])
        [error] = of_type(sandbox.execute("let y: = 1", language="ts"), "error")
        self.assertEqual(error["name"], "SyntaxError")

    def test_r(self):
        sandbox, context = self.check_language("r", "r-base-core", {
            "x <- c(1, 2)": ("", []), "sum(x)": ("", ["[1] 3"]), "print('hello')": ('[1] "hello"\n', []), "getwd()": ("", ['[1] "/home/user"'])},
            ("paste(Sys.getenv('S'), Sys.getenv('T'))", '[1] "now t"', '[1] "s "'))
        self.assertEqual(main_text(sandbox.execute("getwd()", context_id=context)), ['[1] "/tmp"'])
        pictures = [one for one in of_type(sandbox.execute("plot(1:3)", language="R"), "result") if one.get("png")]
        self.assertEqual(len(pictures), 1)
        [error] = of_type(sandbox.execute("stop('boom')", language="r"), "error")
        self.assertEqual((error["name"], error["value"]), ("Error", "boom"))

    def test_java(self):
        sandbox, context = self.check_language("java", "openjdk-17-jdk-headless", {
            "int x = 20;": ("", []), "x + 1": ("", ["21"]), 'System.out.println("Hello")': ("Hello\n", []), 'System.getProperty("user.dir")': ("", ["/home/user"])},
            ('System.getProperty("S") + " " + System.getProperty("T")', "now t", "s null"))
        self.assertEqual(main_text(sandbox.execute('System.getProperty("user.dir")', context_id=context)), ["/tmp"])
        self.assertEqual(main_text(sandbox.execute('System.getenv("S")', language="java")), ["s"])
        [error] = of_type(sandbox.execute("int y = \"text\";", language="java"), "error")
        self.assertEqual(error["name"], "CompilationError")

    def test_a_directory_of_roots(self):
        made = self.sandbox.call("POST", "/contexts", {"cwd": "/root"})
        self.assertEqual((made.status, made.json["cwd"]), (200, "/root"), made)
        shown = main_text(self.sandbox.execute("import os; os.getcwd(), os.getuid(), os.environ['HOME']", context_id=made.json["id"]))
        self.assertEqual(shown, ["('/root', 0, '/root')"])
        self.sandbox.call("POST", f"/contexts/{made.json['id']}/restart")
        self.assertEqual(main_text(self.sandbox.execute("import os; os.getuid()", context_id=made.json["id"])), ["0"])
        self.assertEqual(main_text(self.sandbox.execute("import os; os.getuid()")), ["1000"])
        self.assertEqual(self.sandbox.call("POST", "/contexts", {"cwd": "/nowhere"}).status, 400)

    def test_no_other_directory_makes_an_interpreter_roots(self):
        self.sandbox.execute("import os; os.makedirs('/home/user/closed'); os.chmod('/home/user/closed', 0)")
        for directory in ("/home/user/closed", "/root/../home/user/closed"):
            made = self.sandbox.call("POST", "/contexts", {"cwd": directory})
            self.assertEqual(made.status, 400, made)

    def test_cells_of_a_notebook(self):
        run = self.sandbox.execute
        self.assertEqual(main_text(run("\n    x = 5\n    if x:\n        x += 1\n    x\n")), ["6"])
        self.assertEqual(main_text(run("_ + 1")), ["7"])
        self.assertEqual(main_text(run("_ + __, Out[1], _2")), ["(13, 6, 7)"])
        self.assertEqual(text_of(run("    n = 2\n    !echo {n} $HOME; which python; python -c 'print(3)'")), "2 /home/user\n/usr/bin/python\n3\n")
        lines = run("    from PIL import Image\n    image = Image.new('RGB', (2, 2))\n    image.save('test.png')\n    image.show()\n    print('saved')")
        self.assertEqual((text_of(lines), [bool(one.get("png")) for one in of_type(lines, "result")]), ("saved\n", [True, True]))
        [result] = of_type(run("import matplotlib.pyplot as plt\nplt.pie([90, 10], labels=['No', 'Yes'])\nplt.show()"), "result")
        self.assertEqual([(one["label"], one["angle"]) for one in result["chart"]["elements"]], [("No", 324), ("Yes", 36)])

    def test_contexts(self):
        default = [("python", "/home/user"), ("javascript", "/home/user")]
        listed = self.sandbox.call("GET", "/contexts").json
        self.assertEqual([(one["language"], one["cwd"]) for one in listed], default)
        made = [self.sandbox.call("POST", "/contexts", {"cwd": "/tmp"}).json, self.sandbox.call("POST", "/contexts").json]
        self.assertEqual((made[0]["language"], made[0]["cwd"], made[1]["cwd"]), ("python", "/tmp", "/home/user"))
        self.assertEqual(self.sandbox.call("GET", "/contexts").json, listed + made)
        one = made[0]["id"]
        self.sandbox.execute("v = 7", context_id=one)
        self.assertEqual(main_text(self.sandbox.execute("import os; v, os.getcwd()", context_id=one)), ["(7, '/tmp')"])
        self.assertEqual(of_type(self.sandbox.execute("v"), "error")[0]["name"], "NameError")
        self.assertEqual(self.sandbox.call("POST", f"/contexts/{one}/restart").status, 200)
        lines = self.sandbox.execute("v", context_id=one)
        self.assertEqual((lines[0]["execution_count"], of_type(lines, "error")[0]["name"]), (1, "NameError"))
        self.assertEqual(main_text(self.sandbox.execute("1", context_id=listed[0]["id"])), ["1"])
        self.assertEqual(self.sandbox.call("DELETE", f"/contexts/{one}").status, 200)
        self.assertEqual(self.sandbox.call("GET", "/contexts").json, listed + made[1:])
        token = self.sandbox.made["envdAccessToken"]
        for method, path, body in (("POST", "/execute", {"code": "1", "context_id": one}), ("POST", f"/contexts/{one}/restart", None), ("DELETE", f"/contexts/{one}", None)):
            answer = self.sandbox.call(method, path, body, X_Access_Token=token)
            self.assertEqual((answer.status, answer.headers["Content-Type"][:10]), (404, "text/plain"), answer)
        answer = self.sandbox.call("POST", "/execute", {"code": "1", "context_id": made[1]["id"], "language": "python"}, X_Access_Token=token)
        self.assertEqual(answer.status, 400)
        self.assertEqual(self.sandbox.call("GET", "/health").json, "OK")

    def test_variables_of_one_execution(self):
        sandbox = Sandbox(self.client, envVars={"S": "s"})
        self.addCleanup(sandbox.kill)
        code = {"python": "import os; print(os.environ.get('S'), os.environ.get('T', ''))", "bash": "echo $S $T", "javascript": "console.log(process.env.S, process.env.T ?? '')"}
        for language, text in code.items():
            with self.subTest(language):
                self.assertEqual(text_of(sandbox.execute(text, language=language, env_vars={"S": "now", "T": "t"})).split(), ["now", "t"])
                self.assertEqual(text_of(sandbox.execute(text, language=language)).split(), ["s"])

    def test_pictures_charts_and_tables(self):
        lines = self.sandbox.execute("import matplotlib.pyplot as plt\nplt.bar(['a', 'b'], [1, 2], label='g')\nplt.title('T')\nplt.show()")
        [result] = of_type(lines, "result")
        self.assertFalse(result["is_main_result"])
        self.assertTrue(result["png"].startswith("iVBOR"))
        self.assertEqual(result["chart"], {"type": "bar", "title": "T", "x_label": None, "x_unit": None, "y_label": None, "y_unit": None,
                                           "elements": [{"label": "a", "group": "g", "value": 1}, {"label": "b", "group": "g", "value": 2}]})
        [result] = of_type(self.sandbox.execute("import pandas as pd\npd.DataFrame({'n': [1, 2], 'w': ['x', None]})"), "result")
        self.assertEqual(result["data"], {"n": [1, 2], "w": ["x", None]})
        self.assertIn("<table", result["html"])
        lines = self.sandbox.execute("class L:\n    def _repr_latex_(self): return '$x$'\n    def _repr_mimebundle_(self, *_): return {'a/b': 'c'}\ndisplay(L())\n1")
        self.assertEqual([(one["is_main_result"], one.get("latex"), one["extra"]) for one in of_type(lines, "result")], [(False, "$x$", {"a/b": "c"}), (True, None, {})])
        # A /v1 client of the same context has what it always had.
        answer = self.client.call("POST", f"/v1/sandboxes/{self.sandbox.id}/code", {"code": "plt.plot([1, 2])\nplt.show()\n[1]"}).json
        self.assertEqual((answer["result"]["application/json"], sorted(answer["results"][0])), ([1], ["image/png", "text/plain"]))

    def test_who_leaves_interrupts_the_code(self):
        for language, code in (("python", "import time\nz = 3\nprint('go')\nwhile True: time.sleep(0.01)"), ("javascript", "console.log('go'); for (;;) {}"), ("bash", "echo go; sleep 1000")):
            with self.subTest(language):
                connection, response = self.sandbox.stream(code, language=language)
                while b"go" not in response.readline():
                    pass
                connection.close()
                response.close()
                begun = time.monotonic()
                self.sandbox.execute("", language=language)
                self.assertLess(time.monotonic() - begun, 20)
        self.assertEqual(main_text(self.sandbox.execute("z")), ["3"])

    def test_headers_and_the_first_line_come_at_once_and_silence_is_broken(self):
        connection, response = self.sandbox.stream("import time; time.sleep(7); 'done'")
        self.addCleanup(connection.close)
        self.assertEqual(json.loads(response.readline())["type"], "number_of_executions")
        self.assertEqual(json.loads(response.readline()), {"type": "keepalive"})
        rest = [json.loads(line) for line in response.read().splitlines()]
        self.assertEqual([line["type"] for line in rest], ["result", "end_of_execution"])

    def test_a_sandbox_that_is_killed_cuts_the_connection(self):
        connection, response = self.sandbox.stream("import time; print('go'); time.sleep(1000)")
        self.addCleanup(connection.close)
        while b"go" not in response.readline():
            pass
        self.sandbox.kill()
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            response.read()
        answer = self.sandbox.call("GET", "/health")
        self.assertEqual((answer.status, answer.json["message"].split(",")[0]), (502, "The sandbox was not found"))

    def test_an_interpreter_that_dies(self):
        [error] = of_type(self.sandbox.execute("import os; os.kill(os.getpid(), 9)"), "error")
        self.assertEqual(error["name"], "ContextDied")
        self.assertEqual(main_text(self.sandbox.execute("2")), ["2"])

    def test_a_restart_ends_what_runs(self):
        connection, response = self.sandbox.stream("print('go')\nwhile True: pass")
        self.addCleanup(connection.close)
        while b"go" not in response.readline():
            pass
        self.assertEqual(self.sandbox.call("POST", "/contexts/python/restart").status, 200)
        self.assertIn(b"ContextDied", response.read())
        self.assertEqual(main_text(self.sandbox.execute("3")), ["3"])

    def test_one_after_the_other_in_one_context_and_at_once_in_two(self):
        self.sandbox.execute("t = []")
        other = self.sandbox.call("POST", "/contexts").json["id"]
        answers = {}

        def run(name, **more):
            client = self.server.client()
            sandbox = Sandbox.__new__(Sandbox)
            sandbox.__dict__.update(self.sandbox.__dict__, client=client)
            answers[name] = sandbox.execute("import time; b = time.monotonic(); time.sleep(0.6); print(b, time.monotonic())", **more)

        threads = [threading.Thread(target=run, args=(n,), kwargs=more) for n, more in (("a", {}), ("b", {}), ("c", {"context_id": other}))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        spans = {name: [float(word) for word in text_of(lines).split()] for name, lines in answers.items()}
        first, second = sorted((spans["a"], spans["b"]))
        self.assertLessEqual(first[1], second[0])
        self.assertLess(spans["c"][0], second[1])
        self.assertEqual(sorted(answers[name][0]["execution_count"] for name in "ab"), [2, 3])

    def test_who_may_come_in(self):
        for token in (None, "", "ea_" + "0" * 64):
            answer = self.sandbox.call("POST", "/execute", {"code": "1"}, X_Access_Token=token)
            self.assertEqual((answer.status, answer.json["code"]), (401, 401))
        private = Sandbox(self.client, network={"allowPublicTraffic": False})
        self.addCleanup(private.kill)
        self.assertEqual(private.call("GET", "/contexts").status, 502)
        traffic = private.made["trafficAccessToken"]
        self.assertEqual(private.call("GET", "/contexts", E2B_Traffic_Access_Token=traffic).status, 200)
        answer = private.call("POST", "/execute", {"code": "1"}, E2B_Traffic_Access_Token=traffic, X_Access_Token=private.made["envdAccessToken"])
        self.assertEqual(answer.status, 200)

    def test_much_of_it(self):
        lines = self.sandbox.execute("print('x' * 3_000_000)\nimport matplotlib.pyplot as plt\nplt.plot(range(30_000))\nplt.show()")
        self.assertEqual(len(text_of(lines)), 3_000_001)
        [result] = of_type(lines, "result")
        self.assertIn("png", result)
        self.assertNotIn("chart", result)


if __name__ == "__main__":
    sealed.main()
