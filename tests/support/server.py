# A whole server of the test's own (`glovebox serve`: supervisor, launcher, server), and a small
# client that keeps its connection. For tests below sealed.main(), which say what nothing-left means.
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import unittest

import processes
import sealed
import warm

# The machine may be busy with other things: only what is stuck fails.
PATIENCE = 60


def resident_bytes(pid):
    """Of a process that the test relies on."""
    return processes.living(pid).resident_bytes()


def metric(text, name):
    """The sum of a Prometheus metric's values over all labels."""
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
               if line.startswith((name + " ", name + "{")))


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def text(self):
        return self.body.decode()

    @property
    def code(self):
        """The error code of a refusal."""
        return self.json["error"]["code"]

    def __repr__(self):
        return f"{self.status} {dict(self.headers)} {self.body[:2000]!r}"


class Client:
    """One connection at a time, kept while both sides like. Not to be shared between threads."""

    def __init__(self, url, key=None, timeout=PATIENCE):
        scheme, _, place = url.partition("://")
        host, port = place.rsplit(":", 1)
        self.is_secure = scheme == "https"
        self.address, self.key, self.timeout = (host, int(port)), key, timeout
        self.connection = None

    def open(self):
        if self.connection is None and self.is_secure:
            # Whose certificate it is is looked at by the tests that are about that.
            self.connection = http.client.HTTPSConnection(
                *self.address, timeout=self.timeout, context=ssl._create_unverified_context())
        elif self.connection is None:
            self.connection = http.client.HTTPConnection(*self.address, timeout=self.timeout)
        return self.connection

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def headers(self, more=None):
        made = {} if self.key is None else {"X-API-Key": self.key}
        made.update(more or {})
        return {name: value for name, value in made.items() if value is not None}

    def send(self, method, path, body=None, headers=None):
        """The answer as http.client has it, unread; for streams."""
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        self.open().request(method, path, body, self.headers(headers))
        return self.connection.getresponse()

    def call(self, method, path, body=None, headers=None):
        kept = self.connection is not None
        try:
            response = self.send(method, path, body, headers)
            return self.take(response)
        except (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected):
            # A kept connection may be closed by the other side at any time; a fresh one may not.
            self.close()
            if not kept or method != "GET":
                raise
            return self.take(self.send(method, path, body, headers))
        except Exception:
            self.close()
            raise

    def take(self, response):
        answer = Answer(response.status, response.headers, response.read())
        if response.will_close:
            self.close()
        return answer

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def post_run(self, headers=None, **request):
        return self.call("POST", "/v1/run", request, headers)

    def run(self, **request):
        """A run that must be answered with 200; its answer."""
        answer = self.post_run(**request)
        if answer.status != 200:
            raise AssertionError(answer)
        return answer.json

    def python(self, code, **request):
        return self.run(language="python", code=code, **request)


# For all servers of a suite: how files and ports of sessions travel.
LINK = {"sessions.link": os.environ["GBX_SESSION_LINK"]} if "GBX_SESSION_LINK" in os.environ else {}


