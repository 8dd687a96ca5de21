# What sandboxes of the synchronous Python client reach, on the test internet: every server speaks
# first at port 25.
import e2b
from e2b import Sandbox
from support import Cases, at_least

GOOD, EVIL = "good.example.org", "evil.example.com"
EVIL_ADDRESS, PRIVATE = "185.220.101.1", "10.0.0.1"


class Reaches(Cases):
    def reaches(self, sandbox, host):
        line = f"timeout 10 bash -c 'head -c 3 < /dev/tcp/{host}/25' 2> /dev/null || true"
        return sandbox.commands.run(line).stdout == "220"

    def assert_reaches(self, sandbox, **hosts):
        names = {"good": GOOD, "evil": EVIL, "evil_address": EVIL_ADDRESS, "private": PRIVATE}
        self.assertEqual({name: self.reaches(sandbox, names[name]) for name in hosts}, hosts)

    def test_what_is_said_by_default(self):
        self.assert_reaches(self.fresh(), good=True, evil=True, evil_address=True, private=False)
        self.assert_reaches(self.fresh(allow_internet_access=True), good=True, private=False)

    def test_internet_access_off(self):
        sandbox = self.fresh(allow_internet_access=False)
        self.assert_reaches(sandbox, good=False, evil=False, evil_address=False)

    def test_allow_and_deny(self):
        self.assert_reaches(self.fresh(network={"deny_out": [EVIL_ADDRESS]}), good=True, evil_address=False)
        # Theirs: what is allowed wins.
        sandbox = self.fresh(network={"allow_out": [GOOD], "deny_out": ["0.0.0.0/0"]})
        self.assert_reaches(sandbox, good=True, evil=False, evil_address=False)
        sandbox = self.fresh(network={"allow_out": [EVIL_ADDRESS], "deny_out": ["0.0.0.0/0"]})
        self.assert_reaches(sandbox, good=False, evil_address=True)

    def test_a_change_while_it_lives(self):
        if not hasattr(Sandbox, "update_network"):
            self.skipTest("the client is too old")
        sandbox = self.fresh()
        self.assert_reaches(sandbox, good=True, evil=True)
        sandbox.update_network({"allow_out": [GOOD], "deny_out": ["0.0.0.0/0"]})
        self.assert_reaches(sandbox, good=True, evil=False)
        sandbox.update_network({"allow_internet_access": False})
        self.assert_reaches(sandbox, good=False, evil=False)
        sandbox.update_network({})
        self.assert_reaches(sandbox, good=True, evil=True)

    def test_what_is_shown(self):
        network = {"allow_out": [GOOD], "deny_out": ["0.0.0.0/0"]}
        info = self.fresh(network=network).get_info()
        if at_least("2.50.0"):
            self.assertEqual((info.network or {}).get("allow_out"), [GOOD])
            self.assertEqual(info.network.get("deny_out"), ["0.0.0.0/0"])

    def test_what_cannot_be_done_is_refused(self):
        with self.assertRaises(e2b.SandboxException):
            self.fresh(network={"allow_out": ["no name"]})
