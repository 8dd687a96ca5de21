# Files of a session through the API and the real programs: every operation, odd names and kinds,
# full disks, races, archives and watches. Nothing here may reach the host or hang a request.
import base64
import hashlib
import io
import json
import os
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
from session import Session
from websocket import Closed, Refused, WebSocket

MB = 1 << 20


class FileTest(server.Served):
    def setUp(self):
        super().setUp()
        self.session = self.make()

    def make(self, **fields):
        session = Session(self.client, **fields)
        self.addCleanup(session.kill)
        return session

    def files(self, method, rest="", body=None, headers=None, session=None, **query):
        words = urllib.parse.urlencode(query, quote_via=urllib.parse.quote)
        return (session or self.session).call(method, "/files" + rest + ("?" + words if words else ""), body, headers=headers)

    def good(self, *words, status=200, **more):
        answer = self.files(*words, **more)
        self.assertEqual(answer.status, status, answer)
        return answer

    def refused(self, status, code, *words, **more):
        answer = self.files(*words, **more)
        self.assertEqual((answer.status, answer.code), (status, code), answer)
        return answer

    def upload(self, session, path, parts, chunked=False):
        """A body in pieces, with the length of all or without any."""
        headers = {"Transfer-Encoding": "chunked"} if chunked else {"Content-Length": str(sum(map(len, parts)))}
        client = session.client
        client.open().request("PUT", session.path("/files?path=" + path), iter(parts), client.headers(headers), encode_chunked=chunked)
        return client.take(client.connection.getresponse())

    def shell(self, line, session=None, **more):
        done = (session or self.session).shell(line, **more)
        self.assertEqual(done["exit_code"], 0, done)
        return done["stdout"]


