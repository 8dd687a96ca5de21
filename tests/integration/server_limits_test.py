# Clients who mean no good, or just go away: half a header, a body without end, thousands of idle
# connections, nonsense. A well-behaved client runs small things all the while, and none of its runs
# fails or waits for long.
import http.client
import os
import select
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import bad_clients
import sealed
import server
from sealed import wait_until

class Good:
    """The well-behaved client, on a thread of its own."""

    def __init__(self, served):
        self.client = server.Client(served.url, served.key)
        self.took, self.faults, self.stopping = [], [], threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while not self.stopping.is_set():
            began = time.monotonic()
            try:
                answer = self.client.post_run(language="python", code="print(6 * 7)")
                if answer.status != 200 or answer.json["stdout"] != "42\n":
                    self.faults.append(repr(answer))
            except OSError as failure:
                self.faults.append(repr(failure))
            self.took.append(time.monotonic() - began)

    def wait_for(self, more):
        goal = len(self.took) + more
        if not wait_until(lambda: len(self.took) >= goal, server.PATIENCE):
            raise AssertionError("the well-behaved client waits")

    def stop(self):
        self.stopping.set()
        self.thread.join(server.PATIENCE)
        self.client.close()


class Limits(server.Served):
    settings = {"server.header_timeout": "1s", "server.body_timeout": "2s", "server.body_stall_timeout": "1s",
                "server.write_timeout": "2s", "server.idle_timeout": "3s"}

    def setUp(self):
        super().setUp()
        self.server.wait_warm()
        self.good = Good(self.server)
        self.addCleanup(self.good.stop)

    def well(self, more=20):
        """The well-behaved client has not been disturbed, and is not now."""
        self.good.wait_for(more)
        self.assertEqual(self.good.faults, [])
        self.assertLess(max(self.good.took), 10)

    @property
    def host(self):
        return "%s:%d" % self.client.address

    def head(self, *lines):
        return ("\r\n".join([f"POST /v1/run HTTP/1.1\r\nHost: {self.host}\r\nX-API-Key: {self.server.key}", *lines])
                + "\r\n\r\n").encode()

    def read_all(self, connection):
        """What comes until the other side ends it; None if it does not."""
        data = b""
        try:
            while piece := connection.recv(65536):
                data += piece
        except ConnectionResetError:
            pass
        except TimeoutError:
            return None
        return data

    def test_slow_headers(self):
        crowd = [self.raw(b"POST /v1/run HTTP/1.1\r\nHost: ") for _ in range(200)]
        began = time.monotonic()
        open_ones = {one.fileno(): one for one in crowd}
        # A byte now and then does not keep a client connected.
        while open_ones and time.monotonic() - began < 30:
            for one in list(open_ones.values()):
                try:
                    one.send(b"a")
                except OSError:
                    del open_ones[one.fileno()]
            ready, _, _ = select.select(list(open_ones.values()), [], [], 0.1)
            for one in ready:
                data = b""
                try:
                    data = one.recv(65536)
                except ConnectionResetError:
                    pass
                if not data:
                    del open_ones[one.fileno()]
                else:
                    self.assertIn(b" 408 ", data)
        self.assertEqual(len(open_ones), 0)
        self.well()

    def test_slow_and_missing_bodies(self):
        crowd = [self.raw(self.head("Content-Length: 1000") + b'{"lang') for _ in range(100)]
        for one in crowd:
            data = self.read_all(one)
            self.assertIsNotNone(data, "it waits for ever")
            self.assertTrue(data == b"" or b" 408 " in data, data)
        self.well()

    def test_large_bodies_that_stop(self):
        # At 16 KB a second they could take more than four minutes.
        body = b" " * (4 << 20)
        crowd = [self.raw(self.head(f"Content-Length: {len(body) + 1}") + body) for _ in range(5)]
        began = time.monotonic()
        for one in crowd:
            data = self.read_all(one)
            self.assertIsNotNone(data, "it waits for ever")
            self.assertIn(b" 408 ", data)
        self.assertLess(time.monotonic() - began, 30)
        self.well()

    def test_vanished_clients(self):
        body = b'{"language":"python","code":"import time; time.sleep(30)"}'
        request = self.head(f"Content-Length: {len(body)}") + body
        for i in range(100):
            one = socket.create_connection(self.client.address)
            one.sendall(request if i % 2 else request[:-20])
            if i % 3 == 0:  # gone without a word of goodbye
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.close()
        self.assertTrue(wait_until(lambda: self.metric("glovebox_runs_active") <= 1, server.PATIENCE))
        self.well()

    def test_a_client_that_does_not_read(self):
        body = b'{"language":"python","code":"while True: print(\'x\' * 10000)","profile":{"timeout_ms":60000}}'
        one = socket.socket()
        self.addCleanup(one.close)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.connect(self.client.address)
        one.sendall(self.head("Accept: text/event-stream", f"Content-Length: {len(body)}") + body)
        self.well(50)
        # Its run ends: by its output limit, or because no client reads its output.
        self.assertTrue(wait_until(lambda: self.metric("glovebox_runs_active") <= 1, server.PATIENCE))

    def test_a_gigabyte_that_is_announced(self):
        one = self.raw(self.head(f"Content-Length: {bad_clients.GIGABYTE}"))
        self.assertIn(b" 413 ", self.read_all(one))
        # Also for those who do not listen and send on.
        sent = bad_clients.pour(self.raw(self.head(f"Content-Length: {bad_clients.GIGABYTE}")), b"x" * 65536)
        self.assertLess(sent, bad_clients.GIGABYTE // 4)
        expects = self.raw(self.head(f"Content-Length: {bad_clients.GIGABYTE}", "Expect: 100-continue"))
        self.assertIn(b" 413 ", self.read_all(expects).split(b"\r\n", 1)[0])
        self.well()

    def test_a_gigabyte_in_chunks(self):
        before = server.resident_bytes(self.server.info["pid"])
        sent = bad_clients.pour(self.raw(self.head("Transfer-Encoding: chunked")), b"10000\r\n" + b"x" * 65536 + b"\r\n")
        self.assertLess(sent, bad_clients.GIGABYTE // 4)
        self.well()
        self.assertLess(server.resident_bytes(self.server.info["pid"]) - before, 200 << 20)

    def test_a_gigabyte_without_a_key(self):
        head = (f"POST /v1/run HTTP/1.1\r\nHost: {self.host}\r\nTransfer-Encoding: chunked\r\n\r\n").encode()
        one = self.raw(head)
        self.assertIn(b" 401 ", one.recv(65536))  # before a byte of the body
        self.well()

    def test_nonsense(self):
        for data in bad_clients.nonsense(self.host):
            one = self.raw()
            try:
                one.sendall(data)
                one.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # refused before its end
            answer = self.read_all(one)
            self.assertIsNotNone(answer, data[:100])
            self.assertFalse(answer.startswith(b"HTTP/1.1 2"), (data[:100], answer[:200]))
            self.assertNotIn(b" 500 ", answer[:20], data[:100])
        self.well()

    def test_two_requests_that_one_body_hides(self):
        # What follows a refused body is not a request.
        inner = f"GET /v1/keys HTTP/1.1\r\nHost: {self.host}\r\nX-API-Key: {self.server.key}\r\n\r\n"
        one = self.raw((f"POST /v1/run HTTP/1.1\r\nHost: {self.host}\r\nContent-Length: {len(inner)}\r\n\r\n"
                        + inner).encode())
        answer = self.read_all(one)
        self.assertIn(b" 401 ", answer)
        self.assertNotIn(b'"keys"', answer)

    def metric(self, name):
        return server.metric(self.client.get("/metrics").text, name)


class IdleConnections(server.Served):
    COUNT = 2000

    def test_thousands_do_not_disturb(self):
        self.addCleanup(bad_clients.allow_files(self.COUNT + 500))
        self.server.wait_warm()
        before = server.resident_bytes(self.server.info["pid"])
        crowd = []
        try:
            bad_clients.open_idle(self.client.address, self.COUNT, crowd)
            self.assertTrue(wait_until(lambda: server.metric(
                self.client.get("/metrics").text, "glovebox_http_connections") >= self.COUNT))
            took = []
            for _ in range(100):
                began = time.monotonic()
                self.assertEqual(self.client.python("print(6 * 7)")["stdout"], "42\n")
                took.append(time.monotonic() - began)
            self.assertLess(sorted(took)[50], 1)
            each = (server.resident_bytes(self.server.info["pid"]) - before) / self.COUNT
            self.assertLess(each, 64 << 10)
            # They were not cut: the last and the first still get an answer.
            for one in (crowd[0], crowd[-2]):
                one.sendall(bad_clients.HARMLESS)
                self.assertIn(b" 200 ", one.recv(65536))
        finally:
            for one in crowd:
                one.close()
        self.assertTrue(wait_until(lambda: server.metric(
            self.client.get("/metrics").text, "glovebox_http_connections") < 10))


class TooManyConnections(server.Served):
    settings = {"server.max_connections": "50"}

    def test_the_idle_make_room(self):
        crowd = [self.raw() for _ in range(200)]
        for _ in range(20):
            with server.Client(self.server.url, self.server.key) as client:
                self.assertEqual(client.python("print(6 * 7)")["stdout"], "42\n")
        self.assertEqual(len(crowd), 200)


class Full(server.Served):
    """A host with room for four sandboxes, waiting ones included."""
    settings = {"pools.max_sandboxes": "4", "pools.queue_length": "160", "pools.queue_wait": "1s",
                "pools.project_share": "100"}

    def start_run(self, key=None, code="import time; time.sleep(60)", insists=False):
        """A run whose answer can be waited for; a list that it comes into. One that insists asks again
        when it is refused: on a busy host making its sandbox may take longer than a run waits here."""
        answers = []
        client = self.server.client(key)

        def ask():
            try:
                answer = client.post_run(language="python", code=code)
                while insists and answer.status == 503:
                    answer = client.post_run(language="python", code=code)
                answers.append(answer)
            except (OSError, http.client.HTTPException, AttributeError):
                pass  # the test has closed it
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        return client, thread, answers

    def end(self, runs):
        for client, thread, _ in runs:
            if client.connection is not None and client.connection.sock is not None:
                client.connection.sock.shutdown(socket.SHUT_RDWR)
            thread.join(server.PATIENCE)
            client.close()
        self.assertTrue(wait_until(lambda: self.active() == 0, server.PATIENCE))

    def active(self):
        return server.metric(self.client.get("/metrics").text, "glovebox_runs_active")

    def test_a_short_queue_and_then_503(self):
        runs = [self.start_run(insists=True) for _ in range(4)]
        self.assertTrue(wait_until(lambda: self.active() == 4, server.PATIENCE), self.active())
        began = time.monotonic()
        refused = self.client.post_run(language="python", code="1")
        self.assert_refused(refused, 503, "host_full")
        self.assertGreaterEqual(int(refused.headers["Retry-After"]), 1)
        self.assertGreater(time.monotonic() - began, 0.9)
        # The client that waits when one ends is next.
        waiting = self.start_run(code="print('next')")
        self.end(runs)
        waiting[1].join(server.PATIENCE)
        self.assertEqual([(answer.status, answer.json["stdout"]) for answer in waiting[2]], [(200, "next\n")])
        self.assertLessEqual(server.metric(self.client.get("/metrics").text, "glovebox_sandboxes_alive"), 4)

    def test_one_key_does_not_keep_another_waiting(self):
        greedy, modest = self.server.new_key(project="greedy")[0], self.server.new_key(project="modest")[0]
        # More than the queue holds for a second, from one key.
        crowd = [self.start_run(greedy, "import time; time.sleep(0.15)") for _ in range(36)]
        self.assertTrue(wait_until(lambda: self.active() >= 3, server.PATIENCE))
        with server.Client(self.server.url, modest) as client:
            answers = [client.post_run(language="python", code="1").status for _ in range(5)]
        still = sum(thread.is_alive() for _, thread, _ in crowd)
        for _, thread, _ in crowd:
            thread.join(server.PATIENCE)
        self.assertEqual(answers, [200] * 5)
        self.assertGreater(still, 0, "the greedy one was done already: this says nothing")


if __name__ == "__main__":
    sealed.main()
