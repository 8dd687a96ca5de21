#include "own_host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>
#include <vector>

namespace glovebox::attack {
namespace {

constexpr const char* kState = "/run/glovebox";
// Where integration tests keep what stands for their /run/glovebox (tests/support/sealed.py).
constexpr const char* kOthersStates = "/run/glovebox-tests";

// The host's own /run/glovebox, from before ours was mounted over it.
int outside_state = -1;

int failed(const char* doing) {
  fprintf(stderr, "escape_test: %s: %s\n", doing, strerror(errno));
  return 1;
}

int status_of(pid_t child) {
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(-1, &status, 0);  // whatever else ends is an orphan, to be reaped
    if (ended < 0 && errno != EINTR) return failed("wait");
    if (ended == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
}

// Launchers outside lease slices of uids too, and cannot see ours: start somewhere else.
bool start_at_other_uids() {
  struct stat own {};
  const int fd = ::open("/run/glovebox/slices", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0 || ::stat("/proc/self/ns/pid", &own) != 0) return false;
  const auto first = static_cast<uint32_t>(64 + own.st_ino % 1400);
  const bool written = ::pwrite(fd, &first, sizeof first, 1 << 20) == sizeof first;
  ::close(fd);
  return written;
}

// The first process of the namespace: mounts what is its own, starts the tests and reaps.
int first_process(const std::function<int()>& tests) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return failed("mounts");
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    return failed("mount /proc");
  }
  if (::mount("tmpfs", kState, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700") != 0) {
    return failed("mount /run/glovebox");
  }
  if (!start_at_other_uids()) return failed("/run/glovebox/slices");
  const pid_t child = ::fork();
  if (child < 0) return failed("fork");
  if (child == 0) _exit(tests());
  return status_of(child);
}

// The entries of a directory, whose descriptor it takes; none of one that went away meanwhile.
std::vector<std::string> entries(int fd) {
  std::vector<std::string> names;
  DIR* const directory = fd < 0 ? nullptr : ::fdopendir(fd);
  if (directory == nullptr) return names;
  ::rewinddir(directory);
  while (const dirent* const entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(directory);
  return names;
}

std::vector<std::string> entries(const std::string& path) {
  return entries(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Our cgroups in a hierarchy and those below it, down to `depth`. One that goes away meanwhile
// hides none beside it.
void add_cgroups(const std::string& path, int depth, std::set<std::string>& found) {
  for (const std::string& name : entries(path)) {
    const std::string below = path + "/" + name;
    if (name.rfind("glovebox-", 0) == 0) found.insert(below);
    struct stat info {};
    if (depth > 0 && ::lstat(below.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
      add_cgroups(below, depth - 1, found);
    }
  }
}

// Ids of launchers that are outside or belong to other tests.
std::set<std::string> others_launchers() {
  std::set<std::string> ids;
  if (outside_state < 0) return ids;
  for (const std::string& id : entries(::dup(outside_state))) ids.insert(id);
  for (const std::string& test : entries(kOthersStates)) {
    for (const std::string& id : entries(std::string(kOthersStates) + "/" + test)) ids.insert(id);
  }
  return ids;
}

// glovebox-ID-REST
std::string launcher_of(const std::string& cgroup) {
  const size_t begin = cgroup.rfind("/glovebox-") + strlen("/glovebox-");
  return cgroup.substr(begin, cgroup.find('-', begin) - begin);
}

}  // namespace

int run_on_own_host(const std::function<int()>& tests) {
  if (::geteuid() != 0) return tests();
  if (::mkdir(kState, 0700) != 0 && errno != EEXIST) return failed(kState);
  outside_state = ::open(kState, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (outside_state < 0) return failed(kState);
  if (::unshare(CLONE_NEWNS | CLONE_NEWPID) != 0) return failed("unshare");
  const pid_t first = ::fork();
  if (first < 0) return failed("fork");
  if (first == 0) _exit(first_process(tests));
  return status_of(first);
}

std::set<std::string> traces_on_host() {
  std::set<std::string> traces, cgroups;
  add_cgroups("/sys/fs/cgroup", 3, cgroups);
  // Asked for afterwards, because a launcher's directory is there before its cgroups and after.
  const std::set<std::string> others = others_launchers();
  for (const std::string& path : cgroups) {
    if (others.count(launcher_of(path)) == 0) traces.insert("cgroup " + path);
  }
  constexpr uid_t kFirstSliceUid = 1879048192;
  constexpr uid_t kLastSliceUid = 2147352575;
  for (const std::string& name : entries("/proc")) {
    struct stat info {};
    if (::stat(("/proc/" + name).c_str(), &info) != 0) continue;
    if (info.st_uid < kFirstSliceUid || info.st_uid > kLastSliceUid) continue;
    traces.insert("process " + name);
  }
  return traces;
}

}  // namespace glovebox::attack
