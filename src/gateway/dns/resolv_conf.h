// The resolvers of this host, from its resolv.conf, which is read again when it has changed. Only
// `nameserver` lines are used; sandboxes send fully qualified names, so there is no search list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/network.h"
#include "gateway/dns/reloading_file.h"

namespace glovebox::gateway {

inline constexpr std::size_t kMaxDnsServers = 3;  // as in glibc

using DnsServer = config::NameServer;

// The first kMaxDnsServers usable ones: without zones ("fe80::1%eth0") and duplicates.
std::vector<DnsServer> parse_resolv_conf(std::string_view text);

class ResolvConf {
 public:
  using Time = ReloadingFile::Time;

  explicit ResolvConf(std::string path) : file_(std::move(path), kMaxBytes) {}
  // Those of the file; without one 127.0.0.1, as in glibc.
  const std::vector<DnsServer>& servers(Time now);

 private:
  static constexpr std::size_t kMaxBytes = 64 * 1024;

  ReloadingFile file_;
  std::vector<DnsServer> servers_;
};

}  // namespace glovebox::gateway
