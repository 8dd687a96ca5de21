#include "http/server/request_reader.h"

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/parser.hpp>
#include <limits>

#include "http/chunks.h"
#include "http/target.h"

namespace glovebox::http {

namespace beast = boost::beast;
using beast::error_code;

namespace {

// A body that grows with what has arrived. Beast's string_body reserves what Content-Length claims,
// which would let ten thousand clients claim all memory without sending a byte.
struct BoundedBody {
  struct value_type {
    std::string text;
    std::size_t limit = 0;
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
        if (piece.size() > value_.limit - value_.text.size()) {
          ec = beast::http::error::body_limit;
          return taken;
        }
        value_.text.append(static_cast<const char*>(piece.data()), piece.size());
        taken += piece.size();
      }
      ec = {};
      return taken;
    }
    void finish(error_code& ec) { ec = {}; }

   private:
    value_type& value_;
  };
};

using RequestParser = beast::http::request_parser<BoundedBody>;

std::string_view text_of_part(beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct RequestReader::Impl {
  RequestParser parser;
  std::size_t max_header_bytes;
  std::size_t header_bytes = 0;
};

RequestReader::RequestReader(std::size_t max_header_bytes) : impl_(std::make_unique<Impl>()) {
  impl_->max_header_bytes = max_header_bytes;
  impl_->parser.header_limit(static_cast<std::uint32_t>(
      std::min<std::size_t>(max_header_bytes, std::numeric_limits<std::uint32_t>::max())));
  impl_->parser.body_limit(boost::none);
  impl_->parser.eager(false);
}

RequestReader::~RequestReader() = default;

RequestReader::Step RequestReader::read_head(std::string_view bytes, std::size_t& used) {
  used = 0;
  error_code ec;
  if (!impl_->parser.is_header_done()) {
    used = impl_->parser.put(asio::const_buffer(bytes.data(), bytes.size()), ec);
    impl_->header_bytes += used;
  }
  // Lines that were taken before count too, which Beast's own limit does not do.
  const bool waits = ec == beast::http::error::need_more;
  const std::size_t held = impl_->header_bytes + (waits ? bytes.size() - used : 0);
  if (held > impl_->max_header_bytes || ec == beast::http::error::header_limit) {
    return Step::kHeaderTooLarge;
  }
  if (waits) return Step::kNeedMore;
  if (ec) return Step::kMalformed;
  return impl_->parser.is_header_done() ? Step::kDone : Step::kNeedMore;
}

bool RequestReader::has_started() const { return impl_->parser.got_some(); }

RequestReader::Step RequestReader::read_body(std::string_view bytes, std::size_t& used) {
  used = 0;
  if (impl_->parser.is_done()) return Step::kDone;
  impl_->parser.eager(true);
  // What is left of a chunked body has at least five bytes ("0\r\n\r\n"). Beast 1.81 asserts that
  // when the last chunk is also the first and comes in pieces; so it gets no fewer.
  if (impl_->parser.chunked() && bytes.size() < kLeastOfChunks) return Step::kNeedMore;
  error_code ec;
  used = impl_->parser.put(asio::const_buffer(bytes.data(), bytes.size()), ec);
  if (ec == beast::http::error::body_limit) return Step::kBodyTooLarge;
  if (ec && ec != beast::http::error::need_more) return Step::kMalformed;
  if (impl_->parser.is_done()) return Step::kDone;
  // The line of a chunk, or a trailer, that does not end.
  if (bytes.size() - used > impl_->max_header_bytes) return Step::kMalformed;
  return Step::kNeedMore;
}

bool RequestReader::fill_head(Request& request, std::string& raw_path, std::string& reason) const {
  const auto& message = impl_->parser.get();
  request.method_word = text_of_part(message.method_string());
  request.method = parse_method(request.method_word);
  request.target = text_of_part(message.target());
  for (const auto& field : message) {
    request.headers.add(std::string(text_of_part(field.name_string())),
                        std::string(text_of_part(field.value())));
  }
  Result<Target> target = parse_target(request.target);
  if (!target) {
    reason = target.error().message();
    return false;
  }
  raw_path = std::move(target->raw_path);
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  const std::size_t hosts = request.headers.count("Host");
  if (hosts > 1 || (hosts == 0 && !is_http_1_0())) {
    reason = "a request must have exactly one Host header";
    return false;
  }
  request.host = target->host.empty() ? std::string(request.header("Host")) : target->host;
  const std::string* coding = request.headers.find("Transfer-Encoding");
  const bool is_chunked = impl_->parser.chunked();
  if (coding != nullptr &&
      (!is_chunked || is_http_1_0() || !beast::iequals(beast::string_view(*coding), "chunked") ||
       request.headers.count("Transfer-Encoding") > 1)) {
    reason = "unsupported transfer coding; only chunked is supported";
    return false;
  }
  if (request.headers.count("Content-Length") > 1) {
    reason = "more than one Content-Length";
    return false;
  }
  return true;
}

bool RequestReader::keep_alive() const { return impl_->parser.keep_alive(); }
bool RequestReader::is_http_1_0() const { return impl_->parser.get().version() == 10; }

bool RequestReader::has_body() const {
  return impl_->parser.chunked() || content_length().value_or(0) > 0;
}

std::optional<std::uint64_t> RequestReader::content_length() const {
  const auto length = impl_->parser.content_length();
  return length ? std::optional<std::uint64_t>(*length) : std::nullopt;
}

void RequestReader::limit_body(std::size_t bytes) { impl_->parser.get().body().limit = bytes; }
std::size_t RequestReader::body_size() const { return impl_->parser.get().body().text.size(); }
std::string RequestReader::take_body() { return std::move(impl_->parser.get().body().text); }

}  // namespace glovebox::http
