#include "http/proxy/upstream.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <boost/asio/error.hpp>

namespace glovebox::http {

Result<std::shared_ptr<Upstream>> Upstream::open(asio::any_io_executor executor, UniqueFd fd) {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
    return fail(Errc::kProtocol, "not a stream socket");
  }
  std::shared_ptr<Upstream> made(new Upstream(std::move(executor)));
  boost::system::error_code error;
  made->socket_.assign(fd.get(), error);
  if (error) return fail(Errc::kProtocol, "watch the socket: " + error.message());
  (void)fd.release();
  return made;
}

Upstream::Clock::time_point Upstream::end_of(Time time) {
  return time.count() > 0 ? Clock::now() + time : Clock::time_point::max();
}

Task<> Upstream::wait(Wait kind, Clock::time_point end) {
  const auto self = shared_from_this();
  if (is_cancelled_) co_return fail(Errc::kUnavailable, "cancelled");
  // The timer's handler may come after everything else has gone.
  struct Late {
    bool is_waiting = true;
    bool was_late = false;
  };
  const auto late = std::make_shared<Late>();
  asio::steady_timer timer(socket_.get_executor());
  if (end != Clock::time_point::max()) {
    timer.expires_at(end);
    timer.async_wait([late, weak = weak_from_this()](const boost::system::error_code& error) {
      const auto upstream = weak.lock();
      if (error || !upstream || !late->is_waiting) return;
      late->was_late = true;
      boost::system::error_code ignored;
      upstream->socket_.cancel(ignored);
    });
  }
  const auto which = kind == Wait::kRead ? asio::posix::stream_descriptor::wait_read
                                         : asio::posix::stream_descriptor::wait_write;
  const auto [error] = co_await socket_.async_wait(which, kAwaitTuple);
  late->is_waiting = false;
  if (late->was_late) co_return fail(Errc::kTimeout, "no response in time");
  if (is_cancelled_) co_return fail(Errc::kUnavailable, "cancelled");
  // The other direction's deadline ends this wait too: then it is simply waited for again.
  if (error && error != asio::error::operation_aborted) {
    co_return fail(Errc::kUnavailable, "wait: " + error.message());
  }
  co_return Result<>();
}

Task<> Upstream::connected(Time time) {
  CO_TRY_OK(co_await wait(Wait::kWrite, end_of(time)));
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) co_return fail(Errc::kUnavailable, Error::from_errno("connect", error).message());
  co_return Result<>();
}

Task<std::size_t> Upstream::read_some(char* into, std::size_t size, Time time) {
  const Clock::time_point end = end_of(time);
  for (;;) {
    if (is_cancelled_) co_return fail(Errc::kUnavailable, "cancelled");
    const ssize_t got = ::recv(socket_.native_handle(), into, size, MSG_DONTWAIT);
    if (got >= 0) co_return static_cast<std::size_t>(got);
    if (errno == EINTR) continue;
    if (errno != EAGAIN) co_return fail(Errc::kUnavailable, Error::from_errno("receive").message());
    CO_TRY_OK(co_await wait(Wait::kRead, end));
  }
}

Task<> Upstream::write(std::string_view first, std::string_view second, std::string_view third,
                       Time time) {
  std::string_view parts[] = {first, second, third};
  Clock::time_point end = end_of(time);
  for (;;) {
    iovec pieces[3];
    std::size_t count = 0;
    for (const std::string_view part : parts) {
      if (part.empty()) continue;
      pieces[count].iov_base = const_cast<char*>(part.data());
      pieces[count++].iov_len = part.size();
    }
    if (count == 0) co_return Result<>();
    if (is_cancelled_) co_return fail(Errc::kUnavailable, "cancelled");
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) {
      co_return fail(Errc::kUnavailable, Error::from_errno("send").message());
    }
    if (sent < 0) {
      CO_TRY_OK(co_await wait(Wait::kWrite, end));
      continue;
    }
    end = end_of(time);
    std::size_t left = static_cast<std::size_t>(sent);
    for (std::string_view& part : parts) {
      const std::size_t taken = std::min(left, part.size());
      part.remove_prefix(taken);
      left -= taken;
    }
  }
}

void Upstream::end_writing() { ::shutdown(socket_.native_handle(), SHUT_WR); }

void Upstream::cancel() {
  is_cancelled_ = true;
  boost::system::error_code ignored;
  socket_.cancel(ignored);
}

}  // namespace glovebox::http
