# The commands for sessions as a stranger types them: sandbox, exec, shell, cp, code, logs, top,
# completion; their output, exit statuses and bad input.
import json
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import fcntl
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server
from sealed import wait_until


class Typed(server.Served):
    def glovebox(self, *words, stdin=b"", status=0):
        done = subprocess.run([sealed.GLOVEBOX, *words], input=stdin, capture_output=True, timeout=server.PATIENCE,
                              env=self.environment())
        if status is not None:
            self.assertEqual(done.returncode, status, (words, done.stdout[-2000:], done.stderr[-2000:]))
        return done

    def environment(self):
        return sealed.environment({"GLOVEBOX_URL": self.server.url, "GLOVEBOX_API_KEY": self.server.key,
                                   "TERM": "xterm"})

    def create(self, *words):
        made = self.glovebox("sandbox", "create", *words).stdout.decode().strip()
        self.assertRegex(made, r"^sb[a-z0-9]{20}$")
        self.addCleanup(self.glovebox, "sandbox", "kill", made, status=None)
        return made

    def json_of(self, *words, **more):
        return json.loads(self.glovebox(*words, "--json", **more).stdout)


class Cli(Typed):
    def test_a_life(self):
        one = self.create("--template", "python", "--ttl", "5m", "--metadata", "who=test", "--env", "GREETING=hello")
        shown = self.json_of("sandbox", "show", one)
        self.assertEqual((shown["state"], shown["template"], shown["metadata"], shown["ttl_s"]),
                         ("running", "python", {"who": "test"}, 300))
        listed = self.json_of("sandbox", "list", "--metadata", "who=test")["sandboxes"]
        self.assertEqual([each["id"] for each in listed], [one])
        self.assertIn(one, self.glovebox("sandbox", "list").stdout.decode())
        self.assertEqual(self.glovebox("exec", one, "--", "sh", "-c", "echo $GREETING").stdout, b"hello\n")
        self.assertEqual(self.json_of("sandbox", "pause", one)["state"], "paused")
        said = f"the sandbox is paused; `glovebox sandbox resume {one}` resumes it, and so does --resume"
        for words, status in ((["exec", one, "--", "true"], 125), (["exec", "--json", one, "true"], 125), (["code", one, "-c", "1"], 125),
                              (["code", "--json", one, "-c", "1"], 125), (["cp", f"{one}:/etc/hostname", "-"], 1), (["cp", "-", f"{one}:x"], 1)):
            self.assertEqual(self.glovebox(*words, status=status).stderr.decode(), f"glovebox: {said}\n", words)
        self.assertEqual(self.json_of("sandbox", "resume", one)["state"], "running")
        for words in (["exec", "--resume", one, "echo", "awake"], ["exec", "--resume", one, "--shell", "echo awake"],
                      ["code", "--resume", one, "-c", "print('awake')"], ["cp", "--resume", f"{one}:awake", "-"]):
            if words[0] == "cp":
                self.glovebox("cp", "-", f"{one}:awake", stdin=b"awake\n")
            self.assertEqual(self.json_of("sandbox", "pause", one)["state"], "paused")
            self.assertEqual(self.glovebox(*words).stdout, b"awake\n", words)
        self.assertEqual(self.glovebox("exec", "--resume", one, "echo", "awake").stdout, b"awake\n")  # it was not paused
        self.assertEqual(self.json_of("sandbox", "pause", one)["state"], "paused")
        self.assertEqual(self.json_of("sandbox", "resume", one)["state"], "running")
        self.assertEqual(self.json_of("sandbox", "keepalive", one, "--ttl", "10m")["ttl_s"], 600)
        self.assertIn(one, self.glovebox("top", "--once").stdout.decode())
        self.assertEqual(self.glovebox("sandbox", "kill", one).stdout.decode(), f"killed {one}\n")
        self.assertEqual(self.json_of("sandbox", "show", one)["state"], "stopped")
        self.glovebox("sandbox", "kill", one, status=1)

    def test_exec_has_streams_and_status(self):
        one = self.create()
        done = self.glovebox("exec", one, "--", "sh", "-c", "cat; echo err >&2; exit 7", stdin=b"in\x00\xff", status=7)
        self.assertEqual((done.stdout, done.stderr), (b"in\x00\xff", b"err\n"))
        self.assertEqual(self.glovebox("exec", one, "--shell", "id -un; pwd").stdout, b"user\n/home/user\n")
        self.assertEqual(self.glovebox("exec", "--user", "root", one, "--shell", "id -u; pwd").stdout, b"0\n/root\n")
        self.assertEqual(self.glovebox("exec", "--cwd", "/tmp", "--env", "A=b", one, "--shell", "pwd; echo $A").stdout,
                         b"/tmp\nb\n")
        self.glovebox("exec", one, "--", "sh", "-c", "kill -9 $$", status=137)
        self.assertIn(b'there is no user "sam" inside', self.glovebox("exec", "--user", "sam", one, "id", status=125).stderr)
        self.assertIn(b"directory /nowhere: No such file",
                      self.glovebox("exec", "--cwd", "/nowhere", one, "id", status=125).stderr)

    def test_exec_ends_like_others_when_its_reader_has_gone(self):
        one = self.create()
        process = subprocess.Popen([sealed.GLOVEBOX, "exec", one, "yes"], env=self.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.read(2), b"y\n")
        process.stdout.close()
        self.assertEqual((process.wait(timeout=server.PATIENCE), process.stderr.read()), (141, b""))
        process.stderr.close()
        self.glovebox("exec", "--timeout", "300ms", one, "--", "sleep", "100", status=124)
        answer = self.json_of("exec", one, "--shell", "echo out; exit 3", status=3)
        self.assertEqual((answer["stdout"], answer["exit_code"]), ("out\n", 3))
        big = self.glovebox("exec", one, "--", "head", "-c", "20000000", "/dev/zero")
        self.assertEqual(len(big.stdout), 20000000)

    def test_exec_needs_no_separator(self):
        one = self.create()
        self.assertEqual(self.glovebox("exec", one, "echo", "--json", "-t", "--", "x").stdout, b"--json -t -- x\n")
        self.assertEqual(self.glovebox("exec", "-i", one, "cat", stdin=b"typed").stdout, b"typed")
        self.assertEqual(self.glovebox("exec", one, "--cwd", "/tmp", "pwd").stdout, b"/tmp\n")
        self.assertEqual(self.glovebox("exec", "--workdir", "/tmp", one, "pwd").stdout, b"/tmp\n")

    def test_a_program_that_is_not_there(self):
        one = self.create()
        for words in (("no-such-program",), ("--json", "no-such-program"), ("-d", "no-such-program"),
                      ("--", "/no/such-program")):
            with self.subTest(words=words):
                done = self.glovebox("exec", one, *words, status=127)
                self.assertRegex(done.stderr.decode(), r"^glovebox: program not found: (/no/|no-)such-program\n$")
        done = self.glovebox("exec", one, "/etc/passwd", status=126)
        self.assertEqual(done.stderr, b"glovebox: program is not executable: /etc/passwd\n")

    def test_a_program_that_is_out_of_time(self):
        one = self.create()
        done = self.glovebox("exec", "--timeout", "300ms", one, "sleep", "100", status=124)
        self.assertEqual(done.stderr, b"glovebox: timed out after 0.3 s\n")

    def test_a_server_that_is_not_there_is_named_as_it_was_typed(self):
        for option in ("--server", "--url"):
            done = self.glovebox("sandbox", "list", option, "http://127.0.0.1:1", status=125)
            self.assertIn(f"(the address is from {option})", done.stderr.decode())

    def test_detach_and_attach(self):
        one = self.create()
        number = self.glovebox("exec", "-d", one, "--shell", "echo started; sleep 0.5; echo done; exit 5").stdout.decode().strip()
        done = self.glovebox("exec", "--attach", number, one, status=5)
        self.assertEqual(done.stdout, b"started\ndone\n")

    def test_bad_input(self):
        one = self.create()
        for words, said in (
                (("exec", one), "exactly one of"), (("exec", "--", "true"), "glovebox exec"),
                (("exec", "--nonsense", one, "--", "true"), "unknown option"), (("exec", "--env", "A", one, "--", "true"), "NAME=VALUE"),
                (("sandbox",), "missing subcommand: create"), (("sandbox", "create", "--ttl", "soon"), "--ttl"),
                (("sandbox", "create", "--memory", "1"), "--memory"), (("cp", "a"), "glovebox cp"),
                (("cp", "/etc/hostname", "/tmp/x"), "ID:PATH"), (("shell",), "glovebox shell"),
                (("shell", one), "not a terminal; use `glovebox exec"), (("exec", "-t", one, "true"), "--tty: standard input is not a terminal"),
                (("runs", "--limit", "0"), "--limit must be a whole number from 1 to"), (("runs", "--status", "sunny"), "one of ok, failed, timed_out"),
                (("sandbox", "list", "--server", "ftp://x"), "--server: "), (("sandbox", "list", "--url", "ftp://x"), "--url: "), (("logs",), "glovebox logs"), (("top", "now"), "unexpected argument 'now'"),
                (("code",), "glovebox code"), (("completion", "tcsh"), "bash")):
            with self.subTest(words=words):
                done = self.glovebox(*words, status=2)
                self.assertIn(said, done.stderr.decode())
                self.assertEqual(done.stdout, b"")
                self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        for words, status in ((("sandbox", "show", "sbnone"), 1), (("exec", "sb" + "a" * 20, "--", "true"), 125),
                              (("sandbox", "create", "--template", "nonsense"), 1), (("exec", one, "--", "/no/such"), 127),
                              (("exec", "--cwd", "/no/such", one, "--", "true"), 125), (("exec", "--cwd", "/etc/passwd", one, "true"), 125),
                              (("logs", "sb" + "a" * 20), 1), (("exec", "--user", "nobody-there", one, "--", "true"), 125)):
            with self.subTest(words=words):
                done = self.glovebox(*words, status=status)
                self.assertTrue(done.stderr.startswith(b"glovebox: "), done.stderr)

    def test_cp(self):
        one = self.create()
        with tempfile.TemporaryDirectory(prefix="gbx-test-") as here:
            tree = os.path.join(here, "tree")
            os.makedirs(tree + "/deep/er")
            with open(tree + "/deep/er/script", "wb") as file:
                file.write(b"#!/bin/sh\necho ran\n")
            os.chmod(tree + "/deep/er/script", 0o755)
            open(tree + "/empty", "w").close()
            os.symlink("empty", tree + "/link")
            copied = self.json_of("cp", tree, f"{one}:/home/user")
            self.assertEqual((copied["files"], copied["skipped"]), (2, 1))
            self.assertEqual(self.glovebox("exec", one, "--", "/home/user/tree/deep/er/script").stdout, b"ran\n")
            self.glovebox("cp", "-", f"{one}:new/from-stdin", stdin=b"typed")
            self.assertEqual(self.glovebox("cp", f"{one}:new/from-stdin", "-").stdout, b"typed")
            self.glovebox("exec", one, "--shell", "ln -s /etc/passwd tree/evil; mkfifo tree/fifo; chmod u+s tree/empty")
            self.glovebox("cp", f"{one}:tree", here + "/back")
            self.assertEqual(os.readlink(here + "/back/evil"), "/etc/passwd")
            self.assertFalse(os.path.exists(here + "/back/fifo"))
            self.assertEqual(os.stat(here + "/back/empty").st_mode & 0o7000, 0)
            with open(here + "/back/deep/er/script", "rb") as file:
                self.assertEqual(file.read(), b"#!/bin/sh\necho ran\n")
            self.glovebox("cp", f"{one}:none", here + "/none", status=1)
            self.assertFalse(os.path.exists(here + "/none"))
            self.glovebox("cp", here + "/not-there", f"{one}:x", status=1)
            self.assertEqual(sorted(os.listdir(here)), ["back", "tree"])

    def test_code(self):
        one = self.create("--template", "python")
        self.assertEqual(self.glovebox("code", one, "-c", "x = 20\nprint('set')").stdout, b"set\n")
        self.assertEqual(self.glovebox("code", one, stdin=b"x + 1").stdout, b"21\n")
        failed = self.glovebox("code", one, "-c", "1/0", status=1)
        self.assertIn(b"ZeroDivisionError", failed.stderr)
        self.assertEqual(self.glovebox("code", "--language", "bash", one, "-c", "cd /tmp; a=5; pwd").stdout, b"/tmp\n")
        self.assertEqual(self.glovebox("code", "--language", "bash", one, "-c", "pwd; echo $a").stdout, b"/tmp\n5\n")
        self.assertEqual(self.glovebox("code", "--language", "shell", one, "-c", "echo $a").stdout, b"5\n")
        answer = self.json_of("code", one, "-c", "x")
        self.assertEqual(answer["result"]["text/plain"], "20")

    def test_a_context_by_the_beginning_of_its_id(self):
        one = self.create("--template", "python")
        other = self.client.call("POST", f"/v1/sandboxes/{one}/contexts", {"language": "python"}).json["id"]
        self.glovebox("code", one, "--context", other, "-c", "x = 'other'")
        self.assertEqual(self.glovebox("code", one, "--context", other[:10], "-c", "print(x)").stdout, b"other\n")
        self.glovebox("code", one, "-c", "x = 'default'")
        self.assertEqual(self.glovebox("code", one, "--context", "python", "-c", "print(x)").stdout, b"default\n")
        self.assertIn(b"there is no context with the id or name 'nope'", self.glovebox("code", one, "--context", "nope", "-c", "1", status=125).stderr)

    def test_snapshot(self):
        one = self.create()
        self.glovebox("cp", "-", f"{one}:kept", stdin=b"content")
        snapshot = self.glovebox("sandbox", "snapshot", one, "--name", "first").stdout.decode().strip()
        self.assertRegex(snapshot, r"^sn[a-z0-9]{20}$")
        self.assertIn("first", self.glovebox("sandbox", "snapshots").stdout.decode())
        two = self.create("--snapshot", snapshot)
        self.assertEqual(self.glovebox("cp", f"{two}:kept", "-").stdout, b"content")
        self.glovebox("sandbox", "forget", snapshot)
        self.glovebox("sandbox", "forget", snapshot, status=1)

    def test_logs(self):
        one = self.create()
        self.glovebox("exec", one, "--", "true")
        entries = [json.loads(line) for line in self.glovebox("logs", "--json", one).stdout.splitlines()]
        self.assertGreater(len(entries), 1)
        self.glovebox("sandbox", "kill", one)

    def test_completion(self):
        script = self.glovebox("completion", "bash").stdout
        checked = subprocess.run(["bash", "-n"], input=script, capture_output=True, timeout=20)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        asked = subprocess.run(["bash", "-c", script.decode() + "\nCOMP_WORDS=(glovebox sa); COMP_CWORD=1; _glovebox; echo ${COMPREPLY[@]}"],
                               capture_output=True, timeout=20,
                               env={**self.environment(), "PATH": sealed.BIN + ":/usr/bin:/bin"})
        self.assertEqual(asked.stdout, b"sandbox\n", asked.stderr)
        for shell in ("zsh", "fish"):
            self.assertIn(b"glovebox", self.glovebox("completion", shell).stdout)


