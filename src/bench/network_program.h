// The client program of network measurements: a Python program that runs in a sandbox or, for
// comparison, on the host. Its arguments select the measurement. It prints groups of numbers,
// separated by ';'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/address.h"

namespace glovebox::bench {

// Where a connection goes.
struct NetworkTarget {
  net::IpAddress address;
  std::uint16_t port = 0;
};

// Each returns an argv. Times are in milliseconds.
// One group: the time of each stream, until the other side confirms its end.
std::vector<std::string> send_program(const NetworkTarget& to, unsigned megabytes, unsigned count);
std::vector<std::string> receive_program(const NetworkTarget& to, unsigned megabytes,
                                         unsigned count);
// One group: the time from connect() to the first byte of a response after a full TLS handshake,
// verified against `certificate`. kResolve: includes the name lookup.
enum class FirstOf { kConnect, kResolve };
std::vector<std::string> https_program(const NetworkTarget& to, const std::string& name,
                                       const std::string& certificate, unsigned count,
                                       FirstOf first);
// With `idle` connections open. Two groups: the time of each of `connects` new connections to its
// first echoed byte; then of `echoes` bytes through the open ones in turn.
std::vector<std::string> relays_program(const NetworkTarget& to, unsigned idle, unsigned connects,
                                        unsigned echoes);
// One group: bytes echoed one after another through one connection, a millisecond apart.
std::vector<std::string> echo_program(const NetworkTarget& to, unsigned for_ms);
// Opens as many connections as it can without waiting for them. One group: begin and end (seconds
// since 1970) and the number of connections.
std::vector<std::string> flood_program(const NetworkTarget& to, unsigned for_ms);

using Groups = std::vector<std::vector<double>>;
// kProtocol: not exactly `count` groups of numbers.
Result<Groups> parse_groups(std::string_view text, std::size_t count);

}  // namespace glovebox::bench
