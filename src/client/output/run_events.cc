#include "client/output/run_events.h"

#include <boost/json.hpp>
#include <optional>
#include <utility>

#include "base/base64.h"
#include "client/output/response_fields.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

// The last line holds the output files.
constexpr std::size_t kMaxLine = std::size_t{256} << 20;
constexpr std::size_t kMaxDepth = 128;

const json::string* string_in(const json::object& event, std::string_view name) {
  const json::value* value = event.if_contains(name);
  return value != nullptr ? value->if_string() : nullptr;
}

}  // namespace

struct RunEvents::State {
  OnOutput on_output;
  OnBuild on_build;
  std::string line;  // the incomplete last line
  std::optional<json::object> exit;
  std::string exit_line;
  std::optional<Error> failure;
  std::string failure_code;

  Result<bool> take_output(bool is_stderr, const json::object& event) {
    if (const json::string* text = string_in(event, "text")) {
      return on_output(is_stderr, std::string_view(text->data(), text->size()));
    }
    const json::string* encoded = string_in(event, "base64");
    if (encoded == nullptr) return unexpected_response();
    TRY(const std::string bytes, base64_decode(std::string_view(encoded->data(), encoded->size())));
    return on_output(is_stderr, bytes);
  }

  Result<bool> take_line() {
    boost::system::error_code error;
    json::value parsed = json::parse(line, error, {}, {.max_depth = kMaxDepth});
    std::string text = std::exchange(line, {});
    if (error || !parsed.is_object()) return unexpected_response();
    json::object& event = parsed.get_object();
    const json::string* kind = string_in(event, "event");
    if (kind == nullptr) return unexpected_response();
    if (*kind == "stdout") return take_output(false, event);
    if (*kind == "stderr") return take_output(true, event);
    if (*kind == "build" || *kind == "progress") {
      const json::string* phase = string_in(event, "phase");
      const json::string* line_text = string_in(event, "text");
      if (phase == nullptr || line_text == nullptr) return unexpected_response();
      if (on_build) on_build(std::string_view(*phase), std::string_view(*line_text));
      return true;
    }
    if (*kind == "exit" || *kind == "layer" || *kind == "image") {
      exit = std::move(event);
      exit_line = std::move(text);
      return true;
    }
    // An exception in the guest has a name; a failure of the server has a code.
    if (*kind == "error" && event.contains("code") && event.contains("request_id")) {
      const json::string* message = string_in(event, "message");
      failure.emplace(Errc::kUnavailable, message != nullptr
                                              ? std::string(*message)
                                              : "the server failed without a message");
      if (const json::string* code = string_in(event, "code")) failure_code = std::string(*code);
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
    if (state_->line.size() + part.size() > kMaxLine) {
      return fail(Errc::kResourceExhausted, "the server's response is too large");
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

Result<http::ClientResponse> RunEvents::read_from(ApiClient& api, http::ClientRequest request) {
  std::optional<Error> malformed;
  TRY(http::ClientResponse response, api.stream(std::move(request), [&](std::string_view piece) {
    const auto goes_on = add(piece);
    if (!goes_on) malformed = goes_on.error();
    return goes_on && *goes_on;
  }));
  if (malformed && !api.error_in(response)) return fail(std::move(*malformed));
  return response;
}

const std::string& RunEvents::failure_code() const { return state_->failure_code; }

Result<json::object> RunEvents::take_result() {
  if (state_->failure) return fail(std::move(*state_->failure));
  if (!state_->exit) {
    return fail(Errc::kUnavailable, "the server closed the connection before the run ended");
  }
  return std::move(*state_->exit);
}

Result<std::string> RunEvents::take_result_json() {
  TRY_OK(take_result());
  return std::move(state_->exit_line);
}

}  // namespace glovebox::client
