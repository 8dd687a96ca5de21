# Glovebox as an ordinary user: programs, home and runtime directory that are the user's own, and the
# cgroups and the systemd that a host may give to a user. For tests below sealed.main().
import copy
import json
import os
import shutil
import signal
import subprocess
import tempfile
import uuid

import sealed
from server import Client

USER = 65534
PROGRAMS = ("glovebox", "glovebox-client", "glovebox-server", "glovebox-launcher", "glovebox-gateway",
            "glovebox-agent", "glovebox-attacks")


class OrdinaryUser:
    """Everything such a user needs. Made once per test module, because the first run there copies what
    the sandboxes' /etc is made of."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="gbx-test-")
        os.chmod(self.home, 0o755)
        self.programs = os.path.join(self.home, "bin")
        os.mkdir(self.programs)
        for name in PROGRAMS:
            shutil.copy(os.path.join(sealed.BIN, name), self.programs)
        for name in ("cache", "runtime", "work"):
            os.mkdir(os.path.join(self.home, name), 0o700)
        for root, directories, files in os.walk(self.home):
            for name in directories + files:
                os.chown(os.path.join(root, name), USER, USER)
        os.chown(self.home, USER, USER)

    def remove(self):
        shutil.rmtree(self.home)

    def path(self, *names):
        return os.path.join(self.home, *names)

    def words(self, *words):
        """A command as this user."""
        return ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", "env", "-i",
                "PATH=/usr/bin:/bin", f"HOME={self.home}", f"XDG_CACHE_HOME={self.home}/cache",
                f"XDG_RUNTIME_DIR={self.home}/runtime", *words]

    def command(self, *words):
        return self.words(os.path.join(self.programs, "glovebox"), *words)

    def state(self):
        """What launchers left in the user's runtime directory."""
        found = []
        for _, directories, files in os.walk(os.path.join(self.home, "runtime", "glovebox")):
            found += directories + files
        return [name for name in found if name not in sealed.KEPT]


class GivenCgroups:
    """Cgroups that root has made and given to the user, in these hierarchies."""

    def __init__(self, hierarchies, below=""):
        name = f"gbx-test-{uuid.uuid4().hex[:12]}"
        self.tops = [os.path.join(hierarchy, name) for hierarchy in hierarchies]
        self.paths = [os.path.join(top, below) if below else top for top in self.tops]
        self._make()

    def _make(self):
        for path in self.paths:
            os.makedirs(path)
            for place in (path, *(os.path.join(path, name) for name in os.listdir(path))):
                os.chown(place, USER, USER)

    def below(self, name):
        """Others below these, which are removed with them."""
        made = copy.copy(self)
        made.paths = [os.path.join(path, name) for path in self.paths]
        made._make()
        return made

    def hand_down(self, hierarchy, controllers):
        """From a v2 hierarchy to what is the user's."""
        for top in self.tops:
            if top.startswith(hierarchy + "/") and top not in self.paths:
                with open(os.path.join(top, "cgroup.subtree_control"), "w") as file:
                    file.write(" ".join("+" + name for name in sorted(controllers)))

    def around(self, words):
        """The command, started in these cgroups."""
        joins = "".join(f"echo $$ > {path}/cgroup.procs && " for path in self.paths)
        return ["/bin/sh", "-c", joins + 'exec "$@"', "sh", *words]

    def left(self):
        """Cgroups below these. What was in a v2 one may have been moved into one below, which stays."""
        return [os.path.join(root, name) for path in self.paths for root, names, _ in os.walk(path) for name in names
                if name != "glovebox-members"]

    def remove(self):
        def all_gone():
            for top in self.tops:
                for place, _, _ in os.walk(top, topdown=False):
                    try:
                        os.rmdir(place)
                    except OSError:
                        pass
            return not any(os.path.exists(top) for top in self.tops)

        if not sealed.wait_until(all_gone):
            raise AssertionError(f"cgroups are left: {self.left()}")


def cgroup_mounts():
    """(type, mount point, options) of each cgroup hierarchy."""
    with open("/proc/self/mountinfo") as file:
        lines = [line.split() for line in file]
    return [(words[words.index("-") + 1], words[4], words[-1].split(",")) for words in lines
            if words[words.index("-") + 1].startswith("cgroup")]


def hierarchy_of(controller):
    """Where the v1 hierarchy of a controller is mounted; None if it has none."""
    return next((place for kind, place, options in cgroup_mounts() if kind == "cgroup" and controller in options), None)


def v2_hierarchy():
    return next((place for kind, place, _ in cgroup_mounts() if kind == "cgroup2"), None)


def v2_controllers(place):
    """What a v2 hierarchy gives to the children of its root."""
    with open(os.path.join(place, "cgroup.subtree_control")) as file:
        return set(file.read().split())


class PrivateServer:
    """`glovebox serve --private` as the user; `around`: changes the command."""

    def __init__(self, user, around=lambda words: words):
        self.process = subprocess.Popen(around(user.command("serve", "--private")), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=user.home)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.stderr.read())
        self.info = json.loads(line)
        self.client = Client(self.info["url"], self.info["api_key"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()
        self.process.stderr.close()


class UserSystemd:
    """`systemd --user`, which takes care of the cgroups that it was started in."""
    PROGRAM = "/lib/systemd/systemd"

    def __init__(self, user, around):
        # It refuses to run on a host that was not booted with systemd. Only this test sees the directory.
        os.makedirs("/run/systemd", exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "none", "/run/systemd"], check=True)
        os.mkdir("/run/systemd/system")
        self.process = subprocess.Popen(around(user.words(self.PROGRAM, "--user")), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        socket = user.path("runtime", "systemd", "private")
        if not sealed.wait_until(lambda: os.path.exists(socket) or self.process.poll() is not None) or (
                self.process.poll() is not None):
            self.stop()
            raise AssertionError("systemd --user does not start")

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        subprocess.run(["umount", "--lazy", "/run/systemd"], check=True)


class SubordinateIds:
    """What the host's /etc says of the user: ids of its own, and a home that is the test's. Only this test
    and what it starts sees these files."""
    FIRST, COUNT = 1_600_000_000, 65_536

    def __init__(self, user, first=FIRST, count=COUNT):
        self.files = []
        with open("/etc/passwd") as file:
            lines = [line.split(":") for line in file]
        for fields in lines:
            if fields[2] == str(USER):
                fields[5] = user.home
        self._show("/etc/passwd", "".join(":".join(fields) for fields in lines))
        for path in ("/etc/subuid", "/etc/subgid"):
            self._show(path, f"{USER}:{first}:{count}\n")

    def _show(self, path, text):
        file = tempfile.NamedTemporaryFile("w", prefix="gbx-test-", delete=False)
        with file:
            file.write(text)
        os.chmod(file.name, 0o644)
        self.files.append((path, file.name))
        if not os.path.exists(path):  # for every test after this one too, and empty
            open(path, "x").close()
        subprocess.run(["mount", "--bind", file.name, path], check=True)

    def remove(self):
        for path, name in self.files:
            subprocess.run(["umount", path], check=True)
            os.unlink(name)


def why_no_subordinate_ids():
    """What the host lacks for them; empty if it has all."""
    lacking = [path for path in ("/usr/bin/newuidmap", "/usr/bin/newgidmap") if not os.access(path, os.X_OK)]
    return "this host has no " + " and no ".join(lacking) + " (Debian's package uidmap)" if lacking else ""
