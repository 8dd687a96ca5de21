#include "bench/network_fixture.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstring>

#include "net/net_policy.h"

namespace glovebox::bench {
namespace {

Result<> make_peers(NetworkFixture& fixture) {
  const std::vector<net::IpAddress> all = addresses_of_this_host();
  TRY(const net::IpAddress address, pick_address(all));
  TRY(net::HostName name, net::HostName::parse(NetworkFixture::kName));
  TRY(fixture.names, DnsServer::answer(std::move(name), address));
  TRY(fixture.near, NetworkPeer::listen(net::IpAddress::v4({127, 0, 0, 1})));
  TRY(fixture.far, NetworkPeer::listen(address));
  return {};
}

}  // namespace

std::vector<net::IpAddress> addresses_of_this_host() {
  std::vector<net::IpAddress> all;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return all;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_UP) == 0) continue;
    sockaddr_storage address{};
    std::memcpy(&address, one->ifa_addr, sizeof(sockaddr_in));
    if (const auto ip = net::IpAddress::from(address)) all.push_back(*ip);
  }
  ::freeifaddrs(first);
  return all;
}

Result<net::IpAddress> pick_address(std::span<const net::IpAddress> all) {
  Error problem(Errc::kUnsupported, "the host has no address but loopback");
  for (const net::IpAddress& one : all) {
    const auto reserved = net::reserved_as(one);
    if (reserved == "loopback" || reserved == "link-local") continue;
    const auto can_be = net::check_can_be_opened(net::Cidr(one, 32));
    if (can_be) return one;
    problem = can_be.error();
  }
  return fail(std::move(problem));
}

NetworkFixture NetworkFixture::make() {
  NetworkFixture fixture;
  if (const auto made = make_peers(fixture); !made) {
    fixture.unavailable_reason = fixture.tls_unavailable_reason = made.error().message();
    return fixture;
  }
  auto tls = TlsServer::listen(fixture.far->address(), net::kHttpsPort, kName);
  if (tls) {
    fixture.tls = std::move(*tls);
  } else {
    fixture.tls_unavailable_reason = tls.error().message();
  }
  return fixture;
}

std::vector<std::string> NetworkFixture::settings() const {
  if (far == nullptr) return {};
  return {"net.opened=" + far->address().text() + "/32",
          "net.resolvers=127.0.0.1:" + std::to_string(names->port())};
}

}  // namespace glovebox::bench
