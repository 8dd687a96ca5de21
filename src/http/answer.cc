// The writing half of a connection: whole answers in one system call, and streamed ones.
#include <charconv>

#include "base/assert.h"
#include "http/connection.h"
#include "http/origin_rules.h"
#include "http/status.h"

namespace glovebox::http {

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
  is_chunked_ = !exchanged_.is_http_1_0 && may_have_body(status);
  // Without chunks the end of the connection is the end of the body.
  if (!is_chunked_ && has_body_) exchanged_.keep_alive = false;
  Framing framing;
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
  GBX_ASSERT(is_begun_ && !is_finished_);
  if (is_broken_) co_return false;
  // A chunk of nothing would be the end of the body.
  if (bytes.empty() || !has_body_) co_return true;
  exchanged_.answer_bytes += bytes.size();
  bool sent = false;
  if (is_chunked_) {
    char size_line[20];
    char* end = std::to_chars(size_line, size_line + 16, bytes.size(), 16).ptr;
    *end++ = '\r';
    *end++ = '\n';
    const std::string_view line(size_line, static_cast<std::size_t>(end - size_line));
    sent = co_await connection_.send_parts(line, bytes, "\r\n");
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
  if (!is_chunked_ || !has_body_) co_return true;
  is_broken_ = !co_await connection_.send_parts("0\r\n\r\n");
  co_return !is_broken_;
}

}  // namespace glovebox::http
