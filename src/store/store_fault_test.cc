// What the store survives: kill -9, a full disk, a damaged file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <fstream>

#include "base/unique_fd.h"
#include "store/sqlite/schema.h"
#include "store/testing/store_fixture.h"

namespace glovebox::store {
namespace {

using ::testing::HasSubstr;

const IdempotentRequest kRequest{.project = "default",
                                 .key = "k",
                                 .route = "POST /v1/run",
                                 .body_sha256 = "body",
                                 .run_id = "rn1"};

class StoreFault : public StoreTest {
 protected:
  Result<> set_max_pages(std::uint32_t pages) {
    return answer_of<void>([&](auto done) { store_->set_max_pages(pages, done); });
  }
  std::uint32_t pages_now() {
    EXPECT_TRUE(gc());  // so that everything is in the file itself
    return static_cast<std::uint32_t>(
        std::filesystem::file_size(database_path(options_.directory)) / 4096);
  }
  // As full as a disk can be: no page can be added, and none is free.
  void fill_disk() { ASSERT_TRUE(set_max_pages(pages_now())); }
  static RunRecord big_run() {
    RunRecord run = run_of("default");
    run.out = std::string(12'000, 'x');
    return run;
  }
};

// In the child: writes runs endlessly, and reports after each commit how many are on disk.
[[noreturn]] void write_until_killed(const StoreOptions& options, int report_fd) {
  Result<std::unique_ptr<SqliteStore>> store = SqliteStore::open(options);
  if (!store) ::_exit(1);
  (*store)->create_key({.name = "before the crash"}, {});
  (*store)->begin_idempotent(kRequest, {});
  std::uint64_t reported = 0;
  while (true) {
    if ((*store)->health().queued < 1000) (*store)->add_run(run_of("default"));
    const std::uint64_t written = (*store)->health().written;
    if (written == reported) continue;
    reported = written;
    if (::write(report_fd, &reported, sizeof reported) != sizeof reported) ::_exit(2);
  }
}

TEST_F(StoreFault, KillNineLosesNothingThatWasCommitted) {
  options_.batch_records = 32;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) write_until_killed(options_, theirs.get());
  theirs.reset();
  std::uint64_t promised = 0;
  while (promised < 500) {
    pollfd waiting{.fd = ours.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&waiting, 1, 30'000), 1);
    ASSERT_EQ(::read(ours.get(), &promised, sizeof promised),
              static_cast<ssize_t>(sizeof promised));
  }
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));

