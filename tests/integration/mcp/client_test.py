# The stock client of the Model Context Protocol, unchanged, against a server of ours: the same cases
# over streamable HTTP, over `glovebox mcp`, and over one that starts a private server.
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
import sealed
import server

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
# For all cases; one that is stuck says so itself before that.
LONGEST_S = 150


class StockClient(server.Served):
    def tearDown(self):
        alive = self.client.get("/v1/sandboxes?project=*&state=pending,starting,running,paused")
        self.assertEqual(alive.json["sandboxes"], [], "a case did not end its sandbox")

    def run_cases(self, transport):
        key, _ = self.server.new_key(project="assistants")
        clean = {name: value for name, value in sealed.environment().items()
                 if not name.startswith(("GBX", "NODE")) and not name.lower().endswith("_proxy")}
        with tempfile.TemporaryDirectory(prefix="gbx-test-") as home:
            environment = {**clean, "GBX_TRANSPORT": transport, "GBX_URL": self.server.url, "GBX_KEY": key,
                           "GBX_PROGRAM": sealed.GLOVEBOX, "GBX_HOME": home,
                           "GBX_CLIENT": os.path.join(ROOT, "build", "clients", "mcp")}
            command = ["node", "--test-force-exit", "--test-timeout=60000", "--test-reporter=tap", "cases.test.mjs"]
            try:
                ran = subprocess.run(command, cwd=os.path.dirname(os.path.realpath(__file__)), env=environment,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     timeout=LONGEST_S)
            except subprocess.TimeoutExpired as late:
                self.fail(f"it does not end:\n{(late.stdout or b'').decode(errors='replace')}")
        output = ran.stdout.decode(errors="replace")
        print(output, flush=True)
        failed = [line for line in output.splitlines() if re.match(r"\s*not ok", line)]
        self.assertEqual((ran.returncode, failed), (0, []), output[-3000:])
        counted = re.search(r"^# tests (\d+)$", output, re.M)
        self.assertTrue(counted and int(counted.group(1)) >= 13, "no case was run")

    def test_http(self):
        self.run_cases("http")

    def test_stdio(self):
        self.run_cases("stdio")

    def test_private_server(self):
        self.run_cases("private")


if __name__ == "__main__":
    if os.environ.get("GBX_SEALED") is None:
        installed = subprocess.run([os.path.join(ROOT, "scripts", "install-mcp-client")],
                                   stdin=subprocess.DEVNULL, stdout=sys.stderr)
        if installed.returncode == 77:
            print("skipped: the MCP client is not here, and no registry gives it (see above)")
        if installed.returncode != 0:
            sys.exit(installed.returncode)
    sealed.main()
