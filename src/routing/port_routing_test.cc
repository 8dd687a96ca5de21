// Requests to the ports of a paused sandbox: which of them resume it, and what the others can find
// out. api/routes/sandboxes/port_routes_test.cc forwards requests to a running one.
#include "routing/port_routing.h"

#include <gtest/gtest.h>

#include "routing/testing/paused_sandbox.h"

namespace glovebox::routing {
namespace {

http::Request by_host(const std::string& id, const std::string& port) {
  http::Request request;
  request.host = port + "-" + id + ".localhost";
  request.target = "/";
  return request;
}

http::Request by_header(const std::string& id, const std::string& port) {
  http::Request request;
  request.host = "localhost";
  request.target = "/";
  request.headers.add("E2b-Sandbox-Id", id);
  request.headers.add("E2b-Sandbox-Port", port);
  return request;
}

http::Request with(http::Request request, const char* header, const std::string& value) {
  request.headers.add(header, value);
  return request;
}

class PortRoutingTest : public ::testing::Test {
 protected:
  // Status and body, with the sandbox's own id replaced.
  std::string answer_to(http::Request request, const std::string& id) {
    const http::Route* route = routing_.find(request);
    if (route == nullptr) return "not routed";
    api::RecordingWriter writer;
    const Result<http::Response> response = sandbox_.wait_for(route->handler(request, writer));
    if (!response) return response.error().message();
    std::string body = response->body;
    if (const std::size_t at = body.find(id); at != std::string::npos)
      body.replace(at, id.size(), "ID");
    return std::to_string(response->status) + " " + body;
  }
  const std::string& id() const { return sandbox_.id; }

  const std::string not_found_ =
      R"(502 {"sandboxId":"ID","message":"The sandbox was not found, or its ports are private and )"
      R"(the request does not show their token","code":502})";
  const std::string unknown_id_ = "sb00000000000000000000";
  PausedSandbox sandbox_{PortVisibility::kPrivate};
  PortLinks links_{"secret", false};
  PortRouting routing_{
      sandbox_.access, sandbox_.server.api->port_proxy, links_, {&sandbox_.server.api->e2b}};
};

TEST_F(PortRoutingTest, APrivateSandboxIsNeitherResumedNorRevealedWithoutItsToken) {
  std::string nearly = sandbox_.port_token;
  nearly.back() = nearly.back() == '0' ? '1' : '0';
  for (const auto& routed : {by_host, by_header}) {
    for (const std::string& named : {id(), unknown_id_}) {
      EXPECT_EQ(answer_to(routed(named, "3000"), named), not_found_);
      for (const char* header : {"X-Glovebox-Port-Token", "E2B-Traffic-Access-Token"}) {
        EXPECT_EQ(answer_to(with(routed(named, "3000"), header, nearly), named), not_found_);
        EXPECT_EQ(answer_to(with(routed(named, "3000"), header, ""), named), not_found_);
      }
    }
  }
  EXPECT_EQ(sandbox_.times_resumed(), 0u);
}

TEST_F(PortRoutingTest, ARunningPrivateSandboxIsNotRevealedEither) {
  // Resumes it; nothing listens in it.
  const std::string closed =
      answer_to(with(by_host(id(), "3000"), "X-Glovebox-Port-Token", sandbox_.port_token), id());
  EXPECT_EQ(closed,
            R"(502 {"sandboxId":"ID","message":"The sandbox is running but port is not open",)"
            R"("port":3000,"code":502})");
  EXPECT_EQ(sandbox_.times_resumed(), 1u);
  EXPECT_EQ(answer_to(by_host(id(), "3000"), id()), not_found_);
  EXPECT_EQ(answer_to(by_header(id(), "3000"), id()), not_found_);
}

TEST_F(PortRoutingTest, TheTokenResumesItInEitherHeader) {
  answer_to(with(by_header(id(), "3000"), "e2b-traffic-access-token", sandbox_.port_token), id());
  EXPECT_EQ(sandbox_.times_resumed(), 1u);
}

