// What a server does with requests that are as they should be.
#include "http/server/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/testing/test_server.h"

namespace glovebox::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::quick_options;
using testing::RawClient;
using testing::route;
using ::testing::StartsWith;
using testing::TestServer;

Task<Response> count_to_three(Request&, ResponseWriter& writer) {
  Headers headers{{"Content-Type", "application/x-ndjson"}};
  bool open = co_await writer.begin(200, std::move(headers));
  for (const char* line : {"one\n", "", "two\n", "three\n"}) {
    if (open) open = co_await writer.write(line);
  }
  co_await writer.finish();
  co_return Response::streamed();
}

Task<Response> break_off(Request&, ResponseWriter& writer) {
  Headers headers;
  co_await writer.begin(200, std::move(headers));
  co_await writer.write("half");
  co_return fail(Errc::kInternal, "broken in the middle");
}

Task<Response> throw_up(Request&, ResponseWriter&) {
  throw std::runtime_error("a library threw");
  co_return Response::empty();
}

asio::awaitable<void> echo_upgraded(Request&, RawStream& stream) {
  co_await stream.write("HTTP/1.1 101 Switching Protocols\r\n\r\n");
  char bytes[64];
  for (;;) {
    const std::size_t got = co_await stream.read_some(bytes, sizeof bytes);
    if (got == 0) co_return;
    co_await stream.write(std::string(bytes, got));
  }
}

Router table() {
  Router router({
      route(Method::kGet, "/hello", [](Request&) { return Response::text("hello\n"); }),
      route(Method::kPost, "/echo",
            [](Request& request) { return Response::text(std::move(request.body)); }),
      route(Method::kGet, "/things/{name}",
            [](Request& request) {
              std::string text(request.param("name"));
              for (const auto& [name, value] : request.query) text += ";" + name + "=" + value;
              return Response::text(std::move(text));
            }),
      route(Method::kGet, "/id", [](Request& request) { return Response::text(request.id); }),
      route(Method::kGet, "/missing",
            [](Request&) { return Response::from_error(Error(Errc::kNotFound, "no such thing")); }),
  });
  router.add({.method = Method::kGet, .pattern = "/count", .handler = count_to_three});
  router.add({.method = Method::kGet, .pattern = "/break", .handler = break_off});
  router.add({.method = Method::kGet, .pattern = "/throw", .handler = throw_up});
  Route upgrading = route(Method::kGet, "/raw", [](Request&) { return Response::empty(426); });
  upgrading.upgrade = echo_upgraded;
  router.add(std::move(upgrading));
  return router;
}

constexpr std::string_view kHello = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST(Server, AnswersManyRequestsOnOneConnection) {
  TestServer server(table());
  Client client = server.client();
  for (int i = 0; i < 50; ++i) {
    const Result<ClientResponse> response = client.send({.target = "/hello"});
    ASSERT_TRUE(response.has_value()) << response.error().message();
    EXPECT_EQ(response->body, "hello\n");
  }
  EXPECT_EQ(server.figures().connections_total, 1u);
  EXPECT_EQ(server.figures().requests_total, 50u);
}

TEST(Server, EveryAnswerCarriesItsHeaders) {
  TestServer server(table());
  ClientRequest request{.target = "/id"};
  request.headers.add("X-Request-Id", "mine");
  const Result<ClientResponse> response = server.client().send(request);
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->headers.get("X-Request-Id"), response->body);
  EXPECT_THAT(response->body, StartsWith("rq"));
  EXPECT_EQ(response->body.size(), 22u);
  EXPECT_EQ(response->headers.get("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(response->headers.get("Cache-Control"), "no-store");
  EXPECT_NE(response->headers.find("Date"), nullptr);
}

TEST(Server, PipelinedRequestsAreAnsweredInOrder) {
  TestServer server(table());
  RawClient client(server);
  std::string requests;
  for (int i = 0; i < 20; ++i) {
    requests += "GET /things/" + std::to_string(i) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    requests += "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nok";
  }
  client.send(requests);
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(client.read_answer(), ::testing::EndsWith("\r\n\r\n" + std::to_string(i)));
    EXPECT_THAT(client.read_answer(), ::testing::EndsWith("\r\n\r\nok"));
  }
}

TEST(Server, ARequestMayComeByteByByte) {
  TestServer server(table());
  RawClient client(server);
  client.send("\r\n");
  for (const char c : std::string(kHello)) client.send(std::string_view(&c, 1));
  EXPECT_THAT(client.read_answer(), HasSubstr("hello\n"));
}

TEST(Server, DecodesParametersAndQuery) {
  TestServer server(table());
  const auto response = server.client().send({.target = "/things/a%2Fb?x=1&x=%20"});
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->body, "a/b;x=1;x= ");
}

