# Builds of untrusted packages: what their code can see and do while it is built, what
# becomes of output, memory, disk, processes and time that it takes, and that nothing is left of it.
import json
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
sys.path.insert(0, os.path.dirname(__file__))
import networked
import package_index
import sealed
import server
from dependency_network_test import INDEX, WithIndex
from sealed import wait_until

setUpModule = networked.set_up
tearDownModule = networked.tear_down


class Builds(WithIndex):
    settings = {"deps.index_url": INDEX, "deps.npm_registry": f"https://{package_index.INDEX}/npm/",
                "deps.build_memory": "192M", "deps.build_disk": "96M", "deps.max_layer": "48M",
                "deps.build_timeout": "60s"}

    def build(self, *packages, **fields):
        return self.client.call("POST", "/v1/layers", {"dependencies": list(packages), **fields})

    def refused(self, *packages, **fields):
        """What the caller is told of a build that fails."""
        answer = self.build(*packages, **fields)
        self.assertEqual(answer.status, 422, answer)
        self.assertEqual(answer.code, "dependencies_failed")
        return answer.json["error"]["message"]

    def words(self, *packages, **fields):
        """(build events, the last event) of a streamed build."""
        body = {"dependencies": list(packages), **fields}
        response = self.client.send("POST", "/v1/layers", body, {"Accept": "text/event-stream"})
        text = response.read().decode()
        self.assertEqual(response.status, 200, text)
        events, name = [], None
        for line in text.splitlines():
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                events.append((name, json.loads(line[6:])))
        return [data for kind, data in events if kind == "build"], events[-1]

    def value(self, package, expression, **request):
        """What an expression is where the packages are."""
        answer = self.client.python(f"import json, {package}\nprint(json.dumps({expression}))",
                                    profile={"dependencies": [package]}, **request)
        self.assertEqual(answer["exit_code"], 0, answer)
        return json.loads(answer["stdout"])

    def assert_no_sandbox_is_left(self):
        """Of the build: no list ever had one."""
        def alive():
            text = self.client.get("/metrics").text
            return server.metric(text, "glovebox_sandboxes_alive") - sum(
                server.metric(text, name) for name in ("glovebox_pool_idle", "glovebox_pool_making"))
        self.assertEqual(self.client.get("/v1/sandboxes").json["sandboxes"], [])
        self.assertTrue(wait_until(lambda: alive() == 0, server.PATIENCE), alive())


class Hostile(Builds):
    def test_code_of_a_package_is_built_where_there_is_nothing_to_gain(self):
        report = self.value("hostile", "hostile.REPORT")
        self.assertTrue(report["ran"])
        for what in ("network", "index", "name", "metadata", "chown", "setuid", "mount"):
            self.assertIn("refused", report[what], what)
        self.assertEqual(report["settings"], {"/dev/null": ""})  # what pip was given as its settings
        self.assertEqual(report["written"], [])
        self.assertNotEqual(report["uid"], 0)
        self.assert_no_sandbox_is_left()

    def test_what_it_prints_is_shown_as_lines_that_a_terminal_does_not_obey(self):
        self.internet.packages(forget=True)
        words, (last, layer) = self.words("hostile", "good==1.0")
        self.assertEqual(last, "layer", layer)
        self.assertTrue(any(one["text"] for one in words), words)
        for one in words:
            self.assertLessEqual(len(one["text"].encode()), 400, one)
            for character in one["text"]:
                self.assertGreaterEqual(ord(character), 32, one)
                self.assertFalse(0x7f <= ord(character) <= 0x9f or character in "\u202e\u202c", one)
        self.assertTrue(any("building" == one["phase"] for one in words), words)

    def test_a_wheel_of_another_package_does_not_get_in(self):
        message = self.refused("impostor")
        self.assertIn("impostor", message)
        self.assertEqual(self.value("good", "good.VERSION"), "1.1")
        self.assert_no_sandbox_is_left()

    def test_an_output_directory_that_leads_elsewhere_leads_nowhere(self):
        answer = self.build("linking")
        self.assertIn(answer.status, (200, 422), answer)
        self.assert_no_sandbox_is_left()

    def test_wheels_that_reach_outside_reach_nothing(self):
        for package in ("escaping", "absolute", "escaping-data"):
            with self.subTest(package):
                answer = self.build(package)
                if answer.status == 200:
                    listing = self.client.python(
                        "import os\n"
                        "print([os.path.join(place, name) for top in ('/', '/tmp', '/usr/local', '/opt')"
                        " for place, _, names in os.walk(top) if top != '/' or place == '/'"
                        " for name in names if 'escaped' in name or name == 'evil'])",
                        profile={"dependencies": [package]})
                    self.assertEqual(listing["stdout"], "[]\n", listing)
                else:
                    self.assertEqual(answer.status, 422, answer)
        self.assertFalse(os.path.exists("/tmp/gbx-absolute"))

    def test_npm_scripts_run_without_a_network_and_without_settings(self):
        answer = self.client.run(language="javascript",
                                 code="console.log(JSON.stringify(require('hostile-script')))",
                                 profile={"dependencies": ["hostile-script"]})
        self.assertEqual(answer["exit_code"], 0, answer)
        report = json.loads(answer["stdout"])
        self.assertTrue(report["ran"])
        self.assertEqual(report["settings"], {})
        self.assertEqual(report["written"], [])
        self.assert_no_sandbox_is_left()


