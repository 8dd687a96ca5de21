# What others wrote to wear a system down, inside: stress-ng's stressors class by class, random system
# calls, CPython's own tests of the operating system. In a run and in a session, as user and as root.
# The sandbox may refuse whatever it likes; it must live, its neighbour must not notice, and nothing
# may be left.
#   GLOVEBOX_BIN_DIR=build/bin python3 tests/soak/corpus_soak.py
# A short form: GBX_CORPUS_CLASSES="pipe security" GBX_CORPUS_FUZZ_SECONDS=30 GBX_CORPUS_MODULES="test_os test_pty"
# Needs Debian's stress-ng and libpython3.11-testsuite, and the built tests/soak/syscall_fuzz.
import json
import os
import re
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
from session import Session

HERE = os.path.dirname(os.path.abspath(__file__))
STRESS_NG = "/usr/bin/stress-ng"
STRESSOR_SECONDS = int(os.environ.get("GBX_CORPUS_STRESSOR_SECONDS", "1"))
FUZZ_SECONDS = int(os.environ.get("GBX_CORPUS_FUZZ_SECONDS", "600"))
CLASSES = os.environ.get("GBX_CORPUS_CLASSES", "cpu cpu-cache device filesystem interrupt io memory network os pipe "
                         "scheduler security vm").split()
MODULES = os.path.join(HERE, "cpython_modules.txt")
DIFFERENCES = os.path.join(HERE, "cpython_differences.json")
PROFILE = {"memory_mb": 1024, "disk_mb": 256, "pids": 512, "cpus": 2}


class Neighbour(threading.Thread):
    """Another project's session, in which a command runs again and again. Every one must work."""

    def __init__(self, served):
        super().__init__(daemon=True)
        key, _ = served.new_key(project="neighbour", name="neighbour")
        self.client = server.Client(served.url, key)
        self.session = Session(self.client, template="base", ttl_s=7200)
        self.ended = threading.Event()
        self.count, self.slowest, self.failure = 0, 0.0, None

    def run(self):
        while not self.ended.is_set() and self.failure is None:
            began = time.monotonic()
            try:
                done = self.session.exec("/bin/echo", "alive")
                if done["stdout"] != "alive\n":
                    self.failure = done
            except Exception as error:  # whatever it is, the neighbour noticed
                self.failure = repr(error)
            self.count += 1
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.ended.wait(0.2)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()
        self.session.kill()
        self.client.close()


class Corpus(server.Served):
    settings = {"sessions.max_ttl": "24h"}

    def setUp(self):
        super().setUp()
        key, _ = self.server.new_key(project="corpus", name="corpus")
        self.client = self.server.client(key, timeout=7200)
        self.neighbour = Neighbour(self.server)
        self.neighbour.__enter__()
        self.addCleanup(self.neighbour.__exit__)

    def session(self):
        made = Session(self.client, template="python", ttl_s=14400, profile=PROFILE)
        self.addCleanup(made.kill)
        return made

    def assert_all_well(self, session=None):
        if session is not None:
            self.assertEqual(session.state, "running")
            self.assertEqual(session.shell("echo here", user="root")["stdout"], "here\n")
        self.assertIsNone(self.neighbour.failure)
        self.assertGreater(self.neighbour.count, 0)
        self.assertEqual(self.client.run(language="python", code="print(1)")["stdout"], "1\n")

    def note(self, text):
        print(f"{text}; the neighbour's {self.neighbour.count} commands: slowest "
              f"{self.neighbour.slowest * 1000:.0f} ms", flush=True)


