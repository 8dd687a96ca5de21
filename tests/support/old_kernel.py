# What a program sees on a kernel without Landlock: its calls are answered ENOSYS by a filter, as
# before Linux 5.13. For tests of what is not done there.
#   [*old_kernel.PREFIX, program, words...]
import ctypes
import errno
import os
import struct
import sys

PREFIX = ["/usr/bin/python3", "-IB", os.path.abspath(__file__)]
SECCOMP, LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 317, 444, 446
SCOPES = 6


def landlock_abi():
    abi = ctypes.CDLL(None, use_errno=True).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)
    return max(abi, 0)


def can_shut_zygotes_in():
    """Whether templates that are made over HTTP have zygotes on this host."""
    return landlock_abi() >= SCOPES


def forget_landlock():
    # With CAP_SYS_ADMIN and without no_new_privs, which would be another difference.
    libc = ctypes.CDLL(None, use_errno=True)
    line = lambda code, yes, no, value: struct.pack("HBBI", code, yes, no, value)  # noqa: E731
    code = (line(0x20, 0, 0, 0)  # the call's number
            + line(0x35, 0, 2, LANDLOCK_CREATE_RULESET) + line(0x25, 1, 0, LANDLOCK_RESTRICT_SELF)
            + line(0x06, 0, 0, 0x00050000 | errno.ENOSYS) + line(0x06, 0, 0, 0x7fff0000))
    held = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(held)))
    if libc.syscall(SECCOMP, 1, 0, ctypes.byref(program)) != 0:
        sys.exit("seccomp: " + os.strerror(ctypes.get_errno()))
    if landlock_abi() != 0:
        sys.exit("Landlock is still there")


if __name__ == "__main__":
    forget_landlock()
    os.execv(sys.argv[1], sys.argv[1:])
