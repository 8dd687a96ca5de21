"""A first program for the sandbox: who am I here, and what can I reach?"""
import getpass
import os
import socket
import sys


def network_interfaces():
    """From /proc: there are no netlink sockets in a sandbox, which if_nameindex() would use."""
    with open("/proc/net/dev") as table:
        return [line.split(":")[0].strip() for line in table if ":" in line]


def attempt(what, action):
    try:
        action()
        print(f"  {what}: it worked")
    except OSError as error:
        print(f"  {what}: {error.strerror}")


def connect(host, port):
    with socket.create_connection((host, port), timeout=2):
        pass


name = sys.argv[1] if len(sys.argv) > 1 else "world"
print(f"Hello {name}, from {getpass.getuser()}@{socket.gethostname()}, process {os.getpid()}.")
print(f"I see {sum(entry.isdigit() for entry in os.listdir('/proc'))} processes "
      f"and {len(network_interfaces())} network interface.")
with open("note.txt", "w") as note:
    note.write("gone with the sandbox\n")
print("I can write in", os.getcwd())
print("and these are the walls:")
attempt("write a program into /usr/bin", lambda: open("/usr/bin/evil", "w"))
attempt("read the password hashes", lambda: open("/etc/shadow"))
attempt("connect to the network", lambda: connect("192.0.2.1", 80))
attempt("become root", lambda: os.setuid(0))
attempt("signal the sandbox's first process", lambda: os.kill(1, 9))
