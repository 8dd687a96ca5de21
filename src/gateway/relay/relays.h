// All relays of the gateway, in one epoll set of their own: each socket is put in once, so that a
// silent relay costs nothing and a busy one no call but those that move bytes. Those that are ready
// have their turns in a circle, one of each sandbox after the other; after some bytes whatever else
// the process does has its own turn.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <memory>
#include <unordered_map>

#include "base/result.h"
#include "base/task.h"
#include "gateway/relay/pipe_pool.h"
#include "gateway/relay/relay.h"

namespace glovebox::gateway {

class Relays {
 public:
  static Result<std::unique_ptr<Relays>> make(asio::io_context& io, std::size_t max_pipes = 1024);
  ~Relays();
  Relays(const Relays&) = delete;
  Relays& operator=(const Relays&) = delete;

  // Both connected; makes them non-blocking, sends without delay, and notices dead peers. The owner
  // hears nothing of it before this has returned.
  Result<RelayId> start(UniqueFd guest, UniqueFd server, RelayOwner& owner);
  // Both ends are reset.
  void cut(RelayId id);
  // The sandbox has ended: see Relay::flush(). The owner hears of the last bytes only.
  void flush(RelayId id);

  std::size_t open() const { return relays_.size(); }
  std::size_t pipes_lent() const { return pipes_.lent(); }

 private:
  Relays(asio::io_context& io, UniqueFd epoll, std::size_t max_pipes);
  void go_on_later();
  void wait();
  void step();
  void collect_events();
  void enqueue(Relay& relay);
  void give_turns();
  std::size_t give_turn();
  void finish(RelayId id, bool by_budget);

  asio::io_context& io_;
  int epoll_;
  asio::posix::stream_descriptor descriptor_;
  PipePool pipes_;
  std::unordered_map<RelayId, std::unique_ptr<Relay>> relays_;
  std::deque<std::shared_ptr<RelayOwner::Lane>> ready_;  // sandboxes in a circle
  RelayId next_id_ = 1;
  bool is_scheduled_ = false;                                   // step() will be called
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for handlers that come late
};

}  // namespace glovebox::gateway
