// Verdicts and small file helpers of the attacks. The places where controls run are in places.cc.
#include "toolbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace glovebox::attacks {

std::string Args::get(std::string_view key, std::string_view fallback) const {
  for (const std::string& word : words_) {
    if (word.size() > key.size() && word.compare(0, key.size(), key) == 0 &&
        word[key.size()] == '=') {
      return word.substr(key.size() + 1);
    }
  }
  return std::string(fallback);
}

long Args::number(std::string_view key, long fallback) const {
  const std::string text = get(key);
  return text.empty() ? fallback : strtol(text.c_str(), nullptr, 10);
}

Args Args::with(std::string_view key, std::string_view value) const {
  std::vector<std::string> words = {std::string(key) + "=" + std::string(value)};
  words.insert(words.end(), words_.begin(), words_.end());
  return Args(std::move(words));
}

Verdict succeeded(std::string text) { return {kSucceeded, std::move(text), 0}; }
Verdict denied(std::string text, int err) { return {kDenied, std::move(text), err}; }
Verdict kernel_lacks(std::string text) { return {kKernelLacks, std::move(text), 0}; }
Verdict not_tried(std::string text) { return {kNotTried, std::move(text), 0}; }

Verdict denied_by_errno(const std::string& what, int err) {
  const char* name = strerrorname_np(err);
  return denied(what + ": " + (name == nullptr ? std::to_string(err) : name), err);
}

Verdict by_result(const std::string& what, long result) {
  if (result < 0) return denied_by_errno(what, errno);
  return succeeded(what + " worked");
}

Verdict by_reach(const std::string& what, long result) {
  const int err = errno;
  if (result >= 0) return succeeded(what + " worked");
  if (err == EPERM || err == EACCES || err == ENOSYS) return denied_by_errno(what, err);
  const char* name = strerrorname_np(err);
  return succeeded(what + " was let through: " + (name == nullptr ? "an errno" : name) +
                   " is about its arguments");
}

Verdict by_open(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return denied_by_errno("open " + path, errno);
  struct stat info {};
  fstat(fd, &info);
  close(fd);
  // Hidden files of /proc are covered by the null device, which opens but holds nothing.
  const bool null_device = S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
  if (null_device && path.compare(0, 6, "/proc/") == 0 && path.find("/fd/") == std::string::npos) {
    return denied(path + " is covered by /dev/null");
  }
  return succeeded("opened " + path + ((flags & O_ACCMODE) == O_RDONLY ? "" : " for writing"));
}

Verdict read_canary(int dir_fd, const std::string& path) {
  if (path.empty()) return not_tried("no canary given");
  const int fd = openat(dir_fd, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return denied_by_errno("open " + path, errno);
  char text[128] = {};
  const ssize_t count = read(fd, text, sizeof text - 1);
  const int err = errno;
  close(fd);
  if (count < 0) return denied_by_errno("read " + path, err);
  if (strncmp(text, kCanaryMagic, strlen(kCanaryMagic)) != 0) {
    return denied(path + " is another file here");
  }
  text[strcspn(text, "\n")] = '\0';
  return succeeded(std::string("read ") + text);
}

std::string read_file(const std::string& path, size_t limit) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return text;
  char buffer[16384];
  ssize_t count;
  while (text.size() < limit && (count = read(fd, buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<size_t>(count));
  }
  close(fd);
  return text;
}

bool write_file(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool whole = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int err = errno;
  close(fd);
  errno = err;
  return whole;
}

std::vector<std::string> list_dir(const std::string& path) {
  std::vector<std::string> names;
  DIR* dir = opendir(path.c_str());
  if (dir == nullptr) return names;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(dir);
  return names;
}

std::vector<int> visible_pids() {
  std::vector<int> pids;
  for (const std::string& name : list_dir("/proc")) {
    if (name.find_first_not_of("0123456789") == std::string::npos)
      pids.push_back(atoi(name.c_str()));
  }
  return pids;
}

std::vector<int> pids_with_cmdline(const std::string& text) {
  std::vector<int> found;
  for (const int pid : visible_pids()) {
    if (pid == getpid()) continue;
    std::string line = read_file("/proc/" + std::to_string(pid) + "/cmdline");
    std::replace(line.begin(), line.end(), '\0', ' ');
    if (line.find(text) != std::string::npos) found.push_back(pid);
  }
  return found;
}

std::string make_work_dir() {
  for (const char* pattern : {"gbx-attack-XXXXXX", "/tmp/gbx-attack-XXXXXX"}) {
    std::string path = pattern;
    if (mkdtemp(path.data()) == nullptr) continue;
    char* whole = realpath(path.c_str(), nullptr);
    if (whole == nullptr) continue;
    path = whole;
    free(whole);
    return path;
  }
  return "";
}

void end_with_parent(int parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != parent) _exit(0);
}

Verdict stay_until_checked(const std::string& text) {
  printf("ready\n");
  fflush(stdout);
  wait_for_stdin_end(60);
  return denied(text);
}

void wait_for_stdin_end(int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  char byte[256];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return;
    pollfd poller{0, POLLIN, 0};
    if (poll(&poller, 1, static_cast<int>(left.count())) <= 0) return;
    if (read(0, byte, sizeof byte) <= 0) return;
  }
}

}  // namespace glovebox::attacks
