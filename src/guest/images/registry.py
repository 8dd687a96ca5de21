"""A registry by the OCI distribution protocol, with its token servers and the hosts of its blobs.

Whatever a registry answers, only the hosts that the administrator listed for it are asked; the gateway
outside of this sandbox holds every connection to the same list. Credentials go to the registry and its
token server, and never along with a redirect to another host.
"""
import base64
import http.client
import json
import re
import ssl
import time
from urllib.parse import urlencode, urljoin, urlsplit

from failure import Failure, plain

TIMEOUT = 30  # of one connection, without a byte
MAX_DOCUMENT = 4 << 20
MAX_DOCUMENT_TIME = 60
MAX_TOKEN = 64 << 10
MAX_REDIRECTS = 5
MAX_ATTEMPTS = 5  # one after the other without a byte more
MAX_RESUMED = 50  # of one blob
CHUNK = 1 << 20
REDIRECTS = (301, 302, 303, 307, 308)
AGAIN = (408, 425, 429, 500, 502, 503, 504)
SCHEMES = {"http": 80, "https": 443}
PARAMETER = re.compile(r'([a-zA-Z_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
LOST = (OSError, http.client.HTTPException)


class Place:
    """Where an address leads."""

    def __init__(self, url):
        try:
            parts = urlsplit(url)
            self.scheme, self.host = parts.scheme.lower(), (parts.hostname or "").rstrip(".").lower()
            self.port = parts.port or SCHEMES.get(self.scheme, 0)
        except ValueError:
            raise Failure("invalid", "the registry answered with a malformed address")
        if self.scheme not in SCHEMES or not self.host or parts.username is not None:
            raise Failure("invalid", "the registry answered with an address that is not used here: %s" % url[:200])
        if re.search(r"[^\x21-\x7e]", url):
            raise Failure("invalid", "the registry answered with a malformed address")
        self.path = (parts.path or "/") + ("?" + parts.query if parts.query else "")

    @property
    def origin(self):
        return self.scheme, self.host, self.port

    @property
    def shown(self):
        return "%s:%d" % ("[%s]" % self.host if ":" in self.host else self.host, self.port)


class Hosts:
    """The administrator's list: "auth.example:443", "*.cdn.example:443", "[2001:db8::1]:5000"."""

    def __init__(self, rules, is_plain):
        self.rules = [rule.rsplit(":", 1) for rule in rules]
        self.is_plain = is_plain

    def check(self, place, what):
        if place.scheme == "http" and not self.is_plain:
            raise Failure("policy", "%s is at %s without TLS, and images.registries does not say http:// for it"
                          % (what, place.shown))
        for host, port in self.rules:
            host = host.strip("[]").removesuffix("/32").removesuffix("/128").strip("[]")
            named = place.host.endswith(host[1:]) if host.startswith("*.") else place.host == host
            if named and str(place.port) == port:
                return
        raise Failure("policy", "%s is at %s, which is not one of this registry's hosts: the administrator may add "
                      "host=%s to its entry in images.registries" % (what, place.shown, place.shown))


class Credentials:
    def __init__(self, username="", password="", identity_token="", registry_token=""):
        self.username, self.password = username, password
        self.identity_token, self.registry_token = identity_token, registry_token

    def __bool__(self):
        return bool(self.username or self.password or self.identity_token or self.registry_token)

    @property
    def basic(self):
        pair = "%s:%s" % (self.username, self.password)
        return "Basic " + base64.b64encode(pair.encode()).decode()


class Registry:
    def __init__(self, url, repository, hosts, credentials, ca=None):
        self.url = url.rstrip("/")
        self.home = Place(self.url)
        self.repository = repository
        self.hosts = hosts
        self.credentials = credentials
        self.idle = {}  # connections by origin, for the next request
        self.context = ssl.create_default_context()
        if ca:
            self.context.load_verify_locations(ca)
        registry_token = credentials.registry_token
        self.authorization = "Bearer " + registry_token if registry_token else None

    # --- documents and blobs ----------------------------------------------------------------------

    def manifest(self, reference, types):
        """(content type, the bytes, the digest that the registry says)."""
        response = self.get("/manifests/" + reference, "the manifest", {"Accept": ", ".join(types)})
        body = self.read_document(response, "the manifest")
        said = response.getheader("Docker-Content-Digest") or ""
        return (response.getheader("Content-Type") or "").partition(";")[0].strip(), body, said

    def document(self, digest):
        return self.read_document(self.get("/blobs/" + digest, "the configuration"), "the configuration")

    def blob(self, digest, size, what):
        """Its bytes, exactly `size` of them, across connections that end early."""
        done, without, resumed = 0, 0, 0
        while True:
            before = done
            try:
                for data in self.blob_from(digest, done, size, what):
                    done += len(data)
                    if done > size:
                        raise Failure("digest", "%s is longer than its manifest says" % what)
                    yield data
                if done == size:
                    return
            except LOST as error:
                reason = lost_text(error)
            else:
                reason = "the connection ended after %d of %d bytes" % (done, size)
            resumed += 1
            without = 0 if done > before else without + 1
            if without >= MAX_ATTEMPTS or resumed >= MAX_RESUMED:
                raise Failure("interrupted", "%s could not be read to its end: %s" % (what, reason))
            time.sleep(min(0.2 * 2 ** without, 5))

    def blob_from(self, digest, offset, size, what):
        headers = {"Range": "bytes=%d-" % offset} if offset else {}
        response = self.get("/blobs/" + digest, what, headers)
        try:
            skipped = 0
            if offset and response.status == 206:
                begins = re.match(r"bytes (\d+)-", response.getheader("Content-Range") or "")
                if not begins or int(begins[1]) != offset:
                    raise Failure("invalid", "the registry answered with another range of %s than the requested one" % what)
            elif offset:
                skipped = offset  # it does not know ranges, and begins again
            left = size - offset + 1  # one byte more tells that it is too long
            while left > 0:
                data = response.read1(min(CHUNK, left + skipped))
                if not data:
                    if response.length == 0 and left > 1:
                        raise Failure("digest", "%s is shorter than its manifest says" % what)
                    return
                kept = data[skipped:] if skipped else data
                skipped -= len(data) - len(kept)
                left -= len(kept)
                if kept:
                    yield kept
        finally:
            self.release(response)

    # --- requests ---------------------------------------------------------------------------------

    def get(self, path, what, headers=None):
        """The response to a GET below the repository, wherever it is redirected to."""
        place = Place("%s/v2/%s%s" % (self.url, self.repository, path))
        has_asked = False
        redirects = 0
        while True:
            self.hosts.check(place, what)
            response = self.send(place, "GET", dict(headers or {}), what, with_token=place.origin == self.home.origin)
            status = response.status
            if status == 401 and not has_asked and place.origin == self.home.origin:
                challenges = response.headers.get_all("WWW-Authenticate") or []
                self.release(response)
                has_asked = True
                self.authorization = self.authorize(challenges)
                continue
            if status in REDIRECTS:
                location = response.getheader("Location") or ""
                self.release(response)
                redirects += 1
                if redirects > MAX_REDIRECTS or not location:
                    raise Failure("invalid", "the registry redirects too often")
                begin = "%s://%s%s" % (place.scheme, place.shown, place.path)
                place = Place(urljoin(begin, location))
                continue
            if status in (200, 206):
                return response
            raise self.refused(response, what)

    def send(self, place, method, headers, what, with_token=False, body=None):
        """Sent again, a few times, while the registry cannot be reached or is busy."""
        headers.update({"Accept-Encoding": "identity", "User-Agent": "glovebox"})
        if with_token and self.authorization:
            headers["Authorization"] = self.authorization
        for attempt in range(MAX_ATTEMPTS):
            if attempt:
                time.sleep(min(0.2 * 2 ** attempt, 5))
            connection = self.connect(place)
            try:
                connection.request(method, place.path, body=body, headers=headers)
                response = connection.getresponse()
            except ssl.SSLCertVerificationError as error:
                raise Failure("unreachable", "%s has no valid certificate: %s" % (place.shown, error.verify_message))
            except LOST as error:
                connection.close()
                reason = lost_text(error)
                continue
            response.connection_of_it, response.origin_of_it = connection, place.origin
            if response.status not in AGAIN or attempt == MAX_ATTEMPTS - 1:
                return response
            reason = "status %d" % response.status
            connection.close()
        raise Failure("unreachable", "%s cannot be read: %s cannot be reached: %s" % (what, place.shown, reason))

    def release(self, response):
        """Keeps its connection if all of the response was read."""
        if response.isclosed() and not response.length and not response.will_close:
            self.idle[response.origin_of_it] = response.connection_of_it
        else:
            response.connection_of_it.close()

    def connect(self, place):
        connection = self.idle.pop(place.origin, None)
        if connection:
            return connection
        if place.scheme == "https":
            return http.client.HTTPSConnection(place.host, place.port, timeout=TIMEOUT, context=self.context)
        return http.client.HTTPConnection(place.host, place.port, timeout=TIMEOUT)

    def read_document(self, response, what):
        """All of it: small, and within a time."""
        parts, size, until = [], 0, time.monotonic() + MAX_DOCUMENT_TIME
        try:
            while data := response.read1(CHUNK):
                parts.append(data)
                size += len(data)
                if size > MAX_DOCUMENT:
                    raise Failure("too_large", "%s has more than %d MB" % (what, MAX_DOCUMENT >> 20))
                if time.monotonic() > until:
                    raise Failure("interrupted", "%s takes longer than %d s" % (what, MAX_DOCUMENT_TIME))
        except LOST as error:
            raise Failure("interrupted", "%s could not be read to its end: %s" % (what, lost_text(error)))
        finally:
            self.release(response)
        length = response.getheader("Content-Length")
        if length and length.isdigit() and int(length) != size:
            raise Failure("interrupted", "%s could not be read to its end: %d of %s bytes came" % (what, size, length))
        return b"".join(parts)

    def refused(self, response, what):
        """The failure that a status tells, with the registry's own words for it."""
        status = response.status
        try:
            errors = json.loads(response.read(1 << 16)).get("errors")
            said = self.hidden("; ".join(plain(str(one.get("message") or one.get("code"))) for one in errors[:3]))[:300]
        except (*LOST, ValueError, AttributeError, TypeError, RecursionError):
            said = ""
        self.release(response)
        said = ": " + said if said else ""
        if status in (401, 403):
            return Failure("unauthorized", "%s was refused (status %d)%s. The image does not exist, or it needs other "
                           "credentials" % (what, status, said))
        if status in (404, 410):
            return Failure("not_found", "the registry does not have %s%s" % (what, said))
        kind = "unreachable" if status in AGAIN else "invalid"
        return Failure(kind, "the registry answered with status %d for %s%s" % (status, what, said))

    def hidden(self, text):
        """Without the token that it was shown; the server hides the caller's credentials."""
        token = (self.authorization or "").partition(" ")[2]
        return text.replace(token, "****") if len(token) > 3 else text

    # --- authorization ----------------------------------------------------------------------------

    def authorize(self, challenges):
        """The header that the registry asks for."""
        bearer = next((one for one in challenges if one.lower().startswith("bearer ")), None)
        if bearer:
            asked = {name.lower(): quoted or bare for name, quoted, bare in PARAMETER.findall(bearer[7:])}
            return "Bearer " + self.token(asked)
        if any(one.lower().startswith("basic") for one in challenges) and self.credentials.username:
            return self.credentials.basic
        raise Failure("unauthorized", "the registry wants credentials: log in with `docker login`, or send some")

    def token(self, asked):
        place = Place(asked.get("realm", ""))
        what = "the token server"
        self.hosts.check(place, what)
        # Never more than reading this one repository, whatever the registry asks for.
        wanted = {"service": asked.get("service", ""), "scope": "repository:%s:pull" % self.repository}
        wanted = {name: value for name, value in wanted.items() if value}
        if self.credentials.identity_token:
            wanted |= {"grant_type": "refresh_token", "client_id": "glovebox",
                       "refresh_token": self.credentials.identity_token}
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
            response = self.send(place, "POST", headers, what, body=urlencode(wanted))
        else:
            place.path += ("&" if "?" in place.path else "?") + urlencode(wanted)
            headers = {"Authorization": self.credentials.basic} if self.credentials.username else {}
            response = self.send(place, "GET", headers, what)
        if response.status != 200:
            raise self.refused(response, "a token")
        answer = read_json(self.read_document(response, what), what)
        token = answer.get("token") or answer.get("access_token")
        if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]{1,%d}" % MAX_TOKEN, token):
            raise Failure("invalid", "the token server answered without a token")
        return token


def read_json(data, what):
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Failure("invalid", "%s is not a JSON object" % what)
    return value


def lost_text(error):
    if isinstance(error, http.client.IncompleteRead):
        return "the connection ended early"
    return plain(str(error.strerror if isinstance(error, OSError) and error.strerror else error) or type(error).__name__)[:200]
