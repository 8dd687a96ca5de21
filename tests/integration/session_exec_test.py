# Commands in a session, through the real programs: collected, in the background, streamed; with
# terminals, signals, slow readers and clients that go.
import base64
import hashlib
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
from sealed import wait_until
from session import Session
from websocket import Closed, ExecStream, Refused, WebSocket


class InSession(server.Served):
    def setUp(self):
        super().setUp()
        self.session = Session(self.client, template="base")
        self.addCleanup(self.session.kill)


class Exec(InSession):
    def test_a_command_line_and_words(self):
        answer = self.session.shell("echo out; echo err >&2; exit 3")
        self.assertEqual((answer["exit_code"], answer["stdout"], answer["stderr"]), (3, "out\n", "err\n"))
        self.assertIsNone(answer["signal"])
        self.assertFalse(answer["timed_out"] or answer["truncated"] or answer["oom_killed"])
        self.assertGreater(answer["metrics"]["wall_ms"], 0)
        self.assertEqual(self.session.exec("/bin/echo", "a  b")["stdout"], "a  b\n")
        self.assertEqual(self.session.get("/processes")["processes"], [])

    def test_files_and_processes_of_one_command_are_there_for_the_next(self):
        self.session.shell("echo kept > /tmp/f; cd /; export X=1")
        self.assertEqual(self.session.shell("cat /tmp/f; pwd; echo [$X]")["stdout"], "kept\n/home/user\n[]\n")

    def test_where_as_whom_and_with_what(self):
        self.assertEqual(self.session.shell("pwd; echo $A", cwd="/tmp", env={"A": "x y"})["stdout"], "/tmp\nx y\n")
        self.assertEqual(self.session.shell("id -un; echo $HOME; pwd")["stdout"], "user\n/home/user\n/home/user\n")
        self.assertEqual(self.session.shell("id -u; echo $HOME $USER; pwd", user="root")["stdout"],
                         "0\n/root root\n/root\n")
        with Session(self.client, template="base", env={"S": "session"}) as other:
            self.assertEqual(other.shell("echo $S $T", env={"T": "own"})["stdout"], "session own\n")

    def test_stdin_is_given_whole(self):
        data = os.urandom(300_000)
        answer = self.session.shell("sha256sum", stdin_base64=base64.b64encode(data).decode())
        self.assertEqual(answer["stdout"].split()[0], hashlib.sha256(data).hexdigest())
        self.assertEqual(self.session.shell("cat")["stdout"], "")  # nothing is not a wait
        # Who does not read it is not waited for.
        self.assertEqual(self.session.shell("exit 5", stdin="x" * 200_000)["exit_code"], 5)

    def test_bytes_that_are_no_text(self):
        answer = self.session.shell(r"printf 'a\377b'")
        self.assertEqual(base64.b64decode(answer["stdout_base64"]), b"a\xffb")

    def test_time_and_output_have_bounds(self):
        answer = self.session.shell("sleep 60 & echo begun; sleep 60", timeout_ms=500)
        self.assertEqual((answer["exit_code"], answer["timed_out"], answer["stdout"]), (124, True, "begun\n"))
        answer = self.session.shell("head -c 5000000 /dev/zero; echo end >&2; exit 4", output_kb=10)
        self.assertEqual((answer["exit_code"], len(answer["stdout"]), answer["truncated"]), (4, 10240, True))
        self.assertGreaterEqual(answer["metrics"]["output_bytes"], 5_000_000)
        self.assertEqual(self.session.shell("kill -9 $$")["signal"], 9)

    def test_what_eats_its_memory_says_so_and_the_session_lives(self):
        with Session(self.client, template="python", profile={"memory_mb": 96}) as small:
            answer = small.shell("/usr/bin/python3 -c 'x = bytearray(1 << 30)' ; exit $?")
            self.assertTrue(answer["oom_killed"], answer)
            self.assertEqual(small.shell("echo alive")["stdout"], "alive\n")
            self.assertFalse(small.shell("kill -9 $$")["oom_killed"])

    def test_what_cannot_start_is_the_callers_mistake(self):
        for wrong in ({"argv": ["/no/such"]}, {"cmd": "true", "cwd": "/no/such"},
                      {"cmd": "true", "user": "nobody-here"}, {"cmd": "a", "argv": ["b"]}, {"cmd": "a", "tty": 1}):
            answer = self.session.call("POST", "/exec", wrong)
            self.assertEqual(answer.status, 400, (wrong, answer))
        self.assertEqual(self.client.call("POST", "/v1/sandboxes/sb" + "a" * 20 + "/exec", {"cmd": "a"}).status, 404)

    def test_a_client_that_goes_ends_its_command(self):
        connection = socket.create_connection(self.client.address)
        body = b'{"cmd":"echo $$ > /tmp/pid; exec sleep 1000"}'
        head = (f"POST {self.session.path('/exec')} HTTP/1.1\r\nHost: 127.0.0.1:{self.client.address[1]}\r\n"
                f"X-API-Key: {self.client.key}\r\nContent-Length: {len(body)}\r\n\r\n")
        connection.sendall(head.encode() + body)
        self.assertTrue(wait_until(lambda: self.session.shell("cat /tmp/pid")["stdout"].strip(), server.PATIENCE))
        pid = self.session.shell("cat /tmp/pid")["stdout"].strip()
        connection.close()
        self.assertTrue(wait_until(lambda: self.session.shell(f"kill -0 {pid}")["exit_code"] != 0, server.PATIENCE))


