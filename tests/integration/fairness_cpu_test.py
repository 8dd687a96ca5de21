# One project keeps every processor busy with all the runs and sessions it can have; the runs, commands
# and files of another stay usable.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import fairness
import sealed
from session import Session

SPIN = "while True:\n    pass"
RUNS_AT_ONCE = 24
SESSIONS = 4
PROCESSES_EACH = 8


class Processors(fairness.TwoTenants):
    def test_runs_and_sessions_that_spin(self):
        sessions = []
        with self.unhurt("CPU", fairness.SLOWER_CPU) as measure:
            try:
                for _ in range(SESSIONS):
                    sessions.append(Session(self.hostile, template="python", profile={"cpus": 2}))
                    for _ in range(PROCESSES_EACH):
                        sessions[-1].start("while :; do :; done")

                def spin(client, _):
                    return client.post_run(language="python", code=SPIN,
                                           profile={"timeout_ms": 3000, "cpus": 2}).status
                with fairness.Hostile(self.hostile_client, spin, RUNS_AT_ONCE) as attack:
                    measure()
                # The control: they did run, and until they were stopped.
                self.assertGreater(attack.statuses.get(200, 0), 0, attack.statuses)
                used = [session.get("/metrics")["now"]["cpu_us"] for session in sessions]
                self.assertTrue(all(used), used)
            finally:
                for session in sessions:
                    session.kill()


if __name__ == "__main__":
    sealed.main()
