// The read-only layer under every sandbox of the default template: a root directory with our own
// /etc, links into /usr, and empty places to mount on. Made once per state of the host's files and
// kept; the host's /usr itself is mounted beside it.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::launcher {

// The directory of the layer, made if it is not there yet. Many launchers may ask at once.
Result<std::string> ensure_host_layer(const std::string& layers_dir);

// GLOVEBOX_LAYERS_DIR if it names a place; else /var/lib/glovebox/layers for root, the user's cache
// directory otherwise.
std::string default_layers_dir();

}  // namespace glovebox::launcher
