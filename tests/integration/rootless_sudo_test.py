# An ordinary user with subordinate ids: sessions have uids of their own, and a root inside that sudo and
# package managers can become. What that root cannot do is shown by the attack table and by what is here.
import errno
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes
import sealed
from ordinary_user import (USER, GivenCgroups, OrdinaryUser, PrivateServer, SubordinateIds, hierarchy_of, v2_controllers,
                           v2_hierarchy, why_no_subordinate_ids)
from session import Session
from session_attacks import GIVEN, SessionAttacks

SLICE = 2048


def kernel_version():
    return tuple(int(part) for part in os.uname().release.split(".")[:2])


class WithIds(unittest.TestCase):
    """One server for all tests of a class; at the end, nothing of it is left."""
    maxDiff = None

    @staticmethod
    def around(words):
        """Changes the command that starts the server."""
        return words

    @classmethod
    def setUpClass(cls):
        why = why_no_subordinate_ids()
        if why:
            raise unittest.SkipTest(why)
        cls.before = sealed.Nothing()
        cls.addClassCleanup(cls.assert_nothing_left)
        cls.user = OrdinaryUser()
        cls.addClassCleanup(cls.user.remove)
        cls.ids = SubordinateIds(cls.user)
        cls.addClassCleanup(cls.ids.remove)
        cls.server = PrivateServer(cls.user, cls.around)
        cls.addClassCleanup(cls.server.__exit__)

    @classmethod
    def assert_nothing_left(cls):
        left = cls.before.still_there()
        if left:
            raise AssertionError(left)

    def setUp(self):
        super().setUp()
        self.client = self.server.client

    def session(self, **fields):
        made = Session(self.client, **(fields if "snapshot" in fields else {"template": "base", **fields}))
        self.addCleanup(made.kill)
        return made

    def right(self, done):
        self.assertEqual(done["exit_code"], 0, done)
        return done["stdout"]


