"""A package-lock.json, made to lead nowhere but to the registry: addresses are taken out, so that npm
asks the registry by name and version, and every package must have the lock's hash.
"""
import json
import re
from urllib.parse import urlsplit

import npm_requirements
from build_step import Refused

MAX_PACKAGES = 20_000
ROOT_FIELDS = ("dependencies", "optionalDependencies", "peerDependencies")
NODE_MODULES_PATH = re.compile(r"(?:node_modules/%s/)*node_modules/(?P<name>%s)" % (npm_requirements.NAME, npm_requirements.NAME))
# One hash: npm would take a package that has any of several.
INTEGRITY = re.compile(r"sha(?:1-[A-Za-z0-9+/]{27}=|512-[A-Za-z0-9+/]{86}==)")
# What a lock may say of a package.
FIELDS = ("version", "bin", "integrity", "dependencies", "optionalDependencies", "peerDependencies", "peerDependenciesMeta",
          "optional", "devOptional", "peer", "os", "cpu", "libc", "engines", "hasInstallScript", "inBundle")
VERSION = re.compile(r"[0-9A-Za-z.+-]{1,200}")


def read(text):
    """(package.json, package-lock.json) as objects."""
    if not text.lstrip().startswith("{"):
        raise Refused("lock: for JavaScript it must be a package-lock.json")
    try:
        lock = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused("lock: not JSON: %s" % str(error)[:300])
    packages = lock.get("packages")
    if lock.get("lockfileVersion") not in (2, 3) or not isinstance(packages, dict):
        raise Refused("lock: a package-lock.json of version 2 or 3 is needed (npm 7 and later write it)")
    if len(packages) > MAX_PACKAGES:
        raise Refused("lock: more than %d packages" % MAX_PACKAGES)
    root = packages.get("")
    if not isinstance(root, dict):
        raise Refused("lock: the entry of the project itself (packages[\"\"]) is missing")
    project = {"name": "packages", "version": "1.0.0", "private": True}
    for field in ROOT_FIELDS:
        if isinstance(root.get(field), dict):
            project[field] = {name: root_range(name, versions) for name, versions in root[field].items()}
    cleaned = {"": dict(project)}
    del cleaned[""]["private"]
    for path, package in packages.items():
        if path and not (isinstance(package, dict) and package.get("dev") is True):
            cleaned[path] = entry(path, package)
    return project, {"name": "packages", "version": "1.0.0", "lockfileVersion": 3, "requires": True, "packages": cleaned}


def root_range(name, versions):
    if not isinstance(versions, str) or not re.fullmatch(npm_requirements.NAME, name) or not re.fullmatch(npm_requirements.RANGE, versions):
        raise Refused("lock: %s is requested as '%s': only packages of the registry are supported" % (name[:100], str(versions)[:100]))
    return versions


def entry(path, package):
    found = NODE_MODULES_PATH.fullmatch(path)
    if not isinstance(package, dict) or not found:
        raise Refused("lock: '%s' is not the path of a package of the registry (workspaces and links are not supported)" % path[:200])
    name = package.get("name", found["name"])
    where = "lock: package %s" % found["name"]
    if package.get("link"):
        raise Refused("%s is a link, not a package of the registry" % where)
    if name != found["name"]:
        raise Refused("%s has another name ('%s'): aliases are not supported" % (where, str(name)[:100]))
    if not isinstance(package.get("version"), str) or not VERSION.fullmatch(package["version"]):
        raise Refused("%s has no version" % where)
    resolved = package.get("resolved")
    if resolved is not None and not on_a_registry(resolved, name):
        raise Refused("%s comes from '%s', not from a registry" % (where, str(resolved)[:200]))
    if not package.get("inBundle"):
        if not isinstance(package.get("integrity"), str) or not INTEGRITY.fullmatch(package["integrity"]):
            raise Refused("%s has no integrity with one hash: sha512-..." % where)
    return {key: package[key] for key in FIELDS if key in package}


def on_a_registry(address, name):
    """https://HOST/.../NAME/-/FILE.tgz, as registries lay out their files."""
    try:
        parts = urlsplit(address) if isinstance(address, str) else None
    except ValueError:
        return False
    return parts is not None and parts.scheme == "https" and not parts.query \
        and re.search(r"/%s/-/(?:@[^/]+/)?[^/]+\.tgz$" % re.escape(name), parts.path.replace("%2f", "/").replace("%2F", "/")) is not None
