# Attacks on and from warm sandboxes. First: whatever holds in a cold sandbox holds in one that a
# zygote was forked into. Then: the zygote itself is the attacker, as if a dependency that an administrator
# chose were hostile; nothing outside its own nursery is reached, and others are served.
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import hostile_preload as hostile
import launcher_wire as wire
import processes
import sealed
import warm
from attack_rows import ATTACKS, DENIED, KILLED_BY_FILTER, AttackTargets, kernel_lacks, rows

PROMPT = 6  # seconds within which others must be served, on a busy machine


def limits_of(flags):
    """The launcher's limits for flags of `glovebox run`."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    words = dict(zip(flags[::2], flags[1::2]))
    size = lambda text: int(text[:-1]) * units[text[-1]]  # noqa: E731
    known = {"--memory": ("memory", size), "--disk": ("disk", size), "--pids": ("pids", int),
             "--timeout": ("wall", lambda text: int(text[:-1]) * 1000),
             "--cpu-time": ("cpu", lambda text: int(text[:-1]) * 1000),
             "--cpus": ("cpus", lambda text: int(float(text) * 1000))}
    return wire.limits(**{known[flag][0]: known[flag][1](value) for flag, value in words.items()})


@unittest.skipUnless(os.path.exists(ATTACKS), "glovebox-attacks is not built")
class InsideWarmSandboxes(warm.TestCase):
    templates = ("python",)

    def setUp(self):
        super().setUp()
        self.rows = rows()
        self.targets = AttackTargets(self)
        with open(ATTACKS, "rb") as file:
            self.program = file.read()

    def attack(self, row, *more):
        """The row in a warm sandbox, from the forked interpreter by exec: (outcome, how it ended)."""
        sandbox = self.client.create_patiently()
        try:
            sandbox.take(limits_of(row["limits"]))
            sandbox.put_file("/home/user/a", self.program, 0o755)
            arguments = ["/home/user/a", row["name"], *more, *self.targets.arguments(row)]
            sandbox.start(f"import os\nos.execv('/home/user/a', {arguments!r})")
            outcome = sandbox.finish()
            ended = sandbox.destroy()
        finally:
            sandbox.forget()
        self.assertNotIn(self.targets.canary.encode(), outcome.out + outcome.err, "it printed what lies outside")
        return outcome, ended

    def test_probes(self):
        held = 0
        for row in self.rows:
            if row["kind"] != "probe":
                continue
            with self.subTest(row=row["name"]):
                if kernel_lacks(self.targets, row):
                    continue
                outcome, _ = self.attack(row)
                self.assertTrue(outcome.code == DENIED or outcome.signal == KILLED_BY_FILTER, outcome)
                held += 1
        self.assertGreater(held, 150)

    def test_bombs(self):
        tried = 0
        for row in self.rows:
            # How much output is kept is the client's matter, not the sandbox's.
            if row["kind"] != "bomb" or "truncated" in row["outcome"]:
                continue
            with self.subTest(row=row["name"]):
                outcome, ended = self.attack(row)
                words = set()
                if ended.reason in (warm.WALL_TIMEOUT, warm.CPU_TIMEOUT):
                    words.add("timed_out")
                elif ended.oom_kills:
                    words.add("oom_killed")
                elif outcome.code == DENIED:
                    words |= {"denied"} | {word for word in row["outcome"] if f": {word.upper()}".encode() in outcome.out}
                self.assertTrue(words & set(row["outcome"]), (outcome, ended, row["outcome"]))
                tried += 1
        self.assertGreater(tried, 20)

    def test_no_child_is_held_at_its_exit(self):
        outcome = self.client.run(hostile.PRELUDE + hostile.PROBES + """
for _ in range(2):
    try: print(hold_a_child_at_its_exit())
    except OSError as error: print(errno.errorcode[error.errno])
