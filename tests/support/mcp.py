# The Model Context Protocol by hand: a conversation over /mcp, one message to a request.
import json
import threading

import server

VERSION = "2025-06-18"
BOTH = "application/json, text/event-stream"


def events(body):
    """The messages of a stream of server-sent events."""
    found = []
    for event in body.decode().split("\n\n"):
        data = [line[5:].lstrip(" ") for line in event.split("\n") if line.startswith("data:")]
        if data:
            found.append(json.loads("\n".join(data)))
    return found


def initialize(version=VERSION, number=0, sandbox=None):
    """`sandbox`: the packages and the network policy that the client asks for."""
    meta = {} if sandbox is None else {"_meta": {"glovebox/sandbox": sandbox}}
    return {"jsonrpc": "2.0", "id": number, "method": "initialize",
            "params": {"protocolVersion": version, "capabilities": {},
                       "clientInfo": {"name": "test", "version": "1"}, **meta}}


class Conversation:
    """Through one client. Ended at the end of a `with`."""

    def __init__(self, client, version=VERSION, sandbox=None):
        self.client, self.number, self.version = client, 0, None
        answer = self.post(initialize(version, sandbox=sandbox), session=None)
        if answer.status != 200:
            raise AssertionError(answer)
        self.session = answer.headers["Mcp-Session-Id"]
        self.begun = answer.json["result"]
        self.version = self.begun["protocolVersion"]
        ready = self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        if (ready.status, ready.body) != (202, b""):
            raise AssertionError(ready)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def headers(self, session, accept=BOTH):
        made = {"Content-Type": "application/json", "Accept": accept, "Mcp-Session-Id": session}
        if self.version:
            made["MCP-Protocol-Version"] = self.version
        return made

    def post(self, message, session="own", client=None, accept=BOTH, headers=None):
        session = self.session if session == "own" else session
        return (client or self.client).call("POST", "/mcp", message,
                                            {**self.headers(session, accept), **(headers or {})})

    def message(self, method, number=None, **params):
        if number is None:
            self.number += 1
            number = self.number
        return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}

    def request(self, method, **params):
        """The result of a request that must go well."""
        answer = self.post(self.message(method, **params))
        if answer.status != 200 or "result" not in answer.json:
            raise AssertionError(answer)
        return answer.json["result"]

    def refused(self, method, **params):
        """The error of one that must not."""
        answer = self.post(self.message(method, **params))
        if answer.status != 200 or "error" not in answer.json:
            raise AssertionError(answer)
        return answer.json["error"]

    def call(self, tool, **arguments):
        answer = self.post(self.message("tools/call", name=tool, arguments=arguments))
        if answer.status != 200:
            raise AssertionError(answer)
        is_stream = answer.headers["Content-Type"].startswith("text/event-stream")
        return (events(answer.body)[-1] if is_stream else answer.json)["result"]

    def text(self, tool, **arguments):
        """All text of a result that must be good."""
        result = self.call(tool, **arguments)
        if result["isError"]:
            raise AssertionError(result)
        return text_of(result)

    def cancel(self, number, client=None):
        return self.post({"jsonrpc": "2.0", "method": "notifications/cancelled",
                          "params": {"requestId": number, "reason": "test"}}, client=client)

    def end(self):
        return self.client.call("DELETE", "/mcp", None, self.headers(self.session))


def text_of(result):
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


class InBackground(threading.Thread):
    """A call that another thread makes; .value or .error after join()."""

    def __init__(self, run):
        super().__init__(daemon=True)
        self.run_it, self.value, self.error = run, None, None
        self.start()

    def run(self):
        try:
            self.value = self.run_it()
        except Exception as error:
            self.error = error

    def wait(self):
        self.join(server.PATIENCE)
        if self.is_alive():
            raise AssertionError("it does not end")
        if self.error:
            raise self.error
        return self.value
