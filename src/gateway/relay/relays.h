// All relays of the gateway, in one epoll set: each socket is added once, so that an idle relay
// costs nothing and a busy one only the calls that move bytes. Ready relays are served round robin,
// one of each sandbox after the other; after some bytes the rest of the process runs.
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

  // Both connected. Sets O_NONBLOCK, TCP_NODELAY and keep-alive. Calls nothing of the owner before
  // it has returned.
  Result<RelayId> start(UniqueFd guest, UniqueFd server, RelayOwner& owner);
  // Resets both connections.
  void cut(RelayId id);
  // The sandbox has ended: see Relay::flush(). Of the owner only on_moved() is called.
  void flush(RelayId id);

  std::size_t open() const { return relays_.size(); }
  std::size_t pipes_in_use() const { return pipes_.in_use(); }

 private:
  Relays(asio::io_context& io, UniqueFd epoll, std::size_t max_pipes);
  void schedule_step();
  void wait();
  void step();
  void collect_events();
  void enqueue(Relay& relay);
  void run_ready();
  std::size_t run_next();
  void finish(RelayId id, bool by_budget);

  asio::io_context& io_;
  int epoll_;
  asio::posix::stream_descriptor descriptor_;
  PipePool pipes_;
  std::unordered_map<RelayId, std::unique_ptr<Relay>> relays_;
  std::deque<std::shared_ptr<RelayOwner::Lane>> ready_;  // sandboxes, round robin
  RelayId next_id_ = 1;
  bool is_scheduled_ = false;                                   // step() will be called
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for handlers that run late
};

}  // namespace glovebox::gateway
