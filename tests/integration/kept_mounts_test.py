# What of a sandbox is kept for the next one of the same uid slice: read-only mounts, and nothing that a
# guest can write or see of another.
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import warm

APART = 64  # other slices between two uses of one
# What it finds; then it leaves traces everywhere it can, and tries to change what is kept.
LOOK = r"""
import json, os
def read(path):
    with open(path) as file: return file.read().strip()
def tried(act, *args):
    try: act(*args)
    except OSError as error: return error.errno
found = {
    "slice": read("/proc/self/uid_map").split()[1], "usr": os.stat("/usr").st_dev, "root": os.stat("/").st_dev,
    "owner": os.stat("/usr/bin/env").st_uid, "boot_id": read("/proc/sys/kernel/random/boot_id"),
    "files": sorted(os.listdir("/home/user") + os.listdir("/tmp") + os.listdir("/var/tmp") + os.listdir("/dev/shm")),
    "shared": sum(os.path.lexists(path) for path in ("/usr/left", "/usr/bin/left", "/etc/left", "/left")),
}
if os.path.exists("/proc/sys/net/ipv4/tcp_ehash_entries"):
    found["tcp"] = int(read("/proc/sys/net/ipv4/tcp_ehash_entries"))
for where in ("/home/user/left", "/tmp/left", "/var/tmp/left", "/dev/shm/left"):
    open(where, "w").close()
found["refused"] = [tried(os.open, path, os.O_CREAT | os.O_WRONLY) for path in ("/usr/left", "/usr/bin/left")]
found["refused"] += [tried(os.chmod, "/usr", 0o777), tried(os.utime, "/usr/bin/env"), tried(os.unlink, "/usr/bin/env")]
print(json.dumps(found))
"""
STATUS = "/var/lib/dpkg/status"
CHILD_TABLES = "/proc/sys/net/ipv4/tcp_child_ehash_entries"


def host_setting():
    try:
        with open(CHILD_TABLES) as file:
            return int(file.read())
    except FileNotFoundError:
        return None


class KeptMounts(warm.TestCase):
    templates = ("python",)

    def look(self):
        outcome = self.client.run(LOOK)
        self.assertEqual(outcome.code, 0, outcome)
        return json.loads(outcome.out)

    def test_a_slice_has_its_mounts_again_and_nothing_of_its_last_guest(self):
        setting = host_setting()
        seen = [self.look() for _ in range(4 * APART)]  # kept at the second use
        if seen[0]["owner"] != 0:
            self.skipTest("the layers of this host cannot be idmapped")
        for one in seen:
            self.assertEqual((one["files"], one["shared"]), ([], 0))
            self.assertNotIn(None, one["refused"])
        self.assertEqual(len({one["boot_id"] for one in seen}), len(seen))
        last, usr, again = {}, {}, 0
        for at, one in enumerate(seen):
            slice_ = one["slice"]
            if slice_ in last:
                self.assertGreater(at - last[slice_], APART - 1)
                again += one["usr"] == usr[slice_]
            last[slice_], usr[slice_] = at, one["usr"]
        self.assertGreater(again, APART)  # the same overlay
        if setting is not None:
            self.assertEqual({one["tcp"] for one in seen}, {512})
        self.assertEqual(host_setting(), setting)

    def test_they_are_bounded_and_go_when_they_are_not_used(self):
        def descriptors():
            return len(os.listdir(f"/proc/{self.launcher.pid}/fd"))
        self.look()
        self.assertTrue(sealed.wait_until(lambda: not self.launcher.guests()))
        before = descriptors()
        for _ in range(4 * APART):
            self.look()
        # Two for a slice, once those of the last sandboxes are gone; and later none.
        self.assertTrue(sealed.wait_until(lambda: APART < descriptors() - before <= 2 * (APART + 8)),
                        (before, descriptors()))
        self.assertTrue(sealed.wait_until(lambda: descriptors() <= before, 60), (before, descriptors()))

    def test_an_upgrade_of_the_host_drops_them(self):
        if not os.path.exists(STATUS):
            self.skipTest("the host has no dpkg")
        before = [self.look() for _ in range(2 * APART + 16)]
        generation = self.client.templates["python"].generation
        copy = os.path.join(self.place, "status")
        shutil.copyfile(STATUS, copy)
        # In the launcher's own namespace: it left ours when it made its first sandbox.
        inside = ["nsenter", f"--mount=/proc/{self.launcher.pid}/ns/mnt", "--"]
        subprocess.run([*inside, "mount", "--bind", copy, STATUS], check=True)
        try:
            self.assertTrue(self.client.wait(lambda: self.client.templates["python"].generation > generation))
            self.assertTrue(self.client.wait(lambda: self.client.templates["python"].state == warm.READY))
            after = [self.look() for _ in range(APART)]
        finally:
            subprocess.run([*inside, "umount", STATUS], check=True)
        # The kernel may give a number again, but not to the same slice.
        overlays = {(one["slice"], one["usr"]) for one in before}
        again = sum((one["slice"], one["usr"]) in overlays for one in after)
        self.assertLess(again, APART // 4, again)


if __name__ == "__main__":
    sealed.main()
