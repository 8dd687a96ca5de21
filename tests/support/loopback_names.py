# A DNS server for one domain, on loopback in a network namespace of the test's own: every name below
# the domain is 127.0.0.1, as a wildcard record says it; any other name does not exist. And a wildcard
# certificate for it, from an authority of the test's own.
import os
import socket
import struct
import subprocess
import tempfile
import threading

import internet_dns


class LoopbackNames:
    def __init__(self, domain):
        if os.readlink("/proc/self/ns/net") == os.environ.get("GBX_OUTER_NET", ""):
            raise AssertionError("not in a network namespace of the test's own: sealed.main(network=True)")
        self.domain = domain
        self.directory = tempfile.TemporaryDirectory(prefix="gbx-test-")
        os.chmod(self.directory.name, 0o755)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        # For every program that the test starts: in its mount namespace.
        with open(self.path("resolv.conf"), "w") as file:
            file.write("nameserver 127.0.0.1\n")
        subprocess.run(["mount", "--bind", self.path("resolv.conf"), "/etc/resolv.conf"], check=True)
        self.make_certificates()

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def serve(self):
        while True:
            query, sender = self.socket.recvfrom(4096)
            if not query:
                return
            answer = self.answer(query)
            self.socket.sendto(answer, sender)

    def answer(self, query):
        identity, = struct.unpack_from(">H", query)
        name, at = internet_dns.decode_name(query, 12)
        kind, = struct.unpack_from(">H", query, at)
        question = query[12:at + 4]
        is_ours = name.lower().endswith("." + self.domain)
        records = b""
        if is_ours and kind == internet_dns.A:
            records = internet_dns.address_record(name, "127.0.0.1", 60)
        code = 0 if is_ours else internet_dns.NXDOMAIN
        return struct.pack(">HHHHHH", identity, 0x8180 | code, 1, 1 if records else 0, 0, 0) + question + records

    def make_certificates(self):
        def openssl(*words):
            subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=self.directory.name)

        new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        openssl("req", "-x509", *new_key, "-days", "2", "-subj", "/CN=test authority", "-keyout", "ca.key",
                "-out", "ca.pem", "-addext", "basicConstraints=critical,CA:TRUE",
                "-addext", "keyUsage=critical,keyCertSign")
        openssl("req", "-x509", *new_key, "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "2", "-subj", "/CN=wildcard",
                "-addext", f"subjectAltName=DNS:*.{self.domain}", "-addext", "basicConstraints=critical,CA:FALSE",
                "-keyout", "key.pem", "-out", "leaf.pem")
        with open(self.path("cert.pem"), "w") as chain:
            for name in ("leaf.pem", "ca.pem"):
                with open(self.path(name)) as part:
                    chain.write(part.read())

    def stop(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", ("127.0.0.1", 53))
        self.thread.join()
        self.socket.close()
        subprocess.run(["umount", "/etc/resolv.conf"], check=True)
        self.directory.cleanup()
