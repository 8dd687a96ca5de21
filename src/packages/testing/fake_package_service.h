// Sets of packages for tests of the routes: what was asked for, and what the test says comes of it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "packages/package_service.h"

namespace glovebox::packages {

class FakeDependencies final : public DependencyBook {
 public:
  using Play =
      std::function<Task<SetMade>(SetWish, OnBuildWord, std::shared_ptr<node::CancelFlag>)>;

  Task<SetMade> prepare(SetWish wish, OnBuildWord say,
                        std::shared_ptr<node::CancelFlag> cancel) override;
  Task<std::vector<LayerView>> list(std::string project) override;
  Task<LayerView> find(std::string project, std::string id) override;
  Task<> remove(std::string id) override;
  Task<PruneReport> prune(PruneWish wish) override;
  Task<CheckReport> check(std::string id) override;

  std::vector<SetWish> wishes;  // as they came
  // Without it a set is there at once, as layer `made_layer` and template `made_template`.
  Play play;
  std::string made_template = "own.setsetsetsetsetsetse";
  std::string made_layer = std::string(32, 'a');
  std::vector<LayerView> layers;
  std::vector<PruneWish> prunes;
  CheckReport checked{.intact = true, .expected = "e", .found = "e"};
};

// Says these words, then fails.
FakeDependencies::Play fails_after(std::vector<BuildWord> words, Error error);
LayerView layer_of(std::string id, std::vector<std::string> projects);

}  // namespace glovebox::packages
