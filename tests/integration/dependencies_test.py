# Packages that a caller asks for: resolved, installed once, kept as a layer, and there from then on,
# warm. Through the whole server, in the test internet with its package index.
import hashlib
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import package_index
import packaged
import sealed
import server
from session import Session

HELLO = "import good; print(good.hello())"


def setUpModule():
    packaged.set_up()


def tearDownModule():
    packaged.tear_down()


class Sets(packaged.Packaged):
    """One server; sets that another test has built already are said so."""
    more_settings = {"deps__resolve_ttl": "1h", "deps__failure_ttl": "3s"}

    def sha256(self, name):
        """Of a file of the index."""
        index = package_index.PackageIndex()
        return hashlib.sha256(index.file_of(name).data).hexdigest()

    def test_a_package_and_what_it_needs(self):
        out, answer = self.run_with("import needy, good; print(needy.hello(), good.VERSION)", ["needy"])
        self.assertEqual(out, "hello from needy 1.0 1.1\n")
        self.assertTrue(answer["warm"], answer)  # the first call after the build
        layer = self.layer(answer["dependencies"]["layer"])
        self.assertEqual({(one["name"], one["version"]) for one in layer["packages"]}, {("needy", "1.0"), ("good", "1.1")})
        self.assertEqual((layer["manager"], layer["index"]), ("pip", packaged.INDEX_URL.rstrip("/")))
        self.assertEqual({one["file"]: one["hash"] for one in layer["packages"]}["needy-1.0-py3-none-any.whl"],
                         "sha256:" + self.sha256("needy-1.0-py3-none-any.whl"))
        self.assertGreater(layer["bytes"], 100)
        self.assertRegex(layer["digest"], "^[0-9a-f]{64}$")
        # Once: from here on the index is not asked, whatever else a run requests.
        self.internet.packages(forget=True)
        for more in ({}, {"env": {"A": "b"}}, {"profile": {"memory_mb": 200, "net": "all"}}, {"cold": True}):
            again, answer = self.run_with("import needy; print(needy.hello())", ["needy"], **more)
            self.assertEqual(again, "hello from needy 1.0\n")
            self.assertEqual((answer["dependencies"]["layer"], answer["dependencies"]["built"]), (layer["id"], False))
        self.assertEqual(self.internet.packages(), [])
        # Those who did not ask have it not.
        self.assertEqual(self.client.python("import needy")["exit_code"], 1)

    def test_words_that_mean_the_same_are_one_set(self):
        first = self.run_with(HELLO, ["good==1.0"])[1]["dependencies"]["layer"]
        self.internet.packages(forget=True)
        for words in (["good==1.0", "good==1.0"], [" good==1.0 "], {"packages": ["good==1.0"]}):
            self.assertEqual(self.run_with(HELLO, words)[1]["dependencies"]["layer"], first)
        self.assertEqual(self.internet.packages(), [])
        # Other words for the same files: asked for, and then the same layer.
        for words in (["good<1.1"], {"requirements": "# a comment\ngood == 1.0\n"}):
            self.assertEqual(self.run_with(HELLO, words)[1]["dependencies"]["layer"], first)
        self.assertNotEqual(self.run_with(HELLO, ["good==1.1"])[1]["dependencies"]["layer"], first)

    def test_requirements_with_hashes(self):
        line = "good==1.0 --hash=sha256:" + self.sha256("good-1.0-py3-none-any.whl")
        self.assertEqual(self.printed(HELLO, {"requirements": line + "\n"}), "hello from good 1.0\n")
        wrong = line[:-4] + "beef"
        self.assertIn("hash", self.refused({"requirements": wrong}).lower())
        # All or none, as pip has it.
        self.assertIn("hash", self.refused({"requirements": line + "\nneedy==1.0\n"}).lower())

    def test_a_lock_file(self):
        lock = ('lock-version = "1.0"\ncreated-by = "test"\n[[packages]]\nname = "good"\nversion = "1.0"\n'
                '[[packages.wheels]]\nname = "good-1.0-py3-none-any.whl"\nurl = "https://%s/packages/good-1.0-py3-none-any.whl"\n'
                'hashes = {sha256 = "%s"}\n' % (package_index.FILES, self.sha256("good-1.0-py3-none-any.whl")))
        self.assertEqual(self.printed(HELLO, {"lock": lock}), "hello from good 1.0\n")
        self.assertIn("hash", self.refused({"lock": lock.replace(self.sha256("good-1.0-py3-none-any.whl"), "0" * 64)}).lower())

    def test_extras_programs_data_and_upgrades(self):
        self.assertEqual(self.printed("import with_extras, good; print(good.VERSION)", ["with-extras[more]"]), "1.1\n")
        out = self.printed("import subprocess, greeter, os\nprint(subprocess.run(['greet'], capture_output=True, text=True).stdout,"
                           " open(os.path.dirname(greeter.__file__) + '/data.txt').read())", ["greeter"])
        self.assertEqual(out, "greetings\n data\n")
        # Before what the host has of the same name.
        self.assertEqual(self.printed("import packaging; print(packaging.__version__)", ["packaging"]), "99.0\n")
        # Ones that were taken back, or are for another Python, are not chosen.
        self.assertEqual(self.printed("import yanked, old_python; print(yanked.VERSION, old_python.VERSION)",
                                      ["yanked", "old-python"]), "1.0 1.0\n")

    def test_source_packages_are_built(self):
        out, answer = self.run_with("import honest, good; print(honest.hello())", ["honest"])
        self.assertEqual(out, "hello from honest 1.0\n")
        files = {one["file"] for one in self.layer(answer["dependencies"]["layer"])["packages"]}
        self.assertIn("honest-1.0.tar.gz", files)  # what came from the index is what counts
        self.assertEqual(self.printed("import native; print(native.answer())", ["native"]), "42\n")

    def test_preload_and_what_does_not_work(self):
        code = "import sys; print('good' in sys.modules)"
        self.assertEqual(self.printed(code, {"packages": ["good"], "preload": ["good"]}), "True\n")
        self.assertEqual(self.printed(code, ["good"]), "False\n")
        # One that cannot be imported is reported, and the run happens all the same.
        answer = self.ask("print(1)", {"packages": ["good"], "preload": ["no_such_module"]})
        self.assertIn(answer.status, (200, 422), answer)
        self.assertIn("no_such_module", answer.text)

    def test_wishes_that_are_none(self):
        for wrong, word in ((["-r /etc/passwd"], "dependencies"), (["good @ https://evil.example.com/x.whl"], "dependencies"),
                            (["../good"], "dependencies"), (["--index-url=https://evil.example.com"], "dependencies"),
                            ({"requirements": "-i https://evil.example.com/simple\ngood"}, "requirements"),
                            ({"requirements": "-e ."}, "requirements"), ({"requirements": "git+https://good.example.org/x"}, "requirements"),
                            ({"packages": ["good"], "lock": "x"}, "lock"), ({"packages": 1}, "packages"), ({"more": 1}, "more"),
                            (["good\nbad"], "dependencies"), ([""], "dependencies"), (["x" * 1000], "dependencies"), (["good"] * 101, "dependencies")):
            answer = self.ask("print(1)", wrong)
            self.assertIn(answer.status, (400, 422), (wrong, answer))
            self.assertIn(word, answer.json["error"]["message"], wrong)
        answer = self.client.post_run(language="shell", code="true", profile={"dependencies": ["good"]})
        self.assertEqual(answer.status, 400, answer)
        self.assertEqual(self.internet.packages(), [])
        self.assert_not_reached("185.220.101.1", "93.184.216.34")

    def test_the_installers_own_words_and_only_briefly(self):
        said = self.refused(["failing"])
        self.assertIn("failing: there is no hope", said)
        self.internet.packages(forget=True)
        self.assertIn("failing: there is no hope", self.refused(["failing"]))
        self.assertEqual(self.internet.packages(), [])  # it is known for a moment
        self.assertTrue(sealed.wait_until(lambda: self.refused(["failing"]) and self.internet.packages(), 30))
        for package, word in (("absent", "absent"), ("wants-absent", "absent"), ("only-old-python", "only-old-python"),
                              ("broken-wheel", "broken"), ("wrong-hash", "hash"), ("wrong-hash-source", "hash")):
            with self.subTest(package):
                self.assertIn(word, self.refused([package]).lower())
        self.assertIn("conflict", self.refused(["conflict-one", "conflict-two"]).lower())
        # One that could not be had can be had later.
        self.internet.packages(faults={"/simple/bin-package/": {"status": 503}})
        self.assertTrue(self.refused(["bin-package"]))
        self.internet.packages(faults={})
        self.assertTrue(sealed.wait_until(lambda: self.ask("import bin.inner", ["bin-package"]).status == 200, 30))

    def test_wheels_that_would_leave_their_place(self):
        before = set(self.stored())
        for package in ("escaping", "absolute", "escaping-data"):
            with self.subTest(package):
                answer = self.ask("import glob, os; print(glob.glob('/escaped*') + glob.glob('/tmp/gbx-absolute') + glob.glob('/evil'))", [package])
                self.assertIn(answer.status, (200, 422), answer)
                if answer.status == 200:
                    self.assertEqual(answer.json["stdout"], "[]\n")
        self.assertFalse(os.path.exists("/tmp/gbx-absolute") or os.path.exists("/escaped.py"))
        # What is linked leads to the sandbox's own files, if anywhere.
        out = self.printed("import linked\ntry:\n    import linked_file\nexcept Exception as e:\n    print(type(e).__name__)", ["linked"])
        self.assertNotIn("root:x", out)
        for name in set(self.stored()) - before:
            for directory, names, files in os.walk(os.path.join(self.layers, "sets", name)):
                for one in names + files:
                    facts = os.lstat(os.path.join(directory, one))
                    self.assertEqual((facts.st_uid, facts.st_gid, facts.st_mode & 0o6000), (0, 0, 0), one)

    def test_those_who_ask_at_the_same_time_share_one_build(self):
        answers = []

        def ask():
            with self.server.client(timeout=120) as client:
                answers.append(self.ask("import python2_inside; print('here')", ["python2-inside"], client=client))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual([(one.status, one.json["stdout"]) for one in answers], [(200, "here\n")] * 8, answers)
        self.assertEqual(len({one.json["dependencies"]["layer"] for one in answers}), 1)
        self.assertEqual(self.downloads("python2_inside"), ["python2_inside-1.0-py3-none-any.whl"])

    def test_progress_is_told_as_it_happens(self):
        events = self.stream("/v1/run", {"language": "python", "code": "print(1)", "profile": {"dependencies": ["wants-honest==0.1"]}})
        names = [name for name, _ in events]
        phases = [data["phase"] for name, data in events if name == "build"]
        for phase in ("resolving", "installing", "sealing", "ready"):
            self.assertIn(phase, phases)
        self.assertEqual(phases, sorted(phases, key=["queued", "resolving", "building", "installing", "sealing", "checking", "warming", "ready"].index))
        text = "\n".join(data["text"] for name, data in events if name == "build")
        self.assertIn("wants_honest-0.1-py3-none-any.whl", text)
        self.assertLess(names.index("build"), names.index("stdout"))
        self.assertNotIn("build", names[names.index("stdout"):])
        # A second one has nothing to tell.
        again = self.stream("/v1/run", {"language": "python", "code": "print(1)", "profile": {"dependencies": ["wants-honest==0.1"]}})
        self.assertEqual([data for name, data in again if name == "build" and data["text"]], [])
        # And a failure is one, at the end.
        events = self.stream("/v1/layers", {"dependencies": ["build-wants-absent"]})
        self.assertEqual(events[-1][0], "error", events[-1])
        self.assertEqual((events[-1][1]["status"], events[-1][1]["code"]), (422, "dependencies_failed"))

    def test_events_of_the_server(self):
        told, stop = [], threading.Event()
        client = self.server.client(timeout=60)
        response = client.send("GET", "/v1/events", headers={"Accept": "text/event-stream"})

        def listen():
            name = ""
            for line in iter(response.readline, b""):
                line = line.decode().strip()
                if line.startswith("event:"):
                    name = line[6:].strip()
                elif line.startswith("data:") and name.startswith("layer."):
                    told.append(name)
                    if name in ("layer.failed",):
                        break
            stop.set()

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        self.build(["good==1.1", "greeter"])
        self.refused(["conflict-one", "conflict-two", "greeter"])
        self.assertTrue(stop.wait(60), told)
        client.close()
        for name in ("layer.building", "layer.progress", "layer.built", "layer.failed"):
            self.assertIn(name, told)

    def test_sandboxes_templates_and_functions_have_them_too(self):
        session = self.with_packages(["needy"])
        self.assertEqual(session.made["dependencies"]["packages"], ["needy"])
        code = "import needy; print(needy.hello())"
        ran = session.code(code)
        self.assertEqual((ran["stdout"], ran["exit_code"]), ("hello from needy 1.0\n", 0), ran)
        self.assertEqual(session.exec("python3", "-c", code)["stdout"], "hello from needy 1.0\n")
        self.assertNotEqual(session.exec("sh", "-c", "echo x >> /opt/glovebox-packages/python/needy.py")["exit_code"], 0)
        # Root inside writes into its own copy.
        self.assertEqual(session.shell("rm /opt/glovebox-packages/python/good.py; echo 'x = 2' > /opt/glovebox-packages/python/more.py;"
                                       " python3 -c 'import more; print(more.x)'", user="root")["stdout"], "2\n")
        self.assertEqual(self.printed("import good, importlib.util as u; print(good.VERSION, u.find_spec('more'))", ["needy"]), "1.1 None\n")
        answer = self.client.call("POST", "/v1/templates", {"name": "with-needy", "from": "python", "env": {"A": "b"},
                                                            "profile": {"dependencies": ["needy"]}})
        self.assertEqual(answer.status, 201, answer)
        self.assertEqual(self.client.run(template="with-needy", code="import needy, os; print(needy.VERSION, os.environ['A'])")["stdout"], "1.0 b\n")
        self.assertEqual(self.client.call("DELETE", "/v1/templates/with-needy").status, 204)
        snapshot = session.post("/snapshots", status=201)["id"]
        fresh = Session(self.client, snapshot=snapshot)
        self.addCleanup(fresh.kill)
        ran = fresh.code("import needy, more, os; print(needy.VERSION, more.x, os.path.exists('/opt/glovebox-packages/python/good.py'))")
        self.assertEqual(ran["stdout"], "1.0 2 False\n", ran)
        body = {"language": "python", "code": "import needy\ndef handler(event, context):\n    return needy.VERSION\n",
                "event": {}, "profile": {"dependencies": ["needy"]}}
        invoked = self.client.call("POST", "/v1/functions/invoke", body)
        self.assertEqual(invoked.status, 200, invoked)
        self.assertIn("1.0", invoked.text)


class Settings(packaged.Packaged):
    more_settings = {"deps__enabled": "false"}

    def test_an_administrator_may_want_none(self):
        answer = self.ask("print(1)", ["good"])
        self.assertEqual(answer.status, 403, answer)
        self.assertIn("deps.enabled", answer.json["error"]["message"])
        self.assertEqual(self.client.python("print(1)")["stdout"], "1\n")


if __name__ == "__main__":
    sealed.main(network=True)
