# One real install from the public package registry, by the ordinary settings of this host: requests,
# pydantic and numpy. Skipped, with the reason, only where the registry cannot be reached.
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server

PACKAGES = ["requests", "pydantic", "numpy"]
CODE = "import numpy, pydantic, requests, os\nprint(int(numpy.arange(4).sum()), pydantic.TypeAdapter(int).validate_python('7'), requests.codes.ok)"


def why_not():
    """Why the registry cannot be reached from this host by its own client, or None."""
    with tempfile.TemporaryDirectory() as place:
        ran = subprocess.run(["/usr/bin/python3", "-m", "pip", "download", "-q", "--no-deps", "--retries", "1", "--timeout", "20",
                              "--disable-pip-version-check", "-d", place, "idna"], capture_output=True, text=True, cwd=place,
                             stdin=subprocess.DEVNULL)
    return None if ran.returncode == 0 else ran.stderr.strip()[-300:] or "pip failed"


class Registry(server.Served):
    @classmethod
    def setUpClass(cls):
        reason = why_not()
        if reason:
            print("skipped: the package registry cannot be reached:", reason, flush=True)
            raise unittest.SkipTest(reason)
        super().setUpClass()

    @classmethod
    def prepare(cls):
        cls.layers = tempfile.mkdtemp(prefix="gbx-test-layers-")
        cls.env = {"GLOVEBOX_LAYERS_DIR": cls.layers}

    @classmethod
    def tidy(cls):
        shutil.rmtree(cls.layers, ignore_errors=True)

    def test_three_packages_are_installed_once_and_then_warm(self):
        wish = {"dependencies": {"packages": PACKAGES, "preload": ["requests", "pydantic", "numpy"]}}
        self.client.timeout = 170
        first = self.client.python(CODE, profile=wish)
        self.assertEqual((first["exit_code"], first["stdout"]), (0, "6 7 200\n"), first)
        self.assertTrue(first["dependencies"]["built"])
        self.assertTrue(first["warm"], first)
        names = {one["name"].lower() for one in self.client.get(f"/v1/layers/{first['dependencies']['layer']}").json["packages"]}
        self.assertLessEqual({"requests", "pydantic", "numpy", "urllib3", "idna", "certifi"}, names)
        for _ in range(5):
            again = self.client.python(CODE, profile=wish)
            self.assertEqual((again["stdout"], again["warm"], again["dependencies"]["built"]), ("6 7 200\n", True, False), again)
        # What it printed comes from the layer, and no network is there.
        where = self.client.python("import numpy, socket\nprint(numpy.__file__)\ntry:\n    socket.create_connection(('pypi.org', 443), 3)\n"
                                   "except OSError as e:\n    print(type(e).__name__)", profile=wish)
        self.assertIn("/opt/glovebox-packages/", where["stdout"])
        self.assertIn("gaierror", where["stdout"])


if __name__ == "__main__":
    sealed.main()
