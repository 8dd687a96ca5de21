#include "routing/port_proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/test_server.h"
#include "http/websocket/websocket_frames.h"
#include "store/key.h"

namespace glovebox::routing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

http::Request request_with(http::Headers headers) {
  http::Request request;
  request.host = "3000-sb12.localhost";
  request.remote_host = "192.0.2.1";
  request.target = "/v1/sandboxes/sb12/ports/3000/x";
  request.headers = std::move(headers);
  return request;
}

std::vector<std::string> values_of(const http::Headers& headers, std::string_view name) {
  std::vector<std::string> values;
  for (const auto& [field, value] : headers) {
    if (http::header_list_contains(field, name)) values.push_back(value);
  }
  return values;
}

constexpr RoutedBy kBothWays[] = {RoutedBy::kPath, RoutedBy::kHost};

// As the server builds it, with the headers of its dialects.
struct PortProxyTest : ::testing::Test {
  http::Headers forwarded(http::Headers headers, RoutedBy routed_by) {
    return server.api->port_proxy.plan(request_with(std::move(headers)), 3000, routed_by).headers;
  }
  http::Headers answered(http::Headers headers, RoutedBy routed_by) {
    server.api->port_proxy.plan(request_with({}), 3000, routed_by).on_answer(302, headers);
    return headers;
  }

  api::TestServer server;
};

TEST_F(PortProxyTest, AGuestSeesTheMaskAsItsHost) {
  const auto host = [&](std::string_view mask) {
    const http::ProxyPlan plan =
        server.api->port_proxy.plan(request_with({}), 3000, RoutedBy::kHost, mask);
    return std::string(plan.headers.get("Host"));
  };
  EXPECT_EQ(host(""), "localhost:3000");
  EXPECT_EQ(host("app.example.com"), "app.example.com");
  EXPECT_EQ(host("${PORT}-${PORT}.example.com:${PORT}"), "3000-3000.example.com:3000");
}

TEST(HostMask, IsAHostAndNothingElse) {
  for (const char* mask : {"a", "a.example.com", "${PORT}-a.example.com", "localhost:${PORT}",
                           "under_score.example", "A.example:80"}) {
    EXPECT_TRUE(is_host_mask(mask)) << mask;
  }
  for (const char* mask : {"", ".a", "-a", "a b", "a/b", "a\r\nX: y", "u@a", "a:", "a:0", "a:x",
                           "a:1:2", ":80", "-", ".", "${port}", "${PORT", "http://a", "a:65536"}) {
    EXPECT_FALSE(is_host_mask(mask)) << mask;
  }
  EXPECT_FALSE(is_host_mask(std::string(254, 'a')));
  EXPECT_TRUE(is_host_mask(std::string(253, 'a')));
  EXPECT_TRUE(is_host_mask("azAZ09-._.example"));
  for (const char* mask : {"a`", "a{", "a@", "a[", "a/", "a,"}) {
    EXPECT_FALSE(is_host_mask(mask)) << mask;
  }
}

TEST(PortTargets, AreTheFirstLabelOfAHost) {
  const auto target = [](std::string host) {
    http::Request request;
    request.host = std::move(host);
    const auto found = port_target_of(request);
    return found ? found->id + ":" + std::to_string(found->port) : "none";
  };
  EXPECT_EQ(target("1-sb1.localhost"), "sb1:1");
  EXPECT_EQ(target("65535-sb1.localhost:7070"), "sb1:65535");
  EXPECT_EQ(target("80-AZaz09.example.com"), "azaz09:80");
  EXPECT_EQ(target("80-" + std::string(63, 'z') + ".x"), std::string(63, 'z') + ":80");
  for (const char* host :
       {"", "localhost", "sb1.localhost", "80-sb1", "80-sb1:7070", "-sb1.localhost",
        "0-sb1.localhost", "65536-sb1.localhost", "000080-sb1.localhost", "80-.localhost",
        "80-a-b.localhost", "80-a_b.localhost", "x-sb1.localhost"}) {
    EXPECT_EQ(target(host), "none") << host;
  }
  EXPECT_EQ(target("80-" + std::string(64, 'z') + ".x"), "none");
}

