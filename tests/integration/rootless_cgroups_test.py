# An ordinary user to whom the host has given cgroups, or whose systemd gives them: limits hold for all
# processes of a sandbox together, and a session can be paused.
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes
import sealed
from ordinary_user import (USER, GivenCgroups, OrdinaryUser, PrivateServer, UserSystemd, hierarchy_of,
                           v2_controllers, v2_hierarchy)

CONTROLLERS = ("memory", "pids", "cpu", "cpuacct", "freezer")
# Two processes that use the CPU until they are ended.
BUSY = ["--exec", "/usr/bin/perl", "--", "-e", "fork; 1 while 1"]
# Forks until it may no more, and says how often it could.
FORKS = "$n = 0; while ($n < 200) { my $p = fork; last unless defined $p; $p or sleep 1000; $n++ } print $n"


class User(sealed.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.user = OrdinaryUser()
        cls.addClassCleanup(cls.user.remove)

    def give(self, hierarchies, below=""):
        given = GivenCgroups(hierarchies, below)
        self.addCleanup(given.remove)
        return given

    def glovebox(self, given, *words):
        return subprocess.run(given.around(self.user.command(*words)), stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=60, cwd=self.user.home)

    def run_json(self, given, *words):
        ran = self.glovebox(given, "run", "--json", *words)
        self.assertTrue(ran.stdout, ran.stderr)
        return json.loads(ran.stdout)

    def limits_hold(self, client):
        """Of runs and of a session of a server: memory, processes and CPU, of all processes together."""
        eaten = client.run(command=["/bin/dd", *sealed.EAT_MEMORY], profile={"memory_mb": 64})
        self.assertTrue(eaten["oom_killed"], eaten)
        self.assertLessEqual({"memory-limit", "pids-limit", "cpu-limit"}, set(eaten["isolation"]["walls"]), eaten)
        forked = client.run(command=["/usr/bin/perl", "-e", FORKS], profile={"pids": 16})
        self.assertLess(int(forked["stdout"]), 16, forked)
        busy = client.run(command=[BUSY[1], *BUSY[3:]], profile={"cpus": 0.25, "timeout_ms": 2000})
        # A quarter of two seconds, and a period of the scheduler more; without the limit two CPUs give four.
        self.assertTrue(busy["timed_out"], busy)
        self.assertLess(busy["metrics"]["cpu_ms"], 900, busy["metrics"])
        made = client.call("POST", "/v1/sandboxes", {"template": "base", "profile": {
            "memory_mb": 64, "disk_mb": 16, "pids": 16}})
        self.assertEqual(made.status, 201, made)
        path = "/v1/sandboxes/" + made.json["id"]
        forked = client.call("POST", path + "/exec", {"argv": ["/usr/bin/perl", "-e", FORKS]})
        self.assertLess(int(forked.json["stdout"]), 16, forked)
        client.call("POST", path + "/exec", {"argv": ["/bin/dd", *sealed.EAT_MEMORY]})
        now = client.get(path + "/metrics").json["now"]
        self.assertGreater(now["oom_kills"], 0, now)
        self.assertLess(client.call("DELETE", path).status, 300)

    def pause_and_resume(self, server):
        client = server.client
        made = client.call("POST", "/v1/sandboxes", {"template": "base"})
        self.assertEqual(made.status, 201, made)
        path = "/v1/sandboxes/" + made.json["id"]
        exec_path = path + "/exec"
        began = client.call("POST", exec_path, {"argv": ["/bin/echo", "one"]})
        self.assertEqual(began.json["stdout"], "one\n", began)
        paused = client.call("POST", path + "/pause")
        self.assertLess(paused.status, 300, paused)
        self.assertEqual(client.get(path).json["state"], "paused")
        resumed = client.call("POST", path + "/resume")
        self.assertLess(resumed.status, 300, resumed)
        again = client.call("POST", exec_path, {"argv": ["/bin/echo", "two"]})
        self.assertEqual(again.json["stdout"], "two\n", again)
        self.assertLess(client.call("DELETE", path).status, 300)
        return made.json


class OwnedSubtree:
    """What holds in cgroups that are the user's, of either version; `given` has them."""

    def test_memory_is_bounded_by_a_cgroup(self):
        answer = self.run_json(self.given, "--memory", "64M", "--exec", "/bin/dd", "--", *sealed.EAT_MEMORY)
        self.assertTrue(answer["oom_killed"], answer)
        isolation = answer["isolation"]
        self.assertLessEqual({"memory-limit", "pids-limit", "cpu-limit"}, set(isolation["walls"]), isolation)
        self.assertNotIn("memory-limit-per-process", isolation["walls"])
        self.assertNotIn("cpu-time-limit-per-process", isolation["walls"])
        self.assertEqual(self.given.left(), [])

    def test_cpu_time_is_that_of_all_processes_together(self):
        answer = self.run_json(self.given, "--cpu-time", "400ms", "--cpus", "2", *BUSY)
        self.assertTrue(answer["timed_out"], answer)
        self.assertLess(answer["metrics"]["cpu_ms"], 900, answer["metrics"])

    def test_processes_are_bounded_by_it(self):
        answer = self.run_json(self.given, "--pids", "16", "--exec", "/usr/bin/perl", "--", "-e", FORKS)
        self.assertLess(int(answer["stdout"]), 16, answer)

    def test_the_share_of_the_cpu_is_bounded_by_it(self):
        answer = self.run_json(self.given, "--cpus", "0.25", "--timeout", "2s", *BUSY)
        self.assertTrue(answer["timed_out"], answer)
        self.assertLess(answer["metrics"]["cpu_ms"], 900, answer["metrics"])

    def test_the_process_engine_is_bounded_by_it_too(self):
        answer = self.run_json(self.given, "--engine", "process", "--memory", "64M", "--exec", "/bin/dd", "--",
                               *sealed.EAT_MEMORY)
        self.assertTrue(answer["oom_killed"], answer)
        self.assertEqual(self.given.left(), [])

    def test_a_session_can_be_paused(self):
        with PrivateServer(self.user, self.given.around) as server:
            made = self.pause_and_resume(server)
            self.assertIn("memory-limit", made["isolation"]["walls"])
            ran = server.client.run(language="bash", code="echo hi", profile={"memory_mb": 64, "cpu_ms": 1000})
            self.assertEqual(ran["stdout"], "hi\n", ran)
            self.assertIn("memory-limit", ran["isolation"]["walls"])
            self.limits_hold(server.client)
        self.assertTrue(sealed.wait_until(lambda: self.given.left() == []), self.given.left())

    def test_doctor_finds_the_cgroups(self):
        ran = self.glovebox(self.given, "doctor", "--json")
        found = {finding["name"]: finding for finding in json.loads(ran.stdout)["findings"]}
        for name in ("memory limit", "pids limit", "cpu limit", "delegation"):
            self.assertEqual(found[name]["state"], "ok", found[name])
        self.assertEqual(self.given.left(), [])


class OwnedV1Subtree(OwnedSubtree, User):
    def setUp(self):
        super().setUp()
        places = [hierarchy_of(controller) for controller in CONTROLLERS]
        if None in places:
            self.skipTest("this host has no v1 hierarchies of " + ", ".join(CONTROLLERS))
        self.given = self.give(places)


class NoCgroup(User):
    """What cannot be done is refused at once, and what is not counted is not called zero."""

    def setUp(self):
        super().setUp()
        memory = hierarchy_of("memory")
        if memory is None or v2_hierarchy() is None:
            self.skipTest("this host has no v1 hierarchy of memory beside v2")
        # In cgroups of root's, where this user may make none.
        self.server = self.enterContext(PrivateServer(self.user))

    def test_a_pause_that_could_not_be_is_refused_at_the_creation(self):
        client = self.server.client
        plain = client.call("POST", "/v1/sandboxes", {"template": "base"})
        self.assertEqual(plain.status, 201, plain)
        if plain.json["features"]["pause"]:
            self.skipTest("this user has a cgroup")
        self.assertFalse(plain.json["features"]["sudo"], plain.json)
        refused = client.call("POST", "/v1/sandboxes", {"template": "base", "ttl_s": 60, "on_timeout": "pause"})
        self.assertEqual(refused.status, 422, refused)
        self.assertIn("cannot be paused", refused.json["error"]["message"])
        e2b = client.call("POST", "/sandboxes", {"templateID": "base", "timeout": 60, "autoPause": True})
        self.assertGreaterEqual(e2b.status, 400, e2b)
        self.assertIn("cannot be paused", e2b.json["message"])
        # Its processes are not ended for a pause that keeps only the files, and then fails.
        path = "/v1/sandboxes/" + plain.json["id"]
        ran = client.call("POST", path + "/exec", {"argv": ["/bin/sleep", "1000"], "background": True})
        self.assertLess(ran.status, 300, ran)
        changed = client.call("PATCH", path, {"on_timeout": "pause"})
        self.assertEqual(changed.status, 501, changed)
        files_only = client.call("POST", f"/sandboxes/{plain.json['id']}/pause", {"memory": False})
        self.assertGreaterEqual(files_only.status, 400, files_only)
        engines = {one["name"]: one for one in client.get("/v1/engines").json["engines"]}
        self.assertEqual((engines["jail"]["features"]["pause"], engines["jail"]["features"]["sudo"]), (False, False))
        living = [one["id"] for one in client.get("/v1/sandboxes?state=running").json["sandboxes"]]
        self.assertEqual(living, [plain.json["id"]])

    def test_what_no_cgroup_counts_is_null(self):
        client = self.server.client
        made = client.call("POST", "/v1/sandboxes", {"template": "base"}).json
        if "memory-limit" in made["isolation"]["walls"]:
            self.skipTest("this user has a cgroup with a memory controller")
        now = client.get(f"/v1/sandboxes/{made['id']}/metrics").json["now"]
        for name in ("cpu_us", "memory_bytes", "processes", "oom_kills"):
            self.assertIsNone(now[name], now)
        self.assertGreater(now["disk_limit_bytes"], 0)
        top = subprocess.run(self.user.command("top", "--once", "--url", self.server.info["url"],
                                               "--key", self.server.info["api_key"]),
                             capture_output=True, text=True, timeout=30, cwd=self.user.home)
        row = next(line for line in top.stdout.splitlines() if made["id"] in line).split()
        self.assertEqual((row[4], row[5], row[-1]), ("-", "-", "-"), top.stdout)
        ended = client.run(language="bash", code="while :; do :; done", profile={"timeout_ms": 300})
        self.assertTrue(ended["timed_out"], ended)
        self.assertIsNone(ended["metrics"]["cpu_ms"], ended["metrics"])


class OnlyAPart(User):
    def test_what_was_not_given_is_listed_as_missing(self):
        memory = hierarchy_of("memory")
        if memory is None:
            self.skipTest("this host has no v1 hierarchy of memory")
        given = self.give([memory])
        answer = self.run_json(given, "--memory", "64M", "--cpu-time", "300ms", *BUSY)
        # Nothing counts the CPU time of both processes: each is bounded by itself.
        self.assertTrue(answer["timed_out"], answer)
        walls = set(answer["isolation"]["walls"])
        self.assertLessEqual({"memory-limit", "cpu-time-limit-per-process"}, walls)
        self.assertIn("cpu-limit", answer["isolation"]["missing"])


class OwnedV2Subtree(OwnedSubtree, User):
    """`make test-vm` has such a host."""

    def setUp(self):
        super().setUp()
        place = v2_hierarchy()
        if place is None or not {"memory", "pids", "cpu"} <= v2_controllers(place):
            self.skipTest("this host has no v2 hierarchy that gives memory, pids and cpu to children")
        self.given = self.give([place])


class OwnedV2SubtreeWithoutControllers(User):
    def test_a_session_can_be_paused(self):
        place = v2_hierarchy()
        if place is None or v2_controllers(place):
            self.skipTest("this host has no v2 hierarchy without controllers")
        given = self.give([place])
        with PrivateServer(self.user, given.around) as server:
            self.pause_and_resume(server)
        self.assertEqual(given.left(), [])


class ScopeOfSystemd(User):
    def test_a_launcher_asks_the_users_systemd_for_a_scope(self):
        place = v2_hierarchy()
        named = hierarchy_of("name=systemd")
        if place is None or not os.path.exists(UserSystemd.PROGRAM):
            self.skipTest("no v2 hierarchy or no systemd")
        given = self.give([path for path in (place, named) if path is not None], f"user@{USER}.service")
        controllers = {"memory", "pids", "cpu"} & v2_controllers(place)
        if controllers:
            given.hand_down(place, controllers)
        systemd = UserSystemd(self.user, given.around)
        self.addCleanup(systemd.stop)
        shell = given.below("session.scope")  # which is systemd's to change, and no other's
        with PrivateServer(self.user, shell.around) as server:
            launcher = [process for process in processes.below(server.process.pid).values()
                        if process.name.startswith("glovebox-launch") and process.depth == 1]  # no nursery's
            self.assertEqual(len(launcher), 1, launcher)
            group = [line for line in launcher[0].read("cgroup").decode().splitlines() if line.startswith("0::")]
            self.assertRegex(group[0], r"/glovebox-launcher-\d+\.scope(/glovebox-members)?$")
            self.pause_and_resume(server)
            # `make test-vm` has a host with these.
            if controllers == {"memory", "pids", "cpu"}:
                self.limits_hold(server.client)


if __name__ == "__main__":
    sealed.main()
