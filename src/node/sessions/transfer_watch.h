// Ends file transfers in which no byte moves for too long, and those whose caller no longer waits.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "node/runs/run_job.h"
#include "node/sessions/session_service.h"

namespace glovebox::node {

class TransferWatch {
 public:
  // `stalled` is the message of the error when nothing moved for `patience`. Uses `cancel`'s
  // on_cancel() exclusively while it lives; null: the transfers cannot be cancelled.
  TransferWatch(boost::asio::io_context& io, std::chrono::milliseconds patience,
                std::string stalled, std::shared_ptr<CancelFlag> cancel = nullptr);
  ~TransferWatch();
  TransferWatch(const TransferWatch&) = delete;
  TransferWatch& operator=(const TransferWatch&) = delete;

  // No transfer goes on after this moment, whatever moves; `too_long` is the message then. Before
  // watch().
  void end_at(std::chrono::steady_clock::time_point deadline, std::string too_long);
  // Borrowed: the transfer outlives this object. Its time starts now.
  void watch(FileTransfer& transfer);
  // Something moved: the time starts again.
  void feed();
  // Why the transfers were closed, if this object did it: kUnavailable for a caller that no longer
  // waits, kTimeout for a stall or the deadline. It is the cause of the transfers' own errors.
  Result<> verdict() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::shared_ptr<CancelFlag> cancel_;
  std::chrono::milliseconds patience_;
  std::string stalled_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  std::string too_long_;
};

}  // namespace glovebox::node
