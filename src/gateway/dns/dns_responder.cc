#include "gateway/dns/dns_responder.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "net/dns_message.h"

namespace glovebox::gateway {
namespace {

using Descriptor = asio::posix::stream_descriptor;

constexpr int kAtOnce = 16;  // datagrams read before others are served
constexpr std::chrono::milliseconds kShortestRest{20};

// The sender of a query, and the address it was sent to.
struct Asker {
  sockaddr_in from{};
  in_addr asked{};
};

union ControlBuffer {
  cmsghdr header;  // for its alignment
  std::array<char, CMSG_SPACE(sizeof(in_pktinfo))> bytes;
};

std::optional<in_addr> asked_address(msghdr& message) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != IPPROTO_IP || c->cmsg_type != IP_PKTINFO) continue;
    if (c->cmsg_len < CMSG_LEN(sizeof(in_pktinfo))) continue;
    in_pktinfo info{};
    std::memcpy(&info, CMSG_DATA(c), sizeof info);
    return info.ipi_addr;
  }
  return std::nullopt;
}

}  // namespace

struct DnsResponder::Inner {
  Inner(asio::io_context& one, std::shared_ptr<SandboxNames> of)
      : io(one), socket(one), timer(one), names(std::move(of)) {}

  asio::io_context& io;
  Descriptor socket;
  asio::steady_timer timer;
  std::shared_ptr<SandboxNames> names;
  bool closed = false;

  static asio::awaitable<void> serve(std::shared_ptr<Inner> self);
  static asio::awaitable<void> answer_later(std::shared_ptr<Inner> self, Asker asker,
                                            net::DnsQuery query);
  enum class Step : std::uint8_t { kServed, kEmpty, kOverloaded };
  static Step serve_one(const std::shared_ptr<Inner>& self);
  void answer(const Asker& asker, const net::DnsQuery& query, const NameReply& reply);
  void send(const Asker& asker, std::span<const std::byte> bytes);
};

asio::awaitable<void> DnsResponder::Inner::serve(std::shared_ptr<Inner> self) {
  while (!self->closed) {
    const auto [error] = co_await self->socket.async_wait(Descriptor::wait_read, kAwaitTuple);
    if (error || self->closed) co_return;
    Step step = Step::kServed;
    for (int i = 0; i < kAtOnce && step == Step::kServed; ++i) step = serve_one(self);
    if (step == Step::kServed) co_await asio::post(self->io, asio::use_awaitable);
    if (step == Step::kOverloaded) {
      // Not read meanwhile: the kernel drops what does not fit into the socket's buffer.
      const std::chrono::nanoseconds rest = self->names->silence_time();
      self->timer.expires_after(std::max<std::chrono::nanoseconds>(rest, kShortestRest));
      (void)co_await self->timer.async_wait(kAwaitTuple);
    }
  }
}

DnsResponder::Inner::Step DnsResponder::Inner::serve_one(const std::shared_ptr<Inner>& self) {
  Asker asker;
  std::array<std::byte, net::kMaxDnsQuery + 1> buffer;
  ControlBuffer control;
  iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
  msghdr message{};
  message.msg_name = &asker.from;
  message.msg_namelen = sizeof asker.from;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t got = ::recvmsg(self->socket.native_handle(), &message, MSG_DONTWAIT);
  if (got < 0) {
    if (errno == EAGAIN) return Step::kEmpty;
    // An ICMP error about an earlier reply is reported here once and can be ignored. Any other
    // error (no memory) may have passed after a delay.
    const bool is_known = errno == EINTR || errno == ECONNREFUSED || errno == ENETUNREACH ||
                          errno == EHOSTUNREACH || errno == EPERM || errno == EACCES;
    return is_known ? Step::kServed : Step::kOverloaded;
  }
  const SandboxNames::Rate rate = self->names->take_question();
  if (rate == SandboxNames::Rate::kSilent) return Step::kOverloaded;
  const auto asked = asked_address(message);
  const bool is_v4 = message.msg_namelen >= sizeof asker.from && asker.from.sin_family == AF_INET;
  if (!asked || !is_v4) return Step::kServed;
  asker.asked = *asked;
  const auto bytes = std::span(buffer).first(static_cast<std::size_t>(got));
  const auto query = net::read_query(bytes);
  if (rate == SandboxNames::Rate::kRefused) {
    const NameReply reply = self->names->refuse_by_rate();
    if (query) self->answer(asker, *query, reply);
  } else if (!query) {
    if (query.error().answer) self->send(asker, *query.error().answer);
  } else if (const auto reply = self->names->reply_now(*query)) {
    self->answer(asker, *query, *reply);
  } else {
    asio::co_spawn(self->io, answer_later(self, asker, *query), asio::detached);
  }
  return Step::kServed;
}

asio::awaitable<void> DnsResponder::Inner::answer_later(std::shared_ptr<Inner> self, Asker asker,
                                                        net::DnsQuery query) {
  const NameReply reply = co_await SandboxNames::resolve_and_reply(self->names, query);
  if (!self->closed) self->answer(asker, query, reply);
}

void DnsResponder::Inner::answer(const Asker& asker, const net::DnsQuery& query,
                                 const NameReply& reply) {
  send(asker, net::write_answer(query, reply.code, reply.addresses, reply.ttl_s, reply.why));
}

// A reply that cannot be sent now is dropped, like any datagram: the sandbox will ask again.
void DnsResponder::Inner::send(const Asker& asker, std::span<const std::byte> bytes) {
  sockaddr_in to = asker.from;
  iovec part{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
  ControlBuffer control{};
  msghdr message{};
  message.msg_name = &to;
  message.msg_namelen = sizeof to;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = IPPROTO_IP;
  header->cmsg_type = IP_PKTINFO;
  header->cmsg_len = CMSG_LEN(sizeof(in_pktinfo));
  in_pktinfo info{};
  info.ipi_spec_dst = asker.asked;
  std::memcpy(CMSG_DATA(header), &info, sizeof info);
  (void)::sendmsg(socket.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

Result<std::unique_ptr<DnsResponder>> DnsResponder::open(asio::io_context& io, UniqueFd socket,
                                                         std::shared_ptr<SandboxNames> names) {
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof domain;
  const bool is_known = ::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
                        ::getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &size) == 0;
  if (!is_known || domain != AF_INET || type != SOCK_DGRAM) {
    return fail(Errc::kInvalidArgument, "the DNS socket is not an IPv4 datagram socket");
  }
  auto inner = std::make_shared<Inner>(io, std::move(names));
  boost::system::error_code error;
  inner->socket.assign(socket.get(), error);
  if (error) return fail(Errc::kResourceExhausted, "poll the DNS socket: " + error.message());
  (void)socket.release();
  asio::co_spawn(io, Inner::serve(inner), asio::detached);
  return std::unique_ptr<DnsResponder>(new DnsResponder(std::move(inner)));
}

void DnsResponder::close() {
  if (std::exchange(inner_->closed, true)) return;
  boost::system::error_code ignored;
  inner_->socket.close(ignored);
  inner_->timer.cancel();
}

}  // namespace glovebox::gateway
