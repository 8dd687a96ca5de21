// Fakes for tests: the layers of a launcher, and builds that the test controls.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node/async/notifier.h"
#include "node/layers/layer_service.h"
#include "packages/builds/build_pipeline.h"

namespace glovebox::packages {

class FakeLayers final : public node::LayerService {
 public:
  Task<> keep_layer(LayerRecord record) override {
    if (refuses) co_return fail(*refuses);
    all[record.id] = record;
    co_return Result<>();
  }
  Task<> note_layer(std::string id, std::string note) override {
    if (refuses) co_return fail(*refuses);
    if (!all.contains(id)) co_return fail(Errc::kNotFound, "no such layer");
    all[id].note = note;
    ++noted;
    co_return Result<>();
  }
  Task<> drop_layer(std::string id) override {
    if (refuses) co_return fail(*refuses);
    if (!all.contains(id)) co_return fail(Errc::kNotFound, "no such layer");
    if (in_use.contains(id)) co_return fail(Errc::kConflict, "a sandbox has it");
    all.erase(id);
    dropped.push_back(id);
    co_return Result<>();
  }
  Task<std::vector<LayerRecord>> list_layers() override {
    ++listed;
    if (before_list) co_await before_list();
    if (refuses) co_return fail(*refuses);
    std::vector<LayerRecord> records;
    for (const auto& [id, record] : all) {
      records.push_back(record);
      records.back().in_use = in_use.contains(id);
    }
    co_return records;
  }

  std::map<std::string, LayerRecord> all;
  std::set<std::string> in_use;
  std::vector<std::string> dropped;
  std::optional<Error> refuses;  // everything
  std::function<asio::awaitable<void>()> before_list;
  int listed = 0;
  int noted = 0;
};

// Returns what the test sets, when the test allows it.
class ScriptedPipeline final : public BuildPipeline {
 public:
  ScriptedPipeline(asio::io_context& io, FakeLayers& layers) : layers_(layers), notifier_(io) {}

  Task<FetchedPackages> fetch(BuildRequest request, OnBuildProgress report,
                              std::shared_ptr<node::CancelFlag> cancel) override {
    fetches.push_back(request);
    report({BuildPhase::kResolving, ""});
    for (const std::string& line : lines) report({BuildPhase::kResolving, line});
    cancel->on_cancel([this] { notifier_.notify_all(); });
    while (held && !cancel->cancelled()) {
      co_await notifier_.wait(std::chrono::steady_clock::time_point::max());
    }
    cancel->on_cancel({});
    if (cancel->cancelled()) {
      ++cancelled;
      co_return fail(Errc::kUnavailable, "cancelled");
    }
    if (!failures.empty()) {
      const Error error = failures.front();
      failures.pop_front();
      co_return fail(error);
    }
    FetchedPackages fetched;
    fetched.artefacts = artefacts;
    fetched.interpreter = "cpython-3.11";
    co_return fetched;
  }

  Task<LayerRecord> make_layer(FetchedPackages fetched, std::string id, std::string note,
                               OnBuildProgress report, std::shared_ptr<node::CancelFlag>) override {
    report({BuildPhase::kInstalling, ""});
    LayerRecord record;
    record.id = id;
    record.bytes = bytes;
    record.entries = fetched.artefacts.size();
    record.digest = std::string(64, 'a');
    record.note = std::move(note);
    record.made_ms = record.used_ms = now_ms;
    if (layers_.all.contains(id)) co_return fail(Errc::kConflict, "there is one");
    Result<> kept = co_await layers_.keep_layer(record);
    if (!kept) co_return fail(kept.error());
    made.push_back(id);
    co_return record;
  }

  Task<std::string> digest_of(std::string id, std::string template_name,
                              std::shared_ptr<node::CancelFlag>) override {
    read.emplace_back(id, template_name);
    co_return digest;
  }

  void let_go() {
    held = false;
    notifier_.notify_all();
  }

  std::vector<Artefact> artefacts = {{"alpha", "1.0", "alpha-1.0-py3-none-any.whl", "11"}};
  std::vector<std::string> lines;  // printed by the installer
  std::deque<Error> failures;      // of the next fetches
  std::uint64_t bytes = 1000;
  std::int64_t now_ms = 0;
  std::string digest = std::string(64, 'a');  // that digest_of() returns
  bool held = false;                          // fetches wait for let_go()
  int cancelled = 0;
  std::vector<BuildRequest> fetches;
  std::vector<std::string> made;
  std::vector<std::pair<std::string, std::string>> read;  // layer and template

 private:
  FakeLayers& layers_;
  node::Notifier notifier_;
};

// Runs a task to its end.
template <class T>
Result<T> run_task(asio::io_context& io, Task<T> task) {
  std::optional<Result<T>> done;
  asio::co_spawn(io, std::move(task), [&done](std::exception_ptr thrown, Result<T> result) {
    EXPECT_EQ(thrown, nullptr);
    done = std::move(result);
  });
  io.restart();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done && std::chrono::steady_clock::now() < deadline) {
    io.run_one_for(std::chrono::milliseconds(100));
    if (io.stopped()) io.restart();
  }
  if (!done) {
    ADD_FAILURE() << "the task did not end";
    return fail(Errc::kTimeout, "the task did not end");
  }
  return std::move(*done);
}

// Starts a task that runs while the test continues.
template <class T>
std::shared_ptr<std::optional<Result<T>>> start_task(asio::io_context& io, Task<T> task) {
  auto done = std::make_shared<std::optional<Result<T>>>();
  asio::co_spawn(io, std::move(task), [done](std::exception_ptr thrown, Result<T> result) {
    EXPECT_EQ(thrown, nullptr);
    *done = std::move(result);
  });
  return done;
}

inline void run_until(asio::io_context& io, const std::function<bool()>& ready) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  io.restart();
  while (!ready() && std::chrono::steady_clock::now() < deadline) {
    io.run_one_for(std::chrono::milliseconds(100));
    if (io.stopped()) io.restart();
  }
  ASSERT_TRUE(ready());
}

}  // namespace glovebox::packages
