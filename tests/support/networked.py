# A server under test on the test internet, and sandboxes that try their networks there.
import json

import network_guest
import server
import test_internet as net
from session import Session

internet = None


def set_up():
    """For a module's setUpModule: before anything counts what is there."""
    global internet
    internet = net.TestInternet()


def tear_down():
    internet.stop()


class Networked(server.Served):
    settings = {"net.resolvers": net.RESOLVER}

    def setUp(self):
        super().setUp()
        internet.forget()

    @property
    def internet(self):
        return internet

    def session(self, policy, **fields):
        """A live session with a policy, and the functions of network_guest in it."""
        profile = {**fields.pop("profile", {}), "net": policy}
        made = Session(self.client, template=fields.pop("template", "python"), profile=profile, **fields)
        self.addCleanup(made.kill)
        made.inside = network_guest.Inside(made, internet.authority)
        return made

    def inside(self, policy, **fields):
        return self.session(policy, **fields).inside

    def run_inside(self, policy, expression, **request):
        """A whole run: (value of the expression, answer)."""
        answer = self.client.python(network_guest.program(internet.authority, expression),
                                    profile={"net": policy}, **request)
        if answer["exit_code"] != 0:
            raise AssertionError(answer)
        return json.loads(answer["stdout"]), answer

    def network_of(self, session):
        return session.get("/network")

    def decisions(self, session, **wanted):
        """Of a session, those with these values."""
        return [one for one in self.network_of(session)["decisions"]
                if all(one[key] == value for key, value in wanted.items())]

    def assert_reached(self, answer, address, port=None, name=None):
        self.assertEqual(answer.get("address"), address, answer)
        if port is not None:
            self.assertEqual(answer["port"], port)
        if name is not None:
            self.assertEqual(answer["name"], name)

    # What a denied connection looks like from inside: it is refused or reset, or ends at once.
    CUT = {"ConnectionResetError", "ConnectionRefusedError", "BrokenPipeError", "SSLEOFError", "SSLZeroReturnError",
           "EndOfFile", "SSLError", "ConnectionAbortedError"}

    def assert_cut(self, answer):
        self.assertIn("error", answer)
        self.assertIn(answer["error"], self.CUT, answer)

    def assert_not_reached(self, *addresses):
        for address in addresses:
            self.assertEqual(internet.reached(address), [], address)
