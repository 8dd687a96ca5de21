# `glovebox mcp`: messages on standard input and output, relayed to a server that runs or to a private
# one; how it ends, and what becomes of it when its server does.
import fcntl
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import mcp
import processes
import sealed
import server
from assistant import Assistant
from sealed import wait_until


def data_directory(pid):
    """Of a private server, by how it was started."""
    words = processes.living(pid).arguments()
    directory, = [word.split("=", 1)[1] for option, word in zip(words, words[1:])
                  if option == "--set" and word.startswith("server.data_dir=")]
    if not directory.startswith("/tmp/glovebox-private-"):
        raise AssertionError(directory)
    return directory


class Relayed(server.Served):
    def start(self, *args, env=None):
        named = {"GLOVEBOX_URL": self.server.url, "GLOVEBOX_API_KEY": self.server.key}
        assistant = Assistant(*args, env=named if env is None else env)
        self.addCleanup(self.tidy_up, assistant)
        return assistant

    @staticmethod
    def tidy_up(assistant):
        assistant.process.kill()
        assistant.process.wait()
        for pipe in (assistant.process.stdin, assistant.process.stdout, assistant.process.stderr):
            try:
                pipe.close()
            except OSError:
                pass

    def sandboxes(self):
        return self.client.get("/v1/sandboxes?project=*&state=running").json["sandboxes"]


