# envd's files on the wire, through the real programs: filesystem.Filesystem and /files, as stock
# clients use them and as others might.
import base64
import gzip
import hashlib
import http.client
import json
import os
import struct
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import e2b_wire
import sealed
import server
from e2b_wire import envelope


class Watch:
    """WatchDir, under way."""

    def __init__(self, sandbox, message, **headers):
        self.connection = http.client.HTTPConnection(*sandbox.client.address, timeout=server.PATIENCE)
        self.connection.request("POST", "/filesystem.Filesystem/WatchDir", envelope(message), {
            **sandbox.headers, "Content-Type": "application/connect+json", **headers})
        self.response = self.connection.getresponse()
        self.status, self.kind = self.response.status, self.response.headers["Content-Type"]

    def read(self, size):
        data = b""
        while len(data) < size:
            try:
                more = self.response.read(size - len(data))
            except (http.client.IncompleteRead, ConnectionError):
                more = b""
            if not more:
                return None
            data += more
        return data

    def next(self):
        """A message; {"fin": error or None} at the end; None when it was cut."""
        head = self.read(5)
        if head is None:
            return None
        flags, size = struct.unpack(">BI", head)
        message = json.loads(self.read(size))
        return {"fin": message.get("error")} if flags == 2 else message

    def until(self, kind, name):
        """All events up to this one, as (type, name)."""
        seen = []
        while not seen or seen[-1] != (kind, name):
            message = self.next()
            if not message or "fin" in message:
                raise AssertionError((message, seen))
            if "filesystem" in message:
                seen.append((message["filesystem"]["type"][len("EVENT_TYPE_"):], message["filesystem"]["name"]))
        return seen

    def close(self):
        self.response.close()
        self.connection.close()


class Sandbox(e2b_wire.Sandbox):
    def call(self, method, user=None, **message):
        headers = {**self.headers, "Content-Type": "application/json"}
        if user is not None:
            headers["Authorization"] = "Basic " + base64.b64encode((user + ":").encode()).decode()
        return self.client.call("POST", "/filesystem.Filesystem/" + method, json.dumps(message), headers)

    def entry(self, method, **message):
        answer = self.call(method, **message)
        if answer.status != 200:
            raise AssertionError(answer)
        return answer.json["entry"]

    def shell(self, line, **more):
        answer = self.client.call("POST", f"/v1/sandboxes/{self.id}/exec", {"cmd": line, **more})
        if answer.status != 200 or answer.json["exit_code"] != 0:
            raise AssertionError(answer)
        return answer.json["stdout"]

    def get(self, path, headers=None, **query):
        words = urllib.parse.urlencode({"path": path, **query})
        return self.client.call("GET", "/files?" + words, None, {**self.headers, **(headers or {})})

    def post(self, body, headers, **query):
        return self.client.call("POST", "/files?" + urllib.parse.urlencode(query), body,
                                {**self.headers, **headers})

    def write(self, path, data, headers=None, **query):
        return self.post(data, {"Content-Type": "application/octet-stream", **(headers or {})},
                         path=path, **query)

    def form(self, *files, headers=None, **query):
        body = b"".join(
            b'--xx\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n'
            b"Content-Type: application/octet-stream\r\n\r\n%s\r\n" % (name.encode(), data)
            for name, data in files) + b"--xx--\r\n"
        return self.post(body, {"Content-Type": "multipart/form-data; boundary=xx", **(headers or {})}, **query)

    def watch(self, path, headers=None, **more):
        return Watch(self, {"path": path, **more}, **(headers or {}))


def signature(sandbox, path, operation="read", user="", expires=None):
    words = f"{path}:{operation}:{user}:{sandbox.token}" + (f":{expires}" if expires is not None else "")
    return "v1_" + base64.b64encode(hashlib.sha256(words.encode()).digest()).decode().rstrip("=")


class InSandbox(server.Served):
    def setUp(self):
        super().setUp()
        self.sandbox = Sandbox(self.client)
        self.addCleanup(self.sandbox.kill)

    def assert_code(self, answer, status, code):
        self.assertEqual((answer.status, answer.json["code"]), (status, code), answer)
        self.assertTrue(answer.json["message"])


