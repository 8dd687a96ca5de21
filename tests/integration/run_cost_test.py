# What a warm run costs, counted and not timed: system calls of the launcher and of the processes that
# make its sandbox, and messages between them. A change that adds some has to say why, here.
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes
import sealed
import server
from sealed import wait_until

RUNS = 40
# Of one run with everything it takes: its sandbox made ahead, taken, ended and cleaned up. A little
# above what was counted on Linux 6.18 with cgroup v1: 227, 332 and 27.6. v2 has fewer directories, and fewer calls.
MOST = {"launcher": 240, "agent and broker": 345, "messages": 29.5}
MESSAGES = {"sendmsg", "recvmsg"}


class RunCost(sealed.TestCase):
    def setUp(self):
        super().setUp()
        if shutil.which("strace") is None:
            self.skipTest("needs strace")
        self.served = server.Server(settings={"log.requests": "false", "pools.max": "2"})  # few were made before
        self.addCleanup(self.served.stop)
        self.served.wait_warm()

    def settled(self):
        """Whether the pool is full and nothing of an ended run is left."""
        with self.served.client() as client:
            text = client.get("/metrics").text
        return (server.metric(text, "glovebox_pool_making") == 0 and server.metric(text, "glovebox_runs_active") == 0
                and server.metric(text, "glovebox_pool_idle") >= server.metric(text, "glovebox_pool_target"))

    def run_some(self, count):
        with self.served.client() as client:
            for _ in range(count):
                self.assertTrue(client.python("print(1)")["warm"])
        self.assertTrue(wait_until(self.settled, server.PATIENCE))

    def traced(self, action):
        """{process: {system call: count}} of the launcher and the brokers, with what these start, during an action."""
        launcher, brokers = self.served.info["launcher_pid"], self.served.brokers()
        with tempfile.NamedTemporaryFile() as log:
            tracer = subprocess.Popen(["strace", "-f", "-qq", "-s0", "-o", log.name,
                                       *(word for pid in (launcher, *brokers) for word in ("-p", str(pid)))])
            try:
                def is_attached(pid):
                    with open(f"/proc/{pid}/status") as status:
                        return f"TracerPid:\t{tracer.pid}\n" in status.read()
                self.assertTrue(wait_until(lambda: all(map(is_attached, (launcher, *brokers))), server.PATIENCE))
                action()
            finally:
                tracer.terminate()
                tracer.wait(server.PATIENCE)
            counts = collections.defaultdict(collections.Counter)
            with open(log.name, errors="replace") as lines:
                for line in lines:
                    called = re.match(r"(\d+) +(\w+)\(", line)  # not what strace says of signals, ends and resumed calls
                    if called and called[2] != "poll":  # how often it waits is a matter of time
                        counts["launcher" if int(called[1]) == launcher else "agent and broker"][called[2]] += 1
        return counts

    def test_system_calls_and_messages_of_a_run(self):
        self.run_some(160)  # mounts are kept from the second use of a slice on
        counts = self.traced(lambda: self.run_some(RUNS))
        found = {name: counts[name].total() / RUNS for name in ("launcher", "agent and broker")}
        found["messages"] = sum(one[call] for one in counts.values() for call in MESSAGES) / RUNS
        said = {name: dict(one.most_common(25)) for name, one in counts.items()}
        self.assertGreater(min(found.values()), 0, said)
        for name, most in MOST.items():
            with self.subTest(name):
                self.assertLessEqual(found[name], most, (found, said))


if __name__ == "__main__":
    sealed.main()
