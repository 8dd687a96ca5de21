"""Calls a handler by its guest half as the agent would: what comes of it, decoded."""
import base64
import json
import tempfile

import harness
from harness import NODE, PYTHON

CONTEXT = {"aws_request_id": "id-1", "function_name": "app", "function_version": "$LATEST",
           "invoked_function_arn": "arn:aws:lambda:us-east-1:000000000000:function:app", "memory_limit_in_mb": 128,
           "log_group_name": "/aws/lambda/app", "log_stream_name": "2026/01/01/[$LATEST]00"}


class Called:
    """The last line of the handler's that is one; its value or its error."""

    def __init__(self, answer):
        self.status, self.out, self.err = answer.status, answer.out, answer.err
        self.exits = [line for line in answer.lines if line["type"] == "exit"]
        self.lines = [line for line in answer.lines if line["type"] == "function"]
        line = self.lines[-1] if self.lines else {}
        self.phases = {name: line[name] for name in ("import_ms", "handler_ms") if name in line}
        self.has_value = "value" in line
        self.text = base64.b64decode(line["value"]).decode() if self.has_value else None
        self.value = json.loads(self.text) if self.has_value else None
        self.error = json.loads(base64.b64decode(line["error"])) if "error" in line else None

    @property
    def kind(self):
        return self.error["errorType"] if self.error else None

    def __repr__(self):
        return repr(self.__dict__)


def payload(code, event, function="handler", module="app", file="app.py", context=None, timeout_ms=5000, **more):
    return json.dumps({"code": code, "module": module, "function": function, "file": file, "timeout_ms": timeout_ms,
                       "context": {**CONTEXT, **(context or {})}, "event": event, **more})


def call(command, code, event=None, workdir=None, env=("PATH=/usr/bin:/bin",), prestarted=False, **words):
    with tempfile.TemporaryDirectory() as made:
        job = harness.encode_job(payload(code, event, **words), env=env, workdir=workdir or made, name="glovebox:function")
        return Called(harness.run(command, job, prestarted=prestarted))


def python(code, event=None, **words):
    return call(PYTHON, code, event, **words)


def node(code, event=None, prestarted=False, **words):
    words.setdefault("file", "app.js")
    return call(NODE + (["wait"] if prestarted else []), code, event, prestarted=prestarted, **words)
