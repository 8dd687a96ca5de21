// Fixture for tests of PackageLayerService, with a fake host, launcher and clock, and builds that
// the test controls.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "packages/package_layer_service.h"
#include "packages/testing/fake_host.h"
#include "packages/testing/fake_packages.h"

namespace glovebox::packages {

class PackageLayerServiceTest : public ::testing::Test {
 protected:
  PackageLayerServiceTest() : pipeline(io, layers), events(io.get_executor()) {
    pipeline.now_ms = now;
    options.pip_index = "https://pypi.org/simple";
    options.npm_index = "https://registry.npmjs.org";
    options.architecture = "x86_64";
    options.boot_id = "boot-1";
    options.resolve_ttl = std::chrono::milliseconds(10'000);
    options.failure_ttl = std::chrono::milliseconds(1'000);
    options.check_every = std::chrono::milliseconds(100'000);
    options.refresh_every = std::chrono::milliseconds(3'000);
    options.templates.look_every = std::chrono::milliseconds(1);
    options.templates.ready_within = std::chrono::milliseconds(200);
    options.now_ms = [this] { return now; };
    listener = events.subscribe("", std::nullopt);
  }

  PackageLayerService& service() {
    if (!made) {
      const PackageServiceDependencies services{io,     host,     sessions, templates,
                                                layers, pipeline, events};
      made = std::make_unique<PackageLayerService>(services, options);
    }
    return *made;
  }
  // Another server of the same host.
  void restart() { made.reset(); }

  static PackageSetRequest request_for(std::vector<std::string> packages, std::string project = "p",
                                       std::string from = "python") {
    PackageSetRequest request;
    request.project = std::move(project);
    request.definition.from = std::move(from);
    request.dependencies.packages = std::move(packages);
    return request;
  }
  Result<PreparedPackages> prepare(PackageSetRequest wanted) {
    const OnBuildProgress report = [this](const BuildProgress& progress) {
      heard.push_back(progress.text.empty() ? phase_name(progress.phase) : progress.text);
    };
    return run_task(io, service().prepare(std::move(wanted), report, cancel));
  }
  std::vector<std::string> published_events() {
    std::vector<std::string> types;
    for (const events::Event& event : listener->take())
      types.push_back(event.project + " " + event.type);
    return types;
  }
  std::size_t published(const std::string& what) {
    const auto all = published_events();
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), what));
  }

  asio::io_context io;
  std::int64_t now = 1'000'000;
  HostTemplates host;
  NamedSessions sessions;
  DefinedTemplates templates;
  FakeLayers layers;
  ScriptedPipeline pipeline;
  events::EventHub events;
  std::unique_ptr<events::EventHub::Subscription> listener;
  PackageServiceOptions options;
  std::unique_ptr<PackageLayerService> made;
  std::vector<std::string> heard;
  std::shared_ptr<node::CancelFlag> cancel = std::make_shared<node::CancelFlag>();
};

}  // namespace glovebox::packages
