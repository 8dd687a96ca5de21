// The options of `glovebox layers build` and `prune` as bodies of requests.
#pragma once

#include <string>

#include "base/result.h"
#include "wire/packages/package_options.h"

namespace glovebox::client {

struct LayerOptions {
  wire::PackageOptions packages;
  std::string template_name;
  std::string project;
  std::string unused_for;
  bool dry_run = false;
};

// The body of POST /v1/layers.
Result<std::string> new_layer_json(const LayerOptions& layer);
// The body of POST /v1/layers/prune. --unused-for takes days ("7d") besides the usual units.
Result<std::string> prune_json(const LayerOptions& layer);

}  // namespace glovebox::client
