// Bodies that are read by their handler, and answers whose length is known.
#include "http/server/request_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

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

// Reads all of it, in small pieces; answers its length, what it began with, and its sum.
Task<Response> read_all(Request& request, ResponseWriter&) {
  EXPECT_TRUE(request.body.empty());
  std::uint64_t total = 0, sum = 0;
  char buffer[1000];
  for (;;) {
    CO_TRY(const std::size_t got, co_await request.body_stream->read_some(buffer, sizeof buffer));
    if (got == 0) break;
    total += got;
    for (std::size_t i = 0; i < got; ++i) sum += static_cast<unsigned char>(buffer[i]);
  }
  const auto& length = request.body_stream->length;
  co_return Response::text(std::to_string(total) + " " + std::to_string(sum) + " " +
                           (length ? std::to_string(*length) : "unknown"));
}

Task<Response> read_patiently(Request& request, ResponseWriter& writer) {
  request.body_stream->patience = testing::kPatience;
  co_return co_await read_all(request, writer);
}

Task<Response> read_nothing(Request&, ResponseWriter&) {
  co_return fail(Errc::kNotFound, "there is no such place");
}

// Gives every piece back as it comes.
Task<Response> echo(Request& request, ResponseWriter& writer) {
  Headers headers;
  if (request.body_stream->length) {
    headers.set("Content-Length", std::to_string(*request.body_stream->length));
  }
  co_await writer.begin(200, std::move(headers));
  std::string buffer(64 << 10, '\0');
  for (;;) {
    CO_TRY(const std::size_t got,
           co_await request.body_stream->read_some(buffer.data(), buffer.size()));
    if (got == 0) break;
    const bool sent = co_await writer.write_view(std::string_view(buffer.data(), got));
    if (!sent) break;
  }
  co_await writer.finish();
  co_return Response::streamed();
}

Task<Response> known_length(Request& request, ResponseWriter& writer) {
  Headers headers{{"Content-Length", "10"}};
  co_await writer.begin(200, std::move(headers));
  const std::string_view text = request.query.get("text");
  co_await writer.write_view(text);
  co_await writer.finish();
  co_return Response::streamed();
}

Route streaming(Method method, std::string pattern, Handler handler) {
  Route made;
  made.method = method;
  made.pattern = std::move(pattern);
  made.handler = std::move(handler);
  made.max_body = 10;  // does not count
  made.streams_body = true;
  return made;
}

Router table() {
  Router router(
      {route(Method::kGet, "/hello", [](Request&) { return Response::text("hello\n"); })});
  router.add(streaming(Method::kPut, "/all", read_all));
  router.add(streaming(Method::kPut, "/patient", read_patiently));
  router.add(streaming(Method::kPut, "/none", read_nothing));
  router.add(streaming(Method::kPut, "/echo", echo));
  router.add({.method = Method::kGet, .pattern = "/known", .handler = known_length});
  return router;
}

constexpr std::string_view kHello = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST(StreamedBody, OfKnownLengthIsReadAndTheConnectionKept) {
  TestServer server(table(), quick_options());
  RawClient client(server);
  client.send("PUT /all HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\nhel");
  client.send("lo, world" + std::string(kHello));
  EXPECT_THAT(client.read_answer(), HasSubstr("12 1160 12"));
  EXPECT_THAT(client.read_answer(), HasSubstr("hello\n"));
}

TEST(StreamedBody, InChunksIsReadAndTheConnectionKept) {
  TestServer server(table(), quick_options());
  RawClient client(server);
  const std::string body = "5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n";
  for (const char c :
       "PUT /all HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + body) {
    client.send(std::string(1, c));
  }
  EXPECT_THAT(client.read_answer(), HasSubstr("12 1160 unknown"));
  client.send("PUT /all HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + body +
              std::string(kHello));
  EXPECT_THAT(client.read_answer(), HasSubstr("12 1160 unknown"));
  EXPECT_THAT(client.read_answer(), HasSubstr("hello\n"));
}

TEST(StreamedBody, OfNothingEndsAtOnce) {
  TestServer server(table(), quick_options());
  RawClient client(server);
  client.send("PUT /all HTTP/1.1\r\nHost: localhost\r\n\r\n" + std::string(kHello));
  EXPECT_THAT(client.read_answer(), HasSubstr("0 0 0"));
  EXPECT_THAT(client.read_answer(), HasSubstr("hello\n"));
}

TEST(StreamedBody, IsNotBoundedAndNotHeld) {
  ServerOptions options = quick_options();
  options.limits.max_body_bytes_total = 1 << 20;
  TestServer server(table(), std::move(options));
  Client client = server.client();
  constexpr std::uint64_t kSize = std::uint64_t{64} << 20;
  for (const bool is_known : {true, false}) {
    std::uint64_t left = kSize;
    const auto answer = client.upload({.method = Method::kPut, .target = "/all"},
                                      is_known ? std::optional<std::uint64_t>(kSize) : std::nullopt,
                                      [&](char* into, std::size_t size) -> Result<std::size_t> {
                                        const std::size_t count =
                                            std::min<std::uint64_t>(size, left);
                                        std::fill_n(into, count, '\1');
                                        left -= count;
                                        return count;
                                      });
    ASSERT_TRUE(answer.has_value()) << answer.error().message();
    EXPECT_THAT(answer->body, StartsWith(std::to_string(kSize) + " " + std::to_string(kSize)));
    EXPECT_EQ(server.figures().body_bytes, 0u);
  }
}

