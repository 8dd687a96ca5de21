"""Runs the steps of a build (src/guest/packages) outside of a sandbox, against an index on loopback:
what comes in, what comes out, and how one step leads to the next.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import package_index

PACKAGES = ROOT / "src" / "guest" / "packages"
PYTHON = os.environ.get("GBX_TRY_PYTHON", "/usr/bin/python3")
DEADLINE = 120
# The environment of the process that starts a step must not matter.
MISLEADING = {"PIP_FIND_LINKS": "/nonexistent", "PIP_INDEX_URL": "http://127.0.0.1:1/", "PIP_REQUIRE_HASHES": "1", "PYTHONPATH": "/nonexistent",
              "NPM_CONFIG_REGISTRY": "http://127.0.0.1:1/", "http_proxy": "http://127.0.0.1:1/", "https_proxy": "http://127.0.0.1:1/",
              "SECRET_OF_THE_SERVER": "secret"}


def main():
    """Runs the calling module's tests where there is no network but loopback: packages name hosts."""
    if os.environ.get("GBX_ALONE") is None:
        rights = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        os.execvpe("unshare", ["unshare", *rights, "--net", sys.executable, "-B", *sys.argv], dict(os.environ, GBX_ALONE="1"))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    unittest.main(module="__main__")


class Step:
    """One that was run: its result.json, its output, and where its files are."""

    def __init__(self, root, result, output):
        self.root, self.result, self.output = root, result, output
        self.state, self.error = result["state"], result.get("error", "")

    def path(self, *parts):
        return os.path.join(self.root, "out", *parts)

    def names(self, *parts):
        return sorted(os.listdir(self.path(*parts)))

    def __repr__(self):
        return f"{json.dumps(self.result, indent=1)}\n{self.output}"


class Steps:
    """Everything for one test: an index of its own, a directory, and the mark that no code should leave."""

    def __init__(self, certificate=None):
        self.directory = tempfile.mkdtemp(prefix="gbx-test-")
        self.marker = os.path.join(self.directory, "mark")
        self.server = package_index.OnLoopback(self.marker, certificate)
        self.index = self.server.index
        self.address = self.server.address
        self.count = 0

    def stop(self):
        self.server.stop()
        shutil.rmtree(self.directory)

    @property
    def mark(self):
        """What code of packages has left, and it is gone."""
        try:
            with open(self.marker) as file:
                text = file.read()
        except FileNotFoundError:
            return ""
        os.unlink(self.marker)
        return text

    def new_root(self):
        self.count += 1
        root = os.path.join(self.directory, f"root{self.count}")
        os.makedirs(os.path.join(root, "in"))
        return root

    def run(self, script, root, environment=()):
        ended = subprocess.run([PYTHON, "-I", "-B", "-u", str(PACKAGES / script), root], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, timeout=DEADLINE, env={"PATH": "/usr/bin:/bin", **MISLEADING, **dict(environment)})
        output = ended.stdout.decode()
        try:
            with open(os.path.join(root, "out", "result.json")) as file:
                result = json.load(file)
        except (OSError, ValueError) as error:
            raise AssertionError(f"{script}: no result ({error})\n{output}")
        if ended.returncode != 0:
            raise AssertionError(f"{script} ended with {ended.returncode}\n{output}")
        return Step(root, result, output)

    # --- Python ------------------------------------------------------------------------------------

    def pip_settings(self, root, index=None, more=""):
        with open(os.path.join(root, "in", "pip.conf"), "w") as file:
            file.write(f"[global]\nindex-url = {index or self.address + '/simple/'}\n{more}")

    def fetch(self, *packages, requirements="", lock="", index=None, more="", root=None):
        root = root or self.new_root()
        self.pip_settings(root, index, more)
        write_json(os.path.join(root, "in", "request.json"), {"packages": list(packages), "requirements": requirements, "lock": lock})
        return self.run("pip_fetch.py", root)

    def build(self, fetched):
        root = self.new_root()
        shutil.copytree(fetched.path("source"), os.path.join(root, "in", "source"))
        return self.run("pip_build.py", root)

    def fetch_all(self, *packages, **more):
        """Round after round, as the server does it. The last fetch, and the sources in their order."""
        fetched, sources, built = self.fetch(*packages, **more), [], {}
        while fetched.state == "source":
            sources.append(fetched.result["source"])
            if len(sources) > 10:
                raise AssertionError(f"it never ends: {sources}")
            made = self.build(fetched)
            if made.state != "ready":
                return made, sources
            directory = os.path.join(fetched.root, "in", "built")
            os.makedirs(directory, exist_ok=True)
            shutil.copy(made.path("wheels", made.result["file"]), directory)
            built[made.result["file"]] = sources[-1]
            write_json(os.path.join(fetched.root, "in", "built.json"), built)
            fetched = self.fetch(*packages, root=fetched.root, **more)
        return fetched, sources

    def install(self, fetched, host_packages=False, own_site=False):
        root = self.new_root()
        shutil.copytree(fetched.path("wheels"), os.path.join(root, "in", "wheels"))
        write_json(os.path.join(root, "in", "layout.json"), {"host_packages": host_packages, "own_site": own_site})
        return self.run("pip_install.py", root)

    # --- npm ---------------------------------------------------------------------------------------

    def npm_fetch(self, *packages, lock="", npmrc="", requirements=""):
        root = self.new_root()
        with open(os.path.join(root, "in", "npmrc"), "w") as file:
            file.write(f"registry={self.address}/npm/\n{npmrc}")
        write_json(os.path.join(root, "in", "request.json"), {"packages": list(packages), "requirements": requirements, "lock": lock})
        return self.run("npm_fetch.py", root)

    def npm_install(self, fetched):
        root = self.new_root()
        shutil.copytree(fetched.path("tree"), os.path.join(root, "in", "tree"), symlinks=True)
        return self.run("npm_install.py", root)


