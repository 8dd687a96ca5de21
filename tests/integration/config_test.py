# `glovebox config`: every setting, its value and its origin; mistakes are told, not guessed.
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
from sealed import glovebox


class Config(sealed.TestCase):
    def file(self, text):
        path = os.path.join(self.directory(), "server.toml")
        with open(path, "w") as file:
            file.write(text)
        return path

    def values(self, *words, env=None):
        ran = glovebox("config", "--json", *words, env=env)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return {key: (one["value"], one["origin"]) for key, one in json.loads(ran.stdout).items()}

    def refusal(self, *words, env=None):
        ran = glovebox("config", *words, env=env)
        self.assertEqual(ran.returncode, 2, ran.stdout)
        self.assert_one_line(ran.stderr)
        return ran.stderr.decode()

    def test_defaults(self):
        values = self.values()
        self.assertEqual(values["server.listen"], ("127.0.0.1:7070", "default"))
        self.assertEqual(values["server.data_dir"], ("/var/lib/glovebox", "default"))
        self.assertEqual(values["log.requests"], (True, "default"))
        self.assertEqual(values["server.origins"], ([], "default"))

    def test_an_ordinary_user_has_directories_of_his_own(self):
        home = self.directory(65534)
        ran = glovebox("config", "--json", env={"HOME": home, "XDG_DATA_HOME": ""}, user=65534,
                       group=65534, extra_groups=[])
        self.assertEqual(json.loads(ran.stdout)["server.data_dir"]["value"],
                         home + "/.local/share/glovebox")

    def test_flags_over_environment_over_file(self):
        path = self.file("[pools]\nmax_sandboxes = 3\nmax = 30\nqueue_length = 5\n")
        values = self.values("--config", path, "--set", "pools.max=32",
                             env={"GLOVEBOX_POOLS_MAX": "31", "GLOVEBOX_POOLS_MAX_SANDBOXES": "4"})
        self.assertEqual(values["pools.queue_length"], (5, f"file {path}:4"))
        self.assertEqual(values["pools.max_sandboxes"], (4, "environment GLOVEBOX_POOLS_MAX_SANDBOXES"))
        self.assertEqual(values["pools.max"], (32, "flag --set"))

    def test_what_it_prints_is_a_file_that_says_the_same(self):
        first = self.values("--set", "server.origins=https://a,https://b", "--listen", "[::1]:1",
                            "--set", "log.requests=off", "--set", "zygotes.max_age=off")
        text = glovebox("config", "--set", "server.origins=https://a,https://b", "--listen",
                        "[::1]:1", "--set", "log.requests=off", "--set",
                        "zygotes.max_age=off").stdout.decode()
        second = self.values("--config", self.file(text))
        self.assertEqual({key: value for key, (value, _) in first.items()},
                         {key: value for key, (value, _) in second.items()})
        self.assertTrue(all(origin.startswith("file ") for _, origin in second.values()))

    def test_mistakes_are_told_with_their_place(self):
        path = self.file("[server]\nlisen = '127.0.0.1:1'\n")
        told = self.refusal("--config", path)
        self.assertIn(f"{path}:2", told)
        self.assertIn("did you mean 'server.listen'?", told)
        self.assertIn("GLOVEBOX_SERVER_LISTEN", self.refusal(env={"GLOVEBOX_SERVER_LISEN": "1"}))
        self.assertIn("/no/such", self.refusal("--config", "/no/such"))
        self.assertIn("flag --listen", self.refusal("--listen", "somewhere"))
        self.assertIn("--wat", self.refusal("--wat"))
        self.assertIn("pools.max", self.refusal("--set", "pools.max=lots"))

    def test_serve_reads_the_same_settings(self):
        for words in (["--listen", "somewhere"], ["--set", "pools.mx=1"], ["--wat"]):
            ran = glovebox("serve", *words)
            self.assertEqual(ran.returncode, 2, words)
            self.assert_one_line(ran.stderr)

    def test_the_help_names_every_flag(self):
        for command in ("serve", "config"):
            text = glovebox(command, "--help").stdout.decode()
            for flag in ("--listen", "--data-dir", "--config", "--set", "--help"):
                self.assertIn(flag, text)


if __name__ == "__main__":
    sealed.main()
