// Parses the request bodies of the layer routes, checked and bounded.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/dependencies.h"
#include "packages/package_service.h"

namespace glovebox::packages {

struct LayerRequest {
  std::string template_name;  // "python" by default
  Dependencies dependencies;  // never empty
  bool refresh = false;       // ask the index even if the result is cached
};
// {dependencies, template?, language?, refresh?}
Result<LayerRequest> parse_layer_request(std::string_view body);

// {unused_for_s?, dry_run?}; an empty body means the defaults.
Result<PruneRequest> parse_prune_request(std::string_view body);

}  // namespace glovebox::packages