TEST_F(PortRoutingTest, ALinkSetsACookieThatStandsForTheToken) {
  const auto open = [&](const std::string& link, http::Method method = http::Method::kGet) {
    http::Request request = by_host(id(), "3000");
    request.method = method;
    request.path = std::string(kOpenPortPath);
    request.query.add("link", link);
    const http::Route* route = routing_.find(request);
    api::RecordingWriter writer;
    return sandbox_.wait_for(route->handler(request, writer)).value();
  };
  const PortTarget target{.id = id(), .port = 3000};
  const std::string link = links_.make(target, std::chrono::steady_clock::now()).value();
  EXPECT_EQ(open("wrong").status, 502);
  EXPECT_EQ(open(link, http::Method::kPost).status, 502) << "only a page opens it";
  const http::Response opened = open(link);
  EXPECT_EQ(opened.status, 303);
  EXPECT_EQ(opened.headers.get("Location"), "/");
  const std::string set(opened.headers.get("Set-Cookie"));
  EXPECT_EQ(open(link).status, 502) << "a link is good once";
  EXPECT_EQ(sandbox_.times_resumed(), 0u);

  const std::string cookie = set.substr(0, set.find(';'));
  const auto with_cookie = [&](http::Request request, const std::string& shown) {
    return answer_to(with(with(std::move(request), "Cookie", shown), "Sec-Fetch-Site", "none"),
                     id());
  };
  EXPECT_EQ(with_cookie(by_host(id(), "3000"), "glovebox-port=1-x"), not_found_);
  EXPECT_EQ(with_cookie(by_host(id(), "3001"), cookie), not_found_) << "of another port";
  EXPECT_EQ(with_cookie(by_header(id(), "3000"), cookie), not_found_) << "not by its host name";
  EXPECT_EQ(sandbox_.times_resumed(), 0u);
  EXPECT_NE(with_cookie(by_host(id(), "3000"), cookie), not_found_);
  EXPECT_EQ(sandbox_.times_resumed(), 1u);
}

TEST_F(PortRoutingTest, AnotherSandboxsLinkOpensNothing) {
  http::Request request = by_host(unknown_id_, "3000");
  request.path = std::string(kOpenPortPath);
  const PortTarget target{.id = unknown_id_, .port = 3000};
  request.query.add("link", links_.make(target, std::chrono::steady_clock::now()).value());
  EXPECT_EQ(answer_to(std::move(request), unknown_id_), not_found_);
}

TEST_F(PortRoutingTest, ARequestThatNamesNoSandboxIsTheServersOwn) {
  http::Request request;
  request.host = "localhost:7070";
  request.target = "/v1/sandboxes";
  EXPECT_EQ(routing_.find(request), nullptr);
  EXPECT_EQ(request.path_params.size(), 0u);
}

TEST_F(PortRoutingTest, APortThatCannotBeServedResumesNothing) {
  for (const char* port : {"0", "65536", "-1", "x", ""}) {
    const auto ask = [&](const std::string& named) {
      return answer_to(with(by_header(named, port), "X-Glovebox-Port-Token", sandbox_.port_token),
                       named);
    };
    EXPECT_EQ(ask(id()),
              R"(502 {"sandboxId":"ID","message":"The port must be a number from 1 to 65535",)"
              R"("code":502})")
        << port;
    EXPECT_EQ(ask(id()), ask(unknown_id_)) << port;
  }
  // A host name with such a port names no sandbox at all.
  EXPECT_EQ(answer_to(with(by_host(id(), "0"), "X-Glovebox-Port-Token", sandbox_.port_token), id()),
            "not routed");
  EXPECT_EQ(sandbox_.times_resumed(), 0u);
}

TEST_F(PortRoutingTest, NothingButConnectResumesOneThatKeptOnlyItsFiles) {
  const auto ask = [&](const std::string& path, const char* body) {
    return sandbox_.server.send(http::Method::kPost, path, sandbox_.key, body).status;
  };
  EXPECT_EQ(ask("/v2/sandboxes/" + id() + "/connect", "{}"), 201);
  EXPECT_EQ(ask("/sandboxes/" + id() + "/pause", R"({"memory":false})"), 204);
  const std::size_t before = sandbox_.times_resumed();
  EXPECT_EQ(
      answer_to(with(by_host(id(), "3000"), "X-Glovebox-Port-Token", sandbox_.port_token), id()),
      not_found_);
  EXPECT_EQ(sandbox_.times_resumed(), before);
}

}  // namespace
}  // namespace glovebox::routing
