// The client of the rows about networks: one Python program that runs in a sandbox or, for
// comparison, outside of it, with words that say what to do. It writes its figures to standard
// output: groups of numbers, separated by ';'.
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

// Each is an argv. Times in the answers are milliseconds.
// One group: the time of each stream of so many megabytes, to the end that the other side confirms.
std::vector<std::string> send_program(const NetworkTarget& to, unsigned megabytes, unsigned count);
std::vector<std::string> receive_program(const NetworkTarget& to, unsigned megabytes,
                                         unsigned count);
// One group: the time from connect() to the first byte of an answer behind a whole TLS handshake,
// whose certificate is verified against `certificate`. kResolved: the name is asked for before.
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
// As many connections as it can begin, none of which it waits for. One group: when it began and
// ended (seconds since 1970), and how many they were.
std::vector<std::string> flood_program(const NetworkTarget& to, unsigned for_ms);

using Groups = std::vector<std::vector<double>>;
// kProtocol unless there are exactly so many groups, each of numbers.
Result<Groups> parse_groups(std::string_view text, std::size_t count);

}  // namespace glovebox::bench
