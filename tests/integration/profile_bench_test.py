# `glovebox bench --profile`: the budget of a warm run by process. Counts are compared with what
# run_cost_test and python_cost_test allow; times are not judged here. Every command has a deadline,
# and a command that does not end by it fails the test.
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
from sealed import GLOVEBOX, glovebox

ROLES = ["server", "launcher", "broker+agent", "interpreter", "gateway"]
COUNTS = ["cpu_ms", "system_calls", "page_faults", "context_switches", "messages_sent", "messages_received"]
DEADLINE = 100


class Profile(sealed.TestCase):
    maxDiff = None

    def parsed(self, ran):
        self.assertEqual(ran.returncode, 0, ran.stderr)
        profile = json.loads(ran.stdout)
        self.assertEqual([load["name"] for load in profile["loads"]], ["one client, 10 ms between calls", "16 clients"])
        for load in profile["loads"]:
            self.assertEqual(load["errors"], 0, load)
            self.assertGreater(load["runs"], 0, load)
            self.assertEqual([process["name"] for process in load["processes"]], ROLES)
        return profile

    def test_counts_of_every_process(self):
        profile = self.parsed(glovebox("bench", "--profile", "--quick", "--json", timeout=DEADLINE))
        # The test's pid namespace hides the kernel's threads, and the profile says so.
        self.assertEqual([gap.split(":")[0] for gap in profile["not_counted"]],
                         ["kernel threads", "floor of namespaces, kernel threads"], profile["not_counted"])
        for load in profile["loads"]:
            self.assertIsNone(load["kernel_threads_cpu_ms"])
            by_name = {process["name"]: process for process in load["processes"]}
            for name in ROLES[:-1]:
                for count in COUNTS[:2]:
                    self.assertGreater(by_name[name][count], 0, (name, count, load))
            self.assertEqual(by_name["gateway"]["messages_sent"], 0, load)
            # A sandbox is made for each run: a count far from these says that processes are missing or counted twice.
            self.assertTrue(120 < by_name["launcher"]["system_calls"] < 400, load)
            self.assertTrue(170 < by_name["broker+agent"]["system_calls"] < 600, load)
            self.assertTrue(60 < by_name["interpreter"]["system_calls"] < 250, load)
            self.assertGreater(by_name["interpreter"]["page_faults"], 100, load)
            self.assertTrue(5 < load["total"]["messages_sent"] < load["total"]["messages_received"] < 80, load)
            for count in COUNTS:
                self.assertAlmostEqual(load["total"][count], sum(one[count] for one in by_name.values()), delta=0.01)
        floor = {part["name"]: part["cpu_ms"] for part in profile["floor"]}
        self.assertIsNone(floor["namespaces, kernel threads"])
        for part in ("namespaces", "interpreter", "HTTP request"):
            self.assertGreater(floor[part], 0, floor)
        self.assertLess(profile["floor_cpu_ms"], max(load["total"]["cpu_ms"] for load in profile["loads"]))

    def test_a_host_without_counters_says_what_is_missing(self):
        if shutil.which("strace") is None:
            self.skipTest("needs strace")
        with subprocess.Popen(["strace", "-qq", "-o", "/dev/null", "-e", "trace=perf_event_open",
                               "-e", "inject=perf_event_open:error=EACCES", GLOVEBOX, "bench", "--profile", "--quick",
                               "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                out, err = process.communicate(timeout=DEADLINE)
            except subprocess.TimeoutExpired:
                process.terminate()
                raise
        profile = self.parsed(subprocess.CompletedProcess([], process.returncode, out, err))
        for what in ("CPU time of sandboxes", "page faults", "system calls", "messages sent"):
            self.assertTrue(any(gap.startswith(f"{what}: perf_event_open: ") for gap in profile["not_counted"]),
                            profile["not_counted"])
        for load in profile["loads"]:
            by_name = {process["name"]: process for process in load["processes"]}
            self.assertGreater(by_name["server"]["cpu_ms"], 0)
            self.assertGreater(by_name["launcher"]["cpu_ms"], 0)
            self.assertIsNone(by_name["interpreter"]["cpu_ms"])
            self.assertIsNone(load["total"]["page_faults"])

    def test_a_table(self):
        ran = glovebox("bench", "--profile", "--quick", timeout=DEADLINE)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        text = ran.stdout.decode()
        for words in ("One warm run of print(1+1), 16 clients", "broker+agent", "The floor,", "not counted: kernel threads: "):
            self.assertIn(words, text)

    def test_bad_usage(self):
        for words in (["--only", "runs"], ["--check"], ["--rounds", "1"], ["--url", "http://127.0.0.1:1"]):
            ran = glovebox("bench", "--profile", *words, timeout=DEADLINE)
            self.assertEqual(ran.returncode, 2, (words, ran.stderr))
            self.assertIn(b"--profile", ran.stderr)


if __name__ == "__main__":
    sealed.main()
