# The agent of a session, talked to as a server does: what it keeps, paces, reaps and survives. The
# server's place is taken by this test, on the socket that the launcher was given. GBX_SESSION_LINK
# names the form of that socket (agent_session.FORMS).
import errno
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import launcher_wire
import sealed
import session_wire as wire
import warm
from agent_session import FORMS, KEPT, Session, cell, read_to_end, record

FORM = FORMS[os.environ.get("GBX_SESSION_LINK", "descriptors")]


class SessionAgent(sealed.TestCase):
    def setUp(self):
        super().setUp()
        self.launcher = warm.Launcher(self.directory())
        self.addCleanup(self.launcher.stop)
        self.client = warm.Client(self.launcher)
        self.addCleanup(self.client.close)

    def session(self, **more):
        session = Session(self, **{**FORM, **more})
        self.addCleanup(session.destroy)
        return session

    # --- programs

    def test_programs_run_as_who_was_asked_for(self):
        session = self.session()
        self.assertEqual(session.run("echo out; echo err >&2; exit 3"), (3, b"out\n", b"err\n"))
        self.assertEqual(session.run("id -u; echo $HOME $USER; pwd", workdir=""),
                         (0, b"1000\n/home/user user\n/home/user\n", b""))
        code, out, err = session.run("id -u; grep ^Cap /proc/self/status; grep NoNew /proc/self/status", user="root")
        self.assertEqual((code, err), (0, b""))
        words = out.split()
        self.assertEqual(words[0], b"0")
        caps = {words[i]: words[i + 1] for i in range(1, len(words), 2)}
        allowed = sum(1 << bit for bit in (0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 29, 31))
        self.assertEqual(int(caps[b"CapEff:"], 16), allowed, out)
        self.assertEqual(int(caps[b"CapBnd:"], 16), allowed, out)
        self.assertEqual(caps[b"NoNewPrivs:"], b"0")
        code, out, _ = session.run("grep -E '^Cap(Eff|Prm|Amb|Inh)' /proc/self/status | grep -vc 0000000000000000; id -u",
                                   user="1234")
        self.assertEqual(out, b"0\n1234\n")
        self.assertEqual(session.run("kill -9 $$")[0], -9)

    def test_what_cannot_start_says_why(self):
        session = self.session()
        for argv, more, error in ((["/no/such"], {}, errno.ENOENT), (["/etc/passwd"], {}, errno.EACCES),
                                  (["/bin/true"], {"workdir": "/no"}, errno.ENOENT),
                                  (["/bin/true"], {"user": "nobody-at-all"}, errno.EINVAL),
                                  (["/bin/true"], {"workdir": "/root"}, errno.EACCES)):
            refused = session.started(session.start(argv, **more))
            self.assertEqual((refused.kind, refused.errno), (wire.START_REFUSED, error), (argv, more, refused))
        session.link.send(wire.start(1000, ["/bin/sleep", "100"]))
        session.wait(1000, lambda frame: frame.kind == wire.STARTED)
        session.link.send(wire.start(1000, ["/bin/true"]))
        self.assertEqual(session.started(1000).errno, errno.EEXIST)

    def test_nonsense_is_not_obeyed_and_harms_nobody(self):
        session = self.session()
        for message in (b"x", b"\x01", b"\x02\x01", b"\x01\xff" + b"a" * 100, wire.hello(9)[:-1],
                        wire.start(7, [b"/bin/true\0x"]), wire.kill(1, 0), wire.give(99, b"x", 2**64 - 1)):
            session.link.send(message)
        for number in (0, 77, 2**64 - 1):
            for message in (wire.kill(number, 9), wire.forget(number), wire.subscribe(number), wire.resize(number, 1, 1),
                            wire.acknowledge(number, 2**64 - 1), wire.close_input(number), wire.commit(number),
                            wire.abandon(number), wire.set_lossy(number, True), wire.unsubscribe(number)):
                session.link.send(message)
        self.assertEqual(session.run("echo well"), (0, b"well\n", b""))

    def test_stdin_is_taken_once_and_in_order(self):
        session = self.session()
        number = session.start(["/bin/cat"], stdin=True)
        session.link.send(wire.give(number, b"hello ", 0))
        session.link.send(wire.give(number, b"hello world", 0))  # again, as a new server may
        session.link.send(wire.give(number, b"lost", 500))       # a gap is not taken
        session.link.send(wire.close_input(number))
        end, out, _ = session.finish(number)
        self.assertEqual((end.code, out), (0, b"hello world"))
        # No client reads: the window fills, and no more.
        number = session.start(["/bin/sleep", "1000"], stdin=True)
        sent = 0
        for _ in range(6):
            session.link.send(wire.give(number, b"x" * 65536, sent))
            sent += 65536
        session.link.send(wire.kill(number, signal.SIGKILL))
        frames = session.wait(number, lambda frame: frame.kind == wire.EXITED)
        taken = [frame for frame in frames if frame.kind == wire.INPUT_TAKEN]
        self.assertTrue(taken and taken[-1].closed, taken)
        self.assertLessEqual(max(frame.offset for frame in taken), 65536)
        session.link.send(wire.give(number, b"late", sent))
        self.assertTrue(session.wait(number, lambda frame: frame.kind == wire.INPUT_TAKEN)[-1].closed)
        # One that has closed its stdin is told at once.
        number = session.start("exec <&-; sleep 1000", stdin=True)
        self.assertTrue(session.wait(number, lambda frame: frame.kind == wire.INPUT_TAKEN)[-1].closed)

    # --- output

    def test_a_slow_reader_slows_its_guest_only(self):
        session = self.session()
        number = session.start("head -c 3000000 /dev/zero | tr '\\0' a; echo end")
        frames = session.wait(number, lambda frame: frame.kind == wire.OUTPUT
                              and frame.offset + len(frame.bytes) >= KEPT)
        self.assertEqual(len(session.output(frames)), KEPT)
        self.assertIsNone(session.link.receive(0.2), "more than the window without an acknowledgement")
        self.assertEqual(session.run("echo other"), (0, b"other\n", b""))
        self.assertEqual([is_.out for is_ in session.hello() if is_.process == number], [(0, KEPT)])
        session.link.send(wire.subscribe(number, wire.STDOUT, 1000, subscription=7))
        text, at = b"", 1000
        while not text.endswith(b"end\n"):
            frame = session.wait(number, lambda frame: frame.kind == wire.OUTPUT)[-1]
            self.assertEqual((frame.offset, frame.subscription), (at, 7))
            text, at = text + frame.bytes, at + len(frame.bytes)
            session.link.send(wire.acknowledge(number, at))
        self.assertEqual(text, b"a" * 2999000 + b"end\n")
        self.assertEqual(session.wait(number, lambda frame: frame.kind == wire.EXITED)[-1].code, 0)

    def test_what_is_lossy_never_stops_and_says_what_is_lost(self):
        session = self.session()
        number = session.start("head -c 1000000 /dev/zero | tr '\\0' a; echo end; echo done >&2", lossy=True,
                               subscribed=False)
        end = session.wait(number, lambda frame: frame.kind == wire.EXITED)[-1]
        self.assertEqual((end.code, end.out), (0, (1000004 - KEPT, 1000004)))
        session.link.send(wire.subscribe(number))
        text, at = b"", 1000004 - KEPT
        while at < 1000004:
            frame = session.wait(number, lambda frame: frame.kind == wire.OUTPUT)[-1]
            self.assertEqual(frame.offset, at)
            text, at = text + frame.bytes, at + len(frame.bytes)
        self.assertEqual(text, b"a" * (KEPT - 4) + b"end\n")
        # What is kept can be had again, until it is forgotten.
        session.link.send(wire.subscribe(number, offset=1000000))
        self.assertEqual(session.wait(number, lambda frame: frame.kind == wire.OUTPUT)[-1].bytes, b"end\n")
        session.link.send(wire.forget(number))
        self.assertEqual(session.hello(), [])

    def test_a_new_server_finds_everything_once(self):
        session = self.session()
        script = "for i in $(seq 20000); do echo line $i; done; cat; echo over"
        number = session.start(script, stdin=True, label="the one")
        whole = b"".join(b"line %d\n" % i for i in range(1, 20001)) + b"input\nover\n"
        text = b""
        subscription = 0
        while len(text) < len(whole):
            frame = session.wait(number, lambda frame: frame.kind == wire.OUTPUT)[-1]
            if frame.subscription != subscription:
                continue
            self.assertEqual(frame.offset, len(text))
            text += frame.bytes
            session.link.send(wire.acknowledge(number, len(text)))
            if len(text) > 30000 * (subscription + 1) and subscription < 5 and len(text) < len(whole) - 20000:
                found = {is_.process: is_ for is_ in session.hello()}  # and all that was under way is dropped
                session.seen.clear()
                self.assertEqual(found[number].label, b"the one")
                self.assertFalse(found[number].ended)
                self.assertIsNone(session.link.receive(0.05), "sent without a subscription")
                subscription += 1
                session.link.send(wire.subscribe(number, offset=len(text), subscription=subscription))
            if text.endswith(b"line 20000\n"):
                session.link.send(wire.give(number, b"input\n", 0))
                session.link.send(wire.close_input(number))
        self.assertEqual(text, whole)
        self.assertEqual(session.wait(number, lambda frame: frame.kind == wire.EXITED)[-1].code, 0)
        self.assertEqual([(is_.process, is_.ended, is_.code) for is_ in session.hello()], [(number, True, 0)])

    def test_many_that_print_at_once_wait_for_their_turn(self):
        session = self.session()
        numbers = [session.start(f"head -c 400000 /dev/zero; echo {i}") for i in range(8)]
        for number in numbers:
            end, out, _ = session.finish(number)
            self.assertEqual((end.code, len(out)), (0, 400002))

    def test_results_come_after_what_was_printed_before_them(self):
        session = self.session()
        # Descriptor 3 is the results', 4 the requests'.
        number = session.start("while read -r -u 4 line; do echo $line $line; echo e >&2; echo {$line} >&3; done; echo x >&3",
                               kind=wire.CONTEXT)
        printed = errors = results = b""
        sent = 0
        for i in range(200):
            request = b"%d\n" % i
            session.link.send(wire.give(number, request, sent, wire.REQUESTS))
            sent += len(request)
        session.link.send(wire.close_input(number, wire.REQUESTS))
        expected = 0
        for frame in session.wait(number, lambda frame: frame.kind == wire.EXITED, acknowledge=True):
            if frame.kind != wire.OUTPUT:
                continue
            if frame.stream == wire.STDOUT:
                printed += frame.bytes
            elif frame.stream == wire.STDERR:
                errors += frame.bytes
            else:
                results += frame.bytes
                for line in frame.bytes.split():
                    if line != b"x":
                        expected += len(line[1:-1]) * 2 + 2
                    self.assertLessEqual(expected, frame.out_before)
        self.assertEqual(results.split(), [b"{%d}" % i for i in range(200)] + [b"x"])
        self.assertEqual(len(errors), 400)
        self.assertEqual(printed.split(), [b"%d" % (i // 2) for i in range(400)])

    def test_children_that_hold_the_output_are_not_waited_for(self):
        session = self.session()
        number = session.start("(sleep 0.2; echo late; sleep 1000) & echo first")
        end, out, _ = session.finish(number)
        self.assertEqual((end.code, out), (0, b"first\n"))
        late = session.wait(number, lambda frame: frame.kind == wire.OUTPUT)[-1]
        self.assertEqual((late.offset, late.bytes), (6, b"late\n"))

    # --- terminals and signals

    def test_a_terminal_has_its_size_and_ctrl_c(self):
        session = self.session()
        number = session.start(["/bin/bash", "--norc", "-i"], terminal=(33, 101), env=["PS1=>", "PATH=/usr/bin:/bin"])
        seen = bytearray()
        given = 0

        def until(text):
            while text not in seen:
                frame = session.wait(number, lambda frame: frame.kind == wire.OUTPUT)[-1]
                session.link.send(wire.acknowledge(number, frame.offset + len(frame.bytes)))
                seen.extend(frame.bytes)
            del seen[:seen.index(text) + len(text)]

        def type_(text):
            nonlocal given
            session.link.send(wire.give(number, text, given))
            given += len(text)

        until(b">")
        type_(b"stty size; tty\n")
        until(b"33 101")
        session.link.send(wire.resize(number, 7, 8))
        type_(b"stty size; echo si''ze\n")
        until(b"7 8")
        # Said by the one that is to be interrupted: bash itself may end of a Ctrl-C while it starts another.
        type_(b"sh -c \"echo wa''iting; exec sleep 1000\"\n")
        until(b"waiting")
        type_(b"\x03")
        until(b">")
        type_(b"echo code $((100+$?))\n")
        until(b"code 230")
        type_(b"sleep 1000 & sleep 0.1; kill %1; wait; jobs; echo no''jobs\n")
        until(b"nojobs")
        type_(b"exit 5\n")
        self.assertEqual(session.wait(number, lambda frame: frame.kind == wire.EXITED)[-1].code, 5)

    def test_signals_reach_the_group_or_the_one(self):
        session = self.session()
        number = session.start("trap 'echo got' USR1; echo ready; while :; do sleep 0.05; done")
        session.wait(number, lambda frame: frame.kind == wire.OUTPUT)
        session.link.send(wire.kill(number, signal.SIGUSR1, group=False))
        session.wait(number, lambda frame: frame.kind == wire.OUTPUT and b"got" in frame.bytes)
        session.link.send(wire.kill(number, signal.SIGKILL))
        self.assertEqual(session.wait(number, lambda frame: frame.kind == wire.EXITED)[-1].signal, 9)
        self.assertEqual(session.run("while pgrep -x sleep; do :; done")[0], 0)

    # --- what must not matter

    def test_orphans_are_reaped(self):
        session = self.session()
        for _ in range(5):
            session.run("for i in $(seq 20); do (setsid sleep 0.01 & ) ; done")
        number = session.start("while pgrep -x sleep >/dev/null; do sleep 0; done; ps -eo stat= | grep -c Z; true")
        self.assertEqual(session.finish(number)[1], b"0\n")

    def test_several_requests_to_end_all_processes_are_all_answered(self):
        session = self.session()
        number = session.start(["/bin/sleep", "1000"])
        session.started(number)
        for request in (901, 902, 903):
            session.link.send(wire.end_processes(request))
        for request in (901, 902, 903):
            answer = session.answer(request)
            self.assertEqual((answer.kind, answer.errno), (wire.FILE_DONE, 0), answer)
        self.assertEqual(session.finish(number)[0].signal, 9)

    def test_a_fork_bomb_is_survived(self):
        session = self.session(bounds=launcher_wire.limits(wall=3_600_000, pids=64))
        bomb = session.start("bomb() { bomb | bomb & bomb; }; bomb 2>/dev/null", lossy=True, subscribed=False)
        session.wait(bomb, lambda frame: frame.kind == wire.STARTED)
        # The user may fork no more; root, who is counted apart, still may, and what cannot is told so.
        deadline = time.monotonic() + 30
        while True:
            number = session.start(["/bin/true"], user="root")
            frames = session.wait(number, lambda frame: frame.kind in (wire.EXITED, wire.START_REFUSED))
            if frames[-1].kind == wire.EXITED:
                break
            self.assertEqual(frames[-1].errno, errno.EAGAIN)
            self.assertLess(time.monotonic(), deadline)
        session.run("kill -9 -1", user="root")
        self.assertEqual(session.run("echo alive")[1], b"alive\n")

    def test_the_agent_is_out_of_reach(self):
        session = self.session()
        attack = r"""
import ctypes, os, resource, signal
libc = ctypes.CDLL(None, use_errno=True)
def tried(name, call):
    try:
        result = call()
        print(name, "ok" if result is None else result)
    except OSError as error:
        print(name, "refused")
def ptrace():
    if libc.ptrace(16, 1, 0, 0) != 0: raise OSError(ctypes.get_errno(), "ptrace")
def seize():
    if libc.ptrace(0x4206, 1, 0, 0) != 0: raise OSError(ctypes.get_errno(), "seize")
def vm(number):
    buffer = ctypes.create_string_buffer(8)
    class Iov(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
    ours, theirs = Iov(ctypes.addressof(buffer), 8), Iov(0x400000, 8)
    if libc.syscall(number, 1, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "vm")
tried("attach", ptrace)
tried("seize", seize)
tried("vm_readv", lambda: vm(310))
tried("vm_writev", lambda: vm(311))
for name in ("mem", "maps", "environ", "auxv", "io", "syscall", "stack", "exe", "cwd/etc", "root/etc", "fd/0", "map_files"):
    tried("read " + name, lambda: (os.readlink("/proc/1/exe") if name == "exe" else
          os.listdir("/proc/1/map_files") if name == "map_files" else os.listdir("/proc/1/" + name) if "etc" in name else
          open("/proc/1/" + name, "rb", 0).read(1)) and None)
for name in ("mem", "oom_score_adj", "clear_refs", "comm", "coredump_filter", "timerslack_ns", "attr/current"):
    tried("write " + name, lambda: open("/proc/1/" + name, "wb", 0).write(b"0") and None)
tried("prlimit", lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0)))
tried("affinity", lambda: os.sched_setaffinity(1, {0}))
tried("policy", lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
tried("nice", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
pidfd = os.pidfd_open(1)
def getfd():
    fd = libc.syscall(438, pidfd, 0, 0)
    if fd < 0: raise OSError(ctypes.get_errno(), "pidfd_getfd")
tried("getfd", getfd)
for number in range(1, 65):
    try: os.kill(1, number)
    except OSError: pass
    try: signal.pidfd_send_signal(pidfd, number)
    except OSError: pass
"""
        for user in ("user", "root"):
            code, out, err = session.run(["/usr/bin/python3", "-c", attack], user=user)
            self.assertEqual((code, err), (0, b""), user)
            lines = out.decode().splitlines()
            self.assertGreater(len(lines), 25)
            self.assertEqual([line for line in lines if not line.endswith(" refused")], [], user)
            # Signals have not ended, stopped or slowed it.
            self.assertEqual(session.run("echo alive")[1], b"alive\n")

    def test_a_stopped_start_stops_nobody(self):
        session = self.session()
        # A guest that stops every new process of its user's, as soon as it can be seen.
        hunter = session.start(["/usr/bin/python3", "-c", """
import os, signal
print("ready", flush=True)
me = os.getpid()
while True:
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) > me:
            try: os.kill(int(name), signal.SIGSTOP)
            except OSError: pass
"""])
        session.wait(hunter, lambda frame: frame.kind == wire.OUTPUT)
        stopped = [session.start(["/bin/true"]) for _ in range(20)]
        for _ in range(5):
            self.assertEqual(session.run("echo root", user="root")[1], b"root\n")
        for number in stopped:
            session.link.send(wire.kill(number, signal.SIGKILL))
            self.assertIn(session.wait(number, lambda frame: frame.kind == wire.EXITED)[-1].signal, (0, 9))

    def test_root_inside_may_do_what_packages_need_and_no_more(self):
        session = self.session()
        code, out, err = session.run(
            "cp /bin/true /usr/local/bin/su-id && chmod 4755 /usr/local/bin/su-id && chown 7:8 /usr/local/bin/su-id &&"
            "echo new:x:2000: >> /etc/group && touch /etc/made /var/lib/made && /usr/sbin/chroot / /bin/true && stat -c %a /usr/local/bin/su-id &&"
            "chmod 4755 /usr/local/bin/su-id && stat -c %a:%u /usr/local/bin/su-id", user="root")
        self.assertEqual((code, out), (0, b"755\n4755:7\n"), err)
        for command in ("mount -t tmpfs x /mnt", "mknod /tmp/d c 1 3", "hostname x", "unshare -m true", "unshare -U true",
                        "nsenter -t 1 -m true", "sysctl -w kernel.hostname=x", "date -s 2001-01-01", "umount /proc",
                        "echo 1 > /proc/sys/kernel/panic", "echo b > /proc/sysrq-trigger", "swapoff -a && false"):
            self.assertNotEqual(session.run(command, user="root")[0], 0, command)

    def test_sudo_works_where_it_is(self):
        session = self.session()
        if session.run("test -u /usr/bin/sudo")[0] != 0:
            # The next best: a setuid file of root's own.
            code, _, err = session.run("cp /usr/bin/id /usr/local/bin/root-id && chmod 4755 /usr/local/bin/root-id", user="root")
            self.assertEqual(code, 0, err)
            self.assertEqual(session.run("/usr/local/bin/root-id -u"), (0, b"0\n", b""))
            return
        session.run("mkdir -p /etc/sudoers.d; echo 'user ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/user; chmod 440 /etc/sudoers.d/user",
                    user="root")
        self.assertEqual(session.run("sudo -n id -u")[:2], (0, b"0\n"))

    def test_a_local_package_is_installed_by_sudo(self):
        session = self.session()
        if session.run("test -u /usr/bin/sudo && test -x /usr/bin/dpkg-deb && test -f /var/lib/dpkg/status")[0] != 0:
            self.skipTest("the template has no sudo or no dpkg")
        code, _, err = session.run(
            "mkdir -p p/DEBIAN p/usr/bin && cp /bin/true p/usr/bin/gbxtest && chmod 4755 p/usr/bin/gbxtest &&"
            "printf 'Package: gbxtest\\nVersion: 1\\nArchitecture: all\\nMaintainer: a <a@b>\\nDescription: x\\n' > p/DEBIAN/control &&"
            "dpkg-deb --root-owner-group -b p x.deb && sudo -n dpkg -i x.deb")
        self.assertEqual(code, 0, err)
        self.assertEqual(session.run("stat -c %a:%U /usr/bin/gbxtest; gbxtest")[:2], (0, b"4755:root\n"))

    def test_memory_that_runs_out_ends_the_guest_and_not_the_agent(self):
        session = self.session(bounds=launcher_wire.limits(wall=3_600_000, memory=64 << 20))
        held = session.start("echo here; sleep 1000")
        session.wait(held, lambda frame: frame.kind == wire.OUTPUT)
        for user in ("user", "root"):
            for _ in range(3):
                number = session.start(["/bin/dd", *sealed.EAT_MEMORY], user=user)
                end = session.wait(number, lambda frame: frame.kind == wire.EXITED)[-1]
                self.assertEqual((end.signal, end.oom_killed), (9, 0))
        self.assertEqual(session.run("echo alive")[1], b"alive\n")

    def test_the_agent_is_small(self):
        session = self.session()
        for _ in range(20):
            session.run("echo x")
        agents = [one for one in self.launcher.processes().values() if one.depth > 1 and one.own_pid == 1]
        sizes = []
        for agent in agents:
            # Of a sandbox that ended meanwhile there is none.
            fields = dict(re.findall(r"^(Private_\w+): +(\d+) kB$", agent.read("smaps_rollup").decode(), re.M))
            if fields:
                sizes.append(int(fields["Private_Dirty"]) + int(fields["Private_Clean"]))
        self.assertTrue(sizes)
        self.assertLess(max(sizes), 1024, sizes)

    # --- requests

    def test_files_are_written_and_read_by_helpers(self):
        session = self.session()
        session.link.send(wire.file(1, wire.WRITE, "made/file", mode=0o640))
        opened = session.answer(1)
        self.assertEqual(opened.kind, wire.FILE_OPENED, opened)
        pipe = session.stream(opened)
        pipe.write(b"content" * 100_000)
        pipe.finish()
        session.link.send(wire.commit(1))
        done = session.answer(1)
        self.assertEqual((done.kind, done.errno, done.bytes), (wire.FILE_DONE, 0, 700_000), done)
        self.assertEqual(session.run("stat -c %a:%U:%s ~/made/file")[1], b"640:user:700000\n")
        session.link.send(wire.file(2, wire.READ, "/home/user/made/file", at=7, most=7))
        self.assertEqual(read_to_end(session.stream(session.answer(2))), b"content")
        self.assertEqual(session.answer(2).errno, 0)
        session.run("umask 077; echo secret > /var/secret", user="root")
        session.link.send(wire.file(3, wire.READ, "/var/secret"))
        self.assertEqual(session.answer(3).errno, errno.EACCES)
        session.link.send(wire.file(4, wire.WRITE, "abandoned"))
        session.stream(session.answer(4)).close()
        session.link.send(wire.abandon(4))
        session.link.send(wire.file(5, wire.STAT, "abandoned"))
        self.assertEqual(session.answer(5).errno, errno.ENOENT)
        # A guest that ends every helper ends its own requests.
        session.link.send(wire.file(6, wire.WRITE, "killed"))
        pipe = session.stream(session.answer(6))
        session.run("kill -9 -1")
        done = session.answer(6)
        self.assertEqual((done.kind, done.errno), (wire.FILE_DONE, errno.EIO))
        pipe.close()

    def test_ports_are_reached_inside(self):
        session = self.session()
        session.link.send(wire.connect(1, 8099))
        refused = session.answer(1)
        self.assertEqual((refused.kind, refused.errno), (wire.PORT_REFUSED, errno.ECONNREFUSED))
        for request, family, address in ((2, "AF_INET", "127.0.0.1"), (3, "AF_INET6", "::1")):
            number = session.start(["/usr/bin/python3", "-c", f"""
import socket
server = socket.socket(socket.{family})
server.bind(("{address}", 8099)); server.listen()
print("listens", flush=True)
one = server.accept()[0]
one.sendall(one.recv(100).upper())
"""])
            session.wait(number, lambda frame: frame.kind == wire.OUTPUT)
            session.link.send(wire.connect(request, 8099))
            connected = session.answer(request)
            self.assertEqual(connected.kind, wire.PORT_CONNECTED)
            link = session.stream(connected)
            link.write(b"hello")
            if connected.fds:
                os.set_blocking(connected.fds[0], True)
            self.assertEqual(link.read(100), b"HELLO")
            link.close()
            session.wait(number, lambda frame: frame.kind == wire.EXITED)

    def test_a_warm_context_that_cannot_come_is_a_cold_one(self):
        session = self.session()
        number = session.start("read -r -u 4 line; echo $line >&3", kind=wire.WARM_CONTEXT)
        session.link.send(wire.give(number, b"given before it was there\n", 0, wire.REQUESTS))
        frames = session.wait(number, lambda frame: frame.kind == wire.EXITED)
        started = [frame for frame in frames if frame.kind == wire.STARTED]
        self.assertEqual([frame.warm for frame in started], [0])
        self.assertEqual(session.output(frames, wire.RESULTS), b"given before it was there\n")

    def test_a_warm_context_is_looked_at_and_is_the_users(self):
        if self.client.prepare("python").state != warm.READY:
            self.skipTest("there is no zygote here")
        session = self.session(template="python")
        cold = ["/usr/bin/python3", "-I", "/opt/glovebox/python/context.py"]
        setup = warm.job("", env=["PATH=/usr/bin:/bin", "HOME=/home/user", "A=b"], name="cell")
        first = record(setup) + record(cell(1, "import os; x = 5; print(os.environ['A'], os.getuid(), os.getcwd())"))
        number = session.start(cold, kind=wire.WARM_CONTEXT)
        session.link.send(wire.give(number, first, 0, wire.REQUESTS))
        frames = session.wait(number, lambda frame: frame.kind == wire.OUTPUT and b'"end"' in frame.bytes
                              and frame.stream == wire.RESULTS)
        self.assertEqual([frame.warm for frame in frames if frame.kind == wire.STARTED], [1])
        self.assertEqual(session.output(frames), b"b 1000 /home/user\n")
        # It lives on over a change of servers, with its variables, and is our child.
        pid = {is_.process: is_ for is_ in session.hello()}[number].pid
        session.link.send(wire.subscribe(number, wire.STDOUT, 18))
        second = record(cell(2, "print(x * 5, os.getpid(), os.getppid())"))
        session.link.send(wire.give(number, second, len(first), wire.REQUESTS))
        frames = session.wait(number, lambda frame: frame.kind == wire.OUTPUT)
        self.assertEqual(frames[-1].bytes, b"25 %d 1\n" % pid)
        # Several at once, one after the other, and what they are: no more than the user.
        numbers = [session.start(cold, kind=wire.WARM_CONTEXT) for _ in range(5)]
        for one in numbers:
            self.assertEqual(session.started(one).warm, 1, self.launcher.log())
        out = session.run(f"grep -E '^(Cap(Eff|Prm|Inh|Amb)|Uid|Seccomp)' /proc/{pid}/status")[1]
        self.assertEqual(out.count(b"0000000000000000"), 4, out)
        self.assertIn(b"Seccomp:\t2", out)
        # Root inside, whom it may become, is as far from the agent as every other root here.
        session.run("cp /usr/bin/python3 /usr/local/bin/root-python; chmod 4755 /usr/local/bin/root-python", user="root")
        third = record(cell(3, "import subprocess; print(subprocess.run(['/usr/local/bin/root-python', '-c', "
                               "'import os, resource; os.setuid(0); print(os.getuid()); "
                               "resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))'], capture_output=True))"))
        session.link.send(wire.give(number, third, len(first + second), wire.REQUESTS))
        said = session.wait(number, lambda frame: frame.kind == wire.OUTPUT)[-1].bytes
        self.assertIn(b"stdout=b'0", said)
        self.assertIn(b"PermissionError", said)
        session.link.send(wire.kill(number, signal.SIGKILL))
        self.assertEqual(session.wait(number, lambda frame: frame.kind == wire.EXITED)[-1].signal, 9)

    def test_it_ends_with_its_session(self):
        session = Session(self)
        session.start("sleep 1000", subscribed=False)
        session.destroy()


if __name__ == "__main__":
    sealed.main()
