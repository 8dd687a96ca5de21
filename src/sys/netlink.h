// The part of netlink that a sandbox's network namespace needs: messages are built, sent in one
// batch, and the kernel's answer is awaited. Uses no library and no program of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::sys {

// Attributes of one message, or of one that is nested in another.
class NetlinkAttributes {
 public:
  void bytes(std::uint16_t type, const void* value, std::size_t size);
  void text(std::uint16_t type, std::string_view value);  // with the zero that C wants
  void be32(std::uint16_t type, std::uint32_t value);
  void be64(std::uint16_t type, std::uint64_t value);
  void nested(std::uint16_t type, const NetlinkAttributes& inner);
  const std::string& data() const { return data_; }

 private:
  std::string data_;
};

// Several messages for one sendto(). The kernel reports each that fails, and the last one anyway.
class NetlinkBatch {
 public:
  // `head` is the family's own structure behind the common header.
  void add(std::uint16_t type, std::uint16_t flags, const void* head, std::size_t head_size,
           const NetlinkAttributes& attributes);
  // Asks for an answer to what was added last.
  void want_answer();
  // Over a new socket of this protocol (NETLINK_ROUTE, NETLINK_NETFILTER). What fails first is the
  // error; `what` names it.
  Result<> send(int protocol, const char* what);

 private:
  std::string messages_;
  std::size_t last_ = 0;  // where the last one begins
  std::uint32_t sequence_ = 0;
  std::uint32_t awaited_ = 0;
};

}  // namespace glovebox::sys
