# The console's sign-in as an attacker meets it: pages of guests on the same site, cookies that were
# set from elsewhere, WebSockets of other pages, stolen links and copied cookies. What a browser would
# send is sent byte by byte, so that nothing rests on what a browser happens to do; each attack has a
# control that differs from it in one thing and succeeds.
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
import websocket
from sealed import wait_until

ECHO = """
import http.server, json
class Echo(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"headers": self.headers.items()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
http.server.HTTPServer(("0.0.0.0", 8000), Echo).serve_forever()
"""


class Page:
    """A page at an origin, in a browser that has the cookies of its site. What it sends."""

    def __init__(self, address, host="localhost", cookie=None, csrf=None):
        self.address, self.host = address, f"{host}:{address[1]}"
        self.cookie, self.csrf = cookie, csrf

    def headers(self, method, changes=None):
        made = {"Host": self.host, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty",
                "Sec-Fetch-Mode": "cors", "Cookie": self.cookie}
        if method not in ("GET", "HEAD"):
            made |= {"Origin": f"http://{self.host}", "X-Glovebox-CSRF": self.csrf,
                     "Content-Type": "application/json"}
        made |= changes or {}
        return {name: value for name, value in made.items() if value is not None}

    def call(self, method, path, body=None, changes=None):
        connection = http.client.HTTPConnection(*self.address, timeout=server.PATIENCE)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers(method, changes).items():
                for one in value if isinstance(value, list) else [value]:
                    connection.putheader(name, one)
            data = b"" if body is None else json.dumps(body).encode()
            if method not in ("GET", "HEAD"):
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            response = connection.getresponse()
            return server.Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def sign_in(self, **credential):
        answer = self.call("POST", "/console/session", credential)
        if answer.status == 201:
            self.cookie = answer.headers["Set-Cookie"].partition(";")[0]
            self.csrf = answer.json["csrf"]
        return answer

    def ticket(self):
        return self.call("POST", "/console/tickets").json["ticket"]

    def open(self, path, ticket, changes=None):
        """A WebSocket of this page."""
        protocols = "glovebox.v1" + (f", glovebox.ticket.{ticket}" if ticket else "")
        words = {"Host": self.host, "Origin": f"http://{self.host}", "Cookie": self.cookie,
                 "Sec-WebSocket-Protocol": protocols, "Sec-Fetch-Site": None} | (changes or {})
        client = server.Client(f"http://{self.address[0]}:{self.address[1]}")
        return websocket.WebSocket(client, path, words)


class Console(server.Served):
    def setUp(self):
        super().setUp()
        self.page = Page(self.client.address)

    def signed_in(self, key=None):
        page = Page(self.client.address)
        answer = page.sign_in(key=key or self.server.key)
        self.assertEqual(answer.status, 201, answer)
        return page

    def keys_named(self, name):
        return [key for key in self.client.get("/v1/keys").json["keys"] if key["name"] == name]


