# Packages from the command line: `glovebox run --with` and `sandbox-run --with`, on a server and
# without one, `glovebox layers`, `glovebox mcp --with`, and templates and sandboxes with packages. In
# the test internet with its package index.
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import assistant
import networked
import packaged
import sealed
from sealed import wait_until

HELLO = "import good; print(good.hello())"
HANDLER = "import good\ndef handler(event, context): return [good.VERSION, event]\n"
SANDBOX_RUN = os.path.join(sealed.BIN, "sandbox-run")


def setUpModule():
    packaged.set_up()


def tearDownModule():
    packaged.tear_down()


def write(place, name, text):
    path = os.path.join(place, name)
    with open(path, "w") as file:
        file.write(text)
    return path


class OnAServer(packaged.Packaged):
    more_settings = {"deps__failure_ttl": "1s"}

    def cli(self, *words, status=0, key=None):
        ran = sealed.glovebox(*words, env={"GLOVEBOX_URL": self.server.url, "GLOVEBOX_API_KEY": key or self.server.key},
                              timeout=150)
        self.assertEqual(ran.returncode, status, ran)
        return ran.stdout.decode(), ran.stderr.decode()

    def test_a_run_shows_the_installer_once(self):
        out, err = self.cli("run", "--with", "needy", "-c", "import needy; print(needy.hello())")
        self.assertEqual(out, "hello from needy 1.0\n")
        self.assertIn("glovebox: packages: resolving and downloading\n", err)
        self.assertIn("  Successfully installed", err)
        again, err = self.cli("run", "--with", "needy", "-c", "import needy; print(needy.hello())")
        self.assertEqual((again, err), (out, ""))
        # Another preload is another interpreter, but nothing is installed: nothing to speak of.
        again, err = self.cli("run", "--with", "needy", "--preload", "needy", "-c", "import needy; print(needy.hello())")
        self.assertEqual((again, err), (out, ""))
        answer = json.loads(self.cli("run", "--with", "needy", "--json", "-c", "import needy")[0])
        self.assertEqual((answer["exit_code"], answer["dependencies"]["built"]), (0, False))

    def test_files_of_packages_are_read_here(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "requirements.txt")
            with open(path, "w") as file:
                file.write("# ours\ngood==1.0\n")
            out, _ = self.cli("run", "--requirements", path, "--preload", "good", "-c", HELLO)
            self.assertEqual(out, "hello from good 1.0\n")
            with open(path, "w") as file:
                file.write("good\n-r /etc/passwd\n")
            _, err = self.cli("run", "--requirements", path, "-c", HELLO, status=2)
            self.assertIn("--requirements: line 2: ", err)

    def test_the_installers_words_are_the_error(self):
        _, err = self.cli("run", "--with", "no-such-package", "-c", "1", status=125)
        self.assertIn("glovebox: ", err)
        self.assertIn("no-such-package", err)
        # What the installer said live is not said again.
        lines = [line.strip() for line in err.splitlines() if "No matching distribution" in line]
        self.assertEqual(len(lines), 1, err)
        out, _ = self.cli("run", "--with", "no-such-package", "--json", "-c", "1", status=125)
        self.assertEqual(json.loads(out)["error"]["code"], "dependencies_failed")
        _, err = self.cli("layers", "build", "--with", "no-such-package", status=1)
        self.assertIn("no-such-package", err)

    def test_layers_are_built_looked_at_and_removed(self):
        id = self.cli("layers", "build", "--with", "greeter")[0].strip()
        self.assertRegex(id, "^[0-9a-f]{32}$")
        listed = self.cli("layers", "list")[0]
        self.assertIn(id[:12], listed)
        self.assertIn("greeter 1.0", listed)
        shown = self.cli("layers", "show", id[:8])[0]
        self.assertIn(id, shown)
        self.assertIn("greeter-1.0-py3-none-any.whl", shown)
        self.assertEqual(self.cli("layers", "check", id[:8])[0], "intact\n")
        layer = json.loads(self.cli("layers", "show", id, "--json")[0])
        self.assertEqual((layer["id"], layer["projects"]), (id, ["default"]))
        # A key that is not an admin key may look, and do no more.
        user, _ = self.server.new_key(project="other", role="user")
        self.assertNotIn(id[:12], self.cli("layers", "list", key=user)[0])
        self.cli("layers", "show", id, key=user, status=1)
        self.cli("layers", "remove", id, key=user, status=1)
        self.cli("layers", "prune", key=user, status=1)
        self.assertIn("would remove", self.cli("layers", "prune", "--dry-run")[0])
        self.assertIn("removed 0 layers", self.cli("layers", "prune", "--unused-for", "7d")[0])
        self.cli("layers", "remove", id[:12])
        self.cli("layers", "show", id, status=1)
        self.assertNotIn(id, self.stored())

    def test_words_that_make_no_sense_start_nothing(self):
        for words in (["layers"], ["layers", "show"], ["layers", "list", "--with", "good"], ["layers", "build"],
                      ["layers", "prune", "--unused-for", "soon"], ["layers", "build", "--with", "../x"],
                      ["run", "--with", "-r", "-c", "1"], ["run", "--with", "good", "--exec", "/bin/ls"],
                      ["run", "--preload", "good", "-c", "1"],
                      ["run", "--lang", "node", "--with", "good", "--preload", "good", "-c", "1"],
                      ["layers", "prune", "--unused-for", "-1d"], ["sandbox", "create", "--net", "internet"],
                      ["run", "--local", "--template", "python", "-c", "1"], ["template", "create", "x", "--from", "python", "--with", "a/b"]):
            with self.subTest(words):
                self.cli(*words, status=2)
        self.assertEqual(self.internet.packages(), [])

    def test_templates_and_sandboxes(self):
        self.cli("template", "create", "with-good", "--from", "python", "--with", "good==1.0", "--preload", "good")
        self.addCleanup(self.cli, "template", "delete", "with-good")
        self.assertIn("good==1.0", self.cli("template", "show", "with-good")[0])
        self.assertNotIn("/sets/", self.cli("template", "show", "with-good")[0])
        id, err = self.cli("sandbox", "create", "--template", "with-good", "--with", "needy")
        id = id.strip()
        self.assertIn("glovebox: packages: ", err)
        self.addCleanup(self.cli, "sandbox", "kill", id)
        out, _ = self.cli("exec", id, "--", "python3", "-c", "import good, needy; print(good.VERSION, needy.hello())")
        self.assertEqual(out, "1.0 hello from needy 1.0\n")
        self.assertIn("needy", self.cli("sandbox", "show", id)[0])
        # A run of it has them without a word.
        ran, err = self.cli("run", "--template", "with-good", "-c", "import good; print(good.VERSION)")
        self.assertEqual((ran, err), ("1.0\n", ""))

    def test_packages_are_for_python_unless_something_else_is_said(self):
        id = self.cli("sandbox", "create", "--with", "good", "--net", "https-only,db.example.com:5432")[0].strip()
        self.addCleanup(self.cli, "sandbox", "kill", id)
        self.assertEqual(self.cli("exec", id, "--", "python3", "-c", HELLO)[0], "hello from good 1.1\n")
        shown = json.loads(self.cli("sandbox", "show", id, "--json")[0])
        self.assertEqual(shown["template"], "python")
        self.assertEqual(shown["net"], {"base": "https-only", "allow": ["db.example.com:5432"]})
        text = self.cli("sandbox", "show", id)[0]
        self.assertRegex(text, "(?m)^net +.*https-only")
        self.assertRegex(text, "(?m)^dependencies +.*good")
        self.cli("template", "create", "also-good", "--with", "good")
        self.addCleanup(self.cli, "template", "delete", "also-good")
        self.assertEqual(json.loads(self.cli("template", "show", "also-good", "--json")[0])["from"], "python")


    def test_the_hosts_packages_on_demand(self):
        ran, err = self.cli("run", "--with", "good", "-c", "import yaml", status=1)
        self.assertIn("--with PyYAML installs it, --host-packages shows", err.splitlines()[-1])
        look = "import importlib.util, good; print(importlib.util.find_spec('yaml') is not None)"
        self.assertEqual(self.cli("run", "--with", "good", "-c", look)[0], "False\n")
        self.assertEqual(self.cli("run", "--with", "good", "--host-packages", "-c", look)[0], "True\n")
        id = self.cli("sandbox", "create", "--with", "good", "--host-packages")[0].strip()
        self.addCleanup(self.cli, "sandbox", "kill", id)
        self.assertEqual(self.cli("exec", id, "--", "python3", "-c", look)[0], "True\n")
        self.cli("template", "create", "seeing", "--with", "good", "--host-packages")
        self.addCleanup(self.cli, "template", "delete", "seeing")
        self.assertEqual(self.cli("run", "--template", "seeing", "-c", look)[0], "True\n")
        for words in (["run", "--host-packages", "-c", "1"], ["run", "--lang", "node", "--with", "good", "--host-packages", "-c", "1"],
                      ["layers", "build", "--host-packages"], ["template", "create", "x", "--from", "python", "--host-packages"]):
            self.cli(*words, status=2)

    def test_a_template_shows_the_installer(self):
        _, err = self.cli("template", "create", "fresh", "--with", "good<1.1")
        self.addCleanup(self.cli, "template", "delete", "fresh")
        self.assertIn("glovebox: packages: resolving and downloading\n", err)
        self.assertIn("no-such-package", self.cli("template", "create", "broken", "--with", "no-such-package", status=1)[1])
        self.assertNotIn("broken", self.cli("template", "list")[0])

    def test_handlers_with_packages(self):
        with tempfile.TemporaryDirectory() as place:
            handler = write(place, "app.py", HANDLER)
            ran = subprocess.run([SANDBOX_RUN, handler, "--with", "good==1.0", "--event", "5"], timeout=150, capture_output=True,
                                 env=sealed.environment({"GLOVEBOX_URL": self.server.url, "GLOVEBOX_API_KEY": self.server.key}))
            self.assertEqual((ran.returncode, ran.stdout), (0, b'["1.0", 5]\n'), ran)
            ran = subprocess.run([SANDBOX_RUN, handler, "--with", "no-such-package", "--event", "5"], timeout=150, capture_output=True,
                                 env=sealed.environment({"GLOVEBOX_URL": self.server.url, "GLOVEBOX_API_KEY": self.server.key}))
            self.assertNotIn(b"\\x0a", ran.stderr)
            self.assertGreater(ran.stderr.count(b"\n  "), 0, ran.stderr)

    def test_an_assistants_sandbox(self):
        """Of `glovebox mcp`, on a server that runs."""
        env = {"GLOVEBOX_URL": self.server.url, "GLOVEBOX_API_KEY": self.server.key}
        fetch = "import urllib.request as r; print(r.urlopen('http://good.example.org/', timeout=20).status)"
        with assistant.Assistant("--with", "good==1.0", "--net", "good.example.org:80", env=env) as one:
            said = one.begin()["result"]["instructions"]
            self.assertIn("good==1.0", said)
            self.assertIn("good.example.org:80", said)
            self.assertIn("1.0", one.text("run_code", code="import good; good.VERSION"))
            self.assertIn("200", one.text("run_code", code=fetch))
            self.assertTrue(one.call("run_code", code=fetch.replace("good.example.org", "www.example.com"))["result"]["isError"])
            # A fresh sandbox is like the old one.
            one.call("reset_sandbox")
            self.assertIn("1.0", one.text("run_code", code="import good; good.VERSION"))
            self.assertIn("200", one.text("run_code", code=fetch))
        with assistant.Assistant(env=env) as other:
            self.assertIn("There is no network inside", other.begin()["result"]["instructions"])
            self.assertTrue(other.call("run_code", code="import good")["result"]["isError"])
        for words in (["--with", "../x"], ["--preload", "good"], ["--net", "internet"], ["--net-deny", "x"]):
            self.cli("mcp", *words, status=2)

    def test_an_assistant_is_configured_with_them(self):
        out, _ = self.cli("mcp", "--print-config", "generic", "--json", "--with", "good", "--net", "pypi.org:443", "--host-packages")
        self.assertIn('"--with","good","--net","pypi.org:443","--host-packages"', out.replace(" ", "").replace("\n", ""))


