# A client of the launcher as a server is one: templates, sandboxes that wait with a runtime inside,
# jobs for them. Synchronous and from the other side of the protocol, like launcher_wire.
import array
import os
import select
import signal
import socket
import struct
import subprocess
import time

import launcher_wire as wire
import processes
import sealed

IDLE, STARTING, READY, FAILED, REMOVED = 1, 2, 3, 4, 5
UNAVAILABLE, TIMEOUT = 7, 8
EXITED, DESTROYED, WALL_TIMEOUT, CPU_TIMEOUT = 1, 2, 3, 4
GUEST_PROTOCOL = 4
PUT_FILE, GET_FILE, FILE_CHUNK, FILE_END, START, SIGNAL, RESIZE, JOB_CHUNK, START_JOB = range(1, 10)
ENDS_AFTER_IT = b"\0"  # of a job: its interpreter does not stay for further calls
FILE_STORED, FILE_FAILED, STARTED, START_FAILED, PROGRAM_EXITED = range(65, 70)
CHUNK = 64 * 1024
ENV = ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/user"]
# The machine may be busy with other things: only what is stuck fails.
PATIENCE = 60


class Refused(Exception):
    def __init__(self, reply):
        super().__init__(f"{reply.code}: {reply.message}")
        self.code, self.message = reply.code, reply.message


class Launcher(sealed.SharedLauncher):
    """A shared launcher with a directory of templates and its log in a file."""

    def __init__(self, directory, *options, templates=None, layers=None):
        self.path = os.path.join(directory, "launcher.sock")
        self.log_path = os.path.join(directory, "launcher.log")
        command = [sealed.LAUNCHER, "--listen", self.path, *map(str, options)]
        # Not the administrator's of this host, whatever they are.
        command += ["--templates", templates or os.path.join(directory, "none")]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=sealed.environment({"GLOVEBOX_LAYERS_DIR": layers} if layers else {}))
        if not sealed.wait_until(lambda: self.answers() or self.process.poll() is not None):
            raise AssertionError("the launcher does not listen")
        if self.process.poll() is not None:
            raise AssertionError("the launcher ended by itself: " + self.log())

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()

    def processes(self):
        """{pid: Process} of everything below the launcher."""
        return processes.below(self.pid)

    def brokers(self):
        return brokers_of(self.pid, self.processes())

    def zygotes(self):
        """Pids, here, of the launcher's zygotes."""
        return zygotes_of(self.pid, self.processes())

    def guests(self):
        """Processes of sandboxes besides their agents."""
        return guests_of(self.pid, self.processes())


def brokers_of(launcher, below):
    """Pids of a launcher's own children, among what processes.below() found there."""
    return {process.pid for process in below.values() if process.parent == launcher}


def zygotes_of(launcher, below):
    """Interpreters that are a broker's own children, and in its pid namespace."""
    brokers = brokers_of(launcher, below)
    return {process.pid for process in below.values()
            if process.parent in brokers and process.name.startswith("python")
            and process.depth == below[process.parent].depth}


def guests_of(launcher, below):
    """Those in a pid namespace below a broker's, besides its first process, the agent."""
    brokers = brokers_of(launcher, below)
    depth = max((below[pid].depth for pid in brokers), default=0)
    return {process.pid: process for process in below.values() if process.depth > depth and process.own_pid != 1}


def texts(values):
    return struct.pack("<I", len(values)) + b"".join(wire.text(value) for value in values)


def job(code, env=ENV, args=(), workdir="/home/user", name="main.py"):
    return b"GBXJOB1\n" + texts(list(env)) + texts(list(args)) + wire.text(workdir) + wire.text(name) + wire.text(code)


def frame(kind, payload=b""):
    return struct.pack("<BB", GUEST_PROTOCOL, kind) + payload


