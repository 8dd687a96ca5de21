# Pulling images: from Debian's docker-registry with and without credentials, from one that breaks off, and from
# hostile ones. Every attack has a control: the same without the attack is pulled.
import base64
import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import image_archives as images
import networked
import registries
import sealed
import server
import test_internet as net
from image_archives import Layer, busybox_layer, oci_archive
from registries import OWN, PASSWORD, PRIVATE, PRIVATE_ADDRESS, REAL, SECURE, TOKENS, BASIC, USER

there = None


def setUpModule():
    global there
    if registries.needed:
        raise unittest.SkipTest(" ".join(registries.needed) + ": not installed (make deps-test)")
    if not os.path.exists(images.BUSYBOX):
        raise unittest.SkipTest("busybox-static is not installed")
    networked.set_up()
    there = registries.Registries(networked.internet)


def tearDownModule():
    if there:
        there.stop()
        networked.tear_down()


class Pulls(server.Served):
    more = {}

    @classmethod
    def prepare(cls):
        cls.layers = tempfile.mkdtemp(prefix="gbx-test-layers-")
        cls.env = {"GLOVEBOX_LAYERS_DIR": cls.layers}
        # Ordinary sandboxes have no network at all here.
        cls.settings = {"net.ceiling": "none", "net.resolvers": net.RESOLVER, "images.registries": there.entries(),
                        "images.max_size": "90M", **cls.more}

    @classmethod
    def tidy(cls):
        shutil.rmtree(cls.layers, ignore_errors=True)

    def setUp(self):
        super().setUp()
        there.own.forget()
        there.secure.forget()
        there.tokens.requests = []
        there.private.requests = []

    def tearDown(self):
        self.assertTrue(sealed.wait_until(self.remove_all, 60), self.client.get("/v1/images"))

    def remove_all(self):
        found = self.client.get("/v1/images").json["images"]
        for image in found:
            self.client.call("DELETE", f"/v1/images/{image['id']}")
        return not found

    def pull(self, name, status=201, client=None, **credentials):
        body = {"name": name, **({"credentials": credentials} if credentials else {})}
        answer = (client or self.client).call("POST", "/v1/images/pull", body)
        self.assertEqual(answer.status, status, answer)
        return answer.json

    def refused(self, name, status, code, **more):
        """The message; and nothing of it is left."""
        error = self.pull(name, status=status, **more)["error"]
        self.assertEqual(error["code"], code, error)
        self.assertEqual(self.client.get("/v1/images").json["images"], [])
        self.assertTrue(sealed.wait_until(
            lambda: not [one for one in os.listdir(self.layers + "/sets") if one.startswith(("new-", "gone-"))]
            if os.path.isdir(self.layers + "/sets") else True, 30))
        return error["message"]

    def printed(self, image, *command):
        answer = self.client.post_run(profile={"image": image}, command=list(command))
        self.assertEqual((answer.status, answer.json["exit_code"]), (200, 0), answer)
        return answer.json["stdout"]


