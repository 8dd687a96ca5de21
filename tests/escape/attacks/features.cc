#include "features.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <vector>

namespace glovebox::attacks {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool names_row(const Feature& feature, std::string_view row) {
  for (const std::string& word : words_of(feature.rows)) {
    const std::string_view name = word;
    if (name.ends_with('*') ? row.starts_with(name.substr(0, name.size() - 1)) : row == name) {
      return true;
    }
  }
  return false;
}

bool has_x32(const Kernel& kernel) {
  // Debian's kernel has it and leaves it off; what it was told at boot is in this file.
  if (const auto told = kernel.text_of("/sys/module/syscall/parameters/x32")) {
    return told->starts_with('Y');
  }
  return kernel.has_function("x32_sys_call") || kernel.has_function("x32_sys_call_table");
}

bool has_i386(const Kernel& kernel) {
  // Since Linux 6.7 it can be switched off at boot.
  const std::string boot_line = kernel.text_of("/proc/cmdline").value_or("");
  for (const std::string& word : words_of(boot_line)) {
    if (word == "ia32_emulation=0" || word == "ia32_emulation=off") return false;
  }
  return kernel.has_function("do_int80_emulation") || kernel.has_function("do_int80_syscall_32");
}

bool has_secret_memory(const Kernel& kernel) {
  // Off until Linux 6.5, unless it is asked for at boot.
  const auto told = kernel.text_of("/sys/module/secretmem/parameters/enable");
  return kernel.has_system_call("memfd_secret") && (!told || told->starts_with('Y'));
}

bool has_landlock(const Kernel& kernel) {
  if (!kernel.has_system_call("landlock_create_ruleset")) return false;
  // It may be built in and left out of those that are active.
  const auto active = kernel.text_of("/sys/kernel/security/lsm");
  return !active || active->find("landlock") != std::string::npos;
}

const Feature kFeatures[] = {
    // System calls that a kernel may be built without.
    {"loadable modules", [](const Kernel& k) { return k.has_system_call("init_module"); },
     "kernel_init_module kernel_finit_module kernel_delete_module kernel_modprobe_path "
     "leak_module_addresses"},
    {"kexec", [](const Kernel& k) { return k.has_system_call("kexec_load"); }, "kernel_kexec"},
    {"kexec of files", [](const Kernel& k) { return k.has_system_call("kexec_file_load"); },
     "kernel_kexec_file"},
    {"port permissions", [](const Kernel& k) { return k.has_function("task_update_io_bitmap"); },
     "kernel_iopl kernel_ioperm"},
    {"dentry cookies", [](const Kernel& k) { return k.has_system_call("lookup_dcookie"); },
     "kernel_lookup_dcookie"},
    {"BPF", [](const Kernel& k) { return k.has_system_call("bpf"); }, "kernel_bpf"},
    {"perf events", [](const Kernel& k) { return k.has_system_call("perf_event_open"); },
     "kernel_perf"},
    {"asynchronous I/O", [](const Kernel& k) { return k.has_system_call("io_setup"); },
     "kernel_aio"},
    {"io_uring", [](const Kernel& k) { return k.has_system_call("io_uring_setup"); },
     "kernel_io_uring"},
    {"keys", [](const Kernel& k) { return k.has_system_call("add_key"); },
     "kernel_add_key kernel_request_key kernel_keyctl leak_keys leak_key_users quota_keys"},
    {"userfaultfd", [](const Kernel& k) { return k.has_system_call("userfaultfd"); },
     "kernel_userfaultfd"},
    {"swap", [](const Kernel& k) { return k.has_system_call("swapon"); },
     "kernel_swapon kernel_swapoff"},
    {"process accounting", [](const Kernel& k) { return k.has_system_call("acct"); },
     "kernel_acct"},
    {"disk quotas", [](const Kernel& k) { return k.has_system_call("quotactl"); },
     "kernel_quotactl"},
    {"fanotify", [](const Kernel& k) { return k.has_system_call("fanotify_init"); },
     "kernel_fanotify"},
    {"file handles", [](const Kernel& k) { return k.has_system_call("name_to_handle_at"); },
     "kernel_name_to_handle file_open_by_handle"},
    {"secret memory", has_secret_memory, "kernel_memfd_secret"},
    {"local descriptor tables", [](const Kernel& k) { return k.has_system_call("modify_ldt"); },
     "kernel_modify_ldt"},
    {"32-bit system calls", has_i386, "kernel_i386_call"},
    {"x32 system calls", has_x32, "kernel_x32_call"},
    {"Landlock", has_landlock, "namespace_override_landlock"},
    // Terminals.
    {"typing into terminals",
     [](const Kernel& k) {
       return !k.text_of("/proc/sys/dev/tty/legacy_tiocsti").value_or("1").starts_with('0');
     },
     "kernel_tiocsti kernel_tiocsti_high_bits"},
    {"virtual terminals", [](const Kernel& k) { return k.has_path("/sys/class/tty/tty0"); },
     "kernel_tioclinux"},
    // Devices.
    {"raw memory",
     [](const Kernel& k) {
       return k.has_path("/sys/class/mem/mem") || k.has_path("/sys/class/mem/port");
     },
     "file_raw_memory"},
    {"the kernel's log as a device",
     [](const Kernel& k) { return k.has_path("/sys/class/mem/kmsg"); }, "file_dev_kmsg"},
    {"KVM", [](const Kernel& k) { return k.lists("/proc/misc", "kvm"); }, "file_dev_kvm"},
    {"FUSE", [](const Kernel& k) { return k.lists("/proc/misc", "fuse"); }, "file_dev_fuse"},
    {"loop devices", [](const Kernel& k) { return k.lists("/proc/misc", "loop-control"); },
     "file_dev_loop"},
    {"tunnels", [](const Kernel& k) { return k.lists("/proc/misc", "tun"); },
     "network_tun_device network_interfaces"},
    // Files of the kernel's own.
    {"core dumps", [](const Kernel& k) { return k.has_function("proc_dostring_coredump"); },
     "kernel_core_pattern"},
    {"a helper for device events",
     [](const Kernel& k) { return k.has_function("uevent_helper_store"); }, "kernel_uevent_helper"},
    {"the magic key", [](const Kernel& k) { return k.has_function("write_sysrq_trigger"); },
     "kernel_sysrq"},
    {"memory types", [](const Kernel& k) { return k.has_function("mtrr_write"); }, "kernel_mtrr"},
    {"cgroup v1", [](const Kernel& k) { return k.has_function("cgroup_release_agent_write"); },
     "kernel_release_agent"},
    {"binary formats", [](const Kernel& k) { return k.has_function("bm_register_write"); },
     "kernel_binfmt"},
    {"overlay file systems",
     [](const Kernel& k) { return k.lists("/proc/filesystems", "overlay"); }, "mounts_overlay"},
    {"the kernel's memory as a file", [](const Kernel& k) { return k.has_function("open_kcore"); },
     "leak_kcore"},
    {"page counts", [](const Kernel& k) { return k.has_function("kpagecount_read"); },
     "leak_page_counts"},
    {"stacks of the kernel", [](const Kernel& k) { return k.has_function("proc_pid_stack"); },
     "leak_agent_stack leak_own_stack"},
    // The network.
    {"IPv6", [](const Kernel& k) { return k.has_function("inet6_create"); },
     "network_raw_socket_v6 network_way_out_v6"},
    {"an IPv6 loopback of the host",
     [](const Kernel& k) {
       return k.lists("/proc/net/if_inet6", "00000000000000000000000000000001");
     },
     "network_host_port_v6"},
    {"netfilter", [](const Kernel& k) { return k.has_function("nfnetlink_rcv_msg"); },
     "network_nftables"},
    {"packet sockets", [](const Kernel& k) { return k.has_function("packet_create"); },
     "network_packet_socket"},
    {"sockets to the hypervisor", [](const Kernel& k) { return k.has_function("vsock_create"); },
     "network_vsock"},
    {"ciphers by socket", [](const Kernel& k) { return k.has_function("alg_create"); },
     "network_af_alg"},
    {"Bluetooth", [](const Kernel& k) { return k.has_function("bt_sock_create"); },
     "network_bluetooth"},
    {"CAN", [](const Kernel& k) { return k.has_function("can_create"); }, "network_can"},
    {"XDP sockets", [](const Kernel& k) { return k.has_function("xsk_create"); }, "network_xdp"},
    {"IPsec keys by socket", [](const Kernel& k) { return k.has_function("pfkey_create"); },
     "network_key_socket"},
    {"SCTP", [](const Kernel& k) { return k.has_function("sctp_init_sock"); }, "network_seqpacket"},
    {"UDP-Lite", [](const Kernel& k) { return k.lists("/proc/net/protocols", "UDP-Lite"); },
     "network_udp_lite"},
    {"MPTCP", [](const Kernel& k) { return k.has_function("mptcp_stream_accept"); },
     "network_mptcp"},
    {"TLS in the kernel", [](const Kernel& k) { return k.has_function("tls_sw_sendmsg"); },
     "network_kernel_tls"},
    {"TIPC", [](const Kernel& k) { return k.has_function("tipc_sk_create"); }, "network_tipc"},
    {"audit", [](const Kernel& k) { return k.has_function("audit_receive"); }, "network_audit"},
    // What the little internet of these rows is made of.
    {"pairs of virtual Ethernet devices",
     [](const Kernel& k) { return k.has_function("veth_newlink"); }, "egress_*"},
};

}  // namespace

