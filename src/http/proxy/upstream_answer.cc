#include "http/proxy/upstream_answer.h"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/parser.hpp>

#include "http/websocket/websocket_frames.h"

namespace glovebox::http {

namespace beast = boost::beast;
using beast::error_code;

namespace {

constexpr std::uint32_t kMaxUpstreamHead = 64 << 10;
constexpr int kMaxInterim = 16;  // of 100 Continue and the like

using HeadParser = beast::http::response_parser<beast::http::empty_body>;

std::string_view text_of_field(beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct UpstreamHeadReader::Impl {
  Method method = Method::kGet;
  std::optional<HeadParser> parser;
  std::size_t taken = 0;
  int interim = 0;

  void start() {
    parser.emplace();
    parser->header_limit(kMaxUpstreamHead);
    parser->body_limit(boost::none);
    parser->eager(false);
    parser->skip(true);  // the body is not its business
    taken = 0;
  }
};

UpstreamHeadReader::UpstreamHeadReader(Method method) : impl_(std::make_unique<Impl>()) {
  impl_->method = method;
  impl_->start();
}
UpstreamHeadReader::~UpstreamHeadReader() = default;

UpstreamHeadReader::Step UpstreamHeadReader::read(std::string_view bytes, std::size_t& used) {
  used = 0;
  for (;;) {
    if (bytes.empty()) return Step::kNeedMore;
    error_code ec;
    const std::size_t took = impl_->parser->put(asio::const_buffer(bytes.data(), bytes.size()), ec);
    used += took;
    impl_->taken += took;
    bytes.remove_prefix(took);
    const bool waits = ec == beast::http::error::need_more;
    if (ec && !waits) return Step::kMalformed;
    // Lines that were taken before count too, which Beast's own limit does not do.
    if (impl_->taken + (waits ? bytes.size() : 0) > kMaxUpstreamHead) return Step::kMalformed;
    if (!impl_->parser->is_header_done()) {
      if (waits || bytes.empty()) return Step::kNeedMore;
      continue;
    }
    const auto& message = impl_->parser->get();
    const unsigned status = message.result_int();
    if (status >= 200 || status == 101) break;
    if (status < 100 || ++impl_->interim > kMaxInterim) return Step::kMalformed;
    impl_->start();
  }
  const auto& message = impl_->parser->get();
  const unsigned status = message.result_int();
  const bool is_chunked = message.count(beast::http::field::transfer_encoding) > 0;
  if (status > 599 || message.count(beast::http::field::content_length) > 1) {
    return Step::kMalformed;
  }
  if (is_chunked &&
      (message.count(beast::http::field::transfer_encoding) > 1 || message.version() != 11 ||
       !beast::iequals(message[beast::http::field::transfer_encoding], "chunked") ||
       message.count(beast::http::field::content_length) > 0)) {
    return Step::kMalformed;
  }
  return Step::kDone;
}

UpstreamHead UpstreamHeadReader::take() {
  const auto& message = impl_->parser->get();
  UpstreamHead head;
  head.status = static_cast<int>(message.result_int());
  for (const auto& field : message) {
    head.headers.add(std::string(text_of_field(field.name_string())),
                     std::string(text_of_field(field.value())));
  }
  const auto length = impl_->parser->content_length();
  if (length) head.length = *length;
  const bool has_body = impl_->method != Method::kHead && head.status >= 200 &&
                        head.status != 204 && head.status != 304;
  if (!has_body) return head;
  head.body = message.count(beast::http::field::transfer_encoding) > 0
                  ? UpstreamHead::Body::kChunked
              : length ? UpstreamHead::Body::kLength
                       : UpstreamHead::Body::kToTheEnd;
  return head;
}

void remove_hop_by_hop(Headers& headers) {
  std::string named;
  for (const auto& [name, value] : headers) {
    if (header_list_contains(name, "connection")) named += value + ",";
  }
  std::string_view list = named;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view word = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (!word.empty() && (word.front() == ' ' || word.front() == '\t')) word.remove_prefix(1);
    while (!word.empty() && (word.back() == ' ' || word.back() == '\t')) word.remove_suffix(1);
    if (!word.empty()) headers.remove(word);
  }
  for (const std::string_view name :
       {"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
        "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length"}) {
    headers.remove(name);
  }
}

}  // namespace glovebox::http
