# envd's process.Process on the wire, byte by byte, through the real programs: what stock clients
# hide. Order and form of events, cut connections, several who follow, deadlines, input as a stream.
import base64
import http.client
import json
import os
import signal
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import e2b_wire
import sealed
import server
from e2b_wire import envelope
from sealed import wait_until


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


class Cut(Exception):
    """The connection ended before the stream did."""


class Stream:
    """A streaming call under way."""

    def __init__(self, sandbox, method, message, *, room=None, **headers):
        self.connection = http.client.HTTPConnection(*sandbox.client.address, timeout=server.PATIENCE)
        if room is not None:  # the kernel's, for what is not read
            self.connection.sock = socket.socket()
            self.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
            self.connection.sock.connect(sandbox.client.address)
        self.connection.request("POST", "/process.Process/" + method, envelope(message), {
            **sandbox.headers, "Content-Type": "application/connect+json", **headers})
        self.response = self.connection.getresponse()
        self.status = self.response.status
        self.kind = self.response.headers["Content-Type"]

    def read(self, size):
        data = b""
        while len(data) < size:
            try:
                more = self.response.read(size - len(data))
            except (http.client.IncompleteRead, ConnectionError) as error:
                raise Cut from error
            if not more:
                raise Cut
            data += more
        return data

    def next(self):
        """("start", {...}), ("data", {...}), ("end", {...}) and, last, ("fin", error or None)."""
        flags, size = struct.unpack(">BI", self.read(5))
        message = json.loads(self.read(size))
        if flags == 2:
            return "fin", message.get("error")
        (kind, value), = message["event"].items()
        return kind, value

    def rest(self):
        events = []
        while not events or events[-1][0] != "fin":
            events.append(self.next())
        return events

    def output(self, events):
        """What was printed, by its kind."""
        out = {}
        for kind, value in events:
            for stream, data in value.items() if kind == "data" else ():
                out[stream] = out.get(stream, b"") + base64.b64decode(data)
        return out

    def until(self, text, stream="stdout"):
        got = b""
        while text not in got:
            kind, value = self.next()
            if kind in ("end", "fin"):
                raise AssertionError((kind, value, got))
            got += base64.b64decode(value.get(stream, "")) if kind == "data" else b""
        return got

    def close(self):
        self.response.close()
        self.connection.close()


class Sandbox(e2b_wire.Sandbox):
    def call(self, method, message=None, **headers):
        return self.client.call("POST", "/process.Process/" + method, json.dumps(message or {}),
                                {**self.headers, "Content-Type": "application/json", **headers})

    def start(self, line, *, stdin=None, pty=None, tag=None, headers=None, **config):
        message = {"process": {"cmd": "/bin/bash", "args": ["-l", "-c", line], **config}}
        message.update({name: value for name, value in
                        (("stdin", stdin), ("pty", pty), ("tag", tag)) if value is not None})
        return Stream(self, "Start", message, **(headers or {}))

    def connect(self, pid, **headers):
        return Stream(self, "Connect", {"process": {"pid": pid}}, **headers)

    def run(self, line, **more):
        stream = self.start(line, **more)
        events = stream.rest()
        stream.close()
        return events, stream.output(events)

    def shell(self, line, **more):
        return self.run(line, **more)[1].get("stdout", b"").decode()

    def signal(self, pid, word="SIGNAL_SIGKILL"):
        return self.call("SendSignal", {"process": {"pid": pid}, "signal": word})

    def send(self, pid, kind, data):
        return self.call("SendInput", {"process": {"pid": pid},
                                       "input": {kind: base64.b64encode(data).decode()}})

    def pids(self):
        return [one["pid"] for one in self.call("List").json["processes"]]

    def runs(self, pid):
        return self.shell(f"kill -0 {pid} 2>/dev/null && echo yes") == "yes\n"


