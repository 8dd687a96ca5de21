// JSON of packages, builds and layers for clients.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "model/dependencies.h"
#include "packages/builds/build_progress.h"
#include "packages/package_service.h"

namespace glovebox::packages {

// {"packages","preload","requirements_sha256","lock_sha256"}; null if empty. Files are
// not sent back: they would fill a list of sandboxes.
boost::json::value dependencies_json(const Dependencies& dependencies);

// How a template's layer is shown: a package layer by its id, any other layer by its path.
std::string layer_label(const std::string& path);

// {"phase","text"}, for a live event. The installer's text is made UTF-8 and bounded.
std::string build_progress_json(const BuildProgress& progress);

// A layer as a project ("*": an administrator) may see it, without other projects.
boost::json::object layer_json(const LayerView& layer, const std::string& project);

// {"removed","bytes","dry_run"}: what a prune has removed, or would.
boost::json::object pruned_json(const std::vector<std::string>& removed, std::uint64_t bytes,
                                bool dry_run);

}  // namespace glovebox::packages
