// An IPv4 or IPv6 address with its port, as the kernel takes it and as people write it. Numeric, or
// "localhost" for 127.0.0.1: a static program has no resolver.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::http {

class SocketAddress {
 public:
  SocketAddress() = default;

  // "127.0.0.1:80", "[::1]:0", "localhost:7070".
  static Result<SocketAddress> parse(std::string_view text);
  static Result<SocketAddress> make(std::string_view host,
                                    std::uint16_t port);  // "::1", no brackets

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage_); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }
  socklen_t* size_slot() { return &size_; }  // for the kernel to fill

  int family() const { return storage_.sin6_family; }
  std::string host() const;  // an IPv4 address that came over IPv6 is written as IPv4
  // What one party can be taken to hold: an IPv4 address, or an IPv6 network of 64 bits
  // ("2001:db8::/64").
  std::string network() const;
  std::uint16_t port() const;
  std::string str() const;  // "host:port", "[host]:port"
  bool is_loopback() const;

 private:
  sockaddr_in6 storage_{};  // the larger of the two
  socklen_t size_ = sizeof(sockaddr_in6);
};

}  // namespace glovebox::http
