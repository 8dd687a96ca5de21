#include "http/origin_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace glovebox::http {
namespace {

OriginRules rules() {
  OriginRules rules;
  rules.listen_addresses = {"192.0.2.7:7070", "0.0.0.0:7070"};
  rules.domains = {"box.example.com"};
  rules.origins = {"https://app.example.com"};
  return rules;
}

Request request_of(std::string host, std::string origin = {}) {
  Request request;
  request.host = std::move(host);
  if (!origin.empty()) request.headers.add("Origin", std::move(origin));
  return request;
}

TEST(OriginRules, OurOwnNamesAreAllowed) {
  for (const std::string_view host :
       {"localhost", "LOCALHOST:7070", "a.b.localhost:1", "127.0.0.1", "127.0.0.1:9", "[::1]",
        "[::1]:7070", "192.0.2.7:7070", "box.example.com", "Box.Example.com:443",
        "8000-sb1.box.example.com", "a0-z9.localhost:65535", "AZ.localhost"}) {
    EXPECT_TRUE(host_allowed(rules(), host)) << host;
  }
}

TEST(OriginRules, OtherNamesAreNot) {
  for (const std::string_view host :
       {"", "evil.example", "localhost.evil.example", "xlocalhost", ".localhost", "127.0.0.1.evil",
        "192.0.2.7:7071", "192.0.2.7", "0.0.0.0:7070", "notbox.example.com", "example.com",
        "localhost:port", "localhost:123456", "user@localhost", "[::1", "[::1]x", "127.0.0.2"}) {
    EXPECT_FALSE(host_allowed(rules(), host)) << host;
  }
}

TEST(OriginRules, LoopbackHasFewNames) {
  for (const char* host : {"localhost", "LocalHost:80", "3000-sb.localhost:7070", "127.0.0.1:1",
                           "[::1]", "[::1]:7070"}) {
    EXPECT_TRUE(names_loopback(host)) << host;
  }
  for (const char* host : {"", "localhost.example.com", "127.0.0.1.example.com", "notlocalhost",
                           "user@localhost", "0.0.0.0", "localhost:x"}) {
    EXPECT_FALSE(names_loopback(host)) << host;
  }
}

TEST(OriginRules, ThePortOfADomainIsThatOfItsNames) {
  EXPECT_EQ(port_at_domain("api.Example.com:8443", "example.com"), "8443");
  EXPECT_EQ(port_at_domain("example.com:8443", "Example.com"), "8443");
  EXPECT_EQ(port_at_domain("api.example.com", "example.com"), "");
  EXPECT_EQ(port_at_domain("127.0.0.1:7070", "example.com"), "");
  EXPECT_EQ(port_at_domain("badexample.com:7070", "example.com"), "");
  EXPECT_EQ(port_at_domain("api.example.com:1@x", "example.com"), "");
}

TEST(OriginRules, BehindAWildcardTheAddressOfTheConnectionIsAllowed) {
  OriginRules everywhere;
  everywhere.listen_addresses = {"0.0.0.0:7070"};
  EXPECT_TRUE(listens_everywhere(everywhere));
  EXPECT_TRUE(host_allowed(everywhere, "192.0.2.9:7070", "192.0.2.9:7070"));
  EXPECT_TRUE(host_allowed(everywhere, "192.0.2.9", "192.0.2.9:80"));
  for (const std::string_view host :
       {"192.0.2.8:7070", "192.0.2.9", "192.0.2.9:7071", "evil.example:7070", "0.0.0.0:7070", ""}) {
    EXPECT_FALSE(host_allowed(everywhere, host, "192.0.2.9:7070")) << host;
  }
  EXPECT_FALSE(host_allowed(everywhere, "192.0.2.9:7070"));
  everywhere.listen_addresses = {"[::]:7070"};
  EXPECT_TRUE(host_allowed(everywhere, "[2001:DB8::1]:7070", "[2001:db8::1]:7070"));
  // Only there: elsewhere the address we were told to listen on is the one.
  OriginRules one;
  one.listen_addresses = {"192.0.2.7:7070"};
  EXPECT_FALSE(listens_everywhere(one));
  EXPECT_FALSE(host_allowed(one, "192.0.2.9:7070", "192.0.2.9:7070"));
}

TEST(OriginRules, OnlyConfiguredOriginsAreAllowed) {
  EXPECT_TRUE(origin_allowed(rules(), "https://APP.example.com"));
  for (const std::string_view origin : {"", "null", "http://app.example.com", "http://localhost",
                                        "https://app.example.com.evil.example"}) {
    EXPECT_FALSE(origin_allowed(rules(), origin)) << origin;
  }
}

TEST(OriginRules, JudgesHostThenOrigin) {
  EXPECT_EQ(judge(rules(), request_of("localhost"), Cors::kConfigured), OriginVerdict::kAllowed);
  EXPECT_EQ(judge(rules(), request_of("evil"), Cors::kAny), OriginVerdict::kHostNotAllowed);
  EXPECT_EQ(judge(rules(), request_of("localhost", "http://evil"), Cors::kConfigured),
            OriginVerdict::kOriginNotAllowed);
  EXPECT_EQ(judge(rules(), request_of("localhost", "http://evil"), Cors::kAny),
            OriginVerdict::kAllowed);
  EXPECT_EQ(refusal(OriginVerdict::kHostNotAllowed).status, 421);
  EXPECT_EQ(refusal(OriginVerdict::kOriginNotAllowed).problem->code, "origin_not_allowed");
}

TEST(OriginRules, ASecondOriginIsRefused) {
  // Whichever of them is allowed, and in either order: a program behind us may read the other one.
  const std::string good = "https://app.example.com";
  for (const auto& [first, second] :
       {std::pair(good, std::string("http://evil.example")),
        std::pair(std::string("http://evil.example"), good), std::pair(good, good)}) {
    Request request = request_of("localhost", first);
    request.headers.add("origin", second);
    EXPECT_EQ(judge(rules(), request, Cors::kConfigured), OriginVerdict::kOriginNotAllowed)
        << first << " and " << second;
  }
  EXPECT_EQ(judge(rules(), request_of("localhost", good), Cors::kConfigured),
            OriginVerdict::kAllowed);
}

TEST(OriginRules, APageOfTheServerItselfMayUseIt) {
  for (const auto& [host, origin] : std::vector<std::pair<std::string, std::string>>{
           {"localhost:7070", "http://localhost:7070"},
           {"127.0.0.1:7070", "http://127.0.0.1:7070"},
           {"[::1]:7070", "http://[::1]:7070"},
           {"192.0.2.7:7070", "http://192.0.2.7:7070"},
           {"Box.example.com", "https://box.example.com"},
           {"api.box.example.com:8443", "https://api.box.example.com:8443"}}) {
    EXPECT_EQ(judge(rules(), request_of(host, origin), Cors::kConfigured), OriginVerdict::kAllowed)
        << host << " and " << origin;
  }
}

TEST(OriginRules, APageOfAnotherPortNameOrGuestMayNot) {
  for (const auto& [host, origin] : std::vector<std::pair<std::string, std::string>>{
           {"localhost:7070", "http://localhost:8080"},
           {"localhost:7070", "http://localhost"},
           {"localhost:7070", "http://127.0.0.1:7070"},
           {"localhost:7070", "http://8000-sb1.localhost:7070"},
           {"localhost:7070", "ftp://localhost:7070"},
           {"localhost:7070", "http://localhost:7070.evil.example"},
           {"localhost:7070", "http://localhost:7070/"},
           {"localhost:7070", "http://evil@localhost:7070"},
           {"localhost:7070", "null"},
           // Below these names guests serve pages, whose own requests have this very Origin.
           {"8000-sb1.localhost:7070", "http://8000-sb1.localhost:7070"},
           {"8000-sb1.box.example.com", "https://8000-sb1.box.example.com"}}) {
    EXPECT_EQ(judge(rules(), request_of(host, origin), Cors::kConfigured),
              OriginVerdict::kOriginNotAllowed)
        << host << " and " << origin;
  }
  // A name that was pointed at this server is not the server's, whatever its page says.
  EXPECT_EQ(judge(rules(), request_of("evil.example:7070", "http://evil.example:7070"),
                  Cors::kConfigured),
            OriginVerdict::kHostNotAllowed);
}

TEST(OriginRules, APreflightNamesTheOriginAndTheMethods) {
  Request request = request_of("localhost", "https://app.example.com");
  request.method = Method::kOptions;
  EXPECT_FALSE(is_preflight(request));
  request.headers.add("Access-Control-Request-Method", "POST");
  request.headers.add("Access-Control-Request-Headers", "x-api-key");
  ASSERT_TRUE(is_preflight(request));
  const Response response =
      answer_preflight(request, {Method::kGet, Method::kPost}, Cors::kConfigured);
  EXPECT_EQ(response.status, 204);
  EXPECT_EQ(response.headers.get("Access-Control-Allow-Origin"), "https://app.example.com");
  EXPECT_EQ(response.headers.get("Access-Control-Allow-Methods"), "GET, HEAD, POST");
  EXPECT_EQ(response.headers.get("Access-Control-Allow-Headers"), "x-api-key");
  EXPECT_EQ(response.headers.get("Vary"), "Origin");
}

// What a browser sends with a request of a script of the page at `origin`.
Request fetched(std::string host, Method method = Method::kPost, std::string origin = {}) {
  Request request = request_of(std::move(host));
  request.method = method;
  if (origin.empty()) origin = "http://" + request.host;
  request.headers.add("Origin", std::move(origin));
  request.headers.add("Sec-Fetch-Site", "same-origin");
  request.headers.add("Sec-Fetch-Dest", "empty");
  return request;
}

TEST(SameOrigin, ARequestOfOurOwnPageIsAdmitted) {
  EXPECT_EQ(judge_same_origin(rules(), fetched("localhost:7070")), SameOrigin::kYes);
  EXPECT_EQ(judge_same_origin(rules(), fetched("127.0.0.1:7070")), SameOrigin::kYes);
  EXPECT_EQ(judge_same_origin(rules(), fetched("[::1]:7070")), SameOrigin::kYes);
  Request secure = fetched("box.example.com", Method::kDelete, "https://box.example.com");
  secure.tls = true;
  EXPECT_EQ(judge_same_origin(rules(), secure), SameOrigin::kYes);
}

TEST(SameOrigin, AnAddressThatBrowsersDoNotProtectHasNone) {
  // Plain HTTP over a network: a machine in between can read the cookie.
  EXPECT_EQ(own_origin(rules(), request_of("box.example.com")), "");
  EXPECT_EQ(own_origin(rules(), request_of("192.0.2.7:7070")), "");
  EXPECT_EQ(judge_same_origin(rules(), fetched("192.0.2.7:7070")), SameOrigin::kNoOwnOrigin);
  // Guests serve their pages there.
  EXPECT_EQ(own_origin(rules(), request_of("3000-sb1.localhost:7070")), "");
  Request guest = request_of("3000-sb1.box.example.com");
  guest.tls = true;
  EXPECT_EQ(own_origin(rules(), guest), "");
  guest.host = "evil.example";
  EXPECT_EQ(own_origin(rules(), guest), "");
}

TEST(SameOrigin, OtherOriginsAreRefused) {
  for (const char* origin :
       {"http://3000-sb1.localhost:7070", "http://localhost:7071", "https://localhost:7070", "null",
        "http://localhost", "https://app.example.com", "http://localhost:7070.evil.example", "x"}) {
    const Request request = fetched("localhost:7070", Method::kPost, origin);
    EXPECT_EQ(judge_same_origin(rules(), request), SameOrigin::kOtherOrigin) << origin;
  }
  Request twice = fetched("localhost:7070");
  twice.headers.add("Origin", "http://localhost:7070");
  EXPECT_EQ(judge_same_origin(rules(), twice), SameOrigin::kOtherOrigin);
}

TEST(SameOrigin, OnlyReadingRequestsMayLackTheOrigin) {
  for (const Method method : {Method::kGet, Method::kHead}) {
    Request request = fetched("localhost:7070", method);
    request.headers.remove("Origin");
    EXPECT_EQ(judge_same_origin(rules(), request), SameOrigin::kYes);
    request.headers.add("Upgrade", "websocket");
    EXPECT_EQ(judge_same_origin(rules(), request), SameOrigin::kOtherOrigin);
  }
  for (const Method method : {Method::kPost, Method::kPut, Method::kPatch, Method::kDelete}) {
    Request request = fetched("localhost:7070", method);
    request.headers.remove("Origin");
    EXPECT_EQ(judge_same_origin(rules(), request), SameOrigin::kOtherOrigin);
  }
}

TEST(SameOrigin, OtherSitesAndThoseThatDoNotSayAreRefused) {
  for (const char* site : {"same-site", "cross-site", "none", "", "same-origin, none"}) {
    Request request = fetched("localhost:7070", Method::kGet);
    request.headers.set("Sec-Fetch-Site", site);
    EXPECT_EQ(judge_same_origin(rules(), request), SameOrigin::kOtherSite) << site;
  }
  Request silent = fetched("localhost:7070", Method::kGet);
  silent.headers.remove("Sec-Fetch-Site");
  EXPECT_EQ(judge_same_origin(rules(), silent), SameOrigin::kOtherSite);
}

TEST(SameOrigin, DocumentsImagesAndFramesAreNoRequestsOfScripts) {
  for (const char* use : {"document", "iframe", "image", "script", "object", ""}) {
    Request request = fetched("localhost:7070", Method::kGet);
    request.headers.set("Sec-Fetch-Dest", use);
    EXPECT_EQ(judge_same_origin(rules(), request), SameOrigin::kNotFetched) << use;
  }
}

TEST(SameOrigin, AWebSocketNeedsItsOriginAndMayLackTheRest) {
  Request request = request_of("localhost:7070", "http://localhost:7070");
  request.headers.add("Upgrade", "websocket");
  EXPECT_EQ(judge_same_origin(rules(), request), SameOrigin::kYes);
  request.headers.add("Sec-Fetch-Site", "same-site");
  EXPECT_EQ(judge_same_origin(rules(), request), SameOrigin::kOtherSite);
}

TEST(SameOrigin, BehindAProxyOnlyThePublicAddressIsOurs) {
  OriginRules behind = rules();
  behind.public_origin = "https://Glovebox.example.com";
  EXPECT_TRUE(host_allowed(behind, "glovebox.example.com"));
  EXPECT_FALSE(host_allowed(behind, "x.glovebox.example.com"));
  // Whatever the proxy made of the Host.
  const Request good = fetched("127.0.0.1:7070", Method::kPost, "https://glovebox.example.com");
  EXPECT_EQ(judge_same_origin(behind, good), SameOrigin::kYes);
  EXPECT_EQ(judge(behind, good, Cors::kConfigured), OriginVerdict::kAllowed);
  EXPECT_EQ(judge_same_origin(behind, fetched("127.0.0.1:7070")), SameOrigin::kOtherOrigin);
  EXPECT_EQ(judge_same_origin(behind, fetched("glovebox.example.com")), SameOrigin::kOtherOrigin);
}

}  // namespace
}  // namespace glovebox::http
