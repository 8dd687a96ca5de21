#include "packages/builds/build_queue.h"

#include "packages/testing/fake_packages.h"

namespace glovebox::packages {
namespace {

class BuildQueueTest : public ::testing::Test {
 protected:
  // Reports its key, waits until it is released, and returns its key.
  BuildQueue::Work work(const std::string& key) {
    return [this, key](OnBuildProgress report, std::shared_ptr<node::CancelFlag> cancel) {
      return play(notifier, key, std::move(report), std::move(cancel));
    };
  }
  // Owns the notifier: it may be destroyed with the io_context, after everything else.
  Task<std::string> play(std::shared_ptr<node::Notifier> own, std::string key,
                         OnBuildProgress report, std::shared_ptr<node::CancelFlag> cancel) {
    begun.push_back(key);
    report({BuildPhase::kResolving, "line of " + key});
    cancel->on_cancel([own] { own->notify_all(); });
    while (!done.contains(key) && !cancel->cancelled()) {
      co_await own->wait(std::chrono::steady_clock::time_point::max());
    }
    cancel->on_cancel({});
    if (cancel->cancelled()) {
      cancelled.push_back(key);
      co_return fail(Errc::kUnavailable, "cancelled");
    }
    if (throws) throw std::runtime_error("bug");
    report({BuildPhase::kReady, "end of " + key});
    co_return key;
  }
  void finish(const std::string& key) {
    done.insert(key);
    notifier->notify_all();
  }

  struct Caller {
    std::shared_ptr<node::CancelFlag> cancel = std::make_shared<node::CancelFlag>();
    std::shared_ptr<std::vector<std::string>> heard = std::make_shared<std::vector<std::string>>();
    std::shared_ptr<std::optional<Result<std::string>>> result;
  };
  Caller call(BuildQueue& queue, const std::string& key, const std::string& project = "p") {
    Caller caller;
    const OnBuildProgress report = [heard = caller.heard](const BuildProgress& progress) {
      heard->push_back(progress.text.empty() ? phase_name(progress.phase) : progress.text);
    };
    caller.result = start_task(io, queue.build(key, project, work(key), report, caller.cancel));
    settle();
    return caller;
  }
  void settle() {
    io.restart();
    io.poll();
  }