class SignIn(Console):
    def test_the_page_holds_no_key_and_the_store_no_cookie(self):
        page = self.signed_in()
        shown = page.call("GET", "/console/session")
        self.assertTrue(shown.json["signed_in"])
        self.assertNotIn(self.server.key.removeprefix("gbx_"), shown.text)
        self.assertEqual(shown.headers["Cache-Control"], "no-store")
        secret = page.cookie.partition("=")[2]
        store = os.path.join(self.server.data, "store")
        for name in os.listdir(store):
            if os.path.isfile(os.path.join(store, name)):
                with open(os.path.join(store, name), "rb") as file:
                    self.assertNotIn(secret.encode(), file.read(), name)

    def test_a_project_sees_itself_and_only_an_admin_all(self):
        key, _ = self.server.new_key(project="team", name="team")
        page = self.signed_in(key)
        self.assertEqual(page.call("GET", "/v1/runs").status, 200)
        self.assert_refused(page.call("GET", "/v1/keys"), 403, "admin_only")
        self.assertEqual(page.call("GET", "/v1/runs?project=default").status, 403)
        self.assertEqual(self.signed_in().call("GET", "/v1/keys").status, 200)

    def test_signing_out_holds_after_a_restart(self):
        page, other = self.signed_in(), self.signed_in()
        self.assertEqual(page.call("DELETE", "/console/session").status, 204)
        self.assert_refused(page.call("GET", "/v1/runs"), 401, "session_over")
        self.server.supervisor.terminate()
        self.server.supervisor.wait(timeout=server.PATIENCE)
        self.server.start()
        for one in (page, other, self):
            if one is self:
                self.client = self.server.client()
            else:
                one.address = server.Client(self.server.url).address
                one.host = f"localhost:{one.address[1]}"
        self.assert_refused(page.call("GET", "/v1/runs"), 401, "session_over")
        # Control: the session that was not ended lives on.
        self.assertEqual(other.call("GET", "/v1/runs").status, 200)

    def test_a_revoked_key_ends_what_is_open(self):
        key, key_id = self.server.new_key(project="team", name="leaving")
        page = self.signed_in(key)
        with page.open("/v1/live", page.ticket()) as live:
            self.assertEqual(live.receive_json()["type"], "hello")
            self.assertEqual(self.client.call("DELETE", f"/v1/keys/{key_id}").status, 204)
            self.assert_refused(page.call("GET", "/v1/runs"), 401, "session_over")
            with self.assertRaises(websocket.Closed) as closed:
                while True:
                    live.receive_json()
            self.assertEqual(closed.exception.code, 1008)


class Shells(Console):
    """What was open when its session ended."""

    def setUp(self):
        super().setUp()
        self.page = self.signed_in()
        self.box = self.page.call("POST", "/v1/sandboxes", {"template": "base"}).json["id"]
        self.addCleanup(self.client.call, "DELETE", f"/v1/sandboxes/{self.box}")

    def heard_until_closed(self, shell):
        """What a shell still says, and that it ends."""
        said = ""
        with self.assertRaises(websocket.Closed):
            while True:
                message = shell.receive_json()
                said += message.get("data", "") if message["type"] == "stdout" else ""
        return said

    def test_a_shell_ends_with_its_session_and_obeys_nothing_after_it(self):
        with self.page.open(f"/v1/sandboxes/{self.box}/exec/stream", self.page.ticket()) as shell:
            shell.send({"type": "start", "cmd": "while read line; do echo heard $line; done", "on_disconnect": "keep"})
            self.assertEqual(shell.receive_json()["type"], "started")
            # Control: before, it obeys.
            shell.send({"type": "stdin", "data": "before\n"})
            self.assertEqual(shell.receive_json()["data"], "heard before\n")
            self.assertEqual(self.page.call("DELETE", "/console/session").status, 204)
            shell.send({"type": "stdin", "data": "after\n"})
            self.assertNotIn("heard after", self.heard_until_closed(shell))

    def test_a_shell_that_only_listens_ends_too(self):
        with self.page.open(f"/v1/sandboxes/{self.box}/exec/stream", self.page.ticket()) as shell:
            shell.send({"type": "start", "cmd": "while :; do echo tick; sleep 0.2; done"})
            self.assertEqual(shell.receive_json()["type"], "started")
            self.assertEqual(shell.receive_json()["data"], "tick\n")
            self.assertEqual(self.page.call("DELETE", "/console/session").status, 204)
            self.heard_until_closed(shell)


class Attempts(Console):
    def test_failed_attempts_are_limited_and_others_are_not_kept_out(self):
        page = self.signed_in()
        wrong = Page(self.client.address)
        statuses = [wrong.sign_in(key="gbx_" + "0" * 40).status for _ in range(12)]
        self.assertEqual(statuses[:10], [401] * 10)
        self.assertEqual(statuses[-1], 429)
        # Those who are signed in are not concerned.
        self.assertEqual(page.call("GET", "/v1/runs").status, 200)


