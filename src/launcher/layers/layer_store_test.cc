#include "launcher/layers/layer_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "launcher/layers/layer_record.h"
#include "sys/remove_tree.h"

namespace glovebox::launcher {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Counts = LayerStore::Counts;
using Staged = LayerStore::Staged;

constexpr const char* kOne = "0123456789abcdef0123456789abcdef";
constexpr const char* kTwo = "fedcba9876543210fedcba9876543210";

LayerRecord record_of(const std::string& id, const std::string& note = {}) {
  LayerRecord record;
  record.id = id;
  record.bytes = 7;
  record.entries = 2;
  record.digest = std::string(64, 'a');
  record.note = note;
  return record;
}

Errc code_of(const auto& outcome) { return outcome ? Errc{} : outcome.error().code(); }

class LayerStoreTest : public ::testing::Test {
 protected:
  LayerStoreTest() {
    char made[] = "/tmp/gbx-layer_store-XXXXXX";
    place_ = ::mkdtemp(made);
  }
  ~LayerStoreTest() override { (void)sys::remove_tree(place_); }

  fs::path sets() const { return fs::path(place_) / "sets"; }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(sets())) {
      all.push_back(entry.path().filename().string());
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  // Until nothing but these is left.
  bool comes_to(LayerStore& layer_store, const std::vector<std::string>& wanted) {
    for (int tries = 0; tries < 1000; ++tries) {
      layer_store.remover().poll();
      if (names() == wanted) return true;
      ::poll(nullptr, 0, 10);
    }
    return false;
  }
  void make(LayerStore& layer_store, const std::string& id, const std::string& note = {}) {
    {
      const auto held = layer_store.begin(id, this);
      ASSERT_TRUE(held) << held.error().message();
      std::ofstream((*held)->tree + "/file") << "content";
    }
    const auto kept = layer_store.keep(record_of(id, note), this);
    ASSERT_TRUE(kept) << kept.error().message();
  }
  static bool not_awaited(const std::string&) { return false; }

  std::string place_;
};

TEST_F(LayerStoreTest, MakesNothingBeforeItIsNeeded) {
  LayerStore layer_store(place_);
  layer_store.sweep();
  EXPECT_THAT(layer_store.ids(), IsEmpty());
  EXPECT_EQ(code_of(layer_store.use(kOne, Counts::kYes)), Errc::kNotFound);
  EXPECT_EQ(code_of(layer_store.drop(kOne)), Errc::kNotFound);
  EXPECT_FALSE(fs::exists(sets()));
}

// Whether a layer is begun on a file system of so many inodes; of a process that may mount one.
[[noreturn]] void begin_with_inodes(const std::string& place, const char* inodes) {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) ||
      ::mount("tmpfs", place.c_str(), "tmpfs", 0, inodes) != 0) {
    ::_exit(2);
  }
  LayerStore layer_store(place);
  const auto begun = layer_store.begin(kOne, &layer_store);
  ::_exit(begun ? 0 : code_of(begun) == Errc::kResourceExhausted ? 1 : 3);
}

TEST_F(LayerStoreTest, NeedsInodesAsWellAsBytes) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can mount a file system";
  EXPECT_EXIT(begin_with_inodes(place_, "size=1g,nr_inodes=10000"), ::testing::ExitedWithCode(1),
              "");
  EXPECT_EXIT(begin_with_inodes(place_, "size=1g,nr_inodes=30000"), ::testing::ExitedWithCode(0),
              "");
}

