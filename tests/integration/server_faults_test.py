# Faults a running server must survive: each of its processes killed, no room on the disk, clocks that
# jump, a template that goes while its pool runs, an upgrade of the host's packages. Clients run
# small things all the while, and every answer they get is looked at.
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes
import sealed
import server
from sealed import wait_until

NDJSON = {"Accept": "application/x-ndjson"}


class Crowd:
    """Clients that run small things until they are told to stop."""

    def __init__(self, served, clients=3, **request):
        self.url, self.key = served.url, served.key
        self.request = request or {"language": "python", "code": "print(6 * 7)"}
        self.answers, self.broken, self.stopping = [], [], threading.Event()
        self.threads = [threading.Thread(target=self.work, daemon=True) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def work(self):
        with server.Client(self.url, self.key) as client:
            while not self.stopping.is_set():
                try:
                    self.answers.append(client.post_run(**self.request))
                except (OSError, http.client.HTTPException) as failure:
                    self.broken.append(repr(failure))
                    self.stopping.wait(0.05)  # does not hammer a server that is not there

    def count(self):
        return len(self.answers)

    def wait_for(self, more):
        """Until so many more answers have come."""
        goal = self.count() + more
        if not wait_until(lambda: self.count() >= goal, server.PATIENCE):
            raise AssertionError(f"only {self.count()} of {goal} answers came; {self.broken[-3:]}")

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(server.PATIENCE)

    def faults(self):
        """Every answer that is not the right one."""
        wrong = [repr(one)[:500] for one in self.answers
                 if one.status != 200 or one.json["exit_code"] != 0 or one.json["stdout"] != "42\n"]
        return wrong + self.broken


class Faults(sealed.TestCase):
    settings = {"log.requests": "false"}

    def serve(self, **more):
        served = server.Server(settings=self.settings, **more)
        self.addCleanup(served.stop)
        return served

    def crowd(self, served, *args, **more):
        made = Crowd(served, *args, **more)
        self.addCleanup(made.stop)
        return made

    def start_run(self, served, code="print('on', flush=True)\nimport time\nwhile True: time.sleep(1)", **more):
        """A run that has begun, with its answer to be read."""
        client = served.client()
        response = client.send("POST", "/v1/run", {"language": "python", "code": code, **more}, NDJSON)
        self.assertEqual(json.loads(response.readline())["text"], "on\n")
        return response

    def last_event(self, response):
        return json.loads(response.read().splitlines()[-1])

    def assert_serves(self, served):
        with server.Client(served.url, served.key) as client:
            self.assertEqual(client.python("print(6 * 7)")["stdout"], "42\n")


class Killed(Faults):
    def test_a_zygote(self):
        served = self.serve()
        served.wait_warm()
        crowd = self.crowd(served)
        for _ in range(3):
            crowd.wait_for(10)
            victims = wait_until(served.zygotes)
            self.assertTrue(victims)
            processes.kill(victims)
        crowd.wait_for(50)
        crowd.stop()
        self.assertEqual(crowd.faults(), [])
        served.wait_warm()
        self.assertTrue(served.zygotes())

    def test_a_stuck_zygote(self):
        served = self.serve()
        served.wait_warm()
        crowd = self.crowd(served)
        crowd.wait_for(10)
        processes.kill(served.zygotes(), signal.SIGSTOP)
        crowd.wait_for(50)
        crowd.stop()
        self.assertEqual(crowd.faults(), [])
        served.wait_warm()

    def test_the_broker(self):
        served = self.serve()
        served.wait_warm()
        running = self.start_run(served)
        processes.kill(served.brokers())
        # A run below it gets an answer; it is not the program's own end.
        said = self.last_event(running)
        self.assertTrue((said["event"], said.get("code")) == ("error", "unavailable")
                        or (said["event"], said.get("signal")) == ("exit", 9), said)
        crowd = self.crowd(served)
        crowd.wait_for(50)
        crowd.stop()
        self.assertEqual(crowd.faults(), [])
        served.wait_warm()

    def test_the_launcher(self):
        served = self.serve()
        served.wait_warm()
        old = served.info
        streamed = self.start_run(served)
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(served.client().post_run(
            language="python", code="import time\nwhile True: time.sleep(1)")), daemon=True)
        waiting.start()
        metrics = served.client()
        self.assertTrue(wait_until(
            lambda: server.metric(metrics.get("/metrics").text, "glovebox_runs_active") == 2))
        left = sealed.cgroups()
        os.kill(old["launcher_pid"], signal.SIGKILL)
        waiting.join(server.PATIENCE)
        [refused] = answers
        self.assertEqual((refused.status, refused.code), (503, "launcher_restarting"), refused)
        self.assertGreaterEqual(int(refused.headers["Retry-After"]), 1)
        said = self.last_event(streamed)
        self.assertEqual((said["event"], said["code"]), ("error", "launcher_restarting"), said)
        self.assertTrue(wait_until(
            lambda: served.info.get("launcher_pid") not in (None, old["launcher_pid"]), server.PATIENCE))
        self.assertEqual((served.info["pid"], served.url), (old["pid"], old["url"]))
        served.wait_ready()
        self.assert_serves(served)
        served.wait_warm()
        # What it left was swept by its successor.
        self.assertTrue(wait_until(lambda: not left & sealed.cgroups()), left & sealed.cgroups())

    def test_the_server(self):
        served = self.serve()
        served.wait_warm()
        client = served.client()
        kept = client.python("print('kept')")["id"]
        named = client.post_run(language="python", code="import uuid; uuid.uuid4()",
                                headers={"Idempotency-Key": "n"}).json
        served.wait_written()
        secret, _ = served.new_key(project="other")
        old, admin = served.info, served.key
        running = self.start_run(served)
        orphans = served.guests()
        self.assertTrue(orphans)
        os.kill(old["pid"], signal.SIGKILL)
        with self.assertRaises((http.client.HTTPException, OSError)):
            self.last_event(running)
            raise http.client.IncompleteRead(b"")  # an end without an exit event is as good
        running.close()
        self.assertTrue(wait_until(lambda: served.info.get("pid") not in (None, old["pid"]), server.PATIENCE))
        served.wait_ready()
        self.assertEqual((served.url, served.info["launcher_pid"], served.key),
                         (old["url"], old["launcher_pid"], admin))
        again = served.client()
        record = again.get("/v1/runs/" + kept)
        self.assertEqual((record.status, record.json["stdout"]), (200, "kept\n"))
        self.assertEqual(served.client(secret).get("/v1/runs").status, 200)
        replayed = again.post_run(language="python", code="import uuid; uuid.uuid4()", headers={"Idempotency-Key": "n"})
        self.assertEqual((replayed.status, replayed.json["id"]), (200, named["id"]))
        self.assert_serves(served)
        served.wait_warm()
        # The run whose client is gone has been ended, and nothing of the old pools waits.
        self.assertTrue(wait_until(lambda: not orphans & served.guests()))

    def test_the_server_while_named_requests_run(self):
        served = self.serve()
        client = served.client()
        request = {"language": "python", "code": "import time\ntime.sleep(60)"}
        client.open().request("POST", "/v1/run", json.dumps(request), client.headers({"Idempotency-Key": "cut"}))
        metrics = served.client()
        self.assertTrue(wait_until(
            lambda: server.metric(metrics.get("/metrics").text, "glovebox_runs_active") == 1))
        old = served.info["pid"]
        os.kill(old, signal.SIGKILL)
        client.close()
        self.assertTrue(wait_until(lambda: served.info.get("pid") not in (None, old), server.PATIENCE))
        served.wait_ready()
        answer = served.client().post_run(headers={"Idempotency-Key": "cut"}, **request)
        self.assertEqual((answer.status, answer.code), (409, "interrupted"), answer)

    def test_the_supervisor(self):
        served = self.serve()
        served.wait_warm()
        old = served.info
        running = self.start_run(served, "print('on', flush=True)\nimport time\ntime.sleep(3)\nprint('off')")
        crowd = self.crowd(served)
        crowd.wait_for(5)
        served.supervisor.kill()
        served.supervisor.wait()
        crowd.wait_for(5)  # no run needs it
        served.start()
        self.assertEqual((served.info["pid"], served.info["launcher_pid"], served.url),
                         (old["pid"], old["launcher_pid"], old["url"]))
        self.assertEqual(served.info["supervisor_pid"], served.supervisor.pid)
        crowd.wait_for(10)
        crowd.stop()
        self.assertEqual(crowd.faults(), [])
        self.assertEqual(self.last_event(running)["exit_code"], 0)
        # It looks after those it took over.
        for name in ("launcher_pid", "pid"):
            os.kill(served.info[name], signal.SIGKILL)
            self.assertTrue(wait_until(lambda: served.info.get(name) not in (None, old[name]), server.PATIENCE))
            served.wait_ready()
            self.assert_serves(served)

    def test_all_three_at_once(self):
        served = self.serve()
        kept = served.client().python("print('kept')")["id"]
        served.wait_written()
        info = served.info
        sealed.end(info[name] for name in ("supervisor_pid", "launcher_pid", "pid"))
        served.supervisor.wait()
        served.start()
        self.assert_serves(served)
        self.assertEqual(served.client().get("/v1/runs/" + kept).status, 200)


