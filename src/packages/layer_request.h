// The bodies of the routes of layers: what a caller wants, checked and bounded.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "packages/package_service.h"
#include "model/dependencies.h"

namespace glovebox::packages {

struct LayerRequest {
  std::string template_name;  // "python" when nothing is said
  Dependencies dependencies;  // some
  bool refresh = false;       // the index is asked, also if it is known what they come to
};
// {dependencies, template?, language?, refresh?}
Result<LayerRequest> parse_layer_request(std::string_view body);

// {unused_for_s?, dry_run?}; an empty body says nothing.
Result<PruneRequest> parse_prune_request(std::string_view body);

}  // namespace glovebox::packages
