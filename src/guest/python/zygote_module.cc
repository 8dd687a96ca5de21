// _glovebox_zygote: the native half of a Python zygote, an extension module of the stable ABI.
//
// serve(fd, reseed, set_thread, rehearse, run) waits for sandboxes to join. For each, one process
// is forked that ends up inside as an ordinary guest: sealed, with the sandbox's own streams and
// nothing of the zygote's.
//
//   zygote --vfork--> joiner: enters the cgroups and namespaces, one after the other
//                       | vfork
//                       v
//                     shim: the first that is really in the sandbox's pid namespace
//                       | fork            (the only copy of the interpreter that is made)
//                       v
//                     guest: no capability, the guest's user, Landlock, filters; then reseed,
//                     perhaps
//                            rehearse(), "ready" on its socket, a wait for the job, run(), and
//                            never back here
//
// Joiner and shim share our memory and stop us until they end (vfork), so joining costs no second
// copy of the page tables. The joiner may join because our user made the sandbox's user namespace;
// it has no capability anywhere else. Once it has joined it holds all of them in there, and from
// then until the guest has given them up no process may trace it: we are not dumpable, and so it is
// not. The shim is there to die: the kernel gives an orphan to the first process of its parent's
// pid namespace, and the joiner's is still the nursery's. So the guest becomes the agent's child.
//
// Neither a C++ library nor a C library is linked: the module must load into whatever interpreter
// the template has, also an image's (c_library.cc).
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03080000
#include <Python.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest/agent/init/guest_ids.h"
#include "guest/agent/init/seccomp_filter.h"
#include "guest/python/c_library.h"
#include "guest/python/fork_hooks.h"
#include "guest/python/guest_job.h"
#include "guest/python/heap_holes.h"

namespace {

using glovebox::python::ForkHooks;
using glovebox::python::run_at_forks;

// As wire/guest/sandbox_plan.h has them.
constexpr int kNamespaces = 7;
constexpr int kRuntimeFds = 6;  // stdin, stdout, stderr, results, job, socket
constexpr int kMaxCgroups = 8;
constexpr int kMaxFds = kNamespaces + kMaxCgroups + kRuntimeFds + 1;
constexpr int kHigh = 128;  // above every number that a guest starts with
// Where each of them is in the guest; results as runner.py's HIDDEN_FD.
constexpr int kPlaces[kRuntimeFds + 1] = {0, 1, 2, 100, 4, 5, 6};
constexpr int kLandlock = 6;  // which of them it is, and where
// What is usual for a run's guest, after the agent and the shim.
constexpr long kUsualThread = 3;

// What the launcher says of a sandbox that is to be joined; its descriptors come along.
struct Join {
  unsigned char kind;  // 'J'
  unsigned char cgroups;
  unsigned char change_user;
  unsigned char landlock;
  unsigned char hurry;    // others wait: no rehearsal, which only saves time later
  unsigned char session;  // it becomes a session's user, who may become root inside
  unsigned char slowing;  // how many cgroups, the last of them, only the guest itself enters
};

struct Sandbox {
  Join join;
  int fds[kMaxFds];
  int count;
};

int descriptor_of(const Sandbox& sandbox, int which) {
  return sandbox.fds[kNamespaces + sandbox.join.cgroups + which];
}

void close_all(Sandbox& sandbox) {
  for (int i = 0; i < sandbox.count; ++i) close(sandbox.fds[i]);
  sandbox.count = 0;
}

// 1: a sandbox; 0: the launcher is gone; -1: an error.
int receive(int socket, Sandbox& sandbox) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFds)];
  iovec part{&sandbox.join, sizeof sandbox.join};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  sandbox.count = 0;
  ssize_t got = -1;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return static_cast<int>(got);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    sandbox.count = static_cast<int>((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(sandbox.fds, CMSG_DATA(header), sizeof(int) * static_cast<size_t>(sandbox.count));
  }
  const int expected = kNamespaces + sandbox.join.cgroups + kRuntimeFds + sandbox.join.landlock;
  const bool good = got == static_cast<ssize_t>(sizeof sandbox.join) && sandbox.join.kind == 'J' &&
                    sandbox.join.cgroups <= kMaxCgroups && sandbox.join.landlock <= 1 &&
                    sandbox.join.hurry <= 1 && sandbox.join.session <= 1 &&
                    sandbox.join.slowing <= sandbox.join.cgroups && sandbox.count == expected &&
                    (message.msg_flags & MSG_CTRUNC) == 0;
  if (good) return 1;
  close_all(sandbox);
  errno = EPROTO;
  return -1;
}

