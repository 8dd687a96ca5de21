#include "api/routes/sandboxes/file_watch_routes.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "http/websocket/websocket.h"
#include "routing/file_query.h"
#include "routing/sandbox_lookup.h"
#include "sessions/files/file_json.h"
#include "sessions/files/watch_feed.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

using wire::FileOp;
using wire::FileRequest;

// How often a comment is sent: it detects a disconnected client, and proxies keep the stream open.
constexpr std::chrono::seconds kWatchHeartbeat{15};
// How often the stream checks whether the server stops and the key is still valid.
constexpr std::chrono::seconds kLook{1};

Result<FileRequest> watch_of(const Request& request) {
  FileRequest file;
  routing::FileQuery query(request.query);
  file.op = FileOp::kWatch;
  TRY(file.path, query.path());
  TRY(file.user, query.user());
  TRY(file.recursive, query.truth("recursive", false));
  TRY_OK(query.finish());
  return file;
}

struct Watch {
  std::shared_ptr<sessions::WatchFeed> feed;
  std::string path;
};

Task<Watch> open_watch(const FileWatchRoutes::Dependencies& deps, Request& request) {
  CO_TRY(const auto session, deps.lookup.session_of(request));
  CO_TRY(FileRequest file, watch_of(request));
  Watch watch;
  watch.path = file.path;
  CO_TRY(auto transfer, co_await session->transfer(std::move(file)));
  watch.feed = std::make_shared<sessions::WatchFeed>(deps.io, std::move(transfer));
  watch.feed->start();
  co_return watch;
}

bool may_go_on(const FileWatchRoutes::Dependencies& deps, const Request& request) {
  return !deps.is_stopping && deps.authenticator.principal_of(request).has_value();
}

asio::awaitable<void> stream_changes(const FileWatchRoutes::Dependencies& deps, Watch watch,
                                     Request& request, ResponseWriter& writer) {
  auto heard = std::chrono::steady_clock::now();
  while (!watch.feed->ended() && may_go_on(deps, request)) {
    co_await watch.feed->wait(kLook);
    std::string text;
    for (const wire::WatchEvent& event : watch.feed->take()) {
      text += "event: " + std::string(sessions::watch_event_name(event.kind)) +
              "\ndata: " + sessions::watch_json(event, watch.path) + "\n\n";
    }
    const auto now = std::chrono::steady_clock::now();
    if (text.empty() && now - heard < kWatchHeartbeat) continue;
    if (text.empty()) text = ": keepalive\n\n";
    heard = now;
    const bool there = co_await writer.write(std::move(text));
    if (!there) co_return;
  }
  co_await writer.finish();
}

// No messages are expected from the client, but its disconnect must be noticed.
asio::awaitable<void> listen(http::WebSocket& socket) {
  while (true) {
    const auto message = co_await socket.receive();
    if (!message) co_return;
  }
}

asio::awaitable<void> talk(const FileWatchRoutes::Dependencies& deps, Watch watch, Request& request,
                           http::WebSocket& socket) {
  bool listening = true;
  asio::steady_timer heard(deps.io, std::chrono::steady_clock::time_point::max());
  asio::co_spawn(deps.io, listen(socket), [&](const std::exception_ptr&) {
    listening = false;
    heard.cancel();
    watch.feed->close();
  });
  while (listening && !watch.feed->ended() && may_go_on(deps, request)) {
    co_await watch.feed->wait(kLook);
    for (const wire::WatchEvent& event : watch.feed->take()) {
      std::string text = sessions::watch_message(event, watch.path);
      const bool there = co_await socket.send_text(std::move(text));
      if (!there) break;
    }
  }
  co_await socket.close();
  while (listening) (void)co_await heard.async_wait(kAwaitTuple);
}

}  // namespace

std::span<const routing::RouteRow<FileWatchRoutes>> FileWatchRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<FileWatchRoutes> kRows[] = {
      {Method::kGet, "/v1/sandboxes/{id}/files/watch", routing::Access::kKey,
       &FileWatchRoutes::watch_files, "Watch files for changes (also as a WebSocket)", 0,
       &FileWatchRoutes::watch_files_stream},
  };
  return kRows;
}

Task<Response> FileWatchRoutes::watch_files(Request& request, ResponseWriter& writer) {
  auto opened = co_await open_watch(deps_, request);
  if (!opened) co_return routing::file_refusal(opened.error());
  const Watch watch = std::move(*opened);
  http::Headers headers{{"Content-Type", "text/event-stream; charset=utf-8"},
                        {"Cache-Control", "no-store"},
                        {"X-Accel-Buffering", "no"}};
  request.on_disconnect([feed = watch.feed] { feed->close(); });
  const bool there = co_await writer.begin(200, std::move(headers));
  if (there && request.method != http::Method::kHead) {
    co_await stream_changes(deps_, watch, request, writer);
  }
  watch.feed->close();
  co_return Response::streamed();
}

asio::awaitable<void> FileWatchRoutes::watch_files_stream(Request& request, http::RawStream& raw) {
  auto opened = co_await open_watch(deps_, request);
  if (!opened) {
    co_await http::refuse_upgrade(request, raw, routing::file_refusal(opened.error()));
    co_return;
  }
  const Watch watch = std::move(*opened);
  const std::unique_ptr<http::WebSocket> socket = co_await http::accept_websocket(request, raw);
  if (socket) co_await talk(deps_, watch, request, *socket);
  watch.feed->close();
}

}  // namespace glovebox::api
