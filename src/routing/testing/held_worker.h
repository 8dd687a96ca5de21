// Keeps a worker's thread busy, so that a test sees which requests need it.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <future>
#include <utility>

#include "routing/worker.h"

namespace glovebox::routing {

class HeldWorker {
 public:
  // Both are borrowed and outlive this.
  HeldWorker(asio::io_context& io, Worker& worker) {
    auto hold = [this] {
      begun_.set_value();
      released_.get_future().wait();
      return 0;
    };
    asio::co_spawn(io, worker.run("holder", std::move(hold)), asio::detached);
    io.restart();
    io.poll();
    begun_.get_future().wait();
  }
  ~HeldWorker() { release(); }
  HeldWorker(const HeldWorker&) = delete;
  HeldWorker& operator=(const HeldWorker&) = delete;

  void release() {
    if (!is_released_) released_.set_value();
    is_released_ = true;
  }

 private:
  std::promise<void> begun_, released_;
  bool is_released_ = false;
};

}  // namespace glovebox::routing
