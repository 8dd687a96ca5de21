#include "packages/layer_index.h"

#include "packages/testing/fake_packages.h"

namespace glovebox::packages {
namespace {

const std::string kSpec(64, 'e');

class LayerIndexTest : public ::testing::Test {
 protected:
  LayerIndexTest() {
    LayerIndexOptions options;
    options.resolve_ttl = std::chrono::milliseconds(1000);
    options.failure_ttl = std::chrono::milliseconds(100);
    options.refresh_every = std::chrono::milliseconds(300);
    options.now_ms = [this] { return now; };
    index = std::make_unique<LayerIndex>(io, layers, options);
  }

  std::string put(char letter, std::int64_t resolved_ms, std::int64_t used_ms = 0,
                  std::uint64_t bytes = 10) {
    LayerManifest manifest;
    manifest.manager = "pip";
    manifest.record_request(kSpec, "a", resolved_ms, "p");
    LayerRecord record;
    record.id = std::string(32, letter);
    record.used_ms = used_ms;
    record.bytes = bytes;
    record.note = manifest_json(manifest);
    layers.all[record.id] = record;
    return record.id;
  }

  asio::io_context io;
  FakeLayers layers;
  std::int64_t now = 10'000;
  std::unique_ptr<LayerIndex> index;
};

TEST_F(LayerIndexTest, RecallsTheLatestLayerOfARequestUntilItExpires) {
  put('a', 9500);
  const std::string newer = put('b', 9800);
  ASSERT_TRUE(run_task(io, index->load()));
  auto known = index->recall(kSpec);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->layer, newer);
  EXPECT_TRUE(known->fresh);
  now = 10'800;
  EXPECT_FALSE(index->recall(kSpec)->fresh);
  now = 9'000;  // the clock was set back
  EXPECT_FALSE(index->recall(kSpec)->fresh);
  EXPECT_FALSE(index->recall(std::string(64, 'f')));
}

TEST_F(LayerIndexTest, ListsALayerWithAnUnreadableManifestAndNeverUsesIt) {
  const std::string id = put('a', 9500);
  layers.all[id].note += "?";
  ASSERT_TRUE(run_task(io, index->load()));
  EXPECT_FALSE(index->recall(kSpec));
  ASSERT_NE(index->find(id), nullptr);
  EXPECT_FALSE(index->find(id)->usable());
}

TEST_F(LayerIndexTest, DoesNotRecallACorruptLayer) {
  const std::string id = put('a', 9500);
  ASSERT_TRUE(run_task(io, index->load()));
  LayerManifest manifest = *index->find(id)->manifest;
  manifest.corrupt = true;
  ASSERT_TRUE(run_task(io, index->write_manifest(id, manifest)));
  EXPECT_FALSE(index->recall(kSpec));
  EXPECT_TRUE(parse_manifest(layers.all[id].note)->corrupt) << "other servers see it, too";
}

TEST_F(LayerIndexTest, LimitsHowOftenItAsksTheLauncher) {
  ASSERT_TRUE(run_task(io, index->load_if_due()));
  ASSERT_TRUE(run_task(io, index->load_if_due()));
  EXPECT_EQ(layers.listed, 1);
  now += 300;
  ASSERT_TRUE(run_task(io, index->load_if_due()));
  EXPECT_EQ(layers.listed, 2);
  index->expire();
  ASSERT_TRUE(run_task(io, index->load_if_due()));
  EXPECT_EQ(layers.listed, 3);
}

TEST_F(LayerIndexTest, KeepsItsContentWhileTheLauncherIsAway) {
  const std::string id = put('a', 9500);
  ASSERT_TRUE(run_task(io, index->load()));
  layers.refuses = Error(Errc::kUnavailable, "the launcher is not running");
  EXPECT_FALSE(run_task(io, index->load()));
  EXPECT_NE(index->find(id), nullptr);
}

TEST_F(LayerIndexTest, RemembersFailuresForAShortTime) {
  index->remember_failure(kSpec, Error(Errc::kInvalidArgument, "no such package"));
  ASSERT_TRUE(index->failure_of(kSpec));
  EXPECT_EQ(index->failure_of(kSpec)->message(), "no such package");
  now += 100;
  EXPECT_FALSE(index->failure_of(kSpec));
}

TEST_F(LayerIndexTest, SortsCorruptFirstThenLeastRecentlyUsed) {
  const std::string used = put('a', 0, 300);
  const std::string old = put('b', 0, 100);
  const std::string corrupt = put('c', 0, 900);
  const std::string spared = put('d', 0, 1);
  ASSERT_TRUE(run_task(io, index->load()));
  LayerManifest manifest = *index->find(corrupt)->manifest;
  manifest.corrupt = true;
  ASSERT_TRUE(run_task(io, index->write_manifest(corrupt, manifest)));
  EXPECT_EQ(index->oldest_first(spared), (std::vector<std::string>{corrupt, old, used}));
}

TEST_F(LayerIndexTest, DroppingAMissingLayerSucceeds) {
  const std::string id = put('a', 9500);
  ASSERT_TRUE(run_task(io, index->load()));
  layers.all.clear();
  EXPECT_TRUE(run_task(io, index->drop(id)));
  EXPECT_EQ(index->find(id), nullptr);
}

TEST_F(LayerIndexTest, DoesNotDropALayerInUse) {
  const std::string id = put('a', 9500);
  layers.in_use.insert(id);
  ASSERT_TRUE(run_task(io, index->load()));
  auto dropped = run_task(io, index->drop(id));
  ASSERT_FALSE(dropped);
  EXPECT_EQ(dropped.error().code(), Errc::kConflict);
  EXPECT_NE(index->find(id), nullptr);
}

}  // namespace
}  // namespace glovebox::packages