class Background(InSession):
    def test_listed_written_to_signalled_and_waited_for(self):
        number = self.session.start("echo ready; while read line; do echo got $line; done; sleep 1000")
        one = f"/processes/{number}"
        shown = self.session.get(one)
        self.assertEqual((shown["state"], shown["kind"], shown["user"]), ("running", "program", "user"))
        self.assertEqual([p["process"] for p in self.session.get("/processes")["processes"]], [number])
        self.session.post(one + "/stdin", status=204, data="hello\n")
        stream = ExecStream(self.session, {"type": "attach", "process": number})
        stream.until(lambda s: s.out == b"ready\ngot hello\n")
        stream.send({"type": "detach"})
        with self.assertRaises(Closed) as closed:
            stream.receive()
        self.assertEqual(closed.exception.code, 1000)
        self.session.post(one + "/stdin", status=204, data="more\n", close=True)
        self.assertEqual(self.session.get(one + "/wait?timeout_ms=50")["state"], "running")
        self.session.post(one + "/signal", status=204, signal="SIGUSR1")
        ended = self.session.get(one + "/wait")
        self.assertEqual((ended["state"], ended["exit_code"], ended["signal"]), ("exited", 128 + 10, 10))
        # What it printed is still there, from the offset on.
        late = ExecStream(self.session, {"type": "attach", "process": number, "stdout_from": 6}).finish()
        self.assertEqual(late.out, b"got hello\ngot more\n")
        self.assertEqual(self.session.call("DELETE", one).status, 204)
        self.assertEqual(self.session.call("GET", one).status, 404)

    def test_who_is_not_read_goes_on_and_the_loss_is_said(self):
        number = self.session.start("head -c 3000000 /dev/zero | tr '\\0' x; echo end")
        self.assertEqual(self.session.get(f"/processes/{number}/wait")["exit_code"], 0)
        stream = ExecStream(self.session, {"type": "attach", "process": number}).finish()
        self.assertTrue(stream.out.endswith(b"xend\n"))
        self.assertGreater(stream.lost["stdout"], 2_000_000)
        self.assertEqual(stream.lost["stdout"] + len(stream.out), 3_000_004)

    def test_delete_kills(self):
        number = self.session.start("echo $$ > /tmp/pid; exec sleep 1000")
        self.assertTrue(wait_until(lambda: self.session.shell("cat /tmp/pid")["stdout"].strip(), server.PATIENCE))
        self.assertEqual(self.session.call("DELETE", f"/processes/{number}").status, 204)
        self.assertNotEqual(self.session.shell("kill -0 $(cat /tmp/pid)")["exit_code"], 0)


