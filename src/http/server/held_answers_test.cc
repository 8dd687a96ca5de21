// Large answers that clients do not read, and whose memory that is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "http/server/server.h"
#include "http/testing/test_server.h"

namespace glovebox::http {
namespace {

using testing::quick_options;
using testing::RawClient;
using testing::route;
using ::testing::StartsWith;
using testing::TestServer;

// Stands in for keys.
RequestOwner project_header(const Request& request) {
  return {.kind = RequestOwner::Kind::kProject, .name = std::string(request.header("X-Project"))};
}

// Answers of 8 MB, which no socket buffer takes.
class HeldAnswers : public ::testing::Test {
 protected:
  static Router large_table() {
    return Router({route(Method::kGet, "/large",
                         [](Request&) { return Response::text(std::string(kLarge, 'x')); })});
  }
  static ServerOptions held_options() {
    ServerOptions options = quick_options();
    options.limits.max_body_bytes_total = 20 << 20;
    options.owner_of = project_header;
    return options;
  }
  static std::string request_of(const std::string& project) {
    return "GET /large HTTP/1.1\r\nHost: localhost\r\nX-Project: " + project + "\r\n\r\n";
  }
  // Asks and does not read.
  void hold(const std::string& project) {
    clients_.push_back(std::make_unique<RawClient>(server_, 16 << 10));
    clients_.back()->send(request_of(project));
  }
  bool are_held(std::size_t count) {
    return server_.eventually(
        [=](const ServerFigures& f) { return f.body_bytes == count * kLarge; });
  }
  std::string ask(const std::string& project) {
    RawClient client(server_);
    client.send(request_of(project));
    return client.read_until("\r\n\r\n");
  }

  static constexpr std::size_t kLarge = 8 << 20;
  TestServer server_{large_table(), held_options()};
  std::vector<std::unique_ptr<RawClient>> clients_;
};

TEST_F(HeldAnswers, OfOneProjectLeaveRoomForAnother) {
  hold("hostile");
  ASSERT_TRUE(are_held(1));
  hold("hostile");
  ASSERT_TRUE(are_held(2));
  EXPECT_THAT(ask("hostile"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(ask("victim"), StartsWith("HTTP/1.1 200"));
  clients_.clear();
  EXPECT_TRUE(are_held(0));
  EXPECT_THAT(ask("hostile"), StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace glovebox::http
