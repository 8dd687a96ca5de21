// The server's ends of a runtime that stays in its sandbox between calls (`reuse: "interpreter"`).
// Handed on from call to call with the sandbox's place.
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/task.h"
#include "node/async/watched_fd.h"
#include "node/node_options.h"

namespace glovebox::node {

struct KeptRuntime {
  static constexpr std::size_t kOutputs = 3;  // stdout, stderr, results

  // Takes over the ends that a call had; they wake it no more.
  static std::unique_ptr<KeptRuntime> of(WatchedFd& its_calls, WatchedFd (&its_outputs)[kOutputs]);
  // Gives them to the next one.
  void wake(WakeSignal& signal, WatchedFd& its_calls, WatchedFd (&its_outputs)[kOutputs]);

  WatchedFd calls;  // its standard input: one record for each call
  std::array<WatchedFd, kOutputs> outputs;

  // An interpreter that waits for its next call takes it at once, also on a busy host. If it does
  // not, its last call said that it had ended, and has not.
  static constexpr std::chrono::milliseconds kToTakeCall{1500};
  // Whether it has read nothing of a record of which so much was written.
  static bool has_read_nothing(const WatchedFd& calls, std::size_t written);
  // The same when its sandbox is being ended, once nobody can read any more: the call has not
  // begun, and will not.
  static boost::asio::awaitable<bool> never_read(boost::asio::io_context& io,
                                                 const WatchedFd& calls, std::size_t written);
  // Whether it has said nothing since its last call; what it said would be the next one's output.
  bool is_silent() const;
};

// Asks the agent whether anything of the last call goes on.
Result<> ask_what_is_left(const WatchedFd& socket);
// Waits for its answer: an error if something is left, or if it does not come. `gone` becomes true
// when the socket's owner is gone; then the result means nothing.
Task<> await_nothing_left(boost::asio::io_context& io, WatchedFd& socket,
                          std::shared_ptr<const bool> gone);

}  // namespace glovebox::node
