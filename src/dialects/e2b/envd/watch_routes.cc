// What happens to a sandbox's files, for E2B's clients: as a stream, or asked for now and then.
#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "dialects/e2b/envd/connect.h"
#include "dialects/e2b/envd/file_access.h"
#include "dialects/e2b/envd/file_entry.h"
#include "dialects/e2b/envd/filesystem_request.h"
#include "dialects/e2b/handlers.h"
#include "dialects/e2b/agent_access.h"
#include "dialects/e2b/envd/watchers.h"
#include "sessions/files/file_json.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using wire::FileOp;
using wire::FileRequest;

constexpr std::chrono::seconds kKeepalive{90};
// So often it is looked whether the server stops.
constexpr milliseconds kLookForEvents{1000};
constexpr milliseconds kOnItsWay{50};

// Digits of a header; nothing when it is absent or none.
std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc{} || end != text.data() + text.size() || number > 1'000'000'000) {
    return std::nullopt;
  }
  return number;
}

using Opened = tl::expected<Watch, Failure>;

Failure not_a_directory(const std::string& path) {
  return {Code::kInvalidArgument, "path '" + to_utf8(path) + "' is not a directory"};
}

// It watches when this returns.
asio::awaitable<Opened> open_watch(routing::App& app, std::shared_ptr<node::Session> session,
                                   const Request& request) {
  const auto call = read_filesystem_request(request);
  if (!call) co_return tl::unexpected<Failure>(call.error());
  const auto recursive = truth_field(call->message, "recursive");
  if (!recursive) co_return tl::unexpected<Failure>(failure_of(recursive.error()));
  const auto with_entries = truth_field(call->message, "includeEntry");
  if (!with_entries) co_return tl::unexpected<Failure>(failure_of(with_entries.error()));
  FileRequest stat = file_request(FileOp::kStat, call->user, call->at);
  stat.follow = true;
  const auto done = co_await ask_file(session, std::move(stat));
  if (!done) co_return tl::unexpected<Failure>(file_failure(done.error(), call->path));
  const auto entry = sessions::entry_of(done->entry);
  if (!entry) co_return tl::unexpected<Failure>(failure_of(entry.error()));
  if (entry->type != wire::FileType::kDirectory) {
    co_return tl::unexpected<Failure>(not_a_directory(call->path));
  }
  FileRequest file = file_request(FileOp::kWatch, call->user, call->at);
  file.recursive = *recursive;
  auto opened = co_await open_file(session, std::move(file));
  if (!opened) {
    Failure failure = file_failure(opened.error(), call->path);
    // The kernel has one word for a full disk and for too many watches.
    if (opened.error().sys_errno() == ENOSPC) failure.message = opened.error().message();
    co_return tl::unexpected<Failure>(std::move(failure));
  }
  Watch watch;
  watch.session = std::move(session);
  watch.feed = std::make_shared<sessions::WatchFeed>(app.io, std::move(*opened));
  watch.user = call->user;
  watch.at = call->at;
  watch.with_entries = *with_entries;
  co_return watch;
}

// When what is to be sent or looked at next.
struct Times {
  explicit Times(const Request& request) : heard(Clock::now()) {
    if (const auto seconds = number_of(request.header("Keepalive-Ping-Interval")); seconds > 0u) {
      keepalive = std::chrono::seconds(*seconds);
    }
    if (const auto limit = number_of(request.header("Connect-Timeout-Ms")); limit > 0u) {
      deadline = Clock::now() + milliseconds(*limit);
    }
  }
  milliseconds next() const {
    const auto until = std::min(deadline, heard + keepalive);
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    return std::clamp(left, milliseconds(1), kLookForEvents);
  }
  bool is_over() const { return Clock::now() >= deadline; }
  bool is_quiet() const { return Clock::now() - heard >= keepalive; }

  Clock::time_point heard;
  Clock::duration keepalive = kKeepalive;
  Clock::time_point deadline = Clock::time_point::max();
};

// True: the client is there and waits for more.
asio::awaitable<bool> send_events(MessageStream& stream, json::array events) {
  for (json::value& event : events) {
    json::object message{{"filesystem", std::move(event)}};
    const bool there = co_await stream.send(std::move(message));
    if (!there) co_return false;
  }
  co_return true;
}

