# What `make install` brings besides the programs: manual pages and completions, made of the tables
# that --help shows, and that `make uninstall` removes all of it.
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
from sealed import glovebox

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")


def make(*words):
    """Without building: the programs that are there are installed."""
    return subprocess.run(["make", "--no-print-directory", "-C", ROOT, "-o", "build", "-o", "deps", *words],
                          capture_output=True, text=True, timeout=50)


def files_below(directory):
    return sorted(os.path.relpath(os.path.join(where, name), directory)
                  for where, _, names in os.walk(directory) for name in names)


def commands():
    return re.findall(r"^  ([a-z]+) +[A-Z]", glovebox("--help").stdout.decode(), re.M)


def options(text):
    """Of a --help: the first column of the lines of options."""
    lines = re.findall(r"^  (-\S*)", text, re.M)
    return {name for line in lines for name in line.split(",")}


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix="gbx-test-")
        done = make("install", f"DESTDIR={cls.place.name}", "PREFIX=/usr")
        assert done.returncode == 0, done.stderr
        cls.man = os.path.join(cls.place.name, "usr/share/man/man1")

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def test_every_command_has_a_page_with_the_options_of_its_help(self):
        names = commands()
        self.assertGreater(len(names), 15)
        self.assertEqual(sorted(os.listdir(self.man)),
                         sorted(["glovebox.1", "sandbox-run.1", *(f"glovebox-{name}.1" for name in names)]))
        for name in names:
            with self.subTest(command=name), open(os.path.join(self.man, f"glovebox-{name}.1")) as file:
                page = file.read()
                self.assertTrue(page.startswith(".TH "), page[:80])
                shown = {one.replace("\\-", "-") for one in re.findall(r"\\fB((?:\\-)+[a-z0-9\\-]+)\\fR", page)}
                self.assertLessEqual(options(glovebox(name, "--help").stdout.decode()), shown | {"-h", "--help"})

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_pages_are_troff_without_mistakes(self):
        for name in os.listdir(self.man):
            with self.subTest(page=name):
                shown = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-P-bcou", os.path.join(self.man, name)],
                                       capture_output=True, text=True, timeout=20)
                self.assertEqual((shown.returncode, shown.stderr), (0, ""))
                self.assertIn("DESCRIPTION", shown.stdout)

    def path_with_programs(self):
        return {**sealed.environment(), "PATH": os.path.join(self.place.name, "usr/bin") + ":/usr/bin:/bin",
                "HOME": self.place.name, "TERM": "dumb"}

    def completed(self, words, of="glovebox"):
        """What bash would offer for the last word."""
        script = (f"source {self.place.name}/usr/share/bash-completion/completions/{of}; "
                  f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
                  f"{'_glovebox' if of == 'glovebox' else '_sandbox_run'}; echo ${{COMPREPLY[@]}}")
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30, env=self.path_with_programs())
        return done.stdout.split()

    def test_bash_completes_commands_subcommands_and_options(self):
        self.assertEqual(self.completed(["glovebox", "sand"]), ["sandbox"])
        self.assertEqual(self.completed(["glovebox", "sandbox", "snap"]), ["snapshot", "snapshots"])
        self.assertEqual(self.completed(["glovebox", "help", "templ"]), ["template"])
        self.assertEqual(self.completed(["glovebox", "exec", "--res"]), ["--resume"])
        self.assertEqual(self.completed(["glovebox", "rm", "--al"]), ["--all"])

    def test_bash_expands_nothing_that_a_server_says(self):
        planted = os.path.join(self.place.name, "planted")
        hostile = os.path.join(self.place.name, "hostile")
        os.mkdir(hostile)
        with open(os.path.join(hostile, "glovebox"), "w") as file:
            file.write("#!/bin/sh\necho 'ID NAME'\necho 'sbaaaaaaaaaaaaaaaaaaaa dev'\n"
                       f"echo 'sbbbbbbbbbbbbbbbbbbbbb $(touch${{IFS}}{planted})'\n")
        os.chmod(os.path.join(hostile, "glovebox"), 0o755)
        script = (f"PATH={hostile}:$PATH; source {self.place.name}/usr/share/bash-completion/completions/glovebox; "
                  "COMP_WORDS=(glovebox exec ''); COMP_CWORD=2; _glovebox; echo ${COMPREPLY[@]}")
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30,
                              env=self.path_with_programs())
        self.assertEqual(done.stdout.split(), ["sbaaaaaaaaaaaaaaaaaaaa", "dev", "sbbbbbbbbbbbbbbbbbbbbb"])
        self.assertFalse(os.path.exists(planted))

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_completes_commands_subcommands_and_options(self):
        script = os.path.join(self.place.name, "usr/share/fish/vendor_completions.d/glovebox.fish")
        for line, wanted in (("glovebox sand", "sandbox"), ("glovebox sandbox snapshots", "snapshots"),
                             ("glovebox exec --res", "--resume"), ("glovebox help templ", "template")):
            with self.subTest(line=line):
                done = subprocess.run(["fish", "-N", "-c", f"source {script}; complete -C '{line}'"], capture_output=True, text=True,
                                      timeout=30, env=self.path_with_programs())
                self.assertIn(wanted, done.stdout.split(), done.stderr)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_completes_commands_and_options(self):
        functions = os.path.join(self.place.name, "usr/share/zsh/site-functions")
        # A completion only works in a line editor: one on a terminal of its own, inside zsh.
        script = (f"zmodload zsh/zpty; zpty z zsh -f -i; zpty -w z 'PS1=; fpath=({functions} $fpath); autoload -Uz compinit; "
                  "compinit -u -D; echo re\"\"ady'; zpty -r -m z line '*ready*'; "
                  "zpty -n -w z $'glovebox sandb\\t'; zpty -r -m z line '*sandbox*'; zpty -n -w z $'cr\\t'; "
                  "zpty -r -m z line '*create*' && echo completed")
        done = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, timeout=40, env=self.path_with_programs())
        self.assertIn("completed", done.stdout, done)

    def test_uninstall_removes_everything(self):
        with tempfile.TemporaryDirectory(prefix="gbx-test-") as place:
            words = (f"DESTDIR={place}", "PREFIX=/opt/x")
            self.assertEqual(make("install", *words).returncode, 0)
            self.assertGreater(len(files_below(place)), 30)
            self.assertEqual(make("uninstall", *words).returncode, 0)
            self.assertEqual(files_below(place), [])


