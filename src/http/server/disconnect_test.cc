// Clients that go away, or read slowly, while their handler runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>

#include "http/server/server.h"
#include "http/testing/test_server.h"

namespace glovebox::http {
namespace {

using ::testing::HasSubstr;
using testing::kPatience;
using testing::quick_options;
using testing::RawClient;
using testing::route;
using testing::TestServer;

// Waits until its client goes, or until it is let go.
struct WaitingHandler {
  std::promise<void> started;
  std::promise<void> noticed;
  asio::steady_timer* timer = nullptr;  // the running coroutine's

  Task<Response> operator()(Request& request) {
    asio::steady_timer patience(co_await asio::this_coro::executor);
    patience.expires_after(kPatience);
    timer = &patience;
    request.on_disconnect([this] {
      noticed.set_value();
      timer->cancel();
    });
    started.set_value();
    co_await patience.async_wait(kAwaitTuple);
    co_return Response::text(request.disconnected() ? "gone" : "still here");
  }
};

Router table(WaitingHandler& waiting) {
  Router router(
      {route(Method::kGet, "/hello", [](Request&) { return Response::text("hello\n"); })});
  router.add(
      {.method = Method::kGet,
       .pattern = "/wait",
       .handler = [&waiting](Request& request, ResponseWriter&) { return waiting(request); }});
  return router;
}

bool came(std::future<void> event) {
  return event.wait_for(kPatience) == std::future_status::ready;
}

constexpr std::string_view kWait = "GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr std::string_view kHello = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST(Disconnect, IsNoticedWhileTheHandlerRuns) {
  WaitingHandler waiting;
  TestServer server(table(waiting), quick_options());
  RawClient client(server);
  client.send(kWait);
  ASSERT_TRUE(came(waiting.started.get_future()));
  client.close();
  EXPECT_TRUE(came(waiting.noticed.get_future()));
  EXPECT_TRUE(server.eventually([](const ServerFigures& f) { return f.connections == 0; }));
}

TEST(Disconnect, IsNoticedBehindAPipelinedRequest) {
  WaitingHandler waiting;
  TestServer server(table(waiting), quick_options());
  RawClient client(server);
  client.send(kWait);
  ASSERT_TRUE(came(waiting.started.get_future()));
  client.send(kHello);
  client.close();
  EXPECT_TRUE(came(waiting.noticed.get_future()));
}

TEST(Disconnect, APipelinedRequestIsNotADisconnect) {
  WaitingHandler waiting;
  TestServer server(table(waiting), quick_options());
  RawClient client(server);
  client.send(kWait);
  ASSERT_TRUE(came(waiting.started.get_future()));
  client.send(kHello);
  // A request on another connection shows that the server has been round its loop meanwhile.
  ASSERT_TRUE(server.client().send({.target = "/hello"}).has_value());
  server.on_thread([&](Server&) { waiting.timer->cancel(); });
  EXPECT_THAT(client.read_answer(), HasSubstr("still here"));
  EXPECT_THAT(client.read_answer(), HasSubstr("hello\n"));
}

TEST(Disconnect, OfTheNextRequestIsNoticedToo) {
  WaitingHandler first;
  TestServer server(table(first), quick_options());
  RawClient client(server);
  client.send(kWait);
  ASSERT_TRUE(came(first.started.get_future()));
  server.on_thread([&](Server&) { first.timer->cancel(); });
  EXPECT_THAT(client.read_answer(), HasSubstr("still here"));
  first.started = {};
  client.send(kWait);
  ASSERT_TRUE(came(first.started.get_future()));
  client.close();
  EXPECT_TRUE(came(first.noticed.get_future()));
}

// Streams without end, and says when its client has gone.
struct Stream {
  std::atomic<std::size_t> written{0};
  std::promise<void> ended;

  Task<Response> operator()(ResponseWriter& writer) {
    Headers headers;
    bool open = co_await writer.begin(200, std::move(headers));
    while (open) {
      open = co_await writer.write(std::string(64 << 10, 'x'));
      if (open) written += 64 << 10;
    }
    ended.set_value();
    co_return Response::streamed();
  }
};

Router streaming(Stream& stream) {
  Router router(
      {route(Method::kGet, "/hello", [](Request&) { return Response::text("hello\n"); })});
  router.add({.method = Method::kGet,
              .pattern = "/stream",
              .handler = [&stream](Request&, ResponseWriter& writer) { return stream(writer); }});
  return router;
}

constexpr std::string_view kStream = "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST(SlowReader, SlowsTheWriterAndNothingElse) {
  Stream stream;
  TestServer server(streaming(stream), quick_options());
  RawClient client(server, 16 << 10);
  client.send(kStream);
  ASSERT_NE(client.read_some(1), 0u);
  // The client does not read: what has been written stops growing. Others are served meanwhile.
  std::size_t before = 0;
  Client other = server.client();
  for (int same = 0; same < 20;) {
    ASSERT_EQ(other.send({.target = "/hello"})->status, 200);
    const std::size_t now = stream.written;
    same = now == before ? same + 1 : 0;
    before = now;
  }
  EXPECT_LT(before, std::size_t{16} << 20);
  // Reading makes it grow again.
  client.read_some(std::size_t{8} << 20);
  EXPECT_GT(stream.written.load(), before);
  client.close();
  EXPECT_TRUE(came(stream.ended.get_future()));
}

TEST(SlowReader, WhoReadsNothingIsCutOff) {
  Stream stream;
  ServerOptions options = quick_options();
  options.limits.write_time = std::chrono::milliseconds(100);
  options.limits.min_bytes_per_second = 1 << 20;
  TestServer server(streaming(stream), std::move(options));
  RawClient client(server);
  client.send(kStream);
  EXPECT_TRUE(came(stream.ended.get_future()));
  EXPECT_TRUE(server.eventually([](const ServerFigures& f) { return f.connections == 0; }));
}

}  // namespace
}  // namespace glovebox::http
