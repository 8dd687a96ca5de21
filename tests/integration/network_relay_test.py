# Bytes through the gateway: whole, both ways, half closed, reset, idle, a thousand at once; and a
# sandbox that floods it disturbs no neighbour.
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import networked
import processes
import sealed
import server
import test_internet as net
from networked import Networked
from sealed import wait_until

setUpModule = networked.set_up
tearDownModule = networked.tear_down


class Bytes(Networked):
    def test_downloads_over_tls(self):
        value, answer = self.run_inside("https-only", "[fetch('good.example.org', tls=True, path='/bytes/30000000') for _ in range(2)]")
        self.assertEqual(value, [{"bytes": 30_000_000}] * 2)
        self.assertGreater(answer["metrics"]["network"]["bytes_in"], 60_000_000)

    def test_bytes_come_back_as_they_went(self):
        inside = self.inside("all")
        sent = inside("echoed()", before="""
import hashlib
def echoed():
    data = os.urandom(3_000_000)
    with connect("good.example.org", 7) as connection:
        writer = threading.Thread(target=lambda: (connection.sendall(data), connection.shutdown(socket.SHUT_WR)))
        writer.start()
        back = until_end(connection)
        writer.join()
    return [hashlib.sha256(data).hexdigest(), hashlib.sha256(back).hexdigest(), len(back)]
""")
        self.assertEqual(sent[0], sent[1])
        self.assertEqual(sent[2], 3_000_000)

    def test_what_was_sent_before_the_end_of_a_run_arrives(self):
        for _ in range(20):
            # An answer came: the relay is there. Then all is sent, and the program is gone.
            self.client.python("import socket\nc = socket.create_connection(('93.184.216.34', 7), 10)\n"
                               "c.sendall(b'a')\nc.recv(1)\nc.sendall(b'x' * 5000)", profile={"net": "all"})
        wait_until(lambda: not [one for one in self.internet.reached() if one["open"]])
        self.assertEqual([one["bytes"] for one in self.internet.reached(net.GOOD, 7)], [5001] * 20)

    def test_half_closed(self):
        inside = self.inside("all")
        self.assertEqual(inside.talk("good.example.org", 4444, "x" * 70_000, shut=True)["got"], "70000 bytes\n")
        self.assertEqual(self.internet.reached(net.GOOD, 4444)[0]["ended"], "end of file")
        # The other side ends first: what comes from here still arrives.
        self.assertEqual(inside("other_half()", before="""
def other_half():
    with connect("good.example.org", 19) as connection:
        connection.sendall(b"5\\n")
        return len(until_end(connection))
"""), 5)

    def test_urgent_data_stops_nothing(self):
        inside = self.inside("all")
        self.assertEqual(inside("urgent()", before="""
def urgent():
    with connect("good.example.org", 4444, 15) as connection:
        for _ in range(20):
            connection.sendall(b"some")
            connection.send(b"!", socket.MSG_OOB)
        connection.sendall(b"rest" * 1000)
        connection.shutdown(socket.SHUT_WR)
        return connection.recv(100).decode()
"""), "4100 bytes\n")

    def test_resets_are_resets_on_both_sides(self):
        inside = self.inside("all")
        self.assertEqual(inside.talk("good.example.org", 4445, "x")["error"], "ConnectionResetError")
        inside("""reset()""", before="""
def reset():
    connection = connect("good.example.org", 7)
    connection.sendall(b"x")
    connection.recv(1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
""")
        self.assertTrue(wait_until(lambda: self.internet.reached(net.GOOD, 7)[0]["ended"] == "ConnectionResetError"),
                        self.internet.reached(net.GOOD, 7))

    def test_nobody_there(self):
        inside = self.inside("all")
        self.assert_cut(inside.talk("good.example.org", 2222, "x"))
        # Packets that are not answered: given up, and other connections are not delayed meanwhile.
        self.assertEqual(inside("both()", before="""
def both():
    results = {}
    def lost():
        results["lost"] = talk("198.252.206.1", 80, "x", timeout=3)
    thread = threading.Thread(target=lost)
    thread.start()
    results["good"] = fetch("good.example.org")["address"]
    thread.join()
    return [results["good"], "error" in results["lost"]]
"""), [net.GOOD, True])

    def test_a_slow_reader_slows_only_its_own(self):
        inside = self.inside("all")
        gateway = self.server.info["gateway_pid"]
        before = server.resident_bytes(gateway)
        self.assertEqual(inside("slow()", before="""
def slow():
    global lazy
    lazy = []
    for _ in range(20):
        connection = connect("good.example.org", 19)
        connection.sendall(b"100000000\\n")
        connection.recv(10)
        lazy.append(connection)
    return fetch("good.example.org")["address"]
"""), net.GOOD)
        self.assertLess(server.resident_bytes(gateway) - before, 64 << 20)
        inside("[one.close() for one in lazy] and 1")
        self.assertTrue(wait_until(lambda: not [one for one in self.internet.reached() if one["open"]]))

    def test_what_waits_for_a_lazy_guest_is_bounded(self):
        """Read fast, then never again: the kernel would like to keep megabytes for each."""
        inside = self.inside("all", profile={"memory_mb": 512})
        inside("fast_then_lazy()", before="""
def fast_then_lazy(count=40):
    global lazy
    lazy = []
    for _ in range(count):
        connection = connect("93.184.216.34", 19)
        connection.sendall(b"1000000000\\n")
        got = 0
        while got < 8_000_000:
            got += len(connection.recv(1 << 18))
        lazy.append(connection)
    return len(lazy)
""")

        def waiting():
            listed = subprocess.run(["ss", "-Htn", "dport", "=", ":19"], capture_output=True, text=True, check=True).stdout
            return [sum(int(line.split()[column]) for line in listed.splitlines()) for column in (1, 2)]

        seen = []  # until it grows no more
        wait_until(lambda: seen.append(waiting()) or len(seen) > 5 and len({tuple(one) for one in seen[-5:]}) == 1, 10)
        self.assertLess(seen[-1][0] / 40, 2 << 20, "bytes that wait for one relay")
        inside("[one.close() for one in lazy] and 1")

    def test_a_sandbox_that_ends_takes_its_connections_along(self):
        session = self.session("all")
        session.inside("keep()", before="""
def keep():
    global kept
    kept = [connect("good.example.org", 4446) for _ in range(20)]
    return len(kept)
""")
        self.assertTrue(wait_until(lambda: len([one for one in self.internet.reached(net.GOOD, 4446) if one["open"]]) == 20))
        session.kill()
        self.assertTrue(wait_until(lambda: not [one for one in self.internet.reached() if one["open"]]))


