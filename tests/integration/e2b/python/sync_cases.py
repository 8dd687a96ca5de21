# The synchronous Python client.
import hashlib
import io
import os
import unittest
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone

import e2b
from e2b import Sandbox
from support import NOBODY, WAITS, Cases, at_least


def everything(pages):
    found = []
    while pages.has_next:
        found += pages.next_items()
    return found


class Commands(Cases):
    def test_output_and_exit_code(self):
        result = self.fresh().commands.run("echo out; echo err >&2")
        self.assertEqual((result.exit_code, result.stdout, result.stderr, result.error), (0, "out\n", "err\n", None))

    def test_what_fails_is_raised(self):
        with self.assertRaises(e2b.CommandExitException) as caught:
            self.fresh().commands.run("echo some; exit 7")
        self.assertEqual((caught.exception.exit_code, caught.exception.stdout), (7, "some\n"))
        self.assertEqual(caught.exception.error, "exit status 7")

    def test_callbacks(self):
        out, err = [], []
        self.fresh().commands.run("echo 1; echo 2 >&2", on_stdout=out.append, on_stderr=err.append)
        self.assertEqual(("".join(out), "".join(err)), ("1\n", "2\n"))

    def test_as_whom_where_and_with_what(self):
        sandbox = self.fresh(envs={"S": "sandbox"})
        result = sandbox.commands.run("id -un; pwd; echo $S $T", user="root", cwd="/tmp", envs={"T": "own"})
        self.assertEqual(result.stdout, "root\n/tmp\nsandbox own\n")
        self.assertEqual(sandbox.commands.run("id -un; pwd; echo [$T]").stdout, "user\n/home/user\n[]\n")

    def test_what_is_refused(self):
        sandbox = self.fresh()
        with self.assertRaises(e2b.AuthenticationException):
            sandbox.commands.run("true", user="nobody-here")
        with self.assertRaises(e2b.InvalidArgumentException):
            sandbox.commands.run("true", cwd="/no/such")

    def test_background_input_and_listing(self):
        sandbox = self.fresh()
        command = sandbox.commands.run("cat", background=True, stdin=True)
        listed = {process.pid: process for process in sandbox.commands.list()}
        self.assertEqual(listed[command.pid].cmd, "/bin/bash")
        self.assertEqual(listed[command.pid].args, ["-l", "-c", "cat"])
        self.assertIsNone(listed[command.pid].tag)
        sandbox.commands.send_stdin(command.pid, "one ä\n")
        sandbox.commands.send_stdin(command.pid, "two")
        sandbox.commands.close_stdin(command.pid)
        self.assertEqual(command.wait().stdout, "one ä\ntwo")
        self.assertNotIn(command.pid, [process.pid for process in sandbox.commands.list()])

    def test_output_by_iteration(self):
        command = self.fresh().commands.run("echo a; echo b >&2; exit 2", background=True)
        seen = list(command)
        self.assertEqual("".join(out for out, _, _ in seen if out), "a\n")
        self.assertEqual("".join(err for _, err, _ in seen if err), "b\n")
        with self.assertRaises(e2b.CommandExitException):
            command.wait()

    def test_disconnect_and_connect(self):
        sandbox = self.fresh()
        command = sandbox.commands.run(WAITS, background=True, timeout=0)
        self.assertEqual(next(iter(command))[0], "begun\n")
        command.disconnect()
        again = sandbox.commands.connect(command.pid)
        sandbox.commands.run("echo back > go")
        self.assertEqual(again.wait().stdout, "ended back\n")

    def test_kill(self):
        sandbox = self.fresh()
        command = sandbox.commands.run("sleep 300", background=True)
        self.assertTrue(command.kill())
        with self.assertRaises(e2b.CommandExitException) as caught:
            command.wait()
        self.assertEqual((caught.exception.exit_code, caught.exception.error), (-1, "signal: killed"))
        self.assertFalse(sandbox.commands.kill(command.pid))

    def test_time(self):
        sandbox = self.fresh()
        with self.assertRaises(e2b.TimeoutException):
            sandbox.commands.run("sleep 300", timeout=0.7)
        self.assertEqual(sandbox.commands.run("echo free", timeout=0).stdout, "free\n")

    def test_no_such_process(self):
        sandbox = self.fresh()
        self.assertFalse(sandbox.commands.kill(999_999))
        with self.assertRaises(e2b.NotFoundException):
            sandbox.commands.send_stdin(999_999, "x")
        with self.assertRaises(e2b.NotFoundException):
            sandbox.commands.connect(999_999)

    def test_letters_of_several_bytes(self):
        result = self.fresh().commands.run("python3 -c 'print(\"aä€😀\" * 20000, end=\"\")'")
        self.assertEqual(result.stdout, "aä€😀" * 20000)

    def test_a_sandbox_that_is_killed_under_a_command(self):
        sandbox = self.fresh()
        command = sandbox.commands.run("echo begun; sleep 300", background=True, timeout=0)
        self.assertEqual(next(iter(command))[0], "begun\n")
        sandbox.kill()
        with self.assertRaises(e2b.TimeoutException):
            command.wait()
        with self.assertRaises((e2b.TimeoutException, e2b.NotFoundException)):
            sandbox.commands.run("true")


