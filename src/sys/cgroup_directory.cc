#include "sys/cgroup_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <functional>
#include <memory>

#include "base/unique_fd.h"
#include "sys/file.h"

namespace glovebox::sys {
namespace {

std::uint64_t to_number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// In place of an event: the kernel does not report when the last dead task has left a v1 cgroup.
// Bounded by the caller, and in practice the first try succeeds.
void pause_briefly(int ms) { ::poll(nullptr, 0, ms); }

// What a launcher has below one of its parents: tenants, sandboxes, a nursery.
constexpr int kMaxDepth = 3;

// What a v1 memory cgroup has, and whether it may have pages of processes or files. The kernel adds
// these to `usage_in_bytes` at once, together with its own memory and with what each CPU has
// charged in advance (64 pages). Neither of the two keeps a removed cgroup: its own memory moves to
// the parent, and what is charged in advance is returned. `memory.stat` would name the pages, but
// up to two seconds later. The kernel's own is read last, because by now it only shrinks.
struct Charged {
  bool may_have_pages = true;
  std::uint64_t kernel_bytes = 0;
};
Charged charged_to(int dir_fd) {
  const auto all = read_cgroup_number(dir_fd, "memory.usage_in_bytes");
  const std::uint64_t kernel = read_cgroup_number(dir_fd, "memory.kmem.usage_in_bytes").value_or(0);
  return {!all || *all > kernel, kernel};
}

void for_each_child(int dir_fd, const std::function<void(int, const std::string&)>& call) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(::fcntl(dir_fd, F_DUPFD_CLOEXEC, 3)),
                                                ::closedir);
  if (!dir) return;
  ::rewinddir(dir.get());
  while (const dirent* entry = ::readdir(dir.get())) {
    if (entry->d_type != DT_DIR || entry->d_name[0] == '.') continue;
    const UniqueFd child(
        ::openat(dir_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (child) call(child.get(), entry->d_name);
  }
}

void kill_down_to(int dir_fd, int depth) {
  kill_cgroup_members(dir_fd);
  if (depth == 0) return;
  for_each_child(dir_fd,
                 [depth](int child, const std::string&) { kill_down_to(child, depth - 1); });
}

void remove_down_to(int dir_fd, int depth) {
  if (depth == 0) return;
  for_each_child(dir_fd, [dir_fd, depth](int child, const std::string& name) {
    remove_down_to(child, depth - 1);
    drop_charged_pages(child);
    (void)remove_cgroup_directory(dir_fd, name);
  });
}

}  // namespace

std::optional<std::uint64_t> read_cgroup_number(int dir_fd, const std::string& file) {
  const UniqueFd fd(::openat(dir_fd, file.c_str(), O_RDONLY | O_CLOEXEC));
  char text[64];  // the kernel gives a number in one piece
  ssize_t got = -1;
  do {
    got = ::read(fd.get(), text, sizeof text);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return std::nullopt;
  return to_number(std::string_view(text, static_cast<std::size_t>(got)));
}

std::uint64_t read_cgroup_key(int dir_fd, const std::string& file, std::string_view key) {
  const auto text = read_small_file(dir_fd, file);
  if (!text) return 0;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.size() > key.size() && line.substr(0, key.size()) == key && line[key.size()] == ' ') {
      return to_number(line.substr(key.size() + 1));
    }
  }
  return 0;
}

void kill_cgroup_members(int dir_fd) {
  if (write_control(dir_fd, "cgroup.kill", "1")) return;
  const auto procs = read_small_file(dir_fd, "cgroup.procs");
  if (!procs) return;
  std::string_view rest = *procs;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto pid = static_cast<pid_t>(to_number(line));
    if (pid <= 1) continue;
    // By a handle, and only if it is a member still: its number may be another's by now.
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    const auto again = read_small_file(dir_fd, "cgroup.procs");
    if (!process || !again) continue;
    const std::string text = "\n" + *again;
    if (text.find("\n" + std::string(line) + "\n") == std::string::npos) continue;
    (void)::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  }
}

Result<> move_cgroup_members(const std::string& from, const std::string& to) {
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    TRY(const std::string procs, read_small_file(AT_FDCWD, from + "/cgroup.procs"));
    if (procs.empty()) return {};
    std::string_view rest = procs;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      // "0" is a process of another pid namespace; writing it would move ourselves.
      if (line == "0") return fail(Errc::kUnsupported, from + " has processes that cannot be seen");
      const auto moved = write_control(AT_FDCWD, to + "/cgroup.procs", line);
      // It may have ended meanwhile.
      if (!moved && moved.error().sys_errno() != ESRCH) return moved;
    }
  }
  return fail(Errc::kConflict, "new processes keep appearing in " + from);
}

void kill_cgroups_below(int dir_fd) { kill_down_to(dir_fd, kMaxDepth); }

void drop_charged_pages(int dir_fd) {
  const Charged charged = charged_to(dir_fd);
  if (!charged.may_have_pages) return;
  // No more than the kernel's own memory: to get there, the kernel returns what is charged in
  // advance and drops pages of files. Mostly that is all, in a fifth of the time of force_empty,
  // which first waits for a task on every CPU.
  (void)write_control(dir_fd, "memory.limit_in_bytes", std::to_string(charged.kernel_bytes));
  if (charged_to(dir_fd).may_have_pages) (void)write_control(dir_fd, "memory.force_empty", "0");
}

Result<> remove_cgroup_directory(int parent_fd, const std::string& name, int max_tries) {
  for (int tries = 0;; ++tries) {
    if (::unlinkat(parent_fd, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    if (errno != EBUSY || tries >= max_tries) {
      return fail(Error::from_errno("remove cgroup " + name));
    }
    pause_briefly(tries < 10 ? 1 : 5);
  }
}

void remove_cgroups_below(int dir_fd) { remove_down_to(dir_fd, kMaxDepth); }

}  // namespace glovebox::sys
