# Sandboxes that wait with a runtime inside: taken once, with the taker's own limits, and used once.
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import launcher_wire as wire
import sealed
import warm

ALL_ASKED_FOR = 0x3F  # a bit per limit: the caller's own wish, not a default


class Takes(warm.TestCase):
    templates = ("python",)

    def taken(self, code, **limits):
        """A run in a sandbox that was made with other limits than it is taken with."""
        sandbox = self.client.create_patiently(bounds=wire.limits())
        try:
            outcome = sandbox.run(code, bounds=wire.limits(**limits))
            ended = sandbox.destroy()
            return outcome, ended
        finally:
            sandbox.forget()

    EAT = "data = bytearray(200 << 20)\nfor at in range(0, len(data), 4096): data[at] = 1\nprint('had it')"

    def test_memory(self):
        outcome, _ = self.taken(self.EAT)
        self.assertEqual(outcome.out, b"had it\n", outcome)
        outcome, ended = self.taken(self.EAT, memory=64 << 20, disk=16 << 20)
        self.assertEqual(outcome.out, b"", outcome)
        self.assertTrue(ended.oom_kills or b"MemoryError" in outcome.err, (outcome, ended))
        # And more than it was made with.
        outcome, _ = self.taken(self.EAT.replace("200", "700"), memory=1 << 30)
        self.assertEqual(outcome.out, b"had it\n", outcome)

    def test_processes(self):
        code = ("import os\ncount = 0\ntry:\n  while count < 400:\n    if os.fork() == 0: os.read(os.pipe()[0], 1)\n"
                "    count += 1\nexcept OSError: pass\nprint(count, flush=True)\nos.kill(0, 9)")
        few, _ = self.taken(code, pids=16)
        many, _ = self.taken(code, pids=200)
        self.assertLess(int(few.out), 16, few)
        self.assertGreater(int(many.out), 150, many)
        self.assertLess(int(many.out), 200, many)

    def test_disk(self):
        code = ("import errno, os\nwritten = 0\ntry:\n  with open('big', 'wb', 0) as file:\n    while written < 400 << 20:"
                "\n      written += file.write(bytes(1 << 20))\nexcept OSError as error:\n"
                "  print(errno.errorcode[error.errno])\nprint(written >> 20)")
        outcome, _ = self.taken(code, disk=16 << 20)
        name, megabytes = outcome.out.split()
        self.assertEqual(name, b"ENOSPC", outcome)
        self.assertLessEqual(int(megabytes), 16)
        self.assertGreaterEqual(int(megabytes), 12)
        outcome, _ = self.taken(code, disk=350 << 20)
        self.assertEqual(outcome.out.split()[0], b"ENOSPC", outcome)
        self.assertGreater(int(outcome.out.split()[1]), 300)
        inodes = ("import os\ncount = 0\ntry:\n  while count < 3000:\n    open(f'f{count}', 'w').close(); count += 1\n"
                  "except OSError: pass\nprint(count)")
        outcome, _ = self.taken(inodes, inodes=1000)
        self.assertLess(int(outcome.out), 1000, outcome)

    def test_processor_share_and_time(self):
        spin = ("import time\nend = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass\nprint(time.process_time())")
        slow, _ = self.taken(spin, cpus=200)
        self.assertLess(float(slow.out), 0.6, slow)
        outcome, ended = self.taken("while True: pass", cpu=500, wall=60_000)
        self.assertEqual((outcome.code, ended.reason), (None, warm.CPU_TIMEOUT), outcome)

    def test_wall_time_counts_from_the_take(self):
        sandbox = self.client.create_patiently(bounds=wire.limits(wall=1_000))
        self.client.wait(lambda: False, 2.5)  # longer than it was made for
        self.assertNotIn(sandbox.id, self.client.ended)
        begun = time.monotonic()
        outcome = sandbox.run("import time\nprint('up', flush=True)\ntime.sleep(60)", bounds=wire.limits(wall=1_500))
        took = time.monotonic() - begun
        self.assertEqual((outcome.out, outcome.code), (b"up\n", None), outcome)
        self.assertEqual(sandbox.end().reason, warm.WALL_TIMEOUT)
        self.assertGreater(took, 1.4)
        self.assertLess(took, 20)
        sandbox.forget()

    def test_rlimits_are_the_takers(self):
        code = ("import json, resource as r\nprint(json.dumps({n: r.getrlimit(getattr(r, n))[1] for n in dir(r)"
                " if n.startswith('RLIMIT_')}))")
        outcome, _ = self.taken(code, pids=50, memory=100 << 20)
        warm_ones = json.loads(outcome.out)
        # A cold one with the same limits has the same.
        ran = sealed.glovebox("run", "--pids", "50", "--memory", "100M", "-c", code, env=self.launcher.environment())
        cold_ones = json.loads(ran.stdout)
        self.assertEqual(warm_ones, cold_ones)

    def test_only_once(self):
        sandbox = self.client.create_patiently()
        self.assertEqual(sandbox.run("print(1)").out, b"1\n")
        wire.send(self.client.socket, wire.take(sandbox.id))
        self.assertEqual(self.client.answer_to(0).code, wire.NOT_FOUND)
        sandbox.destroy()
        wire.send(self.client.socket, wire.take(sandbox.id))
        self.assertEqual(self.client.answer_to(0).code, wire.NOT_FOUND)

    def test_a_second_job_is_refused(self):
        sandbox = self.client.create_patiently()
        sandbox.run("print(1)")
        sandbox.send(warm.JOB_CHUNK, wire.text(warm.job("print(2)")))
        sandbox.send(warm.START_JOB, warm.ENDS_AFTER_IT)
        try:
            answer = sandbox.link.recv(1000)
        except ConnectionResetError:
            answer = b""
        self.assertNotEqual(answer[1:2], bytes([warm.STARTED]), answer)
        sandbox.destroy()

    def test_somebody_elses_is_not_there(self):
        sandbox = self.client.create_patiently()
        other = self.connect()
        for message in (wire.take(sandbox.id), wire.destroy(sandbox.id)):
            wire.send(other.socket, message)
            self.assertEqual(other.answer_to(0).code, wire.NOT_FOUND)
        self.assertEqual(sandbox.run("print(1)").out, b"1\n")
        sandbox.destroy()

    def test_nothing_on_its_socket_is_looked_at_before(self):
        sandbox = self.client.create_patiently()
        sandbox.send(warm.JOB_CHUNK, wire.text(warm.job("print('early')")))
        sandbox.send(warm.START_JOB, warm.ENDS_AFTER_IT)
        sandbox.link.settimeout(0.3)
        with self.assertRaises(TimeoutError):
            sandbox.link.recv(100)
        sandbox.link.settimeout(warm.PATIENCE)
        sandbox.take()
        sandbox.started()
        self.assertEqual(sandbox.finish().out, b"early\n")
        sandbox.destroy()


