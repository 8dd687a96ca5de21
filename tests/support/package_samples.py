# The packages of the test index. Each is made at the first request: some are large.
import functools

import package_build_tools as tools
import package_hostile as hostile
from package_archives import NpmVersion, many_files_wheel, sdist, wheel, zeros_wheel

NOWHERE = "/nonexistent/mark"
WRONG = "0" * 64
C_SOURCE = '''#include <Python.h>
static PyObject* answer(PyObject* self, PyObject* unused) { return PyLong_FromLong(42); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "native", "", -1, methods};
PyMODINIT_FUNC PyInit_native(void) { return PyModule_Create(&module); }
'''


def module(name, version="1.0"):
    return {f"{name}.py": f"VERSION = {version!r}\n\n\ndef hello():\n    return 'hello from {name} {version}'\n"}


def python_samples(marker=NOWHERE, files="https://files.packages.test"):
    """Project to what makes its files. `marker`: the file in which code of some of them would leave a
    mark; `files`: where the index has its files."""
    setup = functools.partial(sdist, version="1.0")
    return {
        # Ordinary ones.
        "good": lambda: [wheel("good", "1.0", module("good")), wheel("good", "1.1", module("good", "1.1")),
                         sdist("good", "2.0", {"setup.py": hostile.marking_setup(marker, "good", "2.0")})],
        "needy": lambda: [wheel("needy", "1.0", module("needy"), requires=["good>=1.0"])],
        "with-extras": lambda: [wheel("with-extras", "1.0", module("with_extras"), extras=["more"],
                                      requires=['good; extra == "more"', 'absent; python_version < "3"'])],
        "greeter": lambda: [wheel("greeter", "1.0", {"greeter/__init__.py": "def main():\n    print('greetings')\n",
                                                     "greeter/data.txt": "data"}, scripts={"greet": "greeter:main"})],
        # The host's own Python may have another version of this one.
        "packaging": lambda: [wheel("packaging", "99.0", {"packaging/__init__.py": "__version__ = '99.0'\n"})],
        "with-pth": lambda: [wheel("with-pth", "1.0", {"with_pth.pth": hostile.marking_pth(marker) + "with_pth_more\n",
                                                       "with_pth_more/found_by_pth.py": "VERSION = 1\n"})],
        "bin-package": lambda: [wheel("bin-package", "1.0", {"bin/__init__.py": "", "bin/inner.py": "VERSION = 1\n"},
                                      scripts={"bin-program": "bin.inner:main"})],
        "python2-inside": lambda: [wheel("python2-inside", "1.0", {"python2_inside/__init__.py": "",
                                                                   "python2_inside/old.py": "print 'old'\n"})],
        "yanked": lambda: [wheel("yanked", "1.0", module("yanked")), wheel("yanked", "2.0", module("yanked", "2.0"), yanked="broken")],
        "old-python": lambda: [wheel("old-python", "1.0", module("old_python")),
                               wheel("old-python", "2.0", module("old_python", "2.0"), requires_python="<3")],
        "only-old-python": lambda: [wheel("only-old-python", "1.0", module("only_old_python"), requires_python="<3")],
        # Those that are built.
        "tiny-backend": lambda: [wheel("tiny-backend", "1.0", {"tiny_backend.py": tools.TINY_BACKEND})],
        "setuptools": lambda: [wheel("setuptools", "70.0", {"setuptools/__init__.py": tools.SETUPTOOLS, "tiny_backend.py": tools.TINY_BACKEND,
                                                            "setuptools/build_meta.py": tools.SETUPTOOLS_BUILD_META})],
        "wheel": lambda: [wheel("wheel", "0.43", {"wheel/__init__.py": ""})],
        "honest": lambda: [setup("honest", files={**module("honest"), "pyproject.toml": tools.pyproject("tiny-backend")}, requires=["good"])],
        "wants-honest": lambda: [wheel("wants-honest", "1.0", module("wants_honest"), requires=["honest"]),
                                 wheel("wants-honest", "0.1", module("wants_honest", "0.1"))],
        "built-by-built": lambda: [setup("built-by-built", files={**module("built_by_built"), "pyproject.toml":
                                                                  tools.pyproject("tiny-backend", "honest")})],
        "old-style": lambda: [setup("old-style", files={"setup.py": hostile.marking_setup(marker, "old-style")})],
        "own-backend": lambda: [setup("own-backend", files={
            **module("own_backend"), "backend/own.py": hostile.marking_backend(marker),
            "pyproject.toml": tools.pyproject("tiny-backend", backend="own", more='backend-path = ["backend"]\n')})],
        "native": lambda: [setup("native", files={"native.c": C_SOURCE, "pyproject.toml": tools.pyproject("tiny-backend")})],
        "failing": lambda: [setup("failing", files={"setup.py": "raise SystemExit('failing: there is no hope')\n"})],
        "wants-absent": lambda: [wheel("wants-absent", "1.0", module("wants_absent"), requires=["absent>=3"])],
        "build-wants-absent": lambda: [setup("build-wants-absent", files={"pyproject.toml": tools.pyproject("absent-tool")})],
        "conflict-one": lambda: [wheel("conflict-one", "1.0", module("conflict_one"), requires=["good==1.0"])],
        "conflict-two": lambda: [wheel("conflict-two", "1.0", module("conflict_two"), requires=["good==1.1"])],
        # Those that no tool would make.
        "wrong-hash": lambda: [wheel("wrong-hash", "1.0", module("wrong_hash"), told_sha256=WRONG)],
        "wrong-hash-source": lambda: [setup("wrong-hash-source", files={"setup.py": ""}, told_sha256=WRONG)],
        "escaping": lambda: [wheel("escaping", "1.0", {**module("escaping"), "../../../../../../escaped.py": "evil\n"})],
        "absolute": lambda: [wheel("absolute", "1.0", {**module("absolute"), "/tmp/gbx-absolute/escaped.py": "evil\n"})],
        "escaping-data": lambda: [wheel("escaping-data", "1.0", {**module("escaping_data"),
                                                                 "escaping_data-1.0.data/scripts/../../../../evil": "#!python\n"})],
        "linked": lambda: [wheel("linked", "1.0", {**module("linked"), "linked_dir/x.py": ""},
                                 links={"linked_file.py": "/etc/passwd", "linked_dir/out": "../../../../etc"})],
        "elsewhere": lambda: [wheel("elsewhere", "1.0", module("elsewhere"), requires=[f"good @ {files}/packages/good-1.0-py3-none-any.whl"])],
        "by-git": lambda: [wheel("by-git", "1.0", module("by_git"), requires=["good @ git+https://good.example.org/good.git"])],
        "by-path": lambda: [wheel("by-path", "1.0", module("by_path"), requires=["good @ file:///etc/passwd"])],
        "broken-archive": lambda: [broken(setup("broken-archive", files={"setup.py": ""}))],
        "broken-wheel": lambda: [broken(wheel("broken-wheel", "1.0", module("broken_wheel")))],
        "huge-bytes": lambda: [zeros_wheel("huge-bytes", "1.0", 3000)],
        "huge-files": lambda: [many_files_wheel("huge-files", "1.0", 100_000)],
        # Those whose code is hostile: for sandboxes only.
        "hostile": lambda: [setup("hostile", files={"setup.py": hostile.HOSTILE_SETUP})],
        "lingering": lambda: [setup("lingering", files={"setup.py": hostile.LINGERING_SETUP})],
        "fork-bomb": lambda: [setup("fork-bomb", files={"setup.py": hostile.FORK_BOMB_SETUP})],
        "greedy": lambda: [setup("greedy", files={"setup.py": hostile.GREEDY_SETUP})],
        "disk-filler": lambda: [setup("disk-filler", files={"setup.py": hostile.DISK_SETUP})],
        "sleeping": lambda: [setup("sleeping", files={"setup.py": hostile.SLEEPING_SETUP})],
        "impostor": lambda: [setup("impostor", files={"setup.py": hostile.IMPOSTOR_SETUP})],
        "linking": lambda: [setup("linking", files={"setup.py": hostile.LINKING_SETUP})],
    }


