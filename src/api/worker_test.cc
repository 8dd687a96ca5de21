// What takes long is done on the worker: while that is busy, the server's thread is free, and these
// requests wait. Through the whole API.
#include "routing/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <future>
#include <list>
#include <optional>
#include <string>

#include "api/testing/test_server.h"
#include "routing/large_requests.h"

namespace glovebox::api {
namespace {

using http::Method;
using ::testing::HasSubstr;

class BusyWorker : public ::testing::Test {
 protected:
  BusyWorker() : key_(test_.make_key("default", store::KeyRole::kUser)) {
    auto hold = [this] {
      begun_.set_value();
      released_.get_future().wait();
      return 0;
    };
    asio::co_spawn(test_.io, test_.api->worker.run("holder", std::move(hold)), asio::detached);
    test_.io.restart();
    test_.io.poll();
    begun_.get_future().wait();
  }
  ~BusyWorker() override { release(); }
  void release() {
    if (!is_released_) released_.set_value();
    is_released_ = true;
  }
  // What is answered without the worker.
  std::optional<Answer> answer_of(Method method, const std::string& target, std::string body = {}) {
    std::optional<Answer>& answer = answers_.emplace_back();
    http::Headers headers{{"Content-Type", "application/json"},
                          {"Accept", "application/json, text/event-stream"}};
    test_.begin(method, target, key_, std::move(body), std::move(headers),
                [&answer](Answer given) { answer = std::move(given); });
    test_.io.restart();
    test_.io.poll();
    return answer;
  }
  Answer last_answer() {
    test_.run_until([this] { return answers_.back().has_value(); });
    return answers_.back().value_or(Answer{});
  }

  TestServer test_;
  const std::string key_;
  std::promise<void> begun_, released_;
  bool is_released_ = false;
  std::list<std::optional<Answer>> answers_;
};

class LargeBody : public BusyWorker, public ::testing::WithParamInterface<const char*> {};

TEST_P(LargeBody, IsParsedThere) {
  const std::string bad = "{\"no\":";
  const auto small = answer_of(Method::kPost, GetParam(), bad);
  ASSERT_TRUE(small) << "the control: a short one is parsed at once";
  EXPECT_EQ(small->status, 400) << small->body;
  const std::string large = bad + std::string(routing::kLargestInlineBody, ' ');
  EXPECT_FALSE(answer_of(Method::kPost, GetParam(), large));
  release();
  EXPECT_EQ(last_answer().status, 400);
}

INSTANTIATE_TEST_SUITE_P(Of, LargeBody,
                         ::testing::Values("/v1/run", "/v1/functions/invoke", "/mcp",
                                           "/workspace/se/execute_code/s",
                                           "/workspace/se/execute/s",
                                           "/api/v1/sessions/sb/execute"));

TEST_F(BusyWorker, LooksForTheSandboxThatSignedAUrl) {
  const std::string signature = "v1_" + std::string(43, 'x');
  EXPECT_FALSE(answer_of(Method::kGet, "/files?path=/a&signature=" + signature));
  // One that cannot be right needs no search.
  const auto malformed = answer_of(Method::kGet, "/files?path=/a&signature=v1_x");
  ASSERT_TRUE(malformed);
  EXPECT_THAT(malformed->body, HasSubstr("invalid signature"));
  // The number of searches is bounded. All come from one network here.
  int waiting = 1;
  std::optional<Answer> refused;
  while (waiting < 100 && !refused) {
    refused = answer_of(Method::kGet, "/files?path=/a&signature=" + signature);
    if (!refused) ++waiting;
  }
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->headers.get("Retry-After"), "1");
  EXPECT_LT(waiting, 32);
  release();
  test_.run_until([this] { return answers_.front().has_value(); });
  EXPECT_EQ(answers_.front()->status, 401);
}

}  // namespace
}  // namespace glovebox::api
