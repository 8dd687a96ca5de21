// Attacks on the kernel's surface: system calls no guest needs. Most are made with arguments that
// cannot do anything, so that a success only shows that the call is reachable.
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fanotify.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/quota.h>
#include <linux/userfaultfd.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <unistd.h>

#include "toolbox.h"

namespace glovebox::attacks {
namespace {

Verdict bpf_map(const Args&) {
  bpf_attr attributes{};
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = 4;
  attributes.value_size = 4;
  attributes.max_entries = 1;
  return by_result("bpf map", syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes));
}

// Both are compiled into memory that is bounded for the whole host (net.core.bpf_jit_limit); when
// it is used up, no sandbox can start.
sock_fprog a_program() {
  static sock_filter instructions[] = {{BPF_RET | BPF_K, 0, 0, 0x7fff0000}};  // allow, or accept
  return {1, instructions};
}
Verdict own_filter(const Args&) {
  return in_child([] {
    const sock_fprog program = a_program();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, 1 /* set a filter */, 0, &program) == 0) {
      return succeeded("installed a filter by seccomp");
    }
    return by_result("a filter by prctl",
                     prctl(PR_SET_SECCOMP, 2 /* by a filter */, &program, 0, 0));
  });
}
Verdict socket_program(const Args&) {
  const sock_fprog program = a_program();
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return denied_by_errno("socket", errno);
  for (const int option : {SO_ATTACH_FILTER, SO_ATTACH_REUSEPORT_CBPF}) {
    if (setsockopt(fd, SOL_SOCKET, option, &program, sizeof program) == 0) {
      return succeeded("attached a program to a socket");
    }
  }
  return denied_by_errno("SO_ATTACH_FILTER", errno);
}

Verdict perf_event(const Args&) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_DUMMY;
  return by_result("perf_event_open", syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

// Its contexts are counted once for the whole machine (fs.aio-max-nr).
Verdict aio(const Args&) {
  unsigned long context = 0;
  return by_result("io_setup", syscall(SYS_io_setup, 1, &context));
}
Verdict io_uring(const Args&) {
  io_uring_params parameters{};
  return by_result("io_uring_setup", syscall(SYS_io_uring_setup, 1, &parameters));
}

Verdict add_a_key(const Args&) {
  return by_result("add_key",
                   syscall(SYS_add_key, "user", "gbx-attack", "x", 1, KEY_SPEC_PROCESS_KEYRING));
}

Verdict request_a_key(const Args&) {
  return by_reach("request_key", syscall(SYS_request_key, "user", "gbx-no-such-key", nullptr, 0));
}

Verdict join_keyring(const Args&) {
  return in_child([] {
    return by_result("keyctl join", syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr));
  });
}

Verdict fault_descriptor(const Args&) {
  return by_result("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
}

// Types a letter into a terminal of our own; on the caller's it would be a command.
Verdict type_into_terminal(unsigned long request) {
  return in_child([request] {
    int leader = -1, follower = -1;
    if (openpty(&leader, &follower, nullptr, nullptr, nullptr) != 0) {
      return denied_by_errno("openpty", errno);
    }
    if (setsid() < 0 || ioctl(follower, TIOCSCTTY, 0) != 0) return not_tried("TIOCSCTTY");
    char letter = 'x';
    return by_result("TIOCSTI", syscall(SYS_ioctl, follower, request, &letter));
  });
}
Verdict tiocsti(const Args&) { return type_into_terminal(TIOCSTI); }
// The kernel looks at 32 bits of the request. A filter that compares 64 lets this one through.
Verdict tiocsti_high_bits(const Args&) {
  return type_into_terminal(0xdeadbeef00000000UL | TIOCSTI);
}

Verdict tioclinux(const Args&) {
  Verdict last = denied("no console", ENOENT);
  for (const char* path : {"/dev/tty", "/dev/tty0", "/dev/tty1", "/dev/console"}) {
    const int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
      last = denied_by_errno(std::string("open ") + path, errno);
      continue;
    }
    char subcode = 6;  // asks for the state of the shift keys
    last = by_result(std::string("TIOCLINUX on ") + path, ioctl(fd, TIOCLINUX, &subcode));
    close(fd);
    if (last.code == kSucceeded) return last;
  }
  return last;
}

// The 32-bit entry: other numbers, so a filter that knows only 64-bit ones would be blind.
Verdict call_i386(const Args&) {
  return in_child([] {
    long result = 20;  // getpid
    asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    errno = static_cast<int>(-result);
    return by_result("int 0x80 getpid", result < 0 ? -1 : 0);
  });
}
Verdict call_i386_control(const Args& args) {
  const Verdict verdict = call_i386(args);
  if (verdict.text.find("SEGV") != std::string::npos) return kernel_lacks("no 32-bit entry");
  return verdict;
}

Verdict call_x32(const Args&) {
  return in_child([] { return by_result("x32 getpid", syscall(0x40000000L | SYS_getpid)); });
}

