# One launcher for many: `glovebox-launcher --listen` and runs that use it side by side.
import fcntl
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes
import sealed
from sealed import glovebox, start


class SharedLauncher(sealed.TestCase):
    def setUp(self):
        super().setUp()
        self.launcher = sealed.SharedLauncher(self.directory())
        self.addCleanup(self.launcher.stop)
        self.env = self.launcher.environment()

    def run_in(self, *words):
        return glovebox("run", *words, env=self.env)

    def sleeper(self):
        process = start("run", "-c", "import time; print('ready', flush=True); time.sleep(1000)",
                        env=self.env)
        self.assertEqual(sealed.read_line(process.stdout), b"ready\n")
        return process

    def broker(self):
        children = processes.children(self.launcher.pid)
        self.assertEqual(len(children), 1, children)
        return children[0]

    def test_serves_one_run_after_another_with_one_broker(self):
        self.assertEqual(self.run_in("-c", "print(1)").stdout, b"1\n")
        broker = self.broker()
        for number in range(20):
            ran = self.run_in("--lang", "bash", "-c", f"echo {number}; ls -A; exit {number}")
            self.assertEqual((ran.returncode, ran.stdout), (number, f"{number}\nmain.sh\n".encode()), ran.stderr)
        self.assertEqual(self.broker(), broker)

    def test_serves_many_at_once_and_keeps_them_apart(self):
        def one(number):
            ran = self.run_in("--lang", "bash", "-c",
                              f"echo {number} > x; sleep 0.1; cat x; ps -e --no-headers | wc -l; exit {number}")
            return ran.returncode, ran.stdout.split()[:1], ran.stderr
        with ThreadPoolExecutor(20) as together:
            results = list(together.map(one, range(40)))
        self.assertEqual(results, [(number, [str(number).encode()], b"") for number in range(40)])

    def test_locks_its_cgroups_against_launchers_that_do_not_see_its_record(self):
        self.assertEqual(self.run_in("-c", "print(1)").stdout, b"1\n")
        roots = sealed.hierarchies()
        living = sealed.files()
        own = [path for path, launcher in sealed.cgroups_by_path().items()
               if launcher in living and os.path.dirname(path) in roots and "-sb" not in path]
        self.assertTrue(own)
        for path in own:
            group = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            self.addCleanup(os.close, group)
            with self.assertRaises(BlockingIOError, msg=path):
                fcntl.flock(group, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def test_gives_every_sandbox_its_own_uids(self):
        sleepers = [self.sleeper() for _ in range(5)]
        owners = {process.uids[1] for process in sealed.other_processes().values() if process.name.startswith("python")}
        self.assertEqual(len(owners), 5, owners)
        self.assertEqual(len({uid // 65536 for uid in owners}), 5, owners)
        self.assertTrue(all(uid >= 1879048192 for uid in owners), owners)
        for process in sleepers:
            process.send_signal(signal.SIGINT)
            self.finish(process)

    def test_keeps_its_descriptors_over_many_runs(self):
        self.assertEqual(self.run_in("--exec", "/bin/true").returncode, 0)
        before = self.launcher.settled_descriptors()
        self.assertIsNotNone(before)
        for _ in range(60):
            self.assertEqual(self.run_in("--exec", "/bin/true").returncode, 0)
        self.assertEqual(self.launcher.settled_descriptors(), before)

    def test_a_killed_broker_is_replaced(self):
        self.assertEqual(self.run_in("--exec", "/bin/true").returncode, 0)
        for _ in range(3):
            victim = self.sleeper()
            broker = self.broker()
            os.kill(broker, signal.SIGKILL)
            self.finish(victim)
            self.assertIn(victim.returncode, (125, 137))
            ran = self.run_in("-c", "print('again')")
            self.assertEqual((ran.returncode, ran.stdout), (0, b"again\n"), ran.stderr)
            self.assertNotEqual(self.broker(), broker)

    def test_a_stop_ends_all_sandboxes(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            launcher = sealed.SharedLauncher(self.directory())
            self.env = launcher.environment()
            processes = [self.sleeper() for _ in range(4)]
            self.assertEqual(launcher.stop(number), 0)
            for process in processes:
                self.finish(process)
                self.assertIn(process.returncode, (125, 137))
            self.assertFalse(os.path.exists(launcher.path))

    def test_a_killed_one_takes_its_sandboxes_along_and_its_place_can_be_taken(self):
        place = self.directory()
        first = sealed.SharedLauncher(place)
        self.env = first.environment()
        victims = [self.sleeper() for _ in range(3)]
        first.stop(signal.SIGKILL)
        for victim in victims:
            self.finish(victim)
            self.assertEqual(victim.returncode, 125)
        second = sealed.SharedLauncher(place)
        self.addCleanup(second.stop)
        self.assertEqual(self.run_in("-c", "print(2)").stdout, b"2\n")

    def test_two_do_not_share_a_place(self):
        ran = subprocess.run([sealed.LAUNCHER, "--listen", self.launcher.path], stdin=subprocess.DEVNULL,
                             capture_output=True, timeout=20, env=sealed.environment())
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn(b"another launcher", ran.stderr)
        self.assertEqual(self.run_in("--exec", "/bin/true").returncode, 0)

    def test_the_one_at_the_usual_place_is_used_by_itself(self):
        usual = subprocess.Popen([sealed.LAUNCHER, "--listen"], stdin=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, env=sealed.environment())
        try:
            path = os.path.join(sealed.STATE, "launcher.sock")
            self.assertTrue(sealed.wait_until(lambda: sealed.listens(path)))
            process = start("run", "-c", "import time; print('ready', flush=True); time.sleep(1000)")
            self.assertEqual(sealed.read_line(process.stdout), b"ready\n")
            self.assertEqual(processes.named("glovebox-launch"), sorted([usual.pid, self.launcher.pid]))
            process.send_signal(signal.SIGINT)
            self.finish(process)
        finally:
            usual.terminate()
            self.assertEqual(usual.wait(timeout=20), 0)


if __name__ == "__main__":
    sealed.main()
