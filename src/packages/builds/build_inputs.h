// The files that a build's first sandbox is given: what is wanted, and the settings with which the
// index is asked. The settings may hold passwords: they go into the sandbox that fetches, where no
// package's code runs, and nowhere else.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/package_index.h"
#include "packages/builds/build_progress.h"
#include "model/dependencies.h"

namespace glovebox::packages {

// Where they are in the sandbox.
inline constexpr const char* kBuildInputDir = "/home/user/in/";
inline constexpr const char* kBuildOutputDir = "/home/user/out/";

// {"packages":[...],"requirements":...,"lock":...}: only what there is.
std::string package_request_json(const Dependencies& dependencies);
// {"<wheel>": {"name","version","file","sha256"}}: of which source each was built.
std::string built_json(const std::map<std::string, Artefact>& built);

std::string pip_conf(const config::PackageIndexes& indexes);
std::string npmrc(const config::PackageIndexes& indexes);

// What must not be shown if a program prints it: passwords and tokens.
std::vector<std::string> secrets_of(const config::PackageIndexes& indexes);

}  // namespace glovebox::packages
