# A session's network while it lives: a policy that changes, what is shown and told of it, budgets, and
# restarts of the gateway and of the server.
import json
import os
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import network_guest
import networked
import processes
import sealed
import server
import test_internet as net
from networked import Networked
from sealed import wait_until

setUpModule = networked.set_up
tearDownModule = networked.tear_down
# A connection that is kept: what comes over it is told later.
HOLD = """
held = {}
def hold(name, host, port, first=b"x"):
    connection = connect(host, port, 30)
    connection.sendall(first)
    held[name] = (connection, connection.recv(100))
    return held[name][1].decode()
def still(name, data=b"y"):
    connection = held[name][0]
    connection.settimeout(10)
    try:
        connection.sendall(data)
        return connection.recv(100).decode() or "end"
    except OSError as error:
        return type(error).__name__
"""
GONE = ("end", "ConnectionResetError", "BrokenPipeError")


class Listener:
    """Reads /v1/events in a thread."""

    def __init__(self, test, kinds):
        self.client = test.server.client()
        self.stream = self.client.send("GET", "/v1/events")
        self.kinds, self.seen = kinds, []
        test.assertEqual(self.stream.status, 200)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        test.addCleanup(self.close)

    def read(self):
        kind = None
        try:
            while line := self.stream.readline().decode():
                if line.startswith("event:"):
                    kind = line[6:].strip()
                elif line.startswith("data:") and kind in self.kinds:
                    self.seen.append((kind, json.loads(line[5:])))
        except (OSError, ValueError, AttributeError):
            pass

    def close(self):
        if self.client.connection is not None and self.client.connection.sock is not None:
            try:
                self.client.connection.sock.shutdown(2)
            except OSError:
                pass
        self.thread.join(10)
        self.client.close()


