# The long promises of the server: tens of thousands of runs without a failure and without growing;
# thousands of bad clients that other clients do not notice; bombs that do not slow others down. The counts
# are arguments, so that a small one can be tried:
#   GLOVEBOX_BIN_DIR=build/bin python3 tests/soak/server_soak.py --runs 500 --idle 1000 --small 100
import argparse
import json
import multiprocessing
import os
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import bad_clients
import sealed
import server
from sealed import wait_until

OPTIONS = argparse.ArgumentParser(add_help=True)
OPTIONS.add_argument("--runs", type=int, default=50000, help="runs, by all clients together")
OPTIONS.add_argument("--clients", type=int, default=16)
OPTIONS.add_argument("--idle", type=int, default=10000, help="idle connections")
OPTIONS.add_argument("--small", type=int, default=1000, help="small runs beside bombs")
COUNTS = OPTIONS.parse_known_args()[0]

MEGABYTE = 1 << 20
MEMORY_BOMB = {"language": "python", "code": "x = []\nwhile True: x.append(b'x' * (1 << 20))",
               "profile": {"memory_mb": 256, "disk_mb": 16, "timeout_ms": 10000}}
FORK_BOMB = {"language": "python", "code": "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
             "profile": {"pids": 64, "timeout_ms": 2000}}


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def milliseconds(values):
    return f"p50 {percentile(values, 0.5) * 1000:.2f} ms, p99 {percentile(values, 0.99) * 1000:.2f} ms"


def run_many(url, key, count, number):
    """So many runs on one connection: (times, what went wrong). Runs in a process of its own."""
    times, wrong = [], []
    with server.Client(url, key) as client:
        for i in range(count):
            word = f"{number}-{i}"
            began = time.monotonic()
            try:
                answer = client.post_run(language="python", code=f"print('{word}')")
                if answer.status != 200 or answer.json["stdout"] != word + "\n":
                    wrong.append(repr(answer)[:300])
            except Exception as failure:  # whatever it is, it is a failed request
                wrong.append(repr(failure))
            times.append(time.monotonic() - began)
    return times, wrong


class Workers:
    """Clients in processes of their own, each on its connection."""

    def __init__(self, served, runs, clients):
        context = multiprocessing.get_context("fork")
        self.parts = []
        for number in range(clients):
            count = runs // clients + (number < runs % clients)
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=self.work, args=(theirs, served.url, served.key, count, number))
            process.start()
            theirs.close()
            self.parts.append((process, ours))

    @staticmethod
    def work(pipe, *args):
        pipe.send(run_many(*args))
        pipe.close()

    def alive(self):
        return any(process.is_alive() and not pipe.poll() for process, pipe in self.parts)

    def results(self):
        times, wrong = [], []
        for process, pipe in self.parts:
            more_times, more_wrong = pipe.recv()
            times += more_times
            wrong += more_wrong
            process.join()
            process.close()
            pipe.close()
        return times, wrong


