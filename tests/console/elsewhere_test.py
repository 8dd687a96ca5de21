# The console's pages for packages and images, in a real browser: a real server installs packages from an index on a test
# internet, and pulls images from a registry there.
import base64
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import console_test
import image_archives
import networked
import package_index
import registries
import sealed

REGISTRY = "own.example.org"
USER, PASSWORD = "reader", "a word that nobody keeps"


def setUpModule():
    networked.set_up()


def tearDownModule():
    networked.tear_down()


class FromElsewhere(console_test.Console):
    @classmethod
    def prepare(cls):
        super().prepare()
        with tempfile.NamedTemporaryFile("w", dir=cls.place, suffix=".pem", delete=False) as authority:
            authority.write(networked.internet.authority)
        os.chmod(authority.name, 0o644)
        cls.settings = {**networked.Networked.settings, "deps.index_url": f"https://{package_index.INDEX}/simple/",
                        "deps.file_hosts": package_index.FILES, "deps.ca_bundle": authority.name, "deps.pip_config": "",
                        "images.registries": f"http://{REGISTRY}:{registries.OWN}"}
        networked.internet.name(REGISTRY, a=[registries.ADDRESSES[REGISTRY]])
        cls.registry = registries.OwnRegistry(networked.internet, registries.OWN)
        for name in ("team/open", "team/closed"):
            cls.registry.push(name, [image_archives.busybox_layer().bytes()])
        cls.registry.spoil["/v2/team/closed/*"] = cls.ask_for_password

    @classmethod
    def ask_for_password(cls, handler, request):
        """As registries do for what is not public. None: the right answer is given."""
        word = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if request["authorization"] == "Basic " + word:
            return None
        cls.registry.send(handler, 401, {"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]},
                          WWW_Authenticate='Basic realm="own"')
        return True

    @classmethod
    def tidy(cls):
        cls.registry.stop()
        super().tidy()

    def test_packages(self):
        self.cases("packages_test.mjs")

    def test_images(self):
        self.cases("pull_test.mjs", GBX_CONSOLE_REGISTRY=f"{REGISTRY}:{registries.OWN}", GBX_CONSOLE_USER=USER, GBX_CONSOLE_PASSWORD=PASSWORD)


if __name__ == "__main__":
    console_test.install_tools()
    sealed.main(network=True)