class Many(Networked):
    settings = {**Networked.settings, "net.max_open": "1100"}

    def test_a_thousand_at_once(self):
        session = self.session("all", profile={"memory_mb": 512})
        gateway = self.server.info["gateway_pid"]
        before = server.resident_bytes(gateway)
        alive = session.inside("thousand()", before="""
def thousand():
    global many
    many = []
    for number in range(1000):
        many.append(connect("93.184.216.34", 7, 30))
    for number, one in enumerate(many):
        one.sendall(b"%04d" % number)
    return sum(one.recv(4, socket.MSG_WAITALL) == b"%04d" % number for number, one in enumerate(many))
""")
        self.assertEqual(alive, 1000)
        self.assertEqual(self.network_of(session)["open"], 1000)
        each = (server.resident_bytes(gateway) - before) / 1000
        self.assertLess(each, 32 << 10, "bytes of memory for a relay")
        # Idle relays cost no time.
        def ticks():
            return sum(map(int, processes.living(gateway).read("stat").rsplit(b")", 1)[1].split()[11:13]))
        first, started = ticks(), time.monotonic()
        wait_until(lambda: time.monotonic() - started > 1, 5)
        self.assertLess(ticks() - first, 20)
        self.assertEqual(session.inside("sum(one.close() is None for one in many)"), 1000)
        self.assertTrue(wait_until(lambda: self.network_of(session)["open"] == 0))


class Few(Networked):
    settings = {**Networked.settings, "net.max_open": "50"}

    def test_no_more_than_the_administrator_says(self):
        session = self.session("all")
        answer = session.inside("more()", before="""
def more():
    kept, cut = [], 0
    for number in range(60):
        try:
            one = connect("93.184.216.34", 7, 10)
            one.sendall(b"x")
            cut += one.recv(1) != b"x"
            kept.append(one)
        except OSError:
            cut += 1
    return [len(kept), cut]
""")
        self.assertEqual(answer, [50, 10])
        self.assertEqual(len(self.internet.reached(net.GOOD, 7)), 50)


class Flood(Networked):
    MEASURE = """
def measure(count=30):
    times = []
    for _ in range(count):
        started = time.monotonic()
        assert fetch("good.example.org")["address"]
        times.append(time.monotonic() - started)
    return sorted(times)[count // 2] * 1000
"""

    def test_hellos_that_drip_disturb_no_neighbour(self):
        quiet, hostile = self.session("all"), self.session("https-only", profile={"memory_mb": 512})
        alone = quiet.inside("measure()", before=self.MEASURE)
        hostile.inside("drip()", before="""
def drip():
    global dripping
    connections = []
    for _ in range(500):
        one = connect("93.184.216.34", 443)
        one.setblocking(False)
        # As many records as fit, of a byte each: all of it is read from its begin at each look.
        one.send(split_records(b"\\x16\\x03\\x01\\x40\\0\\x01\\0\\x3f\\xfc" + bytes(2500), 1)[:15000])
        connections.append(one)
    def go():
        end = time.monotonic() + 8
        while time.monotonic() < end:
            for one in connections:
                try: one.send(b"\\x16")
                except OSError: pass
            time.sleep(0.025)
    dripping = threading.Thread(target=go, daemon=True)
    dripping.start()
""")
        beside = quiet.inside("measure()")
        self.assertLess(beside, 10 * alone + 50, f"alone {alone:.1f} ms, beside dripping hellos {beside:.1f} ms")
        hostile.inside("dripping.join()")

    def test_refused_connections_disturb_no_neighbour(self):
        quiet, hostile = self.session("all"), self.session({"allow": ["good.example.org"]})
        alone = quiet.inside("measure()", before=self.MEASURE)
        process = hostile.start("""python3 -c '
import socket, time
end = time.monotonic() + 60
count = 0
while time.monotonic() < end:
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(("185.220.101.1", 80))
    one.close()
    count += 1
'""")
        self.assertTrue(wait_until(lambda: self.network_of(hostile)["denied"] > 500, 30))
        beside = quiet.inside("measure()")
        denied = self.network_of(hostile)["denied"]
        self.assertEqual(hostile.call("DELETE", f"/processes/{process}").status in (200, 204), True)
        self.assert_not_reached(net.EVIL)
        # Two cores for all of it: the flood's own loop takes one of them.
        self.assertLess(beside, 10 * alone + 20, f"alone {alone:.1f} ms, beside a flood {beside:.1f} ms ({denied} refused)")
        # Its own rate is spent for a moment; then it has what it may have.
        self.assertTrue(wait_until(
            lambda: hostile.inside.fetch("good.example.org", timeout=20).get("address") == net.GOOD, 30))


if __name__ == "__main__":
    sealed.main(network=True)
