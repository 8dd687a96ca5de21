# One project takes all the memory it can; the processes of another one live, and its runs and
# sessions have no error. Kills are reported truthfully, and sockets count.
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed  # noqa: E402
import server  # noqa: E402
from session import Session  # noqa: E402

MB = 1 << 20
# Of all sandboxes together: little, so that the test cannot hurt other programs on this machine.
ALL = 1024 * MB
OF_A_PROJECT = ALL // 100 * 75
SMALL = {"memory_mb": 64, "disk_mb": 16}
LARGE = {"memory_mb": 250, "disk_mb": 16}
# Holds so many megabytes for ever.
HOLD = "import sys, time\nheld = bytearray(b'x') * (int(sys.argv[1]) << 20)\nprint('holds', flush=True)\ntime.sleep(1000)\n"
# Takes what there is, a little at a time, and begins again when it was killed.
EAT = "import sys\nheld = []\nwhile True:\n    held.append(bytearray(b'x') * (4 << 20))\n"
EAT_SLOWLY = "import time\nheld = []\nwhile True:\n    held.append(bytearray(b'x') * (4 << 20))\n    time.sleep(0.4)\n"
EAT_FOR_EVER = "while :; do python3 /tmp/eat.py; done"


def memory_of(pattern):
    """The memory that cgroups whose path ends so use, with its bound."""
    found = {}
    for path in sealed.cgroups_by_path():
        if not pattern.search(path):
            continue
        for usage, bound in (("memory.usage_in_bytes", "memory.limit_in_bytes"), ("memory.current", "memory.max")):
            try:
                with open(os.path.join(path, usage)) as used, open(os.path.join(path, bound)) as most:
                    found[path] = (int(used.read()), int(most.read()))
            except (FileNotFoundError, ValueError):
                pass  # of another hierarchy
    return found


