#include <gtest/gtest.h>

#include <atomic>

#include "store/testing/store_fixture.h"

namespace glovebox::store {
namespace {

using Idempotency = StoreTest;

TEST_F(Idempotency, FreshThenRunningThenDone) {
  open();
  const IdempotentEntry fresh = begin("k", "body").value();
  EXPECT_EQ(fresh.state, IdempotentState::kFresh);
  const IdempotentEntry running = begin("k", "body").value();
  EXPECT_EQ(running.state, IdempotentState::kRunning);
  EXPECT_EQ(running.run_id, "rn1");
  const std::string answer("{\"stdout\":\"\0\"}", 14);
  ASSERT_TRUE(finish("k", answer));
  const IdempotentEntry done = begin("k", "body").value();
  EXPECT_EQ(done.state, IdempotentState::kDone);
  EXPECT_EQ(done.status, 200);
  EXPECT_EQ(done.answer, answer);
}

TEST_F(Idempotency, AnotherBodyIsAMismatchInEveryState) {
  open();
  ASSERT_TRUE(begin("k", "body"));
  EXPECT_EQ(begin("k", "other").value().state, IdempotentState::kMismatch);
  ASSERT_TRUE(finish("k", "secret answer"));
  const IdempotentEntry mismatch = begin("k", "other").value();
  EXPECT_EQ(mismatch.state, IdempotentState::kMismatch);
  EXPECT_TRUE(mismatch.answer.empty());
}

TEST_F(Idempotency, AnotherRouteIsAMismatchInEveryState) {
  open();
  const auto elsewhere = [&] {
    return begin("k", "body", "default", "POST /v1/functions/invoke").value();
  };
  ASSERT_TRUE(begin("k", "body"));
  EXPECT_EQ(elsewhere().state, IdempotentState::kMismatch);
  ASSERT_TRUE(finish("k", "answer of a run"));
  EXPECT_EQ(elsewhere().state, IdempotentState::kMismatch);
  EXPECT_TRUE(elsewhere().answer.empty());
  EXPECT_EQ(begin("k", "body", "default", "PUT /v1/run").value().state, IdempotentState::kMismatch);
  EXPECT_EQ(begin("k", "body").value().answer, "answer of a run");
}

TEST_F(Idempotency, ProjectsHaveTheirOwnKeys) {
  open();
  ASSERT_TRUE(begin("k", "body", "a"));
  EXPECT_EQ(begin("k", "body", "b").value().state, IdempotentState::kFresh);
}

TEST_F(Idempotency, WhatRanWhenTheServerEndedIsInterrupted) {
  open();
  ASSERT_TRUE(begin("runs", "body"));
  ASSERT_TRUE(begin("ends", "body"));
  ASSERT_TRUE(finish("ends", "answer"));
  open();
  EXPECT_EQ(begin("runs", "body").value().state, IdempotentState::kInterrupted);
  EXPECT_EQ(begin("runs", "other").value().state, IdempotentState::kMismatch);
  EXPECT_EQ(begin("ends", "body").value().answer, "answer");
}

TEST_F(Idempotency, AForgottenRequestIsFreshAgain) {
  open();
  ASSERT_TRUE(begin("k", "body"));
  ASSERT_TRUE(answer_of<void>([&](auto done) { store_->forget_idempotent("default", "k", done); }));
  EXPECT_EQ(begin("k", "other body").value().state, IdempotentState::kFresh);
}

TEST_F(Idempotency, AnInterruptedRequestStaysSo) {
  open();
  ASSERT_TRUE(begin("k", "body"));
  ASSERT_TRUE(
      answer_of<void>([&](auto done) { store_->interrupt_idempotent("default", "k", done); }));
  const IdempotentEntry entry = begin("k", "body").value();
  EXPECT_EQ(entry.state, IdempotentState::kInterrupted);
  EXPECT_EQ(entry.run_id, "rn1");
  ASSERT_TRUE(answer_of<void>([&](auto done) { store_->forget_idempotent("default", "k", done); }));
  open();
  EXPECT_EQ(begin("k", "body").value().state, IdempotentState::kInterrupted);
}

TEST_F(Idempotency, AFinishedRequestCannotBeForgotten) {
  open();
  ASSERT_TRUE(begin("k", "body"));
  ASSERT_TRUE(finish("k", "answer"));
  ASSERT_TRUE(answer_of<void>([&](auto done) { store_->forget_idempotent("default", "k", done); }));
  EXPECT_EQ(begin("k", "body").value().state, IdempotentState::kDone);
}

TEST_F(Idempotency, ExpiresAfterADayButNotWhileItRuns) {
  std::atomic<std::int64_t> now_ms{1'700'000'000'000};
  options_.clock_ms = [&] { return now_ms.load(); };
  open();
  ASSERT_TRUE(begin("done", "body"));
  ASSERT_TRUE(finish("done", "answer"));
  ASSERT_TRUE(begin("runs", "body"));
  now_ms += 24 * 3600 * 1000 - 1;
  EXPECT_EQ(begin("done", "body").value().state, IdempotentState::kDone);
  now_ms += 1;
  EXPECT_EQ(begin("done", "other").value().state, IdempotentState::kFresh);
  EXPECT_EQ(begin("runs", "body").value().state, IdempotentState::kRunning);
}

TEST_F(Idempotency, ExpiredEntriesAreRemoved) {
  std::atomic<std::int64_t> now_ms{1'700'000'000'000};
  options_.clock_ms = [&] { return now_ms.load(); };
  open();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(begin("k" + std::to_string(i), "body"));
    ASSERT_TRUE(finish("k" + std::to_string(i), "answer"));
  }
  EXPECT_EQ(gc().value().idempotent_entries, 0u);
  now_ms += 25ll * 3600 * 1000;
  EXPECT_EQ(gc().value().idempotent_entries, 50u);
}

TEST_F(Idempotency, AnAnswerThatIsTooLongIsLeftOutAndSaysSo) {
  options_.kept_idempotent_answer_bytes = 10;
  open();
  ASSERT_TRUE(begin("k", "body"));
  ASSERT_TRUE(finish("k", std::string(11, 'x')));
  const IdempotentEntry done = begin("k", "body").value();
  EXPECT_EQ(done.state, IdempotentState::kDone);
  EXPECT_TRUE(done.answer_cut);
  EXPECT_TRUE(done.answer.empty());
}

TEST_F(Idempotency, AnAnswerThatJustFitsIsKept) {
  options_.kept_idempotent_answer_bytes = 10;
  open();
  ASSERT_TRUE(begin("k", "body"));
  ASSERT_TRUE(finish("k", std::string(10, 'x')));
  const IdempotentEntry done = begin("k", "body").value();
  EXPECT_FALSE(done.answer_cut);
  EXPECT_EQ(done.answer, std::string(10, 'x'));
}

TEST_F(Idempotency, AnAnswerIsWholeUnlessItSaysOtherwise) {
  EXPECT_FALSE(IdempotentEntry{}.answer_cut);
  EXPECT_TRUE(Health{}.ok);
  open();
  EXPECT_FALSE(begin("k", "body")->answer_cut);
  EXPECT_FALSE(begin("k", "body")->answer_cut);
  ASSERT_TRUE(
      answer_of<void>([&](auto done) { store_->interrupt_idempotent("default", "k", done); }));
  EXPECT_FALSE(begin("k", "body")->answer_cut);
}

TEST_F(Idempotency, AKeyHasOneTo255Bytes) {
  open();
  EXPECT_EQ(begin("", "body").error().code(), Errc::kInvalidArgument);
  EXPECT_EQ(begin(std::string(256, 'k'), "body").error().code(), Errc::kInvalidArgument);
  EXPECT_TRUE(begin(std::string(255, 'k'), "body"));
}

}  // namespace
}  // namespace glovebox::store
