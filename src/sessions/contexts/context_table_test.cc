#include "sessions/contexts/context_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <csignal>

#include "node/testing/fake_services.h"
#include "sessions/processes/process_label.h"
#include "sessions/testing/fake_session.h"
#include "sessions/testing/fake_sessions.h"

namespace glovebox::sessions {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// Sessions without a server around them.
struct Host {
  void run_until(const std::function<bool()>& ready) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto work = asio::make_work_guard(io);
    io.restart();
    while (!ready() && std::chrono::steady_clock::now() < deadline) {
      io.run_one_for(std::chrono::milliseconds(200));
    }
    EXPECT_TRUE(ready()) << "the event did not happen";
  }

  asio::io_context io;
  FakeSessions sessions;
  node::FakeSessionService session_service;
  OomKillCounter oom_kills{session_service};
  Contexts contexts{io, sessions, oom_kills};
};

struct KeepingSink final : node::RunSink {
  asio::awaitable<bool> on_output(bool is_stderr, std::string_view bytes) override {
    (is_stderr ? err : out) += bytes;
    co_return true;
  }
  asio::awaitable<bool> on_result(std::string_view) override { co_return true; }
  std::string out;
  std::string err;
};

class ContextsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    session = std::make_shared<FakeSession>(test.io);
    test.sessions.add(
        {.project = "default", .session = session, .env = {"HOME=/home/user", "S=1"}});
    test.session_service.alive[session->id()] = session;
    table = test.contexts.of(session);
    // Prints its code, and ends.
    session->on_cell = [](FakeProcess& process, const wire::Cell& cell) {
      process.print(cell.code);
      process.end_cell(cell.number);
    };
  }

  template <class T>
  Result<T> wait(Task<T> task) {
    std::optional<Result<T>> done;
    asio::co_spawn(test.io, std::move(task), [&done](std::exception_ptr thrown, Result<T> result) {
      if (thrown) std::rethrow_exception(thrown);
      done.emplace(std::move(result));
    });
    test.run_until([&done] { return done.has_value(); });
    return std::move(*done);
  }

  std::shared_ptr<Context> made(ContextSpec spec = {}) {
    auto context = wait(table->create(std::move(spec)));
    EXPECT_TRUE(context) << context.error().message();
    return context ? *context : nullptr;
  }

  struct Ran {
    std::optional<Result<CellReport>> report;
    std::unique_ptr<KeepingSink> sink;
    std::shared_ptr<node::CancelFlag> cancel = std::make_shared<node::CancelFlag>();
    const CellReport& get() const { return report->value(); }
  };

  std::shared_ptr<Ran> begin(const std::shared_ptr<Context>& context, std::string code,
                             std::chrono::milliseconds timeout = std::chrono::seconds(10),
                             std::uint64_t limit = 1 << 20) {
    auto ran = std::make_shared<Ran>();
    ran->sink = std::make_unique<KeepingSink>();
    CellRequest request;
    request.code = std::move(code);
    request.timeout = timeout;
    request.output_limit = limit;
    asio::co_spawn(test.io, table->run(context, std::move(request), *ran->sink, ran->cancel),
                   [ran](const std::exception_ptr&, Result<CellReport> result) {
                     ran->report.emplace(std::move(result));
                   });
    return ran;
  }
  std::shared_ptr<Ran> run(const std::shared_ptr<Context>& context, std::string code,
                           std::chrono::milliseconds timeout = std::chrono::seconds(10),
                           std::uint64_t limit = 1 << 20) {
    auto ran = begin(context, std::move(code), timeout, limit);
    test.run_until([&ran] { return ran->report.has_value(); });
    EXPECT_TRUE(*ran->report) << ran->report->error().message();
    return ran;
  }

  Host test;
  std::shared_ptr<FakeSession> session;
  std::shared_ptr<ContextTable> table;
};

TEST_F(ContextsTest, StartWithAJobAndThenTakeCells) {
  ContextSpec spec;
  spec.cwd = "/tmp";
  spec.env = {"S=2", "T=3"};
  const auto context = made(spec);
  ASSERT_TRUE(context);
  const FakeProcess& process = session->last();
  EXPECT_EQ(process.spec.kind, wire::ProcessKind::kWarmContext);
  EXPECT_TRUE(process.spec.lossy);
  EXPECT_TRUE(context->warm);
  ASSERT_TRUE(process.job);
  EXPECT_EQ(process.job->workdir, "/tmp");
  EXPECT_THAT(process.job->env, ElementsAre("HOME=/home/user", "S=2", "T=3"));
  EXPECT_EQ(decode_label(process.spec.label).context, context->id);
  const auto ran = run(context, "one");
  EXPECT_EQ(ran->sink->out, "one");
  EXPECT_EQ(ran->get().outcome.exit_code, 0);
  EXPECT_FALSE(ran->get().restarted);
  EXPECT_EQ(run(context, "two")->sink->out, "two");
  EXPECT_EQ(context->cells, 2u);
  EXPECT_EQ(process.cells.size(), 2u);
  EXPECT_NE(process.cells[0].number, process.cells[1].number);
}

