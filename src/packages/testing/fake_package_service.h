// A package service for tests of the routes: records requests and returns what the test sets.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "packages/package_service.h"

namespace glovebox::packages {

class FakePackageService final : public PackageService {
 public:
  using Play = std::function<Task<PreparedPackages>(PackageSetRequest, OnBuildProgress,
                                                    std::shared_ptr<node::CancelFlag>)>;

  Task<PreparedPackages> prepare(PackageSetRequest request, OnBuildProgress report,
                                 std::shared_ptr<node::CancelFlag> cancel) override;
  Task<std::vector<LayerView>> list(std::string project) override;
  Task<LayerView> find(std::string project, std::string id) override;
  Task<> remove(std::string id) override;
  Task<PruneReport> prune(PruneRequest request) override;
  Task<CheckReport> check(std::string id) override;

  std::vector<PackageSetRequest> requests;  // in order
  // Without it a set is ready at once, as layer `made_layer` and template `made_template`.
  Play play;
  std::string made_template = "own.setsetsetsetsetsetse";
  std::string made_layer = std::string(32, 'a');
  std::vector<LayerView> layers;
  std::vector<PruneRequest> prunes;
  CheckReport checked{.intact = true, .expected = "e", .found = "e"};
};

// Reports this progress, then fails.
FakePackageService::Play fails_after(std::vector<BuildProgress> words, Error error);
LayerView layer_of(std::string id, std::vector<std::string> projects);

}  // namespace glovebox::packages