class Names(Typed):
    def test_a_name_stands_for_the_id_everywhere(self):
        one = self.create("--name", "dev")
        self.assertEqual(self.json_of("sandbox", "show", "dev")["id"], one)
        self.assertEqual(self.glovebox("exec", "dev", "echo", "here").stdout, b"here\n")
        self.assertEqual(self.json_of("exec", "dev", "--shell", "echo here")["stdout"], "here\n")
        self.assertEqual(self.glovebox("code", "--language", "bash", "dev", "-c", "echo code").stdout, b"code\n")
        self.glovebox("cp", "-", "dev:file", stdin=b"bytes")
        self.assertEqual(self.glovebox("cp", "dev:file", "-").stdout, b"bytes")
        self.assertIn(b"created", self.glovebox("logs", "dev").stdout)
        self.assertEqual(self.json_of("sandbox", "pause", "dev")["state"], "paused")
        self.assertEqual(self.json_of("sandbox", "resume", "dev")["state"], "running")
        self.assertEqual(self.json_of("sandbox", "keepalive", "dev", "--ttl", "10m")["ttl_s"], 600)
        snapshot = self.glovebox("sandbox", "snapshot", "dev", "--name", "base").stdout.decode().strip()
        two = self.create("--snapshot", "base")
        self.assertEqual(self.json_of("sandbox", "show", two)["snapshot"], snapshot)
        self.glovebox("sandbox", "forget", snapshot[:10])
        row = next(line.split() for line in self.glovebox("ls").stdout.decode().splitlines() if line.startswith(one))
        self.assertEqual(row[1], "dev")
        self.assertEqual(self.glovebox("rm", "dev").stdout.decode(), f"killed {one}\n")

    def test_a_name_is_unique_among_the_living(self):
        one = self.create("--name", "only")
        refused = self.glovebox("sandbox", "create", "--name", "only", status=1)
        self.assertIn(f"already has the name 'only': {one}", refused.stderr.decode())
        self.assertEqual(self.client.call("POST", "/v1/sandboxes", {"name": "only"}).code, "name_taken")
        self.glovebox("sandbox", "kill", one)
        self.assertNotEqual(self.create("--name", "only"), one)
        for wrong in ("", "a b", "-a", "a:b", "a/b", "x" * 64, "sb" + "a" * 20):
            self.assertEqual(self.client.call("POST", "/v1/sandboxes", {"name": wrong}).status, 400, wrong)

    def test_the_beginning_of_an_id(self):
        one = self.create()
        self.assertEqual(self.glovebox("exec", one[:12], "echo", "here").stdout, b"here\n")
        self.assertIn(b"at least 4 letters", self.glovebox("sandbox", "show", "sb", status=1).stderr)
        self.assertIn(b"there is no sandbox", self.glovebox("exec", "sbnothing", "true", status=125).stderr)
        # Two ids that begin alike cannot be made on purpose: two ended sandboxes with one name stand for them.
        for _ in range(2):
            self.glovebox("sandbox", "kill", self.create("--name", "again"))
        refused = self.glovebox("sandbox", "show", "again", status=1)
        self.assertRegex(refused.stderr.decode(), r"'again' is ambiguous: the name of 2 sandboxes: sb\w{20} \(again\), sb\w{20}")

    def test_names_of_one_project_mean_nothing_to_another(self):
        self.create("--name", "mine")
        key = self.glovebox("key", "create", "--project", "other", "--name", "other-key").stdout.decode().strip()
        done = self.glovebox("exec", "--key", key, "mine", "true", status=125)
        self.assertIn(b"there is no sandbox", done.stderr)
        theirs = self.glovebox("sandbox", "create", "--key", key, "--name", "mine").stdout.decode().strip()
        self.glovebox("sandbox", "kill", "--all", "--key", key)
        self.assertEqual(self.json_of("sandbox", "show", theirs, "--key", key)["state"], "stopped")
        self.assertEqual(self.json_of("sandbox", "show", "mine")["state"], "running")
        self.assertIn(b"revoked ky", self.glovebox("key", "revoke", "other-key").stdout)

    def test_kill_all(self):
        made = {self.create(), self.create()}
        self.assertLessEqual(made, set(self.glovebox("ls", "-q").stdout.decode().split()))
        killed = {line.split()[1] for line in self.glovebox("sandbox", "kill", "--all").stdout.decode().splitlines()}
        self.assertLessEqual(made, killed)
        self.assertEqual(self.glovebox("ps", "-q").stdout, b"")
        self.glovebox("sandbox", "kill", status=2)
        self.glovebox("sandbox", "kill", "--all", "sbaaaa", status=2)


