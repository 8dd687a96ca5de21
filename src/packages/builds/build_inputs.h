// The input files of a build's first sandbox: the requested packages and the settings of the index.
// The settings may hold passwords: they go only into the sandbox that fetches, where no package
// code runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/package_index.h"
#include "model/dependencies.h"
#include "packages/builds/build_pipeline.h"
#include "packages/builds/build_progress.h"

namespace glovebox::packages {

// Paths in the sandbox.
inline constexpr const char* kBuildInputDir = "/home/user/in/";
inline constexpr const char* kBuildOutputDir = "/home/user/out/";

// {"packages":[...],"requirements":...,"lock":...}: only the fields that are set.
std::string package_request_json(const Dependencies& dependencies);
// {"<wheel>": {"name","version","file","sha256"}}: the source of each wheel.
std::string built_json(const std::map<std::string, Artefact>& built);

// {"host_packages": true, "own_site": false}: what an installed Python layer should be like.
std::string layout_json(const PythonLayout& layout);

std::string pip_conf(const config::PackageIndexes& indexes);
std::string npmrc(const config::PackageIndexes& indexes);

// The passwords and tokens that must be hidden in output.
std::vector<std::string> secrets_of(const config::PackageIndexes& indexes);

}  // namespace glovebox::packages
