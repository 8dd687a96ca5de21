#include "api/console/session_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/testing/test_server.h"
#include "signin/session_cookie.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using http::Headers;
using http::Method;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kOrigin = "http://localhost:7070";

// A browser with one page of the console open at localhost:7070.
class Browser {
 public:
  explicit Browser(TestServer& test) : test_(test) {}

  Answer send(Method method, const std::string& path, const std::string& body = {},
              const Headers& changes = {}) {
    Headers headers{
        {"Host", "localhost:7070"}, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Dest", "empty"}};
    if (!http::is_safe(method)) headers.add("Origin", kOrigin);
    if (!cookie.empty()) headers.add("Cookie", cookie);
    if (!csrf.empty() && !http::is_safe(method)) headers.add("X-Glovebox-CSRF", csrf);
    for (const auto& [name, value] : changes) {
      headers.remove(name);
      if (!value.empty()) headers.add(name, value);
    }
    return test_.send(method, path, {}, body, std::move(headers));
  }

  Answer sign_in(const std::string& credential) {
    Answer answer = send(Method::kPost, "/console/session", credential);
    if (answer.status == 201) {
      const std::string set(answer.headers.get("Set-Cookie"));
      cookie = set.substr(0, set.find(';'));
      csrf = std::string(json::parse(answer.body).at("csrf").as_string());
    }
    return answer;
  }
  Answer sign_in_by_key(const std::string& key) { return sign_in("{\"key\":\"" + key + "\"}"); }

  std::string cookie;
  std::string csrf;

 private:
  TestServer& test_;
};

std::string link_of(const Answer& answer) {
  const std::string path(json::parse(answer.body).at("path").as_string());
  return path.substr(path.find("#link=") + 6);
}

TEST(ConsoleSession, AKeySignsInAndTheCookieActsForIt) {
  TestServer test;
  const std::string key = test.make_key("team", store::KeyRole::kUser);
  Browser browser(test);
  EXPECT_EQ(browser.send(Method::kGet, "/v1/runs").status, 401);
  const Answer answer = browser.sign_in_by_key(key);
  ASSERT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(answer.headers.get("Cache-Control"), "no-store");
  const std::string cookie(answer.headers.get("Set-Cookie"));
  EXPECT_THAT(cookie, HasSubstr("; HttpOnly"));
  EXPECT_THAT(cookie, HasSubstr("; SameSite=Strict"));
  EXPECT_THAT(cookie, HasSubstr("; Max-Age=43200"));
  EXPECT_THAT(cookie, Not(HasSubstr("Domain")));
  EXPECT_THAT(answer.body, Not(HasSubstr(key)));

  EXPECT_EQ(browser.send(Method::kGet, "/v1/runs").status, 200);
  const auto shown = json::parse(browser.send(Method::kGet, "/console/session").body).as_object();
  EXPECT_TRUE(shown.at("signed_in").as_bool());
  EXPECT_EQ(shown.at("project").as_string(), "team");
  EXPECT_FALSE(shown.at("admin").as_bool());
  EXPECT_EQ(std::string(shown.at("csrf").as_string()), browser.csrf);
  // A project's key sees its project, and only an admin's all.
  EXPECT_EQ(browser.send(Method::kGet, "/v1/keys").status, 403);
}

TEST(ConsoleSession, OverHttpsTheCookieIsOfTheHostAlone) {
  ApiSettings settings;
  settings.origins.public_origin = "https://glovebox.example.com";
  TestServer test(settings);
  Browser browser(test);
  const Answer answer =
      browser.send(Method::kPost, "/console/session", "{\"key\":\"" + test.admin_key + "\"}",
                   {{"Origin", "https://glovebox.example.com"}});
  ASSERT_EQ(answer.status, 201) << answer.body;
  EXPECT_THAT(std::string(answer.headers.get("Set-Cookie")), StartsWith("__Host-glovebox="));
  EXPECT_THAT(std::string(answer.headers.get("Set-Cookie")), HasSubstr("; Secure"));
}

TEST(ConsoleSession, NobodySignsInFromAnotherOrigin) {
  TestServer test;
  const std::string body = "{\"key\":\"" + test.admin_key + "\"}";
  Browser browser(test);
  const auto code = [&](const Headers& changes) {
    const Answer answer = browser.send(Method::kPost, "/console/session", body, changes);
    EXPECT_EQ(answer.headers.find("Set-Cookie"), nullptr);
    return answer.status == 403 ? code_of(answer) : std::to_string(answer.status);
  };
  EXPECT_EQ(code({{"Origin", "http://3000-sbx.localhost:7070"}}), "same_origin_required");
  EXPECT_EQ(code({{"Origin", ""}}), "same_origin_required");
  EXPECT_EQ(code({{"Sec-Fetch-Site", "same-site"}}), "same_origin_required");
  EXPECT_EQ(code({{"Sec-Fetch-Site", ""}}), "same_origin_required");
  EXPECT_EQ(code({{"Sec-Fetch-Dest", "document"}}), "same_origin_required");
  EXPECT_EQ(code({{"Host", "192.0.2.1:7070"}}), "https_required");
  // Control: with the headers as they are, it works.
  EXPECT_EQ(browser.sign_in(body).status, 201);
}

TEST(ConsoleSession, ChangesNeedTheCsrfTokenOfTheSameSession) {
  TestServer test;
  Browser browser(test);
  Browser another(test);
  ASSERT_EQ(browser.sign_in_by_key(test.admin_key).status, 201);
  ASSERT_EQ(another.sign_in_by_key(test.admin_key).status, 201);
  const std::string body = R"({"project":"p","name":"made"})";
  for (const std::string& wrong : {std::string(), std::string("x"), another.csrf}) {
    const Answer answer =
        browser.send(Method::kPost, "/v1/keys", body, {{"X-Glovebox-CSRF", wrong}});
    EXPECT_EQ(answer.status, 403);
    EXPECT_EQ(code_of(answer), "csrf");
  }
  EXPECT_EQ(browser.send(Method::kPost, "/v1/keys", body).status, 201);
}

TEST(ConsoleSession, TheCookieCountsOnlyForRequestsOfTheConsolesScripts) {
  TestServer test;
  Browser browser(test);
  ASSERT_EQ(browser.sign_in_by_key(test.admin_key).status, 201);
  const auto code = [&](Method method, const Headers& changes) {
    const Answer answer = browser.send(method, "/v1/keys", R"({"project":"p"})", changes);
    return answer.status == 403 ? code_of(answer) : std::to_string(answer.status);
  };
  for (const char* site : {"same-site", "cross-site", "none"}) {
    EXPECT_EQ(code(Method::kGet, {{"Sec-Fetch-Site", site}}), "same_origin_required") << site;
    EXPECT_EQ(code(Method::kPost, {{"Sec-Fetch-Site", site}}), "same_origin_required") << site;
  }
  EXPECT_EQ(code(Method::kGet, {{"Sec-Fetch-Dest", "document"}}), "same_origin_required");
  EXPECT_EQ(code(Method::kGet, {{"Sec-Fetch-Dest", "image"}}), "same_origin_required");
  EXPECT_EQ(code(Method::kPost, {{"Origin", "http://3000-sbx.localhost:7070"}}),
            "same_origin_required");
  EXPECT_EQ(code(Method::kPost, {{"Origin", ""}}), "same_origin_required");
  EXPECT_EQ(code(Method::kGet, {}), "200");
  EXPECT_EQ(code(Method::kPost, {}), "201");
}

TEST(ConsoleSession, TwoCookiesOfOurNameAreRefusedWhicheverIsRight) {
  TestServer test;
  Browser browser(test);
  ASSERT_EQ(browser.sign_in_by_key(test.admin_key).status, 201);
  const std::string name = browser.cookie.substr(0, browser.cookie.find('='));
  for (const std::string& both :
       {name + "=tossed; " + browser.cookie, browser.cookie + "; " + name + "=tossed",
        browser.cookie + "; " + browser.cookie}) {
    const Answer answer = browser.send(Method::kGet, "/v1/keys", {}, {{"Cookie", both}});
    EXPECT_EQ(answer.status, 403);
    EXPECT_EQ(code_of(answer), "duplicate_cookie");
  }
  EXPECT_EQ(
      browser.send(Method::kGet, "/v1/keys", {}, {{"Cookie", "other=1; " + browser.cookie}}).status,
      200);
}

TEST(ConsoleSession, NoOtherRouteTakesTheCookie) {
  TestServer test;
  Browser browser(test);
  ASSERT_EQ(browser.sign_in_by_key(test.admin_key).status, 201);
  EXPECT_EQ(browser.send(Method::kGet, "/v1/runs").status, 200);
  for (const char* path : {"/sandboxes", "/v2/sandboxes", "/templates", "/workspace/se/files/x",
                           "/api/v1/containers", "/v1/sandboxes/x/ports/80/index.html"}) {
    EXPECT_EQ(browser.send(Method::kGet, path).status, 401) << path;
  }
  EXPECT_EQ(browser.send(Method::kPost, "/mcp", "{}").status, 401);
}

TEST(ConsoleSession, CookiesAreForV1AndTheConsoleAndNeverForAnyOriginOrPorts) {
  TestServer test;
  std::size_t accepting = 0;
  for (const http::Route& route : test.router.routes()) {
    if (!route.accepts_cookies) continue;
    ++accepting;
    EXPECT_TRUE(route.pattern.starts_with("/v1/") || route.pattern.starts_with("/console/"))
        << route.pattern;
    EXPECT_EQ(route.cors, http::Cors::kConfigured) << route.pattern;
    EXPECT_THAT(route.pattern, Not(HasSubstr("/ports/")));
  }
  EXPECT_GT(accepting, 40u);
}

TEST(ConsoleSession, AKeyCountsMoreThanTheCookieBesideIt) {
  TestServer test;
  Browser browser(test);
  ASSERT_EQ(browser.sign_in_by_key(test.admin_key).status, 201);
  const std::string user = test.make_key("team", store::KeyRole::kUser);
  EXPECT_EQ(browser.send(Method::kGet, "/v1/keys", {}, {{"X-API-Key", user}}).status, 403);
  const std::string wrong = "gbx_" + std::string(40, '0');
  EXPECT_EQ(browser.send(Method::kGet, "/v1/keys", {}, {{"X-API-Key", wrong}}).status, 401);
}

TEST(ConsoleSession, SigningOutEndsTheSessionEverywhere) {
  TestServer test;
  Browser browser(test);
  ASSERT_EQ(browser.sign_in_by_key(test.admin_key).status, 201);
  Browser copy = browser;
  EXPECT_EQ(copy.send(Method::kGet, "/v1/runs").status, 200);
  const Answer answer = browser.send(Method::kDelete, "/console/session");
  EXPECT_EQ(answer.status, 204);
  EXPECT_THAT(std::string(answer.headers.get("Set-Cookie")), HasSubstr("Max-Age=0"));
  const Answer after = copy.send(Method::kGet, "/v1/runs");
  EXPECT_EQ(after.status, 401);
  EXPECT_EQ(code_of(after), "session_over");
  const auto shown = json::parse(copy.send(Method::kGet, "/console/session").body).as_object();
  EXPECT_FALSE(shown.at("signed_in").as_bool());
}

TEST(ConsoleSession, ARevokedKeyEndsItsSessions) {
  TestServer test;
  const std::string key = test.make_key("team", store::KeyRole::kUser);
  Browser browser(test);
  const Answer begun = browser.sign_in_by_key(key);
  ASSERT_EQ(begun.status, 201);
  EXPECT_EQ(browser.send(Method::kGet, "/v1/runs").status, 200);
  const std::string id(json::parse(begun.body).at("key").at("id").as_string());
  ASSERT_EQ(test.send(Method::kDelete, "/v1/keys/" + id, test.admin_key).status, 204);
  EXPECT_EQ(code_of(browser.send(Method::kGet, "/v1/runs")), "session_over");
  EXPECT_EQ(browser.sign_in_by_key(key).status, 401);
}

TEST(ConsoleSession, SigningInAgainEndsTheSessionBefore) {
  TestServer test;
  Browser browser(test);
  ASSERT_EQ(browser.sign_in_by_key(test.admin_key).status, 201);
  Browser before = browser;
  ASSERT_EQ(browser.sign_in_by_key(test.admin_key).status, 201);
  EXPECT_NE(before.cookie, browser.cookie);
  EXPECT_EQ(code_of(before.send(Method::kGet, "/v1/runs")), "session_over");
  EXPECT_EQ(browser.send(Method::kGet, "/v1/runs").status, 200);
}

TEST(ConsoleSession, ALinkSignsInOnce) {
  TestServer test;
  const std::string key = test.make_key("team", store::KeyRole::kUser);
  const Answer made = test.send(Method::kPost, "/console/links", key);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.headers.get("Cache-Control"), "no-store");
  Browser browser(test);
  ASSERT_EQ(browser.sign_in("{\"link\":\"" + link_of(made) + "\"}").status, 201);
  EXPECT_EQ(browser.send(Method::kGet, "/v1/runs").status, 200);
  Browser thief(test);
  const Answer stolen = thief.sign_in("{\"link\":\"" + link_of(made) + "\"}");
  EXPECT_EQ(stolen.status, 401);
  EXPECT_EQ(code_of(stolen), "link_not_valid");
}

