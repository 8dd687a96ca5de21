// Runs as the interface promises them: found at once, by their project only, in stable pages.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>

#include "store/testing/store_fixture.h"

namespace glovebox::store {
namespace {

class Runs : public StoreTest {
 protected:
  // All pages; `between` is called after each.
  std::vector<std::string> all_pages(const std::string& project, RunFilter filter,
                                     const std::function<void()>& between = {}) {
    std::vector<std::string> ids;
    while (true) {
      Result<RunPage> page = list(project, filter);
      EXPECT_TRUE(page);
      if (!page) return ids;
      EXPECT_LE(page->runs.size(), filter.limit);
      for (const RunRecord& run : page->runs) ids.push_back(run.id.str());
      if (page->next_cursor.empty()) return ids;
      filter.cursor = page->next_cursor;
      if (between) between();
    }
  }
};

TEST_F(Runs, EveryFieldComesBackFromTheQueueAndFromDisk) {
  options_.batch_interval = std::chrono::hours(1);
  open();
  const RunRecord run = run_of("default");
  add(run);
  EXPECT_EQ(store_->health().queued, 1u);
  EXPECT_EQ(get("default", run.id).value(), run);
  ASSERT_TRUE(flush());
  EXPECT_EQ(store_->health().queued, 0u);
  EXPECT_EQ(get("default", run.id).value(), run);
  open();
  EXPECT_EQ(get("default", run.id).value(), run);
}

TEST_F(Runs, AreWrittenByThemselves) {
  open();
  add(run_of("default"));
  EXPECT_TRUE(eventually([&] { return store_->health().written == 1; }));
  EXPECT_TRUE(store_->health().last_commit_age);
}

TEST_F(Runs, AFullBatchIsWrittenBeforeItsTime) {
  options_.batch_interval = std::chrono::hours(1);
  options_.batch_records = 10;
  open();
  for (int i = 0; i < 10; ++i) add(run_of("default"));
  EXPECT_TRUE(eventually([&] { return store_->health().written == 10; }));
}

TEST_F(Runs, OfAnotherProjectDoNotExist) {
  options_.batch_interval = std::chrono::hours(1);
  open();
  const RunId mine = add(run_of("mine"));
  const auto look = [&] {
    EXPECT_TRUE(get("mine", mine));
    EXPECT_EQ(get("other", mine).error().code(), Errc::kNotFound);
    EXPECT_EQ(list("mine").value().runs.size(), 1u);
    EXPECT_TRUE(list("other").value().runs.empty());
    EXPECT_TRUE(list("").value().runs.empty());
  };
  look();
  ASSERT_TRUE(flush());
  look();
}

TEST_F(Runs, ACursorOfOneProjectShowsNothingOfItToAnother) {
  open();
  for (int i = 0; i < 4; ++i) add(run_of("mine"));
  add(run_of("other"));
  const std::string cursor = list("mine", {.limit = 2}).value().next_cursor;
  ASSERT_FALSE(cursor.empty());
  EXPECT_TRUE(list("other", {.cursor = cursor}).value().runs.empty());
}

TEST_F(Runs, ListsLeaveTheBodiesOut) {
  open();
  add(run_of("default"));
  const auto look = [&] {
    const RunRecord run = list("default").value().runs.at(0);
    EXPECT_EQ(run.template_name, "python");
    EXPECT_TRUE(run.out.empty() && run.err.empty() && run.answer.empty());
  };
  look();
  ASSERT_TRUE(flush());
  look();
}

TEST_F(Runs, LongOutputIsCutAndSaysSo) {
  options_.kept_output_bytes = 100;
  options_.kept_answer_bytes = 50;
  open();
  RunRecord run = run_of("default");
  run.out = std::string(101, 'x');
  run.err = std::string(100, 'y');
  run.answer = std::string(51, 'z');
  add(run);
  ASSERT_TRUE(flush());
  const RunRecord kept = get("default", run.id).value();
  EXPECT_EQ(kept.out, std::string(100, 'x'));
  EXPECT_TRUE(kept.out_cut);
  EXPECT_EQ(kept.err, std::string(100, 'y'));
  EXPECT_FALSE(kept.err_cut);
  EXPECT_TRUE(kept.answer.empty());
  EXPECT_TRUE(kept.answer_cut);
}

TEST_F(Runs, AnAnswerThatJustFitsIsKept) {
  options_.kept_answer_bytes = 50;
  open();
  RunRecord run = run_of("default");
  run.answer = std::string(50, 'z');
  run.cpu_us = 0;  // which is not "not counted"
  run.peak_memory_bytes.reset();
  add(run);
  ASSERT_TRUE(flush());
  const RunRecord kept = get("default", run.id).value();
  EXPECT_EQ(kept, run);
  EXPECT_FALSE(kept.answer_cut);
}

TEST_F(Runs, PagesAreCompleteNewestFirstWhileRunsArrive) {
  options_.batch_records = 7;  // so that pages meet runs in both places
  open();
  std::vector<std::string> expected;
  for (int i = 0; i < 100; ++i) {
    expected.insert(expected.begin(), add(run_of("default")).str());
    add(run_of("other"));
  }
  const std::vector<std::string> seen = all_pages("default", {.limit = 9}, [&] {
    add(run_of("default"));
    add(run_of("default"));
  });
  EXPECT_EQ(seen, expected);
}

TEST_F(Runs, PagesAreTheSameFromTheQueueAndFromDisk) {
  options_.batch_interval = std::chrono::hours(1);
  open();
  for (int i = 0; i < 25; ++i) add(run_of("default"));
  const std::vector<std::string> queued = all_pages("default", {.limit = 4});
  ASSERT_TRUE(flush());
  EXPECT_EQ(queued.size(), 25u);
  EXPECT_EQ(all_pages("default", {.limit = 4}), queued);
}

TEST_F(Runs, TheLastFullPageHasNoCursor) {
  open();
  for (int i = 0; i < 4; ++i) add(run_of("default"));
  EXPECT_TRUE(list("default", {.limit = 4}).value().next_cursor.empty());
  EXPECT_FALSE(list("default", {.limit = 3}).value().next_cursor.empty());
}

TEST_F(Runs, FiltersHoldInTheQueueAndOnDisk) {
  options_.batch_interval = std::chrono::hours(1);
  open();
  RunRecord failed = run_of("default", "node");
  failed.status = RunStatus::kFailed;
  failed.started_ms = 5000;
  const RunId id = add(failed);
  add(run_of("default", "python"));
  const auto only = [&](const RunFilter& filter) {
    const RunPage page = list("default", filter).value();
    return page.runs.size() == 1 && page.runs[0].id == id;
  };
  const auto look = [&] {
    EXPECT_TRUE(only({.statuses = {RunStatus::kFailed}}));
    EXPECT_TRUE(only({.template_name = "node"}));
    EXPECT_TRUE(only({.since_ms = 5000}));
    EXPECT_TRUE(list("default", {.since_ms = 5001}).value().runs.empty());
    EXPECT_EQ(list("default").value().runs.size(), 2u);
  };
  look();
  ASSERT_TRUE(flush());
  look();
}

TEST_F(Runs, ABadLimitOrCursorIsTheAskersMistake) {
  open();
  EXPECT_EQ(list("default", {.limit = 0}).error().code(), Errc::kInvalidArgument);
  EXPECT_EQ(list("default", {.limit = 201}).error().code(), Errc::kInvalidArgument);
  EXPECT_TRUE(list("default", {.limit = 200}));
  EXPECT_TRUE(list("default", {.limit = 1}));
  EXPECT_EQ(list("default", {.cursor = "x' OR 1=1"}).error().code(), Errc::kInvalidArgument);
  EXPECT_TRUE(store_->health().ok);
}

TEST_F(Runs, KeepTheirOrderWhenTheClockGoesBack) {
  std::atomic<std::int64_t> now_ms{2'000'000'000'000};
  options_.clock_ms = [&] { return now_ms.load(); };
  open();
  const RunId first = add(run_of("default"));
  now_ms = 1'000'000'000'000;
  const RunId second = add(run_of("default"));
  open();
  const RunId third = add(run_of("default"));
  EXPECT_EQ(all_pages("default", {.limit = 1}),
            (std::vector<std::string>{third.str(), second.str(), first.str()}));
}

TEST_F(Runs, AFullQueueDropsAndCountsAndNeverBlocks) {
  options_.batch_interval = std::chrono::hours(1);
  options_.batch_records = 1000;
  options_.queue_records = 5;
  open();
  for (int i = 0; i < 8; ++i) add(run_of("default"));
  EXPECT_EQ(store_->health().queued, 5u);
  EXPECT_EQ(store_->health().dropped, 3u);
}

TEST_F(Runs, TheQueueIsBoundedInBytesToo) {
  options_.batch_interval = std::chrono::hours(1);
  options_.queue_bytes = 10'000;
  open();
  RunRecord run = run_of("default");
  run.out = std::string(6000, 'x');
  store_->add_run(run);
  run.id = RunId::make();
  store_->add_run(run);
  EXPECT_EQ(store_->health().dropped, 1u);
}

TEST_F(Runs, WithOneIdTwiceTheFirstStays) {
  open();
  RunRecord run = run_of("default");
  add(run);
  ASSERT_TRUE(flush());
  run.exit_code = 77;
  add(run);
  ASSERT_TRUE(flush());
  EXPECT_EQ(get("default", run.id).value().exit_code, 3);
  EXPECT_EQ(store_->health().runs, 1u);
}

TEST_F(Runs, AnswersComeThroughThePostFunction) {
  const std::thread::id here = std::this_thread::get_id();
  std::mutex mutex;
  std::deque<std::function<void()>> posted;
  options_.post = [&](std::function<void()> call) {
    const std::lock_guard lock(mutex);
    posted.push_back(std::move(call));
  };
  open();
  bool answered = false;
  store_->list_runs("default", {}, [&](Result<RunPage> page) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_TRUE(page);
    answered = true;
  });
  const auto run_posted = [&] {
    const std::lock_guard lock(mutex);
    for (; !posted.empty(); posted.pop_front()) posted.front()();
    return answered;
  };
  EXPECT_TRUE(eventually(run_posted));
}

TEST_F(Runs, TooManyQuestionsAreRefusedNotQueued) {
  options_.max_jobs = 4;  // two of one project
  open();
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  std::promise<void> busy;
  // Holds the store's thread in a callback, which only tests do.
  store_->flush([&](Result<>) {
    busy.set_value();
    gone.wait();
  });
  busy.get_future().wait();
  std::atomic<int> refused{0};
  std::atomic<int> answered{0};
  for (int i = 0; i < 5; ++i) {
    store_->list_runs("default", {}, [&](Result<RunPage> page) {
      ++answered;
      if (!page && page.error().code() == Errc::kResourceExhausted) ++refused;
    });
  }
  EXPECT_EQ(refused, 3);
  go.set_value();
  EXPECT_TRUE(eventually([&] { return answered == 5; }));
  EXPECT_EQ(refused, 3);
}

TEST_F(Runs, AreFoundInTheQueueAndOnDiskByTheSameFilters) {
  open();
  RunRecord one = run_of("p", "python");
  RunRecord two = run_of("p", "base");
  two.language = "";
  two.status = RunStatus::kError;
  two.error_message = "Host FULL";
  two.started_ms = 5000;
  RunRecord three = run_of("q", "python");
  const RunId a = add(one);
  const RunId b = add(two);
  const RunId c = add(three);
  const auto found = [&](const RunFilter& filter, const std::string& project = "p") {
    std::vector<RunId> ids;
    const RunPage page = list(project, filter).value();
    for (const RunRecord& run : page.runs) ids.push_back(run.id);
    return ids;
  };
  for (const char* where : {"in the queue", "on disk"}) {
    EXPECT_EQ(found({.statuses = {RunStatus::kError}}), std::vector{b}) << where;
    EXPECT_EQ(found({.statuses = {RunStatus::kOk, RunStatus::kError}}), (std::vector{b, a}));
    EXPECT_EQ(found({.language = "python"}), std::vector{a}) << where;
    EXPECT_EQ(found({.until_ms = 5000}), std::vector{a}) << where;
    EXPECT_EQ(found({.search = "host full"}), std::vector{b}) << where;
    EXPECT_EQ(found({.search = a.str().substr(3)}), std::vector{a}) << where;
    EXPECT_EQ(found({}, "*"), (std::vector{c, b, a})) << where;
    EXPECT_EQ(get("*", c).value().id, c) << where;
    EXPECT_FALSE(get("p", c)) << where;
    ASSERT_TRUE(flush());
  }
}

TEST_F(Runs, CodeIsKeptAndCutLikeOutput) {
  options_.kept_output_bytes = 10;
  open();
  RunRecord run = run_of("p");
  run.code = "print('a long line')";
  const RunId id = add(run);
  for (const char* where : {"in the queue", "on disk"}) {
    const RunRecord kept = get("p", id).value();
    EXPECT_EQ(kept.code, "print('a l") << where;
    EXPECT_TRUE(kept.code_cut) << where;
    EXPECT_EQ(list("p").value().runs.at(0).code, "") << where;
    ASSERT_TRUE(flush());
  }
}

}  // namespace
}  // namespace glovebox::store
