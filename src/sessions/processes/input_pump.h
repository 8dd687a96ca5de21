// Passes what clients write to a process's stdin into the sandbox, in the order of arrival. The
// amount held is bounded: a client that writes faster than the process reads has to wait.
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
  // Waits while more than kMaxHeld bytes are held. kNoRoom: still so at the deadline or release().
  asio::awaitable<Pushed> push(std::string bytes, Deadline deadline = Deadline::max());
  // Closes stdin after everything pushed so far.
  void close_input();
  // True: all input has arrived in the sandbox. False: not by the deadline, or the process
  // no longer reads it.
  asio::awaitable<bool> drained(Deadline deadline);
  bool is_closed() const { return is_closed_; }
  // Wakes all callers that wait in push().
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
  bool is_closed_ = false;  // by the server, or because the process no longer reads it
  std::uint64_t releases_ = 0;
  std::set<asio::steady_timer*> waiting_;
};

// The pumps, one per process that clients write to.
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