class Server:
    """`glovebox serve` on a free port."""

    def __init__(self, data=None, settings=(), env=None, prefix=(), listen="127.0.0.1:0"):
        self.owned = tempfile.TemporaryDirectory(prefix="gbx-test-") if data is None else None
        self.data = data or self.owned.name
        os.chmod(self.data, 0o755)
        self.words = ["serve", "--data-dir", self.data, "--listen", listen]
        for name, value in {**LINK, **dict(settings)}.items():
            self.words += ["--set", f"{name}={value}"]
        self.env, self.prefix, self.clients = env, list(prefix), []
        log = tempfile.NamedTemporaryFile(prefix="gbx-test-", suffix=".log", delete=False)
        self.log_path = log.name
        log.close()
        self.supervisor = None
        try:
            self.start()
        except BaseException:
            self.stop(check=False)
            raise

    def start(self):
        """Starts a supervisor; if there was one before, what it left is taken over."""
        self.previous = self.info.get("supervisor_pid")
        with open(self.log_path, "ab") as log:
            self.supervisor = subprocess.Popen(
                [*self.prefix, sealed.GLOVEBOX, *self.words], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=sealed.environment(self.env))
        self.wait_ready()

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()

    def file(self, name):
        with open(os.path.join(self.data, name)) as file:
            return file.read()

    @property
    def info(self):
        try:
            return json.loads(self.file("serve.json"))
        except FileNotFoundError:
            return {}

    @property
    def url(self):
        return self.info["url"]

    @property
    def key(self):
        return self.file("admin.key").strip()

    def client(self, key=None, **more):
        made = Client(self.url, key or self.key, **more)
        self.clients.append(made)
        return made

    def is_ready(self):
        info = self.info
        if not info or info["supervisor_pid"] == self.previous:  # left by one that was killed
            return False
        try:
            with Client(info["url"], timeout=5) as client:
                return client.get("/health/ready").status == 200
        except (OSError, http.client.HTTPException):
            return False

    def is_ready_again(self):
        """After one of its processes was killed: by the same supervisor."""
        try:
            with Client(self.info["url"], timeout=5) as client:
                return client.get("/health/ready").status == 200
        except (KeyError, OSError, http.client.HTTPException):
            return False

    def wait_ready(self, seconds=PATIENCE):
        ready = sealed.wait_until(lambda: self.supervisor.poll() is not None or self.is_ready(), seconds)
        if not ready or self.supervisor.poll() is not None:
            raise AssertionError("the server is not ready: " + self.log()[-4000:])

    def wait_warm(self, template="python", seconds=PATIENCE):
        """Until sandboxes of a template wait with their runtime inside."""
        with Client(self.url, self.key) as client:
            warm_now = sealed.wait_until(lambda: client.run(template=template, code="1")["warm"], seconds)
        if not warm_now:
            raise AssertionError(f"{template} does not get warm: " + self.log()[-4000:])

    def wait_written(self):
        """Until what runs left behind is on the disk: records are written in batches."""
        with Client(self.url) as client:
            if not sealed.wait_until(
                    lambda: metric(client.get("/metrics").text, "glovebox_store_queued") == 0, PATIENCE):
                raise AssertionError("records are not written")

    def new_key(self, **fields):
        """A key of a project; (secret, id)."""
        with Client(self.url, self.key) as client:
            answer = client.call("POST", "/v1/keys", fields)
        if answer.status != 201:
            raise AssertionError(answer)
        return answer.json["key"], answer.json["id"]

    # --- its processes --------------------------------------------------------------------------

    def brokers(self):
        launcher = self.info["launcher_pid"]
        return warm.brokers_of(launcher, processes.below(launcher))

    def zygotes(self):
        launcher = self.info["launcher_pid"]
        return warm.zygotes_of(launcher, processes.below(launcher))

    def guests(self):
        """Programs and runtimes inside sandboxes."""
        launcher = self.info["launcher_pid"]
        return {pid for pid, process in warm.guests_of(launcher, processes.below(launcher)).items()
                if not process.name.startswith("glovebox")}

    def stop(self, check=True):
        for client in self.clients:
            client.close()
        info = self.info
        status = None
        if self.supervisor is not None:
            if self.supervisor.poll() is None:
                # With a prefix, the process we started is not the supervisor itself.
                processes.kill([info.get("supervisor_pid", self.supervisor.pid)], signal.SIGTERM)
            try:
                status = self.supervisor.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                self.supervisor.kill()
                self.supervisor.wait()
        # Programs that outlived a supervisor that was killed.
        for name in ("pid", "launcher_pid", "gateway_pid"):
            if info.get(name):
                processes.kill([info[name]])
        log = self.log()
        os.unlink(self.log_path)
        if self.owned is not None:
            self.owned.cleanup()
        if check and status != 0:
            raise AssertionError(f"`glovebox serve` ended with {status}: {log[-4000:]}")


class Served(unittest.TestCase):
    """One server for all tests of a class; at the end, nothing of it is left."""
    maxDiff = None
    settings = {}
    env = None  # more words of its environment

    @classmethod
    def setUpClass(cls):
        cls.before = sealed.Nothing()
        cls.prepare()
        try:
            cls.server = Server(settings={"log.requests": "false", **cls.settings}, env=cls.env)
        except BaseException:
            cls.tidy()
            raise

    @classmethod
    def prepare(cls):
        """What must be there before the server starts."""

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.tidy()
        left = cls.before.still_there(PATIENCE)
        if left:
            raise AssertionError(left)

    @classmethod
    def tidy(cls):
        """Takes back what prepare() did."""

    def setUp(self):
        self.client = self.server.client()
        self.addCleanup(self.client.close)

    def raw(self, data=b"", timeout=PATIENCE):
        """A socket to the server, with something sent."""
        connection = socket.create_connection(self.client.address, timeout=timeout)
        self.addCleanup(connection.close)
        if data:
            connection.sendall(data)
        return connection

    def assert_refused(self, answer, status, code):
        """An error of the platform, in the form that all have."""
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.headers.get_content_type(), "application/json", answer)
        self.assertEqual(set(answer.json), {"error", "request_id"}, answer)
        self.assertEqual(set(answer.json["error"]), {"code", "message"}, answer)
        self.assertEqual(answer.json["error"]["code"], code, answer)
        self.assertTrue(answer.json["error"]["message"], answer)


class EtcGlovebox:
    """An /etc/glovebox for the test alone: a file system of its own in the sealed mount namespace."""
    PATH = "/etc/glovebox"

    def __init__(self):
        self.made = not os.path.isdir(self.PATH)
        os.makedirs(self.PATH, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "test", self.PATH], check=True)

    def write(self, name, content):
        path = os.path.join(self.PATH, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(content)
        return path

    def remove(self):
        subprocess.run(["umount", self.PATH], check=True)
        if self.made:
            try:
                os.rmdir(self.PATH)
            except OSError:
                pass  # another test uses it
