#include "packages/package_layer_service.h"

#include <boost/json.hpp>

#include "packages/testing/package_service_fixture.h"

namespace glovebox::packages {
namespace {

using std::chrono::milliseconds;

TEST_F(PackageLayerServiceTest, BuildsOnceAndThenRunsWarm) {
  auto first = prepare(request_for({"alpha"}));
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_TRUE(first->built);
  EXPECT_EQ(first->layer_id, pipeline.made.front());
  EXPECT_EQ(templates.all[first->template_id].layers, std::vector<std::string>{first->layer_id});
  EXPECT_EQ(heard, (std::vector<std::string>{"resolving", "installing", "warming", "ready"}));
  EXPECT_EQ(published_events(), (std::vector<std::string>{"p layer.building", "p layer.progress",
                                                          "p layer.progress", "p layer.built"}));
  heard.clear();
  auto second = prepare(request_for({" Alpha "}));
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->built);
  EXPECT_EQ(second->template_id, first->template_id);
  EXPECT_EQ(pipeline.fetches.size(), 1u);
  EXPECT_EQ(heard, std::vector<std::string>{"ready"});
  EXPECT_EQ(service().figures().built, 1u);
  EXPECT_EQ(service().figures().layers, 1u);
  EXPECT_EQ(service().figures().layer_bytes, 1000u);
}

TEST_F(PackageLayerServiceTest, AnotherServerOfTheHostFindsTheLayer) {
  auto first = prepare(request_for({"alpha"}));
  ASSERT_TRUE(first);
  restart();
  auto second = prepare(request_for({"alpha"}));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->layer_id, first->layer_id);
  EXPECT_EQ(pipeline.fetches.size(), 1u);
  EXPECT_TRUE(pipeline.read.empty()) << "of this boot, and not long ago";
}

TEST_F(PackageLayerServiceTest, SeesLayersOfAnotherServerAfterARefresh) {
  ASSERT_TRUE(prepare(request_for({"alpha"})));
  const PackageServiceDependencies services{io,     host,     sessions, templates,
                                            layers, pipeline, events};
  PackageLayerService other(services, options);
  auto theirs = run_task(io, other.prepare(request_for({"beta"}), OnBuildProgress{}, cancel));
  ASSERT_TRUE(theirs);
  now += 3'000;
  auto ours = prepare(request_for({"beta"}));
  ASSERT_TRUE(ours);
  EXPECT_FALSE(ours->built);
  EXPECT_EQ(pipeline.fetches.size(), 2u);
}

TEST_F(PackageLayerServiceTest, RequestsWithTheSameArtefactsShareALayer) {
  auto first = prepare(request_for({"alpha"}));
  auto second = prepare(request_for({"alpha>=1"}));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->layer_id, second->layer_id);
  EXPECT_EQ(first->template_id, second->template_id);
  EXPECT_EQ(pipeline.fetches.size(), 2u);
  EXPECT_EQ(pipeline.made.size(), 1u);
  EXPECT_EQ(service().figures().reused, 1u);
  ASSERT_TRUE(prepare(request_for({"alpha>=1"})));
  EXPECT_EQ(pipeline.fetches.size(), 2u) << "both are remembered";
}

TEST_F(PackageLayerServiceTest, ConcurrentRequestsWithTheSameArtefactsMakeOneLayer) {
  pipeline.held = true;
  auto one = start_task(io, service().prepare(request_for({"alpha"}), OnBuildProgress{}, cancel));
  auto other_cancel = std::make_shared<node::CancelFlag>();
  auto two = start_task(
      io, service().prepare(request_for({"alpha>0"}, "q"), OnBuildProgress{}, other_cancel));
  run_until(io, [this] { return pipeline.fetches.size() == 2; });
  pipeline.let_go();
  run_until(io, [&] { return one->has_value() && two->has_value(); });
  ASSERT_TRUE(**one && **two);
  EXPECT_EQ(pipeline.made.size(), 1u);
}

