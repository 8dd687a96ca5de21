#include "engine/process/import_policy.h"

#include <algorithm>
#include <cctype>

namespace glovebox::engine {
namespace {

constexpr char kGuard[] =
#include "import_policy.inc"
    ;
constexpr const char* kGuardPath = "/home/user/.glovebox/import_policy.py";

bool is_top_level_name(const std::string& name) {
  if (name.empty() || name.size() > 100) return false;
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

}  // namespace

ImportPolicy ImportPolicy::standard() {
  return {Mode::kDeny,
          {"os", "posix", "subprocess", "_posixsubprocess", "socket", "_socket", "ctypes",
           "_ctypes", "multiprocessing", "_multiprocessing", "pty", "fcntl", "signal", "resource",
           "importlib", "runpy", "gc", "pdb", "code"}};
}

Result<> apply_import_policy(const ImportPolicy& policy, RunRequest& request) {
  std::string names;
  for (const std::string& name : policy.modules) {
    if (!is_top_level_name(name)) {
      return fail(Errc::kInvalidArgument,
                  "'" + name + "' is not the name of a top-level Python module");
    }
    names += (names.empty() ? "" : ",") + name;
  }
  std::vector<std::string>& argv = request.exec.argv;
  if (argv.size() < 2 || argv[0] != "/usr/bin/python3") {
    return fail(Errc::kInvalidArgument, "an import policy needs Python code");
  }
  TRY(GuestPath guard, GuestPath::parse(kGuardPath));
  request.files_in.push_back({.host = "", .guest = guard, .content = std::string(kGuard)});
  const std::vector<std::string> wrapped = {
      guard.str(), policy.mode == ImportPolicy::Mode::kDeny ? "deny" : "allow", names};
  argv.insert(argv.begin() + 1, wrapped.begin(), wrapped.end());
  request.extra_walls.add(Wall::kImportPolicy);
  return {};
}

}  // namespace glovebox::engine
