#include "packages/layer_view.h"

#include <algorithm>
#include <vector>

namespace glovebox::packages {

LayerView view_of(const LayerIndex::Known& known, const std::string& project) {
  LayerView view;
  view.record = known.record;
  if (!known.manifest) return view;
  const LayerManifest& manifest = *known.manifest;
  const auto may_see = [&project](const std::vector<std::string>& list) {
    return project == "*" || std::find(list.begin(), list.end(), project) != list.end();
  };
  view.manager = manifest.manager;
  view.interpreter = manifest.interpreter;
  view.index = manifest.index;
  view.packages = manifest.packages;
  view.checked_ms = manifest.checked_ms;
  for (const LayerManifest::Asked& asked : manifest.asked) {
    if (may_see(asked.projects)) view.asked.push_back(asked.text);
  }
  for (const std::string& one : manifest.projects) {
    if (project == "*" || one == project) view.projects.push_back(one);
  }
  return view;
}

bool belongs_to(const LayerIndex::Known& known, const std::string& project) {
  if (project == "*") return true;
  return known.manifest &&
         std::find(known.manifest->projects.begin(), known.manifest->projects.end(), project) !=
             known.manifest->projects.end();
}

}  // namespace glovebox::packages
