// The resolvers' answers, cached for their TTL within bounds, per tenant: a tenant can neither tell
// from the time of an answer what another has asked, nor evict another's entries.
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

// The outcome of a query: addresses, or why there are none.
struct NameAnswer {
  enum class State : std::uint8_t {
    kFound = 1,      // there are addresses
    kNoAddress = 2,  // the name exists and has no address of this type
    kNoName = 3,     // NXDOMAIN
    kNoAnswer = 4,   // the resolvers failed
  };
  State state = State::kNoAnswer;
  std::vector<net::IpAddress> addresses;  // unfiltered
  std::vector<net::HostName> aliases;     // the CNAME chain
  std::chrono::seconds ttl{0};            // remaining
};

struct NameCacheOptions {
  std::size_t max_tenants = 256;  // the least recently used one is dropped
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

  // With the remaining TTL.
  std::optional<NameAnswer> find(const std::string& tenant, const net::HostName& name,
                                 net::DnsType type, Time now);
  // Clamps the answer's TTL, caches it that long, and returns the clamped answer.
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
    std::list<Key> by_use;  // most recently used last
    std::list<std::string>::iterator used;
  };
  void forget(Tenant& tenant, std::map<Key, Entry>::iterator entry);
  Tenant& tenant_of(const std::string& tenant);

  NameCacheOptions options_;
  std::map<std::string, Tenant> tenants_;
  std::list<std::string> by_use_;
};

}  // namespace glovebox::gateway
