# Requests around a run: keys and projects, their limits, refusals and their form, which hosts and
# origins are listened to, records and their pages, idempotency, clients that go away.
import json
import os
import shutil
import socket
import ssl
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes
import sealed
import server
from sealed import wait_until

FOREVER = "import time\nwhile True: time.sleep(1)"


class Around(server.Served):
    def active(self):
        with server.Client(self.server.url) as client:
            return server.metric(client.get("/metrics").text, "glovebox_runs_active")

    def start_run(self, client=None, code=FOREVER, headers=None, **more):
        """Sends a run and does not wait for its answer; what closes its connection."""
        before = self.active()
        client = client or self.server.client()
        client.open().request("POST", "/v1/run", json.dumps({"language": "python", "code": code, **more}),
                              client.headers(headers))
        self.assertTrue(wait_until(lambda: self.active() > before))
        return client

    def end_run(self, client):
        client.close()
        self.assertTrue(wait_until(lambda: self.active() == 0))


class Keys(Around):
    def test_the_admin_key_is_roots_alone(self):
        info = os.stat(os.path.join(self.server.data, "admin.key"))
        self.assertEqual((info.st_uid, stat.S_IMODE(info.st_mode)), (0, 0o600))
        self.assertRegex(self.server.key, "^gbx_[0-9a-f]{40}$")
        with open(os.path.join(self.server.data, "store", "glovebox.db"), "rb") as file:
            self.assertNotIn(self.server.key.encode(), file.read())

    def test_without_a_good_key(self):
        for headers in ({"X-API-Key": None}, {"X-API-Key": ""}, {"X-API-Key": "gbx_" + "0" * 40},
                        {"X-API-Key": "x" * 5000}, {"X-API-Key": None, "Authorization": "Basic abcd"},
                        {"X-API-Key": self.server.key[:-1]}, {"X-API-Key": self.server.key + "0"}):
            for method, path in (("POST", "/v1/run"), ("GET", "/v1/runs"), ("GET", "/v1/templates"),
                                 ("GET", "/v1/keys"), ("GET", "/v1/events"), ("POST", "/v1/gc")):
                answer = self.client.call(method, path, {} if method == "POST" else None, headers)
                self.assert_refused(answer, 401, "unauthorized")
                self.assertIn("Bearer", answer.headers["WWW-Authenticate"])
        with server.Client(self.server.url) as nobody:
            for path in ("/health", "/health/ready", "/", "/metrics", "/openapi.yaml", "/docs"):
                self.assertEqual(nobody.get(path).status, 200, path)

    def test_as_a_bearer(self):
        bearer = {"X-API-Key": None, "Authorization": "Bearer " + self.server.key}
        self.assertEqual(self.client.get("/v1/templates", headers=bearer).status, 200)

    def test_a_key_sees_its_project_alone(self):
        mine, my_id = self.server.new_key(project="mine")
        other, _ = self.server.new_key(project="other")
        mine, other = self.server.client(mine), self.server.client(other)
        run = mine.python("print('secret of mine')")["id"]
        self.assertTrue(wait_until(lambda: mine.get("/v1/runs/" + run).status == 200))
        self.assert_refused(other.get("/v1/runs/" + run), 404, "not_found")
        self.assertEqual(other.get("/v1/runs").json["runs"], [])
        self.assertNotIn(run, other.get("/v1/runs?limit=200").text)
        self.assertEqual(other.get("/v1/runs?project=mine").status, 403)
        self.assertEqual(other.get("/v1/runs/" + run + "?project=mine").status, 403)
        self.assertEqual(other.get("/v1/events?project=mine").status, 403)
        self.assert_refused(self.client.get("/v1/runs/" + run), 404, "not_found")
        self.assertEqual(self.client.get("/v1/runs/" + run + "?project=mine").status, 200)
        # Nor may it make keys, look at them or take them away.
        for method, path in (("GET", "/v1/keys"), ("POST", "/v1/keys"), ("DELETE", "/v1/keys/" + my_id), ("POST", "/v1/gc")):
            self.assert_refused(other.call(method, path, {} if method == "POST" else None), 403, "admin_only")

    def test_a_name_for_a_request_is_its_projects_own(self):
        for project in ("first", "second"):
            client = self.server.client(self.server.new_key(project=project)[0])
            answer = client.post_run(language="python", code="print(1)", headers={"Idempotency-Key": "the-same"})
            self.assertEqual((answer.status, answer.headers["Idempotent-Replayed"]), (200, None))

    def test_revoked_at_once(self):
        secret, key = self.server.new_key(project="short")
        client = self.server.client(secret)
        self.assertEqual(client.get("/v1/runs").status, 200)
        self.assertEqual(self.client.call("DELETE", "/v1/keys/" + key).status, 204)
        self.assert_refused(client.get("/v1/runs"), 401, "unauthorized")
        [row] = [one for one in self.client.get("/v1/keys").json["keys"] if one["id"] == key]
        self.assertTrue(row["revoked_at"])
        self.assertNotIn(secret, self.client.get("/v1/keys").text)
        self.assertEqual(self.client.call("DELETE", "/v1/keys/kynoneofthese00000000").status, 404)

    def test_the_last_admin_key_stays(self):
        [admin] = [one for one in self.client.get("/v1/keys").json["keys"] if one["role"] == "admin"]
        answer = self.client.call("DELETE", "/v1/keys/" + admin["id"])
        self.assertGreaterEqual(answer.status, 400, answer)
        self.assertEqual(self.client.get("/v1/keys").status, 200)

    def test_runs_in_flight(self):
        secret, _ = self.server.new_key(project="p", limits={"max_in_flight": 1})
        running = self.start_run(self.server.client(secret))
        refused = self.server.client(secret).post_run(language="python", code="1")
        self.assert_refused(refused, 429, "key_limit")
        self.assertGreaterEqual(int(refused.headers["Retry-After"]), 1)
        self.assertEqual(self.client.python("1")["exit_code"], 0)  # another key's go on
        self.end_run(running)
        self.server.client(secret).python("1")

    def test_runs_per_minute(self):
        secret, _ = self.server.new_key(project="p", limits={"runs_per_minute": 3})
        client = self.server.client(secret)
        answers = [client.post_run(language="python", code="1") for _ in range(4)]
        self.assertEqual([answer.status for answer in answers], [200, 200, 200, 429])
        self.assertIn(int(answers[3].headers["Retry-After"]), range(1, 61))

    def test_memory_at_once(self):
        secret, _ = self.server.new_key(project="p", limits={"max_memory_mb": 300})
        client = self.server.client(secret)
        small = {"memory_mb": 100, "disk_mb": 100}
        client.python("1", profile=small)
        self.assert_refused(client.post_run(language="python", code="1", profile={"memory_mb": 512}), 403, "key_limit")
        running = self.start_run(self.server.client(secret), profile=small)
        self.assert_refused(client.post_run(language="python", code="1", profile=small), 429, "key_limit")
        self.end_run(running)
        client.python("1", profile=small)


