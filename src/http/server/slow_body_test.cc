// Bodies that the server holds until they are complete, and that do not arrive in time. Those that
// a handler reads are in request_body_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "http/server/server.h"
#include "http/testing/test_server.h"

namespace glovebox::http {
namespace {

using testing::quick_options;
using testing::RawClient;
using testing::route;
using ::testing::StartsWith;
using testing::TestServer;

Router table() {
  Route large = route(Method::kPost, "/large", [](Request&) { return Response::text("read\n"); });
  large.max_body = 1 << 20;
  return Router({std::move(large)});
}

TEST(SlowBody, IsCutOff) {
  ServerOptions options = quick_options();
  options.limits.body_time = std::chrono::milliseconds(150);
  TestServer server(table(), std::move(options));
  RawClient client(server);
  client.send("POST /large HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\nx");
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 408"));
}

// The rate alone would give these 899 bytes a quarter of an hour.
TEST(SlowBody, ThatStopsIsCutOffHoweverMuchOfItHasCome) {
  ServerOptions options = quick_options();
  options.limits.min_bytes_per_second = 1;
  options.limits.body_stall_time = std::chrono::milliseconds(150);
  TestServer server(table(), std::move(options));
  RawClient client(server);
  client.send("POST /large HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n" +
              std::string(899, 'x'));
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 408"));
  EXPECT_TRUE(server.eventually(
      [](const ServerFigures& f) { return f.connections == 0 && f.body_bytes == 0; }));
}

// Each byte comes soon after the one before.
TEST(SlowBody, ThatDripsIsCutOff) {
  ServerOptions options = quick_options();
  options.limits.body_time = std::chrono::milliseconds(150);
  options.limits.body_stall_time = testing::kPatience;
  options.limits.min_bytes_per_second = 1 << 20;
  TestServer server(table(), std::move(options));
  RawClient client(server);
  client.send("POST /large HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048576\r\n\r\n");
  EXPECT_TRUE(server.eventually([&](const ServerFigures& f) {
    if (f.requests_in_progress == 1) client.send_flood(1);
    return f.requests_total == 1 && f.requests_in_progress == 0;
  }));
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 408"));
}

}  // namespace
}  // namespace glovebox::http
