# What is made of images beyond single runs: templates with the image's own interpreter waiting, snapshots, code
# contexts, functions; and the other dialects, which name such templates.
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "sdk", "python"))
import python_images
import sealed
import server
from assistant import Assistant
from image_archives import busybox_layer, compiled, docker_archive
from session import Session

import glovebox

PATH = "PATH=/app/bin:/bin"
WHO = "import only_here, sys; print(only_here.WHERE, sys.executable)"


@unittest.skipUnless(python_images.can_be_made(), "busybox-static is not installed")
class Images(server.Served):
    @classmethod
    def prepare(cls):
        cls.layers = tempfile.mkdtemp(prefix="gbx-test-layers-")
        cls.env = {"GLOVEBOX_LAYERS_DIR": cls.layers}
        cls.python = python_images.python_layer(busybox_layer().directory("srv", 0o777)).bytes()

    @classmethod
    def tidy(cls):
        shutil.rmtree(cls.layers, ignore_errors=True)

    def tearDown(self):
        for made in self.client.get("/v1/templates").json["templates"]:
            if made["project"]:
                self.client.call("DELETE", f"/v1/templates/{made['name']}")
        for made in self.client.get("/v1/snapshots").json["snapshots"]:
            self.client.call("DELETE", f"/v1/snapshots/{made['id']}")
        self.assertTrue(sealed.wait_until(self.remove_images, 60), self.client.get("/v1/images"))

    def remove_images(self):
        found = self.client.get("/v1/images").json["images"]
        for image in found:
            self.client.call("DELETE", f"/v1/images/{image['id']}")
        return not found

    def load(self, archive, client=None):
        answer = (client or self.client).call("POST", "/v1/images", archive)
        self.assertEqual(answer.status, 201, answer)
        return answer.json

    def load_python(self, **config):
        return self.load(docker_archive([self.python], Env=[PATH, "SAID=by the image"], **config))

    def create(self, name, client=None, status=201, **fields):
        profile = {"image": "test:1", **fields.pop("profile", {})}
        answer = (client or self.client).call("POST", "/v1/templates", {"name": name, "profile": profile, **fields})
        self.assertEqual(answer.status, status, answer)
        return answer.json

    def run_ok(self, client=None, **request):
        answer = (client or self.client).post_run(**request)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json["exit_code"], 0, answer)
        return answer.json

    def zygote_is_possible(self):
        """On this host; if not, its templates say why."""
        made = self.client.get("/v1/templates/warm").json
        self.assertIn(made["state"], ("ready", "failed"), made)
        if made["state"] == "failed":
            self.skipTest("no zygotes of projects here: " + made["error"])


