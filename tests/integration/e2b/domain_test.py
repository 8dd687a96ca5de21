# The stock E2B clients with nothing but a key and E2B_DOMAIN: over HTTPS, with a wildcard certificate
# and a name for each port of each sandbox. By the server itself, and by Debian's nginx and Caddy with
# the configurations of docs/proxy.md.
import http.client
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
import e2b_clients
import loopback_names
import sealed

DOMAIN = "gbx.test"
DOCS = os.path.join(e2b_clients.ROOT, "docs", "proxy.md")
CERTIFICATES = "/etc/letsencrypt/live/sandbox.example.com/"


def free_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


class Domain(e2b_clients.Conformance):
    @classmethod
    def prepare(cls):
        cls.names = loopback_names.LoopbackNames(DOMAIN)
        cls.settings = {"net.ceiling": "none", "server.domain": DOMAIN}

    @classmethod
    def tidy(cls):
        cls.names.stop()

    def new_key(self):
        return "e2b_" + self.server.key.removeprefix("gbx_")

    def environment(self, client):
        clean = {name: value for name, value in sealed.environment().items()
                 if not name.startswith(("E2B", "GBX", "NODE", "PYTHON", "SSL"))
                 and not name.lower().endswith("_proxy")}
        authority = self.names.path("ca.pem")
        return {**clean, "E2B_API_KEY": self.new_key(), "E2B_DOMAIN": f"{DOMAIN}:{self.port}",
                "NODE_EXTRA_CA_CERTS": authority, "SSL_CERT_FILE": authority,
                "GBX_CLIENT": os.path.join(e2b_clients.CLIENTS, client), "GBX_URL": f"https://api.{DOMAIN}:{self.port}",
                "GBX_FRONT": self.front}

    def run_clients(self, front):
        self.front = front
        self.run_js("domain.test.mjs")
        self.run_python("domain_cases")

    def documented(self, language):
        """The configuration in the documentation, with the names and places of this test."""
        with open(DOCS) as file:
            found = re.findall(rf"^```{language}\n(.*?)^```$", file.read(), re.M | re.S)
        self.assertEqual(len(found), 1, language)
        text = found[0]
        for documented, here in ((CERTIFICATES + "fullchain.pem", self.names.path("cert.pem")),
                                 (CERTIFICATES + "privkey.pem", self.names.path("key.pem")),
                                 ("127.0.0.1:7070", self.server.url.removeprefix("http://")),
                                 ("sandbox.example.com", DOMAIN)):
            self.assertIn(documented, text)
            text = text.replace(documented, here)
        return text

    def run_proxy(self, command, **more):
        if shutil.which(command[0]) is None:
            self.skipTest(f"there is no {command[0]} (Debian: apt-get install {command[0]})")
        log = open(self.names.path("proxy.log"), "wb")
        proxy = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **more)
        log.close()

        def stop():
            proxy.terminate()
            proxy.wait(20)

        self.addCleanup(stop)
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
                return
            except ConnectionRefusedError:
                if proxy.poll() is not None or time.monotonic() > deadline:
                    with open(self.names.path("proxy.log")) as file:
                        self.fail(f"{command[0]} does not listen:\n{file.read()}")
                time.sleep(0.02)

    def assert_operators_need_a_key(self):
        """What needs no key on loopback does, when it is asked for through the proxy."""
        context = ssl.create_default_context(cafile=self.names.path("ca.pem"))

        def ask(host, path):
            with socket.create_connection(("127.0.0.1", self.port), timeout=20) as plain, \
                    context.wrap_socket(plain, server_hostname=f"api.{DOMAIN}") as secure:
                secure.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                answer = http.client.HTTPResponse(secure)
                answer.begin()
                return answer.status, answer.read()

        for path in ("/metrics", "/docs", "/openapi.yaml"):
            self.assertEqual(ask(f"api.{DOMAIN}:{self.port}", path)[0], 401, path)
            # A proxy may answer for a name that is not of its domain, but not with this.
            status, body = ask("localhost", path)
            self.assertFalse(status == 200 and body, (path, body[:200]))
        self.assertEqual(ask(f"api.{DOMAIN}", "/health")[0], 200)


class Proxied(Domain):
    def test_nginx(self):
        self.port = free_port()
        site = self.documented("nginx")
        self.assertEqual(site.count("listen 443 ssl http2;"), 1)
        site = site.replace("listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl")
        site = re.sub(r"^ *listen \[::\]:443.*\n", "", site, flags=re.M)
        with open(self.names.path("nginx.conf"), "w") as file:
            file.write("user root;\nworker_processes 1;\npid nginx.pid;\nerror_log stderr;\n"
                       "events { worker_connections 512; }\nhttp {\naccess_log off;\n"
                       + "".join(f"{kind}_temp_path {kind};\n" for kind in
                                 ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
                       + site + "}\n")
        where = self.names.directory.name
        self.run_proxy(["nginx", "-p", where, "-c", self.names.path("nginx.conf"), "-g", "daemon off;"])
        self.assert_operators_need_a_key()
        self.run_clients("nginx")

    def test_caddy(self):
        self.port = free_port()
        site = self.documented("caddyfile")
        self.assertEqual(site.count(f"*.{DOMAIN} {{"), 1)
        site = site.replace(f"*.{DOMAIN} {{", f"*.{DOMAIN}:{self.port} {{")
        with open(self.names.path("Caddyfile"), "w") as file:
            file.write("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + site)
        self.run_proxy(["caddy", "run", "--config", self.names.path("Caddyfile"), "--adapter", "caddyfile"],
                       env=sealed.environment({"HOME": self.names.directory.name,
                                               "XDG_DATA_HOME": self.names.path("data"),
                                               "XDG_CONFIG_HOME": self.names.path("config")}))
        self.assert_operators_need_a_key()
        self.run_clients("caddy")


class OwnCertificate(Domain):
    @classmethod
    def prepare(cls):
        super().prepare()
        cls.settings["server.tls_cert"] = cls.names.path("cert.pem")
        cls.settings["server.tls_key"] = cls.names.path("key.pem")

    def test_clients(self):
        self.port = self.client.address[1]
        self.run_clients("glovebox")


if __name__ == "__main__":
    e2b_clients.main("js", "python", network=True)