class Bounded(Builds):
    settings = {**Builds.settings, "deps.build_timeout": "20s"}

    def test_a_failure_has_the_words_of_whoever_failed(self):
        self.assertIn("failing: there is no hope", self.refused("failing"))
        self.assertIn("failing: there is no hope", self.refused("failing-script", template="node"))

    def test_memory_is_that_of_a_build(self):
        before = time.monotonic()
        words, (last, error) = self.words("greedy")
        self.assertEqual(last, "error", error)
        self.assertEqual(error["code"], "dependencies_failed")
        self.assertLess(time.monotonic() - before, 60)
        # 200,000 lines: as many as can be read, and how many there were more.
        self.assertLess(len(words), 6000)
        self.assert_no_sandbox_is_left()

    def test_disk_is_that_of_a_build(self):
        self.refused("disk-filler")
        self.assert_no_sandbox_is_left()

    def test_what_is_too_large_becomes_no_layer(self):
        self.refused("huge-bytes")
        self.assertNotIn("huge-bytes", self.client.get("/v1/layers").text)
        self.assert_no_sandbox_is_left()

    def test_time_is_that_of_a_build_and_processes_too(self):
        for package in ("sleeping", "fork-bomb", "lingering"):
            with self.subTest(package):
                before = time.monotonic()
                answer = self.build(package)
                self.assertIn(answer.status, (422, 504), answer)
                self.assertLess(time.monotonic() - before, 50)
                self.assert_no_sandbox_is_left()

    def test_others_are_served_meanwhile(self):
        another = self.server.client()
        self.addCleanup(another.close)
        builder = threading.Thread(target=another.call, args=("POST", "/v1/layers", {"dependencies": ["greedy"]}))
        builder.start()
        try:
            slowest = 0
            while builder.is_alive():
                before = time.monotonic()
                self.assertEqual(self.client.python("print(1 + 1)")["stdout"], "2\n")
                slowest = max(slowest, time.monotonic() - before)
        finally:
            builder.join()
        self.assertLess(slowest, 5)


class Interrupted(Builds):
    def begin(self, *packages):
        """A build that does not end by itself; returns when it is under way."""
        connection = self.server.client()
        response = []

        def ask():
            try:
                response.append(connection.call("POST", "/v1/layers", {"dependencies": list(packages)}))
            except OSError as error:
                response.append(error)
        asking = threading.Thread(target=ask)
        asking.start()
        self.addCleanup(asking.join)
        self.assertTrue(wait_until(lambda: self.scripts("pip_build.py"), server.PATIENCE))
        return connection, response

    def scripts(self, name):
        """Processes of a build, as the host sees them."""
        return [pid for pid, process in sealed.other_processes().items()
                if any(word.endswith("/packages/" + name) for word in process.arguments())]

    def test_a_server_that_is_killed_leaves_a_build_that_its_successor_ends(self):
        self.begin("sleeping")
        os.kill(self.server.info["pid"], 9)
        self.assertTrue(wait_until(lambda: not self.scripts("pip_build.py"), server.PATIENCE))
        self.assertTrue(wait_until(self.server.is_ready_again, server.PATIENCE))
        self.client.close()
        self.assertTrue(wait_until(lambda: self.build("good").status == 200, server.PATIENCE))
        self.assert_no_sandbox_is_left()

    def test_a_launcher_that_is_killed_is_an_error_and_the_next_build_works(self):
        _, response = self.begin("sleeping")
        os.kill(self.server.info["launcher_pid"], 9)
        self.assertTrue(wait_until(lambda: response, server.PATIENCE))
        self.assertEqual(response[0].status, 503, response)
        self.assertTrue(wait_until(lambda: self.build("good").status == 200, server.PATIENCE))
        self.assert_no_sandbox_is_left()

    def test_a_server_that_stops_does_not_wait_for_a_build(self):
        _, response = self.begin("sleeping")
        before = time.monotonic()
        os.kill(self.server.info["supervisor_pid"], signal.SIGTERM)
        self.assertEqual(self.server.supervisor.wait(server.PATIENCE), 0)
        self.assertLess(time.monotonic() - before, 15)
        self.assertEqual(self.scripts("pip_build.py"), [])
        self.client.close()
        self.server.start()


if __name__ == "__main__":
    sealed.main(network=True)
