# Networks as other clients ask for them: the command line with and without a server, E2B's fields on
# the wire, the workspace dialect, functions of a template.
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import mcp
import network_guest
import networked
import sealed
import server
import test_internet as net
from networked import Networked

setUpModule = networked.set_up
tearDownModule = networked.tear_down
# Every server of the test internet speaks first at port 25.
BANNER = "{{ timeout 10 head -c 3 < /dev/tcp/{}/25; }} 2> /dev/null; echo"


ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
SDK_PROGRAM = """
import json
import glovebox
from glovebox import sandboxed

def banner(host):
    import socket
    try:
        with socket.create_connection((host, 25), 10) as connection:
            return connection.recv(3) == b"220"
    except OSError:
        return False

without = sandboxed(banner)
everywhere = sandboxed(net="all")(banner)
listed = sandboxed(net=["good.example.org:25"])(banner)
said = {"none": without("good.example.org"), "all": everywhere("good.example.org"),
        "list": [listed("good.example.org"), listed("evil.example.com")]}
with glovebox.Sandbox.create(template="base") as sandbox:
    line = "{ head -c 3 < /dev/tcp/good.example.org/25; } 2> /dev/null"
    said["before"] = sandbox.exec(["/bin/bash", "-c", line]).stdout == "220"
    sandbox.set_network(["good.example.org:25"])
    said["after"] = sandbox.exec(["/bin/bash", "-c", line]).stdout == "220"
    figures = sandbox.network()
    said["connections"] = figures.connections
    said["rule"] = [one.rule for one in figures.decisions if one.what == "connect"][0]
print(json.dumps(said))
"""


HANDLER = """
def handler(event, context):
    import socket
    with socket.create_connection((event, 25), 10) as connection:
        return connection.recv(3).decode()
"""


def invoke(case, *words, env, status=None):
    """`sandbox-run`, with a handler that connects to the host of its event."""
    with tempfile.TemporaryDirectory(prefix="gbx-test-") as place:
        path = os.path.join(place, "handler.py")
        with open(path, "w") as file:
            file.write(HANDLER)
        ran = subprocess.run([os.path.join(sealed.BIN, "sandbox-run"), path, *words, "--event", '"good.example.org"'],
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=60, env=sealed.environment(env))
    if status is None:  # a handler that fails is refused something, which is one line
        case.assertEqual(ran.stderr.count(b"sandbox-run: network: "), ran.returncode, ran)
    else:
        case.assertEqual(ran.returncode, status, ran)
    return ran