// An error: it is cut, as the sandbox or the server goes.
Task<> follow(routing::App& app, Watch watch, Times times, MessageStream& stream) {
  while (true) {
    if (app.stopping) co_return fail(Errc::kUnavailable, "the server stops");
    auto events = co_await take_events(watch);
    if (!events) {
      Failure lost = events.error();
      co_await stream.fail(std::move(lost));
      co_return Result<>();
    }
    if (!events->empty()) times.heard = Clock::now();
    const bool there = co_await send_events(stream, std::move(*events));
    if (!there) co_return Result<>();
    if (times.is_over()) {
      Failure late{Code::kDeadlineExceeded, "the watch's time is over"};
      co_await stream.fail(std::move(late));
      co_return Result<>();
    }
    if (times.is_quiet()) {
      times.heard = Clock::now();
      json::object message{{"keepalive", json::object()}};
      const bool still = co_await stream.send(std::move(message));
      if (!still) co_return Result<>();
    }
    if (watch.feed->ended()) break;
    co_await watch.feed->wait(times.next());
  }
  if (!watch.session->alive()) co_return fail(Errc::kUnavailable, "the sandbox is gone");
  co_await stream.finish();
  co_return Result<>();
}

Response no_such_watcher(const std::string& id) {
  const Failure failure{Code::kNotFound, "watcher with id " + to_utf8(id) + " not found"};
  return failure_response(failure);
}

Result<std::string> watcher_id(const Request& request) {
  TRY(const json::object message, read_message(request));
  return text_field(message, "watcherId");
}

}  // namespace

Task<Response> files_watch_dir(routing::App& app, Request& request, ResponseWriter& writer) {
  const Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return *gate.refusal;
  const Times times(request);
  const Opened watch = co_await open_watch(app, gate.session, request);
  if (watch) {
    watch->feed->start();
    request.on_disconnect([feed = watch->feed] { feed->close(); });
  }
  MessageStream stream(writer);
  const bool there = co_await stream.begin();
  if (!there) co_return Response::streamed();
  if (!watch) {
    Failure failure = watch.error();
    co_await stream.fail(std::move(failure));
    co_return Response::streamed();
  }
  json::object start{{"start", json::object()}};
  const bool started = co_await stream.send(std::move(start));
  if (started) CO_TRY_OK(co_await follow(app, *watch, times, stream));
  watch->feed->close();
  co_return Response::streamed();
}

Task<Response> files_create_watcher(routing::App& app, Request& request, ResponseWriter&) {
  const Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return *gate.refusal;
  Opened watch = co_await open_watch(app, gate.session, request);
  if (!watch) co_return failure_response(watch.error());
  if (!app.e2b_watchers) app.e2b_watchers = std::make_shared<Watchers>(app.io);
  const std::string id = app.e2b_watchers->add(std::move(*watch));
  co_return message_response({{"watcherId", id}});
}

Task<Response> files_get_watcher_events(routing::App& app, Request& request, ResponseWriter&) {
  const Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return *gate.refusal;
  const auto id = watcher_id(request);
  if (!id) co_return failure_response(failure_of(id.error()));
  const std::shared_ptr<Watchers> watchers = app.e2b_watchers;
  const Watch* found = watchers ? watchers->find(request.param("id"), *id) : nullptr;
  if (found == nullptr) co_return no_such_watcher(*id);
  Watch watch = *found;
  // What was done just before the question may still be on its way.
  co_await watch.feed->wait(kOnItsWay);
  auto events = co_await take_events(std::move(watch));
  if (!events) co_return failure_response(events.error());
  co_return message_response({{"events", std::move(*events)}});
}

Task<Response> files_remove_watcher(routing::App& app, Request& request, ResponseWriter&) {
  const Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return *gate.refusal;
  const auto id = watcher_id(request);
  if (!id) co_return failure_response(failure_of(id.error()));
  const bool removed = app.e2b_watchers && app.e2b_watchers->remove(request.param("id"), *id);
  if (!removed) co_return no_such_watcher(*id);
  co_return message_response({});
}

}  // namespace glovebox::e2b