// "0" is the writer itself; the kernel checks the rights of the process that opened the file.
int enter_cgroups(const Sandbox& sandbox, int from, int to) {
  for (int i = from; i < to; ++i) {
    if (write(sandbox.fds[kNamespaces + i], "0", 1) != 1) return errno;
  }
  return 0;
}

// In the joiner. Async-signal-safe calls only: the memory is the zygote's. What a session could
// slow down or stop would stop the zygote too, so those cgroups are left to the guest.
int enter(const Sandbox& sandbox) {
  const int error = enter_cgroups(sandbox, 0, sandbox.join.cgroups - sandbox.join.slowing);
  if (error != 0) return error;
  // The user namespace first: it is what gives the right to enter the others.
  constexpr int kKinds[kNamespaces] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,   CLONE_NEWNET,
                                       CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP};
  for (int i = 0; i < kNamespaces; ++i) {
    if (setns(sandbox.fds[i], kKinds[i]) != 0) return errno;
  }
  return 0;
}

// In the guest: its own descriptors at their places, and no other.
int take_descriptors(const Sandbox& sandbox) {
  const int count = kRuntimeFds + sandbox.join.landlock;
  int from[kRuntimeFds + 1];
  for (int i = 0; i < count; ++i) {
    from[i] = descriptor_of(sandbox, i);
    // Where one is in the way of another it is moved first. Those of the namespaces came before
    // them, so usually all of them are above the low places.
    const bool in_the_way = from[i] <= kLandlock || from[i] == kPlaces[3];
    if (in_the_way) from[i] = fcntl(from[i], F_DUPFD, kHigh);
    if (from[i] < 0) return errno;
  }
  for (int i = 0; i < count; ++i) {
    // The streams stay over an exec; the others are the runtime's own.
    if (dup3(from[i], kPlaces[i], i < 3 ? 0 : O_CLOEXEC) < 0) return errno;
  }
  const auto close_between = [](unsigned first, unsigned last) {
    return syscall(SYS_close_range, first, last, 0) == 0;
  };
  // All three: the first is what the results were at when every place was its own number.
  const unsigned results = static_cast<unsigned>(kPlaces[3]);
  if (!close_between(3, 3)) return errno;
  if (!close_between(static_cast<unsigned>(kPlaces[count - 1]) + 1, results - 1)) return errno;
  return close_between(results + 1, ~0u) ? 0 : errno;
}

// What root inside a session can have: see session_caps in guest/agent. Programs that change users
// get no more than this.
bool is_of_a_session(int capability) {
  switch (capability) {
    case CAP_CHOWN:
    case CAP_DAC_OVERRIDE:
    case CAP_FSETID:
    case CAP_FOWNER:
    case CAP_SETGID:
    case CAP_SETUID:
    case CAP_SETFCAP:
    case CAP_SETPCAP:
    case CAP_NET_BIND_SERVICE:
    case CAP_SYS_CHROOT:
    case CAP_KILL:
    case CAP_AUDIT_WRITE:
      return true;
    default:
      return false;
  }
}

int seal(const Sandbox& sandbox) {
  using glovebox::agent::kGuestGid;
  using glovebox::agent::kGuestUid;
  const bool session = sandbox.join.session != 0;
  if (setsid() < 0) return errno;
  if (chdir("/") != 0) return errno;
  if (session) {
    // While it has the namespace's CAP_SYS_ADMIN: a session's processes may gain what their
    // bounding set has (sudo), so they live without no_new_privs.
    const int error = glovebox::agent::install_session_joined_filter();
    if (error != 0) return error;
  }
  // Raw calls: glibc's would tell threads that are not there, by a signal.
  if (sandbox.join.change_user != 0 &&
      (syscall(SYS_setgroups, 0, nullptr) != 0 ||
       syscall(SYS_setresgid, kGuestGid, kGuestGid, kGuestGid) != 0 ||
       syscall(SYS_setresuid, kGuestUid, kGuestUid, kGuestUid) != 0)) {
    return errno;
  }
  // Joining gave it the namespace's whole bounding set; nothing may bring that back.
  for (int capability = 0; capability <= 63; ++capability) {
    if (session && is_of_a_session(capability)) continue;
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) break;
  }
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return errno;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0) return errno;
  if (!session && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  if (sandbox.join.landlock != 0) {
    if (syscall(SYS_landlock_restrict_self, kLandlock, 0) != 0) return errno;
    close(kLandlock);
  }
  if (!session) {
    const int error = glovebox::agent::install_joined_filter();
    if (error != 0) return error;
  }
  // From here on it is the guest's, as any program is: it may look at itself.
  return prctl(PR_SET_DUMPABLE, 1) == 0 ? 0 : errno;
}

