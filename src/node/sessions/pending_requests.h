// Requests to a session's agent that are not answered yet: files and ports. Each has a number and
// one coroutine that waits for it. One thread.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "node/async/wake_signal.h"
#include "node/async/watched_fd.h"
#include "node/node_options.h"
#include "wire/guest/session_frames.h"

namespace glovebox::node {

struct PendingRequest : std::enable_shared_from_this<PendingRequest> {
  enum class Expects { kDone, kPipe, kPort };
  PendingRequest(boost::asio::io_context& context, wire::RequestNumber its_number, Expects what)
      : io(context), number(its_number), expects(what), signal(context), timer(context) {}

  boost::asio::io_context& io;
  wire::RequestNumber number;
  Expects expects;
  WakeSignal signal;
  boost::asio::steady_timer timer;
  WatchedFd pipe;
  std::string entry;
  bool opened = false;
  wire::FileData way = wire::FileData::kNone;  // of the pipe's bytes
  bool patient = false;                        // a watch: may be silent for hours
  UniqueFd port;
  std::optional<int> port_refused;
  std::optional<wire::FileDone> done;
  std::optional<Error> over;  // the session is over, or the caller closed it

  // Until something has changed, or the deadline has passed.
  boost::asio::awaitable<void> wait(Clock::time_point deadline);
};

class PendingRequests {
 public:
  // Each is a process in the sandbox, or a connection.
  static constexpr std::size_t kMaxOpen = 512;

  explicit PendingRequests(boost::asio::io_context& io) : io_(io) {}

  Result<std::shared_ptr<PendingRequest>> open(PendingRequest::Expects what);
  // File requests: watches (`patient`) or all others.
  std::size_t count(bool patient) const;
  void close(wire::RequestNumber number) { open_.erase(number); }
  void end_all(const Error& why);

  // An error: the sandbox broke the protocol. An answer to a closed request is not an error.
  Result<> on(wire::FileOpened opened, UniqueFd pipe);
  Result<> on(wire::FileDone done);
  Result<> on(UniqueFd port, wire::RequestNumber number);
  Result<> on(const wire::PortRefused& refused);

  // The request that may be opened, or connected, now. Null: it is closed. An error as above.
  Result<std::shared_ptr<PendingRequest>> expect_pipe(wire::RequestNumber number) const;
  Result<std::shared_ptr<PendingRequest>> expect_port(wire::RequestNumber number) const;
  // Then with a pipe or a socket of our own; or it cannot go on, and that is not the sandbox's
  // fault.
  static void take_pipe(PendingRequest& request, std::string entry, UniqueFd pipe);
  static void take_port(PendingRequest& request, UniqueFd port);
  static void give_up(PendingRequest& request, Error why);

 private:
  // Null: closed.
  Result<std::shared_ptr<PendingRequest>> find(wire::RequestNumber number) const;

  boost::asio::io_context& io_;
  wire::RequestNumber next_ = 1;
  std::map<wire::RequestNumber, std::shared_ptr<PendingRequest>> open_;
};

}  // namespace glovebox::node
