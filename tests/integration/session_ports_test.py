# Services that listen inside a session, reached through the server: by path, by name, by header; HTTP
# and WebSocket; and nothing of the host.
import http.client
import json
import os
import socket
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
from sealed import wait_until
from session import Session
from websocket import WebSocket

# Says what it was asked; echoes bodies; upgrades to an echo of bytes.
SERVICE = r"""
import hashlib, http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.headers.get("Upgrade"):
            self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: " +
                             self.headers["Upgrade"].encode() + b"\r\nConnection: Upgrade\r\n\r\n")
            self.wfile.flush()
            while data := self.rfile.read1(65536):
                self.wfile.write(data)
                self.wfile.flush()
            self.close_connection = True
            return
        body = json.dumps({"path": self.path, "headers": dict(self.headers.items())}).encode()
        self.answer(200, body, [("Set-Cookie", "a=b; Domain=example.com"), ("X-Own", "yes")])
    def do_PUT(self):
        digest, total = hashlib.sha256(), 0
        left = int(self.headers.get("Content-Length", 0))
        while left > 0:
            data = self.rfile.read(min(left, 1 << 16))
            digest.update(data)
            total, left = total + len(data), left - len(data)
        self.answer(201, f"{total} {digest.hexdigest()}".encode(), [])
    def answer(self, status, body, headers):
        self.send_response(status)
        for name, value in headers + [("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", 3000), Handler).serve_forever()
"""


NOT_FOUND = ("The sandbox was not found, or its ports are private and the request does not show "
             "their token")


