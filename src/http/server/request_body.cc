#include "http/server/request_body.h"

#include <algorithm>

namespace glovebox::http {

StreamedBody::StreamedBody(Connection& connection, const RequestReader& reader, Expects expects)
    : connection_(connection),
      is_chunked_(reader.has_body() && !reader.content_length()),
      must_say_continue_(expects == Expects::kContinue) {
  if (!is_chunked_) length = left_ = reader.content_length().value_or(0);
  if (!is_chunked_ && left_ == 0) state_ = State::kDone;
}

Error StreamedBody::broken(State state) {
  state_ = state;
  switch (state) {
    case State::kTimedOut:
      return Error(Errc::kTimeout, "the request's body took too long to arrive");
    case State::kMalformed:
      return Error(Errc::kInvalidArgument, "the request's body does not match its header");
    default:
      return Error(Errc::kUnavailable,
                   "the client closed the connection in the middle of its body");
  }
}

asio::awaitable<Result<std::size_t>> StreamedBody::read_some(char* into, std::size_t size) {
  if (size == 0) co_return std::size_t{0};
  while (state_ == State::kOpen) {
    if (must_say_continue_) {
      // Only now: a handler that refuses without reading spares its client the body.
      must_say_continue_ = false;
      const bool is_begun = !connection_.pending_.empty();
      if (!is_begun && !co_await connection_.send_parts("HTTP/1.1 100 Continue\r\n\r\n")) {
        co_return fail(broken(State::kGone));
      }
    }
    const std::size_t wanted = is_chunked_ ? size : std::min<std::uint64_t>(size, left_);
    const std::size_t got = co_await receive(into, wanted);
    if (got == 0) break;
    Result<std::size_t> content = take(into, got);
    if (!content || *content > 0) co_return content;
  }
  if (state_ == State::kDone) co_return std::size_t{0};
  co_return fail(broken(state_));
}

Result<std::size_t> StreamedBody::take(char* into, std::size_t got) {
  if (!is_chunked_) {
    left_ -= got;
    if (left_ == 0) state_ = State::kDone;
    return got;
  }
  const ChunkDecoder::Step step = chunks_.decode(into, got);
  if (chunks_.is_malformed()) return fail(broken(State::kMalformed));
  if (chunks_.is_done()) {
    state_ = State::kDone;
    // Behind the end there is the next request already.
    connection_.pending_.insert(0, into + step.used, got - step.used);
  }
  return step.content;
}

Connection::Clock::duration StreamedBody::time_left() const {
  if (patience.count() > 0) return patience;
  const ServerLimits& limits = connection_.server_->options.limits;
  const Connection::Clock::duration in_all =
      limits.body_time + std::chrono::milliseconds(received_ * 1000 / limits.min_bytes_per_second);
  return std::min<Connection::Clock::duration>(limits.body_stall_time, in_all - waited_);
}

asio::awaitable<std::size_t> StreamedBody::receive(char* into, std::size_t size) {
  std::string& pending = connection_.pending_;
  if (!pending.empty()) {
    const std::size_t taken = pending.copy(into, size);
    pending.erase(0, taken);
    co_return taken;
  }
  Transport& transport = connection_.transport_;
  co_await connection_.give_way();
  if (state_ != State::kOpen) co_return 0;  // cancelled
  for (;;) {
    if (!transport.is_open() || connection_.is_expired_) {
      state_ = State::kGone;
      co_return 0;
    }
    std::size_t got = 0;
    const Io io = transport.read(into, size, got);
    if (io == Io::kDone) {
      connection_.bytes_in_a_row_ += got;
      received_ += got;
      co_return got;
    }
    connection_.bytes_in_a_row_ = 0;
    if (io == Io::kEnded || io == Io::kFailed) {
      state_ = State::kGone;
      co_return 0;
    }
    const Connection::Clock::time_point began = Connection::Clock::now();
    connection_.body_deadline_ = began + time_left();
    connection_.is_body_late_ = false;
    const bool may_go_on = co_await transport.wait(io);
    waited_ += Connection::Clock::now() - began;
    connection_.body_deadline_ = Connection::Clock::time_point::max();
    if (state_ != State::kOpen) co_return 0;  // cancelled
    if (may_go_on) continue;
    state_ = connection_.is_body_late_ ? State::kTimedOut : State::kGone;
    co_return 0;
  }
}

void StreamedBody::cancel() {
  if (state_ != State::kOpen) return;
  state_ = State::kGone;
  connection_.transport_.cancel();
}

}  // namespace glovebox::http
