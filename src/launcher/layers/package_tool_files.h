// What sudo and package managers expect in a host layer: our own configuration of them, and the
// host's list of packages. The host's own sudoers and package sources are not copied: they may hold
// passwords.
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
// Created with their parents.
std::span<const char* const> package_tool_directories();
// After the host's certificates were copied: makes pip use them, so that a private certificate
// authority of the host works.
Result<> name_certificates(const std::filesystem::path& root);
// Copies the host's list of packages below `root`, as hard links if it is on the same filesystem:
// dpkg replaces its files and never writes into them, so a link keeps the old content.
Result<> add_package_list(const std::filesystem::path& root);

}  // namespace glovebox::launcher