TEST_F(LayerStoreTest, WhatASandboxMadeIsKeptWithItsRecord) {
  LayerStore layer_store(place_);
  auto held = layer_store.begin(kOne, this);
  ASSERT_TRUE(held);
  struct stat info {};
  ASSERT_EQ(::stat(sets().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0700u);
  ASSERT_EQ(::stat((*held)->tree.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0755u);
  EXPECT_EQ(layer_store.staged(kOne, this), Staged::kMaking);
  EXPECT_EQ(code_of(layer_store.keep(record_of(kOne), this)), Errc::kConflict);
  EXPECT_EQ(code_of(layer_store.begin(kOne, this)), Errc::kConflict);
  EXPECT_EQ(code_of(layer_store.drop(kOne)), Errc::kConflict);
  held->reset();  // its sandbox is dead
  EXPECT_EQ(layer_store.staged(kOne, this), Staged::kMade);
  EXPECT_EQ(layer_store.staged(kOne, &info), Staged::kNone);
  EXPECT_EQ(code_of(layer_store.keep(record_of(kOne), &info)), Errc::kNotFound);
  ASSERT_TRUE(layer_store.keep(record_of(kOne, "a\nnote"), this));
  EXPECT_THAT(layer_store.ids(), ElementsAre(kOne));
  const auto record = layer_store.record(kOne);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->note, "a\nnote");
  EXPECT_EQ(record->entries, 2u);
  EXPECT_GT(record->made_ms, 0);
  EXPECT_FALSE(record->in_use);
  EXPECT_EQ(code_of(layer_store.begin(kOne, this)), Errc::kConflict);
}

TEST_F(LayerStoreTest, RestoresTheModeOfItsTopDirectory) {
  LayerStore layer_store(place_);
  {
    const auto held = layer_store.begin(kOne, this);
    ASSERT_TRUE(held);
    ASSERT_EQ(::chmod((*held)->tree.c_str(), 0777), 0);
  }
  ASSERT_TRUE(layer_store.keep(record_of(kOne), this));
  EXPECT_TRUE(layer_store.use(kOne, Counts::kYes));
}

TEST_F(LayerStoreTest, DoesNotUseATreeThatOthersCanWrite) {
  LayerStore layer_store(place_);
  make(layer_store, kOne);
  fs::permissions(sets() / kOne / "tree", fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(code_of(layer_store.use(kOne, Counts::kYes)), Errc::kPolicy);
  fs::remove_all(sets() / kOne / "tree");
  fs::create_directory_symlink("/etc", sets() / kOne / "tree");
  EXPECT_FALSE(layer_store.use(kOne, Counts::kYes));
}

TEST_F(LayerStoreTest, IsNotRemovedWhileInUse) {
  LayerStore layer_store(place_);
  make(layer_store, kOne);
  auto held = layer_store.use(kOne, Counts::kYes);
  ASSERT_TRUE(held);
  EXPECT_EQ((*held)->tree, (sets() / kOne / "tree").string());
  auto again = layer_store.use_trees({"/srv/other", (*held)->tree});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->size(), 1u);
  EXPECT_TRUE(layer_store.record(kOne)->in_use);
  EXPECT_EQ(code_of(layer_store.drop(kOne)), Errc::kConflict);
  held->reset();
  EXPECT_EQ(code_of(layer_store.drop(kOne)), Errc::kConflict);
  again->clear();
  EXPECT_TRUE(layer_store.drop(kOne));
  EXPECT_EQ(code_of(layer_store.use(kOne, Counts::kYes)), Errc::kNotFound);
  EXPECT_EQ(code_of(layer_store.use_trees({(sets() / kOne / "tree").string()})), Errc::kNotFound);
  EXPECT_TRUE(comes_to(layer_store, {}));
}

TEST_F(LayerStoreTest, IsSharedByTwoLaunchers) {
  LayerStore one(place_);
  LayerStore other(place_);
  auto making = one.begin(kOne, this);
  ASSERT_TRUE(making);
  EXPECT_EQ(code_of(other.begin(kOne, this)), Errc::kConflict);
  other.sweep();  // another launcher is making it
  making->reset();
  ASSERT_TRUE(one.keep(record_of(kOne), this));
  auto held = other.use(kOne, Counts::kYes);
  ASSERT_TRUE(held);
  EXPECT_TRUE(one.record(kOne)->in_use);
  EXPECT_EQ(code_of(one.drop(kOne)), Errc::kConflict);
  EXPECT_TRUE(one.note(kOne, "noted"));
  held->reset();
  EXPECT_EQ(other.record(kOne)->note, "noted");
  EXPECT_TRUE(one.drop(kOne));
  EXPECT_EQ(code_of(other.use(kOne, Counts::kYes)), Errc::kNotFound);
  EXPECT_TRUE(comes_to(one, {}));
}

TEST_F(LayerStoreTest, RemovesLayersThatAreNotKept) {
  LayerStore layer_store(place_);
  ASSERT_TRUE(layer_store.begin(kOne, this));
  auto living = layer_store.begin(kTwo, this);
  const auto now = LayerStore::Clock::now();
  layer_store.tidy(now, not_awaited);
  EXPECT_EQ(layer_store.staged(kOne, this), Staged::kMade);
  layer_store.tidy(now + LayerStore::kKeepTimeout,
                   [](const std::string& id) { return id == kOne; });
  EXPECT_EQ(layer_store.staged(kOne, this), Staged::kMade);  // a request to keep it is pending
  layer_store.tidy(now + LayerStore::kKeepTimeout, not_awaited);
  EXPECT_EQ(layer_store.staged(kOne, this), Staged::kNone);
  EXPECT_EQ(layer_store.staged(kTwo, this), Staged::kMaking);
  layer_store.owner_gone(this);
  layer_store.tidy(now, not_awaited);
  EXPECT_TRUE(comes_to(layer_store, {std::string("new-") + kTwo}));  // its sandbox is there still
  living->reset();
  layer_store.tidy(now, not_awaited);
  EXPECT_TRUE(comes_to(layer_store, {}));
}

TEST_F(LayerStoreTest, ALauncherMakesABoundedNumberAtOnce) {
  LayerStore layer_store(place_);
  EXPECT_FALSE(layer_store.next_due());
  const auto id = [](std::size_t number) {
    std::string text = std::to_string(number);
    return std::string(32 - text.size(), '0') + text;
  };
  std::vector<LayerRef> held;
  for (std::size_t i = 0; i < LayerStore::kMaxStaged; ++i) {
    auto begun = layer_store.begin(id(i), this);
    ASSERT_TRUE(begun) << begun.error().message();
    held.push_back(std::move(*begun));
  }
  EXPECT_EQ(code_of(layer_store.begin(id(1000), this)), Errc::kResourceExhausted);
  EXPECT_TRUE(layer_store.next_due());
  EXPECT_TRUE(layer_store.without_room().empty()) << "this disk has room";
  held.pop_back();
  ASSERT_TRUE(layer_store.drop(id(LayerStore::kMaxStaged - 1)));
  EXPECT_TRUE(layer_store.begin(id(1000), this));
}

TEST_F(LayerStoreTest, AHostKeepsABoundedNumber) {
  LayerStore layer_store(place_);
  make(layer_store, kTwo);
  for (std::size_t i = 1; i < LayerStore::kMaxLayers; ++i) {
    const std::string text = std::to_string(i);
    fs::create_directory(sets() / (std::string(32 - text.size(), '0') + text));
  }
  EXPECT_EQ(code_of(layer_store.begin(kOne, this)), Errc::kResourceExhausted);
  fs::remove(sets() / (std::string(31, '0') + "1"));
  EXPECT_TRUE(layer_store.begin(kOne, this));
}

TEST_F(LayerStoreTest, ADeadLaunchersLeftoversAreSwept) {
  {
    LayerStore dead(place_);
    make(dead, kOne, "good");
    make(dead, kTwo);
    ASSERT_TRUE(dead.begin("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", this));
  }
  std::ofstream(sets() / kTwo / "record") << "glovebox-layer 1\nbytes 7\n";
  fs::create_directory(sets() / "gone-1");
  fs::create_directory(sets() / "foreign");
  LayerStore layer_store(place_);
  layer_store.sweep();
  EXPECT_TRUE(comes_to(layer_store, {kOne, "foreign"}));
  EXPECT_EQ(layer_store.record(kOne)->note, "good");
}

TEST_F(LayerStoreTest, ASweepWithNothingToRemoveStartsNoProcess) {
  LayerStore layer_store(place_);
  make(layer_store, kOne);
  layer_store.sweep();
  std::vector<pollfd> events;
  layer_store.remover().add_events(events);
  EXPECT_THAT(events, IsEmpty());
  fs::create_directory(sets() / "gone-1");
  layer_store.sweep();
  layer_store.remover().add_events(events);
  EXPECT_EQ(events.size(), 1u);
  EXPECT_TRUE(comes_to(layer_store, {kOne}));
}

TEST_F(LayerStoreTest, BeginsALayerOfADeadLauncherAnew) {
  {
    LayerStore dead(place_);
    auto held = dead.begin(kOne, this);
    ASSERT_TRUE(held);
    std::ofstream((*held)->tree + "/old") << "x";
  }
  LayerStore layer_store(place_);
  const auto held = layer_store.begin(kOne, this);
  ASSERT_TRUE(held) << held.error().message();
  EXPECT_TRUE(fs::is_empty((*held)->tree));
  EXPECT_TRUE(comes_to(layer_store, {std::string("new-") + kOne}));
}

TEST_F(LayerStoreTest, StoresTheTimeOfUseOnceAMinute) {
  LayerStore layer_store(place_);
  make(layer_store, kOne);
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(48);
  fs::last_write_time(sets() / kOne / "used", long_ago);
  const std::int64_t before = layer_store.record(kOne)->used_ms;
  EXPECT_LT(before, layer_store.record(kOne)->made_ms);
  ASSERT_TRUE(layer_store.use(kOne, Counts::kYes));  // it was noted when it was kept
  EXPECT_EQ(layer_store.record(kOne)->used_ms, before);
  LayerStore other(place_);
  ASSERT_TRUE(other.use(kOne, Counts::kNo));
  EXPECT_EQ(layer_store.record(kOne)->used_ms, before);
  ASSERT_TRUE(other.use(kOne, Counts::kYes));
  EXPECT_GT(layer_store.record(kOne)->used_ms, before);
}

TEST_F(LayerStoreTest, ALayerWithAnInvalidRecordCanBeDropped) {
  LayerStore layer_store(place_);
  make(layer_store, kOne);
  std::ofstream(sets() / kOne / "record") << "nonsense";
  EXPECT_EQ(code_of(layer_store.record(kOne)), Errc::kNotFound);
  EXPECT_FALSE(layer_store.note(kOne, "x"));
  EXPECT_TRUE(layer_store.drop(kOne));
}

TEST_F(LayerStoreTest, RefusesAnInvalidId) {
  LayerStore layer_store(place_);
  for (const char* id : {"", "..", "../x", "0123456789ABCDEF0123456789abcdef"}) {
    EXPECT_EQ(code_of(layer_store.begin(id, this)), Errc::kInvalidArgument) << id;
    EXPECT_FALSE(layer_store.use(id, Counts::kYes)) << id;
    EXPECT_FALSE(layer_store.drop(id)) << id;
  }
}

TEST(LayerRecordText, IsReadAsItWasWrittenAndNothingElseIs) {
  LayerRecord record = record_of("", std::string("note\0with\nlines", 15));
  record.made_ms = 1'700'000'000'000;
  const std::string text = record_text(record);
  ASSERT_EQ(parse_record(text), record);
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(parse_record(text.substr(0, size))) << size;
  }
  EXPECT_FALSE(parse_record(text + "x"));
  EXPECT_FALSE(parse_record("glovebox-layer 2" + text.substr(16)));
  LayerRecord bad = record;
  bad.digest = std::string(64, 'G');
  EXPECT_FALSE(parse_record(record_text(bad)));
  bad = record;
  bad.note.assign(kMaxLayerNote + 1, 'n');
  EXPECT_FALSE(parse_record(record_text(bad)));
  std::string negative = text;
  negative.replace(negative.find("bytes 7"), 7, "bytes -7");
  EXPECT_FALSE(parse_record(negative));
}