Verdict load_kernel(const Args&) {
  return by_reach("kexec_load", syscall(SYS_kexec_load, 0, 0, nullptr, ~0UL));
}
Verdict load_kernel_file(const Args&) {
  return by_reach("kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, nullptr, ~0UL));
}
Verdict load_module(const Args&) {
  return by_reach("init_module", syscall(SYS_init_module, nullptr, 0, ""));
}
Verdict load_module_file(const Args&) {
  return by_reach("finit_module", syscall(SYS_finit_module, -1, "", ~0U));
}
Verdict remove_module(const Args&) {
  return by_reach("delete_module", syscall(SYS_delete_module, "gbx_no_such_module", O_NONBLOCK));
}
Verdict reboot_wrong(const Args&) {
  return by_reach("reboot", syscall(SYS_reboot, 0, 0, 0, nullptr));
}
Verdict swap_on(const Args&) { return by_reach("swapon", swapon("/gbx-nowhere", 0)); }
Verdict swap_off(const Args&) { return by_reach("swapoff", swapoff("/gbx-nowhere")); }
Verdict accounting(const Args&) { return by_reach("acct", acct("/gbx-nowhere")); }
Verdict quota(const Args&) {
  return by_reach("quotactl", syscall(SYS_quotactl, QCMD(Q_GETQUOTA, USRQUOTA), "/dev/gbx-nowhere",
                                      0, nullptr));
}
// Both pointers empty: nothing is set, but the right to set is asked for.
Verdict set_time(const Args&) { return by_result("settimeofday", syscall(SYS_settimeofday, 0, 0)); }
Verdict adjust_time(const Args&) {
  timex adjustment{};
  adjustment.modes = ADJ_TICK;
  adjustment.tick = 1;  // far outside of what is allowed
  return by_reach("adjtimex", adjtimex(&adjustment));
}
Verdict set_host_name(const Args&) {
  // Longer than a name may be, so that nothing is set.
  return by_reach("sethostname", sethostname(std::string(4096, 'x').c_str(), 4096));
}
Verdict set_domain_name(const Args&) {
  return by_reach("setdomainname", setdomainname(std::string(4096, 'x').c_str(), 4096));
}
Verdict ports(const Args&) { return by_result("iopl", syscall(SYS_iopl, 3)); }
Verdict port_range(const Args&) { return by_result("ioperm", syscall(SYS_ioperm, 0x80, 1, 1)); }
Verdict cookies(const Args&) {
  char path[64];
  return by_reach("lookup_dcookie", syscall(SYS_lookup_dcookie, 0UL, path, sizeof path));
}
Verdict watch_files(const Args&) {
  return by_result("fanotify_init",
                   syscall(SYS_fanotify_init, FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY));
}
Verdict handle_of_file(const Args&) {
  char space[sizeof(file_handle) + MAX_HANDLE_SZ] = {};
  auto* handle = reinterpret_cast<file_handle*>(space);
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount_id = 0;
  return by_reach("name_to_handle_at", name_to_handle_at(AT_FDCWD, "/usr", handle, &mount_id, 0));
}
Verdict secret_memory(const Args&) {
  return by_result("memfd_secret", syscall(SYS_memfd_secret, O_CLOEXEC));
}
Verdict hang_up(const Args&) {
  return in_child([] {
    setsid();  // without a terminal there is nothing to hang up
    return by_result("vhangup", syscall(SYS_vhangup));
  });
}
Verdict kernel_log(const Args&) {
  char text[256];
  return by_result("syslog read", syscall(SYS_syslog, 3, text, sizeof text));
}
Verdict console_level(const Args&) {
  return by_reach("syslog console level", syscall(SYS_syslog, 8, nullptr, 99));
}
Verdict descriptor_table_entry(const Args&) {
  char table[128];
  return by_reach("modify_ldt", syscall(SYS_modify_ldt, 1, table, 1));
}

const char* const kFilter = "seccomp";
const char* const kFilterAndCaps = "seccomp, no capabilities";
const Attack kAttacks[] = {
    {.name = "kernel_bpf", .aims_at = "programs in the kernel", .held_by = kFilter, .run = bpf_map},
    {.name = "kernel_own_filter",
     .aims_at = "the host's memory for filters",
     .held_by = kFilter,
     .run = own_filter},
    {.name = "kernel_socket_program",
     .aims_at = "the host's memory for filters by sockets",
     .held_by = kFilter,
     .run = socket_program},
    {.name = "kernel_perf",
     .aims_at = "the performance counters",
     .held_by = kFilter,
     .run = perf_event},
    {.name = "kernel_aio",
     .aims_at = "the host's asynchronous I/O contexts",
     .held_by = kFilter,
     .run = aio},
    {.name = "kernel_io_uring",
     .aims_at = "calls that no filter sees",
     .held_by = kFilter,
     .run = io_uring},
    {.name = "kernel_add_key",
     .aims_at = "a key in the kernel",
     .held_by = kFilter,
     .run = add_a_key},
    {.name = "kernel_request_key",
     .aims_at = "the host's request-key program",
     .held_by = kFilter,
     .run = request_a_key},
    {.name = "kernel_keyctl", .aims_at = "the keyrings", .held_by = kFilter, .run = join_keyring},
    {.name = "kernel_userfaultfd",
     .aims_at = "stopping the kernel at a page fault",
     .held_by = kFilter,
     .run = fault_descriptor},
    {.name = "kernel_tiocsti",
     .aims_at = "typing into a terminal",
     .held_by = kFilter,
     .run = tiocsti,
     .absent = EIO},
    {.name = "kernel_tiocsti_high_bits",
     .aims_at = "typing into a terminal past a 64-bit compare",
     .held_by = kFilter,
     .run = tiocsti_high_bits,
     .absent = EIO},
    {.name = "kernel_tioclinux",
     .aims_at = "the console's selection",
     .held_by = "minimal /dev",
     .run = tioclinux,
     .absent = ENOTTY},
    {.name = "kernel_i386_call",
     .aims_at = "32-bit system calls",
     .held_by = kFilter,
     .run = call_i386,
     .control = call_i386_control},
    {.name = "kernel_x32_call", .aims_at = "x32 system calls", .held_by = kFilter, .run = call_x32},
    {.name = "kernel_kexec",
     .aims_at = "another kernel",
     .held_by = kFilterAndCaps,
     .run = load_kernel},
    {.name = "kernel_kexec_file",
     .aims_at = "another kernel from a file",
     .held_by = kFilterAndCaps,
     .run = load_kernel_file},
    {.name = "kernel_init_module",
     .aims_at = "a kernel module",
     .held_by = kFilterAndCaps,
     .run = load_module},
    {.name = "kernel_finit_module",
     .aims_at = "a kernel module from a file",
     .held_by = kFilterAndCaps,
     .run = load_module_file},
    {.name = "kernel_delete_module",
     .aims_at = "removing a kernel module",
     .held_by = kFilterAndCaps,
     .run = remove_module},
    {.name = "kernel_reboot",
     .aims_at = "a reboot",
     .held_by = kFilterAndCaps,
     .run = reboot_wrong},
    {.name = "kernel_swapon", .aims_at = "swap space", .held_by = kFilterAndCaps, .run = swap_on},
    {.name = "kernel_swapoff",
     .aims_at = "taking swap away",
     .held_by = kFilterAndCaps,
     .run = swap_off},
    {.name = "kernel_acct",
     .aims_at = "process accounting",
     .held_by = kFilterAndCaps,
     .run = accounting},
    {.name = "kernel_quotactl", .aims_at = "disk quotas", .held_by = kFilterAndCaps, .run = quota},
    {.name = "kernel_settimeofday",
     .aims_at = "the host's clock",
     .held_by = kFilterAndCaps,
     .run = set_time},
    {.name = "kernel_adjtimex",
     .aims_at = "the speed of the host's clock",
     .held_by = kFilterAndCaps,
     .run = adjust_time},
    {.name = "kernel_sethostname",
     .aims_at = "the host name",
     .held_by = kFilterAndCaps,
     .run = set_host_name},
    {.name = "kernel_setdomainname",
     .aims_at = "the domain name",
     .held_by = kFilterAndCaps,
     .run = set_domain_name},
    {.name = "kernel_iopl",
     .aims_at = "input and output ports",
     .held_by = kFilterAndCaps,
     .run = ports},
    {.name = "kernel_ioperm",
     .aims_at = "one input and output port",
     .held_by = kFilterAndCaps,
     .run = port_range},
    {.name = "kernel_lookup_dcookie",
     .aims_at = "a forgotten call",
     .held_by = kFilterAndCaps,
     .run = cookies},
    {.name = "kernel_fanotify",
     .aims_at = "deciding about others' file access",
     .held_by = kFilterAndCaps,
     .run = watch_files},
    {.name = "kernel_name_to_handle",
     .aims_at = "file handles",
     .held_by = kFilter,
     .run = handle_of_file},
    {.name = "kernel_memfd_secret",
     .aims_at = "memory hidden from the kernel",
     .held_by = kFilter,
     .run = secret_memory},
    {.name = "kernel_vhangup",
     .aims_at = "hanging up a terminal",
     .held_by = kFilterAndCaps,
     .run = hang_up},
    {.name = "kernel_syslog",
     .aims_at = "the kernel's log",
     .held_by = kFilterAndCaps,
     .run = kernel_log},
    {.name = "kernel_syslog_level",
     .aims_at = "what the console shows",
     .held_by = kFilterAndCaps,
     .run = console_level},
    {.name = "kernel_modify_ldt",
     .aims_at = "segment descriptors",
     .held_by = kFilter,
     .run = descriptor_table_entry},
};

}  // namespace

Group kernel_attacks() { return {"kernel", kAttacks}; }

}  // namespace glovebox::attacks
