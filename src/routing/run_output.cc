#include "routing/run_output.h"

#include <algorithm>
#include <utility>

#include "packages/package_json.h"

namespace glovebox::routing {
namespace {

using boost::asio::awaitable;

http::Headers stream_headers(AnswerForm form) {
  http::Headers headers;
  headers.add("Content-Type", form == AnswerForm::kEvents ? "text/event-stream; charset=utf-8"
                                                          : "application/x-ndjson");
  headers.add("Cache-Control", "no-store");
  headers.add("X-Accel-Buffering", "no");
  return headers;
}

}  // namespace

AnswerForm answer_form(const http::Request& request) {
  const std::string_view accept = request.header("Accept");
  if (accept.find("text/event-stream") != std::string_view::npos) return AnswerForm::kEvents;
  if (accept.find("application/x-ndjson") != std::string_view::npos) return AnswerForm::kLines;
  return AnswerForm::kJson;
}

awaitable<bool> KeepingSink::on_output(bool is_stderr, std::string_view bytes) {
  const std::uint64_t room = held_.add(owner_, bytes.size());
  kept_ += room;
  truncated_ = truncated_ || room < bytes.size();
  (is_stderr ? err : out) += bytes.substr(0, static_cast<std::size_t>(room));
  co_return true;
}

awaitable<bool> KeepingSink::on_result(std::string_view json_line) {
  const std::uint64_t room = held_.add(owner_, json_line.size());
  kept_ += room;
  co_return room == json_line.size();
}

awaitable<bool> StreamingSink::on_output(bool is_stderr, std::string_view bytes) {
  std::string& kept = is_stderr ? err : out;
  kept += bytes.substr(0, kKept - std::min(kept.size(), kKept));
  const std::string_view whole = (is_stderr ? err_pieces_ : out_pieces_).add(bytes);
  if (whole.empty()) co_return true;
  const std::string data = wire::output_event_json(whole);
  co_return co_await send(is_stderr ? "stderr" : "stdout", data);
}

awaitable<bool> StreamingSink::on_result(std::string_view json_line) {
  const wire::ResultEvent event = wire::result_event(json_line);
  if (event.event.empty()) co_return true;
  co_return co_await send(event.event, event.data);
}

awaitable<bool> StreamingSink::begin() {
  if (writer_.begun()) co_return true;
  http::Headers headers = stream_headers(form_);
  co_return co_await writer_.begin(200, std::move(headers));
}

awaitable<bool> StreamingSink::on_progress(const packages::BuildProgress& progress) {
  const std::string data = packages::build_progress_json(progress);
  co_return co_await send("build", data);
}

awaitable<bool> StreamingSink::on_idle() {
  const bool there = co_await begin();
  if (!there) co_return false;
  std::string nothing = form_ == AnswerForm::kEvents ? ": keepalive\n\n" : "\n";
  co_return co_await writer_.write(std::move(nothing));
}

awaitable<bool> StreamingSink::send(std::string_view event, std::string_view data) {
  const bool there = co_await begin();
  if (!there) co_return false;
  std::string text;
  text.reserve(event.size() + data.size() + 32);
  if (form_ == AnswerForm::kEvents) {
    text.append("event: ").append(event).append("\ndata: ").append(data).append("\n\n");
  } else {
    text.append("{\"event\":\"").append(event).append("\",").append(data.substr(1)).append("\n");
  }
  co_return co_await writer_.write(std::move(text));
}

awaitable<bool> StreamingSink::finish(std::string event, std::string data) {
  while (!data.empty() && data.back() == '\n') data.pop_back();
  if (!out_pieces_.rest().empty()) {
    const std::string rest = wire::output_event_json(out_pieces_.rest());
    co_await send("stdout", rest);
  }
  if (!err_pieces_.rest().empty()) {
    const std::string rest = wire::output_event_json(err_pieces_.rest());
    co_await send("stderr", rest);
  }
  const bool there = co_await send(event, data);
  if (!there) co_return false;
  co_return co_await writer_.finish();
}

Task<http::Response> StreamingSink::respond(std::string event, std::string data) {
  co_await finish(std::move(event), std::move(data));
  co_return http::Response::streamed();
}

Task<http::Response> StreamingSink::refuse(http::Response refusal, std::string error_json) {
  if (!begun()) co_return refusal;
  std::string event = "error";
  co_return co_await respond(std::move(event), std::move(error_json));
}

}  // namespace glovebox::routing
