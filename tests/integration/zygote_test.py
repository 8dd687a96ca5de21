# Zygotes: they die, get stuck, grow old and are renewed, and what was forked from them goes on.
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import launcher_wire as wire
import processes
import sealed
import warm
from warm import FAILED, READY, REMOVED

WAIT_FOR_LINE = "import sys; print('here', flush=True); print(sys.stdin.readline())"


class Zygotes(warm.TestCase):
    templates = ("python",)

    def running(self):
        """A warm run that waits for a line."""
        sandbox = self.client.create_patiently()
        sandbox.take()
        sandbox.start(WAIT_FOR_LINE)
        self.assertEqual(os.read(sandbox.pipes[1], 100), b"here\n")
        return sandbox

    def assert_goes_on(self, sandbox):
        outcome = sandbox.finish(b"goes on\n")
        self.assertEqual((outcome.out, outcome.code, outcome.signal), (b"goes on\n\n", 0, 0), outcome)
        sandbox.destroy()


class Deaths(Zygotes):
    def test_a_killed_zygote_is_replaced_and_its_children_live(self):
        for _ in range(3):
            running, waiting = self.running(), self.client.create_patiently()
            old = self.zygote()
            os.kill(old, signal.SIGKILL)
            try:  # right now: either it cannot be had, or it can
                self.client.create().destroy()
            except warm.Refused as refused:
                self.assertEqual(refused.code, warm.UNAVAILABLE, refused)
            self.assert_serves()
            self.zygote(after=old)
            self.assertEqual(waiting.run("print('waited')").out, b"waited\n")
            waiting.destroy()
            self.assert_goes_on(running)
        self.assertEqual(self.client.template("python", READY).zygotes, 1)

    def test_a_stuck_zygote_is_replaced(self):
        running = self.running()
        old = self.zygote()
        os.kill(old, signal.SIGSTOP)
        begun = time.monotonic()
        with self.assertRaises(warm.Refused) as caught:
            self.client.create()
        self.assertEqual(caught.exception.code, warm.UNAVAILABLE, caught.exception)
        self.assertLess(time.monotonic() - begun, 30)  # the launcher gives it ten seconds
        # Others were served meanwhile: the launcher did not wait with us.
        self.assert_serves()
        self.zygote(after=old)
        self.assertFalse(processes.is_alive(old))
        self.assert_goes_on(running)

    def test_while_one_is_stuck_others_are_served(self):
        self.assertEqual(self.client.prepare("base").state, READY)
        os.kill(self.zygote(), signal.SIGSTOP)
        stuck = self.client.begin("python")
        other = self.connect()
        begun = time.monotonic()
        sandbox = other.create("base", warm=0, waits=1)
        self.assertLess(time.monotonic() - begun, 5)
        sandbox.destroy()
        self.addCleanup(stuck.link.close)
        with self.assertRaises(warm.Refused):
            stuck.sandbox()

    def test_a_killed_broker_takes_its_own_along_and_nobody_else(self):
        plain = self.client.create("base", warm=0, waits=1)
        zygote = self.zygote()
        broker = processes.living(zygote).parent
        self.assertGreaterEqual(len(self.launcher.brokers()), 2)
        waiting = self.client.create_patiently()
        os.kill(broker, signal.SIGKILL)
        self.assertIsNotNone(waiting.end(), "the launcher does not say that a waiting sandbox is gone")
        waiting.forget()
        self.assert_serves()
        self.zygote(after=zygote)
        self.assertNotIn(plain.id, self.client.ended)
        plain.destroy()

    def test_a_killed_guest_ends_its_sandbox_alone(self):
        sandboxes = [self.client.create_patiently() for _ in range(3)]
        guests = list(self.launcher.guests())
        self.assertEqual(len(guests), 3, self.launcher.processes())
        os.kill(guests[0], signal.SIGKILL)
        gone = self.client.wait(lambda: [one for one in sandboxes if one.id in self.client.ended])
        self.assertEqual(len(gone), 1)
        for sandbox in sandboxes:
            if sandbox not in gone:
                self.assertEqual(sandbox.run("print(1)").out, b"1\n")
                sandbox.destroy()
            sandbox.forget()