  asio::io_context io;
  std::shared_ptr<node::Notifier> notifier = std::make_shared<node::Notifier>(io);
  std::vector<std::string> begun;
  std::vector<std::string> cancelled;
  std::set<std::string> done;
  bool throws = false;
};

TEST_F(BuildQueueTest, BuildsOneKeyOnceAndReportsToAllWaiters) {
  BuildQueue queue(io, {});
  const Caller first = call(queue, "a");
  const Caller late = call(queue, "a", "q");
  EXPECT_EQ(begun, std::vector<std::string>{"a"});
  EXPECT_EQ(*late.heard, std::vector<std::string>{"line of a"});
  EXPECT_EQ(queue.projects_of("a"), (std::vector<std::string>{"p", "q"}));
  finish("a");
  settle();
  for (const Caller& one : {first, late}) {
    ASSERT_TRUE(one.result->has_value());
    ASSERT_TRUE(**one.result);
    EXPECT_EQ(***one.result, "a");
    EXPECT_EQ(*one.heard, (std::vector<std::string>{"line of a", "end of a"}));
  }
  EXPECT_EQ(queue.building(), 0u);
}

TEST_F(BuildQueueTest, LimitsBuildsAndIsFairBetweenProjects) {
  QueueOptions options;
  options.at_once = 1;
  BuildQueue queue(io, options);
  const Caller first = call(queue, "p1");
  const Caller second = call(queue, "p2");
  const Caller third = call(queue, "p3");
  const Caller other = call(queue, "q1", "q");
  EXPECT_EQ(*second.heard, std::vector<std::string>{"queued"});
  EXPECT_EQ(queue.waiting(), 3u);
  for (const char* key : {"p1", "p2", "q1", "p3"}) {
    EXPECT_EQ(begun.back(), key);
    finish(key);
    settle();
  }
  EXPECT_EQ(begun, (std::vector<std::string>{"p1", "p2", "q1", "p3"}));
  EXPECT_TRUE(third.result->has_value());
}

TEST_F(BuildQueueTest, KeepsOneSlotForOtherProjects) {
  QueueOptions options;
  options.at_once = 2;
  BuildQueue queue(io, options);
  const Caller first = call(queue, "p1");
  const Caller second = call(queue, "p2");
  EXPECT_EQ(queue.building(), 1u) << "however long it takes";
  const Caller other = call(queue, "q1", "q");
  EXPECT_EQ(begun, (std::vector<std::string>{"p1", "q1"}));
  for (int i = 0; i < 30; ++i) call(queue, "more" + std::to_string(i));
  EXPECT_EQ(queue.waiting(), options.max_waiting_of_one) << "its line has an end all the same";
  finish("p1");
  settle();
  EXPECT_EQ(begun.back(), "p2");
  finish("p2");
  finish("q1");
  settle();
  queue.stop();
  settle();
  EXPECT_TRUE(second.result->has_value());
  EXPECT_TRUE(other.result->has_value());
}

TEST_F(BuildQueueTest, RefusesWhenTooManyWait) {
  QueueOptions options;
  options.at_once = 1;
  options.max_waiting = 3;
  options.max_waiting_of_one = 2;
  BuildQueue queue(io, options);
  const Caller running = call(queue, "1");
  const Caller second = call(queue, "2");
  const Caller third = call(queue, "3");
  const Caller too_many = call(queue, "4");
  ASSERT_TRUE(too_many.result->has_value());
  EXPECT_EQ((**too_many.result).error().code(), Errc::kResourceExhausted);
  const Caller other = call(queue, "5", "q");
  EXPECT_FALSE(other.result->has_value()) << "another project has its own share";
  const Caller full = call(queue, "6", "r");
  ASSERT_TRUE(full.result->has_value());
  EXPECT_EQ((**full.result).error().code(), Errc::kResourceExhausted);
  // A queued build can still be joined.
  EXPECT_FALSE(call(queue, "2", "r").result->has_value());
}

TEST_F(BuildQueueTest, ContinuesWhenOneWaiterLeaves) {
  BuildQueue queue(io, {});
  const Caller leaver = call(queue, "a");
  const Caller stayer = call(queue, "a");
  leaver.cancel->cancel();
  settle();
  ASSERT_TRUE(leaver.result->has_value());
  EXPECT_EQ((**leaver.result).error().code(), Errc::kUnavailable);
  finish("a");
  settle();
  EXPECT_TRUE(cancelled.empty());
  ASSERT_TRUE(stayer.result->has_value());
  EXPECT_TRUE(**stayer.result);
  EXPECT_EQ(leaver.heard->size(), 1u) << "nothing is said after it returned";
}

TEST_F(BuildQueueTest, ContinuesWithoutWaitersUnlessItsSlotIsNeeded) {
  QueueOptions options;
  options.at_once = 1;
  BuildQueue queue(io, options);
  const Caller leaver = call(queue, "a");
  leaver.cancel->cancel();
  settle();
  EXPECT_TRUE(cancelled.empty());
  EXPECT_EQ(queue.building(), 1u);
  const Caller again = call(queue, "a");
  EXPECT_EQ(begun.size(), 1u) << "the next request joins the running build";
  again.cancel->cancel();
  settle();
  const Caller other = call(queue, "b");
  settle();
  EXPECT_EQ(cancelled, std::vector<std::string>{"a"});
  EXPECT_EQ(begun.back(), "b");
}

TEST_F(BuildQueueTest, RemovesAQueuedBuildWithItsLastWaiter) {
  QueueOptions options;
  options.at_once = 1;
  BuildQueue queue(io, options);
  const Caller running = call(queue, "a");
  const Caller waiting = call(queue, "b");
  waiting.cancel->cancel();
  settle();
  EXPECT_EQ(queue.waiting(), 0u);
  finish("a");
  settle();
  EXPECT_EQ(begun, std::vector<std::string>{"a"});
}

TEST_F(BuildQueueTest, AllWaitersGetAFailureAndTheNextRequestStartsANewBuild) {
  BuildQueue queue(io, {});
  throws = true;
  const Caller first = call(queue, "a");
  finish("a");
  settle();
  ASSERT_TRUE(first.result->has_value());
  EXPECT_EQ((**first.result).error().code(), Errc::kInternal);
  throws = false;
  const Caller second = call(queue, "a");
  settle();
  EXPECT_EQ(begun.size(), 2u);
  ASSERT_TRUE(second.result->has_value());
  EXPECT_TRUE(**second.result);
}

TEST_F(BuildQueueTest, StoppingEndsEverything) {
  QueueOptions options;
  options.at_once = 1;
  BuildQueue queue(io, options);
  const Caller running = call(queue, "a");
  const Caller waiting = call(queue, "b");
  queue.stop();
  settle();
  for (const Caller& one : {running, waiting, call(queue, "c")}) {
    ASSERT_TRUE(one.result->has_value());
    EXPECT_EQ((**one.result).error().code(), Errc::kUnavailable);
  }
  EXPECT_EQ(begun, std::vector<std::string>{"a"});
}

TEST_F(BuildQueueTest, CoroutinesMayBeDestroyedAfterTheQueue) {
  auto own_io = std::make_unique<asio::io_context>();
  auto queue = std::make_unique<BuildQueue>(*own_io, QueueOptions{});
  const auto held = std::make_shared<node::Notifier>(*own_io);
  const BuildQueue::Work never = [held](OnBuildProgress,
                                        std::shared_ptr<node::CancelFlag>) -> Task<std::string> {
    struct Waits {
      static Task<std::string> play(std::shared_ptr<node::Notifier> notifier) {
        co_await notifier->wait(std::chrono::steady_clock::time_point::max());
        co_return std::string("x");
      }
    };
    return Waits::play(held);
  };
  auto cancel = std::make_shared<node::CancelFlag>();
  auto result = start_task(*own_io, queue->build("a", "p", never, OnBuildProgress{}, cancel));
  own_io->poll();
  queue.reset();
  own_io.reset();
  EXPECT_FALSE(result->has_value());
}

}  // namespace
}  // namespace glovebox::packages
