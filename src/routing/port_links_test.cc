#include "routing/port_links.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox::routing {
namespace {

const PortLinks::TimePoint kNow = PortLinks::TimePoint(std::chrono::hours(1000));
constexpr std::int64_t kNowMs = 1'000'000'000;
const PortTarget kTarget{.id = "sb1", .port = 8000};
const std::string kToken = "the token";

http::Request visit(const std::string& cookie, const char* site = "same-origin") {
  http::Request request;
  request.host = "8000-sb1.localhost:7070";
  if (!cookie.empty()) request.headers.add("Cookie", cookie);
  if (site[0] != '\0') request.headers.add("Sec-Fetch-Site", site);
  return request;
}

std::string cookie_of(const PortLinks& links, const PortTarget& target = kTarget) {
  const std::string set = links.set_cookie(visit(""), target, kToken, kNowMs);
  return set.substr(0, set.find(';'));
}

TEST(PortLinks, ALinkIsGoodOnceAndForOnePort) {
  PortLinks links("secret", false);
  const std::string link = links.make(kTarget, kNow).value();
  EXPECT_TRUE(links.take(link, kTarget, kNow));
  EXPECT_FALSE(links.take(link, kTarget, kNow));
  EXPECT_FALSE(links.take(links.make(kTarget, kNow).value(), {.id = "sb1", .port = 8001}, kNow));
  EXPECT_FALSE(links.take(links.make(kTarget, kNow).value(), {.id = "sb2", .port = 8000}, kNow));
  EXPECT_FALSE(
      links.take(links.make(kTarget, kNow).value(), kTarget, kNow + PortLinks::kLinkLifetime));
}

TEST(PortLinks, UnusedLinksAreBounded) {
  PortLinks links("secret", false);
  for (std::size_t i = 0; i < PortLinks::kPerSandbox; ++i) ASSERT_TRUE(links.make(kTarget, kNow));
  EXPECT_FALSE(links.make(kTarget, kNow));
  EXPECT_TRUE(links.make({.id = "sb2", .port = 1}, kNow));
  EXPECT_TRUE(links.make(kTarget, kNow + PortLinks::kLinkLifetime));
}

TEST(PortLinks, UnusedLinksOfAllSandboxesAreBounded) {
  PortLinks links("secret", false);
  for (std::size_t i = 0; i < PortLinks::kTotal; ++i) {
    ASSERT_TRUE(links.make({.id = "sb" + std::to_string(i), .port = 1}, kNow));
  }
  EXPECT_FALSE(links.make(kTarget, kNow));
  EXPECT_TRUE(links.make(kTarget, kNow + PortLinks::kLinkLifetime));
}

TEST(PortLinks, ALinkIsGoodToTheEndOfItsTime) {
  PortLinks links("secret", false);
  const auto nearly = PortLinks::kLinkLifetime - std::chrono::nanoseconds(1);
  EXPECT_TRUE(links.take(links.make(kTarget, kNow).value(), kTarget, kNow + nearly));
  EXPECT_FALSE(links.take("", kTarget, kNow));
}

TEST(PortLinks, TheCookieIsOfOnePortAndTokenAndTime) {
  const PortLinks links("secret", false);
  const std::string cookie = cookie_of(links);
  EXPECT_TRUE(links.shows_cookie(visit(cookie), kTarget, kToken, kNowMs));
  EXPECT_FALSE(links.shows_cookie(visit(cookie), kTarget, "another token", kNowMs));
  EXPECT_FALSE(links.shows_cookie(visit(cookie), {.id = "sb1", .port = 8001}, kToken, kNowMs));
  EXPECT_FALSE(links.shows_cookie(visit(cookie), {.id = "sb2", .port = 8000}, kToken, kNowMs));
  const auto lifetime = std::chrono::milliseconds(PortLinks::kCookieLifetime).count();
  EXPECT_FALSE(links.shows_cookie(visit(cookie), kTarget, kToken, kNowMs + lifetime));
  EXPECT_FALSE(links.shows_cookie(visit(cookie + "0"), kTarget, kToken, kNowMs));
  EXPECT_FALSE(links.shows_cookie(visit(cookie + "; " + cookie), kTarget, kToken, kNowMs));
  EXPECT_FALSE(links.shows_cookie(visit("glovebox-port="), kTarget, kToken, kNowMs));
  EXPECT_FALSE(PortLinks("other", false).shows_cookie(visit(cookie), kTarget, kToken, kNowMs));
  const PortLinks without("", false);
  EXPECT_FALSE(without.shows_cookie(visit(cookie_of(without)), kTarget, kToken, kNowMs));
}

TEST(PortLinks, OtherPagesMayOpenThePortAndNothingElse) {
  const PortLinks links("secret", false);
  const std::string cookie = cookie_of(links);
  for (const char* site : {"same-site", "cross-site", ""}) {
    http::Request request = visit(cookie, site);
    EXPECT_FALSE(links.shows_cookie(request, kTarget, kToken, kNowMs)) << site;
    request.headers.set("Sec-Fetch-Mode", "navigate");
    EXPECT_FALSE(links.shows_cookie(request, kTarget, kToken, kNowMs)) << site;
    request.headers.set("Sec-Fetch-Dest", "iframe");
    EXPECT_FALSE(links.shows_cookie(request, kTarget, kToken, kNowMs)) << site;
    request.headers.set("Sec-Fetch-Dest", "document");
    EXPECT_TRUE(links.shows_cookie(request, kTarget, kToken, kNowMs)) << site;
    request.method = http::Method::kPost;
    EXPECT_FALSE(links.shows_cookie(request, kTarget, kToken, kNowMs)) << site;
  }
  http::Request socket = visit(cookie, "");
  socket.headers.add("Upgrade", "websocket");
  EXPECT_FALSE(links.shows_cookie(socket, kTarget, kToken, kNowMs));
  socket.headers.add("Origin", "http://8001-sb1.localhost:7070");
  EXPECT_FALSE(links.shows_cookie(socket, kTarget, kToken, kNowMs));
  socket.headers.set("Origin", "http://8000-sb1.localhost:7070");
  EXPECT_TRUE(links.shows_cookie(socket, kTarget, kToken, kNowMs));
  http::Request elsewhere = socket;
  elsewhere.headers.set("Sec-Fetch-Site", "cross-site");
  EXPECT_FALSE(links.shows_cookie(elsewhere, kTarget, kToken, kNowMs));
  // Two of them: which one another program would believe is a guess.
  socket.headers.add("Origin", "http://8000-sb1.localhost:7070");
  EXPECT_FALSE(links.shows_cookie(socket, kTarget, kToken, kNowMs));
}

TEST(PortLinks, APageThatThePersonOpenedIsItsOwn) {
  const PortLinks links("secret", false);
  EXPECT_TRUE(links.shows_cookie(visit(cookie_of(links), "none"), kTarget, kToken, kNowMs));
  EXPECT_FALSE(links.shows_cookie(visit(cookie_of(links), "nonesuch"), kTarget, kToken, kNowMs));
}

TEST(PortLinks, ARequestByTlsNeedsTheCookieOfTheHostAlone) {
  const PortLinks links("secret", false);
  http::Request secure = visit("");
  secure.tls = true;
  const std::string set = links.set_cookie(secure, kTarget, kToken, kNowMs);
  EXPECT_TRUE(set.starts_with("__Host-glovebox-port="));
  EXPECT_NE(set.find("; Secure"), std::string::npos);
  secure.headers.add("Cookie", set.substr(0, set.find(';')));
  EXPECT_TRUE(links.shows_cookie(secure, kTarget, kToken, kNowMs));
  secure.headers.set("Cookie", cookie_of(links));
  EXPECT_FALSE(links.shows_cookie(secure, kTarget, kToken, kNowMs));
  EXPECT_EQ(links.set_cookie(visit(""), kTarget, kToken, kNowMs).find("Secure"), std::string::npos);
}

TEST(PortLinks, OverHttpsTheCookieIsOfTheHostAlone) {
  const PortLinks behind_proxy("secret", true);
  const std::string set = behind_proxy.set_cookie(visit(""), kTarget, kToken, kNowMs);
  EXPECT_TRUE(set.starts_with("__Host-glovebox-port="));
  EXPECT_NE(set.find("; Secure"), std::string::npos);
  const std::string cookie = set.substr(0, set.find(';'));
  EXPECT_TRUE(behind_proxy.shows_cookie(visit(cookie), kTarget, kToken, kNowMs));
  // Not by the name that another host may set.
  const std::string plain = "glovebox-port" + cookie.substr(cookie.find('='));
  EXPECT_FALSE(behind_proxy.shows_cookie(visit(plain), kTarget, kToken, kNowMs));
}

TEST(PortLinks, APassIsOfOnePortAndTokenAndTime) {
  const PortLinks links("secret", false);
  for (const std::string& token : {kToken, std::string()}) {
    const std::string pass = links.make_pass(kTarget, token, kNowMs);
    // One segment of a path.
    EXPECT_EQ(pass.find_first_not_of("0123456789abcdef-"), std::string::npos);
    EXPECT_TRUE(links.is_pass(pass, kTarget, token, kNowMs));
    EXPECT_FALSE(links.is_pass(pass, kTarget, "another token", kNowMs));
    EXPECT_FALSE(links.is_pass(pass, {.id = "sb1", .port = 8001}, token, kNowMs));
    EXPECT_FALSE(links.is_pass(pass, {.id = "sb2", .port = 8000}, token, kNowMs));
    const auto lifetime = std::chrono::milliseconds(PortLinks::kCookieLifetime).count();
    EXPECT_FALSE(links.is_pass(pass, kTarget, token, kNowMs + lifetime));
    EXPECT_FALSE(links.is_pass(pass + "0", kTarget, token, kNowMs));
    EXPECT_FALSE(PortLinks("other", false).is_pass(pass, kTarget, token, kNowMs));
  }
  EXPECT_FALSE(links.is_pass("", kTarget, kToken, kNowMs));
  const PortLinks without("", false);
  EXPECT_FALSE(
      without.is_pass(without.make_pass(kTarget, kToken, kNowMs), kTarget, kToken, kNowMs));
}

TEST(PortLinks, ACookieIsNoPass) {
  const PortLinks links("secret", false);
  const std::string cookie = cookie_of(links), pass = links.make_pass(kTarget, kToken, kNowMs);
  EXPECT_FALSE(links.is_pass(cookie.substr(cookie.find('=') + 1), kTarget, kToken, kNowMs));
  EXPECT_FALSE(links.shows_cookie(visit("glovebox-port=" + pass), kTarget, kToken, kNowMs));
}

}  // namespace
}  // namespace glovebox::routing