def broken(file):
    """Half of it, with the right hash of that."""
    return type(file)(file.name, file.data[:len(file.data) // 2])


def npm_samples(marker=NOWHERE):
    """Package to what makes its versions."""
    mark = f"node -e \"require('fs').appendFileSync('{marker}', 'script ')\""
    return {
        "good": lambda: [NpmVersion("good", one, {"package/index.js": f"module.exports = {{ version: '{one}' }};\n",
                                                  "package/bin/good.js": f"#!/usr/bin/env node\nconsole.log('good {one}');\n"},
                                    main="index.js", bin={"good": "bin/good.js"}) for one in ("1.0.0", "1.2.0", "2.0.0")],
        "@scope/scoped": lambda: [NpmVersion("@scope/scoped", "1.0.0", {"package/index.js": "module.exports = 'scoped';\n"})],
        "modern": lambda: [NpmVersion("modern", "1.0.0", {"package/index.js": "export default 'modern';\n"}, type="module", exports="./index.js")],
        "dependent": lambda: [NpmVersion("dependent", "1.0.0", {"package/index.js": "module.exports = require('good').version;\n"},
                                         dependencies={"good": "^1.0.0"})],
        "marked": lambda: [NpmVersion("marked", "1.0.0", {"package/index.js": "module.exports = require('fs').existsSync(__dirname + '/made');\n"},
                                      scripts={"preinstall": mark, "postinstall": mark + " && touch made", "prepare": mark})],
        "failing-script": lambda: [NpmVersion("failing-script", "1.0.0", scripts={"install": "echo failing: there is no hope >&2; exit 3"})],
        "hostile-script": lambda: [NpmVersion("hostile-script", "1.0.0", {"package/evil.js": hostile.HOSTILE_SCRIPT,
                                                                          "package/index.js": "module.exports = require('./report.json');\n"},
                                              scripts={"postinstall": "node evil.js"})],
        "escaping": lambda: [NpmVersion("escaping", "1.0.0", {"package/index.js": "module.exports = 1;\n", "package/../../../escaped.js": "evil",
                                                              "/tmp/gbx-absolute/escaped.js": "evil"},
                                        links={"package/out": "/etc"})],
        "wrong-integrity": lambda: [NpmVersion("wrong-integrity", "1.0.0", told_integrity="sha512-" + "A" * 86 + "==")],
        "by-git": lambda: [NpmVersion("by-git", "1.0.0", dependencies={"good": "git+https://good.example.org/good.git"})],
        "by-address": lambda: [NpmVersion("by-address", "1.0.0", dependencies={"good": "https://evil.example.com/good.tgz"})],
        "by-path": lambda: [NpmVersion("by-path", "1.0.0", dependencies={"good": "file:/etc"})],
        "wants-absent": lambda: [NpmVersion("wants-absent", "1.0.0", dependencies={"absent": "^1.0.0"})],
    }
