# Build backends of the sample packages, as text: a tiny one of our own (PEP 517), and stand-ins for
# setuptools and wheel that run a setup.py, so that a test needs nothing from outside.

TINY_BACKEND = '''
import base64, hashlib, os, subprocess, sysconfig, zipfile

def metadata():
    return open("PKG-INFO").read()

def field(name):
    return next(line.partition(": ")[2] for line in metadata().splitlines() if line.startswith(name + ": "))

def write_wheel(directory, name, version, files, tag="py3-none-any", text=None):
    stem = name.replace("-", "_")
    info = "%s-%s.dist-info" % (stem, version)
    files = dict(files)
    files[info + "/METADATA"] = (text or metadata()).encode()
    files[info + "/WHEEL"] = ("Wheel-Version: 1.0\\nGenerator: tiny\\nRoot-Is-Purelib: %s\\nTag: %s\\n"
                              % (str(tag.endswith("any")).lower(), tag)).encode()
    rows = ["%s,sha256=%s,%d" % (path, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data))
            for path, data in files.items()]
    files[info + "/RECORD"] = ("\\n".join(rows) + "\\n%s/RECORD,,\\n" % info).encode()
    file = "%s-%s-%s.whl" % (stem, version, tag)
    with zipfile.ZipFile(os.path.join(directory, file), "w") as archive:
        for path, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(path), data)
    return file

def modules():
    return {name: open(name, "rb").read() for name in sorted(os.listdir(".")) if name.endswith((".py", ".pth")) and name != "setup.py"}

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files, tag = modules(), "py3-none-any"
    for source in [name for name in sorted(os.listdir(".")) if name.endswith(".c")]:
        made = source[:-2] + sysconfig.get_config_var("EXT_SUFFIX")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-I", sysconfig.get_paths()["include"], source, "-o", made], check=True)
        files[made] = open(made, "rb").read()
        tag = "cp%s-cp%s-linux_%s" % (sysconfig.get_config_var("py_version_nodot"), sysconfig.get_config_var("py_version_nodot"),
                                      os.uname().machine)
    return write_wheel(wheel_directory, field("Name"), field("Version"), files, tag)
'''

# What pip runs for a package without a pyproject.toml: setuptools.build_meta:__legacy__.
SETUPTOOLS = '''
import sys
said = {}
def setup(**words):
    said.update(words)
'''
SETUPTOOLS_BUILD_META = '''
import os, sys
import setuptools
import tiny_backend

class Legacy:
    def run_setup(self):
        sys.argv = ["setup.py", "bdist_wheel"]
        sys.path.insert(0, os.getcwd())
        exec(compile(open("setup.py").read(), "setup.py", "exec"), {"__name__": "__main__", "__file__": "setup.py"})

    def get_requires_for_build_wheel(self, config_settings=None):
        return ["wheel"]

    def build_wheel(self, wheel_directory, config_settings=None, metadata_directory=None):
        self.run_setup()
        return tiny_backend.write_wheel(wheel_directory, setuptools.said["name"], setuptools.said["version"], tiny_backend.modules())

__legacy__ = Legacy()
build_wheel = __legacy__.build_wheel
get_requires_for_build_wheel = __legacy__.get_requires_for_build_wheel
'''
PYPROJECT = '[build-system]\nrequires = [%s]\nbuild-backend = "%s"\n'


def pyproject(*requires, backend="tiny_backend", more=""):
    return PYPROJECT % (", ".join(f'"{one}"' for one in requires), backend) + more