class Ceilings(warm.TestCase):
    templates = ("python",)

    def write_templates(self):
        self.options = ("--policy", os.path.join(self.place, "policy.toml"))
        with open(self.options[1], "w") as file:
            file.write('[limits]\nmemory = "1G"\ndisk = "512M"\nwall = "60s"\npids = 256\n')

    def test_limits_past_the_policy_end_a_take(self):
        for limits in ({"memory": 2 << 30}, {"disk": 1 << 30}, {"wall": 120_000}, {"pids": 1000}):
            with self.subTest(**limits):
                sandbox = self.client.create_patiently()
                self.addCleanup(sandbox.link.close)
                wire.send(self.client.socket, wire.take(sandbox.id, wire.limits(**limits, asked=ALL_ASKED_FOR)))
                refused = self.client.answer_to(0, 20)
                self.assertIsNotNone(refused, "a take past the policy is not refused")
                self.assertEqual(refused.code, wire.POLICY, refused)
                self.assertIsNotNone(sandbox.end())
        self.assert_serves()

    def test_defaults_past_the_policy_are_lowered(self):
        sandbox = self.client.create_patiently()
        outcome = sandbox.run("import resource; print(resource.getrlimit(resource.RLIMIT_NPROC)[1])",
                              bounds=wire.limits(pids=100_000))
        self.assertLessEqual(int(outcome.out), 256, outcome)
        sandbox.destroy()


class Ends(warm.TestCase):
    templates = ("python",)

    def test_a_waiting_one_can_be_destroyed(self):
        sandboxes = [self.client.create_patiently() for _ in range(5)]
        for sandbox in sandboxes:
            self.assertEqual(sandbox.destroy().reason, warm.DESTROYED)
        self.assertTrue(sealed.wait_until(lambda: self.guests() == 0), self.launcher.processes())

    def guests(self):
        return sum(process.depth == 3 for process in self.launcher.processes().values())

    def test_a_client_that_goes_takes_its_waiting_ones_along(self):
        other = self.connect()
        links = [other.create_patiently().link for _ in range(4)]
        links.append(other.begin().link)  # and one that is still on its way
        self.assertGreaterEqual(self.guests(), 4)
        other.close()
        self.assertTrue(sealed.wait_until(lambda: self.guests() == 0), self.launcher.processes())
        for link in links:
            link.close()
        self.assert_serves()

    def guest_uid(self):
        """Of the only guest, as the host knows it."""
        (uid,) = {guest.uids[1] for guest in self.launcher.guests().values()}
        return uid

    def test_nothing_is_ever_used_again(self):
        ids, owners = set(), set()
        for number in range(25):
            sandbox = self.client.create_patiently()
            owners.add(self.guest_uid())
            outcome = sandbox.run("""
import os, glob
left = [path for top in ('/home/user', '/tmp', '/var/tmp', '/dev/shm') for path in glob.glob(top + '/*')]
import builtins, sys
print(left, hasattr(builtins, 'marker') or hasattr(sys, 'marker'))
for top in ('/home/user', '/tmp', '/var/tmp', '/dev/shm'): open(top + '/marker', 'w').write('x')
builtins.marker = sys.marker = 1
""")
            self.assertEqual(outcome.code, 0, outcome)
            lines = outcome.out.decode().splitlines()
            self.assertEqual(lines, ["[] False"], outcome)
            ids.add(sandbox.id)
            sandbox.destroy()
        self.assertEqual(len(ids), 25)
        # Slices are taken least recently used first, so none comes again so soon.
        self.assertEqual(len({uid // 65536 for uid in owners}), 25, owners)

    def test_many_waiting_and_running_side_by_side(self):
        pending = [self.client.begin() for _ in range(24)]
        sandboxes = [one.sandbox() for one in pending]
        for sandbox in sandboxes:
            sandbox.take()
            sandbox.start("import os, sys; print(os.getpid(), len([n for n in os.listdir('/proc') if n.isdigit()]),"
                          " flush=True); sys.stdin.readline()")
        outcomes = [sandbox.finish(b"\n") for sandbox in sandboxes]
        self.assertEqual({outcome.out for outcome in outcomes}, {b"3 2\n"}, outcomes)
        for sandbox in sandboxes:
            sandbox.destroy()


if __name__ == "__main__":
    sealed.main()