class RootInside(WithIds):
    def test_a_session_has_uids_of_its_own_and_says_so(self):
        session = self.session()
        isolation = session.made["isolation"]
        self.assertLessEqual({"uid-slice", "root-owned-copies", "bounded-capabilities"}, set(isolation["walls"]))
        self.assertNotIn("idmapped-layers", isolation["walls"])
        self.assertTrue(session.made["features"]["sudo"], session.made)
        self.assertEqual(isolation["grade"], "jail-partial")  # no cgroup bounds its memory

    def test_a_command_runs_as_root_and_as_others(self):
        session = self.session()
        self.assertEqual(self.right(session.shell("id -u; id -un; echo ~", user="root")), "0\nroot\n/root\n")
        self.assertEqual(self.right(session.shell("id -u; id -un")), "1000\nuser\n")
        self.assertEqual(self.right(session.shell("id -u", user="nobody")), "65534\n")
        self.right(session.shell("touch /srv/x && chown www-data:www-data /srv/x && chown 65534 /srv/x", user="root"))
        beyond = session.shell("touch /srv/y && chown 3000 /srv/y", user="root")
        self.assertIn("Invalid argument", beyond["stderr"])

    def test_sudo_asks_for_no_password(self):
        session = self.session()
        if session.shell("test -u /usr/bin/sudo")["exit_code"] != 0:
            self.skipTest("this host has no sudo")
        out = self.right(session.shell("id -u; sudo -n id -u; sudo -n touch /usr/bin/mine && ls -l /usr/bin/mine"))
        self.assertEqual(out.split()[:2], ["1000", "0"])
        self.assertIn("root root", out)
        self.assertFalse(os.path.exists("/usr/bin/mine"))
        self.right(session.shell("sudo -n useradd --create-home ann && sudo -n -u ann id -un && ls -ld /home/ann"))

    def test_a_package_is_installed_and_the_host_has_nothing_of_it(self):
        session = self.session()
        if session.shell("test -x /usr/bin/dpkg-deb && test -f /var/lib/dpkg/status")["exit_code"] != 0:
            self.skipTest("this host has no dpkg")
        moved = session.shell("mkdir /opt/a && exec /usr/bin/perl -e 'rename(\"/opt/a\", \"/opt/b\") or exit $!'", user="root")
        if moved["exit_code"] == errno.EXDEV and kernel_version() < (6, 6):
            self.skipTest("before Linux 6.6 a tmpfs has no user xattrs, without which overlayfs renames no directory")
        self.right(moved)
        out = self.right(session.shell(textwrap.dedent("""
            set -e
            mkdir -p p/DEBIAN p/usr/bin p/usr/share/doc/gbx-mine p/opt/mine
            printf '#!/bin/sh\\necho it works\\n' > p/usr/bin/gbx-mine
            chmod 755 p/usr/bin/gbx-mine; echo x > p/opt/mine/file; echo x > p/usr/share/doc/gbx-mine/readme
            printf 'Package: gbx-mine\\nVersion: 1\\nArchitecture: all\\nMaintainer: me <m@e>\\nDescription: x\\n' \\
                > p/DEBIAN/control
            dpkg-deb --root-owner-group --build p mine.deb > /dev/null"""), cwd="/home/user"))
        out = self.right(session.shell(textwrap.dedent("""
            set -e
            cd /home/user
            dpkg -i mine.deb > /dev/null
            gbx-mine; cat /opt/mine/file; dpkg -s gbx-mine | grep Status; stat -c '%U %a' /usr/bin/gbx-mine
            dpkg -r gbx-mine > /dev/null
            ! test -e /usr/bin/gbx-mine"""), user="root", timeout_ms=120000))
        self.assertEqual(out, "it works\nx\nStatus: install ok installed\nroot 755\n")
        self.assertFalse(os.path.exists("/usr/bin/gbx-mine"))

    def test_files_that_root_made_are_roots_through_the_api_too(self):
        session = self.session()
        session.put("/etc/mine", b"text", user="root")
        self.assertEqual(self.right(session.shell("stat -c %U /etc/mine", user="root")), "root\n")
        self.assertEqual(session.shell("echo more >> /etc/mine")["exit_code"], 1)
        self.assertEqual(session.read("/etc/mine"), b"text")

    def test_a_snapshot_keeps_what_root_made(self):
        session = self.session()
        self.right(session.shell("echo kept > /etc/kept; chown www-data /etc/kept; echo new > /usr/bin/new", user="root"))
        made = session.post("/snapshots", status=201)
        again = self.session(snapshot=made["id"])
        out = self.right(again.shell("cat /etc/kept /usr/bin/new; stat -c %U /etc/kept /usr/bin/new", user="root"))
        self.assertEqual(out, "kept\nnew\nwww-data\nroot\n")

    def test_a_session_with_a_mount_has_one_user_and_says_why(self):
        place = self.user.path("work")
        session = self.session(profile={"mounts": [{"name": place, "path": "/data", "mode": "rw"}]})
        self.assertNotIn("uid-slice", session.made["isolation"]["walls"])
        self.assertFalse(session.made["features"]["sudo"])
        refused = session.call("POST", "/exec", {"argv": ["/bin/id"], "user": "root"})
        self.assertGreaterEqual(refused.status, 400, refused)
        self.assertIn("mounts a directory", refused.json["error"]["message"])
        self.right(session.shell("echo x > /data/made"))
        self.assertEqual(os.stat(os.path.join(place, "made")).st_uid, USER)

    def test_a_run_is_as_without_them(self):
        ran = self.client.run(language="bash", code="id -u; cat /proc/self/uid_map")
        self.assertEqual(ran["stdout"].split()[0], "1000")
        self.assertEqual(ran["stdout"].split()[3], "1", "one uid is mapped")
        self.assertNotIn("uid-slice", ran["isolation"]["walls"])


