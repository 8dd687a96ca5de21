# The test internet itself, from the machine where the server under test would run: what the other
# network tests say a sandbox cannot reach can be reached from here, so that a denial there is one.
import os
import random
import socket
import ssl
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import internet_dns as dns
import sealed
import test_internet as net


def setUpModule():
    global internet
    internet = net.TestInternet()


def tearDownModule():
    internet.stop()


def ask(name, kind=dns.A, seconds=10, over_tcp=False):
    """(code, truncated, addresses) as the DNS server says; None without an answer."""
    query = struct.pack(">HHHHHH", random.randrange(1 << 16), 0x100, 1, 0, 0, 0)
    query += dns.encode_name(name) + struct.pack(">HH", kind, 1)
    with socket.socket(type=socket.SOCK_STREAM if over_tcp else socket.SOCK_DGRAM) as asker:
        asker.settimeout(seconds)
        asker.connect((net.RESOLVER, 53))
        try:
            if over_tcp:
                asker.sendall(struct.pack(">H", len(query)) + query)
                size, = struct.unpack(">H", asker.recv(2, socket.MSG_WAITALL))
                answer = asker.recv(size, socket.MSG_WAITALL)
            else:
                asker.send(query)
                answer = asker.recv(65535)
        except TimeoutError:
            return None
    _, flags, _, count, _, _ = struct.unpack_from(">HHHHHH", answer)
    at, found = len(query), []
    for _ in range(count):
        _, at = dns.decode_name(answer, at)
        kind, _, _, size = struct.unpack_from(">HHIH", answer, at)
        data = answer[at + 10:at + 10 + size]
        at += 10 + size
        if kind in (dns.A, dns.AAAA):
            found.append(socket.inet_ntop(socket.AF_INET if size == 4 else socket.AF_INET6, data))
    return flags & 15, bool(flags & 0x200), found


def fetch(address, port=80, path="/", tls_name=None):
    connection = socket.create_connection((address, port), timeout=20)
    if tls_name is not None:
        context = ssl.create_default_context(cadata=internet.authority)
        connection = context.wrap_socket(connection, server_hostname=tls_name)
    with connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        return connection.recv(65536).decode()


class TheInternet(unittest.TestCase):
    def setUp(self):
        internet.forget()

    def test_it_is_not_the_hosts_network(self):
        self.assertNotEqual(os.readlink("/proc/self/ns/net"), os.environ["GBX_OUTER_NET"])
        links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
        names = {line.split(": ")[1].split("@")[0] for line in links.splitlines()}
        self.assertEqual(names - {"sit0", "tunl0", "ip6tnl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0",
                                  "ip6gre0"}, {"lo", "box0"})

    def test_every_address_answers(self):
        for address in (net.GOOD, net.GOOD6, net.EVIL, net.METADATA, net.METADATA6, "10.0.0.1", "192.168.1.1",
                        "172.16.0.1", "100.64.0.53", "fd00::1", "1.2.3.4"):
            with self.subTest(address):
                self.assertIn(f'"address": "{address}"', fetch(address))
        self.assertIn("instance-credentials", fetch(net.METADATA))
        self.assertEqual(len(internet.reached(net.GOOD, 80)), 1)
        self.assertEqual(internet.reached(net.GOOD)[0]["from"], net.BOX4)

    def test_names(self):
        self.assertEqual(ask("good.example.org"), (0, False, [net.GOOD]))
        self.assertEqual(ask("good.example.org", dns.AAAA), (0, False, [net.GOOD6]))
        self.assertEqual(ask("alias.example.org"), (0, False, [net.GOOD]))
        self.assertEqual(ask("nowhere.example.org"), (dns.NXDOMAIN, False, []))
        self.assertEqual(ask("failing.example.org"), (dns.SERVFAIL, False, []))
        self.assertEqual(ask("truncated.example.org"), (0, True, []))
        self.assertEqual(ask("truncated.example.org", over_tcp=True), (0, False, [net.GOOD]))
        self.assertEqual(len(ask("many.example.org", over_tcp=True)[2]), 100)
        self.assertIsNone(ask("silent.example.org", seconds=0.2))
        rebinding = [ask("rebind.example.org")[2] for _ in range(5)]
        self.assertEqual(rebinding, [[net.OTHER], ["127.0.0.1"], [net.METADATA], ["10.0.0.1"], ["10.0.0.1"]])
        self.assertEqual(internet.queries("truncated.example.org"),
                         [{"name": "truncated.example.org", "type": "A", "over": over} for over in ("udp", "tcp")])

    def test_tls_by_name(self):
        for name in ("good.example.org", "www.example.org", "cdn.example.net"):
            self.assertIn(f'"name": "{name}"', fetch(net.CDN, 443, tls_name=name))
        with self.assertRaises(ssl.SSLCertVerificationError):
            fetch(net.CDN, 443, tls_name="nobody.example.org")
        self.assertEqual([one["name"] for one in internet.reached(net.CDN, 443)[:3]],
                         ["good.example.org", "www.example.org", "cdn.example.net"])

    def test_services(self):
        with socket.create_connection((net.MAIL, 25), timeout=20) as mail:
            self.assertTrue(mail.recv(100).startswith(b"220 "))
        with socket.create_connection((net.GOOD, 4444), timeout=20) as counted:
            counted.sendall(b"x" * 1000)
            counted.shutdown(socket.SHUT_WR)
            self.assertEqual(counted.recv(100), b"1000 bytes\n")
        with socket.create_connection((net.GOOD, 4445), timeout=20) as resetting:
            resetting.sendall(b"x")
            with self.assertRaises(ConnectionResetError):
                resetting.recv(1)
        with socket.create_connection((net.EVIL, 9), timeout=20) as sink:
            sink.sendall(b"x" * 300_000)
        self.assertTrue(sealed.wait_until(lambda: internet.reached(net.EVIL, 9)[0]["bytes"] == 300_000))
        with socket.socket(type=socket.SOCK_DGRAM) as datagram:
            datagram.settimeout(20)
            datagram.sendto(b"x", (net.GOOD, 9999))
            self.assertEqual(datagram.recv(10), b"x")

    def test_without_ipv6(self):
        internet.set_ipv6(False)
        try:
            with self.assertRaises(OSError):
                fetch(net.GOOD6)
        finally:
            internet.set_ipv6(True)
        self.assertIn(net.GOOD6, fetch(net.GOOD6))


if __name__ == "__main__":
    sealed.main(network=True)