class InSandbox(server.Served):
    def setUp(self):
        super().setUp()
        self.sandbox = Sandbox(self.client)
        self.addCleanup(self.sandbox.kill)

    def start(self, line, **more):
        """A stream and the pid."""
        stream = self.sandbox.start(line, **more)
        self.addCleanup(stream.close)
        kind, value = stream.next()
        self.assertEqual(kind, "start", value)
        return stream, value["pid"]


class Events(InSandbox):
    def test_in_their_order_and_form(self):
        stream = self.sandbox.start("echo out; echo err >&2; exit 3", stdin=False)
        self.assertEqual((stream.status, stream.kind), (200, "application/connect+json"))
        events = stream.rest()
        self.assertEqual(events[0][0], "start")
        self.assertEqual(stream.output(events), {"stdout": b"out\n", "stderr": b"err\n"})
        self.assertEqual(events[-2:], [("end", {"exitCode": 3, "exited": True, "status": "exit status 3",
                                                "error": "exit status 3"}), ("fin", None)])
        self.assertEqual(stream.response.read(), b"")
        events, _ = self.sandbox.run("true")
        self.assertEqual(events[-2][1], {"exitCode": 0, "exited": True, "status": "exit status 0"})

    def test_the_connection_is_kept(self):
        stream = self.sandbox.start("echo 1")
        stream.rest()
        stream.response.read()
        stream.connection.request("POST", "/process.Process/List", "{}", {
            **self.sandbox.headers, "Content-Type": "application/json"})
        self.assertEqual(stream.connection.getresponse().status, 200)
        stream.close()

    def test_all_output_comes_before_the_end(self):
        _, out = self.sandbox.run("head -c 3000000 /dev/zero; head -c 1000000 /dev/zero >&2")
        self.assertEqual((len(out["stdout"]), len(out["stderr"])), (3_000_000, 1_000_000))

    def test_the_pid_is_the_one_inside(self):
        stream, pid = self.start("echo $$; sleep 60")
        self.assertEqual(stream.until(b"\n"), b"%d\n" % pid)
        self.assertTrue(self.sandbox.runs(pid))
        self.assertEqual(self.sandbox.signal(pid).status, 200)
        self.assertEqual(stream.rest(), [
            ("end", {"exitCode": -1, "exited": False, "status": "signal: killed", "error": "signal: killed"}),
            ("fin", None)])
        self.assertEqual(self.sandbox.signal(pid).status, 404)

    def test_a_kill_ends_the_stream_though_others_hold_it_open(self):
        stream, pid = self.start("setsid sleep 60 & echo up; sleep 60")
        stream.until(b"up\n")
        began = time.monotonic()
        self.sandbox.signal(pid)
        self.assertEqual(stream.rest()[0][1]["status"], "signal: killed")
        self.assertLess(time.monotonic() - began, 10)

    def test_silence_is_filled(self):
        stream, _ = self.start("sleep 60", headers={"Keepalive-Ping-Interval": "1"})
        self.assertEqual([stream.next(), stream.next()], [("keepalive", {})] * 2)


