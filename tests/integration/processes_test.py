# The tests' own view of processes (tests/support/processes.py): what has ended is left out or empty,
# and is never an error, whenever it ends.
import os
import signal
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes


class Churn:
    """Processes that start and end all the time, and descriptors that are opened and closed."""

    def __enter__(self):
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=work) for work in (self.start_and_end, self.open_and_close)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def start_and_end(self):
        while not self.stopped.is_set():
            running = [subprocess.Popen(["/bin/true"]) for _ in range(20)]
            for process in running:
                process.wait()

    def open_and_close(self):
        while not self.stopped.is_set():
            for fd in [os.open("/dev/null", os.O_RDONLY) for _ in range(100)]:
                os.close(fd)


class Processes(unittest.TestCase):
    def start(self, *command):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        return process

    def ended(self):
        """A process that was seen alive, and has been reaped since."""
        process = self.start("/bin/cat")
        seen = processes.living(process.pid)
        process.kill()
        process.wait()
        return seen

    def test_a_living_process_is_told_as_it_is(self):
        running = self.start("/bin/cat", "-", "some words")
        seen = processes.living(running.pid)
        self.assertEqual((seen.pid, seen.parent, seen.own_pid), (running.pid, os.getpid(), seen.pids[-1]))
        self.assertEqual(set(seen.uids), {os.getuid()})
        self.assertTrue(seen.is_alive)
        self.assertEqual(running.stdin.write(b"x"), 1)
        running.stdin.flush()
        self.assertEqual(running.stdout.read(1), b"x")  # by now it is cat, and not the fork of us
        seen = processes.living(running.pid)
        self.assertEqual((seen.name, seen.arguments()), ("cat", ["/bin/cat", "-", "some words"]))
        self.assertLessEqual({0, 1, 2}, set(seen.files()))
        self.assertEqual(seen.namespaces()["pid"], os.readlink("/proc/self/ns/pid"))
        self.assertGreater(seen.resident_bytes(), 0)
        self.assertIn(running.pid, processes.children(os.getpid()))
        self.assertIn(running.pid, processes.below(os.getpid()))
        self.assertIn(running.pid, processes.named("cat"))

    def test_one_that_has_ended_is_nobody(self):
        seen = self.ended()
        self.assertIsNone(processes.find(seen.pid))
        self.assertFalse(processes.is_alive(seen.pid))
        self.assertNotIn(seen.pid, processes.everyone())
        self.assertRaises(AssertionError, processes.living, seen.pid)
        self.assertEqual((seen.arguments(), seen.read("cgroup"), seen.read("smaps_rollup")), ([], b"", b""))
        self.assertEqual((seen.files(), seen.namespaces(), seen.resident_bytes()), ({}, {}, 0))
        processes.kill([seen.pid])

    def test_a_zombie_is_seen_and_is_not_alive(self):
        running = self.start("/bin/cat")
        os.kill(running.pid, signal.SIGKILL)
        os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
        self.assertFalse(processes.is_alive(running.pid))
        self.assertFalse(processes.everyone()[running.pid].is_alive)
        self.assertNotIn(running.pid, processes.children(os.getpid()))
        self.assertNotIn(running.pid, processes.below(os.getpid()))
        self.assertRaises(AssertionError, processes.living, running.pid)

    def test_whatever_ends_meanwhile(self):
        steady = [self.start("/bin/cat").pid for _ in range(3)]
        with Churn():
            for _ in range(40):
                everyone = processes.everyone()
                self.assertLessEqual(set(steady), set(everyone))
                for process in everyone.values():
                    if process.parent == os.getpid():
                        process.arguments(), process.namespaces(), process.files(), process.resident_bytes()
                self.assertLessEqual(set(steady), set(processes.children(os.getpid())))
                self.assertLessEqual({0, 1, 2}, set(processes.living(os.getpid()).files()))


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: looks at every process's descriptors and needs root")
        sys.exit(77)
    unittest.main()