TEST(StreamedBody, SaysContinueOnlyToWhomeverIsRead) {
  TestServer server(table(), quick_options());
  RawClient client(server);
  const std::string head =
      " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
  client.send("PUT /all" + head);
  EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 100 Continue"));
  client.send("hello");
  EXPECT_THAT(client.read_answer(), HasSubstr("5 532 5"));
  client.send("PUT /none" + head);
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 404"));
  EXPECT_TRUE(client.is_ended());
}

TEST(StreamedBody, ARefusalArrivesWhileTheClientIsSending) {
  TestServer server(table(), quick_options());
  std::uint64_t asked = 0;
  const auto answer =
      server.client().upload({.method = Method::kPut, .target = "/none"}, std::uint64_t{1} << 40,
                             [&](char* into, std::size_t size) -> Result<std::size_t> {
                               std::fill_n(into, size, 'x');
                               asked += size;
                               return size;
                             });
  ASSERT_TRUE(answer.has_value()) << answer.error().message();
  EXPECT_EQ(answer->status, 404);
  EXPECT_LT(asked, std::uint64_t{1} << 30);
}

TEST(StreamedBody, ASilentClientIsCutOff) {
  ServerOptions options = quick_options();
  options.limits.body_time = std::chrono::milliseconds(100);
  TestServer server(table(), std::move(options));
  RawClient client(server);
  client.send("PUT /all HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\nhel");
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 408"));
  EXPECT_TRUE(client.is_ended());
  EXPECT_TRUE(server.eventually([](const ServerFigures& f) { return f.connections == 0; }));
}

TEST(StreamedBody, ThatStopsIsCutOffHoweverMuchOfItHasCome) {
  ServerOptions options = quick_options();
  options.limits.min_bytes_per_second = 1;
  options.limits.body_time = 3 * testing::kPatience;
  options.limits.body_stall_time = std::chrono::milliseconds(100);
  TestServer server(table(), std::move(options));
  RawClient client(server);
  client.send("PUT /all HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n" +
              std::string(899, 'x'));
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 408"));
  EXPECT_TRUE(client.is_ended());
}

// Each byte comes soon after the one before.
TEST(StreamedBody, ThatDripsIsCutOff) {
  ServerOptions options = quick_options();
  options.limits.body_time = std::chrono::milliseconds(150);
  options.limits.body_stall_time = testing::kPatience;
  options.limits.min_bytes_per_second = 1 << 20;
  TestServer server(table(), std::move(options));
  RawClient client(server);
  client.send("PUT /all HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000000\r\n\r\n");
  EXPECT_TRUE(server.eventually([&](const ServerFigures& f) {
    if (f.requests_in_progress == 1) client.send_flood(1);
    return f.requests_total == 1 && f.requests_in_progress == 0;
  }));
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 408"));
}

TEST(StreamedBody, IsGivenTheTimeThatItsHandlerSays) {
  ServerOptions options = quick_options();
  options.limits.body_time = options.limits.body_stall_time = std::chrono::milliseconds(50);
  TestServer server(table(), std::move(options));
  RawClient slow(server);
  slow.send("PUT /patient HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\nhel");
  ASSERT_TRUE(
      server.eventually([](const ServerFigures& f) { return f.requests_in_progress == 1; }));
  // The next one is cut off, so the time of the first would be over, too.
  RawClient late(server);
  late.send("PUT /all HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\nhel");
  EXPECT_THAT(late.read_answer(), StartsWith("HTTP/1.1 408"));
  slow.send("lo, world");
  EXPECT_THAT(slow.read_answer(), HasSubstr("12 1160 12"));
}

TEST(StreamedBody, WhoGoesInTheMiddleEndsTheHandler) {
  TestServer server(table(), quick_options());
  RawClient client(server);
  client.send("PUT /all HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\nhel");
  ASSERT_TRUE(
      server.eventually([](const ServerFigures& f) { return f.requests_in_progress == 1; }));
  client.close();
  EXPECT_TRUE(server.eventually([](const ServerFigures& f) { return f.connections == 0; }));
}

TEST(StreamedBody, WrongChunksAreRefused) {
  TestServer server(table(), quick_options());
  RawClient client(server);
  client.send("PUT /all HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 400"));
  EXPECT_TRUE(client.is_ended());
}