TEST(SplitPortTarget, CutsBehindThePort) {
  const auto split = [](std::string_view target) {
    const SplitTarget parts = split_port_target(target);
    return parts.prefix + " " + parts.rest;
  };
  const std::string prefix = "/v1/sandboxes/x/ports/3000";
  EXPECT_EQ(split(prefix + "/a%20b?c"), prefix + " /a%20b?c");
  EXPECT_EQ(split(prefix + "/"), prefix + " /");
  EXPECT_EQ(split(prefix), prefix + " /");
  EXPECT_EQ(split(prefix + "?q=/x"), prefix + " /?q=/x");
  EXPECT_EQ(split("http://host:1" + prefix + "/a/b/c"), prefix + " /a/b/c");
  EXPECT_EQ(split("https://host" + prefix), prefix + " /");
}

TEST_F(PortProxyTest, AGuestGetsNoneOfOurCredentialHeaders) {
  for (const RoutedBy routed_by : kBothWays) {
    for (const char* name :
         {"X-Glovebox-Port-Token", "x-glovebox-port-token", "E2B-Traffic-Access-Token",
          "e2b-traffic-access-token", "X-Access-Token", "x-access-token", "E2b-Sandbox-Id",
          "E2b-Sandbox-Port", "Proxy-Authorization"}) {
      // Twice, since each value has to go.
      const http::Headers headers =
          forwarded({{name, "secret"}, {"X-Own", "kept"}, {name, "second"}}, routed_by);
      EXPECT_THAT(values_of(headers, name), IsEmpty()) << name;
      EXPECT_THAT(values_of(headers, "X-Own"), ElementsAre("kept")) << name;
    }
  }
}

TEST_F(PortProxyTest, AKeyIsRemovedWhereverAClientMaySendIt) {
  // Also one that this server does not know: it may be another server's, or revoked.
  const std::string key = store::make_secret();
  for (const std::string& shown : {key, "e2b_" + key.substr(4), server.admin_key}) {
    const http::Headers headers = forwarded({{"X-API-Key", shown},
                                             {"Authorization", "Bearer " + shown},
                                             {"Authorization", "bearer  " + shown},
                                             {"Authorization", "Basic dXNlcjo=, Bearer " + shown},
                                             {"Sec-WebSocket-Protocol", "glovebox.key." + shown}},
                                            RoutedBy::kHost);
    for (const auto& [name, value] : headers) {
      EXPECT_EQ(value.find(shown), std::string::npos) << name << ": " << value;
    }
  }
}

TEST_F(PortProxyTest, TheGuestsOwnCredentialsReachIt) {
  const http::Headers headers = forwarded({{"X-API-Key", "of-the-guest"},
                                           {"Authorization", "Bearer of-the-guest"},
                                           {"Sec-WebSocket-Protocol", "chat, glovebox.v1"},
                                           {"Cookie", "theirs=1"}},
                                          RoutedBy::kHost);
  EXPECT_THAT(values_of(headers, "X-API-Key"), ElementsAre("of-the-guest"));
  EXPECT_THAT(values_of(headers, "Authorization"), ElementsAre("Bearer of-the-guest"));
  EXPECT_THAT(values_of(headers, "Sec-WebSocket-Protocol"), ElementsAre("chat"));
  EXPECT_THAT(values_of(headers, "Cookie"), ElementsAre("theirs=1"));
}

TEST_F(PortProxyTest, ByPathTheHeaderThatAdmittedTheRequestIsRemovedWhole) {
  EXPECT_THAT(values_of(forwarded({{"X-API-Key", "any"}}, RoutedBy::kPath), "X-API-Key"),
              IsEmpty());
  EXPECT_THAT(
      values_of(forwarded({{"Authorization", "Bearer any"}}, RoutedBy::kPath), "Authorization"),
      IsEmpty());
  EXPECT_THAT(values_of(forwarded({{"Cookie", "ours=1"}}, RoutedBy::kPath), "Cookie"), IsEmpty());
  // With the key in X-API-Key, Authorization is the guest's.
  const http::Headers both =
      forwarded({{"X-API-Key", "any"}, {"Authorization", "Bearer theirs"}}, RoutedBy::kPath);
  EXPECT_THAT(values_of(both, "Authorization"), ElementsAre("Bearer theirs"));
}

