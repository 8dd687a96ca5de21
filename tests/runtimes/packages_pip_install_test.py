"""The layer that is made of wheels: what every Python finds in it, what is refused, and that the same
wheels give the same layer.
"""
import hashlib
import os
import shutil
import site
import subprocess
import unittest

import package_steps
from package_steps import PYTHON, Steps, in_a_sandbox_of_sorts

ESCAPED = "/tmp/gbx-absolute"


class PipInstall(unittest.TestCase):
    def setUp(self):
        self.steps = Steps()
        self.addCleanup(self.steps.stop)

    def layer(self, *packages, **layout):
        fetched = self.steps.fetch(*packages)
        self.assertEqual(fetched.state, "ready", fetched)
        return self.steps.install(fetched, **layout)

    def python(self, layer, code, *options, cwd="/", usr=""):
        return in_a_sandbox_of_sorts(layer.path("layer"), ["/usr/bin/python3", *options, "-c", code], cwd, usr).strip()


def tree(root):
    """Every name with its kind, rights, time and contents."""
    found = {}
    for directory, names, files in os.walk(root):
        for name in names + files:
            path = os.path.join(directory, name)
            facts = os.lstat(path)
            data = b""
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    data = file.read()
            found[os.path.relpath(path, root)] = (oct(facts.st_mode), int(facts.st_mtime), hashlib.sha256(data).hexdigest()[:16])
    return found


class Layout(PipInstall):
    def test_places(self):
        layer = self.layer("needy", "greeter", "bin-package", "python2-inside")
        self.assertEqual(layer.state, "ready", layer)
        self.assertEqual(layer.names("layer"), ["opt", "usr"])
        self.assertEqual(layer.names("layer/usr/local/bin"), ["bin-program", "greet"])
        python = "layer/opt/glovebox-packages/python"
        self.assertEqual([name for name in layer.names(python) if not name.endswith(".dist-info")],
                         ["__pycache__", "bin", "good.py", "greeter", "needy.py", "python2_inside"])
        with open(layer.path("layer/usr/local/bin/greet")) as file:
            self.assertEqual(file.readline(), "#!/usr/bin/python3\n")
        files = tree(layer.path("layer"))
        self.assertEqual({time for _, time, _ in files.values()}, {315532800})
        self.assertNotIn("usr/local/local", files)
        links = {name: os.readlink(layer.path("layer", name)) for name in files if os.path.islink(layer.path("layer", name))}
        self.assertEqual(links["opt/glovebox-packages/installer/pip"], "/usr/lib/python3/dist-packages/pip")
        self.assertEqual({os.path.dirname(name) for name in links}, {"opt/glovebox-packages/installer"})
        self.assertLessEqual({mode for name, (mode, _, _) in files.items() if name not in links}, {"0o40755", "0o100644", "0o100755"})
        self.assertIn("opt/glovebox-packages/python/__pycache__/good.cpython-%s.pyc" % self.python_tag(), files)
        # What cannot be compiled stays as it is.
        self.assertIn("opt/glovebox-packages/python/python2_inside/old.py", files)
        # Nothing says where it was made.
        for name in files:
            if os.path.isfile(layer.path("layer", name)):
                with open(layer.path("layer", name), "rb") as file:
                    self.assertNotIn(self.steps.directory.encode(), file.read(), name)

    def python_tag(self):
        return subprocess.run([PYTHON, "-c", "import sys; print('%d%d' % sys.version_info[:2])"], capture_output=True, text=True).stdout.strip()

    def test_the_same_wheels_give_the_same_layer(self):
        fetched = self.steps.fetch("needy", "greeter", "with-pth")
        first, second = self.steps.install(fetched), self.steps.install(fetched)
        self.assertEqual(tree(first.path("layer")), tree(second.path("layer")))
        self.assertGreater(len(tree(first.path("layer"))), 20)


