"""Ending a sandbox ends that sandbox and no other process.

Every case runs in a pid namespace of its own: if a clean-up ever signals more than its own
processes again (a draft of the process engine's did, with kill(-1) and the launcher's
capabilities), it can reach the bystanders below and nothing of the real host.
"""
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes

GLOVEBOX = os.path.join(os.environ.get("GLOVEBOX_BIN_DIR", "build/bin"), "glovebox")
INSIDE = "GBX_BYSTANDER_INSIDE"


def glovebox(*args, limit=30):
    return subprocess.run([GLOVEBOX, "run", *args], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=limit, check=False)


class Bystanders:
    """Processes of root and of another user that have nothing to do with any sandbox."""

    def __enter__(self):
        self.processes = [
            subprocess.Popen(["/bin/sleep", "600"]),
            subprocess.Popen(["/bin/sleep", "600"], user=65534, group=65534, extra_groups=[]),
            subprocess.Popen(["/bin/sleep", "600"], start_new_session=True),
        ]
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.send_signal(signal.SIGKILL)
            process.wait()

    def alive(self):
        return [process.poll() is None for process in self.processes]


class EndingASandbox(unittest.TestCase):
    def check(self, expected, *args):
        with Bystanders() as bystanders:
            result = glovebox(*args)
            self.assertEqual(result.returncode, expected, result.stderr)
            self.assertEqual(bystanders.alive(), [True, True, True])

    def test_after_a_plain_run(self):
        for engine in ("jail", "process"):
            self.check(0, "--engine", engine, "--exec", "/bin/true")

    def test_after_a_run_that_left_children(self):
        for engine in ("jail", "process"):
            self.check(3, "--engine", engine, "--exec", "/bin/sh", "--", "-c",
                       "setsid sleep 500 & sleep 500 & exit 3")

    def test_after_a_timeout(self):
        for engine in ("jail", "process"):
            self.check(124, "--engine", engine, "--timeout", "300ms", "--exec", "/bin/sh", "--", "-c",
                       "setsid sleep 500 & sleep 500")

    def test_a_guest_of_the_process_engine_cannot_signal_them(self):
        with Bystanders() as bystanders:
            pids = " ".join(str(process.pid) for process in bystanders.processes)
            glovebox("--engine", "process", "--exec", "/bin/sh", "--", "-c", f"kill -9 {pids}; kill -9 -1")
            self.assertEqual(bystanders.alive(), [True, True, True])

    def test_what_a_process_sandbox_left_is_gone(self):
        glovebox("--engine", "process", "--exec", "/bin/sh", "--", "-c", "setsid sleep 54321 & exit 0")
        self.assertEqual([one for one in processes.everyone().values() if "54321" in one.arguments()], [])


class Control(unittest.TestCase):
    def test_the_bystanders_can_be_killed_at_all(self):
        with Bystanders() as bystanders:
            bystanders.processes[1].send_signal(signal.SIGKILL)
            bystanders.processes[1].wait()
            self.assertEqual(bystanders.alive(), [True, False, True])


def main():
    if os.geteuid() != 0:
        print("skipped: needs root, to have bystanders of other users")
        return 77
    if os.environ.get(INSIDE) == "1":
        unittest.main()
    command = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, "-B", __file__]
    return subprocess.run(command + sys.argv[1:], env={**os.environ, INSIDE: "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
