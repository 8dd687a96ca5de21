#include "guest/agent/init/broker.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/fd_message.h"
#include "base/log.h"
#include "guest/agent/init/guest_ids.h"
#include "guest/agent/init/sandbox_init.h"
#include "guest/agent/init/zygote_init.h"
#include "sys/clone.h"
#include "sys/file.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::agent {
namespace {

constexpr std::uint64_t kSandboxNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

// The kernel counts these for a whole user namespace against its creator. Each sandbox has a
// creator of its own, so none can use up another's share.
void limit_next_user_namespace() {
  for (const auto& [resource, most] :
       {std::pair{RLIMIT_SIGPENDING, rlim_t{1024}}, std::pair{RLIMIT_MSGQUEUE, rlim_t{819200}},
        std::pair{RLIMIT_MEMLOCK, rlim_t{8u << 20}}}) {
    rlimit limit{};
    ::getrlimit(resource, &limit);
    limit.rlim_cur = std::min(limit.rlim_max, most);
    ::setrlimit(resource, &limit);
  }
}

// By default all network namespaces share the host's table of TCP connections, and the kernel walks
// through all of it whenever one of them ends: half a millisecond for each sandbox. Those that are
// made from a namespace with this setting have a small one of their own. So the broker has a
// namespace of its own, which it does not use otherwise, and no setting of the host is changed.
// Best effort: Linux 6.1 has it.
void give_next_networks_small_tables() {
  constexpr const char* kEntries = "512";
  if (::unshare(CLONE_NEWNET) != 0) return;
  (void)sys::write_control(AT_FDCWD, "/proc/sys/net/ipv4/tcp_child_ehash_entries", kEntries);
}

// For as long as it lives, the next user namespace bounds the processes of all its users together.
class ProcessBound {
 public:
  explicit ProcessBound(std::uint32_t processes) {
    if (processes == 0 || ::getrlimit(RLIMIT_NPROC, &before_) != 0) return;
    rlimit bound = before_;
    bound.rlim_cur = std::min<rlim_t>(bound.rlim_max, processes);
    is_set_ = ::setrlimit(RLIMIT_NPROC, &bound) == 0;
  }
  ProcessBound(const ProcessBound&) = delete;
  ProcessBound& operator=(const ProcessBound&) = delete;
  ~ProcessBound() {
    if (is_set_) ::setrlimit(RLIMIT_NPROC, &before_);
  }

