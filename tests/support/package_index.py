# A package index: Python's simple API (HTML and JSON), npm's registry, and the files of both. What it
# answers is a pure function of a request here, so that it can be served by the test internet (see
# internet_services.py) or by a small server of its own on loopback (OnLoopback). It keeps a log, and
# can be made to fail in the ways that an index does.
import base64
import html
import http.server
import json
import re
import ssl
import threading
import time
from urllib.parse import unquote

import package_samples

INDEX, FILES = "index.packages.test", "files.packages.test"
INDEX_ADDRESS, FILES_ADDRESS = "10.20.0.80", "10.20.0.81"  # private, as mirrors often are
JSON_TYPE = "application/vnd.pypi.simple.v1+json"


class Answer:
    def __init__(self, status, body=b"", kind="text/plain", headers=None, delay=0.0, cut=None):
        self.status, self.body, self.delay = status, body, delay
        self.cut = cut  # the connection ends after so many bytes of the body
        self.headers = {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}

    @property
    def sent(self):
        return self.body if self.cut is None else self.body[:self.cut]


class PackageIndex:
    """`faults`: path (or a beginning of one that ends with *) to what is wrong with it:
        {"status": 503}, {"delay": 2.0}, {"cut": 100}, {"body": "garbage"}, {"redirect": "https://..."},
        each with an optional "times", after which it is over."""

    def __init__(self, index=f"https://{INDEX}", files=f"https://{FILES}", marker=package_samples.NOWHERE):
        self.index, self.files = index, files
        self.makers = {"python": package_samples.python_samples(marker, files), "npm": package_samples.npm_samples(marker)}
        self.made = {}
        self.requests = []
        self.faults = {}
        self.auth = None  # "user:password" of the index; files are free, as signed addresses are
        self.token = None  # of the npm registry
        self.json_spoken = True
        self.lock = threading.Lock()

    def samples(self, kind, name):
        with self.lock:
            if (kind, name) not in self.made:
                maker = self.makers[kind].get(name)
                self.made[kind, name] = maker() if maker else None
            return self.made[kind, name]

    def file_of(self, name):
        """A Python file of any project."""
        for project in self.makers["python"]:
            if re.match(re.escape(project).replace(r"\-", "[-_]") + r"-\d", name):
                for file in self.samples("python", project):
                    if file.name == name:
                        return file
        return None

    # --- one request ------------------------------------------------------------------------------

    def answer(self, method, host, path, headers):
        """`headers` by names in small letters."""
        path = path.partition("?")[0]
        self.requests.append({"method": method, "host": host, "path": path, "authorization": headers.get("authorization"),
                              "agent": headers.get("user-agent", "").partition("/")[0]})
        wrong = self.fault(path)
        if wrong and "status" in wrong:
            return Answer(wrong["status"], b"it is broken")
        if wrong and "redirect" in wrong:
            return Answer(302, headers={"Location": wrong["redirect"]})
        answer = self.right_answer(method, path, headers)
        if wrong and "body" in wrong:
            answer = Answer(answer.status, wrong["body"].encode(), answer.headers["Content-Type"])
        if wrong:
            answer.delay, answer.cut = wrong.get("delay", 0.0), wrong.get("cut")
        return answer

    def fault(self, path):
        for pattern, wrong in self.faults.items():
            if path == pattern or (pattern.endswith("*") and path.startswith(pattern[:-1])):
                if "times" in wrong:
                    if wrong["times"] <= 0:
                        return None
                    wrong["times"] -= 1
                return wrong
        return None

    def right_answer(self, method, path, headers):
        if method not in ("GET", "HEAD"):
            return Answer(405)
        if path.startswith("/packages/"):
            file = self.file_of(unquote(path.removeprefix("/packages/")))
            return Answer(200, file.data, "application/octet-stream") if file else Answer(404)
        if path.startswith("/npm-files/"):
            return self.npm_file(unquote(path.removeprefix("/npm-files/")))
        if path.startswith("/simple/"):
            return self.refused_by_auth(headers) or self.project_page(path.removeprefix("/simple/").strip("/"), headers)
        if path.startswith("/npm/"):
            return self.refused_by_token(headers) or self.packument(unquote(path.removeprefix("/npm/")))
        return Answer(404)

    def refused_by_auth(self, headers):
        expected = self.auth and "Basic " + base64.b64encode(self.auth.encode()).decode()
        if expected and headers.get("authorization") != expected:
            return Answer(401, b"who are you?", headers={"WWW-Authenticate": 'Basic realm="packages"'})
        return None

    def refused_by_token(self, headers):
        if self.token and headers.get("authorization") != f"Bearer {self.token}":
            return Answer(401, b'{"error": "who are you?"}', "application/json")
        return None

    def project_page(self, name, headers):
        if not name:
            links = "".join(f'<a href="/simple/{one}/">{one}</a>\n' for one in sorted(self.makers["python"]))
            return Answer(200, f"<!DOCTYPE html><html><body>\n{links}</body></html>".encode(), "text/html")
        files = self.samples("python", name)
        if files is None:
            return Answer(404, b"no such project")
        if self.json_spoken and JSON_TYPE in headers.get("accept", ""):
            body = {"meta": {"api-version": "1.0"}, "name": name, "files": [self.json_row(file) for file in files]}
            return Answer(200, json.dumps(body).encode(), JSON_TYPE)
        rows = "".join(self.html_row(file) for file in files)
        return Answer(200, f"<!DOCTYPE html><html><head><title>{name}</title></head><body>\n{rows}</body></html>".encode(), "text/html")

    def json_row(self, file):
        return {"filename": file.name, "url": f"{self.files}/packages/{file.name}", "hashes": {"sha256": file.told_sha256},
                **({"requires-python": file.requires_python} if file.requires_python else {}), "yanked": file.yanked or False}

    def html_row(self, file):
        more = f' data-requires-python="{html.escape(file.requires_python)}"' if file.requires_python else ""
        more += f' data-yanked="{html.escape(file.yanked)}"' if file.yanked else ""
        return f'<a href="{self.files}/packages/{file.name}#sha256={file.told_sha256}"{more}>{file.name}</a>\n'

    def packument(self, name):
        versions = self.samples("npm", name)
        if versions is None:
            return Answer(404, b'{"error": "Not found"}', "application/json")
        body = {"name": name, "dist-tags": {"latest": versions[-1].version}, "versions": {
            one.version: {**one.manifest, "dist": {"tarball": f"{self.files}/npm-files/{name}/-/{one.file}",
                                                   "integrity": one.integrity, "shasum": one.shasum}}
            for one in versions}}
        for one in body["versions"].values():
            if any(script in one.get("scripts", {}) for script in ("preinstall", "install", "postinstall")):
                one["hasInstallScript"] = True
        return Answer(200, json.dumps(body).encode(), "application/json")

    def npm_file(self, path):
        name, _, file = path.partition("/-/")
        for one in self.samples("npm", name) or []:
            if one.file == file:
                return Answer(200, one.data, "application/octet-stream")
        return Answer(404)

    # --- as the test internet's control speaks of it ----------------------------------------------

    def control(self, command):
        for name in ("auth", "token", "faults", "json_spoken"):
            if name in command:
                setattr(self, name, command[name])
        if command.get("forget"):
            self.requests.clear()
        return self.requests


class OnLoopback:
    """The index as a server on a free port of loopback; with a certificate (PEM file) by HTTPS."""

    def __init__(self, marker=package_samples.NOWHERE, certificate=None):
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                owner.serve(self)

            do_HEAD = do_POST = do_PUT = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            scheme = "https"
        self.port = self.server.server_address[1]
        self.address = f"{scheme}://localhost:{self.port}"
        self.index = PackageIndex(self.address, self.address, marker)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def serve(self, request):
        headers = {name.lower(): value for name, value in request.headers.items()}
        request.rfile.read(int(headers.get("content-length", 0)))
        answer = self.index.answer(request.command, headers.get("host", ""), request.path, headers)
        if answer.delay:
            time.sleep(answer.delay)
        request.send_response(answer.status)
        for name, value in answer.headers.items():
            request.send_header(name, value)
        request.end_headers()
        try:
            if request.command != "HEAD":
                request.wfile.write(answer.sent)
        except OSError:
            pass
        if answer.cut is not None:
            request.close_connection = True

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
