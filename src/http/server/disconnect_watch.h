// Notices that the client has closed its connection while a handler runs, and calls the handler's
// callbacks. Part of a Connection, whose transport it borrows; one thread. Private to src/http.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "http/transport.h"

namespace glovebox::http {

class DisconnectWatch {
 public:
  explicit DisconnectWatch(Transport& transport) : transport_(transport) {}

  // A handler begins, or has returned: callbacks are called only in between.
  void begin() { is_handling_ = true; }
  void end();

  // `owner` keeps the transport while a wait is under way. Calls back at once if the client has
  // gone already.
  void add(std::function<void()> callback, std::shared_ptr<void> owner);
  // The client has gone, or the connection was cut.
  void set_gone();
  bool is_gone() const { return is_gone_; }

  // From the server's sweep: pipelined bytes hide the end of the stream from a wait.
  void sweep(std::shared_ptr<void> owner) {
    if (needs_sweep_) check_peer(std::move(owner));
  }

 private:
  void start_wait(std::shared_ptr<void> owner);
  void check_peer(std::shared_ptr<void> owner);

  Transport& transport_;
  std::vector<std::function<void()>> callbacks_;  // of the running handler
  bool is_handling_ = false;
  bool is_gone_ = false;
  bool is_waiting_ = false;  // a wait for the descriptor is under way
  bool needs_sweep_ = false;
};

}  // namespace glovebox::http
