# A sandbox's own network as the launcher makes and lends it, with this test in the gateway's place:
# without one nothing is reachable; with one everything ends at the two sockets that are lent; a
# guest, root inside included, can change nothing of it; and a client that may not have them is refused.
import os
import select
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import launcher_wire as wire
import sealed
import session_launcher_test as sessions
import warm

NONE, PREPARED, UP = 0, 1, 2
IP_PKTINFO = 8

CONNECT = """
import socket
s = socket.create_connection(("93.184.216.34", 443), timeout=20)
s.sendall(b"hello")
print(s.recv(100).decode(), s.getsockname()[0], s.getpeername())
"""
UNREACHABLE = """
import socket, errno
for address in ("8.8.8.8", 443), ("100.64.0.53", 53), ("2606:2800::1", 443, 0, 0):
    try:
        socket.create_connection(address[:2], timeout=20)
        print("connected")
    except OSError as e:
        print(errno.errorcode[e.errno])
"""


class Lent:
    """What the gateway is given."""

    def __init__(self, fds):
        self.listener, self.names = (socket.socket(fileno=fd) for fd in fds[:2])
        self.pidfd = fds[2]
        self.listener.settimeout(20)
        self.names.settimeout(20)

    def accept(self):
        connection, peer = self.listener.accept()
        connection.settimeout(20)
        return connection, connection.getsockname()[:2], peer[0]

    def close(self):
        self.listener.close()
        self.names.close()
        os.close(self.pidfd)


class TestCase(sessions.TestCase):
    def lend(self, identity, client=None):
        client = client or self.client
        client.seq += 1
        wire.send(client.socket, wire.lend(client.seq, identity))
        reply = client.answer_to(client.seq)
        if reply.kind != wire.LENT:
            return reply
        self.assertEqual(len(reply.fds), 3)
        lent = Lent(reply.fds)
        self.addCleanup(lent.close)
        return lent

    def session(self, network=NONE, template="base", client=None, bounds=None):
        client = client or self.client
        client.seq += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(ours.close)
        message = wire.create(template=template, bounds=bounds, seq=client.seq, session=1, network=network)
        wire.send(client.socket, message, [theirs.fileno(), ours.fileno()])
        theirs.close()
        reply = client.answer_to(client.seq)
        self.assertEqual(reply.kind, wire.CREATED, reply)
        session = sessions.Session(client, reply.id, ours)
        session.network = reply.network
        return session

    def serve_one(self, lent, word=b"from the gateway"):
        connection, wanted, peer = lent.accept()
        with connection:
            self.assertEqual(connection.recv(100), b"hello")
            connection.sendall(word)
        return wanted, peer


class Runs(TestCase):
    def test_a_waiting_sandbox_that_was_prepared_is_taken_with_its_network_up(self):
        sandbox = self.client.create_patiently(network=PREPARED)
        self.addCleanup(sandbox.destroy)
        self.assertEqual(self.lend(sandbox.id).kind, wire.REFUSED)  # it was not taken yet
        sandbox.take(network=1)
        lent = self.lend(sandbox.id)
        sandbox.start(CONNECT)
        self.assertEqual(self.serve_one(lent), (("::ffff:93.184.216.34", 443), "::ffff:100.64.0.1"))
        self.assertEqual(sandbox.finish().out, b"from the gateway 100.64.0.1 ('93.184.216.34', 443)\n")

    def test_taken_without_its_network_it_reaches_nothing(self):
        sandbox = self.client.create_patiently(network=PREPARED)
        self.addCleanup(sandbox.destroy)
        sandbox.take()
        sandbox.start(UNREACHABLE)
        self.assertEqual(sandbox.finish().out, b"ENETUNREACH\n" * 3)
        self.assertEqual(self.lend(sandbox.id).code, wire.CONFLICT)

    def test_one_that_was_not_prepared_cannot_be_taken_so(self):
        sandbox = self.client.create_patiently()
        wire.send(self.client.socket, wire.take(sandbox.id, network=1))
        self.client.wait(lambda: self.client.ended.get(sandbox.id))
        sandbox.link.close()

    def test_a_waiting_one_is_not_made_with_its_network_up(self):
        with self.assertRaises(warm.Refused):
            self.client.create(network=UP)

    def test_cold_with_its_network_up(self):
        sandbox = self.client.create("base", warm=0, waits=0, network=UP)
        self.addCleanup(sandbox.destroy)
        lent = self.lend(sandbox.id)
        self.assertEqual(lent.listener.getsockname()[1], 1)


