// The blocking socket under http::Client: connect, read and write with a limit on silence, with TLS
// or without. Private to src/http.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "http/client/client.h"
#include "http/tls.h"

namespace glovebox::http {

class ClientSocket {
 public:
  // `interrupt` is an eventfd: readable, it ends every wait.
  static Result<std::unique_ptr<ClientSocket>> connect(const Url& url, const ClientOptions& options,
                                                       std::shared_ptr<const TlsContext> tls,
                                                       int interrupt);
  ~ClientSocket();

  // 0: the server has ended the connection.
  Result<std::size_t> read(char* into, std::size_t size);
  // Stops early, and says false, when the server answers or closes before it has read everything.
  Result<bool> write(std::string_view bytes);
  // For who waits for other things too: one step, without waiting; and a wait for POLLIN, POLLOUT
  // or both. No time: without limit; 0 of the events: the time was over.
  Io try_read(char* into, std::size_t size, std::size_t& got);
  Io try_write(std::string_view bytes, std::size_t& put);
  Result<short> wait_for(short events, std::optional<std::chrono::milliseconds> time);
  int descriptor() const { return fd_.get(); }
  bool has_pending() const { return tls_ != nullptr && tls_->has_pending(); }
  // A kept connection that has something to read, or has ended, is not to be used again.
  bool is_stale() const;

 private:
  ClientSocket(UniqueFd fd, int interrupt, std::chrono::milliseconds io_time)
      : fd_(std::move(fd)), interrupt_(interrupt), io_time_(io_time) {}
  // Which of `events` came.
  Result<short> wait(short events, std::chrono::milliseconds time);
  Result<> complete_tls_handshake(std::chrono::milliseconds time);

  UniqueFd fd_;
  int interrupt_;
  std::chrono::milliseconds io_time_;
  std::unique_ptr<TlsSession> tls_;
};

}  // namespace glovebox::http
