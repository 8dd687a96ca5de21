#include "guest/agent/session/session_outbox.h"

#include <span>

#include "base/fd_message.h"

namespace glovebox::agent {

void Outbox::queue(const wire::SessionFrame& frame, UniqueFd fd) {
  waiting_.push_back({wire::encode(frame), std::move(fd)});
}

Outbox::Sent Outbox::send() {
  while (!waiting_.empty()) {
    const Message& message = waiting_.front();
    const int fd = message.fd.get();
    const auto sent = send_message(link_, message.bytes,
                                   fd < 0 ? std::span<const int>() : std::span<const int>(&fd, 1));
    if (!sent) {
      const int error = sent.error().sys_errno();
      // Too many descriptors are under way to who does not read: later.
      if (error == EAGAIN || error == ENOBUFS || error == ETOOMANYREFS) return Sent::kSocketIsFull;
      return Sent::kClosed;
    }
    waiting_.pop_front();
  }
  return Sent::kAll;
}

}  // namespace glovebox::agent