class Templates(Images):
    def test_an_images_own_python_waits(self):
        self.load_python()
        made = self.create("warm", preload=["only_here"], env={"MORE": "of the template"})
        self.assertEqual((made["image"], made["from"], made["env"]), ("test:1", "python", {"MORE": "of the template"}))
        self.zygote_is_possible()
        code = WHO + "; import os; print(os.environ['SAID'], os.environ['MORE'], os.getcwd()); 6 * 7"
        answer = self.run_ok(template="warm", code=code)
        self.assertEqual(answer["stdout"], "in the image /app/bin/python3\nby the image of the template /home/user\n")
        self.assertEqual(answer["result"]["text/plain"], "42", answer)
        self.assertTrue(answer["warm"], answer)
        self.assertNotIn("cold_because", answer["dependencies"], answer)
        # Nothing of the host is there, and what one run leaves is not there for the next.
        first = self.run_ok(template="warm", code="import os; open('/app/left', 'w') if False else None; "
                                                   "open('/tmp/left', 'w'); print(os.listdir('/usr'))")
        self.assertEqual(first["stdout"], "[]\n")
        self.assertEqual(self.run_ok(template="warm", code="import os; print(os.listdir('/tmp'))")["stdout"], "[]\n")
        # A fresh interpreter is the same one, started.
        cold = self.run_ok(template="warm", code=code, cold=True)
        self.assertEqual((cold["stdout"], cold["result"], cold["warm"]), (answer["stdout"], answer["result"], False))
        # Errors have their lines; other programs and languages are the image's, too.
        failed = self.client.post_run(template="warm", code="\n1 / 0").json
        self.assertEqual((failed["error"]["name"], failed["error"]["line"]), ("ZeroDivisionError", 2), failed)
        self.assertEqual(self.run_ok(template="warm", command=["/bin/echo", "x"])["stdout"], "x\n")
        self.assertEqual(self.run_ok(template="warm", language="shell", code="echo $SAID")["stdout"], "by the image\n")

    def test_what_cannot_be_warm_says_why_and_runs_cold(self):
        self.load_python(User="1234", WorkingDir="/srv")
        self.create("warm")
        self.zygote_is_possible()
        answer = self.run_ok(template="warm", code="import os; print(os.getuid(), os.getcwd())")
        self.assertEqual((answer["stdout"], answer["warm"]), ("1234 /srv\n", False), answer)
        self.assertIn("USER 1234", answer["dependencies"]["cold_because"])
        # No interpreter at all: the template is there, and its other programs run.
        self.load(docker_archive([busybox_layer().bytes()], Cmd=["/bin/echo", "its own"]))
        made = self.create("bare")
        self.assertEqual(made["state"], "failed", made)
        self.assertIn("python3", made["error"])
        self.assertEqual(self.run_ok(template="bare")["stdout"], "its own\n")
        answer = self.client.post_run(template="bare", code="print(1)")
        self.assert_refused(answer, 400, "program_not_found")
        # A module that the image has not.
        self.load_python()
        made = self.create("broken", preload=["not_there"])
        self.assertIn("not_there", made["error"])
        answer = self.run_ok(template="broken", code="print(1)")
        self.assertIn("not_there", answer["dependencies"]["cold_because"])
        plain = self.create("plain", **{"from": "base"})
        self.assertEqual((plain["runtime"], plain["error"]), ("none", None))
        self.assertEqual(self.run_ok(template="plain", language="python", code=WHO)["stdout"],
                         "in the image /app/bin/python3\n")

    @unittest.skipUnless(os.path.exists("/usr/bin/node"), "node is not installed")
    def test_an_images_own_node_waits(self):
        self.load(docker_archive([python_images.node_layer().bytes()], Env=[PATH]))
        self.create("js", **{"from": "node"})
        run = {"template": "js", "code": "console.log(process.execPath, process.argv.length); 6 * 7", "args": ["x"]}
        first = self.run_ok(**run)
        self.assertEqual(first["stdout"].split()[0], "/app/bin/node")
        self.assertTrue(sealed.wait_until(lambda: self.run_ok(**run)["warm"], 60), self.run_ok(**run))
        answer = self.run_ok(**run)
        self.assertEqual((answer["stdout"], answer["result"]), (first["stdout"], first["result"]))
        # Where it has none, the code is refused, also after the sandboxes that cannot be made.
        self.load(docker_archive([busybox_layer().bytes()], names=["bare:1"]))
        self.create("none", profile={"image": "bare:1"}, **{"from": "node"})
        for _ in range(3):
            self.assert_refused(self.client.post_run(template="none", code="1"), 400, "program_not_found")
        self.assertEqual(self.run_ok(template="none", command=["/bin/echo", "x"])["stdout"], "x\n")

    def test_an_image_by_itself_is_soon_warm(self):
        self.load_python()
        run = {"language": "python", "code": WHO, "profile": {"image": "test:1"}}
        first = self.run_ok(**run)
        self.assertEqual(first["stdout"], "in the image /app/bin/python3\n")
        self.create("warm")
        self.zygote_is_possible()
        self.assertTrue(sealed.wait_until(lambda: self.run_ok(**run)["warm"], 60), self.run_ok(**run))

    def test_a_template_keeps_its_image_and_belongs_to_its_project(self):
        theirs = self.server.client(self.server.new_key(project="one")[0])
        others = self.server.client(self.server.new_key(project="two")[0])
        image = self.load(docker_archive([busybox_layer().bytes()]), client=theirs)
        self.assert_refused(others.call("POST", "/v1/templates", {"name": "t", "profile": {"image": image["id"]}}),
                            404, "image_not_found")
        self.create("kept", client=theirs, **{"from": "base"})
        self.assert_refused(others.post_run(template="kept", command=["/bin/id"]), 404, "template_not_found")
        refused = theirs.call("DELETE", f"/v1/images/{image['id']}")
        self.assert_refused(refused, 409, "image_in_use")
        self.assertIn("kept", refused.text)
        # A public image serves others' templates until it is withdrawn.
        self.client.call("PATCH", f"/v1/images/{image['id']}", {"public": True})
        self.create("shared", client=others, **{"from": "base"})
        self.assertEqual(self.run_ok(client=others, template="shared", command=["/bin/echo", "1"])["stdout"], "1\n")
        self.assertEqual(theirs.call("DELETE", "/v1/templates/kept").status, 204)
        refused = theirs.call("DELETE", f"/v1/images/{image['id']}")
        self.assert_refused(refused, 409, "image_in_use")
        self.assertNotIn("shared", refused.text)
        self.client.call("PATCH", f"/v1/images/{image['id']}", {"public": False})
        self.assert_refused(others.post_run(template="shared", command=["/bin/id"]), 404, "image_not_found")
        self.assertEqual(others.call("DELETE", "/v1/templates/shared").status, 204)

    def test_it_survives_the_server(self):
        self.load(docker_archive([busybox_layer().bytes()], Cmd=["/bin/echo", "again"]))
        self.create("kept", **{"from": "base"})
        before = self.server.info["pid"]
        os.kill(before, signal.SIGKILL)
        self.assertTrue(sealed.wait_until(self.server.is_ready_again, 60))
        self.assertNotEqual(self.server.info["pid"], before)
        self.client = self.server.client()  # the old connection is gone
        self.assertEqual(self.run_ok(template="kept")["stdout"], "again\n")
        self.assertEqual(self.client.get("/v1/templates/kept").json["image"], "test:1")

    def test_requests_that_do_not_fit_are_refused(self):
        self.load(docker_archive([busybox_layer().bytes()]))
        for fields in ({"profile": {"image": "test:1", "dependencies": ["six"]}},
                       {"snapshot": "sn" + "a" * 20, "profile": {"image": "test:1"}},
                       {"profile": {}}):
            answer = self.client.call("POST", "/v1/templates", {"name": "t", **fields})
            self.assert_refused(answer, 400, "invalid_argument")
        answer = self.client.call("POST", "/v1/templates", {"name": "t", "profile": {"image": "missing:1"}})
        self.assert_refused(answer, 404, "image_not_found")
        self.create("t", **{"from": "base"})
        answer = self.client.post_run(template="t", command=["x"], profile={"dependencies": ["six"]})
        self.assert_refused(answer, 400, "invalid_argument")


