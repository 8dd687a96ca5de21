"""The program that fetches images (src/guest/images), outside of a sandbox, against a registry on loopback: what
it makes of honest answers, and in which words it refuses others.
"""
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import image_archives as images
import registries

PYTHON = os.environ.get("GBX_TRY_PYTHON", "/usr/bin/python3")
PROGRAM = str(ROOT / "src" / "guest" / "images" / "image_fetch.py")


class Fetched:
    def __init__(self, root, done):
        self.status, self.error_output = done.returncode, done.stderr.decode()
        line, _, self.archive = done.stdout.partition(b"\n")
        self.found = json.loads(line) if line else None
        path = os.path.join(root, "out", "result.json")
        self.failure = {}
        if os.path.exists(path):
            with open(path) as file:
                self.failure = json.load(file)
        self.request_is_there = os.path.exists(os.path.join(root, "in", "request.json"))

    def files(self):
        with tarfile.open(fileobj=io.BytesIO(self.archive)) as archive:
            return {one.name: archive.extractfile(one).read() for one in archive.getmembers()}

    def __repr__(self):
        return f"{self.status} {self.found} {self.failure} {self.error_output}"


class Case(unittest.TestCase):
    def setUp(self):
        self.registry = registries.OwnRegistry(None, 0)
        self.addCleanup(self.registry.stop)
        self.elsewhere = registries.Service(None, 0)
        self.addCleanup(self.elsewhere.stop)
        self.here = f"127.0.0.1:{self.registry.port}"
        self.there = f"127.0.0.1:{self.elsewhere.port}"
        self.layers = [images.Layer().file("a", os.urandom(3_000_000)).bytes(), images.Layer().file("b", "b").bytes()]
        self.descriptor = self.registry.push("app", self.layers)
        self.manifest = json.loads(self.registry.manifests["/v2/app/manifests/1"][0])
        self.digest = self.manifest["layers"][0]["digest"]
        self.blob = self.registry.blobs[self.digest]
        self.path = "/v2/app/blobs/" + self.digest

    def fetch(self, reference="1", repository="app", hosts=(), most=10 ** 8, mirror="", platform=f"linux/{images.ARCHITECTURE}",
              **credentials):
        with tempfile.TemporaryDirectory(prefix="gbx-test-") as root:
            os.mkdir(os.path.join(root, "in"))
            with open(os.path.join(root, "in", "request.json"), "w") as file:
                json.dump({"url": f"http://{self.here}", "mirror": mirror, "hosts": [self.here, *hosts], "repository": repository,
                           "reference": reference, "platform": platform, "most_bytes": most, "credentials": credentials}, file)
            return Fetched(root, subprocess.run([PYTHON, "-I", "-B", "-u", PROGRAM, root], capture_output=True, timeout=120,
                                                env={"PATH": "/usr/bin:/bin", "http_proxy": "http://127.0.0.1:1/"}))

    def good(self, *words, **more):
        fetched = self.fetch(*words, **more)
        self.assertEqual((fetched.status, fetched.failure), (0, {}), fetched)
        return fetched

    def failed(self, kind, *words, **more):
        fetched = self.fetch(*words, **more)
        self.assertEqual((fetched.status, fetched.failure.get("kind")), (1, kind), fetched)
        return fetched.failure["error"]

    def send(self, handler, status, body=b"", **headers):
        self.registry.send(handler, status, body, **headers)
        return True

    def asked(self):
        return [one["range"] for one in self.registry.requests if one["path"] == self.path]


