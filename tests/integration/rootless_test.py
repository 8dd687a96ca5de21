# As an ordinary user: fewer walls, all of them told, and never a limit that is only pretended.
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes
import sealed

USER = 65534


class Rootless(sealed.TestCase):
    @classmethod
    def setUpClass(cls):
        # Everything such a user needs is the user's own: programs, home, runtime directory. Made
        # once, because the first run there copies what the sandboxes' /etc is made of.
        cls.home = tempfile.mkdtemp(prefix="gbx-test-")
        cls.addClassCleanup(shutil.rmtree, cls.home)
        os.chmod(cls.home, 0o755)
        cls.programs = os.path.join(cls.home, "bin")
        os.mkdir(cls.programs)
        for name in ("glovebox", "glovebox-launcher", "glovebox-agent"):
            shutil.copy(os.path.join(sealed.BIN, name), cls.programs)
        for name in ("cache", "runtime", "work"):
            os.mkdir(os.path.join(cls.home, name), 0o700)
        for root, directories, files in os.walk(cls.home):
            for name in directories + files:
                os.chown(os.path.join(root, name), USER, USER)
        os.chown(cls.home, USER, USER)

    def command(self, *words):
        return ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", "env", "-i",
                "PATH=/usr/bin:/bin", f"HOME={self.home}", f"XDG_CACHE_HOME={self.home}/cache",
                f"XDG_RUNTIME_DIR={self.home}/runtime", os.path.join(self.programs, "glovebox"), *words]

    def glovebox(self, *words, stdin=b""):
        return subprocess.run(self.command(*words), input=stdin, capture_output=True, timeout=60,
                              cwd=self.home)

    def json(self, *words):
        ran = self.glovebox("run", "--json", *words)
        self.assertTrue(ran.stdout, ran.stderr)
        return ran, json.loads(ran.stdout)

    def state(self):
        """What launchers left in the user's runtime directory."""
        found = []
        for root, directories, files in os.walk(os.path.join(self.home, "runtime")):
            found += [name for name in directories + files if name != "glovebox"]
        return found

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

    def test_walls_of_limits_are_told_only_where_they_hold(self):
        _, answer = self.json("--exec", "/bin/true")
        walls = set(answer["isolation"]["walls"])
        ran = self.glovebox("run", "--memory", "64M", "--exec", "/bin/true")
        self.assertEqual(ran.returncode == 0, "memory-limit" in walls, ran.stderr)
        ran = self.glovebox("run", "--cpus", "0.5", "--exec", "/bin/true")
        self.assertEqual(ran.returncode == 0, "cpu-limit" in walls, ran.stderr)

    def test_an_explicit_limit_that_cannot_be_kept_is_refused_in_one_line(self):
        _, answer = self.json("--exec", "/bin/true")
        if "memory-limit" in answer["isolation"]["walls"]:
            self.skipTest("this user has a cgroup with a memory controller")
        ran = self.glovebox("run", "--memory", "64M", "-c", "print('ran')")
        self.assertEqual((ran.returncode, ran.stdout), (125, b""))
        self.assert_one_line(ran.stderr)
        self.assertIn(b"memory limit", ran.stderr)

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
        self.assertEqual([name for name in self.state() if name not in sealed.KEPT], [])

    def test_a_killed_launcher_is_swept_by_the_next(self):
        process = subprocess.Popen(
            self.command("run", "-c", "import time; print('ready', flush=True); time.sleep(1000)"),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual(sealed.read_line(process.stdout), b"ready\n")
        sealed.end(processes.named("glovebox-launch"))
        process.wait(timeout=20)
        process.stdout.close()
        self.assertEqual(self.glovebox("run", "--exec", "/bin/true").returncode, 0)
        self.assertEqual([name for name in self.state() if name not in sealed.KEPT], [])


if __name__ == "__main__":
    sealed.main()
