# What the console's first page shows, and what every client can ask for: figures, events as they
# happen, lists that are searched, sorted and paged, files that are not overwritten unseen.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
import websocket


class Overview(server.Served):
    def test_each_project_sees_its_own(self):
        team, _ = self.server.new_key(project="overview-a", name="a")
        other, _ = self.server.new_key(project="overview-b", name="b")
        mine, theirs = self.server.client(team), self.server.client(other)
        for _ in range(3):
            mine.run(language="python", code="print(1)")
        seen = mine.get("/v1/overview").json
        self.assertEqual(seen["project"], "overview-a")
        self.assertEqual({event["project"] for event in seen["events"]} - {None}, {"overview-a"})
        self.assertEqual(sum(event["event"] == "run.finished" for event in seen["events"]), 3)
        self.assertIsNotNone(seen["cards"]["start_ms"]["p50"])
        self.assertGreaterEqual(seen["cards"]["start_ms"]["p99"], seen["cards"]["start_ms"]["p50"])
        self.assertEqual(seen["grade"]["engine"], "jail")
        blank = theirs.get("/v1/overview").json
        self.assertEqual([event for event in blank["events"] if event["event"].startswith("run.")], [])
        self.assertIsNone(blank["cards"]["start_ms"]["p50"])
        self.assertEqual(theirs.get("/v1/overview?project=overview-a").status, 403)
        everything = self.client.get("/v1/overview?project=*").json
        self.assertIn("overview-a", {event["project"] for event in everything["events"]})

    def test_samples_come_with_time_and_on_the_socket(self):
        sandbox = self.client.call("POST", "/v1/sandboxes", {"template": "base"}).json["id"]
        self.addCleanup(self.client.call, "DELETE", f"/v1/sandboxes/{sandbox}")
        with websocket.WebSocket(self.client, "/v1/live") as live:
            self.assertEqual(live.receive_json()["type"], "hello")
            while (message := live.receive_json())["type"] != "sample":
                pass
            self.assertGreaterEqual(message["sample"]["sandboxes"], 1)
        samples = self.client.get("/v1/overview").json["samples"]
        self.assertGreaterEqual(len(samples), 1)
        self.assertEqual(samples, sorted(samples, key=lambda sample: sample["at"]))

    def test_events_arrive_as_they_happen_and_again_after_a_gap(self):
        team, _ = self.server.new_key(project="live-a", name="a")
        mine = self.server.client(team)
        with websocket.WebSocket(mine, "/v1/live") as live:
            live.receive_json()
            mine.run(language="python", code="1")
            self.client.run(language="python", code="1")  # another project's
            first = live.receive_json()
            self.assertEqual((first["type"], first["event"], first["project"]), ("event", "run.started", "live-a"))
            self.assertEqual(live.receive_json()["event"], "run.finished")
        mine.run(language="python", code="2")
        with websocket.WebSocket(mine, f"/v1/live?after={first['id']}") as live:
            live.receive_json()
            missed = [live.receive_json()["event"] for _ in range(3)]
        self.assertEqual(missed, ["run.finished", "run.started", "run.finished"])

    def test_a_revoked_key_ends_the_socket(self):
        team, team_id = self.server.new_key(project="live-b", name="b")
        with websocket.WebSocket(self.server.client(team), "/v1/live") as live:
            live.receive_json()
            self.assertEqual(self.client.call("DELETE", f"/v1/keys/{team_id}").status, 204)
            with self.assertRaises(websocket.Closed) as closed:
                while True:
                    live.receive_json()
            self.assertEqual(closed.exception.code, 1008)


