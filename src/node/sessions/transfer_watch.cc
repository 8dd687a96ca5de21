#include "node/sessions/transfer_watch.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <utility>
#include <vector>

namespace glovebox::node {

// Shared with the timer's handler, which may run after the watch is gone.
struct TransferWatch::State {
  explicit State(boost::asio::io_context& io) : timer(io) {}
  void close_all() {
    for (FileTransfer* transfer : transfers) transfer->close();
  }
  boost::asio::steady_timer timer;
  std::vector<FileTransfer*> transfers;
  bool is_late = false;
};

TransferWatch::TransferWatch(boost::asio::io_context& io, std::chrono::milliseconds patience,
                             std::string stalled, std::shared_ptr<CancelFlag> cancel)
    : state_(std::make_shared<State>(io)),
      cancel_(std::move(cancel)),
      patience_(patience),
      stalled_(std::move(stalled)) {
  if (cancel_) cancel_->on_cancel([state = state_] { state->close_all(); });
}

TransferWatch::~TransferWatch() {
  state_->transfers.clear();
  state_->timer.cancel();
  if (cancel_) cancel_->on_cancel({});
}

void TransferWatch::end_at(std::chrono::steady_clock::time_point deadline, std::string too_long) {
  deadline_ = deadline;
  too_long_ = std::move(too_long);
}

void TransferWatch::watch(FileTransfer& transfer) {
  state_->transfers.push_back(&transfer);
  feed();
}

void TransferWatch::feed() {
  state_->timer.expires_at(std::min(std::chrono::steady_clock::now() + patience_, deadline_));
  state_->timer.async_wait([state = state_](const boost::system::error_code& error) {
    // A handler that was queued before the time started again has a later expiry to wait for.
    if (error || std::chrono::steady_clock::now() < state->timer.expiry()) return;
    state->is_late = true;
    state->close_all();
  });
}

Result<> TransferWatch::verdict() const {
  if (cancel_ && cancel_->cancelled()) {
    return fail(Errc::kUnavailable, "the request was cancelled");
  }
  if (!state_->is_late) return {};
  const bool is_over = std::chrono::steady_clock::now() >= deadline_;
  return fail(Errc::kTimeout, is_over ? too_long_ : stalled_);
}

}  // namespace glovebox::node
