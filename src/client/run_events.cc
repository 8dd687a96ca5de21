#include "client/run_events.h"

#include <boost/json.hpp>
#include <optional>
#include <utility>

#include "client/answers.h"
#include "wire/base64_decode.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

// The last line has the files in it.
constexpr std::size_t kMaxEventLine = std::size_t{256} << 20;
constexpr std::size_t kMaxDepth = 128;

const json::string* text_in_event(const json::object& event, std::string_view name) {
  const json::value* value = event.if_contains(name);
  return value != nullptr ? value->if_string() : nullptr;
}

}  // namespace

struct RunEvents::State {
  OnOutput on_output;
  OnBuild on_build;
  std::string line;  // what has come of it
  std::optional<json::object> exit;
  std::string exit_line;
  std::optional<Error> failure;
  std::string failure_code;

  Result<bool> take_output(bool is_stderr, const json::object& event) {
    if (const json::string* text = text_in_event(event, "text")) {
      return on_output(is_stderr, std::string_view(text->data(), text->size()));
    }
    const json::string* encoded = text_in_event(event, "base64");
    if (encoded == nullptr) return unexpected_answer();
    TRY(const std::string bytes,
        wire::base64_decode(std::string_view(encoded->data(), encoded->size())));
    return on_output(is_stderr, bytes);
  }

  Result<bool> take_line() {
    boost::system::error_code error;
    json::value parsed = json::parse(line, error, {}, {.max_depth = kMaxDepth});
    std::string text = std::exchange(line, {});
    if (error || !parsed.is_object()) return unexpected_answer();
    json::object& event = parsed.get_object();
    const json::string* kind = text_in_event(event, "event");
    if (kind == nullptr) return unexpected_answer();
    if (*kind == "stdout") return take_output(false, event);
    if (*kind == "stderr") return take_output(true, event);
    if (*kind == "build") {
      const json::string* phase = text_in_event(event, "phase");
      const json::string* words = text_in_event(event, "text");
      if (phase == nullptr || words == nullptr) return unexpected_answer();
      if (on_build) on_build(std::string_view(*phase), std::string_view(*words));
      return true;
    }
    if (*kind == "exit" || *kind == "layer") {
      exit = std::move(event);
      exit_line = std::move(text);
    }
    // An exception of the guest's has a name; a failure of the server's has a code.
    if (*kind == "error" && event.contains("code") && event.contains("request_id")) {
      const json::string* message = text_in_event(event, "message");
      failure.emplace(Errc::kUnavailable,
                      message != nullptr ? std::string(*message) : "the server could not go on");
      if (const json::string* code = text_in_event(event, "code"))
        failure_code = std::string(*code);
    }
    return true;
  }
};

RunEvents::RunEvents(OnOutput on_output, OnBuild on_build)
    : state_(std::make_unique<State>(
          State{std::move(on_output), std::move(on_build), {}, {}, {}, {}, {}})) {}
RunEvents::~RunEvents() = default;

Result<bool> RunEvents::add(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const std::string_view part = piece.substr(0, end);
    if (state_->line.size() + part.size() > kMaxEventLine) {
      return fail(Errc::kResourceExhausted, "the server's answer is too large");
    }
    state_->line += part;
    if (end == std::string_view::npos) break;
    piece.remove_prefix(end + 1);
    if (state_->line.empty()) continue;
    TRY(const bool goes_on, state_->take_line());
    if (!goes_on) return false;
  }
  return true;
}

const std::string& RunEvents::failure_code() const { return state_->failure_code; }

Result<json::object> RunEvents::take_end() {
  if (state_->failure) return fail(std::move(*state_->failure));
  if (!state_->exit) {
    return fail(Errc::kUnavailable, "the server ended its answer before the run did");
  }
  return std::move(*state_->exit);
}

Result<std::string> RunEvents::take_end_text() {
  TRY_OK(take_end());
  return std::move(state_->exit_line);
}

}  // namespace glovebox::client