 private:
  rlimit before_{};
  bool is_set_ = false;
};

// One line of a map.
std::string extent(std::uint32_t inside, std::uint32_t outside, std::uint32_t count) {
  return std::to_string(inside) + " " + std::to_string(outside) + " " + std::to_string(count) +
         "\n";
}

// With a slice, ids 0 to 65535 are mapped, or of a small one the first and, with its last, nobody:
// files are given to that user everywhere. Without one, the nursery's root becomes the guest's
// `user`.
std::string user_map(const wire::MakeSandbox& make) {
  constexpr std::uint32_t kWhole = 65'536;
  constexpr std::uint32_t kNobody = 65'534;
  if (make.slice_count <= 1) return extent(kGuestUid, 0, 1);
  if (make.slice_count >= kWhole) return extent(0, make.slice_first, make.slice_count);
  const std::uint32_t last = make.slice_count - 1;
  return extent(0, make.slice_first, last) + extent(kNobody, make.slice_first + last, 1);
}

Result<> map_users(pid_t pid, const wire::MakeSandbox& make) {
  const std::string proc = "/proc/" + std::to_string(pid) + "/";
  const bool slice = make.slice_count > 1;
  const std::string map = user_map(make);
  if (!slice) TRY_OK(sys::write_control(AT_FDCWD, proc + "setgroups", "deny"));
  TRY_OK(sys::write_control(AT_FDCWD, proc + "uid_map", map));
  return sys::write_control(AT_FDCWD, proc + "gid_map", map);
}

// In the parent: maps the users of the sandbox's first process and lets it continue. The child
// never returns.
Result<UniqueFd> make_sandbox(const wire::MakeSandbox& make, UniqueFd setup, UniqueFd cgroup,
                              int launcher_socket, LearntProcMask* mask) {
  // Once for many sandboxes, each of which would stat it all.
  const ProcMask* to_cover = mask != nullptr ? &mask->get() : nullptr;
  int mapped[2];
  if (::pipe2(mapped, O_CLOEXEC) != 0) return fail(Error::from_errno("pipe"));
  UniqueFd wait_end(mapped[0]);
  UniqueFd go_end(mapped[1]);
  // MakeSandbox says which user creates the namespace.
  if (make.slice_count > 1) TRY_OK(sys::become_effective(make.maker, make.maker));
  // We may write the child's uid_map only while the child is dumpable, which it inherits from us;
  // it clears that before any guest is in its sandbox.
  ::prctl(PR_SET_DUMPABLE, 1);
  auto cloned = [&] {
    const ProcessBound bound(make.processes);
    return sys::clone_into(kSandboxNamespaces, cgroup.get());
  }();
  if (cloned && cloned->pid == 0) {
    ::close(launcher_socket);
    go_end.reset();
    cgroup.reset();
    const bool own_slice = make.slice_count > 1;
    run_sandbox_init(std::move(wait_end), std::move(setup), own_slice, to_cover);
  }
  ::prctl(PR_SET_DUMPABLE, 0);
  if (make.slice_count > 1) TRY_OK(sys::become_effective(0, 0));
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // cleared by the kernel when the user changes
  if (!cloned) return fail(std::move(cloned.error()));
  if (auto done = map_users(cloned->pid, make); !done) {
    sys::send_signal(cloned->pidfd.get(), SIGKILL);
    return fail(std::move(done.error()));
  }
  (void)!::write(go_end.get(), "", 1);
  return std::move(cloned->pidfd);
}

// A zygote shares our user and pid namespace, so that it may join the sandboxes below them, and
// nothing else.
constexpr std::uint64_t kZygoteNamespaces =
    CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

Result<UniqueFd> make_zygote(const wire::MakeZygote& make, std::vector<UniqueFd>& fds,
                             int launcher_socket) {
  // In its sandbox a zygote's child is always process 3, after the agent and a shim. Libraries
  // notice a fork by a changed process id, so the zygote itself must be any other.
  constexpr pid_t kChildsId = 3;
  while (true) {
    auto cloned = sys::clone_into(kZygoteNamespaces);
    if (!cloned) return fail(std::move(cloned.error()));
    if (cloned->pid == 0) {
      if (::getpid() == kChildsId) ::_exit(0);
      ::close(launcher_socket);
      run_zygote_init(make, std::move(fds));
    }
    if (cloned->pid != kChildsId) return std::move(cloned->pidfd);
  }
}

// The pidfd for the answer, or the error.
Result<UniqueFd> handle_request(const wire::PlanMessage& message, std::vector<UniqueFd> fds,
                                int launcher_socket, LearntProcMask* mask) {
  if (const auto* make = std::get_if<wire::MakeSandbox>(&message);
      make != nullptr && !fds.empty()) {
    UniqueFd cgroup = fds.size() > 1 ? std::move(fds[1]) : UniqueFd();
    return make_sandbox(*make, std::move(fds[0]), std::move(cgroup), launcher_socket, mask);
  }
  const auto* zygote = std::get_if<wire::MakeZygote>(&message);
  if (zygote == nullptr) return fail(Errc::kProtocol, "the launcher sent an unexpected request");
  return make_zygote(*zygote, fds, launcher_socket);
}

}  // namespace

int run_broker(int launcher_socket, Expects expects) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGCHLD,
           SIG_IGN);  // the launcher watches sandboxes by pidfd, so children need no wait()
  // A rootless nursery may have only one user.
  (void)sys::keep_capabilities_across_uid_changes();
  limit_next_user_namespace();
  // Both take longer than they save one sandbox: a network namespace is half a millisecond, and a
  // sandbox looks at its own /proc while it waits for the launcher.
  std::optional<LearntProcMask> mask;
  if (expects == Expects::kMany) {
    give_next_networks_small_tables();
    mask.emplace();
  }
  while (true) {
    auto received = receive_message(launcher_socket, wire::kMaxPlanMessage, kMaxPassedFds);
    if (!received || received->bytes.empty()) return 0;
    const auto message = wire::decode_plan_message(received->bytes);
    if (!message) return 1;
    auto pidfd = handle_request(*message, std::move(received->fds), launcher_socket,
                                mask ? &*mask : nullptr);
    Result<> sent;
    if (pidfd) {
      const int fds[] = {pidfd->get()};
      sent =
          send_message(launcher_socket, wire::encode(wire::PlanMessage(wire::SandboxHello{})), fds);
    } else {
      sent =
          send_message(launcher_socket, wire::encode(wire::PlanMessage(wire::SandboxFailed{
                                            pidfd.error().message(), pidfd.error().sys_errno()})));
    }
    if (!sent) return 0;
  }
}

}  // namespace glovebox::agent