class Archives(Case):
    def test_an_archive_that_has_all(self):
        fetched = self.good()
        self.assertEqual(fetched.found, {"manifest": self.descriptor["digest"][7:], "config": self.manifest["config"]["digest"][7:],
                                         "bytes": sum(one["size"] for one in self.manifest["layers"]), "layers": 2})
        files = fetched.files()
        self.assertEqual(json.loads(files["index.json"])["manifests"], [self.descriptor])
        for digest, blob in self.registry.blobs.items():
            self.assertEqual(files["blobs/sha256/" + digest[7:]], blob)
        self.assertFalse(fetched.request_is_there, "it has the credentials")
        self.assertIn("layer 1 of 2", fetched.error_output)
        # One connection is enough for all of it.
        self.assertEqual({one["authorization"] for one in self.registry.requests}, {None})

    def test_the_same_layer_twice_is_fetched_once(self):
        self.registry.push("twice", [self.layers[0], self.layers[0]])
        self.assertEqual(self.good(repository="twice").found["bytes"], len(self.blob))
        self.assertEqual(len([one for one in self.registry.requests if one["path"].endswith(self.digest)]), 1)

    def test_an_index(self):
        other = self.registry.push("app", [b""], tag="other", architecture="s390x")
        entries = [{**other, "platform": {"os": "linux", "architecture": "s390x"}},
                   {**other, "platform": {"os": "unknown", "architecture": "unknown"}},
                   {**self.descriptor, "platform": {"os": "linux", "architecture": images.ARCHITECTURE}}]
        index = {"schemaVersion": 2, "mediaType": registries.OCI_INDEX, "manifests": entries}
        top = self.registry.put("app", "all", index)
        self.assertEqual(self.good("all").found["manifest"], top["digest"][7:])
        self.good(top["digest"])
        self.registry.put("app", "foreign", {**index, "manifests": entries[:2]})
        self.assertIn("only for: linux/s390x", self.failed("unsupported", "foreign"))
        self.assertIn("linux/s390x", self.failed("unsupported", "other"))
        nested = top
        for _ in range(3):
            nested = self.registry.put("app", "nested", {**index, "manifests": [nested]})
        self.assertIn("nested", self.failed("invalid", "nested"))

    def test_a_mirror(self):
        self.registry.push("hub/app", self.layers)
        self.good(mirror=f"http://{self.here}/nothing")
        self.assertIn("/nothing/v2/app/manifests/1", [one["path"] for one in self.registry.requests])
        self.registry.requests.clear()
        self.good(mirror=f"http://{self.here}/nothing", username="me", password="secret")
        self.assertNotIn("/nothing/v2/app/manifests/1", [one["path"] for one in self.registry.requests])

    def test_what_is_not_there(self):
        self.assertIn("manifest unknown", self.failed("not_found", "2"))


class Interruptions(Case):
    def test_continued_where_it_ended(self):
        self.registry.spoil[self.path] = lambda handler, request: self.registry.send_blob(handler, self.blob, request, cut=1_200_000)
        self.assertEqual(self.good().files()["blobs/sha256/" + self.digest[7:]], self.blob)
        self.assertEqual(self.asked(), [None, "bytes=1200000-", "bytes=2400000-"])

    def test_without_ranges(self):
        self.registry.spoil[self.path] = lambda handler, request: self.registry.send_blob(
            handler, self.blob, request, ranges=False, cut=None if request["range"] else 1_200_000)
        self.assertEqual(self.good().files()["blobs/sha256/" + self.digest[7:]], self.blob)

    def test_another_range_than_was_asked_for(self):
        def wrong(handler, request):
            if not request["range"]:
                return self.registry.send_blob(handler, self.blob, request, cut=1_200_000)
            return self.send(handler, 206, self.blob[1000:], Content_Range=f"bytes 1000-{len(self.blob) - 1}/{len(self.blob)}")

        self.registry.spoil[self.path] = wrong
        self.assertIn("another range", self.failed("invalid"))

    def test_given_up(self):
        self.registry.spoil[self.path] = lambda handler, request: self.registry.send_blob(handler, self.blob, request, cut=0)
        self.assertIn("to its end", self.failed("interrupted"))
        self.assertEqual(len(self.asked()), 5)

    def test_a_busy_registry_is_asked_again(self):
        left = [503, 429]
        self.registry.spoil["/v2/app/manifests/1"] = lambda handler, _: self.send(handler, left.pop()) if left else None
        self.good()
        self.registry.spoil["/v2/app/manifests/1"] = lambda handler, _: self.send(handler, 503)
        self.assertIn("503", self.failed("unreachable"))


