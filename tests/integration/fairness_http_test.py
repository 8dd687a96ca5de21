# One project opens all the connections it can, keeps requests and bodies from their end, sends large
# bodies, listens to events without reading them, and makes the server write log lines; another's
# requests are answered as before.
import os
import resource
import select
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import fairness
import sealed
import server
from sealed import wait_until
from session import Session
from websocket import WebSocket

CONNECTIONS = 2000
MOST_CONNECTIONS = 1024
MOST_REQUESTS = 4096
MAX_BODY = 32 << 20  # of /v1/run, by default
MESSAGE = 1 << 20  # the largest of a WebSocket
MESSAGES = 1500


def allow_open_files(count):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(count, most), max(count, most)))


def header(method, path, **fields):
    """A request's header, for a client that does not go on as http.client would."""
    lines = [f"{method} {path} HTTP/1.1"] + [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


class Connections(fairness.TwoTenants):
    settings = {"server.max_connections": str(MOST_CONNECTIONS)}

    def setUp(self):
        super().setUp()
        allow_open_files(4 * CONNECTIONS)

    def test_idle_connections_and_slow_headers(self):
        held = []
        with self.unhurt("HTTP connections") as measure:
            try:
                for number in range(CONNECTIONS):
                    connection = socket.create_connection(self.client.address, timeout=10)
                    held.append(connection)
                    if number % 2:
                        try:
                            connection.sendall(b"GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nX-A: ")
                        except OSError:
                            pass  # the server has closed it
                measure()
                with server.Client(self.server.url, self.victim_key) as fresh:
                    self.assertEqual(fresh.run(language="python", code="print(1)")["stdout"], "1\n")
            finally:
                for connection in held:
                    connection.close()


LISTENER = """
import socket, time
held = []
for port in (3000, 3001):
    held.append(socket.socket())
    held[-1].bind(("0.0.0.0", port))
    held[-1].listen(4096)
print("listening", flush=True)
time.sleep(600)
"""


# Requests that do not come to their end.
class Unfinished(fairness.TwoTenants):
    def setUp(self):
        super().setUp()
        allow_open_files(4 * MOST_REQUESTS)
        self.held = []
        self.addCleanup(lambda: [connection.close() for connection in self.held])

    def hold(self, content):
        connection = socket.create_connection(self.client.address, timeout=30)
        self.held.append(connection)
        connection.sendall(content)
        return connection

    def test_requests_to_ports_that_do_not_answer(self):
        # Several, because one sandbox's agent holds about a thousand connections.
        sessions = [Session(self.hostile, template="python") for _ in range(6)]
        for session in sessions:
            self.addCleanup(session.kill)
            session.put("/home/user/listener.py", LISTENER.encode())
            session.start("python3 /home/user/listener.py > /home/user/said")
            wait_until(lambda: "listening" in session.shell("cat /home/user/said")["stdout"])
        visits = [header("GET", "/", Host=f"3000-{session.id}.localhost") for session in sessions]
        calls = [header("GET", session.path("/ports/3001/"), Host="localhost", X_API_Key=self.hostile_key)
                 for session in sessions]
        with self.unhurt("HTTP requests in progress") as measure:
            # As a visitor, and with the key: more than the server has in all.
            visitors = [self.hold(visits[i % len(visits)]) for i in range(MOST_REQUESTS // 2 + 1)]
            callers = [self.hold(calls[i % len(calls)]) for i in range(MOST_REQUESTS // 2 + 1)]
            # The control: both have all that they can get.
            for kind in (visitors, callers):
                answers = select.poll()  # select() takes no descriptor above 1,023
                answers.register(kind[-1], select.POLLIN)
                self.assertTrue(answers.poll(60_000), "none was refused")
                self.assertIn(b"too_many_requests_in_progress", kind[-1].recv(65536))
            self.assertEqual(self.client.get("/health/ready").status, 200)
            measure()

    def test_stalled_bodies(self):
        whole = b" " * (MAX_BODY - 1)
        with self.unhurt("request bodies") as measure:
            for _ in range(9):
                self.hold(header("POST", "/v1/run", Host="localhost", X_API_Key=self.hostile_key,
                                 Content_Length=MAX_BODY) + whole)
            measure()

    def test_unfinished_messages_of_websockets(self):
        session = Session(self.hostile, template="base")
        self.addCleanup(session.kill)
        head = struct.pack(">BBQI", 0x82, 0xFF, MESSAGE, 0)
        content = b"x" * (MESSAGE - 1)
        server_pid = self.server.info["pid"]
        before = server.resident_bytes(server_pid)
        with self.unhurt("messages of WebSockets", fairness.SLOWER_CPU) as measure:
            for _ in range(MESSAGES):
                stream = WebSocket(self.hostile, session.path("/exec/stream"))
                self.held.append(stream.socket)
                try:
                    stream.socket.sendall(head + content)
                except OSError:
                    pass  # it was closed for want of room
            grown = server.resident_bytes(server_pid) - before
            print(f"{MESSAGES} messages of 1 MB: the server has grown by {grown >> 20} MB", flush=True)
            # The control: it holds what one project may have it hold, and no more.
            self.assertGreater(grown, 300 << 20)
            self.assertLess(grown, 1000 << 20)
            measure()

    def test_bodies_without_a_key_are_not_read(self):
        for path, port in (("/execute", 49999), ("/process.Process/Start", 49983), ("/nothing", 49983)):
            with self.subTest(path):
                connection = self.hold(header("POST", path, Host=f"{port}-sbaaaaaaaaaaaaaaaaaaaa.localhost",
                                              Content_Length=16 << 20))
                status = 404 if path == "/nothing" else 502
                self.assertIn(b"HTTP/1.1 %d " % status, connection.recv(65536))


class LargeBodies(fairness.TwoTenants):
    def test_bodies_that_are_refused(self):
        body = b'{"language":"python","code":"' + b"x" * (30 << 20) + b'","nothing":1}'
        with self.unhurt("large request bodies", fairness.SLOWER_CPU) as measure:
            def send_large(client, _):
                return client.call("POST", "/v1/run", body).status
            with fairness.Hostile(self.hostile_client, send_large, 1) as attack:
                measure()
            self.assertGreater(attack.statuses.get(400, 0), 3, attack.statuses)


# What makes events and log lines also takes processors, as much as it can.
class Streams(fairness.TwoTenants):
    # Every request is a line of the log here.
    settings = {"log.requests": "true"}

    def test_unread_events(self):
        listeners = []
        with self.unhurt("event buffers", fairness.SLOWER_CPU) as measure:
            try:
                for _ in range(20):
                    client = self.hostile_client()
                    listeners.append(client)
                    client.send("GET", "/v1/events")
                # The control: one key has only so many.
                self.assertEqual(self.hostile.get("/v1/events").status, 429)

                def make_events(client, _):
                    return client.post_run(language="python", code="1").status
                with fairness.Hostile(self.hostile_client, make_events, 2) as attack:
                    measure()
                self.assertGreater(attack.statuses.get(200, 0), 10, attack.statuses)
            finally:
                for client in listeners:
                    client.close()

    def test_listeners_of_many_keys(self):
        allow_open_files(1024)
        refused, held = None, []
        try:
            for _ in range(20):
                key, _ = self.server.new_key(project="hostile")
                for _ in range(16):  # as many as one key may have
                    client = self.server.client(key)
                    held.append(client)
                    answer = client.send("GET", "/v1/events")
                    if answer.status != 200:
                        refused = refused or answer
            # The control: it has all that it can get.
            self.assertIsNotNone(refused)
            self.assertEqual(refused.status, 503)
            for _ in range(16):
                client = self.server.client(self.victim_key)
                held.append(client)
                self.assertEqual(client.send("GET", "/v1/events").status, 200)
        finally:
            for client in held:
                client.close()

    def test_events_of_others_are_not_pushed_out(self):
        # To be replayed, for a listener that comes back.
        ids = {self.victim.run(language="python", code="1")["id"] for _ in range(5)}

        def make_events(client, _):
            return client.post_run(language="python", code="1").status
        with fairness.Hostile(self.hostile_client, make_events, 2) as attack:
            # More than the server keeps in all: each run is two events.
            wait_until(lambda: attack.statuses.get(200, 0) > 300, 120)
        self.assertGreater(attack.statuses.get(200, 0), 256, attack.statuses)
        recent = self.victim.get("/v1/overview").json["events"]
        finished = {event["data"]["id"] for event in recent if event["event"] == "run.finished"}
        self.assertLessEqual(ids, finished, recent)

    def test_log_lines(self):
        with self.unhurt("log lines", fairness.SLOWER_CPU) as measure:
            def not_there(client, number):
                return client.get(f"/v1/runs/{'x' * 1000}{number}").status
            with fairness.Hostile(self.hostile_client, not_there, 2) as attack:
                measure()
            self.assertGreater(sum(attack.statuses.values()), 100, attack.statuses)


if __name__ == "__main__":
    sealed.main()