class SameSite(Console):
    """A guest's page at 8000-ID.localhost: same-site, so the browser sends the cookie along."""

    def setUp(self):
        super().setUp()
        self.page = self.signed_in()
        port = self.client.address[1]
        self.guest = {"Origin": f"http://8000-sb{'a' * 20}.localhost:{port}", "Sec-Fetch-Site": "same-site"}

    def test_it_changes_nothing(self):
        body = {"project": "default", "name": "forged", "role": "admin"}
        for attack in (self.guest,
                       self.guest | {"X-Glovebox-CSRF": None},
                       self.guest | {"Origin": None},
                       self.guest | {"Origin": "null"},
                       # A form, and a body that needs no preflight.
                       self.guest | {"Sec-Fetch-Dest": "document", "Content-Type": "text/plain"}):
            answer = self.page.call("POST", "/v1/keys", body, attack)
            self.assertEqual(answer.status, 403, (attack, answer))
        # Where only one of the walls is missing, each of the others stands.
        for missing in ({"Origin": self.guest["Origin"]}, {"Sec-Fetch-Site": "same-site"},
                        {"X-Glovebox-CSRF": None}, {"X-Glovebox-CSRF": "0" * 64}):
            self.assertEqual(self.page.call("POST", "/v1/keys", body, missing).status, 403, missing)
        self.assertEqual(self.keys_named("forged"), [])
        # Control.
        self.assertEqual(self.page.call("POST", "/v1/keys", body).status, 201)
        self.assertEqual(len(self.keys_named("forged")), 1)

    def test_it_reads_nothing(self):
        for attack in ({"Sec-Fetch-Site": "same-site"}, self.guest, {"Sec-Fetch-Site": "cross-site"},
                       {"Sec-Fetch-Site": "none"}, {"Sec-Fetch-Site": None},
                       # Shown as a document or an image of our origin.
                       {"Sec-Fetch-Dest": "document"}, {"Sec-Fetch-Dest": "iframe"}, {"Sec-Fetch-Dest": "image"}):
            answer = self.page.call("GET", "/v1/runs", changes=attack)
            self.assertEqual(answer.status, 403, (attack, answer))
            self.assertNotIn("Access-Control-Allow-Credentials", answer.headers)
        self.assertEqual(self.page.call("GET", "/v1/runs").status, 200)

    def test_it_signs_the_browser_neither_in_nor_out(self):
        for method, body in (("POST", {"key": self.server.key}), ("DELETE", None)):
            answer = self.page.call(method, "/console/session", body, self.guest)
            self.assertEqual(answer.status, 403, answer)
            self.assertNotIn("Set-Cookie", answer.headers)
        shown = self.page.call("GET", "/console/session", changes={"Sec-Fetch-Site": "same-site"})
        self.assertEqual((shown.json["signed_in"], "csrf" in shown.json), (False, False))
        self.assertTrue(self.page.call("GET", "/console/session").json["signed_in"])

    def test_its_websocket_is_refused(self):
        for attack in (self.guest, {"Origin": self.guest["Origin"]}, {"Origin": "null"},
                       {"Origin": f"http://127.0.0.1:{self.client.address[1]}"}):
            with self.assertRaises(websocket.Refused) as refused:
                self.page.open("/v1/live", self.page.ticket(), attack)
            self.assertEqual(refused.exception.status, 403, attack)
        with self.page.open("/v1/live", self.page.ticket()) as live:
            self.assertEqual(live.receive_json()["type"], "hello")

    def test_a_websocket_needs_a_ticket_of_its_own(self):
        ticket = self.page.ticket()
        with self.page.open("/v1/live", ticket) as live:
            self.assertEqual(live.receive_json()["type"], "hello")
        for bad in (ticket, None, "0" * 40, self.signed_in().ticket()):
            with self.assertRaises(websocket.Refused) as refused:
                self.page.open("/v1/live", bad)
            self.assertEqual(refused.exception.status, 401, bad)

    def test_preflights_allow_it_nothing(self):
        answer = self.page.call("OPTIONS", "/v1/keys", None, self.guest | {
            "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-glovebox-csrf"})
        self.assertEqual(answer.status, 403, answer)
        self.assertNotIn("Access-Control-Allow-Origin", answer.headers)


