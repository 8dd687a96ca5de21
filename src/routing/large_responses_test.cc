// Which answers are counted until the client has them, and which need the worker.
#include "routing/large_responses.h"

#include <gtest/gtest.h>

#include <optional>

#include "routing/testing/held_worker.h"

namespace glovebox::routing {
namespace {

constexpr std::size_t kSmallAnswer = 64 * 1024;
constexpr std::size_t kSmallOutput = 256 * 1024;

TEST(LargeResponses, OnlyALargeOneIsCountedUntilItIsSent) {
  Worker worker;
  MemoryBudget budget(3 * kSmallAnswer);
  LargeResponses responses(worker, budget);
  const auto small = responses.respond("project", std::string(kSmallAnswer, 'x'));
  ASSERT_TRUE(small);
  EXPECT_EQ(small->body.size(), kSmallAnswer);
  EXPECT_EQ(small->headers.get("Cache-Control"), "no-store");
  EXPECT_EQ(budget.held(), 0u);
  {
    const auto large = responses.respond("project", std::string(kSmallAnswer + 1, 'x'));
    ASSERT_TRUE(large);
    EXPECT_EQ(budget.held(), kSmallAnswer + 1);
  }
  EXPECT_EQ(budget.held(), 0u) << "its answer was sent";
}

TEST(LargeResponses, ALargeOneWithoutRoomIsRefusedAndASmallOneIsNot) {
  Worker worker;
  MemoryBudget budget(kSmallAnswer);
  LargeResponses responses(worker, budget);
  const auto refused = responses.respond("project", std::string(kSmallAnswer + 1, 'x'));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::kResourceExhausted);
  EXPECT_EQ(budget.held(), 0u);
  EXPECT_TRUE(responses.respond("project", std::string(kSmallAnswer, 'x')));
}

class OutputOfARun : public ::testing::Test {
 protected:
  // What `with_output` makes of so many bytes in all; nothing as long as it waits for the worker.
  const std::optional<std::string>& answer_to(std::size_t out, std::size_t err) {
    Outcome outcome;
    outcome.out = std::string(out, 'o');
    outcome.err = std::string(err, 'e');
    asio::co_spawn(io_, responses_.with_output("project", "{\"exit_code\":0}", std::move(outcome)),
                   [this](std::exception_ptr thrown, std::string text) {
                     EXPECT_EQ(thrown, nullptr);
                     answer_ = std::move(text);
                   });
    io_.restart();
    io_.poll();
    return answer_;
  }

  asio::io_context io_;
  Worker worker_;
  MemoryBudget budget_{1};
  LargeResponses responses_{worker_, budget_};
  std::optional<std::string> answer_;
};

TEST_F(OutputOfARun, IsWrittenAtOnceWhileItIsSmall) {
  const HeldWorker held(io_, worker_);
  const auto& answer = answer_to(kSmallOutput - 1, 1);
  ASSERT_TRUE(answer);
  EXPECT_GT(answer->size(), kSmallOutput);
}

TEST_F(OutputOfARun, IsWrittenOnTheWorkerWhenItIsLarge) {
  HeldWorker held(io_, worker_);
  EXPECT_FALSE(answer_to(kSmallOutput, 1));
  held.release();
  io_.run();
  ASSERT_TRUE(answer_);
  EXPECT_GT(answer_->size(), kSmallOutput);
}

}  // namespace
}  // namespace glovebox::routing
