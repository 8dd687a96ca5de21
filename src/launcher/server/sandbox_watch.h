// Which of the launcher's sandboxes need it, out of any number: one descriptor to wait on, and no
// system call for those of which there is nothing to say.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/server/clients.h"

namespace glovebox::launcher {

class SandboxWatch {
 public:
  static Result<SandboxWatch> open();

  int fd() const { return epoll_.get(); }  // readable when take() has something
  // From now on until remove(). `owned` stays where it is.
  Result<> add(Owned& owned);
  void remove(const Owned& owned);
  // After it was told that a session talks: it is told again only then.
  void listen_again(Owned& owned);

  struct News {
    std::vector<Owned*> dead;     // told until they are removed
    std::vector<Owned*> talking;  // sessions whose agents say something
  };
  News take();

 private:
  explicit SandboxWatch(UniqueFd epoll) : epoll_(std::move(epoll)) {}
  UniqueFd epoll_;
};

}  // namespace glovebox::launcher
