# One project fills its disks, makes all the files it can and keeps all the snapshots it can; another
# writes, makes files and keeps snapshots as before.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import fairness
import sealed
from session import Session

SANDBOXES = 8
FILL = "while :; do head -c 1G /dev/zero > /home/user/full 2> /dev/null; rm -f /home/user/full; done"
# Until there is no inode left, then again.
FILES = """
import os, shutil
state = open("/tmp/state", "w")  # now: later there may be no inode for it
while True:
    os.makedirs("/home/user/many", exist_ok=True)
    try:
        for n in range(10_000_000):
            os.mknod(f"/home/user/many/{n}")
    except OSError:
        print("full", file=state, flush=True)
    shutil.rmtree("/home/user/many")
"""


class Disk(fairness.TwoTenants):
    def sandboxes(self, count=SANDBOXES, **options):
        made = []
        for _ in range(count):
            session = Session(self.hostile, template="python", **options)
            self.addCleanup(session.kill)
            made.append(session)
        return made

    def test_bytes(self):
        with self.unhurt("disk bytes") as measure:
            # Few processors: fairness_cpu_test is about those.
            sandboxes = self.sandboxes(profile={"cpus": 0.1})
            for session in sandboxes:
                session.start(FILL)
            measure()
            for session in sandboxes:
                session.kill()

    def test_inodes(self):
        with self.unhurt("inodes") as measure:
            sandboxes = self.sandboxes(2, profile={"cpus": 0.5})
            for session in sandboxes:
                session.put("/home/user/files.py", FILES)
                session.start("exec python3 /home/user/files.py")
            # The control: they did use all they could.
            for session in sandboxes:
                full = sealed.wait_until(
                    lambda: session.shell("grep -q full /tmp/state")["exit_code"] == 0, 60)
                self.assertTrue(full, "the inodes of a sandbox have no end")
            measure()
            self.assertEqual(self.victims_session.shell("touch /home/user/one-more")["exit_code"], 0)
            for session in sandboxes:
                session.kill()

    def test_snapshots(self):
        refused = None
        session, = self.sandboxes(1)
        session.shell("head -c 1M /dev/urandom > /home/user/data")
        with self.unhurt("snapshots") as measure:
            kept = []
            for _ in range(100):
                answer = session.call("POST", "/snapshots", {})
                if answer.status != 201:
                    refused = answer
                    break
                kept.append(answer.json["id"])
            self.assertIsNotNone(refused, "one project may keep 100 snapshots")
            self.assertIn(refused.status, (429, 507), refused)
            measure()
            mine = self.victims_session.call("POST", "/snapshots", {})
            self.assertEqual(mine.status, 201, mine)
            self.assertEqual(self.victim.call("DELETE", "/v1/snapshots/" + mine.json["id"]).status, 204)
            for snapshot in kept:
                self.hostile.call("DELETE", "/v1/snapshots/" + snapshot)


if __name__ == "__main__":
    sealed.main()
