"""The store is shared fairly: one project makes and deletes hundreds of sandboxes with long
environments and metadata, writes long outputs and long answers, all at a small disk ceiling; another
one's runs, records and idempotent requests stay as they are. And what an ended sandbox's environment
was is in no file."""
import concurrent.futures
import os
import sys
import threading
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed  # noqa: E402
from server import PATIENCE, Served  # noqa: E402
from session import Session  # noqa: E402

MB = 1 << 20
CEILING = 32 * MB
SLACK = 16 * MB  # docs/server.md; no answer here is longer
HOSTILE_SANDBOXES = 300
PRINTS = "import sys, uuid; sys.stdout.write(str(uuid.uuid4()) + 'x' * %d)"


class Sizes:
    """Looks at the size of the database's files all the time, and remembers the largest."""

    def __init__(self, directory):
        self.directory, self.largest, self.stopping = directory, 0, threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def now(self):
        total = 0
        for name in os.listdir(self.directory):
            if name.startswith("glovebox.db"):
                total += os.stat(os.path.join(self.directory, name)).st_size
        return total

    def work(self):
        while not self.stopping.wait(0.02):
            self.largest = max(self.largest, self.now())

    def stop(self):
        self.stopping.set()
        self.thread.join(PATIENCE)


class StoreFairness(Served):
    settings = {"store.disk_ceiling": "32M", "store.keep_output": "1M"}

    @property
    def directory(self):
        return os.path.join(self.server.data, "store")

    def in_files(self, text):
        """Which of the store's files have this text."""
        found = []
        for name in os.listdir(self.directory):
            path = os.path.join(self.directory, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    if text.encode() in file.read():
                        found.append(name)
        return found

    def client_of(self, project):
        return self.server.client(self.server.new_key(project=project)[0])

    def run_keyed(self, client, key, size):
        return client.post_run(language="python", code=PRINTS % size, profile={"output_kb": 2048},
                               headers={"Idempotency-Key": key})

    def make_and_delete(self, key, marker, count):
        with self.server.client(key) as client:
            for number in range(count):
                env = {f"SECRET{i}": f"{marker}-{number}-" + "e" * 960 for i in range(56)}
                metadata = {f"key{i}": "m" * 4000 for i in range(60)}
                session = Session(client, template="base", env=env, metadata=metadata)
                if session.kill().status != 204:
                    raise AssertionError("not deleted")
        return count

    def test_a_hostile_project_costs_the_others_nothing(self):
        victim, secret = self.client_of("victim"), self.server.new_key(project="hostile")[0]
        hostile = self.server.client(secret)
        run_ids = [victim.python(f"print('victim {number}')")["id"] for number in range(20)]
        keyed = {f"victim-{number}": self.run_keyed(victim, f"victim-{number}", 20_000) for number in range(10)}
        self.assertEqual({answer.status for answer in keyed.values()}, {200})
        living_marker, marker = f"living{uuid.uuid4().hex}", f"ended{uuid.uuid4().hex}"
        living = Session(victim, template="base", env={"WORD": living_marker}, metadata={"who": "ada"})
        self.addCleanup(living.kill)
        ended = Session(victim, template="base", metadata={"who": "bob"})
        self.assertEqual(ended.kill().status, 204)
        self.server.wait_written()

        sizes = Sizes(self.directory)
        self.addCleanup(sizes.stop)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            works = [pool.submit(self.make_and_delete, secret, marker, HOSTILE_SANDBOXES // 4) for _ in range(4)]
            self.assertEqual(sum(work.result() for work in works), HOSTILE_SANDBOXES)
        for _ in range(60):
            answer = hostile.post_run(language="python", code=PRINTS % (MB - 100), profile={"output_kb": 2048})
            self.assertEqual(answer.status, 200, answer)
        accepted, refused = {}, None
        for number in range(60):
            answer = self.run_keyed(hostile, f"hostile-{number}", MB // 2)
            if answer.status != 200:
                refused = answer
                break
            accepted[f"hostile-{number}"] = answer
        self.server.wait_written()
        # Its own volume: refused, and said why; what it was promised before is kept.
        self.assertIsNotNone(refused, "everything was accepted")
        self.assert_refused(refused, 507, "disk_full")
        self.assertIn("store.project_quota", refused.json["error"]["message"])
        for key, first in accepted.items():
            again = self.run_keyed(hostile, key, MB // 2)
            if again.status == 409:
                self.assertEqual(again.code, "answer_not_kept")  # and did not run again
            else:
                self.assertEqual((again.body, again.headers["Idempotent-Replayed"]), (first.body, "true"))

        # The victim has lost nothing.
        for number, run_id in enumerate(run_ids):
            record = victim.get(f"/v1/runs/{run_id}")
            self.assertEqual((record.status, record.json["stdout"]), (200, f"victim {number}\n"))
        for key, first in keyed.items():
            again = self.run_keyed(victim, key, 20_000)
            self.assertEqual((again.status, again.body), (200, first.body))
            self.assertEqual(again.headers["Idempotent-Replayed"], "true")
        self.assertEqual(self.run_keyed(victim, "victim-new", 100).status, 200)
        self.assertEqual(living.get()["metadata"], {"who": "ada"})
        self.assertEqual(ended.get()["metadata"], {"who": "bob"})

        # The files stay within the ceiling, and what was in the ended sandboxes is not in them.
        sizes.stop()
        print(f"largest {sizes.largest / MB:.1f} MB, now {sizes.now() / MB:.1f} MB, "
              f"{len(accepted)} keys of the hostile project accepted", file=sys.stderr)
        self.assertLess(sizes.largest, CEILING + SLACK)
        self.assertTrue(sealed.wait_until(lambda: sizes.now() <= CEILING, PATIENCE), sizes.now())
        self.assertTrue(sealed.wait_until(lambda: not self.in_files(marker), PATIENCE), self.in_files(marker))
        self.assertTrue(self.in_files(living_marker))  # else this would prove nothing

    def test_a_key_belongs_to_its_route(self):
        client = self.client_of("routes")
        request = {"language": "python", "code": "def handler(event, context): return 1"}
        key = {"Idempotency-Key": "one-key"}
        first = client.call("POST", "/v1/run", request, key)
        self.assertEqual(first.status, 200, first)
        self.assert_refused(client.call("POST", "/v1/functions/invoke", request, key), 422, "idempotency_key_reused")
        again = client.call("POST", "/v1/run", request, key)
        self.assertEqual((again.body, again.headers["Idempotent-Replayed"]), (first.body, "true"))


if __name__ == "__main__":
    sealed.main()
