#include "node/sandboxes/kept_runtime.h"

#include <poll.h>
#include <sys/ioctl.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "base/fd_message.h"
#include "node/sandboxes/sandbox_link.h"

namespace glovebox::node {
namespace {

// It looks at /proc, at most.
constexpr std::chrono::seconds kToLook{2};
constexpr std::chrono::seconds kToEnd{2};

}  // namespace

std::unique_ptr<KeptRuntime> KeptRuntime::of(WatchedFd& its_calls,
                                             WatchedFd (&its_outputs)[kOutputs]) {
  auto kept = std::make_unique<KeptRuntime>();
  kept->calls = std::move(its_calls);
  kept->calls.wakes(nullptr);
  for (std::size_t i = 0; i < kOutputs; ++i) {
    kept->outputs[i] = std::move(its_outputs[i]);
    kept->outputs[i].wakes(nullptr);
  }
  return kept;
}

void KeptRuntime::wake(WakeSignal& signal, WatchedFd& its_calls,
                       WatchedFd (&its_outputs)[kOutputs]) {
  its_calls = std::move(calls);
  its_calls.wakes(&signal);
  for (std::size_t i = 0; i < kOutputs; ++i) {
    its_outputs[i] = std::move(outputs[i]);
    its_outputs[i].wakes(&signal);
  }
}

bool KeptRuntime::has_read_nothing(const WatchedFd& calls, std::size_t written) {
  int unread = 0;
  return ::ioctl(calls.fd(), FIONREAD, &unread) == 0 && unread >= 0 &&
         static_cast<std::size_t>(unread) == written;
}

boost::asio::awaitable<bool> KeptRuntime::never_read(boost::asio::io_context& io,
                                                     const WatchedFd& calls, std::size_t written) {
  const auto until = std::chrono::steady_clock::now() + kToEnd;
  boost::asio::steady_timer pause(io);
  while (std::chrono::steady_clock::now() < until) {
    pollfd event{calls.fd(), 0, 0};
    if (::poll(&event, 1, 0) == 1 && (event.revents & POLLERR) != 0) {
      co_return has_read_nothing(calls, written);
    }
    pause.expires_after(std::chrono::milliseconds(5));
    co_await pause.async_wait(boost::asio::use_awaitable);
  }
  co_return false;
}

bool KeptRuntime::is_silent() const {
  pollfd events[3] = {};
  for (std::size_t i = 0; i < outputs.size(); ++i) events[i] = {outputs[i].fd(), POLLIN, 0};
  return ::poll(events, outputs.size(), 0) == 0;
}

Result<> ask_what_is_left(const WatchedFd& socket) {
  return send_message(socket.fd(), wire::encode(wire::ClientFrame(wire::CheckCall{})));
}

Task<> await_nothing_left(boost::asio::io_context& io, WatchedFd& socket,
                          std::shared_ptr<const bool> gone) {
  // A timer's handler may still be on its way when this is over.
  struct Waking {
    explicit Waking(boost::asio::io_context& one) : signal(one) {}
    WakeSignal signal;
    bool late = false;
  };
  const auto waking = std::make_shared<Waking>(io);
  SandboxLink link(socket);
  std::optional<boost::asio::steady_timer> timer;
  socket.wakes(&waking->signal);
  while (true) {
    auto incoming = link.receive();
    if (!incoming || *incoming || waking->late) {
      socket.wakes(nullptr);
      if (!incoming) co_return fail(std::move(incoming.error()));
      if (!*incoming) co_return fail(Errc::kTimeout, "the sandbox's agent does not answer");
      const auto* checked = std::get_if<wire::CallChecked>(&(*incoming)->frame);
      if (checked == nullptr) co_return fail(Errc::kProtocol, "an unexpected answer of the agent");
      if (!checked->left.empty()) co_return fail(Errc::kConflict, "left: " + checked->left);
      co_return Result<>();
    }
    if (!timer) {
      timer.emplace(io, kToLook);
      timer->async_wait([waking](const boost::system::error_code& error) {
        if (error) return;
        waking->late = true;
        waking->signal.set();
      });
    }
    co_await waking->signal.wait();
    if (*gone) co_return fail(Errc::kUnavailable, "the node is gone");
  }
}

}  // namespace glovebox::node
