// Whether an address is one of this host's own, as the kernel's routes say at this moment: what is
// sent there would not leave the machine, but reach whatever listens on it.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "net/address.h"

namespace glovebox::gateway {

class OwnAddresses {
 public:
  // In the network namespace of the caller. Nothing is changed by asking.
  static Result<OwnAddresses> open();

  enum class Place : std::uint8_t {
    kElsewhere,  // a way out, or none at all
    kOwn,        // ours, or everybody's on a link of ours: broadcast, anycast, multicast
  };
  // An error is the kernel's; whoever asks then dials nothing.
  Result<Place> find(const net::IpAddress& address);

 private:
  explicit OwnAddresses(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd socket_;
  std::uint32_t sequence_ = 0;
};

}  // namespace glovebox::gateway
