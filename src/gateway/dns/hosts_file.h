// The names in this host's /etc/hosts. Used only for package builds: if the administrator has put a
// mirror's address there, a build finds it as the host's own pip does.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/dns/name_cache.h"
#include "gateway/dns/reloading_file.h"

namespace glovebox::gateway {

// Addresses by normalized name, in the file's order. Malformed lines are ignored.
using HostsTable = std::unordered_map<std::string, std::vector<net::IpAddress>>;
HostsTable parse_hosts(std::string_view text);

class HostsFile {
 public:
  static constexpr std::size_t kMaxBytes = 1 << 20;
  static constexpr std::size_t kMaxAddresses = 16;  // of one name
  static constexpr std::chrono::seconds kTtl{5};

  explicit HostsFile(std::string path) : file_(std::move(path), kMaxBytes) {}

  // Nothing if the file does not have the name. A name with addresses of the other type only has
  // none of this type; the resolver is not asked.
  std::optional<NameAnswer> find(const net::HostName& name, net::DnsType type,
                                 ReloadingFile::Time now);

 private:
  ReloadingFile file_;
  HostsTable table_;
};

}  // namespace glovebox::gateway
