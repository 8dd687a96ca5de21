// The body of a request whose handler reads it as it comes. The bytes go from the socket straight
// into the handler's buffer. Private to src/http.
#pragma once

#include "http/chunks.h"
#include "http/message.h"
#include "http/server/connection.h"

namespace glovebox::http {

class StreamedBody final : public BodyStream {
 public:
  enum class Expects : bool { kNothing, kContinue };
  StreamedBody(Connection& connection, const RequestReader& reader, Expects expects);

  asio::awaitable<Result<std::size_t>> read_some(char* into, std::size_t size) override;
  void cancel() override;

  // All of it has been read: the next request begins behind it.
  bool is_done() const { return state_ == State::kDone; }
  bool has_timed_out() const { return state_ == State::kTimedOut; }

 private:
  enum class State : std::uint8_t { kOpen, kDone, kTimedOut, kGone, kMalformed };
  Error broken(State state);
  // Bytes of the connection, framing and all. 0: look at state_.
  asio::awaitable<std::size_t> receive(char* into, std::size_t size);
  Result<std::size_t> take(char* into, std::size_t got);
  // How long the client may send nothing from now on.
  Connection::Clock::duration time_left() const;

  Connection& connection_;
  ChunkDecoder chunks_;
  std::uint64_t left_ = 0;      // of Content-Length
  std::uint64_t received_ = 0;  // framing and all
  // For the client. A handler that takes its time, because its guest does, does not count.
  Connection::Clock::duration waited_{};
  bool is_chunked_;
  bool must_say_continue_;
  State state_ = State::kOpen;
};

}  // namespace glovebox::http
