// A connection to one server's API. Adds the key to every request and turns failures into messages
// that say what to do.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/percent_encoding.h"
#include "base/result.h"
#include "client/connection/server_location.h"
#include "http/client/client.h"

namespace glovebox::client {

// The error body that every route of the API uses.
struct ApiError {
  int status = 0;
  std::string code;
  std::string message;
};

class ApiClient {
 public:
  // Connects at the first request. kInvalidArgument: the URL is malformed.
  static Result<ApiClient> open(ServerLocation location, http::ClientOptions options = {});
  // find_server_location() and open().
  static Result<ApiClient> connect(const ServerLocationOptions& options,
                                   http::ClientOptions http_options = {});

  // The error means that no server responded; it names the address and where that came from. A
  // response with an error status is a value: see error_in().
  Result<http::ClientResponse> send(http::ClientRequest request);
  Result<http::ClientResponse> stream(http::ClientRequest request, http::Client::OnChunk on_chunk);
  // Reads the body from `next` until it returns nothing; see http::Client::upload.
  Result<http::ClientResponse> upload(http::ClientRequest request,
                                      std::optional<std::uint64_t> length,
                                      std::function<Result<std::size_t>(char*, std::size_t)> next);

  // None for a successful response. A rejected key is explained.
  std::optional<ApiError> error_in(const http::ClientResponse& response) const;

  // Ends a request that is under way. Safe to call from a signal handler.
  void interrupt() { client_.interrupt(); }
  const ServerLocation& location() const { return location_; }

 private:
  ApiClient(ServerLocation location, http::Client client)
      : location_(std::move(location)), client_(std::move(client)) {}
  void add_key(http::ClientRequest& request) const;
  Error explained(Error error) const;

  ServerLocation location_;
  http::Client client_;
};

http::ClientRequest get_request(std::string target);
http::ClientRequest post_request(std::string target, std::string body = {});
http::ClientRequest delete_request(std::string target);

// The outcome of a request whose failure was reported already.
struct CommandResponse {
  int status = 0;    // not 0: the exit status for a failure that was printed
  std::string body;  // else the response
};
inline constexpr std::chrono::milliseconds kCommandTimeout{60'000};
inline constexpr std::chrono::milliseconds kNoTimeout{0};
// Sends one request and prints what went wrong. `timeout` is the longest silence of the server.
CommandResponse send_and_report(const ServerLocationOptions& options, http::ClientRequest request,
                                std::chrono::milliseconds timeout = kCommandTimeout);

}  // namespace glovebox::client
