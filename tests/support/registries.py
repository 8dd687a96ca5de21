# Registries on the test internet: Debian's docker-registry, with and without credentials, a token server
# for it, and one of our own whose answers a test can spoil in the ways that a hostile registry may.
import base64
import ctypes
import gzip
import hashlib
import http.server
import json
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request

import image_archives as images
import sealed

REAL, TOKENS, BASIC, OWN, SECURE, AUTH, PRIVATE, CLOSED = 5000, 5001, 5002, 6000, 6443, 5009, 6999, 5999
USER, PASSWORD = "reader", "top-secret-word"
CLONE_NEWNET = 0x40000000
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
needed = [name for name in ("docker-registry", "skopeo", "htpasswd") if not shutil.which(name)]


def listener(internet, port):
    """A listening socket at this port of every address of the internet: sockets stay in the namespace
    where they were made, so a thread goes there for a moment. Without an internet: on loopback."""
    if internet is None:
        return socket.create_server(("127.0.0.1", port), backlog=128)
    made = []

    def make():
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/proc/{internet.process.pid}/ns/net") as namespace:
            if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                made.append(OSError(ctypes.get_errno(), "setns"))
                return
        made.append(socket.create_server(("0.0.0.0", port), backlog=128))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


class Service:
    """An HTTP server on the internet, in threads of this process. `requests` has all that came."""

    def __init__(self, internet, port, certificate=None):
        self.requests = []
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                length = int(self.headers.get("Content-Length") or 0)
                path, _, query = self.path.partition("?")
                request = {"method": self.command, "path": path, "query": dict(urllib.parse.parse_qsl(query)),
                           "body": self.rfile.read(length).decode(), "host": self.headers.get("Host"),
                           "address": self.connection.getsockname()[0], "range": self.headers.get("Range"),
                           "authorization": self.headers.get("Authorization")}
                service.requests.append(request)
                try:
                    service.answer(self, request)
                except (ConnectionError, ssl.SSLError):
                    self.close_connection = True

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("", 0), Handler, bind_and_activate=False)
        self.server.socket.close()
        self.server.socket = listener(internet, port)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.socket.getsockname()[1]
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # connections that the other side ends
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def send(self, handler, status, body=b"", kind="application/json", **headers):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)),
                            **{key.replace("_", "-"): value for key, value in headers.items()}}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    def answer(self, handler, request):
        self.send(handler, 200, {"reached": request["address"]})

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class OwnRegistry(Service):
    """Serves what push() put there. `spoil`: path (or the beginning of one that ends with *) to a function of
    (handler, request) that answers instead; None lets the answer be the right one."""

    def __init__(self, *words, **more):
        self.blobs, self.manifests, self.spoil = {}, {}, {}
        super().__init__(*words, **more)

    def forget(self):
        self.blobs, self.manifests, self.spoil, self.requests = {}, {}, {}, []

    def push(self, name, layers, tag="1", compress=lambda layer: gzip.compress(layer, mtime=0), form="gzip", **config):
        """Puts an image there; the descriptor of its manifest."""
        blobs = [compress(layer) for layer in layers]
        text = images.configuration(layers, **config)
        for blob in (*blobs, text):
            self.blobs["sha256:" + images.sha256(blob)] = blob
        manifest = {"schemaVersion": 2, "mediaType": images.OCI_MANIFEST,
                    "config": images.descriptor(text, "application/vnd.oci.image.config.v1+json"),
                    "layers": [images.descriptor(blob, images.OCI_LAYER + "+" + form) for blob in blobs]}
        return self.put(name, tag, manifest)

    def put(self, name, tag, manifest, kind=None):
        """Any document in the place of a manifest."""
        data = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
        kind = kind or manifest.get("mediaType")
        for reference in (tag, "sha256:" + images.sha256(data)):
            self.manifests[f"/v2/{name}/manifests/{reference}"] = (data, kind)
        return images.descriptor(data, kind)

    def answer(self, handler, request):
        for pattern, spoilt in self.spoil.items():
            if request["path"] == pattern or (pattern.endswith("*") and request["path"].startswith(pattern[:-1])):
                if spoilt(handler, request) is not None:
                    return
        self.right_answer(handler, request)

    def right_answer(self, handler, request):
        path = request["path"]
        if path in self.manifests:
            data, kind = self.manifests[path]
            self.send(handler, 200, data, kind, Docker_Content_Digest="sha256:" + images.sha256(data))
        elif path.rpartition("/")[2] in self.blobs:
            self.send_blob(handler, self.blobs[path.rpartition("/")[2]], request)
        else:
            self.send(handler, 404, {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]})

    def send_blob(self, handler, data, request, cut=None, ranges=True):
        """`cut`: the connection ends after so many bytes of this answer."""
        offset = int(request["range"].partition("=")[2].partition("-")[0]) if request["range"] and ranges else 0
        rest = data[offset:]
        handler.send_response(206 if offset else 200)
        handler.send_header("Content-Type", "application/octet-stream")
        handler.send_header("Content-Length", str(len(rest)))
        if offset:
            handler.send_header("Content-Range", f"bytes {offset}-{len(data) - 1}/{len(data)}")
        handler.end_headers()
        handler.wfile.write(rest if cut is None else rest[:cut])
        if cut is not None:
            handler.close_connection = True
        return True