class History(Typed):
    def test_runs_are_shown_with_their_output(self):
        self.glovebox("run", "--server", "-c", "print('first'); import sys; sys.exit(3)", status=3)
        self.glovebox("run", "--server", "-c", "print('\\x1b[2Jsecond')")
        self.assertTrue(wait_until(lambda: len(self.json_of("runs")["runs"]) >= 2, 20))
        newest, oldest = self.json_of("runs", "--limit", "2")["runs"]
        self.assertEqual((newest["status"], oldest["exit_code"]), ("ok", 3))
        shown = self.glovebox("runs", oldest["id"][:12]).stdout.decode()
        self.assertIn("stdout:\n  first\n", shown)
        listed = self.glovebox("runs", "--output", "--limit", "2").stdout
        self.assertIn(b"stdout:\n  \\x1b[2Jsecond\n", listed)
        self.assertEqual(len(self.json_of("runs", "--limit", "1")["runs"]), 1)
        self.assertNotIn(newest["id"], self.glovebox("runs", "--status", "failed").stdout.decode())
        self.glovebox("runs", "rn" + "a" * 20, status=1)

    def test_a_run_without_a_language_and_one_with_a_traceback(self):
        before = len(self.json_of("runs")["runs"])
        self.glovebox("run", "--server", "--exec", "/bin/true")
        self.glovebox("run", "--server", "-c", "def f():\n  1/0\nf()", status=1)
        self.assertTrue(wait_until(lambda: len(self.json_of("runs")["runs"]) >= before + 2, 20))
        failed, command = self.json_of("runs", "--limit", "2")["runs"]
        self.assertRegex(self.glovebox("runs", command["id"]).stdout.decode(), r"(?m)^language +-$")
        shown = self.glovebox("runs", failed["id"]).stdout.decode()
        self.assertIn("ZeroDivisionError", shown)
        self.assertNotIn("\\x0a", shown)


