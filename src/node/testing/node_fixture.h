// For tests: a node, a launcher that speaks the real messages and runs nothing, and a clock that
// advances when the test says so.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <set>

#include "node/node.h"
#include "node/testing/fake_gateway.h"
#include "node/testing/fake_launcher.h"

namespace glovebox::node {
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

struct TestSink final : RunSink {
  std::string out, err;
  std::vector<std::string> results;
  bool takes = true;
  boost::asio::awaitable<bool> on_output(bool is_stderr, std::string_view bytes) override {
    (is_stderr ? err : out) += bytes;
    co_return takes;
  }
  boost::asio::awaitable<bool> on_result(std::string_view line) override {
    results.emplace_back(line);
    co_return takes;
  }
};

struct Call {
  TestSink sink;
  std::shared_ptr<CancelFlag> cancel = std::make_shared<CancelFlag>();
  std::optional<Result<RunReport>> result;
  bool done() const { return result.has_value(); }
};

inline TemplateStatus status_of(std::string name, RuntimeKind runtime, std::uint32_t least,
                                std::uint32_t most) {
  TemplateStatus status;
  status.description.name = std::move(name);
  status.description.runtime = runtime;
  status.description.pool_min = least;
  status.description.pool_max = most;
  status.state = runtime == RuntimeKind::kPython ? RuntimeState::kReady : RuntimeState::kIdle;
  status.generation = 1;
  return status;
}

class NodeTest : public testing::Test {
 protected:
  NodeTest() : launcher(io), gateway(io) {
    options.now = [this] { return now; };
    options.backstop = milliseconds(5000);
  }
  ~NodeTest() override {
    if (!node) return;
    // Whatever a test left running ends here, and nothing may be left over.
    bool drained = false;
    boost::asio::co_spawn(io, node->drain(Clock::now()),
                          [&](std::exception_ptr) { drained = true; });
    until([&] { return drained; });
    node.reset();
    launcher.die();
    io.restart();
    io.poll();
  }

  void begin(std::vector<TemplateStatus> templates) {
    node = std::make_unique<Node>(io, options);
    known = std::move(templates);
    attach();
  }
  void attach() {
    node->attach_launcher(launcher.connect());
    for (const TemplateStatus& status : known) launcher.tell(status);
    until([&] { return node->templates().size() == known.size(); });
  }

  template <class Condition>
  void until(Condition condition) {
    const auto deadline = Clock::now() + seconds(10);
    while (!condition()) {
      ASSERT_LT(Clock::now(), deadline) << "it did not happen";
      io.restart();
      io.run_one_for(milliseconds(50));
    }
  }
  // Until there is nothing left to do but wait for time.
  void settle() {
    for (int i = 0; i < 20; ++i) {
      io.restart();
      io.run_for(milliseconds(1));
    }
  }

  static RunJob python(std::string code = "1") {
    RunJob job;
    job.template_name = "python";
    job.job.emplace();
    job.job->code = std::move(code);
    return job;
  }
  static RunJob shell() {
    RunJob job;
    job.template_name = "base";
    job.exec.emplace();
    job.exec->argv = {"/bin/true"};
    return job;
  }

  std::shared_ptr<Call> start(RunJob job) {
    auto call = std::make_shared<Call>();
    boost::asio::co_spawn(io, node->run(std::move(job), call->sink, call->cancel),
                          [call](std::exception_ptr error, Result<RunReport> result) {
                            if (error) std::rethrow_exception(error);
                            call->result = std::move(result);
                          });
    return call;
  }
  std::shared_ptr<Call> finish(RunJob job) {
    auto call = start(std::move(job));
    until([&] { return call->done(); });
    return call;
  }
  PoolFigures pool(const std::string& name) const {
    for (const PoolFigures& one : node->figures().pools) {
      if (one.template_name == name) return one;
    }
    return {};
  }
  void fill(const std::string& name, std::uint32_t idle) {
    until([&] { return pool(name).idle == idle && pool(name).making == 0; });
  }

  boost::asio::io_context io{1};
  Clock::time_point now = Clock::now();
  NodeOptions options;
  FakeLauncher launcher;
  FakeGateway gateway;
  std::vector<TemplateStatus> known;
  std::unique_ptr<Node> node;
};

}  // namespace glovebox::node
