// Tells by the kernel's current routes whether an address is local: packets to it would not leave
// the host but reach a service on it.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "net/address.h"

namespace glovebox::gateway {

class OwnAddresses {
 public:
  // In the caller's network namespace. Read-only.
  static Result<OwnAddresses> open();

  enum class Location : std::uint8_t {
    kElsewhere,  // routed to another host, or not at all
    kOwn,        // local, or broadcast, anycast or multicast on a link of this host
  };
  // On an error of the kernel the caller must not dial the address.
  Result<Location> find(const net::IpAddress& address);

 private:
  explicit OwnAddresses(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd socket_;
  std::uint32_t sequence_ = 0;
};

}  // namespace glovebox::gateway