class Starting(InSandbox):
    def error(self, message, **headers):
        stream = Stream(self.sandbox, "Start", message, **headers)
        self.addCleanup(stream.close)
        self.assertEqual(stream.status, 200)
        (kind, error), = stream.rest()
        self.assertEqual(kind, "fin")
        return error["code"], error["message"]

    def test_mistakes_are_told_inside_the_stream(self):
        self.assertEqual(self.error({"process": {"cmd": "/bin/true", "cwd": "/no/such"}}),
                         ("invalid_argument", "cwd '/no/such' does not exist"))
        self.assertEqual(self.error({"process": {"cmd": "/no/such"}})[0], "invalid_argument")
        self.assertEqual(self.error({"process": {"cmd": "/etc/passwd"}})[0], "invalid_argument")
        self.assertEqual(self.error({})[0], "invalid_argument")
        basic = "Basic " + base64.b64encode(b"nobody-here:").decode()
        self.assertEqual(self.error({"process": {"cmd": "/bin/true"}}, Authorization=basic)[0], "unauthenticated")

    def test_where_as_whom_and_with_what(self):
        line = "pwd; id -un; echo $HOME $E2B_SANDBOX $E2B_SANDBOX_ID $A"
        self.assertEqual(self.sandbox.shell(line, envs={"A": "x"}),
                         f"/home/user\nuser\n/home/user true {self.sandbox.id} x\n")
        root = {"Authorization": "Basic " + base64.b64encode(b"root:").decode()}
        self.assertEqual(self.sandbox.shell(line, headers=root), f"/root\nroot\n/root true {self.sandbox.id}\n")
        self.sandbox.shell("mkdir -p ~/sub/deep")
        for cwd, expected in (("sub", "/home/user/sub"), ("~/sub/deep", "/home/user/sub/deep"), ("~", "/home/user"),
                              ("/tmp", "/tmp")):
            self.assertEqual(self.sandbox.shell("pwd", cwd=cwd), expected + "\n")

    def test_a_user_of_the_guests_own(self):
        root = {"Authorization": "Basic " + base64.b64encode(b"root:").decode()}
        self.sandbox.shell("echo eve:x:1234:1234::/srv/eve:/bin/sh >> /etc/passwd; mkdir -p /srv/eve", headers=root)
        eve = {"Authorization": "Basic " + base64.b64encode(b"eve:").decode()}
        self.assertEqual(self.sandbox.shell("id -u; pwd; echo $HOME $USER", headers=eve),
                         "1234\n/srv/eve\n/srv/eve eve\n")

    def test_words_of_the_sandbox_and_of_one_command(self):
        other = Sandbox(self.client, envVars={"S": "sandbox", "A": "sandbox"})
        self.addCleanup(other.kill)
        self.assertEqual(other.shell("echo $S $A", envs={"A": "own"}), "sandbox own\n")
        self.assertEqual(other.shell("echo $S $A"), "sandbox sandbox\n")

    def test_who_has_no_token_is_refused_outside(self):
        self.sandbox.headers["X-Access-Token"] = "ea_" + "0" * 64
        stream = self.sandbox.start("true")
        self.assertEqual((stream.status, json.loads(stream.response.read())["code"]), (401, 401))
        stream.close()
        self.assertEqual(self.sandbox.call("List").status, 401)


