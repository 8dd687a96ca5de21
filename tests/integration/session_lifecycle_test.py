"""Sandboxes that live on, through the programs together: made, listed, paused, resumed, kept, ended
by time, by hand and by accident; snapshots there and back; and nothing left of any of it."""
import concurrent.futures
import os
import signal
import sys
import time
from datetime import datetime

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed  # noqa: E402
from server import PATIENCE, Served, metric  # noqa: E402
from session import Session  # noqa: E402


class Lifecycle(Served):
    settings = {"sessions.max_paused": "2", "sessions.max_snapshots": "2",
                "sessions.snapshot_max": "8M", "sessions.max_ttl": "2h"}

    def make(self, **fields):
        session = Session(self.client, **fields)
        self.addCleanup(session.kill)
        return session

    def wait_state(self, session, state, seconds=PATIENCE):
        self.assertTrue(sealed.wait_until(lambda: session.state == state, seconds), session.get())
        return session.get()

    def test_one_lives_on_without_its_client(self):
        session = self.make(template="base", metadata={"who": "ada"}, env={"WORD": "one"})
        self.assertEqual(session.made["state"], "running")
        self.assertIn(session.made["isolation"]["grade"], ("jail", "jail-partial"))
        self.client.close()
        self.assertEqual(session.shell("echo $WORD > f; cat f")["stdout"], "one\n")
        with self.server.client() as other:
            answer = other.call("POST", session.path("/exec"), {"cmd": "cat f"})
        self.assertEqual(answer.json["stdout"], "one\n")
        found = self.client.get("/v1/sandboxes?state=running&metadata.who=ada").json["sandboxes"]
        self.assertEqual([one["id"] for one in found], [session.id])

    def test_states_and_their_409(self):
        session = self.make()
        self.assert_refused(session.call("POST", "/resume"), 409, "wrong_state")
        self.assertEqual(session.post("/pause")["state"], "paused")
        for rest in ("/pause", "/keepalive", "/snapshots"):
            answer = session.call("POST", rest)
            self.assert_refused(answer, 409, "wrong_state")
            self.assertIn("paused", answer.json["error"]["message"])
        self.assert_refused(session.call("POST", "/exec", {"cmd": "true"}), 409, "wrong_state")
        self.assertEqual(session.post("/resume")["state"], "running")
        self.assertEqual(session.kill().status, 204)
        self.assertEqual(session.state, "stopped")
        for rest in ("/pause", "/resume", "/keepalive", "/snapshots"):
            answer = session.call("POST", rest)
            self.assert_refused(answer, 409, "wrong_state")
            self.assertIn("stopped", answer.json["error"]["message"])
        self.assert_refused(session.kill(), 409, "wrong_state")

    def test_a_paused_one_uses_no_cpu_and_keeps_its_memory(self):
        session = self.make(template="base")
        session.start("while :; do :; done")
        self.assertTrue(sealed.wait_until(
            lambda: session.get("/metrics")["now"]["cpu_us"] > 50_000, PATIENCE))
        session.post("/pause")
        before = session.get("/metrics")["now"]
        # Time passes for a paused one as for others; that nothing happens is what is looked for.
        deadline = time.monotonic() + 0.5
        sealed.wait_until(lambda: time.monotonic() > deadline, 5)
        after = session.get("/metrics")["now"]
        self.assertEqual(before["cpu_us"], after["cpu_us"])
        self.assertGreater(after["memory_bytes"], 0)
        session.post("/resume")
        self.assertTrue(sealed.wait_until(
            lambda: session.get("/metrics")["now"]["cpu_us"] > after["cpu_us"], PATIENCE))

    def test_paused_ones_have_a_ceiling(self):
        sessions = [self.make() for _ in range(3)]
        for session in sessions[:2]:
            session.post("/pause")
        self.assert_refused(sessions[2].call("POST", "/pause"), 429, "resource_exhausted")
        self.assertEqual(sessions[2].state, "running")

    def test_the_end_of_its_time(self):
        killed = self.make(ttl_s=1)
        paused = self.make(ttl_s=1, on_timeout="pause")
        kept = self.make(ttl_s=1)
        kept.post("/keepalive", ttl_s=600)
        self.assertEqual(self.wait_state(killed, "stopped", 10)["reason"], "ttl")
        shown = self.wait_state(paused, "paused", 10)
        self.assertEqual(shown["reason"], "ttl")
        late = killed.get()
        self.assertLess(stamp(late["ended_at"]) - stamp(late["expires_at"]), 1.0)
        self.assertEqual(kept.state, "running")
        self.assertEqual(paused.post("/resume")["state"], "running")

    def test_an_agent_meets_its_sandbox_again(self):
        session = self.make(agent_id="agent-1")
        session.shell("echo kept > f")
        session.post("/pause")
        again = self.client.call("POST", "/v1/sandboxes", {"agent_id": "agent-1"})
        self.assertEqual((again.status, again.json["id"]), (200, session.id), again)
        self.assertEqual(session.shell("cat f")["stdout"], "kept\n")

    def test_a_snapshot_there_and_back(self):
        session = self.make(template="base")
        session.shell("mkdir -p d/e; echo one > d/e/f; ln -s /etc/passwd l; chmod 700 d; rm -f ~/.bashrc")
        session.shell("echo two > /usr/local/two; echo three >> /etc/motd", user="root")
        snapshot = session.post("/snapshots", status=201, name="mine")
        self.assertGreater(snapshot["bytes"], 0)
        self.assertEqual(snapshot["sandbox"], session.id)
        session.shell("echo changed > d/e/f")
        copy = self.make(template=None, snapshot=snapshot["id"])
        said = copy.shell("cat d/e/f /usr/local/two; readlink l; stat -c %a d; tail -1 /etc/motd")
        self.assertEqual(said["stdout"], "one\ntwo\n/etc/passwd\n700\nthree\n", said)
        self.assertEqual(copy.get()["snapshot"], snapshot["id"])
        self.assert_refused(session.call("POST", "/exec", {"cmd": ""}), 400, "invalid_argument")
        session.shell("head -c 20000000 /dev/urandom > big")
        self.assert_refused(session.call("POST", "/snapshots"), 507, "disk_full")
        session.shell("rm big")
        second = session.post("/snapshots", status=201)
        self.assert_refused(session.call("POST", "/snapshots"), 429, "resource_exhausted")
        for one in (snapshot, second):
            self.assertEqual(self.client.call("DELETE", "/v1/snapshots/" + one["id"]).status, 204)
        self.assertEqual(os.listdir(os.path.join(self.server.data, "store", "snapshots")), [])

    def test_a_hundred_at_once(self):
        def one(_):
            with self.server.client() as client:
                answer = client.call("POST", "/v1/sandboxes",
                                     {"ttl_s": 600, "profile": {"memory_mb": 64, "disk_mb": 16}})
                if answer.status != 201:
                    return answer
                return client.call("DELETE", "/v1/sandboxes/" + answer.json["id"])
        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            answers = list(pool.map(one, range(100)))
        self.assertEqual([answer for answer in answers if answer.status != 204], [])

    def test_metrics_logs_and_events(self):
        session = self.make()
        now = session.get("/metrics")["now"]
        limits = session.made["limits"]  # the disk is memory too
        self.assertEqual(now["memory_limit_bytes"], (limits["memory_mb"] + limits["disk_mb"]) << 20)
        self.assertGreater(now["disk_limit_bytes"], 0)
        session.post("/pause")
        kinds = [entry["kind"] for entry in session.get("/logs")["entries"]]
        self.assertEqual(kinds, ["created", "paused"])
        text = self.client.get("/metrics").text
        self.assertGreaterEqual(metric(text, "glovebox_sessions"), 1)
        self.assertNotIn(session.id, text)

    def test_records_and_sandboxes_after_a_killed_server(self):
        running, paused = self.make(), self.make()
        running.start("sleep 1000")
        paused.post("/pause")
        os.kill(self.server.info["pid"], signal.SIGKILL)
        self.assertTrue(sealed.wait_until(self.server.is_ready_again, PATIENCE))
        self.client.close()
        self.assertTrue(sealed.wait_until(
            lambda: running.call("POST", "/exec", {"cmd": "echo here"}).status == 200, PATIENCE),
            self.server.log()[-3000:])
        self.assertEqual(paused.state, "paused")
        self.assertEqual(paused.post("/resume")["state"], "running")
        self.assertEqual(paused.shell("echo there")["stdout"], "there\n")

    def test_zz_a_killed_launcher_ends_them_all(self):
        sessions = [self.make() for _ in range(3)]
        sessions[0].post("/pause")
        os.kill(self.server.info["launcher_pid"], signal.SIGKILL)
        for session in sessions:
            shown = self.wait_state(session, "error")
            self.assertIn("the launcher ended", shown["reason"])
        self.assertTrue(sealed.wait_until(self.server.is_ready_again, PATIENCE))
        self.assertEqual(self.make().shell("echo again")["stdout"], "again\n")


def stamp(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


if __name__ == "__main__":
    sealed.main()