@unittest.skipUnless(os.path.exists(STRESS_NG), "stress-ng is not installed")
class StressNg(Corpus):
    def command(self, name):
        return [STRESS_NG, "--class", name, "--sequential", "1", "--timeout", f"{STRESSOR_SECONDS}s",
                "--oomable", "--temp-path", "/tmp", "--metrics-brief"]

    def tried(self, output):
        """How many stressors say that they did something."""
        return len(re.findall(r"^stress-ng: metrc: \[\d+\] [a-z0-9-]+ +\d", output, re.M))

    def in_session(self, user):
        session, total = self.session(), 0
        for name in CLASSES:
            with self.subTest(name=name, user=user):
                done = session.exec(*self.command(name), user=user, timeout_ms=1_800_000, output_kb=4096)
                total += self.tried(done["stdout"] + done["stderr"])
                self.assert_all_well(session)
        # The control: they did work, and were not refused before they began.
        self.assertGreater(total, 3 * len(CLASSES))
        self.note(f"stress-ng in a session as {user}: {total} stressors worked")

    def test_in_a_session_as_user(self):
        self.in_session("user")

    def test_in_a_session_as_root(self):
        self.in_session("root")

    def test_in_runs(self):
        total = 0
        for name in CLASSES:
            with self.subTest(name=name):
                answer = self.client.post_run(command=" ".join(self.command(name)), template="python",
                                              profile={**PROFILE, "timeout_ms": 600_000, "output_kb": 4096})
                self.assertEqual(answer.status, 200, answer)
                total += self.tried(answer.json["stdout"] + answer.json["stderr"])
                self.assert_all_well()
        self.assertGreater(total, 3 * len(CLASSES))
        self.note(f"stress-ng in runs: {total} stressors worked")


class SystemCalls(Corpus):
    PROGRAM = os.path.join(os.path.dirname(sealed.BIN.rstrip("/")), "tests", "syscall_fuzz")

    def test_random_calls(self):
        with open(self.PROGRAM, "rb") as file:
            program = file.read()
        for user in ("user", "root"):
            with self.subTest(user=user):
                session = self.session()
                session.put("/home/user/syscall_fuzz", program)
                session.exec("/bin/chmod", "0755", "/home/user/syscall_fuzz", user="root")
                seed = int.from_bytes(os.urandom(4), "little")
                done = session.exec("/home/user/syscall_fuzz", str(FUZZ_SECONDS), str(seed), user=user,
                                    timeout_ms=(FUZZ_SECONDS + 60) * 1000)
                calls = re.match(r"(\d+) calls", done["stdout"])
                self.assertTrue(calls and int(calls.group(1)) > 1000, (seed, done))
                self.assert_all_well(session)
                self.note(f"seed {seed}, as {user}: {done['stdout'].strip()}")


@unittest.skipUnless(os.path.exists("/usr/lib/python3.11/test/test_os.py"), "CPython's tests are not installed")
class CPython(Corpus):
    """Its tests of what touches the operating system give the same inside as outside, except for those
    listed with a reason."""

    def modules(self):
        if "GBX_CORPUS_MODULES" in os.environ:
            return os.environ["GBX_CORPUS_MODULES"].split()
        with open(MODULES) as file:
            return [line.strip() for line in file if line.strip() and not line.startswith("#")]

    def command(self, report):
        return ["/usr/bin/python3", "-m", "test", "-j2", "--timeout", "300", "--junit-xml", report, *self.modules()]

    def failed(self, output):
        """Modules that did not pass, of the summary that the tests print last."""
        failed = set()
        for part in re.findall(r"^\d+ tests? (?:failed|altered the execution environment)[^\n]*:\n((?:    .*\n)+)",
                               output, re.M):
            failed |= set(part.split())
        return failed

    def test_the_same_inside_as_outside(self):
        session = self.session()
        inside = session.shell("cd /tmp && exec " + " ".join(self.command("/tmp/report.xml")),
                               timeout_ms=7_200_000, output_kb=16384)
        self.assert_all_well(session)
        outside = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                  *self.command("/tmp/report.xml")], cwd="/tmp", text=True, capture_output=True,
                                 env={"PATH": "/usr/bin:/bin", "HOME": "/tmp"}, check=False)
        failed_inside = self.failed(inside["stdout"])
        failed_outside = self.failed(outside.stdout)
        with open(DIFFERENCES) as file:
            known = json.load(file)
        self.note(f"CPython's modules: {len(self.modules())}; failed inside {sorted(failed_inside)}, "
                  f"outside {sorted(failed_outside)}")
        self.assertEqual(set(), failed_inside - failed_outside - set(known), inside["stdout"][-4000:])


if __name__ == "__main__":
    sealed.main()
