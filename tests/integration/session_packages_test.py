# Packages that a session installs itself, with the package client that it finds inside, where its
# network policy allows; and what becomes of them: seen by contexts, kept by snapshots, which become
# templates. In the test internet, with its package index.
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import networked
import package_index
import package_samples
import sealed
import server
from session import Session

POLICY = {"allow": [package_index.INDEX, package_index.FILES]}
# The test's own authority is in no bundle of the host's.
ENV = {"PIP_INDEX_URL": f"https://{package_index.INDEX}/simple/", "PIP_CERT": "/home/user/ca.pem", "PIP_PREFER_BINARY": "1",
       "npm_config_registry": f"https://{package_index.INDEX}/npm/", "npm_config_cafile": "/home/user/ca.pem"}
MARKS = os.path.dirname(package_samples.NOWHERE)
NPM = {"profile": {"memory_mb": 1024}, "template": "node"}


def setUpModule():
    networked.set_up()


def tearDownModule():
    networked.tear_down()


class Packages(networked.Networked):
    # The index is at a private address, as mirrors often are: the administrator has opened it.
    settings = {**networked.Networked.settings, "net.opened": "10.20.0.0/16"}

    def session(self, policy=POLICY, **fields):
        made = Session(self.client, **{"template": "python", "env": ENV, **fields,
                                       "profile": {**fields.get("profile", {}), "net": policy}})
        self.addCleanup(made.kill)
        made.put("/home/user/ca.pem", self.internet.authority.encode())
        made.exec("mkdir", "-m", "777", MARKS, user="root")  # where code of some packages leaves a mark
        return made

    def right(self, ran):
        self.assertEqual(ran["exit_code"], 0, ran)
        return ran["stdout"]

    def files(self):
        """What was downloaded of the index, by name."""
        return [one["path"].rsplit("/", 1)[1] for one in self.internet.packages() if one["path"].startswith("/packages/")]

    def setUp(self):
        super().setUp()
        self.internet.packages(forget=True)


class Pip(Packages):
    def test_a_user_installs_and_everybody_sees_it(self):
        session = self.session()
        self.assertEqual(session.code("import needy")["error"]["name"], "ModuleNotFoundError")
        said = self.right(session.shell("pip install needy"))
        self.assertIn("Successfully installed good-1.1 needy-1.0", said)
        hello = "import needy, good; print(needy.hello(), good.VERSION)"
        self.assertEqual(self.right(session.code(hello)), "hello from needy 1.0 1.1\n")
        self.assertEqual(self.right(session.code(hello, context=self.context(session))), "hello from needy 1.0 1.1\n")
        self.assertEqual(self.right(session.exec("python3", "-c", hello)), "hello from needy 1.0 1.1\n")
        self.assertIn("/home/user/.local/", self.right(session.code("print(needy.__file__)")))

    def context(self, session):
        answer = session.call("POST", "/contexts", {"language": "python"})
        self.assertEqual(answer.status, 201, answer)
        return answer.json["id"]

    def test_a_cell_installs_and_goes_on_with_it(self):
        session = self.session()
        ran = session.code("import subprocess, sys\n"
                           "subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', 'good==1.0'], check=True)\n"
                           "import good\nprint(good.hello())")
        self.assertEqual(self.right(ran), "hello from good 1.0\n")
        self.assertEqual(ran["stderr"], "")  # no complaint about PATH, root or an outer system
        # Another version, in a context that has the first one imported, is there for the next one.
        self.right(session.shell("pip install -q good==1.1"))
        self.assertEqual(self.right(session.code("print(good.VERSION)")), "1.0\n")
        self.assertEqual(self.right(session.code("import good; print(good.VERSION)", context=self.context(session))), "1.1\n")

    def test_root_installs_for_all(self):
        session = self.session()
        self.right(session.shell("pip install -q good==1.0", user="root"))
        self.assertIn("/usr/local/lib/", self.right(session.code("import good; print(good.__file__)")))
        # sudo keeps no variables but those that it is told to.
        self.right(session.shell("sudo --preserve-env=PIP_INDEX_URL,PIP_CERT pip install -q greeter"))
        self.assertEqual(self.right(session.shell("greet")), "greetings\n")
        # A user's own is before that.
        self.right(session.shell("pip install -q --user --ignore-installed good==1.1"))
        self.assertEqual(self.right(session.exec("python3", "-c", "import good; print(good.VERSION)")), "1.1\n")
        self.assertEqual(self.right(session.shell("python3 -c 'import good; print(good.VERSION)'", user="root")), "1.0\n")

    def test_programs_of_packages_are_found(self):
        session = self.session()
        self.right(session.shell("pip install -q greeter"))
        for ran in (session.shell("greet"), session.exec("greet"), session.code("import os; print(os.popen('greet').read(), end='')")):
            self.assertEqual(self.right(ran), "greetings\n")
        self.assertEqual(session.exec("python3", "-c", "import os; print(os.environ['PATH'])", user="root")["stdout"].count(".local"), 0)

    def test_a_package_with_lines_for_the_interpreter(self):
        session = self.session()
        self.right(session.code("1"))
        self.right(session.shell("pip install -q --no-deps with-pth"))
        self.assertEqual(self.right(session.code("import found_by_pth; print(found_by_pth.VERSION)")), "1\n")

    def test_source_packages_are_built_inside(self):
        session = self.session()
        self.right(session.shell("pip install -q honest"))
        self.assertEqual(self.right(session.code("import honest; print(honest.hello())")), "hello from honest 1.0\n")

    def test_without_a_network_there_is_nothing_to_install(self):
        for policy in ("none", {"allow": ["good.example.org"]}):
            session = self.session(policy)
            ran = session.shell("pip install --retries 0 --timeout 5 good")
            self.assertNotEqual(ran["exit_code"], 0)
            self.assertEqual(session.code("import good")["error"]["name"], "ModuleNotFoundError")
        self.assertEqual(self.internet.packages(), [])
        # The index alone, and not where its files are.
        session = self.session({"allow": [package_index.INDEX]})
        self.assertNotEqual(session.shell("pip install --retries 0 --timeout 5 good")["exit_code"], 0)
        self.assertEqual(self.files(), [])

    def test_a_whole_run_installs_too(self):
        code = ("import subprocess, sys\nopen('ca.pem', 'w').write(%r)\n"
                "subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', 'good'], check=True)\n"
                "import good\nprint(good.hello())" % self.internet.authority)
        ran = self.client.python(code, env=ENV, profile={"net": POLICY})
        self.assertEqual((ran["exit_code"], ran["stdout"]), (0, "hello from good 1.1\n"), ran)
        # And leaves nothing for the next one.
        ran = self.client.python("import good")
        self.assertEqual(ran["exit_code"], 1)


