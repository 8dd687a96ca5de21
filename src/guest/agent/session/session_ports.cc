#include "guest/agent/session/session_ports.h"

#include <netinet/in.h>
#include <sys/socket.h>

namespace glovebox::agent {
namespace {

constexpr std::size_t kMaxPending = 128;
// Loopback answers at once, or its queue is full: then the server waits, not we.
constexpr std::chrono::milliseconds kToAnswer{500};

int connect_to(int socket, std::uint16_t port, bool version_6) {
  sockaddr_storage storage{};
  socklen_t size = 0;
  if (version_6) {
    auto& address = reinterpret_cast<sockaddr_in6&>(storage);
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    address.sin6_addr = in6addr_loopback;
    size = sizeof address;
  } else {
    auto& address = reinterpret_cast<sockaddr_in&>(storage);
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    size = sizeof address;
  }
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&storage), size) == 0 ? 0 : errno;
}

}  // namespace

void SessionPorts::connect(const wire::ConnectPort& asked) { begin(asked, false); }

void SessionPorts::begin(const wire::ConnectPort& asked, bool last_try) {
  if (pending_.size() >= kMaxPending || streams_.is_full())
    return outbox_.queue(wire::PortRefused{asked.request, EAGAIN});
  UniqueFd socket(
      ::socket(last_try ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) {
    const int error = last_try ? ECONNREFUSED : errno;
    return outbox_.queue(wire::PortRefused{asked.request, error});
  }
  const int error = connect_to(socket.get(), asked.port, last_try);
  const std::uint64_t number = ++last_;
  Pending& pending = pending_[number];
  pending.asked = asked;
  pending.last_try = last_try;
  pending.deadline = AgentClock::now() + kToAnswer;
  pending.socket = WatchedFd(epoll_, key_ + number, std::move(socket));
  if (error != EINPROGRESS || !pending.socket.want(EPOLLOUT)) conclude(number, error);
}

void SessionPorts::on_event(std::uint64_t number) {
  const auto at = pending_.find(number);
  if (at == pending_.end()) return;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(at->second.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0)
    error = errno;
  conclude(number, error);
}

void SessionPorts::conclude(std::uint64_t number, int error) {
  const auto at = pending_.find(number);
  Pending pending = std::move(at->second);
  pending_.erase(at);
  if (error == 0 || error == EINPROGRESS) {
    const wire::RequestNumber request = pending.asked.request;
    if (streams_.carrier() == wire::Carrier::kDescriptors) {
      return outbox_.queue(wire::PortConnected{request}, pending.socket.take());
    }
    outbox_.queue(wire::PortConnected{request});
    return streams_.add(request, pending.socket.take(), wire::FramedStream::Carries::kBoth);
  }
  if (!pending.last_try) return begin(pending.asked, true);
  outbox_.queue(wire::PortRefused{pending.asked.request, error});
}

std::optional<AgentClock::time_point> SessionPorts::next_deadline() const {
  std::optional<AgentClock::time_point> next;
  for (const auto& [number, pending] : pending_) {
    if (!next || pending.deadline < *next) next = pending.deadline;
  }
  return next;
}

void SessionPorts::on_time(AgentClock::time_point now) {
  for (auto at = pending_.begin(); at != pending_.end();) {
    const std::uint64_t number = at->first;
    const bool late = at->second.deadline <= now;
    ++at;
    if (late) conclude(number, EINPROGRESS);
  }
}

}  // namespace glovebox::agent
