#include "http/client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>
#include <thread>

#include "http/server/server.h"
#include "http/testing/test_server.h"

namespace glovebox::http {
namespace {

using testing::kPatience;
using testing::quick_options;
using testing::route;
using testing::TestServer;

Task<Response> stream_lines(Request&, ResponseWriter& writer) {
  Headers headers{{"Content-Type", "text/event-stream"}};
  bool open = co_await writer.begin(200, std::move(headers));
  for (int i = 0; i < 1000 && open; ++i) {
    open = co_await writer.write("line " + std::to_string(i) + "\n");
  }
  co_return Response::streamed();
}

Task<Response> never(Request&, ResponseWriter&) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  timer.expires_after(kPatience);
  co_await timer.async_wait(kAwaitTuple);
  co_return Response::empty();
}

Router table() {
  Router router(
      {route(Method::kGet, "/hello", [](Request&) { return Response::text("hello\n"); }),
       route(Method::kPost, "/hello", [](Request&) { return Response::text("posted"); })});
  router.add({.method = Method::kGet, .pattern = "/lines", .handler = stream_lines});
  router.add({.method = Method::kGet, .pattern = "/never", .handler = never});
  return router;
}

TEST(Client, GivesAStreamAwayAsItComes) {
  TestServer server(table());
  Client client = server.client();
  std::string all;
  int status = 0;
  const auto response = client.stream(
      {.target = "/lines"},
      [&](std::string_view chunk) {
        all += chunk;
        return true;
      },
      [&](const ClientResponse& head) { status = head.status; });
  ASSERT_TRUE(response.has_value()) << response.error().message();
  EXPECT_EQ(status, 200);
  EXPECT_EQ(response->body, "");
  EXPECT_TRUE(all.starts_with("line 0\nline 1\n"));
  EXPECT_TRUE(all.ends_with("line 999\n"));
  EXPECT_EQ(client.send({.target = "/hello"})->body, "hello\n");
  EXPECT_EQ(server.figures().connections_total, 1u);
}

TEST(Client, MayStopAStream) {
  TestServer server(table());
  Client client = server.client();
  int chunks = 0;
  const auto response = client.stream({.target = "/lines"}, [&](std::string_view) {
    ++chunks;
    return false;
  });
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(chunks, 1);
  EXPECT_EQ(client.send({.target = "/hello"})->body, "hello\n");
}

TEST(Client, AnErrorAnswerOfAStreamIsKeptWhole) {
  TestServer server(table());
  const auto response =
      server.client().stream({.target = "/nothing"}, [](std::string_view) { return true; });
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 404);
  EXPECT_NE(response->body.find("route_not_found"), std::string::npos);
}

TEST(Client, OpensAClosedConnectionAnewEvenToPost) {
  ServerOptions options = quick_options();
  options.limits.idle_time = std::chrono::milliseconds(50);
  TestServer server(table(), std::move(options));
  Client client = server.client();
  ASSERT_TRUE(client.send({.target = "/hello"}).has_value());
  ASSERT_TRUE(server.eventually([](const ServerFigures& f) { return f.connections == 0; }));
  const auto response = client.send({.method = Method::kPost, .target = "/hello"});
  ASSERT_TRUE(response.has_value()) << response.error().message();
  EXPECT_EQ(response->body, "posted");
}

TEST(Client, GivesUpOnASilentServer) {
  TestServer server(table());
  ClientOptions options;
  options.io_time = std::chrono::milliseconds(50);
  Client client(server.url(), options);
  const auto response = client.send({.target = "/never"});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code(), Errc::kTimeout);
}

TEST(Client, CanBeInterrupted) {
  TestServer server(table());
  Client client = server.client();
  std::thread other([&] {
    EXPECT_TRUE(
        server.eventually([](const ServerFigures& f) { return f.requests_in_progress == 1; }));
    client.interrupt();
  });
  const auto response = client.send({.target = "/never"});
  other.join();
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code(), Errc::kUnavailable);
}

TEST(Client, SaysThatThePortIsClosed) {
  Url url;
  {
    TestServer server(table());
    url = server.url();
  }
  const auto response = Client(url).send({.target = "/"});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code(), Errc::kUnavailable);
}

TEST(Client, RefusesNamesAndLineBreaks) {
  Url url;
  url.host = "example.com";
  const auto named = Client(url).send({.target = "/"});
  ASSERT_FALSE(named.has_value());
  EXPECT_THAT(named.error().message(), ::testing::HasSubstr("names are not looked up"));
  TestServer server(table());
  ClientRequest request{.target = "/hello"};
  request.headers.add("X-A", "b\r\nX-C: d");
  EXPECT_FALSE(server.client().send(request).has_value());
}

}  // namespace
}  // namespace glovebox::http