class Cookies(Console):
    def test_a_tossed_cookie_helps_in_no_order(self):
        page, attacker = self.signed_in(), self.signed_in()
        name = page.cookie.partition("=")[0]
        for both in (f"{attacker.cookie}; {page.cookie}", f"{page.cookie}; {attacker.cookie}",
                     f"{page.cookie}; {name}=", [page.cookie, attacker.cookie]):
            self.assert_refused(page.call("GET", "/v1/runs", changes={"Cookie": both}), 403, "duplicate_cookie")
            shown = page.call("GET", "/console/session", changes={"Cookie": both})
            self.assertFalse(shown.json["signed_in"])
        self.assertEqual(page.call("GET", "/v1/runs", changes={"Cookie": f"a=b; {page.cookie}"}).status, 200)

    def test_the_name_of_https_counts_for_nothing_without_it(self):
        page = self.signed_in()
        secret = page.cookie.partition("=")[2]
        answer = page.call("GET", "/v1/runs", changes={"Cookie": f"__Host-glovebox={secret}"})
        self.assertEqual(answer.status, 401)

    def test_no_other_api_takes_it(self):
        page = self.signed_in()
        sandbox = self.client.call("POST", "/v1/sandboxes", {"template": "base"}).json["id"]
        self.addCleanup(self.client.call, "DELETE", f"/v1/sandboxes/{sandbox}")
        for method, path in (("GET", "/sandboxes"), ("GET", "/v2/sandboxes"), ("GET", f"/sandboxes/{sandbox}"),
                             ("DELETE", f"/sandboxes/{sandbox}"), ("GET", "/api/v1/containers"),
                             ("POST", "/mcp"), ("GET", f"/workspace/se/files/{sandbox}"),
                             ("GET", f"/v1/sandboxes/{sandbox}/ports/8000/")):
            answer = page.call(method, path, {} if method == "POST" else None)
            self.assertEqual(answer.status, 401, (path, answer))
            # Control: with the key it is another answer.
            with_key = page.call(method, path, {} if method == "POST" else None, {"X-API-Key": self.server.key})
            if method != "DELETE":
                self.assertNotEqual(with_key.status, 401, path)

    def test_a_guest_never_gets_it(self):
        page = self.signed_in()
        sandbox = self.client.call("POST", "/v1/sandboxes", {"template": "python"}).json["id"]
        self.addCleanup(self.client.call, "DELETE", f"/v1/sandboxes/{sandbox}")
        started = self.client.call("POST", f"/v1/sandboxes/{sandbox}/exec",
                                   {"cmd": "python3", "args": ["-c", ECHO], "background": True})
        self.assertIn(started.status, (200, 201, 202), started)
        visit = {"Host": f"8000-{sandbox}.localhost:{self.client.address[1]}",
                 "Cookie": f"mine=1; {page.cookie}; __Host-glovebox=x"}

        def answered():
            return page.call("GET", "/", changes=visit).status == 200
        self.assertTrue(wait_until(answered))
        seen = dict(page.call("GET", "/", changes=visit).json["headers"])
        self.assertEqual(seen.get("Cookie"), "mine=1")
        by_path = page.call("GET", f"/v1/sandboxes/{sandbox}/ports/8000/",
                            changes={"X-API-Key": self.server.key, "Cookie": f"mine=1; {page.cookie}"})
        self.assertEqual(by_path.status, 200, by_path)
        self.assertNotIn("Cookie", dict(by_path.json["headers"]))


