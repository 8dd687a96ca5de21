#include "signin/tickets.h"

#include <gtest/gtest.h>

namespace glovebox::signin {
namespace {

const Tickets::TimePoint kNow = Tickets::TimePoint(std::chrono::hours(1000));

TEST(Tickets, ATicketIsGoodOnce) {
  Tickets tickets;
  const std::string ticket = tickets.make("session", kNow).value();
  EXPECT_TRUE(tickets.take(ticket, "session", kNow));
  EXPECT_FALSE(tickets.take(ticket, "session", kNow));
}

TEST(Tickets, ATicketIsOfOneSession) {
  Tickets tickets;
  const std::string ticket = tickets.make("session", kNow).value();
  EXPECT_FALSE(tickets.take(ticket, "another", kNow));
  EXPECT_FALSE(tickets.take(ticket, "session", kNow));
  EXPECT_FALSE(tickets.take("", "session", kNow));
}

TEST(Tickets, ATicketExpires) {
  Tickets tickets;
  const std::string ticket = tickets.make("session", kNow).value();
  EXPECT_FALSE(tickets.take(ticket, "session", kNow + Tickets::kLifetime));
}

TEST(Tickets, TheTableIsBoundedBySessionAndInAll) {
  Tickets tickets;
  for (std::size_t i = 0; i < Tickets::kPerSession; ++i) ASSERT_TRUE(tickets.make("one", kNow));
  EXPECT_FALSE(tickets.make("one", kNow));
  for (std::size_t i = 0; tickets.size() < Tickets::kTotal; ++i) {
    ASSERT_TRUE(tickets.make("s" + std::to_string(i / Tickets::kPerSession), kNow));
  }
  EXPECT_FALSE(tickets.make("another", kNow));
  EXPECT_TRUE(tickets.make("another", kNow + Tickets::kLifetime));
  EXPECT_EQ(tickets.size(), 1u);
}

}  // namespace
}  // namespace glovebox::signin