class Refusals(Around):
    def test_what_is_wrong_is_said(self):
        for body, word in (
                (b"", ""), (b"{", ""), (b"[]", ""), (b"null", ""), (b'{"language":"python"}', "code"),
                (b'{"code":"1"}', "language"), (b'{"language":"cobol","code":"1"}', "language"),
                (b'{"language":"python","code":1}', "code"), (b'{"language":"python","code":"1","cod":2}', "cod"),
                (b'{"language":"python","code":"1","language":"python"}', ""),
                (b'{"language":"python","code":"1","profile":{"memory_mb":-1}}', "memory_mb"),
                (b'{"language":"python","code":"1","profile":{"memory_mb":1e99}}', "memory_mb"),
                (b'{"language":"python","code":"1","profile":{"memory":1}}', "memory"),
                (b'{"language":"python","code":"1","files":[{"path":"../../etc/passwd","content":""}]}', "files"),
                (b'{"language":"python","code":"1","files":[{"path":"a","content":"","content_base64":""}]}', "content"),
                (b'{"language":"python","code":"1","files":[{"path":"a","content_base64":"!"}]}', "base64"),
                (b'{"language":"python","code":"1","env":{"A=B":"1"}}', "env"),
                (b'{"language":"python","code":"1","env":{"A":"\\u0000"}}', "env"),
                (b'{"command":[]}', "command"), (b'{"command":["a"],"code":"1"}', "code"),
                (b'{"language":"python","code":"1","min_grade":"steel"}', "min_grade"),
                (b'{"language":"python","template":"node","code":"1"}', "template"),
                (b"[" * 100000, ""), (b'{"language":"python","code":"\xff"}', "")):
            answer = self.client.call("POST", "/v1/run", body)
            self.assert_refused(answer, 400, "invalid_argument")
            self.assertIn(word, answer.json["error"]["message"], body[:100])
        self.assert_refused(self.client.post_run(template="nope", code="1"), 404, "template_not_found")

    def test_paths_and_methods(self):
        self.assert_refused(self.client.get("/v1/nothing"), 404, "route_not_found")
        self.assert_refused(self.client.get("/v1/runs/rn00000000000000000000"), 404, "not_found")
        self.assertEqual(self.client.get("/v1/runs/../keys").status, 404)
        for method, path in (("GET", "/v1/run"), ("DELETE", "/v1/runs"), ("PUT", "/v1/keys"), ("POST", "/health")):
            answer = self.client.call(method, path)
            self.assert_refused(answer, 405, "method_not_allowed")
            self.assertTrue(answer.headers["Allow"], path)
        self.assertEqual(self.client.get("/v1/runs?limit=0").status, 400)
        self.assertEqual(self.client.get("/v1/runs?limit=x").status, 400)
        self.assertEqual(self.client.get("/v1/runs?cursor=%ff").status, 400)
        self.assertEqual(self.client.get("/v1/templates/nope").status, 404)

    def test_every_answer_names_its_request(self):
        good, bad = self.client.python("1"), self.client.get("/v1/nothing")
        self.assertRegex(good["request_id"], "^rq[a-z0-9]{20}$")
        self.assertRegex(bad.json["request_id"], "^rq[a-z0-9]{20}$")
        self.assertNotEqual(good["request_id"], bad.json["request_id"])

    def test_a_body_that_is_too_large(self):
        answer = self.client.post_run(language="python", code="1", stdin="x" * (33 << 20))
        self.assert_refused(answer, 413, "body_too_large")

    def test_hosts(self):
        for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.1@evil", ""):
            answer = self.client.get("/v1/templates", headers={"Host": host})
            self.assertIn(answer.status, (400, 403, 421), (host, answer))
        port = self.client.address[1]
        for host in ("localhost", f"localhost:{port}", f"127.0.0.1:{port}", "app.localhost", f"[::1]:{port}"):
            self.assertEqual(self.client.get("/v1/templates", headers={"Host": host}).status, 200, host)

    def test_web_pages_cannot_drive_it(self):
        for origin in ("http://evil.example", "null", "http://127.0.0.1.evil.example"):
            for method, path, body in (("POST", "/v1/run", {"language": "python", "code": "1"}),
                                       ("GET", "/v1/templates", None)):
                answer = self.client.call(method, path, body, {"Origin": origin})
                self.assertEqual(answer.status, 403, (origin, answer))
                self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])
            preflight = self.client.call("OPTIONS", "/v1/run", None, {
                "Origin": origin, "Access-Control-Request-Method": "POST"})
            self.assertGreaterEqual(preflight.status, 400, preflight)
            self.assertIsNone(preflight.headers["Access-Control-Allow-Origin"])


