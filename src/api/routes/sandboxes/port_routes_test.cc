// Requests to a port inside a sandbox, through a real server, with the test as the guest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>
#include <thread>

#include "api/testing/test_server.h"
#include "http/client/client.h"
#include "http/server/listener.h"
#include "http/server/server.h"
#include "http/websocket/websocket_client.h"
#include "routing/port_proxy.h"
#include "routing/sandbox_access.h"
#include "sessions/testing/fake_idle_session.h"

namespace glovebox::api {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Reads until `mark`, sends an answer, and ends.
std::string play_guest(UniqueFd fd, std::string answer, std::string mark) {
  std::string heard;
  const timeval patience{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  while (heard.find(mark) == std::string::npos) {
    char bytes[4096];
    const ssize_t got = ::recv(fd.get(), bytes, sizeof bytes, 0);
    if (got <= 0) break;
    heard.append(bytes, static_cast<std::size_t>(got));
  }
  (void)!::send(fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
  return heard;
}

// One port of it is open, 3000, and a guest is behind it.
class PortSession final : public sessions::FakeIdleSession {
 public:
  using FakeIdleSession::FakeIdleSession;
  std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
  std::string mark = "\r\n\r\n";
  std::vector<std::uint16_t> asked;
  std::future<std::string> heard;

  Task<UniqueFd> connect_port(std::uint16_t port) override {
    asked.push_back(port);
    if (port != 3000) co_return fail(Errc::kUnavailable, "connect: Connection refused");
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    heard = std::async(std::launch::async, play_guest, UniqueFd(ends[1]), answer, mark);
    co_return UniqueFd(ends[0]);
  }
};

class Ports : public ::testing::Test {
 protected:
  Ports() : session_(std::make_shared<PortSession>(test_.io)) {
    key_ = test_.make_key("mine", store::KeyRole::kUser);
    other_key_ = test_.make_key("other", store::KeyRole::kUser);
    test_.sessions.add({.project = "mine", .session = session_});
    Result<http::Listener> listener = http::open_listener("127.0.0.1:0");
    EXPECT_TRUE(listener.has_value());
    url_.host = "127.0.0.1";
    url_.port = listener->port;
    http::ServerOptions options;
    options.route_first = [this](http::Request& request) {
      return test_.api->route_first(request);
    };
    server_ =
        std::make_unique<http::Server>(test_.io, test_.api->make_router(), std::move(options));
    EXPECT_TRUE(server_->serve(std::move(listener->fd)).has_value());
    thread_ = std::thread([this] {
      const auto work = asio::make_work_guard(test_.io);
      test_.io.run();
    });
  }
  ~Ports() override {
    asio::post(test_.io, [this] {
      server_.reset();
      test_.io.stop();
    });
    thread_.join();
  }

  std::string id() const { return session_->id().str(); }
  std::string path(std::string rest = "/") const {
    return "/v1/sandboxes/" + id() + "/ports/3000" + rest;
  }
  http::ClientResponse send(http::ClientRequest request) {
    http::ClientOptions options;
    options.io_time = std::chrono::seconds(20);
    http::Client client(url_, options);
    auto answer = client.send(request);
    EXPECT_TRUE(answer.has_value()) << answer.error().message();
    return answer ? std::move(*answer) : http::ClientResponse{};
  }
  // By the headers of E2B.
  http::ClientResponse send_routed(std::string port, http::Headers headers = {},
                                   std::string target = "/x") {
    headers.add("E2b-Sandbox-Id", id());
    headers.add("E2b-Sandbox-Port", std::move(port));
    return send({.target = std::move(target), .headers = std::move(headers)});
  }

  TestServer test_;
  std::shared_ptr<PortSession> session_;
  std::string key_, other_key_;
  http::Url url_;
  std::unique_ptr<http::Server> server_;
  std::thread thread_;
};

TEST_F(Ports, ARequestIsChargedToTheProjectOfItsKeyOrOfTheSandbox) {
  using Kind = http::RequestOwner::Kind;
  http::Request request;
  EXPECT_EQ(test_.api->owner_of(request), http::RequestOwner());
  request.path_params.add("id", "sbaaaaaaaaaaaaaaaaaaaa");
  EXPECT_EQ(test_.api->owner_of(request), http::RequestOwner());
  request.path_params = {};
  request.path_params.add("id", id());
  EXPECT_EQ(test_.api->owner_of(request), (http::RequestOwner{Kind::kVisitor, "mine"}));
  request.headers.set("X-Access-Token", test_.api->e2b.tokens().token_of(id()));
  EXPECT_EQ(test_.api->owner_of(request), (http::RequestOwner{Kind::kProject, "mine"}));
  request.headers.set("X-API-Key", other_key_);
  EXPECT_EQ(test_.api->owner_of(request), (http::RequestOwner{Kind::kProject, "other"}));
}

TEST_F(Ports, ByPathAKeyIsRequiredAndNeverReachesTheGuest) {
  EXPECT_EQ(send({.target = path()}).status, 401);
  EXPECT_EQ(send({.target = path(), .headers = {{"X-API-Key", other_key_}}}).status, 404);
  EXPECT_TRUE(session_->asked.empty());
  const auto answer = send({.method = http::Method::kPost,
                            .target = path("/a%20b?c=d"),
                            .headers = {{"X-API-Key", key_},
                                        {"Authorization", "Bearer of-the-guest"},
                                        {"Cookie", "theirs=1"},
                                        {"X-Forwarded-For", "1.2.3.4"}},
                            .body = "hello"});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "hi");
  EXPECT_EQ(answer.headers.get("Content-Security-Policy"), "sandbox");
  EXPECT_EQ(answer.headers.get("X-Content-Type-Options"), "nosniff");
  const std::string heard = session_->heard.get();
  EXPECT_THAT(heard, StartsWith("POST /a%20b?c=d HTTP/1.1\r\n"));
  EXPECT_THAT(heard, HasSubstr("Host: localhost:3000\r\n"));
  EXPECT_THAT(heard, HasSubstr("X-Forwarded-For: 127.0.0.1\r\n"));
  EXPECT_THAT(heard, HasSubstr("X-Forwarded-Prefix: " + path("") + "\r\n"));
  EXPECT_THAT(heard, HasSubstr("Authorization: Bearer of-the-guest\r\n"));
  EXPECT_THAT(heard, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(heard, Not(HasSubstr(key_)));
  EXPECT_THAT(heard, Not(HasSubstr("Cookie")));
  EXPECT_THAT(heard, Not(HasSubstr("1.2.3.4")));
}

TEST_F(Ports, AKeyInAnyOtherHeaderDoesNotReachTheGuestEither) {
  EXPECT_EQ(send({.target = path(), .headers = {{"Authorization", "Bearer " + key_}}}).status, 200);
  EXPECT_THAT(session_->heard.get(), Not(HasSubstr(key_)));
  EXPECT_EQ(send({.target = path(),
                  .headers = {{"X-API-Key", key_}, {"Authorization", "bearer  " + other_key_}}})
                .status,
            200);
  EXPECT_THAT(session_->heard.get(), Not(HasSubstr(other_key_)));
  EXPECT_EQ(send_routed("3000", {{"X-API-Key", key_}, {"Authorization", "Bearer " + key_}}).status,
            200);
  EXPECT_THAT(session_->heard.get(), Not(HasSubstr(key_)));
}

TEST_F(Ports, ByPathAnAnswerLosesUnsafeHeaders) {
  session_->answer =
      "HTTP/1.1 302 Found\r\nLocation: /login\r\nSet-Cookie: a=b\r\nService-Worker-Allowed: /\r\n"
      "Clear-Site-Data: *\r\nStrict-Transport-Security: max-age=1\r\nAlt-Svc: h3\r\n"
      "Access-Control-Allow-Origin: *\r\nContent-Security-Policy: default-src *\r\n"
      "X-Own: 1\r\nContent-Length: 0\r\n\r\n";
  const auto answer = send({.target = path("/x"), .headers = {{"X-API-Key", key_}}});
  EXPECT_EQ(answer.status, 302);
  EXPECT_EQ(answer.headers.get("Location"), path("/login"));
  EXPECT_EQ(answer.headers.get("X-Own"), "1");
  EXPECT_EQ(answer.headers.count("Content-Security-Policy"), 2u);
  for (const char* name : {"Set-Cookie", "Service-Worker-Allowed", "Clear-Site-Data", "Alt-Svc",
                           "Strict-Transport-Security", "Access-Control-Allow-Origin"}) {
    EXPECT_EQ(answer.headers.find(name), nullptr) << name;
  }
  EXPECT_EQ(send({.target = path("/sw.js"),
                  .headers = {{"X-API-Key", key_}, {"Service-Worker", "script"}}})
                .status,
            403);
}

TEST_F(Ports, InABrowserAPassOpensOnePortWithAnOriginOfItsOwn) {
  const std::string base = "/ports/" + id() + "/3000/";
  const auto link = [this] {
    return test_.api->port_links.make({.id = id(), .port = 3000}, std::chrono::steady_clock::now())
        .value();
  };
  test_.sessions.known[id()].token = "secret-token";
  const std::string used = link();
  const auto opened = send({.target = base + "open?link=" + used});
  EXPECT_EQ(opened.status, 303);
  EXPECT_EQ(opened.headers.find("Set-Cookie"), nullptr);
  EXPECT_EQ(opened.headers.get("Cache-Control"), "no-store");
  const std::string page(opened.headers.get("Location"));
  ASSERT_THAT(page, StartsWith(base));
  EXPECT_EQ(send({.target = base + "open?link=" + used}).status, 404);  // stolen
  EXPECT_EQ(send({.target = "/ports/" + id() + "/3001/open?link=" + link()}).status, 404);
  EXPECT_TRUE(session_->asked.empty());

  session_->answer =
      "HTTP/1.1 302 Found\r\nLocation: /login\r\nSet-Cookie: a=b\r\nReferrer-Policy: unsafe-url\r\n"
      "Content-Length: 0\r\n\r\n";
  // What a page with an opaque origin sends.
  const auto answer = send(
      {.method = http::Method::kPost,
       .target = page + "a%20b?c=d",
       .headers = {{"Origin", "null"}, {"Cookie", "theirs=1"}, {"Referer", "https://host" + page}},
       .body = "hello"});
  EXPECT_EQ(answer.status, 302);
  EXPECT_EQ(answer.headers.get("Location"), page + "login");
  const std::string policy(answer.headers.get("Content-Security-Policy"));
  EXPECT_THAT(policy, StartsWith("sandbox allow-scripts"));
  EXPECT_THAT(policy, Not(HasSubstr("allow-same-origin")));
  EXPECT_THAT(policy, Not(HasSubstr("escape")));
  EXPECT_EQ(answer.headers.get("Referrer-Policy"), "no-referrer");
  EXPECT_EQ(answer.headers.get("Access-Control-Allow-Origin"), "*");
  EXPECT_EQ(answer.headers.find("Access-Control-Allow-Credentials"), nullptr);
  EXPECT_EQ(answer.headers.find("Set-Cookie"), nullptr);
  const std::string heard = session_->heard.get();
  EXPECT_THAT(heard, StartsWith("POST /a%20b?c=d HTTP/1.1\r\n"));
  EXPECT_THAT(heard, Not(HasSubstr("Cookie")));
  // The guest does not learn the pass.
  EXPECT_THAT(heard, Not(HasSubstr(page.substr(base.size(), 40))));
  EXPECT_EQ(send({.target = page + "sw.js", .headers = {{"Service-Worker", "script"}}}).status,
            403);
  // The console's pages may open it, and load nothing of it as their own.
  http::Headers of_console{{"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Dest", "script"}};
  EXPECT_EQ(send({.target = page + "own.js", .headers = of_console}).status, 404);
  of_console.set("Sec-Fetch-Mode", "navigate");
  of_console.set("Sec-Fetch-Dest", "iframe");
  EXPECT_EQ(send({.target = page, .headers = of_console}).status, 404);
  of_console.set("Sec-Fetch-Dest", "document");
  EXPECT_EQ(send({.target = page, .headers = of_console}).status, 302);
}

TEST_F(Ports, AWrongPassOpensNothing) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  const auto pass = [&](std::uint16_t port, const std::string& token) {
    return test_.api->port_links.make_pass({.id = id(), .port = port}, token, now);
  };
  const auto page = [&](const std::string& words) { return "/ports/" + id() + "/" + words; };
  test_.sessions.known[id()].token = "secret-token";
  EXPECT_EQ(send({.target = page("3000/" + pass(3000, "secret-token") + "/")}).status, 200);
  for (const std::string& words :
       {std::string("3000/x/"), "3000/" + pass(3001, "secret-token") + "/",
        "3000/" + pass(3000, "") + "/", "0/" + pass(0, "secret-token") + "/"}) {
    const auto refused = send({.target = page(words)});
    EXPECT_EQ(refused.status, 404) << words;
    EXPECT_THAT(refused.body, HasSubstr("\"port_not_found\""));
  }
  EXPECT_EQ(send({.target = "/ports/sbaaaaaaaaaaaaaaaaaaaa/3000/x/"}).status, 404);
  EXPECT_EQ(session_->asked.size(), 1u);
  // A key does not help: only the route with it is for keys.
  EXPECT_EQ(send({.target = page("3000/x/"), .headers = {{"X-API-Key", key_}}}).status, 404);
}

TEST_F(Ports, APortThatDoesNotAnswerIsABadGateway) {
  const http::Headers headers{{"X-API-Key", key_}};
  const std::string base = "/v1/sandboxes/" + id() + "/ports/";
  const auto closed = send({.target = base + "4000/", .headers = headers});
  EXPECT_EQ(closed.status, 502);
  EXPECT_THAT(closed.body, HasSubstr("\"bad_gateway\""));
  session_->answer = "220 smtp.example.com\r\n";
  EXPECT_EQ(send({.target = path(), .headers = headers}).status, 502);
  session_->answer = "";
  EXPECT_EQ(send({.target = path(), .headers = headers}).status, 502);
  for (const char* port : {"0", "65536", "x", "-1"}) {
    EXPECT_EQ(send({.target = base + port + "/", .headers = headers}).status, 400) << port;
  }
  // Only valid ports were requested from the session.
  EXPECT_EQ(session_->asked, (std::vector<std::uint16_t>{4000, 3000, 3000}));
}

TEST_F(Ports, ByHeaderNoKeyIsRequiredUnlessPortsArePrivate) {
  session_->answer =
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nCache-Control: public\r\n"
      "Set-Cookie: a=b; Domain=example.com; Path=/\r\n\r\nhi";
  const auto answer = send_routed("3000", {{"Origin", "http://anywhere.example"}}, "/v1/keys");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.get("Set-Cookie"), "a=b; Path=/");
  EXPECT_EQ(answer.headers.get("Cache-Control"), "public");
  EXPECT_EQ(answer.headers.find("Content-Security-Policy"), nullptr);
  EXPECT_EQ(answer.headers.find("X-Content-Type-Options"), nullptr);
  const std::string heard = session_->heard.get();
  EXPECT_THAT(heard, StartsWith("GET /v1/keys HTTP/1.1\r\n"));
  EXPECT_THAT(heard, Not(HasSubstr("2b-")));

  test_.sessions.known[id()].token = "secret-token";
  const std::string not_found = routing::sandbox_not_found(id()).body;
  const auto refused = send_routed("3000");
  EXPECT_EQ(refused.status, 502);
  EXPECT_EQ(refused.body, not_found);
  const auto wrong = send_routed("3000", {{"X-Glovebox-Port-Token", "secret-tokeN"}});
  EXPECT_EQ(wrong.status, 502);
  EXPECT_EQ(wrong.body, not_found);
  EXPECT_EQ(send_routed("3000", {{"X-Glovebox-Port-Token", "secret-token"}}).status, 200);
  EXPECT_THAT(session_->heard.get(), Not(HasSubstr("secret-token")));
  EXPECT_EQ(send_routed("3000", {{"e2b-traffic-access-token", "secret-token"}}).status, 200);
  EXPECT_THAT(session_->heard.get(), Not(HasSubstr("secret-token")));
}

TEST_F(Ports, ErrorsHaveTheMessagesOfE2B) {
  const auto closed = send_routed("4000");
  EXPECT_EQ(closed.status, 502);
  EXPECT_EQ(closed.body, "{\"sandboxId\":\"" + id() +
                             "\",\"message\":\"The sandbox is running but port is not open\","
                             "\"port\":4000,\"code\":502}");
  http::Headers headers{{"E2b-Sandbox-Id", "nobody"}, {"E2b-Sandbox-Port", "3000"}};
  const auto unknown = send({.target = "/health", .headers = headers});
  EXPECT_EQ(unknown.status, 502);
  EXPECT_EQ(unknown.body,
            R"({"sandboxId":"nobody","message":"The sandbox was not found, or its ports are )"
            R"(private and the request does not show their token","code":502})");
  headers = {{"E2b-Sandbox-Id", "../x"}, {"E2b-Sandbox-Port", "3000"}};
  EXPECT_EQ(send({.target = "/health", .headers = headers}).status, 502);
  EXPECT_EQ(send_routed("70000").status, 502);
  EXPECT_EQ(send({.target = "/health"}).status, 200);
}