class Stream(InSession):
    def start(self, line, **more):
        return ExecStream(self.session, {"type": "start", "cmd": line, **more})

    def test_both_streams_stdin_and_the_exit(self):
        with self.start("read x; echo out $x; echo err >&2; exit 7") as stream:
            stream.send({"type": "stdin", "data": "grüß\n"})
            stream.finish()
            self.assertEqual((stream.out, stream.err), ("out grüß\n".encode(), b"err\n"))
            self.assertEqual((stream.exit["exit_code"], stream.exit["signal"]), (7, None))
            with self.assertRaises(Closed) as closed:
                stream.receive()
            self.assertEqual(closed.exception.code, 1000)

    def test_megabytes_both_ways_are_the_same_bytes(self):
        data = os.urandom(3_000_000)
        with self.start("cat") as stream:
            def feed():
                for at in range(0, len(data), 200_000):
                    stream.send(data[at:at + 200_000])  # binary is stdin
                stream.send({"type": "close_stdin"})
            writer = threading.Thread(target=feed)
            writer.start()
            stream.finish()
            writer.join()
            self.assertEqual(stream.out, data)

    def test_characters_are_not_split(self):
        text = "€" * 200_000
        with self.start("cat") as stream:
            for at in range(0, len(text), 50_000):
                stream.send({"type": "stdin", "data": text[at:at + 50_000]})
            stream.send({"type": "close_stdin"})
            while stream.exit is None:
                message = stream.receive_json()
                if message["type"] == "stdout":
                    self.assertIn("data", message)
                    self.assertEqual(message["offset"] % 3, 0)
                    stream.out += message["data"].encode()
                elif message["type"] == "exit":
                    stream.exit = message
            self.assertEqual(stream.out.decode(), text)

    def test_a_terminal_has_a_size_job_control_and_ctrl_c(self):
        with self.start("stty size; echo $TERM; exec bash --norc -i", terminal={"rows": 33, "columns": 101}) as stream:
            stream.until(lambda s: b"33 101\r\n" in s.out and b"xterm" in s.out)
            stream.send({"type": "resize", "rows": 50, "columns": 120})
            stream.send({"type": "stdin", "data": "stty size\n"})
            stream.until(lambda s: b"50 120\r\n" in s.out)
            stream.send({"type": "stdin", "data": "sh -c 'echo beg''un; exec sleep 1000'\n"})
            stream.until(lambda s: b"begun\r\n" in s.out)
            stream.send({"type": "stdin", "data": "\x03"})
            stream.send({"type": "stdin", "data": "echo $((6*7))\n"})
            stream.until(lambda s: b"42\r\n" in s.out)
            stream.send({"type": "stdin", "data": "exit 9\n"})
            stream.finish()
            self.assertEqual(stream.exit["exit_code"], 9)

    def test_signals_and_time(self):
        with self.start("trap 'echo caught; exit 8' TERM; echo ready; while true; do sleep 0.01; done") as stream:
            stream.until(lambda s: s.out == b"ready\n")
            stream.send({"type": "signal", "signal": "TERM"})
            stream.finish()
            self.assertEqual((stream.out, stream.exit["exit_code"]), (b"ready\ncaught\n", 8))
        with self.start("sleep 1000", timeout_ms=300) as stream:
            stream.finish()
            self.assertEqual((stream.exit["exit_code"], stream.exit["timed_out"]), (124, True))

    def test_the_newest_takes_over_and_nothing_is_lost_or_repeated(self):
        first = self.start("i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done; read x; echo end")
        first.until(lambda s: b"line 100\n" in s.out)
        second = ExecStream(self.session, {"type": "attach", "process": first.process, "stdout_from": first.out_end})
        with self.assertRaises(AssertionError) as told:
            while True:
                first.take()
        self.assertEqual(told.exception.args[0]["code"], "taken_over")
        second.send({"type": "stdin", "data": "go\n"})
        second.finish()
        expected = b"".join(b"line %d\n" % i for i in range(500)) + b"end\n"
        whole = first.out[:len(expected) - len(second.out)] + second.out
        self.assertEqual(whole, expected)

    def test_who_leaves_keeps_or_kills(self):
        kept = self.start("echo $$; exec sleep 1000")
        kept.until(lambda s: s.out.endswith(b"\n"))
        killed = self.start("echo $$; exec sleep 1000", on_disconnect="kill")
        killed.until(lambda s: s.out.endswith(b"\n"))
        kept.socket.close()
        killed.socket.close()
        alive = lambda pid: self.session.shell(f"kill -0 {int(pid)}")["exit_code"] == 0
        self.assertTrue(wait_until(lambda: not alive(killed.out), server.PATIENCE))
        self.assertTrue(alive(kept.out))
        again = ExecStream(self.session, {"type": "attach", "process": kept.process, "stdout_from": 0})
        again.until(lambda s: s.out == kept.out)
        again.send({"type": "signal", "signal": 15})
        self.assertEqual(again.finish().exit["signal"], 15)

    def test_a_slow_client_slows_its_own_process_and_costs_little(self):
        pid = self.server.info["pid"]
        before = server.resident_bytes(pid)
        slow = ExecStream(self.session, {"type": "start", "argv": ["/usr/bin/yes", "x" * 100]}, receive_buffer=4096)
        slow.until(lambda s: s.out)
        # Other clients are served meanwhile.
        for _ in range(20):
            self.assertEqual(self.session.shell("echo hi")["stdout"], "hi\n")
        self.assertLess(server.resident_bytes(pid) - before, 64 << 20)
        one = f"/processes/{slow.process}"
        first = self.session.get(one)["stdout"]["end"]
        self.assertLess(first, 64 << 20)
        slow.socket.close()
        self.assertTrue(wait_until(lambda: not self.session.get(one)["attached"], server.PATIENCE))
        self.assertEqual(self.session.call("DELETE", one).status, 204)

    def test_a_first_message_may_be_a_program_and_its_arguments(self):
        first = {"cmd": "printf", "args": ["%s|", "a b", "$HOME", ";ls"]}
        stream = ExecStream(self.session, first).finish()
        self.assertEqual((stream.out, stream.exit["exit_code"]), (b"a b|$HOME|;ls|", 0))
        # Without arguments it is a line for a shell, as everywhere.
        self.assertEqual(ExecStream(self.session, {"cmd": "echo $((6 * 7))"}).finish().out, b"42\n")
        self.assertEqual(ExecStream(self.session, {"argv": ["echo", "x"]}).finish().out, b"x\n")

    def test_mistakes_are_told_and_end_nothing(self):
        with self.start("read x; echo $x") as stream:
            stream.until(lambda s: s.process)
            for wrong in ("{", '{"type":"nothing"}', '{"type":"signal","signal":"NOPE"}', '{"type":"stdin"}'):
                stream.send(wrong)
                self.assertEqual(stream.receive_json()["type"], "error")
            stream.send({"type": "stdin", "data": "still here\n"})
            self.assertEqual(stream.finish().out, b"still here\n")
        for wrong in ({"type": "start"}, {"type": "attach", "process": 999999}, {"type": "stdin", "data": "x"},
                      {}, {"args": ["x"]}, {"cmd": "a", "args": "x"}, {"type": "attach", "cmd": "a"}):
            with WebSocket(self.client, self.session.path("/exec/stream")) as socket_:
                socket_.send(wrong)
                self.assertEqual(socket_.receive_json()["type"], "error")
                with self.assertRaises(Closed):
                    socket_.receive()
        with self.assertRaises(Refused) as refused:
            WebSocket(self.client, "/v1/sandboxes/sb" + "a" * 20 + "/exec/stream")
        self.assertEqual(refused.exception.status, 404)
        self.assertEqual(self.session.call("GET", "/exec/stream").status, 426)


if __name__ == "__main__":
    sealed.main()