class Terminal:
    """A command on a pseudo-terminal of ours."""

    def __init__(self, words, env, size=(33, 101)):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execve(words[0], words, env)
        self.resize(*size)
        self.seen = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text)

    def until(self, text, seconds=server.PATIENCE):
        deadline = time.monotonic() + seconds
        while text not in self.seen:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                raise AssertionError(f"{text!r} does not come: {self.seen[-2000:]!r}")
            try:
                self.seen += os.read(self.master, 1 << 16)
            except OSError:
                raise AssertionError(f"ended before {text!r}: {self.seen[-2000:]!r}") from None
        before, self.seen = self.seen.split(text, 1)
        return before

    def finish(self):
        try:
            while os.read(self.master, 1 << 16):
                pass
        except OSError:
            pass
        os.close(self.master)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Shell(Typed):
    def shell(self, *words):
        return Terminal([sealed.GLOVEBOX, "shell", *words], self.environment())

    def test_a_real_terminal(self):
        one = self.create()
        terminal = self.shell(one)
        terminal.until(b"$ ")
        terminal.type(b"stty size\r")
        terminal.until(b"33 101\r\n")
        terminal.resize(40, 120)
        terminal.until(b"$ ")
        self.assertTrue(wait_until(lambda: self.size_is(terminal, b"40 120"), 20))
        terminal.type(b"sh -c 'echo beg''un; exec sleep 1000'\r")
        terminal.until(b"begun\r\n")  # a key typed while the shell still starts it would be the shell's
        terminal.type(b"\x03")
        terminal.until(b"$ ")
        terminal.type(b"echo status $?\r")
        terminal.until(b"status 130\r\n")
        terminal.until(b"$ ")
        terminal.type(b"sh -c 'echo on''ce; exec cat'\r")
        terminal.until(b"once\r\n")
        terminal.type(b"\x1a")
        terminal.until(b"Stopped")
        terminal.until(b"$ ")
        terminal.type(b"fg\r")
        terminal.until(b"exec cat'\r\n")
        terminal.type(b"word\r")
        terminal.until(b"word\r\nword\r\n")  # echoed, and written by cat: it is in front again
        terminal.type(b"\x1a")
        terminal.until(b"Stopped")
        terminal.until(b"$ ")
        terminal.type(b"kill -9 %1; disown -a; exit 9\r")  # with stopped jobs bash would not go
        self.assertEqual(terminal.finish(), 9)

    def test_exec_with_a_terminal(self):
        terminal = Terminal([sealed.GLOVEBOX, "exec", "-it", self.create(), "sh", "-c", "tty; exit 4"], self.environment())
        terminal.until(b"/dev/pts/")
        self.assertEqual(terminal.finish(), 4)

    def test_q_ends_top_and_leaves_the_terminal_as_it_was(self):
        one = self.create("--memory", "64M")
        script = 'echo before $(stty -g); "$@"; status=$?; echo after $(stty -g); exit $status'
        terminal = Terminal(["/bin/sh", "-c", script, "sh", sealed.GLOVEBOX, "top", "--interval", "60"],
                            self.environment(), size=(40, 200))
        terminal.until(b"before ")
        before = terminal.until(b"\r\n")
        self.assertIn(b"OF MB", terminal.until(one.encode()))
        self.assertIn(b" 64.0 ", terminal.until(b"\r\n"))
        self.assertFalse(termios.tcgetattr(terminal.master)[3] & termios.ICANON)  # single keys are read
        terminal.type(b"xq")
        terminal.until(b"after ")
        self.assertEqual(terminal.until(b"\r\n"), before)
        self.assertEqual(terminal.finish(), 0)

    def size_is(self, terminal, wanted):
        terminal.type(b"stty size\r")
        return wanted in terminal.until(b"$ ")

    def test_detach_and_come_back(self):
        one = self.create()
        terminal = self.shell(one)
        terminal.until(b"$ ")
        terminal.type(b"kept=here\r")
        terminal.until(b"$ ")
        terminal.type(b"\x10\x11")
        terminal.until(b"--attach ")
        number = terminal.seen.split()[0].decode()
        self.assertEqual(terminal.finish(), 0)
        again = self.shell("--attach", number, one)
        again.until(b"$ ")  # what was on the screen, as far as it is kept
        again.type(b"echo is $kept\r")
        again.until(b"is here\r\n")
        again.type(b"exit\r")
        self.assertEqual(again.finish(), 0)


if __name__ == "__main__":
    sealed.main()