class FromRegistries(Pulls):
    def test_an_image_that_skopeo_pushed_is_pulled_and_run(self):
        name = f"registry.example.org:{REAL}/team/app:1"
        there.real.push(oci_archive([busybox_layer().bytes(), Layer().file("said", "by the layer").bytes()],
                                    Cmd=["/bin/cat", "/said"], Env=["PATH=/bin"]), "team/app:1")
        pulled = self.pull(name)
        self.assertEqual((pulled["names"], pulled["layers"], pulled["new"]), ([name], 2, True))
        answer = self.client.post_run(profile={"image": name})
        self.assertEqual(answer.json["stdout"], "by the layer", answer)
        # The same again is not downloaded.
        self.assertFalse(self.pull(name)["new"])
        # A tag that means another image moves.
        there.real.push(oci_archive([busybox_layer().file("newer").bytes()]), "team/app:1")
        other = self.pull(name)
        self.assertNotEqual(other["id"], pulled["id"])
        self.assertEqual(self.client.get(f"/v1/images/{pulled['id']}").json["names"], [])

    @unittest.skipUnless(shutil.which("zstd"), "zstd is not installed")
    def test_layers_compressed_with_zstd(self):
        there.own.push("zstd", [busybox_layer().bytes()], form="zstd", compress=lambda layer: subprocess.run(
            ["zstd", "-q"], input=layer, check=True, capture_output=True).stdout)
        name = f"own.example.org:{OWN}/zstd:1"
        self.pull(name)
        self.assertEqual(self.printed(name, "/bin/echo", "unpacked"), "unpacked\n")

    def test_an_index_gives_this_machines_image(self):
        there.real.push(oci_archive([busybox_layer().bytes()]), "team/many:this")
        digest, size = there.real.manifest("team/many", "this")
        there.real.push(oci_archive([Layer().file("x").bytes()], architecture="s390x"), "team/many:other")
        other, other_size = there.real.manifest("team/many", "other")
        entries = [(other, other_size, "linux", "s390x"), (digest, size, "linux", images.ARCHITECTURE)]
        index = {"schemaVersion": 2, "mediaType": registries.OCI_INDEX, "manifests": [
            {"mediaType": images.OCI_MANIFEST, "digest": each, "size": its, "platform": {"os": system, "architecture": machine}}
            for each, its, system, machine in entries]}
        there.real.put_manifest("team/many", "all", index, registries.OCI_INDEX)
        place = f"registry.example.org:{REAL}/team/many"
        self.pull(place + ":all")
        self.assertEqual(self.printed(place + ":all", "/bin/echo", "this one"), "this one\n")
        # By the digest of the index, and of the manifest.
        by_index = f"{place}@sha256:{images.sha256(json.dumps(index).encode())}"
        self.assertEqual(self.pull(by_index)["names"], [f"{place}:all", by_index])
        self.pull(f"{place}@{digest}")
        self.assertEqual(self.printed(by_index, "/bin/echo", "same"), "same\n")
        self.remove_all()
        self.assertIn("s390x", self.refused(f"{place}:other", 422, "unsupported"))
        index["manifests"] = index["manifests"][:1]
        there.real.put_manifest("team/many", "foreign", index, registries.OCI_INDEX)
        self.assertIn("s390x", self.refused(f"{place}:foreign", 422, "unsupported"))

    def test_progress_comes_as_events(self):
        there.real.push(oci_archive([busybox_layer().bytes()]), "team/events:1")
        answer = self.client.call("POST", "/v1/images/pull", {"name": f"registry.example.org:{REAL}/team/events:1"},
                                  {"Accept": "application/x-ndjson"})
        events = [json.loads(line) for line in answer.text.splitlines()]
        phases = list(dict.fromkeys(one["phase"] for one in events[:-1]))
        self.assertEqual(phases, ["resolving", "fetching", "checking", "unpacking", "sealing"])
        self.assertIn("layer 1 of 1", [one["text"] for one in events if one.get("phase") == "fetching"][0])
        self.assertEqual(events[-1]["event"], "image")
        # An error behind the beginning is the last event.
        answer = self.client.call("POST", "/v1/images/pull", {"name": f"registry.example.org:{REAL}/team/none"},
                                  {"Accept": "application/x-ndjson"})
        last = json.loads(answer.text.splitlines()[-1])
        self.assertEqual((last["event"], last["code"], last["status"]), ("error", "image_not_found", 404))

    def test_what_is_not_there_and_what_is_not_listed(self):
        there.real.push(oci_archive([busybox_layer().bytes()]), "team/app:1")
        self.assertIn("manifest", self.refused(f"registry.example.org:{REAL}/team/app:none", 404, "image_not_found"))
        self.refused(f"registry.example.org:{REAL}/team/app@sha256:{'0' * 64}", 404, "image_not_found")
        for name in ("python", "ghcr.io/x/y", f"10.20.0.90:{REAL}/team/app:1", "registry.example.org/team/app:1",
                     "169.254.169.254/latest/meta-data", "localhost:7070/x"):
            self.assertIn("images.registries", self.refused(name, 403, "policy"), name)
        self.assertIn("cannot be reached", self.refused(f"closed.example.org:{registries.CLOSED}/x", 502, "registry_unavailable"))

    def test_a_mirror_is_asked_first_and_the_registry_if_it_has_not(self):
        there.own.push("team/mirrored", [busybox_layer().bytes()])
        there.real.push(oci_archive([busybox_layer().file("real").bytes()]), "team/direct:1")
        self.pull(f"mirrored.example.org:{REAL}/team/mirrored:1")
        self.assertTrue(there.own.requests)
        self.pull(f"mirrored.example.org:{REAL}/team/direct:1")
        self.assertEqual(self.printed(f"mirrored.example.org:{REAL}/team/direct:1", "/bin/ls", "/real"), "/real\n")
        # Credentials are for the registry: a mirror would show every client what it has.
        there.own.requests.clear()
        self.pull(f"mirrored.example.org:{REAL}/team/direct:1", username=USER, password=PASSWORD)
        self.assertEqual(there.own.requests, [])

    def test_tls_with_certificates_of_the_administrator(self):
        there.secure.push("team/app", [busybox_layer().bytes()])
        self.pull(f"good.example.org:{SECURE}/team/app:1")
        # The control: the same registry by a name that its certificate does not have.
        self.assertIn("certificate", self.refused_after(f"www.example.org:{SECURE}/team/app:1"))

    def refused_after(self, name):
        self.remove_all()
        return self.refused(name, 502, "registry_unavailable")