class Alone(sealed.TestCase):
    """`glovebox run --net` without a server."""
    OWN = {"GLOVEBOX_NET_RESOLVERS": net.RESOLVER}

    def run_net(self, policy, *hosts, env=None, more=()):
        line = "; ".join(BANNER.format(host) for host in hosts)
        ran = sealed.glovebox("run", "--net", policy, *more, "--exec", "/bin/bash", "--", "-c", line,
                              env={**self.OWN, **(env or {})})
        self.assertRegex(ran.stderr.decode(), r"\A(glovebox: network: [^\n]+\n)?\Z", ran)  # what was refused, on one line
        return [word == "220" for word in ran.stdout.decode().split("\n")[:len(hosts)]]

    def test_policies(self):
        everywhere = ("good.example.org", "evil.example.com", net.EVIL, "10.0.0.1", net.METADATA, "127.0.0.1")
        self.assertEqual(self.run_net("all", *everywhere), [True] * 3 + [False] * 3)
        self.assertEqual(self.run_net("none", *everywhere), [False] * 6)
        self.assertEqual(self.run_net("https-only", *everywhere), [False] * 6)
        allow = json.dumps({"allow": ["good.example.org"]})
        self.assertEqual(self.run_net(allow, *everywhere), [True] + [False] * 5)

    def test_a_refusal_explains_itself(self):
        ran = sealed.glovebox("run", "--net", "www.example.org", "--exec", "/bin/bash", "--", "-c",
                              BANNER.format("good.example.org"), env=self.OWN)
        said = b"glovebox: network: good.example.org is not in the policy; --net good.example.org allows it\n"
        self.assertEqual(ran.stderr, said)
        ran = sealed.glovebox("run", "--net", "www.example.org,good.example.org", "--exec", "/bin/bash", "--", "-c",
                              BANNER.format("good.example.org"), env=self.OWN)
        self.assertEqual((ran.stdout, ran.stderr), (b"220\n", b""))  # as it was told
        _, answer = sealed.run_json("--net", "https-only", "--exec", "/bin/bash", "--", "-c",
                                    BANNER.format("good.example.org"), env=self.OWN)
        refused, = answer["metrics"]["network"]["refusals"]
        self.assertEqual((refused["name"], refused["port"], refused["rule"], refused["allow"]),
                         ("good.example.org", 25, "not in the policy", "good.example.org:25"))
        ran = sealed.glovebox("run", "--net", "all", "--exec", "/bin/bash", "--", "-c", BANNER.format(net.METADATA), env=self.OWN)
        self.assertIn(b"is a reserved address (metadata), which no --net allows", ran.stderr)

    def test_a_program_without_a_network_is_told_how_to_get_one(self):
        lookup = "import urllib.request as u; u.urlopen('https://good.example.org')"
        ran = sealed.glovebox("run", "-c", lookup)
        self.assertEqual(ran.returncode, 1, ran)
        self.assertTrue(ran.stderr.splitlines()[-1].startswith(b"glovebox: network: this sandbox has none; --net https-only"), ran)
        self.assertNotIn(b"glovebox: ", sealed.glovebox("run", "-c", "1/0").stderr)

    def test_a_handler(self):
        ran = invoke(self, "--net", "good.example.org:25", env=self.OWN)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, b'"220"\n', b""))
        ran = invoke(self, "--net", "www.example.org", env=self.OWN)
        self.assertEqual(ran.returncode, 1, ran)
        self.assertIn(b"network: good.example.org is not in the policy; --net good.example.org allows it\n", ran.stderr)
        ran = invoke(self, env=self.OWN)
        self.assertEqual(ran.returncode, 1, ran)
        self.assertIn(b"network: this sandbox has none; --net https-only", ran.stderr)
        ran = invoke(self, "--net", "all", env={**self.OWN, "GLOVEBOX_NET_CEILING": "https-only"}, status=5)
        self.assertIn(b"https-only", ran.stderr)

    def test_tls(self):
        program = network_guest.program(networked.internet.authority,
                                        "[fetch('good.example.org', tls=True), fetch('good.example.org')]")
        ran = sealed.glovebox("run", "--net", "https-only", "-", stdin=program.encode(), env=self.OWN)
        self.assertEqual(ran.returncode, 0, ran)
        secure, plain = json.loads(ran.stdout)
        self.assertEqual((secure["address"], secure["name"]), (net.GOOD, "good.example.org"))
        self.assertIn("error", plain)

    def test_json_says_what_it_did(self):
        ran, answer = sealed.run_json("--net", "all", "--exec", "/bin/bash", "--", "-c",
                                      BANNER.format("good.example.org"), env=self.OWN)
        self.assertEqual(ran.returncode, 0, ran)
        self.assertEqual(answer["metrics"]["network"]["connections"], 1)

    def test_the_administrators_ceiling_holds(self):
        ran = sealed.glovebox("run", "--net", "all", "--exec", "/bin/true",
                              env={**self.OWN, "GLOVEBOX_NET_CEILING": "https-only"})
        self.assertEqual(ran.returncode, 125, ran)
        self.assert_one_line(ran.stderr)
        self.assertIn(b"https-only", ran.stderr)

    def test_mistakes(self):
        for wrong in ("some", "{", '{"allow":"x"}', '{"allow":["a b"]}', "[]", ""):
            ran = sealed.glovebox("run", "--net", wrong, "--exec", "/bin/true", env=self.OWN)
            self.assertEqual(ran.returncode, 2, (wrong, ran))
            self.assert_one_line(ran.stderr, wrong)
            self.assertIn(b"--net", ran.stderr)

    def test_a_killed_run_leaves_no_gateway(self):
        started = sealed.start("run", "--net", "all", "--exec", "/bin/bash", "--", "-c",
                               BANNER.format("good.example.org") + "; sleep 60", env=self.OWN)
        self.assertEqual(sealed.read_line(started.stdout), b"220\n")
        started.kill()
        self.finish(started)  # assert_nothing_left looks for the rest


