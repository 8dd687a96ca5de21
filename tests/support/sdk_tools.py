# What checks and tests the SDKs (pytest, mypy, ruff; tsc, node:test), run as a person would type it,
# in a sealed test: what one of them leaves behind counts.
import os
import subprocess
import sys

import sealed

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
CLIENTS = os.path.join(ROOT, "build", "clients")
LONGEST_S = 500


def main(*tools):
    """Installs the tools, where the registries can be reached, and runs the calling module."""
    if os.environ.get("GBX_SEALED") is None:
        installed = subprocess.run([os.path.join(ROOT, "scripts", "install-sdk-tools"), *tools],
                                   stdin=subprocess.DEVNULL, stdout=sys.stderr)
        if installed.returncode == 77:
            print("skipped: the tools are not here, and no registry gives them (see above)")
        if installed.returncode != 0:
            sys.exit(installed.returncode)
    sealed.main()


class Checks(sealed.TestCase):
    def run_tool(self, where, *command, env=None):
        """In a folder of the repository; to a good end."""
        clean = {name: value for name, value in sealed.environment().items()
                 if not name.startswith(("GBX", "NODE", "PYTHON"))}
        try:
            ran = subprocess.run(command, cwd=os.path.join(ROOT, where), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LONGEST_S,
                                 env={**clean, "GLOVEBOX_BIN_DIR": sealed.BIN, **(env or {})})
        except subprocess.TimeoutExpired as late:
            self.fail(f"{command} does not end: {(late.stdout or b'').decode(errors='replace')[-4000:]}")
        output = ran.stdout.decode(errors="replace")
        self.assertEqual(ran.returncode, 0, "\n" + output[-8000:])
        return output