class HostReports(server.Served):
    """What doctor found, and the last report of the attacks."""

    def test_doctor_is_run_for_the_server(self):
        report = self.client.get("/v1/doctor")
        self.assertEqual(report.status, 200, report)
        self.assertIn("jail", [engine["name"] for engine in report.json["engines"]])
        self.assertEqual(self.client.get("/v1/doctor").json, report.json)
        team, _ = self.server.new_key(project="reports-a", name="a")
        self.assert_refused(self.server.client(team).get("/v1/doctor"), 403, "admin_only")

    def test_the_last_report_of_the_attacks_is_read_from_the_data_directory(self):
        self.assertEqual(self.client.get("/v1/attack-report").json, {"report": None})
        # A part of them is no report on this host.
        ran = sealed.glovebox("attack", "--only", "file_plain_path", "--data-dir", self.server.data)
        self.assertNotEqual(ran.returncode, 125, ran)
        self.assertEqual(self.client.get("/v1/attack-report").json, {"report": None})
        # As attack::keep_report() writes it: root's, readable to the server's user.
        path = os.path.join(self.server.data, "store", "attack-report.json")
        with open(path, "w") as file:
            file.write('{"at":"2026-01-01T00:00:00.000Z","attacks":[],"counts":{}}')
        os.chmod(path, 0o644)
        self.assertEqual(self.client.get("/v1/attack-report").json["report"]["at"], "2026-01-01T00:00:00.000Z")


class Lists(server.Served):
    def make(self, **fields):
        answer = self.client.call("POST", "/v1/sandboxes", {"template": "base", **fields})
        self.assertEqual(answer.status, 201, answer)
        self.addCleanup(self.client.call, "DELETE", f"/v1/sandboxes/{answer.json['id']}")
        return answer.json["id"]

    def ids(self, query):
        answer = self.client.get("/v1/sandboxes?state=running&" + query)
        self.assertEqual(answer.status, 200, answer)
        return [one["id"] for one in answer.json["sandboxes"]], answer.json

    def test_sandboxes_are_searched_sorted_and_paged_by_number(self):
        one = self.make(name="zebra", metadata={"owner": "Ada Lovelace"})
        two = self.make(name="apple", ttl_s=60)
        three = self.make(name="mango", metadata={"owner": "Grace"})
        self.assertEqual(self.ids("sort=name")[0], [two, three, one])
        self.assertEqual(self.ids("sort=-name&limit=2")[0], [one, three])
        found, page = self.ids("sort=name&offset=1&limit=1")
        self.assertEqual((found, page["total"], page["next_cursor"]), ([three], 3, None))
        self.assertEqual(self.ids("sort=expires&limit=1")[0], [two])
        self.assertEqual(self.ids("sort=created&offset=0")[0], [one, two, three])
        for query, expected in (("q=LOVELACE", [one]), ("q=" + two[5:15].upper(), [two]), ("q=MANG", [three]),
                                ("q=%25", []), ("q=nothing-has-this", [])):
            self.assertEqual(self.ids(query)[0], expected, query)
            found, page = self.ids(query + "&offset=0")
            self.assertEqual((found, page["total"]), (expected, len(expected)), query)
        for query in ("sort=color", "offset=-1", "offset=x", "offset=2049", "sort=name&cursor=x", "stats=2",
                      "q=" + "x" * 201):
            self.assert_refused(self.client.get("/v1/sandboxes?" + query), 400, "invalid_argument")

    def test_another_project_is_not_found_by_its_words(self):
        self.make(name="secret-name", metadata={"owner": "hidden"})
        team, _ = self.server.new_key(project="lists-a", name="a")
        mine = self.server.client(team)
        for query in ("q=secret", "q=hidden&offset=0", "sort=name"):
            page = mine.get("/v1/sandboxes?" + query).json
            self.assertEqual((page["sandboxes"], page.get("total", 0)), ([], 0))
        self.assertIn("secret-name", [one["name"] for one in self.client.get(
            "/v1/sandboxes?project=*&q=secret").json["sandboxes"]])

    def test_running_sandboxes_come_with_what_they_use(self):
        one = self.make(name="busy")
        page = self.ids("stats=1")[1]
        stats = next(box for box in page["sandboxes"] if box["id"] == one)["stats"]
        self.assertEqual(set(stats), {"cpus", "memory_bytes"})
        self.assertEqual(len(stats["cpus"]), len(stats["memory_bytes"]))
        self.assertNotIn("stats", self.ids("")[1]["sandboxes"][0])

    def test_runs_are_searched_and_filtered(self):
        team, _ = self.server.new_key(project="lists-b", name="b")
        mine = self.server.client(team)
        good = mine.run(language="python", code="1")["id"]
        bad = mine.run(language="python", code="raise SystemExit(3)")["id"]
        shell = mine.run(template="base", command=["/bin/true"])["id"]

        def found(query):
            answer = mine.get("/v1/runs?" + query)
            self.assertEqual(answer.status, 200, answer)
            return {run["id"] for run in answer.json["runs"]}
        for _ in ("in the queue", "on disk"):
            self.assertEqual(found("status=failed"), {bad})
            self.assertEqual(found("status=ok,failed"), {good, bad, shell})
            self.assertEqual(found("q=" + good[4:16].upper()), {good})
            self.assertEqual(found("q=BASE"), {shell})
            self.assertEqual(found("language=python"), {good, bad})
            self.assertEqual(found("until_ms=1"), set())
            self.server.wait_written()
        everything = self.client.get("/v1/runs?project=*&limit=200").json["runs"]
        self.assertLessEqual({good, bad, shell}, {run["id"] for run in everything})
        self.assertIn("lists-b", {run["project"] for run in everything})
        self.assertEqual(self.client.get(f"/v1/runs/{good}?project=*").status, 200)
        self.assertEqual(mine.get("/v1/runs?project=*").status, 403)
        self.assertIsNone(mine.get(f"/v1/runs/{good}").json["code"])


