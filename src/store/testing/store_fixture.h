// For the tests of this folder: a store in a directory of its own, and answers as values.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/assert.h"
#include "store/sqlite/sqlite_store.h"

namespace glovebox::store {

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "gbx-store-XXXXXX").string();
    GBX_ASSERT(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Waits for the answer, with a deadline.
template <class T, class Ask>
Result<T> answer_of(Ask ask) {
  auto promise = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> future = promise->get_future();
  ask(Callback<T>([promise](Result<T> result) { promise->set_value(std::move(result)); }));
  const bool came = future.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  GBX_ASSERT(came);
  return future.get();
}

// Until it holds; false when it does not within some seconds.
inline bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

inline SessionRecord session_of(std::string project, std::string template_name = "python") {
  SessionRecord session{.id = SandboxId::make(),
                        .project = std::move(project),
                        .key_id = "ky1",
                        .template_name = std::move(template_name),
                        .snapshot = "sn1",
                        .reason = "why",
                        .agent_id = "agent",
                        .metadata = {{"a", "1"}, {"b", ""}, {"", "empty key"}, {"c", "\x01x"}},
                        .env = {"A=1", "B="},
                        .on_timeout = OnTimeout::kPause,
                        .paused_files_only = true,
                        .ttl_s = 60,
                        .created_ms = 1000,
                        .expires_ms = 61'000,
                        .walls = WallSet(7),
                        .profile = "abcd",
                        .port_token = "secret",
                        .net = "\"https-only\"",
                        .dependencies = {.packages = {"a", "b>=2"},
                                         .requirements = "c==1\n# ü",
                                         .lock = "",
                                         .preload = {"a"}},
                        .layer = std::string(32, 'f'),
                        .host_mask = "${PORT}-x.example.com"};
  session.limits.memory_bytes = 123 << 20;
  session.limits.mark_asked_for(LimitKind::kMemory);
  return session;
}

inline RunRecord run_of(std::string project, std::string template_name = "python") {
  return RunRecord{.request_id = "rq1",
                   .project = std::move(project),
                   .key_id = "ky1",
                   .template_name = std::move(template_name),
                   .profile = "abcd",
                   .language = "python",
                   .started_ms = 1000,
                   .finished_ms = 2000,
                   .exit_code = 3,
                   .wall_us = 5,
                   .cpu_us = 4,
                   .peak_memory_bytes = 12345,
                   .warm = true,
                   .engine = "jail",
                   .grade = "jail",
                   .out = "hello\n",
                   .err = std::string("\xff\x00 not text", 10),
                   .answer = "{\"id\":1}"};
}

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() { options_.directory = directory_.path() + "/store"; }

  void open() {
    store_.reset();
    Result<std::unique_ptr<SqliteStore>> opened = SqliteStore::open(options_);
    ASSERT_TRUE(opened) << opened.error().message();
    store_ = std::move(*opened);
  }

  Result<CreatedKey> create_key(NewKey key) {
    return answer_of<CreatedKey>([&](auto done) { store_->create_key(key, done); });
  }
  Result<> revoke(std::optional<std::string> project, const KeyId& id) {
    return answer_of<void>([&](auto done) { store_->revoke_key(project, id, done); });
  }
  Result<RunRecord> get(const std::string& project, const RunId& id) {
    return answer_of<RunRecord>([&](auto done) { store_->get_run(project, id, done); });
  }
  Result<RunPage> list(const std::string& project, RunFilter filter = {}) {
    return answer_of<RunPage>([&](auto done) { store_->list_runs(project, filter, done); });
  }
  Result<> flush() {
    return answer_of<void>([&](auto done) { store_->flush(done); });
  }
  Result<GcReport> gc() {
    return answer_of<GcReport>([&](auto done) { store_->gc(done); });
  }
  RunId add(RunRecord run) {
    RunId id = run.id;
    store_->add_run(std::move(run));
    return id;
  }
  Result<SessionRecord> add_session(SessionRecord session) {
    auto seq = answer_of<std::int64_t>([&](auto done) { store_->add_session(session, done); });
    if (!seq) return fail(std::move(seq.error()));
    session.seq = *seq;
    return session;
  }
  Result<> save(const SessionRecord& session) {
    return answer_of<void>([&](auto done) { store_->save_session(session, done); });
  }
  Result<SessionRecord> find_session(const std::string& project, const SandboxId& id) {
    return answer_of<SessionRecord>([&](auto done) { store_->get_session(project, id, done); });
  }
  // The database's files, as a backup made now would find them.
  std::string files() const {
    std::string content;
    for (const auto& file : std::filesystem::directory_iterator(options_.directory)) {
      std::ifstream in(file.path(), std::ios::binary);
      content.append(std::istreambuf_iterator<char>(in), {});
    }
    return content;
  }
  Result<IdempotentEntry> begin(const std::string& key, const std::string& body,
                                const std::string& project = "default",
                                const std::string& route = "POST /v1/run") {
    const IdempotentRequest request{
        .project = project, .key = key, .route = route, .body_sha256 = body, .run_id = "rn1"};
    return answer_of<IdempotentEntry>([&](auto done) { store_->begin_idempotent(request, done); });
  }
  Result<> finish(const std::string& key, const std::string& answer,
                  const std::string& project = "default") {
    return answer_of<void>(
        [&](auto done) { store_->finish_idempotent(project, key, 200, answer, done); });
  }

  TempDir directory_;
  StoreOptions options_;
  std::unique_ptr<SqliteStore> store_;
};

}  // namespace glovebox::store
