# What a warm Python run costs its interpreter, in counts that do not depend on the machine's load:
# system calls, page faults and pages of its own. A figure far above its bound means that something came
# back which every run pays for: an import, a hook at the fork, a clean-up of nothing, a page written for
# no reason. docs/guarantees.md has what the counts were before and after.
import os
import re
import signal
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import warm

# For Debian 12's Python 3.11. Measured: 84, 12, 221 and 173. The kernel and the C library make the last
# two differ a little between hosts.
MOST_CALLS = 88  # from the fork to the end, 42 of them for the bounding set
MOST_CALLS_OF_A_RUN = 14  # from the arrival of the job
MOST_FAULTS = 250
MOST_PAGES = 200
FAULTS = "print(1 + 1)\nprint(open('/proc/self/stat').read().split()[9])"
PAGES = "print(1 + 1)\nprint(sum(int(line.split()[1]) for line in open('/proc/self/smaps') if line[:14] == 'Private_Dirty:') // 4)"
EXPECTED_PYTHON = "3.11"


class PythonCost(warm.TestCase):
    templates = ("python",)

    def setUp(self):
        super().setUp()
        version = subprocess.run(["/usr/bin/python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                                 capture_output=True, text=True, check=True).stdout.strip()
        if version != EXPECTED_PYTHON:
            self.skipTest(f"the bounds are those of Python {EXPECTED_PYTHON}, this is {version}")

    def run_unrehearsed(self, code):
        """A run in a sandbox that was asked for in a hurry, so that nothing of it was done ahead."""
        box = self.client.begin(hurry=1).sandbox()
        try:
            outcome = box.run(code)
        finally:
            box.destroy()
        self.assertEqual((outcome.code, outcome.err), (0, b""), outcome)
        return outcome.out.decode().split("\n")

    def fewest(self, code):
        """The least of a few: the first children of a zygote find its pages not yet shared."""
        return min(int(self.run_unrehearsed(code)[1]) for _ in range(5))

    def test_page_faults(self):
        self.assertLessEqual(self.fewest(FAULTS), MOST_FAULTS)

    def test_pages_of_its_own(self):
        self.assertLessEqual(self.fewest(PAGES), MOST_PAGES)

    def test_system_calls(self):
        calls = self.traced(lambda: self.run_unrehearsed("print(1 + 1)"))
        self.assertLessEqual(len(calls), MOST_CALLS, "\n".join(calls))
        go = next(index for index, call in enumerate(calls) if call.startswith("read(5, "))
        run = calls[go + 1:]
        self.assertLessEqual(len(run), MOST_CALLS_OF_A_RUN, "\n".join(run))
        # Nothing is imported, looked for or mapped.
        self.assertEqual([call for call in run if re.match(r"open|newfstatat\(A|mmap|getdents|readlink", call)], [])
        self.assertEqual(sum(call.startswith("getrandom(") for call in calls), 1, "seeded once, and not less")

    def traced(self, act):
        """The system calls of the guest in which the job is read, from its beginning, one text each."""
        if shutil.which("strace") is None:
            self.skipTest("strace is not installed")
        path = os.path.join(self.place, "trace")
        zygote = self.zygote()
        tracer = subprocess.Popen(["strace", "-qq", "-f", "-s", "16", "-o", path, "-p", str(zygote)], stderr=subprocess.PIPE)
        try:
            self.assertTrue(sealed.wait_until(lambda: self.tracer_of(zygote) == tracer.pid), "strace does not attach")
            act()
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.communicate(timeout=warm.PATIENCE)
        by_process = {}
        with open(path) as file:
            for line in file:
                process, _, call = line.strip().partition(" ")
                # A call that was going on while another process made one is told in two lines.
                # While the shim ends, the guest looks for its new parent as often as it takes.
                if not call.strip().startswith(("<...", "+++", "---", "getppid(", "nanosleep(", "clock_nanosleep(")):
                    by_process.setdefault(process, []).append(call.strip())
        guests = [calls for calls in by_process.values() if any("GBXJOB" in call for call in calls)]
        self.assertEqual(len(guests), 1, by_process)
        return guests[0]

    @staticmethod
    def tracer_of(pid):
        with open(f"/proc/{pid}/status") as status:
            return int(re.search(r"TracerPid:\s*(\d+)", status.read())[1])


if __name__ == "__main__":
    sealed.main()
