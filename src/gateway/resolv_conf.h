// The resolvers of this host: what its resolv.conf names, read again when that file has changed.
// Only `nameserver` lines count; names from sandboxes are complete, so there is no search list.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/network.h"

namespace glovebox::gateway {

inline constexpr std::size_t kMaxDnsServers = 3;  // as in glibc

using DnsServer = config::NameServer;

// The first kMaxDnsServers that can be used: no zones ("fe80::1%eth0"), nothing twice.
std::vector<DnsServer> parse_resolv_conf(std::string_view text);

class ResolvConf {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kLookEvery{3};

  explicit ResolvConf(std::string path) : path_(std::move(path)) {}
  // Those of the file; where there is no such file or none in it, 127.0.0.1, as everywhere.
  const std::vector<DnsServer>& servers(Time now);

 private:
  struct Stamp {
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    bool operator==(const Stamp&) const = default;
  };
  void look();

  std::string path_;
  std::optional<Time> looked_;
  std::optional<Stamp> stamp_;
  std::vector<DnsServer> servers_;
};

}  // namespace glovebox::gateway
