# Sessions for a long time: clients that make, use, pause, crash and kill them at random, each of
# which knows what every answer must be. At the end nothing is left, and the server has not grown.
#   GLOVEBOX_BIN_DIR=build/bin python3 tests/soak/session_soak.py --seconds 120
import argparse
import faulthandler
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
from session import Session
from websocket import ExecStream

OPTIONS = argparse.ArgumentParser(add_help=True)
OPTIONS.add_argument("--seconds", type=int, default=int(os.environ.get("GBX_SOAK_SECONDS", "1800")))
OPTIONS.add_argument("--clients", type=int, default=6)
OPTIONS.add_argument("--seed", type=int, default=int(time.time()))
COUNTS, REST = OPTIONS.parse_known_args()
sys.argv[1:] = REST
# sealed.main() starts this program again, inside.
os.environ["GBX_SOAK_SECONDS"] = str(COUNTS.seconds)

SMALL = {"memory_mb": 96, "disk_mb": 32, "pids": 64}


class Worker(threading.Thread):
    """One client and its session; knows what is in it."""

    def __init__(self, served, number, until):
        super().__init__(daemon=True)
        self.client = server.Client(served.url, served.key)
        self.random = random.Random(COUNTS.seed * 1000 + number)
        self.until, self.done, self.wrong = until, {}, []
        self.session = None

    def run(self):
        actions = [self.exec, self.exec, self.code, self.code, self.write, self.read, self.stream, self.pause,
                   self.kill, self.kill_process, self.crash_context, self.bomb, self.fill_disk, self.list]
        try:
            while time.monotonic() < self.until and len(self.wrong) < 5:
                if self.session is None:
                    self.create()
                action = self.random.choice(actions)
                try:
                    action()
                except Exception as failure:  # whatever it is, it is a wrong answer
                    self.wrong.append(f"{action.__name__}: {failure!r}"[:1500])
                    self.drop()
                self.done[action.__name__] = self.done.get(action.__name__, 0) + 1
        finally:
            self.drop()
            self.client.close()

    def drop(self):
        if self.session is not None:
            self.session.kill()
        self.session = None

    def expect(self, found, wanted):
        if found != wanted:
            raise AssertionError(f"{str(found)[:600]} instead of {str(wanted)[:600]}")

    def create(self):
        self.session = Session(self.client, template="python", profile=SMALL, ttl_s=300)
        self.files, self.variable, self.lines = {}, None, 0

    def exec(self):
        word = str(self.random.random())
        code = self.random.randrange(120)
        done = self.session.shell(f"echo {word}; echo e{word} >&2; exit {code}")
        self.expect((done["stdout"], done["stderr"], done["exit_code"]), (word + "\n", f"e{word}\n", code))

    def code(self):
        if self.variable is None:
            self.session.code("x = 0")
            self.variable = 0
        self.variable += 1
        answer = self.session.code("x += 1\nx")
        self.expect(answer["result"]["text/plain"], str(self.variable))

    def write(self):
        name = f"/home/user/d{self.random.randrange(5)}/f{self.random.randrange(20)}"
        content = self.random.randbytes(self.random.choice((0, 10, 5000, 300_000)))
        self.session.put(name, content)
        self.files[name] = content

    def read(self):
        if not self.files:
            return self.write()
        name = self.random.choice(sorted(self.files))
        self.expect(self.session.read(name) == self.files[name], True)

    def stream(self):
        count = self.random.choice((10, 2000, 60000))
        with ExecStream(self.session, {"type": "start", "cmd": f"seq 1 {count}"}) as stream:
            stream.finish()
            self.expect(stream.out == b"".join(b"%d\n" % i for i in range(1, count + 1)), True)

    def pause(self):
        self.session.post("/pause")
        self.expect(self.session.state, "paused")
        self.expect(self.session.call("POST", "/exec", {"cmd": "true"}).status, 409)
        self.session.post("/resume")
        self.exec()

    def kill(self):
        self.expect(self.session.kill().status, 204)
        self.expect(self.session.state, "stopped")
        self.session = None

    def kill_process(self):
        number = self.session.start("sleep 1000")
        self.session.post(f"/processes/{number}/signal", status=204, signal="KILL")
        ended = self.session.get(f"/processes/{number}/wait?timeout_ms=20000")
        self.expect((ended["state"], ended["exit_code"]), ("exited", 137))

    def crash_context(self):
        answer = self.session.code("import os; os.kill(os.getpid(), 11)")
        self.expect(answer["restarted"], True)
        self.variable = None

    def bomb(self):
        """Memory past the limit: the program dies, the session and its files stay."""
        done = self.session.exec("/usr/bin/python3", "-c", "x = []\nwhile True: x.append(bytearray(1 << 20))",
                                 timeout_ms=30000)
        self.expect(done["exit_code"] != 0, True)
        self.variable = None  # the kernel chooses; the context may have been the larger one
        self.session.code("x = 0")
        self.variable = 0
        self.exec()

    def fill_disk(self):
        answer = self.session.call("PUT", self.session.file_path("/tmp/huge"), b"x" * (40 << 20))
        self.expect((answer.status, answer.code), (507, "disk_full"))
        self.exec()

    def list(self):
        found = self.client.get("/v1/sandboxes?state=running,paused&limit=100").json["sandboxes"]
        self.expect(self.session.id in {one["id"] for one in found}, True)


class SessionSoak(server.Served):
    settings = {"log.level": "warn"}

    def test_nothing_goes_wrong(self):
        with Session(self.client, template="python"):  # what is made once is made now
            pass
        before = server.resident_bytes(self.server.info["pid"])
        until = time.monotonic() + COUNTS.seconds
        workers = [Worker(self.server, number, until) for number in range(COUNTS.clients)]
        for worker in workers:
            worker.start()
        faulthandler.dump_traceback_later(COUNTS.seconds + 100)  # which thread is stuck, if any is
        for worker in workers:
            worker.join(COUNTS.seconds + 300)
        faulthandler.cancel_dump_traceback_later()
        done = {}
        for worker in workers:
            for name, count in worker.done.items():
                done[name] = done.get(name, 0) + count
        after = server.resident_bytes(self.server.info["pid"])
        print(f"seed {COUNTS.seed}: {sum(done.values())} actions {done}; server {before >> 20} to {after >> 20} MB")
        self.assertEqual([], [wrong for worker in workers for wrong in worker.wrong])
        self.assertGreater(min(done.get(name, 0) for name in ("exec", "code", "pause", "kill")), 0, done)
        self.assertLess(after - before, 64 << 20, "the server has grown")
        self.assertEqual(self.client.get("/v1/sandboxes?state=running,paused").json["sandboxes"], [])


if __name__ == "__main__":
    sealed.main()