TEST_F(PackageLayerServiceTest, ConcurrentRequestsForOneSetShareABuild) {
  pipeline.held = true;
  pipeline.lines = {"Collecting alpha"};
  std::vector<std::shared_ptr<std::optional<Result<PreparedPackages>>>> all;
  std::vector<std::string> late;
  for (int i = 0; i < 5; ++i) {
    auto own = std::make_shared<node::CancelFlag>();
    const OnBuildProgress report = [&late](const BuildProgress& progress) {
      late.push_back(progress.text);
    };
    all.push_back(start_task(
        io, service().prepare(request_for({"alpha"}, "p" + std::to_string(i)), report, own)));
    run_until(io, [this] { return pipeline.fetches.size() == 1; });
    io.restart();
    io.poll();
  }
  EXPECT_EQ(std::count(late.begin(), late.end(), "Collecting alpha"), 5);
  pipeline.let_go();
  run_until(io, [&all] {
    return std::all_of(all.begin(), all.end(), [](const auto& one) { return one->has_value(); });
  });
  std::set<std::string> ids;
  for (const auto& one : all) {
    ASSERT_TRUE(**one);
    EXPECT_TRUE((**one)->built);
    ids.insert((**one)->template_id);
  }
  EXPECT_EQ(ids.size(), 5u) << "each project has a zygote of its own";
  EXPECT_EQ(pipeline.fetches.size(), 1u);
}

// With deps.shared = false.
TEST_F(PackageLayerServiceTest, ProjectsThatDoNotShareSeeNothingOfEachOther) {
  options.shared = false;
  auto mine = prepare(request_for({"alpha"}, "p"));
  auto theirs = prepare(request_for({"alpha"}, "q"));
  ASSERT_TRUE(mine && theirs);
  EXPECT_TRUE(theirs->built);
  EXPECT_NE(theirs->layer_id, mine->layer_id);
  EXPECT_EQ(pipeline.fetches.size(), 2u);
  EXPECT_EQ(pipeline.made.size(), 2u);
  EXPECT_EQ(service().figures().reused, 0u);
  for (const char* project : {"p", "q"}) {
    const auto listed = run_task(io, service().list(project));
    ASSERT_TRUE(listed);
    EXPECT_EQ(listed->size(), 1u) << project;
  }
  // Within a project it is as ever, also after a restart.
  restart();
  auto again = prepare(request_for({"alpha"}, "p"));
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->built);
  EXPECT_EQ(again->layer_id, mine->layer_id);
}

TEST_F(PackageLayerServiceTest, ProjectsThatDoNotShareHaveFailuresAndBuildsOfTheirOwn) {
  options.shared = false;
  pipeline.failures = {Error(Errc::kInvalidArgument, "No matching distribution found for alpha")};
  EXPECT_FALSE(prepare(request_for({"alpha"}, "p")));
  EXPECT_TRUE(prepare(request_for({"alpha"}, "q"))) << "the failure is remembered for p only";
  pipeline.held = true;
  auto one =
      start_task(io, service().prepare(request_for({"beta"}, "p"), OnBuildProgress{}, cancel));
  auto other_cancel = std::make_shared<node::CancelFlag>();
  auto two = start_task(
      io, service().prepare(request_for({"beta"}, "q"), OnBuildProgress{}, other_cancel));
  run_until(io, [this] { return pipeline.fetches.size() == 4; });
  pipeline.let_go();
  run_until(io, [&] { return one->has_value() && two->has_value(); });
  ASSERT_TRUE(**one && **two);
  EXPECT_NE((**one)->layer_id, (**two)->layer_id);
}

// The control of the two above: what deps.shared = false is for.
TEST_F(PackageLayerServiceTest, ProjectsThatShareSeeThatASetIsThere) {
  auto mine = prepare(request_for({"alpha"}, "p"));
  auto theirs = prepare(request_for({"alpha"}, "q"));
  ASSERT_TRUE(mine && theirs);
  EXPECT_FALSE(theirs->built);
  EXPECT_EQ(theirs->layer_id, mine->layer_id);
}

