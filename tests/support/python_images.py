# Images with an interpreter of their own: the host's Python or Node, copied to a place where the host has none.
import os
import re
import shutil
import subprocess

from image_archives import BUSYBOX, busybox_layer

PREFIX = "app"  # below it: bin/python3, lib/python3.X
# Not needed by what the tests run, and most of its size.
LEFT_OUT = {"test", "tests", "idlelib", "lib2to3", "ensurepip", "pydoc_data", "turtledemo", "tkinter", "__pycache__",
            "dist-packages", "site-packages", "config-3.11-x86_64-linux-gnu"}


def libraries_of(program):
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r"(/[^ ]+) \(", listed)))


def python_layer(layer=None, python="/usr/bin/python3"):
    """The interpreter below /app, its library with one module more, and what they are linked to."""
    layer = layer or busybox_layer()
    program = os.path.realpath(python)
    library = f"/usr/lib/{os.path.basename(program)}"
    layer.program(f"{PREFIX}/bin/python3", program)
    needed = set(libraries_of(program))
    for directory, names, files in os.walk(library):
        names[:] = [name for name in names if name not in LEFT_OUT and not name.startswith("config-")]
        for name in files:
            path = os.path.join(directory, name)
            if os.path.isfile(path) and not name.endswith(".pyc"):
                layer.program(PREFIX + "/lib/" + os.path.relpath(path, "/usr/lib"), path, 0o644)
            if name.endswith(".so") and os.path.isfile(path):
                needed.update(libraries_of(path))
    for path in sorted(needed):
        layer.program(path[1:], os.path.realpath(path))
    layer.file(f"{PREFIX}/lib/{os.path.basename(program)}/only_here.py", "WHERE = 'in the image'\n")
    return layer


def node_layer():
    layer = busybox_layer().program(f"{PREFIX}/bin/node", os.path.realpath("/usr/bin/node"))
    for path in libraries_of("/usr/bin/node"):
        layer.program(path[1:], os.path.realpath(path))
    return layer


def can_be_made():
    return os.path.exists(BUSYBOX) and shutil.which("ldd") is not None
