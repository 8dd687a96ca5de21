// One execution as E2B's clients read it: lines of JSON, sent at once and never empty, in ASCII
// only, because clients decode every received chunk by itself; and a keepalive every five seconds.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/message.h"
#include "node/runs/run_job.h"
#include "wire/runs/run_answer.h"

namespace glovebox::e2b {

// JSON without a byte above 127.
std::string ascii_json(const boost::json::value& value);
// The event of a line that a runtime wrote: {"type":"result",...} or {"type":"error",...}. Empty:
// it is neither.
boost::json::object execution_event(std::string_view guest_line);

class ExecutionStream final : public node::RunSink {
 public:
  ExecutionStream(asio::io_context& io, http::ResponseWriter& writer)
      : io_(io), writer_(writer), timer_(io), free_(io), ended_(io) {}
  ExecutionStream(const ExecutionStream&) = delete;
  ExecutionStream& operator=(const ExecutionStream&) = delete;

  // Sends the headers and starts the keepalives; stop_keepalive() must be awaited before this is
  // destroyed.
  asio::awaitable<bool> begin();
  asio::awaitable<void> stop_keepalive();

  asio::awaitable<void> number(std::uint64_t executions);
  asio::awaitable<bool> on_output(bool is_stderr, std::string_view bytes) override;
  asio::awaitable<bool> on_result(std::string_view json_line) override;
  asio::awaitable<bool> error(std::string name, std::string value);
  // Incomplete characters, then the last line.
  asio::awaitable<bool> finish();
  bool has_error() const { return has_error_; }

 private:
  static constexpr std::chrono::seconds kKeepaliveInterval{5};

  asio::awaitable<bool> send(boost::json::object line);
  asio::awaitable<bool> send_text(bool is_stderr, std::string text);
  asio::awaitable<void> keep_alive();

  asio::io_context& io_;
  http::ResponseWriter& writer_;
  asio::steady_timer timer_;  // until the next keepalive
  asio::steady_timer free_;   // until no write is pending
  asio::steady_timer ended_;  // until keep_alive() has ended
  std::chrono::steady_clock::time_point last_{};
  bool writing_ = false;
  bool is_stopped_ = false;
  bool runs_keepalive_ = false;  // keep_alive() runs
  bool has_error_ = false;
  wire::Utf8Chunker out_;
  wire::Utf8Chunker err_;
};

}  // namespace glovebox::e2b