TEST_F(PackageLayerServiceTest, AFailureHasTheInstallersMessageAndIsCachedBriefly) {
  pipeline.failures = {Error(Errc::kInvalidArgument, "No matching distribution found for alpha")};
  auto first = prepare(request_for({"alpha"}));
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code(), Errc::kInvalidArgument);
  EXPECT_EQ(first.error().message(), "No matching distribution found for alpha");
  EXPECT_EQ(published("p layer.failed"), 1u);
  auto second = prepare(request_for({"alpha"}));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message(), first.error().message());
  EXPECT_EQ(pipeline.fetches.size(), 1u);
  now += 1'000;
  EXPECT_TRUE(prepare(request_for({"alpha"})));
  EXPECT_EQ(service().figures().failed, 1u);
}

TEST_F(PackageLayerServiceTest, DoesNotCacheFailuresOfTheHost) {
  for (const Errc code : {Errc::kUnavailable, Errc::kResourceExhausted, Errc::kInternal}) {
    pipeline.failures = {Error(code, "the launcher went away")};
    EXPECT_FALSE(prepare(request_for({"alpha"})));
  }
  EXPECT_TRUE(prepare(request_for({"alpha"})));
}

TEST_F(PackageLayerServiceTest, ALockIsNeverResolvedAgain) {
  PackageSetRequest locked = request_for({});
  locked.dependencies.lock = "lock-version = \"1.0\"";
  ASSERT_TRUE(prepare(locked));
  now += 1'000'000;
  options.check_every = milliseconds(0);
  ASSERT_TRUE(prepare(locked));
  EXPECT_EQ(pipeline.fetches.size(), 1u);
}

TEST_F(PackageLayerServiceTest, ChecksALayerAfterABootBeforeItsUse) {
  auto first = prepare(request_for({"alpha"}));
  ASSERT_TRUE(first);
  restart();
  options.boot_id = "boot-2";
  heard.clear();
  ASSERT_TRUE(prepare(request_for({"alpha"})));
  ASSERT_EQ(pipeline.read.size(), 1u);
  EXPECT_EQ(pipeline.read[0], std::pair(first->layer_id, std::string("python")));
  EXPECT_EQ(heard[0], "checking");
  ASSERT_TRUE(prepare(request_for({"alpha"})));
  EXPECT_EQ(pipeline.read.size(), 1u) << "once a boot";
}

TEST_F(PackageLayerServiceTest, ACorruptLayerIsDroppedAndBuiltAgain) {
  auto first = prepare(request_for({"alpha"}));
  ASSERT_TRUE(first);
  first->hold.reset();
  restart();
  options.boot_id = "boot-2";
  pipeline.digest = std::string(64, 'b');
  auto second = prepare(request_for({"alpha"}));
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_TRUE(second->built);
  EXPECT_EQ(second->layer_id, first->layer_id) << "the same, made anew";
  EXPECT_EQ(layers.dropped, std::vector<std::string>{first->layer_id});
  EXPECT_EQ(pipeline.made.size(), 2u);
  const auto all = published_events();
  EXPECT_EQ(std::count(all.begin(), all.end(), "p layer.corrupt"), 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), "p layer.removed"), 1);
  EXPECT_EQ(service().figures().corrupt, 1u);
}

TEST_F(PackageLayerServiceTest, BuildsASecondLayerWhileACorruptOneIsInUse) {
  auto first = prepare(request_for({"alpha"}));
  ASSERT_TRUE(first);
  layers.in_use.insert(first->layer_id);
  pipeline.digest = std::string(64, 'b');
  auto report = run_task(io, service().check(first->layer_id));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_FALSE(report->intact);
  EXPECT_EQ(report->found, pipeline.digest);
  auto second = prepare(request_for({"alpha"}));
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_NE(second->layer_id, first->layer_id);
  EXPECT_TRUE(layers.all.contains(first->layer_id));
  // It is removed when it is no longer in use.
  layers.in_use.clear();
  first->hold.reset();
  pipeline.artefacts[0].version = "2";
  ASSERT_TRUE(prepare(request_for({"delta"})));
  EXPECT_FALSE(layers.all.contains(first->layer_id));
}