class DiskFull(Faults):
    def test_runs_go_on_and_it_is_said(self):
        place = self.directory()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4M,mode=0755", "test", place], check=True)
        try:
            self.fill(place)
        finally:
            subprocess.run(["umount", place], check=True)

    def fill(self, place):
        served = server.Server(data=place, settings=self.settings)
        try:
            served.wait_warm()
            client = served.client()
            before = client.python("print('before')")["id"]
            self.assertTrue(wait_until(lambda: client.get("/v1/runs/" + before).status == 200))
            self.fill_up(place)
            noise = "import os\nprint(os.urandom(8000).hex())"

            def said():
                self.assertEqual(client.python(noise)["exit_code"], 0)
                ready = client.get("/health/ready")
                return ready.status == 503 and "disk full" in " ".join(ready.json["reasons"])
            self.assertTrue(wait_until(said, server.PATIENCE), client.get("/health/ready"))
            self.assertEqual(client.get("/health").status, 200)
            for _ in range(20):
                self.assertEqual(client.python("print(6 * 7)")["stdout"], "42\n")
            # What must be on the disk before it runs does not run.
            def refused():
                # The store gives room back when it truncates its log; then a request can be recorded.
                self.fill_up(place)
                named = client.post_run(language="python", code="1", headers={"Idempotency-Key": os.urandom(8).hex()})
                self.assertIn(named.status, (200, 503), named)
                return named.status == 503 and named
            named = wait_until(refused, server.PATIENCE)
            self.assertTrue(named, "a full disk never refuses")
            self.assertEqual(named.code, "store_unavailable", named)
            self.assertEqual(client.get("/v1/runs/" + before).json["stdout"], "before\n")
            os.unlink(os.path.join(place, "ballast"))
            self.assertTrue(wait_until(lambda: client.get("/health/ready").status == 200, server.PATIENCE))
            after = client.python("print('after')")["id"]
            self.assertTrue(wait_until(lambda: client.get("/v1/runs/" + after).status == 200))
        finally:
            served.stop()


    def fill_up(self, place):
        with open(os.path.join(place, "ballast"), "ab", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass


class Clocks(Faults):
    """The wall clock is one for the whole host and not ours to set; the store's unit tests turn one
    of their own back and forth. The other clocks can be moved for a server alone, in a time
    namespace: it meets records and names that were written by a future that has not come yet, as
    after a reboot."""

    def test_a_monotonic_clock_that_is_elsewhere(self):
        place = self.directory()
        names = []
        for offset in (90 * 86400, 0, 10):
            served = server.Server(data=place, settings=self.settings, prefix=[
                "unshare", "--time", "--fork", f"--monotonic={offset}", f"--boottime={offset}"])
            try:
                client = served.client()
                answer = client.python("while True: pass", profile={"timeout_ms": 300})
                self.assertEqual((answer["exit_code"], answer["timed_out"]), (124, True))
                self.assertLess(answer["metrics"]["wall_ms"], 20000)
                name = client.post_run(language="python", code="import uuid; uuid.uuid4()",
                                       headers={"Idempotency-Key": "n"})
                names.append(name.json["result"])
                self.assertTrue(wait_until(lambda: client.get("/v1/runs/" + answer["id"]).status == 200))
                secret, _ = served.new_key(limits={"runs_per_minute": 1})
                limited = served.client(secret)
                self.assertEqual([limited.post_run(command="true").status for _ in range(2)], [200, 429])
            finally:
                served.stop()
        self.assertEqual(names, [names[0]] * 3)


class Templates(Faults):
    def setUp(self):
        super().setUp()
        self.etc = server.EtcGlovebox()
        self.addCleanup(self.etc.remove)

    def write(self, name, preload):
        return self.etc.write(f"templates/{name}.toml", f'description = "of a test"\nruntime = "python"\n'
                              f'language = "python"\npreload = {json.dumps(preload)}\n[pool]\nmin = 1\nmax = 4\n')

    def state(self, client, name):
        answer = client.get("/v1/templates/" + name)
        return answer.json["state"] if answer.status == 200 else answer.status

    def test_one_that_is_removed_while_its_pool_runs(self):
        path = self.write("mine", ["json"])
        served = self.serve()
        served.wait_warm("mine")
        running = self.start_run(served, "print('on', flush=True)\nimport time\ntime.sleep(2)\nprint('off')", template="mine")
        crowd = self.crowd(served)
        crowd.wait_for(5)
        os.unlink(path)
        served.supervisor.send_signal(signal.SIGHUP)
        client = served.client()
        self.assertTrue(wait_until(lambda: self.state(client, "mine") in (404, "removed"), server.PATIENCE))
        answer = client.post_run(template="mine", code="1")
        self.assertEqual((answer.status, answer.code), (404, "template_not_found"), answer)
        # Who was inside finishes; others have not noticed.
        self.assertEqual(self.last_event(running)["exit_code"], 0)
        crowd.wait_for(10)
        crowd.stop()
        self.assertEqual(crowd.faults(), [])
        # And it may come back.
        self.write("mine", ["json", "decimal"])
        served.supervisor.send_signal(signal.SIGHUP)
        self.assertTrue(wait_until(lambda: client.post_run(template="mine", code="1").status == 200, server.PATIENCE))

    def test_one_whose_preload_fails_says_so_and_nothing_else_breaks(self):
        self.write("broken", ["no_such_module"])
        self.etc.write("templates/nonsense.toml", "runtime = [")
        served = self.serve()
        client = served.client()
        told = wait_until(lambda: (got := client.get("/v1/templates/broken")).status == 200
                          and got.json["error"] and got.json, server.PATIENCE)
        self.assertTrue(told, client.get("/v1/templates/broken"))
        self.assertEqual(told["state"], "failed")
        self.assertIn("ModuleNotFoundError", told["error"])
        self.assert_serves(served)
        served.wait_warm()

    def test_an_upgrade_of_the_hosts_packages(self):
        status = "/var/lib/dpkg/status"
        if not os.path.exists(status):
            self.skipTest("the host has no dpkg")
        served = self.serve()
        served.wait_warm()
        client = served.client()
        generation = client.get("/v1/templates/python").json["generation"]
        copy = os.path.join(self.directory(), "status")
        shutil.copyfile(status, copy)
        crowd = self.crowd(served)
        crowd.wait_for(10)
        # In the launcher's own mount namespace, which ends with it.
        subprocess.run(["nsenter", f"--mount=/proc/{served.info['launcher_pid']}/ns/mnt", "--",
                        "mount", "--bind", copy, status], check=True)
        self.assertTrue(wait_until(
            lambda: client.get("/v1/templates/python").json["generation"] > generation, server.PATIENCE))
        crowd.wait_for(50)
        crowd.stop()
        self.assertEqual(crowd.faults(), [])
        served.wait_warm()


if __name__ == "__main__":
    sealed.main()
