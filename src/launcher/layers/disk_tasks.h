// Work on the disk that may take long and must not block the launcher's one thread: removing a
// tree, syncing a filesystem. Each task is a child process that has none of the launcher's
// descriptors.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::launcher {

class DiskTask {
 public:
  // `work` runs in the child; its result is the exit code.
  static Result<DiskTask> start(const std::function<int()>& work);
  DiskTask(DiskTask&& other) noexcept;
  DiskTask& operator=(DiskTask&& other) noexcept;
  ~DiskTask();  // kills the child if it has not finished

  int pidfd() const { return pidfd_.get(); }
  // Waits at most `wait_ms` for it to finish.
  bool is_finished(int wait_ms);
  bool succeeded() const { return code_ == 0; }

 private:
  DiskTask(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  void kill();
  pid_t pid_ = 0;
  UniqueFd pidfd_;
  std::optional<int> code_;
};

// Removes the entries of a directory whose names begin with `prefix`, in one child process at a
// time.
class TreeRemover {
 public:
  TreeRemover(std::string directory, std::string prefix)
      : directory_(std::move(directory)), prefix_(std::move(prefix)) {}
  // Starts a task, or another one after the current.
  void begin();
  // Reaps a finished task, and starts the next if there is one.
  void poll();
  void add_events(std::vector<pollfd>& events) const;
  // At the end of the launcher: waits a moment. The next launcher removes what is left.
  void finish();

 private:
  std::string directory_;
  std::string prefix_;
  std::optional<DiskTask> task_;
  bool again_ = false;  // entries were added since the task started
};

// Returns how many entries could not be removed. Follows no symlink.
int remove_all_named(const std::string& directory, const std::string& prefix);

}  // namespace glovebox::launcher
