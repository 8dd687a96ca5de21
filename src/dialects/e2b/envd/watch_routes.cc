#include "dialects/e2b/envd/watch_routes.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "dialects/e2b/envd/file_access.h"
#include "dialects/e2b/envd/file_entry.h"
#include "dialects/e2b/envd/filesystem_request.h"
#include "http/router.h"
#include "sessions/files/file_json.h"

namespace glovebox::e2b {

using http::Request;
using http::Response;
using http::ResponseWriter;

namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using wire::FileOp;
using wire::FileRequest;

constexpr std::chrono::seconds kWatchKeepalive{90};
// How often is checked whether the server is stopping.
constexpr milliseconds kStopCheckInterval{1000};
// For a sandbox that is too busy to report its events at once.
constexpr milliseconds kMaxSettle{5000};

// The number in a header; nothing: absent or malformed.
std::optional<std::uint64_t> header_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc{} || end != text.data() + text.size() || number > 1'000'000'000) {
    return std::nullopt;
  }
  return number;
}

ConnectError not_a_directory(const std::string& path) {
  return {Code::kInvalidArgument, "path '" + to_utf8(path) + "' is not a directory"};
}

// False: the client is gone.
asio::awaitable<bool> send_events(MessageStream& stream, json::array events) {
  for (json::value& event : events) {
    json::object message{{"filesystem", std::move(event)}};
    const bool there = co_await stream.send(std::move(message));
    if (!there) co_return false;
  }
  co_return true;
}

Response no_such_watcher(const std::string& id) {
  const ConnectError failure{Code::kNotFound, "watcher with id " + to_utf8(id) + " not found"};
  return failure_response(failure);
}

Result<std::string> watcher_id(const Request& request) {
  TRY(const json::object message, read_message(request));
  return text_field(message, "watcherId");
}

}  // namespace

std::span<const routing::RouteRow<WatchRoutes>> WatchRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<WatchRoutes> kRows[] = {
      {Method::kPost, "/filesystem.Filesystem/WatchDir", Access::kOpen, &WatchRoutes::watch_dir,
       "Watch files for changes"},
      {Method::kPost, "/filesystem.Filesystem/CreateWatcher", Access::kOpen,
       &WatchRoutes::create_watcher, "Start watching files"},
      {Method::kPost, "/filesystem.Filesystem/GetWatcherEvents", Access::kOpen,
       &WatchRoutes::get_watcher_events, "Get the changes since the last call"},
      {Method::kPost, "/filesystem.Filesystem/RemoveWatcher", Access::kOpen,
       &WatchRoutes::remove_watcher, "Stop watching files"},
  };
  return kRows;
}

asio::awaitable<tl::expected<Watch, ConnectError>> WatchRoutes::open_watch(
    std::shared_ptr<node::Session> session, const Request& request) {
  const auto wanted = read_filesystem_request(request);
  if (!wanted) co_return tl::unexpected<ConnectError>(wanted.error());
  const auto recursive = truth_field(wanted->message, "recursive");
  if (!recursive) co_return tl::unexpected<ConnectError>(failure_of(recursive.error()));
  const auto with_entries = truth_field(wanted->message, "includeEntry");
  if (!with_entries) co_return tl::unexpected<ConnectError>(failure_of(with_entries.error()));
  FileRequest stat = file_request(FileOp::kStat, wanted->user, wanted->at);
  stat.follow = true;
  const auto done = co_await ask_file(session, std::move(stat));
  if (!done) co_return tl::unexpected<ConnectError>(file_failure(done.error(), wanted->path));
  const auto entry = sessions::entry_of(done->entry);
  if (!entry) co_return tl::unexpected<ConnectError>(failure_of(entry.error()));
  if (entry->type != wire::FileType::kDirectory) {
    co_return tl::unexpected<ConnectError>(not_a_directory(wanted->path));
  }
  FileRequest file = file_request(FileOp::kWatch, wanted->user, wanted->at);
  file.recursive = *recursive;
  auto opened = co_await open_file(session, std::move(file));
  if (!opened) {
    ConnectError failure = file_failure(opened.error(), wanted->path);
    // The kernel has one errno for a full disk and for too many watches.
    if (opened.error().sys_errno() == ENOSPC) failure.message = opened.error().message();
    co_return tl::unexpected<ConnectError>(std::move(failure));
  }
  Watch watch;
  watch.session = std::move(session);
  watch.feed = std::make_shared<sessions::WatchFeed>(deps_.io, std::move(*opened));
  watch.user = wanted->user;
  watch.at = wanted->at;
  watch.with_entries = *with_entries;
  co_return watch;
}