TEST(ConsoleSession, ASessionMakesNoLinks) {
  TestServer test;
  Browser browser(test);
  ASSERT_EQ(browser.sign_in_by_key(test.admin_key).status, 201);
  const Answer answer = browser.send(Method::kPost, "/console/links");
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(code_of(answer), "key_required");
}

TEST(ConsoleSession, TicketsAreForSessions) {
  TestServer test;
  Browser browser(test);
  ASSERT_EQ(browser.sign_in_by_key(test.admin_key).status, 201);
  const Answer answer = browser.send(Method::kPost, "/console/tickets");
  ASSERT_EQ(answer.status, 201);
  EXPECT_TRUE(signin::is_secret(std::string(json::parse(answer.body).at("ticket").as_string())));
  EXPECT_EQ(test.send(Method::kPost, "/console/tickets", test.admin_key).status, 400);
}

// What the admission of a WebSocket's route says; the WebSocket itself is for the integration
// tests.
TEST(ConsoleSession, AWebSocketNeedsItsOriginAndAnUnusedTicket) {
  TestServer test;
  Browser browser(test);
  ASSERT_EQ(browser.sign_in_by_key(test.admin_key).status, 201);
  const auto ticket = [&] {
    return std::string(
        json::parse(browser.send(Method::kPost, "/console/tickets").body).at("ticket").as_string());
  };
  const auto admit = [&](const std::string& origin, const std::string& shown) {
    http::Request request;
    request.host = "localhost:7070";
    request.headers = {{"Upgrade", "websocket"},
                       {"Origin", origin},
                       {"Cookie", browser.cookie},
                       {"Sec-WebSocket-Protocol", "glovebox.v1, glovebox.ticket." + shown}};
    const auto refused =
        test.api->authenticator.admit(request, routing::Access::kKey, routing::Cookies::kAccepted);
    return refused ? refused->problem->code : "admitted";
  };
  const std::string good = ticket();
  EXPECT_EQ(admit(kOrigin, good), "admitted");
  EXPECT_EQ(admit(kOrigin, good), "ticket_required");
  EXPECT_EQ(admit(kOrigin, ""), "ticket_required");
  EXPECT_EQ(admit("http://3000-sbx.localhost:7070", ticket()), "same_origin_required");
  Browser another(test);
  ASSERT_EQ(another.sign_in_by_key(test.admin_key).status, 201);
  std::swap(another.cookie, browser.cookie);
  std::swap(another.csrf, browser.csrf);
  const std::string of_another = ticket();
  std::swap(another.cookie, browser.cookie);
  std::swap(another.csrf, browser.csrf);
  EXPECT_EQ(admit(kOrigin, of_another), "ticket_required");
}

