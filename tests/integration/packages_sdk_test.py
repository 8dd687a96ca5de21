# Packages by the SDKs, as their users ask for them: a real server on the test internet builds sets from the
# index there. Runs, functions, sandboxes, templates, handlers; what is heard of a build; errors; layers.
import asyncio
import os
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "sdk", "python"))
import networked
import package_index
import sealed
import server
import typescript_sdk

import glovebox
from glovebox import Dependencies, DependencyError, Sandbox, aio, sandboxed
from glovebox.profile import profile_hash

HELLO = "import needy; print(needy.hello())"
SAID = "hello from needy 1.0\n"


def setUpModule():
    networked.set_up()


def tearDownModule():
    networked.tear_down()


@sandboxed(dependencies=["needy"])
def greeting(name):
    import needy

    return f"{needy.hello()}, {name}"


class Packages(networked.Networked):
    @classmethod
    def setUpClass(cls):
        cls.before = sealed.Nothing()
        cls.place = tempfile.TemporaryDirectory(prefix="gbx-test-")
        os.chmod(cls.place.name, 0o755)
        authority = os.path.join(cls.place.name, "ca.pem")
        with open(authority, "w") as file:
            file.write(networked.internet.authority)
        settings = {"log.requests": "false", **cls.settings,
                    "deps.index_url": f"https://{package_index.INDEX}/simple/", "deps.file_hosts": package_index.FILES,
                    "deps.npm_registry": f"https://{package_index.INDEX}/npm/", "deps.ca_bundle": authority,
                    "deps.pip_config": "", "deps.npm_config": ""}
        try:
            cls.server = server.Server(settings=settings, env={"GLOVEBOX_LAYERS_DIR": os.path.join(cls.place.name, "layers")})
        except BaseException:
            cls.tidy()
            raise

    @classmethod
    def tidy(cls):
        cls.place.cleanup()

    def setUp(self):
        super().setUp()
        self.internet.packages(forget=True)
        self.sdk = glovebox.Client(self.server.url, self.server.key)
        self.addCleanup(self.sdk.close)

    def files(self):
        """What was downloaded of the index, by name."""
        return sorted(one["path"].rsplit("/", 1)[1] for one in self.internet.packages() if one["path"].startswith("/packages/"))


