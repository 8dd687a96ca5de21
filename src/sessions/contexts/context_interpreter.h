// The interpreter process of a context: starts it, waits until it is ready, writes to it,
// interrupts it and ends it. One object serves all contexts of a session; which contexts there are,
// and which of them may run a cell, ContextTable decides.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "base/task.h"
#include "node/sessions/session_service.h"
#include "sessions/contexts/context.h"
#include "sessions/sessions.h"

namespace glovebox::sessions {

class ContextInterpreter {
 public:
  // `io` and `sessions` are borrowed and outlive this.
  ContextInterpreter(asio::io_context& io, Sessions& sessions,
                     std::shared_ptr<node::Session> session)
      : io_(io), sessions_(sessions), session_(std::move(session)) {}

  // Until it is ready for a cell. kInvalidArgument: the sandbox has no such directory, or the user
  // cannot enter it. kUnsupported: the sandbox has no such interpreter; the message names the
  // package.
  Task<> start(Context& context);
  bool is_alive(const Context& context) const;
  // Stops the running statement, as Ctrl-C does.
  Result<> interrupt(const Context& context);
  void kill(const Context& context);
  // After this the context has no interpreter. `kill`: it has not exited yet.
  asio::awaitable<void> end(Context& context, bool kill);
  // Returns at once; a failure is only logged.
  void write(const Context& context, std::string bytes);

 private:
  Task<> wait_until_ready(Context& context, std::unique_ptr<node::Attachment> attachment);

  asio::io_context& io_;
  Sessions& sessions_;
  const std::shared_ptr<node::Session> session_;
};

}  // namespace glovebox::sessions