class Sessions(Images):
    def test_a_snapshot_is_restored_upon_the_image(self):
        self.load(docker_archive([busybox_layer().directory("srv", uid=1000, gid=1000).bytes()], WorkingDir="/srv"))
        with Session(self.client, profile={"image": "test:1"}) as session:
            session.shell("echo kept > file; rm /bin/rm /etc/hostname; echo mine > /usr/own", user="root", cwd="/srv")
            taken = session.post("/snapshots", status=201)
        answer = self.client.call("DELETE", "/v1/images/test:1")
        self.assert_refused(answer, 409, "image_in_use")
        with Session(self.client, snapshot=taken["id"]) as session:
            self.assertEqual(session.shell("cat file /usr/own; ls /bin/rm; pwd")["stdout"], "kept\nmine\n/srv\n")
        # A template of the snapshot, too.
        answer = self.client.call("POST", "/v1/templates", {"name": "again", "snapshot": taken["id"]})
        self.assertEqual(answer.status, 201, answer)
        with Session(self.client, template="again") as session:
            self.assertEqual(session.shell("cat file")["stdout"], "kept\n")

    def test_a_code_context_is_the_images_interpreter(self):
        self.load_python(WorkingDir="/srv")
        with Session(self.client, profile={"image": "test:1"}) as session:
            self.assertEqual(session.code(WHO)["stdout"], "in the image /app/bin/python3\n")
            session.code("x = 20")
            self.assertEqual(session.code("import os; print(os.getcwd()); x + 1")["result"]["text/plain"], "21")
            refused = session.call("POST", "/code", {"code": "1", "language": "javascript"})
            self.assertEqual((refused.status, refused.code), (501, "unsupported"), refused)
            self.assertIn("the image has no node", refused.text)
        self.create("warm")
        self.zygote_is_possible()
        with Session(self.client, template="warm") as session:
            self.assertEqual(session.code(WHO)["stdout"], "in the image /app/bin/python3\n")
            self.assertTrue(session.get("/contexts")["contexts"][0]["warm"])
            self.assertEqual(session.shell("echo $SAID; pwd")["stdout"], "by the image\n/srv\n")

    def test_a_function_of_aws_lambda(self):
        self.load_python()
        self.create("warm")
        call = {"template": "warm", "handler": "main.handler", "event": {"n": 4},
                "code": "import only_here\ndef handler(event, context): return [only_here.WHERE, event['n'] * 2]"}
        answer = self.client.call("POST", "/v1/functions/invoke", call)
        self.assertEqual((answer.status, answer.json["result"]), (200, ["in the image", 8]), answer)