class Alone(sealed.TestCase):
    """Without a server: one is started for the run, and what it installed stays."""

    def setUp(self):
        super().setUp()
        self.layers = tempfile.mkdtemp(prefix="gbx-test-layers-")
        self.addCleanup(shutil.rmtree, self.layers, True)
        settings = packaged.settings_of(networked.internet)
        self.env = {"GLOVEBOX_" + name.upper().replace(".", "_"): value for name, value in settings.items()}
        self.env["GLOVEBOX_LAYERS_DIR"] = self.layers
        # No server is there.
        self.env["GLOVEBOX_DATA_DIR"] = os.path.join(self.layers, "data")
        networked.internet.packages(forget=True, faults={})

    def run_with(self, *words, status=0):
        ran = sealed.glovebox("run", *words, env=self.env, timeout=150)
        self.assertEqual(ran.returncode, status, ran)
        return ran.stdout.decode(), ran.stderr.decode()

    def test_the_second_run_finds_them(self):
        out, err = self.run_with("--with", "good", "-c", HELLO)
        self.assertEqual(out, "hello from good 1.1\n")
        self.assertIn("  Successfully installed good-1.1", err)
        networked.internet.packages(forget=True)
        again, err = self.run_with("--with", "good", "-c", HELLO)
        self.assertEqual(again, out)
        self.assertEqual(networked.internet.packages(), [])
        # Nothing of the server's own log, and nothing of packages that are there.
        self.assertEqual(err, "")

    def layers_of_them(self, *words, status=0):
        ran = sealed.glovebox("layers", *words, env=self.env, timeout=150)
        self.assertEqual(ran.returncode, status, ran)
        return ran.stdout.decode()

    def test_their_layers_are_looked_after_without_a_server(self):
        self.run_with("--with", "good==1.0", "-c", HELLO)
        listed = json.loads(self.layers_of_them("list", "--json"))["layers"]
        self.assertEqual([package["version"] for layer in listed for package in layer["packages"]], ["1.0"])
        id = self.layers_of_them("build", "--with", "greeter").strip()
        self.assertIn(id[:12], self.layers_of_them("list"))
        self.assertEqual(self.layers_of_them("check", id), "intact\n")
        self.layers_of_them("remove", id)
        self.assertIn("removed 1 layers", self.layers_of_them("prune"))
        self.assertEqual(os.listdir(os.path.join(self.layers, "sets")), [])
        # A server that is named is used.
        with tempfile.TemporaryDirectory() as nobody:
            self.layers_of_them("list", "--data-dir", nobody, status=125)

    def test_handlers_with_packages(self):
        def call(*words, status=0):
            ran = subprocess.run([SANDBOX_RUN, *words], env=sealed.environment(self.env), timeout=150, capture_output=True)
            self.assertEqual(ran.returncode, status, ran)
            return ran.stdout.decode(), ran.stderr.decode()

        with tempfile.TemporaryDirectory() as place:
            handler, requirements = write(place, "app.py", HANDLER), write(place, "requirements.txt", "good==1.0\n")
            out, err = call(handler, "--requirements", requirements, "--event", '{"a": 1}')
            self.assertEqual(out, '["1.0", {"a": 1}]\n')
            self.assertIn("  Successfully installed good-1.0", err)
            # Again: the index is not asked and nothing is printed.
            networked.internet.packages(forget=True)
            self.assertEqual(call(handler, "--requirements", requirements, "--event", "2"), ('["1.0", 2]\n', ""))
            self.assertEqual(networked.internet.packages(), [])
            # Without them it is the handler that fails; each other mistake has its status.
            self.assertIn("ImportModuleError", call(handler, "--event", "2", status=1)[0])
            _, err = call(handler, "--with", "no-such-package", "--event", "2", status=5)
            self.assertEqual(err.count("No matching distribution"), 1, err)
            call(handler, "--with", "-r x", "--event", "2", status=1)
            call(handler, "--requirements", place + "/none.txt", "--event", "2", status=2)
            self.assertIn("--engine process", call(handler, "--with", "good", "--engine", "process", "--event", "2", status=1)[1])

    def test_exit_status_input_and_files(self):
        with tempfile.TemporaryDirectory() as place:
            target = os.path.join(place, "out.txt")
            ran = sealed.glovebox("run", "--with", "good", "--out", f"/home/user/o:{target}", "-c",
                                  "import good, sys; open('/home/user/o', 'w').write(sys.stdin.read()); sys.exit(7)",
                                  stdin=b"from outside", env=self.env, timeout=150)
            self.assertEqual(ran.returncode, 7, ran)
            with open(target) as file:
                self.assertEqual(file.read(), "from outside")

    def test_an_interrupt_ends_the_build(self):
        networked.internet.packages(faults={"/simple/good/": {"delay": 60.0}})
        process = sealed.start("run", "--with", "good", "-c", HELLO, env=self.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.assertTrue(wait_until(lambda: networked.internet.packages(), 60))
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130)
        finally:
            process.kill()
            process.wait()
        place = os.path.join(self.layers, "sets")
        self.assertEqual(os.listdir(place) if os.path.isdir(place) else [], [])

    def test_paths_of_ones_own_are_mounted(self):
        with tempfile.TemporaryDirectory() as own:
            os.chmod(own, 0o755)
            with open(os.path.join(own, "note"), "w") as file:
                file.write("mine")
            out, _ = self.run_with("--with", "good", "--mount", "ro:%s:/mine" % own, "-c", "import good; print(open('/mine/note').read())")
            self.assertEqual(out.strip(), "mine")

    def test_what_only_a_run_here_has_is_refused(self):
        for words in (["--tty"], ["--engine", "process"]):
            with self.subTest(words):
                _, err = self.run_with("--with", "good", "-c", "1", *words, status=2)
                self.assertIn("packages are installed by a server", err)


if __name__ == "__main__":
    sealed.main(network=True)
