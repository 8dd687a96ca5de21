#include "api/routes/event_routes.h"

#include <charconv>
#include <utility>

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

// How often a comment is sent: it detects a disconnected client, and proxies keep the stream open.
constexpr std::chrono::seconds kEventsHeartbeat{15};

std::optional<std::uint64_t> last_event_id(const Request& request) {
  const std::string_view text = request.header("Last-Event-ID");
  std::uint64_t id = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (text.empty() || ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return id;
}

std::string as_text(events::EventHub::Subscription& events) {
  std::string text;
  if (const std::uint64_t lost = events.take_lost()) {
    text += "event: lost\ndata: {\"count\":" + std::to_string(lost) + "}\n\n";
  }
  for (const events::Event& event : events.take()) {
    text += "id: " + std::to_string(event.id) + "\nevent: " + event.type + "\ndata: " + event.data +
            "\n\n";
  }
  return text;
}

// The callback may use the subscription: on_disconnect() is never called after the handler has
// returned, and the subscription lives as long as the handler.
asio::awaitable<void> send_events(const EventRoutes::Dependencies& deps,
                                  std::unique_ptr<events::EventHub::Subscription> events,
                                  Request& request, ResponseWriter& writer) {
  events::EventHub::Subscription* borrowed = events.get();
  request.on_disconnect([borrowed] { borrowed->close(); });
  // Sent immediately, so that the client knows that it is subscribed.
  std::string text = ": glovebox events\nretry: 2000\n\n";
  while (true) {
    const bool there = co_await writer.write(std::move(text));
    if (!there) co_return;
    const auto woken = co_await events->wait(kEventsHeartbeat);
    if (woken == events::EventHub::Subscription::Wake::kClosed) break;
    if (!deps.authenticator.principal_of(request)) break;  // its key was revoked meanwhile
    text = woken == events::EventHub::Subscription::Wake::kNothing ? ": keepalive\n\n"
                                                                   : as_text(*events);
  }
  co_await writer.finish();
}

}  // namespace

std::span<const routing::RouteRow<EventRoutes>> EventRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<EventRoutes> kRows[] = {
      {Method::kGet, "/v1/events", routing::Access::kKey, &EventRoutes::stream_events,
       "Follow the events of your project"},
  };
  return kRows;
}

Task<Response> EventRoutes::stream_events(Request& request, ResponseWriter& writer) {
  const auto who = deps_.authenticator.principal_of(request);
  if (!who) co_return *deps_.authenticator.refuse(request, routing::Access::kKey);
  CO_TRY(std::string project, routing::project_of(*who, request));
  if (request.method == http::Method::kHead) co_return Response::empty(200);
  if (project == "*") project.clear();  // only a request with an admin key gets here with it
  std::string key = who->key.str();
  if (deps_.events.subscribers_of(key) >= events::EventHub::kListenersPerKey) {
    Response response =
        Response::refuse(429, "too_many_listeners", "this key has too many open event streams");
    response.headers.set("Retry-After", "5");
    co_return response;
  }
  auto events = deps_.events.subscribe(std::move(project), last_event_id(request), std::move(key));
  if (!events) {
    Response response =
        Response::refuse(503, "too_many_listeners", "the server has too many open event streams");
    response.headers.set("Retry-After", "5");
    co_return response;
  }
  http::Headers headers{{"Content-Type", "text/event-stream; charset=utf-8"},
                        {"Cache-Control", "no-store"},
                        {"X-Accel-Buffering", "no"}};
  const bool there = co_await writer.begin(200, std::move(headers));
  if (there) co_await send_events(deps_, std::move(events), request, writer);
  co_return Response::streamed();
}

}  // namespace glovebox::api
