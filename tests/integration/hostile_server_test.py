# The launcher driven by a server that was taken over: sandboxes beyond the policy, sessions of
# others, descriptors and messages that are none. All is refused, and nothing leaks.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import launcher_wire as wire
import sealed
from hostile import Hostile, POLICY


class TakenOverServer(Hostile):
    """An attacker who has taken over the server has its connection to the launcher, and no more."""
    policy = "[mounts.data]\npath = \"{shared}\"\nprojects = [\"mine\"]\n"

    def server(self):
        client = self.client()
        client.send(wire.become_server())
        return client

    def reply(self, client, message, descriptors=None):
        wire.send(client, message, [self.link()[1].fileno()] if descriptors is None else descriptors)
        while True:
            reply = wire.receive(client)
            if reply is None or reply.kind != wire.TEMPLATE:
                return reply

    def test_it_cannot_have_its_own_descriptors_mounted(self):
        fd = os.open(self.shared, os.O_PATH)
        self.addCleanup(os.close, fd)
        for mode in (wire.READ_ONLY, wire.READ_WRITE):
            message = wire.create(mounts=[(mode, "/mnt")])
            self.assert_refused(self.reply(self.server(), message, [self.link()[1].fileno(), fd]), wire.POLICY, "list")

    def test_it_has_listed_mounts_for_their_projects_and_modes_only(self):
        def named(name, mode=wire.READ_ONLY, project="mine"):
            return self.reply(self.server(), wire.create(mounts=[(mode, "/mnt", name)], project=project))
        self.assertEqual(named("data").kind, wire.CREATED)
        self.assert_refused(named("data", wire.READ_WRITE), wire.POLICY, "read-only")
        self.assert_refused(named("data", project="other"), wire.POLICY, "no mount")
        self.assert_refused(named("allow"), wire.POLICY, "no mount")

    def test_it_has_jails_and_nothing_less(self):
        self.assert_refused(self.reply(self.server(), wire.create(engine=wire.PROCESS)), wire.POLICY, "jail engine")

    def test_it_takes_only_what_waits_for_it_and_only_once(self):
        mine = self.server()
        made = self.reply(mine, wire.create(waits=1))
        self.assertEqual(made.kind, wire.CREATED, made)
        self.assert_refused(self.reply(self.server(), wire.take(made.id), []), wire.NOT_FOUND)
        mine.send(wire.take(made.id))
        self.assert_refused(self.reply(mine, wire.take(made.id), []), wire.NOT_FOUND)

    def test_it_cannot_take_with_limits_past_a_ceiling(self):
        mine = self.server()
        made = self.reply(mine, wire.create(waits=1))
        refused = self.reply(mine, wire.take(made.id, wire.limits(memory=1 << 45, asked=0x3f)), [])
        self.assert_refused(refused, wire.POLICY, "memory")