class Following(InSandbox):
    def test_who_leaves_kills_nothing_and_who_comes_gets_what_is_new(self):
        stream, pid = self.start("echo old; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo new; exit 7")
        stream.until(b"old\n")
        stream.close()
        self.assertIn(pid, self.sandbox.pids())
        followers = [self.sandbox.connect(pid) for _ in range(3)]
        for one in followers:
            self.addCleanup(one.close)
            self.assertEqual(one.next(), ("start", {"pid": pid}))
        self.sandbox.shell("touch /tmp/go")
        for one in followers:
            events = one.rest()
            self.assertEqual(one.output(events), {"stdout": b"new\n"})
            self.assertEqual(events[-2][1]["exitCode"], 7)
        ended = self.sandbox.connect(pid)
        self.addCleanup(ended.close)
        self.assertEqual(ended.rest(), [("start", {"pid": pid}), ("end", events[-2][1]), ("fin", None)])

    def test_what_nobody_hears_is_dropped_and_holds_up_nobody(self):
        stream, pid = self.start("head -c 5000000 /dev/zero; echo done > /tmp/done; exec sleep 60")
        stream.close()
        self.assertTrue(wait_until(lambda: self.sandbox.shell("cat /tmp/done 2>/dev/null") == "done\n", 30))
        late = self.sandbox.connect(pid)
        self.addCleanup(late.close)
        self.assertEqual(late.next()[0], "start")
        self.sandbox.signal(pid)
        self.assertEqual([kind for kind, _ in late.rest()], ["end", "fin"])

    def test_unknown_ones(self):
        stream = self.sandbox.connect(99999)
        self.addCleanup(stream.close)
        (kind, error), = stream.rest()
        self.assertEqual((kind, error["code"]), ("fin", "not_found"))
        self.assertEqual(error["message"], "process with pid 99999 not found")

    def test_a_slow_follower_slows_its_process_only(self):
        before = server.resident_bytes(self.server.info["pid"])
        stream, pid = self.start("yes | head -c 8000000")
        self.assertEqual(self.sandbox.shell("echo quick"), "quick\n")
        self.assertLess(server.resident_bytes(self.server.info["pid"]) - before, 8 << 20)
        self.assertEqual(len(stream.output(stream.rest())["stdout"]), 8_000_000)

    def test_one_that_takes_nothing_holds_up_no_end(self):
        stream, pid = self.start("read x; exec yes")
        stuck = self.sandbox.connect(pid, room=4096)
        self.addCleanup(stuck.close)
        self.assertEqual(stuck.next()[0], "start")
        events = []

        def read():
            while not events or events[-1][0] != "fin":
                kind, value = stream.next()
                events.append((kind, value if kind != "data" else None))

        reader = threading.Thread(target=read)
        reader.start()
        self.addCleanup(reader.join)
        self.sandbox.send(pid, "stdin", b"\n")
        # More than a socket holds: the one that is stuck holds up the other, or is left behind.
        self.assertTrue(wait_until(lambda: len(events) > 50, server.PATIENCE))
        self.assertEqual(self.sandbox.signal(pid).status, 200)
        reader.join(20)
        self.assertEqual([events[-2][1]["status"], events[-1]], ["signal: killed", ("fin", None)])

    def test_what_the_v1_api_started(self):
        answer = self.client.call("POST", f"/v1/sandboxes/{self.sandbox.id}/exec",
                                  {"cmd": "sleep 60", "background": True})
        pid = answer.json["pid"]
        self.assertIn(pid, self.sandbox.pids())
        other = self.sandbox.connect(pid)
        self.addCleanup(other.close)
        self.assertEqual(other.next(), ("start", {"pid": pid}))
        self.sandbox.signal(pid, "SIGNAL_SIGTERM")
        self.assertEqual(other.rest()[0][1]["status"], "signal: terminated")


class Deadlines(InSandbox):
    def test_a_command_is_killed_with_its_children(self):
        stream, pid = self.start("sleep 61 & sleep 62", headers={"Connect-Timeout-Ms": "700"})
        (kind, error), = stream.rest()
        self.assertEqual((kind, error["code"]), ("fin", "deadline_exceeded"))
        self.assertTrue(wait_until(lambda: not self.sandbox.runs(pid), 10))
        self.assertEqual(self.sandbox.shell("pgrep -x sleep | wc -l"), "0\n")

    def test_also_when_its_client_has_left(self):
        stream, pid = self.start("exec sleep 63", headers={"Connect-Timeout-Ms": "1500"})
        stream.close()
        self.assertTrue(self.sandbox.runs(pid))
        self.assertTrue(wait_until(lambda: not self.sandbox.runs(pid), 15))

    def test_of_who_follows_it_ends_the_stream_only(self):
        _, pid = self.start("sleep 60")
        other = self.sandbox.connect(pid, **{"Connect-Timeout-Ms": "300"})
        self.addCleanup(other.close)
        events = other.rest()
        self.assertEqual([events[0], events[-1][1]["code"]], [("start", {"pid": pid}), "deadline_exceeded"])
        self.assertIn(pid, self.sandbox.pids())

    def test_none_is_none(self):
        stream, pid = self.start("sleep 1; echo fine")
        self.assertEqual(stream.output(stream.rest()), {"stdout": b"fine\n"})


