// What resolvers have said, kept for as long as they said, within bounds, per tenant: one tenant
// neither sees in the time of an answer what another has asked, nor pushes out what another has.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "net/dns_message.h"

namespace glovebox::gateway {

// What came of a question: addresses, or why there are none.
struct NameAnswer {
  enum class State : std::uint8_t {
    kFound = 1,      // some addresses
    kNoAddress = 2,  // the name is there, but has none of this type
    kNoName = 3,     // NXDOMAIN
    kNoAnswer = 4,   // the resolvers failed
  };
  State state = State::kNoAnswer;
  std::vector<net::IpAddress> addresses;  // as the resolver said them, whatever they are
  std::vector<net::HostName> aliases;     // the names on the way to them
  std::chrono::seconds ttl{0};            // from now on
};

struct NameCacheOptions {
  std::size_t max_tenants = 256;  // the one that asked longest ago is forgotten
  std::size_t max_names = 2048;   // of one tenant; likewise
  std::chrono::seconds min_ttl{1};
  std::chrono::seconds max_ttl{60};
  std::chrono::seconds negative_ttl{5};  // no address, no such name
  std::chrono::seconds failure_ttl{1};   // no answer
};

class NameCache {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit NameCache(NameCacheOptions options) : options_(options) {}

  // With the time that is left of it.
  std::optional<NameAnswer> find(const std::string& tenant, const net::HostName& name,
                                 net::DnsType type, Time now);
  // Clips the answer's ttl and keeps it that long; gives back the clipped one.
  NameAnswer keep(const std::string& tenant, const net::HostName& name, net::DnsType type,
                  NameAnswer answer, Time now);

  std::size_t tenants() const { return tenants_.size(); }
  std::size_t names(const std::string& tenant) const;

 private:
  using Key = std::pair<net::HostName, net::DnsType>;
  struct Entry {
    NameAnswer answer;
    Time end;
    std::list<Key>::iterator used;
  };
  struct Tenant {
    std::map<Key, Entry> entries;
    std::list<Key> by_use;  // the last is the latest
    std::list<std::string>::iterator used;
  };
  void forget(Tenant& tenant, std::map<Key, Entry>::iterator entry);
  Tenant& tenant_of(const std::string& tenant);

  NameCacheOptions options_;
  std::map<std::string, Tenant> tenants_;
  std::list<std::string> by_use_;
};

}  // namespace glovebox::gateway
