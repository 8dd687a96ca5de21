# scripts/build-console: what it fetches is what is pinned, or nothing; offline it says what to do, and works when
# the packages are there.
import base64
import hashlib
import http.server
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
SCRIPT = os.path.join("scripts", "build-console")
LONGEST_S = 120


def archive(files):
    """A package as a registry has it."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as packed:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return data.getvalue()


class Registry:
    """Answers every request for an archive with the same bytes."""

    def __init__(self, data):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass
        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class BuildConsole(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gbx-test-")
        self.addCleanup(shutil.rmtree, self.place)
        self.clone = os.path.join(self.place, "clone")
        os.makedirs(os.path.join(self.clone, "scripts"))
        shutil.copy(os.path.join(ROOT, SCRIPT), os.path.join(self.clone, "scripts"))
        shutil.copytree(os.path.join(ROOT, "console"), os.path.join(self.clone, "console"))

    def build(self, *words, registry="http://127.0.0.1:1/", cache=None, clone=None):
        env = {"PATH": "/usr/bin:/bin", "HOME": self.place, "npm_config_registry": registry,
               "XDG_CACHE_HOME": cache or os.path.join(self.place, "cache")}
        return subprocess.run([os.path.join(clone or self.clone, SCRIPT), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LONGEST_S, env=env)

    def pin(self, data, **more):
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
        package = {"name": "alone", "version": "1.0.0", "license": "MIT", "integrity": integrity, **more}
        with open(os.path.join(self.clone, "console", "packages.lock.json"), "w") as file:
            json.dump({"packages": [package]}, file)

    def kept(self):
        return [name for _, folders, files in os.walk(os.path.join(self.place, "cache")) for name in folders + files
                if name not in ("glovebox", "console", ".lock")]

    def test_what_is_not_pinned_is_refused_and_not_kept(self):
        registry = Registry(archive({"package/index.js": b"evil()"}))
        self.addCleanup(registry.close)
        self.pin(b"something else")
        built = self.build("--fetch", registry=registry.url)
        self.assertEqual(built.returncode, 1, built)
        self.assertIn("is not what console/packages.lock.json pins", built.stderr)
        self.assertNotIn("Traceback", built.stderr)
        self.assertEqual(self.kept(), [])

    def test_an_archive_writes_only_into_its_folder(self):
        data = archive({"package/../../../../escaped": b"x", "package/index.js": b""})
        registry = Registry(data)
        self.addCleanup(registry.close)
        self.pin(data)
        built = self.build("--fetch", registry=registry.url)
        self.assertEqual(built.returncode, 1, built)
        self.assertIn("the archive has a file named", built.stderr)
        self.assertEqual(self.kept(), [])
        self.assertNotIn("escaped", os.listdir(self.place))

    def test_without_a_network_it_says_what_to_do_and_leaves_nothing(self):
        built = self.build()
        self.assertEqual(built.returncode, 1, built)
        for words in ("cannot be fetched", "127.0.0.1:1", "are fetched once", os.path.join(self.place, "cache")):
            self.assertIn(words, built.stderr)
        self.assertNotIn("Traceback", built.stderr)
        self.assertEqual(self.kept(), [])
        self.assertFalse(os.path.exists(os.path.join(self.clone, "build", "console", "dist", "index.html")))

    def test_it_builds_offline_when_the_packages_are_there_and_always_the_same(self):
        first = subprocess.run([os.path.join(ROOT, SCRIPT), "--fetch"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST_S)
        if first.returncode != 0 and "cannot be fetched" in first.stderr:
            self.skipTest("the packages are not here, and no registry gives them: " + first.stderr)
        self.assertEqual(first.returncode, 0, first)
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        manifests = []
        for name in ("one", "two"):
            out = os.path.join(self.place, name)
            built = self.build(out, cache=cache)
            self.assertEqual((built.returncode, built.stderr), (0, ""), built)
            with open(os.path.join(out, "manifest.json")) as file:
                manifests.append(json.load(file)["files"])
        self.assertEqual(manifests[0], manifests[1])
        names = {file["name"] for file in manifests[0]}
        with open(os.path.join(self.place, "one", "index.html")) as file:
            page = file.read()
        for name in page.split("/console/")[1:]:
            self.assertIn(name.split('"')[0], names)
        # A file that did not change is not written again: what is made of it is not made again.
        script = next(os.path.join(self.place, "one", name) for name in names if name.startswith("assets/main-") and name.endswith(".js"))
        before = os.stat(script).st_mtime_ns
        self.assertEqual(self.build(os.path.join(self.place, "one"), cache=cache).returncode, 0)
        self.assertEqual(os.stat(script).st_mtime_ns, before)


if __name__ == "__main__":
    unittest.main()
