#include "packages/layer_index.h"

#include "packages/testing/fake_packages.h"

namespace glovebox::packages {
namespace {

const std::string kSpec(64, 'e');

class LayerMemoryTest : public ::testing::Test {
 protected:
  LayerMemoryTest() {
    MemoryOptions options;
    options.resolve_ttl = std::chrono::milliseconds(1000);
    options.failure_ttl = std::chrono::milliseconds(100);
    options.refresh_every = std::chrono::milliseconds(300);
    options.now_ms = [this] { return now; };
    memory = std::make_unique<LayerIndex>(io, layers, options);
  }

  std::string put(char letter, std::int64_t resolved_ms, std::int64_t used_ms = 0,
                  std::uint64_t bytes = 10) {
    LayerManifest note;
    note.manager = "pip";
    note.note_asked(kSpec, "a", resolved_ms, "p");
    LayerRecord record;
    record.id = std::string(32, letter);
    record.used_ms = used_ms;
    record.bytes = bytes;
    record.note = note_text(note);
    layers.all[record.id] = record;
    return record.id;
  }

  asio::io_context io;
  FakeLayers layers;
  std::int64_t now = 10'000;
  std::unique_ptr<LayerIndex> memory;
};

TEST_F(LayerMemoryTest, RecallsWhatAWishCameToLastWhileThatHolds) {
  put('a', 9500);
  const std::string newer = put('b', 9800);
  ASSERT_TRUE(run_task(io, memory->load()));
  auto known = memory->recall(kSpec);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->layer, newer);
  EXPECT_TRUE(known->fresh);
  now = 10'800;
  EXPECT_FALSE(memory->recall(kSpec)->fresh);
  now = 9'000;  // the clock was set back
  EXPECT_FALSE(memory->recall(kSpec)->fresh);
  EXPECT_FALSE(memory->recall(std::string(64, 'f')));
}

TEST_F(LayerMemoryTest, ALayerWhoseNoteCannotBeReadIsListedAndNeverUsed) {
  const std::string id = put('a', 9500);
  layers.all[id].note += "?";
  ASSERT_TRUE(run_task(io, memory->load()));
  EXPECT_FALSE(memory->recall(kSpec));
  ASSERT_NE(memory->find(id), nullptr);
  EXPECT_FALSE(memory->find(id)->usable());
}

TEST_F(LayerMemoryTest, ACorruptOneIsNotRecalled) {
  const std::string id = put('a', 9500);
  ASSERT_TRUE(run_task(io, memory->load()));
  LayerManifest note = *memory->find(id)->note;
  note.corrupt = true;
  ASSERT_TRUE(run_task(io, memory->write_note(id, note)));
  EXPECT_FALSE(memory->recall(kSpec));
  EXPECT_TRUE(parse_note(layers.all[id].note)->corrupt) << "other servers see it, too";
}

TEST_F(LayerMemoryTest, AsksTheLauncherOnlyNowAndThen) {
  ASSERT_TRUE(run_task(io, memory->load_if_due()));
  ASSERT_TRUE(run_task(io, memory->load_if_due()));
  EXPECT_EQ(layers.listed, 1);
  now += 300;
  ASSERT_TRUE(run_task(io, memory->load_if_due()));
  EXPECT_EQ(layers.listed, 2);
  memory->expire();
  ASSERT_TRUE(run_task(io, memory->load_if_due()));
  EXPECT_EQ(layers.listed, 3);
}

TEST_F(LayerMemoryTest, KeepsWhatItKnowsWhenTheLauncherIsAway) {
  const std::string id = put('a', 9500);
  ASSERT_TRUE(run_task(io, memory->load()));
  layers.refuses = Error(Errc::kUnavailable, "the launcher is not running");
  EXPECT_FALSE(run_task(io, memory->load()));
  EXPECT_NE(memory->find(id), nullptr);
}

TEST_F(LayerMemoryTest, FailuresAreRememberedForAWhile) {
  memory->remember_failure(kSpec, Error(Errc::kInvalidArgument, "no such package"));
  ASSERT_TRUE(memory->failure_of(kSpec));
  EXPECT_EQ(memory->failure_of(kSpec)->message(), "no such package");
  now += 100;
  EXPECT_FALSE(memory->failure_of(kSpec));
}

TEST_F(LayerMemoryTest, TheLongestUnusedComesFirstAndCorruptOnesBeforeIt) {
  const std::string used = put('a', 0, 300);
  const std::string old = put('b', 0, 100);
  const std::string corrupt = put('c', 0, 900);
  const std::string spared = put('d', 0, 1);
  ASSERT_TRUE(run_task(io, memory->load()));
  LayerManifest note = *memory->find(corrupt)->note;
  note.corrupt = true;
  ASSERT_TRUE(run_task(io, memory->write_note(corrupt, note)));
  EXPECT_EQ(memory->oldest_first(spared), (std::vector<std::string>{corrupt, old, used}));
}

TEST_F(LayerMemoryTest, DroppingOneThatIsGoneIsDropping) {
  const std::string id = put('a', 9500);
  ASSERT_TRUE(run_task(io, memory->load()));
  layers.all.clear();
  EXPECT_TRUE(run_task(io, memory->drop(id)));
  EXPECT_EQ(memory->find(id), nullptr);
}

TEST_F(LayerMemoryTest, OneInUseStays) {
  const std::string id = put('a', 9500);
  layers.in_use.insert(id);
  ASSERT_TRUE(run_task(io, memory->load()));
  auto dropped = run_task(io, memory->drop(id));
  ASSERT_FALSE(dropped);
  EXPECT_EQ(dropped.error().code(), Errc::kConflict);
  EXPECT_NE(memory->find(id), nullptr);
}

}  // namespace
}  // namespace glovebox::packages