class Soak(sealed.TestCase):
    def setUp(self):
        super().setUp()
        self.server = server.Server(settings={"log.requests": "false"})
        self.addCleanup(self.server.stop)
        self.server.wait_warm()
        self.client = self.server.client()

    def report(self, text):
        print(f"{self.id().rsplit('.', 1)[1]}: {text}", flush=True)

    def figures(self):
        info = self.server.info
        return (server.resident_bytes(info["pid"]), sealed.open_files(info["pid"]),
                server.resident_bytes(info["launcher_pid"]), sealed.open_files(info["launcher_pid"]))

    def test_many_runs(self):
        began = time.monotonic()
        pids = self.server.info
        workers = Workers(self.server, COUNTS.runs, COUNTS.clients)
        samples, next_report = [], COUNTS.runs // 10
        while workers.alive():
            done = server.metric(self.client.get("/metrics").text, "glovebox_runs_total")
            samples.append((done, *self.figures()))
            if done >= next_report:
                next_report += COUNTS.runs // 10
                self.report(f"{int(done)} runs, server {samples[-1][1] / MEGABYTE:.1f} MB, {samples[-1][2]} files; "
                            f"launcher {samples[-1][3] / MEGABYTE:.1f} MB, {samples[-1][4]} files")
            time.sleep(0.2)  # the distance between two samples
        times, wrong = workers.results()
        took = time.monotonic() - began
        self.report(f"{len(times)} runs, {len(wrong)} failed, {len(times) / took:.0f} per second, {milliseconds(times)}")
        self.assertEqual(wrong[:5], [])
        self.assertEqual(len(times), COUNTS.runs)
        self.assertEqual({name: self.server.info[name] for name in pids}, pids, "something was restarted")
        self.assert_flat("the server's memory", [(done, memory) for done, memory, *_ in samples], 4 * MEGABYTE)
        self.assert_flat("the launcher's memory", [(done, memory) for done, _, _, memory, _ in samples], 4 * MEGABYTE)
        # Afterwards only what waits is there.
        idle = wait_until(lambda: server.metric(self.client.get("/metrics").text, "glovebox_runs_active") == 0)
        self.assertTrue(idle)
        self.assertLess(sealed.open_files(pids["pid"]), 400)
        self.assertLess(len(sealed.sandboxes()), 100)

    def assert_flat(self, what, samples, slack):
        """Later is not larger than earlier: pools and caches are full after a quarter."""
        quarters = [[value for done, value in samples if part / 4 <= done / COUNTS.runs <= (part + 1) / 4]
                    for part in range(4)]
        if not quarters[1] or not quarters[3]:
            self.report(f"{what}: too few samples to say whether it is flat")
            return
        early, late = max(quarters[1]), max(quarters[3])
        self.report(f"{what}: at most {early / MEGABYTE:.1f} MB in the second quarter, {late / MEGABYTE:.1f} MB in the last")
        self.assertLessEqual(late, early * 1.05 + slack, what)

    def test_bad_clients_beside_good_ones(self):
        self.addCleanup(bad_clients.allow_files(COUNTS.idle + 1000))
        stop, crowd = threading.Event(), []
        host = "%s:%d" % self.client.address
        head = f"POST /v1/run HTTP/1.1\r\nHost: {host}\r\nX-API-Key: {self.server.key}\r\n"

        def disturb(step):
            while not stop.is_set():
                try:
                    step()
                except OSError:
                    pass

        def slow_header():
            with socket.create_connection(self.client.address, timeout=30) as one:
                one.sendall(head.encode())
                while not stop.wait(1):
                    one.sendall(b"A: b\r\n")

        def vanish():
            body = json.dumps({"language": "python", "code": "import time; time.sleep(9)"})
            with socket.create_connection(self.client.address, timeout=30) as one:
                one.sendall((head + f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
                stop.wait(0.02)

        def gigabyte():
            with socket.create_connection(self.client.address, timeout=30) as one:
                one.sendall((head + "Transfer-Encoding: chunked\r\n\r\n").encode())
                bad_clients.pour(one, b"10000\r\n" + b"x" * 65536 + b"\r\n")
            stop.wait(0.5)

        def nonsense():
            for data in bad_clients.nonsense(host):
                with socket.create_connection(self.client.address, timeout=30) as one:
                    one.sendall(data)
                stop.wait(0.01)
        threads = [threading.Thread(target=disturb, args=(step,), daemon=True)
                   for step in [slow_header] * 50 + [vanish] * 2 + [gigabyte, nonsense]]
        try:
            bad_clients.open_idle(self.client.address, COUNTS.idle, crowd)
            connected = wait_until(lambda: server.metric(
                self.client.get("/metrics").text, "glovebox_http_connections") >= COUNTS.idle, 60)
            self.assertTrue(connected)
            for thread in threads:
                thread.start()
            workers = Workers(self.server, max(COUNTS.runs // 10, 100), 4)
            times, wrong = workers.results()
        finally:
            stop.set()
            for thread in threads:
                if thread.ident is not None:
                    thread.join(60)
            for one in crowd:
                one.close()
        self.report(f"{len(times)} runs beside {COUNTS.idle} idle connections and 54 bad clients: "
                    f"{len(wrong)} failed, {milliseconds(times)}")
        self.assertEqual(wrong[:5], [])
        settled = wait_until(lambda: server.metric(
            self.client.get("/metrics").text, "glovebox_http_connections") < 10, 60)
        self.assertTrue(settled)

    def test_bombs_beside_small_runs(self):
        quiet, wrong = run_many(self.server.url, self.server.key, COUNTS.small, 0)
        self.assertEqual(wrong[:5], [])
        for name, bombs in (("memory", [MEMORY_BOMB]), ("fork", [FORK_BOMB]), ("both", [MEMORY_BOMB, FORK_BOMB])):
            stop, ended = threading.Event(), []
            secret, _ = self.server.new_key(project="bomber")

            def explode(bomb):
                with server.Client(self.server.url, secret) as client:
                    while not stop.is_set():
                        ended.append(client.run(**bomb))
            threads = [threading.Thread(target=explode, args=(bomb,), daemon=True) for bomb in bombs]
            for thread in threads:
                thread.start()
            self.assertTrue(wait_until(lambda: server.metric(
                self.client.get("/metrics").text, "glovebox_runs_active") >= len(bombs), 60))
            loud, wrong = run_many(self.server.url, self.server.key, COUNTS.small, 1)
            stop.set()
            for thread in threads:
                thread.join(60)
            ratio = percentile(loud, 0.99) / percentile(quiet, 0.99)
            self.report(f"{name} bombs ({len(ended)}): quiet {milliseconds(quiet)}; beside them {milliseconds(loud)}; "
                        f"p99 x {ratio:.1f}")
            self.assertEqual(wrong[:5], [])
            self.assertTrue(ended)
            self.assertTrue(all(one["oom_killed"] or one["timed_out"] for one in ended), ended[:1])
            self.assertLess(ratio, 10, name)


if __name__ == "__main__":
    if os.environ.get("GBX_SEALED") is not None:
        sys.argv = [sys.argv[0], *OPTIONS.parse_known_args()[1]]
    sealed.main()
