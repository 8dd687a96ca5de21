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
#include "sys/clone.h"
#include "sys/file.h"

namespace glovebox::launcher {
namespace {

constexpr std::uint64_t kNurseryNamespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS;

Result<> map_users(pid_t pid, const NurseryUsers& users) {
  const std::string proc = "/proc/" + std::to_string(pid) + "/";
  const std::string map = "0 " + std::to_string(users.host_uid) + " " + std::to_string(users.count);
  if (users.count == 1) TRY_OK(sys::write_control(AT_FDCWD, proc + "setgroups", "deny"));
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
                               Remains& remains) {
  TRY(SocketPair sockets, seqpacket_pair());
  TRY(Pipe go, make_pipe());
  TRY(Pipe failed, make_pipe());
  NurseryPlan plan;
  plan.go_fd = go.read_end.get();
  plan.agent_fd = agent.get();
  plan.socket_fd = sockets.theirs.get();
  plan.failure_fd = failed.write_end.get();
  // The namespace's maker is the nursery's own root and not the host's: the kernel counts what is
  // used inside against the maker too.
  const bool slices = users.count > 1;
  if (slices) TRY_OK(sys::become_effective(users.host_uid, users.host_uid));
  auto cloned = sys::clone_into(kNurseryNamespaces, cgroup);
  if (cloned && cloned->pid == 0) {
    go.write_end.reset();  // else a dead launcher would leave us waiting for a byte from ourselves
    run_nursery_child(plan);
  }
  if (slices) TRY_OK(sys::become_effective(0, 0));
  if (!cloned) return fail(std::move(cloned.error()).context("start nursery"));
  Nursery nursery(remains, cloned->pid, std::move(cloned->pidfd), std::move(sockets.ours),
                  std::move(failed.read_end));
  if (auto mapped = map_users(nursery.pid_, users); !mapped) {
    return fail(std::move(mapped.error()).context("start nursery"));
  }
  (void)!::write(go.write_end.get(), "", 1);
  return nursery;
}

Error Nursery::why_it_is_gone() const {
  NurseryFailure failure{};
  // The other end is closed by now, so this does not wait.
  if (::read(failure_.get(), &failure, sizeof failure) == static_cast<ssize_t>(sizeof failure)) {
    return Error::from_errno(nursery_step_name(failure.step), failure.error)
        .context("start nursery");
  }
  return Error(Errc::kUnavailable, "the broker is gone");
}

Nursery::~Nursery() {
  if (pid_ <= 0) return;
  sys::send_signal(pidfd_.get(), SIGKILL);
  remains_.add_child(pid_, std::move(pidfd_));
}

Result<Nursery::Question> Nursery::ask(const wire::PlanMessage& message, std::span<const int> fds) {
  if (!send_message(socket_.get(), wire::encode(message), fds)) return fail(why_it_is_gone());
  return ++asked_;
}

Result<Nursery::Question> Nursery::ask_for_sandbox(const wire::MakeSandbox& make, int setup,
                                                   int cgroup) {
  std::vector<int> fds = {setup};
  if (cgroup >= 0) fds.push_back(cgroup);
  return ask(make, fds);
}

Result<Nursery::Question> Nursery::ask_for_zygote(const wire::MakeZygote& make,
                                                  std::span<const int> fds) {
  return ask(make, fds);
}

Result<UniqueFd> Nursery::open_user_namespace() const {
  UniqueFd userns(
      ::open(("/proc/" + std::to_string(pid_) + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (!userns) return fail(Error::from_errno("open the nursery's user namespace"));
  return userns;
}

Result<> Nursery::receive_answer() {
  auto arrived = receive_message(socket_.get(), wire::kMaxPlanMessage, 1);
  if (!arrived || arrived->bytes.empty()) return fail(why_it_is_gone());
  TRY(const wire::PlanMessage message, wire::decode_plan_message(arrived->bytes));
  const Question question = ++answered_;
  if (const auto* failed = std::get_if<wire::SandboxFailed>(&message)) {
    answers_.emplace(question, fail(Error(Errc::kInternal, "make namespaces: " + failed->step,
                                          failed->sys_errno)));
  } else if (arrived->fds.size() == 1) {
    answers_.emplace(question, std::move(arrived->fds[0]));
  } else {
    answers_.emplace(question, fail(Errc::kProtocol, "the broker's answer is not one"));
  }
  return {};
}

Result<std::optional<UniqueFd>> Nursery::answer_to(Question question) {
  pollfd event{socket_.get(), POLLIN, 0};
  while (answered_ < question && ::poll(&event, 1, 0) == 1) TRY_OK(receive_answer());
  const auto found = answers_.find(question);
  if (found == answers_.end()) return std::optional<UniqueFd>();
  Result<UniqueFd> answer = std::move(found->second);
  answers_.erase(found);
  if (!answer) return fail(std::move(answer.error()));
  return std::optional<UniqueFd>(std::move(*answer));
}

Result<UniqueFd> Nursery::await(Question question, int within_ms) {
  while (true) {
    TRY(std::optional<UniqueFd> answer, answer_to(question));
    if (answer) return std::move(*answer);
    pollfd event{socket_.get(), POLLIN, 0};
    const int polled = ::poll(&event, 1, within_ms);
    if (polled == 0) return fail(Errc::kTimeout, "the broker does not answer");
    if (polled < 0 && errno != EINTR) return fail(Error::from_errno("poll"));
  }
}

Result<UniqueFd> open_agent(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!file) return fail(Error::from_errno("open " + path));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return fail(Error::from_errno("stat " + path));
  if (!S_ISREG(info.st_mode)) return fail(Errc::kInvalidArgument, path + " is not a program");
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
  // A file open for writing cannot be executed: go on with a handle that is not.
  UniqueFd program(
      ::open(("/proc/self/fd/" + std::to_string(copy.get())).c_str(), O_PATH | O_CLOEXEC));
  if (!program) return fail(Error::from_errno("reopen agent"));
  return program;
}

}  // namespace glovebox::launcher