TEST_F(PortProxyTest, ALocationBelowTheGuestsRootGetsThePrefix) {
  const std::string prefix = "/v1/sandboxes/sb12/ports/3000";
  EXPECT_EQ(answered({{"Location", "/login"}}, RoutedBy::kPath).get("Location"), prefix + "/login");
  EXPECT_EQ(answered({{"Location", "/"}}, RoutedBy::kPath).get("Location"), prefix + "/");
  EXPECT_EQ(answered({{"Location", "/login"}}, RoutedBy::kHost).get("Location"), "/login");
}

// "//host" and, for browsers, "/\host" name another host: with a prefix they would become paths.
TEST_F(PortProxyTest, AnyOtherLocationIsUnchanged) {
  for (const char* location : {"//evil.example/x", "/\\evil.example/x", "login", "?q", "",
                               "https://example.com/x", "\\\\evil.example"}) {
    for (const RoutedBy routed_by : kBothWays) {
      EXPECT_EQ(answered({{"Location", location}}, routed_by).get("Location"), location);
    }
  }
}

TEST(SandboxLabel, IsADnsLabelOfLowercaseLettersAndDigits) {
  EXPECT_TRUE(is_sandbox_label("a"));
  EXPECT_TRUE(is_sandbox_label("az09"));
  EXPECT_TRUE(is_sandbox_label(std::string(63, 'z')));
  for (const std::string text : {"", "A", "a-b", "a.b", "a/b", "a_", "`", "{", ":", "a "}) {
    EXPECT_FALSE(is_sandbox_label(text)) << text;
  }
  EXPECT_FALSE(is_sandbox_label(std::string(64, 'z')));
}

TEST(ParsePort, TakesOnlyNumbersOfPorts) {
  EXPECT_EQ(parse_port("1"), 1);
  EXPECT_EQ(parse_port("65535"), 65535);
  for (const char* text : {"", "0", "65536", "-1", "+1", " 1", "1 ", "1x", "0x1", "99999999999"}) {
    EXPECT_EQ(parse_port(text), std::nullopt) << text;
  }
}

TEST_F(PortProxyTest, AGuestSeesWhoAskedAndNothingThatTheClientClaims) {
  const http::Headers headers = forwarded({{"Forwarded", "for=10.0.0.1"},
                                           {"X-Forwarded-For", "10.0.0.1"},
                                           {"X-Forwarded-Host", "evil.example"},
                                           {"X-Forwarded-Prefix", "/evil"},
                                           {"Expect", "100-continue"},
                                           {"Connection", "close, X-Named"},
                                           {"X-Named", "hop by hop"}},
                                          RoutedBy::kHost);
  EXPECT_THAT(values_of(headers, "X-Forwarded-For"), ElementsAre("192.0.2.1"));
  EXPECT_THAT(values_of(headers, "X-Forwarded-Host"), ElementsAre("3000-sb12.localhost"));
  EXPECT_THAT(values_of(headers, "X-Forwarded-Proto"), ElementsAre("http"));
  EXPECT_THAT(values_of(headers, "Host"), ElementsAre("localhost:3000"));
  for (const char* name : {"Forwarded", "X-Forwarded-Prefix", "Expect", "Connection", "X-Named"}) {
    EXPECT_THAT(values_of(headers, name), IsEmpty()) << name;
  }
}

TEST_F(PortProxyTest, TheAbsoluteFormOfATargetLosesItsHost) {
  const auto target = [&](const char* given) {
    http::Request request = request_with({});
    request.target = given;
    return server.api->port_proxy.plan(request, 3000, RoutedBy::kHost).target;
  };
  EXPECT_EQ(target("/y?z"), "/y?z");
  EXPECT_EQ(target("http://3000-sb12.localhost/y?z"), "/y?z");
  EXPECT_EQ(target("https://3000-sb12.localhost/y"), "/y");
  EXPECT_EQ(target("http://3000-sb12.localhost"), "/");
  EXPECT_EQ(target("http://3000-sb12.localhost?z=/y"), "/?z=/y");
  EXPECT_EQ(target("*"), "*") << "OPTIONS *";
  EXPECT_EQ(target(""), "/");
}