class Patch(Networked):
    def patch(self, session, policy):
        answer = session.call("PATCH", "", {"net": policy})
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def test_new_connections_follow_at_once_and_forbidden_ones_are_cut(self):
        session = self.session("all")
        inside = session.inside
        inside("hold('good', 'good.example.org', 7)", before=HOLD)
        inside("hold('evil', 'evil.example.com', 7)")
        inside("hold('bare', '1.2.3.4', 7)")
        self.patch(session, {"allow": ["good.example.org"]})
        self.assertEqual(inside("still('good')"), "y")
        self.assertIn(inside("still('evil')"), GONE)
        self.assertIn(inside("still('bare')"), GONE)
        self.assert_cut(inside.fetch(net.EVIL))
        self.assertEqual(inside.lookup("evil.example.com").get("error"), "gaierror")
        self.assert_reached(inside.fetch("good.example.org", tls=True), net.GOOD)
        self.patch(session, "none")
        self.assertIn(inside("still('good')"), GONE)
        self.assertIn("error", inside.fetch(net.GOOD))
        self.patch(session, "all")
        self.assert_reached(inside.fetch("evil.example.com"), net.EVIL)
        self.assertTrue(wait_until(lambda: not [one for one in self.internet.reached() if one["open"]]))

    def test_a_session_without_a_network_gets_one(self):
        session = self.session("none")
        self.assertEqual(session.inside.fetch(net.GOOD)["errno"], 101)
        self.patch(session, {"allow": ["good.example.org"]})
        self.assert_reached(session.inside.fetch("good.example.org"), net.GOOD)
        self.assertEqual(session.get()["net"], {"allow": ["good.example.org"]})

    def test_a_name_that_is_denied_later_cuts_what_it_opened(self):
        session = self.session({"base": "all", "deny": ["x.example"]})
        session.inside("hold('www', 'www.example.org', 7)", before=HOLD)
        self.patch(session, {"base": "all", "deny": ["www.example.org"]})
        self.assertIn(session.inside("still('www')"), GONE)

    def test_the_name_that_was_said_counts_for_what_is_open(self):
        session = self.session("https-only")
        tls = """
def web(name):
    connection = held[name][0]
    try:
        connection.settimeout(10)
        connection.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        return connection.recv(1000)[:15].decode() or "end"
    except OSError as error:
        return type(error).__name__
def hold_tls(name):
    held[name] = (secure(connect(name, 443), name), b"")
    return web(name)
"""
        for name in ("www.example.org", "cdn.example.net"):  # on one address
            self.assertEqual(session.inside(f"hold_tls({name!r})", before=HOLD.replace("held = {}", "held = globals().get('held', {})") + tls), "HTTP/1.1 200 OK")
        self.patch(session, {"allow": ["www.example.org"]})
        self.assertEqual(session.inside("web('www.example.org')"), "HTTP/1.1 200 OK")
        self.assertIn(session.inside("web('cdn.example.net')"), (*GONE, "SSLEOFError", "SSLZeroReturnError"))

    def test_it_survives_a_pause(self):
        session = self.session({"allow": ["good.example.org"]})
        session.post("/pause")
        self.assertEqual(session.call("PATCH", "", {"net": {"allow": ["www.example.org"]}}).status, 200)
        session.post("/resume")
        self.assert_reached(session.inside.fetch("www.example.org"), net.CDN)
        self.assertEqual(session.inside.lookup("good.example.org").get("error"), "gaierror")

    def test_a_connection_that_is_being_made_follows_the_new_policy(self):
        self.internet.name("slow2.example.org", a=[net.GOOD], delay=1.5)
        session = self.session("https-only")
        session.inside("begin()", before="""
answers = []
def begin():
    # The gateway asks for the name that is said, and waits for its answer.
    global thread
    thread = threading.Thread(target=lambda: answers.append(fetch("93.184.216.34", tls="slow2.example.org", check=False)))
    thread.start()
""")
        self.assertTrue(wait_until(lambda: self.internet.queries("slow2.example.org")))
        self.patch(session, {"allow": ["www.example.org"]})
        self.assert_cut(session.inside("thread.join() or answers[0]"))
        self.assertEqual([one for one in self.internet.reached(net.GOOD, 443) if one["bytes"] or one.get("name")], [])

    def test_runs_without_a_network_beside_runs_with_one(self):
        code = ("import socket\ntry: print(socket.create_connection(('93.184.216.34', 25), 5).recv(3).decode())\n"
                "except OSError as e: print(e.errno)")
        for _ in range(20):  # the pool has sandboxes that are prepared for one
            self.assertEqual(self.client.python(code, profile={"net": "all"})["stdout"], "220\n")
            self.assertEqual(self.client.python(code)["stdout"], "101\n")
        self.assertEqual(len(self.internet.reached(net.GOOD, 25)), 20)

    def test_many_runs_at_once(self):
        results = []

        def some():
            with self.server.client() as client:
                for _ in range(5):
                    code = network_guest.program(networked.internet.authority, "fetch('good.example.org', tls=True)")
                    results.append(json.loads(client.python(code, profile={"net": "https-only"})["stdout"]).get("address"))

        threads = [threading.Thread(target=some) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [net.GOOD] * 40)

    def test_a_run_that_takes_too_long_says_what_it_did(self):
        answer = self.client.python("import socket, time\nsocket.create_connection(('93.184.216.34', 80)).send(b'x' * 77)\n"
                                    "print('sent', flush=True)\ntime.sleep(60)", profile={"net": "all", "timeout_ms": 1500})
        self.assertTrue(answer["timed_out"])
        network = answer["metrics"]["network"]
        self.assertEqual((network["connections"], network["bytes_out"], network["open"]), (1, 77, 0), answer)

    def test_whose_session_it_is(self):
        session = self.session("all")
        other = self.server.client(self.server.new_key(project="other")[0])
        self.assertEqual(other.call("PATCH", session.path(), {"net": "none"}).status, 404)
        self.assertEqual(other.get(session.path("/network")).status, 404)
        self.assert_reached(session.inside.fetch(net.GOOD), net.GOOD)


