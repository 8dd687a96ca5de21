// The read-only layer below every sandbox: a root directory with our own /etc, links into /usr, and
// empty mount points. Built once per state of the host's files and reused; the host's /usr itself
// is mounted separately.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "launcher/layers/package_tool_files.h"

namespace glovebox::launcher {

// The directory of the layer, built if it does not exist. Safe with several launchers at once.
Result<std::string> ensure_host_layer(const std::string& layers_dir);

// Those of our own files in /etc that say how names are resolved in a sandbox.
std::span<const LayerFile> network_files();

// GLOVEBOX_LAYERS_DIR if it is an absolute path; else /var/lib/glovebox/layers for root, the user's
// cache directory otherwise.
std::string default_layers_dir();

}  // namespace glovebox::launcher
