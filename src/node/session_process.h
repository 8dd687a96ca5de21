// A process of a session, as far as the server knows it.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "node/bell.h"
#include "node/session_inbox.h"

namespace glovebox::node {

// Milliseconds since 1970, for people and for numbers that must grow over restarts.
inline std::uint64_t wall_clock_ms() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

// The one who reads a process's output, until another takes over.
struct Reader {
  Reader(boost::asio::io_context& io, wire::ProcessNumber process) : inbox(process), bell(io) {}
  Inbox inbox;
  Bell bell;
  std::optional<std::string> gone;  // why nothing will come any more
  bool taken_over = false;          // what has arrived is another's
  bool closed = false;              // by itself

  void go(std::string why) {
    if (!gone) gone = std::move(why);
    bell.ring();
  }
};

// One of the streams that go in.
struct InputState {
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  bool closed = false;   // by us, or nobody reads it
  bool in_turn = false;  // somebody is writing
};

struct Process {
  explicit Process(boost::asio::io_context& io) : changed(io), grace(io) {}

  ProcessInfo info;
  bool starting = false;
  bool unwanted = false;         // whoever started it did not wait: it goes when it is there
  std::optional<Error> refused;  // it did not start
  bool forgotten = false;
  bool lossy = false;        // as it was asked for
  bool lossy_by_us = false;  // nobody has read it for too long
  std::uint32_t subscriptions = 0;
  InputState stdin_state;
  InputState requests_state;
  std::shared_ptr<Reader> reader;
  Bell changed;
  boost::asio::steady_timer grace;

  InputState* input(wire::Stream stream) {
    if (stream == wire::Stream::kStdin) return &stdin_state;
    return stream == wire::Stream::kRequests && info.kind != wire::ProcessKind::kProgram
               ? &requests_state
               : nullptr;
  }
  bool has(wire::Stream stream) const {
    switch (stream) {
      case wire::Stream::kStdout:
        return true;
      case wire::Stream::kStderr:
        return !info.terminal;
      case wire::Stream::kResults:
        return info.kind != wire::ProcessKind::kProgram;
      default:
        return false;
    }
  }
  wire::StreamState& state(wire::Stream stream) {
    return stream == wire::Stream::kStdout   ? info.out
           : stream == wire::Stream::kStderr ? info.err
                                             : info.results;
  }
};

}  // namespace glovebox::node