class Sessions(TakenOverServer):
    """What a server that was taken over can do with sessions, and a client that is none."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.end_sessions)

    def end_sessions(self):
        """Sessions outlive their clients: they are ended by the next one."""
        for client in self.servers:
            client.close()
        client, listed = self.launcher.connect(), []
        client.send(wire.become_server())
        client.send(wire.list_sandboxes(1))
        while (reply := wire.receive(client)).kind != wire.DONE:
            if reply.kind == wire.LISTED:
                listed.append(reply.id)
                for fd in reply.fds:
                    os.close(fd)
        for identity in listed:
            client.send(wire.destroy(identity))
        for _ in listed:
            self.assertEqual(wire.receive(client).kind, wire.ENDED)
        client.close()

    servers = ()

    def server(self):
        client = super().server()
        self.servers = [*self.servers, client]
        return client

    def create_session(self, client, descriptors=None, **more):
        if descriptors is None:
            ours, theirs = self.link()
            descriptors = [theirs.fileno(), ours.fileno()]
        return self.reply(client, wire.create(session=1, **more), descriptors)

    def test_malformed_requests_are_dropped(self):
        identity = "sb" + "a" * 20
        for good in (wire.list_sandboxes(1), wire.freeze(identity, 1, 1), wire.measure(identity, 1)):
            for message in (*(good[:size] for size in range(1, len(good))), good + b"\0"):
                self.assert_dropped(message)
        self.assert_dropped(wire.freeze(identity, 2, 1))
        self.assert_dropped(wire.freeze("../../../../etc/passwd", 1, 1))
        self.assert_dropped(wire.create(session=2))

    def test_who_is_no_server_has_no_sessions_and_is_given_none(self):
        self.assertEqual(self.create_session(self.server()).kind, wire.CREATED)
        client = self.client()
        ours, theirs = self.link()
        self.assert_refused(self.ask(wire.create(session=1), [theirs.fileno(), ours.fileno()], client), wire.POLICY)
        for _ in range(3):
            self.assert_refused(self.ask(wire.list_sandboxes(7), [], client), wire.POLICY)

    def test_sessions_are_jails_and_neither_warm_nor_made_ahead(self):
        for more in ({"warm": 1}, {"waits": 1}, {"engine": wire.PROCESS}):
            self.assertEqual(self.create_session(self.server(), **more).kind, wire.REFUSED, more)

    def test_other_descriptors_are_refused(self):
        ours, theirs = self.link()
        null = os.open("/dev/null", os.O_RDWR)
        self.addCleanup(os.close, null)
        for descriptors in ([], [theirs.fileno()], [theirs.fileno(), null], [null, ours.fileno()],
                            [theirs.fileno(), ours.fileno(), null], [theirs.fileno()] * 18):
            with self.subTest(descriptors=len(descriptors)):
                self.assertEqual(self.create_session(self.server(), descriptors).kind, wire.REFUSED)

    def test_anothers_session_is_not_there(self):
        mine, other = self.server(), self.server()
        made = self.create_session(mine)
        self.assertEqual(made.kind, wire.CREATED, made)
        for message in (wire.freeze(made.id, 1, 3), wire.freeze(made.id, 0, 3), wire.measure(made.id, 3),
                        wire.destroy(made.id), wire.take(made.id)):
            self.assert_refused(self.reply(other, message, []), wire.NOT_FOUND)
        self.assertEqual(self.reply(other, wire.list_sandboxes(4), []).kind, wire.DONE)
        self.assertEqual(self.reply(mine, wire.measure(made.id, 5), []).kind, wire.MEASURED)

    def test_what_was_never_a_session_is_neither_stopped_nor_measured(self):
        mine = self.server()
        made = self.reply(mine, wire.create(waits=1))
        for message in (wire.freeze(made.id, 1, 3), wire.measure(made.id, 3)):
            self.assert_refused(self.reply(mine, message, []), wire.NOT_FOUND)

    def test_a_server_that_asks_for_lists_and_reads_none_harms_nobody(self):
        made = [self.create_session(self.server()) for _ in range(3)]
        self.assertEqual([one.kind for one in made], [wire.CREATED] * 3)
        for client in self.servers:
            client.close()
        greedy = self.server()
        greedy.setblocking(False)
        try:
            for seq in range(20_000):
                greedy.send(wire.list_sandboxes(seq))
        except OSError:
            pass
        self.assert_good_clients_are_served()

    def test_freezing_back_and_forth_ends_as_it_was_asked_last(self):
        mine = self.server()
        made = self.create_session(mine)
        for seq in range(100):
            mine.send(wire.freeze(made.id, seq % 2, seq))
        answers = []
        while len(answers) < 100:
            reply = wire.receive(mine)
            if reply.kind != wire.TEMPLATE:
                answers.append(reply)
        self.assertEqual({reply.seq for reply in answers}, set(range(100)))
        self.assertEqual(self.reply(mine, wire.freeze(made.id, 0, 200), []).kind, wire.DONE)

if __name__ == "__main__":
    sealed.main()
