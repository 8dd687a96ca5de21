"""Stands in for the native part of a zygote where there is no sandbox to join: the same calls and the
same order (reseed, rehearse, "ready", a wait, run), a plain fork. Copied beside zygote.py by zygote_test.py.
The native part itself is tested by tests/integration/zygote_test.py and python_cost_test.py."""
import os
import socket
import stat
import sys

PLACES = (0, 1, 2, 100, 4, 5)
registrations = []


def serve(fd, reseed, set_thread, rehearse, run):
    launcher = socket.socket(fileno=fd)
    launcher.send(b"R")
    while True:
        message, fds, _, _ = socket.recv_fds(launcher, 16, 16)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            launcher.detach()
            os.close(fd)
            high = [os.dup2(given, 40 + index, False) for index, given in enumerate(fds)]
            for place, given in zip(PLACES, high):
                os.dup2(given, place, place < 3)
            os.close(3) if 3 in fds else None
            os.closerange(6, 60)
            for call in (*reseed, set_thread, rehearse):
                call()
            os.write(5, b"r")
            if os.read(5, 1) == b"":
                os._exit(0)
            os.close(5)
            run()
            os._exit(70)
        for given in fds:
            os.close(given)


def give_up(fd, text):
    socket.socket(fileno=fd).send(b"F" + text)
    os._exit(1)


def collect_fork_hooks(register_at_fork):
    register_at_fork(before=lambda: run_hooks(0, reversed(registrations)),
                     after_in_child=lambda: run_hooks(1, registrations), after_in_parent=lambda: run_hooks(2, registrations))


def add_fork_hooks(before, after_in_child, after_in_parent, needless):
    registrations.append((before, after_in_child, after_in_parent))


def fill_holes():
    pass


def leave(results, status):
    if results >= 0:
        os.close(results)
    os.closerange(0, 3)
    os._exit(status)


def run_hooks(moment, ordered):
    for hooks in list(ordered):
        if hooks[moment] is not None:
            hooks[moment]()


def take_job(environ, tzset):
    runner = sys.modules["_glovebox_runner"]
    if stat.S_ISFIFO(os.fstat(4).st_mode):
        return None
    job = runner.read_job()
    runner._enter(job)
    return job.workdir, job.name, job.code, True, os.getpid()