class Links(Console):
    def link(self, *words):
        said = subprocess.run([sealed.GLOVEBOX, "console", "--print", "--data-dir", self.server.data, *words],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=sealed.environment(), timeout=server.PATIENCE, check=True)
        url = next(word for word in said.stdout.split() if word.startswith("http"))
        self.assertTrue(url.startswith(self.server.url + "/console/#link="), url)
        return url.partition("#link=")[2]

    def test_a_stolen_link_is_worth_nothing_after_its_use(self):
        link = self.link()
        self.assertEqual(self.page.sign_in(link=link).status, 201)
        self.assertEqual(self.page.call("GET", "/v1/keys").status, 200)
        thief = Page(self.client.address)
        self.assert_refused(thief.sign_in(link=link), 401, "link_not_valid")
        self.assertIsNone(thief.cookie)

    def test_the_browser_is_handed_a_private_file_and_no_link(self):
        # The arguments of a program can be read by every user of the machine.
        with tempfile.TemporaryDirectory(prefix="gbx-test-") as place:
            opener = os.path.join(place, "xdg-open")
            with open(opener, "w") as file:
                file.write(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {place}/words\nstat -c '%a %u' \"$1\" > {place}/rights\ncp \"$1\" {place}/page\n")
            os.chmod(opener, 0o755)
            screen = {"DISPLAY": ":0", "XDG_RUNTIME_DIR": place, "PATH": f"{place}:/usr/bin:/bin"}
            words = [sealed.GLOVEBOX, "console", "--data-dir", self.server.data]
            said = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
                                  env={**sealed.environment(), **screen}, timeout=server.PATIENCE)
            read = {}
            for name in ("words", "rights", "page"):
                with open(os.path.join(place, name)) as file:
                    read[name] = file.read()
        self.assertNotIn("link=", said.stdout + said.stderr + read["words"])
        self.assertEqual(read["rights"], f"600 {os.getuid()}\n")
        link = read["page"].partition("#link=")[2].partition('"')[0]
        self.assertEqual(self.page.sign_in(link=link).status, 201)
        # Control: without a screen it is printed.
        self.assertTrue(self.link())

    def test_of_many_at_once_one_gets_in(self):
        link, statuses = self.link(), []

        def race():
            statuses.append(Page(self.client.address).sign_in(link=link).status)
        threads = [threading.Thread(target=race) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(statuses), [201] + [401] * 5)

    def test_a_session_cannot_renew_itself(self):
        self.assertEqual(self.page.sign_in(link=self.link()).status, 201)
        self.assert_refused(self.page.call("POST", "/console/links", {}), 403, "key_required")
        # Control: the key can.
        self.assertEqual(self.client.call("POST", "/console/links", {}).status, 201)

    def test_a_link_is_no_cookie_and_no_ticket(self):
        page, link = self.signed_in(), self.link()
        name = page.cookie.partition("=")[0]
        self.assert_refused(page.call("GET", "/v1/runs", changes={"Cookie": f"{name}={link}"}), 401, "session_over")
        with self.assertRaises(websocket.Refused):
            page.open("/v1/live", link)
        self.assertEqual(self.page.sign_in(link=link).status, 201)


