# `glovebox serve` by itself: it keeps a launcher and a server running, whichever of the three is
# killed. Stand-ins take the place of the other two; what they do is in tests/support/stand_ins.py.
import json
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes
import sealed
import server
import stand_ins
from processes import is_alive
from sealed import glovebox, start, wait_until


class TestCase(sealed.TestCase):
    has_gateway = False

    def setUp(self):
        super().setUp()
        self.libexec = stand_ins.install(self.directory(), self.has_gateway)
        self.data = self.directory()
        self.env = {"GLOVEBOX_LIBEXEC": self.libexec}
        self.words = ["serve", "--data-dir", self.data, "--listen", "127.0.0.1:0"]
        self.started = []
        self.addCleanup(self.end_everything)

    def end_everything(self):
        for name in ("stubborn", "refuse"):
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))
        for process in self.started:
            if process.poll() is None:
                process.kill()
        # Not by --stop, which is what is tested here.
        for name in ("server", "launcher", "gateway"):
            processes.kill({event["pid"] for event in stand_ins.events(self.data, name)})
        for process in self.started:
            process.wait(timeout=20)
            process.stdout.close()
            process.stderr.close()

    def path(self, name):
        return os.path.join(self.data, name)

    def write(self, name, content=b""):
        with open(self.path(name), "wb") as file:
            file.write(content)

    def serve(self, *more, **options):
        process = start(*self.words, *more, env=self.env, **options)
        self.started.append(process)
        return process

    def info(self):
        try:
            with open(self.path("serve.json")) as file:
                return json.load(file)
        except FileNotFoundError:
            return None

    def up(self, condition=lambda info: True):
        """serve.json, once it is there and as wanted."""
        found = wait_until(lambda: (info := self.info()) and condition(info) and info)
        self.assertTrue(found, (self.info(), stand_ins.events(self.data, "server"),
                                stand_ins.events(self.data, "launcher")))
        return found

    def events(self, name, kind):
        return [event for event in stand_ins.events(self.data, name) if event["event"] == kind]

    def wait_for_events(self, name, kind, count):
        found = wait_until(lambda: len(self.events(name, kind)) >= count)
        self.assertTrue(found, stand_ins.events(self.data, name))
        return self.events(name, kind)

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        out, err = self.finish(process)
        self.assertEqual(process.returncode, 0, err)
        return out, err

    def kill(self, process):
        process.kill()
        self.finish_killed(process)

    def finish_killed(self, process):
        # Not communicate(): the two that live on have its standard error too.
        process.wait(timeout=20)
        process.stdout.close()
        process.stderr.close()

    def assert_url_answers(self, url):
        host, port = url.removeprefix("http://").rsplit(":", 1)
        socket.create_connection((host, int(port)), timeout=20).close()