class Terminals(Cases):
    def test_a_terminal(self):
        sandbox = self.fresh()
        terminal = sandbox.pty.create(e2b.PtySize(rows=33, cols=101), envs={"A": "b"}, cwd="/tmp", timeout=0)
        sandbox.pty.resize(terminal.pid, e2b.PtySize(rows=44, cols=122))
        sandbox.pty.send_stdin(terminal.pid, b"stty size; echo $A:$PWD; exit\n")
        screen = b"".join(data for _, _, data in terminal if data)
        self.assertIn(b"44 122", screen)
        self.assertIn(b"b:/tmp", screen)

    def test_killing_one(self):
        sandbox = self.fresh()
        terminal = sandbox.pty.create(e2b.PtySize(rows=24, cols=80))
        self.assertTrue(sandbox.pty.kill(terminal.pid))
        with self.assertRaises(e2b.CommandExitException):
            terminal.wait()
        self.assertFalse(sandbox.pty.kill(terminal.pid))

    def test_looking_at_one_again(self):
        sandbox = self.fresh()
        terminal = sandbox.pty.create(e2b.PtySize(rows=24, cols=80), timeout=0)
        terminal.disconnect()
        again = sandbox.pty.connect(terminal.pid)
        sandbox.pty.send_stdin(terminal.pid, b"echo $((40 + 2)) found; exit\n")
        self.assertIn(b"42 found", b"".join(data for _, _, data in again if data))


