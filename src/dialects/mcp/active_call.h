// Registers a call with its conversation while it is answered, so that a message can cancel it, and
// cancels it when it takes longer than any call may.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <utility>

#include "dialects/mcp/conversations.h"
#include "dialects/mcp/settings.h"

namespace glovebox::mcp {

class ActiveCall {
 public:
  ActiveCall(asio::io_context& io, const Settings& settings,
             std::shared_ptr<Conversation> conversation, std::string id)
      : conversation_(std::move(conversation)),
        id_(std::move(id)),
        flag_(conversation_->begin_call(id_)),
        timer_(io) {
    if (flag_ == nullptr) return;
    timer_.expires_after(longest_call(settings));
    timer_.async_wait([flag = flag_, late = late_](const boost::system::error_code& error) {
      if (error || flag->cancelled()) return;
      *late = true;
      flag->cancel();
    });
  }
  ~ActiveCall() {
    if (flag_ == nullptr) return;
    timer_.cancel();
    conversation_->end_call(id_);
    conversation_->used = Conversation::Clock::now();
  }
  ActiveCall(const ActiveCall&) = delete;
  ActiveCall& operator=(const ActiveCall&) = delete;

  // Null: refused, because there are too many calls, or one with this id.
  const std::shared_ptr<node::CancelFlag>& flag() const { return flag_; }
  bool is_late() const { return *late_; }
  bool is_cancelled() const { return flag_->cancelled() && !*late_; }

 private:
  std::shared_ptr<Conversation> conversation_;
  std::string id_;
  std::shared_ptr<node::CancelFlag> flag_;
  std::shared_ptr<bool> late_ = std::make_shared<bool>(false);
  asio::steady_timer timer_;
};

}  // namespace glovebox::mcp
