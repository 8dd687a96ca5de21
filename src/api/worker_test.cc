// What takes long is done on the worker: while that is busy, the server's thread is free, and these
// requests wait. Through the whole API.
#include "routing/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <optional>
#include <string>

#include "api/testing/test_server.h"
#include "routing/large_requests.h"
#include "routing/testing/held_worker.h"
#include "sessions/testing/fake_session.h"

namespace glovebox::api {
namespace {

using http::Method;
using ::testing::HasSubstr;

class BusyWorker : public ::testing::Test {
 protected:
  BusyWorker()
      : key_(test_.make_key("default", store::KeyRole::kUser)),
        session_(std::make_shared<sessions::FakeSession>(test_.io)),
        held_(test_.io, test_.api->worker) {
    test_.sessions.add({.project = "default", .session = session_});
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
  const std::shared_ptr<sessions::FakeSession> session_;
  routing::HeldWorker held_;
  std::list<std::optional<Answer>> answers_;
};

class LargeBody : public BusyWorker, public ::testing::WithParamInterface<const char*> {};

TEST_P(LargeBody, IsParsedThere) {
  std::string target = GetParam();
  if (const auto at = target.find("ID"); at != target.npos) {
    target.replace(at, 2, session_->id().str());
  }
  const std::string bad = "{\"no\":";
  const auto small = answer_of(Method::kPost, target, bad);
  ASSERT_TRUE(small) << "the control: a short one is parsed at once";
  EXPECT_EQ(small->status, 400) << small->body;
  const std::string large = bad + std::string(routing::kLargestInlineBody, ' ');
  EXPECT_FALSE(answer_of(Method::kPost, target, large));
  held_.release();
  EXPECT_EQ(last_answer().status, 400);
}

INSTANTIATE_TEST_SUITE_P(Of, LargeBody,
                         ::testing::Values("/v1/run", "/v1/functions/invoke",
                                           "/v1/sandboxes/ID/exec", "/v1/sandboxes/ID/code", "/mcp",
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
  held_.release();
  test_.run_until([this] { return answers_.front().has_value(); });
  EXPECT_EQ(answers_.front()->status, 401);
}

}  // namespace
}  // namespace glovebox::api
