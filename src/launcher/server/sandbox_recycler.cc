#include "launcher/server/sandbox_recycler.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "wire/guest/sandbox_plan.h"

namespace glovebox::launcher {
namespace {

// Until nothing of the last call is left: most of it is the exit of the last program.
constexpr std::chrono::seconds kCleaningTimeout{5};

constexpr std::size_t kStreams = 4;  // stdin, stdout, stderr, results
constexpr std::size_t kJob = kStreams;
constexpr std::size_t kSocket = kJob + 1;
constexpr std::size_t kRuleset = kSocket + 1;
static_assert(kRuleset == wire::kDescriptorsOfARuntime);

bool is_memory_file(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && ::fcntl(fd, F_GET_SEALS) >= 0;
}

bool is_unix_socket(int fd) {
  int domain = 0;
  socklen_t size = sizeof domain;
  return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

bool is_ruleset(int fd) {
  std::array<char, 64> target{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  return size > 0 && std::string_view(target.data(), static_cast<std::size_t>(size))
                         .ends_with("[landlock-ruleset]");
}

// The zygote must not be given anything else from inside a sandbox: it could be made to wait for
// it.
bool fit_a_runtime(std::span<const UniqueFd> fds, bool landlock) {
  if (fds.size() != wire::kDescriptorsOfARuntime + (landlock ? 1 : 0)) return false;
  const bool pipes = std::all_of(fds.begin(), fds.begin() + kStreams, [](const UniqueFd& fd) {
    struct stat info {};
    return ::fstat(fd.get(), &info) == 0 && S_ISFIFO(info.st_mode);
  });
  return pipes && is_memory_file(fds[kJob].get()) && is_unix_socket(fds[kSocket].get()) &&
         (!landlock || is_ruleset(fds[kRuleset].get()));
}

}  // namespace

Result<> SandboxRecycler::begin(Sandbox& sandbox, UniqueFd link, bool hurry) {
  Sandbox::Reuse& reuse = *sandbox.reuse();
  if (nurseries_.generation_of(reuse.template_name) != reuse.generation) {
    return fail(Errc::kUnavailable, "the template has changed");
  }
  Zygote* zygote = nurseries_.find_zygote(reuse.template_name, reuse.zygote_uid);
  if (zygote == nullptr) return fail(Errc::kUnavailable, "the zygote has ended");
  TRY(const std::vector<UniqueFd> scratch, jails_.build_scratch(sandbox));
  TRY_OK(sandbox.begin_recycling(std::move(link), scratch));
  reuse.hurry = hurry;
  ++zygote->pending;
  const Clock::time_point deadline = Clock::now() + kCleaningTimeout;
  sandbox.joining.emplace(Sandbox::Joining{.template_name = reuse.template_name,
                                           .zygote_uid = reuse.zygote_uid,
                                           .deadline = deadline,
                                           .last_deadline = deadline,
                                           .is_cleaning = true});
  return {};
}

Result<> SandboxRecycler::join(Sandbox& sandbox, std::span<const UniqueFd> fds) {
  Sandbox::Joining& joining = *sandbox.joining;
  const Sandbox::Reuse& reuse = *sandbox.reuse();
  if (!joining.is_cleaning || !fit_a_runtime(fds, reuse.landlock)) {
    return fail(Errc::kProtocol, "the sandbox's agent sent an unexpected request for a runtime");
  }
  Zygote* zygote = nurseries_.find_zygote(reuse.template_name, reuse.zygote_uid);
  if (zygote == nullptr) return fail(Errc::kUnavailable, "the zygote has ended");
  std::vector<int> passed;
  for (const auto* list : {&reuse.namespaces, &reuse.join_files}) {
    for (const UniqueFd& fd : *list) passed.push_back(fd.get());
  }
  for (const UniqueFd& fd : fds) passed.push_back(fd.get());
  TRY_OK(zygote->join(passed, {.cgroups = reuse.join_files.size(),
                               .change_user = sandbox.slice().has_value(),
                               .landlock = reuse.landlock,
                               .hurry = reuse.hurry}));
  const Clock::time_point now = Clock::now();
  joining.is_cleaning = false;
  joining.deadline = now + Sandbox::kJoinTimeout;
  joining.last_deadline = now + Sandbox::kLongestJoin;
  return {};
}

}  // namespace glovebox::launcher
