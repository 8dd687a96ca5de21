#include "bench/dns_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "bench/network_peer.h"
#include "net/dns_message.h"

namespace glovebox::bench {
namespace {

constexpr std::uint32_t kTtlSeconds = 300;

}  // namespace

Result<std::unique_ptr<DnsServer>> DnsServer::answer(net::HostName name, net::IpAddress address) {
  const sockaddr_storage at = net::IpAddress::v4({127, 0, 0, 1}).to_sockaddr(0);
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC));
  if (!socket || !wake ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at),
             net::IpAddress::sockaddr_size(at)) != 0) {
    return fail(Error::from_errno("start a name server on loopback"));
  }
  return std::unique_ptr<DnsServer>(
      new DnsServer(std::move(name), address, std::move(socket), std::move(wake)));
}

DnsServer::DnsServer(net::HostName name, net::IpAddress address, UniqueFd socket, UniqueFd wake)
    : name_(std::move(name)),
      address_(address),
      socket_(std::move(socket)),
      wake_(std::move(wake)),
      port_(port_of(socket_.get())),
      thread_([this] { serve(); }) {}

DnsServer::~DnsServer() {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

void DnsServer::serve() {
  std::array<std::byte, net::kMaxDnsQuery> bytes{};
  for (;;) {
    pollfd waits[2] = {{socket_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    ::poll(waits, 2, -1);
    if (waits[1].revents != 0) return;
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const ssize_t got = ::recvfrom(socket_.get(), bytes.data(), bytes.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &size);
    if (got <= 0) continue;
    const auto query = net::read_query(std::span(bytes).first(static_cast<std::size_t>(got)));
    if (!query) continue;
    const bool known = query->name == name_;
    const std::vector<std::byte> answer =
        net::write_answer(*query, known ? net::DnsCode::kNoError : net::DnsCode::kNxDomain,
                          std::span(&address_, known ? 1 : 0), kTtlSeconds);
    (void)::sendto(socket_.get(), answer.data(), answer.size(), MSG_NOSIGNAL,
                   reinterpret_cast<const sockaddr*>(&from), size);
  }
}

}  // namespace glovebox::bench
