#include "http/client/client_answer.h"

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/parser.hpp>
#include <optional>

#include "http/chunks.h"

namespace glovebox::http {

namespace beast = boost::beast;
using beast::error_code;

namespace {

constexpr std::uint32_t kMaxHeaderBytes = 64 << 10;
constexpr std::size_t kAnswerReadBytes = 256 << 10;

// Keeps the body, up to a limit, or gives it away piece by piece.
struct SinkBody {
  struct value_type {
    std::string text;
    std::size_t limit = 0;
    const Client::OnChunk* on_chunk = nullptr;
    bool is_stopped = false;
  };

  class reader {
   public:
    template <bool kIsRequest, class Fields>
    reader(beast::http::header<kIsRequest, Fields>&, value_type& value) : value_(value) {}
    void init(const boost::optional<std::uint64_t>&, error_code& ec) { ec = {}; }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, error_code& ec) {
      std::size_t taken = 0;
      for (auto it = asio::buffer_sequence_begin(buffers); it != asio::buffer_sequence_end(buffers);
           ++it) {
        const asio::const_buffer piece(*it);
        const std::string_view text(static_cast<const char*>(piece.data()), piece.size());
        if (!take(text)) {
          ec = beast::http::error::body_limit;
          return taken;
        }
        taken += text.size();
      }
      ec = {};
      return taken;
    }
    void finish(error_code& ec) { ec = {}; }

   private:
    bool take(std::string_view piece) {
      if (value_.on_chunk != nullptr) {
        value_.is_stopped = !(*value_.on_chunk)(piece);
        return !value_.is_stopped;
      }
      if (piece.size() > value_.limit - value_.text.size()) return false;
      value_.text += piece;
      return true;
    }
    value_type& value_;
  };
};

using AnswerParser = beast::http::response_parser<SinkBody>;

}  // namespace

struct AnswerReader::Impl {
  Impl(ClientSocket& socket, Method method, std::size_t max_body, const Client::OnChunk* on_chunk,
       const Client::OnHead* on_head)
      : socket_(socket),
        method_(method),
        max_body_(max_body),
        on_chunk_(on_chunk),
        on_head_(on_head) {}

  Result<ClientResponse> read(std::string pending) {
    std::string buffer(kAnswerReadBytes, '\0');
    std::string_view bytes = pending;
    has_bytes_ = !pending.empty();
    start();
    for (;;) {
      TRY(const bool is_done, feed(bytes));
      if (is_done) return finish();
      // What was not taken waits for more; nearly always there is nothing.
      pending = std::string(bytes);
      TRY(const std::size_t got, socket_.read(buffer.data(), buffer.size()));
      has_bytes_ = has_bytes_ || got > 0;
      if (got == 0) {
        TRY_OK(feed_end());
        return finish();
      }
      bytes = std::string_view(buffer.data(), got);
      if (!pending.empty()) bytes = pending.append(bytes);
    }
  }

  void start() {
    parser_.emplace();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(boost::none);
    parser_->eager(false);
    parser_->skip(method_ == Method::kHead);
    is_head_told_ = false;
  }

  // True: the answer is complete, or its receiver wants no more.
  Result<bool> feed(std::string_view& pending) {
    while (!pending.empty() && !parser_->is_done()) {
      // See request_reader.cc: Beast asserts on fewer.
      if (parser_->is_header_done() && parser_->chunked() && pending.size() < kLeastOfChunks) break;
      error_code ec;
      const std::size_t used = parser_->put(asio::buffer(pending.data(), pending.size()), ec);
      pending.remove_prefix(used);
      if (parser_->get().body().is_stopped) return true;
      if (ec == beast::http::error::body_limit) {
        return fail(Errc::kResourceExhausted, "the answer is too large");
      }
      if (ec && ec != beast::http::error::need_more) {
        return fail(Errc::kProtocol, "malformed HTTP response: " + ec.message());
      }
      if (parser_->is_header_done() && !is_head_told_) {
        // 100 Continue and its like announce the answer.
        if (parser_->get().result_int() < 200) {
          start();
          continue;
        }
        head_done();
      }
      if (ec == beast::http::error::need_more) break;
    }
    return parser_->is_done();
  }

  Result<> feed_end() {
    if (!has_bytes_) return fail(Errc::kUnavailable, "the server closed the connection");
    error_code ec;
    if (parser_->got_some()) parser_->put_eof(ec);
    if (ec || !parser_->is_done()) {
      return fail(Errc::kUnavailable,
                  "the server closed the connection before the end of its response");
    }
    return {};
  }

  void head_done() {
    is_head_told_ = true;
    const auto& message = parser_->get();
    response_.status = static_cast<int>(message.result_int());
    for (const auto& field : message) {
      response_.headers.add(std::string(field.name_string()), std::string(field.value()));
    }
    auto& body = parser_->get().body();
    body.limit = max_body_;
    const bool is_good = response_.status >= 200 && response_.status < 300;
    if (is_good && on_chunk_ != nullptr) body.on_chunk = on_chunk_;
    if (on_head_ != nullptr && *on_head_) (*on_head_)(response_);
    parser_->eager(true);
  }

  Result<ClientResponse> finish() {
    auto& body = parser_->get().body();
    keeps_alive_ = parser_->is_done() && parser_->keep_alive() && !body.is_stopped;
    response_.body = std::move(body.text);
    return std::move(response_);
  }

  ClientSocket& socket_;
  Method method_;
  std::size_t max_body_;
  const Client::OnChunk* on_chunk_;
  const Client::OnHead* on_head_;
  std::optional<AnswerParser> parser_;
  ClientResponse response_;
  bool is_head_told_ = false;
  bool has_bytes_ = false;
  bool keeps_alive_ = false;
};

AnswerReader::AnswerReader(ClientSocket& socket, Method method, std::size_t max_body,
                           const Client::OnChunk* on_chunk, const Client::OnHead* on_head)
    : impl_(std::make_unique<Impl>(socket, method, max_body, on_chunk, on_head)) {}
AnswerReader::~AnswerReader() = default;

Result<ClientResponse> AnswerReader::read(std::string received) {
  return impl_->read(std::move(received));
}
bool AnswerReader::has_bytes() const { return impl_->has_bytes_; }
bool AnswerReader::keeps_alive() const { return impl_->keeps_alive_; }

}  // namespace glovebox::http
