#!/usr/bin/python3 -IB
"""Stand-ins for glovebox-launcher, glovebox-server and glovebox-gateway, for tests of the supervisor alone. Each is
this file under the other's name; they write what happens to them into the data directory, and a
test steers them with files there:
  foreign    a launcher that starts hangs up on every client that sends something
  stubborn   the server does not stop when asked
  refuse     the server ends at once, with a message and status 3
  crashes    how many times the server kills itself at its start
  odd_words  what the server says first on its channel, as bytes
"""
import json
import os
import select
import shutil
import signal
import socket
import sys
import time


def install(directory, gateway=False):
    """A directory for GLOVEBOX_LIBEXEC."""
    for name in ("glovebox-launcher", "glovebox-server", *(["glovebox-gateway"] if gateway else [])):
        path = os.path.join(directory, name)
        shutil.copy(os.path.abspath(__file__), path)
        os.chmod(path, 0o755)
    return directory


def events(data, name):
    """What a stand-in has written so far."""
    try:
        with open(os.path.join(data, name + ".log")) as file:
            return [json.loads(line) for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []


class StandIn:
    def __init__(self, name, data):
        self.data = data
        self.log = open(os.path.join(data, name + ".log"), "a", buffering=1)
        fds = sorted(int(fd) for fd in os.listdir("/proc/self/fd"))
        self.say("start", args=sys.argv[1:], stdin=os.readlink("/proc/self/fd/0"),
                 session=os.getsid(0), environment=sorted(os.environ), at=time.monotonic(),
                 fds=[fd for fd in fds if fd != self.log.fileno() and os.path.exists(f"/proc/self/fd/{fd}")])
        signal.signal(signal.SIGHUP, lambda *_: self.say("hup"))

    def say(self, event, **more):
        self.log.write(json.dumps({"event": event, "pid": os.getpid(), **more}) + "\n")

    def has(self, name):
        return os.path.exists(os.path.join(self.data, name))

    def listen(self, path):
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen()
        return listener

    def leave(self, path):
        self.say("stop")
        os.unlink(path)
        os._exit(0)


def launcher(path):
    me = StandIn("launcher", os.path.dirname(path))
    is_foreign = me.has("foreign")
    listener = me.listen(path)
    signal.signal(signal.SIGTERM, lambda *_: me.leave(path))
    clients = []
    while True:
        for ready in select.select([listener, *clients], [], [])[0]:
            if ready is listener:
                clients.append(listener.accept()[0])
                continue
            message = ready.recv(4096)
            if message:
                me.say("message", bytes=message.hex())
            if not message or is_foreign:
                clients.remove(ready)
                ready.close()


def gateway(args):
    path = args[args.index("--listen") + 1]
    me = StandIn("gateway", os.path.dirname(path))
    listener = me.listen(path)
    signal.signal(signal.SIGTERM, lambda *_: me.leave(path))
    client = None
    while True:
        newest = listener.accept()[0]
        if client:
            client.close()  # as the real one does
        client = newest
        me.say("client")


class Server(StandIn):
    def __init__(self, args):
        self.settings = dict(word.split("=", 1) for flag, word in zip(args, args[1:])
                             if flag == "--set")
        super().__init__("server", self.settings["server.data_dir"])
        if self.has("refuse"):
            sys.exit("stand-in: the port is taken")
        self.crash_perhaps()
        self.path = os.path.join(self.data, "server.sock")
        self.door = self.listen(self.path)
        host, port = self.settings["server.listen"].rsplit(":", 1)
        self.http = socket.create_server((host, int(port)))
        self.url = f"http://{host}:{self.http.getsockname()[1]}"
        self.channel = socket.socket(fileno=3)
        self.launcher = None
        signal.signal(signal.SIGTERM, self.stop)
        signal.signal(signal.SIGUSR1, lambda *_: self.channel.send(b"N"))
        signal.signal(signal.SIGUSR2, lambda *_: self.channel.send(b"M"))
        signal.signal(signal.SIGWINCH, lambda *_: self.channel.send(b"D"))
        self.gateway = None

    def crash_perhaps(self):
        path = os.path.join(self.data, "crashes")
        if self.has("crashes"):
            with open(path) as file:
                left = int(file.read())
            if left:
                with open(path, "w") as file:
                    file.write(str(left - 1))
                os.kill(os.getpid(), signal.SIGKILL)

    def stop(self, *_):
        if self.has("stubborn"):
            self.say("stubborn")
        else:
            self.leave(self.path)

    def report(self):
        if self.has("odd_words"):
            path = os.path.join(self.data, "odd_words")
            with open(path, "rb") as file:
                words = file.read()
            os.unlink(path)
        else:
            words = b"R" + json.dumps({"url": self.url}).encode()
        try:
            self.channel.send(words)
        except BrokenPipeError:
            self.say("no program listens")

    def serve(self):
        self.report()
        while True:
            wanted = [self.door, self.http] + [one for one in (self.channel, self.launcher) if one]
            for ready in select.select(wanted, [], [])[0]:
                if ready is self.door:
                    self.channel = self.door.accept()[0]
                    self.say("channel")
                    self.report()
                elif ready is self.http:
                    self.http.accept()[0].close()
                elif ready is self.launcher:
                    self.look_at_launcher()
                elif ready is self.channel:
                    self.hear()

    def look_at_launcher(self):
        try:
            if self.launcher.recv(65536):
                return
        except ConnectionResetError:
            pass  # it died before it had read all
        self.say("launcher lost")
        self.launcher = None
        try:
            if self.channel:
                self.channel.send(b"N")
        except BrokenPipeError:
            pass

    def hear(self):
        message, fds, _, _ = socket.recv_fds(self.channel, 100, 4)
        if not message:
            self.say("alone")
            self.channel = None
            return
        if message == b"D":
            with open(fds[0]) as report:
                self.say("doctor", report=report.read())
            return
        self.say("message", text=message.decode(), fds=len(fds))
        handed = socket.socket(fileno=fds[0])
        if message == b"G":
            self.gateway = handed
        else:
            self.launcher = handed


if __name__ == "__main__":
    if os.path.basename(sys.argv[0]) == "glovebox-launcher":
        launcher(sys.argv[2])
    elif os.path.basename(sys.argv[0]) == "glovebox-gateway":
        gateway(sys.argv[1:])
    else:
        Server(sys.argv[1:]).serve()
