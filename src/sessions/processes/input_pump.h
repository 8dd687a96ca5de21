// What clients write to a process's stdin, in the order in which it came, on its way into the
// sandbox. Whoever writes faster than the process reads waits here, and only so much is held.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/id.h"
#include "base/task.h"
#include "node/sessions/session_service.h"

namespace glovebox::sessions {

class InputPump : public std::enable_shared_from_this<InputPump> {
 public:
  static constexpr std::size_t kMaxHeld = 1u << 20;
  using Deadline = std::chrono::steady_clock::time_point;

  InputPump(asio::io_context& io, std::shared_ptr<node::Session> session,
            wire::ProcessNumber process);

  enum class Pushed : std::uint8_t { kTaken, kNoRoom, kClosed };
  // Waits while more than kMaxHeld wait already. kNoRoom: until the deadline, or release().
  asio::awaitable<Pushed> push(std::string bytes, Deadline deadline = Deadline::max());
  // After all that was pushed.
  void close_input();
  // True: all has arrived in the sandbox. False: not by then, or nobody reads it any more.
  asio::awaitable<bool> drained(Deadline deadline);
  bool is_closed() const { return is_closed_; }
  // Whoever waits in push() stops waiting.
  void release();

 private:
  void start();
  asio::awaitable<void> pump();
  asio::awaitable<void> wait_for_change(Deadline deadline);
  void changed();

  asio::io_context& io_;
  std::shared_ptr<node::Session> session_;
  const wire::ProcessNumber process_;
  std::deque<std::string> pieces_;
  std::size_t held_ = 0;
  bool wants_close_ = false;
  bool is_pumping_ = false;
  bool is_closed_ = false;  // closed by us, or nobody reads it
  std::uint64_t releases_ = 0;
  std::set<asio::steady_timer*> waiting_;
};

// One per process that is written to.
class InputPumps {
 public:
  explicit InputPumps(asio::io_context& io) : io_(io) {}
  std::shared_ptr<InputPump> of(const std::shared_ptr<node::Session>& session,
                                wire::ProcessNumber process);

 private:
  asio::io_context& io_;
  std::map<std::pair<SandboxId, wire::ProcessNumber>, std::weak_ptr<InputPump>> pumps_;
};

}  // namespace glovebox::sessions
