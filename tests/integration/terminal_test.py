# `glovebox run -t`: a new terminal inside, the caller's own never goes in.
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import processes
import sealed


class Terminal(sealed.TestCase):
    def open(self, *args, rows=40, columns=123):
        """glovebox on a terminal of this test's own; returns the process."""
        self.master, slave = pty.openpty()
        self.addCleanup(os.close, self.master)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.modes_before = termios.tcgetattr(slave)
        self.shown = b""
        process = subprocess.Popen([sealed.GLOVEBOX, "run", "-t", *args], stdin=slave, stdout=slave,
                                   stderr=slave, env=sealed.environment({"TERM": "vt100"}),
                                   start_new_session=True)
        self.slave = slave
        return process

    def read_until(self, word, seconds=20):
        """Reads what the terminal shows until `word` is in it."""
        deadline = time.monotonic() + seconds
        while word not in self.shown:
            ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                self.fail(f"{word} was not shown, but {self.shown}")
            self.shown += os.read(self.master, 4096)

    def end(self, process):
        status = process.wait(timeout=20)
        self.assertEqual(termios.tcgetattr(self.slave), self.modes_before, "modes are not restored")
        os.close(self.slave)
        return status

    def test_is_one_of_the_callers_size(self):
        process = self.open("--lang", "bash", "-c",
                            "test -t 0 && test -t 1 && test -t 2 && stty size && tty && echo $TERM; exit 5")
        self.read_until(b"vt100")
        self.assertEqual(self.end(process), 5)
        self.assertIn(b"40 123\r\n/dev/pts/0\r\n", self.shown)

    def test_is_not_the_callers_own(self):
        process = self.open("-c", "import os; print('inode', os.fstat(0).st_ino, os.fstat(0).st_dev, 'end')")
        self.read_until(b"end")
        ours = os.fstat(self.slave)
        self.assertEqual(self.end(process), 0)
        self.assertNotIn(f"inode {ours.st_ino} {ours.st_dev} end".encode(), self.shown)

    def test_ctrl_c_reaches_the_program(self):
        process = self.open("--lang", "bash", "-c",
                            "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done")
        self.read_until(b"ready")
        os.write(self.master, b"\x03")
        self.read_until(b"caught")
        self.assertEqual(self.end(process), 9)

    def test_ctrl_d_is_end_of_input(self):
        process = self.open("--exec", "/bin/cat")
        os.write(self.master, b"typed\r")
        self.read_until(b"typed\r\ntyped\r\n")
        os.write(self.master, b"\x04")
        self.assertEqual(self.end(process), 0)

    def test_ctrl_bracket_ends_the_sandbox(self):
        process = self.open("--lang", "bash", "-c", "trap '' INT TERM HUP; echo ready; sleep 1000")
        self.read_until(b"ready")
        os.write(self.master, b"\x1d")
        self.assertEqual(self.end(process), 130)

    def test_a_new_size_reaches_the_program(self):
        process = self.open("--lang", "bash", "-c",
                            "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done")
        self.read_until(b"ready")
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 51, 77, 0, 0))
        process.send_signal(signal.SIGWINCH)  # it has no controlling terminal that would do this
        self.read_until(b"51 77")
        self.assertEqual(self.end(process), 0)

    def test_a_terminal_that_goes_away_ends_the_sandbox(self):
        process = self.open("--exec", "/bin/sleep", "--", "1000")
        self.assertTrue(sealed.wait_until(lambda: processes.named("sleep")))
        process.send_signal(signal.SIGHUP)
        self.end(process)

    def test_a_timeout_is_told_and_modes_are_restored(self):
        process = self.open("--timeout", "300ms", "--exec", "/bin/sleep", "--", "1000")
        self.read_until(b"time limit")
        self.assertEqual(self.end(process), 124)


if __name__ == "__main__":
    sealed.main()
