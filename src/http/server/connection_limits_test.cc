// What a client cannot make the server hold, and how it is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <memory>
#include <string>
#include <vector>

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

// Stands in for keys.
RequestOwner project_header(const Request& request) {
  const std::string name(request.header("X-Project"));
  if (name.empty()) return {};
  return {.kind = RequestOwner::Kind::kProject, .name = name};
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

// Bodies of 900 bytes that do not come to their end.
class HeldBodies : public ::testing::Test {
 protected:
  static ServerOptions held_options() {
    ServerOptions options = quick_options();
    options.limits.max_body_bytes_total = 2000;
    options.owner_of = project_header;
    return options;
  }
  RawClient& begin_body(const std::string& project, std::size_t bytes,
                        const std::string& from = "127.0.0.1") {
    clients_.push_back(std::make_unique<RawClient>(from, "127.0.0.1", server_.listener().port));
    clients_.back()->send("POST /small HTTP/1.1\r\nHost: localhost\r\nX-Project: " + project +
                          "\r\nContent-Length: 900\r\n\r\n" + std::string(bytes, 'x'));
    return *clients_.back();
  }
  bool are_held(std::size_t bytes) {
    return server_.eventually([=](const ServerFigures& f) { return f.body_bytes == bytes; });
  }

  TestServer server_{table(), held_options()};
  std::vector<std::unique_ptr<RawClient>> clients_;
};

TEST_F(HeldBodies, OfOneProjectAreHalfOfAll) {
  begin_body("hostile", 899);
  ASSERT_TRUE(are_held(899));
  RawClient& more = begin_body("hostile", 100);
  ASSERT_TRUE(are_held(999));
  more.send("x");
  EXPECT_THAT(more.read_answer(), HasSubstr("too_many_bodies"));
}

TEST_F(HeldBodies, OfOneProjectLeaveRoomForAnotherAtTheSameAddress) {
  begin_body("hostile", 899);
  ASSERT_TRUE(are_held(899));
  EXPECT_THAT(begin_body("hostile", 200).read_answer(), HasSubstr("too_many_bodies"));
  RawClient& victim = begin_body("victim", 500);
  ASSERT_TRUE(are_held(1399));
  victim.send(std::string(400, 'x'));
  EXPECT_THAT(victim.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(HeldBodies, OfStrangersFromManyAddressesLeaveRoomForAProject) {
  begin_body("", 400, "127.0.0.2");
  ASSERT_TRUE(are_held(400));
  for (int i = 3; i < 7; ++i) {
    RawClient& anonymous = begin_body("", 400, "127.0.0." + std::to_string(i));
    EXPECT_THAT(anonymous.read_answer(), HasSubstr("too_many_bodies"));
  }
  RawClient& victim = begin_body("victim", 500);
  ASSERT_TRUE(are_held(900));
  victim.send(std::string(400, 'x'));
  EXPECT_THAT(victim.read_answer(), StartsWith("HTTP/1.1 200"));
}

TEST_F(HeldBodies, OfOneThatHasGoneCountNoMore) {
  begin_body("hostile", 899);
  ASSERT_TRUE(are_held(899));
  clients_.clear();
  EXPECT_TRUE(are_held(0));
  begin_body("hostile", 899);
  EXPECT_TRUE(are_held(899));
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
  options.owner_of = project_header;
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
  options.owner_of = project_header;
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

// Requests whose handlers answer when they are told to.
class HeldRequests : public ::testing::Test {
 protected:
  struct Gate {  // used on the server's thread
    std::vector<asio::steady_timer*> waiting;
  };
  static Router held_table(const std::shared_ptr<Gate>& gate) {
    Route held;
    held.pattern = "/held";
    held.handler = [gate](Request&, ResponseWriter&) -> Task<Response> {
      asio::steady_timer timer(co_await asio::this_coro::executor,
                               asio::steady_timer::time_point::max());
      gate->waiting.push_back(&timer);
      co_await timer.async_wait(kAwaitTuple);
      co_return Response::text("held\n");
    };
    Route health =
        route(Method::kGet, "/health", [](Request&) { return Response::text("well\n"); });
    health.is_always_served = true;
    return Router({std::move(held), std::move(health)});
  }
  static ServerOptions held_options() {
    ServerOptions options = quick_options();
    options.limits.max_requests = 8;
    options.owner_of = project_header;
    return options;
  }
  ~HeldRequests() override { answer_all(); }
  void answer_all() {
    server_.on_thread([this](Server&) {
      for (asio::steady_timer* timer : gate_->waiting) timer->cancel();
      gate_->waiting.clear();
    });
  }

  void ask(RawClient& client, const std::string& project) {
    client.send("GET /held HTTP/1.1\r\nHost: localhost\r\nX-Project: " + project + "\r\n\r\n");
  }
  // Requests of the project that wait for their answer.
  void hold(const std::string& project, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      clients_.push_back(std::make_unique<RawClient>(server_));
      ask(*clients_.back(), project);
      ++held_;
      ASSERT_TRUE(server_.eventually(
          [&](const ServerFigures& f) { return f.requests_in_progress == held_; }));
    }
  }

  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  TestServer server_{held_table(gate_), held_options()};
  std::vector<std::unique_ptr<RawClient>> clients_;
  std::size_t held_ = 0;
};

TEST_F(HeldRequests, OfOneProjectAndOfStrangersLeaveRoomForAnotherProject) {
  hold("hostile", 4);
  RawClient more(server_);
  ask(more, "hostile");
  EXPECT_THAT(more.read_answer(), HasSubstr("too_many_requests_in_progress"));
  hold("", 2);
  RawClient anonymous(server_);
  ask(anonymous, "");
  EXPECT_THAT(anonymous.read_answer(), HasSubstr("too_many_requests_in_progress"));
  hold("victim", 1);
  answer_all();
  EXPECT_THAT(clients_.back()->read_answer(), HasSubstr("held\n"));
}

TEST_F(HeldRequests, OfAllOwnersDoNotKeepHealthFromItsAnswer) {
  for (const char* project : {"a", "a", "a", "a", "b", "b", "c", "d"}) hold(project, 1);
  RawClient victim(server_);
  ask(victim, "victim");
  EXPECT_THAT(victim.read_answer(), HasSubstr("too_many_requests_in_progress"));
  RawClient probe(server_);
  probe.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(probe.read_answer(), HasSubstr("well\n"));
}

// As on a connection of a reverse proxy.
TEST_F(HeldRequests, AreChargedToTheirOwnProjectOnAConnectionOfAnother) {
  RawClient proxied(server_);
  proxied.send("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Project: victim\r\n\r\n");
  proxied.read_answer();
  hold("hostile", 4);
  ask(proxied, "hostile");
  EXPECT_THAT(proxied.read_answer(), HasSubstr("too_many_requests_in_progress"));
  ask(proxied, "victim");
  ASSERT_TRUE(
      server_.eventually([&](const ServerFigures& f) { return f.requests_in_progress == 5; }));
  answer_all();
  EXPECT_THAT(proxied.read_answer(), HasSubstr("held\n"));
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
