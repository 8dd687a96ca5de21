#include "launcher/nursery/nursery.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "base/fd_message.h"
#include "launcher/nursery/nursery_child.h"
#include "launcher/policy/request_checks.h"
#include "sys/clone.h"
#include "sys/file.h"

namespace glovebox::launcher {
namespace {

constexpr std::uint64_t kNurseryNamespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS;

Result<> map_users(pid_t pid, const NurseryUsers& users) {
  const std::string proc = "/proc/" + std::to_string(pid) + "/";
  std::string map;
  for (const UidExtent& extent : users.map) {
    map += std::to_string(extent.inside) + " " + std::to_string(extent.outside) + " " +
           std::to_string(extent.count) + "\n";
  }
  if (users.map.empty()) {
    map = "0 " + std::to_string(users.host_uid) + " 1";
    TRY_OK(sys::write_control(AT_FDCWD, proc + "setgroups", "deny"));
  }
  TRY_OK(sys::write_control(AT_FDCWD, proc + "uid_map", map));
  return sys::write_control(AT_FDCWD, proc + "gid_map", map);
}

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};
Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(Error::from_errno("pipe"));
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

Result<Nursery> Nursery::start(const UniqueFd& agent, const NurseryUsers& users, int cgroup,
                               Expected sandboxes, PendingZygoteCleanup& cleanup) {
  TRY(SocketPair sockets, seqpacket_pair());
  TRY(Pipe go, make_pipe());
  TRY(Pipe failed, make_pipe());
  NurseryPlan plan;
  plan.role = sandboxes == Expected::kMany ? "broker" : "broker-of-one";
  plan.go_fd = go.read_end.get();
  plan.agent_fd = agent.get();
  plan.socket_fd = sockets.theirs.get();
  plan.failure_fd = failed.write_end.get();
  // The namespace is created by the nursery's own root and not by the host's: the kernel also
  // counts what is used inside against the creator.
  const bool other_user = users.host_uid != 0;
  plan.drops_groups = other_user;
  if (other_user) TRY_OK(sys::become_effective(users.host_uid, users.host_uid));
  auto cloned = sys::clone_into(kNurseryNamespaces, cgroup);
  if (cloned && cloned->pid == 0) {
    go.write_end.reset();  // so that the read fails when the launcher has died
    run_nursery_child(plan);
  }
  if (other_user) TRY_OK(sys::become_effective(0, 0));
  if (!cloned) return fail(std::move(cloned.error()).context("start nursery"));
  Nursery nursery(cleanup, cloned->pid, std::move(cloned->pidfd), std::move(sockets.ours),
                  std::move(failed.read_end));
  if (auto mapped = map_users(nursery.pid_, users); !mapped) {
    return fail(std::move(mapped.error()).context("start nursery"));
  }
  (void)!::write(go.write_end.get(), "", 1);
  return nursery;
}

Error Nursery::exit_reason() const {
  NurseryFailure failure{};
  // The other end is closed by now, so this does not block.
  if (::read(failure_.get(), &failure, sizeof failure) == static_cast<ssize_t>(sizeof failure)) {
    return Error::from_errno(nursery_step_name(failure.step), failure.error)
        .context("start nursery");
  }
  return Error(Errc::kUnavailable, "the broker has exited");
}

Nursery::~Nursery() {
  if (pid_ <= 0) return;
  sys::send_signal(pidfd_.get(), SIGKILL);
  cleanup_.add_child(pid_, std::move(pidfd_));
}

Result<Nursery::Request> Nursery::send(const wire::PlanMessage& message, std::span<const int> fds) {
  if (!send_message(socket_.get(), wire::encode(message), fds)) return fail(exit_reason());
  return ++requested_;
}

Result<Nursery::Request> Nursery::request_sandbox(const wire::MakeSandbox& make, int setup,
                                                  int cgroup) {
  std::vector<int> fds = {setup};
  if (cgroup >= 0) fds.push_back(cgroup);
  return send(make, fds);
}

Result<Nursery::Request> Nursery::request_zygote(const wire::MakeZygote& make,
                                                 std::span<const int> fds) {
  return send(make, fds);
}

Result<UniqueFd> Nursery::open_user_namespace() const {
  UniqueFd userns(
      ::open(("/proc/" + std::to_string(pid_) + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (!userns) return fail(Error::from_errno("open the nursery's user namespace"));
  return userns;
}

Result<> Nursery::receive_answer() {
  auto arrived = receive_message(socket_.get(), wire::kMaxPlanMessage, 1);
  if (!arrived || arrived->bytes.empty()) return fail(exit_reason());
  TRY(const wire::PlanMessage message, wire::decode_plan_message(arrived->bytes));
  const Request request = ++answered_;
  if (const auto* failed = std::get_if<wire::SandboxFailed>(&message)) {
    answers_.emplace(request,
                     fail(setup_failure("make namespaces: " + failed->step, failed->sys_errno)));
  } else if (arrived->fds.size() == 1) {
    answers_.emplace(request, std::move(arrived->fds[0]));
  } else {
    answers_.emplace(request, fail(Errc::kProtocol, "the broker's answer has no descriptor"));
  }
  return {};
}

Result<std::optional<UniqueFd>> Nursery::take_answer(Request request) {
  pollfd event{socket_.get(), POLLIN, 0};
  while (answered_ < request && ::poll(&event, 1, 0) == 1) TRY_OK(receive_answer());
  const auto found = answers_.find(request);
  if (found == answers_.end()) return std::optional<UniqueFd>();
  Result<UniqueFd> answer = std::move(found->second);
  answers_.erase(found);
  if (!answer) return fail(std::move(answer.error()));
  return std::optional<UniqueFd>(std::move(*answer));
}

Result<UniqueFd> Nursery::await_answer(Request request, int timeout_ms) {
  while (true) {
    TRY(std::optional<UniqueFd> answer, take_answer(request));
    if (answer) return std::move(*answer);
    pollfd event{socket_.get(), POLLIN, 0};
    const int polled = ::poll(&event, 1, timeout_ms);
    if (polled == 0) return fail(Errc::kTimeout, "the broker did not answer in time");
    if (polled < 0 && errno != EINTR) return fail(Error::from_errno("poll"));
  }
}

Result<UniqueFd> open_agent(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!file) return fail(Error::from_errno("open " + path));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return fail(Error::from_errno("stat " + path));
  if (!S_ISREG(info.st_mode)) return fail(Errc::kInvalidArgument, path + " is not a regular file");
  if ((info.st_mode & 0444) == 0) return file;
  const UniqueFd from(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  UniqueFd copy(::memfd_create("glovebox-agent", MFD_CLOEXEC));
  if (!from || !copy) return fail(Error::from_errno("copy " + path));
  for (off_t left = info.st_size; left > 0;) {
    const ssize_t moved =
        ::sendfile(copy.get(), from.get(), nullptr, static_cast<std::size_t>(left));
    if (moved <= 0) return fail(Error::from_errno("copy " + path));
    left -= moved;
  }
  if (::fchmod(copy.get(), 0111) != 0) return fail(Error::from_errno("chmod agent"));
  // A file that is open for writing cannot be executed, so it is reopened.
  UniqueFd program(
      ::open(("/proc/self/fd/" + std::to_string(copy.get())).c_str(), O_PATH | O_CLOEXEC));
  if (!program) return fail(Error::from_errno("reopen agent"));
  return program;
}

}  // namespace glovebox::launcher
