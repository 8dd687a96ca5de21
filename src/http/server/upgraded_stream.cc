#include "http/server/upgraded_stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace glovebox::http {

UpgradedStream::UpgradedStream(Connection& connection, Connection::Exchanged& exchanged)
    : connection_(connection),
      exchanged_(exchanged),
      held_(connection.server_->body_bytes, exchanged.owner) {
  connection_.is_upgraded_ = true;
  // It may be silent for hours: the kernel finds out whether the other side is still there.
  const int fd = connection_.transport_.descriptor().native_handle();
  const auto set = [&](int level, int name, int value) {
    ::setsockopt(fd, level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

UpgradedStream::~UpgradedStream() { connection_.is_upgraded_ = false; }

bool UpgradedStream::hold(std::size_t bytes) {
  constexpr std::size_t kAlways = 4096;  // however much others hold
  held_.set(bytes);
  return bytes <= kAlways || held_.may_grow();
}

asio::awaitable<std::size_t> UpgradedStream::read_some(char* into, std::size_t size) {
  std::string& pending = connection_.pending_;
  if (!pending.empty()) {
    const std::size_t taken = pending.copy(into, size);
    pending.erase(0, taken);
    co_return taken;
  }
  for (;;) {
    if (!connection_.transport_.is_open() || connection_.is_expired_ || stopping() ||
        is_reading_stopped_) {
      co_return 0;
    }
    std::size_t got = 0;
    const Io io = connection_.transport_.read(into, size, got);
    if (io == Io::kDone) co_return got;
    if (io == Io::kEnded || io == Io::kFailed) co_return 0;
    const bool may_go_on = co_await connection_.transport_.wait(io);
    if (!may_go_on) co_return 0;
  }
}

void UpgradedStream::stop_reading() {
  is_reading_stopped_ = true;
  connection_.transport_.cancel();
}

asio::awaitable<bool> UpgradedStream::write(std::string bytes) {
  co_return co_await connection_.send_parts(bytes);
}

asio::awaitable<bool> UpgradedStream::write_views(std::string_view first, std::string_view second) {
  return connection_.send_parts(first, second);
}

std::optional<std::size_t> UpgradedStream::write_now(std::string_view bytes) {
  if (!connection_.transport_.is_open() || connection_.is_expired_) return std::nullopt;
  std::string_view parts[] = {bytes};
  if (connection_.transport_.write(parts) == Io::kFailed) return std::nullopt;
  return bytes.size() - parts[0].size();
}

}  // namespace glovebox::http
