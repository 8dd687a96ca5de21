#include "gateway/dns/dns_upstream.h"

#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/unique_fd.h"

namespace glovebox::gateway {
namespace {

using Clock = std::chrono::steady_clock;
using Descriptor = asio::posix::stream_descriptor;

std::uint16_t random_id() {
  std::uint16_t id = 0;
  GBX_ASSERT(::getrandom(&id, sizeof id, 0) == sizeof id);
  return id;
}

// A socket that is connected to a server, or connecting.
struct Wire {
  explicit Wire(asio::io_context& io) : socket(io) {}
  int fd() { return socket.native_handle(); }
  Descriptor socket;
};

Result<std::shared_ptr<Wire>> connect_to(asio::io_context& io, const DnsServer& server, int kind) {
  const sockaddr_storage address = server.address.to_sockaddr(server.port);
  UniqueFd fd(::socket(address.ss_family, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail(Error::from_errno("socket for a resolver"));
  const int done = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                             net::IpAddress::sockaddr_size(address));
  if (done != 0 && errno != EINPROGRESS) {
    return fail(Errc::kUnavailable, Error::from_errno("connect to the resolver").message());
  }
  auto wire = std::make_shared<Wire>(io);
  boost::system::error_code error;
  wire->socket.assign(fd.get(), error);
  if (error) return fail(Errc::kResourceExhausted, "poll a socket: " + error.message());
  (void)fd.release();
  return wire;
}

Task<> wait_for(std::shared_ptr<Wire> wire, Descriptor::wait_type which, Clock::time_point end) {
  // The timer's handler may run after everything else was destroyed.
  struct Timeout {
    bool is_waiting = true;
    bool expired = false;
  };
  const auto timeout = std::make_shared<Timeout>();
  asio::steady_timer timer(wire->socket.get_executor(), end);
  timer.async_wait([timeout, weak = std::weak_ptr(wire)](const boost::system::error_code& error) {
    const auto alive = weak.lock();
    if (error || !alive || !timeout->is_waiting) return;
    timeout->expired = true;
    boost::system::error_code ignored;
    alive->socket.cancel(ignored);
  });
  const auto [error] = co_await wire->socket.async_wait(which, kAwaitTuple);
  timeout->is_waiting = false;
  if (timeout->expired) co_return fail(Errc::kTimeout, "the resolver did not answer in time");
  if (error) co_return fail(Errc::kUnavailable, "wait for the resolver: " + error.message());
  co_return Result<>();
}

Error lost(std::string_view doing) {
  return Error(Errc::kUnavailable, Error::from_errno(doing).message());
}

Task<> send_all(std::shared_ptr<Wire> wire, std::vector<std::byte> bytes, Clock::time_point end) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t put =
        ::send(wire->fd(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put >= 0) {
      sent += static_cast<std::size_t>(put);
    } else if (errno == EAGAIN) {
      CO_TRY_OK(co_await wait_for(wire, Descriptor::wait_write, end));
    } else if (errno != EINTR) {
      co_return fail(lost("send to the resolver"));
    }
  }
  co_return Result<>();
}

Task<std::vector<std::byte>> receive_exactly(std::shared_ptr<Wire> wire, std::size_t size,
                                             Clock::time_point end) {
  std::vector<std::byte> bytes(size);
  for (std::size_t at = 0; at < size;) {
    const ssize_t got = ::recv(wire->fd(), bytes.data() + at, size - at, MSG_DONTWAIT);
    if (got > 0) {
      at += static_cast<std::size_t>(got);
    } else if (got == 0) {
      co_return fail(Errc::kUnavailable, "the resolver closed the connection");
    } else if (errno == EAGAIN) {
      CO_TRY_OK(co_await wait_for(wire, Descriptor::wait_read, end));
    } else if (errno != EINTR) {
      co_return fail(lost("receive from the resolver"));
    }
  }
  co_return bytes;
}

bool is_final(const net::DnsAnswer& answer) {
  return answer.code == net::DnsCode::kNoError || answer.code == net::DnsCode::kNxDomain;
}

}  // namespace

Task<net::DnsAnswer> DnsUpstream::ask(std::vector<DnsServer> servers, net::HostName name,
                                      net::DnsType type) {
  if (open_ >= options_.max_open) {
    co_return fail(Errc::kResourceExhausted, "too many DNS queries at once");
  }
  struct Open {
    explicit Open(std::size_t& one) : count(one) { ++count; }
    ~Open() { --count; }
    std::size_t& count;
  };
  const Open counted(open_);
  const Time whole_end = Clock::now() + options_.whole_time;
  sort(servers, Clock::now());
  Error last(Errc::kUnavailable, "no resolver is configured");
  for (int attempt = 0; attempt < options_.tries; ++attempt) {
    for (const DnsServer& server : servers) {
      const Time now = Clock::now();
      if (now >= whole_end) co_return fail(std::move(last));
      Question question{
          .name = name, .type = type, .end = std::min(now + options_.try_time, whole_end)};
      Result<net::DnsAnswer> answer = co_await ask_one(server, std::move(question));
      remember(server, !answer && answer.error().code() == Errc::kTimeout, Clock::now());
      if (answer && is_final(*answer)) co_return std::move(*answer);
      last = answer ? Error(Errc::kUnavailable, "the resolver failed or refused")
                    : std::move(answer.error());
    }
  }
  co_return fail(std::move(last));
}

void DnsUpstream::sort(std::vector<DnsServer>& servers, Time now) {
  std::erase_if(silent_, [&](const auto& one) { return one.second <= now; });
  std::stable_partition(servers.begin(), servers.end(), [&](const DnsServer& server) {
    return std::none_of(silent_.begin(), silent_.end(),
                        [&](const auto& one) { return one.first == server; });
  });
}

void DnsUpstream::remember(const DnsServer& server, bool was_silent, Time now) {
  std::erase_if(silent_, [&](const auto& one) { return one.first == server; });
  if (was_silent && silent_.size() < kMaxDnsServers) {
    silent_.emplace_back(server, now + options_.silent_life);
  }
}

Task<net::DnsAnswer> DnsUpstream::ask_one(DnsServer server, Question question) {
  CO_TRY(net::DnsAnswer answer, co_await ask_datagram(server, question));
  if (!answer.truncated) co_return answer;
  CO_TRY(answer, co_await ask_stream(server, question));
  if (answer.truncated)
    co_return fail(Errc::kProtocol, "the resolver truncated its answer over TCP");
  co_return answer;
}

Task<net::DnsAnswer> DnsUpstream::ask_datagram(DnsServer server, Question question) {
  CO_TRY(const std::shared_ptr<Wire> wire, connect_to(io_, server, SOCK_DGRAM));
  const std::uint16_t id = random_id();
  CO_TRY_OK(
      co_await send_all(wire, net::write_question(id, question.name, question.type), question.end));
  std::array<std::byte, net::kMaxDnsAnswer + 1> buffer;
  for (int mismatched = 0; mismatched < options_.max_mismatched;) {
    const ssize_t got = ::recv(wire->fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      CO_TRY_OK(co_await wait_for(wire, Descriptor::wait_read, question.end));
      continue;
    }
    if (got < 0) co_return fail(lost("receive from the resolver"));
    const auto bytes = std::span(buffer).first(static_cast<std::size_t>(got));
    Result<net::DnsAnswer> answer = net::read_answer(bytes, id, question.name, question.type);
    if (answer || answer.error().code() != Errc::kNotFound) co_return answer;
    ++mismatched;  // forged or timeout: the right answer may still come
  }
  co_return fail(Errc::kProtocol, "too many datagrams that do not answer the query");
}

Task<net::DnsAnswer> DnsUpstream::ask_stream(DnsServer server, Question question) {
  CO_TRY(const std::shared_ptr<Wire> wire, connect_to(io_, server, SOCK_STREAM));
  CO_TRY_OK(co_await wait_for(wire, Descriptor::wait_write, question.end));
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(wire->fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    co_return fail(Errc::kUnavailable,
                   Error::from_errno("connect to the resolver", error).message());
  }
  const std::uint16_t id = random_id();
  const std::vector<std::byte> asked = net::write_question(id, question.name, question.type);
  std::vector<std::byte> framed(2 + asked.size());
  framed[0] = std::byte(asked.size() >> 8);
  framed[1] = std::byte(asked.size() & 0xff);
  std::copy(asked.begin(), asked.end(), framed.begin() + 2);
  CO_TRY_OK(co_await send_all(wire, std::move(framed), question.end));
  CO_TRY(const std::vector<std::byte> head, co_await receive_exactly(wire, 2, question.end));
  const std::size_t length =
      std::to_integer<std::size_t>(head[0]) << 8 | std::to_integer<std::size_t>(head[1]);
  if (length > net::kMaxDnsAnswer)
    co_return fail(Errc::kProtocol, "the resolver's answer is too long");
  CO_TRY(const std::vector<std::byte> bytes, co_await receive_exactly(wire, length, question.end));
  co_return net::read_answer(bytes, id, question.name, question.type);
}

}  // namespace glovebox::gateway
