# What sandboxes share of the host without being told so: tables of the kernel, uids, the boot id;
# and what the filter and the overlay make programs see.
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import warm
from agent_session import Session
from sealed import glovebox, run_json

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
MOUNTS = "cat /proc/self/mountinfo /proc/self/mounts"


def host_uids(text):
    """uid= and gid= of mounts that no sandbox has."""
    return [word for word in re.findall(r"\b[ug]id=(\d+)", text) if int(word) > 65535]


def said(*args):
    ran, answer = run_json(*args)
    if ran.returncode != 0:
        raise AssertionError(answer)
    return answer["stdout"]


class Runs(sealed.TestCase):
    def test_each_has_a_boot_id_of_its_own(self):
        with open(BOOT_ID) as file:
            hosts = file.read()
        seen = [said("--exec", "/bin/cat", "--", BOOT_ID) for _ in range(3)]
        self.assertEqual(len({hosts, *seen}), 4, seen)
        for one in seen:
            self.assertRegex(one, rf"^{UUID}\n$")
        ran, answer = run_json("--lang", "bash", "-c", f"echo x > {BOOT_ID}")
        self.assertNotEqual(ran.returncode, 0, answer)

    def test_mounts_show_no_uid_of_the_host(self):
        text = said("--lang", "bash", "-c", MOUNTS)
        self.assertIn("devpts", text)
        self.assertEqual(host_uids(text), [])

    def test_terminals_still_work_and_are_a_share(self):
        code = ("import os, errno\n"
                "a, b = os.openpty(); os.write(a, b'x\\n'); assert os.read(b, 2) == b'x\\n'\n"
                "held = [a]\n"
                "try:\n"
                "    while len(held) < 100: held.append(os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY))\n"
                "except OSError as error: print(len(held), errno.errorcode[error.errno])\n")
        count, why = said("-c", code).split()
        self.assertEqual(why, "ENOSPC")
        with open("/proc/sys/kernel/pty/max") as most, open("/proc/sys/kernel/pty/reserve") as kept:
            share = min(max((int(most.read()) - int(kept.read())) // 200, 16), 64)
        self.assertEqual(int(count), share)

    def test_more_processes_have_fewer_files_each(self):
        code = "import resource; print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
        self.assertEqual(said("-c", code), "1024 1024\n")
        with open("/proc/sys/fs/file-max") as file:
            files = min(max(int(file.read()) // 400, 131072), 1 << 20)
        each = min(max(files // 1000, 256), 1024)
        self.assertEqual(said("--pids", "1000", "-c", code), f"{each} {each}\n")

    def test_programs_see_the_errors_they_expect(self):
        code = """
import ctypes, errno, socket
def show(call):
    try: call(); print("worked")
    except OSError as error: print(errno.errorcode[error.errno])
for family in (socket.AF_INET, socket.AF_INET6):
    show(lambda: socket.socket(family, socket.SOCK_DGRAM, 136))
    show(lambda: socket.socket(family, socket.SOCK_STREAM, 132))
    show(lambda: socket.socket(family, socket.SOCK_SEQPACKET, 0))
    show(lambda: socket.socket(family, socket.SOCK_RDM, 0))
    show(lambda: socket.socket(family, socket.SOCK_RAW, 1))
    show(lambda: socket.socket(family, socket.SOCK_STREAM, 6))
    show(lambda: socket.socket(family, socket.SOCK_DGRAM, 17))
tcp = socket.socket()
show(lambda: tcp.setsockopt(socket.IPPROTO_TCP, 31, b"tls"))
show(lambda: tcp.setsockopt(socket.SOL_SOCKET, 26, b"\\0" * 16))
show(lambda: tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1))
libc = ctypes.CDLL(None, use_errno=True)
for call in ((libc.prctl, 22, 2, 0), (libc.syscall, 317, 1, 0, 0)):
    print("worked" if call[0](*call[1:]) == 0 else errno.errorcode[ctypes.get_errno()])
"""
        family = ["EPROTONOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "ESOCKTNOSUPPORT", "EPERM", "worked", "worked"]
        self.assertEqual(said("-c", code).split(),
                         family * 2 + ["ENOPROTOOPT", "ENOPROTOOPT", "worked", "EINVAL", "EINVAL"])

    def test_doctor_lists_each_table_and_how_many_sandboxes_it_carries(self):
        ran = glovebox("doctor")
        text = ran.stdout.decode()
        for sysctl in ("kernel.pty.max", "fs.file-max", "fs.inotify.max_user_instances",
                       "fs.inotify.max_user_watches", "net.core.bpf_jit_limit"):
            if os.path.exists("/proc/sys/" + sysctl.replace(".", "/")):
                self.assertRegex(text, rf"{re.escape(sysctl)} +\d+, carries \d+ sandboxes with \d+ ")


class Sessions(sealed.TestCase):
    def setUp(self):
        super().setUp()
        self.launcher = warm.Launcher(self.directory())
        self.addCleanup(self.launcher.stop)
        self.client = warm.Client(self.launcher)
        self.addCleanup(self.client.close)
        self.session = Session(self)
        self.addCleanup(self.session.destroy)

    def run_as(self, user, code):
        status, out, err = self.session.run(f"/usr/bin/python3 - <<'END'\n{code}\nEND", user=user)
        self.assertEqual((status, err), (0, b""), out)
        return out.decode().split()

    def test_a_boot_id_of_its_own_and_no_uid_of_the_host(self):
        with open(BOOT_ID) as file:
            hosts = file.read()
        _, out, _ = self.session.run(f"cat {BOOT_ID}")
        self.assertRegex(out.decode(), rf"^{UUID}\n$")
        self.assertNotEqual(out.decode(), hosts)
        for user in ("user", "root"):
            _, out, _ = self.session.run(MOUNTS, user=user)
            self.assertEqual(host_uids(out.decode()), [])
            self.assertNotEqual(self.session.run(f"echo x > {BOOT_ID}", user=user)[0], 0)

    def test_own_children_may_be_limited_and_the_agent_not(self):
        code = """
import errno, resource, subprocess
child = subprocess.Popen(["/bin/sleep", "60"])
resource.prlimit(child.pid, resource.RLIMIT_NOFILE, (50, 60))
print(*resource.prlimit(child.pid, resource.RLIMIT_NOFILE))
child.kill(); child.wait()
try: resource.prlimit(1, resource.RLIMIT_NOFILE)
except PermissionError: print("EPERM")
"""
        for user in ("user", "root"):
            self.assertEqual(self.run_as(user, code), ["50", "60", "EPERM"], user)

    def test_a_directorys_list_and_stat_agree_on_inode_numbers(self):
        code = """
import os
os.makedirs("/home/user/made/inner", exist_ok=True); open("/home/user/made/file", "w").close()
looked, wrong = 0, []
for top in ("/", "/etc", "/usr", "/usr/bin", "/usr/share", "/home", "/home/user", "/home/user/made"):
    for entry in os.scandir(top):
        if os.path.ismount(entry.path): continue
        looked += 1
        if entry.inode() != entry.stat(follow_symlinks=False).st_ino: wrong.append(entry.path)
print(looked > 100, len(wrong), *wrong[:5])
"""
        self.assertEqual(self.run_as("user", code), ["True", "0"])


class Slices(sealed.TestCase):
    """Host uids are leased as they are used."""

    @staticmethod
    def leased():
        """How many slices any process holds a lock on."""
        info = os.stat(os.path.join(sealed.STATE, "slices"))
        place = f"{os.major(info.st_dev):02x}:{os.minor(info.st_dev):02x}:{info.st_ino}"
        total = 0
        with open("/proc/locks") as file:
            for line in file:
                words = line.split()
                # Launchers share a read lock on the server's slice.
                if "OFDLCK" in words and "WRITE" in words and place in words:
                    first, last = words[-2], words[-1]
                    total += int(last) - int(first) + 1
        return total

    def test_a_listening_launcher_leases_as_many_as_it_uses(self):
        launcher = sealed.SharedLauncher(self.directory())
        self.addCleanup(launcher.stop)
        self.assertEqual(self.leased(), 0, "none before its first sandbox")
        self.assertEqual(glovebox("run", "--exec", "/bin/true", env=launcher.environment()).returncode, 0)
        # Its nurseries', and the sandbox that it keeps ready.
        self.assertTrue(sealed.wait_until(lambda: 1 <= self.leased() <= 3), self.leased())

    def test_when_none_is_left_the_message_says_who_has_them(self):
        # The server's, a launcher's, and two for sandboxes.
        first = 1_900_019_712
        policy = f"[uids]\nfirst = {first}\nlast = {first + 4 * 65536 - 1}\n"
        directory = self.directory()
        launcher = sealed.SharedLauncher(directory, policy)
        self.addCleanup(launcher.stop)
        self.assertEqual(glovebox("run", "--exec", "/bin/true", env=launcher.environment()).returncode, 0)
        held = []

        def hold():
            """A sandbox that stays. Refused while the slice of an earlier one is not given back yet."""
            process = sealed.start("run", "--exec", "/bin/cat", stdin=subprocess.PIPE, env=launcher.environment())
            try:
                process.stdin.write(b"here\n")
                process.stdin.flush()
            except BrokenPipeError:
                pass
            if sealed.read_line(process.stdout) == b"here\n":
                held.append(process)
                return True
            process.communicate(timeout=20)
            return False
        for _ in range(2):
            self.assertTrue(sealed.wait_until(hold), "no slice was given back")
        refused = glovebox("run", "--exec", "/bin/true", env=launcher.environment())
        self.assertNotEqual(refused.returncode, 0)
        self.assert_one_line(refused.stderr)
        self.assertIn(b"all 3 uid slices of this host are in use: 3 by glovebox-launch", refused.stderr)
        self.assertIn(b"(pid %d)" % launcher.pid, refused.stderr)
        for process in held:
            process.stdin.close()
            self.assertEqual(process.wait(timeout=20), 0)
            process.stdout.close()
            process.stderr.close()

    def test_launchers_beside_each_other_share_the_range(self):
        first = 1_900_019_712
        policy = f"[uids]\nfirst = {first}\nlast = {first + 12 * 65536 - 1}\n"
        launchers = []
        for _ in range(3):
            launchers.append(sealed.SharedLauncher(self.directory(), policy))
            self.addCleanup(launchers[-1].stop)
        for launcher in launchers:
            ran = glovebox("run", "--exec", "/bin/true", env=launcher.environment())
            self.assertEqual((ran.returncode, ran.stderr), (0, b""))


if __name__ == "__main__":
    sealed.main()