class Conversations(Relayed):
    def test_the_end_of_input_ends_the_sandbox_and_us(self):
        assistant = self.start()
        self.assertEqual(assistant.begin()["result"]["protocolVersion"], mcp.VERSION)
        self.assertEqual(assistant.text("run_code", code="x = 6\nx * 7"), "result:\n42")
        self.assertEqual(len(self.sandboxes()), 1)
        self.assertEqual(assistant.end(), 0)
        self.assertEqual(self.sandboxes(), [])
        self.assertEqual(assistant.errors, b"")

    def test_a_signal_ends_it_in_the_middle_of_a_call(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            assistant = self.start()
            assistant.begin()
            assistant.request("tools/call", name="run_command", arguments={"command": "echo on; sleep 100"},
                              _meta={"progressToken": 1})
            self.assertIn("on", assistant.hear()["params"]["message"])
            assistant.process.send_signal(number)
            self.assertEqual(assistant.process.wait(timeout=server.PATIENCE), 0)
            self.assertEqual(self.sandboxes(), [])

    def test_an_assistant_that_does_not_read_can_still_end_it(self):
        process = sealed.start("mcp", stdin=subprocess.PIPE,
                               env={"GLOVEBOX_URL": self.server.url, "GLOVEBOX_API_KEY": self.server.key})
        for message in [mcp.initialize()] + [{"jsonrpc": "2.0", "id": i, "method": "tools/list"} for i in range(60)]:
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        # Answers of 6 KB each fill its pipe.
        held = lambda: struct.unpack("i", fcntl.ioctl(process.stdout, termios.FIONREAD, b"\0" * 4))[0]
        try:
            self.assertTrue(wait_until(lambda: held() > 30_000))
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=server.PATIENCE), 0)
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                pipe.close()

    def test_messages_that_come_all_at_once_are_answered(self):
        messages = [mcp.initialize(), {"jsonrpc": "2.0", "method": "notifications/initialized"},
                    {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
                    {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                     "params": {"name": "run_command", "arguments": {"command": "echo hi"}}}]
        ran = sealed.glovebox("mcp", stdin="".join(json.dumps(one) + "\n" for one in messages).encode(),
                              env={"GLOVEBOX_URL": self.server.url, "GLOVEBOX_API_KEY": self.server.key})
        answers = {answer["id"]: answer["result"] for answer in map(json.loads, ran.stdout.splitlines())}
        self.assertEqual(set(answers), {0, 1, 2}, ran)
        self.assertEqual(answers[2]["structuredContent"]["stdout"], "hi\n")
        self.assertEqual(self.sandboxes(), [])

    def test_what_is_no_message_is_said_and_the_rest_goes_on(self):
        assistant = self.start()
        assistant.begin()
        for wrong, code in ((b"nonsense\n", -32700), (b"[]\n", -32600), (b"\xff\xfe\n", -32700), (b"null\n", -32600),
                            (b"[" * 5000 + b"\n", -32700), (b'{"a":"' + b"x" * (25 << 20) + b'"}\n', -32600)):
            assistant.say(wrong)
            answer = assistant.hear()
            self.assertEqual((answer["error"]["code"], answer["id"]), (code, None))
        assistant.say(b"\r\n\n")
        assistant.say({"jsonrpc": "1.0", "id": "old", "method": "ping"})
        error = assistant.answer_to("old")["error"]
        self.assertIn("jsonrpc", error["message"])
        self.assertEqual(error["code"], -32600)
        assistant.say(b'{"jsonrpc":"2.0","id":"twice","id":"twice","method":"ping"}\n')
        self.assertEqual(assistant.answer_to("twice")["error"]["code"], -32700)
        for wrong in (1.5, None, {"a": 1}, [], True):
            assistant.say({"jsonrpc": "2.0", "id": wrong, "method": "ping"})
            answer = assistant.hear()
            self.assertEqual((answer["error"]["code"], answer["id"]), (-32600, None), wrong)
        assistant.say(b"{}\n")
        self.assertEqual(assistant.hear()["error"]["code"], -32600)
        self.assertEqual(assistant.answer_to(assistant.request("ping"))["result"], {})
        self.assertEqual(assistant.end(), 0)

    def test_a_cancellation_gets_through_while_calls_run(self):
        assistant = self.start()
        assistant.begin()
        slow = assistant.request("tools/call", name="run_code", arguments={"code": "import time\ntime.sleep(100)"})
        # At once: it may not get there before its call.
        assistant.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": slow}})
        self.assertEqual(assistant.text("run_code", code="1"), "result:\n1")
        self.assertEqual(assistant.end(), 0)
        self.assertNotIn(slow, [message.get("id") for message in assistant.kept])

    def test_too_many_at_once_are_refused(self):
        assistant = self.start()
        assistant.begin()
        assistant.text("run_command", command="true")
        numbers = [assistant.request("tools/call", name="run_command",
                                     arguments={"command": "until [ -e go ]; do sleep 0.02; done"})
                   for _ in range(90)]
        refused = [assistant.hear(lambda message: "error" in message)["id"] for _ in range(90 - 16)]
        sandbox, = self.sandboxes()
        self.assertEqual(self.client.call("PUT", f"/v1/sandboxes/{sandbox['id']}/files?path=go", b"").status, 200)
        for number in set(numbers) - set(refused):
            self.assertIn("result", assistant.answer_to(number))
        self.assertEqual(assistant.end(), 0)


class Servers(Relayed):
    def test_a_server_that_is_not_there_is_an_error_and_no_private_one_is_started(self):
        assistant = self.start(env={"GLOVEBOX_URL": "http://127.0.0.1:1", "GLOVEBOX_API_KEY": "gbx_x"})
        error = assistant.begin()["error"]
        self.assertEqual(error["code"], -32000)
        self.assertIn("GLOVEBOX_URL", error["message"])
        self.assertEqual(assistant.end(), 0)

    def test_a_key_that_is_not_good_is_told(self):
        assistant = self.start(env={"GLOVEBOX_URL": self.server.url, "GLOVEBOX_API_KEY": "gbx_" + "0" * 40})
        self.assertIn("key", assistant.begin()["error"]["message"])
        self.assertEqual(assistant.end(), 0)

    def test_the_server_of_a_data_directory_is_found(self):
        assistant = self.start("--data-dir", self.server.data, env={})
        assistant.begin()
        assistant.text("run_command", command="true")
        self.assertEqual(len(self.sandboxes()), 1)
        self.assertEqual(assistant.end(), 0)
        with tempfile.TemporaryDirectory(prefix="gbx-test-") as empty:
            assistant = self.start("--data-dir", empty, env={})
            self.assertIn("no server is known", assistant.begin()["error"]["message"])
            self.assertEqual(assistant.process.wait(timeout=server.PATIENCE), 125)

    def test_when_the_server_dies_what_was_under_way_fails_and_the_conversation_goes_on(self):
        assistant = self.start()
        assistant.begin()
        # There is no sandbox yet that would tell a new server of us.
        os.kill(self.server.info["pid"], signal.SIGKILL)
        self.assertTrue(wait_until(self.server.is_ready_again))
        self.assertEqual(assistant.text("run_code", code="x = 5\nx"), "result:\n5")
        slow = assistant.request("tools/call", name="run_command", arguments={"command": "echo on; sleep 100"},
                                 _meta={"progressToken": 1})
        assistant.hear(lambda message: "method" in message)
        os.kill(self.server.info["pid"], signal.SIGKILL)
        error = assistant.answer_to(slow)["error"]
        self.assertEqual(error["code"], -32000)
        self.assertTrue(wait_until(self.server.is_ready_again))
        self.assertEqual(assistant.text("run_code", code="x"), "result:\n5")
        self.assertEqual(assistant.end(), 0)
        self.client.close()
        self.assertEqual(self.sandboxes(), [])


class PrivateServers(Relayed):
    def setUp(self):
        super().setUp()
        made = tempfile.TemporaryDirectory(prefix="gbx-test-")
        self.addCleanup(made.cleanup)
        # Where nothing serves.
        self.nowhere = {"GLOVEBOX_DATA_DIR": made.name}

    def server_of(self, assistant):
        return {process.name: pid for pid, process in processes.below(assistant.process.pid).items()}

    def test_one_is_started_and_ends_with_us(self):
        assistant = self.start(env=self.nowhere)
        assistant.begin()
        self.assertEqual(assistant.text("run_code", code="6 * 7"), "result:\n42")
        self.assertEqual(self.sandboxes(), [])  # it is in a server of its own
        parts = self.server_of(assistant)
        directory = data_directory(parts["glovebox-server"])
        self.assertEqual(assistant.end(), 0)
        self.assertEqual([pid for pid in parts.values() if processes.is_alive(pid)], [])
        self.assertFalse(os.path.exists(directory))

    def test_it_ends_when_we_are_killed(self):
        assistant = self.start(env=self.nowhere)
        assistant.begin()
        assistant.text("run_command", command="sleep 100 > /dev/null 2>&1 &")
        parts = self.server_of(assistant)
        directory = data_directory(parts["glovebox-server"])
        assistant.process.kill()
        self.assertTrue(wait_until(lambda: not any(processes.is_alive(pid) for pid in parts.values())))
        self.assertTrue(wait_until(lambda: not os.path.exists(directory)))

    def test_when_it_dies_another_takes_its_place(self):
        assistant = self.start(env=self.nowhere)
        assistant.begin()
        assistant.text("run_code", code="x = 1")
        slow = assistant.request("tools/call", name="run_command", arguments={"command": "echo on; sleep 100"},
                                 _meta={"progressToken": 1})
        assistant.hear(lambda message: "method" in message)
        parts = self.server_of(assistant)
        supervisor, = processes.children(assistant.process.pid)
        directory = data_directory(parts["glovebox-server"])
        self.addCleanup(shutil.rmtree, directory)  # no process is left that would
        os.kill(supervisor, signal.SIGKILL)
        # By its server, if that came to it; else by us.
        ended = assistant.answer_to(slow)
        self.assertTrue("error" in ended or ended["result"]["isError"], ended)
        answer = assistant.call("run_code", code="'x' in globals()")
        note, value = [block["text"] for block in answer["result"]["content"]]
        self.assertIn("This is a fresh one", note)
        self.assertEqual(value, "result:\nFalse")
        self.assertEqual(assistant.text("run_code", code="1"), "result:\n1")
        self.assertEqual(assistant.end(), 0)
        self.assertTrue(wait_until(lambda: not any(processes.is_alive(pid) for pid in parts.values())))

    def test_its_settings_can_be_given(self):
        assistant = self.start("--set", "mcp.timeout=7s", env=self.nowhere)
        assistant.begin()
        tools = assistant.answer_to(assistant.request("tools/list"))["result"]["tools"]
        self.assertEqual(tools[0]["inputSchema"]["properties"]["timeout_s"]["maximum"], 7)
        self.assertEqual(assistant.end(), 0)

    def test_why_it_cannot_start_is_told(self):
        assistant = self.start("--set", "mcp.cpus=many", env=self.nowhere)
        self.assertIn("mcp.cpus", assistant.begin()["error"]["message"])
        self.assertEqual(assistant.process.wait(timeout=server.PATIENCE), 125)

    def test_settings_do_not_go_with_a_named_server(self):
        ended = sealed.glovebox("mcp", "--set", "mcp.timeout=7s", "--url", self.server.url, env=self.nowhere)
        self.assertEqual(ended.returncode, 2, ended)
        self.assertIn(b"--set is for a private server", ended.stderr)

    def test_settings_start_one_beside_another(self):
        beside = {"GLOVEBOX_DATA_DIR": self.server.data}
        assistant = self.start("--set", "mcp.timeout=7s", env=beside)
        assistant.begin()
        tools = assistant.answer_to(assistant.request("tools/list"))["result"]["tools"]
        self.assertEqual(tools[0]["inputSchema"]["properties"]["timeout_s"]["maximum"], 7)
        self.assertEqual(assistant.end(), 0)


class Words(Relayed):
    def test_configurations_are_ready_to_use(self):
        printed = sealed.glovebox("mcp", "--print-config")
        self.assertEqual(printed.returncode, 0, printed)
        for word in ("Claude Desktop", "Claude Code", "Cursor", "VS Code", sealed.GLOVEBOX):
            self.assertIn(word, printed.stdout.decode())
        blocks = json.loads(sealed.glovebox("mcp", "--print-config", "--json", "--url", self.server.url).stdout)
        stdio = blocks["cursor"]["stdio"]["mcpServers"]["glovebox"]
        self.assertEqual(stdio["args"], ["mcp", "--url", self.server.url])
        # As an assistant would.
        key, _ = self.server.new_key(project="assistants")
        process = subprocess.run([stdio["command"], *stdio["args"]], env={**sealed.environment(),
                                                                           "GLOVEBOX_API_KEY": key},
                                 input=json.dumps(mcp.initialize()).encode() + b"\n", capture_output=True, timeout=60)
        self.assertEqual(json.loads(process.stdout)["result"]["serverInfo"]["name"], "glovebox")
        http = blocks["vscode"]["http"]["servers"]["glovebox"]
        self.assertEqual((http["type"], http["url"]), ("http", self.server.url + "/mcp"))
        self.assertNotIn(self.server.key.encode(), printed.stdout)

    def test_usage(self):
        self.assertIn(b"--print-config", sealed.glovebox("mcp", "--help").stdout)
        for wrong in (["--bogus"], ["word"], ["--print-config", "emacs"], ["--json"], ["--print-config", "a", "b"]):
            ran = sealed.glovebox("mcp", *wrong)
            self.assertEqual((ran.returncode, ran.stdout), (2, b""), wrong)
            self.assertTrue(ran.stderr.startswith(b"glovebox: "), ran)


if __name__ == "__main__":
    sealed.main()
