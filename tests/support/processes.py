"""Processes of the host, as /proc tells them. A process may end, and a descriptor may be closed,
between any two looks. So a Process is a snapshot made of one read of one file; functions that look
for processes leave out those that have ended; and what is asked of a Process later (its command
line, its descriptors) is empty once it has ended. Nothing here asks first and looks afterwards."""
import dataclasses
import os
import signal

# What the kernel answers for a process, a thread or a descriptor that is no more.
_GONE = (FileNotFoundError, ProcessLookupError)


@dataclasses.dataclass(frozen=True)
class Process:
    """What /proc/PID/status said in one moment."""
    fields: dict = dataclasses.field(repr=False)
    pid: int
    name: str
    state: str
    parent: int
    pids: tuple  # its ids, from the one here to the one in its own pid namespace
    uids: tuple  # real, effective, saved and of files

    @property
    def own_pid(self):
        """Its id in its own pid namespace."""
        return self.pids[-1]

    @property
    def depth(self):
        """How many pid namespaces it is in, counted from the reader's."""
        return len(self.pids)

    @property
    def is_alive(self):
        return self.state not in "ZX"

    def read(self, file):
        """The bytes of /proc/PID/`file`; none once it has ended."""
        try:
            with open(f"/proc/{self.pid}/{file}", "rb") as opened:
                return opened.read()
        except _GONE:
            return b""

    def arguments(self):
        """Its command line; [] once it has ended."""
        return [os.fsdecode(word) for word in self.read("cmdline").split(b"\0")[:-1]]

    def files(self):
        """{descriptor: what it is of}, without those that were closed meanwhile."""
        return {int(number): target for number, target in self._links("fd").items()}

    def resident_bytes(self):
        """Its memory; 0 once it has ended."""
        pages = self.read("statm").split()[1:2]
        return int(pages[0]) * os.sysconf("SC_PAGE_SIZE") if pages else 0

    def namespaces(self):
        """{kind: "kind:[inode]"}; {} once it has ended."""
        return self._links("ns")

    def _links(self, directory):
        path = f"/proc/{self.pid}/{directory}"
        try:
            names = os.listdir(path)
        except _GONE:
            return {}
        found = {}
        for name in names:
            try:
                found[name] = os.readlink(f"{path}/{name}")
            except _GONE:
                pass  # this one only: the others may still be there
            except PermissionError:
                # The kernel's answer for a process that is no more, too.
                if is_alive(self.pid):
                    raise
        return found


def find(pid):
    """The process of this id; None if there is none."""
    try:
        with open(f"/proc/{pid}/status") as file:
            text = file.read()
    except _GONE:
        return None
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    fields = {name: value.strip() for name, value in fields.items()}
    pids = tuple(int(word) for word in fields["NSpid"].split())
    if 0 in pids:
        return None  # reaped while the kernel wrote this: its ids are free already
    return Process(fields=fields, pid=pids[0], name=fields["Name"], state=fields["State"][0],
                   parent=int(fields["PPid"]), pids=pids,
                   uids=tuple(int(word) for word in fields["Uid"].split()))


def living(pid):
    """The process of this id, where the test relies on its being alive."""
    process = find(pid)
    if process is None or not process.is_alive:
        raise AssertionError(f"process {pid} has ended: {process}")
    return process


def is_alive(pid):
    process = find(pid)
    return process is not None and process.is_alive


def everyone():
    """{pid: Process} of all that can be seen, zombies too."""
    found = (find(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in found if process is not None}


def below(root):
    """{pid: Process} of all that are alive and were started by `root` or by one of these."""
    seen = everyone()
    children = {}
    for process in seen.values():
        children.setdefault(process.parent, []).append(process.pid)
    found = list(children.get(root, []))
    for pid in found:
        found += children.get(pid, [])
    return {pid: seen[pid] for pid in found if seen[pid].is_alive}


def children(parent):
    """Pids of a process's own children that are alive, in order. Not from its file `children`: the
    kernel leaves out some of the living if another ends while that is read."""
    return sorted(process.pid for process in everyone().values()
                  if process.parent == parent and process.is_alive)


def named(name):
    """Pids of those alive that have this name (the kernel keeps its first 15 characters)."""
    return sorted(process.pid for process in everyone().values()
                  if process.name == name and process.is_alive)


def kill(pids, how=signal.SIGKILL):
    """Signals those that are still there."""
    for pid in pids:
        try:
            os.kill(pid, how)
        except ProcessLookupError:
            pass
