#include "api/console/asset_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>
#include <utility>

#include "api/testing/test_server.h"

namespace glovebox::api {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// "hello\n", as gzip writes it.
constexpr std::string_view kHelloGzip(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xcb\x48\xcd\xc9\xc9\xe7\x02\x00\x20\x30\x3a\x36\x06"
    "\x00\x00\x00",
    26);

constexpr ConsoleAsset kAssets[] = {
    {"index.html", "text/html; charset=utf-8", "\"one\"", true, kHelloGzip},
    {"assets/app-1.js", "text/javascript; charset=utf-8", "\"two\"", true, kHelloGzip},
    {"assets/font-1.woff2", "font/woff2", "\"three\"", false, "font"}};

http::Response get(ConsoleAssetRoutes& routes, const std::string& path,
                   http::Headers headers = {}) {
  asio::io_context io;
  http::Request request;
  request.headers = std::move(headers);
  request.path_params.add("path", path);
  RecordingWriter writer;
  std::optional<Result<http::Response>> result;
  asio::co_spawn(
      io, routes.file(request, writer),
      [&](const std::exception_ptr&, Result<http::Response> done) { result = std::move(done); });
  io.run();
  return **result;
}

http::Response get(const std::string& path, http::Headers headers = {}) {
  ConsoleAssetRoutes routes({.assets = kAssets, .reason = {}});
  return get(routes, path, std::move(headers));
}

TEST(ConsoleAssets, BrowsersGetThemCompressedAndOthersAsTheyAre) {
  const http::Response packed = get("assets/app-1.js", {{"Accept-Encoding", "br, gzip"}});
  EXPECT_EQ(packed.headers.get("Content-Encoding"), "gzip");
  EXPECT_EQ(packed.headers.get("Vary"), "Accept-Encoding");
  EXPECT_EQ(packed.body, kHelloGzip);
  const http::Response plain = get("assets/app-1.js");
  EXPECT_EQ(plain.headers.find("Content-Encoding"), nullptr);
  EXPECT_EQ(plain.body, "hello\n");
  EXPECT_EQ(get("assets/font-1.woff2", {{"Accept-Encoding", "gzip"}}).body, "font");
}

TEST(ConsoleAssets, NamesWithAHashAreKeptAndTheIndexIsAskedForAgain) {
  EXPECT_THAT(std::string(get("assets/app-1.js").headers.get("Cache-Control")),
              HasSubstr("immutable"));
  const http::Response index = get("index.html");
  EXPECT_EQ(index.headers.get("Cache-Control"), "no-cache");
  EXPECT_EQ(index.headers.get("ETag"), "\"one\"");
  const http::Response again = get("index.html", {{"If-None-Match", "\"one\""}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
}

TEST(ConsoleAssets, PlacesWithinTheConsoleAreItsIndex) {
  for (const char* path : {"", "sandboxes", "sandboxes/sb1/files/tmp", "runs/"}) {
    EXPECT_EQ(get(path).headers.get("ETag"), "\"one\"") << path;
  }
  for (const char* path : {"assets/other-1.js", "assets/x", "favicon.ico", "a/b.html",
                           "../index.html", "assets/../index.html"}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
}

TEST(ConsoleAssets, PagesRunNoScriptThatIsNotOurs) {
  const http::Response index = get("index.html");
  const std::string policy(index.headers.get("Content-Security-Policy"));
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("script-src 'self';"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe-eval")));
  EXPECT_EQ(index.headers.get("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(index.headers.get("Referrer-Policy"), "no-referrer");
  EXPECT_EQ(index.headers.get("Cross-Origin-Opener-Policy"), "same-origin");
}

TEST(ConsoleAssets, GuestsHtmlHasAnOriginThatIsNobodys) {
  TestServer test;
  const Answer answer = test.send(http::Method::kGet, "/console/frame/html");
  EXPECT_EQ(answer.status, 200);
  const std::string policy(answer.headers.get("Content-Security-Policy"));
  EXPECT_THAT(policy, HasSubstr("sandbox allow-scripts;"));
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("allow-same-origin")));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'self'"));
  EXPECT_THAT(answer.body, HasSubstr("frame-ready"));
}

TEST(ConsoleAssets, AServerWithoutThemSaysHowToGetThem) {
  ConsoleAssetRoutes routes({.assets = {}, .reason = "no network"});
  const http::Response answer = get(routes, "");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("no network"));
  EXPECT_THAT(answer.body, HasSubstr("scripts/build-console"));
}

TEST(ConsoleAssets, TheFirstAddressLeadsToTheFirstPage) {
  TestServer test;
  const Answer answer = test.send(http::Method::kGet, "/console");
  EXPECT_EQ(answer.status, 308);
  EXPECT_EQ(answer.headers.get("Location"), "/console/");
}

}  // namespace
}  // namespace glovebox::api
