# One project makes all the threads it can, in sessions and in runs; another one's runs and sessions
# have no error. The control: the same threads, of several projects, do fill the host. Then clients
# are told so (503 host_full), and so are clients that ask whether the server is ready.
import concurrent.futures
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed  # noqa: E402
import server  # noqa: E402
from session import Session  # noqa: E402

# Of all sandboxes together: few, so that the test cannot hurt other programs on this machine.
ALL = 2048
# One project's sessions have at most three quarters of a half, one sandbox a sixteenth.
OF_A_PROJECT, OF_A_SANDBOX = ALL // 2 * 75 // 100, ALL // 16
SMALL = {"memory_mb": 64, "disk_mb": 16}
HOSTILE = {**SMALL, "pids": OF_A_SANDBOX, "timeout_ms": 60_000}
# Threads until there is no more, over and over; it says how many once it got the first refusal.
EAT_THREADS = """
import sys, threading, time
threading.stack_size(65536)
count = 0
deadline = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else time.monotonic() + 40
said = False
while time.monotonic() < deadline:
    try:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        count += 1
    except RuntimeError:
        if not said:
            print("refused after", count, flush=True)
            said = True
        time.sleep(0.01)
import os
os._exit(0)
"""


def pids_of(pattern):
    """pids.current of the cgroups whose path ends so, whatever the hierarchy."""
    found = {}
    for path in sealed.cgroups_by_path():
        if pattern.search(path):
            try:
                with open(os.path.join(path, "pids.current")) as file:
                    found[path] = int(file.read())
            except FileNotFoundError:
                pass  # of another hierarchy
    return found


class Threads(server.Served):
    settings = {"pools.queue_wait": "5s"}

    @classmethod
    def prepare(cls):
        cls.etc = server.EtcGlovebox()
        cls.etc.write("policy.toml", f"[host]\npids = {ALL}\n")

    @classmethod
    def tidy(cls):
        cls.etc.remove()

    def project(self, name):
        key, _ = self.server.new_key(name=name, project=name)
        return self.server.client(key)

    def hostile_sessions(self, client, count):
        sessions = []
        for _ in range(count):
            session = Session(client, profile={name: HOSTILE[name] for name in ("memory_mb", "disk_mb", "pids")})
            self.addCleanup(session.kill)
            session.put("/tmp/eat.py", EAT_THREADS.encode())
            sessions.append(session)
        for session in sessions:
            # 429: the project has no process left for it.
            answer = session.call("POST", "/exec", {"cmd": "exec python3 /tmp/eat.py 120", "background": True})
            self.assertIn(answer.status, (202, 429), answer)
        return sessions

    def all_pids(self):
        return max(pids_of(re.compile(r"-(all|family)$")).values(), default=0)

    def tenant_pids(self):
        return sorted(pids_of(re.compile(r"-t[1-9a-f][0-9a-f]*$")).values())

    def test_a_project_that_makes_all_threads_it_can_hurts_no_other(self):
        victim, hostile = self.project("victim"), self.project("hostile")
        self.server.wait_warm()
        self.assertEqual(victim.python("print(1)", profile=SMALL)["stdout"], "1\n")
        self.hostile_sessions(hostile, 8)
        stop = threading.Event()

        def hostile_runs():
            with server.Client(self.server.url, hostile.key) as client:
                while not stop.is_set():
                    client.post_run(language="python", code=EAT_THREADS.replace("+ 40", "+ 5"), profile=HOSTILE)

        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            for _ in range(12):
                pool.submit(hostile_runs)
            try:
                # The control: it takes all that it may.
                taken = sealed.wait_until(lambda: self.tenant_pids() and self.tenant_pids()[-1] >= OF_A_PROJECT - 8, 60)
                self.assertTrue(taken, self.tenant_pids())
                self.assertTrue(sealed.wait_until(lambda: self.all_pids() > OF_A_PROJECT + 3 * OF_A_SANDBOX, 60),
                                self.all_pids())
                self.assert_victim_is_well(victim)
                self.assertEqual(victim.get("/health/ready").status, 200)
                self.assertLessEqual(self.tenant_pids()[-1], OF_A_PROJECT)
            finally:
                stop.set()

    def assert_victim_is_well(self, victim):
        deadline = time.monotonic() + 20
        rounds = 0
        while time.monotonic() < deadline and rounds < 25:
            ran = victim.post_run(language="python", code=f"print({rounds})", profile=SMALL)
            self.assertEqual((ran.status, ran.status == 200 and ran.json["stdout"]), (200, f"{rounds}\n"), ran)
            cold = victim.post_run(command="echo cold", profile=SMALL)
            self.assertEqual((cold.status, cold.status == 200 and cold.json["stdout"]), (200, "cold\n"), cold)
            with Session(victim, profile=SMALL) as session:
                self.assertEqual(session.shell("echo in; (echo sub)")["stdout"], "in\nsub\n")
            rounds += 1
        self.assertGreaterEqual(rounds, 3)

    def test_when_the_host_is_full_clients_are_told_and_it_is_not_ready(self):
        victim = self.project("late")
        others = [self.project(f"many-{i}") for i in range(3)]
        sessions = [session for client in others for session in self.hostile_sessions(client, 7)]
        not_ready = sealed.wait_until(
            lambda: (answer := victim.get("/health/ready")).status == 503 and answer, 60)
        self.assertTrue(not_ready, self.all_pids())
        self.assertRegex(" ".join(not_ready.json["reasons"]), r"the host is full: .* \d+ of at most 2048 processes")
        # The launcher says the same at once, or the server already knows.
        for refused in (victim.post_run(language="python", code="1", profile=SMALL),
                        victim.post_run(command="true", profile=SMALL),
                        victim.call("POST", "/v1/sandboxes", {"ttl_s": 60, "profile": SMALL})):
            self.assert_refused(refused, 503, "host_full")
            self.assertGreaterEqual(int(refused.headers["Retry-After"]), 1)
        self.assertEqual(server.metric(victim.get("/metrics").text, "glovebox_host_full"), 1)
        for session in sessions:
            session.kill()
        self.assertTrue(sealed.wait_until(lambda: victim.get("/health/ready").status == 200, 60))
        self.assertEqual(victim.python("print(2)", profile=SMALL)["stdout"], "2\n")

    def test_a_sandbox_may_not_ask_for_more_than_its_part(self):
        refused = self.client.post_run(command="true", profile={"pids": OF_A_SANDBOX + 1})
        self.assert_refused(refused, 403, "policy")


if __name__ == "__main__":
    sealed.main()