class Client:
    """One connection. Whatever arrives is kept until the test asks for it."""

    def __init__(self, launcher, server=True):
        self.socket = launcher.connect()
        self.templates, self.answers, self.ended, self.seq = {}, {}, {}, 0
        self.history = []  # every status told, in order
        if server:
            wire.send(self.socket, wire.become_server())

    def close(self):
        self.socket.close()

    def pump(self, seconds):
        """Takes one message in, if there is one in time."""
        if not select.select([self.socket], [], [], max(0, seconds))[0]:
            return False
        message, fds, _, _ = socket.recv_fds(self.socket, 64 * 1024, 8)
        if not message:
            raise AssertionError("the launcher closed the connection")
        reply = wire.Reply(message)
        reply.fds = fds
        if reply.kind == wire.TEMPLATE:
            self.templates[reply.name] = reply
            self.history.append(reply)
        elif reply.kind == wire.ENDED:
            (reply.oom_kills,) = struct.unpack_from("<I", message, len(message) - 4)
            self.ended[reply.id] = reply
        else:
            self.answers.setdefault(reply.seq, []).append(reply)
        return True

    def wait(self, condition, seconds=PATIENCE):
        """The first true value of condition(), looked at whenever the launcher says something."""
        deadline = time.monotonic() + seconds
        while not (value := condition()):
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self.pump(min(left, 0.2))
        return value

    def template(self, name, *states, seconds=PATIENCE):
        """The template's status as soon as it is one of these."""
        def there():
            status = self.templates.get(name)
            return status if status is not None and status.state in states else None
        status = self.wait(there, seconds)
        if status is None:
            raise AssertionError(f"{name} does not become {states}: {self.templates.get(name)}")
        return status

    def ask_for(self, name):
        wire.send(self.socket, wire.prepare(name))

    def prepare(self, name, seconds=PATIENCE):
        """Starts the template's runtime; its status when it is ready or has failed."""
        self.ask_for(name)
        return self.template(name, READY, FAILED, seconds=seconds)

    def answer_to(self, seq, seconds=PATIENCE):
        def arrived():
            return self.answers[seq].pop(0) if self.answers.get(seq) else None
        return self.wait(arrived, seconds)

    def begin(self, template="python", bounds=None, warm=1, waits=1, network=0, hurry=0):
        """Asks for a sandbox; finish with Pending.sandbox(). In a hurry its interpreter does not rehearse."""
        self.seq += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(PATIENCE)
        message = wire.create(template=template, bounds=bounds, seq=self.seq, warm=warm, waits=waits, network=network,
                              hurry=hurry)
        wire.send(self.socket, message, [theirs.fileno()])
        theirs.close()
        return Pending(self, self.seq, ours, not waits)

    def create(self, template="python", bounds=None, warm=1, waits=1, seconds=PATIENCE, network=0):
        return self.begin(template, bounds, warm, waits, network).sandbox(seconds)

    def create_patiently(self, template="python", bounds=None, seconds=PATIENCE, network=0):
        """As a server does it: a refusal that says "not now" is asked again when there is news."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self.create(template, bounds, network=network)
            except Refused as refused:
                if refused.code != UNAVAILABLE or time.monotonic() > deadline:
                    raise
            self.pump(0.05)

    def run(self, code, template="python", bounds=None, **more):
        """One warm run from its beginning to its end."""
        sandbox = self.create_patiently(template)
        try:
            return sandbox.run(code, bounds=bounds, **more)
        finally:
            sandbox.destroy()


class Pending:
    def __init__(self, client, seq, link, taken):
        self.client, self.seq, self.link, self.taken = client, seq, link, taken

    def sandbox(self, seconds=PATIENCE):
        reply = self.client.answer_to(self.seq, seconds)
        if reply is None or reply.kind != wire.CREATED:
            self.link.close()
            if reply is None:
                raise AssertionError("the launcher does not answer")
            raise Refused(reply)
        return Sandbox(self.client, reply, self.link, self.taken)


class Outcome:
    """What a job did. `code` is None if its sandbox died under it."""

    def __init__(self):
        self.out = self.err = self.results = b""
        self.code = self.signal = None

    def __repr__(self):
        return f"Outcome({self.__dict__})"


class Sandbox:
    def __init__(self, client, created, link, taken):
        self.client, self.link, self.taken = client, link, taken
        self.id, self.walls, self.generation = created.id, created.walls, created.generation
        self.pipes = []

    def take(self, bounds=None, network=0):
        wire.send(self.client.socket, wire.take(self.id, bounds, network))
        self.taken = True

    def send(self, kind, payload=b""):
        self.link.send(frame(kind, payload))

    def put_file(self, path, content, mode=0o644):
        self.send(PUT_FILE, wire.text(path) + struct.pack("<I", mode))
        for at in range(0, len(content), CHUNK):
            self.send(FILE_CHUNK, wire.text(content[at:at + CHUNK]))
        self.send(FILE_END)
        answer = self.link.recv(CHUNK)
        if answer[1:2] != bytes([FILE_STORED]):
            raise AssertionError(f"not stored: {answer}")

    def start(self, code, **more):
        """Hands the job over; the guest's pid as it sees it itself."""
        whole = job(code, **more)
        for at in range(0, len(whole), CHUNK):
            self.send(JOB_CHUNK, wire.text(whole[at:at + CHUNK]))
        self.send(START_JOB, ENDS_AFTER_IT)
        return self.started()

    def started(self):
        message, rights, _, _ = self.link.recvmsg(200_000, socket.CMSG_SPACE(64))
        if message[1:2] != bytes([STARTED]):
            raise AssertionError(f"not started: {message}")
        fds = array.array("i")
        fds.frombytes(rights[0][2][:len(rights[0][2]) // fds.itemsize * fds.itemsize])
        self.pipes = list(fds)
        return struct.unpack_from("<I", message, 2)[0]

    def finish(self, stdin=b"", seconds=PATIENCE):
        """Reads all three pipes to their ends, and how it ended."""
        outcome = Outcome()
        if stdin:
            os.write(self.pipes[0], stdin)
        os.close(self.pipes[0])
        reading = dict(zip(self.pipes[1:], ("out", "err", "results")))
        deadline = time.monotonic() + seconds
        try:
            while reading:
                ready, _, _ = select.select(list(reading), [], [], max(0, deadline - time.monotonic()))
                if not ready:
                    raise AssertionError(f"it does not end: {outcome}")
                for fd in ready:
                    data = os.read(fd, 1 << 16)
                    setattr(outcome, reading[fd], getattr(outcome, reading[fd]) + data)
                    if not data:
                        del reading[fd]
        finally:
            for fd in self.pipes[1:]:
                os.close(fd)
            self.pipes = []
        try:
            message = self.link.recv(1000)
        except ConnectionResetError:
            message = b""
        if message[1:2] == bytes([PROGRAM_EXITED]):
            outcome.code, outcome.signal = message[2], message[3]
        return outcome

    def run(self, code, bounds=None, stdin=b"", seconds=PATIENCE, **more):
        if not self.taken:
            self.take(bounds)
        self.start(code, **more)
        return self.finish(stdin, seconds)

    def end(self, seconds=PATIENCE):
        """How the launcher says it ended."""
        return self.client.wait(lambda: self.client.ended.get(self.id), seconds)

    def forget(self):
        for fd in self.pipes:
            os.close(fd)
        self.pipes = []
        self.link.close()

    def destroy(self):
        """Ends it; what the launcher answers."""
        self.forget()
        if self.id not in self.client.ended:
            wire.send(self.client.socket, wire.destroy(self.id))
        return self.end()


# --- templates of the test's own ----------------------------------------------------------------

SITE = "/etc/python3.11/sitecustomize.py"  # what Debian's python3 loads first, -I or not


def can_add_modules():
    return os.path.exists(SITE) and os.path.realpath("/usr/lib/python3.11/sitecustomize.py") == SITE


def add_template(directory, name, module, *, runtime="python", preload=None, extra=""):
    """A template whose layer has a module of its name, with this source, imported ahead."""
    layer = os.path.join(directory, name + ".layer")
    os.makedirs(layer + "/opt/preload", mode=0o755)
    os.makedirs(layer + os.path.dirname(SITE), mode=0o755)
    word = "preload_" + name.replace("-", "_")
    with open(layer + f"/opt/preload/{word}.py", "w") as file:
        file.write(module)
    with open(layer + SITE, "w") as file:
        file.write("import sys\nsys.path.append('/opt/preload')\n")
    write_template(directory, name, runtime=runtime, layers=[layer], preload=preload or [word], extra=extra)
    return layer


def write_template(directory, name, *, runtime="python", layers=(), preload=(), extra=""):
    quoted = lambda values: "[" + ", ".join(f'"{value}"' for value in values) + "]"  # noqa: E731
    text = f'runtime = "{runtime}"\n'
    if layers:
        text += f"layers = {quoted(layers)}\n"
    if preload:
        text += f"preload = {quoted(preload)}\n"
    path = os.path.join(directory, name + ".toml")
    with open(path + ".new", "w") as file:
        file.write(text + extra)
    os.rename(path + ".new", path)


class TestCase(sealed.TestCase):
    """With a launcher and one connection of a server to it."""
    options = ()
    templates = ()  # names that setUp prepares
    layers = None   # a directory of the test's own for the launcher's layers

    def setUp(self):
        super().setUp()
        self.place = self.directory()
        self.templates_place = os.path.join(self.place, "templates")
        os.mkdir(self.templates_place, mode=0o755)
        self.write_templates()
        self.launcher = Launcher(self.place, *self.options, templates=self.templates_place, layers=self.layers)
        self.addCleanup(self.launcher.stop)
        self.client = self.connect()
        for name in self.templates:
            status = self.client.prepare(name)
            self.assertEqual(status.state, READY, status)

    def write_templates(self):
        pass

    def connect(self):
        client = Client(self.launcher)
        self.addCleanup(client.close)
        return client

    def reload(self):
        os.kill(self.launcher.pid, signal.SIGHUP)

    def zygote(self, after=None):
        """The only zygote's pid, here; with `after`, once that one has ended and another is there."""
        def only_one():
            found = self.launcher.zygotes()
            return found if len(found) == 1 and after not in found else None
        found = sealed.wait_until(only_one)
        self.assertIsNotNone(found, (after, self.launcher.processes()))
        return found.pop()

    def assert_serves(self, template="python"):
        outcome = self.client.run("print(6 * 7)", template)
        self.assertEqual((outcome.out, outcome.code), (b"42\n", 0), outcome)
