# Sessions as a client of the API meets them: made, talked to, ended.
import urllib.parse


class Session:
    """A sandbox that lives, through one client. Ended at the end of a `with`."""

    def __init__(self, client, **fields):
        self.client = client
        answer = client.call("POST", "/v1/sandboxes", {"ttl_s": 600, **fields})
        if answer.status not in (200, 201):
            raise AssertionError(answer)
        self.made = answer.json
        self.id = self.made["id"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def path(self, rest=""):
        return f"/v1/sandboxes/{self.id}{rest}"

    def call(self, method, rest="", body=None, **more):
        return self.client.call(method, self.path(rest), body, **more)

    def get(self, rest="", status=200):
        answer = self.call("GET", rest)
        if answer.status != status:
            raise AssertionError(answer)
        return answer.json

    def post(self, rest, status=200, **body):
        answer = self.call("POST", rest, body)
        if answer.status != status:
            raise AssertionError(answer)
        return answer.json if answer.body else None

    @property
    def state(self):
        return self.get()["state"]

    def kill(self):
        return self.call("DELETE")

    def exec(self, *argv, **more):
        return self.post("/exec", argv=list(argv), **more)

    def shell(self, line, **more):
        return self.post("/exec", cmd=line, **more)

    def code(self, code, **more):
        return self.post("/code", code=code, **more)

    def start(self, line, **more):
        """A background process: its number."""
        return self.post("/exec", status=202, cmd=line, background=True, **more)["process"]

    def file_path(self, path, rest="", **query):
        words = {"path": path, **query}
        return "/files" + rest + "?" + urllib.parse.urlencode(words)

    def put(self, path, content, **query):
        answer = self.call("PUT", self.file_path(path, **query), content,
                           headers={"Content-Type": "application/octet-stream"})
        if answer.status != 200:
            raise AssertionError(answer)
        return answer.json

    def read(self, path, **query):
        answer = self.call("GET", self.file_path(path, **query))
        if answer.status != 200:
            raise AssertionError(answer)
        return answer.body