class Remote(Networked):
    def cli(self, *words, **more):
        return sealed.glovebox(*words, env={"GLOVEBOX_URL": self.server.url, "GLOVEBOX_API_KEY": self.server.key}, **more)

    def test_run(self):
        for policy, expected in (("all", b"220\n"), ("none", b"\n"), ('{"allow":["good.example.org:25"]}', b"220\n"),
                                 ('{"allow":["www.example.org"]}', b"\n")):
            ran = self.cli("run", "--net", policy, "--exec", "/bin/bash", "--", "-c", BANNER.format("good.example.org"))
            self.assertEqual(ran.stdout, expected, (policy, ran))
            refusal = b"glovebox: network: good.example.org is not in the policy; --net good.example.org allows it\n"
            self.assertEqual(ran.stderr, refusal if "www" in policy else b"", (policy, ran))
        ran = self.cli("run", "--net", '{"allow":["a b"]}', "--exec", "/bin/true")
        self.assertIn(ran.returncode, (2, 125), ran)

    def test_a_handler(self):
        env = {"GLOVEBOX_URL": self.server.url, "GLOVEBOX_API_KEY": self.server.key}
        ran = invoke(self, "--net", "all", "--net-deny", "www.example.org", env=env)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, b'"220"\n', b""))
        for words, said in ((("--net", "www.example.org"), b"--net good.example.org allows it\n"), ((), b"this sandbox has none")):
            ran = invoke(self, *words, env=env)
            self.assertEqual(ran.returncode, 1, ran)
            self.assertIn(said, ran.stderr)

    def test_exec(self):
        made = self.cli("sandbox", "create", "--net", "www.example.org", "--name", "networked").stdout.decode().strip()
        self.addCleanup(self.cli, "sandbox", "kill", made)
        failing = BANNER.format("good.example.org") + "; exit 1"
        ran = self.cli("exec", "networked", "bash", "-c", failing)
        self.assertTrue(ran.stderr.endswith(b"network: good.example.org is not in the policy; "
                                            b"--net good.example.org allows it\n"), ran)
        lookup = "import urllib.request as u; u.urlopen('https://evil.example.com')"
        ran = self.cli("code", "networked", "-c", lookup)
        self.assertEqual(ran.returncode, 1, ran)
        self.assertTrue(ran.stderr.endswith(b"\nglovebox: network: evil.example.com is not in the policy; "
                                            b"--net evil.example.com allows it\n"), ran)
        self.assertNotIn(b"glovebox: network", self.cli("code", "networked", "-c", "1/0").stderr)
        ran = self.cli("exec", "networked", "false")
        self.assertEqual(ran.stderr, b"")  # an earlier program's refusal is not this one's

    def test_a_model_sees_what_its_policy_refused(self):
        lookup = "import urllib.request as u; u.urlopen('https://good.example.org')"
        said = "network: good.example.org is not in the policy; --net good.example.org allows it"
        with mcp.Conversation(self.client, sandbox={"net": {"allow": ["www.example.org"]}}) as conversation:
            for tool, words in (("run_code", {"code": lookup}), ("run_command", {"command": "bash -c '" + BANNER.format("good.example.org") + "; exit 1'"})):
                result = conversation.call(tool, **words)
                self.assertTrue(result["isError"], result)
                self.assertEqual(result["content"][-1]["text"], said, result)
            # A later failure has another reason.
            for tool, words in (("run_code", {"code": "1/0"}), ("run_command", {"command": "false"})):
                self.assertNotIn("network: ", json.dumps(conversation.call(tool, **words)))

    def test_python_sdk(self):
        """The decorator's net=, a sandbox's set_network() and network()."""
        with tempfile.TemporaryDirectory(prefix="gbx-test-") as place:
            path = os.path.join(place, "program.py")
            with open(path, "w") as file:
                file.write(SDK_PROGRAM)
            ran = subprocess.run(["/usr/bin/python3", "-B", path], stdin=subprocess.DEVNULL, capture_output=True,
                                 timeout=60, cwd=place, env=sealed.environment({
                                     "PYTHONPATH": os.path.join(ROOT, "sdk", "python"), "GLOVEBOX_URL": self.server.url,
                                     "GLOVEBOX_API_KEY": self.server.key}))
        self.assertEqual(ran.returncode, 0, ran.stderr.decode())
        self.assertEqual(json.loads(ran.stdout), {
            "none": False, "all": True, "list": [True, False], "before": False, "after": True, "connections": 1,
            "rule": "allow good.example.org:25"})

    def test_e2b_fields(self):
        headers = {"X-API-Key": self.server.key}

        def make(**body):
            answer = self.client.call("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 60, **body}, headers)
            self.assertEqual(answer.status, 201, answer)
            self.addCleanup(self.client.call, "DELETE", "/sandboxes/" + answer.json["sandboxID"])
            return answer.json["sandboxID"]

        def reaches(sandbox, host):
            ran = self.client.call("POST", f"/v1/sandboxes/{sandbox}/exec", {"cmd": "bash -c '" + BANNER.format(host) + "'"})
            return ran.json["stdout"] == "220\n"

        everywhere = ("good.example.org", net.EVIL, "10.0.0.1")
        for body, expected in (({}, [True, True, False]), ({"allow_internet_access": True}, [True, True, False]),
                               ({"allow_internet_access": False}, [False, False, False]),
                               ({"network": {"denyOut": ["0.0.0.0/0"]}}, [False, False, False]),
                               ({"network": {"denyOut": [net.EVIL]}}, [True, False, False]),
                               ({"network": {"allowOut": ["good.example.org"], "denyOut": ["0.0.0.0/0"]}}, [True, False, False]),
                               ({"network": {"allowOut": [net.EVIL + "/32"], "denyOut": ["0.0.0.0/0"]}}, [False, True, False])):
            sandbox = make(**body)
            self.assertEqual([reaches(sandbox, host) for host in everywhere], expected, body)
        self.assertEqual(self.client.call("PUT", f"/sandboxes/{sandbox}/network", {"allowOut": ["good.example.org"],
                                          "denyOut": ["0.0.0.0/0"]}, headers).status, 204)
        self.assertEqual([reaches(sandbox, host) for host in everywhere], [True, False, False])
        detail = self.client.call("GET", "/sandboxes/" + sandbox, headers=headers).json
        self.assertEqual(detail["network"]["allowOut"], ["good.example.org"])
        self.assertEqual(self.client.call("PUT", f"/sandboxes/{sandbox}/network", {}, headers).status, 204)
        self.assertEqual([reaches(sandbox, host) for host in everywhere], [True, True, False])
        for wrong in ({"allowOut": ["a b"]}, {"allowOut": "x"}, {"denyOut": [7]}):
            answer = self.client.call("PUT", f"/sandboxes/{sandbox}/network", wrong, headers)
            self.assertEqual((answer.status, answer.json["code"]), (400, 400), answer)


class Workspace(sealed.TestCase):
    def served(self, allowed):
        made = server.Server(settings={"log.requests": "false", "net.resolvers": net.RESOLVER},
                             env={"SANDBOX_ALLOW_NETWORK": allowed})
        self.addCleanup(made.stop)
        return made.client()

    def reaches(self, client, session, host):
        line = "bash -c '" + BANNER.format(host) + "'"
        ran = client.call("POST", "/workspace/se/execute/" + session, {"command": line}).json
        return ran["stdout"] == "220\n"

    def test_sandbox_allow_network(self):
        client = self.served("true")
        made = client.call("POST", "/workspace/se/session/one").json
        self.assertIs(made["allow_network"], True)
        self.assertTrue(self.reaches(client, "one", "good.example.org"))
        self.assertFalse(self.reaches(client, "one", "10.0.0.1"))
        self.assertFalse(self.reaches(client, "one", net.METADATA))

    def test_without(self):
        client = self.served("false")
        made = client.call("POST", "/workspace/se/session/one").json
        self.assertIs(made["allow_network"], False)
        self.assertFalse(self.reaches(client, "one", "good.example.org"))
        self.assertFalse(self.reaches(client, "one", net.GOOD))


if __name__ == "__main__":
    sealed.main(network=True)