class WithCredentials(Pulls):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        there.tokens.users["pusher"] = ("pushing", [])
        there.with_tokens.push(oci_archive([busybox_layer().bytes()]), "team/app:1", "--dest-creds", "pusher:pushing")
        there.with_tokens.push(oci_archive([busybox_layer().bytes()]), "team/secret:1", "--dest-creds", "pusher:pushing")
        there.basic.push(oci_archive([busybox_layer().bytes()]), "team/app:1", "--dest-creds", f"{USER}:{PASSWORD}")

    NAME = f"tokens.example.org:{TOKENS}/team/app:1"

    def test_tokens(self):
        self.refused(self.NAME, 403, "registry_unauthorized")
        self.refused(self.NAME, 403, "registry_unauthorized", username=USER, password="wrong")
        self.refused(f"tokens.example.org:{TOKENS}/team/secret:1", 403, "registry_unauthorized", username=USER, password=PASSWORD)
        there.tokens.requests.clear()
        self.pull(self.NAME, username=USER, password=PASSWORD)
        self.assertEqual({one["query"]["scope"] for one in there.tokens.requests}, {"repository:team/app:pull"})
        self.assertEqual(self.printed(self.NAME, "/bin/echo", "pulled"), "pulled\n")
        self.remove_all()
        self.pull(self.NAME, identity_token=there.tokens.identity)
        self.remove_all()
        self.pull(self.NAME, registry_token=there.tokens.token(USER, "team/app", ["pull"]))

    def test_a_password(self):
        name = f"basic.example.org:{BASIC}/team/app:1"
        self.refused(name, 403, "registry_unauthorized")
        self.refused(name, 403, "registry_unauthorized", username=USER, password="wrong")
        self.pull(name, username=USER, password=PASSWORD)
        self.assertEqual(self.printed(name, "/bin/echo", "pulled"), "pulled\n")

    def test_another_project_shows_its_own_right(self):
        one, _ = self.server.new_key(project="one")
        two, _ = self.server.new_key(project="two")
        self.pull(self.NAME, client=self.server.client(one), username=USER, password=PASSWORD)
        for credentials in ({}, {"username": USER, "password": "wrong"}):
            answer = self.pull(self.NAME, status=403, client=self.server.client(two), **credentials)
            self.assertEqual(answer["error"]["code"], "registry_unauthorized")
        self.assertEqual(self.server.client(two).get("/v1/images").json["images"], [])
        # The first one, too, when the registry no longer lets it.
        there.tokens.users[USER] = (PASSWORD, [])
        self.addCleanup(there.tokens.users.update, {USER: (PASSWORD, ["team/app"])})
        self.pull(self.NAME, status=403, client=self.server.client(one), username=USER, password=PASSWORD)

    def test_credentials_are_kept_nowhere(self):
        pulled = self.pull(self.NAME, username=USER, password=PASSWORD)
        self.assertEqual(self.printed(self.NAME, "/bin/env").count(PASSWORD), 0)
        self.refused_with(self.NAME + "x")
        self.server.wait_written()
        pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        places = [self.server.data, self.layers, self.server.log_path]
        found = subprocess.run(["grep", "-rlaF", "-e", PASSWORD, "-e", pair, *places], capture_output=True, text=True)
        self.assertEqual((found.returncode, found.stdout), (1, ""), found)
        # The control: what is there is found so.
        found = subprocess.run(["grep", "-rlaF", "-e", pulled["digest"], *places], capture_output=True, text=True)
        self.assertNotEqual(found.stdout, "")

    def refused_with(self, name):
        self.pull(name, status=404, username=USER, password=PASSWORD)