class Ports(Console):
    """Private ports in a browser's tab."""

    def setUp(self):
        super().setUp()
        self.page = self.signed_in()
        made = self.page.call("POST", "/v1/sandboxes", {"template": "python", "private_ports": True})
        self.assertEqual(made.status, 201, made)
        self.box = made.json["id"]
        self.addCleanup(self.client.call, "DELETE", f"/v1/sandboxes/{self.box}")
        started = self.page.call("POST", f"/v1/sandboxes/{self.box}/exec",
                                 {"cmd": "python3", "args": ["-c", ECHO], "background": True})
        self.assertIn(started.status, (200, 201, 202), started)
        self.tab = Page(self.client.address, f"8000-{self.box}.localhost")
        token = {"X-Glovebox-Port-Token": made.json["port_token"]}
        self.assertTrue(wait_until(lambda: self.tab.call("GET", "/", changes=token).status == 200))

    def link(self):
        made = self.page.call("POST", f"/v1/sandboxes/{self.box}/port-links", {"port": 8000})
        self.assertEqual(made.status, 201, made)
        base, _, path = made.json["url"].partition("localhost")
        self.assertEqual(base, f"http://8000-{self.box}.")
        return "/" + path.partition("/")[2]

    def follow(self, link):
        navigation = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        return self.tab.call("GET", link, changes=navigation)

    def test_a_link_opens_the_port_once_and_the_guest_sees_no_cookie(self):
        self.assertEqual(self.tab.call("GET", "/").status, 502)  # control: private
        link = self.link()
        opened = self.follow(link)
        self.assertEqual((opened.status, opened.headers["Location"]), (303, "/"), opened)
        cookie = opened.headers["Set-Cookie"]
        self.assertIn("HttpOnly", cookie)
        self.assertNotIn("domain", cookie.lower())
        self.tab.cookie = cookie.partition(";")[0] + "; mine=1"
        seen = self.tab.call("GET", "/page")
        self.assertEqual(seen.status, 200, seen)
        self.assertEqual(dict(seen.json["headers"])["Cookie"], "mine=1")
        self.assertEqual(self.follow(link).status, 502)  # stolen

    def test_the_cookie_is_of_this_port_and_of_its_own_pages(self):
        self.tab.cookie = self.follow(self.link()).headers["Set-Cookie"].partition(";")[0]
        self.assertEqual(self.tab.call("GET", "/").status, 200)
        for site in ("same-site", "cross-site"):
            self.assertEqual(self.tab.call("GET", "/", changes={"Sec-Fetch-Site": site}).status, 502)
        self.assertEqual(self.tab.call("POST", "/", {}, {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate",
                                                         "Sec-Fetch-Dest": "document"}).status, 502)
        other = Page(self.client.address, f"8001-{self.box}.localhost", self.tab.cookie)
        self.assertEqual(other.call("GET", "/").json.get("port"), None)  # not even that nothing listens there
        self.assertEqual(Page(self.client.address, "localhost", self.tab.cookie).call("GET", "/v1/runs").status, 401)

    def test_a_link_is_for_who_owns_the_sandbox(self):
        key, _ = self.server.new_key(project="others", name="x")
        stranger = self.signed_in(key)
        made = stranger.call("POST", f"/v1/sandboxes/{self.box}/port-links", {"port": 8000})
        self.assertEqual(made.status, 404, made)
        self.assertEqual(self.follow("/.glovebox/open?link=" + "a" * 40).status, 502)


class Pages(Console):
    def test_the_console_cannot_be_framed_and_runs_no_foreign_script(self):
        answer = self.page.call("GET", "/console/", changes={"Sec-Fetch-Dest": "document", "Cookie": None})
        policy = answer.headers["Content-Security-Policy"]
        for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
            self.assertIn(part, policy.split("; "))
        self.assertNotIn("unsafe-eval", policy)
        self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(answer.headers["Referrer-Policy"], "no-referrer")
        self.assertIn(answer.status, (200, 503))  # 503: built without the bundle
        moved = self.page.call("GET", "/console", changes={"Cookie": None})
        self.assertEqual((moved.status, moved.headers["Location"]), (308, "/console/"))

    def test_guests_html_has_an_origin_of_its_own(self):
        answer = self.page.call("GET", "/console/frame/html", changes={"Cookie": None})
        self.assertEqual(answer.status, 200)
        parts = answer.headers["Content-Security-Policy"].split("; ")
        self.assertIn("sandbox allow-scripts", parts)
        self.assertIn("default-src 'none'", parts)
        self.assertIn("frame-ancestors 'self'", parts)


