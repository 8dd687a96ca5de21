# Layers that are not what they were are noticed and built again; what a set resolved to is asked for
# again after its time, but for what was made with it; and whose layers are whose. In the test internet, with its package index.
import os
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import packaged
import sealed
from sealed import wait_until
from server import metric
from session import Session

HELLO = "import good; print(good.hello())"


def setUpModule():
    packaged.set_up()


def tearDownModule():
    packaged.tear_down()


class Corrupted(packaged.Packaged):
    more_settings = {"deps__check_every": "1s"}

    def spoil(self, layer, name="good.py"):
        place = os.path.join(self.layers, "sets", layer, "tree")
        found = [os.path.join(directory, name) for directory, _, files in os.walk(place) if name in files]
        self.assertEqual(len(found), 1)
        with open(found[0], "a") as file:
            file.write("print('evil')\n")

    def test_it_is_noticed_when_somebody_looks(self):
        layer = self.build(["good==1.0"])["id"]
        checked = self.client.call("POST", f"/v1/layers/{layer}/check")
        self.assertEqual((checked.status, checked.json["intact"]), (200, True), checked)
        self.assertEqual(checked.json["expected"], checked.json["found"])
        self.assertIsNotNone(self.layer(layer)["checked_at"])
        self.spoil(layer)
        checked = self.client.call("POST", f"/v1/layers/{layer}/check").json
        self.assertFalse(checked["intact"])
        self.assertNotEqual(checked["expected"], checked["found"])
        self.internet.packages(forget=True)
        out, answer = self.run_with(HELLO, ["good==1.0"])
        self.assertEqual(out, "hello from good 1.0\n")
        self.assertTrue(answer["dependencies"]["built"])
        self.assertEqual(self.downloads(), ["good-1.0-py3-none-any.whl"])
        checked = self.client.call("POST", f"/v1/layers/{answer['dependencies']['layer']}/check").json
        self.assertTrue(checked["intact"])

    def test_it_is_noticed_by_itself_and_built_again(self):
        told = threading.Event()
        client = self.server.client(timeout=60)
        response = client.send("GET", "/v1/events", headers={"Accept": "text/event-stream"})

        def listen():
            while not told.is_set():
                if response.readline().strip() == b"event: layer.corrupt":
                    told.set()

        threading.Thread(target=listen, daemon=True).start()
        layer = self.run_with(HELLO, ["good==1.1"])[1]["dependencies"]["layer"]
        self.spoil(layer)
        self.internet.packages(forget=True)
        # The next use after deps.check_every compares; who asks then has it built again.
        self.assertTrue(wait_until(lambda: self.printed(HELLO, ["good==1.1"]) and self.downloads(), 60))
        self.assertEqual(self.printed(HELLO, ["good==1.1"]), "hello from good 1.1\n")
        self.assertTrue(told.wait(10))
        client.close()

    def test_one_in_use_is_replaced_for_those_who_come(self):
        session = self.with_packages(["needy"])
        layer = session.made["dependencies"]["layer"]
        self.spoil(layer, "needy.py")
        self.assertFalse(self.client.call("POST", f"/v1/layers/{layer}/check").json["intact"])
        out, answer = self.run_with("import needy; print(needy.hello())", ["needy"])
        self.assertEqual(out, "hello from needy 1.0\n")
        self.assertNotEqual(answer["dependencies"]["layer"], layer)
        session.kill()
        self.assertTrue(wait_until(lambda: self.client.call("POST", "/v1/layers/prune", {}) and layer not in self.list_layers(), 30))