@unittest.skipIf(os.geteuid() != 0, "mounting needs root")
@unittest.skipIf(PYTHON != "/usr/bin/python3", "the host's own Python is what finds a layer")
class Found(PipInstall):
    def test_by_every_python(self):
        layer = self.layer("needy", "packaging", "greeter")
        code = "import needy, good, packaging, sys; print(needy.hello(), good.__file__, packaging.__version__, good.__cached__)"
        found = "hello from needy 1.0 /opt/glovebox-packages/python/good.py 99.0 /opt/glovebox-packages/python/__pycache__/good.cpython-"
        for options in ((), ("-I",), ("-E", "-s"), ("-B",)):
            with self.subTest(options):
                self.assertIn(found, self.python(layer, code, *options))
        self.assertEqual(in_a_sandbox_of_sorts(layer.path("layer"), ["greet"]).strip(), "greetings")
        self.assertIn("ModuleNotFoundError", self.python(layer, "import needy", "-S"))
        # Where it is among the rest.
        order = self.python(layer, "import sys; print([one for one in sys.path if 'packages' in one])")
        self.assertRegex(order, r"^\['/opt/glovebox-packages/python', '/usr/local/lib/python3[.]\d+/dist-packages', "
                                r"'/opt/glovebox-packages/installer'\]$")
        # The record of what is installed is right.
        self.assertEqual(self.python(layer, "import importlib.metadata as m; print(m.version('packaging'), "
                                            "all(f.locate().exists() for f in m.files('greeter')))"), "99.0 True")

    def test_the_hosts_packages_only_if_asked_for(self):
        """yaml is a package of Debian's that this host has, and none of the layer's."""
        code = "import good\ntry:\n    import yaml\n    print('found', yaml.__file__)\nexcept ImportError as error:\n    print(error)"
        missing = "No module named 'yaml'"
        hidden, shown = self.layer("good"), self.layer("good", host_packages=True)
        for options in ((), ("-I",), ("-E", "-s")):
            with self.subTest(options):
                self.assertEqual(self.python(hidden, code, *options), missing)
                self.assertEqual(self.python(shown, code, *options), "found /usr/lib/python3/dist-packages/yaml/__init__.py")
        # None of what asks for the site directories brings them back, but naming one does.
        self.assertEqual(self.python(hidden, "import site; site.main(); " + code.split(chr(10), 1)[0] + chr(10) + code), missing)
        self.assertEqual(self.python(hidden, "import site; print([one for one in site.getsitepackages() if not one.startswith('/usr/local/')])"), "[]")
        self.assertIn("found", self.python(hidden, "import site; site.addsitedir('/usr/lib/python3/dist-packages')\n" + code))
        # The .pth files of the host are not run either.
        self.assertEqual(self.python(hidden, "import sys; print('_distutils_hack' in sys.modules)"), "False")
        # What installs packages is there all the same, as in a venv.
        installed = "import pip, setuptools, importlib.metadata as m; print(sorted(d.metadata['Name'] for d in m.distributions()))"
        self.assertEqual(self.python(hidden, installed), "['good', 'pip', 'setuptools', 'wheel']")
        self.assertIn("good", in_a_sandbox_of_sorts(hidden.path("layer"), ["/usr/bin/pip3", "list"]))

    def test_what_the_hosts_root_has_installed_only_if_asked_for(self):
        usr = os.path.join(self.steps.directory, "usr")
        local = next(one for one in site.getsitepackages() if one.startswith("/usr/local/"))
        os.makedirs(os.path.join(usr, local[len("/usr/"):]))
        for name, text in (("of_root.py", "VERSION = 1"), ("of_root.pth", "import sys; sys.by_root = True")):
            with open(os.path.join(usr, local[len("/usr/"):], name), "w") as file:
                file.write(text + "\n")
        code = ("import good, sys\ntry:\n    import of_root\n    print('found', sys.by_root)\n"
                "except ImportError as error:\n    print(error, hasattr(sys, 'by_root'))")
        hidden = self.layer("good", own_site=True)
        for options in ((), ("-I",), ("-E", "-s")):
            self.assertEqual(self.python(hidden, code, *options, usr=usr), "No module named 'of_root' False")
        self.assertEqual(self.python(hidden, f"import os; print(os.listdir({local!r}))", usr=usr), "['glovebox-packages.pth']")
        # With an administrator's layers, which are in the same directory, and with the host's packages.
        for layout in ({}, {"host_packages": True}):
            self.assertEqual(self.python(self.layer("good", **layout), code, usr=usr), "found True")
        # The rest of /usr/local is there, and so is what installs packages.
        self.assertEqual(self.python(hidden, "import pip, setuptools; print(pip.__file__)", usr=usr),
                         "/opt/glovebox-packages/installer/pip/__init__.py")
        with open(os.path.join(usr, "local", "kept"), "w"):
            self.assertEqual(self.python(hidden, "import os; print(os.path.exists('/usr/local/kept'))", usr=usr), "True")
        files = tree(hidden.path("layer"))
        links = [name for name in files if os.path.islink(hidden.path("layer", name)) and not name.startswith("opt/glovebox-packages/installer/")]
        self.assertEqual(links, [local[1:]])
        self.assertEqual(os.readlink(hidden.path("layer", local[1:])), "../glovebox-site")

    def test_what_is_compiled_is_used_also_after_a_tar(self):
        layer = self.layer("needy")
        code = ("import sys, importlib.util; sys.flags.verbose; import needy; loader = needy.__loader__; "
                "path = needy.__cached__; data = open(path, 'rb').read(16); flags = int.from_bytes(data[4:8], 'little'); "
                "loader.source_to_code = None; sys.modules.pop('needy'); import needy; print(flags, needy.VERSION, needy.hello.__code__.co_filename)")
        expected = "1 1.0 /opt/glovebox-packages/python/needy.py"
        self.assertEqual(self.python(layer, code), expected)
        moved = os.path.join(self.steps.directory, "moved")
        os.mkdir(moved)
        # Unpacked by something that gives files the time of now: still not compiled again.
        archive = subprocess.run(["tar", "-C", layer.path("layer"), "-c", "."], stdout=subprocess.PIPE, check=True).stdout
        subprocess.run(["tar", "-C", moved, "-x", "--touch"], input=archive, check=True)
        layer.path = lambda *parts: os.path.join(moved, *parts[1:])
        verbose = in_a_sandbox_of_sorts(moved, ["/usr/bin/python3", "-v", "-c", "import needy"])
        self.assertIn("code object from '/opt/glovebox-packages/python/__pycache__/needy.cpython-", verbose)
        self.assertEqual(self.python(layer, code), expected)

    def test_nested_path_files(self):
        layer = self.layer("with-pth")
        self.assertEqual(self.steps.mark, "", "a .pth file was run while it was installed")
        self.assertEqual(self.python(layer, "import found_by_pth; print(found_by_pth.VERSION, found_by_pth.__file__)"),
                         "1 /opt/glovebox-packages/python/with_pth_more/found_by_pth.py")
        self.assertIn("pth", self.steps.mark)


