# The newest JavaScript clients of E2B, unchanged, against a server of ours: js/*.test.mjs.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
import e2b_clients


class JavaScript(e2b_clients.Conformance):
    def test_commands(self):
        self.run_js("commands.test.mjs")

    def test_processes(self):
        self.run_js("processes.test.mjs")

    def test_files(self):
        self.run_js("files.test.mjs")

    def test_watch(self):
        self.run_js("watch.test.mjs")

    def test_pty(self):
        self.run_js("pty.test.mjs")

    def test_lifecycle(self):
        self.run_js("lifecycle.test.mjs")

    def test_snapshots(self):
        self.run_js("snapshots.test.mjs")

    def test_listing(self):
        self.run_js("listing.test.mjs")

    def test_signing(self):
        self.run_js("signing.test.mjs")

    def test_routing(self):
        self.run_js("routing.test.mjs")

    def test_interpreter(self):
        self.run_js("interpreter.test.mjs")


if __name__ == "__main__":
    e2b_clients.main("js")
