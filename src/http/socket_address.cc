#include "http/socket_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace glovebox::http {

Result<SocketAddress> SocketAddress::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return fail(Errc::kInvalidArgument, "an address must be host:port, not " + std::string(text));
  }
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return fail(Errc::kInvalidArgument, "not a port: " + std::string(digits));
  }
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return fail(Errc::kInvalidArgument,
                "an IPv6 address must be written [" + std::string(host) + "]");
  }
  return make(host, port);
}

Result<SocketAddress> SocketAddress::make(std::string_view host, std::uint16_t port) {
  const std::string text = host == "localhost" ? "127.0.0.1" : std::string(host);
  SocketAddress address;
  auto* four = reinterpret_cast<sockaddr_in*>(&address.storage_);
  if (::inet_pton(AF_INET, text.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    address.size_ = sizeof(sockaddr_in);
    return address;
  }
  if (::inet_pton(AF_INET6, text.c_str(), &address.storage_.sin6_addr) == 1) {
    address.storage_.sin6_family = AF_INET6;
    address.storage_.sin6_port = htons(port);
    return address;
  }
  return fail(
      Errc::kInvalidArgument,
      "\"" + text + "\" is neither a numeric address nor localhost; names are not looked up");
}

std::string SocketAddress::host() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr, text,
                sizeof text);
  } else if (IN6_IS_ADDR_V4MAPPED(&storage_.sin6_addr)) {
    ::inet_ntop(AF_INET, &storage_.sin6_addr.s6_addr[12], text, sizeof text);
  } else {
    ::inet_ntop(AF_INET6, &storage_.sin6_addr, text, sizeof text);
  }
  return text;
}

std::string SocketAddress::network() const {
  if (family() == AF_INET || IN6_IS_ADDR_V4MAPPED(&storage_.sin6_addr)) return host();
  in6_addr prefix{};
  std::copy_n(storage_.sin6_addr.s6_addr, 8, prefix.s6_addr);
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(AF_INET6, &prefix, text, sizeof text);
  return std::string(text) + "/64";
}

std::uint16_t SocketAddress::port() const { return ntohs(storage_.sin6_port); }

std::string SocketAddress::str() const {
  std::string name = host();
  if (name.find(':') != std::string::npos) name = "[" + name + "]";
  return name + ":" + std::to_string(port());
}

bool SocketAddress::is_loopback() const {
  const std::string name = host();
  return name.starts_with("127.") || name == "::1";
}

}  // namespace glovebox::http
