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
  std::uint32_t host_uid = 0;   // of the nursery's root, as we number users
  std::uint32_t count = 1;      // one: rootless, no slices to give
};

class Nursery {
 public:
  static Result<Nursery> start(const UniqueFd& agent, const NurseryUsers& users);
  Nursery(Nursery&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), pidfd_(std::move(other.pidfd_)),
        socket_(std::move(other.socket_)) {}
  Nursery& operator=(Nursery&&) = delete;
  ~Nursery();

  // An empty sandbox, up to the point where its first process says hello on `setup`; the other end
  // of `link` is the client's. Returns that process.
  Result<UniqueFd> make_sandbox(const wire::MakeSandbox& make, int setup, int link);

  int pidfd() const { return pidfd_.get(); }  // readable when the broker has died
  void stop();

 private:
  Nursery(pid_t pid, UniqueFd pidfd, UniqueFd socket)
      : pid_(pid), pidfd_(std::move(pidfd)), socket_(std::move(socket)) {}
  pid_t pid_ = 0;
  UniqueFd pidfd_;
  UniqueFd socket_;
};

// Our program for inside, opened; a private unreadable copy if the file on disk could be read,
// since a process of a readable file can be traced by root inside.
Result<UniqueFd> open_agent(const std::string& path);

}  // namespace glovebox::launcher