class Calls(InSandbox):
    def test_paths_begin_at_home(self):
        self.sandbox.shell("echo hello > a.txt; chmod 640 a.txt; mkdir -p d; touch -d '2026-01-02T03:04:05.5Z' a.txt")
        for path in ("a.txt", "~/a.txt", "/home/user/a.txt", "./d/../a.txt"):
            entry = self.sandbox.entry("Stat", path=path)
            self.assertEqual(entry, {
                "name": "a.txt", "type": "FILE_TYPE_FILE", "path": "/home/user/a.txt", "size": "6", "mode": 0o640,
                "permissions": "-rw-r-----", "owner": "user", "group": "user",
                "modifiedTime": "2026-01-02T03:04:05.500000000Z"}, path)
        for path in ("", "~", "."):
            self.assertEqual(self.sandbox.entry("Stat", path=path)["path"], "/home/user")
        self.assertEqual(self.sandbox.entry("Stat", user="root", path="")["path"], "/root")
        self.assert_code(self.sandbox.call("Stat", path="none"), 404, "not_found")
        self.assert_code(self.sandbox.call("Stat", path="~root/x"), 400, "invalid_argument")

    def test_users(self):
        self.assert_code(self.sandbox.call("Stat", user="nobody-here", path=""), 401, "unauthenticated")
        self.assertEqual(self.sandbox.get("/etc/hostname", username="nobody-here").status, 401)
        self.sandbox.entry("MakeDir", user="root", path="/opt/r/s")
        self.assertEqual(self.sandbox.shell("stat -c '%U %a' /opt/r /opt/r/s"), "root 755\nroot 755\n")
        # What only root may do is done for the user, and is his: so does the daemon that clients know.
        self.sandbox.entry("MakeDir", path="/opt/u/s")
        self.assertEqual(self.sandbox.shell("stat -c '%U:%G %a' /opt/u /opt/u/s"), "user:user 755\nuser:user 755\n")
        self.assertEqual(self.sandbox.write("/srv/f", b"x").status, 200)
        self.assertEqual(self.sandbox.shell("stat -c '%U:%G %a' /srv/f"), "user:user 644\n")

    def test_links(self):
        self.sandbox.shell("mkdir d; echo x > d/f; chmod 600 d/f; ln -s d/f l; ln -s l ll; ln -s d dl; ln -s no broken")
        entry = self.sandbox.entry("Stat", path="ll")
        self.assertEqual((entry["type"], entry["mode"], entry["symlinkTarget"], entry["permissions"]),
                         ("FILE_TYPE_FILE", 0o600, "/home/user/d/f", "lrwxrwxrwx"))
        entry = self.sandbox.entry("Stat", path="dl")
        self.assertEqual((entry["type"], entry["symlinkTarget"]), ("FILE_TYPE_DIRECTORY", "/home/user/d"))
        self.assertEqual(self.sandbox.entry("Stat", path="broken")["type"], "FILE_TYPE_UNSPECIFIED")
        names = [one["path"] for one in self.sandbox.call("ListDir", path="dl").json["entries"]]
        self.assertEqual(names, ["/home/user/dl/f"])

    def test_lists_in_order(self):
        self.sandbox.shell("mkdir -p t/b/y t/a t/c.d; touch t/b/z t/b/y/1 t/b.txt t/Z; ln -s b t/link")
        def names(**more):
            entries = self.sandbox.call("ListDir", path="t", **more).json["entries"]
            return [one["path"][len("/home/user/t/"):] for one in entries]
        top = ["Z", "a", "b", "b.txt", "c.d", "link"]
        self.assertEqual(names(), top)
        self.assertEqual(names(depth=0), top)
        self.assertEqual(names(depth=2), ["Z", "a", "b", "b/y", "b/z", "b.txt", "c.d", "link"])
        self.assertEqual(names(depth=9), ["Z", "a", "b", "b/y", "b/y/1", "b/z", "b.txt", "c.d", "link"])
        self.assertEqual(self.sandbox.call("ListDir", path="t/a").json, {"entries": []})
        self.assert_code(self.sandbox.call("ListDir", path="t/Z"), 400, "invalid_argument")
        self.assert_code(self.sandbox.call("ListDir", path="t/none"), 404, "not_found")
        self.sandbox.shell("mkdir m; cd m; seq -f f%05g 6000 | xargs touch")
        many = self.sandbox.call("ListDir", path="m").json["entries"]
        self.assertEqual([one["name"] for one in many], [f"f{i:05}" for i in range(1, 6001)])

    def test_makes_moves_and_removes(self):
        entry = self.sandbox.entry("MakeDir", path="a/b/c")
        self.assertEqual((entry["path"], entry["mode"], entry["owner"], entry["type"]),
                         ("/home/user/a/b/c", 0o755, "user", "FILE_TYPE_DIRECTORY"))
        self.assert_code(self.sandbox.call("MakeDir", path="a/b"), 409, "already_exists")
        self.sandbox.shell("echo x > f")
        self.assert_code(self.sandbox.call("MakeDir", path="f"), 400, "invalid_argument")
        entry = self.sandbox.entry("Move", source="f", destination="new/way/g")
        self.assertEqual((entry["path"], entry["name"], entry["size"]), ("/home/user/new/way/g", "g", "2"))
        self.assert_code(self.sandbox.call("Move", source="f", destination="x"), 404, "not_found")
        self.assertEqual(self.sandbox.call("Remove", path="a").json, {})
        self.assertEqual(self.sandbox.call("Remove", path="a").json, {})
        self.assert_code(self.sandbox.call("Stat", path="a/b/c"), 404, "not_found")
        self.assert_code(self.sandbox.call("Remove", path=""), 400, "invalid_argument")

    def test_who_comes_in(self):
        for token in ("", "ea_" + "0" * 64):
            headers = {**self.sandbox.headers, "X-Access-Token": token, "Content-Type": "application/json"}
            answer = self.client.call("POST", "/filesystem.Filesystem/Stat", "{}", headers)
            self.assertEqual((answer.status, answer.json["code"]), (401, 401))
        gone = {**self.sandbox.headers, "E2b-Sandbox-Id": "sb00000000000000000000"}
        answer = self.client.call("GET", "/health", None, gone)
        self.assertEqual(answer.json, {"sandboxId": "sb00000000000000000000", "code": 502,
                                       "message": "The sandbox was not found, or its ports are private and the "
                                                  "request does not show their token"})
        self.assertEqual(answer.status, 502)
        plain = {name: self.sandbox.headers[name] for name in ("E2b-Sandbox-Id", "E2b-Sandbox-Port")}
        self.assertEqual(self.client.call("GET", "/health", None, plain).status, 204)
        self.assertEqual(self.client.call("GET", "/envs", None, plain).status, 401)
        self.assertIn("PATH", self.client.call("GET", "/envs", None, self.sandbox.headers).json)
        figures = self.client.call("GET", "/metrics", None, self.sandbox.headers).json
        self.assertGreater(figures["mem_total"], figures["mem_used"])
        self.assertGreaterEqual(figures["cpu_count"], 1)
        self.assertEqual(self.client.call("POST", "/init", "{}", self.sandbox.headers).status, 404)


