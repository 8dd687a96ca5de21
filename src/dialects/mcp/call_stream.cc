#include "dialects/mcp/call_stream.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "base/utf8.h"
#include "dialects/mcp/json_rpc.h"
#include "routing/large_response.h"

namespace glovebox::mcp {
namespace {

namespace json = boost::json;

std::string event_of(std::string_view message) {
  // One line: JSON has no line break outside of what is escaped.
  std::string text = "event: message\ndata: ";
  text.append(message).append("\n\n");
  return text;
}

// Where a text that was cut in front begins with a whole character.
std::string_view from_character(std::string_view text) {
  std::size_t skipped = 0;
  while (skipped < 3 && skipped < text.size() &&
         (static_cast<unsigned char>(text[skipped]) & 0xc0u) == 0x80u) {
    ++skipped;
  }
  return text.substr(skipped);
}

}  // namespace

AnswerForms answer_forms(const http::Request& request) {
  const std::string* accept = request.headers.find("Accept");
  if (accept == nullptr) return {.json = true, .events = false};
  AnswerForms forms;
  forms.events = accept->find("text/event-stream") != std::string::npos;
  forms.json = accept->find("application/json") != std::string::npos ||
               accept->find("application/*") != std::string::npos ||
               accept->find("*/*") != std::string::npos;
  return forms;
}

http::Response json_answer(std::string message, int status) {
  http::Response response = http::Response::json(std::move(message), status);
  response.headers.set("Cache-Control", "no-store");
  return response;
}

CallStream::~CallStream() {
  state_->quiet = true;
  state_->timer.cancel();
}

void CallStream::begin() {
  state_->began = state_->last = Clock::now();
  if (!state_->options.forms.events) return;
  state_->ticking = true;
  asio::co_spawn(io_, tick(state_), asio::detached);
}

void CallStream::show(std::string_view bytes) {
  if (!state_->ticking || !state_->options.token) return;
  std::string& shown = state_->shown;
  shown.append(bytes.substr(bytes.size() - std::min(bytes.size(), kShown)));
  if (shown.size() > kShown) shown.erase(0, shown.size() - kShown);
}

std::string CallStream::progress(State& state, Clock::time_point now) {
  const std::chrono::duration<double> elapsed = now - state.began;
  json::object params{{"progressToken", *state.options.token}, {"progress", elapsed.count()}};
  if (state.options.timeout.count() > 0) {
    params["total"] = static_cast<double>(state.options.timeout.count()) / 1000.0;
  }
  if (!state.shown.empty()) {
    params["message"] = to_utf8(from_character(state.shown));
    state.shown.clear();
  }
  return event_of(notification_text("notifications/progress", std::move(params)));
}

asio::awaitable<void> CallStream::tick(StatePtr state) {
  bool there = true;
  while (!state->quiet && there) {
    state->timer.expires_after(kTick);
    co_await state->timer.async_wait(kAwaitTuple);
    if (state->quiet) break;
    const auto now = Clock::now();
    const bool is_late = now - state->last >= (state->writer.begun() ? kSilence : kBeginsWithin);
    if (state->options.token && (is_late || !state->shown.empty())) {
      std::string event = progress(*state, now);
      there = co_await send(state, std::move(event));
    } else if (is_late) {
      std::string comment = ":\n\n";
      there = co_await send(state, std::move(comment));
    }
  }
  state->ticking = false;
  state->ended.cancel();
}

asio::awaitable<void> CallStream::quiet() {
  state_->quiet = true;
  state_->timer.cancel();
  while (state_->ticking) {
    state_->ended.expires_at(Clock::time_point::max());
    co_await state_->ended.async_wait(kAwaitTuple);
  }
}

asio::awaitable<bool> CallStream::send(StatePtr state, std::string event) {
  if (!state->writer.begun()) {
    http::Headers headers{{"Content-Type", "text/event-stream"},
                          {"Cache-Control", "no-store"},
                          {"X-Accel-Buffering", "no"}};
    const bool there = co_await state->writer.begin(200, std::move(headers));
    if (!there) co_return false;
  }
  if (event.empty()) co_return true;
  state->last = Clock::now();
  co_return co_await state->writer.write(std::move(event));
}

asio::awaitable<bool> CallStream::end_stream(std::string event) {
  const bool there = co_await send(state_, std::move(event));
  if (!there) co_return false;
  co_return co_await state_->writer.finish();
}

Task<http::Response> CallStream::finish(routing::App& app, std::string message) {
  co_await quiet();
  if (!state_->writer.begun() && state_->options.forms.json) {
    co_return held_answer(app, std::move(message));
  }
  // Counted until the client has taken it, as a whole answer is.
  const std::shared_ptr<void> claim = app.memory_budget.claim(message.size());
  if (!claim) co_return fail(Errc::kResourceExhausted, "too many large answers wait to be read");
  std::string event = event_of(message);
  co_await end_stream(std::move(event));
  co_return http::Response::streamed();
}

Task<http::Response> CallStream::drop(std::string otherwise) {
  co_await quiet();
  if (!state_->options.forms.events) co_return json_answer(std::move(otherwise));
  std::string nothing;
  co_await end_stream(std::move(nothing));
  co_return http::Response::streamed();
}

}  // namespace glovebox::mcp
