# What becomes of layers: kept over restarts, shared by servers, measured, removed when they are too
# many and none is in use. In the test internet, with its package index.
import os
import signal
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import openapi_answers_test
import packaged
import sealed
import server
from sealed import wait_until

HELLO = "import good; print(good.hello())"


def setUpModule():
    packaged.set_up()


def tearDownModule():
    packaged.tear_down()


class Kept(packaged.Packaged):
    def test_what_a_layer_tells_of_itself(self):
        made = self.build(["needy"])
        self.assertTrue(made["built"])
        self.assert_as_the_contract_has_it(made["id"])
        layer = self.list_layers()[made["id"]]
        self.assertEqual(layer["asked"], self.layer(made["id"][:8])["asked"])
        self.assertIn("needy", str(layer["asked"]))
        self.assertEqual(layer["projects"], ["default"])
        self.assertRegex(layer["interpreter"], r"^cpython-3\.\d+$")
        self.assertRegex(layer["made_at"], r"^20\d\d-")
        self.assertRegex(layer["used_at"], r"^20\d\d-")
        # What was counted on the way in is what lies there, and a block for each.
        size, entries = sizes_below(os.path.join(self.layers, "sets", made["id"], "tree"))
        self.assertEqual(layer["bytes"], size + 4096 * layer["entries"])
        self.assertLessEqual(layer["entries"], entries)  # directories on the way to others are not counted
        self.assertGreater(layer["entries"], entries - 10)
        self.assertEqual(self.client.get("/v1/layers/" + "0" * 32).status, 404)
        self.assertEqual(self.client.get("/v1/layers/nonsense").status, 404)

    def assert_as_the_contract_has_it(self, layer):
        with open(openapi_answers_test.CONTRACT) as file:
            contract = openapi_answers_test.Contract(file.read())
        for method, path, at in (("GET", "/v1/layers", "/v1/layers"), ("GET", "/v1/layers/{id}", "/v1/layers/" + layer),
                                 ("POST", "/v1/layers/{id}/check", "/v1/layers/" + layer + "/check")):
            answer = self.client.call(method, at)
            form = contract.answer(method, path, answer.status)["content"]["application/json"]["schema"]
            self.assertEqual((answer.status, contract.faults(answer.json, form, path)), (200, []))

    def test_no_user_of_the_host_reaches_it(self):
        made = self.build(["good==1.0"])
        place = os.path.join(self.layers, "sets")
        while place != os.path.dirname(self.layers):
            if os.stat(place).st_mode & 0o077 == 0:
                break
            place = os.path.dirname(place)
        self.assertNotEqual(place, os.path.dirname(self.layers), "other users can reach it")
        for directory, names, files in os.walk(os.path.join(self.layers, "sets", made["id"], "tree")):
            for name in names + files:
                facts = os.lstat(os.path.join(directory, name))
                rights = 0 if stat.S_ISLNK(facts.st_mode) else facts.st_mode & 0o7022  # a link has none of its own
                self.assertEqual((facts.st_uid, facts.st_gid, rights), (0, 0, 0), name)

    def test_a_restart_keeps_it_and_asks_nobody(self):
        layer = self.run_with(HELLO, ["good==1.1"])[1]["dependencies"]["layer"]
        digest = self.layer(layer)["digest"]
        self.internet.packages(forget=True)
        for process in ("pid", "launcher_pid", "gateway_pid"):
            with self.subTest(process):
                before = self.server.info[process]
                os.kill(before, signal.SIGKILL)
                self.assertTrue(wait_until(lambda: self.server.info.get(process) not in (None, before)
                                           and self.server.is_ready_again(), server.PATIENCE))
                self.client.close()
                self.assertTrue(wait_until(lambda: self.ask(HELLO, ["good==1.1"]).status == 200, server.PATIENCE))
                answer = self.run_with(HELLO, ["good==1.1"])[1]
                self.assertEqual((answer["stdout"], answer["dependencies"]["layer"]), ("hello from good 1.1\n", layer))
        self.assertEqual(self.downloads(), [])
        self.assertEqual(self.layer(layer)["digest"], digest)

    def test_another_server_has_it_too(self):
        layer = self.run_with(HELLO, ["good==1.0"])[1]["dependencies"]["layer"]
        self.internet.packages(forget=True)
        other = server.Server(settings=self.settings, env=self.env)
        try:
            with other.client(timeout=120) as client:
                answer = self.run_with(HELLO, ["good==1.0"], client=client)[1]
                self.assertEqual((answer["dependencies"]["layer"], answer["dependencies"]["built"]), (layer, False))
                self.assertEqual(self.internet.packages(), [])
                # And as long as one of the two uses it, the other cannot take it away.
                for mine in (client, self.client):
                    self.assertIn(mine.call("DELETE", f"/v1/layers/{layer}").status, (204, 409))
                session = client.call("POST", "/v1/sandboxes", {"template": "python", "profile": {"dependencies": ["good==1.0"]}})
                self.assertEqual(session.status, 201, session)
                held = session.json["dependencies"]["layer"]
                self.assertTrue(self.layer(held)["in_use"])
                refused = self.client.call("DELETE", f"/v1/layers/{held}")
                self.assertEqual((refused.status, refused.code), (409, "layer_in_use"), refused)
                client.call("DELETE", f"/v1/sandboxes/{session.json['id']}")
        finally:
            other.stop()


