// What the server knows of one process of a session.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "node/async/notifier.h"
#include "node/sessions/session_inbox.h"

namespace glovebox::node {

// The one reader of a process's output, until another takes over.
struct Reader {
  Reader(boost::asio::io_context& io, wire::ProcessNumber process) : inbox(process), notifier(io) {}
  Inbox inbox;
  Notifier notifier;
  std::optional<std::string> gone;  // why nothing more will come
  bool taken_over = false;          // what has arrived belongs to another reader
  bool closed = false;              // by itself

  void go(std::string why) {
    if (!gone) gone = std::move(why);
    notifier.notify_all();
  }
};

// One of the streams into a process.
struct InputState {
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  bool closed = false;      // by us, or the process has closed it
  bool is_writing = false;  // a write is under way
};

struct Process {
  explicit Process(boost::asio::io_context& io) : changed(io), grace(io) {}

  ProcessInfo info;
  bool starting = false;
  bool unwanted = false;         // its start timed out: it is killed once it has started
  std::optional<Error> refused;  // it did not start
  bool forgotten = false;
  std::optional<Error> abandoned;  // why no caller waits for it any more
  bool lossy = false;              // as requested
  bool lossy_by_us = false;        // it had no reader for too long
  std::uint32_t subscriptions = 0;
  InputState stdin_state;
  InputState requests_state;
  std::shared_ptr<Reader> reader;
  Notifier changed;
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

// One caller writes into a stream; the others wait for their turn.
class InputLock {
 public:
  InputLock(std::shared_ptr<Process> process, InputState& input)
      : process_(std::move(process)), input_(input) {
    input_.is_writing = true;
  }
  ~InputLock() {
    input_.is_writing = false;
    process_->changed.notify_all();
  }
  InputLock(const InputLock&) = delete;
  InputLock& operator=(const InputLock&) = delete;

 private:
  std::shared_ptr<Process> process_;
  InputState& input_;
};

}  // namespace glovebox::node
