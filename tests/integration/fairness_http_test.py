# One project opens all the connections it can, listens to events without reading them, and makes the
# server write log lines; another's requests are answered as before.
import os
import resource
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import fairness
import sealed
import server

CONNECTIONS = 2000
MOST_CONNECTIONS = 1024


class Connections(fairness.TwoTenants):
    settings = {"server.max_connections": str(MOST_CONNECTIONS)}

    def setUp(self):
        super().setUp()
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(4 * CONNECTIONS, most), max(4 * CONNECTIONS, most)))

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

    def test_log_lines(self):
        with self.unhurt("log lines", fairness.SLOWER_CPU) as measure:
            def not_there(client, number):
                return client.get(f"/v1/runs/{'x' * 1000}{number}").status
            with fairness.Hostile(self.hostile_client, not_there, 2) as attack:
                measure()
            self.assertGreater(sum(attack.statuses.values()), 100, attack.statuses)


if __name__ == "__main__":
    sealed.main()
