// The answer to one call: a JSON object when it is ready soon, else a stream of events that begins
// with keepalives and, where the client gave a progress token, what the code prints. What is
// shown is a preview of bounded size: the result has all of it, so a slow client does not slow the
// code down.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/memory_budget.h"
#include "base/task.h"
#include "http/message.h"
#include "routing/large_responses.h"

namespace glovebox::mcp {

// What the client's Accept header allows.
struct AnswerForms {
  bool json = false;
  bool events = false;
};
AnswerForms answer_forms(const http::Request& request);

// A message as an answer with Content-Type application/json.
http::Response json_answer(std::string message, int status = 200);

class CallStream {
 public:
  struct Options {
    AnswerForms forms;
    std::optional<boost::json::value> token{};  // of progress
    std::chrono::milliseconds timeout{0};       // of the call: progress is time, and this its total
  };
  CallStream(asio::io_context& io, http::ResponseWriter& writer, Options options)
      : io_(io), state_(std::make_shared<State>(io, writer, std::move(options))) {}
  // After this nothing is written any more, also if the call ends without an answer.
  ~CallStream();
  CallStream(const CallStream&) = delete;
  CallStream& operator=(const CallStream&) = delete;

  // Starts the keepalives; finish() or drop() must be awaited in the end.
  void begin();
  void show(std::string_view bytes);

  // kResourceExhausted: too many large answers are waiting to be read.
  Task<http::Response> finish(routing::LargeResponses& responses, MemoryBudget& memory_budget,
                              std::string owner, std::string message);
  // The call was cancelled: its client wants no answer. One that takes no events gets `otherwise`.
  Task<http::Response> drop(std::string otherwise);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kTick{200};
  static constexpr std::chrono::seconds kBeginsWithin{5};
  static constexpr std::chrono::seconds kMaxSilence{10};
  static constexpr std::size_t kMaxPreview = 4096;

  // Shared with tick(), which can outlive this object.
  struct State {
    State(asio::io_context& io, http::ResponseWriter& writer_, Options options_)
        : writer(writer_), options(std::move(options_)), timer(io), ended(io) {}

    http::ResponseWriter& writer;  // not touched once is_stopped
    Options options;
    asio::steady_timer timer;  // until the next tick
    asio::steady_timer ended;  // until tick() has returned
    Clock::time_point began{};
    Clock::time_point last{};  // when something was sent
    std::string preview{};     // printed and not sent yet
    bool is_stopped = false;
    bool is_ticking = false;
  };
  using StatePtr = std::shared_ptr<State>;

  static asio::awaitable<void> tick(StatePtr state);
  static asio::awaitable<bool> send(StatePtr state, std::string event);
  static std::string progress(State& state, Clock::time_point now);
  asio::awaitable<void> stop_ticking();
  asio::awaitable<bool> end_stream(std::string event);

  asio::io_context& io_;
  StatePtr state_;
};

}  // namespace glovebox::mcp
