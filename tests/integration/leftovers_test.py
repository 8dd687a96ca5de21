# After any number of runs, however they ended, the host has what it had before: no process, mount,
# cgroup (also in the kernel's own count), namespace, file or descriptor more.
import ctypes
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
from sealed import glovebox

PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>
SOAK = os.environ.get("GBX_SOAK") == "1"
ONE_AFTER_ANOTHER = 1000 if SOAK else 100
SIDE_BY_SIDE = 200 if SOAK else 50

FILL_DISK = "head -c 8M /dev/zero > full 2>/dev/null; mkdir -p a/b/c; exit 0"
FORK_UNTIL_REFUSED = "for (1..40) { my $p = fork; last unless defined $p; $p or sleep 1000 }"

# Ways to end, with the exit status each must have.
WAYS = [
    (["--exec", "/bin/true"], 0),
    (["--lang", "bash", "-c", "exit 7"], 7),
    (["--exec", "/bin/echo", "--", "x"], 0),
    (["--exec", "/no/such/program"], 127),
    (["--lang", "bash", "-c", "kill -SEGV $$"], 139),
    (["--lang", "bash", "-c", "sleep 1000 & setsid sleep 1000 & exit 3"], 3),
    (["--timeout", "50ms", "--exec", "/bin/sleep", "--", "1000"], 124),
    (["--memory", "32M", "--disk", "8M", "--exec", "/bin/dd", "--", *sealed.EAT_MEMORY], 137),
    (["--disk", "4M", "--lang", "bash", "-c", FILL_DISK], 0),
    (["--min-grade", "vm", "--exec", "/bin/true"], 125),
    (["--pids", "16", "--exec", "/usr/bin/perl", "--", "-e", FORK_UNTIL_REFUSED], 0),
]


class Leftovers(sealed.TestCase):
    def setUp(self):
        super().setUp()
        glovebox("run", "--exec", "/bin/true")  # what only the first run of a host makes is not counted
        self.kernel_before = sealed.kernel_cgroups()

    def one(self, number):
        words, expected = WAYS[number % len(WAYS)]
        ran = glovebox("run", *words, timeout=120)
        if ran.returncode != expected:
            return f"{words} ended with {ran.returncode}: {ran.stderr[:200]}"
        return None

    def assert_kernel_keeps_nothing(self):
        def more():
            now = sealed.kernel_cgroups()
            return {name: count - self.kernel_before[name] for name, count in now.items()
                    if count > self.kernel_before[name]}
        # The kernel frees a cgroup when its last reference is gone, a moment after its directory.
        sealed.wait_until(lambda: not more(), seconds=30)
        self.assertEqual(more(), {})

    def test_runs_one_after_another_leave_nothing(self):
        failures = [failure for number in range(ONE_AFTER_ANOTHER) if (failure := self.one(number))]
        self.assertEqual(failures, [])
        self.assert_nothing_left()
        self.assert_kernel_keeps_nothing()

    def test_runs_side_by_side_do_not_disturb_each_other_and_leave_nothing(self):
        with ThreadPoolExecutor(SIDE_BY_SIDE) as together:
            failures = [failure for failure in together.map(self.one, range(SIDE_BY_SIDE)) if failure]
        self.assertEqual(failures, [])
        self.assert_nothing_left()
        self.assert_kernel_keeps_nothing()

    def test_a_crowd_of_equal_runs_all_succeed(self):
        def hello(number):
            ran = glovebox("run", "--exec", "/bin/echo", "--", str(number), timeout=120)
            return ran.returncode == 0 and ran.stdout == f"{number}\n".encode() or (number, ran.stderr)
        with ThreadPoolExecutor(SIDE_BY_SIDE) as together:
            results = list(together.map(hello, range(SIDE_BY_SIDE)))
        self.assertEqual([result for result in results if result is not True], [])
        self.assert_nothing_left()
        self.assert_kernel_keeps_nothing()

    def test_nothing_is_left_for_others_to_reap(self):
        # In a container the first process is often one that waits for its own children only: whatever
        # a run leaves to it stays a zombie for good.
        libc = ctypes.CDLL(None, use_errno=True)
        self.assertEqual(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0)
        self.addCleanup(libc.prctl, PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        for words, expected in WAYS:
            process = sealed.start("run", *words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.assertEqual(process.wait(timeout=60), expected, words)
        left = sealed.other_processes()
        while True:  # do what such a process would not, for the tests after this one
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                break
        self.assertEqual(left, {})


if __name__ == "__main__":
    sealed.main()
