# An assistant that has started `glovebox mcp` and talks to it on its standard input and output.
import json
import queue
import subprocess
import threading

import mcp
import sealed
import server


class Assistant:
    """An MCP client that has started `glovebox mcp`."""

    def __init__(self, *args, env=None):
        self.process = sealed.start("mcp", *args, env=env, stdin=subprocess.PIPE)
        self.lines, self.kept, self.number = queue.Queue(), [], 0
        for run in (self.read, self.read_errors):
            threading.Thread(target=run, daemon=True).start()
        self.errors = b""

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))  # whatever is no message ends the test by its timeout
        self.lines.put(None)

    def read_errors(self):
        self.errors = self.process.stderr.read()

    def say(self, message):
        text = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def hear(self, wanted=lambda message: True):
        """The next message of that kind; the others are kept for later."""
        for message in self.kept:
            if wanted(message):
                self.kept.remove(message)
                return message
        while True:
            message = self.lines.get(timeout=server.PATIENCE)
            if message is None or wanted(message):
                return message
            self.kept.append(message)

    def answer_to(self, number):
        return self.hear(lambda message: message.get("id") == number)

    def request(self, method, **params):
        self.number += 1
        self.say({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return self.number

    def begin(self):
        self.say(mcp.initialize(number="first"))
        answer = self.answer_to("first")
        if "result" in answer:
            self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def call(self, tool, **arguments):
        return self.answer_to(self.request("tools/call", name=tool, arguments=arguments))

    def text(self, tool, **arguments):
        answer = self.call(tool, **arguments)
        if "result" not in answer or answer["result"]["isError"]:
            raise AssertionError(answer)
        return mcp.text_of(answer["result"])

    def end(self):
        self.process.stdin.close()
        return self.process.wait(timeout=server.PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.end()
        finally:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdout, self.process.stderr):
                pipe.close()