struct WatchRoutes::Schedule {
  explicit Schedule(const Request& request) : last_sent(Clock::now()) {
    if (const auto seconds = header_number(request.header("Keepalive-Ping-Interval"));
        seconds > 0u) {
      keepalive = std::chrono::seconds(*seconds);
    }
    if (const auto limit = header_number(request.header("Connect-Timeout-Ms")); limit > 0u) {
      deadline = Clock::now() + milliseconds(*limit);
    }
  }
  milliseconds next() const {
    const auto until = std::min(deadline, last_sent + keepalive);
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    return std::clamp(left, milliseconds(1), kStopCheckInterval);
  }
  bool is_over() const { return Clock::now() >= deadline; }
  bool needs_keepalive() const { return Clock::now() - last_sent >= keepalive; }

  Clock::time_point last_sent;
  Clock::duration keepalive = kWatchKeepalive;
  Clock::time_point deadline = Clock::time_point::max();
};

Task<> WatchRoutes::send_changes(Watch watch, Schedule schedule, MessageStream& stream) {
  while (true) {
    if (deps_.is_stopping) co_return fail(Errc::kUnavailable, "the server is stopping");
    auto events = co_await take_events(watch);
    if (!events) {
      ConnectError lost = events.error();
      co_await stream.fail(std::move(lost));
      co_return Result<>();
    }
    if (!events->empty()) schedule.last_sent = Clock::now();
    const bool there = co_await send_events(stream, std::move(*events));
    if (!there) co_return Result<>();
    if (schedule.is_over()) {
      ConnectError late{Code::kDeadlineExceeded, "deadline exceeded"};
      co_await stream.fail(std::move(late));
      co_return Result<>();
    }
    if (schedule.needs_keepalive()) {
      schedule.last_sent = Clock::now();
      json::object message{{"keepalive", json::object()}};
      const bool is_sent = co_await stream.send(std::move(message));
      if (!is_sent) co_return Result<>();
    }
    if (watch.feed->ended()) break;
    co_await watch.feed->wait(schedule.next());
  }
  if (!watch.session->alive()) co_return fail(Errc::kUnavailable, "the sandbox has ended");
  co_await stream.finish();
  co_return Result<>();
}

Task<Response> WatchRoutes::watch_dir(Request& request, ResponseWriter& writer) {
  AgentAccess::Admission admission = co_await deps_.access.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  const Schedule schedule(request);
  const tl::expected<Watch, ConnectError> watch = co_await open_watch(admission.session, request);
  if (watch) {
    watch->feed->start();
    request.on_disconnect([feed = watch->feed] { feed->close(); });
  }
  MessageStream stream(writer);
  const bool there = co_await stream.begin();
  if (!there) co_return Response::streamed();
  if (!watch) {
    ConnectError failure = watch.error();
    co_await stream.fail(std::move(failure));
    co_return Response::streamed();
  }
  json::object start{{"start", json::object()}};
  const bool started = co_await stream.send(std::move(start));
  if (started) CO_TRY_OK(co_await send_changes(*watch, schedule, stream));
  watch->feed->close();
  co_return Response::streamed();
}

Task<Response> WatchRoutes::create_watcher(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission = co_await deps_.access.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  tl::expected<Watch, ConnectError> watch = co_await open_watch(admission.session, request);
  if (!watch) co_return failure_response(watch.error());
  const std::string id = deps_.watchers.add(std::move(*watch));
  co_return message_response({{"watcherId", id}});
}

Task<Response> WatchRoutes::get_watcher_events(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission = co_await deps_.access.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  const auto id = watcher_id(request);
  if (!id) co_return failure_response(failure_of(id.error()));
  const Watch* found = deps_.watchers.find(request.param("id"), *id);
  if (found == nullptr) co_return no_such_watcher(*id);
  Watch watch = *found;
  co_await watch.feed->settle(kMaxSettle);
  auto events = co_await take_events(std::move(watch));
  if (!events) co_return failure_response(events.error());
  co_return message_response({{"events", std::move(*events)}});
}

Task<Response> WatchRoutes::remove_watcher(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission = co_await deps_.access.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  const auto id = watcher_id(request);
  if (!id) co_return failure_response(failure_of(id.error()));
  const bool removed = deps_.watchers.remove(request.param("id"), *id);
  if (!removed) co_return no_such_watcher(*id);
  co_return message_response({});
}

}  // namespace glovebox::e2b
