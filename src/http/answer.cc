// The writing half of a connection: whole answers in one system call, and streamed ones.
#include <charconv>
#include <optional>

#include "base/assert.h"
#include "http/chunks.h"
#include "http/origin_rules.h"
#include "http/server/connection.h"
#include "http/server/request_body.h"
#include "http/status.h"

namespace glovebox::http {

namespace {

// A handler's own Content-Length; what is not a number is not one.
std::optional<std::uint64_t> length_of(const Headers& headers) {
  const std::string_view text = headers.get("Content-Length");
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  const bool is_good = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return is_good ? std::optional<std::uint64_t>(length) : std::nullopt;
}

}  // namespace

asio::awaitable<bool> Connection::send_parts(std::string_view first, std::string_view second,
                                             std::string_view third) {
  std::string_view parts[] = {first, second, third};
  if (!transport_.is_open() || is_expired_) co_return false;
  Io io = transport_.write(parts);
  if (io == Io::kDone) co_return true;  // nearly always: the kernel's buffer takes it all
  set_deadline(server_->options.limits.write_time, first.size() + second.size() + third.size());
  while (io == Io::kWantWrite || io == Io::kWantRead) {
    const bool may_go_on = co_await transport_.wait(io);
    if (!may_go_on || is_expired_) {
      io = Io::kFailed;
      break;
    }
    io = transport_.write(parts);
  }
  clear_deadline();
  co_return io == Io::kDone;
}

AfterAnswer Connection::after_answer(const Exchanged& exchanged) const {
  const bool keep = exchanged.keep_alive && !server_->is_stopping && !is_gone_;
  if (!keep) return AfterAnswer::kClose;
  return exchanged.is_http_1_0 ? AfterAnswer::kKeepAliveOld : AfterAnswer::kKeepAlive;
}

asio::awaitable<bool> Connection::send_response(Exchanged& exchanged, Response response) {
  if (response.problem) {
    response.body =
        error_body(response.problem->code, response.problem->message, exchanged.request.id);
    response.headers.set("Content-Type", "application/json");
  }
  if (exchanged.may_share) {
    add_cors_headers(exchanged.request, exchanged.cors, response.headers);
  }
  const bool has_body = exchanged.request.method != Method::kHead && may_have_body(response.status);
  Framing framing;
  framing.content_length = response.body.size();
  framing.is_forwarded = exchanged.cors == Cors::kForwarded;
  // HEAD: the length that GET would have.
  if (exchanged.request.method == Method::kHead && response.body.empty()) {
    framing.content_length = length_of(response.headers).value_or(0);
  }
  if (exchanged.body != nullptr && !exchanged.body->is_done()) exchanged.keep_alive = false;
  framing.after = after_answer(exchanged);
  // What the header has said is what is done, even if the server begins to stop meanwhile.
  exchanged.keep_alive = framing.after != AfterAnswer::kClose;
  exchanged.status = response.status;
  exchanged.answer_bytes = has_body ? response.body.size() : 0;
  const std::string head =
      response_head(response.status, response.headers, exchanged.request.id, framing);
  const std::string_view body = has_body ? std::string_view(response.body) : std::string_view();
  co_return co_await send_parts(head, body);
}

void Connection::finish_exchange(const Exchanged& exchanged) {
  if (!server_->options.on_exchange) return;
  const auto took =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - exchanged.started);
  const Exchange exchange{.request = exchanged.request,
                          .status = exchanged.status,
                          .answer_bytes = exchanged.answer_bytes,
                          .took = took,
                          .client_gone = is_gone_};
  server_->options.on_exchange(exchange);
}

asio::awaitable<bool> StreamedAnswer::begin(int status, Headers headers) {
  GBX_ASSERT(!is_begun_);
  is_begun_ = true;
  has_body_ = exchanged_.request.method != Method::kHead && may_have_body(status);
  Framing framing;
  framing.content_length = length_of(headers);
  framing.is_forwarded = exchanged_.cors == Cors::kForwarded;
  if (has_body_) left_ = framing.content_length;
  is_chunked_ = !exchanged_.is_http_1_0 && may_have_body(status) && !framing.content_length;
  // Without chunks or a length the end of the connection is the end of the body.
  if (!is_chunked_ && !left_ && has_body_) exchanged_.keep_alive = false;
  // What is left of the request's body would be taken for the next request.
  if (exchanged_.body != nullptr && !exchanged_.body->is_done()) exchanged_.keep_alive = false;
  framing.chunked = is_chunked_;
  framing.after = connection_.after_answer(exchanged_);
  exchanged_.keep_alive = framing.after != AfterAnswer::kClose;
  exchanged_.status = status;
  add_cors_headers(exchanged_.request, exchanged_.cors, headers);
  const std::string head = response_head(status, headers, exchanged_.request.id, framing);
  is_broken_ = !co_await connection_.send_parts(head);
  co_return !is_broken_;
}

asio::awaitable<bool> StreamedAnswer::write(std::string bytes) {
  co_return co_await write_view(bytes);
}

asio::awaitable<bool> StreamedAnswer::write_view(std::string_view bytes) {
  GBX_ASSERT(is_begun_ && !is_finished_);
  if (is_broken_) co_return false;
  // A chunk of nothing would be the end of the body.
  if (bytes.empty() || !has_body_) co_return true;
  // More than was promised would be read as the next answer.
  if (left_ && bytes.size() > *left_) {
    is_broken_ = true;
    co_return false;
  }
  exchanged_.answer_bytes += bytes.size();
  if (left_) *left_ -= bytes.size();
  bool sent = false;
  if (is_chunked_) {
    const ChunkLine line(bytes.size());
    sent = co_await connection_.send_parts(line.text(), bytes, kChunkEnd);
  } else {
    sent = co_await connection_.send_parts(bytes);
  }
  is_broken_ = !sent;
  if (is_broken_) connection_.peer_has_gone();
  co_return sent;
}

asio::awaitable<bool> StreamedAnswer::finish() {
  GBX_ASSERT(is_begun_);
  if (is_broken_ || is_finished_) co_return !is_broken_;
  is_finished_ = true;
  // Less than was promised can only be shown by closing.
  if (left_.value_or(0) > 0) is_broken_ = true;
  if (!is_chunked_ || !has_body_) co_return !is_broken_;
  is_broken_ = !co_await connection_.send_parts(kLastChunk);
  co_return !is_broken_;
}

}  // namespace glovebox::http
