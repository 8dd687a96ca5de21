# A package set and the host's own Python packages: interpreters with packages of a layer do not find
# those of /usr/lib/python3/dist-packages, wherever the code runs, unless host_packages says so. yaml
# and numpy are packages of Debian's that this host has; the test's index has neither.
import ast
import os
import site
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import packaged
import sealed

MISSING, FOUND = "No module named 'yaml'", "/usr/lib/python3/dist-packages/yaml/__init__.py"
LOOK = "import good\ntry:\n    import yaml\n    print(yaml.__file__)\nexcept ImportError as error:\n    print(error)\n"
HANDLER = ("import good\ndef handler(event, context):\n    try:\n        import yaml\n        return yaml.__file__\n"
           "    except ImportError as error:\n        return str(error)\n")
HIDDEN = {"packages": ["good"]}
SHOWN = {"packages": ["good"], "host_packages": True}


def setUpModule():
    packaged.set_up()


def tearDownModule():
    packaged.tear_down()


class HostPackages(packaged.Packaged):
    def test_a_run_has_only_what_it_asked_for(self):
        # The control: without packages they are all there.
        self.assertEqual(self.client.python(LOOK.split("\n", 1)[1])["stdout"].strip(), FOUND)
        layers = {}
        for wanted, said in ((HIDDEN, MISSING), (SHOWN, FOUND), ({**HIDDEN, "host_packages": False}, MISSING)):
            for more in ({}, {"preload": ["good"]}):
                for cold in (False, True):
                    with self.subTest(wanted=wanted, more=more, cold=cold):
                        out, answer = self.run_with(LOOK, {**wanted, **more}, cold=cold)
                        self.assertEqual(out.strip(), said)
                        self.assertEqual(answer["warm"], not cold)
                        layers.setdefault(said, set()).add(answer["dependencies"]["layer"])
        # Two layers, and none is taken for the other.
        self.assertEqual([len(layers[said]) for said in (MISSING, FOUND)], [1, 1])
        self.assertNotEqual(layers[MISSING], layers[FOUND])
        # Programs that the code starts are no way round.
        child = "import subprocess; subprocess.run(['python3', '-c', %r])" % LOOK
        self.assertEqual(self.printed(child, HIDDEN).strip(), MISSING)
        self.assertEqual(self.printed(child, SHOWN).strip(), FOUND)

    def test_a_run_has_nothing_that_the_hosts_root_has_installed(self):
        local = next(one for one in site.getsitepackages() if one.startswith("/usr/local/"))
        look = f"import good, os; print(sorted(os.listdir({local!r})))"
        self.assertEqual(self.printed(look, HIDDEN).strip(), "['glovebox-packages.pth']")
        of_host = set(os.listdir(local)) if os.path.isdir(local) else set()
        self.assertEqual(set(ast.literal_eval(self.printed(look, SHOWN))), of_host | {"glovebox-packages.pth"})

    def test_a_function_has_only_what_it_asked_for(self):
        for wanted, said in ((HIDDEN, MISSING), (SHOWN, FOUND)):
            answer = self.client.call("POST", "/v1/functions/invoke",
                                      {"language": "python", "code": HANDLER, "event": {}, "profile": {"dependencies": wanted}})
            self.assertEqual((answer.status, answer.json["result"]), (200, said), answer)

    def test_a_session_has_only_what_it_asked_for(self):
        for wanted, said in ((HIDDEN, MISSING), (SHOWN, FOUND)):
            session = self.with_packages(wanted)
            context = session.call("POST", "/contexts", {"language": "python"}).json["id"]
            for ran in (session.exec("python3", "-c", LOOK), session.exec("python3", "-c", LOOK, user="root"), session.code(LOOK),
                        session.code(LOOK, context=context)):
                self.assertEqual(ran["stdout"].strip(), said, ran)
            self.assertEqual(session.get()["dependencies"]["host_packages"], wanted.get("host_packages"))
            # What installs packages is always there, and what it installs is found.
            listed = session.shell("pip list --format freeze")["stdout"]
            self.assertIn("good==1.1", listed)
            self.assertEqual("PyYAML" in listed, said == FOUND, listed)
            session.shell("mkdir -p mine && printf 'from setuptools import setup\\nsetup(name=\"mine\", version=\"1\", py_modules=[\"mine\"])\\n' "
                          "> mine/setup.py && echo 'print(7)' > mine/mine.py")
            install = "pip install -q --no-build-isolation --no-index ./mine"
            built = session.shell(install + " && python3 -c 'import mine'")
            self.assertEqual((built["exit_code"], built["stdout"].strip()), (0, "7"), built)
            # Root's go below /usr/local, where every user finds them.
            session.shell("pip uninstall -q -y mine")
            built = session.shell(f"sudo {install} && python3 -c 'import mine; print(mine.__file__)' && sudo pip uninstall -q -y mine && "
                                  "cd / && python3 -c 'import mine'")
            self.assertRegex(built["stdout"], r"\A7\n/usr/local/lib/\S+/mine.py\n\Z", built)
            self.assertIn("No module named 'mine'", built["stderr"])

    def test_templates_say_it_for_what_is_made_of_them(self):
        # A project's own.
        made = self.client.call("POST", "/v1/templates", {"name": "seeing", "from": "python", "profile": {"dependencies": SHOWN}})
        self.assertEqual(made.status, 201, made)
        self.addCleanup(self.client.call, "DELETE", "/v1/templates/seeing")
        self.assertIs(made.json["dependencies"]["host_packages"], True)
        self.assertEqual(self.client.run(code=LOOK, template="seeing", language="python")["stdout"].strip(), FOUND)
        self.assertEqual(self.printed(LOOK, ["needy"], template="seeing").strip(), FOUND)
        self.assertEqual(self.printed(LOOK, {"packages": ["needy"], "host_packages": False}, template="seeing").strip(), MISSING)
        # python-data is made of the host's packages, and keeps them.
        numpy = "import good, numpy; print(numpy.__file__.split('/numpy/')[0])"
        out, answer = self.run_with(numpy, ["good"], template="python-data")
        self.assertEqual(out.strip(), "/usr/lib/python3/dist-packages")
        self.assertTrue(answer["warm"], answer)

    def test_where_it_makes_no_sense(self):
        for wrong, word in (({"host_packages": True}, "host_packages"), ({**HIDDEN, "host_packages": "yes"}, "host_packages")):
            answer = self.ask("1", wrong)
            self.assertEqual(answer.status, 400, answer)
            self.assertIn("dependencies." + word, answer.json["error"]["message"])
        answer = self.ask("1", SHOWN, language="javascript")
        self.assertEqual(answer.status, 400, answer)
        self.assertIn("only for Python", answer.json["error"]["message"])


if __name__ == "__main__":
    sealed.main(network=True)
