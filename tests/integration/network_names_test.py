# Names, as a sandbox meets them: what its resolver answers, what leaves the machine and what does not,
# liars among the name servers, and TLS names that try to mean two things.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import internet_dns as dns
import networked
import sealed
import test_internet as net
from networked import Networked

setUpModule = networked.set_up
tearDownModule = networked.tear_down
PROHIBITED = 18


class Questions(Networked):
    def test_a_name_that_is_not_allowed_is_not_asked_for(self):
        inside = self.inside({"allow": ["good.example.org"]})
        for kind in (dns.A, dns.AAAA, dns.TXT, dns.HTTPS, 255):
            answer = inside.ask("evil.example.com", kind)
            self.assertEqual((answer["code"], answer["addresses"]), (dns.NXDOMAIN, []), answer)
            self.assertEqual(answer["ede"][0], PROHIBITED, answer)
        self.assertIsNone(inside.ask("evil.example.com", edns=False)["ede"])
        self.assertEqual(self.internet.queries(), [])

    def test_only_addresses_are_told(self):
        inside = self.inside("all")
        for kind in (dns.TXT, dns.HTTPS, dns.SVCB, dns.NS, dns.SOA, 255, 15, 33, 12):
            answer = inside.ask("good.example.org", kind)
            self.assertEqual((answer["code"], answer["addresses"], answer["others"]), (0, [], []), (kind, answer))
        self.assertEqual(self.internet.queries(), [])
        answer = inside.ask("good.example.org")
        self.assertEqual((answer["code"], answer["addresses"], answer["same_id"]), (0, [net.GOOD], True))
        self.assertEqual(inside.ask("good.example.org", dns.AAAA)["addresses"], [net.GOOD6])

    def test_whichever_server_is_asked_the_gateway_answers(self):
        inside = self.inside({"allow": ["good.example.org"]})
        for server in ("100.64.0.53", "8.8.8.8", "10.0.0.1", net.RESOLVER, net.METADATA):
            self.assertEqual(inside.ask("good.example.org", server=server)["addresses"], [net.GOOD], server)
            self.assertEqual(inside.ask("evil.example.com", server=server)["code"], dns.NXDOMAIN, server)
        self.assertLessEqual({one["name"] for one in self.internet.queries()}, {"good.example.org"})
        self.assertEqual(inside("open('/etc/resolv.conf').read()").split()[:2], ["nameserver", "100.64.0.53"])

    def test_answers_are_kept_for_a_while(self):
        inside = self.inside("all")
        for _ in range(5):
            self.assertEqual(inside.ask("long-lived.example.org")["addresses"], [net.GOOD])
        self.assertEqual(len(self.internet.queries("long-lived.example.org")), 1)
        self.assertLessEqual(inside.ask("long-lived.example.org")["ttl"], 60)
        # Other sandboxes of the same project share them.
        self.inside("all").ask("long-lived.example.org")
        self.assertEqual(len(self.internet.queries("long-lived.example.org")), 1)

    def test_private_answers_are_left_out(self):
        inside = self.inside("all")
        for name in ("to-loopback", "to-private", "to-metadata", "alias-private", "nat64"):
            for kind in (dns.A, dns.AAAA):
                answer = inside.ask(name + ".example.org", kind)
                self.assertEqual(answer["addresses"], [], (name, answer))
        self.assertEqual(inside.ask("mixed.example.org")["addresses"], [net.GOOD])
        self.assert_reached(inside.fetch("mixed.example.org", tls=True), net.GOOD)
        self.assertIn("error", inside.fetch("to-box.example.org", port=self.client.address[1], timeout=5))

    def test_a_name_that_changes_its_mind(self):
        self.internet.name("rebind.example.org", **net.ZONE["rebind.example.org"])
        inside = self.inside({"allow": ["rebind.example.org"]})
        self.assertEqual(inside.ask("rebind.example.org")["addresses"], [net.OTHER])
        self.assert_reached(inside.fetch("rebind.example.org"), net.OTHER)
        for _ in range(6):
            self.assertNotIn(inside.ask("rebind.example.org")["addresses"], (["127.0.0.1"], [net.METADATA], ["10.0.0.1"]))
            inside.fetch("rebind.example.org", timeout=5)
        for address in (net.METADATA, "10.0.0.1"):
            self.assert_cut(inside.fetch(address))
        self.assertEqual({one["address"] for one in self.internet.reached()}, {net.OTHER})

    def told(self, inside, name, addresses):
        """Whether that comes to be its AAAA records; asked seldom, because questions have a rate."""
        return inside(f"wait_told({name!r}, {addresses!r})", before="""
def wait_told(name, addresses):
    for _ in range(100):
        answer = ask(name, 28)
        if answer.get("code") == 0 and answer["addresses"] == addresses:
            return True
        time.sleep(0.2)
    return False
""")

    def test_ipv6_only_where_the_host_has_it(self):
        self.internet.set_ipv6(False)
        try:
            self.internet.name("fresh6.example.org", aaaa=[net.GOOD6], a=[net.GOOD])
            inside = self.inside("all")
            self.assertTrue(self.told(inside, "fresh6.example.org", []), "AAAA is told without IPv6")
            self.assertEqual(inside.lookup("fresh6.example.org"), [net.GOOD])
            self.assert_reached(inside.fetch("fresh6.example.org"), net.GOOD)
        finally:
            self.internet.set_ipv6(True)
        self.internet.name("again6.example.org", aaaa=[net.GOOD6])
        self.assertTrue(self.told(inside, "again6.example.org", [net.GOOD6]), "IPv6 came back and is not told")

    def test_long_and_strange_questions(self):
        inside = self.inside("all")
        label = "a" * 63
        longest = ".".join([label, label, label, "a" * 61])
        self.assertEqual(inside.ask(longest)["code"], dns.NXDOMAIN)
        strange = [b"good\0evil", b"good.example", b"a b", b"\xff", b"good\\evil"]
        for one in strange:
            answer = inside(f"ask('', labels=[{one!r}, b'example', b'org'], seconds=3)")
            self.assertTrue("error" in answer or (answer["code"] != 0 and not answer["addresses"]), (one, answer))
        # Two questions, none, an answer, a truncated header, another class.
        for raw in ("010000020000000000000167076578616d706c65036f7267000001000167076578616d706c65036f72670000010001",
                    "0100000000000000", "8180000100000000", "01"):
            answer = inside.ask("x", raw=raw, seconds=1)
            self.assertTrue("error" in answer or answer["code"] in (1, 4, 5), (raw, answer))
        self.assertNotEqual(inside.ask("good.example.org", klass=3, seconds=2).get("addresses"), [net.GOOD])
        self.assertEqual({one["name"] for one in self.internet.queries()} - {longest}, set())
        self.assertEqual(inside.ask("good.example.org")["addresses"], [net.GOOD])
        self.assertEqual(inside.ask("xn--bcher-kva.example.org")["addresses"], [net.GOOD])
        self.assertEqual(inside.ask("under_score.example.org")["addresses"], [net.GOOD])

    def test_letters_keep_their_case(self):
        answer = self.inside("all").ask("GoOd.eXample.Org")
        self.assertEqual((answer["code"], answer["addresses"]), (0, [net.GOOD]))

    def test_questions_have_a_rate(self):
        session = self.session("all")
        told = session.inside("flood()", before="""
def flood():
    codes = {}
    for _ in range(600):
        answer = ask("good.example.org", seconds=2)
        key = str(answer.get("code", answer.get("error")))
        codes[key] = codes.get(key, 0) + 1
    return codes
""")
        self.assertGreater(told.get("0", 0), 150, told)
        self.assertGreater(told.get("5", 0), 50, told)  # refused
        self.assertTrue([one for one in self.decisions(session, allowed=False) if one["rule"].startswith("rate")])
        # A neighbour does not feel it.
        self.assertEqual(self.inside("all").ask("good.example.org")["addresses"], [net.GOOD])

    def test_names_have_a_budget(self):
        session = self.session({"base": "all", "budgets": {"names": 3}})
        answers = [session.inside.ask(f"{name}.example.org") for name in ("good", "www", "victim", "mail", "mixed")]
        self.assertEqual([one["code"] for one in answers], [0, 0, 0, 5, 5])
        self.assertEqual(session.inside.ask("good.example.org")["addresses"], [net.GOOD])  # one of the three
        network = self.network_of(session)
        self.assertEqual((network["names"], network["spent"]), (3, ["names"]))


    def test_names_in_tls_are_questions_too(self):
        """What a ClientHello says is asked for only if it may be, and costs what a question costs."""
        listed = self.session({"allow": ["good.example.org"]})
        listed.inside.lookup("good.example.org")
        self.internet.forget()
        self.assert_cut(listed.inside.fetch(net.GOOD, tls="5ec4e7.evil.example.com", check=False))
        self.assertEqual(self.internet.queries(), [])
        for number in range(9):
            self.internet.name(f"n{number}.example.org", a=[net.GOOD])
        budgeted = self.session({"base": "https-only", "budgets": {"names": 3}})
        answers = [budgeted.inside.fetch(net.GOOD, tls=f"n{number}.example.org", check=False) for number in range(9)]
        self.assertEqual(["error" in one for one in answers], [False] * 3 + [True] * 6, answers)
        self.assertLessEqual({one["name"] for one in self.internet.queries()}, {f"n{number}.example.org" for number in range(3)})

    def test_projects_do_not_share_answers(self):
        self.internet.name("shared.example.org", a=[net.GOOD], ttl=3600)
        self.inside("all").ask("shared.example.org")
        other = self.server.client(self.server.new_key(project="other")[0])
        answer = other.python("import socket; print(socket.gethostbyname('shared.example.org'))", profile={"net": "all"})
        self.assertEqual(answer["stdout"].strip(), net.GOOD)
        self.assertEqual(len(self.internet.queries("shared.example.org", "A")), 2)