class Hosts(Case):
    def redirect(self, target):
        self.registry.spoil[self.path] = lambda handler, _: self.send(handler, 307, Location=target)

    def test_redirects(self):
        self.redirect(f"http://{self.there}/blob")
        self.assertIn("host=" + self.there, self.failed("policy"))
        for target in ("http://169.254.169.254/latest", "http://[::1]:7070/", f"http://localhost:{self.elsewhere.port}/"):
            self.redirect(target)
            self.failed("policy")
        for target in (f"http://{self.here}@{self.there}/", "file:///etc/passwd", "http://", "gopher://x/", f"http://{self.here}/a b",
                       "http://a:port/", ""):
            self.redirect(target)
            self.failed("invalid")
        self.redirect(f"http://{self.here}{self.path}")
        self.assertIn("too often", self.failed("invalid"))
        self.assertEqual(self.elsewhere.requests, [])
        # The control: where it is listed it is asked, without credentials; what it says is too short.
        self.redirect(f"http://{self.there}/blob")
        self.assertIn("shorter", self.failed("digest", hosts=[self.there], username="me", password="secret"))
        self.assertEqual([one["authorization"] for one in self.elsewhere.requests], [None])

    def test_a_list_with_wildcards(self):
        sys.path.insert(0, os.path.dirname(PROGRAM))
        sys.dont_write_bytecode = True
        self.addCleanup(sys.path.remove, os.path.dirname(PROGRAM))
        import failure
        import registry

        hosts = registry.Hosts(["*.cdn.example:443", "[2001:db8::1]:5000", "192.0.2.1:5000"], is_plain=True)
        for url in ("https://a.cdn.example/", "https://a.b.cdn.example/x", "http://[2001:db8::1]:5000/", "http://192.0.2.1:5000/"):
            hosts.check(registry.Place(url), "it")
        for url in ("https://cdn.example/", "https://acdn.example/", "https://a.cdn.example:444/", "http://a.cdn.example/",
                    "https://a.cdn.example.evil/", "http://192.0.2.1/"):
            with self.assertRaises(failure.Failure, msg=url):
                hosts.check(registry.Place(url), "it")
        with self.assertRaises(failure.Failure):
            registry.Hosts(["a.example:80"], is_plain=False).check(registry.Place("http://a.example/"), "it")


class Authorization(Case):
    def challenge(self, words):
        self.registry.spoil["/v2/app/*"] = lambda handler, request: None if request["authorization"] else self.send(
            handler, 401, WWW_Authenticate=words)

    def bearer(self, realm):
        self.challenge(f'Bearer realm="{realm}",service="s, t",scope="repository:app:pull,push,delete"')

    def test_tokens(self):
        self.bearer(f"http://{self.here}/token?x=1")
        self.registry.spoil["/token"] = lambda handler, _: self.send(handler, 200, b'{"access_token": "t0ken"}')
        self.good()
        self.good(username="me", password="secret")
        tokens = [one for one in self.registry.requests if one["path"] == "/token"]
        # Never more than reading, whatever it asks for.
        self.assertEqual(tokens[0]["query"], {"x": "1", "service": "s, t", "scope": "repository:app:pull"})
        self.assertEqual([one["authorization"] for one in tokens], [None, "Basic bWU6c2VjcmV0"])
        self.assertEqual({one["authorization"] for one in self.registry.requests if "/blobs/" in one["path"]}, {"Bearer t0ken"})
        self.good(identity_token="identity")
        posted = [one["body"] for one in self.registry.requests if one["method"] == "POST"]
        self.assertEqual(len(posted), 1)
        self.assertIn("refresh_token=identity", posted[0])

    def test_a_token_server_elsewhere(self):
        self.bearer(f"http://{self.there}/token")
        self.assertIn("host=" + self.there, self.failed("policy", username="me", password="secret"))
        self.assertEqual(self.elsewhere.requests, [])
        for realm in ("", "nonsense", "/token"):
            self.bearer(realm)
            self.failed("invalid")

    def test_malformed_tokens(self):
        self.bearer(f"http://{self.here}/token")
        for answer in (b"", b"[]", b"{}", b'{"token": 1}', b'{"token": "a\\r\\nb"}', json.dumps({"token": "x" * 100_000}).encode()):
            self.registry.spoil["/token"] = lambda handler, _, answer=answer: self.send(handler, 200, answer)
            self.failed("invalid")
        self.registry.spoil["/token"] = lambda handler, _: self.send(handler, 401, {"errors": [{"message": "no\x1b[31m"}]})
        error = self.failed("unauthorized")
        self.assertIn("no", error)
        self.assertNotIn("\x1b", error)

    def test_a_password(self):
        self.challenge('Basic realm="x"')
        self.assertIn("docker login", self.failed("unauthorized"))
        self.good(username="me", password="secret")

    def test_a_token_is_not_in_an_error(self):
        self.registry.spoil["/v2/app/*"] = lambda handler, request: self.send(
            handler, 400, {"errors": [{"message": f"you said {request['authorization']}"}]})
        self.assertIn("you said Bearer ****", self.failed("invalid", registry_token="t0psecret"))