TEST(Server, TakesChunkedBodiesAndDropsTrailers) {
  TestServer server(table());
  RawClient client(server);
  client.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n");
  client.send("6;ext=1\r\n world\r\n0\r\nHost: evil\r\n\r\n");
  EXPECT_THAT(client.read_answer(), ::testing::EndsWith("\r\n\r\nhello world"));
  client.send(kHello);
  EXPECT_THAT(client.read_answer(), HasSubstr("hello\n"));
}

TEST(Server, AChunkedBodyMayComeByteByByte) {
  for (const std::string_view chunks : {"0\r\n\r\n", "1\r\na\r\n2;e\r\nbc\r\n0\r\nT: v\r\n\r\n"}) {
    TestServer server(table());
    RawClient client(server);
    client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (const char c : chunks) {
      client.send(std::string_view(&c, 1));
      server.figures();  // it has been round its loop: the byte came alone
    }
    EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 200"));
  }
}

TEST(Server, TakesALargeBody) {
  TestServer server(table());
  std::string body;
  for (int i = 0; body.size() < (5u << 20); ++i) body += std::to_string(i);
  const auto response =
      server.client().send({.method = Method::kPost, .target = "/echo", .body = body});
  ASSERT_TRUE(response.has_value()) << response.error().message();
  EXPECT_EQ(response->body, body);
  EXPECT_EQ(server.figures().body_bytes, 0u);
}

TEST(Server, SaysContinueToThoseWhoExpectIt) {
  TestServer server(table());
  RawClient client(server);
  client.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
      "Content-Length: 2\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ok");
  EXPECT_THAT(client.read_answer(), ::testing::EndsWith("\r\n\r\nok"));
}

TEST(Server, StreamsInChunksAndKeepsTheConnection) {
  TestServer server(table());
  RawClient client(server);
  client.send("GET /count HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_EQ(client.read_until("0\r\n\r\n"),
            "4\r\none\n\r\n4\r\ntwo\n\r\n6\r\nthree\n\r\n0\r\n\r\n");
  client.send(kHello);
  EXPECT_THAT(client.read_answer(), HasSubstr("hello\n"));
}

TEST(Server, StreamsToOldClientsUntilTheEnd) {
  TestServer server(table());
  RawClient client(server);
  client.send("GET /count HTTP/1.0\r\nHost: localhost\r\n\r\n");
  const std::string answer = client.read_to_end();
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
  EXPECT_THAT(answer, ::testing::EndsWith("\r\n\r\none\ntwo\nthree\n"));
}

TEST(Server, AnErrorInAStreamIsAStreamWithoutAnEnd) {
  TestServer server(table());
  const auto response = server.client().send({.target = "/break"});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code(), Errc::kUnavailable);
}

TEST(Server, HeadIsGetWithoutABody) {
  TestServer server(table());
  Client client = server.client();
  const auto response = client.send({.method = Method::kHead, .target = "/hello"});
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->headers.get("Content-Length"), "6");
  EXPECT_EQ(response->body, "");
  EXPECT_EQ(client.send({.method = Method::kHead, .target = "/count"})->status, 200);
  EXPECT_EQ(client.send({.target = "/hello"})->body, "hello\n");
  EXPECT_EQ(server.figures().connections_total, 1u);
}

TEST(Server, UnknownPathsAndMethodsGetTheErrorForm) {
  TestServer server(table());
  Client client = server.client();
  const auto missing = client.send({.target = "/nothing"});
  ASSERT_TRUE(missing.has_value());
  EXPECT_EQ(missing->status, 404);
  EXPECT_EQ(missing->body, R"({"error":{"code":"route_not_found","message":"there is nothing at )"
                           R"(/nothing"},"request_id":")" +
                               std::string(missing->headers.get("X-Request-Id")) + R"("})");
  const auto wrong = client.send({.method = Method::kPost, .target = "/hello", .body = "small"});
  ASSERT_TRUE(wrong.has_value());
  EXPECT_EQ(wrong->status, 405);
  EXPECT_EQ(wrong->headers.get("Allow"), "GET, HEAD");
  EXPECT_EQ(client.send({.target = "/missing"})->status, 404);
  EXPECT_EQ(server.figures().connections_total, 1u);
}

TEST(Server, AThrowingHandlerIsAnInternalError) {
  TestServer server(table());
  const auto response = server.client().send({.target = "/throw"});
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 500);
  EXPECT_THAT(response->body, Not(HasSubstr("library")));
}