class Liars(Networked):
    """Name servers that answer badly harm only the sandboxes that ask for their names."""

    def test_answers_to_other_questions_are_no_answers(self):
        inside = self.inside("all")
        for name in ("wrong-id", "wrong-name", "garbage", "pointer-loop"):
            answer = inside.ask(name + ".example.org", seconds=20)
            self.assertNotIn(net.EVIL, answer.get("addresses", []), answer)
            self.assertTrue("error" in answer or answer["code"] == dns.SERVFAIL, (name, answer))

    def test_poison_is_not_kept(self):
        inside = self.inside("all")
        self.assertEqual(inside.ask("poison.example.org")["addresses"], [net.GOOD])
        self.assertEqual(inside.ask("victim.example.org")["addresses"], [net.OTHER])

    def test_truncated_huge_and_endless_answers(self):
        inside = self.inside("all")
        self.assertEqual(inside.ask("truncated.example.org")["addresses"], [net.GOOD])
        self.assertEqual([one["over"] for one in self.internet.queries("truncated.example.org")], ["udp", "tcp"])
        many = inside.ask("many.example.org", seconds=20)
        self.assertTrue(many["code"] == 0 and many["addresses"] and many["size"] <= 1232, many)
        huge = inside.ask("huge.example.org", seconds=20)
        self.assertTrue(huge["size"] <= 1232, huge)
        self.assertTrue(inside.ask("loop.example.org", seconds=20)["addresses"] == [])
        self.assertEqual(inside.ask("empty.example.org")["addresses"], [])
        self.assertEqual(inside.ask("failing.example.org", seconds=20)["code"], dns.SERVFAIL)
        self.assertEqual(inside.ask("nowhere.example.org")["code"], dns.NXDOMAIN)

    def test_a_slow_one_holds_up_nobody_else(self):
        inside = self.inside("all")
        times = inside("side_by_side()", before="""
def side_by_side():
    started = time.monotonic()
    made = {}
    def one(name):
        answer = ask(name, seconds=25)
        made[name] = [round(time.monotonic() - started, 2), answer.get("addresses"), answer.get("code")]
    names = ["silent.example.org", "slow.example.org", "good.example.org"]
    threads = [threading.Thread(target=one, args=(name,)) for name in names]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return made
""")
        self.assertEqual(times["good.example.org"][1], [net.GOOD])
        self.assertLess(times["good.example.org"][0], times["slow.example.org"][0])
        self.assertEqual(times["slow.example.org"][1], [net.GOOD])
        self.assertIn(times["silent.example.org"][2], (dns.SERVFAIL, None))


