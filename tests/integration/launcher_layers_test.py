# Layers as the launcher keeps them for servers: made in a sandbox and nowhere else, kept once that
# has ended, used by templates, never taken from a template that uses them, and gone without a trace. The
# test is a server, and a hostile one where it can be.
import io
import os
import random
import shutil
import signal
import socket
import stat
import string
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import launcher_wire as wire
import old_kernel
import sealed
import session_launcher_test as sessions
import session_wire as frames
import warm
from sealed import wait_until

SITE_DIR = "usr/local/lib/python3.11/dist-packages"
with_zygotes = unittest.skipUnless(old_kernel.can_shut_zygotes_in(), "no zygotes for these here: Landlock is too old")


def new_id():
    return "".join(random.choices("0123456789abcdef", k=32))


def own_template():
    return "own." + "".join(random.choices(string.ascii_lowercase + string.digits, k=20))


def archive(files, links=(), odd=()):
    """A tar of {name: content}; a name that ends in "/" is a directory."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name.rstrip("/"))
            info.mode, info.mtime = 0o755, 1_000_000
            info.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        for name, target in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
        for info in odd:
            tar.addfile(info)
    return data.getvalue()


PACKAGE = archive({SITE_DIR + "/gbx_layer_probe.py": b"WORD = 'from the layer'\n", "node_modules/": b"",
                   "node_modules/gbx_probe/index.js": b"module.exports = 'from the layer'\n"})


class TestCase(sessions.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = tempfile.TemporaryDirectory(prefix="gbx-layers-")
        cls.addClassCleanup(made.cleanup)
        cls.layers = os.path.join(made.name, "layers")
        cls.sets = os.path.join(cls.layers, "sets")

    def ask(self, message, client=None):
        client = client or self.client
        client.seq += 1
        wire.send(client.socket, message[:2] + client.seq.to_bytes(4, "little") + message[6:])
        return client.answer_to(client.seq)

    def begin(self, identity, make=1, client=None, template="base", mounts=(), session=1):
        """The answer to a session with this layer, and our end of its socket."""
        client = client or self.client
        client.seq += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(ours.close)
        message = wire.create(template=template, seq=client.seq, session=session, layer=identity, make_layer=make,
                              mounts=mounts)
        fds = [theirs.fileno(), ours.fileno()] if session else [theirs.fileno()]
        wire.send(client.socket, message, fds)
        theirs.close()
        return client.answer_to(client.seq), ours

    def making(self, identity, make=1, **more):
        reply, link = self.begin(identity, make, **more)
        self.assertEqual(reply.kind, wire.CREATED, reply)
        session = sessions.Session(more.get("client") or self.client, reply.id, link)
        session.hello()
        return session

    def unpack(self, session, data, path="/layer"):
        """What the agent says of an archive that is unpacked there as root."""
        session.process += 1
        session.link.send(frames.file(session.process, frames.TAR_IN, path, user="root"))
        said = session.link.wait_for(lambda frame: frame.kind in (frames.FILE_OPENED, frames.FILE_DONE))[-1]
        if said.kind == frames.FILE_DONE:
            return said
        try:
            with os.fdopen(said.fds[0], "wb") as pipe:
                pipe.write(data)
        except BrokenPipeError:
            pass
        session.link.send(frames.commit(session.process))
        return session.link.wait_for(lambda frame: frame.kind == frames.FILE_DONE)[-1]

    def pack(self, session, path="/layer"):
        session.process += 1
        session.link.send(frames.file(session.process, frames.TAR_OUT, path, user="root"))
        said = session.link.wait_for(lambda frame: frame.kind in (frames.FILE_OPENED, frames.FILE_DONE))[-1]
        self.assertEqual(said.kind, frames.FILE_OPENED, said)
        with os.fdopen(said.fds[0], "rb") as pipe:
            data = pipe.read()
        done = session.link.wait_for(lambda frame: frame.kind == frames.FILE_DONE)[-1]
        self.assertEqual(done.errno, 0, done)
        return data

    def made(self, data=PACKAGE, identity=None, client=None, **more):
        """A layer from its beginning to its keeping."""
        identity = identity or new_id()
        session = self.making(identity, client=client)
        done = self.unpack(session, data)
        self.assertEqual(done.errno, 0, done)
        session.destroy()
        kept = self.ask(wire.keep_layer(identity, **more), client)
        self.assertEqual(kept.kind, wire.DONE, kept)
        return identity

    def listed(self, client=None):
        client = client or self.client
        client.seq += 1
        wire.send(client.socket, wire.list_layers(client.seq))
        found = {}
        while (reply := client.answer_to(client.seq)).kind == wire.LAYER:
            found[reply.id] = reply
        self.assertEqual(reply.kind, wire.DONE, reply)
        return found

    def refused(self, message, code, client=None):
        reply = self.ask(message, client)
        self.assert_refused(reply, code)
        return reply.message

    def tree(self, identity):
        return os.path.join(self.sets, identity, "tree")

    def unfinished(self):
        return [name for name in os.listdir(self.sets) if len(name) != 32]

    def second_launcher(self):
        """Another launcher with the same layers, and a connection to it."""
        place = self.directory()
        launcher = warm.Launcher(place, layers=self.layers)
        self.addCleanup(launcher.stop)
        client = warm.Client(launcher)
        self.addCleanup(client.close)
        return launcher, client


class Making(TestCase):
    def test_is_made_in_a_sandbox_kept_and_listed(self):
        identity = self.made(size=123, entries=4, digest="ab" * 32, note='{"a": "\u00e4"}')
        record = self.listed()[identity]
        self.assertEqual((record.bytes, record.entries, record.digest, record.note, record.in_use),
                         (123, 4, "ab" * 32, '{"a": "\u00e4"}', 0))
        self.assertGreaterEqual(record.used, record.made - 1000)
        self.assertEqual(self.unfinished(), [])
        # On the disk everything is root's, and no other user can enter.
        self.assertEqual(stat.S_IMODE(os.stat(self.sets).st_mode), 0o700)
        for place, directories, files in os.walk(self.tree(identity)):
            for name in directories + files:
                info = os.lstat(os.path.join(place, name))
                self.assertEqual((info.st_uid, info.st_gid, info.st_mode & 0o7022), (0, 0, 0), name)

    def test_only_the_sandboxs_root_can_write_it_and_nothing_in_it_runs(self):
        session = self.making(new_id())
        code, out, _ = session.run_line("stat -c '%u %g %a' /layer; touch /layer/x; mkdir /layer/y; rmdir /layer; "
                                        "mv /layer /elsewhere; ls -A /layer")
        self.assertEqual(out, b"0 0 755\n")
        script = ("set -e; cp /bin/true /layer/true; chmod 4755 /layer/true || echo no setuid; "
                  "/layer/true || echo not run; mknod /layer/null c 1 3 || echo no device")
        code, out, err = session.run_line(script, user="root")
        self.assertIn(b"not run", out)
        self.assertIn(b"no device", out)
        session.destroy()

    def test_what_an_archive_may_not_have(self):
        identity = new_id()
        session = self.making(identity)
        device, pipe = tarfile.TarInfo("null"), tarfile.TarInfo("pipe")
        device.type, device.devmajor, device.devminor = tarfile.CHRTYPE, 1, 3
        pipe.type = tarfile.FIFOTYPE
        outside = tarfile.TarInfo("../outside")
        through = tarfile.TarInfo("link/x")
        for odd, links in (([device], ()), ([pipe], ()), ([outside], ()), ([through], (("link", "/tmp"),))):
            self.assertNotEqual(self.unpack(session, archive({}, links, odd)).errno, 0, odd)
        loud = tarfile.TarInfo("loud")
        loud.mode, loud.uid, loud.gid = 0o7777, 1000, 1000
        self.assertEqual(self.unpack(session, archive({}, odd=[loud])).errno, 0)
        session.destroy()
        self.assertEqual(self.ask(wire.keep_layer(identity)).kind, wire.DONE)
        info = os.stat(os.path.join(self.tree(identity), "loud"))
        self.assertEqual((info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)), (0, 0, 0o755))
        self.assertEqual(sorted(os.listdir(self.tree(identity))), ["link", "loud"])

    def test_the_same_holds_below_its_top_however_that_is_spelled(self):
        identity = new_id()
        session = self.making(identity)
        pipe, loud = tarfile.TarInfo("pipe"), tarfile.TarInfo("loud")
        pipe.type, loud.mode = tarfile.FIFOTYPE, 0o7777
        for path in ("/layer/a/b", "/layer/", "//layer//c", "/tmp/../layer/d"):
            self.assertNotEqual(self.unpack(session, archive({}, odd=[pipe]), path).errno, 0, path)
            self.assertEqual(self.unpack(session, archive({}, odd=[loud]), path).errno, 0, path)
        self.assertEqual(self.unpack(session, archive({}, odd=[pipe]), "/elsewhere/layer").errno, 0)  # no layer
        session.destroy()
        self.assertEqual(self.ask(wire.keep_layer(identity)).kind, wire.DONE)
        modes = {}
        for where, directories, files in os.walk(self.tree(identity)):
            for name in directories + files:
                path = os.path.join(where, name)
                modes[os.path.relpath(path, self.tree(identity))] = os.lstat(path).st_mode
        self.assertEqual({name: stat.filemode(mode) for name, mode in modes.items()},
                         {"a": "drwxr-xr-x", "a/b": "drwxr-xr-x", "a/b/loud": "-rwxr-xr-x", "loud": "-rwxr-xr-x",
                          "c": "drwxr-xr-x", "c/loud": "-rwxr-xr-x", "d": "drwxr-xr-x", "d/loud": "-rwxr-xr-x"})
        self.ask(wire.drop_layer(identity))

    def test_is_read_back_the_same_in_other_sandboxes_and_cannot_be_changed_there(self):
        identity = new_id()
        session = self.making(identity)
        self.unpack(session, PACKAGE)
        first = self.pack(session)
        session.destroy()
        self.assertEqual(self.ask(wire.keep_layer(identity)).kind, wire.DONE)
        for _ in range(2):
            reader = self.making(identity, make=0)
            self.assertTrue(self.listed()[identity].in_use)
            self.assertEqual(self.pack(reader), first)
            _, out, _ = reader.run_line("touch /layer/x || echo read-only; mount -o remount,rw /layer || echo stays",
                                        user="root")
            self.assertEqual(out, b"read-only\nstays\n")
            self.refused(wire.drop_layer(identity), wire.CONFLICT)
            reader.destroy()
        self.assertEqual(self.ask(wire.drop_layer(identity)).kind, wire.DONE)

    def test_is_not_kept_while_its_sandbox_lives_or_twice_or_by_somebody_else(self):
        identity = new_id()
        session = self.making(identity)
        self.assertIn("has not ended", self.refused(wire.keep_layer(identity), wire.CONFLICT))
        self.refused(wire.drop_layer(identity), wire.CONFLICT)
        other = self.connect()
        session.destroy()
        self.refused(wire.keep_layer(identity), wire.NOT_FOUND, other)
        self.assertEqual(self.ask(wire.keep_layer(identity)).kind, wire.DONE)
        self.refused(wire.keep_layer(identity), wire.NOT_FOUND)
        self.refused(wire.keep_layer(new_id()), wire.NOT_FOUND)
        reply, _ = self.begin(identity)
        self.assert_refused(reply, wire.CONFLICT)  # there is one of this id
        self.ask(wire.drop_layer(identity))

    def test_a_bad_record_is_refused_and_may_be_said_better(self):
        identity = new_id()
        self.making(identity).destroy()
        self.refused(wire.keep_layer(identity, digest="xyz"), wire.INVALID_ARGUMENT)
        self.assertEqual(self.ask(wire.keep_layer(identity)).kind, wire.DONE)
        self.assertEqual(self.ask(wire.note_layer(identity, "n" * 16384)).kind, wire.DONE)
        self.assertEqual(self.listed()[identity].note, "n" * 16384)
        self.refused(wire.note_layer(new_id(), ""), wire.NOT_FOUND)
        self.ask(wire.drop_layer(identity))

    def test_only_a_servers_session_has_one(self):
        plain = warm.Client(self.launcher, server=False)
        self.addCleanup(plain.close)
        for message in (wire.keep_layer(new_id()), wire.note_layer(new_id(), ""), wire.drop_layer(new_id()),
                        wire.list_layers()):
            self.refused(message, wire.POLICY, plain)
        reply, _ = self.begin(new_id(), client=plain)
        self.assert_refused(reply, wire.POLICY)
        reply, _ = self.begin(new_id(), session=0)
        self.assert_refused(reply, wire.POLICY)
        reply, _ = self.begin(new_id(), make=0)
        self.assert_refused(reply, wire.NOT_FOUND)
        reply, _ = self.begin("", make=1)
        self.assertEqual(reply.kind, wire.REFUSED)
        self.assertEqual(self.unfinished() if os.path.isdir(self.sets) else [], [])

    def test_who_spells_an_id_wrong_is_let_go(self):
        for bad in ("..", "../../x", "A" * 32, "a" * 31, "a" * 33, "a/" + "b" * 30):
            for message in (wire.keep_layer(bad), wire.note_layer(bad, ""), wire.drop_layer(bad),
                            wire.create(session=1, layer=bad, make_layer=1)):
                client = warm.Client(self.launcher)
                wire.send(client.socket, message)
                with self.assertRaises(AssertionError):  # the connection is closed
                    client.wait(lambda: None, 20)
                client.close()
        self.assert_serves()

    def test_begun_twice_and_begun_again_after_nothing_came_of_it(self):
        identity = new_id()
        session = self.making(identity)
        reply, _ = self.begin(identity)
        self.assert_refused(reply, wire.CONFLICT)
        self.assertEqual(self.unpack(session, PACKAGE).errno, 0)
        session.destroy()
        self.assertTrue(wait_until(lambda: session.id not in sealed.sandboxes()))
        again = self.making(identity)
        self.assertEqual(again.run_line("ls -A /layer")[1], b"")
        again.destroy()
        self.assertEqual(self.ask(wire.drop_layer(identity)).kind, wire.DONE)
        self.assertTrue(wait_until(lambda: self.unfinished() == []), self.unfinished())
        self.refused(wire.keep_layer(identity), wire.NOT_FOUND)


class Leftovers(TestCase):
    def test_what_a_server_leaves_behind_ends_and_goes(self):
        client = self.connect()
        identity = new_id()
        session = self.making(identity, client=client)
        self.unpack(session, PACKAGE)
        kept = self.made()
        reader = self.making(kept, make=0, client=client)
        client.close()
        self.assertTrue(wait_until(lambda: not {session.id, reader.id} & sealed.sandboxes()))
        self.assertTrue(wait_until(lambda: self.unfinished() == []), self.unfinished())
        self.assertEqual(self.adopt(self.connect()), {})
        self.assertIn(kept, self.listed())
        self.ask(wire.drop_layer(kept))

    def test_what_a_killed_launcher_leaves_goes_with_the_next_start(self):
        kept = self.made(note="stays")
        broken, empty = self.made(), self.made()
        session = self.making(new_id())
        self.unpack(session, PACKAGE)
        with open(os.path.join(self.sets, broken, "record"), "r+") as file:
            file.truncate(40)
        os.unlink(os.path.join(self.sets, empty, "record"))
        os.mkdir(os.path.join(self.sets, "gone-0123456789abcdef"))
        self.assertEqual(set(self.listed()) & {kept, broken, empty}, {kept})
        self.assertEqual(len(self.unfinished()), 2)
        self.launcher.stop(signal.SIGKILL)
        launcher, client = self.second_launcher()
        self.assertTrue(wait_until(lambda: sorted(os.listdir(self.sets)) == [kept]), os.listdir(self.sets))
        self.assertEqual(self.listed(client)[kept].note, "stays")
        self.assertEqual(self.ask(wire.drop_layer(kept), client).kind, wire.DONE)

    def test_a_launcher_that_lives_is_not_swept_and_two_use_one_directory(self):
        identity = new_id()
        session = self.making(identity)
        self.unpack(session, PACKAGE)
        launcher, other = self.second_launcher()
        self.assertIn("new-" + identity, os.listdir(self.sets))
        reply, _ = self.begin(identity, client=other)
        self.assert_refused(reply, wire.CONFLICT)  # it is being made over there
        self.refused(wire.keep_layer(identity), wire.NOT_FOUND, other)
        session.destroy()
        self.assertEqual(self.ask(wire.keep_layer(identity)).kind, wire.DONE)
        # Used by one, it is in use for both.
        reader = self.making(identity, make=0, client=other)
        self.assertTrue(self.listed()[identity].in_use)
        self.refused(wire.drop_layer(identity), wire.CONFLICT)
        reader.destroy()
        self.assertTrue(wait_until(lambda: not self.listed()[identity].in_use))
        self.assertEqual(self.ask(wire.drop_layer(identity)).kind, wire.DONE)
        self.assertNotIn(identity, self.listed(other))

    def test_a_large_layer_goes_without_anybody_waiting_for_it(self):
        files = {f"d{i % 50}/f{i}": b"" for i in range(20_000)}
        deep = "/".join(["deep"] * 300)
        identity = self.made(archive({**files, deep + "/end": b"x"}))
        self.assertEqual(self.ask(wire.drop_layer(identity)).kind, wire.DONE)
        sandbox = self.client.create("base", warm=0, waits=0)  # it serves meanwhile
        sandbox.destroy()
        self.assertTrue(wait_until(lambda: self.unfinished() == [], 60))

    def test_many_are_listed_to_a_client_that_reads_slowly(self):
        first = self.made(note="x" * 16_000)
        ids = {first}
        for _ in range(60):
            identity = new_id()
            shutil.copytree(os.path.join(self.sets, first), os.path.join(self.sets, identity))
            ids.add(identity)
        slow = self.connect()
        slow.seq += 1
        wire.send(slow.socket, wire.list_layers(slow.seq))
        self.assertTrue(ids <= set(self.listed()))  # others are served
        found = set()
        while (reply := slow.answer_to(slow.seq)).kind == wire.LAYER:
            found.add(reply.id)
        self.assertTrue(ids <= found)
        for identity in ids:
            self.assertEqual(self.ask(wire.drop_layer(identity)).kind, wire.DONE)


class Using(TestCase):
    def define(self, *layers, base="python", **more):
        name = own_template()
        return name, self.ask(wire.define(name, base, layers=layers, **more))

    def test_a_template_has_its_files_above_the_hosts(self):
        below = self.made(archive({"opt/word": b"below", "opt/only": b"there"}))
        above = self.made(archive({"opt/word": b"above", "usr/local/bin/gbx-layer-tool": b"#!/bin/sh\necho tool\n"}))
        name, answer = self.define(below, above, base="base")
        self.assertEqual(answer.kind, wire.DONE, answer)
        session = self.session(name)
        session.hello()
        self.assertEqual(session.run_line("cat /opt/word /opt/only; gbx-layer-tool; ls -d /layer; stat -c %u /opt/word")[1],
                         b"abovetheretool\n0\n")
        self.assertIn("in use", self.refused(wire.drop_layer(above), wire.CONFLICT))
        # The session goes on when its template is forgotten, and holds the layer.
        self.assertEqual(self.ask(wire.forget(name)).kind, wire.DONE)
        self.refused(wire.drop_layer(above), wire.CONFLICT)
        self.assertEqual(session.run_line("gbx-layer-tool")[1], b"tool\n")
        wire.send(self.client.socket, wire.destroy(session.id))
        for identity in (above, below):
            self.assertEqual(self.ask(wire.drop_layer(identity)).kind, wire.DONE)  # at once

    @with_zygotes
    def test_its_zygote_sees_the_layer_and_holds_it(self):
        identity = self.made()
        name, answer = self.define(identity, preload=["gbx_layer_probe"])
        self.assertEqual(answer.kind, wire.DONE, answer)
        status = self.client.prepare(name)
        self.assertEqual(status.state, warm.READY, status)
        ran = self.client.run("import sys; print('gbx_layer_probe' in sys.modules)\n"
                              "import gbx_layer_probe; print(gbx_layer_probe.WORD, gbx_layer_probe.__file__)", name)
        self.assertEqual(ran.out, f"True\nfrom the layer /{SITE_DIR}/gbx_layer_probe.py\n".encode(), ran)
        self.assertTrue(self.listed()[identity].in_use)
        self.refused(wire.drop_layer(identity), wire.CONFLICT)
        self.assertEqual(self.ask(wire.forget(name)).kind, wire.DONE)
        self.assertEqual(self.ask(wire.drop_layer(identity)).kind, wire.DONE)

    def test_a_node_that_waits_sees_the_layers_modules(self):
        identity = self.made()
        name, answer = self.define(identity, base="node")
        self.assertEqual(answer.kind, wire.DONE, answer)
        self.client.prepare(name)
        sandbox = self.client.create_patiently(name)
        ran = sandbox.run("console.log(require('gbx_probe'))", name="main.js")
        sandbox.destroy()
        self.assertEqual(ran.out, b"from the layer\n", ran)
        self.ask(wire.forget(name))
        self.assertEqual(self.ask(wire.drop_layer(identity)).kind, wire.DONE)

    def test_templates_of_layers_that_are_not_there_are_refused(self):
        _, answer = self.define(new_id())
        self.assert_refused(answer, wire.NOT_FOUND)
        self.assertIn("layer ", answer.message)
        identity = self.made()
        for layers in ((identity, identity), ("../../etc",), ("/etc",), ("",)):
            _, answer = self.define(*layers)
            self.assert_refused(answer, wire.INVALID_ARGUMENT)
        # A tree that others could have written is none.
        os.chmod(self.tree(identity), 0o777)
        _, answer = self.define(identity)
        self.assert_refused(answer, wire.POLICY)
        self.assertEqual(self.ask(wire.drop_layer(identity)).kind, wire.DONE)

    def test_definitions_survive_a_reload_with_their_layers(self):
        identity = self.made()
        name, _ = self.define(identity, base="base")
        self.reload()
        self.assert_serves("python")
        session = self.session(name)
        session.hello()
        self.assertEqual(session.run_line(f"cat /{SITE_DIR}/gbx_layer_probe.py")[1], b"WORD = 'from the layer'\n")
        session.destroy()
        self.ask(wire.forget(name))
        self.ask(wire.drop_layer(identity))

    def test_a_layer_that_leads_elsewhere_leads_nowhere(self):
        with open(os.path.join(self.directory(), "secret"), "w") as secret:
            secret.write("the host's")
        place = os.path.dirname(secret.name)
        for links in ((("usr", place),), (("dev", place), ("proc", place)), (("home", place),), (("opt", place),)):
            identity = self.made(archive({}, links))
            name, answer = self.define(identity, base="base")
            self.assertEqual(answer.kind, wire.DONE, answer)
            self.client.seq += 1
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.addCleanup(ours.close)
            wire.send(self.client.socket, wire.create(template=name, seq=self.client.seq, session=1),
                      [theirs.fileno(), ours.fileno()])
            theirs.close()
            reply = self.client.answer_to(self.client.seq)
            if reply.kind == wire.CREATED:
                session = sessions.Session(self.client, reply.id, ours)
                session.hello()
                _, out, _ = session.run_line(f"cat /usr/secret /dev/secret /home/secret /opt/secret {place}/secret")
                self.assertEqual(out, b"")
                session.destroy()
            self.ask(wire.forget(name))
            self.assertEqual(self.ask(wire.drop_layer(identity)).kind, wire.DONE)
        self.assert_serves()

    def test_a_use_is_noted(self):
        identity = self.made()
        used = os.path.join(self.sets, identity, "used")
        os.utime(used, (1_000_000, 1_000_000))
        self.assertEqual(self.listed()[identity].used, 1_000_000_000)
        reader = self.making(identity, make=0)  # to look at it is no use
        reader.destroy()
        self.assertEqual(self.listed()[identity].used, 1_000_000_000)
        launcher, other = self.second_launcher()  # which has not noted one in the last minute
        name = own_template()
        self.assertEqual(self.ask(wire.define(name, "base", layers=[identity]), other).kind, wire.DONE)
        self.assertGreater(self.listed()[identity].used, 1_000_000_000_000)
        self.ask(wire.forget(name), other)
        self.assertEqual(self.ask(wire.drop_layer(identity)).kind, wire.DONE)

    def test_nothing_else_is_mounted_at_its_place(self):
        for place in ("/layer", "/layer/x"):
            reply, _ = self.begin(new_id(), mounts=[(wire.READ_ONLY, place, "a-mount")])
            self.assert_refused(reply, wire.POLICY)
            self.assertIn("nothing else may be mounted at /layer", reply.message)


class Rootless(TestCase):
    """An ordinary user's launcher: one user inside and outside, and so no mapping."""
    USER = 65534

    def setUp(self):
        sealed.TestCase.setUp(self)
        place = self.directory(owner=self.USER)
        programs = os.path.join(place, "bin")
        shutil.copytree(sealed.BIN, programs, ignore=lambda _, names: set(names) - {"glovebox-launcher", "glovebox-agent"})
        os.mkdir(os.path.join(place, "runtime"), 0o700)
        for where, _, names in os.walk(place):
            for name in [".", *names]:
                os.chown(os.path.join(where, name), self.USER, self.USER)
        self.sets = os.path.join(place, "layers/sets")
        self.launcher = sealed.SharedLauncher.__new__(sealed.SharedLauncher)
        self.launcher.path = os.path.join(place, "runtime/launcher.sock")
        command = ["setpriv", "--reuid", str(self.USER), "--regid", str(self.USER), "--clear-groups", "env", "-i",
                   "PATH=/usr/bin:/bin", f"HOME={place}", f"XDG_RUNTIME_DIR={place}/runtime",
                   f"GLOVEBOX_LAYERS_DIR={place}/layers", os.path.join(programs, "glovebox-launcher"), "--listen",
                   self.launcher.path, "--templates", os.path.join(place, "none")]
        self.launcher.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.launcher.stop)
        self.assertTrue(wait_until(self.launcher.answers))
        self.client = self.connect()

    def test_makes_keeps_and_uses_layers(self):
        identity = self.made(archive({"opt/word": b"a word"}), note="of a user's")
        self.assertEqual(self.listed()[identity].note, "of a user's")
        self.assertEqual(os.stat(os.path.join(self.tree(identity), "opt/word")).st_uid, self.USER)
        name = own_template()
        self.assertEqual(self.ask(wire.define(name, "base", layers=[identity])).kind, wire.DONE)
        session = self.session(name)
        session.hello()
        self.assertEqual(session.run_line("cat /opt/word; echo x > /opt/word || echo no")[1][:6], b"a word")
        session.destroy()
        with open(os.path.join(self.tree(identity), "opt/word")) as file:
            self.assertEqual(file.read(), "a word")  # whatever a sandbox did to its own
        self.ask(wire.forget(name))
        self.assertEqual(self.ask(wire.drop_layer(identity)).kind, wire.DONE)
        self.assertTrue(wait_until(lambda: os.listdir(self.sets) == []))


if __name__ == "__main__":
    sealed.main()