TEST(StreamedBody, MayBeAnsweredWhileItComes) {
  TestServer server(table(), quick_options());
  RawClient client(server);
  client.send("PUT /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("Connection: close"));
  client.send("5\r\nhello\r\n");
  EXPECT_EQ(client.read_until("hello\r\n"), "5\r\nhello\r\n");
  client.send("5\r\nagain\r\n0\r\n\r\n");
  EXPECT_EQ(client.read_to_end(), "5\r\nagain\r\n0\r\n\r\n");
}

TEST(KnownLength, IsSentWithoutChunksAndTheConnectionKept) {
  TestServer server(table(), quick_options());
  RawClient client(server);
  client.send("GET /known?text=0123456789 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string answer = client.read_answer();
  EXPECT_THAT(answer, HasSubstr("Content-Length: 10\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\n0123456789"));
  client.send("HEAD /known?text=0123456789 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("Content-Length: 10\r\n"));
  client.send(kHello);
  EXPECT_THAT(client.read_answer(), HasSubstr("hello\n"));
}

TEST(KnownLength, LessOrMoreThanThatClosesTheConnection) {
  TestServer server(table(), quick_options());
  for (const std::string_view text : {"012", "0123456789GET"}) {
    RawClient client(server);
    client.send("GET /known?text=" + std::string(text) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("Content-Length: 10\r\n"));
    EXPECT_EQ(client.read_to_end(), text.size() > 10 ? "" : text);
  }
}

// What each handler notes when it has its request, in a server whose thread is held up until one
// client has sent a large body and another, behind it, a small request.
class LargeBodies : public ::testing::Test {
 protected:
  static constexpr std::size_t kLarge = 1 << 20;

  static Router noting_table(const std::shared_ptr<std::vector<std::string>>& order) {
    const auto note = [order](const char* what) {
      return [order, what](Request&) {
        order->emplace_back(what);
        return Response::text("noted");
      };
    };
    Route streamed;
    streamed.method = Method::kPost;
    streamed.pattern = "/streamed";
    streamed.streams_body = true;
    streamed.handler = [order](Request& request, ResponseWriter& writer) -> Task<Response> {
      Result<Response> read = co_await read_all(request, writer);
      order->emplace_back("large");
      co_return read;
    };
    return Router({route(Method::kPost, "/large", note("large")), std::move(streamed),
                   route(Method::kGet, "/small", note("small"))});
  }
  void send_to(const std::string& path) {
    RawClient large(server_);
    RawClient small(server_);
    ASSERT_TRUE(server_.eventually([](const ServerFigures& f) { return f.connections == 2; }));
    server_.on_thread([&](Server&) {
      large.send("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                 std::to_string(kLarge) + "\r\n\r\n");
      EXPECT_TRUE(large.send_flood(kLarge));
      small.send("GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n");
    });
    EXPECT_THAT(large.read_answer(), StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(small.read_answer(), StartsWith("HTTP/1.1 200"));
    server_.on_thread(
        [&](Server&) { EXPECT_THAT(*order_, ::testing::ElementsAre("small", "large")); });
  }

  const std::shared_ptr<std::vector<std::string>> order_ =
      std::make_shared<std::vector<std::string>>();
  TestServer server_{noting_table(order_), quick_options()};
};

TEST_F(LargeBodies, DoNotHoldUpOtherConnections) { send_to("/large"); }
TEST_F(LargeBodies, ThatTheirHandlersReadDoNotEither) { send_to("/streamed"); }

TEST(RouteFirst, AnswersBeforeThePathIsLookedAt) {
  Route first = route(Method::kGet, "(first)",
                      [](Request& request) { return Response::text("first " + request.target); });
  first.cors = Cors::kForwarded;
  first.admits_itself = true;
  ServerOptions options = quick_options();
  options.route_first = [&](Request& request) {
    return request.host.starts_with("3000-") ? &first : nullptr;
  };
  options.admit = [](Request& request) -> std::optional<Response> {
    if (request.path == "/hello") return std::nullopt;
    return Response::refuse(401, "unauthorized", "no");
  };
  TestServer server(table(), std::move(options));
  RawClient client(server);
  client.send("PATCH /hello HTTP/1.1\r\nHost: 3000-abc.localhost\r\nOrigin: http://x\r\n\r\n");
  const std::string answer = client.read_answer();
  EXPECT_THAT(answer, HasSubstr("first /hello"));
  EXPECT_THAT(answer, Not(HasSubstr("Access-Control")));
  EXPECT_THAT(answer, Not(HasSubstr("nosniff")));
  client.send(
      "OPTIONS /x HTTP/1.1\r\nHost: 3000-abc.localhost\r\nOrigin: http://x\r\n"
      "Access-Control-Request-Method: PUT\r\n\r\n");
  EXPECT_THAT(client.read_answer(), HasSubstr("first /x"));
  client.send(kHello);
  EXPECT_THAT(client.read_answer(), HasSubstr("hello\n"));
  client.send("GET /hello HTTP/1.1\r\nHost: 3000-abc.example.com\r\n\r\n");
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 421"));
}

}  // namespace
}  // namespace glovebox::http
