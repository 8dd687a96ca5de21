#include "http/server/streamed_answer.h"

#include "base/assert.h"
#include "http/chunks.h"
#include "http/origin_rules.h"
#include "http/server/request_body.h"

namespace glovebox::http {

asio::awaitable<bool> StreamedAnswer::begin(int status, Headers headers) {
  GBX_ASSERT(!is_begun_);
  is_begun_ = true;
  has_body_ = exchanged_.request.method != Method::kHead && may_have_body(status);
  Framing framing;
  framing.content_length = content_length_of(headers);
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
  if (is_broken_) connection_.disconnect_.set_gone();
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
