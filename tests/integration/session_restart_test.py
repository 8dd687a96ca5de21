# Restart without loss: sessions outlive the server that made them. Kill -9 of the server while
# sessions run commands and hold contexts; kill -9 of the launcher; both.
import os
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
from sealed import wait_until
from session import Session
from websocket import Closed, ExecStream

SESSIONS = 50
COUNTER = "i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); sleep 0.01; done; echo end"


class Restart(server.Served):
    settings = {"pools.max_sandboxes": "512"}

    def kill_server(self):
        """Kill -9, and wait for the one that takes its place."""
        before = self.server.info["pid"]
        os.kill(before, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: self.server.info.get("pid") not in (None, before)
                                   and self.server.is_ready_again(), server.PATIENCE), self.server.log()[-3000:])
        self.client.close()

    def adopted(self, sessions):
        for one in sessions:
            one.client = self.client
        states = {}
        ok = wait_until(lambda: all(states.setdefault(one.id, one.state) == "running" or states.pop(one.id) is None
                                    for one in sessions), server.PATIENCE)
        self.assertTrue(ok, states)

    def test_fifty_sessions_go_on(self):
        sessions = [Session(self.client, template="python", metadata={"number": str(i)},
                            profile={"memory_mb": 128, "disk_mb": 32}) for i in range(SESSIONS)]
        for one in sessions:
            self.addCleanup(one.kill)
        for i, one in enumerate(sessions):
            one.code(f"x = {i}; import os; handle = open('/tmp/f', 'w+'); handle.write('kept')")
        started = [one.start(COUNTER) for one in sessions]
        # Some are being read when it happens.
        streams = []
        for one, process in list(zip(sessions, started))[:5]:
            stream = ExecStream(one, {"type": "attach", "process": process})
            stream.until(lambda s: b"line 20\n" in s.out)
            streams.append(stream)
        records = {one.id: one.get() for one in sessions}

        self.kill_server()
        self.adopted(sessions)

        for one in sessions:  # no record is wrong
            now = one.get()
            for field in ("template", "metadata", "created_at", "expires_at", "limits", "isolation", "profile"):
                self.assertEqual(now[field], records[one.id][field], field)
        wanted = b"".join(b"line %d\n" % i for i in range(500)) + b"end\n"
        for i, (one, process) in enumerate(zip(sessions, started)):
            if i < 5:
                old = streams[i]
                with self.assertRaises((Closed, OSError)):
                    while True:
                        old.take()
                again = ExecStream(one, {"type": "attach", "process": process, "stdout_from": old.out_end})
                again.finish()
                whole = old.out[:old.out_end] + again.out
                old.socket.close()
            else:
                again = ExecStream(one, {"type": "attach", "process": process}).finish()
                whole = again.out
            self.assertEqual(whole, wanted, f"session {i}: output was lost or repeated")
            self.assertEqual(again.exit["exit_code"], 0)
            again.socket.close()
        for i, one in enumerate(sessions):  # contexts have their variables and open files
            answer = one.code("handle.seek(0); print(x, handle.read())")
            self.assertEqual((answer["stdout"], answer["restarted"]), (f"{i} kept\n", False), answer)

    def test_a_program_that_waits_for_its_reader_is_not_lost(self):
        with Session(self.client) as one:
            stream = ExecStream(one, {"type": "start", "cmd": "seq 1 200000"}, receive_buffer=4096)
            stream.until(lambda s: s.out_end > 1000)
            self.kill_server()
            self.adopted([one])
            with self.assertRaises((Closed, OSError)):  # what had been delivered is read first
                while True:
                    stream.take()
            again = ExecStream(one, {"type": "attach", "process": stream.process, "stdout_from": stream.out_end})
            again.finish()
            self.assertEqual(again.lost, {})
            self.assertEqual(stream.out + again.out, b"".join(b"%d\n" % i for i in range(1, 200001)))
            stream.socket.close()
            again.socket.close()

    def test_input_goes_on(self):
        with Session(self.client) as one:
            stream = ExecStream(one, {"type": "start", "cmd": "cat"})
            stream.send({"type": "stdin", "data": "first\n"})
            stream.until(lambda s: s.out == b"first\n")
            self.kill_server()
            self.adopted([one])
            again = ExecStream(one, {"type": "attach", "process": stream.process, "stdout_from": stream.out_end})
            again.send({"type": "stdin", "data": "second\n"})
            again.until(lambda s: s.out == b"second\n")
            again.send({"type": "close_stdin"})
            again.finish()
            self.assertEqual(again.out, b"second\n")
            stream.socket.close()
            again.socket.close()

    def test_a_paused_session_is_adopted_paused(self):
        with Session(self.client) as one:
            number = one.start("while true; do date +%s%N > /tmp/now; done")
            one.post("/pause")
            self.kill_server()
            one.client = self.client
            self.assertTrue(wait_until(lambda: one.call("GET").status == 200, server.PATIENCE))
            self.assertEqual(one.state, "paused")
            self.assertEqual(one.call("POST", "/exec", {"cmd": "true"}).status, 409)
            one.post("/resume")
            self.assertEqual(one.shell("echo back")["stdout"], "back\n")
            self.assertEqual(one.get(f"/processes/{number}")["state"], "running")

    def test_a_session_that_was_paused_without_its_memory_stays_so(self):
        with Session(self.client, template="base") as one:
            count = "set -- /proc/[0-9]*; echo $#"
            at_first = one.shell(count)["stdout"]
            # They start others all the time, and ignore what can be ignored.
            one.start("trap '' TERM HUP; bomb() { while :; do (bomb) & sleep 0.05; done; }; bomb")
            one.shell("echo kept > f; until [ $(ls -d /proc/[0-9]* | wc -l) -gt 20 ]; do sleep 0.01; done")
            answer = self.client.call("POST", f"/sandboxes/{one.id}/pause", {"memory": False})
            self.assertEqual(answer.status, 204, answer)

            self.kill_server()
            one.client = self.client
            self.assertEqual(one.state, "paused")
            shown = self.client.get(f"/sandboxes/{one.id}").json
            self.assertEqual((shown["state"], shown["pauseMode"]), ("paused", "filesystem"))
            answer = self.client.call("POST", f"/v2/sandboxes/{one.id}/connect", {})
            self.assertEqual(answer.status, 201, answer)
            self.assertEqual(one.shell("cat f")["stdout"], "kept\n")
            self.assertEqual(one.shell(count)["stdout"], at_first)

    def test_times_to_live_go_on(self):
        one = Session(self.client, ttl_s=4)
        self.kill_server()
        one.client = self.client
        self.assertTrue(wait_until(lambda: one.state == "stopped", 10), one.get())
        self.assertIn("ttl", one.get()["reason"])


