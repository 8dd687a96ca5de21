# Templates that are made over HTTP: the launcher as a hostile server meets it, and the whole server:
# made, used, kept apart by projects, there again after kill -9, and gone without a trace.
import json
import os
import random
import signal
import string
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import launcher_wire as wire
import old_kernel
import sealed
import server
import warm
from sealed import wait_until
from session import Session
from warm import FAILED, READY, REMOVED


def identity():
    return "own." + "".join(random.choices(string.ascii_lowercase + string.digits, k=20))


def asked(kind_bits, **more):
    return wire.limits(asked=kind_bits, **more)


MEMORY, PIDS = 1 << 2, 1 << 4
with_zygotes = unittest.skipUnless(old_kernel.can_shut_zygotes_in(), "no zygotes for these here: Landlock is too old")


class HostileServer(sealed.TestCase):
    """One launcher for each test; whatever it is told, it goes on and leaves nothing."""

    def setUp(self):
        super().setUp()
        self.place = self.directory()
        self.templates = os.path.join(self.place, "templates")
        os.mkdir(self.templates, 0o755)
        self.launcher = warm.Launcher(self.place, templates=self.templates)
        self.addCleanup(self.launcher.stop)
        self.client = self.new_client()

    def new_client(self, is_server=True):
        client = warm.Client(self.launcher, is_server)
        self.addCleanup(client.close)
        if is_server:
            client.template("python", 1, 2, 3)
        return client

    def ask(self, message, client=None):
        """The launcher's answer to a message with a number."""
        client = client or self.client
        client.seq += 1
        message = message[:2] + client.seq.to_bytes(4, "little") + message[6:]
        wire.send(client.socket, message)
        return client.answer_to(client.seq)

    def define(self, *words, client=None, **more):
        name = identity()
        answer = self.ask(wire.define(name, *words, **more), client)
        self.assertEqual(answer.kind, wire.DONE, answer)
        return name

    def refused(self, message, code, client=None):
        answer = self.ask(message, client)
        self.assertEqual((answer.kind, answer.kind == wire.REFUSED and answer.code), (wire.REFUSED, code), answer)
        return answer.message

    @with_zygotes
    def test_is_its_base_with_modules_of_its_own(self):
        name = self.define(preload=["json.tool"], env=["GREETING=hello"])
        self.assertIn(name, self.client.templates)  # told before the answer
        self.assertEqual(self.client.prepare(name).state, READY)
        ran = self.client.run("import sys, os\nprint('json.tool' in sys.modules, os.environ.get('GREETING'))", name)
        self.assertEqual(ran.out, b"True None\n", ran)  # a job's variables are the server's to say
        plain = self.client.run("import sys\nprint('json.tool' in sys.modules)", "python")
        self.assertEqual(plain.out, b"False\n", plain)
        # A zygote each, in a nursery of its own.
        self.assertEqual(len(self.launcher.zygotes()), 2)
        self.assertEqual(self.ask(wire.forget(name)).kind, wire.DONE)
        self.client.template(name, REMOVED)
        self.assertTrue(wait_until(lambda: len(self.launcher.zygotes()) == 1))
        with self.assertRaises(warm.Refused) as caught:
            self.client.create(name, warm=0, waits=0)
        self.assertEqual(caught.exception.code, wire.NOT_FOUND)

    def test_what_is_refused(self):
        good = identity()
        bad = [
            wire.define("python"), wire.define("mine"), wire.define("own." + "A" * 20), wire.define("own." + "a" * 19),
            wire.define("own." + "a" * 19 + "/"), wire.define("own.../../../etc/passwd.a"),
            wire.define(good, "../python"), wire.define(good, "own." + "a" * 20), wire.define(good, ""),
            wire.define(good, preload=["/tmp/x.py"]), wire.define(good, preload=["-c"]),
            wire.define(good, preload=["a", "a"]), wire.define(good, preload=["a\0b"]), wire.define(good, preload=[""]),
            wire.define(good, preload=["a b"]), wire.define(good, preload=["os;import x"]),
            wire.define(good, preload=["m" * 120 + str(i) for i in range(64)]),
            wire.define(good, env=["A"]), wire.define(good, env=["=b"]), wire.define(good, env=["A B=c"]),
            wire.define(good, env=["A=b\0c"]), wire.define(good, env=["A=1", "A=2"]),
            wire.define(good, env=["LD_PRELOAD=/x.so"]), wire.define(good, env=["GLIBC_TUNABLES=x"]),
            wire.define(good, env=["A%d=%s" % (i, "x" * 400) for i in range(64)]),
            wire.define(good, "base", preload=["json"]), wire.define(good, "node", preload=["json"]),
        ]
        for message in bad:
            self.refused(message, wire.INVALID_ARGUMENT)
        self.refused(wire.define(good, "nope"), wire.NOT_FOUND)
        self.refused(wire.define(good, bounds=asked(MEMORY, memory=1 << 45)), wire.POLICY)
        self.refused(wire.define(good, bounds=asked(PIDS, pids=1 << 20)), wire.POLICY)
        self.refused(wire.define(good, bounds=asked(MEMORY, memory=4096)), wire.POLICY)
        self.refused(wire.forget(good), wire.NOT_FOUND)
        self.refused(wire.forget("python"), wire.NOT_FOUND)
        # What was not marked is the base's, however large the number.
        self.assertEqual(self.ask(wire.define(good, bounds=wire.limits(memory=1 << 45))).kind, wire.DONE)
        self.client.create(good, warm=0, waits=0).destroy()
        self.assertNotIn("mine", self.client.templates)

    def test_what_cannot_be_read_ends_the_client(self):
        good = identity()
        whole = wire.define(good, preload=["json"], env=["A=b"])
        for message in (whole[:-1], whole + b"x", wire.define(good, preload=["a"] * 65), wire.define(good, "x" * 65),
                        wire.define(good, preload=["a" * 201]), wire.define(good, env=["A=" + "b" * 600]),
                        wire.define(good, bounds=wire.limits(memory=0)), wire.forget("x" * 65)):
            client = self.new_client()
            wire.send(client.socket, message)
            with self.assertRaises((AssertionError, ConnectionResetError)):
                client.wait(lambda: False, 20)
        self.assertEqual(self.client.run("print(1)").out, b"1\n")

    def test_only_servers_define(self):
        self.refused(wire.define(identity()), wire.POLICY, self.new_client(is_server=False))

    @with_zygotes
    def test_another_server_has_nothing_of_it(self):
        other = self.new_client()
        name = self.define(preload=["json.tool"])
        self.assertEqual(self.client.prepare(name).state, READY)
        self.refused(wire.forget(name), wire.NOT_FOUND, other)
        self.refused(wire.define(name), wire.CONFLICT, other)
        for warm_one in (0, 1):
            with self.assertRaises(warm.Refused) as caught:
                other.create(name, warm=warm_one, waits=0)
            self.assertEqual(caught.exception.code, wire.NOT_FOUND)
        other.ask_for(name)
        self.assertNotIn(name, other.templates)
        self.assertNotIn(name, self.new_client().templates)
        self.assertEqual(self.client.run("print(1)", name).out, b"1\n")

    def test_there_are_not_more_than_that(self):
        names = [self.define() for _ in range(256)]
        self.refused(wire.define(identity()), wire.EXHAUSTED)
        self.assertEqual(self.ask(wire.define(names[0], env=["A=b"])).kind, wire.DONE)  # it is there already
        for name in names:
            self.assertEqual(self.ask(wire.forget(name)).kind, wire.DONE)
        self.assertEqual(self.ask(wire.define(names[0])).kind, wire.DONE)

    @with_zygotes
    def test_a_preload_that_fails_is_said_and_harms_nobody(self):
        name = self.define(preload=["no_such_module_at_all"])
        status = self.client.prepare(name)
        self.assertEqual(status.state, FAILED)
        self.assertIn("ModuleNotFoundError: No module named 'no_such_module_at_all'", status.error)
        self.assertEqual(self.client.run("print(1)").out, b"1\n")
        cold = self.client.create(name, warm=0, waits=0)
        cold.destroy()

    @with_zygotes
    def test_a_hang_up_changes_them_with_their_base(self):
        warm.write_template(self.templates, "moving", preload=["json"])
        self.launcher.process.send_signal(signal.SIGHUP)
        self.client.template("moving", 1, 2, 3)
        name = self.define("moving", preload=["json.tool"])
        kept = self.define("python", preload=["json.tool"])
        self.assertEqual(self.client.prepare(name).state, READY)
        self.assertEqual(self.client.prepare(kept).state, READY)
        before = {one: self.client.templates[one].generation for one in (name, kept)}
        warm.write_template(self.templates, "moving", preload=["json", "wave"])
        self.launcher.process.send_signal(signal.SIGHUP)
        self.assertTrue(self.client.wait(lambda: self.client.templates[name].generation > before[name]))
        self.client.template(name, READY)
        ran = self.client.run("import sys\nprint('wave' in sys.modules, 'json.tool' in sys.modules)", name)
        self.assertEqual(ran.out, b"True True\n")
        self.assertEqual(self.client.templates[kept].generation, before[kept])
        os.unlink(os.path.join(self.templates, "moving.toml"))
        self.launcher.process.send_signal(signal.SIGHUP)
        self.client.template(name, REMOVED)
        self.refused(wire.define(identity(), "moving"), wire.NOT_FOUND)
        warm.write_template(self.templates, "moving", preload=["json"])
        self.launcher.process.send_signal(signal.SIGHUP)
        self.client.template(name, 1, 2, 3)
        self.assertEqual(self.client.run("print(1)", name).out, b"1\n")

    @with_zygotes
    def test_it_waits_for_a_server_that_comes_back(self):
        name = self.define(preload=["json.tool"])
        self.assertEqual(self.client.prepare(name).state, READY)
        zygotes = self.launcher.zygotes()
        self.client.close()
        after = self.new_client()
        self.assertNotIn(name, after.templates)
        self.assertEqual(self.ask(wire.define(name, preload=["json.tool"]), after).kind, wire.DONE)
        self.assertEqual(after.templates[name].state, READY)
        self.assertEqual(self.launcher.zygotes(), zygotes)  # the same one
        self.assertEqual(after.run("print(1)", name).out, b"1\n")

    def test_defining_and_forgetting_leaves_nothing(self):
        def once():
            name = self.define(preload=["json.tool"])
            self.client.ask_for(name)
            self.client.template(name, READY, FAILED)
            self.assertEqual(self.ask(wire.forget(name)).kind, wire.DONE)
        once()
        self.assertTrue(wait_until(lambda: not self.launcher.zygotes()))
        brokers, files = len(self.launcher.brokers()), sealed.open_files(self.launcher.pid)
        for _ in range(4):
            once()
        gone = wait_until(lambda: len(self.launcher.brokers()) <= brokers and
                          sealed.open_files(self.launcher.pid) <= files and not self.launcher.zygotes())
        self.assertTrue(gone, (self.launcher.brokers(), sealed.open_files(self.launcher.pid), files))