class Ends(InSandbox):
    def test_with_its_sandbox_the_connection_is_cut(self):
        stream, _ = self.start("echo up; sleep 60")
        stream.until(b"up\n")
        self.assertEqual(self.sandbox.kill().status, 204)
        with self.assertRaises(Cut):
            stream.rest()
        health = self.client.call("GET", "/health", headers=self.sandbox.headers)
        self.assertEqual(health.status, 502)
        refused = self.sandbox.start("true")
        self.addCleanup(refused.close)
        self.assertEqual(refused.status, 502)

    def test_with_a_pause_too_and_the_process_is_there_again(self):
        stream, pid = self.start("echo up; exec sleep 60")
        stream.until(b"up\n")
        self.assertEqual(self.client.call("POST", f"/sandboxes/{self.sandbox.id}/pause", {}).status, 204)
        with self.assertRaises(Cut):
            stream.rest()
        self.assertEqual(self.client.call("POST", f"/v2/sandboxes/{self.sandbox.id}/connect", {}).status, 201)
        self.assertIn(pid, self.sandbox.pids())
        again = self.sandbox.connect(pid)
        self.addCleanup(again.close)
        self.assertEqual(again.next(), ("start", {"pid": pid}))


class Input(InSandbox):
    def test_a_pipe_is_there_unless_it_is_not_wanted(self):
        stream, pid = self.start("cat; echo over")
        for word in (b"one ", b"", b"two\n"):
            self.assertEqual(self.sandbox.send(pid, "stdin", word).status, 200)
        self.assertEqual(stream.until(b"two\n"), b"one two\n")
        for _ in range(2):
            answer = self.sandbox.call("CloseStdin", {"process": {"pid": pid}})
            self.assertIn((answer.status, answer.body), ((200, b"{}"), (404, answer.body)))
        self.assertEqual(stream.output(stream.rest()), {"stdout": b"over\n"})
        self.assertEqual(self.sandbox.shell("cat; echo at once", stdin=False), "at once\n")

    def test_mix_ups(self):
        _, pid = self.start("sleep 60", stdin=False)
        _, terminal = self.start("sleep 60", pty={"size": {"cols": 80, "rows": 24}})
        for answer, code in ((self.sandbox.send(pid, "stdin", b"x"), "internal"),
                             (self.sandbox.send(pid, "pty", b"x"), "internal"),
                             (self.sandbox.send(terminal, "stdin", b"x"), "internal"),
                             (self.sandbox.call("CloseStdin", {"process": {"pid": terminal}}), "unknown")):
            self.assertEqual((answer.status, answer.json["code"]), (500, code))
        self.assertEqual(self.sandbox.call("CloseStdin", {"process": {"pid": pid}}).status, 200)

    def test_much_of_it(self):
        stream, pid = self.start("wc -c")
        for _ in range(8):
            self.assertEqual(self.sandbox.send(pid, "stdin", b"x" * 500_000).status, 200)
        self.sandbox.call("CloseStdin", {"process": {"pid": pid}})
        self.assertEqual(stream.output(stream.rest()), {"stdout": b"4000000\n"})

    def test_as_a_stream(self):
        stream, pid = self.start("cat")
        host, port = self.sandbox.client.address
        with socket.create_connection((host, port), timeout=server.PATIENCE) as raw:
            head = {**self.sandbox.headers, "Host": f"{host}:{port}", "Content-Type": "application/connect+json",
                    "Transfer-Encoding": "chunked"}
            raw.sendall(b"POST /process.Process/StreamInput HTTP/1.1\r\n" +
                        "".join(f"{name}: {value}\r\n" for name, value in head.items()).encode() + b"\r\n")
            raw.sendall(chunk(envelope({"start": {"process": {"pid": pid}}})))
            for word in (b"first\n", b"second\n"):
                data = base64.b64encode(word).decode()
                message = envelope({"data": {"input": {"stdin": data}}})
                raw.sendall(chunk(message[:7]) + chunk(message[7:]))
                self.assertEqual(stream.until(word), word)  # before there is more
            raw.sendall(chunk(envelope({"keepalive": {}})) + b"0\r\n\r\n")
            answer = http.client.HTTPResponse(raw)
            answer.begin()
            self.assertEqual((answer.status, answer.read()), (200, envelope(b"{}") + envelope(b"{}", 2)))

    def test_a_terminal(self):
        stream, pid = self.start("stty size; read x; stty size", pty={"size": {"cols": 91, "rows": 33}})
        stream.until(b"33 91", "pty")
        answer = self.sandbox.call("Update", {"process": {"pid": pid}, "pty": {"size": {"cols": 120, "rows": 40}}})
        self.assertEqual((answer.status, answer.body), (200, b"{}"))
        self.assertEqual(self.sandbox.send(pid, "pty", b"\n").status, 200)
        events = stream.rest()
        self.assertIn(b"40 120", stream.output(events)["pty"])
        self.assertEqual(events[-2][1]["exitCode"], 0)


