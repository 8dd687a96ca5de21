# The stock E2B clients' network options against a server on the test internet: python/network_cases.py
# and js/network.test.mjs.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
import e2b_clients
import networked
import test_internet as net

setUpModule = networked.set_up
tearDownModule = networked.tear_down


class Network(e2b_clients.Conformance):
    settings = {"net.resolvers": net.RESOLVER}

    def test_python(self):
        self.run_python("network_cases")

    def test_older_python(self):
        self.run_python("network_cases", client="python_old")

    def test_js(self):
        self.run_js("network.test.mjs")


if __name__ == "__main__":
    e2b_clients.main("python", "python_old", "js", network=True)