TEST_F(Ports, AWebSocketIsCarriedThrough) {
  session_->answer =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Accept: wrong\r\n\r\n";
  const http::Headers headers{
      {"Sec-WebSocket-Protocol", "glovebox.key." + key_ + ", glovebox.v1, chat"}};
  // Our own client checks the guest's accept key: it came through untouched.
  auto socket = http::WebSocketClient::connect(url_, path("/ws"), headers, {});
  ASSERT_FALSE(socket.has_value());
  EXPECT_THAT(socket.error().message(), HasSubstr("did not accept the WebSocket handshake"));
  const std::string heard = session_->heard.get();
  EXPECT_THAT(heard, StartsWith("GET /ws HTTP/1.1\r\n"));
  EXPECT_THAT(heard, HasSubstr("Upgrade: websocket\r\n"));
  EXPECT_THAT(heard, HasSubstr("Sec-WebSocket-Protocol: chat\r\n"));
  EXPECT_THAT(heard, Not(HasSubstr(key_)));
  http::ClientResponse refusal;
  http::Headers none;
  EXPECT_FALSE(http::WebSocketClient::connect(url_, path("/ws"), none, {}, &refusal).has_value());
  EXPECT_EQ(refusal.status, 401);
}

http::Request with_host(std::string host) {
  http::Request request;
  request.host = std::move(host);
  return request;
}