TEST_F(ContextsTest, RunAsTheirUser) {
  ContextSpec spec;
  spec.user = "root";
  spec.cwd = "/root";
  const auto context = made(spec);
  ASSERT_TRUE(context);
  EXPECT_EQ(session->last().spec.user, "root");
  EXPECT_THAT(session->last().job->env, Contains("HOME=/root"));
  EXPECT_EQ(decode_label(session->last().spec.label).user, "root");
}

TEST_F(ContextsTest, SayWhichPackageALanguageNeeds) {
  session->on_start = [](FakeProcess& process) {
    process.say(R"({"type":"error","name":"Error","message":"TypeScript is not installed"})");
    process.exit(1);
    return Result<>();
  };
  ContextSpec spec;
  spec.language = Language::kTypescript;
  const auto refused = wait(table->create(spec));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::kUnsupported);
  EXPECT_THAT(refused.error().message(), HasSubstr("node-typescript"));
  EXPECT_EQ(language_list(), "python, bash, javascript, typescript, r or java");
}

TEST_F(ContextsTest, AContextThatCannotStartIsRefusedAndNotKept) {
  session->on_start = [](FakeProcess&) { return Result<>(fail(Errc::kNotFound, "no node here")); };
  ContextSpec spec;
  spec.language = Language::kJavascript;
  const auto refused = wait(table->create(spec));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::kUnsupported);
  EXPECT_THAT(refused.error().message(), HasSubstr("no node here"));
  EXPECT_THAT(refused.error().message(), HasSubstr("the Debian package nodejs"));
  EXPECT_TRUE(table->list().empty());

  session->on_start = [](FakeProcess&) {
    return Result<>(fail(Errc::kNotFound, "enter working directory: No such file or directory"));
  };
  const auto nowhere = wait(table->create(spec));
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code(), Errc::kInvalidArgument);
  EXPECT_THAT(nowhere.error().message(), HasSubstr("directory " + spec.cwd + ": No such file"));

  session->on_start = [](FakeProcess& process) {
    process.say(R"({"type":"error","name":"Error","message":"no such directory"})");
    process.print("no such directory\n", wire::Stream::kStderr);
    process.exit(1);
    return Result<>();
  };
  const auto died = wait(table->create(spec));
  ASSERT_FALSE(died);
  EXPECT_THAT(died.error().message(), EndsWith("before it was ready: no such directory"));

  session->on_start = [](FakeProcess& process) {
    process.print("no such library\n", wire::Stream::kStderr);
    process.exit(1);
    return Result<>();
  };
  const auto failed = wait(table->create(spec));
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message(), EndsWith("before it was ready: no such library"));
  EXPECT_TRUE(table->list().empty());
  EXPECT_TRUE(session->all.empty());
}

TEST_F(ContextsTest, WaitsForOutputPrintedBeforeTheEnd) {
  const auto context = made();
  session->on_cell = [](FakeProcess& process, const wire::Cell& cell) {
    // The results may come first, because they are a separate stream.
    process.info.out.end += 5;
    process.info.err.end += 3;
    process.end_cell(cell.number);
    process.info.out.end -= 5;
    process.info.err.end -= 3;
    process.print("hello");
    process.print("err", wire::Stream::kStderr);
  };
  const auto ran = run(context, "x");
  EXPECT_EQ(ran->sink->out, "hello");
  EXPECT_EQ(ran->sink->err, "err");
}

TEST_F(ContextsTest, LimitsOutputAndReportsTruncation) {
  const auto context = made();
  session->on_cell = [](FakeProcess& process, const wire::Cell& cell) {
    for (int i = 0; i < 10; ++i) process.print(std::string(1000, 'x'));
    process.end_cell(cell.number);
  };
  const auto ran = run(context, "x", std::chrono::seconds(10), 2500);
  EXPECT_EQ(ran->sink->out.size(), 2500u);
  EXPECT_TRUE(ran->get().outcome.truncated);
  EXPECT_EQ(ran->get().outcome.output_bytes, 10'000u);
}

TEST_F(ContextsTest, RunsOneCellAtATimeInOrderAndLimitsTheQueue) {
  const auto context = made();
  std::vector<std::uint64_t> sent;
  session->on_cell = [&sent](FakeProcess&, const wire::Cell& cell) { sent.push_back(cell.number); };
  std::vector<std::shared_ptr<Ran>> all;
  for (std::size_t i = 0; i < node::AsyncFifoLock::kMaxWaiting + 2; ++i) {
    all.push_back(begin(context, std::to_string(i)));
  }
  test.run_until([&] { return all.back()->report.has_value() && sent.size() == 1; });
  ASSERT_FALSE(*all.back()->report);
  EXPECT_EQ(all.back()->report->error().code(), Errc::kResourceExhausted);
  // A cancelled request leaves the queue.
  all[1]->cancel->cancel();
  test.run_until([&] { return all[1]->report.has_value(); });
  EXPECT_FALSE(*all[1]->report);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    if (i == 1) continue;
    EXPECT_EQ(session->last().cells.back().code, std::to_string(i));
    session->last().end_cell(sent.back());
    test.run_until([&] { return all[i]->report.has_value(); });
    const std::size_t want = i == 0 ? 2 : i + 1;
    if (i + 2 < all.size()) test.run_until([&] { return sent.size() >= want; });
  }
  EXPECT_EQ(sent.size(), node::AsyncFifoLock::kMaxWaiting);
  EXPECT_FALSE(context->lock.is_locked());
}

