// What a client cannot make the server hold, and how it is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/server/server.h"
#include "http/testing/test_server.h"

namespace glovebox::http {
namespace {

using ::testing::HasSubstr;
using testing::quick_options;
using testing::RawClient;
using testing::route;
using ::testing::StartsWith;
using testing::TestServer;

Router table() {
  Route small = route(Method::kPost, "/small",
                      [](Request& request) { return Response::text(std::move(request.body)); });
  small.max_body = 1000;
  return Router({route(Method::kGet, "/hello", [](Request&) { return Response::text("hello\n"); }),
                 std::move(small)});
}

constexpr std::string_view kHello = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST(ConnectionLimits, ALargeHeaderIsRefused) {
  TestServer server(table(), quick_options());
  RawClient client(server);
  client.send("GET /hello HTTP/1.1\r\nHost: localhost\r\n");
  for (int i = 0; i < 40; ++i) client.send("X-Many: " + std::string(1000, 'a') + "\r\n");
  const std::string answer = client.read_to_end();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(answer, HasSubstr("header_too_large"));
}

TEST(ConnectionLimits, AHeaderJustBelowTheLimitIsNot) {
  TestServer server(table(), quick_options());
  RawClient client(server);
  client.send("GET /hello HTTP/1.1\r\nHost: localhost\r\nX-Long: " + std::string(15 << 10, 'a') +
              "\r\n\r\n");
  EXPECT_THAT(client.read_answer(), HasSubstr("hello\n"));
}

TEST(ConnectionLimits, AGigabyteIsRefusedByItsLength) {
  TestServer server(table(), quick_options());
  RawClient client(server);
  client.send("POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1073741824\r\n\r\n");
  EXPECT_THAT(client.read_answer(), HasSubstr("body_too_large"));
  EXPECT_EQ(server.figures().body_bytes, 0u);
  EXPECT_TRUE(client.is_ended());
}

TEST(ConnectionLimits, TheRefusalArrivesEvenWhileTheClientIsSending) {
  TestServer server(table(), quick_options());
  RawClient client(server);
  client.send("POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1073741824\r\n\r\n");
  client.send_flood(4 << 20);
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 413"));
}

TEST(ConnectionLimits, OurOwnClientUnderstandsTheRefusal) {
  TestServer server(table(), quick_options());
  const std::string body(32 << 20, 'x');
  const auto response =
      server.client().send({.method = Method::kPost, .target = "/small", .body = body});
  ASSERT_TRUE(response.has_value()) << response.error().message();
  EXPECT_EQ(response->status, 413);
}

TEST(ConnectionLimits, AChunkedBodyIsRefusedWhenItPassesTheLimit) {
  TestServer server(table(), quick_options());
  RawClient client(server);
  client.send("POST /small HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 3; ++i) client.send("190\r\n" + std::string(0x190, 'x') + "\r\n");
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 413"));
  EXPECT_TRUE(client.is_ended());
}

// The limit itself is allowed, one byte more is not, however the body's length is given.
TEST(ConnectionLimits, ABodyOfExactlyTheLimitIsAccepted) {
  TestServer server(table(), quick_options());
  const auto post = [&](std::size_t size) {
    return server.client().send(
        {.method = Method::kPost, .target = "/small", .body = std::string(size, 'x')});
  };
  const auto most = post(1000);
  ASSERT_TRUE(most.has_value()) << most.error().message();
  EXPECT_EQ(most->status, 200);
  EXPECT_EQ(most->body.size(), 1000u);
  const auto more = post(1001);
  ASSERT_TRUE(more.has_value()) << more.error().message();
  EXPECT_EQ(more->status, 413);
}

TEST(ConnectionLimits, AChunkedBodyOfExactlyTheLimitIsAccepted) {
  TestServer server(table(), quick_options());
  const std::string head =
      "POST /small HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  // 0x3e8 is 1000.
  RawClient most(server);
  most.send(head + "3e8\r\n" + std::string(1000, 'x') + "\r\n0\r\n\r\n");
  EXPECT_THAT(most.read_answer(), StartsWith("HTTP/1.1 200"));
  RawClient more(server);
  more.send(head + "3e8\r\n" + std::string(1000, 'x') + "\r\n1\r\nx\r\n0\r\n\r\n");
  EXPECT_THAT(more.read_answer(), StartsWith("HTTP/1.1 413"));
}

TEST(ConnectionLimits, AnEndlessChunkLineIsRefused) {
  TestServer server(table(), quick_options());
  RawClient client(server);
  client.send("POST /small HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;");
  client.send(std::string(200 << 10, 'x'));
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 400"));
}

TEST(ConnectionLimits, BodiesOfAllTogetherAreBounded) {
  ServerOptions options = quick_options();
  options.limits.max_body_bytes_total = 800;
  TestServer server(table(), std::move(options));
  const std::string most(200, 'x');
  const std::string post = "POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n";
  std::vector<std::unique_ptr<RawClient>> clients;
  for (std::size_t i = 1; i <= 4; ++i) {
    const std::string from = "127.0.0.1" + std::to_string(i);
    clients.push_back(std::make_unique<RawClient>(from, "127.0.0.1", server.listener().port));
    clients.back()->send(post + most);
    ASSERT_TRUE(server.eventually([&](const ServerFigures& f) { return f.body_bytes == i * 200; }));
  }
  RawClient last(server);
  last.send(post + "x");
  EXPECT_THAT(last.read_answer(), HasSubstr("too_many_bodies"));
  clients.clear();
  EXPECT_TRUE(server.eventually([](const ServerFigures& f) { return f.body_bytes == 0; }));
}

TEST(ConnectionLimits, BodiesFromOneAddressAreAQuarterOfThat) {
  ServerOptions options = quick_options();
  options.limits.max_body_bytes_total = 2000;
  TestServer server(table(), std::move(options));
  const std::string post = "POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n";
  RawClient first(server);
  first.send(post + std::string(400, 'x'));
  ASSERT_TRUE(server.eventually([](const ServerFigures& f) { return f.body_bytes == 400; }));
  RawClient second(server);
  second.send(post + std::string(400, 'x'));
  EXPECT_THAT(second.read_answer(), HasSubstr("too_many_bodies"));
  RawClient other("127.0.0.2", "127.0.0.1", server.listener().port);
  other.send(post + std::string(400, 'x'));
  EXPECT_TRUE(server.eventually([](const ServerFigures& f) { return f.body_bytes == 800; }));
  // What was held by one that has gone counts no more.
  first.close();
  ASSERT_TRUE(server.eventually([](const ServerFigures& f) { return f.body_bytes == 400; }));
  RawClient third(server);
  third.send(post + std::string(400, 'x'));
  EXPECT_TRUE(server.eventually([](const ServerFigures& f) { return f.body_bytes == 800; }));
}

TEST(ConnectionLimits, AnAddressMayHoldExactlyItsQuarter) {
  ServerOptions options = quick_options();
  options.limits.max_body_bytes_total = 2000;
  TestServer server(table(), std::move(options));
  const std::string post = "POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: ";
  RawClient most(server);
  most.send(post + "501\r\n\r\n" + std::string(500, 'x'));
  ASSERT_TRUE(server.eventually([](const ServerFigures& f) { return f.body_bytes == 500; }));
  most.send("x");
  EXPECT_THAT(most.read_answer(), StartsWith("HTTP/1.1 200"));
  RawClient more(server);
  more.send(post + "900\r\n\r\n" + std::string(501, 'x'));
  EXPECT_THAT(more.read_answer(), HasSubstr("too_many_bodies"));
}

TEST(ConnectionLimits, ASlowHeaderIsCutOff) {
  ServerOptions options = quick_options();
  options.limits.header_time = std::chrono::milliseconds(150);
  TestServer server(table(), std::move(options));
  RawClient client(server);
  client.send("GET /hello HTTP/1.1\r\n");
  const std::string answer = client.read_to_end();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 408"));
  EXPECT_TRUE(server.eventually([](const ServerFigures& f) { return f.connections == 0; }));
}

TEST(ConnectionLimits, ASlowBodyIsCutOff) {
  ServerOptions options = quick_options();
  options.limits.body_time = std::chrono::milliseconds(150);
  TestServer server(table(), std::move(options));
  RawClient client(server);
  client.send("POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\nx");
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 408"));
}

TEST(ConnectionLimits, AnIdleConnectionIsClosed) {
  ServerOptions options = quick_options();
  options.limits.idle_time = std::chrono::milliseconds(150);
  TestServer server(table(), std::move(options));
  RawClient client(server);
  client.send(kHello);
  EXPECT_THAT(client.read_answer(), HasSubstr("hello\n"));
  EXPECT_TRUE(client.is_ended());
}

TEST(ConnectionLimits, TheOldestIdleConnectionMakesRoom) {
  ServerOptions options = quick_options();
  options.limits.max_connections = 2;
  TestServer server(table(), std::move(options));
  RawClient first(server);
  first.send(kHello);
  first.read_answer();
  RawClient second(server);
  second.send(kHello);
  second.read_answer();
  RawClient third(server);
  third.send(kHello);
  EXPECT_THAT(third.read_answer(), HasSubstr("hello\n"));
  EXPECT_TRUE(first.is_ended());
  second.send(kHello);
  EXPECT_THAT(second.read_answer(), HasSubstr("hello\n"));
}

TEST(ConnectionLimits, WithoutOneThatWaitsTheNewOneIsRefused) {
  ServerOptions options = quick_options();
  options.limits.max_connections = 0;
  TestServer server(table(), std::move(options));
  RawClient client(server);
  const std::string answer = client.read_to_end();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(answer, HasSubstr("too_many_connections"));
  EXPECT_EQ(server.figures().connections_refused_total, 1u);
}

TEST(ConnectionLimits, OneWithHalfABodyMakesRoom) {
  ServerOptions options = quick_options();
  options.limits.max_connections = 1;
  TestServer server(table(), std::move(options));
  RawClient first(server);
  first.send("POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx");
  ASSERT_TRUE(server.eventually([](const ServerFigures& f) { return f.body_bytes == 1; }));
  RawClient second(server);
  second.send(kHello);
  EXPECT_THAT(second.read_answer(), HasSubstr("hello\n"));
  EXPECT_TRUE(first.is_ended());
}

TEST(ConnectionLimits, OneWithHalfAHeaderMakesRoom) {
  ServerOptions options = quick_options();
  options.limits.max_connections = 1;
  TestServer server(table(), std::move(options));
  RawClient first(server);
  first.send("GET /hello HTTP/1.1\r\n");
  ASSERT_TRUE(server.eventually(
      [](const ServerFigures& f) { return f.connections == 1 && f.idle_connections == 0; }));
  RawClient second(server);
  second.send(kHello);
  EXPECT_THAT(second.read_answer(), HasSubstr("hello\n"));
  EXPECT_TRUE(first.is_ended());
}

TEST(ConnectionLimits, TheOwnerOfMostConnectionsMakesRoom) {
  ServerOptions options = quick_options();
  options.limits.max_connections = 3;
  options.project_of = [](const Request& request) {
    return std::string(request.header("X-Project"));
  };
  TestServer server(table(), std::move(options));
  const auto say_hello = [](RawClient& client, const std::string& project) {
    client.send("GET /hello HTTP/1.1\r\nHost: localhost\r\nX-Project: " + project + "\r\n\r\n");
    return client.read_answer();
  };
  RawClient small(server);
  say_hello(small, "victim");
  RawClient first(server);
  say_hello(first, "hostile");
  RawClient second(server);
  say_hello(second, "hostile");
  RawClient third(server);
  EXPECT_THAT(say_hello(third, "hostile"), HasSubstr("hello\n"));
  EXPECT_TRUE(first.is_ended());
  EXPECT_THAT(say_hello(small, "victim"), HasSubstr("hello\n"));
}

// As on a connection of a reverse proxy.
TEST(ConnectionLimits, AConnectionBelongsToTheProjectOfItsLastKey) {
  ServerOptions options = quick_options();
  options.limits.max_connections = 3;
  options.project_of = [](const Request& request) {
    return std::string(request.header("X-Project"));
  };
  TestServer server(table(), std::move(options));
  const auto say_hello = [](RawClient& client, const std::string& project) {
    client.send("GET /hello HTTP/1.1\r\nHost: localhost\r\nX-Project: " + project + "\r\n\r\n");
    return client.read_answer();
  };
  RawClient small(server);
  say_hello(small, "victim");
  RawClient proxied(server);
  say_hello(proxied, "victim");
  say_hello(proxied, "hostile");
  RawClient second(server);
  say_hello(second, "hostile");
  RawClient third(server);
  EXPECT_THAT(say_hello(third, "hostile"), HasSubstr("hello\n"));
  EXPECT_TRUE(proxied.is_ended());
  EXPECT_THAT(say_hello(small, "victim"), HasSubstr("hello\n"));
}

TEST(ConnectionLimits, TheRefusalOfAConnectionHasTheLengthItSays) {
  ServerOptions options = quick_options();
  options.limits.max_connections = 0;
  TestServer server(table(), std::move(options));
  const auto response = server.client().send({.target = "/hello"});
  ASSERT_TRUE(response.has_value()) << response.error().message();
  EXPECT_EQ(response->status, 503);
  EXPECT_EQ(response->headers.get("Retry-After"), "1");
}

TEST(ConnectionLimits, RequestsInProgressAreBounded) {
  ServerOptions options = quick_options();
  options.limits.max_requests = 0;
  TestServer server(table(), std::move(options));
  const auto response = server.client().send({.target = "/hello"});
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 503);
}

class MalformedRequest : public ::testing::TestWithParam<const char*> {};

TEST_P(MalformedRequest, IsRefusedAndTheConnectionClosed) {
  TestServer server(table(), quick_options());
  RawClient client(server);
  client.send(GetParam());
  const std::string answer = client.read_to_end();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer, HasSubstr("malformed_request"));
  RawClient next(server);
  next.send(kHello);
  EXPECT_THAT(next.read_answer(), HasSubstr("hello\n"));
}

INSTANTIATE_TEST_SUITE_P(
    All, MalformedRequest,
    ::testing::Values(
        "nonsense\r\n\r\n", "GET /hello HTTP/2.0\r\nHost: localhost\r\n\r\n",
        "GET /hello HTTP/1.1\r\n\r\n", "GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET hello HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: localhost\r\nBad Name: x\r\n\r\n",
        "POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        "POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /small HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
        "POST /small HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "POST /small HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n",
        "\x16\x03\x01\x02\x00\x01\r\n\r\n"));

}  // namespace
}  // namespace glovebox::http
