# Attacks with templates that are made over HTTP. A client that names modules and variables has code of its
# own in a zygote: what it may use, whom it may hold up, what is left of it, and where it is not
# started at all.
import os
import pathlib
import random
import shutil
import string
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import launcher_wire as wire
import old_kernel
import processes
import sealed
import server
import warm
from sealed import wait_until
from session import Session
from warm import FAILED, READY, REMOVED

MEMORY = 1 << 2
NOBODY = 65534
# In a layer of the administrator's, so that a definition can name them.
MODULES = {
    # Says that it is ready when it is alone, and is not afterwards.
    # What its child holds is there from the fork on: the launcher ends it soon.
    "late": "import os, socket, time\nheld = bytearray(int(os.environ['HELD']) << 20)\n"
            "held[::4096] = b'x' * len(held[::4096])\nsocket.socket(fileno=os.dup(3)).send(b'R')\ntime.sleep(.5)\n"
            "if os.fork() == 0:\n    os.close(3)\n    time.sleep(1000)\ntime.sleep(1000)\n",
    "early": "import os, time\nif os.fork() == 0:\n    os.close(3)\n    time.sleep(1000)\n",
    "spinning": "import os, socket\nsocket.socket(fileno=os.dup(3)).send(b'R')\nwhile True: pass\n",
    "large": "held = bytearray(400 << 20)\nheld[::4096] = b'x' * len(held[::4096])\n",
}


def identity():
    return "own." + "".join(random.choices(string.ascii_lowercase + string.digits, k=20))


def memory(megabytes):
    return wire.limits(memory=megabytes << 20, asked=MEMORY)


def bound_of(pid, controller, v1, v2):
    """A process's limit, from whichever hierarchy has it."""
    for line in processes.living(pid).read("cgroup").decode().splitlines():
        _, controllers, path = line.split(":", 2)
        file = v1 if controller in controllers.split(",") else v2 if not controllers else None
        for root in sealed.hierarchies() if file else ():
            try:
                with open(f"{root}{path}/{file}") as opened:
                    return opened.read().strip()
            except FileNotFoundError:
                pass  # not this hierarchy's
    return None


class Attack(sealed.TestCase):
    """One launcher for each test, with the attacker's server and another one."""
    options = ()
    modules = ()

    def setUp(self):
        super().setUp()
        self.place = self.directory()
        templates = os.path.join(self.place, "templates")
        os.mkdir(templates, 0o755)
        for name in self.modules:
            warm.add_template(templates, name, MODULES[name], preload=["json"])
        self.launcher = warm.Launcher(self.place, *self.options, templates=templates)
        self.addCleanup(self.launcher.stop)
        self.client, self.other = self.connect(), self.connect()

    def connect(self):
        client = warm.Client(self.launcher)
        self.addCleanup(client.close)
        client.template("python", 1, 2, 3)
        return client

    def ask(self, message):
        self.client.seq += 1
        wire.send(self.client.socket, message[:2] + self.client.seq.to_bytes(4, "little") + message[6:])
        return self.client.answer_to(self.client.seq)

    def define(self, *words, **more):
        name = identity()
        answer = self.ask(wire.define(name, *words, **more))
        self.assertEqual(answer.kind, wire.DONE, answer)
        return name