TEST_F(PackageLayerServiceTest, ChecksALayerInTheBackgroundWhenItIsDue) {
  auto first = prepare(request_for({"alpha"}));
  ASSERT_TRUE(first);
  now += 5'000;
  options.check_every = milliseconds(1'000);
  restart();
  heard.clear();
  ASSERT_TRUE(prepare(request_for({"alpha"})));
  EXPECT_TRUE(std::find(heard.begin(), heard.end(), "checking") == heard.end());
  run_until(io, [this] { return pipeline.read.size() == 1; });
  run_until(io,
            [&] { return parse_manifest(layers.all[first->layer_id].note)->checked_ms == now; });
}

TEST_F(PackageLayerServiceTest, BuildsADroppedLayerAgain) {
  auto first = prepare(request_for({"alpha"}));
  ASSERT_TRUE(first);
  first->hold.reset();
  layers.all.clear();
  templates.layers_gone.insert(first->layer_id);
  templates.later_refusals.emplace(first->template_id, Error(Errc::kNotFound, "layer: gone"));
  pipeline.artefacts[0].version = "3";
  auto second = prepare(request_for({"alpha"}));
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_TRUE(second->built);
}

TEST_F(PackageLayerServiceTest, RemovesTheLeastRecentlyUsedAboveTheCeiling) {
  options.disk_ceiling = 2500;
  std::vector<std::string> made_layers;
  for (int i = 0; i < 3; ++i) {
    pipeline.now_ms = now += 10;
    pipeline.artefacts[0].version = std::to_string(i);
    auto one = prepare(request_for({"alpha==" + std::to_string(i)}));
    ASSERT_TRUE(one);
    made_layers.push_back(one->layer_id);
  }
  EXPECT_EQ(layers.dropped, std::vector<std::string>{made_layers[0]});
  EXPECT_EQ(templates.forgotten.size(), 1u) << "its idle template made way";
}

TEST_F(PackageLayerServiceTest, RemovesThoseOfTheProjectThatKeepsMost) {
  options.disk_ceiling = 3500;
  auto victims = prepare(request_for({"alpha==0"}, "victim"));
  ASSERT_TRUE(victims);
  std::vector<std::string> hostile;
  for (int i = 1; i < 6; ++i) {
    pipeline.now_ms = now += 10;
    pipeline.artefacts[0].version = std::to_string(i);
    auto one = prepare(request_for({"alpha==" + std::to_string(i)}, "hostile"));
    ASSERT_TRUE(one);
    hostile.push_back(one->layer_id);
  }
  EXPECT_TRUE(layers.all.contains(victims->layer_id)) << "though it is the oldest";
  hostile.resize(3);
  EXPECT_EQ(layers.dropped, hostile);
}

TEST_F(PackageLayerServiceTest, OneProjectCannotPinAllOfTheDisk) {
  options.disk_ceiling = 3500;
  options.pinned_by = [](const std::string&) { return std::string("template mine"); };
  for (int i = 0; i < 3; ++i) {
    pipeline.artefacts[0].version = std::to_string(i);
    ASSERT_TRUE(prepare(request_for({"alpha==" + std::to_string(i)}, "hostile")));
  }
  pipeline.artefacts[0].version = "3";
  const auto refused = prepare(request_for({"alpha==3"}, "hostile"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::kResourceExhausted);
  EXPECT_EQ(refused.error().sys_errno(), ENOSPC);
  EXPECT_TRUE(layers.dropped.empty());
  EXPECT_TRUE(prepare(request_for({"alpha==3"}, "victim"))) << "others are not concerned";
}

TEST_F(PackageLayerServiceTest, ThereIsANumberOfLayersToo) {
  options.most_layers = 3;
  auto victims = prepare(request_for({"alpha==0"}, "victim"));
  ASSERT_TRUE(victims);
  for (int i = 1; i < 5; ++i) {
    pipeline.now_ms = now += 10;
    pipeline.artefacts[0].version = std::to_string(i);
    ASSERT_TRUE(prepare(request_for({"alpha==" + std::to_string(i)}, "hostile")));
  }
  EXPECT_EQ(layers.all.size(), 3u);
  EXPECT_TRUE(layers.all.contains(victims->layer_id));
}

TEST_F(PackageLayerServiceTest, ManyProjectsOfOneSetDoNotWriteItsManifestForEachRequest) {
  const auto all_ask = [this] {
    for (std::size_t i = 0; i < 2 * LayerManifest::kMostProjectsOfOne; ++i) {
      ASSERT_TRUE(prepare(request_for({"alpha"}, "p" + std::to_string(i))));
    }
  };
  // The project that had it built is in the manifest, and is pushed out of it by the others.
  all_ask();
  all_ask();
  const int noted = layers.noted;
  EXPECT_GT(noted, 0);
  for (int i = 0; i < 3; ++i) all_ask();
  EXPECT_EQ(layers.noted, noted);
}

TEST_F(PackageLayerServiceTest, NeverRemovesALayerInUse) {
  options.disk_ceiling = 1500;
  pipeline.now_ms = now;
  auto first = prepare(request_for({"alpha==0"}));  // held
  ASSERT_TRUE(first);
  layers.in_use.insert(first->layer_id);
  pipeline.artefacts[0].version = "2";
  pipeline.now_ms = now += 10;
  auto second = prepare(request_for({"alpha==2"}));
  ASSERT_TRUE(second);
  EXPECT_TRUE(layers.dropped.empty());
  EXPECT_TRUE(templates.forgotten.empty());
}

TEST_F(PackageLayerServiceTest, RemoveAndPruneKeepLayersInUse) {
  auto first = prepare(request_for({"alpha"}));
  pipeline.artefacts[0].version = "2";
  auto second = prepare(request_for({"beta"}));
  ASSERT_TRUE(first && second);
  layers.in_use = {first->layer_id};
  auto removed = run_task(io, service().remove(first->layer_id));
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code(), Errc::kConflict);
  second->hold.reset();
  PruneRequest dry;
  dry.dry_run = true;
  auto would = run_task(io, service().prune(dry));
  ASSERT_TRUE(would);
  EXPECT_EQ(would->removed, std::vector<std::string>{second->layer_id});
  EXPECT_TRUE(layers.dropped.empty());
  auto pruned = run_task(io, service().prune(PruneRequest{}));
  ASSERT_TRUE(pruned);
  EXPECT_EQ(pruned->removed, std::vector<std::string>{second->layer_id});
  EXPECT_EQ(pruned->bytes, 1000u);
  EXPECT_EQ(layers.dropped, std::vector<std::string>{second->layer_id});
  PruneRequest old;
  old.unused_for = std::chrono::hours(1);
  layers.in_use.clear();
  EXPECT_TRUE(run_task(io, service().prune(old))->removed.empty());
  EXPECT_EQ(run_task(io, service().remove(std::string(32, 'f'))).error().code(), Errc::kNotFound);
}

TEST_F(PackageLayerServiceTest, AProjectSeesOnlyItsOwnRequests) {
  auto mine = prepare(request_for({"alpha"}, "p"));
  ASSERT_TRUE(prepare(request_for({"alpha>=1"}, "q")));
  pipeline.artefacts[0].version = "2";
  ASSERT_TRUE(prepare(request_for({"beta"}, "q")));
  auto of_p = run_task(io, service().list("p"));
  ASSERT_TRUE(of_p);
  ASSERT_EQ(of_p->size(), 1u);
  EXPECT_EQ((*of_p)[0].asked, std::vector<std::string>{"alpha"});
  EXPECT_EQ((*of_p)[0].projects, std::vector<std::string>{"p"});
  EXPECT_EQ((*of_p)[0].packages,
            (std::vector<Artefact>{{"alpha", "1.0", "alpha-1.0-py3-none-any.whl", "11"}}));
  EXPECT_EQ(run_task(io, service().list("q"))->size(), 2u);
  EXPECT_EQ(run_task(io, service().list("nobody"))->size(), 0u);
  auto all = run_task(io, service().list("*"));
  ASSERT_EQ(all->size(), 2u);
  const std::string short_id = mine->layer_id.substr(0, 8);
  EXPECT_EQ(run_task(io, service().find("p", short_id))->record.id, mine->layer_id);
  EXPECT_EQ(run_task(io, service().find("nobody", mine->layer_id)).error().code(), Errc::kNotFound);
  const auto too_short = run_task(io, service().find("p", mine->layer_id.substr(0, 7)));
  EXPECT_EQ(too_short.error().code(), Errc::kNotFound);
  EXPECT_NE(too_short.error().message().find("at least the first 8 characters"), std::string::npos);
}

TEST_F(PackageLayerServiceTest, RefusesInvalidRequests) {
  EXPECT_EQ(prepare(request_for({})).error().code(), Errc::kInvalidArgument);
  EXPECT_EQ(prepare(request_for({"a"}, "p", "base")).error().code(), Errc::kInvalidArgument);
  EXPECT_EQ(prepare(request_for({"a"}, "p", "nothing")).error().code(), Errc::kNotFound);
  PackageSetRequest preloading = request_for({"a"}, "p", "node");
  preloading.dependencies.preload = {"a"};
  EXPECT_EQ(prepare(preloading).error().code(), Errc::kInvalidArgument);
  PackageSetRequest with_hosts = request_for({"a"}, "p", "node");
  with_hosts.dependencies.host_packages = true;
  EXPECT_EQ(prepare(with_hosts).error().code(), Errc::kInvalidArgument);
  restart();
  options.unusable = "deps.index_url: is no address";
  EXPECT_EQ(prepare(request_for({"a"})).error().code(), Errc::kUnsupported);
  restart();
  options.enabled = false;
  EXPECT_EQ(prepare(request_for({"a"})).error().code(), Errc::kPolicy);
  EXPECT_TRUE(pipeline.fetches.empty());
}

TEST_F(PackageLayerServiceTest, PreloadComesAfterTheTemplatesOwn) {
  PackageSetRequest wanted = request_for({"alpha"});
  wanted.definition.preload = {"json"};
  wanted.definition.env = {"A=b"};
  wanted.dependencies.preload = {"alpha", "json"};
  auto got = prepare(wanted);
  ASSERT_TRUE(got);
  const TemplateDefinition& definition = templates.all[got->template_id];
  EXPECT_EQ(definition.preload, (std::vector<std::string>{"json", "alpha"}));
  EXPECT_EQ(definition.env, wanted.definition.env);
}

TEST_F(PackageLayerServiceTest, HidesTheHostsPackagesUnlessAskedFor) {
  const auto hidden = prepare(request_for({"alpha"}));
  ASSERT_TRUE(hidden);
  PackageSetRequest wanted = request_for({"alpha"});
  wanted.dependencies.host_packages = true;
  const auto shown = prepare(wanted);
  ASSERT_TRUE(shown);
  ASSERT_EQ(pipeline.fetches.size(), 2u);
  EXPECT_FALSE(pipeline.fetches[0].layout.host_packages);
  EXPECT_TRUE(pipeline.fetches[0].layout.own_site);
  EXPECT_TRUE(pipeline.fetches[1].layout.host_packages);
  EXPECT_FALSE(pipeline.fetches[1].layout.own_site);
  EXPECT_NE(hidden->layer_id, shown->layer_id);
  EXPECT_NE(hidden->template_id, shown->template_id);
}

TEST_F(PackageLayerServiceTest, NodeUsesNpm) {
  ASSERT_TRUE(prepare(request_for({"lodash"}, "p", "node")));
  EXPECT_EQ(pipeline.fetches[0].manager, PackageManager::kNpm);
  EXPECT_EQ(pipeline.fetches[0].template_name, "node");
}

TEST_F(PackageLayerServiceTest, LimitsTheEventsOfAVerboseInstaller) {
  pipeline.lines.assign(2'000, "Downloading something");
  ASSERT_TRUE(prepare(request_for({"alpha"})));
  EXPECT_LT(published("p layer.progress"), 30u);
  EXPECT_GT(heard.size(), 2'000u) << "who waits hears it all";
}

TEST_F(PackageLayerServiceTest, StartsNothingAfterStop) {
  pipeline.held = true;
  auto under_way =
      start_task(io, service().prepare(request_for({"alpha"}), OnBuildProgress{}, cancel));
  run_until(io, [this] { return pipeline.fetches.size() == 1; });
  service().stop();
  run_until(io, [&] { return under_way->has_value(); });
  EXPECT_EQ((**under_way).error().code(), Errc::kUnavailable);
  EXPECT_EQ(pipeline.cancelled, 1);
  EXPECT_EQ(prepare(request_for({"alpha"})).error().code(), Errc::kUnavailable);
}

}  // namespace
}  // namespace glovebox::packages
