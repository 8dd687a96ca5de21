"""The guest half of Python handlers: the contract of AWS Lambda, its errors, and what a hostile one can do."""
import json
import os
import tempfile
import unittest

from lambda_calls import python


class Contract(unittest.TestCase):
    def test_event_in_value_out(self):
        for value in (None, True, 0, -1.5, "ü\U0001f600", [1, [2]], {"a": {"b": [None]}}, 2 ** 70):
            with self.subTest(value):
                called = python("def handler(event, context): return event", value)
                self.assertEqual((called.value, called.status, called.out, called.err), (value, 0, "", ""), called)
                self.assertEqual(called.exits, [{"type": "exit", "code": 0}])

    def test_json_as_lambda_writes_it(self):
        called = python("def handler(e, c): return {'statusCode': 200, 1: 'ü', 'f': 1e22}")
        self.assertEqual(called.text, '{"statusCode": 200, "1": "ü", "f": 1e+22}')
        called = python("from decimal import Decimal\ndef handler(e, c): return [Decimal('3'), Decimal('1.5')]")
        self.assertEqual(called.value, [3, 1.5])

    def test_the_context(self):
        code = """def handler(event, context):
    left = context.get_remaining_time_in_millis()
    return {name: getattr(context, name) for name in event} | {
        'left': left, 'identity': context.identity.cognito_identity_id, 'client': context.client_context is None, 'repr': repr(context)}"""
        names = ["aws_request_id", "function_name", "function_version", "invoked_function_arn", "memory_limit_in_mb",
                 "log_group_name", "log_stream_name", "stage"]
        value = python(code, names, context={"stage": "test"}, timeout_ms=3000).value
        self.assertEqual(value["aws_request_id"], "id-1")
        self.assertEqual(value["memory_limit_in_mb"], 128)
        self.assertEqual(value["stage"], "test")
        self.assertTrue(0 < value["left"] <= 3000, value)
        self.assertIsNone(value["identity"])
        self.assertTrue(value["client"])
        self.assertTrue(value["repr"].startswith("LambdaContext("), value)

    def test_identity_and_client_context(self):
        code = """def handler(event, context):
    return [context.identity.cognito_identity_id, context.client_context.custom, context.client_context.client.app_title]"""
        called = python(code, context={"identity": {"cognito_identity_id": "me"},
                                       "client_context": {"custom": {"a": 1}, "client": {"app_title": "x"}}})
        self.assertEqual(called.value, ["me", {"a": 1}, "x"])

    def test_time_goes_by(self):
        code = """import time
def handler(event, context):
    first = context.get_remaining_time_in_millis(); time.sleep(0.05)
    return first - context.get_remaining_time_in_millis()"""
        self.assertGreaterEqual(python(code).value, 49)
        self.assertEqual(python("def handler(e, c):\n while c.get_remaining_time_in_millis(): pass\n return 0", timeout_ms=20).value, 0)

    def test_the_environment_is_lambdas(self):
        code = "import os\ndef handler(event, context): return {n: os.environ.get(n) for n in event}"
        value = python(code, ["_HANDLER", "AWS_LAMBDA_FUNCTION_NAME", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "MINE"],
                       env=["MINE=1", "AWS_LAMBDA_FUNCTION_NAME=own"]).value
        self.assertEqual(value, {"_HANDLER": "app.handler", "AWS_LAMBDA_FUNCTION_NAME": "own",
                                 "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "128", "MINE": "1"})

    def test_a_job_without_an_environment_has_the_processs_own(self):
        self.assertEqual(python("import os\ndef handler(e, c): return os.environ.get('PATH')", env=()).value, "/usr/bin:/bin")

    def test_the_module_is_one(self):
        code = """import inspect, pickle, sys
class Thing: pass
def handler(event, context):
    return [__name__, __file__.rpartition('/')[2], inspect.getsource(Thing), pickle.loads(pickle.dumps(Thing())).__class__ is Thing,
            sys.modules['own_app'].handler is handler, sys.argv]"""
        self.assertEqual(python(code, module="own_app", file="own_app.py").value,
                         ["own_app", "own_app.py", "class Thing: pass\n", True, True, ["own_app.py"]])

    def test_a_handler_called_like_a_module_of_pythons(self):
        self.assertEqual(python("import json\ndef handler(e, c): return json.dumps([1])", module="json", file="json.py").value, "[1]")

    def test_modules_beside_it(self):
        with tempfile.TemporaryDirectory() as place:
            with open(os.path.join(place, "helper.py"), "w") as file:
                file.write("def double(x): return 2 * x\n")
            self.assertEqual(python("from helper import double\ndef handler(e, c): return double(e)", 4, workdir=place).value, 8)

    def test_what_it_prints_are_logs(self):
        called = python("import sys\nprint('at import')\ndef handler(e, c):\n print('out'); print('err', file=sys.stderr); c.log('log'); return 1")
        self.assertEqual((called.value, called.out, called.err), (1, "at import\nout\nlog", "err\n"))

    def test_the_root_logger_is_lambdas(self):
        code = """import logging
logging.getLogger().setLevel(logging.INFO)
def handler(event, context):
    print('first'); logging.info('hello %s', event); logging.debug('not this'); logging.getLogger('x').warning('careful')"""
        lines = python(code, "you").out.splitlines()
        self.assertEqual(lines[0], "first")
        self.assertRegex(lines[1], r"^\[INFO\]\t\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\tid-1\thello you$")
        self.assertRegex(lines[2], r"^\[WARNING\]\t.*\tid-1\tcareful$")
        self.assertEqual(len(lines), 3)
        with tempfile.TemporaryDirectory() as place:
            with open(os.path.join(place, "helper.py"), "w") as file:
                file.write("import logging\ndef warn(x): logging.warning(x)\n")
            self.assertRegex(python("import helper\ndef handler(e, c): helper.warn('w')", workdir=place).out, r"^\[WARNING\]\t.*\tw\n$")

    def test_coroutines_are_run(self):
        self.assertEqual(python("import asyncio\nasync def handler(e, c):\n await asyncio.sleep(0)\n return 5").value, 5)

    def test_phases_are_told(self):
        called = python("import time\ntime.sleep(0.02)\ndef handler(e, c): time.sleep(0.03)")
        self.assertGreaterEqual(called.phases["import_ms"], 19)
        self.assertGreaterEqual(called.phases["handler_ms"], 29)

    def test_what_it_left_running_does_not_hold_the_answer_up(self):
        code = """import threading, time
def handler(event, context):
    threading.Thread(target=time.sleep, args=(60,)).start()
    return 'done'"""
        self.assertEqual(python(code).value, "done")


class Errors(unittest.TestCase):
    def test_an_exception(self):
        called = python("def inner():\n    raise ValueError('no: ü')\ndef handler(event, context):\n    inner()\n")
        self.assertEqual((called.kind, called.error["errorMessage"], called.error["requestId"], called.status),
                         ("ValueError", "no: ü", "id-1", 1), called)
        trace = called.error["stackTrace"]
        self.assertEqual(len(trace), 2, trace)
        self.assertRegex(trace[0], r'^  File ".*/app.py", line 4, in handler\n    inner\(\)\n')
        self.assertTrue(called.err.startswith("[ERROR] ValueError: no: ü\nTraceback (most recent call last):\n"), called.err)
        self.assertEqual(called.out, "")

    def test_a_syntax_error(self):
        for code in ("def handler(event, context)\n  pass", "x = (", "\tif", "def handler(:", "return 1", "(" * 400 + ")" * 400):
            with self.subTest(code[:20]):
                called = python(code)
                self.assertEqual((called.kind, called.status), ("Runtime.UserCodeSyntaxError", 1), called)
                self.assertIn("Syntax error in module 'app'", called.error["errorMessage"])

    def test_an_import_that_fails(self):
        for code in ("import no_such_module", "from os import no_such_name", "import os.nope"):
            called = python(code + "\ndef handler(e, c): pass")
            self.assertEqual(called.kind, "Runtime.ImportModuleError", called)
            self.assertIn("Unable to import module 'app': ", called.error["errorMessage"])

    def test_an_exception_at_import(self):
        called = python("1/0")
        self.assertEqual(called.kind, "ZeroDivisionError", called)

    def test_no_such_handler(self):
        called = python("def other(e, c): pass")
        self.assertEqual((called.kind, called.error["errorMessage"]),
                         ("Runtime.HandlerNotFound", "Handler 'handler' missing on module 'app'"))
        self.assertEqual(python("handler = 5").kind, "Runtime.HandlerNotFound")
        self.assertEqual(python("class api: pass", function="nope").kind, "Runtime.HandlerNotFound")

    def test_a_handler_of_one_argument_is_not_lambdas(self):
        self.assertEqual(python("def handler(event): return 1").kind, "TypeError")

    def test_what_is_no_json(self):
        for value in ("object()", "{1, 2}", "b'x'", "float('nan')", "float('inf')", "lambda: 0", "'\\ud800'", "{(1,): 2}", "(x for x in [])"):
            with self.subTest(value):
                called = python(f"def handler(e, c): return {value}")
                self.assertEqual(called.kind, "Runtime.MarshalError", called)
                self.assertIn("Unable to marshal response", called.error["errorMessage"])
        loop = python("def handler(e, c):\n a = []; a.append(a); return a")
        self.assertEqual(loop.kind, "Runtime.MarshalError", loop)

    def test_a_result_that_is_too_large(self):
        self.assertEqual(len(python("def handler(e, c): return 'x' * 5999998").value), 5999998)
        self.assertEqual(python("def handler(e, c): return 'x' * 5999999").kind, "Function.ResponseSizeTooLarge")

    def test_exits_are_left_to_whoever_saw_them(self):
        for code, status in (("import sys\ndef handler(e, c): sys.exit(3)", 3), ("import os\ndef handler(e, c): os._exit(0)", 0),
                             ("raise SystemExit(2)", 2), ("def handler(e, c): exit()", 0)):
            called = python(code)
            self.assertEqual((called.lines, called.status), ([], status), (code, called))

    def test_very_deep_recursion(self):
        called = python("def handler(e, c): return handler(e, c)")
        self.assertEqual(called.kind, "RecursionError", called)
        self.assertLess(len(json.dumps(called.error)), 100_000)

    def test_messages_have_a_bound(self):
        called = python("def handler(e, c): raise ValueError('x' * 10_000_000)")
        self.assertLess(len(called.error["errorMessage"]), 100_000)
        called = python("class E(Exception):\n def __str__(self): raise KeyError\ndef handler(e, c): raise E")
        self.assertEqual((called.kind, called.error["errorMessage"]), ("E", "<exception str() failed>"))


class Hostile(unittest.TestCase):
    """It can choose its own result. There is always at most one way it ends, and nothing else is to be had."""

    def test_forged_lines_are_its_own_result(self):
        code = """import os, base64
def handler(event, context):
    for fd in range(3, 256):
        try: os.write(fd, b'{"type":"function","value":"' + base64.b64encode(b'"forged"') + b'"}\\n')
        except OSError: pass
    return 'honest'"""
        called = python(code)
        self.assertEqual(called.value, "honest")

    def test_replaced_functions(self):
        code = """import json, binascii, builtins, os, sys, time
def handler(event, context):
    json.dumps = lambda *a, **k: 'forged'
    json.JSONEncoder = binascii.b2a_base64 = time.monotonic = None
    sys.stdout = sys.stderr = None
    return [1]"""
        self.assertEqual(python(code).value, [1])

    def test_closed_descriptors(self):
        called = python("import os\ndef handler(e, c):\n os.closerange(0, 1024)\n return 1")
        self.assertEqual((called.lines, called.status), ([], 0))

    def test_no_descriptor_and_no_memory_of_ours(self):
        self.assertEqual(python("import os\ndef handler(e, c): return sorted(int(f) for f in os.listdir('/proc/self/fd') if int(f) < 100)").value, [0, 1, 2, 3])

    def test_a_forked_child_says_nothing(self):
        called = python("import os\ndef handler(e, c):\n pid = os.fork()\n return 'child' if pid == 0 else os.waitpid(pid, 0)[1]")
        self.assertEqual([called.value, len(called.lines)], [0, 1])

    def test_emptied_modules(self):
        called = python("import sys\ndef handler(e, c):\n sys.modules.clear()\n return 7")
        self.assertEqual(called.value, 7)
        called = python("import sys\ndef handler(e, c):\n sys.modules.clear()\n raise ValueError('x')")
        self.assertEqual(called.status, 1)

    def test_a_flood_of_logs(self):
        called = python("def handler(e, c):\n for _ in range(2000): print('x' * 1000)\n return 1")
        self.assertEqual((called.value, len(called.out)), (1, 2002000))

    def test_no_memory(self):
        code = """import resource
def handler(event, context):
    resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))
    kept = []
    while True: kept.append(bytearray(1 << 20))"""
        self.assertEqual(python(code).kind, "MemoryError")


class ProcessEngine(unittest.TestCase):
    def test_the_import_policy(self):
        code = "import math\ndef handler(e, c):\n import subprocess"
        called = python(code, imports=["deny", ["subprocess", "os"]])
        self.assertEqual(called.kind, "ImportError", called)
        self.assertEqual(called.error["errorMessage"], "import of 'subprocess' is refused by the import policy of the process engine")
        self.assertEqual([line.partition(",")[0] for line in called.error["stackTrace"]], ['  File "/home/user/app.py"'], called)
        self.assertEqual(python("import os", imports=["deny", ["os"]]).kind, "Runtime.ImportModuleError")
        self.assertEqual(python("import math\ndef handler(e, c): return math.floor(e)", 1.5, imports=["deny", ["os"]]).value, 1)


if __name__ == "__main__":
    unittest.main()
