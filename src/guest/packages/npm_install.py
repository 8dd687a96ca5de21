"""Makes a layer of the packages that npm_fetch.py fetched. If any of them has scripts, they run here:
without a network or settings, and nothing is kept of this sandbox but the tree.

    in/   tree/{package.json, package-lock.json, node_modules/}
    out/  result.json, layer/: node_modules/, and usr/local/bin/ with links to their programs
"""
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import npm_fetch
import program
from build_step import Refused, run_step, settle, shorten

PROGRAMS = "usr/local/bin"
SCRIPT_BEGINS = re.compile(r"^> \S+@\S+ \S*install$")  # npm says whose script it runs; the last one failed


def install(build):
    tree = build.input("tree")
    modules = os.path.join(tree, "node_modules")
    if not os.path.isdir(modules):
        raise Refused("there are no packages")
    if any_scripts(tree):
        run_scripts(build, tree)
    layer = build.new_directory("layer")
    inside = os.path.join(layer, "node_modules")
    os.rename(modules, inside)
    shutil.rmtree(os.path.join(inside, ".cache"), ignore_errors=True)
    link_programs(layer, inside)
    settle(layer)
    return {"state": "ready"}


def any_scripts(tree):
    """By the packages themselves, as npm_fetch.py looked at them."""
    with open(os.path.join(tree, "node_modules", ".package-lock.json")) as file:
        return any(npm_fetch.has_scripts(os.path.join(tree, path)) for path in json.load(file)["packages"])


def run_scripts(build, tree):
    npm = npm_fetch.find_npm()
    environment = program.clean_environment(
        build, NPM_CONFIG_USERCONFIG=os.path.join(build.scratch, "no-npmrc"), NPM_CONFIG_GLOBALCONFIG=os.devnull, NPM_CONFIG_UPDATE_NOTIFIER="false",
        NPM_CONFIG_CACHE=os.path.join(build.scratch, "npm"), NPM_CONFIG_OFFLINE="true",
        NPM_CONFIG_NODEDIR="/usr", npm_package_config_node_gyp_nodedir="/usr", NPM_CONFIG_DANGEROUSLY_ALLOW_ALL_SCRIPTS="true", CI="1")
    command = [npm, "rebuild", "--foreground-scripts", "--no-audit", "--no-fund", "--no-progress", "--color=false", "--prefix", tree]
    ended = program.run(command, build, environment, cwd=tree)
    if not ended.ok:
        raise Refused(shorten(ended.error_text(SCRIPT_BEGINS, npm_fetch.NOISE, last=True)))


def link_programs(layer, inside):
    bins = os.path.join(inside, ".bin")
    if not os.path.isdir(bins) or os.path.islink(bins):
        return
    programs = os.path.join(layer, PROGRAMS)
    os.makedirs(programs)
    for name in sorted(os.listdir(bins)):
        os.symlink("../../../node_modules/.bin/" + name, os.path.join(programs, name))


if __name__ == "__main__":
    run_step(install)
