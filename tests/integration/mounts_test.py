# Host paths in a sandbox: read-only means it, writable belongs to an ordinary user, never to root.
import os
import shutil
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
from sealed import glovebox

USER = 65534


class Mounts(sealed.TestCase):
    def bash(self, mount, script, *more):
        return glovebox("run", "--mount", mount, *more, "--lang", "bash", "-c", script)

    def test_read_only_shows_the_hosts_files(self):
        place = self.directory()
        os.mkdir(os.path.join(place, "deep"))
        with open(os.path.join(place, "deep", "file"), "w") as file:
            file.write("of the host")
        ran = self.bash(f"ro:{place}:/mnt/data", "cat /mnt/data/deep/file")
        self.assertEqual((ran.returncode, ran.stdout), (0, b"of the host"), ran.stderr)
        ran = self.bash(f"ro:{place}", f"cat {place}/deep/file")
        self.assertEqual((ran.returncode, ran.stdout), (0, b"of the host"), ran.stderr)

    def test_read_only_is_read_only(self):
        place = self.directory(USER)
        os.chmod(place, 0o777)
        path = os.path.join(place, "file")
        with open(path, "w") as file:
            file.write("before")
        os.chmod(path, 0o666)
        ran = self.bash(f"ro:{place}:/mnt", "echo x > /mnt/file; rm /mnt/file; touch /mnt/new;"
                                            "chmod 777 /mnt/file; mv /mnt/file /mnt/other; ln /mnt/file /mnt/link; :")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(b"Read-only file system", ran.stderr)
        with open(path) as file:
            self.assertEqual(file.read(), "before")
        self.assertEqual(os.listdir(place), ["file"])
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o666)

    def test_a_single_file_can_be_mounted(self):
        path = os.path.join(self.directory(), "one")
        with open(path, "w") as file:
            file.write("alone")
        ran = self.bash(f"ro:{path}:/mnt/one", "cat /mnt/one; ls /mnt")
        self.assertEqual((ran.returncode, ran.stdout), (0, b"aloneone\n"), ran.stderr)

    def test_writable_files_belong_to_the_directorys_owner(self):
        place = self.directory(USER)
        ran = self.bash(f"rw:{place}:/mnt", "id -u; stat -c %U /mnt; echo made > /mnt/file; mkdir /mnt/dir;"
                                            "ln -s /etc/shadow /mnt/link; chmod 4755 /mnt/file; :")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout, b"1000\nuser\n")
        for name in ("file", "dir", "link"):
            info = os.lstat(os.path.join(place, name))
            self.assertEqual((info.st_uid, info.st_gid), (USER, USER), name)
            self.assertEqual(info.st_mode & (stat.S_ISUID | stat.S_ISGID), 0, name)
        with open(os.path.join(place, "file")) as file:
            self.assertEqual(file.read(), "made\n")

    def test_files_of_others_in_a_writable_mount_are_not_the_guests(self):
        place = self.directory(USER)
        path = os.path.join(place, "roots")
        with open(path, "w") as file:
            file.write("secret")
        os.chmod(path, 0o600)
        ran = self.bash(f"rw:{place}:/mnt", "cat /mnt/roots; echo x > /mnt/roots; chmod 666 /mnt/roots;"
                                            "chown user /mnt/roots; :")
        self.assertEqual(ran.stdout, b"")
        info = os.stat(path)
        self.assertEqual((info.st_uid, stat.S_IMODE(info.st_mode), info.st_size), (0, 0o600, 6))

    def test_a_directory_of_roots_is_not_given_writable(self):
        place = self.directory()
        ran = self.bash(f"rw:{place}:/mnt", "echo ran")
        self.assertEqual((ran.returncode, ran.stdout), (125, b""))
        self.assert_one_line(ran.stderr)
        self.assertIn(b"root", ran.stderr)

    def test_setuid_files_give_nothing(self):
        place = self.directory()
        for name, owner in (("as_root", 0), ("as_other", 1)):
            path = os.path.join(place, name)
            shutil.copy("/usr/bin/id", path)
            os.chown(path, owner, owner)
            os.chmod(path, 0o6755)
        ran = self.bash(f"ro:{place}:/mnt", "/mnt/as_root -u; /mnt/as_root -g; /mnt/as_other -u")
        self.assertEqual((ran.returncode, ran.stdout), (0, b"1000\n1000\n1000\n"), ran.stderr)

    def test_devices_in_a_mount_do_not_work(self):
        place = self.directory()
        os.mknod(os.path.join(place, "zero"), 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        os.chmod(os.path.join(place, "zero"), 0o666)
        ran = self.bash(f"ro:{place}:/mnt", "head -c 4 /mnt/zero | wc -c")
        self.assertEqual(ran.stdout, b"0\n", ran.stderr)

    def test_nothing_of_ours_can_be_covered(self):
        place = self.directory()
        for guest in ("/", "/proc", "/proc/sys", "/etc", "/etc/passwd", "/usr", "/usr/bin", "/dev",
                      "/dev/shm", "/bin", "/lib", "/lib64", "/sbin"):
            ran = self.bash(f"ro:{place}:{guest}", "echo ran")
            self.assertNotEqual(ran.returncode, 0, guest)
            self.assertEqual(ran.stdout, b"", guest)
            self.assert_one_line(ran.stderr, guest)

    def test_what_is_mounted_below_does_not_come_along(self):
        place = self.directory()
        below = os.path.join(place, "below")
        os.mkdir(below)
        os.system(f"mount -t tmpfs tmpfs {below} && echo secret > {below}/file")
        self.addCleanup(os.system, f"umount {below}")
        ran = self.bash(f"ro:{place}:/mnt", "ls -A /mnt /mnt/below; cat /mnt/below/file")
        self.assertNotIn(b"secret", ran.stdout)

    def test_a_link_as_the_mounts_name_is_followed_before_and_not_inside(self):
        place = self.directory()
        os.mkdir(os.path.join(place, "real"))
        with open(os.path.join(place, "real", "file"), "w") as file:
            file.write("real")
        os.symlink("real", os.path.join(place, "link"))
        os.symlink("/etc/shadow", os.path.join(place, "real", "shadow"))
        ran = self.bash(f"ro:{place}/link:/mnt", "cat /mnt/file; cat /mnt/shadow")
        self.assertEqual(ran.stdout, b"real")

    def test_several_mounts_stand_side_by_side(self):
        one, two = self.directory(), self.directory(USER)
        with open(os.path.join(one, "a"), "w") as file:
            file.write("a")
        ran = self.bash(f"ro:{one}:/mnt/one", "cat /mnt/one/a > /data/b && cat /data/b",
                        "--mount", f"rw:{two}:/data")
        self.assertEqual((ran.returncode, ran.stdout), (0, b"a"), ran.stderr)
        self.assertEqual(os.listdir(two), ["b"])


if __name__ == "__main__":
    sealed.main()
