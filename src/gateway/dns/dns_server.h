// Serves one sandbox's datagram socket: whatever address it asked at port 53, the answer comes from
// there. A few datagrams for each time the socket is ready, then others have their turn; a flood is
// left in the socket, where the kernel throws it away.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"
#include "gateway/dns/sandbox_names.h"

namespace glovebox::gateway {

class DnsDoor {
 public:
  // `socket`: an IPv4 datagram socket with IP_PKTINFO on, made inside the sandbox. Serves from now
  // on until it is closed or destroyed.
  static Result<std::unique_ptr<DnsDoor>> open(asio::io_context& io, UniqueFd socket,
                                               std::shared_ptr<SandboxNames> names);
  ~DnsDoor() { close(); }
  DnsDoor(const DnsDoor&) = delete;
  DnsDoor& operator=(const DnsDoor&) = delete;
  void close();

 private:
  struct Inner;
  explicit DnsDoor(std::shared_ptr<Inner> inner) : inner_(std::move(inner)) {}
  std::shared_ptr<Inner> inner_;
};

}  // namespace glovebox::gateway
