#include "cli/package_language.h"

namespace glovebox::cli {

Result<> check_packages_for_node(const wire::PackageOptions& packages) {
  if (!packages.preload.empty()) {
    return fail(Errc::kInvalidArgument, "--preload is for Python only");
  }
  if (packages.host_packages) {
    return fail(Errc::kInvalidArgument, "--host-packages is for Python only");
  }
  if (!packages.requirements.empty()) {
    return fail(
        Errc::kInvalidArgument,
        "--requirements is for Python only; use --with or --lock package-lock.json for Node");
  }
  return {};
}

}  // namespace glovebox::cli