class Serve(TestCase):
    """Without a gateway everything else works."""

    # --- starting and stopping ------------------------------------------------------------------

    def test_starts_both_introduces_them_and_says_where(self):
        process = self.serve()
        info = self.up()
        self.assertEqual(sorted(info), ["gateway_pid", "launcher_pid", "pid", "supervisor_pid",
                                        "url", "version"])
        self.assertEqual(info["supervisor_pid"], process.pid)
        self.assertTrue(is_alive(info["pid"]) and is_alive(info["launcher_pid"]))
        self.assertNotEqual(info["pid"], info["launcher_pid"])
        self.assert_url_answers(info["url"])
        self.assertEqual(os.stat(self.path("serve.json")).st_mode & 0o777, 0o644)
        handed = self.wait_for_events("server", "message", 1)
        self.assertEqual([(one["text"], one["fds"]) for one in handed], [("L", 1)])
        # Its first byte is the protocol's version; nothing but "become server" was said.
        said = self.wait_for_events("launcher", "message", 1)
        self.assertEqual(len(said), 1)
        out, _ = self.stop(process)
        for word in (info["url"], self.path("admin.key"), "curl", "glovebox run --server"):
            self.assertIn(word.encode(), out)
        self.assertIsNone(self.info())
        self.assertEqual(len(self.events("server", "stop")), 1)
        self.assertEqual(len(self.events("launcher", "stop")), 1)

    def test_the_server_is_told_the_settings_as_they_were_resolved(self):
        self.env["GLOVEBOX_POOLS_MAX"] = "7"
        self.serve("--set", "pools.max_sandboxes=3", "--set", "log.level=warn")
        self.up()
        [begun] = self.events("server", "start")
        self.assertEqual(begun["args"][:4], ["serve", "--control-fd", "3", "--no-config"])
        for word in ("pools.max=7", "pools.max_sandboxes=3", "log.level=warn", f"server.data_dir={self.data}",
                     "server.listen=127.0.0.1:0"):
            self.assertIn(word, begun["args"])
        self.assertNotIn("GLOVEBOX_POOLS_MAX", begun["environment"])

    def test_neither_inherits_a_descriptor_or_the_terminal(self):
        stray = os.open("/etc/hostname", os.O_RDONLY)
        try:
            process = self.serve(pass_fds=[stray])
        finally:
            os.close(stray)
        self.up()
        [server], [launcher] = self.events("server", "start"), self.events("launcher", "start")
        self.assertEqual(server["fds"], [0, 1, 2, 3])
        self.assertEqual(launcher["fds"], [0, 1, 2])
        for one in (server, launcher):
            self.assertEqual(one["stdin"], "/dev/null")
            self.assertEqual(one["session"], one["pid"])
        self.stop(process)

    def test_the_server_stops_before_the_launcher(self):
        process = self.serve()
        self.up()
        self.write("stubborn")
        process.send_signal(signal.SIGINT)
        self.wait_for_events("server", "stubborn", 1)
        self.assertEqual(self.events("launcher", "stop"), [])
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)  # the second one: at once
        self.finish(process)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(len(self.events("launcher", "stop")), 1)

    def test_a_server_that_does_not_stop_is_killed_in_the_end(self):
        process = self.serve("--set", "server.stop_timeout=100ms")
        self.up()
        self.write("stubborn")
        self.stop(process)

    def test_hup_reaches_both(self):
        process = self.serve()
        self.up()
        process.send_signal(signal.SIGHUP)
        self.wait_for_events("server", "hup", 1)
        self.wait_for_events("launcher", "hup", 1)
        self.stop(process)

    def test_gives_up_when_the_server_cannot_start_at_all(self):
        self.write("refuse")
        process = self.serve()
        _, err = self.finish(process)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"the port is taken", err)
        self.assertIn(b"the server does not start", err)
        self.assertIsNone(self.info())

    def test_gives_up_when_there_is_no_launcher(self):
        with open(os.path.join(self.libexec, "glovebox-launcher"), "w") as file:
            file.write("#!/bin/sh\necho no kernel for this >&2\nexit 1\n")
        process = self.serve()
        _, err = self.finish(process)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"the launcher does not start", err)

    def test_a_directory_that_others_can_write_is_refused(self):
        os.chmod(self.data, 0o777)
        ran = glovebox(*self.words, env=self.env)
        self.assertEqual(ran.returncode, 1)
        self.assert_one_line(ran.stderr)

    def test_works_for_an_ordinary_user(self):
        for path in (self.data, self.libexec):
            os.chown(path, 65534, 65534)
        self.env["HOME"] = self.data
        process = self.serve(user=65534, group=65534, extra_groups=[])
        info = self.up()
        self.assertEqual(set(processes.living(info["pid"]).uids), {65534})
        self.stop(process)

    # --- one of the programs is killed ----------------------------------------------------------

    def test_a_killed_launcher_is_started_again_and_handed_over(self):
        process = self.serve()
        before = self.up()
        os.kill(before["launcher_pid"], signal.SIGKILL)
        after = self.up(lambda info: info["launcher_pid"] != before["launcher_pid"])
        self.assertEqual(after["pid"], before["pid"])
        self.assertEqual(after["url"], before["url"])
        self.assertEqual(len(self.wait_for_events("server", "message", 2)), 2)
        self.stop(process)

    def test_a_killed_server_is_started_again_at_the_same_address(self):
        process = self.serve()
        before = self.up()
        self.wait_for_events("server", "message", 1)
        os.kill(before["pid"], signal.SIGKILL)
        after = self.up(lambda info: info["pid"] != before["pid"])
        self.assertEqual(after["url"], before["url"])
        self.assertEqual(after["launcher_pid"], before["launcher_pid"])
        self.assert_url_answers(after["url"])
        handed = self.wait_for_events("server", "message", 2)
        self.assertEqual([one["pid"] for one in handed], [before["pid"], after["pid"]])
        self.stop(process)

    def test_one_that_keeps_dying_is_started_ever_more_slowly(self):
        self.write("crashes", b"4")
        process = self.serve()
        self.up()
        times = [event["at"] for event in self.events("server", "start")]
        gaps = [later - earlier for earlier, later in zip(times, times[1:])]
        self.assertEqual(len(gaps), 4)
        for gap, least in zip(gaps, (0.1, 0.2, 0.4, 0.8)):
            self.assertGreater(gap, least * 0.8, gaps)  # between two starts as they see it
        self.stop(process)

    def test_a_server_that_lost_its_launcher_gets_another_connection(self):
        process = self.serve()
        info = self.up()
        os.kill(info["pid"], signal.SIGUSR1)
        self.assertEqual(len(self.wait_for_events("server", "message", 2)), 2)
        self.assertEqual(self.info(), info)
        self.stop(process)

    def test_a_server_that_asks_is_given_what_doctor_finds(self):
        process = self.serve()
        info = self.up()
        for count in (1, 2):  # again for a server that asks again
            os.kill(info["pid"], signal.SIGWINCH)
            report = json.loads(self.wait_for_events("server", "doctor", count)[-1]["report"])
            self.assertEqual(sorted(report), ["engines", "findings", "kernel"])
            self.assertIn("namespaces", {finding["area"] for finding in report["findings"]})
        self.assertEqual(self.info(), info)
        self.stop(process)

    def test_a_launcher_that_does_not_understand_the_server_is_replaced(self):
        self.write("foreign")
        process = self.serve()
        first = self.up()
        os.unlink(self.path("foreign"))
        second = self.up(lambda info: info["launcher_pid"] != first["launcher_pid"])
        self.assertEqual(second["pid"], first["pid"])
        self.assertFalse(is_alive(first["launcher_pid"]))
        self.stop(process)

    def test_odd_words_of_the_server_are_not_repeated(self):
        for words in (b'R{"url":"http://\x1b[2J"}', b"R" + b"[" * 4000, b"R" * 100000, b"X", b"R{}"):
            with self.subTest(words=words[:20]):
                self.write("odd_words", words)
                process = self.serve()
                info = self.up()  # it closes that channel, and listens to the next
                self.assertRegex(info["url"], r"^http://127\.0\.0\.1:[0-9]+$")
                out, _ = self.stop(process)
                self.assertNotIn(b"\x1b", out)

    # --- adoption -------------------------------------------------------------------------------

    def test_a_new_supervisor_adopts_both(self):
        first = self.serve()
        before = self.up()
        self.wait_for_events("server", "message", 1)
        self.kill(first)
        self.wait_for_events("server", "alone", 1)
        self.assertTrue(is_alive(before["pid"]) and is_alive(before["launcher_pid"]))
        second = self.serve()
        after = self.up(lambda info: info["supervisor_pid"] == second.pid)
        self.assertEqual({**after, "supervisor_pid": 0}, {**before, "supervisor_pid": 0})
        self.wait_for_events("server", "channel", 1)
        self.assertEqual(len(self.events("server", "message")), 1)  # it has its launcher still
        # And it keeps them as its own.
        os.kill(before["pid"], signal.SIGKILL)
        again = self.up(lambda info: info["pid"] != before["pid"])
        self.assertEqual(again["launcher_pid"], before["launcher_pid"])
        self.stop(second)
        self.assertFalse(is_alive(before["launcher_pid"]))

    def test_a_new_supervisor_gives_an_adopted_server_a_new_launcher(self):
        first = self.serve()
        before = self.up()
        self.kill(first)
        os.kill(before["launcher_pid"], signal.SIGKILL)
        self.wait_for_events("server", "launcher lost", 1)
        second = self.serve()
        after = self.up(lambda info: info["supervisor_pid"] == second.pid)
        self.assertEqual(after["pid"], before["pid"])
        self.assertNotEqual(after["launcher_pid"], before["launcher_pid"])
        self.assertEqual(len(self.wait_for_events("server", "message", 2)), 2)
        self.stop(second)

    def test_a_new_supervisor_gives_an_adopted_launcher_a_new_server(self):
        first = self.serve()
        before = self.up()
        self.kill(first)
        os.kill(before["pid"], signal.SIGKILL)
        second = self.serve()
        # It may meet the dying one first.
        after = self.up(lambda info: info["supervisor_pid"] == second.pid
                        and info["pid"] != before["pid"])
        self.assertEqual(after["launcher_pid"], before["launcher_pid"])
        self.stop(second)

    def test_a_second_one_says_that_one_is_running(self):
        process = self.serve()
        info = self.up()
        ran = glovebox(*self.words, env=self.env)
        self.assertEqual(ran.returncode, 1)
        self.assert_one_line(ran.stderr)
        self.assertIn(str(process.pid).encode(), ran.stderr)
        self.assertIn(info["url"].encode(), ran.stderr)
        self.assertEqual(self.info(), info)
        self.stop(process)

    # --- --stop ---------------------------------------------------------------------------------

    def ask_to_stop(self):
        ran = glovebox("serve", "--stop", "--data-dir", self.data, env=self.env)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def test_stop_ends_a_running_supervisor(self):
        process = self.serve()
        info = self.up()
        self.assertEqual(self.ask_to_stop(), b"stopped\n")
        self.finish(process)
        self.assertEqual(process.returncode, 0)
        self.assertFalse(is_alive(info["pid"]) or is_alive(info["launcher_pid"]))

    def test_stop_ends_what_a_killed_supervisor_left(self):
        process = self.serve()
        info = self.up()
        self.kill(process)
        self.assertEqual(self.ask_to_stop(), b"stopped\n")
        self.assertFalse(is_alive(info["pid"]) or is_alive(info["launcher_pid"]))
        self.assertIsNone(self.info())

    def test_stop_does_not_believe_pids_in_a_file(self):
        bystander = subprocess.Popen(["sleep", "1000"])
        try:
            self.write("serve.json", json.dumps({
                "url": "http://127.0.0.1:1", "pid": bystander.pid, "launcher_pid": bystander.pid,
                "supervisor_pid": bystander.pid}).encode())
            self.assertEqual(self.ask_to_stop(), b"nothing was running\n")
            self.assertIsNone(bystander.poll())
        finally:
            bystander.kill()
            bystander.wait()


