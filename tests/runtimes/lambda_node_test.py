"""The guest half of Node handlers: the contract of AWS Lambda, its errors, and what a hostile one can do."""
import os
import tempfile
import unittest

from lambda_calls import node


class Contract(unittest.TestCase):
    def test_every_way_to_answer(self):
        for code in ("exports.handler = async (event) => event.a",
                     "exports.handler = (event) => Promise.resolve(event.a)",
                     "exports.handler = (event, context, callback) => callback(null, event.a)",
                     "exports.handler = (event, context, callback) => { setTimeout(() => callback(null, event.a), 5); }",
                     "exports.handler = (event) => event.a",
                     "exports.handler = (event, context) => context.succeed(event.a)",
                     "exports.handler = (event, context) => context.done(null, event.a)",
                     "module.exports = { handler: async (event) => event.a }",
                     "export const handler = async (event) => event.a",
                     "export default { handler: async (event) => event.a }",
                     "import fs from 'fs'; export async function handler(event) { return typeof fs.readFileSync === 'function' && event.a }",
                     "const x = await Promise.resolve(1); export const handler = (event) => event.a"):
            for ahead in (False, True):
                with self.subTest(code, ahead=ahead):
                    called = node(code, {"a": 7}, prestarted=ahead)
                    self.assertEqual((called.value, called.status, called.out, called.err), (7, 0, "", ""), called)

    def test_an_es_module_by_its_name(self):
        called = node("import { basename } from 'node:path';\nexport const handler = async () => [basename('/a/b'), import.meta.url.endsWith('/app.mjs')]", file="app.mjs")
        self.assertEqual(called.value, ["b", True], called)

    def test_nothing_is_null(self):
        for code in ("exports.handler = async () => {}", "exports.handler = () => {}", "exports.handler = (e, c, callback) => callback()",
                     "exports.handler = (e, c, callback) => { setTimeout(() => {}, 5); }"):
            called = node(code)
            self.assertEqual((called.has_value, called.value, called.status), (True, None, 0), called)

    def test_the_context(self):
        code = """exports.handler = async (event, context) => ({
          left: context.getRemainingTimeInMillis(), ...Object.fromEntries(event.map((name) => [name, context[name]])) })"""
        names = ["awsRequestId", "functionName", "functionVersion", "invokedFunctionArn", "memoryLimitInMB", "logGroupName",
                 "logStreamName", "callbackWaitsForEmptyEventLoop", "stage", "identity", "clientContext"]
        value = node(code, names, context={"stage": "test", "identity": {"cognito_identity_id": "me"}, "client_context": {"custom": 1}},
                     timeout_ms=3000).value
        self.assertTrue(0 < value.pop("left") <= 3000)
        self.assertEqual(value, {"awsRequestId": "id-1", "functionName": "app", "functionVersion": "$LATEST",
                                 "invokedFunctionArn": "arn:aws:lambda:us-east-1:000000000000:function:app", "memoryLimitInMB": "128",
                                 "logGroupName": "/aws/lambda/app", "logStreamName": "2026/01/01/[$LATEST]00",
                                 "callbackWaitsForEmptyEventLoop": True, "stage": "test",
                                 "identity": {"cognitoIdentityId": "me"}, "clientContext": {"custom": 1}})

    def test_words_of_the_context_that_every_object_has(self):
        words = {"constructor": "a", "toString": "b", "valueOf": 1, "hasOwnProperty": None}
        value = node("exports.handler = async (event, context) => Object.entries(context).filter(([, value]) => typeof value !== 'function')",
                     context=words).value
        self.assertEqual({name: value for name, value in value if name in words}, {"constructor": "a", "toString": "b", "valueOf": 1})
        self.assertFalse([name for name, _ in value if "native code" in name], value)

    def test_a_callback_waits_for_the_loop_unless_told(self):
        code = """exports.handler = (event, context, callback) => {
          context.callbackWaitsForEmptyEventLoop = event;
          setTimeout(() => console.log('later'), 30);
          callback(null, 'value'); }"""
        self.assertEqual(node(code, True).out, "later\n")
        self.assertEqual(node(code, False).out, "")

    def test_nested_names_and_modules_beside_it(self):
        self.assertEqual(node("exports.api = { get: async () => 'got' }", function="api.get").value, "got")
        with tempfile.TemporaryDirectory() as place:
            with open(os.path.join(place, "helper.js"), "w") as file:
                file.write("exports.double = (x) => 2 * x;")
            self.assertEqual(node("const { double } = require('./helper');\nexports.handler = async (e) => double(e)", 4, workdir=place).value, 8)

    def test_the_environment_is_lambdas(self):
        value = node("exports.handler = async () => [process.env._HANDLER, process.env.MINE, process.argv.length, process.env.AWS_LAMBDA_FUNCTION_NAME]", env=["MINE=1"]).value
        self.assertEqual(value, ["app.handler", "1", 2, "app"])

    def test_what_it_prints_are_logs(self):
        called = node("console.log('at import');\nexports.handler = async () => { console.log('out'); console.error('err'); return 1 }")
        self.assertEqual((called.value, called.out, called.err), (1, "at import\nout\n", "err\n"))

    def test_phases_are_told(self):
        called = node("exports.handler = () => new Promise((done) => setTimeout(done, 30))")
        self.assertGreaterEqual(called.phases["handler_ms"], 28)
        self.assertGreaterEqual(called.phases["import_ms"], 0)


