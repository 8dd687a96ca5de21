// A TLS server for the benchmark. Serves one connection at a time: a full handshake with a
// certificate that is created for this run, and one byte as response.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"
#include "net/address.h"

struct ssl_ctx_st;

namespace glovebox::bench {

class TlsServer {
 public:
  // For `name`, at this address and port. Refuses connections from other hosts.
  static Result<std::unique_ptr<TlsServer>> listen(const net::IpAddress& address,
                                                   std::uint16_t port, const std::string& name);
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  const std::string& certificate() const { return certificate_; }  // PEM
  std::uint16_t port() const { return port_; }

 private:
  struct FreeContext {
    void operator()(ssl_ctx_st* context) const;
  };
  using Context = std::unique_ptr<ssl_ctx_st, FreeContext>;
  struct Identity;
  static Result<Identity> make_identity(const std::string& name);
  TlsServer(Identity identity, UniqueFd listener, UniqueFd wake);
  void serve();
  void answer(const UniqueFd& connection);

  Context context_;
  std::string certificate_;
  UniqueFd listener_;
  UniqueFd wake_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace glovebox::bench
