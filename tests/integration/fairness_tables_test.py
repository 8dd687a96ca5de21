# Tables that the kernel keeps for the whole host: terminals, open files, sockets and what waits in
# them. One project takes all it can; another opens terminals, files and sockets as before.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import fairness
import sealed
from session import Session

SANDBOXES = 12
# Each says how many it got, in a file that it opened before, and keeps them.
TERMINALS = """
import os, time
result = open("/tmp/got.part", "w")
got = []
try:
    while True:
        got.append(os.openpty())
except OSError:
    pass
print(len(got), file=result, flush=True)
os.rename("/tmp/got.part", "/tmp/got")
time.sleep(600)
"""
OPEN_FILES = """
import os, time
result = open("/tmp/got.part", "w")
ready = []
for _ in range(100):
    read, write = os.pipe()
    try:
        child = os.fork()
    except OSError:
        break
    if child == 0:
        count = 0
        try:
            while True:
                os.open("/dev/null", os.O_RDONLY)
                count += 1
        except OSError:
            pass
        os.write(write, count.to_bytes(4, "little"))
        time.sleep(600)
    os.close(write)
    ready.append(read)
total = sum(int.from_bytes(os.read(read, 4), "little") for read in ready)
print(total, file=result, flush=True)
os.rename("/tmp/got.part", "/tmp/got")
time.sleep(600)
"""
# Connections over the sandbox's own loopback, each filled until it takes no more.
SOCKETS = """
import os, socket, time
result = open("/tmp/got.part", "w")
listening = socket.create_server(("127.0.0.1", 0), backlog=64)
listening.settimeout(1)
got = []
try:
    while True:
        near = socket.create_connection(listening.getsockname(), timeout=1)
        far, _ = listening.accept()
        near.setblocking(False)
        try:
            while True:
                near.send(b"x" * 65536)
        except BlockingIOError:
            pass
        got.append((near, far))
except OSError:
    pass
print(len(got), file=result, flush=True)
os.rename("/tmp/got.part", "/tmp/got")
time.sleep(600)
"""


class Tables(fairness.TwoTenants):
    def take_all(self, code):
        """Sandboxes in which the code has taken all it can, and how much that was together."""
        sandboxes = []
        for _ in range(SANDBOXES):
            session = Session(self.hostile, template="python", profile={"pids": 128})
            self.addCleanup(session.kill)
            session.put("/home/user/take.py", code)
            session.start("exec python3 /home/user/take.py")
            sandboxes.append(session)
        got = 0
        for session in sandboxes:
            text = sealed.wait_until(lambda: session.shell("cat /tmp/got 2> /dev/null", user="root")["stdout"], 60)
            self.assertTrue(text, "it is not done")
            got += int(text)
        return sandboxes, got

    def take_beside_the_victim(self, resource, code, at_least):
        with self.unhurt(resource) as measure:
            sandboxes, got = self.take_all(code)
            # The control: much was taken.
            self.assertGreater(got, at_least)
            measure()
            return sandboxes

    def test_terminals(self):
        self.take_beside_the_victim("ptys", TERMINALS, SANDBOXES * 8)
        opened = self.victims_session.exec("/usr/bin/python3", "-c", "import os; print(len([os.openpty() for _ in range(8)]))")
        self.assertEqual(opened["stdout"], "8\n", opened)

    def test_open_files(self):
        self.take_beside_the_victim("open files", OPEN_FILES, SANDBOXES * 1000)
        opened = self.victims_session.exec(
            "/usr/bin/python3", "-c", "print(len([open('/dev/null') for _ in range(500)]))")
        self.assertEqual(opened["stdout"], "500\n", opened)

    def test_sockets(self):
        self.take_beside_the_victim("sockets", SOCKETS, SANDBOXES * 16)
        talked = self.victims_session.exec("/usr/bin/python3", "-c", """
import socket
pairs = [socket.socketpair() for _ in range(64)]
for near, far in pairs:
    near.sendall(b"x" * 1000)
print(sum(len(far.recv(1000)) for near, far in pairs))""")
        self.assertEqual(talked["stdout"], "64000\n", talked)


if __name__ == "__main__":
    sealed.main()
