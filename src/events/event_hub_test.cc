#include "events/event_hub.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

namespace glovebox::events {
namespace {

using Wake = EventHub::Subscription::Wake;

TEST(EventHub, AListenerSeesItsProjectAndGlobalEvents) {
  boost::asio::io_context io;
  EventHub hub(io.get_executor());
  auto ours = hub.subscribe("ours", std::nullopt);
  auto all = hub.subscribe("", std::nullopt);
  hub.publish("ours", "run.started", "{}");
  hub.publish("theirs", "run.started", "{}");
  hub.publish("", "template.changed", "{}");
  const auto seen = ours->take();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].project, "ours");
  EXPECT_EQ(seen[1].type, "template.changed");
  EXPECT_EQ(all->take().size(), 3u);
}

TEST(EventHub, ReplaysEventsAfterAnId) {
  boost::asio::io_context io;
  EventHub hub(io.get_executor());
  for (int i = 0; i < 5; ++i) hub.publish("p", "e", std::to_string(i));
  const auto seen = hub.subscribe("p", 3)->take();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].id, 4u);
  EXPECT_EQ(hub.subscribe("p", 99)->take().size(), 5u);  // an id of a previous server
  EXPECT_TRUE(hub.subscribe("q", 0)->take().empty());
}

TEST(EventHub, ASlowListenerLosesTheOldestEventsAndLearnsTheirNumber) {
  boost::asio::io_context io;
  EventHub hub(io.get_executor());
  auto slow = hub.subscribe("p", std::nullopt);
  for (std::size_t i = 0; i < EventHub::kQueue + 10; ++i) hub.publish("p", "e", "{}");
  EXPECT_EQ(slow->take_lost(), 10u);
  EXPECT_EQ(slow->take_lost(), 0u);
  EXPECT_EQ(slow->take().front().id, 11u);
}

TEST(EventHub, WakesOnAnEventAndOnClose) {
  boost::asio::io_context io;
  EventHub hub(io.get_executor());
  auto listener = hub.subscribe("p", std::nullopt);
  std::vector<Wake> wakes;
  const auto listen = [&]() -> boost::asio::awaitable<void> {
    wakes.push_back(co_await listener->wait(std::chrono::hours(1)));
    listener->take();
    hub.close();
    wakes.push_back(co_await listener->wait(std::chrono::hours(1)));
  };
  boost::asio::co_spawn(io, listen(), boost::asio::detached);
  io.poll();
  EXPECT_TRUE(wakes.empty());
  hub.publish("p", "e", "{}");
  io.restart();
  io.run_for(std::chrono::seconds(10));
  EXPECT_EQ(wakes, (std::vector{Wake::kEvents, Wake::kClosed}));
}

TEST(EventHub, OneProjectLeavesTheOthersHalfOfTheListeners) {
  boost::asio::io_context io;
  EventHub hub(io.get_executor());
  std::vector<std::unique_ptr<EventHub::Subscription>> many;
  for (std::size_t i = 0; i < EventHub::kListeners / 2; ++i) {
    many.push_back(hub.subscribe("hostile", std::nullopt, "key" + std::to_string(i)));
    ASSERT_NE(many.back(), nullptr);
  }
  EXPECT_EQ(hub.subscribe("hostile", std::nullopt, "one more"), nullptr);
  const auto victims = hub.subscribe("victim", std::nullopt);
  EXPECT_NE(victims, nullptr);
  const auto admins = hub.subscribe("", std::nullopt);
  EXPECT_NE(admins, nullptr);
  many.resize(many.size() - 2);
  EXPECT_NE(hub.subscribe("hostile", std::nullopt), nullptr);
}

TEST(EventHub, OneProjectsEventsPushNoOthersOut) {
  boost::asio::io_context io;
  EventHub hub(io.get_executor());
  for (int i = 0; i < 20; ++i) hub.publish("victim", "e", std::to_string(i));
  for (std::size_t i = 0; i < 3 * EventHub::kRing; ++i) hub.publish("hostile", "e", "{}");
  EXPECT_EQ(hub.recent("victim", 100).size(), 20u);
  EXPECT_EQ(hub.subscribe("victim", 0)->take().size(), 20u);
  const auto all = hub.recent("", EventHub::kRing + 1);
  EXPECT_EQ(all.size(), EventHub::kRing);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const Event& one, const Event& other) {
    return one.id < other.id;
  })) << "in order";
  EXPECT_EQ(all.back().id, 20 + 3 * EventHub::kRing) << "the newest";
}

TEST(EventHub, CountsTheSubscribersOfAKey) {
  boost::asio::io_context io;
  EventHub hub(io.get_executor());
  const auto first = hub.subscribe("p", std::nullopt, "ky1");
  auto second = hub.subscribe("p", std::nullopt, "ky1");
  const auto other = hub.subscribe("p", std::nullopt, "ky2");
  EXPECT_EQ(hub.subscribers_of("ky1"), 2u);
  second.reset();
  EXPECT_EQ(hub.subscribers_of("ky1"), 1u);
}

}  // namespace
}  // namespace glovebox::events