TEST(PortTarget, IsInTheFirstLabelOfTheHost) {
  const auto target = routing::port_target_of(with_host("3000-sb12.Example.com:7070"));
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->port, 3000);
  EXPECT_EQ(target->id, "sb12");
  EXPECT_EQ(routing::port_target_of(with_host("80-SBAZ12.localhost"))->id, "sbaz12");
  EXPECT_EQ(routing::port_target_of(with_host("1-sb.x"))->port, 1);
  EXPECT_EQ(routing::port_target_of(with_host("65535-sb.x"))->port, 65535);
  for (const char* host : {"localhost:7070", "example.com", "3000-sb12", "3000-sb12:80", "0-sb.x",
                           "65536-sb.x", "300000-sb.x", "-sb.x", "3000-.x", "3000-s_b.x",
                           "3000-a-b.x", "a3000-sb.x", "[::1]:80", ""}) {
    EXPECT_FALSE(routing::port_target_of(with_host(host)).has_value()) << host;
  }
}

TEST(PortTarget, IsSplitWithoutDecoding) {
  const auto check = [](std::string_view target, std::string_view prefix, std::string_view rest) {
    const routing::SplitTarget split = routing::split_port_target(target);
    EXPECT_EQ(split.prefix, prefix) << target;
    EXPECT_EQ(split.rest, rest) << target;
  };
  check("/v1/sandboxes/x/ports/80/", "/v1/sandboxes/x/ports/80", "/");
  check("/v1/sandboxes/x/ports/80/a%2Fb/../c?d=/e", "/v1/sandboxes/x/ports/80", "/a%2Fb/../c?d=/e");
  check("/v1/sandboxes/x/ports/80//evil", "/v1/sandboxes/x/ports/80", "//evil");
  check("/v1/sandboxes/x/ports/80?q", "/v1/sandboxes/x/ports/80", "/?q");
  check("http://h:1/v1/sandboxes/x/ports/80/y", "/v1/sandboxes/x/ports/80", "/y");
}

}  // namespace
}  // namespace glovebox::api
