// Which package options fit the language of the code.
#pragma once

#include "base/result.h"
#include "wire/packages/package_options.h"

namespace glovebox::cli {

// kInvalidArgument: an option that is for Python only.
Result<> check_packages_for_node(const wire::PackageOptions& packages);

}  // namespace glovebox::cli