class Files(Cases):
    def test_text_bytes_and_streams(self):
        sandbox = self.fresh()
        written = sandbox.files.write("a/b.txt", "ä€")
        self.assertEqual((written.name, written.path), ("b.txt", "/home/user/a/b.txt"))
        self.assertEqual(sandbox.files.read("a/b.txt"), "ä€")
        data = os.urandom(1_500_000)
        sandbox.files.write("bytes", data)
        self.assertEqual(bytes(sandbox.files.read("bytes", format="bytes")), data)
        self.assertEqual(b"".join(sandbox.files.read("bytes", format="stream")), data)
        sandbox.files.write("file", io.BytesIO(data))
        self.assertEqual(sandbox.commands.run("sha256sum < file").stdout.split()[0], hashlib.sha256(data).hexdigest())

    def test_several_at_once(self):
        sandbox = self.fresh()
        written = sandbox.files.write_files([{"path": "one", "data": "1"}, {"path": "/tmp/two", "data": b"2"}])
        self.assertEqual([info.path for info in written], ["/home/user/one", "/tmp/two"])
        self.assertEqual(sandbox.commands.run("cat one /tmp/two").stdout, "12")

    def test_empty_and_compressed(self):
        sandbox = self.fresh()
        sandbox.files.write("empty", "")
        self.assertEqual(sandbox.files.read("empty"), "")
        text = "again " * 50_000
        sandbox.files.write("packed", text, gzip=True)
        self.assertEqual(sandbox.files.read("packed", gzip=True), text)

    def test_metadata(self):
        sandbox = self.fresh()
        written = sandbox.files.write("f", "x", metadata={"Kind": "a b"}, use_octet_stream=True)
        self.assertEqual(written.metadata, {"kind": "a b"})
        self.assertEqual(sandbox.files.get_info("f").metadata, {"kind": "a b"})
        sandbox.files.write("f", "y")
        self.assertIsNone(sandbox.files.get_info("f").metadata)

    def test_looking_and_listing(self):
        sandbox = self.fresh()
        sandbox.commands.run("mkdir -p d/m; printf 12345 > d/f; chmod 640 d/f; touch d/m/x; ln -s f d/l")
        entries = sandbox.files.list("d", depth=2)
        self.assertEqual([entry.path for entry in entries],
                         [f"/home/user/d/{name}" for name in ("f", "l", "m", "m/x")])
        info = sandbox.files.get_info("d/f")
        self.assertEqual((info.type, info.size, info.mode, info.permissions, info.owner, info.group),
                         (e2b.FileType.FILE, 5, 0o640, "-rw-r-----", "user", "user"))
        self.assertLess(abs(datetime.now(timezone.utc) - info.modified_time), timedelta(minutes=1))
        self.assertEqual(sandbox.files.get_info("d/l").symlink_target, "/home/user/d/f")
        self.assertEqual(sandbox.files.get_info("d/m").type, e2b.FileType.DIR)

    def test_making_moving_removing(self):
        sandbox = self.fresh()
        self.assertTrue(sandbox.files.make_dir("x/y"))
        self.assertFalse(sandbox.files.make_dir("x/y"))
        sandbox.files.write("x/y/f", "f")
        self.assertEqual(sandbox.files.rename("x/y/f", "z/g").path, "/home/user/z/g")
        self.assertTrue(sandbox.files.exists("z/g"))
        sandbox.files.remove("z")
        self.assertFalse(sandbox.files.exists("z/g"))
        sandbox.files.remove("z")

    def test_what_is_refused(self):
        sandbox = self.fresh()
        with self.assertRaises(e2b.NotFoundException):
            sandbox.files.read("/no/such")
        with self.assertRaises(e2b.NotFoundException):
            sandbox.files.list("/no/such")
        with self.assertRaises(e2b.InvalidArgumentException):
            sandbox.files.read("/home/user")
        with self.assertRaises(e2b.AuthenticationException):
            sandbox.files.read("f", user="nobody-here")

    def test_watching_by_asking(self):
        sandbox = self.fresh()
        sandbox.files.make_dir("d")
        watch = sandbox.files.watch_dir("d", recursive=True, include_entry=True)

        def seen():
            return [(event.type.value, event.name) for event in watch.get_new_events()]

        # What a call that has returned did is there: nothing is waited for.
        sandbox.files.write("d/f", "x")
        self.assertEqual(seen(), [("create", "f"), ("chmod", "f"), ("write", "f")])
        sandbox.files.write("d/sub/f", "x")
        came = seen()
        self.assertEqual([one for one in came if one[0] == "create"], [("create", "sub"), ("create", "sub/f")])
        self.assertEqual(came[-1], ("write", "sub/f"))
        sandbox.commands.run("chmod 600 d/sub/f; rm d/sub/f")
        self.assertEqual(seen(), [("chmod", "sub/f"), ("remove", "sub/f")])
        self.assertEqual(watch.get_new_events(), [])
        watch.stop()
        with self.assertRaises(e2b.SandboxException):
            watch.get_new_events()

    def test_watching_what_is_not_there(self):
        sandbox = self.fresh()
        with self.assertRaises(e2b.NotFoundException):
            sandbox.files.watch_dir("/no/such")
        sandbox.files.write("f", "x")
        with self.assertRaises(e2b.InvalidArgumentException):
            sandbox.files.watch_dir("f")

    def test_signed_addresses(self):
        sandbox = self.fresh()
        sandbox.files.write("f", "signed")
        with urllib.request.urlopen(sandbox.download_url("f")) as answer:
            self.assertEqual(answer.read(), b"signed")
        with self.assertRaises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(sandbox.download_url("f", use_signature_expiration=-5))
        self.assertEqual(caught.exception.code, 401)
        caught.exception.close()
        request = urllib.request.Request(sandbox.upload_url("up", user="root"), b"raw", method="POST",
                                         headers={"Content-Type": "application/octet-stream"})
        urllib.request.urlopen(request).close()
        self.assertEqual(sandbox.files.read("up", user="root"), "raw")


