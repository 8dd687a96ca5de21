"""Every program carries only its own code. The network-facing server above all: the client commands and the benchmark
(with its TLS server and its maker of packages) are programs of their own. Read from the symbols of the programs."""
import re
import subprocess
import unittest

from repository import BIN

# Namespaces that a program must contain, and those that it must not.
PROGRAMS = {
    "glovebox-server": ({"http", "node", "store"}, {"client", "bench", "cli", "launcher", "gateway", "attack"}),
    "glovebox-client": ({"client", "http", "options"}, {"bench", "cli", "node", "store", "launcher", "gateway"}),
    "glovebox-bench": ({"bench", "client"}, {"cli", "node", "store", "launcher", "gateway"}),
    "glovebox-gateway": ({"gateway", "net"}, {"client", "bench", "cli", "node", "store", "launcher"}),
    "glovebox-launcher": ({"launcher", "sys"}, {"client", "bench", "cli", "node", "store", "http"}),
    "glovebox": ({"cli", "launcher", "options"}, {"client", "bench", "node", "store", "http"}),
}


def namespaces_in(symbols):
    """{namespace: one symbol} of demangled names: those that are defined in glovebox::NAMESPACE."""
    found = {}
    for line in symbols.splitlines():
        match = re.match(r"[0-9a-f]+ [A-Za-z] (.*)", line)
        # Only the name itself, not its parameters: a type of another layer may be one of those.
        name = match.group(1) if match else ""
        for namespace in re.findall(r"^(?:[\w: ]* )?glovebox::(\w+)::", name.split("(")[0].replace("{lambda", "")):
            found.setdefault(namespace, name)
    return found


def symbols_of(program):
    return subprocess.run(["nm", "-C", "--defined-only", BIN / program], check=True, capture_output=True, text=True,
                          timeout=50).stdout


@unittest.skipUnless(all((BIN / name).is_file() for name in PROGRAMS), "the programs are not built")
class Programs(unittest.TestCase):
    def test_every_program_has_the_code_it_needs_and_no_other(self):
        for program, (needed, forbidden) in PROGRAMS.items():
            with self.subTest(program=program):
                found = namespaces_in(symbols_of(program))
                self.assertLessEqual(needed, set(found), "the program is stripped, or the check is blind")
                self.assertEqual({}, {name: found[name] for name in forbidden if name in found})


class BadSamplesAreCaught(unittest.TestCase):
    def test_symbols_of_other_layers(self):
        found = namespaces_in("00001 T glovebox::client::run_command(std::vector<int> const&)\n"
                              "00002 t glovebox::bench::(anonymous namespace)::measure()\n"
                              "00003 T glovebox::fail(glovebox::Error)\n"
                              "00004 W void glovebox::http::write<int>(glovebox::store::Key&)\n"
                              "00005 r glovebox::cli::kVersion\n")
        self.assertEqual({"client", "bench", "http", "cli"}, set(found))


if __name__ == "__main__":
    unittest.main()
