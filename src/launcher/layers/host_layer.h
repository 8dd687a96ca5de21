// The read-only layer below every sandbox: a root directory with our own /etc, links into /usr, and
// empty mount points. Built once per state of the host's files and reused; the host's /usr itself
// is mounted separately.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "launcher/layers/package_tool_files.h"

namespace glovebox::launcher {

// The directories of our own layers.
struct HostLayers {
  std::string host;      // what is below every sandbox that has the host's files
  std::string runtimes;  // only our runtimes (/opt/glovebox), which lie over the files of an image
};

// Built if they do not exist. Safe with several launchers at once.
Result<HostLayers> ensure_host_layers(const std::string& layers_dir);

// Those of our own files in /etc that say how names are resolved in a sandbox.
std::span<const LayerFile> network_files();

// GLOVEBOX_LAYERS_DIR if it is an absolute path; else /var/lib/glovebox/layers for root, the user's
// cache directory otherwise.
std::string default_layers_dir();

}  // namespace glovebox::launcher
