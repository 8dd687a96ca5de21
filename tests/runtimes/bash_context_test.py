"""Bash contexts: what lasts between cells, statuses, stdin, interrupts, set -e, exit."""
import tempfile
import unittest

import harness
from context_harness import Context


class BashContexts(unittest.TestCase):
    def setUp(self):
        self.context = Context("bash", env=["PATH=/usr/bin:/bin", "GIVEN=a b\nc", "BASH_ENV=/x", "LC_ALL=C.UTF-8"])
        self.addCleanup(self.context.close)

    def out(self, code, status=0, **cell):
        outcome = self.context.run(code, **cell)
        self.assertEqual((outcome.status, outcome.err, outcome.error), (status, "", None), code)
        return outcome.out

    def test_state_lasts(self):
        self.out("x=5; declare -A map=([k]=v); declare -i n=7; export Y=2; f() { echo \"f $1\"; }; alias g='echo aliased'; cd /usr; umask 077; set -o pipefail; shopt -s nullglob")
        self.assertEqual(self.out("echo $x ${map[k]} $n $PWD; f 1; g; env | grep ^Y; umask; shopt -q nullglob && echo $SHELLOPTS | grep -o pipefail"), "5 v 7 /usr\nf 1\naliased\nY=2\n0077\npipefail\n")

    def test_the_environment_is_what_was_given(self):
        self.assertEqual(self.out('echo "$GIVEN"'), "a b\nc\n")
        self.assertEqual({line.partition("=")[0] for line in self.out("unset GIVEN; env").split()} - {"PWD", "_"}, {"LC_ALL", "PATH"})

    def test_status(self):
        self.assertEqual(self.out("(exit 3)", status=3), "")
        self.assertEqual(self.out("return 4; echo no", status=4), "")
        self.assertEqual(self.out("true"), "")
        self.assertEqual(self.out(""), "")

    def test_errors_keep_the_shell(self):
        self.out("x=1")
        outcome = self.context.run("echo a\nif then")
        self.assertEqual((outcome.status, outcome.out), (2, "a\n"))
        self.assertIn("line 2: syntax error", outcome.err)
        outcome = self.context.run("\nno-such-command")
        self.assertEqual(outcome.status, 127)
        self.assertIn("line 2: no-such-command: command not found", outcome.err)
        self.context.run("break; continue; break 9")
        self.context.run("echo 'unfinished")
        self.assertEqual(self.out("echo $x"), "1\n")

    def test_errexit_ends_the_cell_alone(self):
        self.out("f() { false; echo not; }")
        self.assertEqual(self.out("set -e\necho a\nf\necho b", status=1), "a\n")
        self.assertEqual(self.out("if f; then echo c; fi; false || true; (exit 7); echo d", status=7), "not\nc\n")
        self.assertEqual(self.out("set -euo pipefail; for i in 1 2; do false | true; done; echo no", status=1), "")
        self.assertEqual(self.out("set +eu; false; echo on"), "on\n")

    def test_exit_ends_the_context_and_says_so(self):
        outcome = self.context.run("exit 3")
        self.assertEqual((outcome.lines, self.context.process.wait(harness.DEADLINE)), ([{"type": "exit", "code": 3}], 3))

    def test_stdin(self):
        self.assertEqual(self.out("cat; read x", status=1), "")
        self.assertEqual(self.out("read x; echo \"[$x]\"; cat", stdin="a b\nc\n"), "[a b]\nc\n")
        self.assertEqual(self.out("od -An -c", stdin=b"\0\n\xff").split(), ["\\0", "\\n", "377"])
        self.assertEqual(self.out("wc -c", stdin=b"x" * 1_000_000), "1000000\n")
        self.assertEqual(self.out("cat"), "")

    def test_an_environment_for_one_cell(self):
        self.out("shown=1; arr=(a b)")
        code = "echo \"$GIVEN|$NEW|$shown|${arr[*]}\"; env | grep -c ^shown; echo $LC_ALL"
        self.assertEqual(self.out(code, env=["GIVEN=x y", "NEW=it's \"q\"\n$z", "shown=2", "arr=3", "__gbx_cell=9", "LC_ALL=C"], rich=True), "x y|it's \"q\"\n$z|2|3\n1\nC\n")
        self.assertEqual(self.out(code, status=0), "a b\nc||1|a b\n0\nC.UTF-8\n")
        self.assertEqual(self.out("GIVEN=mine; unset NEW; readonly RO", env=["GIVEN=1", "NEW=2", "RO=3"]), "")
        self.assertEqual(self.out("echo \"$GIVEN|${NEW-none}\"; export -p | grep -c GIVEN"), "a b\nc|none\n1\n")
        self.context.interrupted("echo go; sleep 1000", group=True)
        self.context.send("echo go; sleep 1000", env=["GIVEN=1"])
        self.context.wait_for_output(b"go\n")
        self.context.interrupt(group=True)
        self.assertEqual(self.context.finish().status, 130)
        self.assertEqual(self.out("set -eu; echo \"$GIVEN\"", env=["NEW=1"]), "a b\nc\n")
        self.assertEqual(self.out("echo \"${NEW-none}\""), "none\n")

    def test_interrupt_ends_the_whole_cell(self):
        self.out("x=1")
        for code in ("sleep 1000; echo no", "while :; do :; done; echo no", "g() { echo go; while true; do sleep 1000; done; echo no; }; h() { g; echo no; }; h; echo no",
                     "for i in 1 2 3; do (sleep 1000); done; echo no", "sleep 1000 | cat; echo no", "y=$(sleep 1000); echo no", "wait; sleep 1000 & wait; echo no", "set -e; sleep 1000; echo no"):
            outcome = self.context.interrupted("echo go; " + code, group=True)
            self.assertEqual((outcome.status, outcome.error["name"]), (130, "KeyboardInterrupt"), code)
            self.assertNotIn("no", outcome.out)
            self.context.run("set +e; kill %% 2>/dev/null")
        self.assertEqual(self.out("echo $x; f() { echo f; }; f; shopt extdebug", status=1).split(), ["1", "f", "extdebug", "off"])

    def test_an_interrupt_between_cells_is_nobodys(self):
        for _ in range(10):
            self.context.interrupt(group=True)
            self.assertEqual(self.out("echo 1"), "1\n")

    def test_descriptors_are_the_codes_own(self):
        self.assertEqual(self.out("ls /proc/self/fd").split(), ["0", "1", "2", "3"])
        with tempfile.TemporaryDirectory() as directory:
            self.out(f"exec 3>{directory}/a 4>{directory}/b")
            self.assertEqual(self.out(f"echo x >&3; echo y >&4; cat {directory}/a {directory}/b"), "x\ny\n")

    def test_odd_cells(self):
        self.assertEqual(self.out("echo 'a\0b'"), "ab\n")
        self.assertEqual(self.out("echo é\n# " + "x" * 3_000_000 + "\necho big"), "é\nbig\n")
        self.assertEqual(self.context.run(b"echo '\xff'").out_bytes, b"\xff\n")
        self.assertEqual(self.out("cat <<'E'\n$x\nE"), "$x\n")

    def test_a_directory_that_is_not_there(self):
        context = Context("bash", ready=False, workdir="/nowhere")
        self.addCleanup(context.close)
        self.assertEqual([line["type"] for line in context.finish().lines], ["error", "exit"])


if __name__ == "__main__":
    unittest.main()
