"""Images are shared fairly: one project lists, pins and loads them as fast as it can, and another
one's lists, package sets and calls are answered as before; archives that arrive take a share of the
disk; and when all images together are too much, the project that keeps most loses one."""
import glob
import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import fairness
import image_archives as images
import sealed
import server
from image_archives import Layer, busybox_layer, docker_archive

MB = 1 << 20
# More than the launcher sends of a list at once.
HOSTILE_IMAGES = 24


class OwnLayers:
    """A directory of layers that no other test has anything in."""

    @classmethod
    def prepare(cls):
        cls.layers = tempfile.mkdtemp(prefix="gbx-test-layers-")
        cls.env = {"GLOVEBOX_LAYERS_DIR": cls.layers}

    @classmethod
    def tidy(cls):
        shutil.rmtree(cls.layers, ignore_errors=True)

    def unfinished(self):
        return glob.glob(self.layers + "/sets/new-*") + glob.glob(self.layers + "/sets/gone-*")

    def remove_all(self):
        found = self.client.get("/v1/images").json["images"]
        for image in found:
            self.client.call("DELETE", f"/v1/images/{image['id']}")
        return not found

    def tearDown(self):
        # Sandboxes that wait for another run of one take a moment to end.
        self.assertTrue(sealed.wait_until(self.remove_all, 60), self.client.get("/v1/images"))
        self.assertTrue(sealed.wait_until(lambda: not self.unfinished(), 30), self.unfinished())

    def load_tree(self, client, name, content=b""):
        layer = Layer().file("what", name).file("bulk", content)
        return client.call("POST", f"/v1/images?format=tree&name={name}", layer.bytes())


class Lists(OwnLayers, fairness.TwoTenants):
    def victims_round(self):
        times = super().victims_round()
        for path in ("/v1/images", "/v1/layers"):
            answer = self.victim.get(path)
            self.assertEqual(answer.status, 200, answer)
        return times

    def test_lists_and_pins(self):
        for number in range(HOSTILE_IMAGES):
            loaded = self.load_tree(self.hostile, f"x{number}:1")
            self.assertEqual(loaded.status, 201, loaded)
        self.assertEqual(self.load_tree(self.victim, "mine:1").status, 201)

        def list_and_pin(client, number):
            client.call("PATCH", f"/v1/images/x{number}:1", {"pinned": True})
            client.call("PATCH", f"/v1/images/x{number}:1", {"pinned": False})
            return client.get("/v1/images").status

        with self.unhurt("lists of images", fairness.SLOWER_CPU) as measure:
            with fairness.Hostile(self.hostile_client, list_and_pin, 6) as attack:
                measure()
            self.assertGreater(attack.statuses.get(200, 0), 20, attack.statuses)
        # The control: it was refused to write as often as it wished, which the launcher syncs to the disk.
        answers = [self.hostile.call("PATCH", "/v1/images/x0:1", {"pinned": number % 2 == 0}) for number in range(200)]
        self.assertEqual({answer.status for answer in answers if answer.status != 200}, {503}, answers[-1])


@unittest.skipUnless(os.path.exists(images.BUSYBOX), "busybox-static is not installed")
class Disk(OwnLayers, server.Served):
    settings = {"images.disk_ceiling": "64M", "images.max_size": "60M"}

    def client_of(self, project):
        return self.server.client(self.server.new_key(project=project)[0])

    def test_archives_take_a_share_while_they_arrive(self):
        hostile, victim = self.client_of("hostile"), self.client_of("victim")
        # All that arrive may take 32 MB, and one alone a half.
        answer = hostile.call("POST", "/v1/images?format=tree&name=x:1", b"\0" * (17 * MB))
        self.assert_refused(answer, 507, "disk_full")
        self.assertEqual(self.load_tree(hostile, "x:1", os.urandom(14 * MB)).status, 201)
        self.assertEqual(self.load_tree(victim, "x:1", os.urandom(14 * MB)).status, 201)

    def test_the_project_that_keeps_most_loses_an_image(self):
        victim = self.client_of("victim")
        archive = docker_archive([busybox_layer().bytes()])
        self.assertEqual(victim.call("POST", "/v1/images?name=mine:1", archive).status, 201)
        # Its is the one that was not used for longest by far when the others fill the disk.
        for number in range(5):
            other = self.client_of(f"hostile{number}")
            self.assertEqual(self.load_tree(other, "x:1", os.urandom(14 * MB)).status, 201)
        kept = self.client.get("/v1/images").json["images"]
        self.assertLess(len(kept), 6, "the control: one had to go")
        self.assertIn("victim", [image["project"] for image in kept])
        ran = victim.post_run(language="shell", code="echo here", profile={"image": "mine:1"})
        self.assertEqual((ran.status, ran.json["stdout"]), (200, "here\n"), ran)


if __name__ == "__main__":
    sealed.main()