class Remembered(packaged.Packaged):
    more_settings = {"deps__resolve_ttl": "15s"}

    def test_what_it_resolved_to_is_asked_again_after_its_time(self):
        layer = self.run_with(HELLO, ["good"])[1]["dependencies"]["layer"]
        self.internet.packages(forget=True)
        self.run_with(HELLO, ["good"])
        self.assertEqual(self.internet.packages(), [])
        self.assertTrue(wait_until(lambda: self.run_with(HELLO, ["good"]) and self.asked_pages("good"), 60))
        self.assertEqual(self.run_with(HELLO, ["good"])[1]["dependencies"]["layer"], layer)
        # It is asked behind the run, which waits for nothing.
        self.assertTrue(wait_until(lambda: metric(self.client.get("/metrics").text, "glovebox_builds_active") == 0, 60))
        # An index that is gone does not take away what there is.
        self.internet.packages(faults={"/*": {"status": 503}}, forget=True)
        self.assertTrue(wait_until(lambda: self.run_with(HELLO, ["good"]) and self.asked_pages("good"), 60))
        answer = self.run_with(HELLO, ["good"])[1]
        self.assertEqual((answer["stdout"], answer["dependencies"]["layer"]), ("hello from good 1.1\n", layer))


class Kept(packaged.Packaged):
    """What was made with packages stays what it was, whatever the index has and whatever is tidied up."""
    more_settings = {"deps__resolve_ttl": "1ms"}

    def quiet(self):
        """Builds behind a use are over, and what was asked of the index so far is forgotten."""
        self.assertTrue(wait_until(lambda: metric(self.client.get("/metrics").text, "glovebox_builds_active") == 0, 60))
        self.internet.packages(forget=True)

    def make_template(self, name, dependencies):
        wanted = {"name": name, "from": "python", "profile": {"dependencies": dependencies}}
        made = self.client.call("POST", "/v1/templates", wanted)
        self.assertEqual(made.status, 201, made)
        self.addCleanup(self.client.call, "DELETE", f"/v1/templates/{name}")

    def run_of(self, template):
        answer = self.client.post_run(language="python", code=HELLO, template=template)
        self.assertEqual((answer.status, answer.json.get("exit_code")), (200, 0), answer)
        return answer.json["dependencies"]["layer"]

    def test_a_template_and_a_snapshot_are_never_resolved_again(self):
        self.make_template("pinned", ["good"])
        layer = self.run_of("pinned")
        session = Session(self.client, template="pinned")
        snapshot = session.post("/snapshots", status=201)["id"]
        session.kill()
        self.quiet()
        # The time of everything is over at once.
        for _ in range(3):
            self.assertEqual(self.run_of("pinned"), layer)
            other = Session(self.client, snapshot=snapshot)
            self.assertEqual(other.get()["dependencies"]["layer"], layer)
            other.kill()
        self.assertEqual(self.internet.packages(), [])
        # Others have it asked for.
        self.run_with(HELLO, ["good"])
        self.assertTrue(wait_until(lambda: self.asked_pages("good"), 60))

    def test_its_layer_is_in_use_after_a_restart_too(self):
        self.make_template("standing", ["greeter"])
        layer = next(id for id, one in self.list_layers().items() if "greeter" in str(one["asked"]))
        free = self.build(["needy"])["id"]
        # Neither the next server nor the next launcher has used it.
        before = dict(self.server.info)
        for name in ("pid", "launcher_pid"):
            os.kill(before[name], signal.SIGKILL)
        is_new = lambda: all(self.server.info.get(name) not in (None, before[name]) for name in ("pid", "launcher_pid"))
        self.assertTrue(wait_until(lambda: is_new() and self.server.is_ready_again(), 60))
        self.assertTrue(self.layer(layer)["in_use"])
        refused = self.client.call("DELETE", f"/v1/layers/{layer}")
        self.assertEqual((refused.status, refused.code), (409, "layer_in_use"), refused)
        self.assertIn("template standing", refused.text)
        # The other one goes as soon as what had it has ended.
        prune = lambda: self.client.call("POST", "/v1/layers/prune", {}).json["removed"]
        self.assertTrue(wait_until(lambda: free in prune(), 60))
        self.assertIn(layer, self.list_layers())
        self.internet.packages(forget=True)
        answer = self.client.post_run(language="python", code="import greeter", template="standing").json
        self.assertEqual((answer["exit_code"], answer["dependencies"]["layer"]), (0, layer))
        self.assertEqual(self.internet.packages(), [])
        self.assertEqual(self.client.call("DELETE", "/v1/templates/standing").status, 204)
        self.assertTrue(wait_until(lambda: self.client.call("DELETE", f"/v1/layers/{layer}").status == 204, 20))