class Gateway(TestCase):
    has_gateway = True

    def up(self, condition=lambda info: True):
        return super().up(lambda info: info["gateway_pid"] and condition(info))

    def handed(self, count):
        found = wait_until(lambda: len([one for one in self.events("server", "message") if one["text"] == "G"]) >= count)
        self.assertTrue(found, stand_ins.events(self.data, "server"))

    def test_it_is_told_the_settings_and_the_port_and_handed_to_the_server(self):
        process = self.serve("--set", "net.ceiling=https-only")
        info = self.up()
        self.handed(1)
        (started,) = self.events("gateway", "start")
        args = started["args"]
        self.assertEqual(args[:3], ["serve", "--listen", self.path("gateway.sock")])
        self.assertEqual(args[args.index("--server-port") + 1], info["url"].rsplit(":", 1)[1])
        self.assertIn("net.ceiling=https-only", args)
        self.assertEqual(started["fds"], [0, 1, 2])
        self.stop(process)
        self.assertEqual(len(self.events("gateway", "stop")), 1)
        self.assertFalse(is_alive(info["gateway_pid"]))

    def test_a_killed_one_is_started_again_and_handed_over(self):
        process = self.serve()
        before = self.up()
        self.handed(1)
        os.kill(before["gateway_pid"], signal.SIGKILL)
        after = self.up(lambda info: info["gateway_pid"] != before["gateway_pid"])
        self.handed(2)
        self.assertEqual((after["pid"], after["launcher_pid"]), (before["pid"], before["launcher_pid"]))
        self.stop(process)

    def test_a_server_that_lost_it_gets_another_connection(self):
        process = self.serve()
        info = self.up()
        self.handed(1)
        os.kill(info["pid"], signal.SIGUSR2)
        self.handed(2)
        self.assertEqual(self.up()["gateway_pid"], info["gateway_pid"])
        self.stop(process)

    def test_a_new_supervisor_adopts_it_and_hands_it_over_again(self):
        first = self.serve()
        before = self.up()
        self.handed(1)
        self.kill(first)
        self.wait_for_events("server", "alone", 1)
        second = self.serve()
        after = self.up(lambda info: info["supervisor_pid"] == second.pid)
        self.assertEqual(after["gateway_pid"], before["gateway_pid"])
        # To look for it is to be its newest client, so the server has lost it.
        self.handed(2)
        self.stop(second)
        self.assertFalse(is_alive(before["gateway_pid"]))

    def test_one_that_was_told_other_bounds_is_replaced(self):
        first = self.serve()
        before = self.up()
        self.handed(1)
        self.kill(first)
        self.wait_for_events("server", "alone", 1)
        second = self.serve("--set", "net.ceiling=none")
        self.up(lambda info: info["gateway_pid"] != before["gateway_pid"])
        self.assertIn("net.ceiling=none", self.wait_for_events("gateway", "start", 2)[-1]["args"])
        self.handed(2)
        self.stop(second)

    def test_stop_ends_what_a_killed_supervisor_left(self):
        first = self.serve()
        info = self.up()
        self.handed(1)
        self.kill(first)
        ran = glovebox("serve", "--data-dir", self.data, "--stop", env=self.env)
        self.assertEqual((ran.returncode, ran.stdout), (0, b"stopped\n"), ran.stderr)
        self.assertFalse(is_alive(info["gateway_pid"]))


class Log(server.Served):
    settings = {"log.format": "json", "log.requests": "true"}

    def json_lines(self):
        """The log's whole lines that are JSON, and the others: standard output is in there as well."""
        lines, printed = [], []
        for line in self.server.log().splitlines(keepends=True):
            if not line.endswith("\n"):
                break  # still being written
            lines.append(json.loads(line)) if line.startswith("{") else printed.append(line)
        return lines, printed

    def test_every_line_of_every_program_is_an_object_with_its_time(self):
        self.client.get("/v1/keys?project=%22%0a%ff")  # bytes of a client, in a field
        # Each program logs at its own pace: the gateway's line may come after the server's.
        wanted = {"request", "gateway serving"}
        seen = lambda: wanted <= {line["message"] for line in self.json_lines()[0]}
        self.assertTrue(wait_until(seen, 20), self.server.log()[-2000:])
        lines, printed = self.json_lines()
        self.assertFalse([line for line in printed if "glovebox info:" in line or "glovebox warn:" in line], printed)
        for line in lines:
            self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertIn(line["level"], ("debug", "info", "warn"))
            self.assertTrue(all(isinstance(value, str) for name, value in line.items() if name != "cut"), line)


if __name__ == "__main__":
    sealed.main()
