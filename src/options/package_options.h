// The options that name packages: --with, --requirements, --lock, --preload, --host-packages. Every
// command that installs packages has this group.
#pragma once

#include <string_view>

#include "options/option.h"

namespace glovebox::options {

// `packages` is a wire::PackageOptions; a template, because this layer cannot include wire/.
template <class Packages>
OptionGroup package_options(std::string_view title, Packages& packages) {
  return {
      title,
      {{"--with", "PACKAGE",
        "install a package first, like 'pandas>=2' or lodash@4, and cache it (repeatable)",
        &packages.with},
       {"--requirements", "FILE",
        "install the packages of a requirements.txt first, with or without hashes",
        &packages.requirements},
       {"--lock", "FILE", "install the packages of a pylock.toml or package-lock.json first",
        &packages.lock},
       {"--preload", "MODULE[,MODULE]",
        "import these modules in advance, so that later calls start faster "
        "(repeatable)",
        &packages.preload},
       {"--host-packages", "", "with packages: keep the host's own Python packages visible as well",
        &packages.host_packages}}};
}

}  // namespace glovebox::options