class Listing(InSandbox):
    def test_what_was_asked_for(self):
        _, pid = self.start("sleep 60", envs={"K": "v"}, cwd="/tmp", tag="mine")
        (one,) = self.sandbox.call("List").json["processes"]
        self.assertEqual(one, {"pid": pid, "tag": "mine", "config": {
            "cmd": "/bin/bash", "args": ["-l", "-c", "sleep 60"], "envs": {"K": "v"}, "cwd": "/tmp"}})
        answer = self.sandbox.call("SendSignal", {"process": {"tag": "mine"}, "signal": 9})
        self.assertEqual(answer.status, 200)
        self.assertTrue(wait_until(lambda: self.sandbox.pids() == [], 10))

    def test_many_at_once_are_all_forgotten(self):
        for _ in range(5):
            streams = [self.sandbox.start(f"echo {i}") for i in range(20)]
            for i, stream in enumerate(streams):
                self.assertEqual(stream.output(stream.rest()), {"stdout": b"%d\n" % i})
                stream.close()
        listing = self.client.get(f"/v1/sandboxes/{self.sandbox.id}/processes")
        self.assertTrue(wait_until(lambda: self.client.get(
            f"/v1/sandboxes/{self.sandbox.id}/processes").json["processes"] == [], 10), listing)


class Restart(InSandbox):
    def test_what_runs_is_known_to_the_next_server(self):
        stream, pid = self.start("echo up; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo new", tag="mine",
                                 envs={"K": "v"}, headers={"Connect-Timeout-Ms": "300000"})
        stream.until(b"up\n")
        late, timed = self.start("exec sleep 60", headers={"Connect-Timeout-Ms": "1000"})
        before = self.server.info["pid"]
        os.kill(before, signal.SIGKILL)
        with self.assertRaises(Cut):
            stream.rest()
        late.close()
        self.client.close()
        self.assertTrue(wait_until(lambda: self.server.info.get("pid") not in (None, before) and self.server.is_ready_again(),
                                   server.PATIENCE), self.server.log()[-3000:])
        self.assertTrue(wait_until(lambda: self.client.call("GET", "/health", headers=self.sandbox.headers).status == 204,
                                   server.PATIENCE))
        # Its time is over, though no client asks for it.
        self.assertTrue(wait_until(lambda: timed not in [
            one["pid"] for one in self.client.get(f"/v1/sandboxes/{self.sandbox.id}/processes").json["processes"]
            if one["state"] == "running"], 15))
        listed = {one["pid"]: one for one in self.sandbox.call("List").json["processes"]}
        self.assertEqual(listed[pid], {"pid": pid, "tag": "mine", "config": {
            "cmd": "/bin/bash", "args": ["-l", "-c", "echo up; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo new"],
            "envs": {"K": "v"}, "cwd": "/home/user"}})
        again = self.sandbox.connect(pid)
        self.addCleanup(again.close)
        self.assertEqual(again.next(), ("start", {"pid": pid}))
        self.sandbox.shell("touch /tmp/go")
        self.assertEqual(again.output(again.rest()), {"stdout": b"new\n"})


if __name__ == "__main__":
    sealed.main()
