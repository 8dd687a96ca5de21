// One connection to a server's API, with its key, and what its refusals mean in words.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "client/connection/server_location.h"
#include "http/client.h"

namespace glovebox::client {

// The error form of every route.
struct Refusal {
  int status = 0;
  std::string code;
  std::string message;
};

class Api {
 public:
  static Result<Api> open(Place place, http::ClientOptions options = {});

  // Adds the key. An error means that nobody answers, and says at which address and what to type.
  Result<http::ClientResponse> send(http::ClientRequest request);
  Result<http::ClientResponse> stream(http::ClientRequest request, http::Client::OnChunk on_chunk);
  // The body comes from `next`, until it gives nothing; see http::Client::upload.
  Result<http::ClientResponse> upload(http::ClientRequest request,
                                      std::optional<std::uint64_t> length,
                                      std::function<Result<std::size_t>(char*, std::size_t)> next);

  // None when the answer is a good one. A refused key is explained.
  std::optional<Refusal> refusal_of(const http::ClientResponse& response) const;

  // From a signal handler: ends what is under way.
  void interrupt() { client_.interrupt(); }
  const Place& place() const { return place_; }

 private:
  Api(Place place, http::Client client) : place_(std::move(place)), client_(std::move(client)) {}
  void add_key(http::ClientRequest& request) const;
  Error explained(Error error) const;

  Place place_;
  http::Client client_;
};

// What a command of this folder does: asks, and turns every failure into its exit status.
struct Asked {
  int status = 0;    // not 0: it was said, end with it
  std::string body;  // else the answer
};
// `patience` is the longest silence; zero: any.
inline constexpr std::chrono::milliseconds kCommandTime{60'000};
Asked ask(const PlaceWords& words, http::ClientRequest request,
          std::chrono::milliseconds patience = kCommandTime);

// A path component or query value as a request has it.
std::string url_encoded(std::string_view text);

}  // namespace glovebox::client
