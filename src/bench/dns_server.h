// A name server on loopback that knows one name. The gateway of the measured server uses it to
// resolve a name to an address of this host, without other name servers.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"
#include "net/address.h"
#include "net/host_name.h"

namespace glovebox::bench {

class DnsServer {
 public:
  static Result<std::unique_ptr<DnsServer>> answer(net::HostName name, net::IpAddress address);
  ~DnsServer();
  DnsServer(const DnsServer&) = delete;
  DnsServer& operator=(const DnsServer&) = delete;

  // At 127.0.0.1, over UDP.
  std::uint16_t port() const { return port_; }

 private:
  DnsServer(net::HostName name, net::IpAddress address, UniqueFd socket, UniqueFd wake);
  void serve();

  net::HostName name_;
  net::IpAddress address_;
  UniqueFd socket_;
  UniqueFd wake_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace glovebox::bench
