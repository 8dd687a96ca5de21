// A nursery: a user and pid namespace with our broker as its first process. Sandboxes are made
// inside it; when it ends, they end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/sandbox_plan.h"

namespace glovebox::launcher {

struct NurseryUsers {
  std::uint32_t host_uid = 0;  // of the nursery's root, as we number users
  std::uint32_t count = 1;     // one: rootless, no slices to give
};

class Nursery {
 public:
  // Returns while the broker is still on its way; if it does not arrive, await_sandbox tells why.
  // `cgroup` is the v2 cgroup it is born in, or -1.
  static Result<Nursery> start(const UniqueFd& agent, const NurseryUsers& users, int cgroup);
  Nursery(Nursery&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)),
        pidfd_(std::move(other.pidfd_)),
        socket_(std::move(other.socket_)),
        failure_(std::move(other.failure_)) {}
  Nursery& operator=(Nursery&&) = delete;
  ~Nursery();

  // An empty sandbox, up to the point where its first process says hello on `setup`;
  // `cgroup` is the v2 cgroup it is born in, or -1.
  Result<> ask_for_sandbox(const wire::MakeSandbox& make, int setup, int cgroup);
  // That process.
  Result<UniqueFd> await_sandbox();

  int pidfd() const { return pidfd_.get(); }  // readable when the broker has died
  void stop();

 private:
  Nursery(pid_t pid, UniqueFd pidfd, UniqueFd socket, UniqueFd failure)
      : pid_(pid),
        pidfd_(std::move(pidfd)),
        socket_(std::move(socket)),
        failure_(std::move(failure)) {}
  Error why_it_is_gone() const;
  pid_t pid_ = 0;
  UniqueFd pidfd_;
  UniqueFd socket_;
  UniqueFd failure_;  // what stopped it before it was the broker
};

// Our program for inside, opened; a private unreadable copy if the file on disk could be read,
// since a process of a readable file can be traced by root inside.
Result<UniqueFd> open_agent(const std::string& path);

}  // namespace glovebox::launcher