class CommandLine(Pulls):
    def setUp(self):
        super().setUp()
        self.home = tempfile.TemporaryDirectory(prefix="gbx-test-")
        self.addCleanup(self.home.cleanup)

    def glovebox(self, *words, status=0, **variables):
        done = subprocess.run([sealed.GLOVEBOX, *words], capture_output=True, text=True, timeout=120, env=sealed.environment({
            "GLOVEBOX_URL": self.server.url, "GLOVEBOX_API_KEY": self.server.key, "HOME": self.home.name,
            "DOCKER_CONFIG": self.home.name, "REGISTRY_AUTH_FILE": "", **variables}))
        self.assertEqual(done.returncode, status, done)
        return done

    def config(self, **fields):
        with open(os.path.join(self.home.name, "config.json"), "w") as file:
            json.dump(fields, file)

    def test_a_run_pulls_what_is_missing(self):
        there.own.push("app", [busybox_layer().bytes()], Cmd=["/bin/echo", "its own"])
        name = f"own.example.org:{OWN}/app:1"
        self.assertIn("there is no image", self.glovebox("run", "--image", name, "--pull", "never", status=125).stderr)
        done = self.glovebox("run", "--image", name)
        self.assertEqual(done.stdout, "its own\n")
        self.assertIn("downloading", done.stderr)
        there.own.requests.clear()
        self.assertEqual(self.glovebox("run", "--image", name).stdout, "its own\n")
        self.assertEqual(there.own.requests, [])
        # Another one of that name comes only if it is asked for.
        there.own.push("app", [busybox_layer().file("newer").bytes()], Cmd=["/bin/echo", "newer"])
        self.assertEqual(self.glovebox("run", "--image", name, "--pull", "missing").stdout, "its own\n")
        self.assertEqual(json.loads(self.glovebox("run", "--json", "--image", name, "--pull", "always").stdout)["stdout"], "newer\n")
        sandbox = self.glovebox("sandbox", "create", "--image", f"own.example.org:{OWN}/app:1", "--pull", "always").stdout.strip()
        self.glovebox("sandbox", "kill", sandbox)
        self.assertIn("--pull", self.glovebox("run", "--pull", "always", "-c", "1", status=2).stderr)
        self.assertIn("sometimes", self.glovebox("run", "--image", "x", "--pull", "sometimes", status=2).stderr)
        error = self.glovebox("run", "--image", "python:3", status=125).stderr
        self.assertIn("images.registries", error)

    def test_pull(self):
        there.own.push("app", [busybox_layer().bytes()])
        done = self.glovebox("image", "pull", f"own.example.org:{OWN}/app:1")
        self.assertEqual(self.glovebox("image", "list", "-q").stdout, done.stdout)
        self.assertFalse(json.loads(self.glovebox("image", "pull", "--json", f"own.example.org:{OWN}/app:1").stdout)["new"])
        self.assertIn("manifest", self.glovebox("image", "pull", f"own.example.org:{OWN}/none", status=1).stderr)

    def test_credentials_of_docker_login(self):
        there.tokens.users["pusher"] = ("pushing", [])
        there.with_tokens.push(oci_archive([busybox_layer().bytes()]), "team/app:1", "--dest-creds", "pusher:pushing")
        registry = f"tokens.example.org:{TOKENS}"
        self.glovebox("image", "pull", f"{registry}/team/app:1", status=1)
        self.config(auths={registry: {"auth": base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()}})
        self.glovebox("image", "pull", "--anonymous", f"{registry}/team/app:1", status=1)
        self.glovebox("image", "pull", f"{registry}/team/app:1")
        self.remove_all()
        # A helper's.
        helper = os.path.join(self.home.name, "docker-credential-test")
        with open(helper, "w") as file:
            file.write(f"#!/bin/sh\nread -r asked\n[ \"$1 $asked\" = 'get {registry}' ] || exit 1\n"
                       f"echo '{{\"ServerURL\":\"x\",\"Username\":\"{USER}\",\"Secret\":\"{PASSWORD}\"}}'\n")
        os.chmod(helper, 0o755)
        self.config(credHelpers={registry: "test"})
        path = self.home.name + ":" + os.environ["PATH"]
        self.glovebox("image", "pull", f"{registry}/team/app:1", PATH=path)
        self.config(credHelpers={registry: "missing"})
        self.assertIn("docker-credential-missing", self.glovebox("image", "pull", f"{registry}/team/app:1", status=125).stderr)