class Sessions(TestCase):
    def test_a_sessions_network_comes_up_when_it_is_lent(self):
        session = self.session(PREPARED)
        self.assertEqual(session.network, 1)
        session.hello()
        self.assertEqual(session.run(["/usr/bin/python3", "-c", UNREACHABLE])[1], b"ENETUNREACH\n" * 3)
        lent = self.lend(session.id)
        again = self.lend(session.id)  # as often as it is asked for: the same sockets
        session.start(["/usr/bin/python3", "-c", CONNECT])
        self.assertEqual(self.serve_one(again)[0], ("::ffff:93.184.216.34", 443))
        self.assertEqual(os.fstat(lent.listener.fileno()).st_ino, os.fstat(again.listener.fileno()).st_ino)
        session.destroy()

    def test_names_are_asked_at_the_socket_for_names(self):
        session = self.session(UP)
        session.hello()
        lent = self.lend(session.id)
        session.start(["/usr/bin/python3", "-c", "import socket; socket.getaddrinfo('example.org', 443)"])
        query, control, _, _ = lent.names.recvmsg(512, 128)
        self.assertIn(b"\x07example\x03org", query)
        asked = [data for level, kind, data in control if (level, kind) == (socket.SOL_IP, IP_PKTINFO)]
        self.assertEqual(socket.inet_ntoa(asked[0][8:12]), "100.64.0.53")
        session.destroy()

    def test_root_inside_can_change_nothing_of_it(self):
        session = self.session(UP)
        session.hello()
        tries = """
import ctypes, errno, socket, struct
def attempt(name, call):
    try:
        call(); print(name, "done")
    except OSError as e:
        print(name, errno.errorcode[e.errno])
def netlink(protocol, message):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    s.send(struct.pack("=LHHLL", 16 + len(message[1]), message[0], 5, 1, 0) + message[1])
    length, kind, flags, seq, pid, error = struct.unpack_from("=LHHLLi", s.recv(4096))
    if kind == 2 and error:
        raise OSError(-error, "refused")
route = struct.pack("=BBBBBBBBL", 2, 0, 0, 0, 255, 4, 254, 2, 0)
attempt("delete route", lambda: netlink(0, (25, route)))
attempt("new device", lambda: netlink(0, (16, bytes(16))))
attempt("delete rules", lambda: netlink(12, (0x0a00 | 2, struct.pack("=BBH", 1, 0, 0))))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 6))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
def transparent():
    socket.socket().setsockopt(socket.SOL_IP, 19, 1)
attempt("transparent", transparent)
def join():
    s = socket.socket(socket.AF_INET6); s.setsockopt(socket.SOL_SOCKET, 15, 1); s.bind(("::", 1)); s.listen()
attempt("its port", join)
"""
        code, out, err = session.run(["/usr/bin/python3", "-c", tries], user="root")
        said = dict(line.rsplit(" ", 1) for line in out.decode().splitlines())
        self.assertEqual(len(said), 7, (out, err))
        self.assertNotIn("done", said.values(), said)
        session.destroy()

    def test_nobody_elses_network_is_lent(self):
        session = self.session(UP)
        other = self.connect()
        reply = self.lend(session.id, other)
        self.assertEqual((reply.kind, reply.code), (wire.REFUSED, wire.NOT_FOUND))
        self.assertEqual(self.lend("sb" + "0" * 20).code, wire.NOT_FOUND)
        without = self.session(NONE)
        self.assertEqual(self.lend(without.id).code, wire.UNSUPPORTED)
        without.destroy()
        session.destroy()

    def test_a_namespace_goes_when_the_sandbox_and_its_borrower_have_gone(self):
        session = self.session(UP)
        session.hello()
        lent = self.lend(session.id)
        session.destroy()
        self.assertTrue(sealed.wait_until(lambda: session.id not in sealed.sandboxes()))
        # Its end can be seen at the pidfd by the program that has borrowed its sockets.
        self.assertTrue(select.select([lent.pidfd], [], [], 20)[0])


if __name__ == "__main__":
    sealed.main()