class OnTheLauncher(Attack):
    def test_another_server_is_never_told(self):
        name = self.define(preload=["json.tool"], env=["PASSWORD=hunter2"])
        self.assertEqual(self.ask(wire.forget(name)).kind, wire.DONE)
        self.client.template(name, REMOVED)  # the control: whose it was hears of it
        self.other.ask_for("python")
        self.other.template("python", READY)  # so it has heard all that was said before
        self.assertNotIn(name, [one.name for one in self.other.history])

    def test_a_flood_of_definitions_holds_nobody_up(self):
        env = ["V%02d=%s" % (i, "x" * 110) for i in range(60)]
        names = [self.define("base", env=env) for _ in range(200)]
        self.assertEqual(self.other.run("print(1)").out, b"1\n")
        over, sent = threading.Event(), []
        flood = self.client.socket
        flood.settimeout(None)

        def send():
            while not over.is_set():
                message = wire.define(names[0], "base", env=env[1:] + [f"X={len(sent)}"], seq=1_000_000 + len(sent))
                try:
                    flood.send(message)
                except OSError:
                    return
                sent.append(message)

        def receive():
            while not over.is_set():
                try:
                    if not flood.recv(1 << 16):
                        return
                except OSError:
                    return
        threads = [threading.Thread(target=one, daemon=True) for one in (send, receive)]
        stop = threading.Timer(15, over.set)
        for thread in (*threads, stop):
            thread.start()
        try:
            self.assertTrue(wait_until(lambda: len(sent) > 300))
            for _ in range(3):
                self.assertEqual(self.other.run("print(2)").out, b"2\n")
            self.assertFalse(over.is_set(), "others were served when it was over")
        finally:
            over.set()
            stop.cancel()
            flood.shutdown(2)
            for thread in threads:
                thread.join()


    def test_a_server_that_tells_all_it_has_before_it_reads_is_heard(self):
        # As one does that has come back: more than fits into any buffer.
        env = ["V%02d=%s" % (i, "x" * 110) for i in range(60)]
        sent, count = [], 200

        def send():
            for i in range(count):
                self.client.socket.send(wire.define(identity(), "base", env=env, seq=1000 + i))
                sent.append(time.monotonic())
        self.client.socket.settimeout(warm.PATIENCE)
        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        # It goes on only when it is read.
        self.assertTrue(wait_until(lambda: sent and time.monotonic() - sent[-1] > 0.5))
        self.assertLess(len(sent), count)
        self.assertEqual(self.other.run("print(1)").out, b"1\n")
        for i in range(count):
            self.assertEqual(self.client.answer_to(1000 + i).kind, wire.DONE)
        thread.join()
        self.assertEqual(len([one for one in self.client.templates if one.startswith("own.")]), count)


class Policy(Attack):
    def setUp(self):
        with tempfile.NamedTemporaryFile("w", prefix="gbx-test-", suffix=".toml", delete=False) as policy:
            policy.write("[templates]\nof_projects = false\n")
        self.addCleanup(os.unlink, policy.name)
        self.options = ("--policy", policy.name)
        super().setUp()

    def test_none_where_the_administrator_wants_none(self):
        answer = self.ask(wire.define(identity()))
        self.assertEqual((answer.kind, answer.code), (wire.REFUSED, wire.POLICY))
        self.assertIn("templates.of_projects", answer.message)
        self.assertEqual(self.other.run("print(1)").out, b"1\n")


@unittest.skipUnless(warm.can_add_modules(), "this host's Python has no place for a module of a layer's")
@unittest.skipUnless(old_kernel.can_shut_zygotes_in(), "no zygotes for these here: Landlock is too old")
class ZygoteAttack(Attack):
    """With modules of the attacker's, and where they are imported ahead."""


class FromItsZygote(ZygoteAttack):
    modules = tuple(MODULES)

    def zygote_of(self, name):
        before = self.launcher.zygotes()
        self.assertEqual(self.client.prepare(name).state, READY, self.client.templates[name].error)
        (pid,) = self.launcher.zygotes() - before
        return pid

    def test_its_bounds_are_its_templates(self):
        pid = self.zygote_of(self.define(preload=["json.tool"], bounds=memory(100)))
        limit = bound_of(pid, "memory", "memory.limit_in_bytes", "memory.max")
        whole = (100 + 128) << 20
        # On v1 a part of it is for the buffers of sockets, which are counted apart.
        sockets = bound_of(pid, "memory", "memory.kmem.tcp.limit_in_bytes", "none")
        self.assertEqual(int(limit) + int(sockets or 0), whole)
        self.assertEqual(bound_of(pid, "pids", "pids.max", "pids.max"), "16")
        quota = bound_of(pid, "cpu", "cpu.cfs_quota_us", "cpu.max").split()[0]
        self.assertEqual(int(quota), 100_000)
        # The control: an administrator's may have more.
        pid = self.zygote_of("python")
        self.assertEqual(bound_of(pid, "pids", "pids.max", "pids.max"), "64")

    def test_not_more_memory_than_that(self):
        small = self.define("large", preload=["preload_large"], bounds=memory(64))
        status = self.client.prepare(small)
        self.assertEqual(status.state, FAILED)
        self.assertIn("memory", status.error)
        enough = self.define("large", preload=["preload_large"], bounds=memory(600))
        self.assertEqual(self.client.prepare(enough).state, READY)

    def test_processes_that_it_leaves_are_a_refusal(self):
        name = self.define("early", preload=["preload_early"])
        status = self.client.prepare(name)
        self.assertEqual(status.state, FAILED)
        self.assertIn("started processes", status.error)
        self.assertEqual(self.ask(wire.forget(name)).kind, wire.DONE)
        self.assertTrue(wait_until(lambda: not self.launcher.processes()), self.launcher.processes())

    def children(self):
        """Processes that a zygote started."""
        below = self.launcher.processes()
        zygotes = warm.zygotes_of(self.launcher.pid, below)
        return [process for process in below.values() if process.parent in zygotes]

    def test_processes_that_it_starts_later_end(self):
        name = self.define("late", preload=["preload_late"], env=["HELD=1"])
        self.assertEqual(self.client.prepare(name).state, READY)
        self.assertTrue(wait_until(self.children))
        self.client.template(name, 2, 4)  # it is not ready any more
        self.assertIn("start processes of their own", self.launcher.log())
        self.assertEqual(self.other.run("print(1)").out, b"1\n")

    def test_it_does_not_compute_while_it_waits(self):
        name = self.define("spinning", preload=["preload_spinning"])
        idle = self.define(preload=["json.tool"])
        self.assertEqual(self.client.prepare(idle).state, READY)
        self.assertEqual(self.client.prepare(name).state, READY)
        self.client.template(name, 2, 4)
        self.assertIn("use the CPU while the zygote is idle", self.launcher.log())
        # The control: one that does not.
        self.assertEqual([one.state for one in self.client.history if one.name == idle][-1], READY)

    def test_what_dies_slowly_leaves_nothing_and_holds_nobody_up(self):
        self.assertEqual(self.other.run("print(1)").out, b"1\n")
        for _ in range(2):
            name = self.define("late", preload=["preload_late"], env=["HELD=1000"], bounds=memory(2000))
            self.assertEqual(self.client.prepare(name).state, READY)
            self.assertTrue(wait_until(lambda: any(child.resident_bytes() > 900 << 20 for child in self.children())))
            self.assertEqual(self.ask(wire.forget(name)).kind, wire.DONE)
            self.assertEqual(self.other.run("print(2)").out, b"2\n")
        self.client.close()
        self.other.close()
        # `python` has its zygote, and perhaps a sandbox waits.
        self.assertTrue(wait_until(lambda: len(sealed.sandboxes()) <= 2), sealed.sandboxes())
        self.assertNotIn("a cgroup could not be removed", self.launcher.log())


