#include "node/sessions/session_inbox.h"

#include <gtest/gtest.h>

namespace glovebox::node {
namespace {

using wire::Stream;

wire::Output output(Stream stream, std::uint64_t offset, std::string bytes) {
  return {1, stream, offset, std::move(bytes), 0, 0, 0};
}

Inbox reading(std::uint64_t out = 0, std::uint64_t err = 0) {
  Inbox inbox(1);
  inbox.subscribe(Stream::kStdout, out, 0);
  inbox.subscribe(Stream::kStderr, err, 0);
  return inbox;
}

TEST(Inbox, SingleBytesOfTwoStreamsCostFewEvents) {
  Inbox inbox = reading();
  for (std::uint64_t i = 0; i < wire::kWindow; ++i) {
    ASSERT_TRUE(inbox.take(output(Stream::kStdout, i, "o")).has_value());
    ASSERT_TRUE(inbox.take(output(Stream::kStderr, i, "e")).has_value());
  }
  EXPECT_FALSE(inbox.take(output(Stream::kStdout, wire::kWindow, "o")).has_value());
  std::uint64_t bytes[2] = {0, 0};
  int events = 0;
  while (auto event = inbox.next()) {
    const auto& chunk = std::get<Attachment::Chunk>(*event);
    std::uint64_t& got = bytes[chunk.stream == Stream::kStderr];
    EXPECT_EQ(chunk.offset, got);
    got += chunk.bytes.size();
    ++events;
  }
  EXPECT_EQ(bytes[0], wire::kWindow);
  EXPECT_EQ(bytes[1], wire::kWindow);
  EXPECT_LT(events, 300);
}

TEST(Inbox, GapsWithoutEndAreNotKeptWithoutEnd) {
  Inbox inbox = reading();
  std::uint64_t gaps = 1;
  while (gaps < 100'000 && inbox.take(output(Stream::kStdout, gaps * 10, "")).has_value()) ++gaps;
  EXPECT_LT(gaps, 5000u);
}

TEST(Inbox, ResultsKeepWhatWasPrintedBeforeThem) {
  Inbox inbox = reading();
  inbox.subscribe(Stream::kResults, 0, 0);
  ASSERT_TRUE(inbox.take({1, Stream::kResults, 0, "a", 3, 1, 0}).has_value());
  ASSERT_TRUE(inbox.take({1, Stream::kResults, 1, "b", 7, 2, 0}).has_value());
  EXPECT_EQ(std::get<Attachment::Chunk>(*inbox.next()).out_before, 3u);
  const auto second = std::get<Attachment::Chunk>(*inbox.next());
  EXPECT_EQ(second.out_before, 7u);
  EXPECT_EQ(second.err_before, 2u);
}

TEST(Inbox, LittleIsAcknowledgedOnlyWhenThereIsNothingElseToDo) {
  Inbox inbox = reading();
  ASSERT_TRUE(inbox.take(output(Stream::kStdout, 0, "abc")).has_value());
  ASSERT_TRUE(inbox.next().has_value());
  EXPECT_TRUE(inbox.acknowledge(true).empty());  // it is not where it is wanted yet
  EXPECT_FALSE(inbox.next().has_value());
  EXPECT_TRUE(inbox.acknowledge(false).empty());
  const auto told = inbox.acknowledge(true);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].offset, 3u);
  EXPECT_TRUE(inbox.acknowledge(true).empty());
}

TEST(Inbox, AStreamOfWhichNothingIsKeptDoesNotHoldUpTheEnd) {
  Inbox inbox = reading(10, 0);
  inbox.exited({.code = 1}, {500, 500}, {0, 0}, {});
  EXPECT_EQ(std::get<Attachment::Lost>(*inbox.next()).bytes, 490u);
  EXPECT_EQ(std::get<Attachment::Exited>(*inbox.next()).end.code, 1);
  EXPECT_FALSE(inbox.next().has_value());
}

TEST(Inbox, WhatChildrenPrintAfterTheEndIsCut) {
  Inbox inbox = reading();
  inbox.exited({}, {0, 3}, {0, 0}, {});
  ASSERT_TRUE(inbox.take(output(Stream::kStdout, 0, "abcdef")).has_value());
  ASSERT_TRUE(inbox.take(output(Stream::kStdout, 6, "ghi")).has_value());
  EXPECT_EQ(std::get<Attachment::Chunk>(*inbox.next()).bytes, "abc");
  EXPECT_TRUE(std::holds_alternative<Attachment::Exited>(*inbox.next()));
}

TEST(Inbox, AnOffsetBeyondTheEndIsTheEnd) {
  Inbox inbox = reading(900, 900);
  inbox.exited({}, {0, 3}, {0, 0}, {});
  EXPECT_TRUE(std::holds_alternative<Attachment::Exited>(*inbox.next()));
}

TEST(Inbox, BeyondTheEndBeginsWithWhatIsNew) {
  Inbox inbox = reading(UINT64_MAX, 900);
  ASSERT_TRUE(inbox.take(output(Stream::kStdout, 40, "new")).has_value());
  const auto chunk = std::get<Attachment::Chunk>(*inbox.next());
  EXPECT_EQ(chunk.offset, 40u);
  EXPECT_EQ(chunk.bytes, "new");
  EXPECT_FALSE(inbox.take(output(Stream::kStdout, 42, "w")).has_value());  // only the first time
  ASSERT_TRUE(inbox.take(output(Stream::kStdout, 43, "er")).has_value());
  inbox.exited({}, {0, 45}, {0, 7}, {});
  EXPECT_EQ(std::get<Attachment::Chunk>(*inbox.next()).bytes, "er");
  EXPECT_TRUE(std::holds_alternative<Attachment::Exited>(*inbox.next()));
}

}  // namespace
}  // namespace glovebox::node
