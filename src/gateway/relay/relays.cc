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

// Before the rest of the process goes on: some 200 microseconds.
constexpr std::size_t kBytesAtOnce = 1024 * 1024;
constexpr int kTurnsAtOnce = 64;
constexpr std::size_t kEventsAtOnce = 256;
constexpr std::uint32_t kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

// A peer that has vanished is noticed after some two minutes and a half.
constexpr int kKeepAliveIdleSeconds = 75;
constexpr int kKeepAliveEverySeconds = 15;
constexpr int kKeepAliveTries = 5;

constexpr int kMostUnsent = 128 * 1024;

void prepare(int socket) {
  const auto set = [&](int level, int option, int value) {
    (void)::setsockopt(socket, level, option, &value, sizeof value);
  };
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
  reset_at_close(socket, false);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_OOBINLINE, 1);  // an urgent byte stays where it stands
  // What the other side is not ready for waits where it comes from, not here.
  set(IPPROTO_TCP, TCP_NOTSENT_LOWAT, kMostUnsent);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveEverySeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveTries);
}

// The way to a guest is this host's memory: nothing is lost on it and nobody shares it, so that the
// simplest control of congestion does. The host's own may pace what it sends by a timer (bbr),
// which costs a third of the relay's time.
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
  relays_.erase(found);  // an id in ready_ that is not there any more is passed over
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

void Relays::go_on_later() {
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
  give_turns();
  ready_.empty() ? wait() : go_on_later();
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

void Relays::give_turns() {
  std::size_t moved = 0;
  for (int turns = 0; turns < kTurnsAtOnce && moved < kBytesAtOnce && !ready_.empty(); ++turns) {
    moved += give_turn();
  }
}

// To the first relay of the sandbox whose turn it is. How much it has moved.
std::size_t Relays::give_turn() {
  const auto lane = std::move(ready_.front());
  ready_.pop_front();
  const RelayId id = lane->ready.front();
  lane->ready.pop_front();
  // The sandbox goes to the end of the circle before its relay can put it there again.
  lane->is_queued = !lane->ready.empty();
  if (lane->is_queued) ready_.push_back(lane);
  const auto found = relays_.find(id);
  if (found == relays_.end()) return 0;
  Relay& relay = *found->second;
  relay.is_queued = false;
  const auto turn = relay.turn(ready_.empty() ? Relay::kMostBytes : Relay::kFairBytes);
  const std::size_t moved = relay.moved();
  switch (turn) {
    case Relay::Turn::kWaits:
      break;
    case Relay::Turn::kMore:
      enqueue(relay);
      break;
    case Relay::Turn::kEnded:
      finish(id, false);
      break;
    case Relay::Turn::kOverBudget:
      finish(id, true);
      break;
  }
  return moved;
}

void Relays::finish(RelayId id, bool by_budget) {
  const auto found = relays_.find(id);
  RelayOwner& owner = found->second->owner();
  found->second->let_go();
  relays_.erase(found);
  owner.on_relay_end(id, by_budget);
}

}  // namespace glovebox::gateway
