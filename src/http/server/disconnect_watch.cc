#include "http/server/disconnect_watch.h"

#include <utility>

namespace glovebox::http {

void DisconnectWatch::end() {
  is_handling_ = false;
  needs_sweep_ = false;
  callbacks_.clear();
}

void DisconnectWatch::add(std::function<void()> callback, std::shared_ptr<void> owner) {
  if (!is_handling_) return;
  if (is_gone_) {
    callback();
    return;
  }
  callbacks_.push_back(std::move(callback));
  start_wait(std::move(owner));
}

void DisconnectWatch::start_wait(std::shared_ptr<void> owner) {
  if (is_waiting_ || !transport_.is_open()) return;
  is_waiting_ = true;
  // Completes when bytes, an end or an error are there. It may outlive the request it was made for;
  // then it finds no handler running, or serves the next one.
  transport_.descriptor().async_wait(
      asio::posix::stream_descriptor::wait_read,
      [this, owner = std::move(owner)](const boost::system::error_code& error) {
        is_waiting_ = false;
        if (!error) check_peer(owner);
      });
}

void DisconnectWatch::check_peer(std::shared_ptr<void> owner) {
  if (!is_handling_ || is_gone_ || callbacks_.empty() || !transport_.is_open()) return;
  switch (transport_.peer()) {
    case Peer::kGone:
      set_gone();
      return;
    case Peer::kQuiet:
      start_wait(std::move(owner));
      return;
    case Peer::kBytesWaiting:
      // The next request has arrived: a wait would return at once, again and again.
      needs_sweep_ = true;
      return;
  }
}

void DisconnectWatch::set_gone() {
  if (is_gone_) return;
  is_gone_ = true;
  needs_sweep_ = false;
  const std::vector<std::function<void()>> callbacks = std::move(callbacks_);
  callbacks_.clear();
  if (!is_handling_) return;
  for (const std::function<void()>& callback : callbacks) callback();
}

}  // namespace glovebox::http