def sizes_below(tree):
    """(bytes of files, how many entries), itself not counted."""
    size = entries = 0
    for directory, names, files in os.walk(tree):
        entries += len(names) + len(files)
        size += sum(os.lstat(os.path.join(directory, one)).st_size for one in files
                    if not os.path.islink(os.path.join(directory, one)))
    return size, entries


class Removed(packaged.Packaged):
    def test_by_hand_unless_it_is_in_use(self):
        session = self.with_packages(["greeter"])
        layer = session.made["dependencies"]["layer"]
        refused = self.client.call("DELETE", f"/v1/layers/{layer}")
        self.assertEqual((refused.status, refused.code), (409, "layer_in_use"), refused)
        pruned = self.client.call("POST", "/v1/layers/prune", {})
        self.assertEqual(pruned.status, 200, pruned)
        self.assertNotIn(layer, pruned.json["removed"])
        self.assertEqual(session.shell("greet")["stdout"], "greetings\n")
        session.kill()
        other = self.build(["good==1.0"])["id"]
        dry = self.client.call("POST", "/v1/layers/prune", {"dry_run": True}).json
        self.assertEqual(set(dry["removed"]), {layer, other})
        self.assertEqual(set(self.list_layers()), {layer, other})
        self.assertEqual(self.client.call("POST", "/v1/layers/prune", {"unused_for_s": 3600}).json["removed"], [])
        self.assertEqual(self.client.call("DELETE", f"/v1/layers/{layer}").status, 204)
        self.assertEqual(set(self.list_layers()), {other})
        done = self.client.call("POST", "/v1/layers/prune", {}).json
        self.assertEqual(done["removed"], [other])
        self.assertGreater(done["bytes"], 0)
        self.assertEqual(self.list_layers(), {})
        self.assertEqual([one for one in self.stored() if len(one) == 32], [])
        # A later request builds it again.
        self.internet.packages(forget=True)
        self.assertEqual(self.printed(HELLO, ["good==1.0"]), "hello from good 1.0\n")
        self.assertEqual(self.downloads(), ["good-1.0-py3-none-any.whl"])


class Ceiling(packaged.Packaged):
    more_settings = {"deps__disk_ceiling": "400k"}

    def test_the_longest_unused_go_and_never_one_in_use(self):
        session = self.with_packages(["good==1.0"])
        held = session.made["dependencies"]["layer"]
        size = self.layer(held)["bytes"]
        self.assertLess(size, 400 << 10)
        made = [held]
        for words in (["good==1.1"], ["needy"], ["greeter"], ["with-extras"], ["packaging"]):
            made.append(self.run_with("print(1)", words)[1]["dependencies"]["layer"])
        self.assertTrue(wait_until(lambda: sum(one["bytes"] for one in self.list_layers().values()) <= 400 << 10, 30),
                        [(one["bytes"], one["asked"]) for one in self.list_layers().values()])
        there = self.list_layers()
        self.assertIn(held, there)
        self.assertIn(made[-1], there)
        self.assertLess(len(there), len(made))
        # Those that stayed are the youngest.
        gone = [layer for layer in made[1:] if layer not in there]
        self.assertEqual(gone, made[1:1 + len(gone)])
        self.assertEqual(session.code(HELLO)["stdout"], "hello from good 1.0\n")


if __name__ == "__main__":
    sealed.main(network=True)
