#include "http/client/client.h"

#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/unique_fd.h"
#include "http/chunks.h"
#include "http/client/client_answer.h"
#include "http/client/client_socket.h"

namespace glovebox::http {

namespace {

constexpr std::size_t kUploadBytes = 256 << 10;

bool is_set_by_client(std::string_view name) {
  for (const std::string_view own : {"Host", "Content-Length", "Connection", "Transfer-Encoding"}) {
    if (name.size() == own.size() && ::strncasecmp(name.data(), own.data(), own.size()) == 0) {
      return true;
    }
  }
  return false;
}

bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

// A body that is not in the request.
struct RequestBody {
  std::optional<std::uint64_t> length;
  Client::BodySource next;
};

Result<std::string> request_bytes(const Url& url, const ClientRequest& request,
                                  const RequestBody* upload) {
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
    if (is_set_by_client(name)) continue;
    is_good = is_good && is_one_line(name) && is_one_line(value);
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
  }
  if (!is_good) return fail(Errc::kInvalidArgument, "a line break in a header or the path");
  const bool takes_body = request.method != Method::kGet && request.method != Method::kHead;
  if (upload != nullptr && !upload->length) {
    out += "Transfer-Encoding: chunked\r\n";
  } else if (upload != nullptr) {
    out += "Content-Length: " + std::to_string(*upload->length) + "\r\n";
  } else if (takes_body || !request.body.empty()) {
    out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  }
  out += "\r\n";
  out += request.body;
  return out;
}

bool may_repeat(Method method) {
  return method != Method::kPost && method != Method::kPatch && method != Method::kOther;
}

// False: the server has answered, or gone, before it had read everything.
Result<bool> send_upload(ClientSocket& socket, const RequestBody& upload) {
  std::string buffer(kUploadBytes, '\0');
  std::uint64_t total = 0;
  for (;;) {
    TRY(const std::size_t got, upload.next(buffer.data(), buffer.size()));
    total += got;
    if (upload.length && (total > *upload.length || (got == 0 && total < *upload.length))) {
      return fail(Errc::kInvalidArgument, "the length of the body differs from its Content-Length");
    }
    const std::string_view bytes(buffer.data(), got);
    if (upload.length) {
      if (got == 0) return true;
      TRY(const bool sent, socket.write(bytes));
      if (!sent) return false;
      continue;
    }
    if (got == 0) return socket.write(kLastChunk);
    const ChunkLine line(got);
    for (const std::string_view part : {line.text(), bytes, kChunkEnd}) {
      TRY(const bool sent, socket.write(part));
      if (!sent) return false;
    }
  }
}

}  // namespace

struct Client::Impl {
  Url url;
  ClientOptions options;
  std::shared_ptr<const TlsContext> tls;
  UniqueFd interrupt{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::unique_ptr<ClientSocket> socket;

  Result<ClientResponse> exchange(const ClientRequest& request, const OnChunk* on_chunk,
                                  const OnHead* on_head, const RequestBody* upload = nullptr) {
    TRY(const std::string bytes, request_bytes(url, request, upload));
    for (;;) {
      // A source cannot be read twice: no connection that might be closed already.
      if (socket && (upload != nullptr || socket->is_stale())) socket.reset();
      const bool is_kept = socket != nullptr;
      if (!is_kept) TRY_OK(open());
      Result<bool> sent = socket->write(bytes);
      if (sent && *sent && upload != nullptr) sent = send_upload(*socket, *upload);
      AnswerReader reader(*socket, request.method, options.max_body_bytes, on_chunk, on_head);
      Result<ClientResponse> response =
          sent ? reader.read() : Result<ClientResponse>(fail(sent.error()));
      if (!sent || !*sent || !response || !reader.keeps_alive()) socket.reset();
      // Closed while it was idle, at the same moment as we sent.
      const bool is_lost = !response && response.error().code() == Errc::kUnavailable;
      if (is_lost && is_kept && !reader.has_bytes() && !is_interrupted() && upload == nullptr &&
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

Result<ClientResponse> Client::upload(const ClientRequest& request,
                                      std::optional<std::uint64_t> length, BodySource next) {
  const RequestBody body{.length = length, .next = std::move(next)};
  return impl_->exchange(request, nullptr, nullptr, &body);
}

void Client::interrupt() {
  const std::uint64_t one = 1;
  (void)!::write(impl_->interrupt.get(), &one, sizeof one);
}

void Client::close() { impl_->socket.reset(); }
const Url& Client::url() const { return impl_->url; }

}  // namespace glovebox::http
