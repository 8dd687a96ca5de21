# The console in a real browser, against a real server: the cases are the *_test.mjs files beside this one.
import os
import shutil
import subprocess
import sys
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


def load_tests(loader, _, __):
    """The cases of the files that the command line names; all without."""
    names = [word for word in os.environ.get("GBX_CONSOLE_CASES", "").split(",") if word]
    for name in names or ["pages", "flows", "attacks"]:
        setattr(Console, "test_" + name, lambda self, name=name: self.cases(name + "_test.mjs"))
    return loader.loadTestsFromTestCase(Console)


def main():
    if os.environ.get("GBX_SEALED") is None:
        installed = subprocess.run([os.path.join(ROOT, "scripts", "install-console-tools")], stdin=subprocess.DEVNULL, stdout=sys.stderr)
        if installed.returncode == 77:
            print("skipped: no browser, or nothing to drive it with (see above)")
        if installed.returncode != 0:
            sys.exit(installed.returncode)
    sealed.main()


if __name__ == "__main__":
    main()