class KeptCode(server.Served):
    settings = {"store.keep_code": "true", "store.keep_output": "1K"}

    def test_the_record_keeps_what_ran(self):
        run = self.client.run(language="python", code="print('kept')")["id"]
        long_one = self.client.run(language="python", code="#" * 5000)["id"]
        for _ in ("in the queue", "on disk"):
            record = self.client.get(f"/v1/runs/{run}").json
            self.assertEqual((record["code"], record["code_cut"]), ("print('kept')", False))
            record = self.client.get(f"/v1/runs/{long_one}").json
            self.assertEqual((record["code"], record["code_cut"]), ("#" * 1024, True))
            self.assertNotIn("code", self.client.get("/v1/runs").json["runs"][0])
            self.server.wait_written()


class Conflicts(server.Served):
    def setUp(self):
        super().setUp()
        self.box = self.client.call("POST", "/v1/sandboxes", {"template": "base"}).json["id"]
        self.addCleanup(self.client.call, "DELETE", f"/v1/sandboxes/{self.box}")
        self.files = f"/v1/sandboxes/{self.box}/files?path=/tmp/notes.txt"

    def put(self, text, **headers):
        return self.client.call("PUT", self.files, text,
                                {name.replace("_", "-"): value for name, value in headers.items()})

    def test_an_edit_does_not_overwrite_anothers(self):
        first = self.put("one")
        self.assertEqual(first.status, 200, first)
        tag = first.headers["ETag"]
        self.assertEqual(self.client.get(self.files).headers["ETag"], tag)
        self.assertEqual(self.client.get(self.files.replace("/files?", "/files/stat?")).headers["ETag"], tag)
        # Control: nothing has changed meanwhile.
        second = self.put("two is longer", If_Match=tag)
        self.assertEqual(second.status, 200, second)
        self.assertNotEqual(second.headers["ETag"], tag)
        lost = self.put("three", If_Match=tag)
        self.assert_refused(lost, 412, "precondition_failed")
        self.assertEqual(lost.headers["ETag"], second.headers["ETag"])
        self.assertEqual(self.client.get(self.files).text, "two is longer")
        self.assertEqual(self.put("four", If_Match=f'"other", {second.headers["ETag"]}').status, 200)

    def test_a_new_file_replaces_none(self):
        self.assertEqual(self.put("one", If_None_Match="*").status, 200)
        self.assert_refused(self.put("two", If_None_Match="*"), 412, "precondition_failed")
        self.assert_refused(self.put("two", If_None_Match='"x"'), 400, "invalid_argument")
        self.assertEqual(self.client.get(self.files).text, "one")
        self.assertEqual(self.client.call("DELETE", self.files).status, 204)
        self.assert_refused(self.put("two", If_Match="*"), 412, "precondition_failed")

    def test_what_a_guest_wrote_meanwhile_is_noticed(self):
        tag = self.put("one").headers["ETag"]
        done = self.client.call("POST", f"/v1/sandboxes/{self.box}/exec",
                                {"cmd": "/bin/sh", "args": ["-c", "echo from inside > /tmp/notes.txt"]})
        self.assertEqual(done.json["exit_code"], 0, done)
        self.assert_refused(self.put("two", If_Match=tag), 412, "precondition_failed")


if __name__ == "__main__":
    sealed.main()
