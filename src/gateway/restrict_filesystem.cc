#include "gateway/restrict_filesystem.h"

#include <sys/prctl.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "sys/landlock.h"

namespace glovebox::gateway {
namespace {

constexpr const char* kFiles[] = {"/etc/resolv.conf", "/etc/hosts"};

}  // namespace

Result<> restrict_to_resolver_files() {
  const int abi = sys::landlock_abi();
  if (abi == 0) return {};
  sys::LandlockPaths paths;
  paths.readable = {"/etc", "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager"};
  for (const char* file : kFiles) {
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(file, nullptr), &std::free);
    if (!real) continue;
    const std::string path = real.get();
    const std::size_t slash = path.rfind('/');
    if (slash > 0) paths.readable.push_back(path.substr(0, slash));
  }
  TRY(const UniqueFd ruleset, sys::make_landlock_ruleset(abi, paths));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return fail(Error::from_errno("no_new_privs"));
  }
  if (const int error = sys::enter_landlock(ruleset.get()); error != 0) {
    return fail(Error::from_errno("enter Landlock", error));
  }
  return {};
}

}  // namespace glovebox::gateway