TEST_F(PortProxyTest, BlanksAroundAKeyDoNotHideIt) {
  const std::string key = store::make_secret();
  for (const std::string& value :
       {"Bearer \t" + key + "\t", " \t" + key, "x,\tBearer " + key + " ,y", key + " "}) {
    for (const char* name : {"X-API-Key", "Authorization"}) {
      EXPECT_THAT(values_of(forwarded({{name, value}}, RoutedBy::kHost), name), IsEmpty()) << value;
    }
  }
}

TEST_F(PortProxyTest, OnlyOurProtocolsAreRemoved) {
  const auto protocols = [&](const char* offered) {
    return values_of(forwarded({{"Sec-WebSocket-Protocol", offered}}, RoutedBy::kHost),
                     "Sec-WebSocket-Protocol");
  };
  EXPECT_THAT(protocols("a ,\tb, , glovebox.v1"), ElementsAre("a, b"));
  EXPECT_THAT(protocols("glovebox.ticket.abc, glovebox.KEY.abc, glovebox.v1"), IsEmpty());
  EXPECT_THAT(protocols("glovebox.v2"), ElementsAre("glovebox.v2"));
  EXPECT_THAT(protocols(""), IsEmpty());
}

TEST_F(PortProxyTest, AnUpgradeSelectsOurProtocolWhereTheGuestSelectedNone) {
  const auto selected = [&](const char* offered, int status, http::Headers answer) {
    const http::ProxyPlan plan = server.api->port_proxy.plan(
        request_with({{"Sec-WebSocket-Protocol", offered}}), 3000, RoutedBy::kHost);
    plan.on_answer(status, answer);
    return values_of(answer, "Sec-WebSocket-Protocol");
  };
  EXPECT_THAT(selected("chat, glovebox.v1", 101, {}), ElementsAre("glovebox.v1"));
  EXPECT_THAT(selected("chat, glovebox.v1", 101, {{"Sec-WebSocket-Protocol", "chat"}}),
              ElementsAre("chat"));
  EXPECT_THAT(selected("chat", 101, {}), IsEmpty());
  EXPECT_THAT(selected("chat, glovebox.v1", 200, {}), IsEmpty());
}

TEST_F(PortProxyTest, TheCookieOfALinkDoesNotReachTheGuest) {
  const http::Headers headers =
      forwarded({{"Cookie", "glovebox-port=1; theirs=2; __Host-glovebox-port=3"}}, RoutedBy::kHost);
  EXPECT_THAT(values_of(headers, "Cookie"), ElementsAre("theirs=2"));
}

TEST_F(PortProxyTest, ARequestByTlsIsForwardedAsOne) {
  http::Request request = request_with({});
  request.tls = true;
  const http::ProxyPlan plan = server.api->port_proxy.plan(request, 3000, RoutedBy::kHost);
  EXPECT_THAT(values_of(plan.headers, "X-Forwarded-Proto"), ElementsAre("https"));
}

TEST(PortRefusal, NamesThePortWhereThereIsOne) {
  EXPECT_EQ(port_refusal(502, "sb1", "why").body,
            R"({"sandboxId":"sb1","message":"why","code":502})");
  EXPECT_EQ(port_refusal(504, "sb1", "why", 80).body,
            R"({"sandboxId":"sb1","message":"why","port":80,"code":504})");
}

TEST_F(PortProxyTest, CookiesOfAHostNameStayWithIt) {
  const http::Headers headers = answered(
      {{"Set-Cookie", "a=b; Domain=example.com; Path=/"}, {"set-cookie", "c=d"}}, RoutedBy::kHost);
  EXPECT_THAT(values_of(headers, "Set-Cookie"), ElementsAre("a=b; Path=/", "c=d"));
  EXPECT_THAT(values_of(answered({{"Set-Cookie", "a=b"}}, RoutedBy::kPath), "Set-Cookie"),
              IsEmpty());
}

TEST_F(PortProxyTest, AGuestClearsNoCookiesOfTheDomain) {
  for (const RoutedBy routed_by : {RoutedBy::kHost, RoutedBy::kPath}) {
    const http::Headers headers =
        answered({{"Clear-Site-Data", "\"cookies\""}, {"clear-site-data", "\"*\""}}, routed_by);
    EXPECT_THAT(values_of(headers, "Clear-Site-Data"), IsEmpty());
  }
}

}  // namespace
}  // namespace glovebox::routing
