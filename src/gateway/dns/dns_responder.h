// Answers the DNS queries of one sandbox on its datagram socket. Whatever address the sandbox sent
// a query to (port 53), the reply comes from that address. Only a few datagrams are read each time
// the socket is ready, so that others are served too; the kernel drops a flood.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"
#include "gateway/dns/sandbox_names.h"

namespace glovebox::gateway {

class DnsResponder {
 public:
  // `socket`: an IPv4 datagram socket with IP_PKTINFO, created inside the sandbox. Serves until
  // close() or the destructor.
  static Result<std::unique_ptr<DnsResponder>> open(asio::io_context& io, UniqueFd socket,
                                                    std::shared_ptr<SandboxNames> names);
  ~DnsResponder() { close(); }
  DnsResponder(const DnsResponder&) = delete;
  DnsResponder& operator=(const DnsResponder&) = delete;
  void close();

 private:
  struct Inner;
  explicit DnsResponder(std::shared_ptr<Inner> inner) : inner_(std::move(inner)) {}
  std::shared_ptr<Inner> inner_;
};

}  // namespace glovebox::gateway
