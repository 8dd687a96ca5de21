// What one project sees of a layer: the requests and projects of others stay hidden.
#pragma once

#include <string>

#include "packages/builds/build_progress.h"
#include "packages/layer_index.h"

namespace glovebox::packages {

// `project`: "*" is the administrator, who sees everything.
LayerView view_of(const LayerIndex::Known& known, const std::string& project);
bool belongs_to(const LayerIndex::Known& known, const std::string& project);

}  // namespace glovebox::packages
