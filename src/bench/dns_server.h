// A name server on loopback that knows one name, for the gateway of the benchmark's own server:
// what is measured needs a name that resolves to an address of this host, and asks nobody else.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"
#include "net/address.h"
#include "net/host_name.h"

namespace glovebox::bench {

class NetNames {
 public:
  static Result<std::unique_ptr<NetNames>> answer(net::HostName name, net::IpAddress address);
  ~NetNames();
  NetNames(const NetNames&) = delete;
  NetNames& operator=(const NetNames&) = delete;

  // At 127.0.0.1, over UDP.
  std::uint16_t port() const { return port_; }

 private:
  NetNames(net::HostName name, net::IpAddress address, UniqueFd socket, UniqueFd wake);
  void serve();

  net::HostName name_;
  net::IpAddress address_;
  UniqueFd socket_;
  UniqueFd wake_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace glovebox::bench
