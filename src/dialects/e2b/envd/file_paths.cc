#include "dialects/e2b/envd/file_paths.h"

#include <vector>

#include "wire/guest/session_frames.h"

namespace glovebox::e2b {

std::string clean_path(std::string_view path, Parents parents) {
  const bool absolute = path.starts_with('/');
  std::vector<std::string_view> names;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    if (name.empty() || name == ".") continue;
    const bool is_parent = name == ".." && parents == Parents::kResolved;
    if (is_parent && !names.empty() && names.back() != "..") {
      names.pop_back();
    } else if (!is_parent || !absolute) {
      names.push_back(name);
    }
  }
  std::string clean = absolute ? "/" : "";
  for (const std::string_view name : names) {
    if (!clean.empty() && clean.back() != '/') clean += '/';
    clean += name;
  }
  return clean.empty() ? "." : clean;
}

Result<std::string> request_path(std::string_view given) {
  if (given.find('\0') != std::string_view::npos) {
    return fail(Errc::kInvalidArgument, "a path must not contain a NUL byte");
  }
  if (given.starts_with('~')) {
    if (given.size() > 1 && given[1] != '/') {
      return fail(Errc::kInvalidArgument, "cannot expand user-specific home dir");
    }
    given.remove_prefix(1);
    while (given.starts_with('/')) given.remove_prefix(1);
  }
  const bool absolute = given.starts_with('/');
  std::string path = clean_path(given, absolute ? Parents::kKept : Parents::kResolved);
  if (path.size() > wire::kMaxSessionPath) {
    return fail(Errc::kInvalidArgument, "a path must not be longer than 4096 bytes");
  }
  return path;
}

}  // namespace glovebox::e2b
