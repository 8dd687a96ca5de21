# Images: loaded from archives, run, made into sandboxes, kept apart by projects, removed; and hostile ones, which
# end in one clear error and leave nothing. Every hostile image has a control: the same without the attack loads.
import glob
import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import image_archives as images
import sealed
import server
from image_archives import Layer, busybox_layer, docker_archive, oci_archive
from session import Session

MUSL_LOADER = "/lib/ld-musl-x86_64.so.1"
TELLS_RIGHTS = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(void) {
  char line[256];
  unsigned long long rights = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) sscanf(line, "CapEff: %llx", &rights);
  printf("%d %llx\n", (int)geteuid(), rights);
  return 0;
}
"""
needs_busybox = unittest.skipUnless(os.path.exists(images.BUSYBOX), "busybox-static is not installed")


class Images(server.Served):
    settings = {"images.disk_ceiling": "400M", "images.max_size": "90M"}

    @classmethod
    def prepare(cls):
        cls.layers = tempfile.mkdtemp(prefix="gbx-test-layers-")
        cls.env = {"GLOVEBOX_LAYERS_DIR": cls.layers}

    @classmethod
    def tidy(cls):
        shutil.rmtree(cls.layers, ignore_errors=True)

    def tearDown(self):
        # Sandboxes that wait for another run of one take a moment to end.
        self.assertTrue(sealed.wait_until(self.remove_all, 60), self.client.get("/v1/images"))
        # What was not kept is gone as soon as its sandbox is.
        self.assertTrue(sealed.wait_until(lambda: not self.unfinished(), 30), self.unfinished())

    def remove_all(self):
        found = self.client.get("/v1/images").json["images"]
        for image in found:
            self.client.call("DELETE", f"/v1/images/{image['id']}")
        return not found

    def unfinished(self):
        return glob.glob(self.layers + "/sets/new-*") + glob.glob(self.layers + "/sets/gone-*")

    def load(self, archive, status=201, client=None, **query):
        words = "&".join(f"{name}={value}" for name, value in query.items())
        answer = (client or self.client).call("POST", f"/v1/images?{words}", archive)
        self.assertEqual(answer.status, status, answer)
        return answer.json

    def refused(self, archive, status=422, code="image_invalid", **query):
        """The message."""
        error = self.load(archive, status=status, **query)["error"]
        self.assertEqual(error["code"], code, error)
        self.assertTrue(sealed.wait_until(lambda: not self.unfinished(), 30), self.unfinished())
        self.assertEqual(self.client.get("/v1/images").json["images"], [])
        return error["message"]

    def run_in(self, image, client=None, **request):
        profile = {"image": image, **request.pop("profile", {})}
        answer = (client or self.client).post_run(profile=profile, **request)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def printed(self, image, line, **request):
        answer = self.run_in(image, language="shell", code=line, **request)
        self.assertEqual(answer["exit_code"], 0, answer)
        return answer["stdout"]


@needs_busybox
class Running(Images):
    def test_what_the_configuration_says_is_honoured(self):
        layer = (busybox_layer().directory("srv", uid=77, gid=88)
                 .file("etc/passwd", "root:x:0:0::/root:/bin/sh\napp:x:77:88::/srv:/bin/sh\n")
                 .file("etc/group", "app:x:88:\nmore:x:99:\n"))
        loaded = self.load(docker_archive([layer.bytes()], User="app", WorkingDir="/srv", Env=["SAID=here", "PATH=/bin"],
                                          Entrypoint=["/bin/echo", "-n"], Cmd=["from", "the image"]))
        self.assertEqual(loaded["names"], ["test:1"])
        self.assertEqual(loaded["config"]["user"], "app")
        self.assertTrue(loaded["new"])
        # Its own program, and ours in its place.
        self.assertEqual(self.run_in("test:1")["stdout"], "from the image")
        answer = self.run_in("test:1", command=["/bin/sh", "-c", "id -u; id -g; pwd; echo $SAID; touch mine"])
        self.assertEqual((answer["stdout"], answer["exit_code"]), ("77\n88\n/srv\nhere\n", 0), answer)
        self.assertFalse(answer["warm"])
        self.assertIn("image", answer["dependencies"]["cold_because"])
        self.assertEqual(self.printed("test:1", "pwd", workdir="/bin"), "/bin\n")
        self.assertEqual(self.printed("test:1", "echo $SAID", env={"SAID": "by the caller"}), "by the caller\n")
        # Nothing of the host is there.
        self.assertEqual(self.printed("test:1", "ls /usr; ls /"), "bin\ndev\netc\nhome\nopt\nproc\nroot\nsrv\nsys\ntmp\nusr\n")
        self.assertEqual(self.printed("test:1", "ls /opt"), "glovebox\n", "our runtimes lie over it")
        self.assertEqual(self.printed("test:1", "cat /etc/resolv.conf").split()[0], "nameserver")

    def test_root_in_a_run_has_no_capabilities(self):
        self.load(docker_archive([busybox_layer("grep").bytes()], User="0"))
        text = self.printed("test:1", "id -u; grep Cap /proc/self/status; touch /made && echo made")
        self.assertEqual(text.splitlines()[0], "0")
        self.assertEqual(text.splitlines()[-1], "made")
        for line in text.splitlines()[1:-1]:
            self.assertEqual(int(line.split()[1], 16), 0, text)

    def test_only_static_programs_and_nothing_else(self):
        program = images.compiled('#include <stdio.h>\n#include <unistd.h>\nint main(int n, char** a) '
                                  '{ printf("%d %d %s\\n", (int)getuid(), n, a[n - 1]); return 7; }', "gcc", "-static")
        self.load(oci_archive([Layer().file("only", program, 0o755).bytes()], Entrypoint=["/only"], Cmd=["x"]))
        answer = self.run_in("test:1")
        self.assertEqual((answer["stdout"], answer["exit_code"]), ("1000 2 x\n", 7), answer)
        with Session(self.client, profile={"image": "test:1"}) as session:
            done = session.exec("/only", "y")
            self.assertEqual((done["stdout"], done["exit_code"]), ("1000 2 y\n", 7), done)
            self.assertEqual(session.exec("/only", "y", user="root")["stdout"], "0 2 y\n")

    @unittest.skipUnless(shutil.which("musl-gcc") and os.path.exists(MUSL_LOADER), "musl-tools is not installed")
    def test_programs_that_are_linked_to_musl(self):
        program = images.compiled('#include <stdio.h>\nint main(void) { puts("by musl"); return 0; }', "musl-gcc")
        self.assertIn(b"ld-musl", program, "the control: it is not static")
        layer = Layer().file("app/say", program, 0o755).program(MUSL_LOADER[1:], os.path.realpath(MUSL_LOADER))
        self.load(oci_archive([layer.bytes()]))
        self.assertEqual(self.run_in("test:1", command=["/app/say"])["stdout"], "by musl\n")
        # Not to be had of the host, whose own loader is another.
        self.assertFalse(os.path.exists("/app/say"))

    def test_a_hundred_and_thirty_layers(self):
        layers = [busybox_layer().bytes()]
        for number in range(129):
            layer = Layer().file(f"data/{number}", str(number)).file("data/last", str(number))
            if number % 2:
                layer.file(f"data/.wh.{number - 1}")
            layers.append(layer.bytes())
        self.assertEqual(self.load(oci_archive(layers))["layers"], 130)
        names = self.printed("test:1", "ls /data").split()
        self.assertEqual(set(names), {"last", "128"} | {str(number) for number in range(1, 129, 2)})
        self.assertEqual(self.printed("test:1", "cat /data/last"), "128")

    def test_owners_modes_links_and_capabilities_are_kept(self):
        capability = bytes.fromhex("0100000200040000000000000000000000000000").decode("latin-1")
        told = images.compiled(TELLS_RIGHTS, "gcc", "-static")
        layer = (busybox_layer("stat").file("data/f", "x", 0o640, uid=5, gid=6)
                 .hard_link("data/g", "data/f").directory("shared", 0o1777)
                 .file("bin/plain", told, 0o755).file("bin/own", told, 0o4755)
                 .file("bin/bind", told, 0o755, pax={"SCHILY.xattr.security.capability": capability})
                 .add("dev/node", kind=tarfile.CHRTYPE).add("disk", kind=tarfile.BLKTYPE))
        loaded = self.load(docker_archive([layer.bytes()]))
        self.assertEqual((loaded["devices_left_out"], loaded["capabilities_lost"]), (2, 0))
        with Session(self.client, profile={"image": "test:1"}) as session:
            said = session.shell("stat -c '%a %u %g %h' /data/f /shared /bin/own", user="root")["stdout"]
            self.assertEqual(said, "640 5 6 2\n1777 0 0 2\n4755 0 0 1\n")
            # A setuid program and one with a capability gain what they say; the control does not.
            rights = {name: session.exec(f"/bin/{name}")["stdout"] for name in ("plain", "own", "bind")}
            self.assertEqual(session.exec("/bin/ls", "/disk")["exit_code"], 1)
        self.assertEqual(rights["plain"], "1000 0\n")
        self.assertEqual(rights["bind"], "1000 400\n")
        self.assertEqual(rights["own"].split()[0], "0")
        # In a run nothing gains anything.
        for name in ("plain", "own", "bind"):
            self.assertEqual(self.run_in("test:1", command=[f"/bin/{name}"])["stdout"], "1000 0\n", name)

    def test_a_plain_tree(self):
        message = self.load(busybox_layer().bytes(), status=400, format="tree")["error"]["message"]
        self.assertIn("name", message)
        loaded = self.load(gzip.compress(busybox_layer().bytes()), format="tree", name="own/base:2")
        self.assertEqual((loaded["names"], loaded["layers"]), (["own/base:2"], 1))
        self.assertEqual(self.printed("own/base:2", "echo plain"), "plain\n")
        answer = self.client.post_run(profile={"image": "own/base:2"})
        self.assert_refused(answer, 400, "invalid_argument")

    def test_a_sandbox_of_an_image(self):
        layer = busybox_layer().directory("work", uid=1000, gid=1000)
        self.load(docker_archive([layer.bytes()], User="1000:1000", WorkingDir="/work"))
        with Session(self.client, profile={"image": "test:1"}, env={"MORE": "1"}) as session:
            done = session.shell("id -u; pwd; echo $MORE; echo kept > file")
            self.assertEqual(done["stdout"], "1000\n/work\n1\n", done)
            self.assertEqual(session.shell("cat file; id -u", user="root", cwd="/work")["stdout"], "kept\n0\n")
            self.assertEqual(session.shell("touch /usr/x && rm /bin/ls && echo done", user="root")["stdout"], "done\n")
            # An interpreter that the image has not.
            refused = session.call("POST", "/code", {"code": "1"})
            self.assertEqual((refused.status, refused.code), (501, "unsupported"), refused)
        # Another one has nothing of it.
        with Session(self.client, profile={"image": "test:1"}) as session:
            self.assertEqual(session.shell("ls /usr /work")["stdout"], "/usr:\n\n/work:\n")

    def test_requests_that_do_not_fit_are_refused(self):
        self.load(docker_archive([busybox_layer().bytes()]))
        for fields in ({"template": "python", "code": "1", "profile": {"image": "test:1"}},
                       {"language": "python", "code": "1", "profile": {"image": "test:1", "dependencies": ["six"]}},
                       {"command": ["x"], "profile": {"image": ""}}):
            self.assert_refused(self.client.post_run(**fields), 400, "invalid_argument")
        answer = self.client.post_run(command=["x"], profile={"image": "missing"})
        self.assert_refused(answer, 404, "image_not_found")


@needs_busybox
class Keeping(Images):
    def test_progress_is_told_as_it_comes(self):
        answer = self.client.call("POST", "/v1/images", oci_archive([busybox_layer().bytes(), Layer().file("x").bytes()]),
                                  {"Accept": "application/x-ndjson"})
        events = [json.loads(line) for line in answer.text.splitlines()]
        self.assertEqual([one.get("phase") for one in events[:-1]], ["checking", "unpacking", "unpacking", "sealing"])
        self.assertEqual((events[-1]["event"], events[-1]["names"]), ("image", ["test:1"]), events)

    def test_the_same_image_is_kept_once_and_a_name_moves(self):
        first = docker_archive([busybox_layer().bytes()])
        one = self.load(first)
        again = self.load(first, name="other:2")
        self.assertEqual((again["id"], again["new"], again["names"]), (one["id"], False, ["test:1", "other:2"]))
        other = self.load(docker_archive([busybox_layer().file("newer").bytes()]))
        self.assertNotEqual(other["id"], one["id"])
        self.assertEqual(self.client.get(f"/v1/images/{one['id']}").json["names"], ["other:2"])
        self.assertEqual(self.client.get("/v1/images/test:1").json["id"], other["id"])

    def test_an_image_belongs_to_its_project(self):
        key, _ = self.server.new_key(project="one")
        stranger, _ = self.server.new_key(project="two")
        theirs, others = self.server.client(key), self.server.client(stranger)
        made = self.load(docker_archive([busybox_layer().bytes()]), client=theirs)
        self.assertEqual(others.get("/v1/images").json["images"], [])
        self.assert_refused(others.get(f"/v1/images/{made['id']}"), 404, "image_not_found")
        self.assert_refused(others.post_run(command=["/bin/id"], profile={"image": "test:1"}), 404, "image_not_found")
        self.assert_refused(others.call("DELETE", f"/v1/images/{made['id']}"), 404, "image_not_found")
        self.assertEqual(theirs.post_run(command=["/bin/id"], profile={"image": "test:1"}).status, 200)
        # Only an administrator publishes, and then all may use it and no other project may remove it.
        self.assert_refused(theirs.call("PATCH", f"/v1/images/{made['id']}", {"public": True}), 403, "policy")
        self.assertTrue(self.client.call("PATCH", f"/v1/images/{made['id']}", {"public": True}).json["public"])
        self.assertEqual(others.post_run(command=["/bin/id"], profile={"image": "test:1"}).status, 200)
        self.assertNotIn("project", others.get(f"/v1/images/{made['id']}").json)
        self.assert_refused(others.call("DELETE", f"/v1/images/{made['id']}"), 403, "policy")

    def test_a_project_does_not_choose_what_an_administrator_means(self):
        theirs = self.server.client(self.server.new_key(project="evil")[0])
        others = self.server.client(self.server.new_key(project="three")[0])
        mine = self.load(docker_archive([busybox_layer().bytes()], names=["tool:1"]))
        # Ids are known beforehand: this one comes first in their order.
        for number in range(10_000):
            config = {"Env": [f"N={number}"]}
            digest = images.sha256(images.configuration([busybox_layer().bytes()], **config))
            if images.sha256(f"glovebox image\n4:evil{digest}".encode())[:32] < mine["id"]:
                break
        evil = self.load(docker_archive([busybox_layer().bytes()], names=["tool:1"], **config), client=theirs)
        self.assertLess(evil["id"], mine["id"])
        for method, body in (("PATCH", {"public": True}), ("DELETE", None)):
            answer = self.client.call(method, "/v1/images/tool:1", body)
            self.assert_refused(answer, 404, "image_not_found")
            self.assertIn("several", answer.text)
        # Nor by another one's id as a name.
        self.load(docker_archive([busybox_layer().bytes()], names=[mine["id"]]), client=theirs, status=422)
        self.assertEqual(self.client.get(f"/v1/images/{mine['id']}").json["project"], "default")
        # A published image gets no names that no administrator has looked at.
        self.assertEqual(self.client.call("PATCH", f"/v1/images/{evil['id']}", {"public": True}).status, 200)
        archive = docker_archive([busybox_layer().bytes()], names=["tool:1"], **config)
        self.assertFalse(self.load(archive, client=theirs)["new"])
        refused = theirs.call("POST", "/v1/images?name=python:3.13", archive)
        self.assert_refused(refused, 403, "policy")
        self.assertEqual(others.get("/v1/images/tool:1").json["names"], ["tool:1"])
        self.assert_refused(others.get("/v1/images/python:3.13"), 404, "image_not_found")
        self.assert_refused(self.client.call("PATCH", f"/v1/images/{mine['id']}", {"public": True}), 422, "image_invalid")

    def test_what_is_in_use_or_pinned_stays(self):
        used = self.load(docker_archive([busybox_layer().bytes()], names=["used:1"]))
        pinned = self.load(docker_archive([busybox_layer().file("p").bytes()], names=["pinned:1"]))
        idle = self.load(docker_archive([busybox_layer().file("i").bytes()], names=["idle:1"]))
        self.client.call("PATCH", f"/v1/images/{pinned['id']}", {"pinned": True})
        self.assertEqual(self.run_in("idle:1", command=["/bin/id"])["exit_code"], 0)
        with Session(self.client, profile={"image": "used:1"}) as session:
            self.assert_refused(self.client.call("DELETE", f"/v1/images/{used['id']}"), 409, "image_in_use")
            would = self.client.call("POST", "/v1/images/prune", {"dry_run": True}).json
            self.assertIn(idle["id"], would["removed"])
            self.assertEqual(self.client.call("POST", "/v1/images/prune", {}).json["removed"], [idle["id"]])
            self.assertEqual(session.exec("/bin/echo", "alive")["stdout"], "alive\n")
        self.assertTrue(sealed.wait_until(
            lambda: self.client.call("DELETE", f"/v1/images/{used['id']}").status == 204, 30))

    def test_a_project_has_a_share_of_the_disk(self):
        # A fourth of 400 MB, of which an image of 60 MB leaves too little for another.
        big = os.urandom(60_000_000)
        self.load(docker_archive([Layer().file("big", big).bytes()]))
        answer = self.client.call("POST", "/v1/images", docker_archive(
            [Layer().file("other", big).file("more", bytes(30_000_000)).file("third", os.urandom(1_000_000)).bytes()]))
        self.assertIn(answer.status, (413, 507), answer)
        # Another project has its own.
        key, _ = self.server.new_key(project="three")
        self.load(docker_archive([Layer().file("big", big).bytes()]), client=self.server.client(key))

    def test_the_command_line(self):
        def glovebox(*words, status=0, **more):
            done = subprocess.run([sealed.GLOVEBOX, *words], capture_output=True, text=True, timeout=120,
                                  env=sealed.environment({"GLOVEBOX_URL": self.server.url,
                                                          "GLOVEBOX_API_KEY": self.server.key}), **more)
            self.assertEqual(done.returncode, status, done)
            return done

        with tempfile.TemporaryDirectory(prefix="gbx-test-") as made:
            path = os.path.join(made, "image.tar")
            with open(path, "wb") as file:
                file.write(docker_archive([busybox_layer().bytes()], names=["cli:1"], Cmd=["/bin/echo", "its own"]))
            identity = glovebox("image", "load", path).stdout.strip()
            self.assertIn(identity[:12], glovebox("image", "list").stdout)
            tree = os.path.join(made, "tree")
            os.makedirs(tree + "/bin")
            shutil.copy(images.BUSYBOX, tree + "/bin/busybox")
            os.symlink("busybox", tree + "/bin/sh")
            self.assertIn("--name", glovebox("image", "import", tree, status=2).stderr)
            glovebox("image", "import", tree, "--name", "tree:1")
        self.assertEqual(glovebox("run", "--image", "cli:1").stdout, "its own\n")
        self.assertEqual(glovebox("run", "--image", "cli:1", "--", "/bin/echo", "given").stdout, "given\n")
        self.assertEqual(glovebox("run", "--image", "tree:1", "--language", "bash", "-c", "echo $((6*7))").stdout, "42\n")
        sandbox = glovebox("sandbox", "create", "--image", "cli:1").stdout.strip()
        self.assertEqual(glovebox("exec", sandbox, "--", "/bin/echo", "in it").stdout, "in it\n")
        glovebox("sandbox", "kill", sandbox)
        self.assertIn("/bin/echo", glovebox("image", "show", "cli:1").stdout)
        self.assertIn("yes", glovebox("image", "pin", "cli:1").stdout + "yes")
        glovebox("image", "rm", "cli:1")
        self.assertIn("there is no image", glovebox("image", "show", "cli:1", status=1).stderr)


class Hostile(Images):
    """`good` is the control: the same image without the attack loads."""

    def good(self, *layers):
        self.load(docker_archive([layer.bytes() for layer in layers]))
        self.client.call("POST", "/v1/images/prune", {})
        self.assertEqual(self.client.get("/v1/images").json["images"], [])

    def test_names_links_and_whiteouts_that_reach_out(self):
        secret = os.path.join(self.layers, "outside")
        with open(secret, "w") as file:
            file.write("untouched")
        # From the tree's place on the host's disk: sets/new-ID/tree.
        up = "../../../outside"
        self.good(Layer().file("a", "x"), Layer().file(".wh.a"))
        self.assertIn("..", self.refused(docker_archive([Layer().file(up, "changed").bytes()])))
        self.assertIn("..", self.refused(docker_archive([Layer().hard_link("h", up).bytes()])))
        self.refused(docker_archive([Layer().hard_link("h", secret).bytes()]))
        self.assertIn("whiteout", self.refused(docker_archive([Layer().file("d/f").file("d/.wh...").bytes()])))
        # What leads out by a link leads nowhere but in.
        links = Layer().symlink("l", "../../..").symlink("m", self.layers).directory(self.layers[1:])
        self.load(docker_archive([links.bytes(), Layer().file("l/outside", "changed").bytes(),
                                  Layer().file("m/outside", "changed").bytes(),
                                  Layer().file("l/.wh.outside").file("m/.wh.outside").bytes()]))
        with open(secret) as file:
            self.assertEqual(file.read(), "untouched")
        self.assertEqual(sorted(os.listdir(self.layers + "/sets"))[0][:4] != "outs", True)

    def test_what_is_not_what_its_digest_says(self):
        layers = [Layer().file("a", "x" * 5000).bytes(), Layer().file("b", "y").bytes()]
        self.load(oci_archive(layers))
        self.client.call("POST", "/v1/images/prune", {})
        other = gzip.compress(Layer().file("evil").bytes())
        self.assertIn("digest", self.refused(oci_archive(layers, changed={1: other})))
        # The blob is what it says, and its content is not what the configuration says.
        swapped = docker_archive(layers).replace(b'"0/layer.tar", "1/layer.tar"', b'"1/layer.tar", "0/layer.tar"')
        self.assertIn("is not what its digest says", self.refused(swapped))

    def test_directories_that_only_paths_name_are_counted(self):
        # What exceeds the limit so is tested in image_test.cc: many directories take long to remove.
        archive = docker_archive([Layer().file("d/" * 1000 + "f", "x").bytes()])
        self.assertLess(len(archive), 30_000)
        made = self.load(archive)
        self.assertGreaterEqual(made["entries"], 1001)
        self.assertGreater(made["bytes"], 1001 * 4096)

    def test_bombs(self):
        self.good(Layer().file("a", "x"))
        zeros = Layer().file("zeros", bytes(200_000_000)).bytes()
        bomb = oci_archive([zeros])
        self.assertLess(len(bomb), 1_000_000)
        self.assertIn("exceeds the size limit", self.refused(bomb, 413, "image_too_large"))

    def test_endless_documents(self):
        self.good(Layer().file("a", "x"))
        config = images.configuration([])
        for name, files in {
                "nested": {"index.json": b'{"manifests":' + b"[" * 100_000},
                "long": {"index.json": b'{"manifests":[' + b" " * 5_000_000 + b"]}"},
                "many layers": {"c": config, "manifest.json": json.dumps(
                    [{"Config": "c", "Layers": ["x"] * 100_000}]).encode()},
                "no document": {"manifest.json": b"\x00\xff"},
                "nothing": {"x": b""}}.items():
            with self.subTest(name):
                self.refused(images.archive(files))
        with self.subTest("no archive"):
            self.refused(os.urandom(100_000))
        with self.subTest("other machines"):
            self.assertIn("s390x", self.refused(docker_archive([], architecture="s390x")))

    def test_attributes_of_the_overlay_have_no_effect(self):
        layer = Layer().directory("usr/bin", pax={"SCHILY.xattr.trusted.overlay.redirect": "/etc",
                                                  "SCHILY.xattr.trusted.overlay.opaque": "y",
                                                  "SCHILY.xattr.user.overlay.whiteout": "y"})
        made = self.load(docker_archive([layer.bytes()]))
        tree = f"{self.layers}/sets/{made['id']}/tree"
        self.assertEqual(os.listxattr(tree + "/usr/bin"), [])
        self.assertTrue(os.path.isdir(tree + "/usr/bin"), "the control")

    def test_mount_points_that_are_links(self):
        self.assertIn("/usr", self.refused(docker_archive([Layer().symlink("usr", "/etc").bytes()])))
        layer = Layer().symlink("proc", "/etc").symlink("dev", "/etc").symlink("tmp", "/etc").symlink("etc", "/proc")
        self.load(docker_archive([layer.bytes()]))
        answer = self.client.post_run(command=["/nothing"], profile={"image": "test:1"})
        # The sandbox is made; what is not there is the program.
        self.assertEqual(answer.code, "program_not_found", answer)


if __name__ == "__main__":
    sealed.main()
