// The resolvers of this host: what its resolv.conf names, read again when that file has changed.
// Only `nameserver` lines count; names from sandboxes are complete, so there is no search list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/network.h"
#include "gateway/dns/reloading_file.h"

namespace glovebox::gateway {

inline constexpr std::size_t kMaxDnsServers = 3;  // as in glibc

using DnsServer = config::NameServer;

// The first kMaxDnsServers that can be used: no zones ("fe80::1%eth0"), nothing twice.
std::vector<DnsServer> parse_resolv_conf(std::string_view text);

class ResolvConf {
 public:
  using Time = RereadFile::Time;

  explicit ResolvConf(std::string path) : file_(std::move(path), kMostBytes) {}
  // Those of the file; where there is no such file or none in it, 127.0.0.1, as everywhere.
  const std::vector<DnsServer>& servers(Time now);

 private:
  static constexpr std::size_t kMostBytes = 64 * 1024;

  RereadFile file_;
  std::vector<DnsServer> servers_;
};

}  // namespace glovebox::gateway