def where(number):
    import only_here

    return [only_here.WHERE, number * 2]


class Clients(Images):
    def setUp(self):
        super().setUp()
        self.ours = {"GLOVEBOX_URL": self.server.url, "GLOVEBOX_API_KEY": self.server.key}

    def test_the_command_line(self):
        def glovebox(*words, status=0):
            done = sealed.glovebox(*words, env=self.ours)
            self.assertEqual(done.returncode, status, done)
            return done.stdout.decode()

        self.load_python()
        self.assertEqual(glovebox("template", "create", "warm", "--image", "test:1", "--preload", "only_here"), "warm\n")
        self.assertIn("test:1", glovebox("template", "show", "warm"))
        self.assertEqual(glovebox("run", "--server", self.server.url, "--template", "warm", "-c", WHO),
                         "in the image /app/bin/python3\n")
        glovebox("template", "create", "other", "--image", "missing:1", "--pull", "never", status=1)
        glovebox("template", "create", "other", "--pull", "never", "--from", "base", status=2)

    def test_the_python_sdk(self):
        self.load_python()
        client = glovebox.Client(url=self.server.url, api_key=self.server.key)
        self.addCleanup(client.close)
        made = client.templates.create("warm", image="test:1", preload=["only_here"])
        self.assertEqual((made.image, made.base), ("test:1", "python"))
        for options in ({"image": "test:1"}, {"template": "warm"}):
            sent = glovebox.sandboxed(client=client, **options)(where)
            self.assertEqual(sent(4), ["in the image", 8], options)
        result = client.run("import only_here; only_here.WHERE", image="test:1")
        self.assertEqual(result.result["application/json"], "in the image")

    def test_an_assistant(self):
        self.load_python()
        with Assistant("--image", "test:1", env=self.ours) as assistant:
            self.assertIn("image", assistant.begin()["result"]["instructions"])
            self.assertIn("in the image", assistant.text("run_code", code=WHO))


ROOTS = os.environ.get("GBX_PYTHON_ROOTS", "")


