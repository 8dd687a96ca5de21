#include "gateway/relay/relays.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/post.hpp>
#include <string_view>

namespace glovebox::gateway {
namespace {

// Before the rest of the process runs: some 200 microseconds.
constexpr std::size_t kBytesAtOnce = 1024 * 1024;
constexpr int kTurnsAtOnce = 64;
constexpr std::size_t kEventsAtOnce = 256;
constexpr std::uint32_t kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

// A vanished peer is noticed after about two and a half minutes.
constexpr int kKeepAliveIdleSeconds = 75;
constexpr int kKeepAliveEverySeconds = 15;
constexpr int kKeepAliveTries = 5;

constexpr int kMaxUnsent = 128 * 1024;

void prepare(int socket) {
  const auto set = [&](int level, int option, int value) {
    (void)::setsockopt(socket, level, option, &value, sizeof value);
  };
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
  reset_at_close(socket, false);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_OOBINLINE, 1);  // urgent data stays in the stream
  // Data that the other side is not ready for waits at its sender, not here.
  set(IPPROTO_TCP, TCP_NOTSENT_LOWAT, kMaxUnsent);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveEverySeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveTries);
}

// The path to a guest is this host's memory, without loss or contention, so the simplest congestion
// control is enough. The host's default may pace packets by a timer (bbr), which costs a third of
// the relay's time.
void prepare_for_guest(int socket) {
  constexpr std::string_view kSimplest = "reno";
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, kSimplest.data(), kSimplest.size());
}

}  // namespace

Result<std::unique_ptr<Relays>> Relays::make(asio::io_context& io, std::size_t max_pipes) {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail(Error::from_errno("epoll_create1"));
  return std::unique_ptr<Relays>(new Relays(io, std::move(epoll), max_pipes));
}

Relays::Relays(asio::io_context& io, UniqueFd epoll, std::size_t max_pipes)
    : io_(io), epoll_(epoll.get()), descriptor_(io, epoll.release()), pipes_(max_pipes) {
  wait();
}

Relays::~Relays() { *alive_ = false; }

Result<RelayId> Relays::start(UniqueFd guest, UniqueFd server, RelayOwner& owner) {
  const RelayId id = next_id_++;
  prepare_for_guest(guest.get());
  auto relay = std::make_unique<Relay>(id, std::move(guest), std::move(server), owner, pipes_);
  for (const Relay::Side side : {Relay::Side::kGuest, Relay::Side::kServer}) {
    prepare(relay->fd(side));
    epoll_event event{};
    event.events = kEvents;
    event.data.u64 = id * 2 + static_cast<std::uint64_t>(side);
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, relay->fd(side), &event) != 0) {
      relay->reset();
      return fail(Error::from_errno("epoll_ctl"));
    }
  }
  relays_.emplace(id, std::move(relay));
  return id;
}

void Relays::cut(RelayId id) {
  const auto found = relays_.find(id);
  if (found == relays_.end()) return;
  found->second->reset();
  relays_.erase(found);  // an id in ready_ that does not exist any more is skipped
}

void Relays::flush(RelayId id) {
  const auto found = relays_.find(id);
  if (found == relays_.end()) return;
  found->second->flush();
  relays_.erase(found);
}

void Relays::wait() {
  if (is_scheduled_) return;
  is_scheduled_ = true;
  descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [this, alive = alive_](const boost::system::error_code& error) {
                           if (!*alive || error) return;
                           is_scheduled_ = false;
                           step();
                         });
}

void Relays::schedule_step() {
  if (is_scheduled_) return;
  is_scheduled_ = true;
  asio::post(io_, [this, alive = alive_] {
    if (!*alive) return;
    is_scheduled_ = false;
    step();
  });
}

void Relays::step() {
  collect_events();
  run_ready();
  ready_.empty() ? wait() : schedule_step();
}

void Relays::collect_events() {
  std::array<epoll_event, kEventsAtOnce> events;
  const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const auto found = relays_.find(event.data.u64 / 2);
    if (found == relays_.end()) continue;
    Relay& relay = *found->second;
    relay.note(static_cast<Relay::Side>(event.data.u64 % 2), event.events);
    if (!relay.is_queued) enqueue(relay);
  }
}

void Relays::enqueue(Relay& relay) {
  relay.is_queued = true;
  const auto& lane = relay.owner().lane;
  lane->ready.push_back(relay.id());
  if (lane->is_queued) return;
  lane->is_queued = true;
  ready_.push_back(lane);
}

void Relays::run_ready() {
  std::size_t moved = 0;
  for (int turns = 0; turns < kTurnsAtOnce && moved < kBytesAtOnce && !ready_.empty(); ++turns) {
    moved += run_next();
  }
}

// Serves the first relay of the next sandbox. Returns how many bytes it has moved.
std::size_t Relays::run_next() {
  const auto lane = std::move(ready_.front());
  ready_.pop_front();
  const RelayId id = lane->ready.front();
  lane->ready.pop_front();
  // The sandbox goes to the end of the queue before its relay can queue it again.
  lane->is_queued = !lane->ready.empty();
  if (lane->is_queued) ready_.push_back(lane);
  const auto found = relays_.find(id);
  if (found == relays_.end()) return 0;
  Relay& relay = *found->second;
  relay.is_queued = false;
  const auto progress = relay.transfer(ready_.empty() ? Relay::kMaxBytes : Relay::kFairBytes);
  const std::size_t moved = relay.moved();
  switch (progress) {
    case Relay::Progress::kWaits:
      break;
    case Relay::Progress::kMore:
      enqueue(relay);
      break;
    case Relay::Progress::kEnded:
      finish(id, false);
      break;
    case Relay::Progress::kOverBudget:
      finish(id, true);
      break;
  }
  return moved;
}

void Relays::finish(RelayId id, bool by_budget) {
  const auto found = relays_.find(id);
  RelayOwner& owner = found->second->owner();
  found->second->bound_unsent_data();
  relays_.erase(found);
  owner.on_relay_end(id, by_budget);
}

}  // namespace glovebox::gateway
