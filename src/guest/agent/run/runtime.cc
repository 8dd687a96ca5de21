#include "guest/agent/run/runtime.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/fd_message.h"
#include "guest/agent/init/guest_ids.h"
#include "guest/agent/run/guest_files.h"
#include "guest/agent/session/session_child.h"
#include "sys/file.h"

namespace glovebox::agent {
namespace {

UniqueFd moved_up(int fd) {
  UniqueFd moved(::fcntl(fd, F_DUPFD_CLOEXEC, kFirstFreeFd));
  ::close(fd);
  return moved;
}

Result<> add_pipe(std::vector<UniqueFd>& read_ends, std::vector<UniqueFd>& write_ends) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(Error::from_errno("pipe"));
  read_ends.push_back(moved_up(ends[0]));
  write_ends.push_back(moved_up(ends[1]));
  if (!read_ends.back() || !write_ends.back()) return fail(Error::from_errno("pipe"));
  return {};
}

// The value of a line "Name:\tvalue", or nothing.
std::string_view field(std::string_view status, std::string_view name) {
  std::size_t at = 0;
  while (at < status.size()) {
    const std::size_t end = std::min(status.find('\n', at), status.size());
    std::string_view line = status.substr(at, end - at);
    if (line.substr(0, name.size()) == name && line.substr(name.size(), 2) == ":\t") {
      return line.substr(name.size() + 2);
    }
    at = end + 1;
  }
  return {};
}

bool is_one_number(std::string_view fields, const std::string& number) {
  // "Uid:" has four: real, effective, saved, filesystem.
  return fields == number + "\t" + number + "\t" + number + "\t" + number;
}

// Whether an exec can regain no more than root inside a session has.
bool is_bounded(std::string_view set) {
  constexpr std::size_t kHexDigits = 16;
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(set.data(), set.data() + set.size(), bits, 16);
  if (set.size() != kHexDigits || error != std::errc() || end != set.data() + set.size()) {
    return false;
  }
  for (int capability = 0; capability < 64; ++capability) {
    if ((bits >> capability & 1) != 0 && !is_session_capability(capability)) return false;
  }
  return true;
}

// The pids in this sandbox except our own.
Result<std::vector<pid_t>> others() {
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return fail(Error::from_errno("list processes"));
  std::vector<pid_t> pids;
  while (const dirent* entry = ::readdir(proc)) {
    const int pid = std::atoi(entry->d_name);
    if (pid > 1) pids.push_back(pid);
  }
  ::closedir(proc);
  return pids;
}

}  // namespace

Result<RuntimeDescriptors> make_runtime_descriptors(bool change_user) {
  // Owned by the guest, which may reopen its streams by name (/dev/stdout).
  const AsGuestUser as_user(change_user);
  RuntimeDescriptors descriptors;
  std::vector<UniqueFd>& theirs = descriptors.theirs;
  std::vector<UniqueFd>& clients = descriptors.ours.client_ends;
  TRY_OK(add_pipe(theirs, clients));  // stdin
  TRY_OK(add_pipe(clients, theirs));  // stdout
  TRY_OK(add_pipe(clients, theirs));  // stderr
  TRY_OK(add_pipe(clients, theirs));  // results
  const int job = ::memfd_create("job", MFD_CLOEXEC);
  if (job < 0) return fail(Error::from_errno("memfd"));
  descriptors.ours.job = moved_up(job);
  theirs.emplace_back(::fcntl(descriptors.ours.job.get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
  TRY(SocketPair pair, seqpacket_pair());
  const int on = 1;
  ::setsockopt(pair.ours.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  descriptors.ours.socket = std::move(pair.ours);
  theirs.push_back(moved_up(pair.theirs.release()));
  return descriptors;
}

Result<> check_sealed(std::string_view status, bool change_user, unsigned filters_wanted,
                      SealOf seal) {
  const std::string user = std::to_string(kGuestUid);
  struct Demand {
    const char* name;
    bool met;
  };
  const std::string_view filters = field(status, "Seccomp_filters");
  const Demand demands[] = {
      {"no effective capability", field(status, "CapEff") == "0000000000000000"},
      {"no permitted capability", field(status, "CapPrm") == "0000000000000000"},
      {"no inheritable capability", field(status, "CapInh") == "0000000000000000"},
      {"no ambient capability", field(status, "CapAmb") == "0000000000000000"},
      {"no new privileges", field(status, "NoNewPrivs") == "1" ||
                                (seal == SealOf::kSession && is_bounded(field(status, "CapBnd")))},
      {"a filter", field(status, "Seccomp") == "2"},
      // (Kernels before 5.10 do not say.)
      {"a guest's filter", filters.empty() || std::strtoul(std::string(filters).c_str(), nullptr,
                                                           10) >= filters_wanted},
      {"the guest's user", is_one_number(field(status, "Uid"), user)},
      {"the guest's group", is_one_number(field(status, "Gid"), user)},
      {"no other group", !change_user || field(status, "Groups").find_first_of("0123456789") ==
                                             std::string_view::npos},
      {"no tracer", field(status, "TracerPid") == "0"},
      {"our child", field(status, "PPid") == "1"},
  };
  for (const Demand& demand : demands) {
    if (!demand.met) {
      return fail(Errc::kPolicy, std::string("the runtime is not sealed: it lacks ") + demand.name);
    }
  }
  return {};
}

Result<> await_ready(Runtime& runtime, bool change_user) {
  TRY(const Received ready, receive_message(runtime.socket.get(), 1, 0));
  if (ready.bytes.size() != 1 || ready.sender_pid <= 1) {
    return fail(Errc::kUnavailable, "the runtime died before it was ready");
  }
  runtime.pid = ready.sender_pid;
  TRY(const std::vector<pid_t> pids, others());
  if (pids.size() != 1 || pids[0] != runtime.pid) {
    return fail(Errc::kPolicy, "there is another process beside the runtime");
  }
  TRY(const std::string status,
      sys::read_small_file(AT_FDCWD, "/proc/" + std::to_string(runtime.pid) + "/status"));
  return check_sealed(status, change_user, runtime.filters);
}

}  // namespace glovebox::agent
