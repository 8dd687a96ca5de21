# A whole internet for a test, made of network namespaces: the test itself (and the server it starts)
# live in BOX, an ordinary machine with one public IPv4 and IPv6 address and default routes; behind
# the wire is NET, a namespace where every address answers (internet_services.py). No namespace has a
# name, so nothing is left when the processes end, and no packet leaves the machine: neither namespace
# has a way out. Module's last line: sealed.main(network=True).
import json
import os
import socket
import subprocess
import sys
import tempfile

import package_index
import sealed

BOX4, BOX6 = "51.15.0.2", "2a01:4f8:1::2"  # the machine under test
GATE4, GATE6 = "51.15.0.1", "2a01:4f8:1::1"
RESOLVER = "45.90.28.53"
# Where the servers of the test's names are said to be; any other address answers as well.
GOOD, OTHER, CDN, EVIL, MAIL = "93.184.216.34", "93.184.216.99", "151.101.1.6", "185.220.101.1", "64.233.160.25"
GOOD6, EVIL6 = "2606:2800:220:1::34", "2a0b:f4c2:2::1"
METADATA, METADATA6 = "169.254.169.254", "fd00:ec2::254"
# Everything that an internet may say about names, honest and not. See internet_dns.Zone.
ZONE = {
    "good.example.org": {"a": [GOOD], "aaaa": [GOOD6], "https": [GOOD], "txt": "hello"},
    "www.example.org": {"a": [CDN]},
    "deep.www.example.org": {"a": [OTHER]},
    "cdn.example.net": {"a": [CDN]},  # a neighbour on the same address
    "mail.example.org": {"a": [MAIL]},
    "alias.example.org": {"cname": "alias2.example.net"},
    "alias2.example.net": {"cname": "good.example.org"},
    "lone-alias.example.org": {"cname": "good.example.org", "lone": True},
    "loop.example.org": {"cname": "loop2.example.org"},
    "loop2.example.org": {"cname": "loop.example.org"},
    "evil.example.com": {"a": [EVIL], "aaaa": [EVIL6], "txt": "commands"},
    "rebind.example.org": {"a": [[OTHER], ["127.0.0.1"], [METADATA], ["10.0.0.1"]], "ttl": 0},
    "to-loopback.example.org": {"a": ["127.0.0.1"], "aaaa": ["::1"]},
    "to-private.example.org": {"a": ["10.0.0.1"], "aaaa": ["fd00::1"]},
    "to-metadata.example.org": {"a": [METADATA], "aaaa": [METADATA6, "::ffff:169.254.169.254"]},
    "to-box.example.org": {"a": [BOX4], "aaaa": [BOX6]},
    "mixed.example.org": {"a": ["10.0.0.1", GOOD, "192.168.1.1", METADATA]},
    "alias-private.example.org": {"cname": "to-private.example.org"},
    "v6.example.org": {"aaaa": [GOOD6]},
    "nat64.example.org": {"aaaa": ["64:ff9b::a9fe:a9fe", "2002:7f00:1::1"]},
    "truncated.example.org": {"a": [GOOD], "truncated": True},
    "many.example.org": {"a": [f"93.184.100.{1 + one}" for one in range(100)]},
    "huge.example.org": {"a": [f"93.184.{100 + one // 200}.{1 + one % 200}" for one in range(300)],
                         "faults": ["huge"]},
    "wrong-id.example.org": {"a": [EVIL], "faults": ["wrong-id"]},
    "wrong-name.example.org": {"a": [EVIL], "faults": ["wrong-name"]},
    "garbage.example.org": {"a": [EVIL], "faults": ["garbage"]},
    "pointer-loop.example.org": {"a": [EVIL], "faults": ["pointer-loop"]},
    "poison.example.org": {"a": [GOOD], "faults": ["poison"]},
    "victim.example.org": {"a": [OTHER]},
    "slow.example.org": {"a": [GOOD], "delay": 1.0},
    "silent.example.org": {"a": [GOOD], "delay": None},
    "failing.example.org": {"code": 2},
    "empty.example.org": {},
    "long-lived.example.org": {"a": [GOOD], "ttl": 86400},
    "under_score.example.org": {"a": [GOOD]},
    "xn--bcher-kva.example.org": {"a": [GOOD]},
    package_index.INDEX: {"a": [package_index.INDEX_ADDRESS]},
    package_index.FILES: {"a": [package_index.FILES_ADDRESS]},
}
# Names that servers have certificates for; any other gets default.pem, whose name no server has.
CERTIFIED = ["good.example.org", "www.example.org", "deep.www.example.org", "cdn.example.net",
             "evil.example.com", "alias.example.org", "v6.example.org", "mixed.example.org",
             "rebind.example.org", "truncated.example.org", "victim.example.org", package_index.INDEX, package_index.FILES]


def ip(*words, **more):
    subprocess.run(["ip", *words], check=True, **more)