class Refused(PipInstall):
    def setUp(self):
        super().setUp()
        shutil.rmtree(ESCAPED, ignore_errors=True)
        self.addCleanup(shutil.rmtree, ESCAPED, True)

    def test_wheels_that_lead_out(self):
        for name in ("escaping", "absolute", "escaping-data"):
            with self.subTest(name):
                fetched = self.steps.fetch(name)
                if fetched.state == "failed":
                    continue
                layer = self.steps.install(fetched)
                if layer.state == "failed":
                    self.assertRegex(layer.error, "outside the target directory|Unknown scheme key")
                    self.assertTrue(layer.error.startswith("ERROR:"), layer.error)
                else:
                    self.assertFalse([one for one in tree(layer.path("layer")) if "escaped" in one])
                self.assertFalse(os.path.exists(ESCAPED))
                self.assertNotIn("escaped.py", str(os.listdir(self.steps.directory)))

    def test_links_are_not_made(self):
        layer = self.layer("linked")
        links = [name for name in tree(layer.path("layer")) if os.path.islink(layer.path("layer", name))]
        self.assertEqual([one for one in links if not one.startswith("opt/glovebox-packages/installer/")], [])

    def test_broken_and_missing(self):
        root = self.steps.new_root()
        os.mkdir(os.path.join(root, "in", "wheels"))
        self.assertIn("no wheels", self.steps.run("pip_install.py", root).error)
        with open(os.path.join(root, "in", "wheels", "bad-1.0-py3-none-any.whl"), "wb") as file:
            file.write(b"no wheel")
        self.assertIn("bad", self.steps.run("pip_install.py", root).error)
        os.rename(os.path.join(root, "in", "wheels", "bad-1.0-py3-none-any.whl"), os.path.join(root, "in", "wheels", "-r.whl"))
        self.assertIn("not the file name of a wheel", self.steps.run("pip_install.py", root).error)


if __name__ == "__main__":
    package_steps.main()
