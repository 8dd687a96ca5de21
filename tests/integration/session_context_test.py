# Code contexts in a session, through the real programs: state that stays, results, errors,
# interrupts, crashes, several at once.
import json
import os
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
from sealed import wait_until
from session import Session
from websocket import ExecStream


class Contexts(server.Served):
    def setUp(self):
        super().setUp()
        self.session = Session(self.client, template="python", profile={"memory_mb": 256})
        self.addCleanup(self.session.kill)

    def test_state_stays_and_the_last_expression_is_the_result(self):
        answer = self.session.code("import math\nx = 20\ndef f(): return x + 1\nh = open('/tmp/f', 'w')")
        self.assertEqual((answer["exit_code"], answer["error"], answer["context"]), (0, None, "python"))
        answer = self.session.code("x += 1; h.write('a'); h.flush(); print('hi'); f() * 2 + math.floor(0.5)")
        self.assertEqual((answer["stdout"], answer["result"]["text/plain"]), ("hi\n", "44"))
        self.assertFalse(answer["restarted"])
        self.assertEqual(self.session.shell("cat /tmp/f")["stdout"], "a")

    def test_an_exception_is_an_error_with_a_place(self):
        answer = self.session.code("y = 1\n1/0")
        self.assertEqual(answer["error"]["name"], "ZeroDivisionError")
        self.assertEqual(answer["error"]["line"], 2)
        self.assertNotEqual(answer["exit_code"], 0)
        self.assertEqual(self.session.code("y")["result"]["text/plain"], "1")

    def test_input_is_an_error_or_what_was_given(self):
        answer = self.session.code("a = input()\na + '!'", stdin="given\n")
        self.assertEqual(answer["result"]["text/plain"], "'given!'")
        self.assertIsNotNone(self.session.code("input()", timeout_ms=10000)["error"])

    def test_contexts_of_their_own_do_not_mix(self):
        made = self.session.post("/contexts", status=201, language="python", cwd="/tmp", env={"A": "1"})
        other = self.session.post("/contexts", status=201, language="python")
        self.assertNotEqual(made["id"], other["id"])
        self.session.code("v = 'first'", context=made["id"])
        self.assertEqual(self.session.code("v", context=other["id"])["error"]["name"], "NameError")
        answer = self.session.code("import os; print(os.getcwd(), os.environ.get('A'))", context=made["id"])
        self.assertEqual(answer["stdout"], "/tmp 1\n")
        self.assertEqual({c["id"] for c in self.session.get("/contexts")["contexts"]}, {made["id"], other["id"]})
        self.assertEqual(self.session.call("DELETE", f"/contexts/{made['id']}").status, 204)
        self.assertEqual(self.session.call("POST", "/code", {"code": "1", "context": made["id"]}).status, 404)

    def test_run_as_the_user_that_was_asked_for(self):
        made = self.session.post("/contexts", status=201, user="root")
        self.assertEqual((made["user"], made["cwd"], made["warm"]), ("root", "/root", False))
        answer = self.session.code("import os; print(os.getuid(), os.getcwd())", context=made["id"])
        self.assertEqual(answer["stdout"], "0 /root\n")
        answer = self.session.call("POST", "/contexts", {"cwd": "/root"})
        self.assertEqual(answer.status, 400)
        self.assertIn("ermission denied", answer.json["error"]["message"])
        self.assertEqual(self.session.code("  x = 1\n  x")["result"]["text/plain"], "1")
        self.assertEqual(self.session.shell("python -c 'import sys; print(sys.version_info.major)'")["stdout"], "3\n")

    def test_several_run_at_once_and_one_takes_its_turns(self):
        contexts = [self.session.post("/contexts", status=201)["id"] for _ in range(3)]
        answers, lock = {}, threading.Lock()

        def run(name, context):
            with self.server.client() as client:
                code = f"import time\nfor i in range(20):\n    print('{name}', i)\n    time.sleep(0.02)"
                answer = client.call("POST", self.session.path("/code"), {"code": code, "context": context}).json
            with lock:
                answers[name] = answer

        threads = [threading.Thread(target=run, args=(f"n{i}", context)) for i, context in enumerate(contexts * 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name, answer in answers.items():
            self.assertEqual(answer["stdout"], "".join(f"{name} {i}\n" for i in range(20)))
        self.assertEqual(sum(answer["metrics"]["queue_ms"] > 100 for answer in answers.values()), 3)

    def test_interrupt_stops_the_statement_and_keeps_the_state(self):
        self.session.code("kept = 1")
        answers = []

        def run():
            with self.server.client() as client:
                answers.append(client.call("POST", self.session.path("/code"),
                                           {"code": "open('/tmp/begun', 'w').close()\nwhile True: pass"}).json)

        thread = threading.Thread(target=run)
        thread.start()
        self.assertTrue(wait_until(lambda: self.session.shell("test -e /tmp/begun")["exit_code"] == 0, server.PATIENCE))
        self.assertEqual(self.session.get("/contexts/python")["state"], "busy")
        self.session.post("/contexts/python/interrupt", status=204)
        thread.join()
        self.assertEqual(answers[0]["error"]["name"], "KeyboardInterrupt")
        self.assertFalse(answers[0]["timed_out"] or answers[0]["restarted"])
        self.assertEqual(self.session.code("kept")["result"]["text/plain"], "1")

    def test_a_timeout_interrupts_and_if_need_be_restarts(self):
        self.session.code("kept = 1")
        answer = self.session.code("while True: pass", timeout_ms=300)
        self.assertEqual((answer["timed_out"], answer["exit_code"], answer["restarted"]), (True, 124, False))
        self.assertEqual(self.session.code("kept")["result"]["text/plain"], "1")
        answer = self.session.code("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
                                   timeout_ms=300)
        self.assertEqual((answer["timed_out"], answer["restarted"]), (True, True))
        self.assertEqual(self.session.code("kept")["error"]["name"], "NameError")

    def test_a_crash_and_an_oom_are_told_and_the_context_is_new(self):
        self.session.code("kept = 1")
        answer = self.session.code("import os, signal\nprint('before', flush=True)\n"
                                   "os.kill(os.getpid(), signal.SIGSEGV)")
        self.assertEqual((answer["error"]["name"], answer["restarted"], answer["exit_code"]),
                         ("ContextDied", True, 139))
        self.assertEqual(answer["stdout"], "before\n")
        self.assertFalse(answer["oom_killed"])
        answer = self.session.code("kept")
        self.assertEqual((answer["error"]["name"], answer["restarted"]), ("NameError", False))
        answer = self.session.code("x = bytearray(1 << 30)")
        if answer["error"]["name"] != "MemoryError":
            self.assertEqual((answer["error"]["name"], answer["oom_killed"], answer["restarted"]),
                             ("ContextDied", True, True))
        self.assertEqual(self.session.code("1 + 1")["result"]["text/plain"], "2")

    def test_live_events(self):
        response = self.client.send("POST", self.session.path("/code"),
                                    {"code": "import time\nprint('one', flush=True)\ntime.sleep(0.2)\nprint('two')\n3"},
                                    {"Accept": "application/x-ndjson"})
        self.assertEqual(response.status, 200)
        events = [json.loads(line) for line in response.read().splitlines()]
        self.assertEqual("".join(e["text"] for e in events if e["event"] == "stdout"), "one\ntwo\n")
        self.assertEqual([e["event"] for e in events][-2:], ["result", "exit"])
        self.assertEqual(events[-1]["result"]["text/plain"], "3")
        self.assertNotIn("stdout", events[-1])

    def test_what_threads_print_between_cells_comes_with_the_next(self):
        self.session.code("import threading, time\ndef late():\n    time.sleep(0.3)\n    print('late', flush=True)\n"
                          "    open('/tmp/late', 'w').close()\nthreading.Thread(target=late).start()")
        self.assertTrue(wait_until(lambda: self.session.shell("test -e /tmp/late")["exit_code"] == 0, server.PATIENCE))
        self.assertEqual(self.session.code("print('next')")["stdout"], "late\nnext\n")

    def test_output_is_bounded_and_the_cell_still_ends(self):
        answer = self.session.code("print('x' * 5_000_000)\n7", output_kb=10)
        self.assertEqual((len(answer["stdout"]), answer["truncated"]), (10240, True))
        self.assertEqual(answer["result"]["text/plain"], "7")

    def test_a_client_that_goes_interrupts_and_the_context_stays(self):
        self.session.code("kept = 1")
        connection = socket.create_connection(self.client.address)
        body = json.dumps({"code": "open('/tmp/gone', 'w').close()\nwhile True: pass"}).encode()
        head = (f"POST {self.session.path('/code')} HTTP/1.1\r\nHost: 127.0.0.1:{self.client.address[1]}\r\n"
                f"X-API-Key: {self.client.key}\r\nContent-Length: {len(body)}\r\n\r\n")
        connection.sendall(head.encode() + body)
        self.assertTrue(wait_until(lambda: self.session.shell("test -e /tmp/gone")["exit_code"] == 0, server.PATIENCE))
        connection.close()
        self.assertTrue(wait_until(lambda: self.session.get("/contexts/python")["state"] == "idle", server.PATIENCE))
        self.assertEqual(self.session.code("kept")["result"]["text/plain"], "1")

    def test_bash_keeps_directory_and_variables(self):
        self.session.code("cd /tmp; X=1; f() { echo f $X; }", language="bash")
        answer = self.session.code("pwd; f; false", language="bash")
        self.assertEqual((answer["stdout"], answer["exit_code"], answer["context"]), ("/tmp\nf 1\n", 1, "bash"))
        answer = self.session.code("sleep 1000", language="bash", timeout_ms=300)
        self.assertEqual((answer["timed_out"], answer["restarted"]), (True, False))
        self.assertEqual(self.session.code("echo $X", language="bash")["stdout"], "1\n")

    def test_a_language_that_is_not_there_is_refused_with_the_reason(self):
        with Session(self.client, template="base") as bare:
            answer = bare.call("POST", "/code", {"code": "1", "language": "javascript"})
            if answer.status == 200:  # the host's node is in the template
                self.assertEqual(answer.json["result"]["text/plain"], "1")
            else:
                self.assertEqual(answer.status, 400, answer)
                self.assertEqual(bare.get("/contexts")["contexts"], [])

    def test_a_python_context_starts_warm(self):
        wait_until(lambda: self.session.post("/contexts", status=201)["warm"], 10)
        made = self.session.post("/contexts", status=201)
        self.assertTrue(made["warm"], made)
        begun = time.monotonic()
        answer = self.session.code("print(1)", context=made["id"])
        self.assertEqual(answer["stdout"], "1\n")
        self.assertLess(time.monotonic() - begun, 2)


# Stops every process that is new, the one between zygote and context among them.
STOPPER = """
import os, signal, time
last, end = os.getpid(), time.time() + 6
print("at work", flush=True)
while time.time() < end:
    for pid in range(last + 1, last + 16):
        try: os.kill(pid, signal.SIGSTOP)
        except OSError: pass
"""


class Neighbours(server.Served):
    def test_who_stops_what_joins_stops_nobody_else(self):
        self.server.wait_warm()
        attacker = Session(self.client, template="python")
        self.addCleanup(attacker.kill)
        stream = ExecStream(attacker, {"type": "start", "argv": ["/usr/bin/python3", "-c", STOPPER], "user": "root"})
        self.addCleanup(stream.socket.close)
        stream.until(lambda s: b"at work" in s.out)
        taken = []

        def join():
            with self.server.client() as client:
                for _ in range(14):  # until it hits
                    began = time.monotonic()
                    made = client.call("POST", attacker.path("/contexts"), {"language": "python"})
                    taken.append((time.monotonic() - began, made.json.get("warm")))
                    if taken[-1][0] > 1 or not taken[-1][1]:
                        return
                    client.call("DELETE", attacker.path("/contexts/" + made.json["id"]))

        joining = threading.Thread(target=join)
        joining.start()
        with Session(self.client, template="python") as other:
            for _ in range(5):
                began = time.monotonic()
                made = other.post("/contexts", status=201, language="python")
                self.assertTrue(made["warm"], "the zygote does not serve others: " + self.server.log()[-2000:])
                self.assertLess(time.monotonic() - began, 2.5)
                self.assertTrue(self.client.python("1")["warm"])
        joining.join(server.PATIENCE)
        # The control: it did hit, and its own context had to wait or to be started otherwise.
        self.assertTrue(taken[-1][0] > 1 or not taken[-1][1], taken)


if __name__ == "__main__":
    sealed.main()
