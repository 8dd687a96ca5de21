#include "dialects/mcp/call_stream.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "base/utf8.h"
#include "base/utf8_cut.h"
#include "dialects/mcp/json_rpc.h"

namespace glovebox::mcp {
namespace {

namespace json = boost::json;

std::string event_of(std::string_view message) {
  // One line: serialized JSON has no unescaped line break.
  std::string text = "event: message\ndata: ";
  text.append(message).append("\n\n");
  return text;
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
  state_->is_stopped = true;
  state_->timer.cancel();
}

void CallStream::begin() {
  state_->began = state_->last = Clock::now();
  if (!state_->options.forms.events) return;
  state_->is_ticking = true;
  asio::co_spawn(io_, tick(state_), asio::detached);
}

void CallStream::show(std::string_view bytes) {
  if (!state_->is_ticking || !state_->options.token) return;
  std::string& preview = state_->preview;
  preview.append(bytes.substr(bytes.size() - std::min(bytes.size(), kMaxPreview)));
  if (preview.size() > kMaxPreview) preview.erase(0, preview.size() - kMaxPreview);
}

std::string CallStream::progress(State& state, Clock::time_point now) {
  const std::chrono::duration<double> elapsed = now - state.began;
  json::object params{{"progressToken", *state.options.token}, {"progress", elapsed.count()}};
  if (state.options.timeout.count() > 0) {
    params["total"] = static_cast<double>(state.options.timeout.count()) / 1000.0;
  }
  if (!state.preview.empty()) {
    params["message"] = to_utf8(skip_partial_character(state.preview));
    state.preview.clear();
  }
  return event_of(notification_text("notifications/progress", std::move(params)));
}

asio::awaitable<void> CallStream::tick(StatePtr state) {
  bool is_there = true;
  while (!state->is_stopped && is_there) {
    state->timer.expires_after(kTick);
    co_await state->timer.async_wait(kAwaitTuple);
    if (state->is_stopped) break;
    const auto now = Clock::now();
    const bool is_late = now - state->last >= (state->writer.begun() ? kMaxSilence : kBeginsWithin);
    if (state->options.token && (is_late || !state->preview.empty())) {
      std::string event = progress(*state, now);
      is_there = co_await send(state, std::move(event));
    } else if (is_late) {
      std::string comment = ":\n\n";
      is_there = co_await send(state, std::move(comment));
    }
  }
  state->is_ticking = false;
  state->ended.cancel();
}

asio::awaitable<void> CallStream::stop_ticking() {
  state_->is_stopped = true;
  state_->timer.cancel();
  while (state_->is_ticking) {
    state_->ended.expires_at(Clock::time_point::max());
    co_await state_->ended.async_wait(kAwaitTuple);
  }
}

asio::awaitable<bool> CallStream::send(StatePtr state, std::string event) {
  if (!state->writer.begun()) {
    http::Headers headers{{"Content-Type", "text/event-stream"},
                          {"Cache-Control", "no-store"},
                          {"X-Accel-Buffering", "no"}};
    const bool is_there = co_await state->writer.begin(200, std::move(headers));
    if (!is_there) co_return false;
  }
  if (event.empty()) co_return true;
  state->last = Clock::now();
  co_return co_await state->writer.write(std::move(event));
}

asio::awaitable<bool> CallStream::end_stream(std::string event) {
  const bool is_there = co_await send(state_, std::move(event));
  if (!is_there) co_return false;
  co_return co_await state_->writer.finish();
}

Task<http::Response> CallStream::finish(routing::LargeResponses& responses,
                                        MemoryBudget& memory_budget, std::string owner,
                                        std::string message) {
  co_await stop_ticking();
  if (!state_->writer.begun() && state_->options.forms.json) {
    co_return responses.respond(owner, std::move(message));
  }
  // Counted until the client has taken it, as LargeResponses counts whole answers.
  const std::shared_ptr<void> claim = memory_budget.claim(owner, message.size());
  if (!claim) {
    co_return fail(Errc::kResourceExhausted,
                   "too many large answers are waiting to be read; try again later");
  }
  std::string event = event_of(message);
  co_await end_stream(std::move(event));
  co_return http::Response::streamed();
}

Task<http::Response> CallStream::drop(std::string otherwise) {
  co_await stop_ticking();
  if (!state_->options.forms.events) co_return json_answer(std::move(otherwise));
  std::string nothing;
  co_await end_stream(std::move(nothing));
  co_return http::Response::streamed();
}

}  // namespace glovebox::mcp