class Help(unittest.TestCase):
    def test_help_of_a_command_in_either_form(self):
        for name in commands():
            with self.subTest(command=name):
                asked = glovebox("help", name)
                self.assertEqual(asked.returncode, 0)
                self.assertEqual(asked.stdout, glovebox(name, "--help").stdout)
                text = asked.stdout.decode()
                self.assertTrue(text.startswith(f"usage: glovebox {name}"), text[:80])
                self.assertEqual(text.count("usage: "), 1)
                self.assertEqual(text.split("\n")[1], "")  # one line of usage

    def test_mistyped_words_get_a_suggestion(self):
        for words, wanted in ((["sandbx"], "sandbox"), (["help", "exce"], "exec"), (["run", "--langage", "x"], "--language"),
                              (["sandbox", "creat"], "create"), (["exec", "--ressume", "x", "y"], "--resume"),
                              (["--hlp"], "--help"), (["kil"], "glovebox sandbox kill ID"), (["exec", "--workdr", "/", "x", "y"], "--cwd"),
                              (["--versoin"], "--version"), (["run", "--hlp"], "--help")):
            with self.subTest(words=words):
                done = glovebox(*words)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"did you mean '{wanted}'?", done.stderr.decode())

    def test_commands_of_other_programs_get_the_line_to_type(self):
        for words, line in ((["kill", "x"], "glovebox sandbox kill ID"), (["stop", "x"], "glovebox sandbox kill ID"),
                            (["list"], "glovebox sandbox list"), (["create"], "glovebox sandbox create"),
                            (["help", "kill"], "glovebox sandbox kill ID"), (["sandbox-run"], "sandbox-run FILE"),
                            (["images"], "glovebox image list"), (["pull", "python"], "glovebox image pull NAME"), (["ssh", "x"], "glovebox shell ID"),
                            (["upload"], "glovebox cp FILE ID:PATH"), (["snapshots"], "glovebox sandbox snapshots")):
            with self.subTest(words=words):
                done = glovebox(*words)
                self.assertEqual((done.returncode, done.stdout), (2, b""))
                self.assertIn(f"use `{line}`", done.stderr.decode())
        self.assertIn(b"the options of a command follow its name", glovebox("--json", "run").stderr)

    def test_help_of_sandbox_run(self):
        asked = glovebox("help", "sandbox-run")
        self.assertEqual(asked.returncode, 0)
        self.assertTrue(asked.stdout.startswith(b"usage: sandbox-run FILE"), asked.stdout[:80])

    def test_former_names_of_options_still_work(self):
        for words in (["--lang", "bash", "--workdir", "/tmp"], ["--language", "bash", "--cwd", "/tmp"]):
            self.assertEqual(glovebox("run", *words, "-c", "pwd").stdout, b"/tmp\n")
        self.assertNotIn(b"--lang ", glovebox("run", "--help").stdout)


if __name__ == "__main__":
    sealed.main()
