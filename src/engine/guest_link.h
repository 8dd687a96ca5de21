// Our end of a sandbox's own socket: typed frames, and files that go in and out in chunks.
// Whatever comes back is the guest's word: parsed, bounded, never trusted.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd_message.h"
#include "base/result.h"
#include "model/sandbox_spec.h"
#include "wire/guest/guest_frames.h"

namespace glovebox::engine {

class GuestLink {
 public:
  explicit GuestLink(int socket) : socket_(socket) {}  // borrowed

  Result<> send(const wire::ClientFrame& frame);

  struct Incoming {
    wire::AgentFrame frame;
    std::vector<UniqueFd> fds;
  };
  // kUnavailable when the sandbox is gone.
  Result<Incoming> receive();

  // Sends all of it; the answer (FileStored or FileFailed) comes later, in order.
  Result<> put(const FileIn& file);
  // Fetches into `file.host`, by way of a new file beside it, so that a failure leaves what was
  // there before.
  // More than `most_bytes` is refused: a guest's sparse file can claim to be any size.
  Result<> get(const FileOut& file, std::uint64_t most_bytes);

 private:
  int socket_;
};

}  // namespace glovebox::engine
