// Which addresses a sandbox was told for which names. A name in a policy's rule counts for an
// address only if it stands here. Bounded: what was told longest ago goes first, which costs a
// sandbox that asks for thousands of names nobody's connections but its own.
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "net/address.h"
#include "net/host_name.h"

namespace glovebox::gateway {

class Pins {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Programs use an address long after its ttl: pools of connections, a JVM, a proxy's upstream.
  static constexpr std::chrono::seconds kLife{3600};
  static constexpr std::size_t kMaxPins = 4096;      // pairs
  static constexpr std::size_t kMaxPerAddress = 64;  // names

  void add(const net::HostName& name, std::span<const net::IpAddress> addresses, Time now);
  bool has(const net::HostName& name, const net::IpAddress& address, Time now) const;
  // The one told last comes first.
  std::vector<net::HostName> names_of(const net::IpAddress& address, Time now) const;
  std::size_t size() const { return by_age_.size(); }

 private:
  struct Pin {
    net::IpAddress address;
    net::HostName name;
    Time end;
  };
  using Age = std::list<Pin>;  // oldest first
  void add(const net::HostName& name, const net::IpAddress& address, Time now);
  void drop(Age::iterator pin);

  Age by_age_;
  std::map<net::IpAddress, std::vector<Age::iterator>> by_address_;  // oldest first
};

}  // namespace glovebox::gateway