class Lies(Case):
    def test_about_digests(self):
        other = bytearray(self.blob)
        other[5000] ^= 1
        self.registry.spoil[self.path] = lambda handler, request: self.registry.send_blob(handler, bytes(other), request)
        self.assertIn("is not what its digest says", self.failed("digest"))
        self.registry.spoil[self.path] = lambda handler, request: self.registry.send_blob(handler, self.blob + b"x", request)
        self.assertIn("longer", self.failed("digest"))
        self.registry.spoil[self.path] = lambda handler, request: self.registry.send_blob(handler, self.blob[:-1], request)
        self.assertIn("shorter", self.failed("digest"))
        self.registry.spoil = {"/v2/app/blobs/" + self.manifest["config"]["digest"]: lambda handler, _: self.send(handler, 200, b"{}")}
        self.assertIn("configuration", self.failed("digest"))
        data = self.registry.manifests["/v2/app/manifests/1"][0] + b" "
        self.registry.spoil = {"/v2/app/manifests/*": lambda handler, _: self.send(handler, 200, data, Content_Type=images.OCI_MANIFEST)}
        self.assertIn("another manifest", self.failed("digest", self.descriptor["digest"]))
        self.registry.spoil = {"/v2/app/manifests/*": lambda handler, _: self.send(
            handler, 200, data, Content_Type=images.OCI_MANIFEST, Docker_Content_Digest=self.descriptor["digest"])}
        self.assertIn("another manifest", self.failed("digest"))

    def test_endless(self):
        def endless(handler, _):
            handler.send_response(200)
            handler.send_header("Content-Type", images.OCI_MANIFEST)
            handler.end_headers()
            while True:
                handler.wfile.write(bytes(1 << 16))

        for path in ("/v2/app/manifests/1", "/v2/app/blobs/" + self.manifest["config"]["digest"]):
            self.registry.spoil = {path: endless}
            self.assertIn("4 MB", self.failed("too_large"))
        self.registry.spoil = {self.path: endless}
        self.assertIn("longer", self.failed("digest"))
        self.registry.spoil = {}
        self.assertIn("the limit is", self.failed("too_large", most=1_000_000))

    def test_documents(self):
        config = {**self.manifest["config"], "mediaType": "application/vnd.cncf.helm.config.v1+json"}
        layer = self.manifest["layers"][0]
        for kind, document, media_type in (
                ("unsupported", {**self.manifest, "config": config}, None),
                ("unsupported", {**self.manifest, "layers": [{**layer, "mediaType": "application/x"}]}, None),
                ("unsupported", {**self.manifest, "layers": [{**layer, "digest": "sha512:" + "0" * 128}]}, None),
                ("unsupported", {"schemaVersion": 1, "fsLayers": []}, "application/json"),
                ("unsupported", {"schemaVersion": 2, "mediaType": "application/vnd.example"}, None),
                ("invalid", {**self.manifest, "layers": [layer] * 600}, None),
                ("invalid", {**self.manifest, "layers": [{**layer, "size": -1}]}, None),
                ("invalid", {**self.manifest, "layers": [{**layer, "size": True}]}, None),
                ("invalid", {**self.manifest, "layers": 1}, None), ("invalid", {**self.manifest, "config": []}, None),
                ("invalid", b"[]", images.OCI_MANIFEST), ("invalid", b"\xff", images.OCI_MANIFEST),
                ("invalid", b'{"a":' + b"[" * 100_000, images.OCI_MANIFEST)):
            self.registry.put("odd", "1", document, media_type)
            with self.subTest(document=str(document)[:60]):
                self.failed(kind, repository="odd")
        self.good()


if __name__ == "__main__":
    unittest.main()
