# The stock E2B clients, driven against a server of the test's own. The cases are programs of their
# own (node, python3 with the installed packages), because a client keeps connections that would
# count as left behind; each prints its cases, one line each, and how many there were.
import os
import re
import subprocess
import sys

import sealed
import server

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
CASES = os.path.join(ROOT, "tests", "integration", "e2b")
CLIENTS = os.path.join(ROOT, "build", "clients")
# For one file of cases; a case that is stuck says so itself before that.
LONGEST_S = 150


def main(*clients, network=False):
    """Installs the clients, where the registries can be reached, and runs the calling module."""
    if os.environ.get("GBX_SEALED") is None:
        installed = subprocess.run([os.path.join(ROOT, "scripts", "install-e2b-clients"), *clients],
                                   stdin=subprocess.DEVNULL, stdout=sys.stderr)
        if installed.returncode == 77:
            print("skipped: the E2B clients are not here, and no registry gives them (see above)")
        if installed.returncode != 0:
            sys.exit(installed.returncode)
    sealed.main(network=network)


class Conformance(server.Served):
    """Runs files of cases, each of which ends what it began."""
    # The clients ask for the internet unless they are told otherwise; only network_test.py has one.
    settings = {"net.ceiling": "none"}

    def tearDown(self):
        alive = self.client.get("/v1/sandboxes?project=*&state=pending,starting,running,paused")
        self.assertEqual(alive.json["sandboxes"], [], "a case did not end its sandboxes")

    def told(self):
        """The variables that `glovebox serve` says to export, exported by a shell."""
        lines = re.findall(r"^  (export E2B_\w+=.*)$", self.server.log(), re.M)
        self.assertEqual(len(lines), 3, self.server.log())
        path = sealed.BIN + ":" + os.environ["PATH"]
        shell = subprocess.run(["bash", "-ec", "\n".join(lines) + "\nenv -0"], stdin=subprocess.DEVNULL,
                               capture_output=True, timeout=60, env=sealed.environment({"PATH": path}))
        self.assertEqual((shell.returncode, shell.stderr), (0, b""))
        told = dict(pair.split("=", 1) for pair in shell.stdout.decode().split("\0") if pair)
        self.assertRegex(told["E2B_API_KEY"], r"\Ae2b_[0-9a-f]{40}\Z")
        return {name: value for name, value in told.items() if name.startswith("E2B_")}

    def new_key(self):
        """Of a project of its own, as the user of an E2B client gets it."""
        made = sealed.glovebox("key", "create", "--e2b", "--project", "clients", "--data-dir", self.server.data)
        self.assertEqual(made.returncode, 0, made)
        key = made.stdout.decode().strip()
        self.assertRegex(key, r"\Ae2b_[0-9a-f]{40}\Z")
        return key

    def environment(self, client):
        clean = {name: value for name, value in sealed.environment().items()
                 if not name.startswith(("E2B", "GBX", "NODE", "PYTHON"))
                 and not name.lower().endswith("_proxy")}
        return {**clean, **self.told(), "GBX_URL": self.server.url,
                "GBX_CLIENT": os.path.join(CLIENTS, client)}

    def run_js(self, file, client="js"):
        command = ["node", "--test-force-exit", "--test-reporter=tap", file]
        output = self.run_cases(command, self.environment(client))
        self.count(output, r"^# tests (\d+)$")

    def run_python(self, module, client="python"):
        there = self.environment(client)
        there["E2B_API_KEY"] = self.new_key()
        there["PYTHONPATH"] = os.path.join(there["GBX_CLIENT"], "site")
        output = self.run_cases(["/usr/bin/python3", "-B", "-m", "unittest", "-v", module], there)
        self.count(output, r"^Ran (\d+) tests? in ")

    def run_cases(self, command, environment):
        """To their end; in the folder of the cases, whose name is the first of the client's."""
        where = os.path.join(CASES, os.path.basename(environment["GBX_CLIENT"]).removesuffix("_old"))
        try:
            ran = subprocess.run(command, cwd=where, env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LONGEST_S)
        except subprocess.TimeoutExpired as late:
            self.fail(f"{command[-1]} does not end:\n{(late.stdout or b'').decode(errors='replace')}")
        output = ran.stdout.decode(errors="replace")
        print(output, flush=True)
        if ran.returncode != 0:
            failed = [line for line in output.splitlines()
                      if re.match(r"\s*not ok|(FAIL|ERROR): ", line)]
            self.fail(f"{command[-1]}: {ran.returncode}\n" + "\n".join(failed or [output[-3000:]]))
        return output

    def count(self, output, pattern):
        """No file of cases is without a case: what was not run did not pass."""
        counted = re.search(pattern, output, re.M)
        self.assertTrue(counted and int(counted.group(1)) > 0, "no case was run")