class PipFetch(unittest.TestCase):
    """Fetches that must go well, or not, and never run a package's code."""

    def setUp(self):
        self.steps = Steps()
        self.addCleanup(self.steps.stop)

    def paths(self, beginning="/packages/"):
        return [one["path"] for one in self.steps.index.requests if one["path"].startswith(beginning)]

    def ready(self, *packages, **more):
        fetched = self.steps.fetch(*packages, **more)
        self.assertEqual(fetched.state, "ready", fetched)
        self.assertEqual(self.steps.mark, "", "code of a package was run")
        return fetched

    def failed(self, *packages, **more):
        fetched = self.steps.fetch(*packages, **more)
        self.assertEqual(fetched.state, "failed", fetched)
        self.assertLessEqual(len(fetched.error.encode()), 8192)
        self.assertEqual(self.steps.mark, "", "code of a package was run")
        return fetched.error

    def versions(self, fetched):
        return {one["name"]: one["version"] for one in fetched.result["artefacts"]}


def write_json(path, value):
    with open(path, "w") as file:
        json.dump(value, file)


def in_a_sandbox_of_sorts(layer, words, cwd="/", usr=""):
    """Runs a program where the layer lies over the host's files, read-only, as it will be in a sandbox:
    in a mount namespace of its own, for which one must be root. `usr`: a directory of more files that
    the host has in /usr."""
    script = ('set -e; layer=$1; shift; mount -t overlay overlay -o "ro,lowerdir=$layer/usr:${GBX_USR:+$GBX_USR:}/usr" /usr; mount -t tmpfs none /opt; '
              'if [ -d "$layer/opt/glovebox-packages" ]; then mkdir /opt/glovebox-packages; '
              'mount --bind "$layer/opt/glovebox-packages" /opt/glovebox-packages; mount -o remount,bind,ro /opt/glovebox-packages; fi; '
              'if [ -d "$layer/node_modules" ]; then root=/mnt; mount -t tmpfs none $root; for one in /*; do '
              'if [ $one = /mnt ]; then :; elif [ -L $one ]; then cp -P $one $root$one; elif [ -d $one ]; then mkdir $root$one; mount --rbind $one $root$one; fi; done; '
              'mkdir $root/node_modules; mount --bind "$layer/node_modules" $root/node_modules; '
              'exec chroot $root /bin/sh -c \'cd "$1"; shift; exec "$@"\' sh "$GBX_CWD" "$@"; fi; cd "$GBX_CWD"; exec "$@"')
    return subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", layer, *words], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE,
                          env={"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/nonexistent", "GBX_CWD": cwd, "GBX_USR": usr}).stdout
