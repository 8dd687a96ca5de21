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
                           v2_hierarchy)

CONTROLLERS = ("memory", "pids", "cpu", "cpuacct", "freezer")
# Two processes that use the CPU until they are ended.
BUSY = ["--exec", "/usr/bin/perl", "--", "-e", "fork; 1 while 1"]


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


class OwnedV1Subtree(User):
    def setUp(self):
        super().setUp()
        places = [hierarchy_of(controller) for controller in CONTROLLERS]
        if None in places:
            self.skipTest("this host has no v1 hierarchies of " + ", ".join(CONTROLLERS))
        self.given = self.give(places)

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
        self.assertTrue(sealed.wait_until(lambda: self.given.left() == []), self.given.left())

    def test_doctor_finds_the_cgroups(self):
        ran = self.glovebox(self.given, "doctor", "--json")
        found = {finding["name"]: finding for finding in json.loads(ran.stdout)["findings"]}
        for name in ("memory limit", "pids limit", "cpu limit", "delegation"):
            self.assertEqual(found[name]["state"], "ok", found[name])
        self.assertEqual(self.given.left(), [])


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


class OwnedV2Subtree(User):
    def test_a_session_can_be_paused(self):
        place = v2_hierarchy()
        if place is None:
            self.skipTest("this host has no v2 hierarchy")
        given = self.give([place])
        with PrivateServer(self.user, given.around) as server:
            self.pause_and_resume(server)
        # What was in it may have been moved into one below, which stays.
        left = [path for path in given.left() if os.path.basename(path) != "glovebox-members"]
        self.assertEqual(left, [])


class ScopeOfSystemd(User):
    def test_a_launcher_asks_the_users_systemd_for_a_scope(self):
        place = v2_hierarchy()
        named = hierarchy_of("name=systemd")
        if place is None or not os.path.exists(UserSystemd.PROGRAM):
            self.skipTest("no v2 hierarchy or no systemd")
        given = self.give([path for path in (place, named) if path is not None], f"user@{USER}.service")
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


if __name__ == "__main__":
    sealed.main()
