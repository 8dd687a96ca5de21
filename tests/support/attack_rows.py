# The attack table for tests that run it elsewhere than in a fresh run: its rows, what they aim at on
# the host, and each row's control, which shows that the attack works where nothing stops it.
import json
import os
import secrets
import signal
import socket
import subprocess
import tempfile

import sealed

ATTACKS = os.path.join(sealed.BIN, "glovebox-attacks")
SUCCEEDED, DENIED, KERNEL_LACKS, KILLED_BY_FILTER = 42, 43, 44, signal.SIGSYS
# What a row aims at that only the caller of `glovebox run` could hand in; and the little internet
# that rows of the way out need.
CALLERS = {"mount", "rw_mount", "leak", "cwd", "stdin", "tty", "env", "internet"}


def rows():
    listed = subprocess.run([ATTACKS, "list", "--json"], check=True, capture_output=True, timeout=20)
    return [row for row in json.loads(listed.stdout) if not CALLERS & set(row["needs"])]


def kernel_lacks(around, row):
    """Whether the kernel lacks what the row attacks with; else its control must succeed."""
    done = subprocess.run([ATTACKS, "control", row["name"], *around.arguments(row)], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60)
    if done.returncode == KERNEL_LACKS:
        sure = subprocess.run([ATTACKS, "lacks", row["name"]], capture_output=True, timeout=60)
        if sure.returncode != KERNEL_LACKS:
            raise AssertionError(f"{row['name']} is skipped, {done.stdout}, but: {sure.stdout}")
        return True
    if done.returncode != SUCCEEDED:
        raise AssertionError(f"the control of {row['name']} does not work: {done.stdout}")
    return False


def boot_id():
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def listen(family, address):
    one = socket.socket(family)
    one.bind(address)
    one.listen(64)
    return one


class AttackTargets:
    """What attacks aim at on the host; see src/attack/attack_targets.h."""

    def __init__(self, test):
        self.place = tempfile.mkdtemp(prefix="gbx-attack-", dir="/var/tmp")
        test.addCleanup(subprocess.run, ["rm", "-rf", self.place], check=True)
        os.chmod(self.place, 0o755)
        self.canary = "gbx-canary-" + secrets.token_hex(16)
        with open(self.place + "/canary", "w") as file:
            file.write(self.canary + "\n")
        self.abstract = "gbx-attack-" + secrets.token_hex(8)
        unix = self.place + "/socket"
        tcp, tcp6 = listen(socket.AF_INET, ("127.0.0.1", 0)), self.listen6()
        listeners = [tcp, listen(socket.AF_UNIX, unix), listen(socket.AF_UNIX, "\0" + self.abstract)]
        for one in listeners + ([tcp6] if tcp6 else []):
            test.addCleanup(one.close)
        os.chmod(unix, 0o777)
        self.victim = subprocess.Popen(["glovebox-attacks", "victim"], executable=ATTACKS, stdin=subprocess.PIPE)
        test.addCleanup(self.end_victim)
        info = os.stat(ATTACKS)
        self.port = tcp.getsockname()[1]
        self.words = {
            "canary": ["canary=" + self.place + "/canary"], "unix": ["unix=" + unix],
            "listener": [f"port={self.port}", f"port6={tcp6.getsockname()[1] if tcp6 else 0}"],
            "abstract": ["abstract=" + self.abstract], "pid": [f"pid={self.victim.pid}"],
            "inode": [f"inode={os.major(info.st_dev)}:{os.minor(info.st_dev)}:{info.st_ino}"],
            "hostname": ["hostname=" + socket.gethostname()],
            "boot_id": ["boot_id=" + boot_id()],
        }

    @staticmethod
    def listen6():
        try:
            return listen(socket.AF_INET6, ("::1", 0))
        except OSError:
            return None

    def end_victim(self):
        self.victim.stdin.close()
        self.victim.wait(timeout=20)

    def arguments(self, row):
        return ["token=" + secrets.token_hex(8)] + [word for need in row["needs"] for word in self.words.get(need, [])]