TEST(Server, ClosesWhenAskedTo) {
  TestServer server(table());
  RawClient client(server);
  client.send("GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.read_to_end(), HasSubstr("Connection: close\r\n"));
}

TEST(Server, RefusesForeignHostsAndOrigins) {
  ServerOptions options;
  options.origins.origins = {"https://app.example.com"};
  TestServer server(table(), std::move(options));
  RawClient client(server);
  client.send("GET /hello HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_THAT(client.read_answer(), HasSubstr("host_not_allowed"));
  client.send("GET /hello HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n");
  EXPECT_THAT(client.read_answer(), HasSubstr("origin_not_allowed"));
  client.send("GET /hello HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example.com\r\n\r\n");
  EXPECT_THAT(client.read_answer(),
              HasSubstr("Access-Control-Allow-Origin: https://app.example.com\r\n"));
  client.send(
      "OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example.com\r\n"
      "Access-Control-Request-Method: POST\r\n\r\n");
  EXPECT_THAT(client.read_answer(), HasSubstr("Access-Control-Allow-Methods: POST\r\n"));
}

TEST(Server, ListeningEverywhereItAnswersToTheAddressAConnectionCameTo) {
  ServerOptions options;
  options.origins.listen_addresses = {"0.0.0.0:7070"};
  TestServer server(table(), std::move(options));
  Result<Listener> everywhere = open_listener("0.0.0.0:0");
  ASSERT_TRUE(everywhere) << everywhere.error().message();
  const std::uint16_t port = everywhere->port;
  server.on_thread([&](Server& one) { EXPECT_TRUE(one.serve(std::move(everywhere->fd))); });
  RawClient client("127.0.0.1", "127.0.0.5", port);
  const auto ask = [&](const std::string& host) {
    client.send("GET /hello HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    return client.read_answer();
  };
  EXPECT_THAT(ask("127.0.0.5:" + std::to_string(port)), HasSubstr("hello\n"));
  EXPECT_THAT(ask("127.0.0.6:" + std::to_string(port)), HasSubstr("host_not_allowed"));
  EXPECT_THAT(ask("evil.example:" + std::to_string(port)), HasSubstr("host_not_allowed"));
}

TEST(Server, RefusesBeforeTheBodyWhatIsNotAdmitted) {
  ServerOptions options = quick_options();
  options.admit = [](Request& request) -> std::optional<Response> {
    if (request.header("X-API-Key") == "good") return std::nullopt;
    return Response::refuse(401, "unauthorized", "a key is needed");
  };
  TestServer server(table(), std::move(options));
  RawClient client(server);
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n");
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 401"));
  ClientRequest request{.method = Method::kPost, .target = "/echo", .body = "x"};
  request.headers.add("X-API-Key", "good");
  EXPECT_EQ(server.client().send(request)->status, 200);
}

TEST(Server, ARouteHasItsOwnAdmissionAndErrorForm) {
  ServerOptions options = quick_options();
  options.admit = [](Request&) -> std::optional<Response> {
    return Response::refuse(401, "unauthorized", "a key is needed");
  };
  Router router = table();
  Route route;
  route.pattern = "/dialect/{what}";
  route.admit = [](Request& request) -> std::optional<Response> {
    if (request.param("what") != "closed") return std::nullopt;
    return Response::refuse(403, "forbidden", "not you");
  };
  route.handler = [](Request& request, ResponseWriter&) -> Task<Response> {
    if (request.param("what") == "error") co_return fail(Errc::kNotFound, "no such thing");
    if (request.param("what") == "refusal") co_return Response::refuse(409, "conflict", "busy");
    co_return Response::text("fine");
  };
  route.error_form = [](const Response& refused, const Error* error) {
    return Response::text(
        std::string(error != nullptr ? "error " : "refusal ") + refused.problem->message,
        refused.status);
  };
  router.add(std::move(route));
  TestServer server(std::move(router), std::move(options));
  const auto get = [&](const char* what) {
    const auto answer = server.client().send({.target = std::string("/dialect/") + what});
    return std::to_string(answer->status) + " " + answer->body;
  };
  EXPECT_EQ(get("open"), "200 fine");
  EXPECT_EQ(get("closed"), "403 refusal not you");
  EXPECT_EQ(get("refusal"), "409 refusal busy");
  EXPECT_EQ(get("error"), "404 error no such thing");
  EXPECT_EQ(server.client().send({.target = "/hello"})->status, 401);
}

TEST(Server, TellsWhatHappened) {
  std::promise<std::string> told;
  ServerOptions options;
  options.on_exchange = [&](const Exchange& exchange) {
    told.set_value(exchange.request.route + " " + std::to_string(exchange.status) + " " +
                   std::to_string(exchange.answer_bytes));
  };
  TestServer server(table(), std::move(options));
  ASSERT_TRUE(server.client().send({.target = "/things/x"}).has_value());
  EXPECT_EQ(told.get_future().get(), "/things/{name} 200 1");
}

TEST(Server, HandsAnUpgradedStreamToItsHandler) {
  TestServer server(table());
  RawClient client(server);
  client.send("GET /raw HTTP/1.1\r\nHost: localhost\r\nUpgrade: echo\r\n\r\nearly");
  EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 101"));
  EXPECT_EQ(client.read_until("early"), "early");
  client.send("late");
  EXPECT_EQ(client.read_until("late"), "late");
}

}  // namespace
}  // namespace glovebox::http