class Errors(unittest.TestCase):
    def test_what_a_handler_throws(self):
        for code in ("exports.handler = async () => { throw new TypeError('no') }", "exports.handler = () => { throw new TypeError('no') }",
                     "exports.handler = (e, c, callback) => callback(new TypeError('no'))", "exports.handler = (e, c) => c.fail(new TypeError('no'))",
                     "exports.handler = () => Promise.reject(new TypeError('no'))",
                     "exports.handler = () => new Promise(() => setTimeout(() => { throw new TypeError('no') }, 1))"):
            with self.subTest(code):
                called = node(code)
                self.assertEqual((called.kind, called.error["errorMessage"], called.error["requestId"], called.status),
                                 ("TypeError", "no", "id-1", 1), called)
                self.assertEqual(called.error["trace"][0], "TypeError: no")
                self.assertTrue(any("app.js" in frame for frame in called.error["stackTrace"]), called)
                self.assertFalse(any("lambda_handler" in frame for frame in called.error["stackTrace"]), called)
                self.assertTrue(called.err.startswith("[ERROR] TypeError: no\n"), called)

    def test_what_is_no_error(self):
        called = node("exports.handler = async () => { throw 'a word' }")
        self.assertEqual((called.kind, called.error["errorMessage"]), ("string", "a word"))
        called = node("exports.handler = (e, c, callback) => callback('a word')")
        self.assertEqual((called.kind, called.error["errorMessage"]), ("string", "a word"))
        for code in ("exports.handler = async () => { throw undefined }", "exports.handler = () => Promise.reject()",
                     "exports.handler = () => { throw undefined }"):
            called = node(code)
            self.assertEqual((called.kind, called.error["errorMessage"], called.status), ("undefined", "undefined", 1), called)
        for code in ("exports.handler = (e, c, callback) => callback(undefined, 1)", "exports.handler = (e, c, callback) => callback(null, 1)"):
            called = node(code)
            self.assertEqual((called.value, called.error, called.status), (1, None, 0), called)

    def test_a_rejection_that_nobody_handles(self):
        called = node("exports.handler = async () => { Promise.reject(new Error('lost')); await new Promise((r) => setTimeout(r, 20)) }")
        self.assertEqual((called.kind, called.error["errorMessage"]), ("Runtime.UnhandledPromiseRejection", "lost"), called)

    def test_a_syntax_error(self):
        for code, file in (("exports.handler = (", "app.js"), ("export const handler = (", "app.mjs"), ("export const handler = 1 +;", "app.js"),
                           ("import x from 'fs'", "app.cjs")):
            with self.subTest(code):
                called = node(code, file=file)
                self.assertEqual((called.kind, called.status), ("Runtime.UserCodeSyntaxError", 1), called)

    def test_an_import_that_fails(self):
        self.assertEqual(node("require('no-such-module')").kind, "Runtime.ImportModuleError")
        self.assertEqual(node("import 'no-such-module'; export const handler = 1", file="app.mjs").kind, "Runtime.ImportModuleError")

    def test_no_such_handler(self):
        called = node("exports.other = () => 1")
        self.assertEqual((called.kind, called.error["errorMessage"]), ("Runtime.HandlerNotFound", "app.handler is undefined or not exported"))
        self.assertEqual(node("exports.handler = 5").kind, "Runtime.HandlerNotFound")

    def test_what_is_no_json(self):
        for value in ("10n", "(() => { const a = []; a.push(a); return a })()", "({ toJSON() { throw new Error('x') } })"):
            called = node(f"exports.handler = async () => {value}")
            self.assertEqual(called.kind, "Runtime.MarshalError", called)

    def test_a_result_that_is_too_large(self):
        self.assertEqual(len(node("exports.handler = async () => 'x'.repeat(5999998)").value), 5999998)
        self.assertEqual(node("exports.handler = async () => 'x'.repeat(5999999)").kind, "Function.ResponseSizeTooLarge")

    def test_exits_are_left_to_whoever_saw_them(self):
        for code, status in (("exports.handler = async () => process.exit(3)", 3), ("process.exit(2)", 2), ("exports.handler = () => process.exit()", 0)):
            called = node(code)
            self.assertEqual((called.lines, called.status), ([], status), (code, called))


class Hostile(unittest.TestCase):
    def test_forged_lines_are_its_own_result(self):
        code = """const fs = require('fs');
exports.handler = async () => {
  try { fs.writeSync(3, '{"type":"function","value":"' + Buffer.from('"forged"').toString('base64') + '"}\\n'); } catch {}
  return 'honest'; }"""
        self.assertEqual(node(code).value, "honest")

    def test_replaced_functions(self):
        code = """exports.handler = async () => {
  JSON.stringify = () => '"forged"'; require('fs').writeSync = () => 0; process.reallyExit = () => {}; performance.now = () => 1e300;
  return [1]; }"""
        self.assertEqual(node(code).value, [1])

    def test_closed_descriptors(self):
        called = node("exports.handler = async () => { require('fs').closeSync(3); return 1 }")
        self.assertEqual((called.lines, called.status), ([], 0))

    def test_a_flood_of_logs(self):
        called = node("exports.handler = async () => { for (let i = 0; i < 2000; ++i) console.log('x'.repeat(1000)); return 1 }")
        self.assertEqual((called.value, len(called.out)), (1, 2002000))

    def test_messages_have_a_bound(self):
        called = node("exports.handler = async () => { throw new Error('x'.repeat(1e7)) }")
        self.assertLess(len(called.error["errorMessage"]), 100_000)


if __name__ == "__main__":
    unittest.main()
