// Which addresses DNS has returned to a sandbox for which names. A policy's rule for a name applies
// to an address only if the pair is here. Bounded per sandbox: the oldest pair is dropped first,
// which affects only the sandbox that asks for thousands of names.
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
  // Programs use an address long after its TTL: connection pools, a JVM, a proxy.
  static constexpr std::chrono::seconds kLife{3600};
  static constexpr std::size_t kMaxPins = 4096;      // pairs
  static constexpr std::size_t kMaxPerAddress = 64;  // names

  void add(const net::HostName& name, std::span<const net::IpAddress> addresses, Time now);
  bool has(const net::HostName& name, const net::IpAddress& address, Time now) const;
  // The latest first.
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
