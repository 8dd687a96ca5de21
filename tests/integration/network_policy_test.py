# What a sandbox reaches under each policy, through the real programs on the test internet: names,
# addresses, ports, TLS names, and everything that no policy reaches.
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import networked
import sealed
import server
import test_internet as net
from networked import Networked

setUpModule = networked.set_up
tearDownModule = networked.tear_down


class Policies(Networked):
    def test_none_is_the_default_and_reaches_nothing(self):
        for profile in ({}, {"net": "none"}, {"net": {"base": "none"}}, {"net": {"allow": []}}):
            answer = self.client.python(
                "import socket\nfor host in ('93.184.216.34', '2606:2800:220:1::34'):\n"
                "    try: socket.create_connection((host, 80), 5)\n    except OSError as e: print(e.errno)\n",
                profile=profile)
            self.assertEqual(answer["stdout"].split(), ["101", "101"], answer)  # ENETUNREACH
            self.assertIsNone(answer["metrics"].get("network"))
        self.assert_not_reached(net.GOOD, net.GOOD6)
        self.assertEqual(self.internet.queries(), [])

    def test_all_reaches_public_addresses_at_any_port(self):
        inside = self.inside("all")
        self.assert_reached(inside.fetch("good.example.org"), net.GOOD, 80)
        self.assert_reached(inside.fetch("good.example.org", tls=True), net.GOOD, 443, "good.example.org")
        self.assert_reached(inside.fetch("cdn.example.net", tls=True, port=8443), net.CDN, 8443, "cdn.example.net")
        self.assert_reached(inside.fetch("1.2.3.4", port=8080), "1.2.3.4", 8080)
        self.assert_reached(inside.fetch(net.GOOD6), net.GOOD6, 80)
        self.assertEqual(inside.talk("mail.example.org", 25, first=100)["got"][:4], "220 ")
        self.assertEqual({one["from"] for one in self.internet.reached()}, {net.BOX4, net.BOX6})

    def test_https_only_wants_tls_with_a_name_that_is_there(self):
        inside = self.inside("https-only")
        self.assert_reached(inside.fetch("good.example.org", tls=True), net.GOOD, 443, "good.example.org")
        self.assert_reached(inside.fetch("www.example.org", tls=True), net.CDN, 443, "www.example.org")
        # Two names on one address, of which only one was asked for: the gateway asks for the other.
        self.assert_reached(inside.fetch(net.CDN, tls="cdn.example.net"), net.CDN, 443, "cdn.example.net")
        self.internet.forget()
        self.assert_cut(inside.fetch("good.example.org"))
        self.assert_cut(inside.fetch("good.example.org", tls=True, port=8443))
        self.assert_cut(inside.talk("good.example.org", 443, "GET / HTTP/1.1\r\nHost: good.example.org\r\n\r\n"))
        self.assert_cut(inside.talk("mail.example.org", 25, first=10))
        # A name that is somewhere else, one that is nowhere, and none.
        self.assert_cut(inside.fetch(net.EVIL, tls="good.example.org"))
        self.assert_cut(inside.fetch(net.EVIL, tls="nowhere.example.org"))
        self.assert_cut(inside("send_pieces('%s', 443, [hello(None)])" % net.GOOD))
        self.assertEqual([one for one in self.internet.reached() if one["port"] != 443], [])
        self.assert_not_reached(net.EVIL, net.MAIL)

    def test_allowed_names_and_no_other(self):
        inside = self.inside({"allow": ["good.example.org", "*.www.example.org", "MAIL.example.org.:25"]})
        self.assert_reached(inside.fetch("good.example.org"), net.GOOD)
        self.assert_reached(inside.fetch("GOOD.Example.ORG", tls="good.example.org"), net.GOOD)
        self.assert_reached(inside.fetch("good.example.org.", tls="good.example.org"), net.GOOD)
        self.assert_reached(inside.fetch("deep.www.example.org", tls=True), net.OTHER)
        self.assertEqual(inside.talk("mail.example.org", 25, first=100)["got"][:4], "220 ")
        self.internet.forget()
        for other in ("www.example.org", "evil.example.com", "nowhere.example.org", "xgood.example.org",
                      "good.example.org.evil.example.com", "x.good.example.org"):
            self.assertEqual(inside.lookup(other).get("error"), "gaierror", other)
        self.assertEqual(self.internet.queries(), [], "a name that is not allowed was asked for")
        self.assert_cut(inside.talk("mail.example.org", 22, first=10))
        self.assert_cut(inside.fetch(net.EVIL))
        self.assert_cut(inside.fetch(net.EVIL6))
        self.assert_not_reached(net.EVIL, net.EVIL6, net.MAIL)

    def test_a_name_counts_for_the_addresses_it_was_given_for(self):
        inside = self.inside({"allow": ["good.example.org", "victim.example.org"]})
        self.assert_cut(inside.fetch(net.OTHER))  # victim's, but the sandbox has not resolved it
        self.assert_not_reached(net.OTHER)
        self.assertEqual(inside.lookup("victim.example.org"), [net.OTHER])
        self.assert_reached(inside.fetch(net.OTHER), net.OTHER)
        # At 443 the name that is said counts as well.
        self.assert_reached(inside.fetch(net.OTHER, tls="victim.example.org"), net.OTHER)
        self.assert_cut(inside.fetch(net.OTHER, tls="evil.example.com", check=False))
        self.assert_cut(inside.fetch(net.OTHER, tls="good.example.org", check=False))
        self.assertEqual([one.get("name") for one in self.internet.reached(net.OTHER, 443)], ["victim.example.org"])

    def test_ranges_and_ports(self):
        inside = self.inside({"allow": ["93.184.216.0/24:80", "[2606:2800:220::/48]:8000-8100", "1.2.3.4"]})
        self.assert_reached(inside.fetch(net.GOOD), net.GOOD, 80)
        self.assert_reached(inside.fetch(net.OTHER), net.OTHER, 80)
        self.assert_reached(inside.fetch(net.GOOD6, port=8080), net.GOOD6, 8080)
        self.assertEqual(inside.talk("1.2.3.4", 22, first=100)["got"][:4], "SSH-")
        self.assert_cut(inside.fetch(net.GOOD, port=8080))
        self.assert_cut(inside.fetch(net.GOOD6, port=80))
        self.assert_cut(inside.fetch("93.184.217.1"))
        self.assert_cut(inside.fetch("1.2.3.5"))
        self.assertEqual(inside.lookup("good.example.org").get("error"), "gaierror")
        # The same address, as IPv6 spells it, is the same address.
        self.assert_reached(inside.fetch("::ffff:93.184.216.34"), net.GOOD, 80)

    def test_deny_wins_unless_the_policy_says_otherwise(self):
        policy = {"base": "all", "deny": ["evil.example.com", "*.example.net", "185.220.101.0/24", "*:25"]}
        inside = self.inside(policy)
        self.assert_reached(inside.fetch("good.example.org", tls=True), net.GOOD)
        self.assertEqual(inside.lookup("evil.example.com").get("error"), "gaierror")
        self.assertEqual(inside.lookup("cdn.example.net").get("error"), "gaierror")
        self.assert_cut(inside.fetch(net.EVIL))
        self.assert_cut(inside.fetch("::ffff:" + net.EVIL))
        self.assert_cut(inside.talk("mail.example.org", 25, first=10))
        # A denied name is denied at any address that it says it to.
        self.assert_cut(inside.fetch(net.GOOD, tls="cdn.example.net", check=False))
        self.assert_reached(inside.fetch(net.EVIL6), net.EVIL6)  # only the name and the IPv4 range were denied
        self.assertEqual([one for one in self.internet.queries() if one["name"] != "good.example.org"
                          and one["name"] != "mail.example.org"], [])
        both = {"allow": ["good.example.org"], "deny": ["*.example.org"]}
        self.assertEqual(self.inside(both).lookup("good.example.org").get("error"), "gaierror")
        both["precedence"] = "allow"
        self.assertEqual(self.inside(both).lookup("good.example.org", 2), [net.GOOD])

    def test_a_chain_of_aliases_ends_where_it_ends(self):
        inside = self.inside({"allow": ["alias.example.org"]})
        self.assert_reached(inside.fetch("alias.example.org", tls=True), net.GOOD, 443, "alias.example.org")
        self.assert_cut(inside.fetch("alias.example.org", tls="good.example.org"))
        denying = self.inside({"base": "all", "deny": ["good.example.org"]})
        self.assertEqual(denying.lookup("alias.example.org").get("error"), "gaierror")

    def test_runs_have_policies_too_and_say_what_they_did(self):
        value, answer = self.run_inside({"allow": ["good.example.org"]},
                                        "[fetch('good.example.org', tls=True), lookup('evil.example.com')]")
        self.assert_reached(value[0], net.GOOD, 443, "good.example.org")
        network = answer["metrics"]["network"]
        self.assertEqual((network["connections"], network["names"], network["open"]), (1, 1, 0), network)
        self.assertGreaterEqual(network["denied"], 1)
        self.assertGreater(network["bytes_out"], 100)
        self.assertGreater(network["bytes_in"], 500)
        connect = [one for one in network["decisions"] if one["what"] == "connect"]
        self.assertEqual(len(connect), 1, network)
        self.assertEqual([connect[0][key] for key in ("allowed", "name", "address", "port", "count")],
                         [True, "good.example.org", net.GOOD, 443, 1])
        self.assertEqual(connect[0]["rule"], "allow good.example.org")
        denied = [one for one in network["decisions"] if one["name"] == "evil.example.com"]
        self.assertTrue(denied and not denied[0]["allowed"] and denied[0]["what"] == "resolve", network)

    def test_a_policy_is_part_of_the_profiles_hash(self):
        def profile(policy):
            return self.client.python("1", profile={"net": policy})["profile"]

        self.assertEqual(profile({"allow": ["B.example.", "a.example"]}), profile({"allow": ["a.example", "b.example"]}))
        self.assertEqual(profile("none"), profile({"base": "none", "deny": ["x.example"]}))
        self.assertEqual(len({profile(one) for one in ("none", "all", "https-only", {"allow": ["a.example"]})}), 4)


