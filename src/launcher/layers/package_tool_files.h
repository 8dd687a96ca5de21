// What sudo and a package manager expect to find in a host layer: their settings, written by us,
// and the host's list of packages. Nothing of it is secret, and nothing is the host's own setting:
// its sudoers and its sources of packages may hold passwords.
#pragma once

#include <filesystem>
#include <span>

#include "base/result.h"

namespace glovebox::launcher {

struct LayerFile {
  const char* path;  // below the layer
  const char* text;
};
std::span<const LayerFile> package_tool_files();
// With their parents.
std::span<const char* const> package_tool_directories();
// After the host's certificates were copied: a package client of whatever make finds them, also one
// of an authority of the host's own.
Result<> name_certificates(const std::filesystem::path& root);
// Below `root`. Hard links where the layer is on the same disk: dpkg replaces its files and never
// writes into one, so a link keeps what it was made of.
Result<> add_package_list(const std::filesystem::path& root);

}  // namespace glovebox::launcher
