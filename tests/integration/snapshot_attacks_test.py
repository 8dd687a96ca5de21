# What a guest can try to carry through a snapshot, and through a template made of one, into the next
# sandbox or onto the host: setuid bits, file capabilities, devices, attributes of the overlay, links.
import os
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
from session import Session

# Each says whether it was possible; as root of the sandbox, who may do most.
PLANT = r"""
cd /home/user
try() { if "$@" 2> /dev/null; then echo "did $*"; else echo "refused $*"; fi; }
cp /usr/bin/id suid && chown root:root suid; try chmod 4755 suid
cp /usr/bin/cat caps; try python3 -c 'import os; os.setxattr("caps", "security.capability",
  bytes.fromhex("0100000200ffffff00000000ffffff0000000000"))'
try mknod disk b 8 0
try mknod memory c 1 1
mkfifo pipe
ln -s /proc/1/root root
ln -s ../../../../../../etc/shadow up
mkdir opaque; try python3 -c 'import os; os.setxattr("opaque", "trusted.overlay.opaque", b"y")'
try python3 -c 'import os; os.setxattr("opaque", "user.overlay.redirect", b"/etc")'
try python3 -c 'import os; os.setxattr("opaque", "trusted.overlay.redirect", b"/etc")'
echo planted > /usr/local/planted
"""
LOOK = r"""
cd /home/user
echo "devices: $(find / -xdev \( -type b -o -type c \) -not -path '/dev/*' 2> /dev/null | wc -l)"
echo "as user has: $(setpriv --reuid=1000 --regid=1000 --clear-groups ./caps /proc/self/status | grep CapEff || echo refused 0)"
echo "root may have: $(grep CapBnd /proc/self/status)"
echo "as user: $(setpriv --reuid=1000 --regid=1000 --clear-groups ./suid -u 2>&1)"
echo "overlay: $(python3 -c 'import os; print([a for a in os.listxattr("opaque") if "overlay" in a])')"
cat /usr/local/planted
"""


class Carried(server.Served):
    def make(self, **fields):
        session = Session(self.client, **fields)
        self.addCleanup(session.kill)
        return session

    def assert_harmless(self, session):
        done = session.shell(LOOK, user="root")
        lines = dict(line.split(": ", 1) for line in done["stdout"].splitlines() if ": " in line)
        self.assertEqual(lines["devices"], "0", done)
        self.assertEqual(lines["overlay"], "[]", done)
        # A setuid file of the sandbox's own root gives the sandbox's own root, and a file's
        # capabilities are at most those that this root has in its own user namespace.
        self.assertEqual(lines["as user"], "0", done)
        has, may = (int(lines[name].split()[1], 16) for name in ("as user has", "root may have"))
        self.assertEqual(has & ~may, 0, done)
        self.assertIn("planted", done["stdout"], "the control: the snapshot was unpacked")
        # Links are links: what they point at is looked up inside.
        shadow = session.shell("cat up; cat root/etc/shadow", user="user")
        self.assertNotIn("root:", shadow["stdout"], shadow)

    def test_through_a_snapshot_and_a_template_of_it(self):
        session = self.make(template="python")
        planted = session.shell(PLANT, user="root")
        # What only the host's root may do was refused at once.
        for what in ("mknod disk", "mknod memory"):
            self.assertIn("refused " + what, planted["stdout"], planted)
        snapshot = session.post("/snapshots", status=201)
        with self.subTest("a session of the snapshot"):
            self.assert_harmless(self.make(snapshot=snapshot["id"]))
        made = self.client.call("POST", "/v1/templates", {"name": "carried", "snapshot": snapshot["id"]})
        self.assertEqual(made.status, 201, made)
        with self.subTest("a session of a template of the snapshot"):
            self.assert_harmless(self.make(template="carried"))
        self.assert_nothing_on_the_host()

    def assert_nothing_on_the_host(self):
        """Nothing that the server keeps is setuid, a device, a link or anything but a plain file."""
        seen = 0
        for folder, names, files in os.walk(self.server.data):
            for name in names + files:
                info = os.lstat(os.path.join(folder, name))
                seen += 1
                self.assertFalse(info.st_mode & (stat.S_ISUID | stat.S_ISGID), os.path.join(folder, name))
                self.assertTrue(stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode) or
                                stat.S_ISSOCK(info.st_mode), os.path.join(folder, name))
        self.assertGreater(seen, 3)
        self.assertFalse(os.path.exists("/usr/local/planted"))


if __name__ == "__main__":
    sealed.main()
