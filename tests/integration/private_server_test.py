# `glovebox serve --private`: a server that belongs to the program that started it. It says where it
# is in one line, lets its clients mount what the starter can open, and is gone with him.
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes
import sealed
from sealed import wait_until
from server import Client, Server

USER = 65534

# Starts a private server, says its pid, and waits to be killed.
STARTER = """
import subprocess, sys
private = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(private.stdout.readline().decode(), end="", flush=True)
sys.stdin.read()
"""


class Private:
    def __init__(self, *more, words=None, env=None):
        self.process = subprocess.Popen(
            words or [sealed.GLOVEBOX, "serve", "--private", *more], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env or sealed.environment(None))
        self.line = self.process.stdout.readline()
        if not self.line:
            raise AssertionError(self.process.stderr.read())
        self.info = json.loads(self.line)
        self.client = Client(self.info["url"], self.info["api_key"])

    @property
    def directory(self):
        """Its data directory, by the launcher's arguments."""
        for process in processes.below(self.info["pid"]).values():
            if process.name == "glovebox-launch":
                return os.path.dirname(process.arguments()[2])
        raise AssertionError("there is no launcher")

    def parts(self):
        return set(processes.below(self.info["pid"]))

    def close(self):
        self.client.close()
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        status = self.process.wait(timeout=60)
        self.process.stdout.close()
        self.process.stderr.close()
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class PrivateServer(sealed.TestCase):
    def assert_gone(self, pids, directory=None):
        self.assertTrue(wait_until(lambda: not any(processes.is_alive(pid) for pid in pids), 60),
                        [pid for pid in pids if processes.is_alive(pid)])
        if directory:
            self.assertFalse(os.path.exists(directory))

    def test_one_line_says_where_it_is_and_the_end_of_its_input_ends_it(self):
        private = Private()
        self.assertEqual(set(private.info), {"url", "api_key", "pid"})
        self.assertEqual(private.info["pid"], private.process.pid)
        self.assertEqual(private.client.python("6 * 7")["result"]["application/json"], 42)
        directory, parts = private.directory, private.parts()
        self.assertGreaterEqual(len(parts), 2)
        self.assertEqual(private.close(), 0)
        self.assert_gone(parts, directory)

    def test_it_ends_when_whoever_started_it_is_killed(self):
        starter = subprocess.Popen(
            [sys.executable, "-c", STARTER, sealed.GLOVEBOX, "serve", "--private"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=sealed.environment(None))
        info = json.loads(starter.stdout.readline())
        parts = set(processes.below(info["pid"])) | {info["pid"]}
        starter.kill()
        starter.wait(timeout=60)
        starter.stdin.close()
        starter.stdout.close()
        self.assert_gone(parts)

    def test_its_parts_end_when_it_is_killed_itself(self):
        private = Private()
        directory, parts = private.directory, private.parts()
        private.process.kill()
        self.assertEqual(private.close(), -signal.SIGKILL)
        self.assert_gone(parts)
        shutil.rmtree(directory)  # no process was left to do it

    def test_a_session_that_lives_ends_with_it(self):
        private = Private()
        made = private.client.call("POST", "/v1/sandboxes", {"template": "base"})
        self.assertEqual(made.status, 201, made)
        parts = private.parts()
        self.assertEqual(private.close(), 0)
        self.assert_gone(parts)

    def test_its_clients_mount_host_paths_and_no_link_is_followed(self):
        here = self.directory()
        os.mkdir(f"{here}/data")
        with open(f"{here}/data/a.txt", "w") as file:
            file.write("from the host")
        os.symlink(f"{here}/data", f"{here}/link")
        os.mkdir(f"{here}/own")
        os.chown(f"{here}/own", 1234, 1234)
        with Private() as private:
            def run(code, name, mode="ro"):
                return private.client.post_run(
                    language="python", code=code,
                    profile={"mounts": [{"name": name, "path": "/data", "mode": mode}]})

            read = run("open('/data/a.txt').read()", f"{here}/data")
            self.assertEqual(read.json["result"]["application/json"], "from the host", read)
            denied = run("open('/data/b.txt', 'w')", f"{here}/data").json
            self.assertEqual(denied["error"]["name"], "OSError", denied)
            written = run("open('/data/b.txt', 'w').write('hello')", f"{here}/own", "rw")
            self.assertIsNone(written.json["error"], written)
            self.assertEqual(os.stat(f"{here}/own/b.txt").st_uid, 1234)
            self.assertEqual(run("1", f"{here}/data/../data").status, 200)  # a name, and no link in it
            for name, status, code, why in ((f"{here}/link", 403, "policy", "contains a symlink"),
                                            (f"{here}/none", 400, "invalid_argument", "No such file"),
                                            (f"{here}/data/a.txt/x", 400, "invalid_argument", "Not a directory"),
                                            ("/proc", 403, "policy", "a kernel filesystem")):
                with self.subTest(name=name):
                    refused = run("1", name)
                    self.assertEqual((refused.status, refused.code), (status, code), refused)
                    self.assertIn(why, refused.json["error"]["message"])

    def test_several_programs_have_one_each(self):
        several = []
        try:
            for _ in range(6):
                several.append(Private())
            for private in several:
                self.assertEqual(private.client.python("6 * 7")["result"]["application/json"], 42)
        finally:
            for private in several:
                private.close()

    def test_clients_of_an_ordinary_server_mount_no_path(self):
        server = Server()
        self.addCleanup(server.stop)
        refused = server.client().post_run(language="python", code="1", profile={
            "mounts": [{"name": "/tmp", "path": "/data"}]})
        self.assertEqual((refused.status, refused.code), (403, "policy"), refused)
        self.assertIn("not the host path", refused.json["error"]["message"])

    def test_settings_hold_and_words_that_do_not_go_with_it_are_refused(self):
        with Private("--set", "sessions.max=0") as private:
            refused = private.client.call("POST", "/v1/sandboxes", {"template": "base"})
            self.assertIn(refused.status, (429, 503), refused)
        ran = sealed.glovebox("serve", "--private", "--stop")
        self.assertEqual(ran.returncode, 2, ran)
        self.assertIn(b"--stop", ran.stderr)

    # Becomes a server of the private server's launcher; a supervisor of its server; its administrator.
    REACH = '''
import socket
found = []
there = "/m/%s/"
launcher = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
launcher.connect(there + "launcher.sock")
found.append("connected")
try:
    launcher.send(b"\\x04\\x04")
    found.append("answered" if launcher.recv(100) else "cut")
except OSError:
    found.append("cut")
try:
    socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(there + "server.sock")
    found.append("connected")
except OSError as error:
    found.append(type(error).__name__)
try:
    found.append(open(there + "admin.key").read())
except OSError as error:
    found.append(type(error).__name__)
found
'''

    def test_an_ordinary_user_has_one_too(self):
        home = tempfile.mkdtemp(prefix="gbx-test-")
        self.addCleanup(shutil.rmtree, home)
        os.chmod(home, 0o755)
        os.mkdir(f"{home}/bin")
        for name in ("glovebox", "glovebox-server", "glovebox-launcher", "glovebox-agent"):
            shutil.copy(os.path.join(sealed.BIN, name), f"{home}/bin")
        for name in ("cache", "runtime", "work"):
            os.mkdir(f"{home}/{name}", 0o700)
        with open(f"{home}/work/a.txt", "w") as file:
            file.write("mine")
        above = tempfile.mkdtemp(prefix="gbx-test-", dir="/run")  # not in /tmp, which is mounted below
        self.addCleanup(shutil.rmtree, above)
        os.chown(above, USER, USER)
        os.mkdir(f"{above}/mount")
        subprocess.run(["mount", "-t", "tmpfs", "none", f"{above}/mount"], check=True)
        self.addCleanup(subprocess.run, ["umount", f"{above}/mount"], check=True)
        with open(f"{home}/secret", "w") as file:
            file.write("root's")
        os.chmod(f"{home}/secret", 0o600)
        for root, directories, files in os.walk(home):
            for name in directories + files:
                if name != "secret":
                    os.chown(os.path.join(root, name), USER, USER)
        with Private(words=["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", "env",
                            "-i", "PATH=/usr/bin:/bin", f"HOME={home}", f"XDG_CACHE_HOME={home}/cache",
                            f"XDG_RUNTIME_DIR={home}/runtime", f"{home}/bin/glovebox", "serve",
                            "--private"]) as private:
            def run(code, name):
                return private.client.post_run(language="python", code=code, profile={
                    "mounts": [{"name": name, "path": "/data"}]})

            read = run("open('/data/a.txt').read()", f"{home}/work")
            self.assertEqual(read.status, 200, read)
            self.assertEqual(read.json["result"]["application/json"], "mine", read)
            # A guest has its starter's uid here, and /tmp has the server's own directory: what is there
            # is no way out. (It connects, so it is the launcher that hangs up.)
            directory = os.path.basename(private.directory)
            seen = private.client.post_run(language="python", code=self.REACH % directory, profile={
                "mounts": [{"name": "/tmp", "path": "/m"}]})
            self.assertEqual(seen.status, 200, seen)
            self.assertIsNone(seen.json["error"], seen)
            self.assertEqual(seen.json["result"]["application/json"],
                             ["connected", "cut", "ConnectionRefusedError", "FileNotFoundError"], seen)
            # An ordinary user cannot uncover what the host's mounts cover.
            covered = run("1", above)
            self.assertEqual((covered.status, covered.json["error"]["code"]), (422, "unsupported"), covered)
            self.assertIn("the directory has other mounts below it", covered.json["error"]["message"])
            # What its starter cannot open, its clients cannot either.
            refused = run("open('/data').read()", f"{home}/secret")
            self.assertTrue(refused.status != 200 or refused.json["error"] is not None, refused)
            self.assertNotIn("root's", refused.text)


if __name__ == "__main__":
    sealed.main()
