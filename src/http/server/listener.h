// Opens the listening socket, while the process may still do so; the server gets the descriptor.
// Numeric addresses and "localhost" only: a static program has no resolver.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::http {

struct Listener {
  UniqueFd fd;          // listening, CLOEXEC, non-blocking
  std::string address;  // the actual one: "127.0.0.1:43121", "[::1]:7070", "0.0.0.0:7070"
  std::string host;     // "127.0.0.1", "::1", "0.0.0.0"
  std::uint16_t port = 0;
  bool is_loopback = false;
};

// "127.0.0.1:7070", "[::1]:0", "localhost:7070", and ":7070" for every IPv4 and IPv6 address.
Result<Listener> open_listener(std::string_view address);

}  // namespace glovebox::http
