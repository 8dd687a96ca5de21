// What takes long on the disk and must not keep the launcher's one thread: a tree that goes, and a
// disk that is written out. Each is a child of ours that has none of our descriptors.
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

class Chore {
 public:
  // `work` is done in the child; what it returns is its exit code.
  static Result<Chore> start(const std::function<int()>& work);
  Chore(Chore&& other) noexcept;
  Chore& operator=(Chore&& other) noexcept;
  ~Chore();  // ended, if it is not over

  int pidfd() const { return pidfd_.get(); }
  // Whether it is over; waits for that at most so long.
  bool is_over(int wait_ms);
  bool went_well() const { return code_ == 0; }

 private:
  Chore(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  void end();
  pid_t pid_ = 0;
  UniqueFd pidfd_;
  std::optional<int> code_;
};

// Removes what lies in a directory under names that begin with `prefix`: one child at a time, which
// takes all that there are.
class Removals {
 public:
  Removals(std::string directory, std::string prefix)
      : directory_(std::move(directory)), prefix_(std::move(prefix)) {}
  // There is something to remove.
  void begin();
  void look();
  void add_events(std::vector<pollfd>& events) const;
  // At the end: gives it a moment. What is left is removed by whoever starts next.
  void finish();

 private:
  std::string directory_;
  std::string prefix_;
  std::optional<Chore> chore_;
  bool again_ = false;
};

// Returns how many could not be removed. Follows no link.
int remove_all_named(const std::string& directory, const std::string& prefix);

}  // namespace glovebox::launcher
