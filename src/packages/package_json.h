// Packages, builds and layers as clients see them.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "packages/package_service.h"
#include "packages/builds/build_progress.h"
#include "model/dependencies.h"

namespace glovebox::packages {

// {"packages","preload","requirements_sha256","lock_sha256"}; null when there are none. The texts
// of files are not sent back: a list of sandboxes would be all requirements.
boost::json::value dependencies_json(const Dependencies& dependencies);

// Of a template's layers: one that holds packages by its id, wherever the launcher keeps it.
std::string layer_label(const std::string& place);

// {"phase","text"}, for a live event. The text is the installer's: made UTF-8 and bounded.
std::string build_progress_json(const BuildProgress& word);

// A layer as a project ("*": an administrator) may see it: who else asked is not told.
boost::json::object layer_json(const LayerView& layer, const std::string& project);

}  // namespace glovebox::packages
