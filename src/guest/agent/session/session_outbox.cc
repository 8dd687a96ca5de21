#include "guest/agent/session/session_outbox.h"

#include <span>

namespace glovebox::agent {

void Outbox::queue(const wire::SessionFrame& frame, UniqueFd fd) {
  waiting_.push_back({wire::encode(frame), std::move(fd)});
}

Outbox::Sent Outbox::send() {
  while (!waiting_.empty() || link_.has_unsent()) {
    Result<> sent;
    if (waiting_.empty()) {
      sent = link_.flush();
    } else {
      const Message& message = waiting_.front();
      const int fd = message.fd.get();
      sent =
          link_.send(message.bytes, fd < 0 ? std::span<const int>() : std::span<const int>(&fd, 1));
    }
    if (!sent) {
      const int error = sent.error().sys_errno();
      // Too many descriptors are under way to who does not read: later.
      if (error == EAGAIN || error == ENOBUFS || error == ETOOMANYREFS) return Sent::kSocketIsFull;
      return Sent::kClosed;
    }
    if (!waiting_.empty()) waiting_.pop_front();
  }
  return Sent::kAll;
}

}  // namespace glovebox::agent