@unittest.skipUnless(ROOTS, "GBX_PYTHON_ROOTS names no directory; scripts/python-roots makes one")
class OtherLibraries(Images):
    def test_each_waits_whatever_it_is_linked_to(self):
        code = ("import sys, json, os; print('%d.%d' % sys.version_info[:2], json.dumps(sorted(os.listdir('/usr'))[:1]), "
                "os.getpid() > 1); [n * 2 for n in range(3)]")
        for name in sorted(os.listdir(ROOTS)):
            with self.subTest(name):
                archive = subprocess.run(["tar", "-C", os.path.join(ROOTS, name), "-c", "."], capture_output=True, check=True)
                answer = self.client.call("POST", f"/v1/images?format=tree&name={name}:1", archive.stdout)
                self.assertEqual(answer.status, 201, answer)
                made = self.create("warm", profile={"image": name + ":1"}, preload=["decimal"])
                self.zygote_is_possible()
                self.assertEqual(made["state"], "ready", made)
                for _ in range(3):
                    answer = self.run_ok(template="warm", code=code)
                    self.assertEqual(answer["result"]["text/plain"], "[0, 2, 4]")
                self.assertTrue(answer["warm"], answer)
                cold = self.run_ok(template="warm", code=code, cold=True)
                self.assertEqual(cold["stdout"], answer["stdout"])
                with Session(self.client, template="warm") as session:
                    session.code("import decimal; x = decimal.Decimal(1) / 3")
                    self.assertEqual(session.code("str(x)[:5]")["result"]["text/plain"], "'0.333'")
                    self.assertTrue(session.get("/contexts")["contexts"][0]["warm"])
                self.assertEqual(self.client.call("DELETE", "/v1/templates/warm").status, 204)


# Says on the launcher's socket what it can reach, as the reason for which it does not start.
HOSTILE = r"""
#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void rights(char* to, size_t size) {
  char line[256];
  unsigned long long effective = 0, bounding = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) {
    sscanf(line, "CapEff: %llx", &effective);
    sscanf(line, "CapBnd: %llx", &bounding);
  }
  snprintf(to, size, "%s caps=%llx/%llx", geteuid() == 0 ? "root" : "user", effective, bounding);
}

int main(int argc, char** argv) {
  char text[2000] = "F", mine[200], raised[200] = "nothing";
  rights(mine, sizeof mine);
  if (strcmp(argv[0], "raise") == 0) return puts(mine) < 0;
  int processes = 0, pipes[2];
  DIR* all = opendir("/proc");
  for (struct dirent* one; all && (one = readdir(all));) processes += one->d_name[0] >= '1' && one->d_name[0] <= '9';
  if (pipe(pipes) == 0 && fork() == 0) {
    dup2(pipes[1], 1);
    execl("/bin/raise", "raise", (char*)0);
    _exit(1);
  }
  close(pipes[1]);
  read(pipes[0], raised, sizeof raised - 1);
  wait(0);
  raised[strcspn(raised, "\n")] = 0;
  snprintf(text, sizeof text, "F%s; raised %s; %s; %s; %s", mine, raised, processes == 1 ? "alone" : "not alone",
           access("SECRET", R_OK) == 0 ? "reads the host" : "reads no host",
           if_nametoindex("eth0") || if_nametoindex("lo") > 1 ? "a network" : "no network");
  send(3, text, strlen(text), 0);
  return 0;
}
"""