class Interrupted(Pulls):
    def setUp(self):
        super().setUp()
        self.layer = busybox_layer().file("data", os.urandom(3_000_000)).bytes()
        there.own.push("app", [self.layer])
        self.blob = next(data for data in there.own.blobs.values() if len(data) > 1_000_000)
        self.path = "/v2/app/blobs/sha256:" + images.sha256(self.blob)
        self.name = f"own.example.org:{OWN}/app:1"

    def asked(self):
        return [one["range"] for one in there.own.requests if one["path"] == self.path]

    def test_a_connection_that_ends_is_continued_where_it_ended(self):
        there.own.spoil[self.path] = lambda handler, request: there.own.send_blob(handler, self.blob, request, cut=1_200_000)
        self.pull(self.name)
        self.assertEqual(self.asked()[:2], [None, "bytes=1200000-"])
        self.assertEqual(self.printed(self.name, "/bin/echo", "whole"), "whole\n")

    def test_a_registry_without_ranges_begins_again(self):
        there.own.spoil[self.path] = lambda handler, request: there.own.send_blob(
            handler, self.blob, request, ranges=False, cut=None if request["range"] else 1_200_000)
        self.pull(self.name)
        self.assertEqual(self.asked(), [None, "bytes=1200000-"])

    def test_one_that_always_ends_is_given_up(self):
        there.own.spoil[self.path] = lambda handler, request: there.own.send_blob(handler, self.blob, request, cut=0)
        self.assertIn("could not be read to its end", self.refused(self.name, 502, "registry_unavailable"))
        self.assertEqual(len(self.asked()), 5)

    def test_errors_that_pass(self):
        left = [503, 429]
        there.own.spoil["/v2/app/manifests/1"] = lambda handler, _: (
            (there.own.send(handler, left.pop()), True)[1] if left else None)
        self.pull(self.name)
        self.assertEqual(left, [])

    def test_a_client_that_goes_away_ends_the_fetching(self):
        def endless(handler, request):
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(self.blob)))
            handler.end_headers()
            handler.wfile.write(self.blob[:1000])
            handler.wfile.flush()
            handler.connection.recv(1)  # until the other side ends
            raise ConnectionError

        there.own.spoil[self.path] = endless
        body = json.dumps({"name": self.name}).encode()
        connection = self.raw(b"POST /v1/images/pull HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                              b"X-API-Key: %s\r\nContent-Length: %d\r\n\r\n" % (self.server.key.encode(), len(body)) + body)
        self.assertTrue(sealed.wait_until(lambda: self.asked() == [None], 30))
        # A second one of the project is told to wait.
        self.assertEqual(self.pull(self.name, status=503)["error"]["code"], "host_full")
        connection.shutdown(socket.SHUT_RDWR)
        connection.close()
        there.own.spoil.clear()
        self.assertTrue(sealed.wait_until(lambda: self.client.call(
            "POST", "/v1/images/pull", {"name": self.name}).status == 201, 30))


class TimeLimit(Pulls):
    more = {"images.pull_timeout": "10s"}

    def test_a_pull_has_a_time_limit(self):
        there.own.push("app", [busybox_layer().bytes()])
        name = f"own.example.org:{OWN}/app:1"
        self.pull(name)
        self.remove_all()
        there.own.spoil["/v2/app/manifests/1"] = lambda handler, _: handler.connection.recv(1)
        self.assertIn("images.pull_timeout", self.refused(name, 502, "registry_unavailable"))


class Hostile(Pulls):
    """`good` is the control: the same image without the attack is pulled."""

    def setUp(self):
        super().setUp()
        self.layer = busybox_layer().bytes()
        self.descriptor = there.own.push("app", [self.layer])
        self.name = f"own.example.org:{OWN}/app:1"

    def good(self):
        self.pull(self.name)
        self.remove_all()
        there.own.requests.clear()

    def blob_path(self):
        return next(path for path in (f"/v2/app/blobs/{digest}" for digest in there.own.blobs)
                    if len(there.own.blobs[path.rpartition("/")[2]]) > 10_000)

    def redirect(self, target, path=None):
        there.own.spoil[path or self.blob_path()] = lambda handler, request: (
            (there.own.send(handler, 307, Location=target), True)[1]
            if request["host"].startswith(("own.", "listed.", "good.")) and request["address"] != "93.184.216.95" else None)

    def test_redirects(self):
        self.good()
        path = self.blob_path()
        # The control: to a host of the list it is followed, and the credentials do not come along.
        self.redirect(f"http://cdn.example.org:{OWN}{path}")
        self.pull(self.name, username=USER, password=PASSWORD)
        followed = [one for one in there.own.requests if one["address"] == "93.184.216.95"]
        self.assertEqual([(one["path"], one["authorization"]) for one in followed], [(path, None)])
        self.remove_all()
        for target in (f"http://{PRIVATE_ADDRESS}:{PRIVATE}/", f"http://elsewhere.example.org:{PRIVATE}/", f"http://own.example.org:{PRIVATE}/",
                       "http://169.254.169.254/latest/meta-data/", "http://127.0.0.1:7070/v1/keys", "http://[::1]:7070/",
                       f"http://cdn.example.org@{PRIVATE_ADDRESS}:{PRIVATE}/", "file:///etc/passwd", "gopher://x/"):
            with self.subTest(target):
                self.redirect(target)
                answer = self.client.call("POST", "/v1/images/pull", {"name": self.name})
                self.assertIn((answer.status, answer.code), [(403, "policy"), (422, "image_invalid")], answer)
        self.redirect(f"http://own.example.org:{OWN}{path}")
        self.assertIn("too often", self.refused(self.name, 422, "image_invalid"))
        self.assertEqual(there.private.requests, [])
        self.assertEqual([one for one in networked.internet.reached() if one["address"] == "169.254.169.254"], [])

    def test_the_same_private_address_is_reached_where_it_is_listed(self):
        """The control of the test above: nothing but the list stands in the way."""
        self.redirect(f"http://{PRIVATE_ADDRESS}:{PRIVATE}/")
        self.pull(f"listed.example.org:{OWN}/app:1", status=422)
        self.assertEqual([one["address"] for one in there.private.requests], [PRIVATE_ADDRESS])

    def test_no_way_from_tls_to_plain_http(self):
        there.secure.push("app", [self.layer])
        self.pull(f"good.example.org:{SECURE}/app:1")
        self.remove_all()
        path = self.blob_path()
        there.secure.spoil[path] = lambda handler, _: (there.secure.send(
            handler, 307, Location=f"http://own.example.org:{OWN}{path}"), True)[1]
        there.own.requests.clear()
        self.assertIn("without TLS", self.refused(f"good.example.org:{SECURE}/app:1", 403, "policy"))
        self.assertEqual(there.own.requests, [])

    def test_a_token_server_elsewhere_gets_nothing(self):
        def challenge(realm):
            def answer(handler, request):
                if request["authorization"]:
                    return None
                there.own.send(handler, 401, {}, WWW_Authenticate=f'Bearer realm="{realm}",service="s",scope="repository:app:pull"')
                return True

            return answer

        # The control: a listed one gives a token, and gets the credentials.
        there.own.spoil["/token"] = lambda handler, _: (there.own.send(handler, 200, {"token": "t0ken"}), True)[1]
        there.own.spoil["/v2/app/*"] = challenge(f"http://cdn.example.org:{OWN}/token")
        self.pull(self.name, username=USER, password=PASSWORD)
        asked = [one for one in there.own.requests if one["path"] == "/token"]
        self.assertEqual(asked[0]["authorization"], "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode())
        self.assertIn("Bearer t0ken", {one["authorization"] for one in there.own.requests})
        self.remove_all()
        for realm in (f"http://elsewhere.example.org:{PRIVATE}/token", f"http://{PRIVATE_ADDRESS}:{PRIVATE}/token", "not an address", ""):
            with self.subTest(realm):
                there.own.spoil["/v2/app/*"] = challenge(realm)
                answer = self.client.call("POST", "/v1/images/pull", {"name": self.name, "credentials": {
                    "username": USER, "password": PASSWORD}})
                self.assertIn(answer.status, (403, 422), answer)
                self.assertNotIn(PASSWORD, answer.text)
        self.assertEqual(there.private.requests, [])

    def test_a_registry_that_repeats_credentials_in_its_errors(self):
        def repeat(handler, request):
            there.own.send(handler, 400, {"errors": [{"code": "X", "message": f"you said {request['authorization']}"}]})
            return True

        there.own.spoil["/v2/app/*"] = lambda handler, request: repeat(handler, request) if request["authorization"] else (
            there.own.send(handler, 401, {}, WWW_Authenticate='Basic realm="x"'), True)[1]
        message = self.refused(self.name, 422, "image_invalid", username=USER, password=PASSWORD)
        self.assertIn("you said", message)
        self.assertIn("****", message)
        self.assertNotIn(base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode(), message)

    def test_lies_about_digests(self):
        self.good()
        path = self.blob_path()
        other = gzip.compress(busybox_layer().file("evil").bytes())
        there.own.spoil[path] = lambda handler, request: there.own.send_blob(handler, other, request)
        self.refused(self.name, 422, "image_invalid")
        same_size = bytearray(there.own.blobs[path.rpartition("/")[2]])
        same_size[len(same_size) // 2] ^= 1
        there.own.spoil[path] = lambda handler, request: there.own.send_blob(handler, bytes(same_size), request)
        self.assertIn("is not what its digest says", self.refused(self.name, 422, "image_invalid"))
        there.own.spoil.clear()
        # A manifest by its digest, and the configuration.
        by_digest = f"own.example.org:{OWN}/app@{self.descriptor['digest']}"
        self.pull(by_digest)
        self.remove_all()
        data = there.own.manifests["/v2/app/manifests/1"][0] + b" "
        there.own.spoil[f"/v2/app/manifests/{self.descriptor['digest']}"] = lambda handler, _: (
            there.own.send(handler, 200, data, images.OCI_MANIFEST), True)[1]
        self.assertIn("another manifest", self.refused(by_digest, 422, "image_invalid"))
        there.own.spoil.clear()
        config = json.loads(data)["config"]["digest"]
        there.own.spoil[f"/v2/app/blobs/{config}"] = lambda handler, _: (
            there.own.send(handler, 200, images.configuration([])), True)[1]
        self.assertIn("configuration", self.refused(self.name, 422, "image_invalid"))

    def test_endless_documents_and_blobs(self):
        self.good()

        def endless(handler, request):
            handler.send_response(200)
            handler.send_header("Content-Type", images.OCI_MANIFEST)
            handler.end_headers()
            while True:
                handler.wfile.write(bytes(1 << 16))

        for path in ("/v2/app/manifests/1", f"/v2/app/blobs/{json.loads(there.own.manifests['/v2/app/manifests/1'][0])['config']['digest']}"):
            there.own.spoil = {path: endless}
            self.assertIn("4 MB", self.refused(self.name, 413, "image_too_large"), path)
        there.own.spoil = {self.blob_path(): endless}
        self.assertIn("longer", self.refused(self.name, 422, "image_invalid"))
        there.own.spoil = {}
        manifest = json.loads(there.own.manifests["/v2/app/manifests/1"][0])
        manifest["layers"][0]["size"] = 1 << 40
        there.own.put("huge", "1", manifest)
        self.assertIn("MB", self.refused(f"own.example.org:{OWN}/huge:1", 413, "image_too_large"))
        manifest["layers"] *= 1000
        there.own.put("many", "1", manifest)
        self.refused(f"own.example.org:{OWN}/many:1", 422, "image_invalid")
        index = {"schemaVersion": 2, "mediaType": registries.OCI_INDEX, "manifests": []}
        nested = self.descriptor
        for _ in range(4):
            nested = there.own.put("nested", "1", {**index, "manifests": [nested]})
        self.assertIn("nested", self.refused(f"own.example.org:{OWN}/nested:1", 422, "image_invalid"))

    def test_what_is_no_image_of_a_file_system(self):
        manifest = json.loads(there.own.manifests["/v2/app/manifests/1"][0])
        config = {**manifest["config"], "mediaType": "application/vnd.cncf.helm.config.v1+json"}
        layer = {**manifest["layers"][0], "mediaType": "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"}
        other = {**manifest["layers"][0], "digest": "sha512:" + "0" * 128}
        for tag, document, kind in (
                ("chart", {**manifest, "config": config}, None), ("foreign", {**manifest, "layers": [layer]}, None),
                ("sha512", {**manifest, "layers": [other]}, None), ("old", {"schemaVersion": 1, "fsLayers": []}, "application/json"),
                ("kind", {"schemaVersion": 2, "mediaType": "application/vnd.example"}, None)):
            there.own.put("odd", tag, document, kind)
            with self.subTest(tag):
                self.refused(f"own.example.org:{OWN}/odd:{tag}", 422, "unsupported")
        for tag, document in (("list", b"[]"), ("text", b"<html>"), ("deep", b'{"a":' + b"[" * 100_000)):
            there.own.put("odd", tag, document, images.OCI_MANIFEST)
            with self.subTest(tag):
                self.refused(f"own.example.org:{OWN}/odd:{tag}", 422, "image_invalid")
        self.good()


if __name__ == "__main__":
    sealed.main(network=True)
