// The package settings that the server reads before it drops privileges: the indexes with their
// passwords, which only root may read, and the boot id of the host.
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

// An unusable index disables only packages: requests for them fail with the reason.
PackageSettings read_package_settings(const config::Settings& settings);

}  // namespace glovebox::server