TEST(ConsoleSession, FailedAttemptsAreLimitedByNetwork) {
  TestServer test;
  Browser browser(test);
  const std::string wrong = "{\"key\":\"gbx_" + std::string(40, '0') + "\"}";
  for (std::size_t i = 0; i < signin::Attempts::kBurst; ++i) {
    EXPECT_EQ(browser.sign_in(wrong).status, 401);
  }
  const Answer refused = browser.sign_in(wrong);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(code_of(refused), "too_many_attempts");
  EXPECT_NE(refused.headers.find("Retry-After"), nullptr);
  EXPECT_EQ(browser.sign_in("{\"link\":\"" + std::string(40, 'a') + "\"}").status, 429);
  // Another person of that network, with a key.
  EXPECT_EQ(browser.sign_in_by_key(test.admin_key).status, 201);
}

TEST(ConsoleSession, WithoutASessionItSaysWhatIsMissing) {
  TestServer test;
  Browser browser(test);
  auto shown = json::parse(browser.send(Method::kGet, "/console/session").body).as_object();
  EXPECT_FALSE(shown.at("signed_in").as_bool());
  EXPECT_TRUE(shown.at("reason").is_null());
  shown =
      json::parse(browser.send(Method::kGet, "/console/session", {}, {{"Host", "box.test"}}).body)
          .as_object();
  EXPECT_THAT(std::string(shown.at("reason").as_string()), HasSubstr("server.public_url"));
}

TEST(ConsoleSession, AGuestGetsNeitherCookieNorTicket) {
  TestServer test;
  Browser browser(test);
  ASSERT_EQ(browser.sign_in_by_key(test.admin_key).status, 201);
  http::Request request;
  request.target = "/";
  request.headers = {{"Cookie", "mine=1; " + browser.cookie + "; __Host-glovebox=x"},
                     {"Sec-WebSocket-Protocol", "chat, glovebox.ticket.abc"}};
  const http::ProxyPlan plan = test.api->port_proxy.plan(request, 3000, routing::RoutedBy::kHost);
  EXPECT_EQ(plan.headers.get("Cookie"), "mine=1");
  EXPECT_EQ(plan.headers.get("Sec-WebSocket-Protocol"), "chat");
}

}  // namespace
}  // namespace glovebox::api
