// When a set of packages is kept and when it is updated: resolved again in the background, pinned
// by templates and snapshots, and never removed while pinned.
#include "packages/testing/package_service_fixture.h"

namespace glovebox::packages {
namespace {

using std::chrono::milliseconds;

class PackageRetention : public PackageLayerServiceTest {
 protected:
  PackageRetention() {
    options.pinned_by = [this](const std::string& layer) {
      return layer == pinned ? std::string("template mine") : std::string();
    };
  }
  // The index has a new version, and the cached result has expired.
  void time_passes() {
    now += 10'000;
    pipeline.artefacts[0].version += ".1";
  }
  void run_behind() {
    run_until(io,
              [this] { return service().figures().building + service().figures().queued == 0; });
  }
  std::string pinned;
};

TEST_F(PackageRetention, ResolvesAnExpiredSetInTheBackground) {
  auto first = prepare(request_for({"alpha"}));
  ASSERT_TRUE(first);
  time_passes();
  pipeline.held = true;
  heard.clear();
  auto same = prepare(request_for({"alpha"}));
  ASSERT_TRUE(same);
  EXPECT_EQ(same->layer_id, first->layer_id);
  EXPECT_EQ(same->template_id, first->template_id);
  EXPECT_FALSE(same->built);
  EXPECT_EQ(heard, std::vector<std::string>{"ready"}) << "the call does not wait for the index";
  run_until(io, [this] { return pipeline.fetches.size() == 2; });
  ASSERT_TRUE(prepare(request_for({"alpha"})));
  EXPECT_EQ(pipeline.fetches.size(), 2u) << "once";
  pipeline.let_go();
  run_behind();
  heard.clear();
  auto newer = prepare(request_for({"alpha"}));
  ASSERT_TRUE(newer);
  EXPECT_NE(newer->layer_id, first->layer_id);
  EXPECT_NE(newer->template_id, first->template_id);
  EXPECT_FALSE(newer->built);
  EXPECT_EQ(heard, std::vector<std::string>{"ready"}) << "its interpreter waits already";
  EXPECT_EQ(pipeline.fetches.size(), 2u);
}

TEST_F(PackageRetention, IsFreshAgainIfTheResultIsTheSame) {
  auto first = prepare(request_for({"alpha"}));
  ASSERT_TRUE(first);
  for (std::size_t times = 2; times < 5; ++times) {
    now += 10'000;
    auto same = prepare(request_for({"alpha"}));
    ASSERT_TRUE(same);
    EXPECT_EQ(same->layer_id, first->layer_id);
    run_until(io, [&] { return pipeline.fetches.size() == times; });
    run_behind();
    ASSERT_TRUE(prepare(request_for({"alpha"})));
    EXPECT_EQ(pipeline.fetches.size(), times);
  }
}

TEST_F(PackageRetention, PublishesABackgroundFailureAndTheCallSucceeds) {
  auto first = prepare(request_for({"alpha"}));
  ASSERT_TRUE(first);
  // One of the index, and one of this host, which is not cached.
  for (const Errc code : {Errc::kInvalidArgument, Errc::kUnavailable}) {
    const std::size_t before = pipeline.fetches.size();
    now += 100'000;
    published_events();
    pipeline.failures = {Error(code, "could not connect")};
    auto second = prepare(request_for({"alpha"}));
    ASSERT_TRUE(second) << second.error().message();
    EXPECT_EQ(second->layer_id, first->layer_id);
    run_until(io, [&] { return pipeline.fetches.size() == before + 1; });
    run_behind();
    EXPECT_EQ(published("p layer.failed"), 1u);
    ASSERT_TRUE(prepare(request_for({"alpha"})));
    io.poll();
    EXPECT_EQ(pipeline.fetches.size(), before + 1) << "not again for a while";
  }
  now += 100'000;
  ASSERT_TRUE(prepare(request_for({"alpha"})));
  run_until(io, [&] { return pipeline.fetches.size() == 4; });
}

TEST_F(PackageRetention, ABackgroundBuildYieldsToABuildWithAWaiter) {
  options.max_builds = 1;
  ASSERT_TRUE(prepare(request_for({"alpha"})));
  now += 10'000;
  pipeline.held = true;
  ASSERT_TRUE(prepare(request_for({"alpha"})));
  run_until(io, [this] { return pipeline.fetches.size() == 2; });
  auto other = start_task(io, service().prepare(request_for({"beta"}), OnBuildProgress{}, cancel));
  run_until(io, [this] { return pipeline.fetches.size() == 3; });
  EXPECT_EQ(pipeline.cancelled, 1);
  pipeline.let_go();
  run_until(io, [&] { return other->has_value(); });
  EXPECT_TRUE(**other);
}

TEST_F(PackageRetention, ResolvesNowOnRequest) {
  auto first = prepare(request_for({"alpha"}));
  ASSERT_TRUE(first);
  PackageSetRequest again = request_for({"alpha"});
  again.resolve_now = true;
  auto same = prepare(again);
  ASSERT_TRUE(same);
  EXPECT_EQ(pipeline.fetches.size(), 2u);
  EXPECT_EQ(same->layer_id, first->layer_id);
  EXPECT_FALSE(same->built) << "there is nothing newer";
  pipeline.artefacts[0].version = "1.1";
  now += 1;  // the newer of two that were made at the same moment cannot be told
  auto newer = prepare(again);
  ASSERT_TRUE(newer);
  EXPECT_TRUE(newer->built);
  EXPECT_NE(newer->layer_id, first->layer_id);
  EXPECT_EQ(prepare(request_for({"alpha"}))->layer_id, newer->layer_id);
  pipeline.failures = {Error(Errc::kInvalidArgument, "could not connect")};
  EXPECT_FALSE(prepare(again));
  EXPECT_TRUE(prepare(request_for({"alpha"})));
  PackageSetRequest locked = request_for({});
  locked.dependencies.lock = "lock-version = \"1.0\"";
  locked.resolve_now = true;
  ASSERT_TRUE(prepare(locked));
  const std::size_t fetches = pipeline.fetches.size();
  ASSERT_TRUE(prepare(locked));
  EXPECT_EQ(pipeline.fetches.size(), fetches) << "a lock says what it comes to";
}

TEST_F(PackageRetention, UsesAKeptLayerDespiteANewerVersion) {
  auto first = prepare(request_for({"alpha"}));
  ASSERT_TRUE(first);
  PackageSetRequest own = request_for({"alpha"});
  own.definition.id = "own.abcdefghij0123456789";
  own.kept_layer = first->layer_id;
  own.resolve_now = true;
  for (int times = 0; times < 3; ++times) {
    time_passes();
    restart();
    auto kept = prepare(own);
    ASSERT_TRUE(kept) << kept.error().message();
    EXPECT_EQ(kept->layer_id, first->layer_id);
    EXPECT_EQ(kept->template_id, own.definition.id);
    EXPECT_FALSE(kept->built);
    io.poll();
    EXPECT_EQ(pipeline.fetches.size(), 1u);
  }
  // Other requests use the newer version.
  PackageSetRequest others = request_for({"alpha"});
  others.resolve_now = true;
  EXPECT_NE(prepare(others)->layer_id, first->layer_id);
  EXPECT_EQ(prepare(own)->layer_id, first->layer_id);
}

TEST_F(PackageRetention, ResolvesAgainIfTheKeptLayerIsGoneOrCorrupt) {
  PackageSetRequest own = request_for({"alpha"});
  own.kept_layer = std::string(32, 'f');
  auto gone = prepare(own);
  ASSERT_TRUE(gone) << gone.error().message();
  EXPECT_EQ(pipeline.fetches.size(), 1u);
  EXPECT_NE(gone->layer_id, own.kept_layer);
  own.kept_layer = pinned = gone->layer_id;
  gone->hold.reset();
  restart();
  options.boot_id = "boot-2";
  pipeline.digest = std::string(64, 'b');
  auto corrupt = prepare(own);
  ASSERT_TRUE(corrupt) << corrupt.error().message();
  EXPECT_TRUE(corrupt->built);
  EXPECT_EQ(pipeline.fetches.size(), 2u);
  EXPECT_EQ(layers.dropped, std::vector<std::string>{gone->layer_id})
      << "a corrupt layer is not kept";
}

TEST_F(PackageRetention, DoesNotUseAKeptLayerWithAnotherPython) {
  std::string mark = "python3.11 100 1";
  options.interpreter_mark = [&mark](PackageManager) { return mark; };
  auto first = prepare(request_for({"alpha"}));
  ASSERT_TRUE(first);
  PackageSetRequest own = request_for({"alpha"});
  own.kept_layer = first->layer_id;
  mark = "python3.11 101 2";  // the host has an update of the same version
  ASSERT_TRUE(prepare(own));
  EXPECT_EQ(pipeline.fetches.size(), 1u);
  mark = "python3.12 100 1";
  ASSERT_TRUE(prepare(own));
  EXPECT_EQ(pipeline.fetches.size(), 2u);
}

TEST_F(PackageRetention, NeverRemovesTheLayerOfATemplate) {
  options.disk_ceiling = 1'500;
  auto first = prepare(request_for({"alpha"}));
  ASSERT_TRUE(first);
  pinned = first->layer_id;
  first->hold.reset();
  restart();  // not used since
  auto listed = run_task(io, service().list("p"));
  ASSERT_TRUE(listed);
  EXPECT_TRUE(listed->front().record.in_use);
  EXPECT_TRUE(run_task(io, service().find("p", pinned))->record.in_use);
  auto removed = run_task(io, service().remove(pinned));
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code(), Errc::kConflict);
  EXPECT_EQ(removed.error().message(), "the layer is in use by template mine");
  auto pruned = run_task(io, service().prune({}));
  ASSERT_TRUE(pruned);
  EXPECT_TRUE(pruned->removed.empty());
  pipeline.artefacts[0].version = "2";
  ASSERT_TRUE(prepare(request_for({"beta"})));
  EXPECT_TRUE(layers.all.contains(pinned)) << "above the ceiling, and the longest unused";
  // It can be removed after the template.
  const std::string layer = std::exchange(pinned, "");
  ASSERT_TRUE(run_task(io, service().remove(layer)));
  EXPECT_FALSE(layers.all.contains(layer));
}

TEST_F(PackageRetention, RemovesALayerAfterItsTemplate) {
  PackageSetRequest own = request_for({"alpha"});
  own.definition.id = "own.abcdefghij0123456789";
  auto first = prepare(own);
  ASSERT_TRUE(first);
  first->hold.reset();
  layers.in_use.insert(first->layer_id);
  EXPECT_TRUE(run_task(io, service().prune({}))->removed.empty());
  templates.forget(own.definition.id);  // as ProjectTemplates does
  layers.in_use.clear();
  EXPECT_EQ(run_task(io, service().prune({}))->removed, std::vector<std::string>{first->layer_id});
}

}  // namespace
}  // namespace glovebox::packages