""")
        self.assertEqual(outcome.out, b"EPERM\nEPERM\n", outcome)

    def test_survivors(self):
        tried = 0
        for row in self.rows:
            if row["kind"] != "survivor":
                continue
            with self.subTest(row=row["name"]):
                outcome, _ = self.attack(row)
                self.assertEqual(outcome.code, DENIED, outcome)
                self.assertIn(b"left behind", outcome.out)
                self.assertTrue(sealed.wait_until(lambda: len(self.launcher.processes()) <= 4), self.launcher.processes())
                tried += 1
        self.assertGreater(tried, 4)

    def test_neighbours(self):
        tried = 0
        for row in self.rows:
            if row["kind"] != "neighbour":
                continue
            with self.subTest(row=row["name"]):
                first = self.client.create_patiently()
                first.take()
                first.put_file("/home/user/a", self.program, 0o755)
                words = self.targets.arguments(row)
                first.start(f"import os\nos.execv('/home/user/a', {['/home/user/a', row['name'], 'step=exhaust', *words]!r})")
                said = os.read(first.pipes[1], 1 << 16)  # ready, or why it got nothing
                try:
                    if b"ready" in said:
                        outcome, _ = self.check_beside(row, words)
                        self.assertTrue(outcome.code == DENIED or outcome.signal == KILLED_BY_FILTER, outcome)
                    else:
                        self.assertEqual(first.finish().code, DENIED, said)
                finally:
                    first.destroy()
                tried += 1
        self.assertGreater(tried, 8)

    def check_beside(self, row, words):
        sandbox = self.client.create_patiently()
        try:
            sandbox.take()
            sandbox.put_file("/home/user/a", self.program, 0o755)
            sandbox.start(f"import os\nos.execv('/home/user/a', {['/home/user/a', row['name'], 'step=check', *words]!r})")
            return sandbox.finish(), sandbox.destroy()
        finally:
            sandbox.forget()


@unittest.skipUnless(warm.can_add_modules(), "this host's Python has no place for a module of a layer's")
class HostilePreload(warm.TestCase):
    templates = ("python",)
    modules = {}  # name: source

    def write_templates(self):
        for name, source in self.modules.items():
            warm.add_template(self.templates_place, name, source)

    def setUp(self):
        super().setUp()
        self.hostile = self.connect()

    def assert_others_are_served(self, seconds=PROMPT):
        begun = time.monotonic()
        outcome = self.client.run("print('served')")
        self.assertEqual((outcome.out, outcome.code), (b"served\n", 0), outcome)
        self.assertLess(time.monotonic() - begun, seconds, "the launcher had no time for others")

    def refusal(self, template, seconds=warm.PATIENCE):
        """Why a warm sandbox of the template cannot be had."""
        try:
            sandbox = self.hostile.create(template, seconds=seconds)
        except warm.Refused as refused:
            return refused
        sandbox.destroy()
        self.fail(f"{template} gave a sandbox")


class FromTheZygote(HostilePreload):
    """Where it stands: every probe fails in the zygote, and works on the host."""

    def write_templates(self):
        self.targets = AttackTargets(self)
        self.layer = warm.add_template(self.templates_place, "hostile", "")
        self.file = self.layer + "/opt/preload/preload_hostile.py"
        inside = self.aims(outside=False)
        with open(self.file, "w") as file:
            file.write(hostile.probes(inside, "raise RuntimeError('REPORT' + json.dumps(all_probes()) + 'END')\n"))

    def aims(self, outside):
        mine = [os.path.join(self.place, "copy.py")]
        with open(mine[0], "w") as file:
            file.write("# a file of root's\n")
        inside = ["/opt/preload/preload_hostile.py", "/opt/glovebox/python/zygote.py", "/opt/glovebox/python/runner.py",
                  "/usr/bin/python3", "/usr/lib/python3.11/os.py", "/etc/passwd"]
        return {"canary": self.targets.place + "/canary", "port": self.targets.port, "abstract": self.targets.abstract,
                "launcher": os.path.join(self.place, "launcher.sock"), "outside": outside,
                "read_only": mine if outside else inside,
                "read_only_places": [self.place] if outside else sorted({os.path.dirname(path) for path in inside} | {"/", "/opt"})}

    def test_every_probe(self):
        source = hostile.probes(self.aims(outside=True), "print('REPORT' + json.dumps(all_probes()) + 'END')\n")
        done = subprocess.run(["/usr/bin/python3", "-I", "-c", source], capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL)
        control = self.report(done.stdout)
        self.assertGreater(len(control), 20, done.stderr)
        with open(self.file, "rb") as file:
            before = file.read()
        status = self.hostile.prepare("hostile")
        self.assertEqual(status.state, warm.FAILED, status)
        found = self.report(status.error)
        self.assertEqual(set(found), set(control))
        for name in control:
            with self.subTest(probe=name):
                self.assertTrue(control[name][0], f"the control does not work: {control[name]}")
                self.assertFalse(found[name][0], found[name])
        self.assertNotIn(self.targets.canary, status.error)
        with open(self.file, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assert_others_are_served()

    @staticmethod
    def report(text):
        text = text.replace("\n", "")
        at = text.rfind("REPORT{")
        return json.loads(text[at + 6:text.index("END", at)]) if at >= 0 else {}


class AfterReady(HostilePreload):
    """What it says to the launcher, or does not say."""
    modules = {name: hostile.PRELUDE + source for name, source in hostile.AFTER.items()}

    def test_what_it_says_hurts_nobody(self):
        for name in ("garbage", "huge", "empty", "ready-twice", "plan", "gifts", "flood", "dies-at-once", "says-failed", "never"):
            with self.subTest(template=name):
                self.hostile.ask_for(name)
                self.hostile.wait(lambda: name in self.hostile.templates and
                                  self.hostile.templates[name].state in (warm.READY, warm.FAILED), 3)
                for _ in range(3):
                    self.assert_others_are_served()
                self.assertTrue(all(c == "\n" or " " <= c < "\x7f" for c in self.hostile.templates[name].error))
        # All of them together, and still.
        self.assert_others_are_served()
        self.assertLess(len(self.launcher.log()), 1 << 20, "it can fill the log")

    def test_descriptors_that_it_sends_are_not_kept(self):
        self.assertEqual(self.hostile.prepare("gifts").state, warm.READY)
        before = sealed.open_files(self.launcher.pid)
        self.hostile.wait(lambda: False, 2)  # two hundred messages of three
        self.assertLess(sealed.open_files(self.launcher.pid), before + 20)
        self.assert_others_are_served()

    def test_one_that_dies_at_once_is_not_started_without_a_pause(self):
        self.hostile.ask_for("dies-at-once")
        self.hostile.wait(lambda: False, 4)
        starts = [one for one in self.hostile.history if one.name == "dies-at-once" and one.state == warm.READY]
        self.assertLess(len(starts), 8, "it is started again and again")

    def test_one_that_never_lets_a_child_arrive(self):
        for name in ("mute", "dies-at-join", "ends-in-cgroup", "ends-inside", "child-ends"):
            with self.subTest(template=name):
                self.assertEqual(self.hostile.prepare(name).state, warm.READY)
                pending = [self.hostile.begin(name) for _ in range(3)]
                self.assert_others_are_served()
                for one in pending:
                    with self.assertRaises(warm.Refused) as caught:
                        one.sandbox()
                    self.assertEqual(caught.exception.code, warm.UNAVAILABLE, caught.exception)
                self.assert_others_are_served()


class ByHand(HostilePreload):
    """It joins by itself. Only who is sealed is let in; the agent looks."""
    SKIPS = {"capabilities": "no effective capability", "permitted": "no permitted capability", "user": "the guest's user",
             "group": "the guest's group", "groups": "no other group", "filters": "a guest's filter", "alone": "another process beside",
             "traced": "no tracer"}
    modules = {"by-hand": hostile.PRELUDE + "serve_by_hand()",
               **{"no-" + name: hostile.PRELUDE + f"serve_by_hand({{{name!r}}})" for name in SKIPS}}

    def test_control_one_that_seals_itself_is_let_in(self):
        # By design it may: a zygote can reach the sandboxes that are made for it, and no others.
        self.assertEqual(self.hostile.prepare("by-hand").state, warm.READY)
        outcome = self.hostile.run("", "by-hand")
        self.assertEqual(outcome.out, b"by hand\n", outcome)

    def test_who_is_not_sealed_is_refused(self):
        for name, lacks in self.SKIPS.items():
            with self.subTest(skipped=name):
                self.assertEqual(self.hostile.prepare("no-" + name).state, warm.READY)
                self.assertIn(lacks, self.refusal("no-" + name).message)
        self.assert_others_are_served()


class OnSandboxesInTheMaking(HostilePreload):
    """Its user made the sandboxes' user namespaces, and it sees their first processes be born."""
    modules = {"stops": hostile.PRELUDE + hostile.STOPS_INIT % signal.SIGSTOP,
               "kills": hostile.PRELUDE + hostile.STOPS_INIT % signal.SIGKILL,
               "traces": hostile.PRELUDE + hostile.TRACES_INIT, "looks": hostile.PRELUDE + hostile.LOOKS_INTO_INIT}
    TRIES = 60

    def test_control_the_tracer_traces(self):
        """The same loop, with the same lines, against processes that are its own."""
        for source, word in ((hostile.TRACES_INIT, b"FTRACED"), (hostile.LOOKS_INTO_INIT, b"FLOOKED")):
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with ours, theirs:
                ours.settimeout(warm.PATIENCE)
                head = "import os\nif os.fork() == 0:\n    import time; time.sleep(1000)\nos.getpid = lambda real=os.getpid(): real\n"
                process = subprocess.Popen(["/bin/sh", "-c", f'exec 3<&{theirs.fileno()}; exec /usr/bin/python3 -I -c "$0"',
                                            head + hostile.PRELUDE + source], pass_fds=[theirs.fileno()],
                                           stdin=subprocess.DEVNULL, start_new_session=True)
                try:
                    self.assertEqual(ours.recv(10), b"R")
                    self.assertTrue(ours.recv(9000).startswith(word))
                finally:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def test_their_first_process_is_not_traced_nor_looked_into(self):
        for name in ("traces", "looks"):
            with self.subTest(template=name):
                self.assertEqual(self.hostile.prepare(name).state, warm.READY)
                for _ in range(self.TRIES):
                    pending = self.hostile.begin(name)
                    self.hostile.pump(0.02)
                    pending.link.close()
                self.assert_others_are_served(30)
                said = self.launcher.log() + "".join(one.error for one in self.hostile.history)
                self.assertNotIn("TRACED", said)
                self.assertNotIn("LOOKED", said)

    def test_signals_to_it_hold_nobody_up(self):
        for name in ("stops", "kills"):
            with self.subTest(template=name):
                self.assertEqual(self.hostile.prepare(name).state, warm.READY)
                for _ in range(3):
                    pending = self.hostile.begin(name)
                    self.assert_others_are_served()
                    pending.link.close()


