"""Builds one source package into a wheel. It runs that package's code, so it runs in a sandbox of
its own without a network or settings, of which nothing is kept but the wheel.

    in/   source/FILE, source/requires/*.whl
    out/  result.json ("file": X.whl), wheels/X.whl
"""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import program
from build_step import Refused, run_step, shorten, wheel_parts, wheels_in

ERROR_BEGINS = re.compile(r"^\s*(?:ERROR|error)\b|^\s*× |^\s*WARNING: Built wheel|^Traceback ")


def build(directories):
    directory = directories.input("source")
    files = [entry.name for entry in os.scandir(directory) if entry.is_file(follow_symlinks=False)]
    if len(files) != 1:
        raise Refused("in/source has %d files instead of one" % len(files))
    made = os.path.join(directories.scratch, "wheels")
    command = [*program.python_command(), "-m", "pip", "wheel", "--no-index", "--no-deps", "--use-pep517", "--progress-bar", "off",
             "--find-links", os.path.join(directory, "requires"), "--wheel-dir", made, os.path.join(directory, files[0])]
    environment = program.clean_environment(
        directories, PIP_CONFIG_FILE=os.devnull, PIP_NO_INPUT="1", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_CACHE_DIR="1",
        PIP_NO_COLOR="1", PYTHONHASHSEED="0")
    os.makedirs(os.path.join(directory, "requires"), exist_ok=True)
    ended = program.run(command, directories, environment)
    if not ended.ok:
        raise Refused(shorten("%s cannot be built here\n%s" % (files[0], ended.error_text(ERROR_BEGINS))))
    wheels = wheels_in(made)
    if len(wheels) != 1:
        raise Refused("%s: its build made %d wheels instead of one" % (files[0], len(wheels)))
    if not files[0].lower().replace("_", "-").replace(".", "-").startswith(wheel_parts(wheels[0])[0] + "-"):
        raise Refused("%s: its build made %s, which is a different package" % (files[0], wheels[0][:200]))
    shutil.move(os.path.join(made, wheels[0]), os.path.join(directories.new_directory("wheels"), wheels[0]))
    return {"state": "ready", "file": wheels[0]}


if __name__ == "__main__":
    run_step(build)