class TokenServer(Service):
    """Gives tokens for docker-registry to clients that may pull: `users` are names with their passwords and the
    repositories that they may read."""

    def __init__(self, internet, port, directory):
        self.users = {USER: (PASSWORD, ["team/app"])}
        self.identity = "an-identity-token-of-nobody-else"
        self.key = os.path.join(directory, "token.key")
        self.certificate = os.path.join(directory, "token.crt")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tokens",
                        "-keyout", self.key, "-out", self.certificate], check=True, capture_output=True)
        super().__init__(internet, port)

    def answer(self, handler, request):
        asked = request["query"] or dict(urllib.parse.parse_qsl(request["body"]))
        user = self.user_of(request, asked)
        if user is None:
            return self.send(handler, 401, {"errors": [{"code": "UNAUTHORIZED", "message": "wrong password"}]})
        _, name, actions = asked["scope"].split(":")
        # Pushing is the tests' own.
        allowed = actions.split(",") if name in self.users.get(user, ("", []))[1] or user == "pusher" else []
        self.send(handler, 200, {"token": self.token(user, name, allowed), "expires_in": 300})

    def user_of(self, request, asked):
        if asked.get("grant_type") == "refresh_token":
            return USER if asked.get("refresh_token") == self.identity else None
        if not request["authorization"]:
            return ""
        name, _, word = base64.b64decode(request["authorization"].partition(" ")[2]).decode().partition(":")
        return name if word == self.users.get(name, ("pushing",))[0] else None

    def token(self, user, name, actions):
        def part(data):
            return base64.urlsafe_b64encode(data).rstrip(b"=")

        with open(self.certificate) as file:
            lines = [line for line in file.read().splitlines() if "-----" not in line]
        now = int(time.time())
        head = {"typ": "JWT", "alg": "RS256", "x5c": ["".join(lines)]}
        claims = {"iss": "tokens", "sub": user, "aud": "tokens.example.org", "exp": now + 300, "nbf": now - 60, "iat": now,
                  "jti": os.urandom(8).hex(), "access": [{"type": "repository", "name": name, "actions": actions}]}
        text = part(json.dumps(head).encode()) + b"." + part(json.dumps(claims).encode())
        signed = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=text, check=True, capture_output=True)
        return (text + b"." + part(signed.stdout)).decode()