class Shown(Networked):
    def test_decisions_with_their_rules_and_bytes(self):
        session = self.session({"allow": ["good.example.org:443", "93.184.216.0/24:9"], "deny": ["93.184.216.99"]})
        inside = session.inside
        inside.fetch("good.example.org", tls=True, path="/bytes/100000")
        inside.fetch("good.example.org", tls=True, path="/bytes/100000")
        inside.talk(net.GOOD, 9, "x" * 50000, shut=True)
        inside.fetch(net.OTHER)
        inside.fetch(net.EVIL)
        inside.fetch(net.METADATA)
        inside.lookup("evil.example.com", 2)
        network = self.network_of(session)
        by = {(one["what"], one["name"], one["address"], one["port"]): one for one in network["decisions"]}
        web = by["connect", "good.example.org", net.GOOD, 443]
        self.assertEqual((web["allowed"], web["rule"], web["count"]), (True, "allow good.example.org:443", 2))
        self.assertGreater(web["bytes_in"], 200_000)
        self.assertGreater(web["bytes_out"], 400)
        sink = [one for (what, _, address, port), one in by.items() if (what, address, port) == ("connect", net.GOOD, 9)][0]
        self.assertEqual((sink["allowed"], sink["rule"], sink["bytes_out"], sink["bytes_in"]),
                         (True, "allow 93.184.216.0/24:9", 50_000, 0))
        denied = {one["address"]: one["rule"] for one in network["decisions"] if one["what"] == "connect" and not one["allowed"]}
        self.assertTrue(denied[net.OTHER].startswith(("deny 93.184.216.99", "not in the policy")), denied)
        self.assertEqual(denied[net.EVIL], "not in the policy")
        self.assertIn("reserved", denied[net.METADATA])
        name = [one for one in network["decisions"] if one["name"] == "evil.example.com"][0]
        self.assertEqual((name["what"], name["allowed"], name["address"]), ("resolve", False, None))
        self.assertEqual((network["connections"], network["names"], network["open"]), (3, 1, 0))
        self.assertGreaterEqual(network["denied"], 4)
        self.assertEqual(network["spent"], [])
        for one in network["decisions"]:
            self.assertRegex(one["first_at"], r"^\d{4}-\d\d-\d\dT")

    def test_a_flood_of_kinds_is_counted_and_bounded(self):
        session = self.session({"allow": ["good.example.org"]})
        session.inside("[lookup(f'n{i}.example.com', 2) for i in range(300)] and 1")
        network = self.network_of(session)
        self.assertLessEqual(len(network["decisions"]), 128)
        self.assertGreater(network["left_out"] + len(network["decisions"]), 150)

    def test_without_a_network_there_is_nothing(self):
        session = self.session("none")
        network = self.network_of(session)
        self.assertEqual((network["decisions"], network["connections"], network["bytes_out"]), ([], 0, 0))

    def test_events(self):
        listener = Listener(self, ("network.decided",))
        session = self.session({"allow": ["good.example.org"]})
        session.inside.fetch("good.example.org")
        session.inside.fetch("good.example.org")
        session.inside.fetch(net.EVIL)
        self.assertTrue(wait_until(lambda: [data for _, data in listener.seen if data["address"] == net.EVIL], 20), listener.seen)
        mine = [data for _, data in listener.seen if session.id in json.dumps(data)]
        connects = [(data["address"], data["port"], data["allowed"]) for data in mine if data["what"] == "connect"]
        self.assertEqual(connects, [(net.GOOD, 80, True), (net.EVIL, 80, False)])  # each kind once
        self.run_inside({"allow": ["www.example.org"]}, "fetch('www.example.org')")
        self.assertTrue(wait_until(lambda: [data for _, data in listener.seen if data["address"] == net.CDN], 20), listener.seen)

    def test_metrics(self):
        def now():
            text = self.client.get("/metrics").text
            return [server.metric(text, "glovebox_network_" + name) for name in ("decisions_total", "bytes_total")]

        before = now()
        session = self.session("all")
        self.assertEqual(server.metric(self.client.get("/metrics").text, "glovebox_networks"), 1)
        session.inside.fetch("good.example.org", path="/bytes/300000")
        session.inside.fetch(net.METADATA)
        session.kill()
        self.assertTrue(wait_until(lambda: now()[0] >= before[0] + 2 and now()[1] >= before[1] + 300_000), (before, now()))
        self.assertTrue(wait_until(lambda: server.metric(self.client.get("/metrics").text, "glovebox_networks") == 0))