class Npm(Packages):
    def test_a_user_installs_and_node_finds_it(self):
        session = self.session(**NPM)
        said = session.shell("npm install dependent marked 2>&1")
        self.right(said)
        code = "console.log(require('dependent'), require('marked'))"
        self.assertEqual(self.right(session.exec("node", "-e", code)), "1.2.0 true\n")
        self.assertEqual(self.right(session.code(code, language="javascript")), "1.2.0 true\n")
        self.right(session.shell("sudo --preserve-env npm install -g good 2>&1"))
        self.assertEqual(self.right(session.shell("good")), "good 2.0.0\n")

    def test_without_a_network_there_is_nothing_to_install(self):
        session = self.session("none", **NPM)
        self.assertNotEqual(session.shell("npm install --fetch-retries=0 good")["exit_code"], 0)
        self.assertEqual(self.internet.packages(), [])


class Snapshots(Packages):
    def test_what_was_installed_becomes_a_template(self):
        session = self.session()
        self.right(session.shell("pip install -q needy && sudo --preserve-env pip install -q greeter && echo kept > notes.txt"))
        snapshot = session.post("/snapshots", status=201, name="with needy")["id"]
        answer = self.client.call("POST", "/v1/templates", {"name": "mine", "snapshot": snapshot, "description": "needy inside"})
        self.assertEqual(answer.status, 201, answer)
        self.addCleanup(self.client.call, "DELETE", "/v1/templates/mine")
        made = answer.json
        self.assertEqual((made["name"], made["snapshot"], made["from"], made["state"], made["description"]),
                         ("mine", snapshot, "python", made["state"], "needy inside"))
        session.kill()
        # No network is needed any more.
        fresh = self.session("none", template="mine", env={})
        self.assertEqual((fresh.made["template"], fresh.made["snapshot"]), ("python", snapshot))
        self.assertEqual(self.right(fresh.code("import needy; print(needy.hello())")), "hello from needy 1.0\n")
        self.assertEqual(self.right(fresh.shell("greet; cat notes.txt")), "greetings\nkept\n")
        other = self.session("none", template="mine", env={})
        self.right(fresh.shell("rm -r ~/.local"))
        self.assertEqual(self.right(other.code("import needy; print(needy.VERSION)")), "1.0\n")

    def kept(self, **more):
        session = self.session("none", **more)
        self.right(session.shell("echo 1 > here.txt"))
        return session.post("/snapshots", status=201)["id"]

    def create(self, **body):
        return self.client.call("POST", "/v1/templates", body)

    def test_it_is_a_template_like_others(self):
        snapshot = self.kept(template="base")
        self.assertEqual(self.create(name="kept", snapshot=snapshot).status, 201)
        listed = {one["name"]: one for one in self.client.get("/v1/templates").json["templates"]}
        self.assertEqual(listed["kept"]["snapshot"], snapshot)
        self.assertIsNone(listed["base"]["snapshot"])
        self.assertEqual(self.client.get("/v1/templates/kept").json["snapshot"], snapshot)
        self.assertEqual(self.create(name="kept", snapshot=snapshot).code, "template_exists")
        # A snapshot that a template stands for stays.
        refused = self.client.call("DELETE", f"/v1/snapshots/{snapshot}")
        self.assertEqual(refused.status, 409, refused)
        self.assertIn("kept", refused.json["error"]["message"])
        # It is for sandboxes: a run has nothing to fill it with.
        ran = self.client.post_run(template="kept", code="echo 1")
        self.assertEqual(ran.status, 400, ran)
        self.assertIn("/v1/sandboxes", ran.json["error"]["message"])
        # And no other session's.
        other, _ = self.server.new_key(project="elsewhere", name="other")
        with self.server.client(other) as stranger:
            self.assertEqual(stranger.get("/v1/templates/kept").status, 404)
            self.assertEqual(stranger.call("POST", "/v1/sandboxes", {"template": "kept"}).status, 404)
            self.assertEqual(stranger.call("POST", "/v1/templates", {"name": "theirs", "snapshot": snapshot}).status, 404)
        self.assertEqual(self.client.call("DELETE", "/v1/templates/kept").status, 204)
        self.assertEqual(self.client.call("POST", "/v1/sandboxes", {"template": "kept"}).status, 404)
        self.assertEqual(self.client.call("DELETE", f"/v1/snapshots/{snapshot}").status, 204)

    def test_what_does_not_go_together_is_said(self):
        snapshot = self.kept()
        for more in ({"from": "python"}, {"env": {"A": "b"}}, {"preload": ["json"]}, {"profile": {"memory_mb": 64}}):
            refused = self.create(name="odd", snapshot=snapshot, **more)
            self.assertEqual(refused.status, 400, refused)
            self.assertIn("snapshot", refused.json["error"]["message"])
        self.assertEqual(self.create(name="odd", snapshot="sn" + "a" * 20).status, 404)
        self.assertEqual(self.create(name="odd", snapshot="nonsense").status, 400)

    def test_it_is_there_after_a_restart_and_for_agents(self):
        snapshot = self.kept()
        self.assertEqual(self.create(name="lasting", snapshot=snapshot).status, 201)
        before = self.server.info["pid"]
        os.kill(before, signal.SIGKILL)
        self.assertTrue(sealed.wait_until(lambda: self.server.info.get("pid") not in (None, before)
                                          and self.server.is_ready_again(), server.PATIENCE), self.server.log()[-3000:])
        self.client.close()
        made = self.session("none", template="lasting", agent_id="agent-1", env={})
        again = self.session("none", template="lasting", agent_id="agent-1", env={})
        self.assertEqual(made.id, again.id)
        self.assertEqual(self.right(made.shell("cat here.txt")), "1\n")

    def test_other_clients_name_it_too(self):
        snapshot = self.kept()
        self.assertEqual(self.create(name="for-e2b", snapshot=snapshot).status, 201)
        made = self.client.call("POST", "/sandboxes", {"templateID": "for-e2b", "timeout": 60})
        self.assertEqual(made.status, 201, made)
        session = self.client.call("POST", f"/v1/sandboxes/{made.json['sandboxID']}/exec", {"cmd": "cat /home/user/here.txt"})
        self.assertEqual(session.json["stdout"], "1\n")
        self.client.call("DELETE", f"/v1/sandboxes/{made.json['sandboxID']}")


if __name__ == "__main__":
    sealed.main(network=True)
