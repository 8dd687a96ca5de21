# E2B's sandboxes on the wire, without their clients: made over the control plane, reached by headers.
import json
import struct


def envelope(message, flags=0):
    payload = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">BI", flags, len(payload)) + payload


class Sandbox:
    """A sandbox, and the headers by which its daemon is reached."""

    def __init__(self, client, **fields):
        self.client = client
        answer = client.call("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 600, **fields},
                             headers={"Content-Type": "application/json"})
        if answer.status != 201:
            raise AssertionError(answer)
        self.id, self.token = answer.json["sandboxID"], answer.json["envdAccessToken"]
        self.headers = {"E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": "49983",
                        "X-Access-Token": self.token, "Connect-Protocol-Version": "1"}

    def kill(self):
        return self.client.call("DELETE", "/sandboxes/" + self.id)