TEST(LayerRecordText, IsTakenUpToItsBounds) {
  const auto is_taken = [](const LayerRecord& record) {
    return parse_record(record_text(record)) == record;
  };
  LayerRecord record = record_of("");
  record.note.assign(kMaxLayerNote, 'n');
  EXPECT_TRUE(is_taken(record));
  record.note.clear();
  record.made_ms = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(is_taken(record));
  for (const char c : {'0', '9', 'a', 'f'}) {
    record.digest = std::string(64, c);
    EXPECT_TRUE(is_taken(record)) << c;
  }
  for (const char c : {'/', ':', '`', 'g', 'A'}) {
    record.digest = std::string(63, 'a') + c;
    EXPECT_FALSE(parse_record(record_text(record))) << c;
  }
  for (const std::size_t size : {63, 65}) {
    record.digest = std::string(size, 'a');
    EXPECT_FALSE(parse_record(record_text(record))) << size;
  }
  record = record_of("");
  record.made_ms = -1;  // 2^64 - 1, as a number without a sign
  EXPECT_FALSE(parse_record(record_text(record)));
}

TEST(LayerRecordText, IsNotReadBeyondItsEnd) {
  // From memory that ends with the text, for the address sanitizer.
  const std::string whole = record_text(record_of("", "note"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<char> exact(whole.begin(), whole.begin() + static_cast<long>(size));
    EXPECT_FALSE(parse_record(std::string_view(exact.data(), exact.size()))) << size;
  }
}

TEST(DiskTask, ReportsItsResultAndHasNoneOfOurDescriptors) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  auto task = DiskTask::start([] {
    while (true) ::pause();
    return 0;
  });
  ASSERT_TRUE(task);
  EXPECT_FALSE(task->is_finished(0));
  writer.reset();
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0);  // no other process has it open
  auto good = DiskTask::start([] { return 0; });
  auto bad = DiskTask::start([] { return 3; });
  ASSERT_TRUE(good && bad);
  EXPECT_TRUE(good->is_finished(20'000) && good->succeeded());
  EXPECT_TRUE(bad->is_finished(20'000) && !bad->succeeded());
}

}  // namespace
}  // namespace glovebox::launcher
