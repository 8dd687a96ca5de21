// Both ends of a WebSocket: ours against ours, and ours against bytes.
#include "http/websocket/websocket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>

#include "http/testing/test_server.h"
#include "http/websocket/websocket_client.h"

namespace glovebox::http {
namespace {

using ::testing::HasSubstr;
using testing::kPatience;
using ::testing::Not;
using testing::quick_options;
using testing::RawClient;
using testing::route;
using ::testing::StartsWith;
using testing::TestServer;

struct TestContext {
  WebSocketOptions options;
  std::atomic<int> code{0};          // that the last one was closed with
  std::atomic<std::size_t> sent{0};  // bytes, by /flood
};

asio::awaitable<void> echo(TestContext& context, Request& request, RawStream& stream) {
  const std::unique_ptr<WebSocket> socket =
      co_await accept_websocket(request, stream, context.options);
  if (!socket) co_return;
  for (;;) {
    std::optional<WebSocket::Message> message = co_await socket->receive();
    if (!message) break;
    if (message->data == "close") {
      co_await socket->close(4321, "as you wish");
      break;
    }
    bool sent = false;
    if (message->text) {
      sent = co_await socket->send_text(std::move(message->data));
    } else {
      sent = co_await socket->send_binary(std::move(message->data));
    }
    if (!sent) break;
  }
  context.code = socket->close_code();
}

// Sends without end, while it receives.
asio::awaitable<void> flood(TestContext& context, Request& request, RawStream& stream) {
  const std::unique_ptr<WebSocket> socket = co_await accept_websocket(request, stream);
  if (!socket) co_return;
  std::atomic<bool> is_over{false};
  auto sender = [&]() -> asio::awaitable<void> {
    const std::string block(60'000, 'x');
    for (;;) {
      const bool sent = co_await socket->send_view(Opcode::kBinary, block);
      if (!sent) break;
      context.sent += block.size();
    }
    is_over = true;
  };
  asio::co_spawn(co_await asio::this_coro::executor, sender(), asio::detached);
  for (;;) {
    const std::optional<WebSocket::Message> message = co_await socket->receive();
    if (!message) break;
  }
  stream.close();
  asio::steady_timer turn(co_await asio::this_coro::executor);
  while (!is_over) {
    turn.expires_after(std::chrono::milliseconds(1));
    co_await turn.async_wait(kAwaitTuple);
  }
}

Router table(TestContext& context) {
  Router router(
      {route(Method::kGet, "/hello", [](Request&) { return Response::text("hello\n"); })});
  Route first = route(Method::kGet, "/echo", [](Request&) { return Response::empty(426); });
  first.upgrade = [&context](Request& request, RawStream& stream) {
    return echo(context, request, stream);
  };
  router.add(std::move(first));
  Route second = route(Method::kGet, "/flood", [](Request&) { return Response::empty(426); });
  second.upgrade = [&context](Request& request, RawStream& stream) {
    return flood(context, request, stream);
  };
  router.add(std::move(second));
  return router;
}

std::unique_ptr<WebSocketClient> connect(const TestServer& server, std::string target) {
  ClientOptions options;
  options.io_time = kPatience;
  Headers headers;
  auto socket = WebSocketClient::connect(server.url(), std::move(target), headers, options);
  EXPECT_TRUE(socket.has_value()) << socket.error().message();
  return socket ? std::move(*socket) : nullptr;
}

std::string ask(WebSocketClient& socket) {
  const auto received = socket.receive(kPatience);
  if (!received) return "error: " + received.error().message();
  if (received->is_closed) return "closed";
  return received->message ? received->message->data : "nothing";
}

constexpr std::string_view kHandshake =
    "GET /echo HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
constexpr std::array<std::uint8_t, 4> kMask = {1, 2, 3, 4};

TEST(WebSocket, CarriesMessagesBothWays) {
  TestContext context;
  TestServer server(table(context), quick_options());
  const auto socket = connect(server, "/echo");
  ASSERT_TRUE(socket);
  for (const std::size_t size : {0, 1, 125, 126, 65'535, 65'536, 1 << 20}) {
    const std::string text(size, 'a');
    ASSERT_TRUE(socket->send_text(text).has_value());
    EXPECT_TRUE(ask(*socket) == text) << size;
  }
  ASSERT_TRUE(socket->send_binary("\xFF\xFE").has_value());
  EXPECT_EQ(ask(*socket), "\xFF\xFE");
  const auto nothing = socket->receive(std::chrono::milliseconds(0));
  ASSERT_TRUE(nothing.has_value());
  EXPECT_FALSE(nothing->message || nothing->is_closed);
  socket->close(4000, "enough");
  EXPECT_TRUE(server.eventually([&](const ServerFigures&) { return context.code == 4000; }));
  EXPECT_TRUE(server.eventually([](const ServerFigures& f) { return f.connections == 0; }));
}

TEST(WebSocket, IsClosedByTheServerWithItsCode) {
  TestContext context;
  TestServer server(table(context), quick_options());
  const auto socket = connect(server, "/echo");
  ASSERT_TRUE(socket);
  ASSERT_TRUE(socket->send_text("close").has_value());
  EXPECT_EQ(ask(*socket), "closed");
  EXPECT_EQ(socket->close_code(), 4321);
  EXPECT_EQ(socket->close_reason(), "as you wish");
  EXPECT_FALSE(socket->send_text("more").has_value());
}

TEST(WebSocket, AnswersTheHandshakeAndPings) {
  TestContext context;
  TestServer server(table(context), quick_options());
  RawClient client(server);
  client.send(std::string(kHandshake) +
              "Sec-WebSocket-Protocol: glovebox.key.secret, glovebox.v1\r\n\r\n" +
              masked_frame(Opcode::kPing, "early", kMask));
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 101 "));
  EXPECT_THAT(head, HasSubstr("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
  EXPECT_THAT(head, HasSubstr("Sec-WebSocket-Protocol: glovebox.v1\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("secret")));
  EXPECT_EQ(client.read_until("early"),
            "\x8A\x05"
            "early");
  client.send(masked_frame(Opcode::kClose, close_payload(1000, "bye"), kMask));
  EXPECT_EQ(client.read_until("\x03\xE8"), "\x88\x02\x03\xE8");
  client.end_writing();
  EXPECT_TRUE(client.is_ended());
}

TEST(WebSocket, WhatBreaksTheProtocolIsToldItsCode) {
  TestContext context;
  TestServer server(table(context), quick_options());
  RawClient client(server);
  client.send(std::string(kHandshake) + "\r\n");
  client.read_until("\r\n\r\n");
  client.send(masked_frame(Opcode::kText, "\xFF", kMask));
  EXPECT_EQ(client.read_until("\x03\xEF").substr(2), "\x03\xEF");  // 1007
  client.end_writing();
  EXPECT_TRUE(server.eventually([](const ServerFigures& f) { return f.connections == 0; }));
}

TEST(WebSocket, ALargeMessageIsRefusedByItsLength) {
  TestContext context;
  TestServer server(table(context), quick_options());
  RawClient client(server);
  client.send(std::string(kHandshake) + "\r\n");
  client.read_until("\r\n\r\n");
  client.send(std::string("\x82\xFF\x00\x00\x00\x00\x00\x10\x00\x01mask", 14));
  EXPECT_EQ(client.read_until("\x03\xF1").substr(2), "\x03\xF1");  // 1009
}

TEST(WebSocket, UnfinishedMessagesCountForTheBytesOfBodies) {
  TestContext context;
  ServerOptions options = quick_options();
  options.limits.max_body_bytes_total = 100'000;
  TestServer server(table(context), options);
  const auto begin_message = [](RawClient& client, std::size_t bytes) {
    client.send(std::string(kHandshake) + "\r\n");
    client.read_until("\r\n\r\n");
    client.send(masked_frame(Opcode::kBinary, std::string(60'000, 'x'), kMask).substr(0, bytes));
  };
  RawClient first(server);
  begin_message(first, 30'000);
  ASSERT_TRUE(server.eventually([](const ServerFigures& f) { return f.body_bytes > 29'000; }));
  {
    RawClient second(server);
    begin_message(second, 20'000);
    EXPECT_EQ(second.read_until("\x03\xF5").substr(2), "\x03\xF5");  // 1013
  }
  // What is small passes, and what has gone counts no more.
  RawClient third(server);
  third.send(std::string(kHandshake) + "\r\n");
  third.read_until("\r\n\r\n");
  third.send(masked_frame(Opcode::kText, "small", kMask));
  EXPECT_THAT(third.read_until("small"), HasSubstr("small"));
  first.end_writing();
  EXPECT_TRUE(server.eventually([](const ServerFigures& f) { return f.body_bytes == 0; }));
}

TEST(WebSocket, RefusesWhatIsNone) {
  TestContext context;
  TestServer server(table(context), quick_options());
  const auto answer = [&](std::string_view fields) {
    RawClient client(server);
    client.send("GET /echo HTTP/1.1\r\nHost: localhost\r\n" + std::string(fields) + "\r\n");
    return client.read_answer();
  };
  EXPECT_THAT(answer(""), StartsWith("HTTP/1.1 426"));
  EXPECT_THAT(answer("Upgrade: h2c\r\nConnection: Upgrade\r\n"), StartsWith("HTTP/1.1 426"));
  const std::string old = answer(
      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 8\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
  EXPECT_THAT(old, StartsWith("HTTP/1.1 426"));
  EXPECT_THAT(old, HasSubstr("Sec-WebSocket-Version: 13\r\n"));
  EXPECT_THAT(old, HasSubstr("upgrade_required"));
  EXPECT_THAT(answer("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: short\r\n"),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer("Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"),
              StartsWith("HTTP/1.1 400"));
}

TEST(WebSocket, ForeignPagesAndTheUnadmittedDoNotGetThatFar) {
  TestContext context;
  ServerOptions options = quick_options();
  options.admit = [](Request& request) -> std::optional<Response> {
    if (request.header("X-API-Key") == "good") return std::nullopt;
    return Response::refuse(401, "unauthorized", "no");
  };
  TestServer server(table(context), std::move(options));
  ClientResponse refusal;
  Headers headers;
  auto socket = WebSocketClient::connect(server.url(), "/echo", headers, {}, &refusal);
  EXPECT_FALSE(socket.has_value());
  EXPECT_EQ(refusal.status, 401);
  EXPECT_THAT(refusal.body, HasSubstr("unauthorized"));
  headers.set("X-API-Key", "good");
  EXPECT_TRUE(WebSocketClient::connect(server.url(), "/echo", headers, {}).has_value());
  headers.set("Origin", "http://evil.example");
  socket = WebSocketClient::connect(server.url(), "/echo", headers, {}, &refusal);
  EXPECT_FALSE(socket.has_value());
  EXPECT_EQ(refusal.status, 403);
}

TEST(WebSocket, AsksForSignsOfLifeAndEndsWithoutThem) {
  TestContext context;
  context.options.ping_interval = std::chrono::milliseconds(30);
  TestServer server(table(context), quick_options());
  const auto alive = connect(server, "/echo");
  ASSERT_TRUE(alive);
  RawClient silent(server);
  silent.send(std::string(kHandshake) + "\r\n");
  silent.read_until("\r\n\r\n");
  EXPECT_EQ(silent.read_until(std::string_view("\x89\x00", 2)), std::string("\x89\x00", 2));
  // The other one answers its pings meanwhile, and so outlives it.
  while (server.figures().connections > 1) {
    ASSERT_TRUE(alive->receive(std::chrono::milliseconds(5)).has_value());
  }
  EXPECT_TRUE(silent.is_ended());
  ASSERT_TRUE(alive->send_text("still here").has_value());
  EXPECT_EQ(ask(*alive), "still here");
}

TEST(WebSocket, ASlowClientSlowsItsSender) {
  TestContext context;
  TestServer server(table(context), quick_options());
  const auto socket = connect(server, "/flood");
  ASSERT_TRUE(socket);
  Client other = server.client();
  std::size_t before = 0;
  for (int same = 0; same < 20;) {
    ASSERT_EQ(other.send({.target = "/hello"})->status, 200);
    const std::size_t now = context.sent;
    same = now == before && now > 0 ? same + 1 : 0;
    before = now;
  }
  EXPECT_LT(before, std::size_t{32} << 20);
  // What it sends arrives although it is being slowed: a Close ends both.
  for (int i = 0; i < 200; ++i) EXPECT_EQ(ask(*socket).size(), 60'000u);
  EXPECT_GT(context.sent.load(), 100u * 60'000u);
  ASSERT_TRUE(socket->send_text(std::string(500'000, 'y')).has_value());
  socket->close();
  EXPECT_TRUE(
      server.eventually([](const ServerFigures& f) { return f.requests_in_progress == 0; }));
}

TEST(WebSocket, EndsWithTheServer) {
  TestContext context;
  auto server = std::make_unique<TestServer>(table(context), quick_options());
  const auto socket = connect(*server, "/echo");
  ASSERT_TRUE(socket);
  server->on_thread([](Server& running) { running.stop_accepting(); });
  EXPECT_EQ(ask(*socket), "closed");
  EXPECT_EQ(socket->close_code(), close_code::kGoingAway);
  EXPECT_TRUE(server->drained(kPatience).get());
}

}  // namespace
}  // namespace glovebox::http