class Bytes(InSandbox):
    def test_a_body_is_a_file(self):
        data = os.urandom(3_000_000)
        answer = self.sandbox.write("new/dir/a b.bin", data)
        self.assertEqual(answer.json, [{"name": "a b.bin", "type": "file", "path": "/home/user/new/dir/a b.bin"}])
        got = self.sandbox.get("new/dir/a b.bin")
        self.assertEqual((got.status, got.headers["Content-Length"]), (200, "3000000"))
        self.assertEqual(got.body, data)
        self.assertEqual(self.sandbox.shell("stat -c '%U:%G %a' new new/dir 'new/dir/a b.bin'"),
                         "user:user 755\nuser:user 755\nuser:user 644\n")
        self.assertEqual(self.sandbox.write("empty", b"").status, 200)
        got = self.sandbox.get("empty")
        self.assertEqual((got.status, got.body, got.headers["Content-Length"]), (200, b"", "0"))
        self.assertEqual(self.sandbox.write("r", b"x", username="root").json[0]["path"], "/root/r")
        part = self.sandbox.get("new/dir/a b.bin", headers={"Range": "bytes=10-19"})
        self.assertEqual((part.status, part.body), (206, data[10:20]))

    def test_a_form_is_many_files(self):
        answer = self.sandbox.form(("a.txt", b"one"), ("/tmp/deep/er/b", b"\r\n--x\r\n--"), ("~/c d", b""))
        self.assertEqual([one["path"] for one in answer.json],
                         ["/home/user/a.txt", "/tmp/deep/er/b", "/home/user/c d"])
        self.assertEqual(self.sandbox.get("/tmp/deep/er/b").body, b"\r\n--x\r\n--")
        self.assertEqual(self.sandbox.get("c d").body, b"")
        answer = self.sandbox.form(("ignored", b"two"), path="/tmp/named")
        self.assertEqual(answer.json[0]["path"], "/tmp/named")
        for files in ((("same", b"1"), ("same", b"2")), (("same", b"1"), ("/home/user/./same", b"2"))):
            self.assert_code(self.sandbox.form(*files), 400, 400)
            self.assertEqual(self.sandbox.get("same").body, b"1")
        self.assert_code(self.sandbox.form(), 400, 400)
        self.assert_code(self.sandbox.post(b"x", {"Content-Type": "text/plain"}, path="x"), 400, 400)

    def test_half_an_upload_is_none(self):
        self.sandbox.write("kept", b"as it was")
        head = (b"POST /files?path=%s HTTP/1.1\r\nHost: x\r\nE2b-Sandbox-Id: " + self.sandbox.id.encode() +
                b"\r\nE2b-Sandbox-Port: 49983\r\nX-Access-Token: " + self.sandbox.token.encode() +
                b"\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n")
        form = b'--xx\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n' + b"x" * 100_000
        for kind, body in ((b"application/octet-stream", b"x" * 100_000), (b"multipart/form-data; boundary=xx", form)):
            connection = self.client.open()
            connection.close()
            connection.connect()
            connection.sock.sendall(head % (b"kept", kind) + b"%x\r\n%s\r\n" % (len(body), body))
            connection.sock.close()
            connection.close()
        answer = self.sandbox.post(form[:-5], {"Content-Type": "multipart/form-data; boundary=xx"}, path="kept")
        self.assert_code(answer, 400, 400)
        self.assertEqual(self.sandbox.get("kept").body, b"as it was")
        self.assertEqual(self.sandbox.shell("ls -A | grep -c glovebox || true").strip(), "0")

    def test_gzip(self):
        data = b"".join(b"%d\n" % i for i in range(300_000))
        packed = {"Content-Encoding": "gzip"}
        self.assertEqual(self.sandbox.write("z", gzip.compress(data), packed).status, 200)
        self.assertEqual(self.sandbox.get("z").body, data)
        body = b'--xx\r\nContent-Disposition: form-data; name="file"; filename="zf"\r\n\r\nin a form\r\n--xx--'
        answer = self.sandbox.post(gzip.compress(body), {
            "Content-Type": "multipart/form-data; boundary=xx", **packed})
        self.assertEqual(answer.status, 200)
        self.assertEqual(self.sandbox.get("zf").body, b"in a form")
        for bad in (b"plain", gzip.compress(data)[:-4], gzip.compress(data) + b"more"):
            self.assert_code(self.sandbox.write("bad", bad, packed), 400, 400)
        self.assertEqual(self.sandbox.get("bad").status, 404)

    def test_what_cannot_be(self):
        self.sandbox.shell("mkdir d")
        self.assertEqual(self.sandbox.get("none").json,
                         {"code": 404, "message": "path 'none' does not exist"})
        self.assert_code(self.sandbox.get("d"), 400, 400)
        self.assert_code(self.sandbox.write("d", b"x"), 400, 400)
        self.assert_code(self.sandbox.get("/dev/null"), 400, 400)
        with_space = Sandbox(self.client, metadata={})
        self.addCleanup(with_space.kill)
        space = int(with_space.shell("df --output=avail -B1 /home/user | tail -1"))
        bomb = gzip.compress(b"\0" * (1 << 20), 9) * (space // (1 << 20) + 32)
        answer = with_space.write("bomb", bomb, {"Content-Encoding": "gzip"})
        self.assert_code(answer, 507, 507)
        self.assertEqual(with_space.get("bomb").status, 404)

    def test_metadata(self):
        marked = {"X-Metadata-Author": "some one", "X-Metadata-kind": "draft"}
        answer = self.sandbox.write("m", b"x", marked)
        kept = {"author": "some one", "kind": "draft"}
        self.assertEqual(answer.json[0]["metadata"], kept)
        self.assertEqual(self.sandbox.entry("Stat", path="m")["metadata"], kept)
        entry = self.sandbox.entry("Move", source="m", destination="d/n")
        self.assertEqual(entry["metadata"], kept)
        listed = self.sandbox.call("ListDir", path="d").json["entries"]
        self.assertEqual(listed[0]["metadata"], kept)
        # To another file system, too.
        self.assertEqual(self.sandbox.entry("Move", source="d/n", destination="/dev/shm/n").get("metadata"), kept)
        self.sandbox.entry("Move", source="/dev/shm/n", destination="d/n")
        self.assertEqual(self.sandbox.form(("d/n", b"y"), headers={"X-Metadata-new": "1"}).json[0]["metadata"],
                         {"new": "1"})
        self.sandbox.write("d/n", b"z")
        self.assertNotIn("metadata", self.sandbox.entry("Stat", path="d/n"))
        for bad in ({"X-Metadata-" + "k" * 247: "v"}, {"X-Metadata-k": "v" * 4096}, {"X-Metadata-k": "\u00e4"}):
            self.assert_code(self.sandbox.write("bad", b"x", bad), 400, 400)
        self.assertEqual(self.sandbox.write("long", b"x", {"X-Metadata-" + "k" * 246: "v" * 3000}).status, 200)


class Signed(InSandbox):
    def get(self, sandbox, path, given=None, expires=None, **query):
        words = {"path": path, "signature": given or signature(sandbox, path, expires=expires), **query}
        if expires is not None:
            words["signature_expiration"] = expires
        return self.client.call("GET", "/files?" + urllib.parse.urlencode(words), None, {"X-API-Key": None})

    def test_the_signature_says_whose(self):
        other = Sandbox(self.client)
        self.addCleanup(other.kill)
        self.sandbox.write("/tmp/s", b"first")
        other.write("/tmp/s", b"second")
        soon = int(time.time()) + 60
        self.assertEqual(self.get(self.sandbox, "/tmp/s").body, b"first")
        self.assertEqual(self.get(other, "/tmp/s", expires=soon).body, b"second")
        late = self.get(other, "/tmp/s", expires=soon - 100)
        self.assertEqual((late.status, late.json), (401, {"code": 401, "message": "signature is already expired"}))
        for wrong in (self.get(other, "/tmp/s", given=signature(other, "/tmp/t")),
                      self.get(other, "/tmp/s", given=signature(other, "/tmp/s", "write")),
                      self.get(other, "/tmp/s", username="root")):
            self.assertEqual((wrong.status, wrong.json), (401, {"code": 401, "message": "invalid signature"}))
        words = urllib.parse.urlencode({
            "path": "/tmp/up", "username": "root", "signature": signature(other, "/tmp/up", "write", "root")})
        answer = self.client.call("POST", "/files?" + words, b"mine",
                                  {"Content-Type": "application/octet-stream", "X-API-Key": None})
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(other.shell("stat -c %U /tmp/up; cat /tmp/up"), "root\nmine")
        other.kill()
        self.assertIn(self.get(other, "/tmp/s").status, (401, 502))


class Watches(InSandbox):
    def setUp(self):
        super().setUp()
        self.sandbox.shell("mkdir -p w/sub")

    def test_events_in_order(self):
        watch = self.sandbox.watch("w", recursive=True)
        self.addCleanup(watch.close)
        self.assertEqual((watch.status, watch.kind), (200, "application/connect+json"))
        self.assertEqual(watch.next(), {"start": {}})
        self.sandbox.write("w/a", b"hello")
        self.assertEqual(watch.until("WRITE", "a"), [("CREATE", "a"), ("CHMOD", "a"), ("WRITE", "a")])
        self.sandbox.entry("Move", source="w/a", destination="w/sub/b")
        self.assertEqual(watch.until("CREATE", "sub/b"), [("RENAME", "a"), ("CREATE", "sub/b")])
        self.sandbox.entry("MakeDir", path="w/new/er")
        self.sandbox.write("w/new/er/f", b"x")
        seen = watch.until("WRITE", "new/er/f")
        self.assertEqual([one for one in seen if one[0] == "CREATE"],
                         [("CREATE", "new"), ("CREATE", "new/er"), ("CREATE", "new/er/f")])
        self.sandbox.shell("chmod 600 w/sub/b")
        watch.until("CHMOD", "sub/b")
        self.sandbox.call("Remove", path="w/sub/b")
        watch.until("REMOVE", "sub/b")

    def test_entries_when_asked_for(self):
        watch = self.sandbox.watch("w", includeEntry=True)
        self.addCleanup(watch.close)
        watch.next()
        self.sandbox.write("w/a", b"hello")
        event = watch.next()["filesystem"]
        self.assertEqual((event["name"], event["entry"]["path"], event["entry"]["size"]),
                         ("a", "/home/user/w/a", "5"))
        self.sandbox.call("Remove", path="w/a")
        while event["type"] != "EVENT_TYPE_REMOVE":
            event = watch.next()["filesystem"]
        self.assertNotIn("entry", event)

    def test_refusals_deadlines_and_keepalives(self):
        for path, code in (("none", "not_found"), ("w/f", "invalid_argument")):
            self.sandbox.shell("touch w/f")
            watch = self.sandbox.watch(path)
            self.assertEqual((watch.status, watch.next()["fin"]["code"]), (200, code))
            watch.close()
        watch = self.sandbox.watch("w", headers={"Connect-Timeout-Ms": "1500", "Keepalive-Ping-Interval": "1"})
        self.assertEqual([watch.next(), watch.next()], [{"start": {}}, {"keepalive": {}}])
        self.assertEqual(watch.next()["fin"]["code"], "deadline_exceeded")
        watch.close()

    def test_a_sandbox_that_goes_cuts_its_watch(self):
        watch = self.sandbox.watch("w")
        watch.next()
        self.assertEqual(self.sandbox.kill().status, 204)
        self.assertIsNone(watch.next())
        watch.close()

    def test_polled(self):
        def make(**message):
            return self.sandbox.call("CreateWatcher", **message)
        self.assert_code(make(path="none"), 404, "not_found")
        self.sandbox.shell("touch w/f")
        self.assert_code(make(path="w/f"), 400, "invalid_argument")
        watcher = make(path="w", recursive=True).json["watcherId"]
        def events():
            answer = self.sandbox.call("GetWatcherEvents", watcherId=watcher)
            self.assertEqual(answer.status, 200, answer)
            return [(one["type"][len("EVENT_TYPE_"):], one["name"]) for one in answer.json["events"]]
        self.assertEqual(events(), [])
        # What a call that has returned did is there at the next poll, as E2B reports it.
        for number in range(100):
            name = "f%d" % number
            self.sandbox.write("w/" + name, b"x")
            self.assertEqual(events(), [("CREATE", name), ("CHMOD", name), ("WRITE", name)])
        self.sandbox.write("w/f0", b"y")
        self.assertEqual(events(), [("WRITE", "f0"), ("CHMOD", "f0"), ("WRITE", "f0")])
        self.sandbox.entry("Move", source="w/f0", destination="w/g")
        self.assertEqual(events(), [("RENAME", "f0"), ("CREATE", "g")])
        self.sandbox.entry("Move", source="w/g", destination="g")
        self.assertEqual(events(), [("REMOVE", "g")])
        self.sandbox.call("Remove", path="w/f1")
        self.assertEqual(events(), [("REMOVE", "f1")])
        self.assertEqual(events(), [])
        many = [make(path="w") for _ in range(20)]
        self.assertIn(429, [one.status for one in many], "they are bounded")
        other = Sandbox(self.client)
        self.addCleanup(other.kill)
        self.assert_code(other.call("GetWatcherEvents", watcherId=watcher), 404, "not_found")
        self.assertEqual(self.sandbox.call("RemoveWatcher", watcherId=watcher).json, {})
        self.assert_code(self.sandbox.call("GetWatcherEvents", watcherId=watcher), 404, "not_found")
        self.assert_code(self.sandbox.call("RemoveWatcher", watcherId=watcher), 404, "not_found")


if __name__ == "__main__":
    sealed.main()