class Projects(packaged.Packaged):
    def test_each_sees_what_it_asked_for(self):
        (one, _), (two, _) = (self.server.new_key(project=name, name=name) for name in ("one", "two"))
        with self.server.client(one, timeout=120) as first, self.server.client(two, timeout=120) as second:
            layer = self.build(["needy"], client=first)["id"]
            secret = self.build(["greeter"], client=first)["id"]
            self.assertEqual(set(self.list_layers(first)), {layer, secret})
            self.assertEqual(self.list_layers(second), {})
            self.assertEqual(second.get(f"/v1/layers/{layer}").status, 404)
            # Files are shared, and nothing else: the same set is there at once for the other.
            self.internet.packages(forget=True)
            answer = self.run_with("import needy; print(needy.hello())", ["needy"], client=second)[1]
            self.assertEqual(answer["dependencies"]["layer"], layer)
            self.assertEqual(self.downloads(), [])
            self.assertEqual(set(self.list_layers(second)), {layer})
            self.assertEqual(self.layer(layer, second)["projects"], ["two"])
            self.assertEqual(set(self.layer(layer)["projects"]), {"one", "two"})
            self.assertEqual(second.get("/v1/layers?project=one").status, 403)
            for method, path in (("DELETE", f"/v1/layers/{layer}"), ("POST", "/v1/layers/prune"), ("POST", f"/v1/layers/{layer}/check")):
                refused = second.call(method, path, {} if method == "POST" else None)
                self.assertEqual(refused.status, 403, (method, path, refused))
            self.assertIn(layer, self.list_layers())

    def test_interpreters_are_each_projects_own(self):
        (one, _), (two, _) = (self.server.new_key(project=name, name=name) for name in ("three", "four"))
        wish = {"packages": ["good==1.0"], "preload": ["good"]}
        with self.server.client(one, timeout=120) as first, self.server.client(two, timeout=120) as second:
            self.server.wait_warm()  # or the server's own interpreter may start between the two counts
            before = len(self.server.zygotes())
            for client in (first, second):
                self.assertEqual(self.printed("import sys; print('good' in sys.modules)", wish, client=client), "True\n")
            self.assertEqual(len(self.server.zygotes()), before + 2)


class ProjectsApart(packaged.Packaged):
    """With deps.shared off, no project can tell what another one has built. Projects, above, is the control."""
    more_settings = {"deps__shared": "false"}

    def test_each_builds_its_own(self):
        (one, _), (two, _) = (self.server.new_key(project=name, name=name) for name in ("one", "two"))
        with self.server.client(one, timeout=120) as first, self.server.client(two, timeout=120) as second:
            seen = []
            for client in (first, second):
                self.internet.packages(forget=True)
                answer = self.run_with("import needy; print(needy.hello())", ["needy"], client=client)[1]
                self.assertTrue(answer["dependencies"]["built"], answer)
                self.assertEqual(set(self.list_layers(client)), {answer["dependencies"]["layer"]})
                seen.append((answer["dependencies"]["layer"], sorted(self.downloads())))
            self.assertNotEqual(seen[0][0], seen[1][0])
            self.assertEqual(seen[0][1], seen[1][1])  # the second downloads all that the first did
            self.assertNotEqual(seen[1][1], [])
            # Within a project a set is built once, as ever.
            answer = self.run_with("import needy", ["needy"], client=first)[1]
            self.assertEqual((answer["dependencies"]["layer"], answer["dependencies"]["built"]), (seen[0][0], False))


if __name__ == "__main__":
    sealed.main(network=True)
