// A small blocking HTTP/1.1 client, for our command line and the benchmark: one connection, kept
// alive. Numeric addresses and "localhost" only: a static program has no resolver.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace glovebox::http {

struct Url {
  bool tls = false;
  std::string host;  // "127.0.0.1", "::1", "localhost"
  std::uint16_t port = 80;
  std::string path;  // what follows the authority, "" or "/prefix"; without a trailing slash

  std::string authority() const;  // "127.0.0.1:7070", "[::1]:7070": the Host header
};
// "http://host:port", "https://[::1]:7443/prefix". No user, query or fragment.
Result<Url> parse_url(std::string_view text);

struct ClientOptions {
  std::chrono::milliseconds connect_time{5'000};
  // The longest silence while sending or receiving; 0: no limit (a run may be silent for long).
  std::chrono::milliseconds io_time{0};
  std::size_t max_body_bytes = std::size_t{256} << 20;  // of an answer that is kept whole
  std::string ca_file;  // https: trust these instead of the system's
};

struct ClientRequest {
  Method method = Method::kGet;
  std::string target = "/";  // path and query, encoded; put behind Url::path
  Headers headers = {};      // Host, Content-Length and Connection are ours
  std::string body = {};
};

struct ClientResponse {
  int status = 0;
  Headers headers;
  std::string body;
};

class Client {
 public:
  Client(Url url, ClientOptions options = {});
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  using BodySource = std::function<Result<std::size_t>(char* into, std::size_t size)>;

  // Connects when needed. A kept connection that turns out to be closed is opened anew, once, if
  // nothing of the answer has arrived and the method may be repeated (not POST or PATCH).
  Result<ClientResponse> send(const ClientRequest& request);

  // Gives the body to `on_chunk` as it arrives (SSE, NDJSON) when the status is 2xx; the response
  // then has no body. Other answers are kept whole. `on_chunk` returns false to stop: the
  // connection is closed and the response returned. `on_head` sees the status and headers first.
  using OnChunk = std::function<bool(std::string_view)>;
  using OnHead = std::function<void(const ClientResponse&)>;
  Result<ClientResponse> stream(const ClientRequest& request, OnChunk on_chunk,
                                OnHead on_head = nullptr);

  // The body comes from `next`, until that gives 0; in chunks, when its length is not known. The
  // server may answer before it has read everything; then `next` is not asked for the rest. An
  // error of `next` ends the request.
  Result<ClientResponse> upload(const ClientRequest& request, std::optional<std::uint64_t> length,
                                BodySource next);

  // From another thread or a signal handler: ends what is under way, and every later request,
  // with Errc::kUnavailable.
  void interrupt();
  void close();
  const Url& url() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace glovebox::http
