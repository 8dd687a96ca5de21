#include "signin/tickets.h"

#include <gtest/gtest.h>

namespace glovebox::signin {
namespace {

const Tickets::TimePoint kNow = Tickets::TimePoint(std::chrono::hours(1000));

TEST(Tickets, ATicketIsGoodOnce) {
  Tickets tickets;
  const std::string ticket = tickets.make("session", "p", kNow).value();
  EXPECT_TRUE(tickets.take(ticket, "session", kNow));
  EXPECT_FALSE(tickets.take(ticket, "session", kNow));
}

TEST(Tickets, ATicketIsOfOneSession) {
  Tickets tickets;
  const std::string ticket = tickets.make("session", "p", kNow).value();
  EXPECT_FALSE(tickets.take(ticket, "another", kNow));
  EXPECT_FALSE(tickets.take(ticket, "session", kNow));
  EXPECT_FALSE(tickets.take("", "session", kNow));
}

TEST(Tickets, ATicketExpires) {
  Tickets tickets;
  const std::string ticket = tickets.make("session", "p", kNow).value();
  EXPECT_FALSE(tickets.take(ticket, "session", kNow + Tickets::kLifetime));
}

TEST(Tickets, ASessionHasABoundedNumber) {
  Tickets tickets;
  for (std::size_t i = 0; i < Tickets::kPerSession; ++i)
    ASSERT_TRUE(tickets.make("one", "p", kNow));
  EXPECT_FALSE(tickets.make("one", "p", kNow));
  EXPECT_TRUE(tickets.make("other", "p", kNow));
  EXPECT_TRUE(tickets.make("one", "p", kNow + Tickets::kLifetime));
  EXPECT_EQ(tickets.size(), 1u);
}

// How many a project gets with as many sessions as it likes.
std::size_t take_all(Tickets& tickets, const std::string& project) {
  std::size_t made = 0;
  while (tickets.make(project + std::to_string(made / Tickets::kPerSession), project, kNow)) ++made;
  return made;
}

TEST(Tickets, OneProjectLeavesTheOthersHalf) {
  Tickets tickets;
  EXPECT_EQ(take_all(tickets, "hostile"), Tickets::kTotal / 2);
  EXPECT_FALSE(tickets.make("another", "hostile", kNow));
  EXPECT_TRUE(tickets.make("victims", "victim", kNow));
  EXPECT_EQ(take_all(tickets, "third"), (Tickets::kTotal / 2 - 1) / 2 + 1);
}

}  // namespace
}  // namespace glovebox::signin