class Apart(Zygotes):
    KINDS = ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup")

    def write_templates(self):
        warm.write_template(self.templates_place, "second", preload=["json"])

    def namespaces(self, pid):
        return processes.living(pid).namespaces()

    def test_templates_share_nothing(self):
        first = self.zygote()
        self.assertEqual(self.client.prepare("second").state, READY)
        (second,) = self.launcher.zygotes() - {first}
        pids = [self.launcher.pid, first, second]
        for kind in self.KINDS:
            with self.subTest(namespace=kind):
                self.assertEqual(len({self.namespaces(pid)[kind] for pid in pids}), 3)
        owners = [os.stat(f"/proc/{pid}").st_uid for pid in (first, second)]
        owners += [self.uids(pid)[0] for pid in (first, second)]
        self.assertEqual(len(set(owners) - {0}), 2, owners)
        self.assertTrue(all(uid >= 1879048192 for uid in owners if uid), owners)
        # Nor with their brokers: those have capabilities, they have none.
        for zygote in (first, second):
            broker = processes.living(zygote).parent
            self.assertNotEqual(self.uids(zygote)[0], self.uids(broker)[0])
            self.assertEqual(set(self.uids(zygote)), {self.uids(zygote)[0]})
            for kind in ("mnt", "net", "ipc", "uts"):
                self.assertNotEqual(self.namespaces(zygote)[kind], self.namespaces(broker)[kind], kind)

    def test_a_guest_shares_nothing_with_its_zygote(self):
        sandboxes = [self.client.create_patiently() for _ in range(2)]
        guests = list(self.launcher.guests())
        self.assertEqual(len(guests), 2, self.launcher.processes())
        for kind in self.KINDS:
            with self.subTest(namespace=kind):
                self.assertEqual(len({self.namespaces(pid)[kind] for pid in (self.zygote(), *guests)}), 3)
        self.assertEqual(len({self.uids(pid)[0] // 65536 for pid in (self.zygote(), *guests)}), 3)
        for sandbox in sandboxes:
            sandbox.destroy()

    @staticmethod
    def uids(pid):
        """Real, effective, saved and of files, as the host knows them."""
        return processes.living(pid).uids


class Renewal(Zygotes):
    options = ("--zygote-max-forks", 5)

    def test_a_zygote_that_forked_enough_is_replaced_and_nobody_notices(self):
        seen, refused, number = set(), 0, 0
        deadline = time.monotonic() + warm.PATIENCE
        while (len(seen) < 4 or number < 40) and time.monotonic() < deadline:
            number += 1
            try:
                sandbox = self.client.create()
            except warm.Refused as error:
                self.assertEqual(error.code, warm.UNAVAILABLE, error)
                refused += 1
                self.client.pump(0.05)
                continue
            self.assertEqual(sandbox.run(f"print({number})").out, b"%d\n" % number)
            sandbox.destroy()
            seen |= self.launcher.zygotes()
        self.assertGreaterEqual(len(seen), 4, "it is not renewed")
        self.assertLess(refused, number / 4)
        # Those before are gone.
        self.assertTrue(sealed.wait_until(lambda: len(self.launcher.zygotes()) <= 2), self.launcher.processes())
        self.assertGreaterEqual(self.client.templates["python"].forks, 20)

    def test_many_at_once_over_renewals(self):
        pending = [self.client.begin() for _ in range(30)]
        good = 0
        for one in pending:
            try:
                sandbox = one.sandbox()
            except warm.Refused as error:
                # On a busy host the last of thirty may take longer than the launcher waits.
                self.assertIn(error.code, (warm.UNAVAILABLE, warm.TIMEOUT), error)
                continue
            self.assertEqual(sandbox.run("print(1)").out, b"1\n")
            sandbox.destroy()
            good += 1
        self.assertGreater(good, 0)
        self.assert_serves()


class ByAge(Zygotes):
    options = ("--zygote-max-age", 1)

    def test_an_old_one_is_replaced(self):
        waiting = self.client.create_patiently()
        old = self.zygote()
        self.assertTrue(sealed.wait_until(lambda: old not in self.launcher.zygotes(), 30))
        self.assert_serves()
        self.assertEqual(waiting.run("print('old')").out, b"old\n")
        waiting.destroy()


class Templates(Zygotes):
    BAD = {
        "fails": ("raise ValueError('the preload says no')", ["ValueError: the preload says no", "Traceback"]),
        "exits": ("raise SystemExit(3)", ["SystemExit"]),
        "dies": ("import os; os._exit(0)", ["died before it was ready"]),
        "aborts": ("import os; os.abort()", ["died before it was ready"]),
        "threads": ("import threading, time\n"
                    "threading.Thread(target=time.sleep, args=(999,), daemon=True, name='lurking').start()",
                    ["refused", "thread", "lurking"]),
        "raw-thread": ("import _thread, time\n_thread.start_new_thread(time.sleep, (999,))\ntime.sleep(.1)",
                       ["refused", "thread"]),
        "leaves-file": ("kept = open('/etc/passwd')", ["refused", "/etc/passwd"]),
        "leaves-socket": ("import socket\nkept = socket.socketpair()", ["refused", "socket:"]),
        "shares": ("import mmap\nkept = mmap.mmap(-1, 4096)", ["refused", "shared writable mapping"]),
        "prints": ("import sys\nprint('\\x1b[31m' * 3, file=sys.stderr)\nraise ValueError('\\x1b[31m red\\x00')",
                   ["ValueError"]),
        "missing": (None, ["cannot import no_such_module", "ModuleNotFoundError"]),
    }
    GOOD = {"good": "ANSWER = 42", "reads": "import os\nos.listdir('/')\nopen('/etc/passwd').close()"}

    def write_templates(self):
        if not warm.can_add_modules():
            self.skipTest("this host's Python has no place for a module of a layer's")
        for name, (module, _) in self.BAD.items():
            if module is None:
                warm.write_template(self.templates_place, name, preload=["no_such_module"])
            else:
                warm.add_template(self.templates_place, name, module)
        for name, module in self.GOOD.items():
            warm.add_template(self.templates_place, name, module)

    def test_what_is_wrong_with_a_preload_is_said_and_others_go_on(self):
        for name in self.BAD:
            self.client.ask_for(name)
        for name, (_, words) in self.BAD.items():
            with self.subTest(template=name):
                status = self.client.template(name, FAILED)
                for word in words:
                    self.assertIn(word, status.error)
                self.assertTrue(all(c == "\n" or " " <= c < "\x7f" for c in status.error), status.error)
                with self.assertRaises(warm.Refused) as caught:
                    self.client.create(name)
                self.assertEqual(caught.exception.code, warm.UNAVAILABLE, caught.exception)
        self.assert_serves()
        for name in self.GOOD:
            self.assertEqual(self.client.prepare(name).state, READY)
            outcome = self.client.run("import preload_%s as p; print(p.__name__)" % name, name)
            self.assertEqual(outcome.code, 0, outcome)

    def test_a_failed_one_does_not_spin(self):
        self.client.prepare("fails")
        self.client.wait(lambda: False, 4)
        tries = [one for one in self.client.history if one.name == "fails" and one.state == FAILED]
        self.assertLess(len(tries), 8, "it is tried without a pause")

    def test_a_hang_up_reads_the_templates_again(self):
        waiting = self.client.create_patiently()
        self.assertEqual(self.client.prepare("good").state, READY)
        self.assertEqual(self.client.run("import preload_good as p; print(p.ANSWER)", "good").out, b"42\n")
        before = self.client.templates["good"].generation
        # One is changed, one goes, one comes.
        path = os.path.join(self.templates_place, "good.layer/opt/preload/preload_good.py")
        with open(path, "w") as file:
            file.write("ANSWER = 43")
        with open(os.path.join(self.templates_place, "good.toml"), "a") as file:
            file.write('[env]\nMORE = "1"\n')
        os.unlink(os.path.join(self.templates_place, "reads.toml"))
        warm.write_template(self.templates_place, "new", preload=["json"])
        self.reload()
        self.client.template("reads", REMOVED)
        with self.assertRaises(warm.Refused) as caught:
            self.client.create("reads")
        self.assertEqual(caught.exception.code, wire.NOT_FOUND, caught.exception)
        self.assertTrue(self.client.wait(lambda: self.client.templates["good"].generation > before))
        self.assertTrue(self.client.wait(lambda: self.client.templates["good"].state == READY))
        self.assertEqual(self.client.run("import preload_good as p; print(p.ANSWER)", "good").out, b"43\n")
        self.assertEqual(self.client.prepare("new").state, READY)
        self.assert_serves("new")
        # A sandbox that waited in a template that did not change still does.
        self.assertEqual(waiting.run("print(1)").out, b"1\n")
        waiting.destroy()

    def test_files_that_are_not_roots_are_not_read(self):
        path = os.path.join(self.templates_place, "foreign.toml")
        warm.write_template(self.templates_place, "foreign", preload=["json"])
        os.chown(path, 1400000000, 1400000000)
        warm.write_template(self.templates_place, "writable", preload=["json"])
        os.chmod(os.path.join(self.templates_place, "writable.toml"), 0o666)
        self.reload()
        warm.write_template(self.templates_place, "seen", preload=["json"])
        self.reload()
        self.assertTrue(self.client.wait(lambda: "seen" in self.client.templates or self.client.prepare("seen")))
        for name in ("foreign", "writable"):
            with self.assertRaises(warm.Refused):
                self.client.create(name)


class Packages(Zygotes):
    STATUS = "/var/lib/dpkg/status"

    def test_an_upgrade_of_the_host_renews_everything(self):
        if not os.path.exists(self.STATUS):
            self.skipTest("the host has no dpkg")
        before = self.client.templates["python"].generation
        waiting = self.client.create_patiently()
        self.assertEqual(waiting.generation, before)
        old = self.zygote()
        copy = os.path.join(self.place, "status")
        shutil.copyfile(self.STATUS, copy)
        # In the launcher's own namespace: it left ours when it made its first sandbox.
        inside = ["nsenter", f"--mount=/proc/{self.launcher.pid}/ns/mnt", "--"]
        subprocess.run([*inside, "mount", "--bind", copy, self.STATUS], check=True)
        try:
            self.assertTrue(self.client.wait(lambda: self.client.templates["python"].generation > before, 30))
            self.assertTrue(self.client.wait(lambda: self.client.templates["python"].state == READY))
            self.zygote(after=old)
            fresh = self.client.create_patiently()
            self.assertGreater(fresh.generation, before)
            self.assertEqual(fresh.run("print(1)").out, b"1\n")
            fresh.destroy()
        finally:
            subprocess.run([*inside, "umount", self.STATUS], check=True)
        waiting.destroy()


if __name__ == "__main__":
    sealed.main()