class TlsNames(Networked):
    def test_a_hello_may_come_in_pieces(self):
        inside = self.inside({"allow": ["good.example.org"]})
        inside.lookup("good.example.org")
        for cut in ("[data]", "[data[i:i+1] for i in range(len(data))]", "[data[:3], data[3:]]", "[data[:60], data[60:]]",
                    "[split_records(data, 11)]", "[split_records(data, 1)]",
                    "[split_records(data, 9)[i:i+7] for i in range(0, len(split_records(data, 9)), 7)]"):
            answer = inside(f"send_pieces('{net.GOOD}', 443, {cut})", before="data = hello('good.example.org')")
            self.assertGreater(answer.get("got", 0), 0, (cut, answer))
            answer = inside(f"send_pieces('{net.GOOD}', 443, {cut})", before="data = hello('evil.example.com')")
            self.assert_cut(answer)
        self.assertEqual({one.get("name", "good.example.org") for one in self.internet.reached(net.GOOD, 443)},
                         {"good.example.org"})

    def test_a_hello_that_means_two_things_is_refused(self):
        inside = self.inside({"allow": ["good.example.org"]})
        inside.lookup("good.example.org")
        before = """
def extension(data, kind):
    at = 5 + 4 + 2 + 32
    at += 1 + data[at]
    at += 2 + struct.unpack_from(">H", data, at)[0]
    at += 1 + data[at]
    start, end = at, at + 2 + struct.unpack_from(">H", data, at)[0]
    at += 2
    while at < end:
        found, size = struct.unpack_from(">HH", data, at)
        if found == kind:
            return start, at, 4 + size
        at += 4 + size
def resized(data, start, body_change):
    grown = bytearray(data)
    struct.pack_into(">H", grown, 3, struct.unpack_from(">H", data, 3)[0] + body_change)
    grown[6:9] = (int.from_bytes(data[6:9], "big") + body_change).to_bytes(3, "big")
    struct.pack_into(">H", grown, start, struct.unpack_from(">H", data, start)[0] + body_change)
    return bytes(grown)
def twice(data, other):
    start, at, size = extension(data, 0)
    _, from_at, from_size = extension(other, 0)
    piece = other[from_at:from_at + from_size]
    return resized(data, start, len(piece))[:at] + piece + data[at:]
def renamed(data, old, new):
    assert len(old) == len(new)
    return data.replace(old, new)
good, evil = hello("good.example.org"), hello("evil.example.com")
"""
        for made in ("twice(good, evil)", "twice(evil, good)", "twice(good, good)",
                     "renamed(good, b'good.example.org', b'good.example.or\\0')",
                     "renamed(good, b'good.example.org', b'good.example\\0org')",
                     "renamed(good, b'good.example.org', b'*ood.example.org')",
                     "hello(None)", "good[:5] + b'\\x02' + good[6:]", "b'\\x17' + good[1:]", "b'\\x80' + good[1:]",
                     "renamed(good, b'good.example.org', b'93.184.216.34\\0\\0\\0')", "b'\\x16\\x03\\x01\\0\\0' * 100",
                     "b'\\x16\\x03\\x01\\x40\\x01' + bytes(20000)", "b'SSH-2.0-x\\r\\n'"):
            with self.subTest(made):
                self.assert_cut(inside(f"send_pieces('{net.GOOD}', 443, [{made}])", before=before))
        self.assertEqual(self.internet.reached(net.GOOD, 443), [])
        # Upper case and a dot at the end are the same name, here and there.
        answer = inside(f"send_pieces('{net.GOOD}', 443, [renamed(good, b'good.example.org', b'GOOD.Example.Org')])",
                        before=before)
        self.assertGreater(answer.get("got", 0), 0, answer)

    def test_records_of_other_versions_are_no_way_around_a_denied_name(self):
        inside = self.inside({"base": "all", "deny": ["evil.example.com"]})
        before = """
def odd(name, first, size=0):
    data = split_records(hello(name), size) if size else hello(name)
    return b"\\x16" + bytes(first) + data[3:]
"""
        for first in ((2, 1), (4, 2), (3, 9), (0, 0), (255, 255)):
            for size in (0, 9):
                answer = inside(f"send_pieces('{net.GOOD}', 443, [odd('evil.example.com', {first}, {size})], timeout=15)", before=before)
                self.assertIn("error", answer, (first, size, answer))
        alert = "b'\\x15\\x03\\x01\\0\\x02\\x01\\x5a'"
        for made in (f"{alert} + hello('evil.example.com')", f"{alert} * 5 + hello('evil.example.com')",
                     "b'\\x14\\x03\\x03\\0\\x01\\x01' + hello('evil.example.com')", "b'\\x80\\x2e\\x01\\x03\\x01' + bytes(60)"):
            self.assertIn("error", inside(f"send_pieces('{net.GOOD}', 443, [{made}], timeout=15)"), made)
        self.assertEqual([one for one in self.internet.reached(net.GOOD, 443) if one["bytes"] or one.get("name")], [])
        # What is no TLS at all has no name to be denied by.
        self.assertEqual(inside.talk(net.GOOD, 443, "GET / HTTP/1.0\r\n\r\n").get("error", "answered") != "ConnectionResetError", True)

    def test_who_says_nothing_is_not_waited_for_forever_nor_dialled_for(self):
        session = self.session({"allow": ["good.example.org"]})
        session.inside.lookup("good.example.org")
        answer = session.inside(f"send_pieces('{net.GOOD}', 443, [hello('good.example.org')[:40]], timeout=45)")
        self.assert_cut(answer)
        self.assertEqual(self.internet.reached(net.GOOD, 443), [])


if __name__ == "__main__":
    sealed.main(network=True)