class Ports(server.Served):
    def setUp(self):
        super().setUp()
        self.session = Session(self.client, template="base")
        self.addCleanup(self.session.kill)
        self.session.put("/home/user/service.py", SERVICE)
        self.session.start("exec /usr/bin/python3 /home/user/service.py")
        wait_until(lambda: self.session.call("GET", "/ports/3000/").status == 200)

    def routed(self, method="GET", path="/x", port="3000", body=None, **headers):
        client = server.Client("http://%s:%d" % self.client.address)
        self.addCleanup(client.close)
        words = {"E2b-Sandbox-Id": self.session.id, "E2b-Sandbox-Port": port,
                 **{name.replace("_", "-"): value for name, value in headers.items()}}
        return client.call(method, path, body, headers=words)

    def test_by_path_with_a_key_that_stays_here(self):
        answer = self.session.call("GET", "/ports/3000/a%20b?c=d")
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.json["path"], "/a%20b?c=d")
        self.assertNotIn(self.client.key, answer.text)
        self.assertEqual(answer.json["headers"]["Host"], "localhost:3000")
        self.assertEqual(answer.headers["Content-Security-Policy"], "sandbox")
        self.assertEqual(answer.headers["X-Own"], "yes")
        self.assertIsNone(answer.headers["Set-Cookie"])
        keyless = server.Client("http://%s:%d" % self.client.address)
        self.addCleanup(keyless.close)
        self.assertEqual(keyless.call("GET", self.session.path("/ports/3000/")).status, 401)
        refused = self.session.call("GET", "/ports/3000/sw.js", headers={"Service-Worker": "script"})
        self.assertEqual(refused.status, 403)

    def test_by_header_and_by_name(self):
        answer = self.routed(path="/v1/keys")
        self.assertEqual((answer.status, answer.json["path"]), (200, "/v1/keys"))
        self.assertEqual(answer.headers["Set-Cookie"], "a=b")
        connection = http.client.HTTPConnection(*self.client.address, timeout=60)
        self.addCleanup(connection.close)
        connection.request("GET", "/health", headers={"Host": f"3000-{self.session.id}.localhost"})
        self.assertEqual(json.loads(connection.getresponse().read())["path"], "/health")

    def test_no_credential_of_ours_reaches_the_guest(self):
        key = "gbx_" + "0123456789" * 4
        words = {"X_Access_Token": "ea_secret", "E2B_Traffic_Access_Token": "secret", "X_API_Key": key,
                 "X_Glovebox_Port_Token": "secret", "Authorization": f"Bearer {key}", "X_Of_The_Guest": "kept"}
        answers = [self.routed(**words),
                   self.session.call("GET", "/ports/3000/x", headers={
                       name.replace("_", "-"): value for name, value in words.items() if name != "X_API_Key"})]
        for answer in answers:
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.json["headers"]["X-Of-The-Guest"], "kept")
            for secret in ("secret", key, self.client.key):
                self.assertNotIn(secret, answer.text)

    def test_bodies_are_carried_whole(self):
        import hashlib
        data = os.urandom(5_000_000)
        expected = f"{len(data)} {hashlib.sha256(data).hexdigest()}"
        answer = self.session.call("PUT", "/ports/3000/x", data)
        self.assertEqual((answer.status, answer.text), (201, expected))

    def test_an_upgrade_is_a_pipe(self):
        with WebSocket(self.client, self.session.path("/ports/3000/ws")) as pipe:
            pipe.socket.sendall(b"hello")
            self.assertEqual(pipe.exactly(5), b"hello")
            data = os.urandom(1 << 20)
            sender = threading.Thread(target=pipe.socket.sendall, args=(data,))
            sender.start()
            self.assertEqual(pipe.exactly(len(data)), data)
            sender.join()

    def test_what_is_not_there(self):
        self.assertEqual(self.session.call("GET", "/ports/3001/").code, "bad_gateway")
        closed = self.routed(port="3001")
        self.assertEqual((closed.status, closed.json["code"], closed.json["port"]), (502, 502, 3001))
        self.session.kill()
        gone = self.routed()
        self.assertEqual((gone.status, gone.json["message"]), (502, NOT_FOUND))

    def by_name(self, sandbox, port="3000", **headers):
        """Status and JSON of an answer under the sandbox's own host name."""
        connection = http.client.HTTPConnection(*self.client.address, timeout=60)
        self.addCleanup(connection.close)
        words = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("GET", "/x", headers={"Host": f"{port}-{sandbox}.localhost", **words})
        response = connection.getresponse()
        return response.status, json.loads(response.read())

    def test_private_ports_want_their_token(self):
        with Session(self.client, template="base", private_ports=True) as other:
            token = other.made["port_token"]
            other_token = ("x" if token[0] != "x" else "y") + token[1:]
            nobody = "sb" + "0" * 20
            for words in ({}, {"X_Glovebox_Port_Token": other_token}):
                # One answer, whether it exists or not.
                for sandbox in (other.id, nobody):
                    expected = (502, {"sandboxId": sandbox, "message": NOT_FOUND, "code": 502})
                    answer = self.routed(E2b_Sandbox_Id=sandbox, **words)
                    self.assertEqual((answer.status, answer.json), expected)
                    self.assertEqual(self.by_name(sandbox, **words), expected)
            shown = self.routed(X_Glovebox_Port_Token=token, E2b_Sandbox_Id=other.id)
            self.assertEqual((shown.status, shown.json["message"]),
                             (502, "The sandbox is running but port is not open"))

    def test_a_paused_private_sandbox_is_resumed_by_its_token_alone(self):
        made = self.client.call("POST", "/v2/sandboxes", {
            "templateID": "base", "timeout": 600, "autoPause": True, "autoResume": {"enabled": True},
            "network": {"allowPublicTraffic": False}})
        self.assertEqual(made.status, 201, made)
        sandbox, token = made.json["sandboxID"], made.json["trafficAccessToken"]
        path = f"/v1/sandboxes/{sandbox}"
        self.addCleanup(self.client.call, "DELETE", path)
        self.assertEqual(self.client.call("POST", f"/sandboxes/{sandbox}/pause", {}).status, 204)
        wrong = ("x" if token[0] != "x" else "y") + token[1:]
        not_found = {"sandboxId": sandbox, "message": NOT_FOUND, "code": 502}
        for words in ({}, {"E2b_Traffic_Access_Token": wrong}, {"X_Glovebox_Port_Token": wrong}):
            self.assertEqual(self.by_name(sandbox, **words), (502, not_found))
            for port in ("3000", "49983", "49999"):
                answer = self.routed(path="/health", port=port, E2b_Sandbox_Id=sandbox, **words)
                self.assertEqual((answer.status, answer.json), (502, not_found), port)
        # The token does not help where there is no such port.
        for port in ("0", "65536"):
            answer = self.routed(port=port, E2b_Sandbox_Id=sandbox, X_Glovebox_Port_Token=token)
            self.assertEqual((answer.status, answer.json["message"]),
                             (502, "The port must be a number from 1 to 65535"))
            status, _ = self.by_name(sandbox, port, X_Glovebox_Port_Token=token)
            self.assertGreaterEqual(status, 400)
        self.assertEqual(self.client.call("GET", path).json["state"], "paused")
        # Control: with the token it is resumed.
        answer = self.routed(E2b_Sandbox_Id=sandbox, X_Glovebox_Port_Token=token)
        self.assertEqual(answer.json["message"], "The sandbox is running but port is not open")
        self.assertEqual(self.client.call("GET", path).json["state"], "running")

    def test_the_hosts_own_loopback_is_not_reached(self):
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            listening.settimeout(0.2)
            port = listening.getsockname()[1]
            for port in (port, self.client.address[1]):
                self.assertEqual(self.session.call("GET", f"/ports/{port}/").status, 502)
                self.assertEqual(self.routed(port=str(port)).status, 502)
            with self.assertRaises(TimeoutError):
                listening.accept()

    def test_a_guest_that_answers_garbage(self):
        self.session.start("""exec /usr/bin/python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 3002))
while True:
    c, _ = s.accept()
    c.recv(65536)
    c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\nContent-Length: 2\\r\\n\\r\\nab")
    c.close()
'""")
        wait_until(lambda: "malformed HTTP response" in self.session.call("GET", "/ports/3002/").text)
        self.assertEqual(self.session.call("GET", "/ports/3002/").code, "bad_gateway")


if __name__ == "__main__":
    sealed.main()
