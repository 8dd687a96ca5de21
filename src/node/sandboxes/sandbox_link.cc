#include "node/sandboxes/sandbox_link.h"

#include <utility>

#include "base/fd_message.h"

namespace glovebox::node {
namespace {

// Standard streams and the results.
constexpr std::size_t kMaxFds = 4;

}  // namespace

Result<> SandboxLink::send_some() {
  while (!all_sent() && socket_.writable()) {
    if (!next_) {
      next_ = frames_->next();
      if (!next_) {
        frames_.reset();
        return {};
      }
    }
    const auto sent = send_message(socket_.fd(), *next_);
    if (!sent && sent.error().sys_errno() == EAGAIN) {
      socket_.wait_writable();
      return {};
    }
    if (!sent) {
      frames_.reset();
      next_.reset();
      return fail(Errc::kUnavailable, "the sandbox is gone");
    }
    next_.reset();
  }
  return {};
}

Result<std::optional<SandboxLink::Incoming>> SandboxLink::receive() {
  if (!socket_.readable()) return std::optional<Incoming>();
  auto received = receive_message(socket_.fd(), wire::kMaxGuestFrame, kMaxFds);
  if (!received && received.error().sys_errno() == EAGAIN) {
    socket_.wait_readable();
    return std::optional<Incoming>();
  }
  if (!received && received.error().code() == Errc::kProtocol) {
    return fail(std::move(received.error()));
  }
  if (!received || received->bytes.empty()) return fail(Errc::kUnavailable, "the sandbox is gone");
  TRY(wire::AgentFrame frame, wire::decode_agent_frame(received->bytes));
  if (!received->fds.empty() && !std::holds_alternative<wire::ProgramStarted>(frame)) {
    return fail(Errc::kProtocol, "unexpected descriptors from the sandbox's agent");
  }
  return std::optional<Incoming>(Incoming{std::move(frame), std::move(received->fds)});
}

}  // namespace glovebox::node