TEST_F(ContextsTest, ATimeoutInterruptsAndKeepsTheState) {
  const auto context = made();
  FakeProcess& process = session->last();
  std::uint64_t number = 0;
  session->on_cell = [&number](FakeProcess&, const wire::Cell& cell) { number = cell.number; };
  process.on_signal = [&](int signal) {
    if (signal != SIGINT) return;
    process.say(R"({"type":"error","name":"KeyboardInterrupt","message":"","traceback":[]})");
    process.end_cell(number, 130);
  };
  const auto ran = run(context, "loop", std::chrono::milliseconds(30));
  EXPECT_TRUE(ran->get().outcome.timed_out);
  EXPECT_EQ(ran->get().outcome.exit_code, kExitTimeout);
  EXPECT_FALSE(ran->get().restarted);
  EXPECT_THAT(process.signals, ElementsAre(SIGINT));
  EXPECT_EQ(session->all.size(), 1u);
}

TEST_F(ContextsTest, AShellIsInterruptedAgainIfItsProgramHasMissedTheFirst) {
  ContextSpec spec;
  spec.language = Language::kBash;
  const auto context = made(spec);
  FakeProcess& process = session->last();
  std::uint64_t number = 0;
  session->on_cell = [&number](FakeProcess&, const wire::Cell& cell) { number = cell.number; };
  process.on_signal = [&](int) {
    if (process.signals.size() == 2) process.end_cell(number, 130);
  };
  const auto ran = begin(context, "sleep 1000");
  test.run_until([&] { return number != 0; });
  EXPECT_TRUE(table->interrupt(*context).has_value());
  test.run_until([&] { return ran->report.has_value(); });
  EXPECT_THAT(process.signals, ElementsAre(SIGINT, SIGINT));
}

TEST_F(ContextsTest, AnInterpreterThatIgnoresTheInterruptIsRestarted) {
  const auto context = made();
  const auto first = context->process;
  session->on_cell = {};
  const auto ran = run(context, "loop", std::chrono::milliseconds(30));
  EXPECT_TRUE(ran->get().outcome.timed_out);
  EXPECT_TRUE(ran->get().restarted);
  EXPECT_EQ(ran->get().outcome.exit_code, kExitTimeout);
  EXPECT_THAT(session->forgotten, Contains(first));
  EXPECT_NE(context->process, first);
  EXPECT_TRUE(table->alive(*context));
  EXPECT_EQ(table->find(context->id), context);
}

TEST_F(ContextsTest, ADeathIsReportedAndTheNextCellFindsANewInterpreter) {
  const auto context = made();
  session->on_cell = [](FakeProcess& process, const wire::Cell&) { process.exit(0, SIGSEGV); };
  const auto ran = run(context, "crash");
  EXPECT_EQ(ran->get().outcome.exit_code, 128 + SIGSEGV);
  EXPECT_THAT(ran->get().died, HasSubstr("SIGSEGV"));
  EXPECT_TRUE(ran->get().restarted);
  EXPECT_FALSE(ran->get().outcome.oom_killed);

  // Killed by the kernel for memory: the count has grown.
  session->on_cell = [this](FakeProcess& process, const wire::Cell&) {
    test.session_service.usage.oom_kills = 1;
    process.exit(0, SIGKILL);
  };
  const auto oom = run(context, "eat");
  EXPECT_TRUE(oom->get().outcome.oom_killed);
  EXPECT_THAT(oom->get().died, HasSubstr("memory"));
  // Killed otherwise: the count has not grown.
  session->on_cell = [](FakeProcess& process, const wire::Cell&) { process.exit(0, SIGKILL); };
  EXPECT_FALSE(run(context, "kill")->get().outcome.oom_killed);

  // An exit that the code asks for is not an error.
  session->on_cell = [](FakeProcess& process, const wire::Cell&) {
    process.say(R"({"type":"exit","code":3})");
    process.exit(3);
  };
  const auto result = run(context, "exit(3)");
  EXPECT_EQ(result->get().outcome.exit_code, 3);
  EXPECT_EQ(result->get().died, "");
  EXPECT_TRUE(result->get().restarted);
}