class LauncherKilled(server.Served):
    def test_all_sessions_end_as_errors_and_nothing_is_left(self):
        sessions = [Session(self.client) for _ in range(10)]
        for one in sessions:
            one.start("sleep 1000")
        sessions[0].post("/pause")
        os.kill(self.server.info["launcher_pid"], signal.SIGKILL)
        self.assertTrue(wait_until(lambda: all(one.state == "error" for one in sessions), server.PATIENCE),
                        [one.get() for one in sessions])
        for one in sessions:
            self.assertIn("launcher", one.get()["reason"])
            answer = one.call("POST", "/exec", {"cmd": "true"})
            self.assertEqual((answer.status, answer.code), (409, "wrong_state"), answer)
        # And new ones can be made once there is a launcher again.
        self.assertTrue(wait_until(lambda: self.client.call("POST", "/v1/sandboxes", {}).status == 201, server.PATIENCE))
        for one in self.client.get("/v1/sandboxes?state=running").json["sandboxes"]:
            self.client.call("DELETE", "/v1/sandboxes/" + one["id"])

    def test_server_and_launcher_killed_together(self):
        sessions = [Session(self.client) for _ in range(5)]
        info = self.server.info
        os.kill(info["launcher_pid"], signal.SIGKILL)
        os.kill(info["pid"], signal.SIGKILL)
        self.assertTrue(wait_until(lambda: self.server.info.get("pid") not in (None, info["pid"])
                                   and self.server.is_ready_again(), server.PATIENCE), self.server.log()[-3000:])
        self.client.close()
        self.assertTrue(wait_until(lambda: all(one.state == "error" for one in sessions), server.PATIENCE),
                        [one.get() for one in sessions])


if __name__ == "__main__":
    sealed.main()
