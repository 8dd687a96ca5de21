// The sides of a connection that look at clocks and at the peer: idle or busy, deadlines, and
// noticing that the client has gone while its handler runs.
#include "http/server/connection.h"

namespace glovebox::http {

void Connection::set_deadline(std::chrono::milliseconds time, std::size_t bytes) {
  const std::size_t rate = server_->options.limits.min_bytes_per_second;
  deadline_ = Clock::now() + time + std::chrono::milliseconds(bytes * 1000 / rate);
}

void Connection::look_at_deadline(Clock::time_point now) {
  if (is_watched_by_sweep_) check_peer();
  if (now >= body_deadline_) {
    body_deadline_ = Clock::time_point::max();
    is_body_late_ = true;
    transport_.cancel();
  }
  if (now >= deadline_) expire();
}

void Connection::expire() {
  if (is_expired_) return;
  is_expired_ = true;
  transport_.cancel();
}

void Connection::cut() {
  is_expired_ = true;
  transport_.close();
  peer_has_gone();
}

void Connection::server_stops() {
  if (is_upgraded_) transport_.cancel();
}

void Connection::become_idle() {
  set_deadline(server_->options.limits.idle_time);
  server_->idle.splice(server_->idle.end(), server_->busy, place_);
  is_idle_ = true;
}

void Connection::become_busy() {
  clear_deadline();
  server_->busy.splice(server_->busy.end(), server_->idle, place_);
  is_idle_ = false;
}

void Connection::watch(std::function<void()> callback) {
  if (!is_handling_) return;
  if (is_gone_) {
    callback();
    return;
  }
  callbacks_.push_back(std::move(callback));
  start_watch();
}

void Connection::start_watch() {
  if (is_watching_ || !transport_.is_open()) return;
  is_watching_ = true;
  // Completes when bytes, an end or an error are there. It may outlive the request it was made for;
  // then it finds no handler running, or serves the next one.
  transport_.descriptor().async_wait(
      asio::posix::stream_descriptor::wait_read,
      [self = shared_from_this()](const boost::system::error_code& error) {
        self->is_watching_ = false;
        if (!error) self->check_peer();
      });
}

void Connection::check_peer() {
  if (!is_handling_ || is_gone_ || callbacks_.empty() || !transport_.is_open()) return;
  switch (transport_.peer()) {
    case Peer::kGone:
      peer_has_gone();
      return;
    case Peer::kQuiet:
      start_watch();
      return;
    case Peer::kBytesWaiting:
      // The next request is here already: a wait would come back at once, for ever.
      is_watched_by_sweep_ = true;
      return;
  }
}

void Connection::peer_has_gone() {
  if (is_gone_) return;
  is_gone_ = true;
  is_watched_by_sweep_ = false;
  const std::vector<std::function<void()>> callbacks = std::move(callbacks_);
  callbacks_.clear();
  if (!is_handling_) return;
  for (const std::function<void()>& callback : callbacks) callback();
}

void Connection::end_watching() {
  is_handling_ = false;
  is_watched_by_sweep_ = false;
  callbacks_.clear();
}

}  // namespace glovebox::http