  open();
  EXPECT_GE(store_->health().runs, promised);
  RunFilter filter{.limit = 200};
  std::uint64_t seen = 0;
  do {
    const RunPage page = list("default", filter).value();
    for (const RunRecord& run : page.runs) {
      EXPECT_EQ(get("default", run.id).value().out, "hello\n");
      ++seen;
    }
    filter.cursor = page.next_cursor;
  } while (!filter.cursor.empty());
  EXPECT_EQ(seen, store_->health().runs);
  EXPECT_EQ(begin("k", "body").value().state, IdempotentState::kInterrupted);
  EXPECT_EQ(answer_of<std::vector<KeyRecord>>([&](auto done) { store_->list_keys({}, done); })
                .value()
                .size(),
            1u);
  store_.reset();
  Database db = std::move(open_database(options_.directory).value());
  Statement check = std::move(db.prepare("PRAGMA integrity_check").value());
  ASSERT_TRUE(check.next().value());
  EXPECT_EQ(check.text(0), "ok");
}

TEST_F(StoreFault, OnAFullDiskRunsGoOnAndRecordsWait) {
  open();
  ASSERT_TRUE(flush());
  fill_disk();
  std::vector<RunId> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(add(big_run()));
  ASSERT_TRUE(eventually([&] { return !store_->health().ok; }));
  EXPECT_EQ(store_->health().reason, "store: disk full");
  EXPECT_EQ(store_->health().queued, 20u);
  EXPECT_EQ(store_->health().dropped, 0u);
  EXPECT_FALSE(flush());
  // Still found, one by one and in lists.
  EXPECT_TRUE(get("default", ids[7]));
  EXPECT_EQ(list("default").value().runs.size(), 20u);

  ASSERT_TRUE(set_max_pages(0));
  EXPECT_TRUE(eventually([&] { return store_->health().ok; }));
  EXPECT_TRUE(eventually([&] { return store_->health().queued == 0; }));
  open();
  EXPECT_EQ(list("default").value().runs.size(), 20u);
}

TEST_F(StoreFault, OnAFullDiskAnIdempotentRequestIsNotCalledFresh) {
  open();
  ASSERT_TRUE(begin("before", "body"));
  fill_disk();
  Result<IdempotentEntry> entry = begin("k", "body");
  for (int i = 0; entry && i < 1000; ++i) entry = begin("k" + std::to_string(i), "body");
  ASSERT_FALSE(entry);
  EXPECT_EQ(entry.error().code(), Errc::kResourceExhausted);
  EXPECT_FALSE(store_->health().ok);
  ASSERT_TRUE(set_max_pages(0));
  EXPECT_TRUE(eventually([&] { return store_->health().ok; }));
}

TEST_F(StoreFault, AnAnswerThatCannotBeWrittenIsRememberedAndWrittenLater) {
  open();
  ASSERT_TRUE(begin("k", "body"));
  fill_disk();
  const std::string answer(50'000, 'a');
  EXPECT_FALSE(finish("k", answer));
  const IdempotentEntry done = begin("k", "body").value();
  EXPECT_EQ(done.state, IdempotentState::kDone);
  EXPECT_EQ(done.answer, answer);
  ASSERT_TRUE(set_max_pages(0));
  EXPECT_TRUE(eventually([&] { return store_->health().ok; }));
  open();
  EXPECT_EQ(begin("k", "body").value().answer, answer);
}

// Until there is not a block left.
void fill(const std::string& path) {
  std::ofstream out(path, std::ios::binary | std::ios::app);
  const std::string block(4096, 'x');
  while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
}

// In the child, with a file system of its own that is really full. Zero, or which step failed.
int live_through_a_full_file_system(StoreOptions options, const std::string& mount_point) {
  if (::unshare(CLONE_NEWNS) != 0) return 77;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
  if (::mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=2m") != 0) return 77;
  options.directory = mount_point + "/store";
  Result<std::unique_ptr<SqliteStore>> store = SqliteStore::open(options);
  if (!store) return 1;
  std::vector<CreatedKey> keys;
  for (int i = 0; i < 20; ++i) {
    Result<CreatedKey> made =
        answer_of<CreatedKey>([&](auto done) { (*store)->create_key({}, done); });
    if (!made) return 2;
    keys.push_back(std::move(*made));
  }
  const std::string filler = mount_point + "/filler";
  fill(filler);
  for (int i = 0; i < 50; ++i) {
    RunRecord run = run_of("default");
    run.out = std::string(15'000, 'x');
    (*store)->add_run(std::move(run));
  }
  if (!eventually([&] { return (*store)->health().reason == "store: disk full"; })) return 3;
  // Revoked while that cannot be written: it must hold at once, and on disk later. The store gives
  // room back when it truncates its log, so the first ones may be written.
  const CreatedKey* key = nullptr;
  for (const CreatedKey& one : keys) {
    if (!(*store)->authenticate(one.secret)) return 4;
    fill(filler);
    const Result<> revoked = answer_of<void>(
        [&](auto done) { (*store)->revoke_key(std::nullopt, one.record.id, done); });
    if (revoked) continue;
    key = &one;
    break;
  }
  if (key == nullptr) return 5;
  if ((*store)->authenticate(key->secret)) return 6;
  std::filesystem::remove(filler);
  if (!eventually([&] { return (*store)->health().ok && (*store)->health().queued == 0; })) {
    return 7;
  }
  store->reset();
  store = SqliteStore::open(options);
  if (!store) return 8;
  if ((*store)->health().runs != 50) return 9;
  if ((*store)->authenticate(key->secret)) return 10;
  // A start on a full disk: what can be read is served.
  const Result<IdempotentEntry> begun =
      answer_of<IdempotentEntry>([&](auto done) { (*store)->begin_idempotent(kRequest, done); });
  const Result<std::optional<std::string>> admin = (*store)->ensure_admin_key();
  if (!begun || !admin || !*admin) return 11;
  store->reset();
  fill(filler);
  store = SqliteStore::open(options);
  if (!store) return 12;
  if (!(*store)->authenticate(**admin)) return 13;
  if ((*store)->health().runs != 50) return 14;
  std::filesystem::remove(filler);
  const auto interrupted = [&] {
    const Result<IdempotentEntry> again =
        answer_of<IdempotentEntry>([&](auto done) { (*store)->begin_idempotent(kRequest, done); });
    return again && again->state == IdempotentState::kInterrupted;
  };
  return eventually(interrupted) ? 0 : 15;
}

TEST_F(StoreFault, RecoversWhenARealFileSystemHasSpaceAgain) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount a small tmpfs";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(live_through_a_full_file_system(options_, directory_.path()));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "cannot mount here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

TEST_F(StoreFault, AFileThatIsNoDatabaseIsRefusedAndLeftAsItIs) {
  std::filesystem::create_directory(options_.directory);
  const std::string path = database_path(options_.directory);
  const std::string text = "precious bytes of one user " + std::string(5000, '!');
  std::ofstream(path, std::ios::binary) << text;
  const Result<std::unique_ptr<SqliteStore>> opened = SqliteStore::open(options_);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr("not a database"));
  EXPECT_THAT(opened.error().message(), HasSubstr(path));
  EXPECT_THAT(opened.error().message(), HasSubstr("was not changed"));
  EXPECT_TRUE(content_of(path) == text);
}

TEST_F(StoreFault, ADamagedDatabaseIsRefusedAndLeftAsItIs) {
  open();
  for (int i = 0; i < 200; ++i) add(big_run());
  ASSERT_TRUE(flush());
  store_.reset();
  const std::string path = database_path(options_.directory);
  std::string bytes = content_of(path);
  // All pages but the first, which has the header.
  std::fill(bytes.begin() + 4096, bytes.end(), '\x5a');
  std::ofstream(path, std::ios::binary) << bytes;
  const Result<std::unique_ptr<SqliteStore>> opened = SqliteStore::open(options_);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr("malformed"));
  EXPECT_THAT(opened.error().message(), HasSubstr(path));
  EXPECT_TRUE(content_of(path) == bytes);
}

TEST_F(StoreFault, ASecondServerOnTheSameFileIsRefused) {
  open();
  const Result<std::unique_ptr<SqliteStore>> second = SqliteStore::open(options_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Errc::kUnavailable);
  EXPECT_THAT(second.error().message(), HasSubstr("another server"));
  EXPECT_TRUE(begin("k", "body"));  // the first goes on
}

TEST_F(StoreFault, ANewerProgramsDatabaseIsRefused) {
  open();
  store_.reset();
  {
    Database db = std::move(open_database(options_.directory).value());
    ASSERT_TRUE(db.exec("INSERT INTO schema_version VALUES(999, 'from the future', 0)"));
  }
  const Result<std::unique_ptr<SqliteStore>> opened = SqliteStore::open(options_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Errc::kUnsupported);
}

}  // namespace
}  // namespace glovebox::store