class Staying(HostilePreload):
    """Its processes try to outlive the sandboxes they went into, and itself."""
    modules = {"cgroup": hostile.PRELUDE + hostile.STAYS_IN_CGROUP, "namespaces": hostile.PRELUDE + hostile.STAYS_IN_NAMESPACES,
               "broker": hostile.PRELUDE + hostile.MOVES_THE_BROKER, "children": hostile.PRELUDE + hostile.LEAVES_CHILDREN,
               "late-children": hostile.PRELUDE + hostile.LEAVES_CHILDREN_LATER,
               "holds-guests": hostile.PRELUDE + hostile.HOLDS_GUESTS, "holds-itself": hostile.PRELUDE + hostile.HOLDS_ITSELF}

    def setUp(self):
        super().setUp()
        self.others = self.launcher.zygotes()

    def runs(self, name):
        status = self.hostile.prepare(name)
        self.assertEqual(status.state, warm.READY, status)
        for _ in range(3):
            outcome = self.hostile.run("print('ran')", name)
            self.assertEqual(outcome.out, b"ran\n", outcome)
            self.assert_others_are_served()

    def test_in_a_sandboxs_cgroup(self):
        self.runs("cgroup")
        # No process is left of three sandboxes: broker, zygote, its helper, and those of `python`.
        self.assertTrue(sealed.wait_until(lambda: len(self.launcher.processes()) <= 7), self.launcher.processes())

    def test_in_a_sandboxs_namespaces(self):
        self.runs("namespaces")
        self.assertTrue(sealed.wait_until(lambda: len(self.launcher.processes()) <= 7), self.launcher.processes())

    def test_with_the_broker_in_a_sandboxs_cgroup(self):
        status = self.hostile.prepare("broker")
        self.assertEqual(status.state, warm.READY, status)
        for _ in range(3):
            try:
                sandbox = self.hostile.create("broker")
                sandbox.run("print('ran')")
                sandbox.destroy()
            except (warm.Refused, AssertionError):
                pass  # what becomes of its own is its own affair
            self.assert_others_are_served(15)

    def test_guests_that_it_traces_die(self):
        status = self.hostile.prepare("holds-guests")
        self.assertEqual(status.state, warm.READY, status)
        for _ in range(3):
            sandbox = self.hostile.create_patiently("holds-guests")
            sandbox.take()
            sandbox.start("import time; print('up', flush=True); time.sleep(1000)")
            self.assertEqual(os.read(sandbox.pipes[1], 10), b"up\n")
            sandbox.destroy()
            self.assert_others_are_served()
        gone = lambda: all(process.depth < 3 for process in self.launcher.processes().values())  # noqa: E731
        self.assertTrue(sealed.wait_until(gone), self.launcher.processes())

    def test_a_zygote_that_is_traced_dies_and_nobody_waits_for_it(self):
        self.assertEqual(self.hostile.prepare("holds-itself").state, warm.READY)
        self.begin_and_wait_for("holds-itself", 1)
        os.unlink(os.path.join(self.templates_place, "holds-itself.toml"))
        begun = time.monotonic()
        self.reload()
        self.assert_others_are_served(3)
        self.hostile.template("holds-itself", warm.REMOVED)
        self.assertLess(time.monotonic() - begun, 4, "the launcher waits for it")

    def begin_and_wait_for(self, name, children):
        """Shows it a sandbox, and waits until it has that many processes beside it."""
        (zygote,) = self.launcher.zygotes() - self.others
        pending = self.hostile.begin(name)
        self.addCleanup(pending.link.close)
        there = sealed.wait_until(lambda: len(processes.children(zygote)) >= children)
        self.assertTrue(there, self.launcher.processes())

    def test_one_with_children_is_refused(self):
        status = self.hostile.prepare("children")
        self.assertEqual(status.state, warm.FAILED, status)
        self.assertIn("its modules started processes that have not ended", status.error)
        # `python` has its broker and its zygote, and perhaps a sandbox; the other its broker.
        self.assertTrue(sealed.wait_until(lambda: len(self.launcher.processes()) <= 6), self.launcher.processes())

    def test_children_of_a_zygote_go_with_it(self):
        self.assertEqual(self.hostile.prepare("late-children").state, warm.READY)
        self.begin_and_wait_for("late-children", 5)
        os.unlink(os.path.join(self.templates_place, "late-children.toml"))
        self.reload()
        self.hostile.template("late-children", warm.REMOVED)
        self.assertTrue(sealed.wait_until(lambda: len(self.launcher.processes()) <= 5), self.launcher.processes())


if __name__ == "__main__":
    sealed.main()