// What the zygote was given to call in each child.
struct Calls {
  PyObject* reseed;      // a tuple
  PyObject* set_thread;  // when the thread's number is not the usual one
  PyObject* rehearse;
  PyObject* run;
};

void call(PyObject* function) {
  if (PyObject_CallFunctionObjArgs(function, nullptr) == nullptr) _exit(70);
}

// In the guest, sealed. Never returns.
[[noreturn]] void run_as_guest(bool hurry, const Calls& calls) {
  constexpr int kSocket = 5;
  for (Py_ssize_t i = 0; i < PyTuple_Size(calls.reseed); ++i) {
    call(PyTuple_GetItem(calls.reseed, i));
  }
  if (syscall(SYS_gettid) != kUsualThread) call(calls.set_thread);
  if (!hurry) call(calls.rehearse);
  char byte = 'r';
  if (write(kSocket, &byte, 1) != 1) _exit(0);
  ssize_t got = -1;
  do {
    got = read(kSocket, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) _exit(0);  // the sandbox was ended
  close(kSocket);
  call(calls.run);
  _exit(0);
}

// Waits until every process between the zygote and the guest has exited and closed the gate.
void wait_at(const int gate[2]) {
  close(gate[1]);
  char byte;
  while (read(gate[0], &byte, 1) < 0 && errno == EINTR) {
  }
  // A process that exits closes its descriptors before its children get their new parent, and the
  // agent refuses a guest that is not its child. Nothing can stop the shim any more, so it is soon.
  while (getppid() != 1) {
    constexpr timespec kShort{0, 50'000};
    nanosleep(&kShort, nullptr);
  }
}

// The guest's process begins here and does not come back; the zygote returns 0 or an errno.
int fork_into(Sandbox& sandbox, const Calls& calls) {
  int volatile error = 0;  // shared with joiner and shim
  int gate[2];
  if (pipe2(gate, O_CLOEXEC) != 0) return errno;
  run_at_forks(ForkHooks::kNeeded);
  PyOS_BeforeFork();
  const pid_t joiner = vfork();
  if (joiner == 0) {
    error = enter(sandbox);
    if (error != 0) _exit(1);
    // Root in a session may stop whatever it sees of its own user namespace, the shim too. No
    // process may wait for that: there the shim is a copy of its own, at the price of a second one.
    const bool alone = sandbox.join.session != 0;
    const pid_t shim =
        alone ? static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) : vfork();
    if (shim == 0) {
      // The C library's own fork: it tells the libraries that asked to know (pthread_atfork).
      const pid_t guest = fork();
      if (guest == 0) {
        wait_at(gate);
        const Join& join = sandbox.join;
        int failed = enter_cgroups(sandbox, join.cgroups - join.slowing, join.cgroups);
        if (failed == 0) failed = take_descriptors(sandbox);
        if (failed == 0) failed = seal(sandbox);
        if (failed != 0) _exit(71);
        PyOS_AfterFork_Child();
        run_at_forks(ForkHooks::kAll);
        run_as_guest(sandbox.join.hurry != 0, calls);
      }
      if (guest < 0) error = errno;
      _exit(0);
    }
    if (shim < 0) error = errno;
    if (shim > 0 && !alone) waitpid(shim, nullptr, 0);
    _exit(0);
  }
  if (joiner < 0) error = errno;
  if (joiner > 0) {
    while (waitpid(joiner, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  close(gate[0]);
  close(gate[1]);
  PyOS_AfterFork_Parent();
  run_at_forks(ForkHooks::kAll);
  return error;
}

// /proc shows the arguments and the environment that a program was started with, from its memory.
// A guest would see those of the zygote in its own /proc.
void clear_start_arguments() {
  char text[1024];
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return;
  text[size] = 0;
  const char* at = strrchr(text, ')');
  // After the name, the third field; arg_start to env_end are fields 48 to 51.
  for (int field = 2; at != nullptr && field < 48; ++field) at = strchr(at + 1, ' ');
  if (at == nullptr) return;
  unsigned long bounds[4] = {};
  for (unsigned long& bound : bounds) {
    while (*at == ' ') ++at;
    for (; *at >= '0' && *at <= '9'; ++at)
      bound = bound * 10 + static_cast<unsigned long>(*at - '0');
  }
  const auto wipe = [](unsigned long from, unsigned long to) {
    if (from != 0 && to > from && to - from < (1ul << 20)) {
      memset(reinterpret_cast<void*>(from), 0, to - from);
    }
  };
  wipe(bounds[0], bounds[1]);
  wipe(bounds[2], bounds[3]);
  constexpr char kName[] = "python3";
  if (bounds[1] > bounds[0] && bounds[1] - bounds[0] > sizeof kName) {
    memcpy(reinterpret_cast<void*>(bounds[0]), kName, sizeof kName);
  }
}

PyObject* serve(PyObject*, PyObject* args) {
  int socket = -1;
  Calls calls{};
  if (!PyArg_ParseTuple(args, "iO!OOO:serve", &socket, &PyTuple_Type, &calls.reseed,
                        &calls.set_thread, &calls.rehearse, &calls.run)) {
    return nullptr;
  }
  clear_start_arguments();
  // The child's half of a fork, once here: what it looks up in libraries is then looked up. There
  // is one thread, so it changes nothing else; hooks would take this process for a child.
  run_at_forks(ForkHooks::kNone);
  PyOS_BeforeFork();
  PyOS_AfterFork_Child();
  run_at_forks(ForkHooks::kAll);
  if (send(socket, "R", 1, MSG_NOSIGNAL) != 1) return glovebox::python::raise_errno();
  while (true) {
    Sandbox sandbox;
    const int got = receive(socket, sandbox);
    if (got == 0) _exit(0);
    if (got < 0) return glovebox::python::raise_errno();
    const int error = fork_into(sandbox, calls);
    close_all(sandbox);
    if (error != 0) {
      char text[64];
      const char kind = sandbox.join.session != 0 ? 'S' : 'E';
      const int size = PyOS_snprintf(text, sizeof text, "%cjoin: errno %d", kind, error);
      (void)!send(socket, text, static_cast<size_t>(size), MSG_NOSIGNAL);
    }
  }
}

// Says why there will be no zygote, and ends.
PyObject* give_up(PyObject*, PyObject* args) {
  int socket = -1;
  const char* text = nullptr;
  Py_ssize_t size = 0;
  if (!PyArg_ParseTuple(args, "iy#:give_up", &socket, &text, &size)) return nullptr;
  constexpr Py_ssize_t kMost = 8000;
  char message[kMost + 1];
  message[0] = 'F';
  // The end of a traceback says more than its beginning.
  const Py_ssize_t from = size > kMost ? size - kMost : 0;
  memcpy(message + 1, text + from, static_cast<size_t>(size - from));
  (void)!send(socket, message, static_cast<size_t>(size - from + 1), MSG_NOSIGNAL);
  _exit(1);
}

// collect_fork_hooks(os.register_at_fork): from now on those that add_fork_hooks() adds are run.
PyObject* collect_fork_hooks(PyObject*, PyObject* register_at_fork) {
  if (!glovebox::python::install_fork_hooks(register_at_fork)) return nullptr;
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"serve", serve, METH_VARARGS, nullptr},
    {"give_up", give_up, METH_VARARGS, nullptr},
    {"collect_fork_hooks", collect_fork_hooks, METH_O, nullptr},
    {"add_fork_hooks", glovebox::python::add_fork_hooks, METH_VARARGS, nullptr},
    {"fill_holes", glovebox::python::fill_holes, METH_NOARGS, nullptr},
    {"take_job", glovebox::python::take_job, METH_VARARGS, nullptr},
    {"leave", glovebox::python::leave, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {PyModuleDef_HEAD_INIT,
                      "_glovebox_zygote",
                      nullptr,
                      -1,
                      methods,
                      nullptr,
                      nullptr,
                      nullptr,
                      nullptr};

}  // namespace

// Importing it is the first thing a zygote does: from then on no process can trace or read it.
PyMODINIT_FUNC PyInit__glovebox_zygote() {
  if (prctl(PR_SET_DUMPABLE, 0) != 0) return glovebox::python::raise_errno();
  return PyModule_Create(&module);
}
