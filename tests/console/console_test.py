# The console in a real browser, against a real server: the cases are the *_test.mjs files beside this one.
import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import sealed
import server

TOOLS = os.path.join(ROOT, "build", "clients", "console")
# A file of cases; a case that is stuck says so itself before that.
LONGEST_S = 900


class Console(server.Served):
    settings = {"net.ceiling": "all"}
    files = ["texts", "pages", "flows", "work", "attacks", "states", "keyboard"]

    @classmethod
    def prepare(cls):
        # Images and packages of the host would be shown, too.
        cls.place = tempfile.mkdtemp(prefix="gbx-test-")
        os.chmod(cls.place, 0o755)
        cls.env = {"GLOVEBOX_LAYERS_DIR": os.path.join(cls.place, "layers")}

    @classmethod
    def tidy(cls):
        shutil.rmtree(cls.place, ignore_errors=True)

    def cases(self, name, **more):
        with self.server.client() as client:
            console = client.get("/console/")
        if b"/console/assets/" not in console.body:
            self.skipTest("this server was built without the console")
        words = {"PATH": os.environ["PATH"], "HOME": self.server.data, "GBX_CONSOLE_TOOLS": TOOLS, "GBX_CONSOLE_URL": self.server.url,
                 "GBX_CONSOLE_KEY": self.server.key, "GBX_CHROMIUM": shutil.which("chromium"), "GLOVEBOX_BIN_DIR": sealed.BIN,
                 "GBX_CONSOLE_DATA": self.server.data, **more}
        ran = subprocess.run(["node", "--test", os.path.join(HERE, name)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, timeout=LONGEST_S, env=words)
        print(ran.stdout, flush=True)
        self.assertEqual(ran.returncode, 0, ran.stdout[-20000:])
        # A file without a case is no test.
        self.assertRegex(ran.stdout, r"# pass [1-9]")
        self.assertRegex(ran.stdout, r"# skipped 0\b")


class KeptCode(Console):
    """The code of runs is kept."""
    settings = {"store.keep_code": "true", "store.keep_output": "1K"}
    files = ["kept"]


class Many(Console):
    """Thousands of sandboxes and runs are on record: copies of the record of one of each."""
    files = ["many"]
    count = 5000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            cls.multiply()
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def multiply(cls):
        with cls.server.client() as client:
            made = client.call("POST", "/v1/sandboxes", {"template": "python", "name": "many-000000"}).json["id"]
            client.call("DELETE", f"/v1/sandboxes/{made}")
            client.python("print('one of many')")
        cls.server.wait_written()
        cls.server.supervisor.terminate()
        cls.server.supervisor.wait(timeout=server.PATIENCE)
        with contextlib.closing(sqlite3.connect(os.path.join(cls.server.data, "store", "glovebox.db"))) as store, store:
            fresh_id = "substr(id, 1, length(id) - 8) || printf('%08d', i)"
            cls.copy(store, "sessions", {"seq": None, "id": fresh_id, "name": "printf('many-%06d', i)"})
            cls.copy(store, "run_bodies", {"seq": "seq - 1000 * i"})
            cls.copy(store, "runs", {"seq": "seq - 1000 * i", "id": fresh_id, "started_ms": "started_ms - i"})
        cls.server.start()

    @classmethod
    def copy(cls, store, table, changed):
        words = {row[1]: changed.get(row[1], row[1]) for row in store.execute(f"PRAGMA table_info({table})")}
        words = {name: word for name, word in words.items() if word}
        store.execute(f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {cls.count - 1}) "
                      f"INSERT INTO {table}({', '.join(words)}) SELECT {', '.join(words.values())} FROM {table}, n")

    def cases(self, name, **more):
        super().cases(name, GBX_CONSOLE_MANY=str(self.count), **more)


class Named(Console):
    """Over HTTPS, by a name that the browser alone resolves."""
    files = []
    name = ""

    @classmethod
    def prepare(cls):
        super().prepare()
        cert, key = (os.path.join(cls.place, name) for name in ("cert.pem", "key.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=" + cls.name], check=True, capture_output=True)
        os.chmod(key, 0o600)
        cls.settings = {**cls.settings, "server.tls_cert": cert, "server.tls_key": key}

    def cases(self, name, **more):
        here = self.server.url.partition("://")[2]
        # No other server has this certificate, and nothing but this server is asked.
        super().cases(name, GBX_CONSOLE_URL="https://" + self.name, GBX_CONSOLE_API=self.server.url,
                      GBX_CONSOLE_NAMES=f"MAP {self.name} {here}, MAP *.{self.name} {here}",
                      NODE_TLS_REJECT_UNAUTHORIZED="0", NODE_NO_WARNINGS="1", **more)


class SameSite(Named):
    """Ports are host names below the console's."""
    name = "box.test"
    settings = {"server.domain": "box.test"}
    files = ["same_site"]


class Public(Named):
    """Ports have no host names."""
    name = "console.test"
    settings = {"server.public_url": "https://console.test"}
    files = ["public"]


def load_tests(loader, _, __):
    """The cases of the files that the command line names; all without."""
    names = [word for word in os.environ.get("GBX_CONSOLE_CASES", "").split(",") if word]
    suite = unittest.TestSuite()
    for served in (Console, KeptCode, Many, SameSite, Public):
        for name in served.files:
            if not names or name in names:
                setattr(served, "test_" + name, lambda self, name=name: self.cases(name + "_test.mjs"))
                suite.addTest(served("test_" + name))
    return suite


def install_tools():
    """What drives the browser, before the test moves to where no registry is."""
    if os.environ.get("GBX_SEALED") is None:
        installed = subprocess.run([os.path.join(ROOT, "scripts", "install-console-tools")], stdin=subprocess.DEVNULL, stdout=sys.stderr)
        if installed.returncode == 77:
            print("skipped: no browser, or nothing to drive it with (see above)")
        if installed.returncode != 0:
            sys.exit(installed.returncode)


if __name__ == "__main__":
    install_tools()
    sealed.main()
