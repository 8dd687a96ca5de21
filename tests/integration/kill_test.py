# kill -9 of the client, of the launcher, or of both, at any moment: what is left is at most what
# the next launcher's start sweeps, and a sweep never touches what a live launcher has.
import os
import secrets
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes
import sealed
from processes import kill
from sealed import glovebox, start

MOMENTS = 60


def launcher_of(process):
    """The private launcher that this client started, if it has by now."""
    return [one.pid for one in processes.everyone().values()
            if one.name == "glovebox-launch" and one.parent == process.pid]


class Killed(sealed.TestCase):
    def setUp(self):
        super().setUp()
        began = time.monotonic()
        ran = glovebox("run", "--exec", "/bin/sleep", "--", "0.02")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        # Long enough to reach from before the launcher's start to after the program's.
        self.one_run = time.monotonic() - began

    def moments(self):
        """Delays spread evenly over a run, most of them over its start."""
        return [self.one_run * step / MOMENTS for step in range(MOMENTS)]

    def sweep(self):
        ran = glovebox("run", "--exec", "/bin/true")
        self.assertEqual((ran.returncode, ran.stderr), (0, b""))

    def kill_at_every_moment(self, whom):
        for delay in self.moments():
            process = start("run", "--exec", "/bin/sleep", "--", "1000", stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
            # The moment itself is the point here: it is spread over the whole start.
            deadline = time.monotonic() + delay
            while time.monotonic() < deadline:
                pass
            launchers = launcher_of(process)
            if whom == "client":
                process.kill()
            elif whom == "launcher":
                kill(launchers)
                if not launchers:
                    process.kill()  # not started yet; there is nothing else to wait for
            else:
                kill(launchers + [process.pid])
            self.assertNotEqual(process.wait(timeout=20), 0)
        # Processes and mounts end by themselves; what has a name on disk waits for the sweep.
        self.assertIsNotNone(sealed.wait_until(lambda: not sealed.other_processes(), 20), sealed.other_processes())
        self.sweep()
        self.assert_nothing_left()

    def test_clients_leave_nothing(self):
        self.kill_at_every_moment("client")

    def test_launchers_leave_nothing_past_the_next_start(self):
        self.kill_at_every_moment("launcher")

    def test_both_at_once_leave_nothing_past_the_next_start(self):
        self.kill_at_every_moment("both")

    def test_the_client_of_a_killed_launcher_says_so(self):
        process = start("run", "-c", "import time; print('ready', flush=True); time.sleep(1000)")
        self.assertEqual(sealed.read_line(process.stdout), b"ready\n")
        sealed.end(processes.named("glovebox-launch"))
        _, err = self.finish(process)
        self.assertEqual(process.returncode, 125)
        self.assert_one_line(err)
        self.sweep()

    def test_a_killed_broker_ends_the_run_and_leaves_nothing(self):
        process = start("run", "-c", "import time; print('ready', flush=True); time.sleep(1000)")
        self.assertEqual(sealed.read_line(process.stdout), b"ready\n")
        (launcher,) = processes.named("glovebox-launch")
        kill(processes.children(launcher))
        self.finish(process)
        self.assertIn(process.returncode, (125, 137))

    def test_a_killed_agent_ends_the_run_and_leaves_nothing(self):
        process = start("run", "-c", "import time; print('ready', flush=True); time.sleep(1000)")
        self.assertEqual(sealed.read_line(process.stdout), b"ready\n")
        (launcher,) = processes.named("glovebox-launch")
        (broker,) = processes.children(launcher)
        kill(processes.children(broker))
        self.finish(process)
        self.assertEqual(process.returncode, 137)

    def test_a_sweep_does_not_touch_the_living(self):
        living = start("run", "--exec", "/bin/cat", stdin=subprocess.PIPE)
        living.stdin.write(b"one\n")
        living.stdin.flush()
        self.assertEqual(sealed.read_line(living.stdout), b"one\n")
        groups = sealed.cgroups()
        self.assertNotEqual(groups, set())
        its_own = set(sealed.other_processes())
        for delay in self.moments()[::4]:
            process = start("run", "--exec", "/bin/sleep", "--", "1000", stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + delay
            while time.monotonic() < deadline:
                pass
            mine = launcher_of(process)
            kill(mine + [process.pid])
            process.wait(timeout=20)
            # A launcher that is still about to end has its lock, and the sweep would leave it alone.
            self.assertTrue(sealed.wait_until(lambda: set(sealed.other_processes()) <= its_own))
            self.sweep()
        self.assertEqual(groups - sealed.cgroups(), set())
        living.stdin.write(b"two\n")
        living.stdin.flush()
        self.assertEqual(sealed.read_line(living.stdout), b"two\n")
        living.stdin.close()
        self.assertEqual(living.wait(timeout=20), 0)
        living.stdout.close()
        living.stderr.close()

    @staticmethod
    def make_old(path):
        then = time.time() - 3600
        os.utime(path, (then, then))

    def test_what_carries_our_name_and_has_no_owner_is_swept_without_its_record(self):
        gone, dead, living_id = ("ln" + secrets.token_hex(10) for _ in range(3))
        living = start("run", "--exec", "/bin/cat", stdin=subprocess.PIPE)
        living.stdin.write(b"one\n")
        living.stdin.flush()
        self.assertEqual(sealed.read_line(living.stdout), b"one\n")
        of_the_living = sealed.cgroups()
        for path in of_the_living:
            self.make_old(path)
        groups = [os.path.join(root, f"glovebox-{gone}-sb{secrets.token_hex(10)}") for root in sealed.hierarchies()
                  if os.path.exists(os.path.join(root, "cgroup.procs")) and "systemd" not in root
                  and not root.endswith(("cpuset", "devices", "blkio"))]
        young = os.path.join(os.path.dirname(groups[0]), f"glovebox-{living_id}-sb{secrets.token_hex(10)}")
        homes = "/var/lib/glovebox/homes"
        os.makedirs(homes, exist_ok=True)
        home = os.path.join(homes, f"home-{gone}-sb{secrets.token_hex(10)}")
        for path in [*groups, young, home]:
            os.mkdir(path)
            self.addCleanup(lambda path=path: os.path.exists(path) and os.rmdir(path))
        with open(os.path.join(home, "file"), "w"):
            pass
        os.chown(home, 1499999998, 1499999998)
        for path in [*groups, home]:
            self.make_old(path)
        record = os.path.join(sealed.STATE, dead)
        os.mkdir(record)
        subprocess.run(["mount", "-t", "tmpfs", "none", record], check=True)
        self.sweep()
        self.assertEqual([path for path in [*groups, home, record] if os.path.exists(path)], [])
        self.assertTrue(os.path.exists(young), "it may be of a launcher that is about to fill it")
        self.assertEqual(of_the_living - sealed.cgroups(), set())
        os.rmdir(young)
        living.stdin.write(b"two\n")
        living.stdin.close()
        self.assertEqual(sealed.read_line(living.stdout), b"two\n")
        self.assertEqual(living.wait(timeout=20), 0)
        living.stdout.close()
        living.stderr.close()

    def test_a_shared_launcher_ends_the_sandboxes_of_killed_clients(self):
        launcher = sealed.SharedLauncher(self.directory())
        self.addCleanup(launcher.stop)
        ran = glovebox("run", "--exec", "/bin/true", env=launcher.environment())
        self.assertEqual(ran.returncode, 0, ran.stderr)
        descriptors = launcher.settled_descriptors()
        for delay in self.moments()[::2]:
            process = start("run", "--exec", "/bin/sleep", "--", "1000", env=launcher.environment(),
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + delay
            while time.monotonic() < deadline:
                pass
            process.kill()
            process.wait(timeout=20)
        self.assertIsNotNone(sealed.wait_until(lambda: not processes.named("sleep")))
        self.assertEqual(launcher.settled_descriptors(), descriptors)


if __name__ == "__main__":
    sealed.main()
