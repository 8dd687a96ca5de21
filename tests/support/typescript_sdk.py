# Compiles a TypeScript program against the SDK of sdk/typescript, as its user would: with the strict
# compiler, and the package in node_modules. The package is built beside the program, from its sources.
import os
import shutil
import subprocess

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
SDK = os.path.join(ROOT, "sdk", "typescript")
TOOLS = os.path.join(ROOT, "build", "clients", "sdk-node", "node_modules")
LONGEST_S = 150
_reason = None


def missing():
    """Why it cannot be done here; empty if it can."""
    global _reason
    if _reason is None:
        _reason = _missing()
    return _reason


def _missing():
    node = shutil.which("node")
    if node is None:
        return "there is no Node"
    version = subprocess.run([node, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=LONGEST_S)
    if int(version.stdout.lstrip("v").split(".")[0]) < 20:
        return f"Node is {version.stdout.strip()}, and the SDK needs 20"
    installed = subprocess.run([os.path.join(ROOT, "scripts", "install-sdk-tools"), "node"],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST_S)
    if installed.returncode == 77:
        return installed.stderr.strip()
    if installed.returncode != 0:
        raise AssertionError(installed.stderr)
    return ""


def compiled(folder, place):
    """The program of a folder with one .ts and a tsconfig.json, compiled in `place`; its path."""
    made = os.path.join(place, "program")
    shutil.copytree(folder, made, ignore=shutil.ignore_patterns("node_modules", "build"))
    modules = os.path.join(made, "node_modules")
    sdk = os.path.join(modules, "@glovebox", "sdk")
    os.makedirs(sdk)
    os.symlink(os.path.join(TOOLS, "@types"), os.path.join(modules, "@types"))
    for name in ("package.json", "tsconfig.json"):
        shutil.copy(os.path.join(SDK, name), sdk)
    shutil.copytree(os.path.join(SDK, "src"), os.path.join(sdk, "src"))
    _compile(sdk)
    _compile(made)
    program, = (name for name in os.listdir(made) if name.endswith(".ts"))
    return os.path.join(made, "build", program.removesuffix(".ts") + ".js")


def _compile(project):
    ran = subprocess.run(["node", os.path.join(TOOLS, "typescript", "bin", "tsc"), "-p", project],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST_S)
    if ran.returncode != 0:
        raise AssertionError(ran.stdout + ran.stderr)
