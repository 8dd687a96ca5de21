# The Python clients of E2B, unchanged, against a server of ours: python/*_cases.py. Both the newest
# and the one that still uses the older routes.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
import e2b_clients


class Python(e2b_clients.Conformance):
    def test_sync(self):
        self.run_python("sync_cases")

    def test_async(self):
        self.run_python("async_cases")

    def test_interpreter(self):
        self.run_python("interpreter_cases")

    def test_input_streams(self):
        self.run_python("input_stream_cases")

    def test_older_client(self):
        for cases in ("sync_cases", "async_cases", "interpreter_cases"):
            with self.subTest(cases=cases):
                self.run_python(cases, client="python_old")


if __name__ == "__main__":
    e2b_clients.main("python", "python_old")