class ReadAndWrite(FileTest):
    def test_a_file_is_written_and_read(self):
        entry = self.good("PUT", body=b"hello", path="/home/user/a/b/c.txt").json
        self.assertEqual({name: entry[name] for name in ("path", "name", "type", "size", "mode", "user", "uid", "target")},
                         {"path": "/home/user/a/b/c.txt", "name": "c.txt", "type": "file", "size": 5, "mode": "0644", "user": "user", "uid": 1000, "target": None})
        answer = self.good("GET", path="/home/user/a/b/c.txt")
        self.assertEqual((answer.body, answer.headers["X-File-Mode"], answer.headers["X-File-Size"], answer.headers["Content-Type"]),
                         (b"hello", "0644", "5", "application/octet-stream"))
        self.assertEqual(self.shell("cat a/b/c.txt", cwd="/home/user"), "hello")
        self.assertEqual(self.good("GET", path="a/b/c.txt").body, b"hello", "below the user's home")
        self.good("PUT", body=b"", path="empty")
        self.assertEqual(self.good("GET", path="empty").body, b"")
        head = self.good("HEAD", path="a/b/c.txt")
        self.assertEqual((head.body, head.headers["Content-Length"]), (b"", "5"))

    def test_mode_owner_and_overwrite(self):
        self.assertEqual(self.good("PUT", body=b"#!/bin/sh\necho ran", path="run", mode="0755").json["mode"], "0755")
        self.assertEqual(self.shell("/home/user/run"), "ran\n")
        entry = self.good("PUT", body=b"x", path="/srv/x", mode="600", owner="user", user="root").json
        self.assertEqual((entry["mode"], entry["user"], entry["uid"]), ("0600", "user", 1000))
        self.assertEqual(self.good("PUT", body=b"x", path="/srv/y", user="root").json["user"], "root")
        self.refused(403, "permission_denied", "PUT", body=b"x", path="/srv/z")
        self.refused(403, "permission_denied", "PUT", body=b"x", path="o", owner="root")
        self.refused(409, "exists", "PUT", body=b"y", path="run", overwrite="false")
        self.assertEqual(self.good("GET", path="run").body, b"#!/bin/sh\necho ran")
        self.good("PUT", body=b"new", path="run")
        self.assertEqual(self.good("GET", path="run").body, b"new")

    def test_ranges(self):
        self.good("PUT", body=b"0123456789", path="digits")
        for asked, got, said in (("bytes=0-0", b"0", "bytes 0-0/10"), ("bytes=3-5", b"345", "bytes 3-5/10"), ("bytes=7-", b"789", "bytes 7-9/10"),
                                 ("bytes=-2", b"89", "bytes 8-9/10"), ("bytes=-99", b"0123456789", "bytes 0-9/10"), ("bytes=5-999", b"56789", "bytes 5-9/10")):
            answer = self.good("GET", status=206, path="digits", headers={"Range": asked})
            self.assertEqual((answer.body, answer.headers["Content-Range"]), (got, said))
        for asked in ("bytes=10-", "bytes=99-100", "bytes=-0"):
            answer = self.refused(416, "range_not_satisfiable", "GET", path="digits", headers={"Range": asked})
            self.assertEqual(answer.headers["Content-Range"], "bytes */10")
        for asked in ("bytes=0-1,3-4", "nonsense", "bytes=5-2"):
            self.assertEqual(self.good("GET", path="digits", headers={"Range": asked}).body, b"0123456789")

    def test_large_files_and_how_fast(self):
        session = self.make(profile={"disk_mb": 1400, "memory_mb": 1024})
        part = os.urandom(MB)
        count = 512
        digest = hashlib.sha256()
        for _ in range(count):
            digest.update(part)
        started = time.monotonic()
        answer = self.upload(session, "/tmp/large", [part] * count)
        wrote = time.monotonic() - started
        self.assertEqual((answer.status, answer.json["size"]), (200, count * MB), answer)
        copy = session.shell("time -p cp /tmp/large /tmp/copy", timeout_ms=60000)
        self.assertEqual(copy["exit_code"], 0, copy)
        took = next(float(line.split()[1]) for line in copy["stderr"].splitlines() if line.startswith("real"))
        self.assertEqual(session.shell("sha256sum < /tmp/large")["stdout"].split()[0], digest.hexdigest())
        started = time.monotonic()
        response = session.client.send("GET", session.path("/files?path=/tmp/large"))
        got, left = hashlib.sha256(), 0
        into = bytearray(MB)
        while size := response.readinto(into):
            left += size
            if left <= 8 * MB:
                got.update(into[:size])
        read = time.monotonic() - started
        self.assertEqual(left, count * MB)
        print(f"{count} MB: cp {took:.2f} s, up {wrote:.2f} s, down {read:.2f} s", file=sys.stderr)

    def test_chunked_bodies_and_those_that_break_off(self):
        answer = self.upload(self.session, "chunked", [b"ab", b"cd"], chunked=True)
        self.assertEqual((answer.status, answer.json["size"]), (200, 4), answer)
        self.assertEqual(self.good("GET", path="chunked").body, b"abcd")
        # A client that goes in the middle: the file is as it was, and nothing is left beside it.
        for head in (b"Content-Length: 1000000\r\n\r\n" + b"x" * 5000, b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n"):
            with socket.create_connection(self.session.client.address) as broken:
                line = f"PUT {self.session.path('/files?path=chunked')} HTTP/1.1\r\nHost: x\r\nX-API-Key: {self.session.client.key}\r\n"
                broken.sendall(line.encode() + head)
            self.assertTrue(sealed.wait_until(lambda: int(self.shell("ls -d /proc/[0-9]* | wc -l")) <= 6))
            self.assertEqual(self.shell("ls -A /home/user | grep -v '^\\.[bp]'"), "chunked\n")
            self.assertEqual(self.good("GET", path="chunked").body, b"abcd")

    def test_a_reader_that_goes_ends_its_helper(self):
        self.shell("truncate -s 4G /tmp/sparse")
        for _ in range(5):
            with socket.create_connection(self.session.client.address) as gone:
                line = f"GET {self.session.path('/files?path=/tmp/sparse')} HTTP/1.1\r\nHost: x\r\nX-API-Key: {self.session.client.key}\r\n\r\n"
                gone.sendall(line.encode())
                gone.recv(1000)
        self.assertTrue(sealed.wait_until(lambda: int(self.shell("ls -d /proc/[0-9]* | wc -l")) <= 6))

    def test_a_full_disk_is_said(self):
        session = self.make(profile={"disk_mb": 64})
        entry = session.put("/tmp/kept", b"kept")
        self.assertEqual(entry["size"], 4)
        for method, rest in (("PUT", "/files?path=/tmp/kept"), ("PUT", "/files?path=/tmp/other")):
            with server.Client("http://%s:%d" % session.client.address, session.client.key) as fresh:
                try:
                    answer = fresh.take(fresh.send(method, session.path(rest), bytes(MB) * 100))
                except (BrokenPipeError, ConnectionResetError):
                    continue  # it was told before it had sent all, and the answer was lost
                self.assertEqual((answer.status, answer.code), (507, "disk_full"), answer)
        self.assertEqual(session.read("/tmp/kept"), b"kept")
        self.assertEqual(session.state, "running")
        self.shell("head -c 200M /dev/zero > /tmp/fill; rm /tmp/fill; true", session=session)
        self.assertEqual(session.put("/tmp/kept", b"again")["size"], 5)
        full = session.shell("head -c 200M /dev/zero > /tmp/fill")
        self.assertIn("No space left", full["stderr"])
        answer = self.files("POST", "/copy", body={"from": "/tmp/fill", "to": "/tmp/fill2"}, session=session)
        self.assertEqual((answer.status, answer.code), (507, "disk_full"), answer)


class OddThings(FileTest):
    def test_names_of_any_bytes(self):
        everything = bytes(range(1, 47)) + bytes(range(48, 256))
        names = [everything[:200], everything[200:], b"\xff\xfe", b" ", b"a\nb", b"-rf", b"%2e%2e", "é\U0001f600".encode(), b"a" * 255, b"'\"\\$(id)`"]
        for name in names:
            path = b"/home/user/odd/" + name
            query = "?path=" + urllib.parse.quote_from_bytes(path, safe="")
            answer = self.session.call("PUT", "/files" + query, name)
            self.assertEqual(answer.status, 200, answer)
            encoded = answer.json.get("path_base64")
            self.assertEqual(base64.b64decode(encoded) if encoded else answer.json["path"].encode(), path)
            self.assertEqual(self.session.call("GET", "/files" + query).body, name)
            self.assertEqual(self.good("GET", "/stat", path_base64=base64.b64encode(path).decode()).json["size"], len(name))
        listed = self.good("GET", "/list", path="/home/user/odd").json
        got = {base64.b64decode(entry["path_base64"]) if "path_base64" in entry else entry["path"].encode() for entry in listed["entries"]}
        self.assertEqual(got, {b"/home/user/odd/" + name for name in names})
        archive = tarfile.open(fileobj=io.BytesIO(self.good("GET", "/tar", path="/home/user/odd").body), encoding="utf-8", errors="surrogateescape")
        self.assertEqual({os.path.basename(os.fsencode(member.name)) for member in archive if member.isfile()}, set(names))
        self.good("DELETE", status=204, path="/home/user/odd", recursive="true")
        self.assertEqual(self.good("GET", "/exists", path="/home/user/odd").json, {"exists": False})

    def test_bad_requests(self):
        for query in ({}, {"path": ""}, {"path": "a\0b"}, {"path": "a" * 5000}, {"path": "x", "path_base64": "eA=="}, {"path_base64": "%%%"}, {"path": "x", "user": "a:b"},
                      {"path": "x", "more": "1"}, {"path": "x", "user": "no-such-user"}):
            self.assertEqual(self.files("GET", **query).status, 400, query)
        for query in ({"path": "x", "mode": "rwx"}, {"path": "x", "mode": "99"}, {"path": "x", "overwrite": "perhaps"}, {"path": "x", "owner": "::"}):
            self.assertEqual(self.files("PUT", body=b"x", **query).status, 400, query)
        for body in (b"", b"{", b"[]", b"{}", b'{"path":1}', b'{"path":"x","nonsense":1}'):
            self.assertEqual(self.files("POST", "/mkdir", body=body).status, 400, body)
        self.refused(400, "invalid_argument", "GET", path="/tmp/" + "a" * 256)
        self.assertEqual(self.client.get("/v1/sandboxes/sb00000000000000000000/files?path=/x").status, 404)

    def test_what_is_no_file(self):
        self.shell("mkdir d; mkfifo fifo; ln -s fifo lfifo; ln -s nowhere dangling; ln -s loop loop; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'; echo x > f", cwd="/home/user")
        for path in ("d", "/dev/zero", "/dev/null", "fifo", "lfifo", "sock", "loop", "/proc/self/environ", "/proc/1/mem", "/proc/self/fd/0", "f/below", "/dev/stdin"):
            answer = self.files("GET", path=path)
            self.assertIn(answer.status, (400, 403, 404), (path, answer))
        for path in ("dangling", "no/such"):
            self.refused(404, "not_found", "GET", path=path)
        for path in ("/proc/sys/kernel/random/boot_id", "/proc/uptime", "/proc/1/stat"):
            self.assertTrue(self.good("GET", path=path).body.strip(), path)
        # Neither of the process that reads them, nor of our agent, not even for root.
        for path in ("/proc/self/maps", "/proc/self/mem", "/proc/thread-self/environ", "/proc/1/environ", "/proc/1/maps", "/proc/1/mem"):
            self.refused(403, "permission_denied", "GET", path=path, user="root")
        types = {entry["name"]: entry["type"] for entry in self.good("GET", "/list", path=".").json["entries"]}
        self.assertEqual({name: types[name] for name in ("d", "fifo", "lfifo", "sock", "f")}, {"d": "directory", "fifo": "fifo", "lfifo": "symlink", "sock": "socket", "f": "file"})
        self.assertEqual(self.good("GET", "/stat", path="/dev/null").json["type"], "char_device")
        self.assertEqual(self.good("GET", "/stat", path="lfifo", follow="false").json["target"], "fifo")
        self.assertEqual(self.good("GET", "/stat", path="lfifo").json["type"], "fifo")
        for path in ("d", "f/below", "/proc/self/comm", "loop/x"):
            self.assertIn(self.files("PUT", body=b"x", path=path).status, (400, 403, 409), path)
        # A write replaces what lies there, it does not open it.
        self.assertIn(self.files("PUT", body=b"x", path="fifo").status, (200, 400, 409))

    def test_sparse_and_huge_files(self):
        self.shell("truncate -s 1T /tmp/huge; printf x | dd of=/tmp/huge bs=1 seek=500G conv=notrunc status=none")
        self.assertEqual(self.good("GET", "/stat", path="/tmp/huge").json["size"], 1 << 40)
        answer = self.good("GET", status=206, path="/tmp/huge", headers={"Range": f"bytes={(500 << 30) - 1}-{(500 << 30) + 1}"})
        self.assertEqual(answer.body, b"\0x\0")
        self.assertEqual(self.good("HEAD", path="/tmp/huge").headers["Content-Length"], str(1 << 40))

    def test_a_directory_of_100000(self):
        session = self.make(profile={"disk_mb": 1024})  # a file takes a part of it, whatever is in it
        self.shell("mkdir /tmp/many; cd /tmp/many; python3 -c 'for i in range(100000): open(\"f%06d\" % i, \"w\").close()'", session=session, timeout_ms=60000)
        listed = self.good("GET", "/list", path="/tmp/many", limit=200000, session=session).json
        self.assertEqual((len({entry["name"] for entry in listed["entries"]}), listed["truncated"]), (100000, False))
        listed = self.good("GET", "/list", path="/tmp/many", limit=10, session=session).json
        self.assertEqual((len(listed["entries"]), listed["truncated"]), (10, True))
        self.good("DELETE", status=204, path="/tmp/many", recursive="true", session=session)

    def test_symlinks_swapped_in_a_race_reach_only_what_the_user_may(self):
        secret = self.good("PUT", body=b"secret", path="/root/secret", mode="0600", user="root")
        self.assertEqual(secret.json["mode"], "0600")
        self.shell("mkdir -p /tmp/r/a /tmp/r/b; echo mine > /tmp/r/a/secret")
        process = self.session.start("cd /tmp/r; while :; do ln -sfn /root link; ln -sfn a link; rm -f w; ln -s /root w; rm -f w; mkdir -p w; rmdir w; done")
        end = time.monotonic() + 8
        seen = set()
        while time.monotonic() < end:
            answer = self.files("GET", path="/tmp/r/link/secret")
            seen.add(answer.status)
            self.assertIn(answer.status, (200, 400, 403, 404), answer)
            if answer.status == 200:
                self.assertEqual(answer.body, b"mine\n")
            for method, rest, more in (("PUT", "", {"path": "/tmp/r/w/file", "body": b"x"}), ("GET", "/list", {"path": "/tmp/r/link"}), ("GET", "/stat", {"path": "/tmp/r/w/secret"}),
                                       ("DELETE", "", {"path": "/tmp/r/w/secret"}), ("GET", "/tar", {"path": "/tmp/r/link"}),
                                       ("POST", "/copy", {"body": {"from": "/tmp/r/link/secret", "to": "/tmp/r/b/c"}}), ("POST", "/move", {"body": {"from": "/tmp/r/w/secret", "to": "/tmp/r/b/m"}})):
                answer = self.files(method, rest, **more)
                if method == "GET" and rest == "/tar":
                    self.assertNotIn(b"secret\0" * 2, answer.body)
                self.assertLess(answer.status, 500, answer)
        self.session.call("DELETE", f"/processes/{process}")
        self.assertIn(200, seen)
        self.assertEqual(self.good("GET", path="/root/secret", user="root").body, b"secret")
        self.assertEqual(self.shell("ls /root", user="root").split(), ["secret"])


class Trees(FileTest):
    def test_directories_moves_copies_removals(self):
        self.assertEqual(self.good("POST", "/mkdir", body={"path": "a/b/c", "mode": "0750"}).json["mode"], "0750")
        self.good("POST", "/mkdir", body={"path": "a/b/c"})
        self.good("PUT", body=b"1", path="a/b/f")
        self.refused(409, "exists", "POST", "/mkdir", body={"path": "a/b/f"})
        self.assertEqual(self.good("POST", "/copy", body={"from": "a", "to": "copy"}).json["type"], "directory")
        self.assertEqual(self.good("GET", path="copy/b/f").body, b"1")
        entry = self.good("POST", "/move", body={"from": "copy/b/f", "to": "moved"}).json
        self.assertEqual((entry["path"], entry["type"]), ("moved", "file"))
        self.refused(404, "not_found", "POST", "/move", body={"from": "copy/b/f", "to": "again"})
        self.refused(409, "exists", "POST", "/move", body={"from": "moved", "to": "a/b/f", "overwrite": False})
        self.good("POST", "/move", body={"from": "moved", "to": "a/b/f"})
        self.assertEqual(self.files("DELETE", path="a").status, 409)
        self.good("DELETE", status=204, path="a", recursive="true")
        self.refused(404, "not_found", "DELETE", path="a")
        self.assertEqual(self.good("GET", "/exists", path="copy/b").json, {"exists": True})
        self.assertEqual(self.files("DELETE", path="/etc/passwd").status, 403)

    def test_listing_with_depth(self):
        self.shell("mkdir -p t/x/y; touch t/1 t/x/2 t/x/y/3; ln -s / t/root", cwd="/home/user")
        def names(**query):
            return sorted(entry["path"] for entry in self.good("GET", "/list", path="t", **query).json["entries"])
        self.assertEqual(names(), ["t/1", "t/root", "t/x"])
        self.assertEqual(names(depth=2), ["t/1", "t/root", "t/x", "t/x/2", "t/x/y"])
        self.assertEqual(names(depth=0), ["t/1", "t/root", "t/x", "t/x/2", "t/x/y", "t/x/y/3"])
        self.refused(404, "not_found", "GET", "/list", path="nowhere")
        self.assertEqual(self.files("GET", "/list", path="t/1").status, 400)
        self.assertEqual(self.files("GET", "/list", path="/root").status, 403)

    def test_archives_of_the_systems_tar(self):
        with tempfile.TemporaryDirectory() as directory:
            os.makedirs(directory + "/in/deep/" + "d" * 120)
            with open(directory + "/in/deep/" + "d" * 120 + "/" + "f" * 150, "w") as file:
                file.write("long name")
            os.symlink("deep", directory + "/in/link")
            os.link(directory + "/in/deep/" + "d" * 120 + "/" + "f" * 150, directory + "/in/hard")
            with open(directory + "/in/script", "w") as file:
                file.write("#!/bin/sh\n")
            os.chmod(directory + "/in/script", 0o755)
            for form in ("gnu", "posix", "ustar"):
                data = subprocess.run(["tar", "-C", directory + "/in", f"--format={form}", "-cf", "-", "."], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=60).stdout
                answer = self.good("PUT", "/tar", body=data, path=f"/home/user/{form}").json
                self.assertGreaterEqual(answer["entries"], 4, answer)
                said = self.shell("find . -printf '%P %y %m %l\\n' | sort", cwd=f"/home/user/{form}")
                self.assertIn("script f 755", said)
                self.assertIn("link l 777 deep", said)
            back = self.good("GET", "/tar", path="/home/user/posix").body
            os.mkdir(directory + "/out")
            done = subprocess.run(["tar", "-C", directory + "/out", "--no-same-owner", "-xf", "-"], input=back, capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = [os.path.join(root, name) for root, _, names in os.walk(directory + "/out") for name in names if name == "f" * 150]
            self.assertEqual(len(found), 1)
            with open(found[0]) as file:
                self.assertEqual(file.read(), "long name")

    def test_hostile_archives(self):
        def archive(*members):
            data = io.BytesIO()
            with tarfile.open(fileobj=data, mode="w") as tar:
                for name, kind, link in members:
                    info = tarfile.TarInfo(name)
                    info.type, info.linkname, info.mode = kind, link, 0o6777
                    tar.addfile(info)
            return data.getvalue()
        for members in ([("../out", tarfile.REGTYPE, "")], [("a/../../out", tarfile.REGTYPE, "")], [("dev", tarfile.CHRTYPE, "")],
                        [("l", tarfile.SYMTYPE, "/etc"), ("l/out", tarfile.REGTYPE, "")], [("h", tarfile.LNKTYPE, "../../../etc/passwd")]):
            answer = self.files("PUT", "/tar", body=archive(*members), path="/home/user/t")
            self.assertIn(answer.status, (200, 400, 403, 404, 409), (members, answer))
            self.assertEqual(self.shell("ls -A /home/user /etc /home | grep -x out || true"), "", members)
        self.good("PUT", "/tar", body=archive(("s", tarfile.REGTYPE, ""), ("/absolute", tarfile.REGTYPE, "")), path="/home/user/t")
        self.assertEqual(self.good("GET", "/stat", path="/home/user/t/s").json["mode"][1:], "777")
        self.assertEqual(self.good("GET", "/exists", path="/absolute").json, {"exists": False})
        for data in (b"", b"not a tar at all" * 100, os.urandom(5000), archive(("x", tarfile.REGTYPE, ""))[:300]):
            self.assertIn(self.files("PUT", "/tar", body=data, path="/home/user/u").status, (200, 400), data[:20])

    def test_another_projects_files_are_not_there(self):
        key = self.client.call("POST", "/v1/keys", {"project": "other"}).json
        secret = key.get("secret") or key.get("key")
        with server.Client("http://%s:%d" % self.client.address, secret) as other:
            for path in ("/files?path=/etc/passwd", "/files/list?path=/", "/files/tar?path=/tmp", "/files/watch?path=/tmp"):
                self.assertEqual(other.get(self.session.path(path)).status, 404, path)
            with self.assertRaises(Refused) as refused:
                WebSocket(other, self.session.path("/files/watch?path=/tmp"))
            self.assertEqual(refused.exception.status, 404)


class Watches(FileTest):
    CHANGES = "mkdir -p w/d; cd w; echo 1 > a; mv a b; chmod 600 b; rm b; echo 2 > d/deep"
    EXPECTED = [("created", "/home/user/w/a"), ("written", "/home/user/w/a"), ("renamed", "/home/user/w/a"), ("attribute", "/home/user/w/b"), ("removed", "/home/user/w/b"), ("written", "/home/user/w/d/deep")]

    def setUp(self):
        super().setUp()
        self.shell("mkdir -p w/d", cwd="/home/user")

    def check(self, next_event):
        seen = [next_event()]
        self.assertEqual(seen[0][0], "ready")
        self.shell(self.CHANGES, cwd="/home/user")
        while ("written", "/home/user/w/d/deep") not in seen:
            seen.append(next_event())
        for expected in self.EXPECTED:
            self.assertIn(expected, seen)

    def test_as_server_sent_events(self):
        with server.Client("http://%s:%d" % self.client.address, self.client.key) as watcher:
            response = watcher.send("GET", self.session.path("/files/watch?path=/home/user/w&recursive=true"))
            self.assertEqual((response.status, response.getheader("Content-Type").split(";")[0]), (200, "text/event-stream"))

            def next_event():
                kind = None
                while True:
                    line = response.readline().decode().rstrip("\n")
                    if line.startswith("event: "):
                        kind = line[7:]
                    elif line.startswith("data: "):
                        data = json.loads(line[6:])
                        if kind == "renamed":
                            self.assertEqual(data["to"], "/home/user/w/b")
                        return kind, data["path"]

            self.check(next_event)

    def test_over_a_websocket(self):
        with WebSocket(self.client, self.session.path("/files/watch?path=/home/user/w&recursive=true")) as watcher:
            def next_event():
                message = watcher.receive_json()
                return message["type"], message["path"]
            self.check(next_event)
            self.session.kill()
            with self.assertRaises(Closed):
                while True:
                    watcher.receive()

    def test_a_watcher_that_goes_leaves_nothing(self):
        for _ in range(3):
            with WebSocket(self.client, self.session.path("/files/watch?path=/home/user/w")) as watcher:
                self.assertEqual(watcher.receive_json()["type"], "ready")
        self.assertTrue(sealed.wait_until(lambda: int(self.shell("ls -d /proc/[0-9]* | wc -l")) <= 6))
        self.assertEqual(self.files("GET", "/watch", path="/nowhere").status, 404)
        with self.assertRaises(Refused) as refused:
            WebSocket(self.client, self.session.path("/files/watch?path=/nowhere"))
        self.assertEqual(refused.exception.status, 404)

    def test_what_is_too_much_is_said(self):
        with WebSocket(self.client, self.session.path("/files/watch?path=/home/user/w"), receive_buffer=4096) as watcher:
            self.assertEqual(watcher.receive_json()["type"], "ready")
            self.shell("cd w; for r in 1 2 3 4 5 6; do python3 -c 'for i in range(20000): open(\"f%d\" % i, \"w\").close()'; done", cwd="/home/user", timeout_ms=120000)
            seen = set()
            while "overflow" not in seen:
                seen.add(watcher.receive_json()["type"])


if __name__ == "__main__":
    sealed.main()
