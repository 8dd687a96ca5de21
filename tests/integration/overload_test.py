# More runs at once than a host has sandboxes for: they wait their turn, and none of them starts cold.
# Only a zygote that is missing or stuck makes runs cold, and their answers say so.
import os
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes
import sealed
import server
from sealed import wait_until

SPIN = "import time\nend = time.process_time() + 0.05\nwhile time.process_time() < end: pass\nprint('done')"


def at_once(served, count, code):
    """The answers to so many runs that are sent at the same time."""
    answers, gate = [], threading.Barrier(count)

    def work():
        with served.client() as client:
            gate.wait()
            answers.append(client.post_run(language="python", code=code))
    threads = [threading.Thread(target=work, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(server.PATIENCE)
    return answers


def idle(served):
    with served.client() as client:
        return server.metric(client.get("/metrics").text, "glovebox_pool_idle")


class Overload(sealed.TestCase):
    def serve(self, **settings):
        served = server.Server(settings={"log.requests": "false", **settings})
        self.addCleanup(served.stop)
        served.wait_warm()
        return served

    def test_a_burst_is_warm_and_the_pool_grows_to_it(self):
        served = self.serve()
        for _ in range(2):
            answers = at_once(served, 60, "print(6 * 7)")
            self.assertEqual([(one.status, one.json["stdout"], one.json["warm"]) for one in answers],
                             [(200, "42\n", True)] * 60)
        self.assertTrue(wait_until(lambda: idle(served) >= 40, server.PATIENCE), idle(served))

    def test_who_waits_too_long_is_refused_and_nobody_is_served_cold(self):
        served = self.serve(**{"pools.max_sandboxes": "8", "pools.queue_wait": "1s", "pools.queue_length": "400",
                               "pools.project_share": "100"})
        answers = at_once(served, 90, SPIN)
        self.assertEqual(len(answers), 90)
        served_warm = [one for one in answers if one.status == 200]
        refused = [one for one in answers if one.status != 200]
        self.assertEqual([one.json["warm"] for one in served_warm], [True] * len(served_warm))
        self.assertGreaterEqual(len(served_warm), 8)
        # Fifty milliseconds of CPU time for each of ninety is more than these processors have in a second.
        self.assertTrue(refused or os.cpu_count() > 4, len(served_warm))
        for one in refused:
            self.assertEqual((one.status, one.code), (503, "host_full"), one)
            self.assertGreaterEqual(int(one.headers["Retry-After"]), 1)

    def test_a_stuck_zygote_makes_runs_cold_and_they_say_so(self):
        served = self.serve()
        processes.kill(served.zygotes(), signal.SIGSTOP)
        with served.client() as client:
            # What waits is used up first.
            seen = []
            self.assertTrue(wait_until(lambda: seen.append(client.python("print(1)")["warm"]) or not seen[-1],
                                       server.PATIENCE), seen)
        served.wait_warm()
        with served.client() as client:
            self.assertTrue(wait_until(lambda: client.python("print(1)")["warm"], server.PATIENCE))


if __name__ == "__main__":
    sealed.main()