class Memory(server.Served):
    @classmethod
    def prepare(cls):
        cls.etc = server.EtcGlovebox()
        cls.etc.write("policy.toml", f'[host]\nmemory = "{ALL // MB}M"\n')

    @classmethod
    def tidy(cls):
        cls.etc.remove()

    def project(self, name):
        key, _ = self.server.new_key(name=name, project=name)
        return self.server.client(key)

    def session(self, client, profile):
        session = Session(client, profile=profile)
        self.addCleanup(session.kill)
        return session

    def test_a_project_that_takes_all_memory_it_can_hurts_no_other(self):
        victim, hostile = self.project("victim"), self.project("hostile")
        self.server.wait_warm()
        own = self.session(victim, SMALL)
        own.put("/tmp/hold.py", HOLD.encode())
        kept = own.start("exec python3 /tmp/hold.py 40")
        self.assertTrue(sealed.wait_until(lambda: own.get("/metrics")["now"]["memory_bytes"] > 40 * MB))
        sessions = [self.session(hostile, LARGE) for _ in range(6)]
        for session in sessions:
            session.put("/tmp/eat.py", EAT.encode())
        for session in sessions:
            session.start(EAT_FOR_EVER)
        # The control: it takes what it may, and its own processes are killed for it.
        most = []
        tenants = re.compile(r"-t[1-9a-f][0-9a-f]*$")

        def reached():
            most.append(max((used for used, _ in memory_of(tenants).values()), default=0))
            return max(most) > OF_A_PROJECT // 2
        self.assertTrue(sealed.wait_until(reached, 60), most)
        rounds, deadline = 0, time.monotonic() + 20
        while time.monotonic() < deadline and rounds < 25:
            reached()
            ran = victim.post_run(language="python", code=f"print(len('x' * (20 << 20)), {rounds})", profile=SMALL)
            self.assertEqual((ran.status, ran.status == 200 and ran.json["stdout"]),
                             (200, f"{20 << 20} {rounds}\n"), ran)
            with Session(victim, profile=SMALL) as session:
                self.assertEqual(session.shell("echo in; (echo sub)")["stdout"], "in\nsub\n")
            rounds += 1
        self.assertGreaterEqual(rounds, 3)
        self.assertEqual(own.get(f"/processes/{kept}")["state"], "running")
        self.assertEqual(own.get("/metrics")["now"]["oom_kills"], 0)
        self.assertLessEqual(max(most), OF_A_PROJECT)
        killed = 0
        for session in sessions:
            answer = session.call("GET", "/metrics")
            killed += answer.json["now"]["oom_kills"] if answer.status == 200 else 1
        self.assertGreater(killed, 0)

    def test_runs_that_were_made_ahead_are_paid_for_by_their_project(self):
        """They are in no project's cgroup. When memory runs short the kernel would take the largest
        process, which is the other project's."""
        victim, hostile = self.project("careful"), self.project("greedy")
        self.server.wait_warm()
        own = self.session(victim, {"memory_mb": 400, "disk_mb": 16})
        own.put("/tmp/hold.py", HOLD.encode())
        kept = own.start("exec python3 /tmp/hold.py 300")
        self.assertTrue(sealed.wait_until(lambda: own.get("/metrics")["now"]["memory_bytes"] > 300 * MB))
        killed, stop = [], threading.Event()

        def run():
            with server.Client(self.server.url, hostile.key) as client:
                while not stop.is_set():
                    answer = client.post_run(language="python", code=EAT_SLOWLY, profile={
                        "memory_mb": 200, "disk_mb": 16, "timeout_ms": 30_000})
                    if answer.status == 200 and answer.json["warm"] and not answer.json["timed_out"]:
                        killed.append(answer.json)

        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        try:
            # The control: together they do run short.
            self.assertTrue(sealed.wait_until(lambda: len(killed) >= 3, 90), self.server.log()[-2000:])
            self.assertEqual(own.get(f"/processes/{kept}")["state"], "running")
            self.assertEqual(own.get("/metrics")["now"]["oom_kills"], 0)
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def test_a_kill_is_reported_by_the_exec_that_it_happened_in(self):
        session = self.session(self.project("truth"), SMALL)
        session.put("/tmp/eat.py", EAT.encode())
        self.assertFalse(session.shell("true")["oom_killed"])
        for line, code in (("python3 /tmp/eat.py; exit 0", 0), ("python3 /tmp/eat.py || exit 3", 3),
                           ("exec python3 /tmp/eat.py", 137)):
            before = session.get("/metrics")["now"]["oom_kills"]
            ended = session.shell(line)
            self.assertEqual((ended["exit_code"], ended["oom_killed"]), (code, True), ended)
            self.assertGreater(session.get("/metrics")["now"]["oom_kills"], before)
            # And by no other.
            self.assertFalse(session.shell("exit 137")["oom_killed"])

    def test_memory_and_sockets_together_stay_within_the_limit(self):
        profile = {"memory_mb": 128, "disk_mb": 16}
        session = self.session(self.project("sockets"), profile)
        session.put("/tmp/sockets.py", b"""
import socket, time
held = bytearray(b'x') * (90 << 20)
listener = socket.create_server(('127.0.0.1', 0))
pairs, sent, last = [], 0, time.monotonic()
while time.monotonic() - last < 3 and len(pairs) < 200:
    one = socket.create_connection(listener.getsockname())
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    one.setblocking(False)
    pairs.append((one, listener.accept()[0]))
    try:
        while True:
            sent += one.send(bytes(1 << 20))
            last = time.monotonic()
    except OSError:
        pass
print('sent', sent, flush=True)
time.sleep(1000)
""")
        process = session.start("exec python3 /tmp/sockets.py > /tmp/said")
        self.assertTrue(sealed.wait_until(lambda: b"sent" in session.call("GET", session.file_path("/tmp/said")).body, 60))
        now = session.get("/metrics")["now"]
        # The control: there are buffers, and they are seen.
        self.assertGreater(now["socket_bytes"], MB)
        self.assertGreater(now["memory_bytes"], 90 * MB)
        self.assertLessEqual(now["memory_bytes"], now["memory_limit_bytes"])
        self.assertEqual(session.get(f"/processes/{process}")["state"], "running")
        if any(os.path.exists(os.path.join(path, "memory.kmem.tcp.limit_in_bytes"))
               for path in sealed.cgroups_by_path()):
            # v1: a sixteenth, and what each socket may always have.
            self.assertLessEqual(now["socket_bytes"], 8 * MB + 4 * MB)
        text = self.client.get("/metrics").text
        self.assertGreater(server.metric(text, "glovebox_host_memory_bytes"), 90 * MB)
        self.assertEqual(server.metric(text, "glovebox_host_memory_limit_bytes"), ALL)


if __name__ == "__main__":
    sealed.main()