class AllowedOrigin(server.Served):
    settings = {"server.origins": "https://app.example", "server.domain": "box.example"}

    def test_what_the_administrator_named_is_listened_to(self):
        origin = {"Origin": "https://app.example"}
        answer = self.client.get("/v1/templates", headers=origin)
        self.assertEqual((answer.status, answer.headers["Access-Control-Allow-Origin"]), (200, "https://app.example"))
        self.assertEqual(self.client.get("/v1/templates", headers={"Origin": "http://app.example"}).status, 403)
        self.assertEqual(self.client.get("/v1/templates", headers={"Host": "box.example"}).status, 200)
        self.assertIn(self.client.get("/v1/templates", headers={"Host": "xbox.example"}).status, (403, 421))


class Records(Around):
    def test_a_run_is_kept(self):
        made = self.client.python("print('kept')\n[1]")
        record = wait_until(lambda: (got := self.client.get("/v1/runs/" + made["id"])).status == 200 and got.json)
        self.assertTrue(record)
        self.assertEqual((record["stdout"], record["status"], record["exit_code"], record["template"]),
                         ("kept\n", "ok", 0, "python"))
        self.assertEqual(record["answer"]["result"], made["result"])
        self.assertEqual(record["request_id"], made["request_id"])

    def test_pages(self):
        secret, _ = self.server.new_key(project="pages")
        client = self.server.client(secret)
        made = [client.python(f"import sys; sys.exit({i % 2})")["id"] for i in range(25)]
        self.assertTrue(wait_until(lambda: len(client.get("/v1/runs?limit=200").json["runs"]) == 25))
        seen, cursor = [], ""
        while True:
            page = client.get("/v1/runs?limit=10" + cursor).json
            seen += [run["id"] for run in page["runs"]]
            if page["next_cursor"] is None:
                break
            cursor = "&cursor=" + page["next_cursor"]
        self.assertEqual(seen, list(reversed(made)))
        failed = client.get("/v1/runs?status=failed&limit=200").json["runs"]
        self.assertEqual([run["id"] for run in failed], list(reversed(made[1::2])))
        self.assertEqual(client.get("/v1/runs?template=node").json["runs"], [])

    def test_a_named_request_runs_once(self):
        name = {"Idempotency-Key": "once-1"}
        request = {"language": "python", "code": "import uuid; print(uuid.uuid4())"}
        first = self.client.post_run(headers=name, **request)
        again = self.client.post_run(headers=name, **request)
        self.assertEqual((first.status, again.status), (200, 200))
        self.assertEqual(first.json, again.json)
        self.assertEqual((first.headers["Idempotent-Replayed"], again.headers["Idempotent-Replayed"]), (None, "true"))
        other = self.client.post_run(headers=name, language="python", code="2")
        self.assert_refused(other, 422, "idempotency_key_reused")
        fresh = self.client.post_run(headers={"Idempotency-Key": "once-2"}, **request)
        self.assertNotEqual(fresh.json["stdout"], first.json["stdout"])

    def test_the_same_name_at_once_runs_once(self):
        request = {"language": "python", "code": "import time, uuid; time.sleep(0.5); print(uuid.uuid4())"}
        answers = []

        def ask():
            with server.Client(self.server.url, self.server.key) as client:
                answers.append(client.post_run(headers={"Idempotency-Key": "crowd"}, **request))
        crowd = [threading.Thread(target=ask) for _ in range(8)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join(server.PATIENCE)
        good = {answer.json["stdout"] for answer in answers if answer.status == 200}
        self.assertEqual(len(good), 1, answers)
        self.assertEqual({(answer.status, answer.code) for answer in answers if answer.status != 200} -
                         {(409, "still_running")}, set())


class GoneClients(Around):
    def test_a_client_that_goes_ends_its_run(self):
        for close in ("properly", "by a reset"):
            client = self.start_run()
            if close == "by a reset":
                client.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.end_run(client)
            runs = wait_until(lambda: [run for run in self.client.get("/v1/runs?limit=1").json["runs"]
                                       if run["status"] == "cancelled"])
            self.assertTrue(runs, close)

    def test_its_processes_are_gone(self):
        marker = "71717"  # seconds it sleeps, and what it is found by
        client = self.server.client()
        client.open().request("POST", "/v1/run", json.dumps({"command": ["/bin/sleep", marker]}), client.headers())

        def sleepers():
            below = processes.below(self.server.info["launcher_pid"])
            return [pid for pid, process in below.items() if marker in process.arguments()]
        self.assertTrue(wait_until(sleepers))
        client.close()
        self.assertTrue(wait_until(lambda: not sleepers()))

    def test_a_named_request_goes_on_without_its_client(self):
        name = {"Idempotency-Key": "left-alone"}
        code = "import time; time.sleep(1); print('done')"
        client = self.start_run(code=code, headers=name)
        client.close()
        answer = wait_until(lambda: (got := self.client.post_run(
            headers=name, language="python", code=code)).status == 200 and got)
        self.assertTrue(answer)
        self.assertEqual((answer.json["stdout"], answer.headers["Idempotent-Replayed"]), ("done\n", "true"))


class Operations(server.Served):
    settings = {"log.requests": "true"}

    def test_metrics(self):
        run = self.client.python("1")
        self.client.python("1/0")
        self.client.get("/v1/nothing")
        text = self.client.get("/metrics").text
        for name in ("glovebox_runs_total", "glovebox_sandboxes_alive", "glovebox_zygotes_alive", "glovebox_launcher_up",
                     "glovebox_store_ok", "glovebox_http_connections"):
            self.assertRegex(text, f"(?m)^# TYPE {name} ")
            self.assertRegex(text, f"(?m)^{name}[ {{]")
        self.assertGreaterEqual(server.metric(text, "glovebox_runs_total"), 2)
        self.assertIn("_bucket{", text)
        for line in text.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) \w+ .*|\w+(\{(\w+="[^"]*",?)*\})? [-+0-9.eEinfNa]+)$')
        # Labels are words of ours: no ids, which would grow without bound.
        self.assertNotRegex(text, r"\b(rn|rq|sb|ky|ln)[a-z0-9]{20}\b")
        self.assertNotIn(run["id"], text)

    def test_the_log_names_the_request(self):
        request = self.client.python("1")["request_id"]
        lines = wait_until(lambda: [line for line in self.server.log().splitlines() if request in line])
        self.assertTrue(lines)
        self.assertIn('route="/v1/run"', lines[0])
        self.assertNotIn(self.server.key, self.server.log())

    def test_the_server_has_no_privileges(self):
        status = processes.living(self.server.info["pid"]).fields
        self.assertNotIn("0", status["Uid"].split() + status["Gid"].split())
        self.assertEqual({int(status[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")}, {0})
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"], status["Groups"]), ("1", "2", ""))


@unittest.skipUnless(shutil.which("openssl"), "openssl makes the certificate")
class Tls(server.Served):
    @classmethod
    def prepare(cls):
        cls.place = tempfile.mkdtemp(prefix="gbx-test-")
        cert, key = (os.path.join(cls.place, name) for name in ("cert.pem", "key.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        os.chmod(key, 0o600)  # root's alone: read before the server becomes another user
        cls.cert = cert
        cls.settings = {"server.tls_cert": cert, "server.tls_key": key}

    @classmethod
    def tidy(cls):
        shutil.rmtree(cls.place)

    def test_it_speaks_https_and_nothing_else(self):
        self.assertTrue(self.server.url.startswith("https://"))
        self.assertEqual(self.client.python("print(6 * 7)")["stdout"], "42\n")
        context = ssl.create_default_context(cafile=self.cert)
        with socket.create_connection(self.client.address, timeout=server.PATIENCE) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                self.assertIn(secure.version(), ("TLSv1.2", "TLSv1.3"))
        with self.raw(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") as plain:
            try:
                self.assertNotIn(b"200", plain.recv(65536))
            except ConnectionResetError:
                pass


class Events(Around):
    def test_they_are_of_the_project(self):
        mine = self.server.client(self.server.new_key(project="mine")[0])
        other = self.server.client(self.server.new_key(project="other")[0])
        stream = self.server.client(mine.key).send("GET", "/v1/events")
        self.assertEqual(stream.status, 200)
        other.python("1")
        run = mine.python("1")["id"]
        seen = []
        while not (seen and seen[-1].startswith(b"data:") and run.encode() in seen[-1] and b"exit_code" in seen[-1]):
            line = stream.readline()
            self.assertTrue(line, seen)
            seen.append(line)
        text = b"".join(seen).decode()
        self.assertIn("event: run.started", text)
        self.assertIn("event: run.finished", text)
        ids = {json.loads(line[5:]).get("id") for line in text.splitlines() if line.startswith("data:")} - {None}
        self.assertEqual(ids, {run})


if __name__ == "__main__":
    sealed.main()