class Budgets(Networked):
    def test_bytes_out(self):
        session = self.session({"allow": ["good.example.org"], "budgets": {"bytes_out": 200_000}})
        self.assertEqual(session.inside.talk("good.example.org", 4444, "x" * 100_000, shut=True)["got"], "100000 bytes\n")
        answer = session.inside.talk("good.example.org", 4444, "x" * 3_000_000, shut=True)
        self.assert_cut(answer)
        out = sum(one["bytes"] for one in self.internet.reached(net.GOOD, 4444))
        self.assertLessEqual(out, 200_000)
        network = self.network_of(session)
        self.assertEqual(network["spent"], ["bytes_out"])
        self.assertLessEqual(network["bytes_out"], 200_000)
        self.assert_cut(session.inside.fetch("good.example.org"))
        rules = [one["rule"] for one in self.decisions(session, allowed=False)]
        self.assertTrue([rule for rule in rules if rule.startswith("budget: bytes")], rules)

    def test_connections(self):
        session = self.session({"base": "all", "budgets": {"connections": 3}})
        answers = [session.inside.fetch("good.example.org") for _ in range(5)]
        self.assertEqual(["error" in one for one in answers], [False] * 3 + [True] * 2)
        self.assert_cut(answers[-1])
        network = self.network_of(session)
        self.assertEqual((network["spent"], network["connections"]), (["connections"], 3))
        self.assertTrue([one for one in self.decisions(session, allowed=False) if one["rule"] == "budget: connections"])
        # More of it, by a new policy.
        self.assertEqual(session.call("PATCH", "", {"net": {"base": "all", "budgets": {"connections": 4}}}).status, 200)
        self.assert_reached(session.inside.fetch("good.example.org"), net.GOOD)
        self.assertIn("error", session.inside.fetch("good.example.org"))

    def test_a_run_says_which_one_is_spent(self):
        _, answer = self.run_inside({"base": "all", "budgets": {"connections": 1}},
                                    "[fetch('good.example.org'), fetch('good.example.org')]")
        self.assertEqual(answer["metrics"]["network"]["spent"], ["connections"])


