// The names in this host's /etc/hosts. Sandboxes have no part in them, save the builds of packages:
// where the administrator has written down a mirror's address there, a build finds it as the
// host's own pip does.
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

// Name, in one form: its addresses, in the file's order. Lines that make no sense are passed over.
using HostsTable = std::unordered_map<std::string, std::vector<net::IpAddress>>;
HostsTable parse_hosts(std::string_view text);

class HostsFile {
 public:
  static constexpr std::size_t kMostBytes = 1 << 20;
  static constexpr std::size_t kMaxAddresses = 16;  // of one name
  static constexpr std::chrono::seconds kTtl{5};

  explicit HostsFile(std::string path) : file_(std::move(path), kMostBytes) {}

  // Nothing: the file does not have the name. One that has addresses of the other type only has
  // none of this type, whatever a resolver says.
  std::optional<NameAnswer> find(const net::HostName& name, net::DnsType type,
                                 RereadFile::Time now);

 private:
  RereadFile file_;
  HostsTable table_;
};

}  // namespace glovebox::gateway
