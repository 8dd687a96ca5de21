# A server under test on the test internet whose packages come from the test's own index, and which
# keeps its layers in a directory of its own.
import json
import os
import shutil
import tempfile

import networked
import package_index
import sealed
import server
from session import Session

INDEX_URL = f"https://{package_index.INDEX}/simple/"
NPM_URL = f"https://{package_index.INDEX}/npm/"
set_up, tear_down = networked.set_up, networked.tear_down


def settings_of(internet, **more):
    """As an administrator of a private mirror has them, whose authority is its own."""
    return {**networked.Networked.settings, "deps.index_url": INDEX_URL, "deps.npm_registry": NPM_URL,
            "deps.file_hosts": package_index.FILES, "deps.pip_config": "", "deps.npm_config": "",
            "deps.ca_bundle": os.path.join(internet.directory.name, "ca.pem"),
            **{name.replace("__", "."): value for name, value in more.items()}}


class Packaged(networked.Networked):
    more_settings = {}

    @classmethod
    def prepare(cls):
        super().prepare()
        cls.layers = tempfile.mkdtemp(prefix="gbx-test-layers-")
        cls.env = {**cls.own_environment(), "GLOVEBOX_LAYERS_DIR": cls.layers}
        cls.settings = settings_of(networked.internet, **cls.more_settings)

    @classmethod
    def own_environment(cls):
        """More words of the server's environment."""
        return {}

    @classmethod
    def tidy(cls):
        shutil.rmtree(cls.layers, ignore_errors=True)
        super().tidy()

    def setUp(self):
        super().setUp()
        self.client.timeout = 120
        self.internet.packages(forget=True, faults={}, auth=None, token=None, json_spoken=True)

    # --- asking ----------------------------------------------------------------------------------

    def ask(self, code, dependencies, language="python", client=None, **request):
        """POST /v1/run with packages: the answer."""
        profile = {**request.pop("profile", {}), "dependencies": dependencies}
        return (client or self.client).post_run(language=language, code=code, profile=profile, **request)

    def run_with(self, code, dependencies, **request):
        """The same, which must go well: what it printed, and the answer."""
        answer = self.ask(code, dependencies, **request)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json["exit_code"], 0, answer)
        return answer.json["stdout"], answer.json

    def printed(self, code, dependencies, **request):
        return self.run_with(code, dependencies, **request)[0]

    def refused(self, dependencies, status=422, code="print(1)", **request):
        """A set that cannot be had: the message."""
        answer = self.ask(code, dependencies, **request)
        self.assertEqual(answer.status, status, answer)
        return answer.json["error"]["message"]

    def build(self, dependencies, client=None, **more):
        """POST /v1/layers: the layer."""
        answer = (client or self.client).call("POST", "/v1/layers", {"dependencies": dependencies, **more})
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def stream(self, path, body, client=None):
        """The events of a streamed answer, as (name, data)."""
        return read_events((client or self.client).send("POST", path, body, {"Accept": "text/event-stream"}))

    def with_packages(self, dependencies, template="python", **fields):
        """A live session."""
        profile = {**fields.pop("profile", {}), "dependencies": dependencies}
        made = Session(self.client, template=template, profile=profile, **fields)
        self.addCleanup(made.kill)
        return made

    # --- looking ---------------------------------------------------------------------------------

    def list_layers(self, client=None, query=""):
        answer = (client or self.client).get("/v1/layers" + query)
        self.assertEqual(answer.status, 200, answer)
        return {one["id"]: one for one in answer.json["layers"]}

    def layer(self, id, client=None):
        answer = (client or self.client).get(f"/v1/layers/{id}")
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def downloads(self, beginning=""):
        """Files of the index that were fetched, in order."""
        names = [one["path"].rsplit("/", 1)[1] for one in self.internet.packages()
                 if one["path"].startswith(("/packages/", "/npm-files/")) and one["method"] == "GET"]
        return [name for name in names if name.startswith(beginning)]

    def asked_pages(self, name):
        return [one for one in self.internet.packages() if one["path"].strip("/") in (f"simple/{name}", f"npm/{name}")]

    def sandboxes(self):
        """How many there are of all projects, builds included, by their processes."""
        return len(self.server.guests())

    def stored(self):
        """Layers on the disk, by their ids; whatever else lies in the same place."""
        place = os.path.join(self.layers, "sets")
        return sorted(os.listdir(place)) if os.path.isdir(place) else []


def read_events(response):
    """Server-sent events, to the end."""
    if response.status != 200:
        raise AssertionError((response.status, response.read()))
    name, data, events = "message", [], []
    for line in response.read().decode().split("\n"):
        if line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].strip())
        elif not line and data:
            events.append((name, json.loads("\n".join(data))))
            name, data = "message", []
    return events