class Life(Cases):
    def test_made_looked_at_ended(self):
        sandbox = self.fresh(metadata={"a": "b c"}, timeout=100)
        info = sandbox.get_info()
        self.assertEqual((info.sandbox_id, info.template_id, info.metadata), (sandbox.sandbox_id, "base", {"a": "b c"}))
        self.assertEqual(info.state, e2b.SandboxState.RUNNING)
        self.assertLess(abs(info.end_at - info.started_at - timedelta(seconds=100)), timedelta(seconds=2))
        self.assertTrue(sandbox.is_running())
        self.assertTrue(sandbox.kill())
        self.assertFalse(sandbox.is_running())
        self.assertFalse(Sandbox.kill(sandbox.sandbox_id))
        with self.assertRaises(e2b.NotFoundException):
            sandbox.get_info()

    def test_with(self):
        with Sandbox.create("base", timeout=60) as sandbox:
            self.assertEqual(sandbox.commands.run("echo in").stdout, "in\n")
        self.assertFalse(sandbox.is_running())

    def test_time(self):
        sandbox = self.fresh()
        sandbox.set_timeout(500)
        left = sandbox.get_info().end_at - datetime.now(timezone.utc)
        self.assertLess(abs(left - timedelta(seconds=500)), timedelta(seconds=5))

    def test_pause_and_connect(self):
        sandbox = self.fresh()
        sandbox.files.write("f", "kept")
        command = sandbox.commands.run("sleep 300", background=True, timeout=0)
        sandbox.pause()
        self.assertEqual(sandbox.get_info().state, e2b.SandboxState.PAUSED)
        self.assertFalse(sandbox.is_running())
        same = Sandbox.connect(sandbox.sandbox_id, timeout=60)
        self.assertEqual(same.files.read("f"), "kept")
        self.assertIn(command.pid, [process.pid for process in same.commands.list()])
        self.assertEqual(sandbox.files.read("f"), "kept")

    def test_what_is_not_there(self):
        for call in (Sandbox.connect, Sandbox.get_info, Sandbox.pause, Sandbox.get_metrics):
            with self.assertRaises(e2b.NotFoundException, msg=call):
                call(NOBODY)
        self.assertFalse(Sandbox.kill(NOBODY))
        with self.assertRaises(e2b.SandboxException):
            Sandbox.create("no-such-template")

    def test_keys(self):
        with self.assertRaises(e2b.AuthenticationException):
            Sandbox.create("base", api_key="e2b_" + "0" * 40)

    def test_lists(self):
        metadata = {"only": f"{os.getpid()} sync &="}
        made = [self.fresh(metadata=metadata) for _ in range(3)]
        made[0].pause()
        query = e2b.SandboxQuery(metadata=metadata)
        ids = [info.sandbox_id for info in everything(Sandbox.list(query=query, limit=2))]
        self.assertEqual(ids, [sandbox.sandbox_id for sandbox in reversed(made)])
        for state, expected in ((e2b.SandboxState.PAUSED, made[:1]), (e2b.SandboxState.RUNNING, made[:0:-1])):
            found = everything(Sandbox.list(query=e2b.SandboxQuery(metadata=metadata, state=[state])))
            self.assertEqual([info.sandbox_id for info in found], [sandbox.sandbox_id for sandbox in expected])

    def test_metrics(self):
        metrics = self.fresh().get_metrics()[-1]
        self.assertGreater(metrics.mem_total, 0)
        self.assertGreater(metrics.cpu_count, 0)

    def test_snapshots(self):
        sandbox = self.fresh()
        sandbox.files.write("f", "kept")
        made = sandbox.create_snapshot()
        try:
            copy = self.fresh(made.snapshot_id)
            self.assertEqual(copy.files.read("f"), "kept")
            self.assertEqual([one.snapshot_id for one in everything(sandbox.list_snapshots())], [made.snapshot_id])
        finally:
            self.assertTrue(Sandbox.delete_snapshot(made.snapshot_id))
        self.assertFalse(Sandbox.delete_snapshot(made.snapshot_id))

    def test_forks(self):
        sandbox = self.fresh()
        sandbox.files.write("f", "common")
        for fork in sandbox.fork(count=2, timeout=60):
            self.addCleanup(fork.kill)
            self.assertEqual(fork.files.read("f"), "common")

    def test_auto_pause(self):
        sandbox = self.fresh(lifecycle={"on_timeout": "pause", "auto_resume": True})
        self.assertEqual(sandbox.get_info().lifecycle, {"on_timeout": "pause", "auto_resume": True})
        sandbox.pause()
        self.assertEqual(sandbox.commands.run("echo awake").stdout, "awake\n")

    @unittest.skipUnless(at_least("2.60.0"), "newer clients only")
    def test_pause_without_memory(self):
        sandbox = self.fresh(lifecycle={"on_timeout": {"action": "pause", "mode": "filesystem"}})
        for pause in (lambda: sandbox.pause(mode="filesystem"), lambda: sandbox.set_timeout(0)):
            sandbox.files.write("f", "kept")
            command = sandbox.commands.run("sleep 300", background=True, timeout=0)
            pause()
            self.assertEqual(sandbox.get_info().state, e2b.SandboxState.PAUSED)
            sandbox.connect(timeout=60)
            self.assertEqual(sandbox.commands.list(), [])
            self.assertFalse(sandbox.commands.kill(command.pid))
            self.assertEqual(sandbox.files.read("f"), "kept")
        command = sandbox.commands.run("sleep 300", background=True, timeout=0)
        sandbox.pause()
        sandbox.connect(timeout=60, on_resume="reboot")
        self.assertEqual(sandbox.commands.list(), [])

    def test_mcp_without_a_gateway(self):
        with self.assertRaisesRegex(e2b.SandboxException, "Failed to start MCP gateway: .*mcp-gateway"):
            Sandbox.create(mcp={"exa": {"apiKey": "x"}}, metadata={"marked": "mcp"})
        query = e2b.SandboxQuery(metadata={"marked": "mcp"})
        self.assertEqual(Sandbox.list(query=query).next_items(), [])

    @unittest.skipUnless(at_least("2.60.0"), "newer clients only")
    def test_a_creation_that_is_repeated(self):
        word = f"key-{os.getpid()}"
        one = self.fresh(idempotency_key=word)
        two = self.fresh(idempotency_key=word)
        self.assertEqual(one.sandbox_id, two.sandbox_id)

    def test_templates(self):
        self.assertTrue(e2b.Template.exists("base"))
        self.assertFalse(e2b.Template.exists("no-such-template"))
        for refused in (lambda: e2b.Template.assign_tags("base", ["a"]), lambda: e2b.Template.remove_tags("base", ["a"]),
                        lambda: e2b.Template.get_tags("base")):
            with self.assertRaisesRegex(Exception, "501"):
                refused()


if __name__ == "__main__":
    unittest.main()