class Python(Packages):
    def test_a_run_has_them_and_the_next_one_at_once(self):
        heard = []
        first = self.sdk.run(HELLO, dependencies=["needy"], on_build=heard.append)
        self.assertEqual((first.stdout, first.stderr, first.exit_code), (SAID, "", 0))
        self.internet.packages(forget=True)
        again = []
        second = self.sdk.run(HELLO, dependencies=[" needy", "needy"], on_build=again.append)
        self.assertEqual(second.stdout, SAID)
        self.assertTrue(second.warm, second)
        self.assertEqual((first.profile, self.files()), (second.profile, []))
        self.assertEqual(profile_hash({"dependencies": ["needy"]}, self.defaults()), first.profile)
        self.assertEqual([word for word in again if word.text], [])
        # This class's tests share a server: another may have asked for the set before.
        phases = [word.phase for word in heard]
        self.assertEqual(phases, sorted(phases, key=["queued", "resolving", "building", "installing", "sealing",
                                                     "checking", "warming", "ready"].index), heard)

    def defaults(self):
        return self.sdk.templates.get("python").profile

    def test_what_is_said_of_a_build_is_heard_while_it_happens(self):
        heard = []
        layer = self.sdk.layers.build(["greeter"], on_build=heard.append)
        self.assertEqual([one.name for one in layer.packages], ["greeter"])
        self.assertTrue(layer.bytes > 0 and layer.entries > 0 and layer.manager == "pip", layer)
        phases = [word.phase for word in heard]
        for phase in ("resolving", "installing", "sealing"):
            self.assertIn(phase, phases)
        self.assertTrue(any("greeter" in word.text for word in heard), heard)
        self.assertEqual(self.sdk.run(command=["greet"], template="python", dependencies=["greeter"]).stdout, "greetings\n")

    def test_functions(self):
        function = greeting.with_options(client=self.sdk)
        self.assertEqual(function("ada"), "hello from needy 1.0, ada")
        self.assertEqual(list(function.map(["b", "c"])), ["hello from needy 1.0, b", "hello from needy 1.0, c"])

        async def later():
            async with aio.Client(self.server.url, self.server.key) as client:
                return await greeting.with_options(client=client).aio("eve")

        self.assertEqual(asyncio.run(later()), "hello from needy 1.0, eve")

    def test_a_functions_modules_are_imported_ahead(self):
        ahead = Dependencies(["good==1.1"], preload=["good"])
        result = self.sdk.run("import sys; print('good' in sys.modules)", dependencies=ahead)
        self.assertEqual((result.stdout, result.warm), ("True\n", True), result)
        heard = []
        function = greeting.with_options(client=self.sdk, preload=["needy"], on_build=heard.append)
        self.assertEqual(function("ada"), "hello from needy 1.0, ada")
        self.assertTrue(heard)

    def test_a_sandbox_a_template_and_a_handler(self):
        heard = []
        with Sandbox.create(dependencies=["needy"], on_build=heard.append, client=self.sdk) as sandbox:
            self.assertEqual(sandbox.code(HELLO).stdout, SAID)
            self.assertEqual(sandbox.exec(["python3", "-c", HELLO]).stdout, SAID)
        made = self.sdk.templates.create("with-needy", "python", dependencies=["needy"], env={"MINE": "1"})
        self.addCleanup(self.sdk.templates.remove, "with-needy")
        self.assertEqual(made.base, "python")
        said = self.sdk.run("import needy, os; print(needy.hello(), os.environ['MINE'])", template="with-needy")
        self.assertEqual(said.stdout, "hello from needy 1.0 1\n", said)
        code = "def handler(event, context):\n    import needy\n    return needy.hello()"
        self.assertEqual(self.sdk.functions.invoke(code, dependencies=["needy"]).result, SAID.strip())

    def test_files(self):
        path = os.path.join(self.place.name, "requirements.txt")
        with open(path, "w") as file:
            file.write("# ours\nneedy\n")
        from pathlib import Path

        self.assertEqual(self.sdk.run(HELLO, dependencies=Path(path)).stdout, SAID)

    def test_what_cannot_be_installed(self):
        for is_live in (False, True):
            with self.subTest(is_live=is_live), self.assertRaises(DependencyError) as caught:
                self.sdk.run("1", dependencies=["failing"], on_build=(lambda word: None) if is_live else None)
            self.assertEqual((caught.exception.status, caught.exception.code), (422, "dependencies_failed"))
            self.assertIn("failing: there is no hope", caught.exception.message)
        with self.assertRaises(DependencyError) as caught:
            self.sdk.layers.build(["no-such-package-here"], on_build=lambda word: None)
        self.assertIn("no-such-package-here", caught.exception.message)
        with self.assertRaises(glovebox.InvalidRequestError) as caught:
            self.sdk.run("1", dependencies=["good", "-r x"])
        self.assertNotIsInstance(caught.exception, DependencyError)

    def test_many_at_once_share_one_build(self):
        outcomes = []

        def one():
            with glovebox.Client(self.server.url, self.server.key) as client:
                outcomes.append(client.run("import with_extras, good; print(good.VERSION)", dependencies=["with-extras[more]"]).stdout)

        threads = [threading.Thread(target=one) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        self.assertEqual(outcomes, ["1.1\n"] * 6)
        self.assertEqual(self.files().count("with_extras-1.0-py3-none-any.whl"), 1, self.files())

    def test_layers(self):
        layer = self.sdk.layers.build(["good==1.0"])
        self.assertEqual([(one.name, one.version) for one in layer.packages], [("good", "1.0")])
        self.assertEqual(layer.index, f"https://{package_index.INDEX}/simple")
        self.assertIn("good==1.0", layer.asked[0])
        self.assertIn(layer.id, [one.id for one in self.sdk.layers.list()])
        self.assertEqual(self.sdk.layers.get(layer.id[:8]).id, layer.id)
        checked = self.sdk.layers.check(layer)
        self.assertTrue(checked.intact and checked.expected == checked.found == layer.digest, checked)
        self.assertNotIn(layer.id, self.sdk.layers.prune(unused_for=3600, dry_run=True).removed)
        key, _ = self.server.new_key(project="others", name="x")
        with glovebox.Client(self.server.url, key) as other:
            self.assertEqual(other.layers.list(), [])
            self.assertRaises(glovebox.NotFoundError, other.layers.get, layer.id)
            for call in (lambda: other.layers.remove(layer), other.layers.prune, lambda: other.layers.check(layer)):
                self.assertRaises(glovebox.ForbiddenError, call)
        self.assertIn(layer.id, self.sdk.layers.prune().removed)
        self.assertRaises(glovebox.NotFoundError, self.sdk.layers.get, layer.id)
        # It is made again for the next request.
        self.assertEqual(self.sdk.run("import good; print(good.VERSION)", dependencies=["good==1.0"]).stdout, "1.0\n")


class TypeScript(Packages):
    PROGRAM = """
import { Client, DependencyError, Sandbox } from "@glovebox/sdk";

const client = new Client();
const dependencies = ["needy"];
const words: string[] = [];
const first = await client.run("import needy; needy.hello()", { dependencies, onBuild: (word) => void words.push(word.phase) });
console.log(first.value, words.length > 0);
const ahead = { packages: ["good==1.1"], preload: ["good"] };
console.log((await client.run("import sys; 'good' in sys.modules", { dependencies: ahead })).value);
const sandbox = await Sandbox.create({ client, dependencies, onBuild: () => undefined });
console.log((await sandbox.code("import needy; needy.hello()")).value);
await sandbox.kill();
const js = await client.run("require('dependent')", { template: "node", dependencies: ["dependent@1"] });
console.log(js.value ?? js.stderr);
try {
  await client.run("1", { dependencies: ["failing"] });
} catch (error) {
  console.log(error instanceof DependencyError && error.message.includes("there is no hope"));
}
const layers = await client.layers.list();
const [layer] = layers.filter((one) => one.packages.some((item) => item.name === "needy"));
console.log(layer !== undefined && (await client.layers.check(layer.id)).intact);
await client.close();
"""

    def test_the_same(self):
        reason = typescript_sdk.missing()
        if reason:
            self.skipTest(reason)
        with tempfile.TemporaryDirectory(prefix="gbx-test-") as place:
            folder = os.path.join(place, "source")
            os.mkdir(folder)
            with open(os.path.join(typescript_sdk.ROOT, "examples", "typescript", "tsconfig.json")) as file:
                settings = file.read().replace("quickstart.ts", "program.ts")
            for name, text in (("program.ts", self.PROGRAM), ("tsconfig.json", settings), ("package.json", '{"type": "module"}')):
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            program = typescript_sdk.compiled(folder, place)
            ran = subprocess.run(["node", program], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                                 env=sealed.environment({"GLOVEBOX_URL": self.server.url, "GLOVEBOX_API_KEY": self.server.key}))
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran)
        self.assertEqual(ran.stdout.splitlines(), ["hello from needy 1.0 true", "true", "hello from needy 1.0",
                                                   "1.2.0", "true", "true"])


if __name__ == "__main__":
    if os.environ.get("GBX_SEALED") is None:
        typescript_sdk.missing()  # gets the compiler while there is a registry to be asked
    sealed.main(network=True)