class OverHttp(server.Served):
    settings = {}

    def setUp(self):
        super().setUp()
        self.ours, self.theirs = (self.server.client(self.server.new_key(project=name)[0])
                                  for name in (self.project(), self.project() + "-other"))
        self.addCleanup(self.ours.close)
        self.addCleanup(self.theirs.close)

    def project(self):
        return self._testMethodName.replace("_", "-")[-40:].strip("-")

    def make(self, name, client=None, status=201, **fields):
        answer = (client or self.ours).call("POST", "/v1/templates", {"name": name, "from": "python", **fields})
        self.assertEqual(answer.status, status, answer)
        return answer.json if answer.body else None

    def wait_state(self, name, *states, client=None):
        shown = {}

        def there():
            shown.update((client or self.ours).get("/v1/templates/" + name).json)
            return shown.get("state") in states
        self.assertTrue(wait_until(there, server.PATIENCE), shown)
        return shown

    def run_warm(self, name, code, client=None):
        answers = []

        def is_warm():
            answers.append((client or self.ours).run(template=name, code=code))
            return answers[-1]["warm"]
        self.assertTrue(wait_until(is_warm, server.PATIENCE), answers[-1:])
        return answers[-1]

    def kill(self, which):
        before = self.server.info[which]
        os.kill(before, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: self.server.info.get(which) not in (None, before)
                                   and self.server.is_ready_again(), server.PATIENCE), self.server.log()[-3000:])
        for client in (self.client, self.ours, self.theirs):
            client.close()

    CODE = "import sys, os\nprint('json.tool' in sys.modules, os.environ.get('GREETING'))"

    @with_zygotes
    def test_made_and_used(self):
        made = self.make("fast", preload=["json.tool"], env={"GREETING": "hello"}, description="a test's",
                         profile={"memory_mb": 128, "disk_mb": 16, "pids": 40, "timeout_ms": 29000})
        self.assertEqual((made["name"], made["from"], made["project"], made["language"]),
                         ("fast", "python", self.project(), "python"))
        self.assertEqual((made["profile"]["memory_mb"], made["profile"]["pids"], made["profile"]["timeout_ms"]),
                         (128, 40, 29000))
        self.wait_state("fast", "ready")
        ran = self.run_warm("fast", self.CODE)
        self.assertEqual((ran["stdout"], ran["template"]), ("True hello\n", "fast"), ran)
        # Its own default limits, and a request's own win.
        hog = "x = b'x' * (300 << 20); print(len(x))"
        self.assertTrue(self.ours.run(template="fast", code=hog)["oom_killed"])
        more = self.ours.run(template="fast", code=hog, profile={"memory_mb": 600})
        self.assertEqual(more["stdout"], "%d\n" % (300 << 20))
        plain = self.ours.run(template="python", code=self.CODE)
        self.assertEqual(plain["stdout"], "False None\n")
        listed = self.ours.get("/v1/runs?template=fast").json["runs"]
        self.assertGreaterEqual(len(listed), 1)
        self.assertNotIn("own.", json.dumps(listed))

    @with_zygotes
    def test_sandboxes(self):
        self.make("box", preload=["json.tool"], env={"GREETING": "hello"}, profile={"memory_mb": 200})
        self.wait_state("box", "ready")
        with Session(self.ours, template="box") as one:
            self.assertEqual((one.get()["template"], one.get()["limits"]["memory_mb"]), ("box", 200))
            self.assertEqual(one.shell("echo $GREETING")["stdout"], "hello\n")
            # A context may be cold when the host is busy; not all of them.
            tries = (one.post("/contexts", status=201, language="python") for _ in range(4))
            found = next((made for made in tries if made["warm"]), None)
            self.assertIsNotNone(found, self.server.log()[-3000:])
            self.assertEqual(one.code(self.CODE, context=found["id"])["stdout"], "True hello\n")
            kept = one.post("/snapshots", status=201)
            self.assertEqual(kept["template"], "box")
            with Session(self.ours, snapshot=kept["id"]) as again:
                self.assertEqual(again.shell("echo $GREETING")["stdout"], "hello\n")
            # It is removed: what lives lives on.
            self.assertEqual(self.ours.call("DELETE", "/v1/templates/box").status, 204)
            one.code("x = 5")
            self.assertEqual(one.code("print(x)")["stdout"], "5\n")
            self.assertEqual(one.shell("echo $GREETING")["stdout"], "hello\n")
            fresh = one.post("/contexts", status=201, language="python")
            answer = one.post("/code", code="import os; print(os.environ['GREETING'])", context=fresh["id"])
            self.assertEqual(answer["stdout"], "hello\n")
            answer = self.ours.call("POST", "/v1/sandboxes", {"snapshot": kept["id"]})
            self.assertEqual(answer.status, 409, answer)
            self.assertIn('the template "box"', answer.json["error"]["message"])
            answer = self.ours.call("POST", "/v1/sandboxes", {"template": "box"})
            self.assertEqual((answer.status, answer.code), (404, "template_not_found"))
            self.assertEqual(one.state, "running")

    def test_projects_do_not_meet(self):
        self.make("same", env={"GREETING": "ours"}, preload=["json.tool"])
        self.assertEqual(self.theirs.get("/v1/templates/same").status, 404)
        self.assertEqual(self.theirs.post_run(template="same", code="1").status, 404)
        self.assertEqual(self.theirs.call("POST", "/v1/sandboxes", {"template": "same"}).status, 404)
        self.assertEqual(self.theirs.call("DELETE", "/v1/templates/same").status, 404)
        self.make("same", client=self.theirs, env={"GREETING": "theirs"})
        self.assertEqual(self.ours.run(template="same", code=self.CODE)["stdout"].split()[1], "ours")
        self.assertEqual(self.theirs.run(template="same", code=self.CODE)["stdout"].split()[1], "theirs")
        for client in (self.ours, self.theirs, self.client):
            listed = client.get("/v1/templates").text
            self.assertNotIn("own.", listed)
            self.assertEqual(listed.count('"name":"same"'), 0 if client is self.client else 1)
        self.assertEqual(self.theirs.call("DELETE", "/v1/templates/same").status, 204)
        self.assertEqual(self.ours.run(template="same", code="1")["exit_code"], 0)

    def test_clients_of_e2b_see_them_and_remove_their_own(self):
        self.make("boxed", env={"GREETING": "hello"})
        alias = self.ours.get("/templates/aliases/boxed")
        self.assertEqual((alias.status, alias.json), (200, {"templateID": "boxed", "public": False}))
        self.assertIn("boxed", [one["templateID"] for one in self.ours.get("/templates").json])
        self.assertNotIn("boxed", [one["templateID"] for one in self.theirs.get("/templates").json])
        self.assertEqual(self.theirs.get("/templates/aliases/boxed").status, 404)
        self.assertEqual(self.theirs.call("DELETE", "/templates/boxed").status, 404)
        self.assertEqual(self.ours.call("DELETE", "/templates/base").status, 403)
        self.assertEqual(self.ours.call("DELETE", "/templates/boxed").status, 204)
        self.assertEqual(self.ours.get("/v1/templates/boxed").status, 404)

    def test_bad_input(self):
        for fields, status in (({"name": "python"}, 409), ({"from": "nope"}, 404), ({"preload": ["a/b"]}, 400),
                               ({"env": {"LD_PRELOAD": "x"}}, 400), ({"layers": ["/etc"]}, 400),
                               ({"from": "base", "preload": ["json"]}, 400), ({"profile": {"memory_mb": 1 << 20}}, 403),
                               ({"preload": ["m%d" % i for i in range(64)]}, 400), ({"name": "../x"}, 400)):
            self.make(**{"name": "bad", "status": status, **fields})
        self.assertEqual(self.ours.get("/v1/templates/bad").status, 404)
        for i in range(16):
            self.make(f"many-{i}", **{"from": "base"})
        self.make("many-16", status=429)
        self.make("many-16", client=self.theirs)

    @with_zygotes
    def test_a_preload_that_fails(self):
        self.make("broken", preload=["no_such_module_at_all"])
        shown = self.wait_state("broken", "failed")
        self.assertIn("ModuleNotFoundError", shown["error"])
        ran = self.ours.run(template="broken", code="print(1)")
        self.assertEqual((ran["stdout"], ran["warm"]), ("1\n", False))
        self.assertEqual(self.ours.run(template="python", code="print(2)")["stdout"], "2\n")

    @with_zygotes
    def test_restarts(self):
        self.make("kept", preload=["json.tool"], env={"GREETING": "hello"})
        self.make("gone")
        self.wait_state("kept", "ready")
        with Session(self.ours, template="kept") as one:
            one.code("x = 7")
            self.assertEqual(self.ours.call("DELETE", "/v1/templates/gone").status, 204)
            self.kill("pid")
            self.assertEqual(self.run_warm("kept", self.CODE)["stdout"], "True hello\n")
            self.assertEqual(self.ours.get("/v1/templates/gone").status, 404)
            self.assertTrue(wait_until(lambda: one.state == "running", server.PATIENCE))
            self.assertEqual(one.code("print(x)")["stdout"], "7\n")
            # Its zygote is still the one that let the session's contexts in.
            self.assertTrue(one.post("/contexts", status=201, language="python")["warm"])
        self.kill("launcher_pid")
        self.assertEqual(self.run_warm("kept", self.CODE)["stdout"], "True hello\n")
        self.assertEqual(self.ours.get("/v1/templates/gone").status, 404)
        self.assertEqual(self.ours.call("DELETE", "/v1/templates/kept").status, 204)
        self.assertEqual(self.ours.post_run(template="kept", code="1").status, 404)


if __name__ == "__main__":
    sealed.main()