class RealRegistry:
    """docker-registry in the internet's namespace."""

    def __init__(self, internet, port, address, auth=None):
        self.place = f"{address}:{port}"
        self.directory = tempfile.TemporaryDirectory(prefix="gbx-test-registry-")
        settings = {"version": 0.1, "log": {"level": "error"}, "storage": {"filesystem": {"rootdirectory": self.directory.name}},
                    "http": {"addr": f"0.0.0.0:{port}"}, **({"auth": auth} if auth else {})}
        path = os.path.join(self.directory.name, "config.yml")
        with open(path, "w") as file:
            json.dump(settings, file)  # JSON is YAML
        self.process = subprocess.Popen(["nsenter", f"--net=/proc/{internet.process.pid}/ns/net", "docker-registry", "serve", path],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env=sealed.environment())
        if not sealed.wait_until(self.answers, 30):
            self.stop()
            raise AssertionError("docker-registry does not start")

    def answers(self):
        try:
            urllib.request.urlopen(f"http://{self.place}/v2/", timeout=5).close()
        except urllib.error.HTTPError as error:
            error.close()
        except OSError:
            return False
        return True

    def push(self, archive, name, *words):
        with tempfile.NamedTemporaryFile(prefix="gbx-test-", suffix=".tar") as file:
            file.write(archive)
            file.flush()
            done = subprocess.run(["skopeo", "copy", "--quiet", "--insecure-policy", "--dest-tls-verify=false", *words,
                                   f"oci-archive:{file.name}", f"docker://{self.place}/{name}"], capture_output=True, text=True,
                                  timeout=120, env=sealed.environment())
        if done.returncode != 0:
            raise AssertionError(done)

    def put_manifest(self, name, reference, document, kind):
        request = urllib.request.Request(f"http://{self.place}/v2/{name}/manifests/{reference}", json.dumps(document).encode(),
                                         {"Content-Type": kind}, method="PUT")
        urllib.request.urlopen(request, timeout=30).close()

    def manifest(self, name, reference):
        """(digest, size)"""
        request = urllib.request.Request(f"http://{self.place}/v2/{name}/manifests/{reference}", headers={
            "Accept": images.OCI_MANIFEST})
        with urllib.request.urlopen(request, timeout=30) as answer:
            data = answer.read()
        return "sha256:" + hashlib.sha256(data).hexdigest(), len(data)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.directory.cleanup()


class Registries:
    """All of them, with the names that the test's server knows: see entries()."""

    def __init__(self, internet):
        self.internet = internet
        self.directory = tempfile.TemporaryDirectory(prefix="gbx-test-")
        self.running = []
        for name, address in ADDRESSES.items():
            internet.name(name, a=[address])
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def start(self):
        make = self.made
        self.tokens = make(TokenServer(self.internet, AUTH, self.directory.name))
        self.real = make(RealRegistry(self.internet, REAL, ADDRESSES["registry.example.org"]))
        self.with_tokens = make(RealRegistry(self.internet, TOKENS, ADDRESSES["tokens.example.org"], auth={"token": {
            "realm": f"http://{ADDRESSES['auth.example.org']}:{AUTH}/token", "service": "tokens.example.org", "issuer": "tokens",
            "rootcertbundle": self.tokens.certificate}}))
        passwords = os.path.join(self.directory.name, "htpasswd")
        with open(passwords, "w") as file:
            file.write(subprocess.run(["htpasswd", "-Bbn", USER, PASSWORD], check=True, capture_output=True, text=True).stdout)
        self.basic = make(RealRegistry(self.internet, BASIC, ADDRESSES["basic.example.org"],
                                       auth={"htpasswd": {"realm": "basic", "path": passwords}}))
        self.own = make(OwnRegistry(self.internet, OWN))
        self.secure = make(OwnRegistry(self.internet, SECURE,
                                       certificate=os.path.join(self.internet.directory.name, "good.example.org.pem")))
        self.private = make(Service(self.internet, PRIVATE))

    def made(self, one):
        self.running.append(one)
        return one

    def stop(self):
        for one in reversed(self.running):
            one.stop()
        self.directory.cleanup()

    def entries(self):
        """Of images.registries."""
        return ",".join([
            f"http://registry.example.org:{REAL}",
            f"http://tokens.example.org:{TOKENS}?host={ADDRESSES['auth.example.org']}:{AUTH}",
            f"http://basic.example.org:{BASIC}",
            f"http://own.example.org:{OWN}?host=cdn.example.org:{OWN}",
            f"http://listed.example.org:{OWN}?host={PRIVATE_ADDRESS}:{PRIVATE}",
            f"http://mirrored.example.org:{REAL}?mirror=http://own.example.org:{OWN}",
            f"http://closed.example.org:{CLOSED}",
            f"https://good.example.org:{SECURE}?ca={self.internet.directory.name}/ca.pem&host=own.example.org:{OWN}",
            f"https://www.example.org:{SECURE}?ca={self.internet.directory.name}/ca.pem"])


PRIVATE_ADDRESS = "10.9.9.9"
ADDRESSES = {"registry.example.org": "10.20.0.90",  # private, as they often are
             "tokens.example.org": "93.184.216.91", "auth.example.org": "93.184.216.92",
             "basic.example.org": "93.184.216.93", "own.example.org": "93.184.216.94", "cdn.example.org": "93.184.216.95",
             "listed.example.org": "93.184.216.96", "mirrored.example.org": "10.20.0.90", "closed.example.org": "93.184.216.97",
             "elsewhere.example.org": "185.220.101.77"}
