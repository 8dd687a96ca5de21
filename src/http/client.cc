#include "http/client.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/parser.hpp>
#include <optional>

#include "base/assert.h"
#include "base/unique_fd.h"
#include "http/client_socket.h"

namespace glovebox::http {

namespace beast = boost::beast;
using beast::error_code;

namespace {

constexpr std::uint32_t kMaxHeaderBytes = 64 << 10;
constexpr std::size_t kReadBytes = 64 << 10;
constexpr std::size_t kLeastOfChunks = 5;

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

using Parser = beast::http::response_parser<SinkBody>;

bool is_ours(std::string_view name) {
  for (const std::string_view own : {"Host", "Content-Length", "Connection", "Transfer-Encoding"}) {
    if (beast::iequals(beast::string_view(name.data(), name.size()),
                       beast::string_view(own.data(), own.size()))) {
      return true;
    }
  }
  return false;
}

bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

Result<std::string> request_bytes(const Url& url, const ClientRequest& request) {
  std::string out;
  out.reserve(512 + request.body.size());
  out += method_name(request.method);
  out += ' ';
  out += url.path;
  out += request.target;
  out += " HTTP/1.1\r\nHost: ";
  out += url.authority();
  out += "\r\n";
  bool is_good = is_one_line(request.target);
  for (const auto& [name, value] : request.headers) {
    if (is_ours(name)) continue;
    is_good = is_good && is_one_line(name) && is_one_line(value);
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
  }
  if (!is_good) return fail(Errc::kInvalidArgument, "a line break in a header or the path");
  const bool takes_body = request.method != Method::kGet && request.method != Method::kHead;
  if (takes_body || !request.body.empty()) {
    out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  }
  out += "\r\n";
  out += request.body;
  return out;
}

bool may_repeat(Method method) {
  return method != Method::kPost && method != Method::kPatch && method != Method::kOther;
}

// One answer out of a socket.
class AnswerReader {
 public:
  AnswerReader(ClientSocket& socket, Method method, std::size_t max_body,
               const Client::OnChunk* on_chunk, const Client::OnHead* on_head)
      : socket_(socket),
        method_(method),
        max_body_(max_body),
        on_chunk_(on_chunk),
        on_head_(on_head) {}

  Result<ClientResponse> read() {
    std::string buffer(kReadBytes, '\0');
    std::string pending;
    start();
    for (;;) {
      TRY(const bool is_done, feed(pending));
      if (is_done) return finish();
      TRY(const std::size_t got, socket_.read(buffer.data(), buffer.size()));
      has_bytes_ = has_bytes_ || got > 0;
      if (got == 0) {
        TRY_OK(feed_end());
        return finish();
      }
      pending.append(buffer, 0, got);
    }
  }

  bool has_bytes() const { return has_bytes_; }
  bool keeps_alive() const { return keeps_alive_; }

 private:
  void start() {
    parser_.emplace();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(boost::none);
    parser_->eager(false);
    parser_->skip(method_ == Method::kHead);
    is_head_told_ = false;
  }

  // True: the answer is complete, or whoever takes it has had enough.
  Result<bool> feed(std::string& pending) {
    while (!pending.empty() && !parser_->is_done()) {
      // See request_reader.cc: Beast asserts on fewer.
      if (parser_->is_header_done() && parser_->chunked() && pending.size() < kLeastOfChunks) break;
      error_code ec;
      const std::size_t used = parser_->put(asio::buffer(pending), ec);
      pending.erase(0, used);
      if (parser_->get().body().is_stopped) return true;
      if (ec == beast::http::error::body_limit) {
        return fail(Errc::kResourceExhausted, "the answer is too large");
      }
      if (ec && ec != beast::http::error::need_more) {
        return fail(Errc::kProtocol, "not an HTTP answer: " + ec.message());
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
      return fail(Errc::kUnavailable, "the server closed the connection in its answer");
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
  std::optional<Parser> parser_;
  ClientResponse response_;
  bool is_head_told_ = false;
  bool has_bytes_ = false;
  bool keeps_alive_ = false;
};

}  // namespace

struct Client::Impl {
  Url url;
  ClientOptions options;
  std::shared_ptr<const TlsContext> tls;
  UniqueFd interrupt{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::unique_ptr<ClientSocket> socket;

  Result<ClientResponse> exchange(const ClientRequest& request, const OnChunk* on_chunk,
                                  const OnHead* on_head) {
    TRY(const std::string bytes, request_bytes(url, request));
    for (;;) {
      if (socket && socket->is_stale()) socket.reset();
      const bool is_kept = socket != nullptr;
      if (!is_kept) TRY_OK(open());
      const Result<bool> sent = socket->write(bytes);
      AnswerReader reader(*socket, request.method, options.max_body_bytes, on_chunk, on_head);
      Result<ClientResponse> response =
          sent ? reader.read() : Result<ClientResponse>(fail(sent.error()));
      if (!sent || !*sent || !response || !reader.keeps_alive()) socket.reset();
      // Closed while it was idle, at the same moment as we sent.
      const bool is_lost = !response && response.error().code() == Errc::kUnavailable;
      if (is_lost && is_kept && !reader.has_bytes() && !is_interrupted() &&
          may_repeat(request.method)) {
        continue;
      }
      return response;
    }
  }

  Result<> open() {
    if (url.tls && !tls) {
      TRY(tls, TlsContext::client(options.ca_file));
    }
    TRY(socket, ClientSocket::connect(url, options, tls, interrupt.get()));
    return {};
  }

  bool is_interrupted() const {
    std::uint64_t count = 0;
    const bool was = ::read(interrupt.get(), &count, sizeof count) == sizeof count;
    if (was) (void)!::write(interrupt.get(), &count, sizeof count);
    return was;
  }
};

Client::Client(Url url, ClientOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->url = std::move(url);
  impl_->options = std::move(options);
  GBX_ASSERT(impl_->interrupt);
}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Result<ClientResponse> Client::send(const ClientRequest& request) {
  return impl_->exchange(request, nullptr, nullptr);
}

Result<ClientResponse> Client::stream(const ClientRequest& request, OnChunk on_chunk,
                                      OnHead on_head) {
  return impl_->exchange(request, &on_chunk, &on_head);
}

void Client::interrupt() {
  const std::uint64_t one = 1;
  (void)!::write(impl_->interrupt.get(), &one, sizeof one);
}

void Client::close() { impl_->socket.reset(); }
const Url& Client::url() const { return impl_->url; }

}  // namespace glovebox::http