@unittest.skipUnless(shutil.which("gcc"), "gcc is not installed")
class Hostile(Images):
    def test_an_interpreter_that_is_none_reaches_nothing(self):
        with tempfile.NamedTemporaryFile(prefix="gbx-test-secret-") as secret:
            os.chmod(secret.name, 0o644)
            program = compiled(HOSTILE.replace("SECRET", secret.name), "gcc", "-static")
            # The control: outside it is root, sees processes and reads the file.
            with tempfile.TemporaryDirectory(prefix="gbx-test-") as made:
                path = os.path.join(made, "python3")
                with open(path, "wb") as file:
                    file.write(program)
                os.chmod(path, 0o755)
                ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                held = [os.dup(0) for _ in range(4)]  # so that 3 is somebody's, whoever runs this test
                subprocess.run([path], preexec_fn=lambda: os.dup2(theirs.fileno(), 3), close_fds=False, check=True)
                for fd in held:
                    os.close(fd)
                outside = ours.recv(4000).decode()
                ours.close()
                theirs.close()
            self.assertIn("not alone; reads the host", outside)
            layer = busybox_layer().file("app/bin/python3", program, 0o755).file("bin/raise", program, 0o4755)
            self.load(docker_archive([layer.bytes()], Env=[PATH]))
            made = self.create("warm")
        self.assertEqual(made["state"], "failed", made)
        if "Landlock" in made["error"] or "cgroups" in made["error"]:
            self.skipTest(made["error"])
        self.assertEqual(made["error"], "user caps=0/0; raised user caps=0/0; alone; reads no host; no network")
        # What is not its interpreter's business goes on.
        self.assertEqual(self.run_ok(template="warm", command=["/bin/echo", "on"])["stdout"], "on\n")

    def test_an_interpreter_that_claims_to_be_ready_holds_up_nobody(self):
        program = compiled('#include <sys/socket.h>\n#include <unistd.h>\nint main(int n, char** a) '
                           '{ if (send(3, "R", 1, 0) != 1) return write(1, "cold\\n", 5) != 5; for (;;) pause(); }',
                           "gcc", "-static")
        self.load(docker_archive([busybox_layer().file("app/bin/python3", program, 0o755).bytes()], Env=[PATH]))
        self.create("warm")
        self.zygote_is_possible()
        answer = self.run_ok(template="warm", code="anything")
        self.assertEqual((answer["stdout"], answer["warm"]), ("cold\n", False), answer)
        # The built-in template's, meanwhile.
        self.assertTrue(sealed.wait_until(lambda: self.run_ok(language="python", code="1")["warm"], 30))


class OtherDialects(Images):
    def test_workspace_and_sessions_name_such_templates(self):
        self.load_python()
        self.create("warm")
        answer = self.client.call("POST", "/workspace/se/session/mine", {"template": "warm"})
        self.assertEqual(answer.status, 201, answer)
        answer = self.client.call("POST", "/workspace/se/execute_code/mine", {"code": WHO})
        self.assertIn("in the image", answer.text)
        self.assertEqual(self.client.call("DELETE", "/workspace/se/session/mine").status, 200)

        self.assertIn("test:1", self.client.get("/api/v1/templates").text)
        made = self.client.call("POST", "/api/v1/sessions", {"template": "warm"}).json
        handler = "import only_here\ndef handler(event): return only_here.WHERE"
        self.client.call("POST", f"/api/v1/sessions/{made['id']}/execute", {"code": handler})
        result = f"/api/v1/sessions/{made['id']}/result"
        self.assertTrue(sealed.wait_until(lambda: self.client.get(result).status == 200, 60), self.client.get(result))
        self.assertEqual(self.client.get(result).json["result"], "in the image")

    def test_clients_of_e2b_name_such_templates(self):
        self.load_python()
        self.create("warm")
        self.assertIn("warm", [one["templateID"] for one in self.client.get("/templates").json])
        made = self.client.call("POST", "/sandboxes", {"templateID": "warm", "timeout": 60})
        self.assertEqual((made.status, made.json["templateID"]), (201, "warm"), made)
        identity = made.json["sandboxID"]
        answer = self.client.call("POST", f"/v1/sandboxes/{identity}/code", {"code": WHO})
        self.assertIn("in the image", answer.text)
        self.assertEqual(self.client.call("DELETE", f"/sandboxes/{identity}").status, 204)


if __name__ == "__main__":
    sealed.main()
