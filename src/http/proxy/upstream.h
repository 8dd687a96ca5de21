// A socket to an untrusted server that we forward to: other holders of it may change its flags
// at any time, so no call here relies on them. Every wait has a deadline or can be cancelled.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <string_view>

#include "base/task.h"
#include "base/unique_fd.h"

namespace glovebox::http {

// One coroutine may read while another writes.
class Upstream : public std::enable_shared_from_this<Upstream> {
 public:
  using Time = std::chrono::milliseconds;  // 0: no limit

  // kProtocol when it is not a stream socket.
  static Result<std::shared_ptr<Upstream>> open(asio::any_io_executor executor, UniqueFd fd);

  // Waits until a connection under way is there. kUnavailable: the port is closed; kTimeout.
  Task<> connected(Time time);
  // 0: the end. kTimeout; kUnavailable: broken, or cancelled.
  Task<std::size_t> read_some(char* into, std::size_t size, Time time);
  // All of them, one after the other; the time is for each step forward. Errors as read_some's.
  Task<> write(std::string_view first, std::string_view second, std::string_view third, Time time);
  void end_writing();
  // Ends what waits, and whatever is asked later.
  void cancel();

 private:
  Upstream(asio::any_io_executor executor) : socket_(executor) {}
  enum class Wait : std::uint8_t { kRead, kWrite };
  using Clock = std::chrono::steady_clock;
  static Clock::time_point end_of(Time time);
  Task<> wait(Wait kind, Clock::time_point end);

  asio::posix::stream_descriptor socket_;
  bool is_cancelled_ = false;
};

}  // namespace glovebox::http
