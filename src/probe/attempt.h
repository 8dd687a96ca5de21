// Tries something that cannot be undone, in a forked helper process that reports the result and
// exits. The probes are built from these, because only trying shows whether something works.
//
// Callers have one thread (the command line and the launcher do), so a helper may allocate.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::probe {

struct Attempt {
  int error = 0;           // 0: worked; >0: an errno; -1: see `step`
  std::string step{};      // what failed, in a reader's words
  std::int64_t value = 0;  // what a body found out, where one number says it
  std::string note{};      // ... or a few words; at most 1 KiB comes back from a helper

  bool ok() const { return error == 0; }
  // "mount overlay: Operation not permitted"; empty when it worked.
  std::string why() const;

  static Attempt worked(std::int64_t found = 0) { return {.value = found}; }
  static Attempt failed(std::string at_step, int err = errno) {
    return {.error = err == 0 ? -1 : err, .step = std::move(at_step)};
  }
};

// Runs `body` in a helper and waits for its report. A helper that dies, hangs past the deadline or
// is killed by an outer seccomp filter is reported as a failed attempt.
Attempt attempt_in_helper(const std::function<Attempt()>& body,
                          std::chrono::milliseconds deadline = std::chrono::seconds(1));

// fork() with namespace flags; as fork(): 0 in the child. The child dies with its parent.
pid_t fork_into(unsigned long namespace_flags);
// The exit status of a child, or 128 + the signal that ended it.
int wait_for_child(pid_t child);

// A process in namespaces of its own that only waits, so that its namespaces can be used. Killed
// and reaped by the destructor.
class ParkedChild {
 public:
  static Result<ParkedChild> start(unsigned long namespace_flags);
  ParkedChild(ParkedChild&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ParkedChild& operator=(ParkedChild&&) = delete;
  ~ParkedChild();

  // Texts as in user_namespaces(7).
  Result<> map_ids(const std::string& uid_map, const std::string& gid_map) const;
  Result<UniqueFd> open_namespace(const std::string& name) const;

 private:
  explicit ParkedChild(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

// In a helper: gives up root for uid and gid 65534, as far as a program can; 0 or the errno.
int become_ordinary_user();

// In a helper: a user namespace in which the caller is root; step and errno of what failed.
Attempt enter_own_user_namespace();

// In a helper: a mount namespace whose mounts stay here. With kUserNamespace it belongs to a new
// user namespace, which is all an ordinary user can have.
enum class Way : std::uint8_t { kDirect, kUserNamespace };
Attempt enter_private_mounts(Way way);

}  // namespace glovebox::probe
