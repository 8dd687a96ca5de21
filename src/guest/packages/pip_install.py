"""Puts wheels into a tree that is laid out as a layer. No network, no settings; pip unpacks, and no
code of the packages is run.

    in/   wheels/*.whl, layout.json ("host_packages", "own_site": true or false)
    out/  result.json, layer/: opt/glovebox-packages/python/ with the packages, usr/local/ with
          their programs and data, and a line in a site directory by which every Python finds the
          first and, unless host_packages is true, no packages of the host; with own_site, none
          that the host's root has installed below /usr/local either
"""
import csv
import io
import os
import re
import shutil
import site
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import program
from pip_fetch import ERROR_BEGINS, NOISE
from build_step import Refused, run_step, settle, shorten, wheel_parts, wheels_in

PACKAGES = "opt/glovebox-packages/python"  # where they are in a sandbox
LOCAL = "usr/local"
# Every Python of a sandbox runs this while it starts; site_paths.py says what it does.
SITE_PATHS = "opt/glovebox-packages/site_paths.py"
SITE_LINE = "import sys; exec(open('/{script}').read(), dict(here='{site}', host_packages={host}))\n"
# With own_site: what the host's site directory below usr/local is a link to.
OWN_SITE = "usr/local/lib/glovebox-site"
# What a venv has, too: without it there is no `pip install` in a session.
INSTALLER = "opt/glovebox-packages/installer"
INSTALLER_MODULES = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "wheel")


def install(build):
    layer = build.new_directory("layer")
    target = os.path.join(layer, PACKAGES)
    os.makedirs(target)
    layout = build.read_json("layout.json", missing={})
    host_packages = layout.get("host_packages") is True
    # Where the only pip is below /usr/local, sessions would have none.
    own_site = layout.get("own_site") is True and any(
        os.path.isdir(os.path.join(one, "pip")) for one in site.getsitepackages() if not is_local(one))
    wheels = wheels_in(build.input("wheels"))
    if not wheels:
        raise Refused("there are no wheels")
    prefix = os.path.join(build.scratch, "prefix")
    unpack(build, wheels, prefix)
    lay_out(layer, prefix)
    write_site_line(layer, host_packages, own_site)
    if not host_packages:
        link_installer(layer, [one for one in site.getsitepackages() if not (own_site and is_local(one))])
    compile_all(build, layer, target)
    settle(layer)
    return {"state": "ready"}


def unpack(build, wheels, prefix):
    """By name and version: pip would note the path of a file that is given as one. Not with --target:
    that leaves programs out if there is a package that is called bin."""
    requirements = os.path.join(build.scratch, "requirements.txt")
    with open(requirements, "w") as file:
        file.writelines("%s==%s\n" % wheel_parts(one) for one in wheels)
    command = [*program.python_command(), "-m", "pip", "install", "--no-index", "--no-deps", "--no-compile", "--ignore-installed",
             "--only-binary", ":all:", "--no-warn-script-location", "--progress-bar", "off", "--find-links", build.input("wheels"),
             "--prefix", prefix, "--requirement", requirements]
    environment = program.clean_environment(
        build, PIP_CONFIG_FILE=os.devnull, PIP_NO_INPUT="1", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_CACHE_DIR="1",
        PIP_NO_COLOR="1", PIP_ROOT_USER_ACTION="ignore", PIP_BREAK_SYSTEM_PACKAGES="1")
    ended = program.run(command, build, environment)
    if not ended.ok:
        raise Refused(shorten(ended.error_text(ERROR_BEGINS, NOISE)))


def lay_out(layer, prefix):
    """Packages to their place, everything else (programs, data) below usr/local, as on any host."""
    sites = [directory for directory, names, _ in os.walk(prefix)
             if re.search(r"/lib(64)?/python3[.]\d+/(site|dist)-packages$", directory) and any(one.endswith(".dist-info") for one in names)]
    if not sites:
        raise Refused("pip installed nothing")
    for directory in sites:
        base = os.path.dirname(os.path.dirname(os.path.dirname(directory)))
        for name in sorted(os.listdir(directory)):
            if name.endswith(".dist-info"):
                correct_record(os.path.join(directory, name, "RECORD"), directory, base)
        merge(directory, os.path.join(layer, PACKAGES))
    for base in {os.path.dirname(os.path.dirname(os.path.dirname(one))) for one in sites}:
        merge(base, os.path.join(layer, LOCAL))


def correct_record(record, directory, base):
    """Names of files outside of the packages' own directory, as they will be."""
    if not os.path.isfile(record):
        return
    with open(record, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    for row in rows:
        path = os.path.normpath(os.path.join(directory, row[0])) if row else directory
        if path.startswith(base + "/") and not path.startswith(directory + "/"):
            row[0] = os.path.join(os.path.relpath("/" + LOCAL, "/" + PACKAGES), os.path.relpath(path, base))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(sorted(rows))
    with open(record, "w", encoding="utf-8") as file:
        file.write(text.getvalue())


def merge(source, target):
    """Moves what is in one directory into another; empty ones are left out."""
    for entry in sorted(os.scandir(source), key=lambda one: one.name):
        wanted = os.path.join(target, entry.name)
        if entry.is_dir(follow_symlinks=False) and (os.path.isdir(wanted) or not has_files(entry.path)):
            merge(entry.path, wanted)
        else:
            os.makedirs(target, exist_ok=True)
            os.rename(entry.path, wanted)


def has_files(directory):
    return any(files for _, _, files in os.walk(directory))


def is_local(directory):
    return directory.startswith("/usr/local/")


def write_site_line(layer, host_packages, own_site):
    directory = next((one for one in site.getsitepackages() if is_local(one)), None)
    if directory is None:
        raise Refused("this host's Python has no site directory below /usr/local, which layers need")
    inside = os.path.join(layer, directory.lstrip("/"))
    if own_site and not os.path.lexists(inside):
        # An overlay shows a link instead of the host's directory, where it would merge two directories.
        os.makedirs(os.path.join(layer, OWN_SITE))
        os.makedirs(os.path.dirname(inside), exist_ok=True)
        os.symlink(os.path.relpath("/" + OWN_SITE, os.path.dirname(directory)), inside)
    os.makedirs(inside, exist_ok=True)
    with open(os.path.join(inside, "glovebox-packages.pth"), "w") as file:
        file.write(SITE_LINE.format(script=SITE_PATHS, site=directory, host=host_packages))
    own = os.path.dirname(os.path.abspath(__file__))
    shutil.copyfile(os.path.join(own, "site_paths.py"), os.path.join(layer, SITE_PATHS))


def link_installer(layer, directories):
    """Links to the host's own installer, each with the directory that names its version."""
    target = os.path.join(layer, INSTALLER)
    os.makedirs(target)
    for directory in directories:
        for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
            module = re.sub(r"-[^-]*[.](dist|egg)-info$", "", name)
            link = os.path.join(target, name)
            if module in INSTALLER_MODULES and not os.path.lexists(link):
                os.symlink(os.path.join(directory, name), link)


def compile_all(build, layer, target):
    """Valid whatever becomes of the files' times, and the same for the same source."""
    workers = len(os.sched_getaffinity(0))
    command = [*program.python_command(), "-m", "compileall", "-qq", "-j", str(workers), "--invalidation-mode", "unchecked-hash",
             "-s", layer, "-p", "/", target]
    program.say("Compiling")
    # Some packages carry files for other versions of Python: what cannot be compiled is left alone.
    program.run(command, build, program.clean_environment(build))


if __name__ == "__main__":
    run_step(install)
