// The name in a TLS ClientHello, read from the first bytes of an untrusted connection. Records may
// be split anywhere and a hello may span several of them; what is not a ClientHello, or could be
// read in two ways (two server_name extensions, two names, a length that does not add up, a NUL, an
// address for a name), is refused: the server behind would not be asked for what was checked here.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "net/host_name.h"

namespace glovebox::net {

inline constexpr std::size_t kMaxClientHello = 16 * 1024;  // all records together, headers too

struct HelloIncomplete {  // so far it may become one
  // Bytes in all, those received so far among them, below which it need not be parsed again: a
  // whole hello has at least so many. At most kMaxClientHello.
  std::size_t needs = 1;
};
struct HelloRefused {
  std::string why;  // for the log: "no server name", "not TLS", "two server names" ...
  // Certain that there is no name: another protocol, or a complete hello without one. Never set
  // where some server might find a name (records of other types or versions first, an encrypted
  // name).
  bool is_nameless = false;
};
struct HelloName {
  HostName name;
};
using HelloResult = std::variant<HelloIncomplete, HelloRefused, HelloName>;

// `bytes`: everything received so far. Never asks for more than kMaxClientHello. An encrypted
// client hello shows its outer name, and the decision is by that name.
HelloResult read_client_hello(std::span<const std::byte> bytes);

}  // namespace glovebox::net
