"""Stands in for the native part of a zygote where there is no sandbox to join: the same calls and the
same order (prepare, "ready", a wait, run), a plain fork. Copied beside zygote.py by zygote_test.py."""
import os
import socket


def serve(fd, prepare, run):
    launcher = socket.socket(fileno=fd)
    launcher.send(b"R")
    while True:
        message, fds, _, _ = socket.recv_fds(launcher, 16, 16)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            launcher.detach()
            os.close(fd)
            high = [os.dup2(given, 40 + place, False) for place, given in enumerate(fds)]
            for place, given in enumerate(high):
                os.dup2(given, place)
            os.closerange(len(high), 60)
            prepare()
            os.write(5, b"r")
            if os.read(5, 1) == b"":
                os._exit(0)
            run()
            os._exit(70)
        for given in fds:
            os.close(given)


def give_up(fd, text):
    socket.socket(fileno=fd).send(b"F" + text)
    os._exit(1)
