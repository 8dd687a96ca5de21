// The raw stream that an upgrade handler gets of a connection. Private to src/http.
#pragma once

#include "http/message.h"
#include "http/server/connection.h"

namespace glovebox::http {

class UpgradedStream final : public RawStream {
 public:
  UpgradedStream(Connection& connection, Connection::Exchanged& exchanged);
  ~UpgradedStream() override;
  UpgradedStream(const UpgradedStream&) = delete;
  UpgradedStream& operator=(const UpgradedStream&) = delete;

  asio::awaitable<std::size_t> read_some(char* into, std::size_t size) override;
  asio::awaitable<bool> write(std::string bytes) override;
  asio::awaitable<bool> write_views(std::string_view first, std::string_view second) override;
  std::optional<std::size_t> write_now(std::string_view bytes) override;
  bool hold(std::size_t bytes) override;
  void set_status(int status) override { exchanged_.status = status; }
  bool stopping() const override { return connection_.server_->is_stopping; }
  void stop_reading() override;
  void close() override { connection_.cut(); }

 private:
  Connection& connection_;
  Connection::Exchanged& exchanged_;
  FairShare::Part held_;
  bool is_reading_stopped_ = false;
};

}  // namespace glovebox::http