class BehindAProxy(Console):
    settings = {"server.public_url": "https://glovebox.example.com"}

    def setUp(self):
        super().setUp()
        # The proxy speaks plain HTTP to us, under whatever name.
        self.proxied = {"Origin": "https://glovebox.example.com", "Host": "127.0.0.1:1"}

    def test_only_the_public_address_is_ours(self):
        credential = {"key": self.server.key}
        for origin in (f"http://localhost:{self.client.address[1]}", "http://glovebox.example.com",
                       "https://x.glovebox.example.com", "https://glovebox.example.com:8443", None):
            answer = self.page.call("POST", "/console/session", credential, self.proxied | {"Origin": origin})
            # Some are refused by the rule for every request already.
            self.assertEqual(answer.status, 403, answer)
            self.assertIn(answer.code, ("same_origin_required", "origin_not_allowed"))
        answer = self.page.call("POST", "/console/session", credential, self.proxied)
        self.assertEqual(answer.status, 201, answer)
        cookie = answer.headers["Set-Cookie"]
        self.assertTrue(cookie.startswith("__Host-glovebox="), cookie)
        words = [word.strip() for word in cookie.split(";")]
        for word in ("Secure", "HttpOnly", "SameSite=Strict", "Path=/"):
            self.assertIn(word, words)
        self.assertNotIn("domain", cookie.lower())
        self.page.cookie, self.page.csrf = cookie.partition(";")[0], answer.json["csrf"]
        made = self.page.call("POST", "/v1/keys", {"project": "p", "name": "x"}, self.proxied)
        self.assertEqual(made.status, 201, made)

    def test_without_a_domain_a_port_opens_under_a_policy_of_its_own(self):
        page = self.page
        answer = page.call("POST", "/console/session", {"key": self.server.key}, self.proxied)
        page.cookie, page.csrf = answer.headers["Set-Cookie"].partition(";")[0], answer.json["csrf"]
        made = page.call("POST", "/v1/sandboxes", {"template": "python", "private_ports": True}, self.proxied)
        self.assertEqual(made.status, 201, made)
        box = made.json["id"]
        self.addCleanup(self.client.call, "DELETE", f"/v1/sandboxes/{box}")
        page.call("POST", f"/v1/sandboxes/{box}/exec", {"cmd": "python3", "args": ["-c", ECHO], "background": True},
                  self.proxied)
        link = page.call("POST", f"/v1/sandboxes/{box}/port-links", {"port": 8000}, self.proxied)
        self.assertEqual((link.status, link.json["own_origin"]), (201, False), link)
        base = "https://glovebox.example.com"
        self.assertTrue(link.json["url"].startswith(f"{base}/ports/{box}/8000/open?link="), link)
        # Opened in a tab, by a browser that has the link.
        visit = {"Host": "127.0.0.1:1", "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate",
                 "Sec-Fetch-Dest": "document"}
        opened = page.call("GET", link.json["url"].removeprefix(base), changes=visit)
        self.assertEqual(opened.status, 303, opened)
        self.assertNotIn("Set-Cookie", opened.headers)
        self.assertEqual(page.call("GET", link.json["url"].removeprefix(base), changes=visit).status, 404)
        where = opened.headers["Location"]

        def answered():
            return page.call("GET", where + "sub?x=1", changes=visit).status == 200
        self.assertTrue(wait_until(answered))
        shown = page.call("GET", where + "sub?x=1", changes=visit)
        policy = shown.headers["Content-Security-Policy"]
        self.assertTrue(policy.startswith("sandbox allow-scripts"), policy)
        self.assertNotIn("allow-same-origin", policy)
        seen = dict(shown.json["headers"])
        self.assertNotIn("Cookie", seen)
        self.assertNotIn(where.split("/")[4], json.dumps(seen))
        # The pass is of that port of that sandbox.
        wrong = where.replace("/8000/", "/8001/")
        self.assertEqual(page.call("GET", wrong, changes=visit).status, 404)
        # What such a page sends has the origin "null", and counts for nothing.
        forged = {"Host": "127.0.0.1:1", "Origin": "null", "Sec-Fetch-Site": "cross-site"}
        for path in ("/v1/keys", f"/v1/sandboxes/{box}/port-links", "/console/tickets"):
            self.assertEqual(page.call("POST", path, {}, forged).status, 403, path)

    def test_the_link_names_the_public_address(self):
        made = self.client.call("POST", "/console/links", {"expires_in_s": 60}).json
        self.assertTrue(made["url"].startswith("https://glovebox.example.com/console/#link="), made)


class InTheClear(Console):
    settings = {"server.domain": "box.test"}

    def test_without_tls_only_loopback_has_sessions(self):
        for host in ("box.test", "api.box.test"):
            answer = self.page.call("POST", "/console/session", {"key": self.server.key},
                                    {"Host": host, "Origin": f"http://{host}"})
            self.assert_refused(answer, 403, "https_required")
            shown = self.page.call("GET", "/console/session", changes={"Host": host})
            self.assertFalse(shown.json["secure"])
            self.assertIn("server.public_url", shown.json["reason"])
        self.assertEqual(self.page.sign_in(key=self.server.key).status, 201)


if __name__ == "__main__":
    sealed.main()
