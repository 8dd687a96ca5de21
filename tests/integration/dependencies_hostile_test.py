# A package whose setup.py tries everything, beside a control: the same code where nothing stops it
# gets all that it wants, so what it does not get in a build was denied. And nothing of the server's
# own enters a build. In the test internet, with its package index.
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import package_hostile
import packaged
import sealed

SECRETS = {"GBX_TEST_SECRET": "hunter2-of-the-server", "AWS_SECRET_ACCESS_KEY": "hunter2-too", "PIP_EXTRA_ARGUMENT": "hunter2-three"}
REACHED = ("network", "index", "name")
RIGHTS = ("chown", "setuid")


def setUpModule():
    packaged.set_up()


def tearDownModule():
    packaged.tear_down()


class Hostile(packaged.Packaged):
    more_settings = {"net__opened": "10.20.0.0/16"}

    @classmethod
    def own_environment(cls):
        return SECRETS

    def report(self, dependencies):
        out = self.printed("import hostile, json; print(json.dumps(hostile.REPORT))", dependencies)
        return json.loads(out)

    def test_what_it_could_do_where_nothing_stops_it(self):
        session = self.session("all")
        session.exec("mkdir", "-p", "/home/user/in", "/home/user/work")
        session.put("/home/user/in/pip.conf", b"index-url = https://user:password@index.packages.test/simple/")
        session.put("/home/user/work/setup.py", package_hostile.HOSTILE_SETUP.encode())
        # As root of a sandbox with a network: only its own is affected.
        ran = session.shell("mkdir -p /opt/glovebox-packages /layer; cd /home/user/work && python3 setup.py --version; cat hostile.py | wc -c",
                            user="root", env=SECRETS)
        self.assertGreater(int(ran["stdout"].split()[-1]), 200, ran)
        report = json.loads(session.shell("cd /home/user/work && python3 -c 'import hostile, json; print(json.dumps(hostile.REPORT))'")["stdout"])
        for what in (*REACHED, *RIGHTS):
            self.assertNotIn("refused", report[what], what)
        self.assertIn("password", str(report["settings"]))
        for place in ("/usr/evil", "/etc/evil", "/opt/glovebox-packages/evil", "/layer/evil", "/evil"):
            self.assertIn(place, report["written"])
        self.assertLessEqual(set(SECRETS), set(report["environment"]))

    def test_and_what_it_can_do_in_a_build(self):
        report = self.report(["hostile"])
        self.assertTrue(report["ran"])
        for what in (*REACHED, *RIGHTS, "metadata", "mount"):
            self.assertIn("refused", report[what], what)
        self.assertEqual(report["written"], [])
        self.assertNotEqual(report["uid"], 0)
        self.assertNotIn("password", str(report["settings"]))
        self.assertNotIn("hunter2", json.dumps(report))
        self.assertFalse(set(SECRETS) & set(report["environment"]), report["environment"])
        # Only the index was reached, and only by pip.
        self.assert_not_reached("93.184.216.34", "169.254.169.254")

    def test_nothing_of_it_is_in_those_who_come_later(self):
        self.report(["hostile"])
        look = ("import glob, os, json\nfound = [p for p in ('/home/user/in', '/home/user/out', '/home/user/scratch', '/layer', '/evil', '/usr/evil', '/etc/evil')"
                " if os.path.exists(p)]\nprint(json.dumps([found, sorted(os.environ), open('/etc/pip.conf').read()]))")
        found, environment, settings = json.loads(self.printed(look, ["hostile"]))
        self.assertEqual(found, [])
        self.assertFalse(set(SECRETS) & set(environment))
        self.assertNotIn("index", settings)
        # Not even where packages lie can a guest write, nor root of another sandbox for others.
        self.assertEqual(self.printed("try:\n    open('/opt/glovebox-packages/python/hostile.py', 'a')\nexcept OSError as e:\n    print(e.errno)", ["hostile"]),
                         "13\n")


if __name__ == "__main__":
    sealed.main(network=True)