class Others(WithIds):
    """What root inside could reach outside of its session."""

    def guests(self, mark):
        """Processes of sessions that sleep for `mark` seconds, as the host sees them."""
        def found():
            below = processes.below(self.server.process.pid).values()
            return [one.pid for one in below if one.read("cmdline") == f"/bin/sleep\0{mark}\0".encode()]
        self.assertTrue(sealed.wait_until(found))
        return found()

    def test_two_sessions_share_no_uid_and_none_has_the_users(self):
        slices = []
        for mark in ("1001", "1002"):
            session = self.session()
            for user in ("root", "user", "nobody"):
                session.post("/exec", status=202, argv=["/bin/sleep", mark], user=user, background=True)
            self.assertTrue(sealed.wait_until(lambda: len(self.guests(mark)) == 3))
            uids = set().union(*(processes.living(pid).uids for pid in self.guests(mark)))
            self.assertEqual(len(uids), 3)
            for uid in uids:
                self.assertGreaterEqual(uid, self.ids.FIRST)
                self.assertLess(uid, self.ids.FIRST + self.ids.COUNT)
            slices.append({uid // SLICE for uid in uids})
        self.assertEqual([len(one) for one in slices], [1, 1], slices)
        self.assertNotEqual(slices[0], slices[1])

    def test_the_users_own_files_are_as_they_were(self):
        layers = self.user.path("cache", "glovebox", "layers")

        def content():
            found = {}
            for root, _, files in os.walk(layers):
                for name in files:
                    info = os.lstat(os.path.join(root, name))
                    found[os.path.join(root, name)] = (info.st_ino, info.st_size, info.st_mtime_ns, info.st_mode,
                                                       info.st_uid)
            return found
        session = self.session()
        before = content()
        self.assertGreater(len(before), 100)
        session.shell("echo changed > /etc/passwd; echo changed > /etc/sudoers; rm -rf /etc /opt /var/lib /usr/share;"
                      "chmod -R 777 /usr; chown -R 1000 /usr/lib", user="root", timeout_ms=120000)
        self.assertEqual(content(), before)
        self.assertEqual(os.stat("/usr/lib").st_uid, 0)
        # Control: the user itself can change them, so that they do not differ only because no process could.
        path = next(path for path in before if path.endswith("/etc/sudoers"))
        subprocess.run(self.user.words("/bin/chmod", "0640", path), check=True)
        self.assertNotEqual(content(), before)
        os.chmod(path, 0o444)
        # The next session is as new.
        self.assertIn("root", self.right(self.session().shell("cat /etc/passwd; ls /usr/share | head -1", user="root")))

    def test_a_setuid_file_of_a_session_is_not_setuid_outside(self):
        session = self.session()
        self.right(session.shell("cp /usr/bin/id /tmp/id; chown 33 /tmp/id; chmod 6755 /tmp/id", user="root"))
        # Control: inside it is. And outside, a file like it that root has made.
        inside = self.right(session.shell("/tmp/id -u"))
        self.assertEqual(inside, "33\n")
        session.post("/exec", status=202, argv=["/bin/sleep", "1003"], background=True)
        path = f"/proc/{self.guests('1003')[0]}/root/tmp/id"
        owner = os.stat(path).st_uid
        self.assertEqual(owner % SLICE, 33)
        place = tempfile.mkdtemp(prefix="gbx-test-")
        self.addCleanup(shutil.rmtree, place)
        os.chmod(place, 0o755)
        control = os.path.join(place, "id")
        shutil.copy("/usr/bin/id", control)
        os.chown(control, owner, -1)
        os.chmod(control, 0o4755)

        def as_seen(program, *words):
            ran = subprocess.run([*words, program, "-u"], capture_output=True, text=True, timeout=20)
            return ran.stdout.strip()
        other = ("setpriv", "--reuid", "1400000001", "--regid", "1400000001", "--clear-groups")
        self.assertEqual(as_seen(control, *other), str(owner))
        self.assertNotEqual(as_seen(path, *other), str(owner))
        self.assertEqual(as_seen(path), "0", "root starts it as root")
        itself = ("setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups")
        self.assertNotEqual(as_seen(path, *itself), str(owner))

    def test_many_users_have_no_more_processes_than_one(self):
        limit = 40
        program = textwrap.dedent("""
            import os, sys
            first, users = int(sys.argv[1]), int(sys.argv[2])
            # Each user forks until it may no more; a child of it counts, all live until the end.
            alive_read, alive_write = os.pipe()
            hold_read, hold_write = os.pipe()
            for user in range(users):
                try:
                    if os.fork() == 0:
                        os.close(hold_write)
                        os.setuid(first + user)
                        os.write(alive_write, b"x")
                        for _ in range(60):
                            try:
                                if os.fork() == 0:
                                    os.write(alive_write, b"x")
                                    os.read(hold_read, 1)
                                    os._exit(0)
                            except OSError:
                                break
                        os.write(alive_write, b".")
                        os.read(hold_read, 1)
                        os._exit(0)
                except OSError:
                    users = user
                    break
            alive = done = 0
            while done < users:
                got = os.read(alive_read, 4096)
                alive += got.count(b"x")
                done += got.count(b".")
            print(alive)
        """)
        # Control: the limit is of each user by itself, and five have more than one may.
        ran = subprocess.run(["prlimit", f"--nproc={limit}", "/usr/bin/python3", "-c", program, "1400000100", "5"],
                             capture_output=True, text=True, timeout=60)
        self.assertGreater(int(ran.stdout), 2 * limit, ran)
        session = self.session(profile={"pids": limit})
        done = session.exec("/usr/bin/python3", "-c", program, "100", "5", user="root", timeout_ms=60000)
        self.assertEqual(done["exit_code"], 0, done)
        self.assertLess(int(done["stdout"]), limit, done)
        self.assertGreater(int(done["stdout"]), limit // 2, "they were bounded by something else")

    def test_sessions_end_when_the_ids_do(self):
        """Thirty-two slices are in the range; the next session is refused with what to do."""
        small = {"memory_mb": 16, "disk_mb": 16}  # so that they fit into a small host
        held = [self.session(profile=small) for _ in range(self.ids.COUNT // SLICE)]
        refused = self.client.call("POST", "/v1/sandboxes", {"template": "base", "profile": small})
        self.assertGreaterEqual(refused.status, 400, refused)
        self.assertIn("subordinate ids", refused.text)
        held[0].kill()
        self.assertTrue(sealed.wait_until(
            lambda: self.client.call("POST", "/v1/sandboxes", {"template": "base", "ttl_s": 5, "profile": small}).status == 201))


class WithCgroups:
    """The user has cgroups as well. The agent joins them as root inside, which is not the user's own uid."""
    # Forks until it may no more, and says how often it could.
    FORKS = "$n = 0; while ($n < 200) { my $p = fork; last unless defined $p; $p or sleep 1000; $n++ } print $n"

    @classmethod
    def give(cls, hierarchies):
        cls.given = GivenCgroups(hierarchies)
        cls.addClassCleanup(cls.given.remove)
        cls.around = staticmethod(cls.given.around)

    def test_root_inside_can_be_paused(self):
        session = self.session()
        self.assertLessEqual({"uid-slice", "freezer"}, set(session.made["isolation"]["walls"]), session.made)
        self.assertEqual(self.right(session.exec("sudo", "id", "-u")), "0\n")
        path = "/v1/sandboxes/" + session.made["id"]
        for verb, state in (("pause", "paused"), ("resume", "running")):
            changed = self.client.call("POST", f"{path}/{verb}")
            self.assertLess(changed.status, 300, changed)
            self.assertEqual(self.client.get(path).json["state"], state)
        self.assertEqual(self.right(session.exec("sudo", "id", "-u")), "0\n")

    def test_limits_are_those_of_all_users_inside_together(self):
        session = self.session(profile={"memory_mb": 64, "disk_mb": 16, "pids": 16})
        walls = set(session.made["isolation"]["walls"])
        if not self.controls:
            self.skipTest("these cgroups have no controllers")
        self.assertLessEqual({"uid-slice", "memory-limit", "pids-limit", "cpu-limit"}, walls)
        self.assertNotIn("memory-limit-per-process", walls)
        for user in ("user", "root"):
            forked = session.exec("/usr/bin/perl", "-e", self.FORKS, user=user)
            self.assertLess(int(forked["stdout"]), 16, forked)
        session.exec("/bin/dd", *sealed.EAT_MEMORY, user="root")
        now = self.client.get(f"/v1/sandboxes/{session.made['id']}/metrics").json["now"]
        self.assertGreater(now["oom_kills"], 0, now)


class WithV1Cgroups(WithCgroups, WithIds):
    controls = True

    @classmethod
    def setUpClass(cls):
        places = [hierarchy_of(one) for one in ("memory", "pids", "cpu", "cpuacct", "freezer")]
        if None in places:
            raise unittest.SkipTest("this host has not all v1 hierarchies")
        cls.give(places)
        super().setUpClass()


class WithV2Cgroups(WithCgroups, WithIds):
    """`make test-vm` has a host with controllers in v2."""

    @classmethod
    def setUpClass(cls):
        place = v2_hierarchy()
        if place is None:
            raise unittest.SkipTest("this host has no v2 hierarchy")
        cls.controls = {"memory", "pids", "cpu"} <= v2_controllers(place)
        cls.give([place])
        super().setUpClass()


DENIED_HERE = {"file_proc_self_fd_reopen", "file_usr_exe_overwrite", "file_write_usr", "namespace_override_landlock"}


class Attacks(SessionAttacks, WithIds):
    """The attack table, as `user` and as root inside. The host's files are nobody's, so that not even the
    sandbox's own upper half of the overlay takes a change of theirs."""
    given = {user: {row: why for row, why in rows.items() if row not in DENIED_HERE} for user, rows in GIVEN.items()}


class WithoutUse(sealed.TestCase):
    """Ids that cannot be used: as without them, and said."""

    def walls(self, **ids):
        why = why_no_subordinate_ids()
        if why:
            self.skipTest(why)
        user = OrdinaryUser()
        self.addCleanup(user.remove)
        given = SubordinateIds(user, **ids)
        try:
            with PrivateServer(user) as server:
                made = server.client.call("POST", "/v1/sandboxes", {"template": "base"})
                self.assertEqual(made.status, 201, made)
                refused = server.client.call("POST", f"/v1/sandboxes/{made.json['id']}/exec",
                                             {"argv": ["/bin/id"], "user": "root"})
                self.assertGreaterEqual(refused.status, 400, refused)
                self.assertIn("glovebox doctor", refused.json["error"]["message"])
            found = subprocess.run(user.command("doctor", "--json"), capture_output=True, text=True, timeout=60)
        finally:
            given.remove()
        self.assertFalse(made.json["features"]["sudo"])
        return set(made.json["isolation"]["walls"]), found.stdout

    def test_too_few(self):
        walls, _ = self.walls(count=SLICE - 1)
        self.assertNotIn("uid-slice", walls)

    def test_those_of_accounts(self):
        walls, doctor = self.walls(first=1000)
        self.assertNotIn("uid-slice", walls)
        self.assertIn("belong to accounts", doctor)


if __name__ == "__main__":
    sealed.main()
