// One message with descriptors over a SEQPACKET socket, both directions, always CLOEXEC.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

struct SocketPair {
  UniqueFd ours;
  UniqueFd theirs;
};
Result<SocketPair> seqpacket_pair();

inline constexpr std::size_t kMaxPassedFds = 32;

// EAGAIN from a non-blocking socket comes back as kResourceExhausted.
Result<> send_message(int socket, std::span<const std::byte> bytes, std::span<const int> fds = {});

struct Received {
  std::vector<std::byte> bytes;
  std::vector<UniqueFd> fds;
  pid_t sender_pid = 0;  // with SO_PASSCRED set, as the kernel says, not as the sender claims
};
// Empty `bytes` means the other side closed. A message longer than `max_bytes`, or with more than
// `max_fds` descriptors, is a protocol error and its descriptors are closed.
Result<Received> receive_message(int socket, std::size_t max_bytes, std::size_t max_fds);

}  // namespace glovebox
