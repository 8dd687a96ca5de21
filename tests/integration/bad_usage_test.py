# Bad input gets one clear line, exit status 2, and no sandbox: no launcher is even asked.
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
from sealed import glovebox

# What is typed, and a word that the line on standard error must have in it.
WORDS = [
    ([], "nothing to run"),
    (["/no/such/file.py"], "/no/such/file.py"),
    (["print(1)"], "print(1): No such file or directory; to run code, use -c"),
    (["no-such-file"], "No such file"),
    (["/tmp"], "/tmp"),
    (["--lang", "python", "/tmp"], "directory"),
    (["/etc/hostname"], "/etc/hostname"),
    (["--lang", "cobol", "-c", "1"], "cobol"),
    (["--engine", "cardboard", "-c", "1"], "cardboard"),
    (["--min-grade", "splendid", "-c", "1"], "splendid"),
    (["--net", "host", "-c", "1"], "none"),
    (["--net", "https://pypi.org", "-c", "1"], "not a URL"),
    (["--net", "all,none", "-c", "1"], "cannot be combined"),
    (["--net", "none,pypi.org", "-c", "1"], "cannot be combined"),
    (["--net", "10.0.0.1/8", "-c", "1"], "10.0.0.0/8"),
    (["--net-deny", "pypi.org", "-c", "1"], "--net"),
    (["--net", "all", "--engine", "process", "-c", "1"], "jail"),
    (["--mount", "ro:/no/such/directory", "-c", "1"], "/no/such/directory"),
    (["--mount", "rw:/no/such/directory:/mnt", "-c", "1"], "/no/such/directory"),
    (["--mount", "/tmp", "-c", "1"], "ro:"),
    (["--mount", "xx:/tmp", "-c", "1"], "ro:"),
    (["--mount", "ro:/tmp:/a/../../etc", "-c", "1"], ".."),
    (["--timeout", "soon", "-c", "1"], "soon"),
    (["--timeout", "0", "-c", "1"], "--timeout"),
    (["--timeout", "-5s", "-c", "1"], "--timeout"),
    (["--timeout", "5 s", "-c", "1"], "--timeout"),
    (["--timeout", "inf", "-c", "1"], "--timeout"),
    (["--timeout", "10y", "-c", "1"], "--timeout"),
    (["--timeout", "999999999h", "-c", "1"], "--timeout"),
    (["--cpu-time", "1parsec", "-c", "1"], "--cpu-time"),
    (["--memory", "lots", "-c", "1"], "lots"),
    (["--memory", "12Q", "-c", "1"], "--memory"),
    (["--memory", "1K", "-c", "1"], "--memory"),
    (["--memory", "99999999999T", "-c", "1"], "--memory"),
    (["--memory", "0x100000", "-c", "1"], "--memory"),
    (["--disk", "1.2.3M", "-c", "1"], "--disk"),
    (["--disk", "0", "-c", "1"], "--disk"),
    (["--output-limit", "-1", "-c", "1"], "--output-limit"),
    (["--pids", "0", "-c", "1"], "--pids"),
    (["--pids", "many", "-c", "1"], "--pids"),
    (["--pids", "99999999999999999999", "-c", "1"], "--pids"),
    (["--cpus", "0", "-c", "1"], "--cpus"),
    (["--cpus", "nan", "-c", "1"], "--cpus"),
    (["--cpus", "1e9", "-c", "1"], "--cpus"),
    (["--env", "NOVALUE", "-c", "1"], "--env"),
    (["--env", "=x", "-c", "1"], "--env"),
    (["--workdir", "../up", "-c", "1"], ".."),
    (["--file", "/no/such/file:/x", "-c", "1"], "/no/such/file"),
    (["--file", "/etc/hostname", "-c", "1"], "--file"),
    (["--file", "/tmp:/x", "-c", "1"], "/tmp"),
    (["--file", "/etc/hostname:/a/../b", "-c", "1"], ".."),
    (["--out", "nothing", "-c", "1"], "--out"),
    (["--out", "/../x:/tmp/x", "-c", "1"], ".."),
    (["--json", "--tty", "-c", "1"], "--tty"),
    (["--tty", "-c", "1"], "terminal"),
    (["-c", "1", "--exec", "/bin/true"], "only one"),
    (["-c", "1", "/etc/hostname"], "only one"),
    (["--lang", "bash", "--exec", "/bin/true"], "--lang"),
    (["--no-such-option", "-c", "1"], "--no-such-option"),
    (["-c"], "-c"),
    (["--timeout"], "--timeout"),
    (["-c", "1", "stray", "words"], ""),
    # More than the kernel passes to a program; a single string of 10 MB it would not even pass to us.
    (["--exec", "/bin/true", "--"] + ["x" * 100_000] * 15, "128K"),
    (["--exec", "/bin/true", "--"] + ["x"] * 5000, "128K"),
    (["--env", "BIG=" + "x" * 131_000, "--exec", "/bin/true"], "128K"),
    # What would move a terminal's cursor is shown, not done.
    (["--engine", "\x1b[2Jgone\nsecond line", "-c", "1"], "\\x1b"),
    (["--mount", "ro:/no\nsuch", "-c", "1"], "\\x0a"),
]


