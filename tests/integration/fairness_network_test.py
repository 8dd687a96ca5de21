# One project opens all the connections to the outside that it can, keeps every build place busy, and
# builds layers beyond their ceiling; another one has its connections, its build and its layer. In the
# test internet, with its package index.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import fairness
import network_guest
import packaged
import sealed
import test_internet as net
from session import Session

setUpModule = packaged.set_up
tearDownModule = packaged.tear_down

FLOODERS = 4
# Opens connections until there are no more, and begins again.
FLOOD = f"""
import socket
state = open("/tmp/state", "w")
while True:
    held = []
    try:
        while len(held) < 2000:
            held.append(socket.create_connection(("{net.GOOD}", 7), 5))
            held[-1].sendall(b"x")
    except OSError as error:
        print(len(held), error, file=state, flush=True)
    for one in held:
        one.close()
"""
# Sets of packages that have nothing to do with each other.
SETS = [["good==1.0"], ["good==1.1"], ["greeter"], ["with-pth"], ["bin-package"], ["conflict-one"], ["yanked"], ["packaging"]]


class Network(fairness.TwoTenants, packaged.Packaged):
    # Two layers of these samples fit.
    more_settings = {"deps__disk_ceiling": "64K"}

    def test_connections_to_the_outside(self):
        victim = Session(self.victim, template="python", profile={"net": "all"})
        self.addCleanup(victim.kill)
        inside = network_guest.Inside(victim, self.internet.authority)
        flooders = []
        for _ in range(FLOODERS):
            session = Session(self.hostile, template="python", profile={"net": "all"})
            self.addCleanup(session.kill)
            session.put("/home/user/flood.py", FLOOD)
            flooders.append(session)
        with self.unhurt("connections to the outside", fairness.SLOWER_CPU) as measure:
            for session in flooders:
                session.start("exec python3 /home/user/flood.py")
            # The control: each was refused at its bound at least once.
            for session in flooders:
                self.assertTrue(sealed.wait_until(
                    lambda: session.shell("test -s /tmp/state")["exit_code"] == 0, 60), "a flood without an end")
            measure()
            for _ in range(5):
                self.assertEqual(inside.fetch("good.example.org", timeout=20).get("address"), net.GOOD)
            for session in flooders:
                session.kill()

    def test_builds(self):
        # Pages of these projects take long, so their builds keep their places.
        self.internet.packages(faults={f"/simple/{wanted[0].partition('=')[0]}/*": {"delay": 3.0} for wanted in SETS})

        def build(client, number):
            return client.call("POST", "/v1/layers", {"dependencies": SETS[number]}).status

        with self.unhurt("builds") as measure:
            with fairness.Hostile(self.hostile_client, build, len(SETS)):
                # The control: the hostile project does build.
                self.assertTrue(sealed.wait_until(
                    lambda: any(one["path"].startswith("/simple/") for one in self.internet.packages()), 60))
                made = self.build(["with-extras"], client=self.victim)
                self.assertTrue(made["built"])
                measure()

    def test_layers(self):
        mine = ["needy"]
        self.build(mine, client=self.victim)
        session = Session(self.victim, template="python", profile={"dependencies": mine})
        self.addCleanup(session.kill)

        def build(client, number):
            return client.call("POST", "/v1/layers", {"dependencies": SETS[number]}).status

        with self.unhurt("layers", fairness.SLOWER_CPU) as measure:
            with fairness.Hostile(self.hostile_client, build, len(SETS)) as hostile:
                measure()
                # What is in use stays; what was removed is built again for who wants it.
                self.assertEqual(session.shell("python3 -c 'import needy; print(needy.hello())'")["exit_code"], 0)
                self.assertEqual(self.ask("import needy", mine, client=self.victim).status, 200)
            # The control: it built more than the ceiling has room for.
            self.assertGreater(hostile.statuses.get(200, 0), 0, hostile.statuses)
            self.assertLess(len(self.stored()), len(SETS) + 1, self.stored())


if __name__ == "__main__":
    sealed.main(network=True)
