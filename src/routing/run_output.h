// Receives a run's output: collects it for one answer, or sends it live as server-sent events or as
// JSON lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/memory_budget.h"
#include "base/task.h"
#include "http/message.h"
#include "node/runs/run_job.h"
#include "packages/package_preparation.h"
#include "wire/runs/run_answer.h"

namespace glovebox::routing {

enum class AnswerForm : std::uint8_t { kJson, kEvents, kLines };
// Chosen by the Accept header; one JSON object unless it names a stream.
AnswerForm answer_form(const http::Request& request);

// Keeps all output. The node enforces the run's limit; `held` is shared by all runs, and what this
// one keeps counts for its owner, a project.
class KeepingSink final : public node::RunSink {
 public:
  KeepingSink(MemoryBudget& held, std::string owner) : held_(held), owner_(std::move(owner)) {}
  ~KeepingSink() override { held_.release(owner_, kept_); }
  KeepingSink(const KeepingSink&) = delete;
  KeepingSink& operator=(const KeepingSink&) = delete;

  boost::asio::awaitable<bool> on_output(bool is_stderr, std::string_view bytes) override;
  // Returns false, which ends the run, when there is no room for its results.
  boost::asio::awaitable<bool> on_result(std::string_view json_line) override;
  std::uint64_t kept() const { return kept_; }
  bool truncated() const { return truncated_; }

  std::string out;
  std::string err;

 private:
  MemoryBudget& held_;
  const std::string owner_;
  std::uint64_t kept_ = 0;
  bool truncated_ = false;
};

// Writes each piece to the client, and keeps the beginning for the record. The answer starts with
// the first event, so that a run that never starts is refused with its own status.
class StreamingSink final : public node::RunSink, public packages::ProgressSink {
 public:
  StreamingSink(http::ResponseWriter& writer, AnswerForm form) : writer_(writer), form_(form) {}

  boost::asio::awaitable<bool> on_output(bool is_stderr, std::string_view bytes) override;
  boost::asio::awaitable<bool> on_result(std::string_view json_line) override;
  asio::awaitable<bool> on_progress(const packages::BuildProgress& progress) override;
  // Writes a keepalive, so that the server notices a disconnected client and proxies keep the
  // connection open.
  asio::awaitable<bool> on_idle() override;
  // `data` is a JSON object.
  boost::asio::awaitable<bool> send(std::string_view event, std::string_view data);
  // Writes bytes of an incomplete character, then this event, and ends the stream.
  boost::asio::awaitable<bool> finish(std::string event, std::string data);
  // The same as the end of the answer.
  Task<http::Response> respond(std::string event, std::string data);
  // The refusal itself if nothing was written yet, else the event `error` with this data.
  Task<http::Response> refuse(http::Response refusal, std::string error_json);
  bool begun() const { return writer_.begun(); }

  std::string out;
  std::string err;

 private:
  boost::asio::awaitable<bool> begin();
  static constexpr std::size_t kKept = 64 * 1024;

  http::ResponseWriter& writer_;
  AnswerForm form_;
  wire::Utf8Chunker out_pieces_;
  wire::Utf8Chunker err_pieces_;
};

}  // namespace glovebox::routing