class AllTogether(ZygoteAttack):
    options = ("--zygote-memory", 700)
    modules = ("large",)

    def test_the_largest_ends_when_all_have_too_much(self):
        small = self.define(preload=["json.tool"])
        self.assertEqual(self.client.prepare(small).state, READY)
        large = [self.define("large", preload=["preload_large"], bounds=memory(600)) for _ in range(2)]
        self.assertEqual(self.client.prepare(large[0]).state, READY)
        self.client.ask_for(large[1])
        ended = self.client.wait(lambda: [one for one in self.client.history if "too much" in one.error])
        self.assertEqual([one.name in large for one in ended], [True])
        self.assertEqual(self.client.templates[small].state, READY)
        self.assertEqual(self.client.run("print(1)", small).out, b"1\n")


class ByHttp(server.Served):
    settings = {}

    def make(self, client, **fields):
        return client.call("POST", "/v1/templates", {"name": "mine", "from": "base", **fields})

    def test_a_project_makes_not_more_than_that_in_a_minute(self):
        client = self.server.client(self.server.new_key(project="busy")[0])
        for _ in range(30):
            self.assertEqual(self.make(client).status, 201)
            self.assertEqual(client.call("DELETE", "/v1/templates/mine").status, 204)
        refused = self.make(client)
        self.assertEqual((refused.status, refused.code), (429, "template_limit"), refused)
        self.assertTrue(0 < int(refused.headers["Retry-After"]) <= 60, refused.headers)
        other = self.server.client(self.server.new_key(project="quiet")[0])
        self.assertEqual(self.make(other).status, 201)

    def test_a_template_has_not_more_memory_than_its_key(self):
        client = self.server.client(self.server.new_key(project="small", limits={"max_memory_mb": 64})[0])
        for profile in ({}, {"memory_mb": 2048, "disk_mb": 1}, {"memory_mb": 60, "disk_mb": 8}):
            refused = self.make(client, profile=profile)
            self.assertEqual((refused.status, refused.code), (403, "key_limit"), refused)
        self.assertEqual(self.make(client, profile={"memory_mb": 48, "disk_mb": 16}).status, 201)
        self.assertEqual(client.run(template="mine", command="true")["exit_code"], 0)