class BadUsage(sealed.TestCase):
    def setUp(self):
        super().setUp()
        # A launcher that records that a client connected, and exits.
        self.place = os.path.join(self.directory(), "launcher.sock")
        self.asked = 0
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(self.place)
        listener.listen(8)

        def note_everybody():
            while True:
                try:
                    listener.accept()[0].close()
                except OSError:
                    return
                self.asked += 1

        notes = threading.Thread(target=note_everybody)
        notes.start()
        self.addCleanup(listener.close)
        self.addCleanup(notes.join)
        self.addCleanup(listener.shutdown, socket.SHUT_RDWR)

    def refused(self, words, **more):
        shown = [word[:60] for word in words[:6]]
        ran = glovebox("run", *words, env={"GLOVEBOX_LAUNCHER": self.place}, timeout=5, **more)
        self.assertEqual((ran.returncode, ran.stdout), (2, b""), (shown, ran.stderr))
        self.assert_one_line(ran.stderr, shown)
        self.assertLess(len(ran.stderr), 2500, shown)
        self.assertEqual(self.asked, 0, f"a launcher was asked for {shown}")
        return ran.stderr.decode()

    def test_every_bad_word_is_refused_with_one_line_that_names_it(self):
        for words, named in WORDS:
            with self.subTest(words=[word[:60] for word in words[:6]]):
                self.assertIn(named, self.refused(words))

    def test_json_does_not_change_that(self):
        self.refused(["--json", "/no/such/file.py"])
        self.refused(["--json", "--memory", "lots", "-c", "1"])

    def test_code_with_a_nul_byte_is_refused(self):
        self.assertIn("NUL", self.refused(["-"], stdin=b"print(1)\0print(2)\n"))
        self.assertIn("NUL", self.refused(["--lang", "bash", "-"], stdin=b"echo 1\0\n"))

    def test_code_past_its_bound_is_refused(self):
        self.assertIn("16M", self.refused(["-"], stdin=b"#" * (17 << 20)))

    def test_what_is_no_file_is_refused_and_does_not_hang(self):
        place = self.directory()
        fifo = os.path.join(place, "fifo.py")
        os.mkfifo(fifo)
        self.refused([fifo])
        self.refused(["--file", f"{fifo}:/home/user/x", "-c", "1"])
        self.refused(["--mount", f"ro:{fifo}:/mnt/fifo", "-c", "1"])
        self.refused(["--mount", "ro:/dev/null:/mnt/null", "-c", "1"])

    def test_an_unknown_command_is_bad_usage(self):
        for words in (["fly"], ["--fly"], ["run\x1b[2J"]):
            ran = glovebox(*words)
            self.assertEqual((ran.returncode, ran.stdout), (2, b""))
            self.assert_one_line(ran.stderr)


if __name__ == "__main__":
    sealed.main()
