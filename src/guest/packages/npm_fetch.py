"""The step of a build with a network, for JavaScript: npm resolves and downloads a set of packages.
No code of any package runs here: scripts are not run, and there is no git to be led to.

    in/   request.json, npmrc, ca.pem
    out/  result.json, tree/{package.json, package-lock.json, node_modules/}
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import npm_lock
import npm_requirements
import program
from build_step import Refused, run_step, shorten

NO_NPM = "npm is not installed on this host: apt install npm"
MAX_MANIFEST = 4 << 20
ERROR_BEGINS = re.compile(r"^npm (?:error|ERR!)")
NOISE = re.compile(r"A complete log of this run can be found in|^npm (?:error|ERR!)\s+/\S+-debug-\d+\.log$|^npm (?:notice|NOTICE)")
SECRET = re.compile(r"_(?:authToken|auth|password)\s*=\s*(\S+)")


def fetch(build):
    npm = find_npm()
    packages, requirements, lock = build.request()
    if requirements:
        raise Refused("requirements are for Python; for JavaScript use packages ('lodash@4') or a package-lock.json as lock")
    tree = build.new_directory("tree")
    if lock:
        project, locked = npm_lock.read(lock)
        write_json(os.path.join(tree, "package-lock.json"), locked)
    else:
        project = {"name": "packages", "version": "1.0.0", "private": True, "dependencies": npm_requirements.dependencies(packages)}
        if not packages:
            raise Refused("no packages were requested")
    write_json(os.path.join(tree, "package.json"), project)
    command = [npm, "ci" if lock else "install", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-progress",
             "--color=false", "--loglevel=http", "--prefix", tree]
    ended = program.run(command, build, environment(build), secrets(build.input("npmrc")), cwd=tree)
    if not ended.ok:
        raise Refused(npm_error(ended))
    found, scripts = installed(tree)
    return {"state": "ready", "artefacts": found, "scripts": scripts, "interpreter": interpreter()}


def find_npm():
    npm = shutil.which("npm", path="/usr/local/bin:/usr/bin:/bin")
    if npm is None or shutil.which("node", path="/usr/local/bin:/usr/bin:/bin") is None:
        raise Refused(NO_NPM)
    return npm


def environment(build):
    """npm reads in/npmrc and no other settings."""
    certificates = {"NPM_CONFIG_CAFILE": build.input("ca.pem")} if os.path.exists(build.input("ca.pem")) else {}
    return program.clean_environment(
        build, NPM_CONFIG_USERCONFIG=build.input("npmrc"), NPM_CONFIG_GLOBALCONFIG=os.devnull,
        NPM_CONFIG_CACHE=os.path.join(build.scratch, "npm"), NPM_CONFIG_UPDATE_NOTIFIER="false", NPM_CONFIG_GIT="/nonexistent/git", NPM_CONFIG_ALLOW_GIT="none",
        NPM_CONFIG_FETCH_RETRIES="2", NPM_CONFIG_FETCH_TIMEOUT="30000",
        NPM_CONFIG_FETCH_RETRY_MINTIMEOUT="500", NPM_CONFIG_FETCH_RETRY_MAXTIMEOUT="5000", NPM_CONFIG_IGNORE_SCRIPTS="true",
        NPM_CONFIG_OMIT_LOCKFILE_REGISTRY_RESOLVED="false", **certificates)


def npm_error(ended):
    return shorten(ended.error_text(ERROR_BEGINS, NOISE))


def secrets(path):
    if not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8", errors="replace") as file:
        return {found for found in SECRET.findall(file.read()) if len(found) > 2}


def installed(tree):
    """(artefacts, whether any of them has scripts), by npm's own record of what it put there."""
    record = os.path.join(tree, "node_modules", ".package-lock.json")
    if not os.path.exists(record):
        raise Refused("npm installed nothing")
    with open(record) as file:
        packages = json.load(file)["packages"]
    found, scripts = [], False
    for path, package in sorted(packages.items()):
        if not os.path.isdir(os.path.join(tree, path)):
            continue  # optional, and not for this kind of host
        scripts = scripts or has_scripts(os.path.join(tree, path))
        if package.get("inBundle"):
            continue  # a part of the one that it is in
        integrity = package.get("integrity")
        if package.get("link") or not isinstance(integrity, str) or len(integrity.split()) != 1:
            raise Refused("%s does not come from the registry" % path.removeprefix("node_modules/")[:200])
        version = package.get("version", "")
        name = path.removeprefix("node_modules/")
        file = str(package.get("resolved") or "").rpartition("/")[2] or "%s-%s.tgz" % (name.rpartition("/")[2], version)
        found.append({"name": name, "version": version, "file": file, "sha256": integrity})
    found.append(shape_of(record))
    return found, scripts


def shape_of(path):
    """The tree itself as one more artefact: where each package lies and which programs are linked is more than
    the packages' hashes say, and layers of equal artefacts are shared."""
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    return {"name": "(tree)", "version": "1", "file": ".package-lock.json", "sha256": digest}


def has_scripts(directory):
    """Whether npm would run something of this package when it is installed."""
    try:
        with open(os.path.join(directory, "package.json"), "rb") as file:
            scripts = json.loads(file.read(MAX_MANIFEST)).get("scripts")
    except (OSError, ValueError, RecursionError, AttributeError):
        scripts = None
    return isinstance(scripts, dict) and any(one in scripts for one in ("preinstall", "install", "postinstall")) \
        or os.path.exists(os.path.join(directory, "binding.gyp"))


def interpreter():
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, env={"PATH": "/usr/local/bin:/usr/bin:/bin"}).stdout
    return "node-" + version.strip().lstrip("v").partition(".")[0]


def write_json(path, value):
    with open(path, "w") as file:
        json.dump(value, file, indent=1, sort_keys=True)


if __name__ == "__main__":
    run_step(fetch)
