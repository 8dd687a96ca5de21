// What the server knows of packages before it gives up its rights: the indexes with their
// passwords, which only root may read, and this boot of this host.
#pragma once

#include <cstdint>

#include "config/settings.h"
#include "packages/builds/build_pipeline.h"
#include "packages/package_layer_service.h"

namespace glovebox::server {

struct PackageSettings {
  packages::BuildOptions building;
  packages::PackageServiceOptions service;
};

// An index that cannot be used stops nothing but packages: whoever asks for one hears why.
PackageSettings read_package_settings(const config::Settings& settings);

}  // namespace glovebox::server