class NeverReached(Networked):
    """Whatever the policy, what is inside stays inside."""

    def attempts(self):
        port = self.client.address[1]
        return [("127.0.0.1", port), ("127.1.2.3", port), ("0.0.0.0", port), ("::1", port), ("::", port),
                ("::ffff:127.0.0.1", port), (net.BOX4, port), (net.BOX6, port), ("::ffff:" + net.BOX4, port),
                (net.METADATA, 80), ("::ffff:169.254.169.254", 80), ("::169.254.169.254", 80), (net.METADATA6, 80),
                ("64:ff9b::a9fe:a9fe", 80), ("64:ff9b:1::a9fe:a9fe", 80), ("2002:a9fe:a9fe::1", 80),
                ("2002:7f00:1::", port), ("10.0.0.1", 80), ("172.16.0.1", 80), ("192.168.1.1", 80),
                ("169.254.1.1", 80), ("100.64.0.1", 80), ("100.64.0.2", 80), ("100.64.0.53", 80),
                ("100.127.255.254", 80), ("192.0.0.1", 80), ("192.0.2.1", 80), ("198.18.0.1", 80),
                ("198.51.100.1", 80), ("203.0.113.1", 80), ("240.0.0.1", 80), ("255.255.255.255", 80),
                ("224.0.0.1", 80), ("fd00::1", 80), ("fe80::1", 80), ("fec0::1", 80), ("ff02::1", 80),
                ("2001:db8::1", 80), ("fd00:67:62::1", 80), ("fd00:67:62::2", 80), ("0.1.2.3", 80)]

    def test_addresses_in_every_spelling(self):
        ours = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        self.addCleanup(ours.close)
        port = ours.getsockname()[1]
        attempts = self.attempts() + [(host, port) for host in ("127.0.0.1", "::1", net.BOX4, net.BOX6, "0.0.0.0")]
        for policy in ("all", {"allow": ["*"]}, {"allow": ["0.0.0.0/0", "::/0"]}):
            inside = self.inside(policy)
            self.assert_reached(inside.fetch(net.GOOD), net.GOOD)
            for host, port in attempts:
                with self.subTest(host=host, port=port, policy=policy):
                    self.assertIn("error", inside.fetch(host, port=port, timeout=5))
        self.assertEqual({one["address"] for one in self.internet.reached()}, {net.GOOD})
        ours.setblocking(False)
        with self.assertRaises(BlockingIOError):
            ours.accept()

    def test_spellings_that_libraries_take_for_addresses(self):
        # Inside, a libc turns these into addresses; what it then dials is what is decided.
        inside = self.inside("all")
        for host in ("2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "0x7f.1", "127.1", "localhost"):
            with self.subTest(host):
                self.assertIn("error", inside.fetch(host, port=80, timeout=5))
        self.assertEqual(self.internet.reached(), [])

    def test_such_a_rule_is_no_way_around(self):
        for rule in ("10.0.0.0/8", "169.254.169.254", "127.0.0.1", "fd00::/8"):
            answer = self.client.post_run(language="python", code="1", profile={"net": {"allow": [rule]}})
            self.assertIn(answer.status, (200, 403), answer)
            inside = self.inside({"allow": [rule, "93.184.216.34"]}) if answer.status == 200 else None
            if inside is not None:
                self.assert_reached(inside.fetch(net.GOOD), net.GOOD)
                self.assertIn("error", inside.fetch(rule.split("/")[0].replace("10.0.0.0", "10.0.0.1"), timeout=5))

    def test_other_protocols(self):
        inside = self.inside("all")
        for host, port in ((net.GOOD, 9999), (net.GOOD, 123), (net.GOOD, 443), (net.GOOD6, 9999), (net.METADATA, 123)):
            self.assertIn("error", inside.datagram(host, port))
        self.assertEqual(self.internet.datagrams(), [])
        # Its own loopback is its own, with datagrams and all.
        self.assertEqual(inside("echo()", before="""
def echo():
    made = {}
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family, socket.SOCK_DGRAM) as a, socket.socket(family, socket.SOCK_DGRAM) as b, \\
             socket.create_server((host, 0), family=family) as server:
            a.settimeout(5); a.bind((host, 0)); b.sendto(b"u", a.getsockname())
            client = socket.create_connection(server.getsockname()[:2], 5)
            peer, _ = server.accept()
            client.sendall(b"t")
            made[host] = (a.recv(9) + peer.recv(9)).decode()
    return made
"""), {"127.0.0.1": "ut", "::1": "ut"})

    def test_one_sandbox_is_no_neighbour_of_another(self):
        first, second = self.session("all"), self.session("all")
        self.assertEqual(first.inside("listen()", before="""
def listen():
    global server
    server = socket.create_server(("::", 8080), family=socket.AF_INET6, dualstack_ipv6=True)
    def serve():
        while True:
            peer, _ = server.accept()
            peer.sendall(b"neighbour"); peer.close()
    threading.Thread(target=serve, daemon=True).start()
    return talk("100.64.0.1", 8080, first=100)["got"]
"""), "neighbour")
        for host in ("100.64.0.1", "fd00:67:62::1", "127.0.0.1"):
            self.assertIn("error", second.inside.talk(host, 8080, first=100, timeout=5))


    def test_root_inside_a_session_changes_nothing(self):
        session = self.session({"allow": ["good.example.org"]})
        for line in ("ip link add x0 type dummy", "ip addr add 10.9.9.9/32 dev lo", "ip addr del 100.64.0.1/32 dev lo",
                     "ip route add default dev lo metric 1", "ip route del local default", "ip route del default",
                     "ip route add 93.184.0.0/16 dev lo", "ip rule add from all lookup 7", "ip link set lo down",
                     "echo 1 > /proc/sys/net/ipv4/ip_forward", "echo 1 > /proc/sys/net/ipv4/ip_unprivileged_port_start",
                     "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'",
                     "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'",
                     "python3 -c 'import socket; s=socket.socket(); s.setsockopt(0, 19, 1)'",  # IP_TRANSPARENT
                     "python3 -c 'import socket; s=socket.socket(); s.setsockopt(1, 36, 1)'",  # SO_MARK
                     "python3 -c 'import socket; s=socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12); s.bind((0, 0)); "
                     "import struct; s.send(struct.pack(\"IHHIIBBH\", 20, 0xa02, 5, 1, 0, 2, 0, 0)); "
                     "import sys; sys.exit(struct.unpack_from(\"i\", s.recv(100), 16)[0] != 0)'",
                     "unshare --net true", "nsenter --net=/proc/1/ns/net true"):
            self.assertNotEqual(session.shell(line, user="root")["exit_code"], 0, line)
        self.assert_reached(session.inside.fetch("good.example.org", tls=True), net.GOOD)
        self.assert_cut(session.inside.fetch(net.EVIL))
        # It may speak from any address of its own namespace, which changes nothing outside.
        answer = session.inside("spoofed()", before="""
def spoofed():
    made = []
    for source in ("127.0.0.1", "100.64.0.53", "10.0.0.1", "93.184.216.34", "8.8.8.8"):
        try:
            with socket.socket() as one:
                one.setsockopt(socket.IPPROTO_IP, 15, 1)  # IP_FREEBIND
                one.settimeout(1)
                one.bind((source, 0))
                one.connect(("185.220.101.1", 25))
                made.append(one.recv(3).decode())
        except OSError as error:
            made.append(type(error).__name__)
    return made
""")
        self.assertNotIn("220", answer)
        self.assert_not_reached(net.EVIL)


class Opened(Networked):
    settings = {**Networked.settings, "net.opened": "10.1.2.0/24,fd00:1::/64"}

    def test_a_range_that_the_administrator_opened_counts_as_public(self):
        self.internet.name("inside.example.org", a=["10.1.2.3", "10.9.9.9"])
        inside = self.inside("all")
        self.assert_reached(inside.fetch("10.1.2.3"), "10.1.2.3")
        self.assert_reached(inside.fetch("fd00:1::7"), "fd00:1::7")
        self.assertEqual(inside.lookup("inside.example.org", 2), ["10.1.2.3"])
        for host in ("10.1.3.3", "10.9.9.9", "fd00:2::7", net.METADATA):
            self.assert_cut(inside.fetch(host))
        self.assert_not_reached("10.1.3.3", "10.9.9.9", "fd00:2::7", net.METADATA)
        named = self.inside({"allow": ["inside.example.org"]})
        self.assert_reached(named.fetch("inside.example.org"), "10.1.2.3")
        self.assert_cut(named.fetch("10.1.2.4"))


class OwnPort(sealed.TestCase):
    """A host's own addresses may be opened; the server's port on them may not."""

    def test_the_servers_port_is_never_dialled(self):
        made = server.Server(settings={"log.requests": "false", "net.resolvers": net.RESOLVER,
                                       "net.opened": f"{net.BOX4}/32,{net.BOX6}/128"}, listen=f"{net.BOX4}:0")
        self.addCleanup(made.stop)
        with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as ours:
            ours.settimeout(20)
            own, theirs = ours.getsockname()[1], int(made.url.rsplit(":", 1)[1])
            echo = threading.Thread(target=self.answer_one, args=(ours,))
            echo.start()
            self.addCleanup(echo.join)
            code = f"""
import socket
def word(host, port):
    try:
        with socket.create_connection((host, port), 5) as connection:
            connection.sendall(b"GET /health HTTP/1.1\\r\\nHost: {net.BOX4}\\r\\n\\r\\n")
            return bool(connection.recv(100))
    except OSError:
        return False
print([word(host, {theirs}) for host in ("{net.BOX4}", "::ffff:{net.BOX4}", "{net.BOX6}", "127.0.0.1")])
connection = socket.create_connection(("{net.BOX4}", {own}), 5)
connection.sendall(b"x")
print(connection.recv(1))
"""
            answer = made.client().python(code, profile={"net": "all"})
            self.assertEqual(answer["stdout"], "[False, False, False, False]\nb'x'\n", answer)

    @staticmethod
    def answer_one(listener):
        peer, _ = listener.accept()
        with peer:
            peer.sendall(peer.recv(1))


class Ceiling(Networked):
    settings = {**Networked.settings, "net.ceiling": "none", "net.allow": "*.example.org,93.184.216.0/24:80",
                "net.deny": "victim.example.org", "net.max_connections": "7", "net.max_bytes_out": "1M"}

    def test_more_is_refused_with_a_word(self):
        for policy in ("all", "https-only", {"allow": ["evil.example.com"]}, {"allow": ["93.184.216.0/23"]},
                       {"allow": ["93.184.216.0/24"]}, {"allow": ["*"]}, {"base": "all", "deny": ["x.example"]},
                       {"allow": ["good.example.org"], "budgets": {"connections": 8}},
                       {"allow": ["good.example.org"], "budgets": {"bytes_out": 2 << 20}}):
            with self.subTest(policy):
                self.assert_refused(self.client.post_run(language="python", code="1", profile={"net": policy}),
                                    403, "policy")
                made = self.client.call("POST", "/v1/sandboxes", {"template": "python", "profile": {"net": policy}})
                self.assert_refused(made, 403, "policy")
                self.assertIn("net", made.json["error"]["message"])
        refused = self.client.post_run(language="python", code="1", profile={"net": {"allow": ["evil.example.com"]}})
        self.assertIn("evil.example.com", refused.json["error"]["message"])

    def test_what_lies_within_is_given_and_what_it_denies_is_denied(self):
        session = self.session({"allow": ["*.example.org", "93.184.216.34:80"], "budgets": {"connections": 5}})
        self.assert_reached(session.inside.fetch("good.example.org", tls=True), net.GOOD)
        self.assert_reached(session.inside.fetch(net.GOOD), net.GOOD)
        self.assertEqual(session.inside.lookup("victim.example.org").get("error"), "gaierror")
        self.assert_cut(session.inside.fetch(net.GOOD, tls="victim.example.org", check=False))
        denied = self.decisions(session, name="victim.example.org", allowed=False)
        self.assertTrue(denied and all(one["rule"].startswith("ceiling") for one in denied), denied)
        answer = session.call("PATCH", "", {"net": "all"})
        self.assert_refused(answer, 403, "policy")
        self.assert_reached(session.inside.fetch("good.example.org", tls=True), net.GOOD)

    def test_the_ceilings_budgets_are_everybodys(self):
        session = self.session({"allow": ["good.example.org"]})
        answers = [session.inside.fetch("good.example.org") for _ in range(9)]
        self.assertEqual(["error" in one for one in answers], [False] * 7 + [True] * 2)
        self.assertEqual(self.network_of(session)["spent"], ["connections"])


class Mistakes(Networked):
    def test_what_means_nothing_is_said_with_its_place(self):
        for policy, place in (
                ("some", "net"), (7, "net"), ([], "net"), ({}, "net"), ({"bse": "all"}, "net"),
                ({"base": "most"}, "net.base"), ({"base": None}, "net"),
                ({"allow": "good.example.org"}, "net.allow"), ({"allow": [7]}, "net.allow[0]"),
                ({"allow": ["good.example.org", "a b"]}, "net.allow[1]"), ({"allow": [""]}, "net.allow[0]"),
                ({"allow": ["http://good.example.org"]}, "net.allow[0]"), ({"allow": ["good.example.org:0"]}, "net.allow[0]"),
                ({"allow": ["good.example.org:65536"]}, "net.allow[0]"), ({"allow": ["good.example.org:9-7"]}, "net.allow[0]"),
                ({"allow": ["10.0.0.1/8"]}, "net.allow[0]"), ({"allow": ["1.2.3.4/33"]}, "net.allow[0]"),
                ({"allow": ["127.1"]}, "net.allow[0]"), ({"allow": ["0x7f000001"]}, "net.allow[0]"),
                ({"allow": ["2852039166"]}, "net.allow[0]"), ({"allow": ["b\u00fccher.example"]}, "net.allow[0]"),
                ({"allow": ["a..b"]}, "net.allow[0]"), ({"allow": ["*.*.b"]}, "net.allow[0]"),
                ({"allow": ["a.*.b"]}, "net.allow[0]"), ({"allow": ["good\u0000.example"]}, "net.allow[0]"),
                ({"allow": ["x" * 64 + ".example"]}, "net.allow[0]"), ({"deny": ["2001:db8::/32:443"]}, "net.deny[0]"),
                ({"allow": ["a.example"] * 257}, "net.allow"), ({"base": "all", "budgets": 7}, "net.budgets"),
                ({"base": "all", "budgets": {"bytes": 7}}, "net.budgets"),
                ({"base": "all", "budgets": {"names": -1}}, "net.budgets.names"),
                ({"base": "all", "budgets": {"bytes_out": 1.5}}, "net.budgets.bytes_out"),
                ({"base": "all", "precedence": "first"}, "net.precedence")):
            with self.subTest(policy):
                for answer in (self.client.post_run(language="python", code="1", profile={"net": policy}),
                               self.client.call("POST", "/v1/sandboxes", {"template": "python", "profile": {"net": policy}})):
                    self.assert_refused(answer, 400, "invalid_argument")
                    self.assertIn("profile." + place, answer.json["error"]["message"])
        self.assertIn("xn--", self.client.post_run(language="python", code="1", profile={
            "net": {"allow": ["b\u00fccher.example"]}}).json["error"]["message"])

    def test_a_policy_of_a_live_session_is_read_as_strictly(self):
        session = self.session("none")
        for body, place in (({"net": "some"}, "net"), ({"net": {"allow": ["a b"]}}, "net.allow[0]"), ({}, "net")):
            answer = session.call("PATCH", "", body)
            self.assert_refused(answer, 400, "invalid_argument")
            self.assertIn(place, answer.json["error"]["message"])


if __name__ == "__main__":
    sealed.main(network=True)