bool Kernel::has_function(std::string_view name) const {
  if (symbols_.empty()) {
    std::ifstream file(root_ + "/proc/kallsyms");
    std::string address, symbol, line;
    char kind = 0;
    while (std::getline(file, line)) {
      // Address, kind, name, and of which module. A name may be there twice.
      std::istringstream words(line);
      if (!(words >> address >> kind >> symbol)) continue;
      char& known = symbols_[symbol];
      if (known == 0 || known == 'W' || known == 'w') known = kind;
    }
  }
  const auto found = symbols_.find(name);
  return found != symbols_.end() && found->second != 'W' && found->second != 'w';
}

bool Kernel::has_system_call(std::string_view name) const {
  return has_function("__x64_sys_" + std::string(name));
}

bool Kernel::has_path(std::string_view path) const {
  return access((root_ + std::string(path)).c_str(), F_OK) == 0;
}

std::optional<std::string> Kernel::text_of(std::string_view path) const {
  std::ifstream file(root_ + std::string(path));
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool Kernel::lists(std::string_view path, std::string_view word) const {
  for (const std::string& one : words_of(text_of(path).value_or(""))) {
    if (one == word) return true;
  }
  return false;
}

std::span<const Feature> kernel_features() { return kFeatures; }

std::string objection_to_skipping(std::string_view row, std::span<const Feature> features,
                                  const Kernel& kernel) {
  if (!kernel.has_path("/proc/kallsyms")) return "this kernel does not list its functions";
  std::string objection;
  bool pinned = false;
  for (const Feature& feature : features) {
    if (!names_row(feature, row)) continue;
    pinned = true;
    if (!feature.is_there(kernel)) return "";
    objection += (objection.empty() ? "" : ", ") + std::string(feature.name);
  }
  if (!pinned) return "tests/escape/attacks/features.cc names no feature that it needs";
  return "this kernel has what it needs: " + objection;
}

}  // namespace glovebox::attacks
