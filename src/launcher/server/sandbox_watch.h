// Notices, with one epoll descriptor for any number of sandboxes, which of them have died and which
// sessions' agents have sent a message. Sandboxes without events cost no system call.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/server/sandbox_record.h"

namespace glovebox::launcher {

class SandboxWatch {
 public:
  static Result<SandboxWatch> open();

  int fd() const { return epoll_.get(); }  // readable when take() has something
  // Until remove(). The record's address must not change meanwhile.
  Result<> add(SandboxRecord& record);
  void remove(const SandboxRecord& record);
  // A session whose agent sent a message is not reported again before this call.
  void rearm(SandboxRecord& record);

  struct Events {
    std::vector<SandboxRecord*> dead;      // reported until they are removed
    std::vector<SandboxRecord*> readable;  // sessions whose agents sent a message
  };
  Events take();

 private:
  explicit SandboxWatch(UniqueFd epoll) : epoll_(std::move(epoll)) {}
  UniqueFd epoll_;
};

}  // namespace glovebox::launcher