TEST_F(ContextsTest, AnInterpreterThatDiesBetweenCellsIsRestartedAndReported) {
  const auto context = made();
  session->last().exit(0, SIGKILL);
  const auto ran = run(context, "x");
  EXPECT_TRUE(ran->get().restarted);
  EXPECT_EQ(ran->get().died, "");
  EXPECT_EQ(ran->sink->out, "x");
  EXPECT_FALSE(run(context, "y")->get().restarted);
}

TEST_F(ContextsTest, ADisconnectedClientInterruptsItsCellAndTheContextStays) {
  const auto context = made();
  FakeProcess& process = session->last();
  std::uint64_t number = 0;
  session->on_cell = [&number](FakeProcess&, const wire::Cell& cell) { number = cell.number; };
  process.on_signal = [&](int) { process.end_cell(number, 130); };
  const auto ran = begin(context, "long");
  test.run_until([&] { return number != 0; });
  EXPECT_TRUE(process.signals.empty());
  ran->cancel->cancel();
  test.run_until([&] { return ran->report.has_value(); });
  EXPECT_THAT(process.signals, Contains(SIGINT));
  EXPECT_TRUE(table->alive(*context));
  EXPECT_FALSE(context->lock.is_locked());
}

TEST_F(ContextsTest, ARestartedServerFindsContextsAndDropsTheOutputOfARunningCell) {
  const auto context = made();
  FakeProcess& process = session->last();
  process.print("of the cell before");
  // Another server: another table.
  auto again = std::make_shared<ContextTable>(test.io, test.sessions, test.oom_kills, session);
  ASSERT_EQ(again->list().size(), 1u);
  const auto found = again->find(context->id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->process, context->process);
  EXPECT_EQ(found->spec.language, Language::kPython);
  // A cell of the earlier server still runs, and ends only after the barrier was sent.
  std::vector<wire::Cell> cells;
  session->on_cell = [&cells](FakeProcess& one, const wire::Cell& cell) {
    cells.push_back(cell);
    if (cells.size() == 1) {
      one.print("late");
      one.say(R"({"type":"result","mime":{"text/plain":"late"},"main":true})");
      one.end_cell(12345);
    } else {
      one.print("mine");
    }
    one.end_cell(cell.number);
  };
  table = again;
  const auto ran = run(found, "x");
  EXPECT_EQ(ran->sink->out, "mine");
  EXPECT_TRUE(ran->get().results.empty());
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[0].code, "");
  EXPECT_EQ(cells[1].code, "x");
  EXPECT_EQ(session->all.size(), 1u);
  run(found, "y");
  EXPECT_EQ(cells.size(), 3u);
}

TEST_F(ContextsTest, ForeignLabelsAreIgnored) {
  node::ProcessSpec spec;
  spec.kind = wire::ProcessKind::kContext;
  for (const char* label : {"", "{}", R"({"context":"../x","language":"python"})",
                            R"({"context":"good","language":"cobol"})"}) {
    spec.label = label;
    ASSERT_TRUE(wait(session->start(spec, node::Session::Attach::kNo)));
  }
  EXPECT_TRUE(ContextTable(test.io, test.sessions, test.oom_kills, session).list().empty());
}

TEST_F(ContextsTest, HasOneDefaultPerLanguageAndALimitedTotal) {
  const auto first = wait(table->default_of(Language::kBash));
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)->id, "bash");
  EXPECT_EQ(session->last().spec.kind, wire::ProcessKind::kContext);
  EXPECT_EQ(*wait(table->default_of(Language::kBash)), *first);
  for (std::size_t i = 1; i < ContextTable::kMaxContexts; ++i) made();
  const auto more = wait(table->create({}));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), Errc::kResourceExhausted);
  ASSERT_TRUE(wait(table->remove(*first)));
  EXPECT_FALSE(table->find("bash"));
  EXPECT_TRUE(wait(table->create({})));
}

TEST_F(ContextsTest, DeletingARunningContextEndsItsCell) {
  const auto context = made();
  session->on_cell = {};
  const auto ran = begin(context, "long");
  const auto waits = begin(context, "next");
  test.run_until([&] { return !session->last().cells.empty(); });
  ASSERT_TRUE(wait(table->remove(context)));
  test.run_until([&] { return ran->report.has_value() && waits->report.has_value(); });
  EXPECT_FALSE(*waits->report);
  EXPECT_TRUE(session->all.empty());
}

}  // namespace
}  // namespace glovebox::sessions