class TestInternet:
    """Made once for a test module, before anything counts what is there; ended with stop()."""

    def __init__(self):
        if os.readlink("/proc/self/ns/net") == os.environ.get("GBX_OUTER_NET", ""):
            raise AssertionError("not in a network namespace of the test's own: sealed.main(network=True)")
        self.directory = tempfile.TemporaryDirectory(prefix="gbx-test-")
        os.chmod(self.directory.name, 0o755)
        self.make_certificates()
        ours, theirs = socket.socketpair()
        here = os.path.dirname(os.path.abspath(__file__))
        self.process = subprocess.Popen(
            ["unshare", "--net", "--kill-child", sys.executable, "-B", "-W", "ignore",
             os.path.join(here, "internet_services.py"), str(theirs.fileno()), self.directory.name, RESOLVER],
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=sealed.environment())
        theirs.close()
        ours.settimeout(60)
        self.control = ours
        self.lines = ours.makefile("rb")
        try:
            if json.loads(self.lines.readline() or b"null") != "ready":
                raise AssertionError("the internet does not start")
            self.connect()
            self.tell(do="zone", names=ZONE)
        except BaseException:
            self.stop()
            raise

    def make_certificates(self):
        """A certificate authority of the test's own, and one certificate for each name."""
        def openssl(*words, **more):
            subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=self.directory.name, **more)

        new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        openssl("req", "-x509", *new_key, "-days", "2", "-subj", "/CN=test authority", "-keyout", "ca.key",
                "-out", "ca.pem", "-addext", "basicConstraints=critical,CA:TRUE")
        openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", "server.key")
        for name in [*CERTIFIED, "default"]:
            subject = "nobody.invalid" if name == "default" else name
            openssl("req", "-x509", "-key", "server.key", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "2",
                    "-subj", f"/CN={subject}", "-addext", f"subjectAltName=DNS:{subject}",
                    "-addext", "basicConstraints=critical,CA:FALSE", "-out", f"{name}.crt")
            with open(os.path.join(self.directory.name, f"{name}.pem"), "w") as file:
                file.write(self.file(f"{name}.crt") + self.file("server.key"))

    def file(self, name):
        with open(os.path.join(self.directory.name, name)) as file:
            return file.read()

    @property
    def authority(self):
        return self.file("ca.pem")

    def connect(self):
        """The wire between BOX and NET."""
        ip("link", "set", "lo", "up")
        ip("link", "add", "box0", "type", "veth", "peer", "name", "net0", "netns", str(self.process.pid))
        ip("addr", "add", f"{BOX4}/24", "dev", "box0")
        ip("-6", "addr", "add", f"{BOX6}/64", "dev", "box0", "nodad")
        ip("link", "set", "box0", "up")
        in_net = ["nsenter", f"--net=/proc/{self.process.pid}/ns/net", "ip", "-batch", "-"]
        # Local routes in the main table: more general than the wire's own, so answers find back.
        subprocess.run(in_net, check=True, text=True, input=f"""
            addr add {GATE4}/24 dev net0
            addr add {GATE6}/64 dev net0 nodad
            link set net0 up
            route add local 0.0.0.0/0 dev lo table main
            route add local ::/0 dev lo table main
            route add blackhole 198.252.206.0/24
            """.replace("            ", ""))
        ip("route", "add", "default", "via", GATE4)
        self.set_ipv6(True)

    def set_ipv6(self, there):
        """Whether the machine under test has a way to the IPv6 internet."""
        ip("-6", "route", "add" if there else "del", "default", "via", GATE6)

    # --- what is asked of it ---------------------------------------------------------------------

    def tell(self, **command):
        self.control.sendall(json.dumps(command).encode() + b"\n")
        return json.loads(self.lines.readline())

    def zone(self, **names):
        self.tell(do="zone", names={name.replace("__", "."): script for name, script in names.items()})

    def name(self, name, **script):
        self.tell(do="zone", names={name: script})

    def queries(self, name=None, kind=None):
        """What its DNS server was asked, oldest first."""
        return [one for one in self.tell(do="queries")
                if (name is None or one["name"].lower() == name) and (kind is None or one["type"] == kind)]

    def reached(self, address=None, port=None):
        """Connections that came to one of its servers."""
        return [one for one in self.tell(do="reached")
                if (address is None or one["address"] == address) and (port is None or one["port"] == port)]

    def datagrams(self):
        return self.tell(do="datagrams")

    def packages(self, **settings):
        """What the package index was asked, oldest first; `settings` (auth, token, faults, json_spoken,
        forget) are package_index.PackageIndex's."""
        return self.tell(do="packages", **settings)

    def forget(self):
        """What was asked and reached so far."""
        self.tell(do="forget")

    def stop(self):
        self.lines.close()
        self.control.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        # The wire goes with the other namespace; the kernel takes its time.
        sealed.wait_until(lambda: subprocess.run(["ip", "link", "show", "box0"], capture_output=True).returncode != 0)
        self.directory.cleanup()