class OnAnOldKernel(server.Served):
    """A zygote could look into sandboxes that are being made: so a client's has none."""
    settings = {}
    prefix = old_kernel.PREFIX

    @classmethod
    def setUpClass(cls):
        cls.before = sealed.Nothing()
        cls.server = server.Server(settings=cls.settings, prefix=cls.prefix)

    def made(self):
        client = self.server.client(self.server.new_key(project="ours")[0])
        self.addCleanup(client.close)
        fields = {"name": "mine", "from": "python", "preload": ["json.tool"], "env": {"GREETING": "hello"}}
        answer = client.call("POST", "/v1/templates", fields)
        self.assertEqual(answer.status, 201, answer)
        self.addCleanup(client.call, "DELETE", "/v1/templates/mine")
        shown = {}

        def settled():
            shown.update(client.get("/v1/templates/mine").json)
            return shown["state"] in ("ready", "failed")
        self.assertTrue(wait_until(settled, server.PATIENCE), shown)
        return client, shown

    CODE = "import os, sys; print('json.tool' in sys.modules, os.environ['GREETING'])"

    def test_its_runs_are_cold_and_it_says_why(self):
        client, shown = self.made()
        self.assertEqual((shown["state"], shown["zygotes"]), ("failed", 0))
        self.assertIn("Landlock", shown["error"])
        self.server.wait_warm("python")  # the administrator's has one
        self.assert_all_are_the_administrators(client)
        ran = client.run(template="mine", code=self.CODE)
        self.assertEqual((ran["stdout"], ran["warm"]), ("False hello\n", False))
        with Session(client, template="mine") as one:
            self.assertEqual(one.code(self.CODE)["stdout"], "False hello\n")
            self.assertFalse(one.post("/contexts", status=201, language="python")["warm"])
        self.assert_all_are_the_administrators(client)

    def assert_all_are_the_administrators(self, client):
        def told():
            listed = client.get("/v1/templates").json["templates"]
            self.assertEqual([one["zygotes"] for one in listed if one["name"] == "mine"], [0])
            return sum(one["zygotes"] for one in listed)
        self.assertTrue(wait_until(lambda: len(self.server.zygotes()) == told()), self.server.zygotes())


@unittest.skipUnless(old_kernel.can_shut_zygotes_in(), "this is an old kernel")
class OnThisKernel(OnAnOldKernel):
    """The control: the same, without the filter."""
    prefix = ()

    def test_its_runs_are_cold_and_it_says_why(self):
        client, shown = self.made()
        self.assertEqual((shown["state"], shown["error"]), ("ready", None))
        answers = []

        def is_warm():
            answers.append(client.run(template="mine", code=self.CODE))
            return answers[-1]["warm"]
        self.assertTrue(wait_until(is_warm, server.PATIENCE), answers[-1:])
        self.assertEqual(answers[-1]["stdout"], "True hello\n")


class Rootless(sealed.TestCase):
    """As a user to whom no cgroup is delegated: nothing would bound it."""

    def test_it_has_no_zygote_there(self):
        home = tempfile.mkdtemp(prefix="gbx-test-")
        self.addCleanup(shutil.rmtree, home)
        for name in ("cache", "runtime", "none"):
            os.mkdir(os.path.join(home, name), 0o700)
        for name in ("glovebox-launcher", "glovebox-agent"):
            shutil.copy(os.path.join(sealed.BIN, name), home)
        for name in ("", *os.listdir(home)):
            os.chown(os.path.join(home, name), NOBODY, NOBODY)
        os.chmod(home, 0o755)
        path = os.path.join(home, "runtime", "launcher.sock")
        command = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "env", "-i",
                   "PATH=/usr/bin:/bin", f"HOME={home}", f"XDG_CACHE_HOME={home}/cache",
                   f"XDG_RUNTIME_DIR={home}/runtime", home + "/glovebox-launcher", "--listen", path,
                   "--templates", home + "/none"]
        with open(os.path.join(home, "log"), "wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def stop():
            process.terminate()
            process.wait(30)
        self.addCleanup(stop)
        self.assertTrue(wait_until(lambda: sealed.listens(path)), pathlib.Path(home, "log").read_text())
        launcher = warm.Launcher.__new__(warm.Launcher)
        launcher.path, launcher.process = path, process
        client = warm.Client(launcher)
        self.addCleanup(client.close)
        client.template("python", 1, 2, 3)
        name = identity()
        wire.send(client.socket, wire.define(name, preload=["json.tool"], seq=7))
        self.assertEqual(client.answer_to(7).kind, wire.DONE)
        status = client.prepare(name)
        self.assertEqual(status.state, FAILED)
        self.assertIn("memory and pids cgroups" if old_kernel.can_shut_zygotes_in() else "Landlock",
                      status.error)
        cold = client.create(name, warm=0, waits=0)
        cold.destroy()
        # The control: the user's own templates have theirs.
        self.assertEqual(client.prepare("python").state, READY)


if __name__ == "__main__":
    sealed.main()
