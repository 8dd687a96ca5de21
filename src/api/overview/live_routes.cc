#include "api/overview/live_routes.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/overview/overview_json.h"
#include "base/wall_clock.h"
#include "http/websocket/websocket.h"
#include "routing/query.h"

namespace glovebox::api {

using http::Request;
using http::Response;
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;
using events::EventHub;

// How often it is checked whether the key or the session is still valid.
constexpr std::chrono::milliseconds kLookAtCaller{1'000};
constexpr std::chrono::seconds kPing{15};
constexpr std::size_t kMostReceived = 4096;  // of a message, which is ignored

class LiveStream {
 public:
  LiveStream(const LiveRoutes::Dependencies& deps, const Request& request, std::string project,
             std::unique_ptr<EventHub::Subscription> events, http::WebSocket& socket)
      : deps_(deps),
        request_(request),
        project_(std::move(project)),
        events_(std::move(events)),
        socket_(socket),
        seen_(deps.activity.ended()),
        listening_ended_(deps.io, Clock::time_point::max()) {}

  asio::awaitable<void> run() {
    is_listening_ = true;
    asio::co_spawn(deps_.io, listen(), [this](const std::exception_ptr&) {
      is_listening_ = false;
      listening_ended_.cancel();
      events_->close();
    });
    const std::uint16_t code = co_await send_all();
    co_await socket_.close(code);
    while (is_listening_) (void)co_await listening_ended_.async_wait(kAwaitTuple);
  }

 private:
  // What the client sends is ignored, but its disconnect must be noticed.
  asio::awaitable<void> listen() {
    while (true) {
      const auto message = co_await socket_.receive();
      if (!message) co_return;
    }
  }

  // Returns what to close with.
  asio::awaitable<std::uint16_t> send_all() {
    json::object hello{{"type", "hello"}, {"at", utc_text(wall_clock_ms())}};
    bool there = co_await send(std::move(hello));
    while (there) {
      const auto patience = std::min(kLookAtCaller, deps_.sampler.until_next());
      const EventHub::Subscription::Wake woken =
          co_await events_->wait(std::max(patience, std::chrono::milliseconds(1)));
      if (woken == EventHub::Subscription::Wake::kClosed) co_return http::close_code::kGoingAway;
      if (!deps_.authenticator.principal_of(request_)) co_return http::close_code::kPolicy;
      there = co_await send_events();
      if (there) there = co_await send_sample();
      if (there && Clock::now() - sent_ >= kPing) {
        json::object ping{{"type", "ping"}};
        there = co_await send(std::move(ping));
      }
    }
    co_return http::close_code::kNormal;
  }

  asio::awaitable<bool> send_events() {
    if (const std::uint64_t lost = events_->take_lost()) {
      json::object message{{"type", "lost"}, {"count", lost}};
      const bool there = co_await send(std::move(message));
      if (!there) co_return false;
    }
    for (const events::Event& event : events_->take()) {
      std::string text = event_json(event, "\"type\":\"event\",");
      const bool there = co_await send_text(std::move(text));
      if (!there) co_return false;
    }
    co_return true;
  }

  asio::awaitable<bool> send_sample() {
    if (deps_.activity.ended() == seen_) co_return true;
    seen_ = deps_.activity.ended();
    const auto* samples = deps_.activity.samples_of(project_);
    if (samples == nullptr || samples->empty()) co_return true;
    json::object message{{"type", "sample"}, {"sample", sample_json(samples->back())}};
    co_return co_await send(std::move(message));
  }

  asio::awaitable<bool> send(json::object message) {
    std::string text = json::serialize(message);
    co_return co_await send_text(std::move(text));
  }
  asio::awaitable<bool> send_text(std::string text) {
    sent_ = Clock::now();
    co_return co_await socket_.send_text(std::move(text));
  }

  const LiveRoutes::Dependencies& deps_;
  const Request& request_;
  const std::string project_;
  std::unique_ptr<EventHub::Subscription> events_;
  http::WebSocket& socket_;
  std::uint64_t seen_;
  Clock::time_point sent_{};
  bool is_listening_ = false;
  asio::steady_timer listening_ended_;
};

Response too_many(int status, const char* what) {
  Response response = Response::refuse(status, "too_many_listeners", what);
  response.headers.set("Retry-After", "5");
  return response;
}

struct Opened {
  std::string project;
  std::unique_ptr<EventHub::Subscription> events;
  std::optional<Response> refused{};
};

Result<Opened> subscribe(const LiveRoutes::Dependencies& deps, const Request& request) {
  TRY(routing::Caller caller, deps.authenticator.caller_of(request));
  std::optional<std::uint64_t> after;
  if (request.query.find("after") != nullptr) {
    TRY(after, routing::query_number(request, "after", 0, 1ull << 53, 0));
  }
  Opened opened{.project = std::move(caller.project), .events = nullptr};
  std::string key = caller.who.key.str();
  if (deps.events.subscribers_of(key) >= EventHub::kListenersPerKey) {
    opened.refused = too_many(429, "this key has too many open event streams");
    return opened;
  }
  std::string seen = opened.project == "*" ? std::string() : opened.project;
  opened.events = deps.events.subscribe(std::move(seen), after, std::move(key));
  if (!opened.events) {
    opened.refused = too_many(503, "the server has too many open event streams");
  }
  return opened;
}

}  // namespace

std::span<const routing::RouteRow<LiveRoutes>> LiveRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<LiveRoutes> kRows[] = {
      {Method::kGet, "/v1/live", routing::Access::kKey, nullptr,
       "Follow events and figures of your project (WebSocket)", 0, &LiveRoutes::follow},
  };
  return kRows;
}

asio::awaitable<void> LiveRoutes::follow(Request& request, http::RawStream& raw) {
  Result<Opened> opened = subscribe(deps_, request);
  if (!opened || opened->refused) {
    Response refusal = opened ? std::move(*opened->refused) : Response::from_error(opened.error());
    co_await http::refuse_upgrade(request, raw, std::move(refusal));
    co_return;
  }
  http::WebSocketOptions options;
  options.max_message = kMostReceived;
  const std::unique_ptr<http::WebSocket> socket =
      co_await http::accept_websocket(request, raw, options);
  if (!socket) co_return;
  LiveStream stream(deps_, request, std::move(opened->project), std::move(opened->events), *socket);
  co_await stream.run();
}

}  // namespace glovebox::api