class Restarts(Networked):
    def test_a_gateway_that_dies_cuts_relays_and_nothing_else(self):
        listener = Listener(self, ("network.restarted",))
        session, other = self.session({"allow": ["good.example.org", "www.example.org"]}), self.session("none")
        session.inside("hold('one', 'good.example.org', 7)", before=HOLD)
        session.inside("0", before="kept = 42")
        gateway = self.server.info["gateway_pid"]
        server_pid, launcher = self.server.info["pid"], self.server.info["launcher_pid"]
        os.kill(gateway, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: self.server.info.get("gateway_pid") not in (0, None, gateway), server.PATIENCE))
        self.assertIn(session.inside("still('one')"), GONE)
        self.assertEqual(session.inside("kept"), 42)
        again = wait_until(lambda: (answer := session.inside.fetch("good.example.org", timeout=5)).get("address") and answer, 30)
        self.assert_reached(again, net.GOOD)
        self.assert_cut(session.inside.fetch(net.EVIL))
        self.assertEqual(session.inside.lookup("evil.example.com").get("error"), "gaierror")
        self.assertEqual(other.inside.fetch(net.GOOD)["errno"], 101)
        self.assertEqual((self.server.info["pid"], self.server.info["launcher_pid"]), (server_pid, launcher))
        self.assertTrue(wait_until(lambda: listener.seen, 20), "the restart is not told")
        self.assertIn(session.id, json.dumps(listener.seen))
        self.assertTrue(self.network_of(session)["incomplete"])
        value, _ = self.run_inside("all", "fetch('good.example.org')")
        self.assert_reached(value, net.GOOD)

    def test_a_server_that_dies_cuts_nothing(self):
        session = self.session({"allow": ["good.example.org"]})
        session.inside("hold('one', 'good.example.org', 7)", before=HOLD)
        gateway = self.server.info["gateway_pid"]
        os.kill(self.server.info["pid"], signal.SIGKILL)
        self.assertTrue(wait_until(self.server.is_ready_again, server.PATIENCE))
        self.client.close()
        # Contexts of code live in the session; the server finds them again.
        self.assertTrue(wait_until(lambda: session.call("GET", "/processes").status == 200, server.PATIENCE))
        self.assertEqual(self.server.info["gateway_pid"], gateway)
        open_now = [one for one in self.internet.reached(net.GOOD, 7) if one["open"]]
        self.assertEqual(len(open_now), 1, "the relay was cut")
        self.assertEqual(session.inside("still('one')"), "y")
        self.assert_reached(session.inside.fetch("good.example.org"), net.GOOD)
        self.assert_cut(session.inside.fetch(net.EVIL))
        self.assertEqual(session.get()["net"], {"allow": ["good.example.org"]})
        self.assertEqual(session.call("PATCH", "", {"net": "none"}).status, 200)
        self.assertIn(session.inside("still('one')"), GONE)

    def test_a_run_outlives_the_gateway(self):
        gateway = self.server.info["gateway_pid"]
        result = {}
        program = network_guest.program(networked.internet.authority, "during()").replace("print(json", """
def during():
    with connect("good.example.org", 7) as held:
        held.sendall(b"x")
        held.recv(1)
        cut = _cut(held)
    for _ in range(100):
        answer = fetch("good.example.org", timeout=5)
        if "address" in answer:
            return [cut, answer["address"]]
        time.sleep(0.1)
def _cut(held):
    try:
        return held.recv(1).decode()
    except OSError as error:
        return type(error).__name__
print(json""")

        def run():
            with self.server.client() as client:
                result.update(client.python(program, profile={"net": "all", "timeout_ms": 60000}))

        thread = threading.Thread(target=run)
        thread.start()
        self.assertTrue(wait_until(lambda: [one for one in self.internet.reached(net.GOOD, 7) if one["bytes"]]))
        os.kill(gateway, signal.SIGKILL)
        thread.join(90)
        cut, address = json.loads(result["stdout"])
        self.assertIn(cut, ("", "ConnectionResetError"))
        self.assertEqual(address, net.GOOD)
        self.assertTrue(result["metrics"]["network"]["incomplete"], result["metrics"])

    def test_what_is_answered_while_a_server_comes_back_is_so(self):
        sessions = [self.session("all") for _ in range(4)]
        for session in sessions:
            session.inside("hold('one', 'good.example.org', 7)", before=HOLD)
        os.kill(self.server.info["pid"], signal.SIGKILL)
        self.assertTrue(wait_until(self.server.is_ready_again, server.PATIENCE))
        self.client.close()
        # As soon as it can be asked, and again until it says yes.
        for session in sessions:
            self.assertTrue(wait_until(lambda: session.call("PATCH", "", {"net": "none"}).status == 200, server.PATIENCE))
            cut = wait_until(lambda: session.call("GET", "/processes").status == 200, server.PATIENCE)
            self.assertTrue(cut)
        for session in sessions:
            self.assertIn(session.inside("still('one')"), GONE)
            self.assertIn("error", session.inside.fetch(net.GOOD))
            self.assertEqual(session.get()["net"], "none")

    def test_a_gateway_that_dies_again_and_again_under_runs(self):
        for _ in range(3):
            gateway = self.server.info["gateway_pid"]
            os.kill(gateway, signal.SIGKILL)
            self.assertTrue(wait_until(lambda: self.server.info.get("gateway_pid") not in (0, None, gateway), server.PATIENCE))
            answer = wait_until(lambda: self.run_inside("all", "fetch('good.example.org', timeout=5)")[0], 30)
            self.assert_reached(answer, net.GOOD)

    def test_a_gateway_that_dies_while_a_session_is_paused(self):
        session = self.session({"allow": ["good.example.org"]})
        session.post("/pause")
        gateway = self.server.info["gateway_pid"]
        os.kill(gateway, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: self.server.info.get("gateway_pid") not in (0, None, gateway), server.PATIENCE))
        session.post("/resume")
        answer = wait_until(lambda: (one := session.inside.fetch("good.example.org", timeout=5)).get("address") and one, 30)
        self.assert_reached(answer, net.GOOD)
        self.assert_cut(session.inside.fetch(net.EVIL))

    def test_a_supervisor_that_dies_takes_no_session_along(self):
        session = self.session({"allow": ["good.example.org"]})
        self.assert_reached(session.inside.fetch("good.example.org"), net.GOOD)
        self.server.supervisor.kill()
        self.server.supervisor.wait()
        self.client.close()
        self.server.start()
        self.assertTrue(wait_until(lambda: session.call("GET", "/processes").status == 200, server.PATIENCE))
        answer = wait_until(lambda: (one := session.inside.fetch("good.example.org", timeout=5)).get("address") and one, 30)
        self.assert_reached(answer, net.GOOD)
        self.assert_cut(session.inside.fetch(net.EVIL))
        value, _ = self.run_inside("all", "fetch('good.example.org')")
        self.assert_reached(value, net.GOOD)

    def test_a_gateway_has_no_privileges_and_no_files(self):
        # Its pid is known as soon as it is started; it is confined before the server reaches it.
        self.assertTrue(wait_until(lambda: self.client.get("/health/ready").json["gateway"] == "up", server.PATIENCE))
        pid = self.server.info["gateway_pid"]
        gateway = processes.living(pid)
        status = gateway.fields
        self.assertNotIn("0", status["Uid"].split())
        self.assertEqual({status[key] for key in ("CapEff", "CapPrm", "CapInh", "CapAmb")}, {"0" * 16})
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
        files = list(gateway.files().values())
        self.assertTrue(files)
        self.assertEqual([name for name in files if name.startswith("/") and name != "/dev/null"
                          and name != self.server.log_path], [], files)


if __name__ == "__main__":
    sealed.main(network=True)
