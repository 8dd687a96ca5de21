# As an ordinary user: fewer walls, all of them told, and never a limit that is only pretended.
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes
import sealed
from ordinary_user import USER, OrdinaryUser


class Rootless(sealed.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.user = OrdinaryUser()
        cls.addClassCleanup(cls.user.remove)
        cls.home = cls.user.home

    def command(self, *words):
        return self.user.command(*words)

    def state(self):
        return self.user.state()

    def glovebox(self, *words, stdin=b""):
        return subprocess.run(self.command(*words), input=stdin, capture_output=True, timeout=60,
                              cwd=self.home)

    def json(self, *words):
        ran = self.glovebox("run", "--json", *words)
        self.assertTrue(ran.stdout, ran.stderr)
        return ran, json.loads(ran.stdout)

    def test_code_runs_and_the_walls_that_are_missing_are_not_claimed(self):
        ran, answer = self.json("-c", "import os; print(os.getuid() != 0, os.getpid() != 1)")
        self.assertEqual((ran.returncode, answer["stdout"]), (0, "True True\n"), ran.stderr)
        isolation = answer["isolation"]
        self.assertEqual((isolation["engine"], isolation["grade"]), ("jail", "jail-partial"))
        walls = set(isolation["walls"])
        self.assertLessEqual({"user-namespace", "pid-namespace", "mount-namespace", "net-namespace",
                              "ipc-namespace", "uts-namespace", "private-root", "masked-proc",
                              "no-capabilities", "no-new-privileges", "seccomp", "rlimits"}, walls)
        self.assertNotIn("uid-slice", walls)
        self.assertNotIn("idmapped-layers", walls)

    def test_without_a_cgroup_rlimits_bound_memory_and_the_answer_says_so(self):
        _, answer = self.json("--memory", "64M", "-c", "print(len(bytearray(16 << 20)))")
        self.assertEqual(answer["stdout"], "16777216\n", answer)
        walls = answer["isolation"]["walls"]
        if "memory-limit" in walls:
            self.skipTest("this user has a cgroup with a memory controller")
        self.assertIn("memory-limit-per-process", walls)
        self.assertIn("memory-limit", answer["isolation"]["missing"])
        _, answer = self.json("--memory", "64M", "-c", "bytearray(256 << 20)")
        self.assertEqual(answer["exit_code"], 1, answer)
        self.assertIn("MemoryError", answer["stderr"])

    def test_without_a_cgroup_rlimits_bound_cpu_time_and_the_answer_says_so(self):
        ran, answer = self.json("--cpu-time", "300ms", "--exec", "/usr/bin/perl", "--", "-e", "1 while 1")
        self.assertEqual((ran.returncode, answer["timed_out"]), (124, True), answer)
        self.assertLess(answer["metrics"]["cpu_ms"], 5000)
        if "cpu-time-limit-per-process" not in answer["isolation"]["walls"]:
            self.skipTest("this user has a cgroup that counts CPU time")
        # A program that handles the signal is killed a second later.
        ran, answer = self.json("--cpu-time", "300ms", "--exec", "/usr/bin/perl", "--", "-e",
                                "$SIG{XCPU} = 'IGNORE'; 1 while 1")
        self.assertEqual((ran.returncode, answer["timed_out"]), (124, True), answer)

    def test_a_cpu_share_that_nothing_can_keep_is_refused_in_one_line(self):
        _, answer = self.json("--exec", "/bin/true")
        if "cpu-limit" in answer["isolation"]["walls"]:
            self.skipTest("this user has a cgroup with a cpu controller")
        ran = self.glovebox("run", "--cpus", "0.5", "-c", "print('ran')")
        self.assertEqual((ran.returncode, ran.stdout), (125, b""))
        self.assert_one_line(ran.stderr)
        self.assertIn(b"CPU share", ran.stderr)
        self.assertIn(b"doctor", ran.stderr)

    def test_doctor_says_how_to_get_delegation(self):
        ran = self.glovebox("doctor", "--json")
        found = {finding["name"]: finding for finding in json.loads(ran.stdout)["findings"]}
        delegation = found["delegation"]
        if found["memory limit"]["state"] == "ok":
            self.skipTest("this user has a cgroup with a memory controller")
        self.assertEqual(delegation["state"], "warn", delegation)
        self.assertIn("rlimits", delegation["detail"])
        self.assertTrue("chown" in delegation["fix"] or "systemd" in delegation["fix"], delegation)

    def attack(self, *names):
        words = [word for name in names for word in ("--only", name)]
        ran = self.glovebox("attack", "--json", *words)
        answer = json.loads(ran.stdout)
        return ran.returncode, {row["name"]: row["outcome"] for row in answer["attacks"]}, answer["counts"]

    def test_attack_tells_what_succeeded_from_what_could_not_be_tried(self):
        stopped, succeeded, not_tried = "file_plain_path", "bomb_memory_children", "mount_setuid"
        self.assertEqual(self.attack(stopped)[:2], (0, {stopped: "stopped"}))
        # Only root can make the setuid program that it aims at.
        status, outcomes, counts = self.attack(stopped, not_tried)
        self.assertEqual((status, outcomes[not_tried], counts["not-tried"], counts["succeeded"]),
                         (3, "not-tried", 1, 0))
        _, answer = self.json("--exec", "/bin/true")
        if "memory-limit" in answer["isolation"]["walls"]:
            self.skipTest("this user has a cgroup with a memory controller")
        # No cgroup bounds the memory of many processes together.
        status, outcomes, counts = self.attack(stopped, not_tried, succeeded)
        self.assertEqual((status, outcomes[succeeded], counts["succeeded"], counts["not-tried"]),
                         (1, "succeeded", 1, 1))
        ran = self.glovebox("attack", "--only", stopped, "--only", not_tried, "--only", succeeded)
        marks = [line.split("  ")[0].strip() for line in ran.stdout.decode().splitlines()[:5]]
        self.assertLessEqual({"stopped", "SUCCEEDED " + succeeded, "not tried " + not_tried}, set(marks), ran.stdout)
        self.assertIn(b"1 attacks stopped, 1 succeeded, 1 could not be tried,", ran.stdout)

    def test_memory_is_bounded_all_the_same(self):
        ran = self.glovebox("run", "--exec", "/bin/dd", "--", "if=/dev/zero", "of=/dev/null", "bs=2G", "count=1")
        self.assertNotEqual(ran.returncode, 0)

    def test_processes_are_bounded_all_the_same(self):
        ran = self.glovebox("run", "--pids", "16", "--exec", "/usr/bin/perl", "--", "-e",
                            "$n = 0; while ($n < 100) { my $p = fork; last unless defined $p;"
                            "$p or sleep 1000; $n++ } print $n")
        self.assertLess(int(ran.stdout), 17, ran.stderr)

    def test_time_runs_out_here_too(self):
        ran = self.glovebox("run", "--timeout", "300ms", "--exec", "/bin/sleep", "--", "1000")
        self.assertEqual(ran.returncode, 124, ran.stderr)

    def test_a_grade_that_needs_root_is_refused(self):
        ran = self.glovebox("run", "--min-grade", "jail", "-c", "print('ran')")
        self.assertEqual((ran.returncode, ran.stdout), (125, b""))
        self.assert_one_line(ran.stderr)
        self.assertIn(b"jail-partial", ran.stderr)

    def test_files_go_in_and_out(self):
        with open(os.path.join(self.home, "work", "in"), "w") as file:
            file.write("hello")
        os.chmod(os.path.join(self.home, "work", "in"), 0o644)
        ran = self.glovebox("run", "--file", "work/in:in", "--out", "out:work/out", "--lang", "bash", "-c",
                            "tr a-z A-Z < in > out")
        self.assertEqual((ran.returncode, ran.stderr), (0, b""))
        path = os.path.join(self.home, "work", "out")
        with open(path) as file:
            self.assertEqual(file.read(), "HELLO")
        self.assertEqual(os.stat(path).st_uid, USER)

    def test_a_writable_mounts_files_are_the_users(self):
        place = os.path.join(self.home, "work")
        ran = self.glovebox("run", "--mount", f"rw:{place}:/data", "--lang", "bash", "-c", "echo x > /data/made")
        self.assertEqual((ran.returncode, ran.stderr), (0, b""))
        self.assertEqual(os.stat(os.path.join(place, "made")).st_uid, USER)

    def test_what_the_user_cannot_read_cannot_be_mounted(self):
        secret = tempfile.mkdtemp(prefix="gbx-test-")
        self.addCleanup(os.rmdir, secret)
        ran = self.glovebox("run", "--mount", f"ro:{secret}:/mnt", "-c", "print('ran')")
        self.assertEqual(ran.stdout, b"")
        self.assertIn(ran.returncode, (2, 125))
        self.assert_one_line(ran.stderr)

    def test_nothing_is_left(self):
        for words in (["--exec", "/bin/true"], ["--exec", "/no/such"],
                      ["--timeout", "100ms", "--exec", "/bin/sleep", "--", "1000"]):
            self.glovebox("run", *words)
        self.assert_nothing_left()
        self.assertEqual(self.state(), [])

    def test_a_killed_launcher_is_swept_by_the_next(self):
        process = subprocess.Popen(
            self.command("run", "-c", "import time; print('ready', flush=True); time.sleep(1000)"),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual(sealed.read_line(process.stdout), b"ready\n")
        sealed.end(processes.named("glovebox-launch"))
        process.wait(timeout=20)
        process.stdout.close()
        self.assertEqual(self.glovebox("run", "--exec", "/bin/true").returncode, 0)
        self.assertEqual(self.state(), [])


if __name__ == "__main__":
    sealed.main()
