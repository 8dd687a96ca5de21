// The answer to one call: a JSON object when it comes soon, else a stream of events that begins
// with signs of life and, where the client gave a progress token, what the code prints. What is
// shown is a preview of bounded size: the result has all of it, so a slow client slows nobody down.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "routing/app.h"
#include "http/message.h"

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
  // Without an answer, if need be: then nothing is written any more.
  ~CallStream();
  CallStream(const CallStream&) = delete;
  CallStream& operator=(const CallStream&) = delete;

  // From here on signs of life are given, and one of the two below must be awaited in the end.
  void begin();
  void show(std::string_view bytes);

  Task<http::Response> finish(routing::App& app, std::string message);
  // The call was cancelled: its client wants no answer.
  Task<http::Response> drop(std::string otherwise);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kTick{200};
  static constexpr std::chrono::seconds kBeginsWithin{5};
  static constexpr std::chrono::seconds kSilence{10};
  static constexpr std::size_t kShown = 4096;

  // Whoever ticks has it too, and so outlives us where it must.
  struct State {
    State(asio::io_context& io, http::ResponseWriter& writer_, Options options_)
        : writer(writer_), options(std::move(options_)), timer(io), ended(io) {}

    http::ResponseWriter& writer;  // not touched once it is quiet
    Options options;
    asio::steady_timer timer;  // until the next look
    asio::steady_timer ended;  // until tick() has
    Clock::time_point began{};
    Clock::time_point last{};  // when something was sent
    std::string shown{};       // printed and not told
    bool quiet = false;
    bool ticking = false;
  };
  using StatePtr = std::shared_ptr<State>;

  static asio::awaitable<void> tick(StatePtr state);
  static asio::awaitable<bool> send(StatePtr state, std::string event);
  static std::string progress(State& state, Clock::time_point now);
  asio::awaitable<void> quiet();
  asio::awaitable<bool> end_stream(std::string event);

  asio::io_context& io_;
  StatePtr state_;
};

}  // namespace glovebox::mcp
