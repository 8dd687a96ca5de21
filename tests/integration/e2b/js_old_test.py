# A JavaScript client of E2B that still uses the older routes: js/old_routes.test.mjs.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
import e2b_clients


class OldJavaScript(e2b_clients.Conformance):
    def test_old_routes(self):
        self.run_js("old_routes.test.mjs", client="js_old")


if __name__ == "__main__":
    e2b_clients.main("js_old")
