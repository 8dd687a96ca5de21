# What builds of packages reach: the administrator's index and its files, at whatever address they are,
# and nothing else; its passwords are where they are used and nowhere else.
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import networked
import package_index
import processes
import sealed
import server
import test_internet as net
from networked import Networked
from sealed import wait_until

setUpModule = networked.set_up
tearDownModule = networked.tear_down

INDEX = f"https://{package_index.INDEX}/simple/"
WITH_PASSWORD = f"https://reader:topsecret@{package_index.INDEX}/simple/"


class WithIndex(Networked):
    """Ordinary sandboxes have no network at all here."""
    settings = {}
    variables = {}
    files = {}

    @classmethod
    def setUpClass(cls):
        cls.before = sealed.Nothing()
        cls.directory = tempfile.mkdtemp(prefix="gbx-test-")
        with open(os.path.join(cls.directory, "ca.pem"), "w") as file:
            file.write(networked.internet.file("ca.pem"))
        cls.pip_config = os.path.join(cls.directory, "pip.conf")
        # Those that a setting names must be there.
        for name, text in {"pip.conf": "", "npmrc": "", **cls.files}.items():
            with open(os.path.join(cls.directory, name), "w") as file:
                file.write(text)
        try:
            cls.server = server.Server(env=cls.environment(), settings={
                "log.requests": "false", "net.ceiling": "none", "net.resolvers": net.RESOLVER, "images.registries": "",
                "deps.ca_bundle": os.path.join(cls.directory, "ca.pem"), "deps.pip_config": cls.pip_config,
                "deps.npm_config": os.path.join(cls.directory, "npmrc"), "deps.file_hosts": package_index.FILES, "deps.failure_ttl": "0",
                **cls.settings})
        except BaseException:
            cls.tidy()
            raise

    @classmethod
    def environment(cls):
        none = dict.fromkeys(("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "NPM_CONFIG_REGISTRY"), "")
        return {**none, "GLOVEBOX_LAYERS_DIR": os.path.join(cls.directory, "layers"), **cls.variables}

    @classmethod
    def tidy(cls):
        shutil.rmtree(cls.directory)

    def setUp(self):
        super().setUp()
        self.internet.packages(auth="", token="", faults={}, forget=True)

    def imported(self, *packages):
        """A run that says the version of the first."""
        return self.client.call("POST", "/v1/run", {
            "language": "python", "code": f"import {packages[0]}\nprint({packages[0]}.__name__)",
            "profile": {"dependencies": list(packages)}})

    def assert_imported(self, *packages):
        answer = self.imported(*packages)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json["stdout"], packages[0] + "\n", answer.json)
        return answer.json


class Reach(WithIndex):
    settings = {"deps.index_url": INDEX}

    def test_a_private_index_is_reached_by_builds_and_by_nobody_else(self):
        built = self.assert_imported("good")
        self.assertTrue(built["dependencies"]["built"])
        self.assertTrue(self.internet.reached(package_index.INDEX_ADDRESS, 443))
        self.assertTrue(self.internet.reached(package_index.FILES_ADDRESS, 443))
        # Not even where the policy is the same: the ceiling of others is none.
        self.internet.forget()
        refused = self.client.call("POST", "/v1/run", {
            "language": "python", "code": "1", "profile": {"net": {"allow": [f"{package_index.INDEX}:443"]}}})
        self.assertEqual(refused.status, 403, refused)
        self.assert_not_reached(package_index.INDEX_ADDRESS)

    def test_an_index_that_leads_elsewhere_is_not_followed(self):
        self.internet.packages(faults={"/simple/needy/": {"redirect": "https://good.example.org/simple/needy/"}})
        refused = self.imported("needy")
        self.assertEqual(refused.status, 422, refused)
        self.assert_not_reached(net.GOOD)

    def test_the_gateway_holds_a_build_to_the_index_it_was_started_with(self):
        words = processes.living(self.server.info["gateway_pid"]).arguments()
        told = [after for word, after in zip(words, words[1:]) if word == "--index"]
        self.assertEqual(told, [f"{package_index.INDEX}:443", f"{package_index.FILES}:443", "registry.npmjs.org:443"])


class Elsewhere(WithIndex):
    """The same, where files are not on a host that the administrator has named."""
    settings = {"deps.index_url": INDEX, "deps.file_hosts": ""}

    def test_files_of_a_host_that_nobody_named_are_not_fetched(self):
        refused = self.imported("good")
        self.assertEqual(refused.status, 422, refused)
        self.assertTrue(self.internet.reached(package_index.INDEX_ADDRESS, 443))
        self.assert_not_reached(package_index.FILES_ADDRESS)
        self.assertIn(package_index.FILES, refused.json["error"]["message"])


class Off(WithIndex):
    settings = {"deps.index_url": INDEX, "deps.enabled": "false"}

    def test_no_build_reaches_anything_where_there_are_to_be_none(self):
        refused = self.imported("good")
        self.assertGreaterEqual(refused.status, 400, refused)
        self.assert_not_reached(package_index.INDEX_ADDRESS)


class Passwords(WithIndex):
    variables = {"PIP_INDEX_URL": WITH_PASSWORD}

    def test_a_password_is_used_and_shown_nowhere(self):
        self.internet.packages(auth="reader:topsecret")
        answer = self.assert_imported("good")
        self.assertNotIn("topsecret", repr(answer))
        asked = self.internet.packages()
        self.assertTrue(asked)
        info = self.server.info
        ours = [processes.living(info["supervisor_pid"]), *processes.below(info["supervisor_pid"]).values()]
        self.assertGreaterEqual(len(ours), 4)
        for process in ours:
            self.assertNotIn(b"topsecret", process.read("cmdline"))
        # Where a stranger's bytes are read, it is not even in memory that was handed over.
        for pid in (info["gateway_pid"], info["launcher_pid"]):
            environment = processes.living(pid).read("environ")
            self.assertIn(b"PATH=", environment)
            self.assertNotIn(b"topsecret", environment)
        self.assertNotIn("topsecret", self.server.log())
        inside = self.client.python(
            "import os, subprocess\n"
            "print(dict(os.environ), subprocess.run(['pip', 'config', 'list'], capture_output=True, text=True))\n"
            "for place, _, names in os.walk('/opt'):\n"
            "    for name in names:\n"
            "        print(open(os.path.join(place, name), errors='replace').read())\n",
            profile={"dependencies": ["good"]})
        self.assertEqual(inside["exit_code"], 0, inside)
        self.assertNotIn("topsecret", inside["stdout"])
        listed = self.client.call("GET", "/v1/layers")
        self.assertEqual(listed.status, 200, listed)
        self.assertIn(package_index.INDEX, listed.text)
        self.assertNotIn("topsecret", listed.text)

    def test_a_wrong_password_is_not_shown_either(self):
        self.internet.packages(auth="reader:another")
        refused = self.imported("greeter")
        self.assertEqual(refused.status, 422, refused)
        self.assertNotIn("topsecret", refused.text)
        self.assertNotIn("topsecret", self.server.log())


class HostsFiles(WithIndex):
    """What the host's own pip and npm are told, in files that only root can read."""
    files = {"pip.conf": f"[global]\nindex-url =\n    {WITH_PASSWORD}\n[freeze]\nuser = true\n",
             "npmrc": f"registry=https://{package_index.INDEX}/npm/\n"
                      f"//{package_index.INDEX}/npm/:_authToken=topsecret\n//elsewhere.test/:_authToken=nevershown\n"}

    def test_pip_asks_as_the_file_says(self):
        self.internet.packages(auth="reader:topsecret")
        self.assert_imported("good")
        self.assertNotIn("topsecret", self.server.log())

    def test_npm_asks_as_the_file_says(self):
        self.internet.packages(token="topsecret")
        answer = self.client.call("POST", "/v1/run", {
            "language": "javascript", "code": "console.log(typeof require('good'))",
            "profile": {"dependencies": ["good"]}})
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json["exit_code"], 0, answer.json)
        self.assertTrue(self.internet.packages())
        self.assertNotIn("topsecret", self.server.log() + answer.text)

    def test_without_the_token_npm_fails(self):
        self.internet.packages(token="another")
        refused = self.client.call("POST", "/v1/run", {
            "language": "javascript", "code": "1", "profile": {"dependencies": ["dependent"]}})
        self.assertEqual(refused.status, 422, refused)
        self.assertNotIn("topsecret", refused.text + self.server.log())


class Adoption(WithIndex):
    variables = {"PIP_INDEX_URL": WITH_PASSWORD}

    def gateway_after_a_new_supervisor(self):
        before = self.server.info["gateway_pid"]
        self.server.supervisor.kill()
        self.server.supervisor.wait()
        self.client.close()
        self.server.start()
        self.assertTrue(wait_until(lambda: self.server.info.get("gateway_pid"), server.PATIENCE))
        return before

    def test_a_gateway_with_another_index_is_replaced_and_with_another_password_is_not(self):
        self.server.env["PIP_INDEX_URL"] = WITH_PASSWORD.replace("topsecret", "another")
        before = self.gateway_after_a_new_supervisor()
        self.assertEqual(self.server.info["gateway_pid"], before)
        self.assertNotIn("the gateway is replaced", self.server.log())
        with open(self.pip_config, "w") as file:
            file.write("[global]\nextra-index-url = https://more.packages.test/simple\n")
        before = self.gateway_after_a_new_supervisor()
        self.assertTrue(wait_until(lambda: self.server.info.get("gateway_pid") not in (None, 0, before), server.PATIENCE))
        self.assertEqual(self.server.log().count("the gateway is replaced"), 1)


if __name__ == "__main__":
    sealed.main(network=True)
