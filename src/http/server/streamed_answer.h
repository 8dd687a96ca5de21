// The streaming form of an answer: chunked, or with the Content-Length that begin() is given.
// Borrows the connection and the exchange; what it changes there tells the connection whether it
// can be kept. Private to src/http.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/server/connection.h"

namespace glovebox::http {

class StreamedAnswer final : public ResponseWriter {
 public:
  StreamedAnswer(Connection& connection, Connection::Exchanged& exchanged)
      : connection_(connection), exchanged_(exchanged) {}
  asio::awaitable<bool> begin(int status, Headers headers) override;
  asio::awaitable<bool> write(std::string bytes) override;
  asio::awaitable<bool> write_view(std::string_view bytes) override;
  asio::awaitable<bool> finish() override;
  bool begun() const override { return is_begun_; }
  bool finished() const { return is_finished_ && !is_broken_; }

 private:
  Connection& connection_;
  Connection::Exchanged& exchanged_;
  bool is_begun_ = false;
  bool is_finished_ = false;
  bool is_broken_ = false;
  bool has_body_ = true;               // not for HEAD, 204, 304
  bool is_chunked_ = true;             // not for HTTP/1.0, nor where the length is known
  std::optional<std::uint64_t> left_;  // of the length that was promised
};

}  // namespace glovebox::http
